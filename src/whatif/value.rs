//! The value that is assumed for a metric: a share of the request, an amount, a multiple of the observed
//! value, or nothing. Values are exact; no float is involved between the typed text and the milli-units that
//! the engine reads.

use std::str::FromStr;

use crate::apimachinery::quantity::{Amount, Quantity};

/// A value that replaces an observed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssumedValue {
    /// A share of each pod's request.
    Share(Ratio),
    /// An amount in milli-units.
    Amount(i64),
    /// A multiple of the observed value.
    Scale(Ratio),
    /// The metric cannot be read.
    Missing,
}

/// A share or factor that is not negative, without rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ratio {
    numerator: u64,
    /// A power of ten.
    denominator: u64,
}

/// The forms that a value has.
pub const FORMS: &str = "a percentage of the request (80%), an amount (250m, 1.5, 512Mi), a \
                         change to the observed value (+20%, -10%, x2), or missing";

/// The text has none of the forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// The text is not a value at all.
    #[error("not a value")]
    Form,
    /// The value is negative.
    #[error("must not be negative")]
    Negative,
    /// The value is too large for any metrics API.
    #[error("larger than any metric can be")]
    TooLarge,
}

impl FromStr for AssumedValue {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if text == "missing" {
            return Ok(Self::Missing);
        }
        if let Some(factor) = text.strip_prefix('x') {
            return Ok(Self::Scale(Ratio::parse(factor, 0)?));
        }
        if let Some(percent) = text.strip_suffix('%') {
            let change = |digits| Ratio::parse(digits, 2);
            return match percent.as_bytes().first() {
                Some(b'+') => Ok(Self::Scale(change(&percent[1..])?.above_one()?)),
                Some(b'-') => Ok(Self::Scale(change(&percent[1..])?.below_one()?)),
                _ => Ok(Self::Share(change(percent)?)),
            };
        }
        // A sign may introduce an amount or a change of it; the meaning is not certain.
        if text.starts_with('+') {
            return Err(ValueError::Form);
        }
        let amount = Amount::parse(text).map_err(|_| ValueError::Form)?;
        if amount.signum() < 0 {
            return Err(ValueError::Negative);
        }
        if amount > *Quantity::from_milli(i64::MAX, Default::default()).amount() {
            return Err(ValueError::TooLarge);
        }
        Ok(Self::Amount(amount.milli_value()))
    }
}

impl AssumedValue {
    /// Returns the value as typed.
    pub(super) fn words(&self, typed: &str) -> String {
        match self {
            Self::Share(_) => format!("{typed} of the request"),
            Self::Amount(_) | Self::Scale(_) | Self::Missing => typed.to_owned(),
        }
    }
}

/// The maximum number of digits after the decimal point.
const PLACES: usize = 9;

impl Ratio {
    /// The factor 1.
    pub const ONE: Self = Self {
        numerator: 1,
        denominator: 1,
    };

    /// A number of hundredths.
    pub fn percent(percent: u64) -> Self {
        Self {
            numerator: percent,
            denominator: 100,
        }
    }

    /// One amount as a share of another; `None` if it is negative or beyond 64 bits.
    pub(super) fn part(amount: i128, whole: i128) -> Option<Self> {
        Some(Self {
            numerator: amount.try_into().ok()?,
            denominator: whole.try_into().ok()?,
        })
    }

    /// Digits with a point among them, with the number of digits after it.
    fn parse(text: &str, places: usize) -> Result<Self, ValueError> {
        let (whole, after_point) = text.split_once('.').unwrap_or((text, ""));
        let fraction = after_point.trim_end_matches('0');
        let digits = whole.len() + text.len().saturating_sub(whole.len() + 1);
        if digits == 0 || !text.bytes().all(|c| c.is_ascii_digit() || c == b'.') {
            let negative = text
                .strip_prefix('-')
                .is_some_and(|rest| Self::parse(rest, 0).is_ok());
            return Err(if negative {
                ValueError::Negative
            } else {
                ValueError::Form
            });
        }
        if fraction.contains('.') || fraction.len() > PLACES {
            return Err(ValueError::Form);
        }
        let number: u64 = format!("0{whole}{fraction}")
            .parse()
            .map_err(|_| ValueError::TooLarge)?;
        let denominator = 10_u64.pow((fraction.len() + places) as u32);
        Ok(Self {
            numerator: number,
            denominator,
        })
    }

    /// Returns 1 plus the ratio.
    fn above_one(self) -> Result<Self, ValueError> {
        let sum = self.denominator.checked_add(self.numerator);
        let numerator = sum.ok_or(ValueError::TooLarge)?;
        Ok(Self { numerator, ..self })
    }

    /// Returns 1 minus the ratio.
    fn below_one(self) -> Result<Self, ValueError> {
        let rest = self.denominator.checked_sub(self.numerator);
        let numerator = rest.ok_or(ValueError::Negative)?;
        Ok(Self { numerator, ..self })
    }

    /// Whether the ratio is a whole number of hundredths.
    pub(super) fn is_whole_percent(self) -> bool {
        (u128::from(self.numerator) * 100).is_multiple_of(self.denominator.into())
    }

    /// Returns this share of an amount, rounded towards zero; `None` beyond 128 bits.
    pub(super) fn whole_of(self, amount: i128) -> Option<i128> {
        Some(amount.checked_mul(i128::from(self.numerator))? / i128::from(self.denominator))
    }

    /// Returns this share of an amount, rounded away from zero as APIs round to milli-units; `None` beyond 128 bits.
    pub(super) fn of(self, amount: i128) -> Option<i128> {
        let product = amount.checked_mul(i128::from(self.numerator))?;
        let denominator = i128::from(self.denominator);
        let quotient = product / denominator;
        Some(if product % denominator == 0 {
            quotient
        } else {
            quotient + product.signum()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{AssumedValue, Ratio, ValueError};

    #[test]
    fn every_form_is_read_exactly() {
        let ratio = |numerator, denominator| Ratio {
            numerator,
            denominator,
        };
        for (text, value) in [
            ("80%", AssumedValue::Share(ratio(80, 100))),
            ("0%", AssumedValue::Share(ratio(0, 100))),
            ("62.5%", AssumedValue::Share(ratio(625, 1000))),
            ("62.50%", AssumedValue::Share(ratio(625, 1000))),
            ("250m", AssumedValue::Amount(250)),
            ("1.5", AssumedValue::Amount(1500)),
            ("0", AssumedValue::Amount(0)),
            ("512Mi", AssumedValue::Amount(512 * 1024 * 1024 * 1000)),
            ("1n", AssumedValue::Amount(1)),
            ("1e3", AssumedValue::Amount(1_000_000)),
            ("+20%", AssumedValue::Scale(ratio(120, 100))),
            ("-10%", AssumedValue::Scale(ratio(90, 100))),
            ("-100%", AssumedValue::Scale(ratio(0, 100))),
            ("x2", AssumedValue::Scale(ratio(2, 1))),
            ("x0.50", AssumedValue::Scale(ratio(5, 10))),
            ("x.5", AssumedValue::Scale(ratio(5, 10))),
            ("missing", AssumedValue::Missing),
        ] {
            assert_eq!(text.parse::<AssumedValue>(), Ok(value), "{text}");
        }
    }

    #[test]
    fn nothing_else_is() {
        use ValueError::{Form, Negative, TooLarge};
        for (text, error) in [
            ("", Form),
            ("%", Form),
            ("x", Form),
            (".%", Form),
            ("80%%", Form),
            ("1.2.3%", Form),
            ("1e2%", Form),
            ("0.0000000001%", Form),
            ("+20", Form),
            ("++20%", Form),
            ("NaN", Form),
            ("nan%", Form),
            ("inf", Form),
            ("80 %", Form),
            ("Missing", Form),
            ("-250m", Negative),
            ("-1", Negative),
            ("x-2", Negative),
            ("-110%", Negative),
            ("1e400", TooLarge),
            ("10E", TooLarge),
            ("x99999999999999999999", TooLarge),
            ("99999999999999999999%", TooLarge),
            ("+99999999999999999999%", TooLarge),
        ] {
            assert_eq!(text.parse::<AssumedValue>(), Err(error), "{text}");
        }
    }

    #[test]
    fn parts_round_away_from_zero() {
        for (percent, amount, part) in [
            (80, 100, 80),
            (80, 101, 81),
            (33, 1, 1),
            (0, 7, 0),
            (150, 3, 5),
            (50, -3, -2),
        ] {
            assert_eq!(
                Ratio::percent(percent).of(amount),
                Some(part),
                "{percent} % of {amount}"
            );
        }
        assert_eq!(Ratio::percent(u64::MAX).of(i128::MAX), None);
    }
}
