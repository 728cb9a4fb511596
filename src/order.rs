//! Sorting with one copy of the sort for all types, and names in sorted lists. The standard library's sort is
//! compiled for each type, at five kilobytes apiece. Here the places are sorted, and the items then follow.

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Deref;

/// Sorts stably, as [`slice::sort_by`] does.
pub(crate) fn sort_by<T>(list: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let items = &*list;
    let mut places: Vec<usize> = (0..items.len()).collect();
    sort_places(&mut places, &|one, other| compare(&items[one], &items[other]));
    // Each item is swapped to its place, and with that the one that was there to where it is looked for next.
    for start in 0..places.len() {
        let mut place = start;
        while places[place] != start {
            let from = std::mem::replace(&mut places[place], place);
            list.swap(place, from);
            place = from;
        }
        places[place] = place;
    }
}

/// Sorts stably by a key, as [`slice::sort_by_key`] does.
pub(crate) fn sort_by_key<T, K: Ord>(list: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(list, |one, other| key(one).cmp(&key(other)));
}

/// Collects a set. `collect` would sort the items first, with a sort of their own.
pub(crate) fn set<T: Ord>(items: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    let mut set = BTreeSet::new();
    set.extend(items);
    set
}

#[inline(never)]
fn sort_places(places: &mut [usize], compare: &dyn Fn(usize, usize) -> Ordering) {
    places.sort_by(|one, other| compare(*one, *other));
}

/// Finds names in a sorted list, best in the order of the list. Pods and their metrics are listed by name, so the next
/// name is usually found where the last one was, or right behind it; a hash of each takes several times as long.
#[derive(Debug, Default)]
pub(crate) struct Cursor {
    /// How many items of the list come up to the last name.
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
        list.get(count.checked_sub(1)?).filter(|item| name_of(item) == name)
    }
}

/// Some names, to be found best in their order.
#[derive(Debug)]
pub(crate) struct Names<N> {
    sorted: Vec<N>,
    cursor: Cursor,
}

impl<N: Deref<Target = str>> Names<N> {
    /// Whether a name is among them.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.cursor.find(&self.sorted, |own| own, name).is_some()
    }
}

impl<N: Deref<Target = str>> FromIterator<N> for Names<N> {
    fn from_iter<I: IntoIterator<Item = N>>(names: I) -> Self {
        let mut sorted: Vec<N> = names.into_iter().collect();
        sort_by(&mut sorted, |one, other| str::cmp(one, other));
        Self { sorted, cursor: Cursor::default() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_sorts_as_the_standard_library_does(keys in prop::collection::vec(0u8..9, 0..40)) {
            let mut list: Vec<(u8, usize)> = keys.into_iter().zip(0..).collect();
            let mut expected = list.clone();
            expected.sort_by_key(|(key, _)| *key);
            sort_by_key(&mut list, |(key, _)| *key);
            prop_assert_eq!(list, expected);
        }

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
