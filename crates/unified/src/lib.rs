//! Nothing: the manifest is all. It names packages of others that no crate of the workspace uses
//! itself, with the features that the whole workspace switches on. A build of one package that
//! depends on this crate, or that names it (`-p justfull-unified`), shares their artifacts with
//! the builds of the workspace.

#![forbid(unsafe_code)]
