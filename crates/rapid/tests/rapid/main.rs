//! RAPID's machine, driven by hand and at random.

mod contract;
mod example;
mod fixture;
mod naive;
mod oracle;
mod properties;
mod room;
mod site;
