//! JSON in the API server's field order. A list's `metadata`, with its continue token, precedes
//! its `items`; a client that reads from a stream may rely on that, but `serde_json` alone would
//! sort them the other way round.

use serde_json::{Value, json};

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

/// The items of a list; none if it is not one.
pub(crate) fn each(list: &Value) -> impl Iterator<Item = &Value> + Clone {
    list.as_array().into_iter().flatten()
}

/// The items of what must be a list.
#[track_caller]
pub(crate) fn array(list: &Value) -> &[Value] {
    list.as_array().expect("a list")
}

/// The items of a list, to be changed.
pub(crate) fn each_mut(list: &mut Value) -> impl Iterator<Item = &mut Value> {
    list.as_array_mut().into_iter().flatten()
}

/// The string at a JSON pointer, or "".
pub(crate) fn string<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Applies a JSON merge patch (RFC 7386).
pub(crate) fn merge(into: &mut Value, patch: &Value) {
    merge_with(into, patch, &|into, patch| *into = patch.clone());
}

/// Applies a strategic merge patch, for the lists that kubectl changes here: their items are merged by name.
pub(crate) fn merge_strategically(into: &mut Value, patch: &Value) {
    merge_with(into, patch, &|into, patch| match (into, patch) {
        (Value::Array(items), Value::Array(patches)) => {
            for patch in patches {
                let named = items.iter_mut().find(|item| item["name"] == patch["name"]);
                match named {
                    Some(item) => merge_strategically(item, patch),
                    None => items.push(patch.clone()),
                }
            }
        }
        (into, patch) => *into = patch.clone(),
    });
}

/// Merges the fields of objects; `other` merges anything else.
fn merge_with(into: &mut Value, patch: &Value, other: &dyn Fn(&mut Value, &Value)) {
    let Value::Object(patches) = patch else {
        return other(into, patch);
    };
    if !into.is_object() {
        *into = json!({});
    }
    let fields = into.as_object_mut().expect("an object");
    // Directives about an order that stays.
    for (name, patch) in patches
        .iter()
        .filter(|(name, _)| !name.starts_with("$setElementOrder/"))
    {
        if patch.is_null() {
            fields.remove(name);
        } else {
            merge_with(fields.entry(name).or_insert(Value::Null), patch, other);
        }
    }
}

/// Applies a JSON patch (RFC 6902) of tests, additions, replacements and removals; `None` if a test fails or a path
/// leads nowhere.
pub(crate) fn patched(mut object: Value, patch: &Value) -> Option<Value> {
    for step in patch.as_array()? {
        let (parent, last) = step["path"].as_str()?.rsplit_once('/')?;
        let last = last.replace("~1", "/").replace("~0", "~");
        let value = step.get("value").cloned();
        match (step["op"].as_str()?, object.pointer_mut(parent)?) {
            ("test", parent) if parent.pointer(&format!("/{last}")) == value.as_ref() => {}
            ("add", Value::Array(items)) if last == "-" => items.push(value?),
            ("add", Value::Array(items)) => {
                let at = last.parse().ok().filter(|at| *at <= items.len())?;
                items.insert(at, value?);
            }
            ("add", Value::Object(fields)) => drop(fields.insert(last, value?)),
            ("replace", Value::Array(items)) => {
                *items.get_mut(last.parse::<usize>().ok()?)? = value?;
            }
            ("replace", Value::Object(fields)) => *fields.get_mut(&last)? = value?,
            ("remove", Value::Array(items)) => {
                let at = last.parse().ok().filter(|at| *at < items.len())?;
                items.remove(at);
            }
            ("remove", Value::Object(fields)) => drop(fields.remove(&last)?),
            _ => return None,
        }
    }
    Some(object)
}
