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
    /// Whether the entries of a map are the fields of a struct, which are not counted.
    are_fields: bool,
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
            are_fields: false,
        }
    }

    fn with<U>(&self, inner: U) -> Objects<'e, U> {
        Objects::new(inner, self.elements)
    }
}

/// Hands a value on to the visitor in a field. The deserializer of a raw value gives its text, whatever kind is
/// requested.
macro_rules! hand_values_through {
    ($field:tt) => {
        hand_values_through! {
            $field
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
    };
    ($field:tt $($method:ident: $value:ty,)*) => {
        $(
            fn $method<E: Error>(self, value: $value) -> Result<V::Value, E> {
                self.$field.$method(value)
            }
        )*
    };
}

/// Defines visitors of a value that may be null, each for one kind of value. A type per kind, rather than a
/// field, so that no deserializer is compiled for kinds that its type never requests.
macro_rules! null_or {
    ($($kind:ident: $request:ident, $visit:ident($zero:expr),)*) => {
        $(
            struct $kind<'e, V>(Objects<'e, V>);

            impl<'de, V: Visitor<'de>> $kind<'_, V> {
                fn read<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
                    if self.0.elements.null_is_zero.get() {
                        deserializer.deserialize_option(self)
                    } else {
                        self.visit_some(deserializer)
                    }
                }
            }

            impl<'de, V: Visitor<'de>> Visitor<'de> for $kind<'_, V> {
                type Value = V::Value;

                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    self.0.expecting(f)
                }

                hand_values_through!(0);

                fn visit_none<E: Error>(self) -> Result<V::Value, E> {
                    self.0.inner.$visit($zero)
                }

                fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
                    deserializer.$request(self.0)
                }
            }
        )*
    };
}

null_or! {
    NullOrBool: deserialize_bool, visit_bool(false),
    NullOrInteger: deserialize_i64, visit_u64(0),
    NullOrFloat: deserialize_f64, visit_f64(0.0),
    NullOrText: deserialize_str, visit_borrowed_str(""),
    NullOrList: deserialize_seq, visit_seq(SeqDeserializer::new(empty::<()>())),
    NullOrMap: deserialize_map, visit_map(MapDeserializer::new(empty::<((), ())>())),
}

macro_rules! ask {
    ($($method:ident: $kind:ident,)*) => {
        $(
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
                $kind(self.with(visitor)).read(self.inner)
            }
        )*
    };
}

macro_rules! hand_through {
    ($($method:ident($($argument:ident: $type:ty),*),)*) => {
        $(
            fn $method<V: Visitor<'de>>(
                self,
                $($argument: $type,)*
                visitor: V,
            ) -> Result<V::Value, D::Error> {
                let visitor = self.with(visitor);
                self.inner.$method($($argument,)* visitor)
            }
        )*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Objects<'_, D> {
    type Error = D::Error;

    // JSON does not distinguish integer types; their visitors check the range.
    ask! {
        deserialize_bool: NullOrBool,
        deserialize_i8: NullOrInteger,
        deserialize_i16: NullOrInteger,
        deserialize_i32: NullOrInteger,
        deserialize_i64: NullOrInteger,
        deserialize_u8: NullOrInteger,
        deserialize_u16: NullOrInteger,
        deserialize_u32: NullOrInteger,
        deserialize_u64: NullOrInteger,
        deserialize_f64: NullOrFloat,
        deserialize_str: NullOrText,
        deserialize_string: NullOrText,
        deserialize_seq: NullOrList,
        deserialize_map: NullOrMap,
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let fields = Objects {
            are_fields: true,
            ..self.with(visitor)
        };
        NullOrMap(fields).read(self.inner)
    }

    hand_through! {
        deserialize_any(),
        deserialize_option(),
        deserialize_identifier(),
        deserialize_ignored_any(),
        deserialize_newtype_struct(name: &'static str),
        deserialize_tuple(len: usize),
        deserialize_enum(name: &'static str, variants: &'static [&'static str]),
    }

    // No type that is read requests these.
    serde::forward_to_deserialize_any! {
        i128 u128 f32 char bytes byte_buf unit unit_struct tuple_struct
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Objects<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    hand_values_through!(inner);

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
        let seq = self.with(seq);
        self.inner.visit_seq(seq)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        let map = Objects {
            are_fields: self.are_fields,
            ..self.with(map)
        };
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
        if key.is_some() && !self.are_fields {
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
