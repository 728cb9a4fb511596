//! Names in sorted lists. Pods and their metrics are listed by name, so a list in that order finds most names without
//! a search.

use std::cell::Cell;
use std::ops::Deref;

/// Finds names in a sorted list, fastest in the order of the list: the next name is usually at the place of the last
/// one, or right after it. Hashing each name takes several times as long.
#[derive(Debug, Default)]
pub(crate) struct Cursor {
    /// The number of items in the list up to the last name.
    up_to_last: Cell<usize>,
}

impl Cursor {
    /// Returns the last item of a name.
    pub(crate) fn find<'l, T>(
        &self,
        list: &'l [T],
        name_of: impl Fn(&T) -> &str,
        name: &str,
    ) -> Option<&'l T> {
        let is_up_to = |place: usize| list.get(place).is_some_and(|item| name_of(item) <= name);
        let mut count = self.up_to_last.get();
        count += usize::from(is_up_to(count));
        let is_less = count.checked_sub(1).is_some_and(|place| !is_up_to(place));
        if is_less || is_up_to(count) {
            count = list.partition_point(|item| name_of(item) <= name);
        }
        self.up_to_last.set(count);
        list.get(count.checked_sub(1)?)
            .filter(|item| name_of(item) == name)
    }
}

/// Some names, which are found fastest in their order.
#[derive(Debug)]
pub(crate) struct Names<N> {
    sorted: Vec<N>,
    cursor: Cursor,
}

impl<N: Deref<Target = str>> Names<N> {
    pub(crate) fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// Whether a name is one of these.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.cursor.find(&self.sorted, |own| own, name).is_some()
    }
}

impl<N: Deref<Target = str>> FromIterator<N> for Names<N> {
    fn from_iter<I: IntoIterator<Item = N>>(names: I) -> Self {
        let mut sorted: Vec<N> = names.into_iter().collect();
        sorted.sort_by(|one, other| str::cmp(one, other));
        Self {
            sorted,
            cursor: Cursor::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_cursor_finds_the_last_of_a_name(
            list in prop::collection::vec(0u8..9, 0..20),
            names in prop::collection::vec(0u8..10, 0..40),
        ) {
            let name = |number: &u8| number.to_string();
            let mut list: Vec<(String, usize)> = list.iter().map(name).zip(0..).collect();
            list.sort();
            let cursor = Cursor::default();
            for name in names.iter().map(name) {
                let found = cursor.find(&list, |item| &item.0, &name);
                prop_assert_eq!(found, list.iter().rfind(|item| item.0 == name));
            }
        }
    }
}
