//! The keys and values that requirements may have, like `labels.NewRequirement` of Kubernetes 1.36, the
//! validations that it calls and the `field` errors that it reports. All faults of a requirement are
//! reported at once, so no fault may end the checks early.

use std::collections::HashSet;

use super::{Operator, Requirement, SelectorError};
use crate::apimachinery::go::{json_string, quote};
use crate::apimachinery::names;

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
        let found = names::label_value(value);
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

/// Returns the fault of a label key, reported for `field`.
pub(super) fn key_fault(field: &str, key: &str) -> Option<String> {
    let found = names::label_key(key);
    (!found.is_empty()).then(|| invalid(field, &quote(key), &found.join("; ")))
}

fn invalid(field: &str, value: &str, detail: &str) -> String {
    format!("{field}: Invalid value: {value}: {detail}")
}

/// Returns upstream's text for several errors, which omits repetitions.
fn aggregate(mut faults: Vec<String>) -> Option<String> {
    let mut known = HashSet::new();
    faults.retain(|fault| known.insert(fault.clone()));
    match faults.len() {
        0 => None,
        1 => faults.pop(),
        _ => Some(format!("[{}]", faults.join(", "))),
    }
}

/// Returns values as Go's JSON encoder prints them. Wherever an empty list is an error, it is nil.
fn json(values: &[Box<str>]) -> String {
    if values.is_empty() {
        return "null".into();
    }
    let quoted: Vec<String> = values.iter().map(|value| json_string(value)).collect();
    format!("[{}]", quoted.join(","))
}
