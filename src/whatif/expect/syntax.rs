//! The language of expectations: `desired <= 20 and not limited`. From loosest to tightest: `or`, `and`,
//! `not`, comparisons, sums, products, and fields; some fields are booleans. Both sides of a comparison are
//! numbers, percentages or durations.

use jiff::SignedDuration;

use super::fields::{Field, find_metric};
use super::units::{Sign, Unit, Units};
use crate::apimachinery::quantity::Quantity;
use crate::numbers::duration_with_days;
use crate::snapshot::hpa::HpaSpec;

/// An expectation as it was written, and its parsed form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    /// The text as written.
    pub text: String,
    /// Its root.
    pub root: Node,
    /// The fields that it names, each with its position in the text.
    pub fields: Vec<(usize, Field)>,
}

/// A part of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// `a or b or c`
    Any(Vec<Node>),
    /// `a and b and c`
    All(Vec<Node>),
    /// `not a`
    Not(Box<Node>),
    /// A field that is a boolean.
    Flag(Field),
    /// `a < b`
    Compare(Box<Operand>, ComparisonOperator, Box<Operand>),
}

/// An operand of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand {
    /// A field that is a number.
    Field(Field),
    /// A number.
    Number(Number),
    /// A duration: `1h30m`.
    Duration {
        /// The text as written.
        text: String,
        /// Its length.
        duration: SignedDuration,
    },
    /// `-a`
    Negative(Box<Operand>),
    /// `a + b - c`, or `a * b / c`: from left to right, and never both in one chain.
    Chain(Box<Operand>, Vec<(Sign, Operand)>),
}

/// A number as it was written: `20`, `250m`, `512Mi`, or `80%` for a utilization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number {
    /// The text as written.
    pub text: String,
    /// The number, without the percent sign.
    pub quantity: Quantity,
}

impl Number {
    /// Whether the number looks like a fraction of 1 and not like a percentage: below 1, or `1.0` and `1.5`.
    pub(super) fn is_fraction(&self) -> bool {
        let value = self.quantity.approximate_f64();
        let most = if self.text.contains('.') { 2.0 } else { 1.0 };
        value > 0.0 && value < most && !self.text.ends_with('%')
    }
}

/// The operator of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparisonOperator {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<=`
    AtMost,
    /// `>=`
    AtLeast,
    /// `<`
    Less,
    /// `>`
    Greater,
}

impl Expression {
    /// Whether the expectation depends on a run, and not only on the first pass.
    pub fn is_of_run(&self) -> bool {
        self.fields.iter().any(|(_, field)| field.is_of_run())
    }

    /// Rejects fields of a run if there is no run.
    pub fn check_without_run(&self) -> Result<(), SyntaxError> {
        match self.fields.iter().find(|(_, field)| field.is_of_run()) {
            Some((at, field)) => {
                let message = format!("{field} is known only over time");
                Err(error(*at, message, "use --for or --trace to play a run"))
            }
            None => Ok(()),
        }
    }

    /// Checks that the HPA has each metric that is named.
    pub fn check(&self, spec: &HpaSpec) -> Result<(), SyntaxError> {
        for (at, field) in &self.fields {
            if let Field::Metric(name, of) = field {
                find_metric(spec, name, *of).map_err(|(message, hint)| SyntaxError {
                    at: *at,
                    message,
                    hint,
                })?;
            }
        }
        Ok(())
    }
}

impl Operand {
    /// Returns the possible units of the number: `10m` is ten thousandths or ten minutes, and `20` may be a percentage.
    pub(super) fn units(&self) -> Units {
        match self {
            Self::Field(field) => field.unit().map_or(Units::NONE, Units::of),
            Self::Number(number) if number.text.ends_with('%') => Units::of(Unit::Percent),
            Self::Number(number) => {
                let percent = Units::of(Unit::Percent).only_if(!number.is_fraction());
                let is_duration = duration_with_days(&number.text).is_some();
                let duration = Units::of(Unit::Duration).only_if(is_duration);
                Units::of(Unit::Number).or(percent).or(duration)
            }
            Self::Duration { .. } => Units::of(Unit::Duration),
            Self::Negative(inner) => inner.units(),
            Self::Chain(first, rest) => rest.iter().fold(first.units(), |units, (sign, next)| {
                units.combined(*sign, next.units())
            }),
        }
    }

    /// Chooses one of these units.
    pub(super) fn settle(&mut self, unit: Unit) {
        match self {
            Self::Number(Number { text, .. }) if unit == Unit::Duration => {
                if let Some(duration) = duration_with_days(text) {
                    *self = Self::Duration {
                        text: std::mem::take(text),
                        duration,
                    };
                }
            }
            Self::Number(_) | Self::Field(_) | Self::Duration { .. } => {}
            Self::Negative(inner) => inner.settle(unit),
            Self::Chain(first, rest) => {
                let mut before = vec![first.units()];
                for (sign, next) in &*rest {
                    let units = before.last().copied().unwrap_or(Units::NONE);
                    before.push(units.combined(*sign, next.units()));
                }
                let mut wanted = unit;
                for ((sign, next), units) in rest.iter_mut().zip(before).rev() {
                    let Some((left, right)) = units.leading_to(wanted, *sign, next.units()) else {
                        return;
                    };
                    next.settle(right);
                    wanted = left;
                }
                first.settle(wanted);
            }
        }
    }

    pub(super) fn is_literal(&self) -> bool {
        matches!(self, Self::Number(_) | Self::Duration { .. })
    }
}

/// The reason why an expression cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// The position, in bytes from the start of the text.
    pub at: usize,
    /// What is wrong at that position.
    pub message: String,
    /// What could be written there.
    pub hint: String,
}

pub(super) fn error(at: usize, message: impl Into<String>, hint: impl Into<String>) -> SyntaxError {
    SyntaxError {
        at,
        message: message.into(),
        hint: hint.into(),
    }
}
