//! What scalers refuse of a trigger's metadata besides names and targets: one that refuses anything leaves
//! the ScaledObject without an HPA (`buildScalers` in `scalers_builder.go`). Rules that concern several
//! fields, or what a scaler connects to, are not among them.

use std::str::FromStr;

use serde_json::{Map, Value as Json, from_str};

use super::Refused;
use super::metadata::{Metadata, Sources};
use crate::apimachinery::go;
use crate::apimachinery::selector::Selector;

/// For each type of triggers, its fields by what they have to be: the `keda` tags and types of the fields of
/// each scaler's metadata, and the limits that its `Validate` sets to a single field. A field with several
/// names has `;` between them. After `@` stands another field without which this one does not count; `0` is none.
/// A field that is read even if it is empty ends with `!`.
///
/// | kind | the value |
/// | --- | --- |
/// | `r`, `re`, `ra` | is required; it may also come from the environment and authentication, or from one of them |
/// | `a` | gives way to one from authentication |
/// | `x` | is no longer read |
/// | `i`, `1..`, `1..100`, `1\|5\|60../60` | a whole number: any, within bounds, one of several or a multiple |
/// | `f`, `f>0`, `f?` | a number: any, a positive one, or `null` |
/// | `b` | a Boolean |
/// | `d`, `d>0`, `dw` | a duration: any, a positive one, or one that may be negative and have days and weeks |
/// | `m` | pairs |
/// | `one\|two` | one of these words; with `~`, in any case; with `,` at the end, several of them |
/// | `one^two` | words that exclude each other |
/// | `hh:mm`, `one/two` | as many parts |
/// | `N-N`, `n-n` | numbers and ranges, of 64 or 32 bits |
/// | `N.N.N` | a version of Kafka |
/// | `!*` | has no `*` |
/// | `json`, `json?` | a JSON object, which is not empty, or may also be `null` |
/// | `selector` | a selector of labels |
const FIELDS: &str = include_str!("fields.txt");

/// The rules for the fields of a type: pairs of kind and name.
pub(super) fn rules(type_: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = FIELDS.lines().filter_map(|line| line.split_once(' '));
    let mut own = lines.filter(move |(types, _)| types.split(',').any(|own| own == type_));
    let rules = own.next().map_or("", |(_, rules)| rules);
    let rules = rules.split(' ').filter_map(|rule| rule.rsplit_once('='));
    rules.flat_map(|(kind, names)| names.split(',').map(move |name| (kind, name)))
}

/// Makes sure that a scaler reads the metadata of its trigger.
pub(super) fn check(type_: &str, metadata: &Metadata<'_>) -> Result<(), Refused> {
    for (kind, name) in rules(type_) {
        let (names, condition) = name.split_once('@').unwrap_or((name, ""));
        if !condition.is_empty() && metadata.get(condition).is_none_or(|value| value == "0") {
            continue;
        }
        let stated = match names.strip_suffix('!') {
            Some(name) => metadata.untrimmed(name).map(|value| (name, value)),
            None => metadata.stated(names),
        };
        match stated {
            Some((name, text)) => check_value(kind, metadata, name, text)?,
            None => {
                let sources = match kind {
                    "r" => Sources::ALL,
                    "re" => Sources { authentication: false, ..Sources::ALL },
                    "ra" => Sources { environment: false, ..Sources::ALL },
                    _ => continue,
                };
                if metadata.elsewhere(names, sources).is_none() {
                    return Err(metadata.missing(names));
                }
            }
        }
    }
    Ok(())
}

/// The fields that give way to what the trigger authenticates with, if it authenticates.
pub(super) fn replaceable(type_: &str, metadata: &Metadata<'_>) -> Vec<&'static str> {
    if !metadata.is_authenticated() {
        return Vec::new();
    }
    let all = rules(type_).filter(|(kind, name)| *kind == "a" && metadata.get(name).is_some());
    all.map(|(_, name)| name).collect()
}

/// Checks one value, which a refusal shows only where it should have been within bounds.
fn check_value(kind: &str, metadata: &Metadata<'_>, name: &str, text: &str) -> Result<(), Refused> {
    let is_good = match kind {
        "r" | "re" | "ra" | "a" => true,
        "x" => return Err(metadata.refused(name, "KEDA no longer reads it")),
        "f?" if text == "null" => true,
        "f" | "f?" => return metadata.number(name, text).map(drop),
        "f>0" => metadata.number(name, text)? > 0.0,
        "i" => return metadata.whole(name, text).map(drop),
        range if is_range(range) => is_in(range, metadata.whole(name, text)?),
        "b" => go::parse_bool(text).is_some(),
        "d" => duration(text).is_some(),
        "d>0" => duration(text).is_some_and(|nanos| nanos > 0),
        "dw" => go::parse_duration_with_days(text).is_some(),
        "m" => text.split(',').all(|pair| pair.split('=').count() == 2),
        "N-N" => is_ranges::<i64>(text),
        "n-n" => is_ranges::<i32>(text),
        "N.N.N" => is_kafka_version(text),
        "!*" => !text.contains('*'),
        "json" => from_str::<Map<String, Json>>(text).is_ok_and(|object| !object.is_empty()),
        "json?" => from_str::<Option<Map<String, Json>>>(text).is_ok(),
        "selector" => Selector::parse(text).is_ok(),
        words if words.contains(['|', ',']) => is_words(words, text),
        pattern => separator(pattern).is_some_and(|separator| {
            text.split(separator).count() == pattern.split(separator).count()
        }),
    };
    if is_good {
        return Ok(());
    }
    let mut message = expected(kind);
    if kind == "f>0" || is_range(kind) {
        message.push_str(&format!(", is {text}"));
    }
    Err(metadata.refused(name, message))
}

/// What a value of a kind must be, for a reader.
fn expected(kind: &str) -> String {
    let expected = match kind {
        "f>0" => "greater than 0",
        "b" => "true or false",
        "d" => "a duration such as 30s",
        "d>0" => "a duration such as 30s, and more than 0",
        "dw" => "a duration such as 7d12h",
        "m" => "pairs such as KEY=VALUE, separated by commas",
        "N-N" | "n-n" => "numbers and ranges such as 1,3-5",
        "N.N.N" => "a version such as 2.5.0",
        "!*" => "without *",
        "json" => "a JSON object that is not empty",
        "json?" => "a JSON object",
        "selector" => "a selector of labels",
        range if is_range(range) => &range_in_words(range),
        words if words.contains(['|', ',']) => &in_words(words),
        pattern => pattern,
    };
    format!("must be {expected}")
}

/// Whether a kind is a range of whole numbers.
fn is_range(kind: &str) -> bool {
    kind.contains("..")
}

/// What is between the parts of a pattern such as `hh:mm`.
fn separator(pattern: &str) -> Option<char> {
    pattern.chars().find(|c| matches!(c, ':' | '/'))
}

/// Whether a number is in a range such as `1..100`, `60..` or `0|60../60`.
fn is_in(range: &str, value: i64) -> bool {
    range.split('|').any(|part| match part.split_once("..") {
        None => part.parse() == Ok(value),
        Some((least, rest)) => {
            let (most, step) = rest.split_once('/').unwrap_or((rest, "1"));
            let step: i64 = step.parse().unwrap_or(1);
            least.parse().is_ok_and(|least: i64| value >= least)
                && most.parse().map_or(true, |most: i64| value <= most)
                && value % step == 0
        }
    })
}

/// A range for a reader.
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
    let among = |group: &str| {
        stated.iter().filter(|own| group.split('^').any(|word| word == **own)).count()
    };
    let groups = || words.split('|');
    groups().map(among).sum::<usize>() == stated.len()
        && groups().filter(|group| group.contains('^')).all(|group| among(group) <= 1)
}

/// Words for a reader.
fn in_words(words: &str) -> String {
    let words = words.trim_start_matches('~').trim_end_matches(',');
    let exclusive = words.split('|').find(|group| group.contains('^'));
    let only = exclusive.map(|group| format!(", and only one of {}", group.replace('^', ", ")));
    format!("one of {}{}", words.replace(['|', '^'], ", "), only.unwrap_or_default())
}

/// The nanoseconds of a duration as `setConfigValueHelper` in `typed_config.go` reads it: as Go writes it, or
/// milliseconds. Only what is written is not negative: too many milliseconds overflow.
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

/// Whether a text is numbers and ranges, `setConfigValueSlice` in `typed_config.go`.
fn is_ranges<N: FromStr>(text: &str) -> bool {
    text.split(',').all(|part| {
        let ends: Vec<&str> = part.split('-').collect();
        ends.len() <= 2 && ends.iter().all(|end| end.trim().parse::<N>().is_ok())
    })
}

/// `ParseKafkaVersion` in sarama's `utils.go`.
fn is_kafka_version(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    let is_number = |part: &&str| part.parse::<u32>().is_ok() && !part.starts_with('+');
    // Those before 1.0.0 have four parts.
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
        const KINDS: [&str; 21] = [
            "r", "re", "ra", "a", "x", "i", "f", "f>0", "f?", "b", "d", "d>0", "dw", "m", "N-N",
            "n-n", "N.N.N", "!*", "json", "json?", "selector",
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
        }
    }
}
