//! JSON in the API server's field order. A list's `metadata`, with its continue token, precedes
//! its `items`; a client that reads from a stream may rely on that, but `serde_json` alone would
//! sort them the other way round.

use serde_json::Value;

/// The fields that come first, in this order; all others follow by name.
const FIRST: &[&str] = &[
    "kind",
    "apiVersion",
    "metadata",
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "continue",
    "remainingItemCount",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "labels",
    "annotations",
    "ownerReferences",
    "spec",
];

/// Returns compact JSON with the fields in the server's order.
pub(crate) fn ordered(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let rank = |key: &str| FIRST.iter().position(|first| *first == key);
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(key, _)| rank(key).unwrap_or(FIRST.len()));
            text.push('{');
            for (i, (key, value)) in fields.into_iter().enumerate() {
                if i > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write(value, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    text.push(',');
                }
                write(item, text);
            }
            text.push(']');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

/// The string at a JSON pointer, or "".
pub(crate) fn string<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
