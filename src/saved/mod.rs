//! The saved format: objects as kubectl prints them, with a `ControllerState` for what no object
//! holds. [`mod@file`] reads it, [`assemble`] finds in it what a pass needs, [`save`] writes it.

pub mod assemble;
pub mod file;
pub mod objects;
mod place;
pub(crate) mod remarks;
pub mod save;
pub(crate) mod wire;
