//! Reads quantity text the way `resource.ParseQuantity` does. It must accept exactly what upstream accepts,
//! oddities included, and choose between the two forms of [`Amount`] by the same rule, because later
//! roundings differ between them. It must not allocate for the small form.

use num_bigint::BigInt;

use super::amount::{Amount, Decimal, MAX_DIGITS, power_of_ten};
use super::{Format, ParseError};

/// The exponent of a billionth, the finest step that a quantity keeps.
const NANO: i32 = -9;

/// The result of upstream's parser for a quantity.
#[derive(Debug)]
pub(super) struct ParsedQuantity {
    pub(super) amount: Amount,
    pub(super) format: Format,
    /// Whether upstream keeps the input as the text to print.
    pub(super) reuse: bool,
}

/// The pieces of a quantity's text.
struct Pieces<'a> {
    negative: bool,
    /// Integer and fraction digits read as one number; meaningless beyond 18 of them.
    mantissa: u64,
    /// Integer digits after leading zeros.
    integer_digits: usize,
    fraction_digits: usize,
    /// Everything before the suffix, sign included.
    number: &'a [u8],
    suffix: &'a [u8],
}

impl Amount {
    /// Reads a quantity's text, and keeps only the number. Does not allocate for numbers of up to 18 digits
    /// that are no finer than a billionth.
    ///
    /// # Errors
    ///
    /// The errors of [`Quantity::parse`](super::Quantity::parse).
    #[inline]
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        parse(text).map(|parsed| parsed.amount)
    }
}

#[inline]
pub(super) fn parse(text: &str) -> Result<ParsedQuantity, ParseError> {
    if text.is_empty() {
        return Err(ParseError::Format);
    }
    let pieces = split(text.as_bytes())?;
    let (exponent, format) = suffix(pieces.suffix).ok_or(ParseError::Suffix)?;
    // A missing integer part counts as the digit 0.
    let digits = pieces.integer_digits.max(1) + pieces.fraction_digits;

    let (factor, scale) = match format {
        Format::BinarySI => {
            // Upstream's estimate of the decimal digits that the power of two requires.
            let room = 14 - exponent * 3 / 10;
            if pieces.fraction_digits > 0 || digits as i64 > i64::from(room) {
                return parse_decimal(&pieces, exponent, format);
            }
            (1_i64 << exponent, 0)
        }
        Format::DecimalSI | Format::DecimalExponent => {
            let scale = exponent.wrapping_sub(pieces.fraction_digits as i32);
            if digits > 18 || scale < NANO {
                return parse_decimal(&pieces, exponent, format);
            }
            (1, scale)
        }
    };
    let reuse = match format {
        Format::BinarySI => pieces.mantissa % 8 != 0,
        Format::DecimalSI | Format::DecimalExponent => {
            scale % 3 == 0 && pieces.mantissa % 1000 != 0 && pieces.integer_digits > 0
        }
    };
    let magnitude = pieces.mantissa as i64 * factor;
    let value = if pieces.negative {
        -magnitude
    } else {
        magnitude
    };
    Ok(ParsedQuantity {
        amount: Amount::int(value, scale),
        format,
        reuse,
    })
}

#[inline]
fn split(text: &[u8]) -> Result<Pieces<'_>, ParseError> {
    let at = |position: usize| text.get(position).copied();
    let mut position = usize::from(matches!(at(0), Some(b'+' | b'-')));
    while at(position) == Some(b'0') {
        position += 1;
    }

    let mut mantissa = 0_u64;
    let integer_end = read_digits(text, position, &mut mantissa);
    let integer_digits = integer_end - position;
    let (mut position, mut fraction_digits) = (integer_end, 0);
    if at(position) == Some(b'.') {
        position = read_digits(text, integer_end + 1, &mut mantissa);
        fraction_digits = position - integer_end - 1;
    }

    let number_end = position;
    while at(position).is_some_and(|byte| b"eEinumkKMGTP".contains(&byte)) {
        position += 1;
    }
    if matches!(at(position), Some(b'+' | b'-')) {
        position += 1;
    }
    while at(position).is_some_and(|byte| byte.is_ascii_digit()) {
        position += 1;
    }
    if position < text.len() {
        return Err(ParseError::Format);
    }
    Ok(Pieces {
        negative: text[0] == b'-',
        mantissa,
        integer_digits,
        fraction_digits,
        number: &text[..number_end],
        suffix: &text[number_end..],
    })
}

/// Appends the digits from a position on to the mantissa, and returns their end.
#[inline]
fn read_digits(text: &[u8], from: usize, mantissa: &mut u64) -> usize {
    let mut end = from;
    while let Some(digit @ b'0'..=b'9') = text.get(end) {
        *mantissa = mantissa
            .wrapping_mul(10)
            .wrapping_add(u64::from(digit - b'0'));
        end += 1;
    }
    end
}

/// Returns the exponent that a suffix means, of base 2 for [`Format::BinarySI`], otherwise of base 10.
#[inline]
fn suffix(text: &[u8]) -> Option<(i32, Format)> {
    Some(match text {
        b"" => (0, Format::DecimalSI),
        b"n" => (-9, Format::DecimalSI),
        b"u" => (-6, Format::DecimalSI),
        b"m" => (-3, Format::DecimalSI),
        b"k" => (3, Format::DecimalSI),
        b"M" => (6, Format::DecimalSI),
        b"G" => (9, Format::DecimalSI),
        b"T" => (12, Format::DecimalSI),
        b"P" => (15, Format::DecimalSI),
        b"E" => (18, Format::DecimalSI),
        b"Ki" => (10, Format::BinarySI),
        b"Mi" => (20, Format::BinarySI),
        b"Gi" => (30, Format::BinarySI),
        b"Ti" => (40, Format::BinarySI),
        b"Pi" => (50, Format::BinarySI),
        b"Ei" => (60, Format::BinarySI),
        [b'e' | b'E', exponent @ ..] => {
            let exponent: i64 = str::from_utf8(exponent).ok()?.parse().ok()?;
            // Upstream narrows without a check, so 1e4294967296 is 1.
            (exponent as i32, Format::DecimalExponent)
        }
        _ => return None,
    })
}

/// Parses numbers that are too long or too fine for [`Amount`]'s small form.
#[cold]
fn parse_decimal(
    pieces: &Pieces<'_>,
    exponent: i32,
    mut format: Format,
) -> Result<ParsedQuantity, ParseError> {
    let digits: Vec<u8> = pieces
        .number
        .iter()
        .copied()
        .filter(u8::is_ascii_digit)
        .collect();
    if digits.is_empty() {
        return Err(ParseError::Numeric);
    }
    let significant = digits
        .iter()
        .position(|&digit| digit != b'0')
        .unwrap_or(digits.len());
    let length = digits.len() - significant;
    if length > MAX_DIGITS {
        return Err(ParseError::OutOfRange);
    }
    let mut unscaled = BigInt::parse_bytes(&digits, 10).ok_or(ParseError::Numeric)?;
    let mut scale = pieces.fraction_digits as i32;
    if format == Format::BinarySI {
        unscaled <<= exponent;
    } else {
        scale = scale.wrapping_add(exponent.wrapping_neg());
    }

    if length > 0 {
        let shift = (-NANO).wrapping_sub(scale);
        let distance = shift.unsigned_abs();
        if distance as usize + length > MAX_DIGITS {
            return Err(ParseError::OutOfRange);
        }
        if shift >= 0 {
            unscaled *= power_of_ten(distance);
        } else {
            unscaled = Decimal {
                unscaled,
                scale: -shift,
            }
            .rounded_up();
        }
        scale = -NANO;
        if format == Format::BinarySI {
            if unscaled > BigInt::from(i64::MAX) * power_of_ten(9) {
                (unscaled, scale) = (BigInt::from(i64::MAX), 0);
            } else if unscaled < power_of_ten(9) {
                format = Format::DecimalSI;
            }
        }
    }
    if pieces.negative {
        unscaled = -unscaled;
    }
    Ok(ParsedQuantity {
        amount: Amount::decimal(unscaled, scale),
        format,
        reuse: false,
    })
}
