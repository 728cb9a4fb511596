//! The expectations of an answer, and whether they hold, for each spec that is judged: as text and as JSON.

use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::section::{Detail, Part, Section};
use crate::apimachinery::json::SecondsTime;
use crate::backtest::ManifestPlace;
use crate::numbers;
use crate::whatif::expect::{
    Expectation, Fact, Field, FieldValue, RunField, Truth, UnknownOperandCause, named,
};

/// The expectations of one spec.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The name of the spec, if there are several.
    pub candidate: Option<String>,
    /// The manifest that it comes from, if it comes from one.
    pub manifest: Option<ManifestPlace>,
    /// Each expectation, and whether it holds.
    pub expectations: Vec<Expectation>,
}

impl Judged {
    /// Returns the name of an HPA, with the candidate's if there are several.
    pub(crate) fn named(&self, hpa: &str) -> String {
        match &self.candidate {
            Some(candidate) => format!("{hpa} ({candidate})"),
            None => hpa.to_owned(),
        }
    }
}

/// Returns whether expectations hold; `None` without any.
pub(crate) fn expected(judged: &[Judged]) -> Option<Section> {
    let lines = Part::Pairs(judged.iter().flat_map(worded).collect());
    Section::new("EXPECTED", Detail::Always, [lines])
}

/// Returns each expectation with its result, and the basis of the result.
fn worded(judged: &Judged) -> impl Iterator<Item = (String, String)> {
    let candidate = judged
        .candidate
        .as_ref()
        .map(|name| format!("{name}: "))
        .unwrap_or_default();
    judged.expectations.iter().map(move |expectation| {
        let sort = match expectation.truth {
            Truth::True => "holds",
            Truth::False => "FAILS",
            Truth::Unknown => "UNKNOWN",
        };
        let mut because = expectation.in_short();
        if !because.is_empty() {
            because.insert_str(0, ": ");
        }
        (
            sort.to_owned(),
            format!("{candidate}{}{because}", expectation.name()),
        )
    })
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Count { min, max } if min == max => write!(f, "{min}"),
            Self::Count { min, max } => write!(f, "anywhere from {min} to {max}"),
            Self::Amount(quantity) => write!(f, "{quantity}"),
            Self::Fraction {
                numerator,
                denominator,
            } => f.write_str(&numbers::number(*numerator as f64 / *denominator as f64)),
            Self::Duration { min, max } if min == max => f.write_str(&numbers::duration(*min)),
            Self::Duration { min, max } => {
                let (min, max) = (numbers::duration(*min), numbers::duration(*max));
                write!(f, "anywhere from {min} to {max}")
            }
            Self::Unknown(why) => write!(f, "unknown ({why})"),
        }
    }
}

/// The value without its field: `4`, `34 at 2026-11-17T12:03:00Z`, `15m (first at
/// 2026-11-17T12:03:00Z)`.
impl fmt::Display for FieldValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.fact)?;
        let Some(moment) = self.moment.map(SecondsTime) else {
            return Ok(());
        };
        match self.field {
            Field::Run(_, RunField::LongestShort) if self.fact.is_exact() => {
                write!(f, " from {moment} on")
            }
            Field::Run(_, RunField::LongestShort) => match &self.fact {
                Fact::Duration { min, .. } => {
                    write!(f, " ({} from {moment} on)", numbers::duration(*min))
                }
                _ => Ok(()),
            },
            Field::Run(_, RunField::Short) => write!(f, " (longest from {moment} on)"),
            Field::Run(
                _,
                RunField::AtMax | RunField::Rescales | RunField::Reversals | RunField::Unanswered,
            ) => write!(f, " (first at {moment})"),
            _ => write!(f, " at {moment}"),
        }
    }
}

/// Returns why a comparison has no answer, if its fields do not show that themselves.
fn reason(lack: UnknownOperandCause) -> Option<&'static str> {
    match lack {
        UnknownOperandCause::Field => None,
        UnknownOperandCause::Zero => Some("the divisor is 0, or may be"),
        UnknownOperandCause::Length => Some("its numbers are too long"),
    }
}

impl Expectation {
    /// Returns the name of the expectation: the expression, with the shorthand that it comes from, and a suffix if it
    /// applies to the first pass only.
    pub fn name(&self) -> String {
        self.placed(named(&self.expression, self.fail_on))
    }

    /// Returns what fails it: that it is false, or what `--fail-on` has found.
    pub fn failure(&self) -> String {
        match self.fail_on {
            Some(condition) => self.placed(format!("--fail-on {condition}")),
            None => format!("{} is false", self.name()),
        }
    }

    fn placed(&self, name: String) -> String {
        if self.is_of_first_pass {
            format!("{name} in the first pass")
        } else {
            name
        }
    }

    /// Returns the values that it uses: `desired is 4, limited is false`; with the hint.
    pub fn because(&self) -> String {
        let values = self
            .values
            .iter()
            .map(|value| format!("{} is {value}", value.field));
        self.with_reasons(values.collect::<Vec<_>>().join(", "))
    }

    /// Returns the values for display next to the expression, where the only number needs no name if it is compared
    /// directly: `4`.
    pub fn in_short(&self) -> String {
        match &self.values[..] {
            [value] if self.is_plain && value.field.is_number() => {
                self.with_reasons(value.to_string())
            }
            _ => self.because(),
        }
    }

    fn with_reasons(&self, values: String) -> String {
        let lack = self.lack.and_then(reason).map(str::to_owned);
        let values = Some(values).filter(|values| !values.is_empty());
        [values, lack, self.hint.clone()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("; ")
    }
}

impl Serialize for Expectation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("expression", &self.expression)?;
        map.serialize_entry("failOn", &self.fail_on)?;
        map.serialize_entry("truth", &self.truth)?;
        if self.is_of_first_pass {
            map.serialize_entry("firstPass", &true)?;
        }
        map.serialize_entry("values", &self.values)?;
        if let Some(why) = self.lack.and_then(reason) {
            map.serialize_entry("unknown", why)?;
        }
        if let Some(hint) = &self.hint {
            map.serialize_entry("hint", hint)?;
        }
        map.end()
    }
}

impl Serialize for FieldValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("field", &self.field.to_string())?;
        add_to(&self.fact, &mut map)?;
        if let Some(moment) = self.moment {
            map.serialize_entry("moment", &SecondsTime(moment).to_string())?;
        }
        map.end()
    }
}

/// Adds a fact to a JSON object: `value`, which is null for a range or an unknown; these have `range` or
/// `unknown` in addition.
fn add_to<M: SerializeMap>(fact: &Fact, map: &mut M) -> Result<(), M::Error> {
    match fact {
        Fact::Flag(flag) => map.serialize_entry("value", flag),
        Fact::Count { min, max } if min == max => map.serialize_entry("value", min),
        Fact::Count { min, max } => {
            map.serialize_entry("value", &None::<i64>)?;
            map.serialize_entry(
                "range",
                &ExpectedBounds {
                    min: *min,
                    max: *max,
                },
            )
        }
        Fact::Amount(quantity) => map.serialize_entry("value", quantity),
        Fact::Fraction {
            numerator,
            denominator,
        } => map.serialize_entry("value", &(*numerator as f64 / *denominator as f64)),
        Fact::Duration { min, max } if min == max => {
            map.serialize_entry("value", &min.as_secs_f64())
        }
        Fact::Duration { min, max } => {
            map.serialize_entry("value", &None::<i64>)?;
            let (min, max) = (min.as_secs_f64(), max.as_secs_f64());
            map.serialize_entry("range", &ExpectedBounds { min, max })
        }
        Fact::Unknown(why) => {
            map.serialize_entry("value", &None::<i64>)?;
            map.serialize_entry("unknown", why)
        }
    }
}

#[derive(Serialize)]
struct ExpectedBounds<T> {
    min: T,
    max: T,
}
