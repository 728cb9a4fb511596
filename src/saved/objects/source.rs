//! The text from which objects are read, its faults with their places, and parts that are read out of order.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::Error;
use serde_json::value::RawValue;

use crate::apimachinery::json;
use crate::apimachinery::json::UniqueMap;
use crate::apimachinery::json::place::bytes_until;

/// The reason why a text could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadFault {
    /// The number of bytes of the text that had been read.
    pub(crate) read: usize,
    /// Whether a value has the wrong type; if not, the text is not JSON.
    pub(crate) is_value: bool,
    /// The fault.
    pub(crate) message: String,
}

impl ReadFault {
    /// Converts a JSON error in a text.
    pub(crate) fn from_json(error: &serde_json::Error, text: &str) -> Self {
        Self {
            read: bytes_until(text, error.line(), error.column()),
            is_value: error.is_data(),
            message: json::message_and_place(error).0,
        }
    }

    /// Returns a fault that occurs before a value is read.
    pub(super) fn before(message: &impl fmt::Display) -> Self {
        Self {
            read: 0,
            is_value: true,
            message: json::plain(&message.to_string()),
        }
    }
}

/// The text from which objects are read.
#[derive(Clone, Copy)]
pub(crate) struct SourceText<'r> {
    /// The origin of the text, for messages.
    pub(crate) origin: &'r str,
    /// The line there at which the document begins.
    pub(crate) line: usize,
    /// The whole text, to determine positions.
    pub(crate) text: &'r str,
    /// The first fault in a part that was read out of order: the JSON reader would report the
    /// position that it had reached instead.
    pub(crate) fault: &'r RefCell<Option<ReadFault>>,
    /// The number of elements that may still be read.
    pub(crate) elements: &'r json::Elements,
}

impl SourceText<'_> {
    /// Records a fault in a part of the text. Only the first one counts: the faults of the enclosing parts only
    /// say that something in them is wrong.
    pub(super) fn note<E: Error>(&self, part: &str, mut fault: ReadFault) -> E {
        fault.read += (part.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
        self.fault.borrow_mut().get_or_insert(fault);
        E::custom("a part cannot be read")
    }
}

/// The fields of an object except its kind. Raw values keep the notation of numbers, on which quantities
/// depend.
pub(super) type RawFields<'de> = UniqueMap<String, &'de RawValue>;

/// Reads one of the fields; absent and null are the zero value.
pub(super) fn part<'de, T: Default + Deserialize<'de>, E: Error>(
    fields: &BTreeMap<String, &'de RawValue>,
    name: &str,
    source: SourceText<'_>,
) -> Result<T, E> {
    fields
        .get(name)
        .map_or_else(|| Ok(T::default()), |raw| read_raw(raw, source))
}

/// Reads a value out of order.
pub(super) fn read_raw<'de, T: Deserialize<'de>, E: Error>(
    raw: &'de RawValue,
    source: SourceText<'_>,
) -> Result<T, E> {
    let read = T::deserialize(json::Objects::new(raw, source.elements));
    read.map_err(|e| source.note(raw.get(), ReadFault::from_json(&e, raw.get())))
}
