//! Removes lists that are not read from JSON before it is parsed. Half of a pod as the API server returns
//! it is `managedFields`, and a parser takes longer to ignore that than it takes to find its end.

use std::ops::Range;

use memchr::{memchr_iter, memchr2};

/// Empties the lists in a field of any object, and returns the length of the remaining text. The text must
/// be written without spaces, as API servers write it; otherwise, and if a list does not end, it is
/// unchanged. The removed text is not validated.
pub(crate) fn cut_lists(json: &mut [u8], field: &str) -> usize {
    let cuts = lists(json, field);
    let (mut kept, mut copied) = (0, 0);
    let rest = json.len()..json.len();
    for cut in cuts.into_iter().chain([rest]) {
        json.copy_within(copied..cut.start, kept);
        kept += cut.start - copied;
        copied = cut.end;
    }
    kept
}

/// Returns the ranges of the contents of the lists; empty if one does not end.
fn lists(json: &[u8], field: &str) -> Vec<Range<usize>> {
    let key = format!("\"{field}\":");
    let mut lists: Vec<Range<usize>> = Vec::new();
    for bracket in memchr_iter(b'[', json) {
        // Other matches may be within a list that has been found.
        if lists.last().is_some_and(|list| bracket < list.end) {
            continue;
        }
        let before = json[..bracket]
            .strip_suffix(key.as_bytes())
            .and_then(<[u8]>::last);
        if before.is_some_and(|before| b"{,".contains(before)) {
            let start = bracket + 1;
            let Some(end) = end_of_list(json, start) else {
                return Vec::new();
            };
            lists.push(start..end);
        }
    }
    lists
}

/// Returns the place of the bracket that closes a list; `at` is after the bracket that opens it.
fn end_of_list(json: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0usize;
    loop {
        match json.get(at)? {
            b'"' => at = end_of_string(json, at + 1)?,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => match depth.checked_sub(1) {
                Some(outer) => depth = outer,
                None => return Some(at),
            },
            _ => {}
        }
        at += 1;
    }
}

/// Returns the place of the quote that closes a string.
fn end_of_string(json: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr2(b'"', b'\\', json.get(at..)?)?;
        if json[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn cut(json: &str) -> String {
        let mut json = json.as_bytes().to_vec();
        let kept = cut_lists(&mut json, "a");
        json.truncate(kept);
        String::from_utf8(json).unwrap()
    }

    #[test]
    fn only_whole_lists_of_the_field_are_cut_out() {
        for (json, want) in [
            (r#"{"a":[{"b":[1,"]"]}],"c":1}"#, r#"{"a":[],"c":1}"#),
            (
                r#"[{"a":[1]},{"b":2,"a":[[]]}]"#,
                r#"[{"a":[]},{"b":2,"a":[]}]"#,
            ),
            (r#"{"a":["\"]\\",{"a":[1]}]}"#, r#"{"a":[]}"#),
            // Nothing is cut out of other fields, strings, or what is written otherwise.
            (r#"{"ba":[1],"a":{"c":[1]}}"#, r#"{"ba":[1],"a":{"c":[1]}}"#),
            (r#"{"b":",\"a\":[1]"}"#, r#"{"b":",\"a\":[1]"}"#),
            (r#"{"b":"\",\"a\":[1]\""}"#, r#"{"b":"\",\"a\":[1]\""}"#),
            (r#"{"a": [1]}"#, r#"{"a": [1]}"#),
            // A list that does not end is left to the parser.
            (r#"{"a":[1],"b":{"a":["]"#, r#"{"a":[1],"b":{"a":["]"#),
            (r#"{"a":["\"#, r#"{"a":["\"#),
            (r#""a":[1]"#, r#""a":[1]"#),
        ] {
            assert_eq!(cut(json), want, "{json}");
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let text = || prop_oneof!["[a\"\\\\{}\\[\\],:]{0,6}", Just("a".to_owned())];
        let leaf = prop_oneof![
            text().prop_map(Value::from),
            any::<u8>().prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 40, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((text(), inner), 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    fn emptied(value: Value) -> Value {
        match value {
            Value::Object(fields) => {
                let empty = |(key, value): (String, Value)| match value {
                    Value::Array(_) if key == "a" => (key, json!([])),
                    value => (key, emptied(value)),
                };
                Value::Object(fields.into_iter().map(empty).collect())
            }
            Value::Array(list) => list.into_iter().map(emptied).collect(),
            leaf => leaf,
        }
    }

    proptest! {
        #[test]
        fn all_else_stays(value in values()) {
            let cut = cut(&value.to_string());
            prop_assert_eq!(serde_json::from_str::<Value>(&cut).unwrap(), emptied(value));
        }

        #[test]
        fn what_is_malformed_is_not_read_beyond_its_end(json in "[\"a\\\\\\[\\]{},:]{0,30}") {
            cut(&json);
        }
    }
}
