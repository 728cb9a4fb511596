//! The labels of one object or series, kept small because there is a set for every pod. Keys and values are
//! not checked: a server has validated them.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::apimachinery::json::{duplicate, expecting};

/// Labels by key, sorted.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Labels(pub(super) Box<[(Box<str>, Box<str>)]>);

impl Labels {
    /// Returns the value of the label `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        let place = self.0.binary_search_by(|(name, _)| (**name).cmp(key));
        place.ok().map(|place| &*self.0[place].1)
    }

    /// Returns keys and values, by key.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    /// Whether there are no labels.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The last of equal keys wins.
impl<K: Into<Box<str>>, V: Into<Box<str>>> FromIterator<(K, V)> for Labels {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let boxed = pairs.into_iter().map(|(k, v)| (k.into(), v.into()));
        Self(BTreeMap::from_iter(boxed).into_iter().collect())
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Serialize for Labels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

/// From a map. Duplicate keys are an error.
impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(LabelsVisitor)
    }
}

struct LabelsVisitor;

impl<'de> Visitor<'de> for LabelsVisitor {
    type Value = Labels;

    expecting!("a map of labels");

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
        let mut pairs = Vec::<(Box<str>, Box<str>)>::with_capacity(8);
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        pairs.sort_by(|a, b| a.0.cmp(&b.0));
        if let Some(twice) = pairs.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(duplicate(&twice[0].0));
        }
        Ok(Labels(pairs.into()))
    }
}
