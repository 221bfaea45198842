//! This crate has no code. Its manifest lists dependencies of dependencies, with the features that
//! a build of the whole workspace gives them. A build of one package that depends on this crate,
//! or that names it (`-p justfull-unified`), then shares compiled packages with builds of the
//! workspace.

#![forbid(unsafe_code)]
