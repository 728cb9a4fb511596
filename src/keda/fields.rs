//! The values in a trigger's metadata that scalers reject, other than names and targets: a scaler that
//! rejects any leaves the ScaledObject without an HPA (`buildScalers` in `scalers_builder.go`). Rules that
//! concern several fields, or the service to which a scaler connects, are not included.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, from_str};

use super::Refused;
use super::glob::is_glob;
use super::keys::{FieldSource, of_type};
use super::metadata::{KnownField, TriggerMetadata};
use crate::apimachinery::go;
use crate::apimachinery::selector::Selector;

/// The fields of each type of triggers by the kind of value that they require: the `keda` tags and types of
/// the fields of each scaler's metadata, and the limits that its `Validate` sets for a single field. The
/// names of a field with several names are separated by `;`. `@` is followed by another field without which this one
/// does not count; there, `0` is not a value. A field that is read even if it is empty ends with `!`.
///
/// | kind | the value |
/// | --- | --- |
/// | `r` | is required, from any of the field's sources |
/// | `x` | is no longer read |
/// | `i`, `1..`, `1..100`, `1\|5\|60../60` | a whole number: any, within bounds, one of several or a multiple |
/// | `f`, `f>0`, `f?` | a number: any, a positive one, or `null` |
/// | `b` | a Boolean |
/// | `d`, `d>0`, `dw` | a duration: any, a positive one, or one that may be negative and have days and weeks |
/// | `m` | pairs |
/// | `one\|two` | one of these words, one of which may be empty; with `~`, in any case; with `,` at the end, several |
/// | `one^two` | words that exclude each other |
/// | `hh:mm`, `one/two` | as many parts |
/// | `N-N`, `n-n` | numbers and ranges, of 64 or 32 bits |
/// | `N.N.N` | a version of Kafka |
/// | `!*`, `!/` | has no `*`; has something after its last `/` |
/// | `names`, `values` | a JSON object of strings, which is not empty; one of attribute values of DynamoDB, or `null` |
/// | `glob` | a pattern of file names |
/// | `selector` | a selector of labels |
const FIELDS: &str = include_str!("fields.txt");

/// Returns the rules for the fields of a type: pairs of kind and name.
pub(super) fn rules(type_: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    of_type(FIELDS, type_)
}

/// Checks that a scaler accepts the metadata of its trigger.
pub(super) fn check(metadata: &TriggerMetadata<'_>) -> Result<(), Refused> {
    for (kind, name) in rules(&metadata.trigger.type_) {
        let (names, condition) = name.split_once('@').unwrap_or((name, ""));
        if !condition.is_empty()
            && metadata
                .get(condition)
                .is_none_or(|value| value.parse() == Ok(0.0))
        {
            continue;
        }
        let KnownField { stated, elsewhere } = match names.strip_suffix('!') {
            Some(name) => KnownField {
                stated: metadata.untrimmed(name).map(|value| (name, value)),
                elsewhere: None,
            },
            None => metadata.find(names),
        };
        match (stated, elsewhere) {
            // The value comes from another source.
            (Some(_), Some((_, FieldSource::Environment))) => {}
            (Some((name, text)), _) => check_value(kind, metadata, name, text)?,
            (None, None) if kind == "r" => return Err(metadata.missing(names)),
            (None, _) => {}
        }
    }
    Ok(())
}

/// Checks one value; the error shows it only if it should have been within bounds.
fn check_value(
    kind: &str,
    metadata: &TriggerMetadata<'_>,
    name: &str,
    text: &str,
) -> Result<(), Refused> {
    let (is_good, expected): (bool, &str) = match kind {
        "r" => return Ok(()),
        "x" => return metadata.reject(name, "KEDA no longer reads it"),
        "f?" if text == "null" => return Ok(()),
        "f" | "f?" => return metadata.number(name, text).map(drop),
        "f>0" => (metadata.number(name, text)? > 0.0, "greater than 0"),
        "i" => return metadata.whole(name, text).map(drop),
        range if is_range(range) => (
            is_in(range, metadata.whole(name, text)?),
            &range_in_words(range),
        ),
        "b" => (go::parse_bool(text).is_some(), "true or false"),
        "d" => (duration(text).is_some(), "a duration such as 30s"),
        "d>0" => (
            duration(text).is_some_and(|nanos| nanos > 0),
            "a duration such as 30s, and more than 0",
        ),
        "dw" => (
            go::parse_duration_with_days(text).is_some(),
            "a duration such as 7d12h",
        ),
        "m" => (
            text.split(',').all(|pair| pair.split('=').count() == 2),
            "pairs such as KEY=VALUE, separated by commas",
        ),
        "N-N" => (
            is_ranges(text, |end| from_str::<i64>(end).is_ok()),
            "numbers and ranges such as 1,3-5",
        ),
        "n-n" => (
            is_ranges(text, |end| end.trim().parse::<i32>().is_ok()),
            "numbers and ranges such as 1,3-5",
        ),
        "N.N.N" => (is_kafka_version(text), "a version such as 2.5.0"),
        "!*" => (!text.contains('*'), "without *"),
        "!/" => (!text.ends_with('/'), "a URL that does not end with /"),
        "names" => (
            from_str::<BTreeMap<String, String>>(text).is_ok_and(|all| !all.is_empty()),
            "a JSON object of strings that is not empty",
        ),
        "values" => (
            is_attribute_values(text),
            "a JSON object of attribute values such as {\":a\": {\"S\": \"b\"}}",
        ),
        "glob" => (
            is_glob(text.strip_prefix('/').unwrap_or(text)),
            "a pattern whose sets of characters are closed, such as *.[ct]sv",
        ),
        "selector" => (Selector::parse(text).is_ok(), "a selector of labels"),
        words if words.contains(['|', ',']) => (is_words(words, text), &in_words(words)),
        pattern => (
            separator(pattern).is_some_and(|separator| {
                text.split(separator).count() == pattern.split(separator).count()
            }),
            pattern,
        ),
    };
    if is_good {
        return Ok(());
    }
    let shown = if kind == "f>0" || is_range(kind) {
        format!(", is {text}")
    } else {
        String::new()
    };
    metadata.reject(name, format!("must be {expected}{shown}"))
}

/// Whether a kind is a range of whole numbers.
fn is_range(kind: &str) -> bool {
    kind.contains("..")
}

/// Returns the separator between the parts of a pattern such as `hh:mm`.
fn separator(pattern: &str) -> Option<char> {
    pattern.chars().find(|c| matches!(c, ':' | '/'))
}

/// Whether a number is in a range such as `1..100`, `60..` or `0|60../60`.
fn is_in(range: &str, value: i64) -> bool {
    range.split('|').any(|part| match part.split_once("..") {
        None => part.parse() == Ok(value),
        Some((least, rest)) => {
            let (most, step) = rest.split_once('/').unwrap_or((rest, "1"));
            least.parse().is_ok_and(|least: i64| value >= least)
                && most.parse().map_or(true, |most: i64| value <= most)
                && value % step.parse().unwrap_or(1) == 0
        }
    })
}

/// Returns a range in words.
fn range_in_words(range: &str) -> String {
    let parts = range.split('|').map(|part| match part.split_once("..") {
        None => part.to_owned(),
        Some((least, "")) => format!("at least {least}"),
        Some((least, most)) => match most.split_once('/') {
            Some((_, step)) => format!("a multiple of {step}"),
            None => format!("from {least} to {most}"),
        },
    });
    parts.collect::<Vec<_>>().join(" or ")
}

/// Whether a text is one of these words, or a list of them.
fn is_words(words: &str, text: &str) -> bool {
    if let Some(words) = words.strip_prefix('~') {
        return words.split('|').any(|word| word.eq_ignore_ascii_case(text));
    }
    let Some(words) = words.strip_suffix(',') else {
        return words.split('|').any(|word| word == text);
    };
    let stated: Vec<&str> = text.split(',').map(str::trim).collect();
    let mut known = 0;
    for group in words.split('|') {
        let is_of_group = |own: &&&str| group.split('^').any(|word| word == **own);
        let count = stated.iter().filter(is_of_group).count();
        if group.contains('^') && count > 1 {
            return false;
        }
        known += count;
    }
    known == stated.len()
}

/// Returns a list of words for people.
fn in_words(words: &str) -> String {
    let groups = words.trim_start_matches(['~', '|']).trim_end_matches(',');
    let exclusive = groups.split('|').find(|group| group.contains('^'));
    let only = exclusive.map(|group| format!(", and only one of {}", group.replace('^', ", ")));
    format!(
        "one of {}{}",
        groups.replace(['|', '^'], ", "),
        only.unwrap_or_default()
    )
}

/// Returns the nanoseconds of a duration as `setConfigValueHelper` in `typed_config.go` reads it: in Go's
/// notation, or in milliseconds. Only the text itself must not be negative: too many milliseconds overflow.
fn duration(text: &str) -> Option<i64> {
    match go::parse_duration(text) {
        Some(duration) if duration.is_negative() => None,
        Some(duration) => i64::try_from(duration.as_nanos()).ok(),
        None => {
            let milliseconds: i64 = text.parse().ok()?;
            (milliseconds >= 0).then(|| milliseconds.wrapping_mul(1_000_000))
        }
    }
}

/// Whether a text consists of numbers and ranges, as for `setConfigValueSlice` in `typed_config.go`, which
/// reads numbers as JSON, or `parsePartitionLimitation` in `kafka_scaler.go`.
fn is_ranges(text: &str, is_number: fn(&str) -> bool) -> bool {
    text.split(',').all(|part| {
        let ends: Vec<&str> = part.split('-').collect();
        ends.len() <= 2 && ends.into_iter().all(is_number)
    })
}

/// Whether a text is a JSON object of attribute values, `json2DynamoMap` in `aws_dynamodb_scaler.go`.
fn is_attribute_values(text: &str) -> bool {
    from_str::<Option<Map<String, Json>>>(text).is_ok_and(|all| are_attributes(&all.into()))
}

/// Whether all values of an object are attribute values.
fn are_attributes(all: &Json) -> bool {
    all.as_object()
        .is_none_or(|all| all.values().all(is_attribute))
}

/// `attributeValueFromInterface`: the type of the value is the only key. Of several, Go takes any.
fn is_attribute(value: &Json) -> bool {
    let Json::Object(types) = value else {
        return false;
    };
    types.is_empty()
        || types.iter().any(|(type_, value)| match &**type_ {
            "S" | "N" | "B" => value.is_string(),
            "BOOL" => value.is_boolean(),
            "L" => value
                .as_array()
                .is_some_and(|all| all.iter().all(is_attribute)),
            "M" => value.is_object() && are_attributes(value),
            "NULL" => true,
            _ => false,
        })
}

/// `ParseKafkaVersion` in sarama's `utils.go`.
fn is_kafka_version(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    let is_number = |part: &&str| part.parse::<u32>().is_ok() && !part.starts_with('+');
    // Versions before 1.0.0 have four parts.
    let expected = if text.starts_with('0') { 4 } else { 3 };
    parts.len() == expected
        && parts.iter().all(is_number)
        && (expected == 3 || parts.first() == Some(&"0"))
}

#[cfg(test)]
mod tests {
    use super::{FIELDS, is_range, separator};
    use crate::keda::scalers::scaler;

    /// The table has types of triggers that there are, and kinds that are described there.
    #[test]
    fn the_table_can_be_read() {
        const KINDS: [&str; 20] = [
            "r", "x", "i", "f", "f>0", "f?", "b", "d", "d>0", "dw", "m", "N-N", "n-n", "N.N.N",
            "!*", "!/", "names", "values", "glob", "selector",
        ];
        for line in FIELDS.lines() {
            let (types, rules) = line.split_once(' ').expect("types and rules");
            for type_ in types.split(',') {
                assert!(scaler(type_).is_ok(), "{type_}");
            }
            for rule in rules.split(' ') {
                let (kind, names) = rule.rsplit_once('=').expect("a kind and names");
                let is_known = KINDS.contains(&kind)
                    || is_range(kind)
                    || kind.contains(['|', ','])
                    || separator(kind).is_some();
                assert!(is_known && !names.is_empty(), "{types}: {rule}");
            }
            // A scaler reads all of its fields before it validates any.
            let later = rules.split(' ').skip(1);
            assert!(
                later.into_iter().all(|rule| !rule.starts_with("r=")),
                "{types}"
            );
        }
    }
}
