//! The saved format: objects as kubectl prints them, with a `ControllerState` for everything that has no
//! object. [`mod@file`] reads it, `manifest` checks objects that no API server has processed yet,
//! [`scaled_objects`] adds the HPAs of KEDA, [`assemble`] finds what a pass needs, [`save`] writes it; `objects`,
//! `state` and `wire` have the types that both use.

pub mod assemble;
pub mod file;
pub(crate) mod manifest;
pub mod objects;
pub(crate) mod remarks;
pub(crate) mod request;
pub mod save;
pub mod scaled_objects;
pub mod state;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod wire;

use jiff::Timestamp;

use crate::error::Error;
use crate::snapshot::input::{Input, Options};
use objects::Objects;

/// Reads everything for a pass over one HPA from a text with objects as kubectl prints them. `clock` is
/// the time of the pass if neither the text nor the options state one.
///
/// # Errors
///
/// The text is malformed, or lacks the HPA that the options name.
pub fn read(text: &str, options: &Options, clock: Timestamp) -> Result<Input, Error> {
    let mut objects = Objects::default();
    file::read_text(text, "the input", &mut objects)?;
    assemble::assemble(objects, options, clock)
}
