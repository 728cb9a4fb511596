//! Readers for values that are processed as they arrive: a string without a copy of it, and a list element
//! by element.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

/// Reads a string with a function; its error names the fault in the string.
pub(crate) fn read_str<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    expected: &'static str,
    read: impl FnOnce(&str) -> Result<T, &'static str>,
) -> Result<T, D::Error> {
    struct Reader<F>(&'static str, F);

    impl<T, F: FnOnce(&str) -> Result<T, &'static str>> Visitor<'_> for Reader<F> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            (self.1)(text).map_err(E::custom)
        }
    }

    deserializer.deserialize_str(Reader(expected, read))
}

/// Passes each element of a list to a function; its error names the fault in the element.
pub(crate) fn read_each<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
    expected: &'static str,
    add: impl FnMut(T) -> Result<(), String>,
) -> Result<(), D::Error> {
    struct Reader<T, F>(&'static str, F, PhantomData<T>);

    impl<'de, T: Deserialize<'de>, F: FnMut(T) -> Result<(), String>> Visitor<'de> for Reader<T, F> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }

        fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
            while let Some(element) = list.next_element()? {
                (self.1)(element).map_err(A::Error::custom)?;
            }
            Ok(())
        }
    }

    deserializer.deserialize_seq(Reader(expected, add, PhantomData))
}
