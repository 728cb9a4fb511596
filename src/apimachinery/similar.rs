//! The known names that a name was probably meant to be: misspelt words, names of objects to which charts add
//! words, and names of metrics to which exporters add suffixes. They serve hints, and decide nothing.

/// Returns the known name most similar to a name; `None` if none is similar.
pub(crate) fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    within(name, known, 1 + name.len() / 4)
}

/// Returns the known name that the name of an object was probably meant to be: the most similar one, or the
/// only one with all of its words, or the only one that begins or ends with the same words, because charts
/// and operators add the name of a release or a part.
pub(crate) fn nearest_object<'k>(
    name: &str,
    known: impl Iterator<Item = &'k str>,
) -> Option<&'k str> {
    let all: Vec<&str> = known.collect();
    let known = || all.iter().copied();
    let has_all = |other: &&str| has_words(name, other) || has_words(other, name);
    only(known().filter(has_all))
        .or_else(|| nearest(name, known()))
        .or_else(|| only(known().filter(|other| shares_words(name, other))))
}

/// Whether two names begin or end with the same words: all words of the shorter one, or all but one of both.
fn shares_words(name: &str, known: &str) -> bool {
    let (words, others): (Vec<&str>, Vec<&str>) =
        (name.split('-').collect(), known.split('-').collect());
    let (longer, shorter) = (words.len().max(others.len()), words.len().min(others.len()));
    let at_start = words
        .iter()
        .zip(&others)
        .take_while(|(word, other)| word == other)
        .count();
    let at_end = words
        .iter()
        .rev()
        .zip(others.iter().rev())
        .take_while(|(word, other)| word == other)
        .count();
    let shared = at_start.max(at_end);
    shared == shorter || (shared >= 2 && shared + 1 >= longer)
}

/// Whether a name has all words of another one, in the same order.
fn has_words(name: &str, of: &str) -> bool {
    let mut words = name.split('-');
    of.split('-').all(|wanted| words.any(|word| word == wanted))
}

/// Returns the only one of these names.
fn only<'k>(mut names: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    names.next().filter(|_| names.next().is_none())
}

/// Returns the known name of which a name may be a misspelling, but not one with another word in it: people
/// compose names from words, and names with different words are all valid.
pub(crate) fn same_but_typed<'k>(
    name: &str,
    known: impl IntoIterator<Item = &'k str>,
) -> Option<&'k str> {
    let others = known.into_iter().filter(|known| *known != name);
    within(name, others, 1 + usize::from(name.len() >= 8))
}

/// Returns the known name that the name of a metric was probably meant to be: one with a similar spelling,
/// or the same with or without a suffix for what is measured, which exporters add and adapters change.
pub(crate) fn same_metric<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let others: Vec<&str> = known.filter(|known| *known != name).collect();
    let same = others
        .iter()
        .copied()
        .filter(|other| only_adds_suffix(other, name) || only_adds_suffix(name, other));
    let further = |other: &&str| uncounted(other).len().abs_diff(uncounted(name).len());
    same_but_typed(name, others.iter().copied()).or_else(|| same.min_by_key(further))
}

/// Whether the longer name of a metric is the shorter one with, at most, a suffix for what is measured.
fn only_adds_suffix(longer: &str, shorter: &str) -> bool {
    const MEASURED: [&str; 7] = [
        "", "_sum", "_count", "_avg", "_average", "_seconds", "_bytes",
    ];
    let rest = uncounted(longer).strip_prefix(uncounted(shorter));
    rest.is_some_and(|rest| MEASURED.contains(&rest))
}

/// Returns the name of a counter without the suffix that prometheus-adapter removes or adds.
fn uncounted(name: &str) -> &str {
    let bare = ["_total", "_per_second"]
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix));
    bare.unwrap_or(name)
}

/// Returns the known name most similar to a name, if at most the given number of letters differ.
fn within<'k>(
    name: &str,
    known: impl IntoIterator<Item = &'k str>,
    most: usize,
) -> Option<&'k str> {
    let typed = name.to_lowercase();
    let (mut best, mut below) = (None, most + 1);
    for known in known {
        let other = known.to_lowercase();
        // Most names have too many letters that the other lacks, which is seen at once.
        if unshared(&typed, &other) < below {
            let distance = distance(&typed, &other);
            if distance < below {
                (best, below) = (Some(known), distance);
            }
        }
    }
    best
}

/// Returns the number of letters of one word that the other lacks: at least that many must be changed.
fn unshared(one: &str, other: &str) -> usize {
    let set = |word: &str| {
        word.chars()
            .fold(0u64, |set, it| set | 1 << (u32::from(it) % 64))
    };
    let (one, other) = (set(one), set(other));
    let lacking = (one & !other).count_ones().max((other & !one).count_ones());
    lacking as usize
}

/// Returns the number of letters that must be inserted, removed or changed to turn one word into the other.
fn distance(one: &str, other: &str) -> usize {
    let letters: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=letters.len()).collect();
    for (line, a) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (place, b) in letters.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[place + 1];
            row[place + 1] = changed.min(row[place] + 1).min(diagonal + 1);
        }
    }
    row[letters.len()]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn unshared_letters_are_no_more_than_must_change(one in "[a-eA-E-Σß]{0,8}", other in "[a-eA-E-Σß]{0,8}") {
            prop_assert!(unshared(&one, &other) <= distance(&one, &other));
        }
    }

    #[test]
    fn the_nearest_of_several_names() {
        let known = ["web-12", "web-2", "Web-1", "api", "web-1"];
        for (name, want) in [
            ("web-1", Some("Web-1")),
            ("web-3", Some("web-2")),
            ("web-123", Some("web-12")),
            ("apl", Some("api")),
            ("queue", None),
        ] {
            assert_eq!(nearest(name, known), want, "{name}");
        }
    }

    #[test]
    fn names_that_differ_by_a_typing_error() {
        for (name, known, want) in [
            ("http_requests", "http_request", true),
            ("queue_depth", "queue-depth", true),
            ("queue", "queues", true),
            ("orders-queue-depth", "users-queue-depth", false),
            ("http_requests_per_second", "http_errors_per_second", false),
            ("queue", "queue", false),
        ] {
            assert_eq!(
                same_but_typed(name, [known]).is_some(),
                want,
                "{name} {known}"
            );
        }
    }

    #[test]
    fn names_of_objects_with_words_in_common() {
        for (name, known, want) in [
            (
                "web",
                &["mastodon-web", "mastodon-sidekiq"][..],
                Some("mastodon-web"),
            ),
            ("mastodon-web", &["web", "redis"], Some("web")),
            (
                "onyx-api-deployment",
                &["onyx-api-server", "onyx-web-server"],
                Some("onyx-api-server"),
            ),
            ("frontend", &["fronted", "backend"], Some("fronted")),
            (
                "shop-gpu",
                &["shop-web", "shop-worker-gpu"],
                Some("shop-worker-gpu"),
            ),
            // Two of them, and others with a word in common.
            ("web", &["shop-web", "blog-web"], None),
            ("shop-web", &["shop-worker"], None),
            ("shop-web-api", &["blog-web-worker"], None),
        ] {
            assert_eq!(
                nearest_object(name, known.iter().copied()),
                want,
                "{name} {known:?}"
            );
        }
    }

    #[test]
    fn names_of_a_metric() {
        for (name, known, want) in [
            ("requests_seconds_count_sum", "requests_seconds_count", true),
            ("requests", "requests_count", true),
            ("http_requests_total", "http_requests_per_second", true),
            ("http_requests_per_second", "http_requests", true),
            // Another thing of the same requests.
            ("requests_seconds_count", "requests_seconds_sum", false),
            ("http_requests", "http_requests_failed", false),
            ("http_requests", "http_requests", false),
        ] {
            assert_eq!(
                same_metric(name, [known].into_iter()).is_some(),
                want,
                "{name} {known}"
            );
        }
        let known = ["requests_seconds_sum", "requests_seconds"];
        assert_eq!(
            same_metric("requests_seconds_total", known.into_iter()),
            Some(known[1])
        );
    }
}
