//! Phrases that texts about several findings share.

use crate::snapshot::hpa::MetricTarget;
use crate::snapshot::pod::Pod;
use crate::words::{exact_quantity, first_few, one_or_many};

/// The advice on pods of other owners that the selector matches.
pub(crate) const APART: &str =
    "Relabel the other pods, or recreate the target with another selector.";

/// Returns a reason and a message as text to follow a sentence: `: Reason: message`; empty if both are empty.
pub(crate) fn told(said: [&str; 2]) -> String {
    said.iter()
        .filter(|it| !it.is_empty())
        .map(|it| format!(": {it}"))
        .collect()
}

/// Returns a target as stated, without rounding.
pub(crate) fn exact(target: &MetricTarget) -> String {
    target.worded(exact_quantity).unwrap_or_default()
}

/// `it`, `them`
pub(crate) fn them(n: usize) -> &'static str {
    one_or_many(n, "it", "them")
}

/// Returns the first of some names, and the number of the others.
pub(crate) fn first_of<N: AsRef<str>>(names: &[N]) -> String {
    first_few(names, 1)
}

/// Returns the first few of some names.
pub(crate) fn names<N: AsRef<str>>(names: &[N]) -> String {
    first_few(names, 3)
}

/// Returns the items to show, and the rest: of the items that may be many, the first five are shown, or all if only one
/// would be left.
pub(crate) fn few<T>(items: &[T], may_be_many: impl Fn(&T) -> bool) -> (Vec<&T>, Vec<&T>) {
    const SHOWN: usize = 5;
    let all = items.iter().filter(|it| may_be_many(it)).count();
    let mut numbers = 0..;
    items
        .iter()
        .partition(|it| !may_be_many(it) || all <= SHOWN + 1 || numbers.next() < Some(SHOWN))
}

/// Returns the names of some pods.
pub(crate) fn pod_names<'p>(pods: impl IntoIterator<Item = &'p Pod>) -> Vec<Box<str>> {
    pods.into_iter().map(|pod| pod.name.clone()).collect()
}

/// Borrows the names of some pods.
pub(crate) fn names_of(pods: &[Box<str>]) -> Vec<&str> {
    pods.iter().map(|pod| &**pod).collect()
}

/// Returns pods as objects to inspect.
pub(crate) fn pod_objects<N: AsRef<str>>(pods: &[N]) -> Vec<String> {
    pods.iter()
        .map(|name| format!("pod/{}", name.as_ref()))
        .collect()
}
