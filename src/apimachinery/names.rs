//! The formats of names: DNS labels and subdomains, label keys and values, path segments, API versions and
//! container resources. Each function returns the faults, worded as the API server words them, and knows
//! nothing about the field that it checks. Follows apimachinery's `validate/content`.

const LABEL_MAX: usize = 63;
const SUBDOMAIN_MAX: usize = 253;

const DNS_LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric \
     characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  \
     or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const DNS_SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case \
     alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character \
     (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_KEY: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start \
     and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex \
     used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric \
     characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. \
     'MyValue',  or 'my_value',  or '12345', regex used for validation is \
     '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// `IsDNS1123Label`.
pub(crate) fn dns_label(name: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if name.len() > LABEL_MAX {
        wrong.push(too_long(LABEL_MAX));
    }
    if !is_dns_label(name) {
        // A subdomain that is not a label can only differ by its dots.
        let text = if is_dns_subdomain(name) {
            "must not contain dots"
        } else {
            DNS_LABEL
        };
        wrong.push(text.to_owned());
    }
    wrong
}

/// `IsDNS1123Subdomain`.
pub(crate) fn dns_subdomain(name: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if name.len() > SUBDOMAIN_MAX {
        wrong.push(too_long(SUBDOMAIN_MAX));
    }
    if !is_dns_subdomain(name) {
        wrong.push(DNS_SUBDOMAIN.to_owned());
    }
    wrong
}

/// `IsLabelKey`, also known as `IsQualifiedName`.
pub(crate) fn label_key(key: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let name = match *key.split('/').collect::<Vec<_>>().as_slice() {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                wrong.push("prefix part must be non-empty".to_owned());
            } else {
                wrong.extend(
                    dns_subdomain(prefix)
                        .iter()
                        .map(|text| format!("prefix part {text}")),
                );
            }
            name
        }
        _ => {
            let text = format!(
                "a valid label key {LABEL_KEY} with an optional DNS subdomain prefix and '/' \
                 (e.g. 'example.com/MyName')"
            );
            return vec![text];
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_MAX {
        wrong.push(format!("name part {}", too_long(LABEL_MAX)));
    }
    if !is_label_text(name) {
        wrong.push(format!("name part {LABEL_KEY}"));
    }
    wrong
}

/// `IsLabelValue`.
pub(crate) fn label_value(value: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if value.len() > LABEL_MAX {
        wrong.push(too_long(LABEL_MAX));
    }
    if !value.is_empty() && !is_label_text(value) {
        wrong.push(LABEL_VALUE.to_owned());
    }
    wrong
}

/// `IsPathSegmentName`.
pub(crate) fn path_segment(name: &str) -> Vec<String> {
    if matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    let contained = ["/", "%"].into_iter().filter(|text| name.contains(text));
    contained
        .map(|text| format!("may not contain '{text}'"))
        .collect()
}

/// Returns the group of an `apiVersion`; empty if that is malformed.
pub(crate) fn group(api_version: &str) -> &str {
    group_version(api_version).map_or("", |(group, _)| group)
}

/// `schema.ParseGroupVersion`: group and version, or the parse error's text.
pub(crate) fn group_version(api_version: &str) -> Result<(&str, &str), String> {
    if api_version == "/" {
        return Ok(("", ""));
    }
    match *api_version.split('/').collect::<Vec<_>>().as_slice() {
        [version] => Ok(("", version)),
        [group, version] => Ok((group, version)),
        _ => Err(format!("unexpected GroupVersion string: {api_version}")),
    }
}

/// `ValidateContainerResourceName`.
pub(crate) fn container_resource(name: &str) -> Vec<ContainerResourceError> {
    let mut wrong: Vec<_> = label_key(name)
        .into_iter()
        .map(ContainerResourceError::Format)
        .collect();
    if !name.contains('/') {
        if wrong.is_empty() && !is_standard_resource(name) {
            let text = "must be a standard resource type or fully qualified";
            wrong.push(ContainerResourceError::Kind(text));
        }
        if !is_standard_container_resource(name) {
            wrong.push(ContainerResourceError::Kind(
                "must be a standard resource for containers",
            ));
        }
    } else if !is_native_resource(name) && !is_extended_resource(name) {
        wrong.push(ContainerResourceError::Kind(
            "doesn't follow extended resource name standard",
        ));
    }
    wrong
}

/// The fault in the name of a container resource.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ContainerResourceError {
    /// The name is not a label key. Upstream shows it as a `string`.
    Format(String),
    /// Containers have no such resource. Upstream shows the name as a `ResourceName`.
    Kind(&'static str),
}

fn is_standard_resource(name: &str) -> bool {
    let resource = ["requests.", "limits."]
        .iter()
        .find_map(|p| name.strip_prefix(p));
    match resource {
        Some("cpu" | "memory" | "ephemeral-storage") => true,
        Some("storage") => name.starts_with("requests."),
        Some(resource) if resource.starts_with("hugepages-") => name.starts_with("requests."),
        Some(_) => false,
        None => {
            is_standard_container_resource(name)
                || matches!(
                    name,
                    "pods"
                        | "resourcequotas"
                        | "services"
                        | "replicationcontrollers"
                        | "secrets"
                        | "configmaps"
                        | "persistentvolumeclaims"
                        | "storage"
                        | "services.nodeports"
                        | "services.loadbalancers"
                )
        }
    }
}

fn is_standard_container_resource(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-")
}

pub(crate) fn is_native_resource(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

pub(crate) fn is_extended_resource(name: &str) -> bool {
    // Upstream checks whether the name would still be valid as the key of a quota.
    !is_native_resource(name)
        && !name.starts_with("requests.")
        && label_key(&format!("requests.{name}")).is_empty()
}

fn is_dns_label(name: &str) -> bool {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    is_framed(name, inner, |c| inner(c) || c == b'-')
}

fn is_dns_subdomain(name: &str) -> bool {
    name.split('.').all(is_dns_label)
}

fn is_label_text(name: &str) -> bool {
    is_framed(
        name,
        |c| c.is_ascii_alphanumeric(),
        |c| c.is_ascii_alphanumeric() || b"-_.".contains(&c),
    )
}

/// Whether the name is not empty, starts and ends with `edge` bytes and has only `inner` ones in between.
fn is_framed(name: &str, edge: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    match name.as_bytes() {
        [] => false,
        [only] => edge(*only),
        [first, middle @ .., last] => {
            edge(*first) && edge(*last) && middle.iter().all(|byte| inner(*byte))
        }
    }
}

fn too_long(bytes: usize) -> String {
    format!("must be no more than {bytes} bytes")
}

/// Returns the resource of a kind, in lower case; guessed as in Kubernetes (`UnsafeGuessKindToResource`).
pub(crate) fn plural(kind: &str) -> String {
    let singular = kind.to_lowercase();
    if singular.ends_with('s') {
        format!("{singular}es")
    } else if let Some(stem) = singular.strip_suffix('y') {
        format!("{stem}ies")
    } else {
        format!("{singular}s")
    }
}

/// Returns a text as one word of a POSIX shell, quoted if necessary.
pub(crate) fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+,=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

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
    let distant = |known: &'k str| (distance(&typed, &known.to_lowercase()), known);
    let (distance, known) = known
        .into_iter()
        .map(distant)
        .min_by_key(|(distance, _)| *distance)?;
    (distance <= most).then_some(known)
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
    use super::*;

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

    #[test]
    fn dns_names() {
        for name in ["a", "a-b", "0", "a".repeat(63).as_str()] {
            assert_eq!(dns_label(name), [""; 0], "{name}");
            assert_eq!(dns_subdomain(name), [""; 0], "{name}");
        }
        assert_eq!(dns_label("a.b"), ["must not contain dots"]);
        assert_eq!(dns_subdomain("a.b"), [""; 0]);
        for name in ["", "-", "a-", "A", "a_b", "é"] {
            assert_eq!(dns_label(name), [DNS_LABEL], "{name}");
            assert_eq!(dns_subdomain(name), [DNS_SUBDOMAIN], "{name}");
        }
        assert_eq!(dns_subdomain("a..b"), [DNS_SUBDOMAIN]);
        assert_eq!(
            dns_label(&"a".repeat(64)),
            ["must be no more than 63 bytes"]
        );
        assert_eq!(
            dns_subdomain(&"a".repeat(254)),
            ["must be no more than 253 bytes"]
        );
    }

    #[test]
    fn label_keys_and_values() {
        for key in ["a", "A_b.c-0", "example.com/a"] {
            assert_eq!(label_key(key), [""; 0], "{key}");
        }
        let name = format!("name part {LABEL_KEY}");
        assert_eq!(label_key("-a"), [name.as_str()]);
        assert_eq!(
            label_key(""),
            ["name part must be non-empty", name.as_str()]
        );
        assert_eq!(label_key("/a"), ["prefix part must be non-empty"]);
        assert_eq!(label_key("A/a"), [format!("prefix part {DNS_SUBDOMAIN}")]);
        assert_eq!(
            label_key(&"a".repeat(64)),
            ["name part must be no more than 63 bytes"]
        );
        assert_eq!(
            label_key("a/b/c"),
            [format!(
                "a valid label key {LABEL_KEY} with an optional DNS subdomain prefix and '/' \
                 (e.g. 'example.com/MyName')"
            )]
        );
        assert_eq!(label_value(""), [""; 0]);
        assert_eq!(label_value("a b"), [LABEL_VALUE]);
        assert_eq!(
            label_value(&"a".repeat(64)),
            ["must be no more than 63 bytes"]
        );
    }

    #[test]
    fn path_segments() {
        for (name, want) in [
            ("", vec![]),
            ("a b", vec![]),
            ("...", vec![]),
            (".", vec!["may not be '.'"]),
            ("..", vec!["may not be '..'"]),
            ("%/", vec!["may not contain '/'", "may not contain '%'"]),
        ] {
            assert_eq!(path_segment(name), want, "{name}");
        }
    }

    #[test]
    fn group_versions() {
        for (text, want) in [
            ("", Ok(("", ""))),
            ("/", Ok(("", ""))),
            ("v1", Ok(("", "v1"))),
            ("/v1", Ok(("", "v1"))),
            ("apps/", Ok(("apps", ""))),
            ("apps/v1", Ok(("apps", "v1"))),
            (
                "a/b/c",
                Err("unexpected GroupVersion string: a/b/c".to_owned()),
            ),
        ] {
            assert_eq!(group_version(text), want, "{text}");
        }
    }

    #[test]
    fn container_resources() {
        use ContainerResourceError::{Format, Kind};
        let standard = "must be a standard resource type or fully qualified";
        let container = "must be a standard resource for containers";
        let extended = "doesn't follow extended resource name standard";
        for (name, want) in [
            ("cpu", vec![]),
            ("ephemeral-storage", vec![]),
            ("hugepages-2Mi", vec![]),
            ("hugepages-", vec![Format(format!("name part {LABEL_KEY}"))]),
            ("example.com/gpu", vec![]),
            ("kubernetes.io/x", vec![]),
            ("requests.example.com/gpu", vec![Kind(extended)]),
            ("pods", vec![Kind(container)]),
            ("storage", vec![Kind(container)]),
            ("limits.storage", vec![Kind(standard), Kind(container)]),
            ("requests.storage", vec![Kind(container)]),
            ("requests.hugepages-2Mi", vec![Kind(container)]),
            (
                "limits.hugepages-2Mi",
                vec![Kind(standard), Kind(container)],
            ),
            ("foo", vec![Kind(standard), Kind(container)]),
            (
                "a b",
                vec![Format(format!("name part {LABEL_KEY}")), Kind(container)],
            ),
            (
                "a b/c",
                vec![
                    Format(format!("prefix part {DNS_SUBDOMAIN}")),
                    Kind(extended),
                ],
            ),
        ] {
            assert_eq!(container_resource(name), want, "{name}");
        }
    }
}
