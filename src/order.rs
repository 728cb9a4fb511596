//! Sorting with one copy of the sort for all types. The standard library's is compiled for each of them, at five
//! kilobytes apiece. Here the places are sorted, and the items then follow.

use std::cmp::Ordering;
use std::collections::BTreeSet;

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
    }
}
