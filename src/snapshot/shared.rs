//! A value that several snapshots share until one of them changes it, so that a snapshot of
//! thousands of pods costs little to copy.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::apimachinery::json::read_each;

/// A value that is copied on a change, if it is shared.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shared<T>(Arc<T>);

impl<T> From<T> for Shared<T> {
    fn from(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

impl<T> Shared<T> {
    /// Whether both are the same value in memory. Equal values may be separate.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A value that may share parts with an earlier item.
pub(crate) trait Share {
    /// Shares the parts that both values have.
    fn share(&mut self, before: &Self);
}

/// Adds an item to a list, in which it shares equal parts with the previous one.
pub(crate) fn push_sharing<T: Share>(items: &mut Vec<Shared<T>>, mut item: T) {
    if let Some(before) = items.last() {
        item.share(before);
    }
    items.push(item.into());
}

/// A list in which each item shares equal parts with the previous one as soon as it is read. The memory that this frees
/// is reused for the next item; if it was freed only after the whole list, it was fragmented, and 20,000 pods took half
/// as long again.
pub(crate) struct Sharing<T>(pub(crate) Vec<Shared<T>>);

impl<'de, T: Deserialize<'de> + Share> Deserialize<'de> for Sharing<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut items: Vec<Shared<T>> = Vec::new();
        read_each(deserializer, "a list", |item: T| {
            push_sharing(&mut items, item);
            Ok(())
        })?;
        Ok(Self(items))
    }
}

impl<'a, T> IntoIterator for &'a Shared<T>
where
    &'a T: IntoIterator,
{
    type Item = <&'a T as IntoIterator>::Item;
    type IntoIter = <&'a T as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        (**self).into_iter()
    }
}

impl<'a, T: Clone> IntoIterator for &'a mut Shared<T>
where
    &'a mut T: IntoIterator,
{
    type Item = <&'a mut T as IntoIterator>::Item;
    type IntoIter = <&'a mut T as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        (**self).into_iter()
    }
}

impl<T: Serialize> Serialize for Shared<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        T::serialize(self, serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Shared<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::from)
    }
}
