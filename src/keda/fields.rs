//! What scalers refuse of a trigger's metadata besides names and targets: one that refuses anything leaves
//! the ScaledObject without an HPA (`buildScalers` in `scalers_builder.go`). Rules that concern several
//! fields, or what a scaler connects to, are not among them.

use serde_json::from_str;

use super::Refused;
use super::metadata::Metadata;
use crate::apimachinery::go;

/// For each type of triggers, its fields by what they have to be: the `keda` tags and types of the fields of
/// each scaler's metadata, and the limits that its `Validate` sets to a single number.
///
/// `r` is required, though it may come from elsewhere; `x` is no longer read. The others are a whole number
/// (`i`; `n` if not negative, `p` if positive), a number (`f`), a Boolean (`b`), a duration (`d`), pairs (`m`),
/// or one of several words.
const FIELDS: &str = include_str!("fields.txt");

/// Makes sure that a scaler reads the metadata of its trigger.
pub(super) fn check(type_: &str, metadata: &Metadata<'_>) -> Result<(), Refused> {
    let lines = FIELDS.lines().filter_map(|line| line.split_once(' '));
    let mut own = lines.filter(|(types, _)| types.split(',').any(|own| own == type_));
    let rules = own.next().map_or("", |(_, rules)| rules);
    for (kind, names) in rules.split(' ').filter_map(|rule| rule.split_once(':')) {
        for name in names.split(',') {
            match metadata.get(name) {
                None if kind == "r" && matches!(metadata.known(name), Ok(None)) => {
                    return Err(metadata.missing(name));
                }
                None => {}
                Some(text) => check_value(kind, metadata, name, text)?,
            }
        }
    }
    Ok(())
}

/// Checks one value, which a refusal shows only where it should have been a number.
fn check_value(kind: &str, metadata: &Metadata<'_>, name: &str, text: &str) -> Result<(), Refused> {
    let refused = |why: &str| Err(metadata.refused(name, why));
    let least = match kind {
        "r" => return Ok(()),
        "x" => return refused("KEDA no longer reads it"),
        "f" => return metadata.number(name, text).map(drop),
        "b" if go::parse_bool(text).is_none() => return refused("must be true or false"),
        "d" if !is_duration(text) => return refused("must be a duration such as 30s"),
        "m" if !text.split(',').all(|pair| pair.split('=').count() == 2) => {
            return refused("must be pairs such as KEY=VALUE, separated by commas");
        }
        "b" | "d" | "m" => return Ok(()),
        "i" => i64::MIN,
        "n" => 0,
        "p" => 1,
        words => {
            if text.split(',').all(|text| words.split('|').any(|word| word == text.trim())) {
                return Ok(());
            }
            return refused(&format!("must be one of {}", words.replace('|', ", ")));
        }
    };
    match metadata.whole(name, text)? {
        value if value < least => refused(&format!("must be at least {least}, is {value}")),
        _ => Ok(()),
    }
}

/// As Go writes it, or milliseconds; not negative.
fn is_duration(text: &str) -> bool {
    let milliseconds = from_str::<i64>(text).is_ok_and(|number| number >= 0);
    milliseconds || go::parse_duration(text).is_some_and(|duration| !duration.is_negative())
}
