//! A deserializer that reads as Go's decoder does where serde's derive differs. It reads null as the zero
//! value of the requested type, unless that is an `Option`, and a struct only from a JSON object: the
//! derive also reads one from an array of its fields, so that `behavior: []` would pass as an empty
//! behavior. It limits the number of elements and entries. Everything else is passed to the inner
//! deserializer.

use std::cell::Cell;
use std::fmt;
use std::iter::empty;

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Visitor};

/// The deserializer, and in turn each visitor, seed and access that it passes on.
pub(crate) struct Objects<'e, T> {
    inner: T,
    elements: &'e Elements,
    wanted: Wanted,
}

/// The kind of value that a type requests.
#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    /// Any other value, which is passed on unchanged.
    Other,
    Bool,
    Integer,
    Float,
    Text,
    List,
    Map,
    /// A map whose entries are fields, which are not counted.
    Struct,
}

/// The number of elements of lists and entries of maps that may still be read. A few bytes such as `{}`
/// become an object of hundreds, so the length of a text does not limit its memory.
pub(crate) struct Elements {
    /// The maximum number of elements.
    most: usize,
    /// The number of elements that may still be read.
    elements: Cell<usize>,
    /// The number of entries that may still be read.
    entries: Cell<usize>,
    /// Whether null is the zero value; if not, it is an error.
    null_is_zero: Cell<bool>,
}

impl Elements {
    /// The maximum number of elements of all lists in a server's answer. The elements of 100,000 pods of a
    /// usual size would exceed the maximum length of an answer first.
    pub(crate) const MOST: usize = 500_000;

    /// The maximum number of elements of all lists in a file: 100,000 whole pods have fewer.
    pub(crate) const MOST_OF_FILE: usize = 5_000_000;

    /// The number of entries that a map may have for each element of a list, such as labels of a pod.
    const ENTRIES: usize = 4;

    /// Returns the number that an answer may have.
    pub(crate) fn of_answer() -> Self {
        Self::new(Self::MOST)
    }

    /// Returns the number that a file may have.
    pub(crate) fn of_file() -> Self {
        Self::new(Self::MOST_OF_FILE)
    }

    fn new(most: usize) -> Self {
        let entries = Cell::new(most * Self::ENTRIES);
        Self {
            most,
            elements: Cell::new(most),
            entries,
            null_is_zero: Cell::new(true),
        }
    }

    /// Sets whether null is the zero value in everything that is read from now on. By default, it is.
    pub(crate) fn read_null_as_zero(&self, is_zero: bool) {
        self.null_is_zero.set(is_zero);
    }

    /// Returns the number that was read. An entry of a map counts as a fraction of an element.
    pub(crate) fn used(&self) -> usize {
        let entries = self.most * Self::ENTRIES - self.entries.get();
        self.most - self.elements.get() + entries / Self::ENTRIES
    }

    fn take_element<E: Error>(&self) -> Result<(), E> {
        let most = self.most;
        take(&self.elements)
            .ok_or_else(|| E::custom(format_args!("its lists have more than {most} elements")))
    }

    fn take_entry<E: Error>(&self) -> Result<(), E> {
        let most = self.most * Self::ENTRIES;
        take(&self.entries)
            .ok_or_else(|| E::custom(format_args!("its maps have more than {most} entries")))
    }
}

/// Takes one of the remaining; `None` if none remains.
fn take(left: &Cell<usize>) -> Option<()> {
    left.set(left.get().checked_sub(1)?);
    Some(())
}

impl<'e, T> Objects<'e, T> {
    pub(crate) fn new(inner: T, elements: &'e Elements) -> Self {
        Self {
            inner,
            elements,
            wanted: Wanted::Other,
        }
    }

    fn with<U>(&self, inner: U) -> Objects<'e, U> {
        self.wanting(Wanted::Other, inner)
    }

    fn wanting<U>(&self, wanted: Wanted, inner: U) -> Objects<'e, U> {
        Objects {
            inner,
            elements: self.elements,
            wanted,
        }
    }
}

macro_rules! ask {
    ($($method:ident: $wanted:ident,)*) => {
        $(
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
                self.ask(Wanted::$wanted, visitor)
            }
        )*
    };
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

impl<'de, D: Deserializer<'de>> Objects<'_, D> {
    /// Requests a value that may be null.
    fn ask<V: Visitor<'de>>(self, wanted: Wanted, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = self.wanting(wanted, visitor);
        if self.elements.null_is_zero.get() {
            self.inner.deserialize_option(visitor)
        } else {
            visitor.visit_some(self.inner)
        }
    }
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Objects<'_, D> {
    type Error = D::Error;

    // JSON does not distinguish integer types; their visitors check the range.
    ask! {
        deserialize_bool: Bool,
        deserialize_i8: Integer,
        deserialize_i16: Integer,
        deserialize_i32: Integer,
        deserialize_i64: Integer,
        deserialize_u8: Integer,
        deserialize_u16: Integer,
        deserialize_u32: Integer,
        deserialize_u64: Integer,
        deserialize_f64: Float,
        deserialize_str: Text,
        deserialize_string: Text,
        deserialize_seq: List,
        deserialize_map: Map,
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.ask(Wanted::Struct, visitor)
    }

    hand_through! {
        deserialize_any deserialize_i128 deserialize_u128 deserialize_f32 deserialize_char
        deserialize_bytes deserialize_byte_buf deserialize_option deserialize_unit
        deserialize_identifier deserialize_ignored_any
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
        let visitor = self.inner;
        match self.wanted {
            Wanted::Other => visitor.visit_none(),
            Wanted::Bool => visitor.visit_bool(false),
            Wanted::Integer => visitor.visit_u64(0),
            Wanted::Float => visitor.visit_f64(0.0),
            Wanted::Text => visitor.visit_borrowed_str(""),
            Wanted::List => visitor.visit_seq(SeqDeserializer::new(empty::<()>())),
            Wanted::Map | Wanted::Struct => {
                visitor.visit_map(MapDeserializer::new(empty::<((), ())>()))
            }
        }
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        match self.wanted {
            Wanted::Other => {
                let deserializer = self.with(deserializer);
                self.inner.visit_some(deserializer)
            }
            Wanted::Bool => deserializer.deserialize_bool(self),
            Wanted::Integer => deserializer.deserialize_i64(self),
            Wanted::Float => deserializer.deserialize_f64(self),
            Wanted::Text => deserializer.deserialize_str(self),
            Wanted::List => deserializer.deserialize_seq(self),
            Wanted::Map | Wanted::Struct => deserializer.deserialize_map(self),
        }
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<V::Value, D::Error> {
        let deserializer = self.with(deserializer);
        self.inner.visit_newtype_struct(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        let seq = self.with(seq);
        self.inner.visit_seq(seq)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        let map = self.wanting(self.wanted, map);
        self.inner.visit_map(map)
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

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Objects<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let seed = self.with(seed);
        let element = self.inner.next_element_seed(seed)?;
        if element.is_some() {
            self.elements.take_element()?;
        }
        Ok(element)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Objects<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let key = self.inner.next_key_seed(seed)?;
        if key.is_some() && self.wanted != Wanted::Struct {
            self.elements.take_entry()?;
        }
        Ok(key)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.with(seed);
        self.inner.next_value_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::Value;

    use super::super::{message, read};
    use super::{Elements, Objects};

    #[derive(Deserialize)]
    #[serde(default)]
    #[derive(Default)]
    struct Pod {
        labels: BTreeMap<String, String>,
        containers: Vec<Pod>,
        other: Value,
    }

    /// One field of each form that JSON has.
    #[derive(Debug, PartialEq, Deserialize)]
    struct Fields {
        flag: bool,
        count: u8,
        share: f64,
        name: String,
        list: Vec<Option<i32>>,
        names: Vec<String>,
        labels: BTreeMap<String, String>,
        own: Inner,
        stated: Option<Inner>,
        value: Value,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Inner {
        replicas: i32,
    }

    const NULLS: &str = r#"{"flag":null,"count":null,"share":null,"name":null,"list":[null],"names":[null],
        "labels":{"a":null},"own":null,"stated":null,"value":null}"#;

    #[test]
    fn null_is_the_zero_value_of_what_is_asked_for() {
        let fields = Fields {
            flag: false,
            count: 0,
            share: 0.0,
            name: String::new(),
            list: vec![None],
            names: vec![String::new()],
            labels: BTreeMap::from([("a".to_owned(), String::new())]),
            own: Inner::default(),
            stated: None,
            value: Value::Null,
        };
        assert_eq!(read::<Fields>(NULLS.as_bytes()).unwrap(), fields);
        assert_eq!(read::<Vec<i32>>(b"null").unwrap(), Vec::<i32>::new());
        assert_eq!(read::<BTreeMap<i8, i8>>(b"null").unwrap(), BTreeMap::new());
        assert_eq!(read::<Option<Inner>>(b"null").unwrap(), None);
    }

    #[test]
    fn null_is_an_error_where_it_is_read_strictly() {
        fn error<'de, T: Deserialize<'de>>(json: &'de str) -> String {
            let elements = Elements::of_answer();
            elements.read_null_as_zero(false);
            let mut json = serde_json::Deserializer::from_str(json);
            let read = T::deserialize(Objects::new(&mut json, &elements));
            message(&read.err().unwrap())
        }
        for (error, expected) in [
            (error::<bool>("null"), "true or false"),
            (error::<u8>("null"), "u8"),
            (error::<f64>("null"), "a number"),
            (error::<String>("null"), "a string"),
            (error::<Vec<i32>>("null"), "a list"),
            (error::<Vec<i32>>("[null]"), "a 32-bit integer"),
            (error::<BTreeMap<i32, i32>>("null"), "an object"),
            (error::<Inner>("null"), "an object"),
            (error::<Inner>(r#"{"replicas":null}"#), "a 32-bit integer"),
            (error::<Fields>(NULLS), "true or false"),
        ] {
            let expected = format!("null, expected {expected} at line 1 column ");
            assert!(error.starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn elements_and_entries_have_limits_and_fields_have_none() {
        // Three elements, and twelve entries.
        let entries = |count: usize| -> String {
            let all: Vec<String> = (0..count).map(|at| format!(r#""{at}":"""#)).collect();
            format!("{{{}}}", all.join(","))
        };
        let (most, more) = (entries(12), entries(13));
        let elements = "its lists have more than 3 elements";
        for (pod, fails) in [
            (r#"{"containers":[{},{},{}]}"#.to_owned(), ""),
            (r#"{"containers":[{},{},{},{}]}"#.to_owned(), elements),
            (
                r#"{"containers":[{"containers":[{},{}]},{}]}"#.to_owned(),
                elements,
            ),
            (r#"{"other":[1,[2,3]]}"#.to_owned(), elements),
            (format!(r#"{{"labels":{most}}}"#), ""),
            (
                format!(r#"{{"labels":{more}}}"#),
                "its maps have more than 12 entries",
            ),
            (
                format!(r#"{{"labels":{most},"other":{{"a":1}}}}"#),
                "12 entries",
            ),
            (
                format!(r#"{{"containers":[{{"labels":{more}}}]}}"#),
                "12 entries",
            ),
            // Neither fields nor what is skipped take memory.
            (
                format!(r#"{{"unknown":{more},"labels":{most},"containers":[],"other":1}}"#),
                "",
            ),
        ] {
            let limits = Elements::new(3);
            let mut json = serde_json::Deserializer::from_str(&pod);
            match (Pod::deserialize(Objects::new(&mut json, &limits)), fails) {
                (Ok(pod), "") => {
                    assert!(pod.labels.len() <= 12 && pod.containers.len() <= 3);
                    assert_eq!(limits.used(), 3);
                }
                (Err(e), fails) if !fails.is_empty() => {
                    assert!(e.to_string().contains(fails), "{e}");
                }
                (read, _) => panic!("{pod}: {:?}", read.err()),
            }
        }
    }
}
