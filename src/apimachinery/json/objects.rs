//! A deserializer that reads a struct only from a JSON object, and can tell where an error is. Serde's
//! derive also reads a struct from an array of its fields, so that `behavior: []` would pass as an empty
//! behavior; Go's decoder has no such form. Everything else is passed to the inner deserializer.
//!
//! `serde_path_to_error` tells the place, too, but as a deserializer of its own: each type would be
//! compiled a second time, for a hundredth of the binary.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, MapAccess, SeqAccess,
    Visitor,
};

use super::Text;

/// The place of an error, from the inside out: `[0]`, `.metrics`, `.spec`.
#[derive(Default)]
pub(super) struct Place(RefCell<Vec<String>>);

impl Place {
    fn is_within(&self, segment: String) {
        self.0.borrow_mut().push(segment);
    }

    /// The path of the field, such as `spec.metrics[0]`; empty for the text as a whole.
    pub(super) fn path(self) -> String {
        let path: String = self.0.into_inner().into_iter().rev().collect();
        path.strip_prefix('.').unwrap_or(&path).to_owned()
    }
}

/// The deserializer, and in turn each visitor, seed and access that it passes on.
pub(crate) struct Objects<'p, T> {
    inner: T,
    place: Option<&'p Place>,
}

impl<T> Objects<'static, T> {
    /// A deserializer whose errors have no place.
    pub(crate) fn new(inner: T) -> Self {
        Self { inner, place: None }
    }
}

impl<'p, T> Objects<'p, T> {
    /// A deserializer that sets the place of its error.
    pub(super) fn placed(inner: T, place: &'p Place) -> Self {
        Self { inner, place: Some(place) }
    }

    fn with<U>(&self, inner: U) -> Objects<'p, U> {
        Objects { inner, place: self.place }
    }
}

macro_rules! hand_through {
    ($($method:ident)*) => {
        $(
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
                let visitor = self.with(visitor);
                self.inner.$method(visitor)
            }
        )*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Objects<'_, D> {
    type Error = D::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.with(visitor);
        self.inner.deserialize_map(visitor)
    }

    hand_through! {
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32
        deserialize_i64 deserialize_i128 deserialize_u8 deserialize_u16 deserialize_u32
        deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64 deserialize_char
        deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf
        deserialize_option deserialize_unit deserialize_seq deserialize_map deserialize_identifier
        deserialize_ignored_any
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.with(visitor);
        self.inner.deserialize_unit_struct(name, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.with(visitor);
        self.inner.deserialize_newtype_struct(name, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.with(visitor);
        self.inner.deserialize_tuple(len, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.with(visitor);
        self.inner.deserialize_tuple_struct(name, len, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.with(visitor);
        self.inner.deserialize_enum(name, variants, visitor)
    }
}

macro_rules! hand_values_through {
    ($($method:ident: $value:ty,)*) => {
        $(
            fn $method<E: Error>(self, value: $value) -> Result<V::Value, E> {
                self.inner.$method(value)
            }
        )*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Objects<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    hand_values_through! {
        visit_bool: bool,
        visit_i64: i64,
        visit_i128: i128,
        visit_u64: u64,
        visit_u128: u128,
        visit_f64: f64,
        visit_str: &str,
        visit_borrowed_str: &'de str,
        visit_string: String,
        visit_bytes: &[u8],
        visit_borrowed_bytes: &'de [u8],
        visit_byte_buf: Vec<u8>,
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        let deserializer = self.with(deserializer);
        self.inner.visit_some(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<V::Value, D::Error> {
        let deserializer = self.with(deserializer);
        self.inner.visit_newtype_struct(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        let elements = Elements { seq: self.with(seq), read: 0 };
        self.inner.visit_seq(elements)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        let members = Members { map: self.with(map), key: Cow::default() };
        self.inner.visit_map(members)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<V::Value, A::Error> {
        self.inner.visit_enum(data)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Objects<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        let deserializer = self.with(deserializer);
        self.inner.deserialize(deserializer)
    }
}

/// A list, and how many of its elements have been read.
struct Elements<'p, A> {
    seq: Objects<'p, A>,
    read: usize,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Elements<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let seed = self.seq.with(seed);
        let element = self.seq.inner.next_element_seed(seed);
        if let (Err(_), Some(place)) = (&element, self.seq.place) {
            place.is_within(format!("[{}]", self.read));
        }
        self.read += 1;
        element
    }

    fn size_hint(&self) -> Option<usize> {
        self.seq.inner.size_hint()
    }
}

/// An object, and its last key.
struct Members<'p, 'de, A> {
    map: Objects<'p, A>,
    key: Cow<'de, str>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Members<'_, 'de, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let Some(Text(key)) = self.map.inner.next_key()? else { return Ok(None) };
        self.key = key;
        let read = match &self.key {
            Cow::Borrowed(key) => seed.deserialize(BorrowedStrDeserializer::new(key)),
            Cow::Owned(key) => seed.deserialize(key.as_str().into_deserializer()),
        };
        read.map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.map.with(seed);
        let value = self.map.inner.next_value_seed(seed);
        if let (Err(_), Some(place)) = (&value, self.map.place) {
            place.is_within(format!(".{}", self.key));
        }
        value
    }

    fn size_hint(&self) -> Option<usize> {
        self.map.inner.size_hint()
    }
}
