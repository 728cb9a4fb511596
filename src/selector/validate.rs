//! What keys and values of requirements may be, after `labels.NewRequirement` of Kubernetes 1.36,
//! the validations it calls and the `field` errors it reports. All faults of a requirement are
//! reported at once, so none may cut the checks short.

use super::{Operator, Requirement, SelectorError};

const NAME_PATTERN: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const NAME_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start \
                         and end with an alphanumeric character";
const SUBDOMAIN_FAULT: &str = "a lowercase RFC 1123 subdomain must consist of lower case \
    alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character \
    (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const VALUE_FAULT: &str = "a valid label must be an empty string or consist of alphanumeric \
    characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. \
    'MyValue',  or 'my_value',  or '12345', regex used for validation is \
    '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// Checks a requirement in full.
pub(super) fn requirement(
    key: &str,
    operator: Operator,
    values: Vec<Box<str>>,
) -> Result<Requirement, SelectorError> {
    let mut faults = Vec::new();
    faults.extend(key_fault("key", key));
    match operator {
        Operator::In | Operator::NotIn if values.is_empty() => {
            faults.push(invalid(
                "values",
                &json(&values),
                "for 'in', 'notin' operators, values set can't be empty",
            ));
        }
        Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
            faults.push(invalid(
                "values",
                &json(&values),
                "values set must be empty for exists and does not exist",
            ));
        }
        Operator::GreaterThan | Operator::LessThan => {
            for (i, value) in values.iter().enumerate() {
                if value.parse::<i64>().is_err() {
                    faults.push(invalid(
                        &format!("values[{i}]"),
                        &quote(value),
                        "for 'Gt', 'Lt' operators, the value must be an integer",
                    ));
                }
            }
        }
        // The callers give the operators of equality exactly one value.
        _ => {}
    }
    for (i, value) in values.iter().enumerate() {
        let found = value_faults(value);
        if !found.is_empty() {
            let field = format!("values[{i}][{key}]");
            faults.push(invalid(&field, &quote(value), &found.join("; ")));
        }
    }
    match aggregate(faults) {
        Some(message) => Err(SelectorError::new(message)),
        None => Ok(Requirement {
            key: key.into(),
            operator,
            values: values.into(),
        }),
    }
}

/// The fault of a label key, reported of `field`.
pub(super) fn key_fault(field: &str, key: &str) -> Option<String> {
    let found = key_faults(key);
    (!found.is_empty()).then(|| invalid(field, &quote(key), &found.join("; ")))
}

fn key_faults(key: &str) -> Vec<String> {
    let name_fault = format!(
        "{NAME_RULE} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
         '{NAME_PATTERN}')"
    );
    let mut faults = Vec::new();
    let name = match key.split('/').collect::<Vec<_>>()[..] {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                faults.push("prefix part must be non-empty".into());
            } else {
                if prefix.len() > 253 {
                    faults.push("prefix part must be no more than 253 bytes".into());
                }
                if !prefix.split('.').all(is_dns_label) {
                    faults.push(format!("prefix part {SUBDOMAIN_FAULT}"));
                }
            }
            name
        }
        _ => {
            return vec![format!(
                "a valid label key {name_fault} with an optional DNS subdomain prefix and '/' \
                 (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        faults.push("name part must be non-empty".into());
    } else if name.len() > 63 {
        faults.push("name part must be no more than 63 bytes".into());
    }
    if !is_name(name) {
        faults.push(format!("name part {name_fault}"));
    }
    faults
}

fn value_faults(value: &str) -> Vec<&'static str> {
    let mut faults = Vec::new();
    if value.len() > 63 {
        faults.push("must be no more than 63 bytes");
    }
    if !value.is_empty() && !is_name(value) {
        faults.push(VALUE_FAULT);
    }
    faults
}

fn is_name(text: &str) -> bool {
    is_bounded(text, |byte| byte.is_ascii_alphanumeric(), b"-_.")
}

fn is_dns_label(text: &str) -> bool {
    is_bounded(
        text,
        |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit(),
        b"-",
    )
}

/// Whether `text` is of `plain` bytes and, between them, `inner` ones.
fn is_bounded(text: &str, plain: fn(u8) -> bool, inner: &[u8]) -> bool {
    let bytes = text.as_bytes();
    bytes.first().copied().is_some_and(plain)
        && bytes.last().copied().is_some_and(plain)
        && bytes
            .iter()
            .all(|byte| plain(*byte) || inner.contains(byte))
}

fn invalid(field: &str, value: &str, detail: &str) -> String {
    format!("{field}: Invalid value: {value}: {detail}")
}

/// Upstream's text of several errors, which leaves out repetitions.
fn aggregate(faults: Vec<String>) -> Option<String> {
    let mut distinct: Vec<String> = Vec::new();
    for fault in faults {
        if !distinct.contains(&fault) {
            distinct.push(fault);
        }
    }
    match distinct.len() {
        0 => None,
        1 => distinct.pop(),
        _ => Some(format!("[{}]", distinct.join(", "))),
    }
}

/// Values as Go's JSON encoder prints them. An empty list is always nil where it is an error.
fn json(values: &[Box<str>]) -> String {
    if values.is_empty() {
        return "null".into();
    }
    let mut text = String::new();
    for character in serde_json::json!(values).to_string().chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                text.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            _ => text.push(character),
        }
    }
    text
}

/// Go's `%q`.
pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\x07' => quoted.push_str("\\a"),
            '\x08' => quoted.push_str("\\b"),
            '\x0c' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\x0b' => quoted.push_str("\\v"),
            _ if is_printable(character) => quoted.push(character),
            _ => {
                let code = u32::from(character);
                quoted.push_str(&match code {
                    ..0x80 => format!("\\x{code:02x}"),
                    0x80..0x1_0000 => format!("\\u{code:04x}"),
                    _ => format!("\\U{code:08x}"),
                });
            }
        }
    }
    quoted.push('"');
    quoted
}

/// Go's `unicode.IsPrint`, for all but quotes and backslashes.
fn is_printable(character: char) -> bool {
    // The standard library knows this only when it escapes strings, and is right about combining
    // characters only when they follow another.
    let mut buffer = String::from("x");
    buffer.push(character);
    character == '\'' || buffer.escape_debug().count() == 2
}
