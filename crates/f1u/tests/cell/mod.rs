//! A cell in virtual time: a CUBIC download and a call to one UE on one bearer, through a split gNB
//! that speaks real frames, with the box or without it; or through a gNB with 5G-BDP inside.

pub(crate) mod cu_up;
pub(crate) mod du;
pub(crate) mod frames;
mod inside;
pub(crate) mod world;
