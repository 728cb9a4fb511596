//! Kubernetes quantities such as `250m` and `1.5Gi`, equal to apimachinery's `resource.Quantity` in numbers
//! and texts. Its oddities are part of what the autoscaler computes, so none may be repaired here; the only
//! deviation is that absurdly long numbers are rejected.

mod amount;
mod parse;
mod serde;

use std::fmt;

pub use amount::Amount;

/// The format in which a quantity is printed, according to the suffix with which it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Suffixes for powers of 1000: `250m`, `12M`.
    #[default]
    DecimalSI,
    /// Suffixes for powers of 1024: `12Mi`.
    BinarySI,
    /// An exponent of 10: `12e6`.
    DecimalExponent,
}

/// The reason why a text is not a quantity. All but the last are upstream's errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Not of the shape of a quantity.
    #[error(
        "quantities must match the regular expression \
         '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )]
    Format,
    /// No digits before a suffix that needs some.
    #[error("unable to parse numeric part of quantity")]
    Numeric,
    /// An unknown suffix.
    #[error("unable to parse quantity's suffix")]
    Suffix,
    /// Reading the quantity takes a number of more than 100,000 digits. Upstream tries, for
    /// minutes or until memory runs out.
    #[error("quantity is out of range")]
    OutOfRange,
}

/// A number together with its notation.
///
/// Only the number matters for equality.
#[derive(Debug, Clone, Default)]
pub struct Quantity {
    amount: Amount,
    format: Format,
    /// The input, if upstream considers it canonical and prints it again.
    text: Option<Box<str>>,
}

impl Quantity {
    /// Reads a quantity, `resource.ParseQuantity`.
    ///
    /// # Errors
    ///
    /// Upstream's, plus [`ParseError::OutOfRange`].
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let parse::ParsedQuantity {
            amount,
            format,
            reuse,
        } = parse::parse(text)?;
        Ok(Self {
            amount,
            format,
            text: reuse.then(|| text.into()),
        })
    }

    /// Returns a quantity of this many thousandths, `resource.NewMilliQuantity`.
    pub fn from_milli(value: i64, format: Format) -> Self {
        Self::new(Amount::int(value, -3), format)
    }

    /// Returns a quantity of this number.
    pub(crate) fn new(amount: Amount, format: Format) -> Self {
        Self {
            amount,
            format,
            text: None,
        }
    }

    /// Returns the same number in another format.
    pub(crate) fn in_format(&self, format: Format) -> Self {
        Self::new(self.amount.clone(), format)
    }

    /// Returns the number.
    pub fn amount(&self) -> &Amount {
        &self.amount
    }

    /// Returns the format in which the number is printed.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the number in thousandths; see [`Amount::milli_value`].
    pub fn milli_value(&self) -> i64 {
        self.amount.milli_value()
    }

    /// -1, 0 or 1.
    pub fn signum(&self) -> i32 {
        self.amount.signum()
    }

    /// Returns the number as `AsApproximateFloat64` computes it: the mantissa times a power of ten, each
    /// rounded first. `0.3` gives 0.30000000000000004 but `300m` gives 0.3, so use the
    /// [canonical](Self::canonicalized) quantity if that is what the controller sees. Zero with an exponent
    /// above 308 gives NaN.
    pub fn approximate_f64(&self) -> f64 {
        self.amount.approximate_f64()
    }

    /// Returns the quantity that results from writing this one and reading it back, as happens to every
    /// quantity that passes through an API server.
    pub fn canonicalized(&self) -> Self {
        // Only quantities at the limit of the computable can fail to read back.
        Self::parse(&self.to_string()).unwrap_or_else(|_| self.clone())
    }
}

/// `Quantity.String`: the input if it was canonical, otherwise the canonical text. Decimal suffixes end at
/// `E`, and upstream prints larger numbers without one: `1000E` becomes `1`.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = &self.text {
            return f.pad(text);
        }
        if self.amount.is_zero() {
            return f.pad("0");
        }
        if self.format == Format::BinarySI
            && let Some((mut digits, exponent)) = self.amount.base_1024()
        {
            digits.push_str(["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"][exponent as usize]);
            return f.pad(&digits);
        }
        let (mut digits, exponent) = self.amount.base_1000();
        if self.format == Format::DecimalExponent {
            if exponent != 0 {
                digits.push_str(&format!("e{exponent}"));
            }
        } else {
            digits.push_str(amount::suffix(exponent).unwrap_or_default());
        }
        f.pad(&digits)
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.amount == other.amount
    }
}

impl Eq for Quantity {}

#[cfg(test)]
mod tests;
