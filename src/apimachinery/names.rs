//! The formats of names: DNS labels and subdomains, label keys and values, path segments, API versions, kinds and
//! words of a shell. Each check returns the faults, worded as the API server words them, and knows
//! nothing about the field that it checks. Follows apimachinery's `validate/content`.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::go;

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

/// Returns the message about a kind that its group does not have (`NoKindMatchError`).
pub(crate) fn no_kind(group: &str, kind: &str) -> String {
    let [kind, group] = [kind, group].map(go::quote);
    format!("no matches for kind {kind} in group {group}")
}

/// The characters that are escaped in a part of a URL: all but those that RFC 3986 calls unreserved.
pub(crate) const UNRESERVED: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Returns the name that the API server generates from a prefix, with `x` for each random character. Follows
/// `GenerateName` of apiserver's `names`.
pub(crate) fn generated(prefix: &str) -> String {
    const SUFFIX: &str = "xxxxx";
    let kept: String = prefix.chars().take(LABEL_MAX - SUFFIX.len()).collect();
    kept + SUFFIX
}

/// Escapes text for a path segment or a query value.
pub(crate) fn segment(text: &str) -> String {
    utf8_percent_encode(text, &UNRESERVED).to_string()
}

/// Returns the query of a request, with those of the parameters that have a value.
pub(crate) fn query(parameters: &[(&str, &str)]) -> String {
    let given: Vec<String> = parameters
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| format!("{key}={}", segment(value)))
        .collect();
    let mark = if given.is_empty() { "" } else { "?" };
    format!("{mark}{}", given.join("&"))
}

/// Returns a text as one word of a POSIX shell, quoted if necessary.
pub(crate) fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+,=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns the words of a line, each as it was before [`shell_word`] quoted it.
pub(crate) fn shell_words(line: &str) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), String::new());
    let mut is_quoted = false;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' => is_quoted = !is_quoted,
            '\\' if !is_quoted => word.extend(chars.next()),
            ' ' if !is_quoted => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    words.push(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn queries() {
        for (parameters, want) in [
            (&[][..], ""),
            (&[("a", "")], ""),
            (&[("a", "x=y"), ("b", "")], "?a=x%3Dy"),
            (&[("a", "x"), ("b", "y in (z)")], "?a=x&b=y%20in%20%28z%29"),
        ] {
            assert_eq!(query(parameters), want);
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
}
