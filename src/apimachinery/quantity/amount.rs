//! The number inside a quantity and its arithmetic, like upstream's `int64Amount`, `infDecAmount` and
//! `scaledValue`. Results must wrap, vanish and round where upstream's do, which depends on the form in
//! which a number is held; it must therefore never be moved to the other form for tidiness.

use std::cmp::Ordering;
use std::fmt;

use num_bigint::{BigInt, BigUint, Sign};

/// The maximum number of decimal digits with which numbers are computed. Upstream has no such limit and
/// runs out of time or memory instead.
pub(super) const MAX_DIGITS: usize = 100_000;

/// The numeric value of a quantity.
///
/// Amounts are equal and ordered as numbers: `1000m` equals `1`. Where upstream's arithmetic depends on the
/// notation of a number, so does this type's.
#[derive(Clone)]
pub struct Amount(Repr);

#[derive(Clone)]
enum Repr {
    /// `value * 10^scale`.
    Int { value: i64, scale: i32 },
    /// Numbers beyond 18 digits, finer than a billionth, and many with binary suffixes.
    Decimal(Box<Decimal>),
}

/// `unscaled / 10^scale`.
#[derive(Debug, Clone)]
pub(super) struct Decimal {
    pub(super) unscaled: BigInt,
    pub(super) scale: i32,
}

impl Amount {
    /// Zero.
    pub const ZERO: Self = Self::int(0, 0);

    /// Returns a text that [`parse`](Self::parse) reads back as the same number in the same form, for every
    /// amount that was parsed. It is not canonical: that would lose the form.
    pub(super) fn spelling(&self) -> String {
        match &self.0 {
            Repr::Int { value, scale } => match suffix(*scale) {
                Some(suffix) => format!("{value}{suffix}"),
                None => format!("{value}e{scale}"),
            },
            Repr::Decimal(decimal) => {
                // Trailing zeros beyond what fits the short form keep a small number in the long one.
                let Decimal { unscaled, scale } = &**decimal;
                let zeros = "0".repeat(19);
                if decimal.signum() == 0 {
                    return format!("0.{zeros}");
                }
                // The cap of binary suffixes, the only number that is not held in nanos.
                if *scale == 0 && *unscaled.magnitude() == BigUint::from(i64::MAX as u64) {
                    let sign = if decimal.signum() < 0 { "-" } else { "" };
                    return format!("{sign}8Ei");
                }
                match i32::checked_neg(*scale).and_then(suffix) {
                    Some(suffix) => format!("{unscaled}.{zeros}{suffix}"),
                    None => format!("{unscaled}.{zeros}e{}", scale.wrapping_neg()),
                }
            }
        }
    }

    /// Whether both are the same number in the same form, so that they are equal in all arithmetic.
    pub(crate) fn is_identical(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Repr::Int { value, scale }, Repr::Int { value: v, scale: s }) => {
                (value, scale) == (v, s)
            }
            (Repr::Decimal(one), Repr::Decimal(other)) => {
                (&one.unscaled, one.scale) == (&other.unscaled, other.scale)
            }
            _ => false,
        }
    }

    #[inline]
    pub(crate) const fn int(value: i64, scale: i32) -> Self {
        Self(Repr::Int { value, scale })
    }

    pub(super) fn decimal(unscaled: BigInt, scale: i32) -> Self {
        Self(Repr::Decimal(Box::new(Decimal { unscaled, scale })))
    }

    /// Returns the number in thousandths, like `Quantity.MilliValue`.
    ///
    /// Parts of a thousandth round away from zero in the small form and, after truncation, upwards
    /// in the big one. Beyond 64 bits the result is the low bits of the true one or, for
    /// exponents such as `G`'s, 0.
    #[inline]
    pub fn milli_value(&self) -> i64 {
        self.scaled_value(-3)
    }

    /// Returns the whole number, like `Quantity.Value`. Rounds and overflows like [`Self::milli_value`].
    #[inline]
    pub fn value(&self) -> i64 {
        self.scaled_value(0)
    }

    fn scaled_value(&self, target: i32) -> i64 {
        match &self.0 {
            Repr::Int { value, scale } if *scale < target => {
                scale_down(*value, target.wrapping_sub(*scale))
            }
            // Upstream drops the report of an overflow here and keeps the wrapped product.
            Repr::Int { value, scale } => scale_up(*value, scale.wrapping_sub(target)).0,
            Repr::Decimal(decimal) => decimal.scaled_value(target),
        }
    }

    /// Adds `other`, like `Quantity.Add`.
    ///
    /// If the terms are so far apart that the sum would need 100,000 digits, the larger of the two remains;
    /// upstream would exhaust its memory on them.
    pub fn add(&mut self, other: &Self) {
        if let (
            Repr::Int { value, scale },
            Repr::Int {
                value: other,
                scale: other_scale,
            },
        ) = (&mut self.0, &other.0)
            && let Some(sum) = add_ints((*value, *scale), (*other, *other_scale))
        {
            (*value, *scale) = sum;
            return;
        }
        self.add_decimal(other);
    }

    #[cold]
    fn add_decimal(&mut self, other: &Self) {
        let (mut left, mut right) = (self.to_decimal(), other.to_decimal());
        if left.align(&mut right) {
            left.unscaled += right.unscaled;
        } else if left.magnitude() < right.magnitude() {
            left = right;
        }
        self.0 = Repr::Decimal(Box::new(left));
    }

    /// Returns the exact number: the first value divided by 10 to the power of the second.
    pub(crate) fn digits_and_scale(&self) -> (BigInt, i32) {
        let Decimal { unscaled, scale } = self.to_decimal();
        (unscaled, scale)
    }

    /// Whether the number is zero.
    pub fn is_zero(&self) -> bool {
        self.signum() == 0
    }

    /// -1, 0 or 1, `Quantity.Sign`.
    pub fn signum(&self) -> i32 {
        match &self.0 {
            Repr::Int { value, .. } => value.signum() as i32,
            Repr::Decimal(decimal) => decimal.signum(),
        }
    }

    /// Multiplies mantissa and exponent as floating point numbers: see
    /// [`Quantity::approximate_f64`](super::Quantity::approximate_f64).
    pub(super) fn approximate_f64(&self) -> f64 {
        let (mantissa, exponent) = match &self.0 {
            Repr::Int { value, scale } => (*value as f64, *scale),
            // Decimal text is the one way to a correctly rounded float on which std and num-bigint agree; a BigInt's
            // digits always parse.
            Repr::Decimal(decimal) => (
                decimal.unscaled.to_string().parse().unwrap_or(f64::NAN),
                decimal.scale.wrapping_neg(),
            ),
        };
        if exponent == 0 {
            mantissa
        } else {
            mantissa * go_pow10(exponent)
        }
    }

    /// Returns the digits and the exponent, a multiple of 3, of the shortest exact notation.
    pub(super) fn base_1000(&self) -> (String, i32) {
        let (mut digits, scale) = match &self.0 {
            Repr::Int { value, scale } => (value.to_string(), *scale),
            Repr::Decimal(decimal) => (decimal.unscaled.to_string(), decimal.scale.wrapping_neg()),
        };
        let significant = digits.trim_end_matches('0').len();
        let mut exponent = scale.wrapping_add((digits.len() - significant) as i32);
        digits.truncate(significant);
        let padding = exponent.rem_euclid(3);
        digits.push_str(&"00"[..padding as usize]);
        exponent = exponent.wrapping_sub(padding);
        (digits, exponent)
    }

    /// Returns the digits and the exponent of 1024; `None` for numbers that binary suffixes cannot show:
    /// fractions and everything below 1024.
    pub(super) fn base_1024(&self) -> Option<(String, i32)> {
        let mut whole = self.to_decimal();
        if whole.scale > 0 {
            let divisor = power_of_ten(whole.scale.unsigned_abs());
            if &whole.unscaled % &divisor != BigInt::ZERO {
                return None;
            }
            whole.unscaled /= divisor;
        } else if !whole.align(&mut Decimal {
            unscaled: BigInt::ZERO,
            scale: 0,
        }) {
            return None;
        }
        if whole.unscaled.magnitude().bits() <= 10 {
            return None;
        }
        let exponent = whole.unscaled.trailing_zeros().unwrap_or(0) / 10;
        Some((
            (whole.unscaled >> (exponent * 10)).to_string(),
            exponent as i32,
        ))
    }

    fn to_decimal(&self) -> Decimal {
        match &self.0 {
            Repr::Int { value, scale } => Decimal {
                unscaled: BigInt::from(*value),
                scale: scale.wrapping_neg(),
            },
            Repr::Decimal(decimal) => Decimal::clone(decimal),
        }
    }
}

impl Default for Amount {
    fn default() -> Self {
        Self::ZERO
    }
}

/// Shows the form as well as the number, because results depend on it.
impl fmt::Debug for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Int { value, scale } => write!(f, "{value}e{scale}"),
            Repr::Decimal(decimal) => {
                write!(
                    f,
                    "{}e{} (big)",
                    decimal.unscaled,
                    -i64::from(decimal.scale)
                )
            }
        }
    }
}

impl PartialEq for Amount {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Amount {}

impl PartialOrd for Amount {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Amount {
    fn cmp(&self, other: &Self) -> Ordering {
        if let (
            Repr::Int { value, scale },
            Repr::Int {
                value: other,
                scale: other_scale,
            },
        ) = (&self.0, &other.0)
        {
            let gap = i64::from(*scale) - i64::from(*other_scale);
            // 19 digits on top of an i64 still fit an i128.
            if gap.abs() <= 19 {
                let raised =
                    |value: i64, by: i64| i128::from(value) * 10_i128.pow(by.max(0) as u32);
                return raised(*value, gap).cmp(&raised(*other, -gap));
            }
        }
        self.to_decimal().compare(other.to_decimal())
    }
}

impl Decimal {
    fn signum(&self) -> i32 {
        match self.unscaled.sign() {
            Sign::Minus => -1,
            Sign::NoSign => 0,
            Sign::Plus => 1,
        }
    }

    /// Returns the position of the leading digit, as the exponent of 10 above it; the minimum for zero.
    fn magnitude(&self) -> i64 {
        if self.signum() == 0 {
            return i64::MIN;
        }
        let digits = self.unscaled.magnitude().to_string().len();
        digits as i64 - i64::from(self.scale)
    }

    /// Returns the quotient by `10^scale`, for a scale that is not negative, rounded away from zero.
    pub(super) fn rounded_up(&self) -> BigInt {
        let divisor = power_of_ten(self.scale.unsigned_abs());
        let quotient = &self.unscaled / &divisor;
        if &quotient * divisor == self.unscaled {
            quotient
        } else {
            quotient + self.signum()
        }
    }

    /// Brings both to the finer scale of the two; returns false if that makes a number too long.
    fn align(&mut self, other: &mut Self) -> bool {
        let gap = i64::from(self.scale) - i64::from(other.scale);
        let (coarse, scale) = if gap < 0 {
            (self, other.scale)
        } else {
            (other, self.scale)
        };
        if gap == 0 {
            return true;
        }
        let digits = coarse.unscaled.bits() as usize * 3 / 10;
        if gap.unsigned_abs() as usize + digits > MAX_DIGITS {
            return false;
        }
        coarse.unscaled *= power_of_ten(gap.unsigned_abs() as u32);
        coarse.scale = scale;
        true
    }

    fn compare(mut self, mut other: Self) -> Ordering {
        let sign = self.signum();
        let by_sign = sign.cmp(&other.signum());
        if by_sign.is_ne() || sign == 0 {
            return by_sign;
        }
        let by_magnitude = self.magnitude().cmp(&other.magnitude());
        if by_magnitude.is_ne() {
            return if sign > 0 {
                by_magnitude
            } else {
                by_magnitude.reverse()
            };
        }
        // With leading digits in the same place the scales differ by less than the longer
        // number's digits, so this cannot run away.
        let gap = self.scale.abs_diff(other.scale);
        let coarse = if self.scale < other.scale {
            &mut self
        } else {
            &mut other
        };
        coarse.unscaled *= power_of_ten(gap);
        self.unscaled.cmp(&other.unscaled)
    }

    /// Upstream's `scaledValue`. Unlike in the small form, only a scale-down that leaves a remainder adds 1,
    /// whatever the sign.
    fn scaled_value(&self, target: i32) -> i64 {
        let low = low_bits(&self.unscaled);
        let drop = i64::from(self.scale) + i64::from(target);
        if drop <= 0 {
            return low.wrapping_mul(go_pow10_int(drop.unsigned_abs()));
        }
        if drop < 19 && self.unscaled < BigInt::from(i64::MAX) {
            let divisor = 10_i64.pow(drop as u32);
            return low / divisor + i64::from(low % divisor != 0);
        }
        // Upstream's quotient here is the Euclidean one, which floors.
        let digits = self.unscaled.bits() / 3 + 1;
        let (mut quotient, exact) = if drop as u64 > digits {
            (BigInt::ZERO, self.signum() == 0)
        } else {
            let divisor = power_of_ten(drop as u32);
            let quotient = &self.unscaled / &divisor;
            let exact = &quotient * divisor == self.unscaled;
            (quotient, exact)
        };
        if exact {
            return low_bits(&quotient);
        }
        if self.signum() < 0 {
            quotient -= 1;
        }
        low_bits(&quotient).wrapping_add(1)
    }
}

/// `10^exponent`.
pub(super) fn power_of_ten(exponent: u32) -> BigInt {
    BigInt::from(10).pow(exponent)
}

/// Returns the low 64 bits in two's complement, like Go's `big.Int.Int64`.
fn low_bits(number: &BigInt) -> i64 {
    let low = number.iter_u64_digits().next().unwrap_or(0) as i64;
    if number.sign() == Sign::Minus {
        low.wrapping_neg()
    } else {
        low
    }
}

/// Multiplies by `10^scale`; the flag says whether that overflowed.
///
/// Upstream multiplies in one step for a few scales, which leaves the low bits of a product that
/// overflows, and digit by digit for all others, which leaves 0.
#[inline]
fn scale_up(value: i64, scale: i32) -> (i64, bool) {
    match scale {
        1 | 2 | 3 | 6 | 9 => value.overflowing_mul(10_i64.pow(scale as u32)),
        // Differences of distant exponents wrap to below zero, where upstream's loop never starts.
        ..=0 => (value, false),
        _ => match 10_i64
            .checked_pow(scale as u32)
            .and_then(|power| value.checked_mul(power))
        {
            Some(product) => (product, false),
            None => (0, true),
        },
    }
}

/// Divides by `10^scale`, rounding away from zero.
#[inline]
fn scale_down(value: i64, scale: i32) -> i64 {
    match 10_i64.checked_pow(scale as u32) {
        Some(divisor) if value % divisor == 0 => value / divisor,
        Some(divisor) => value / divisor + value.signum(),
        None => value.signum(),
    }
}

/// Upstream's `int64Amount.Add`; `None` where it gives up.
fn add_ints((a, a_scale): (i64, i32), (b, b_scale): (i64, i32)) -> Option<(i64, i32)> {
    if b == 0 {
        return Some((a, a_scale));
    }
    if a == 0 {
        return Some((b, b_scale));
    }
    let ((raised, overflow), other) = if a_scale > b_scale {
        (scale_up(a, a_scale.wrapping_sub(b_scale)), b)
    } else {
        (scale_up(b, b_scale.wrapping_sub(a_scale)), a)
    };
    let sum = raised.checked_add(other).filter(|_| !overflow)?;
    Some((sum, a_scale.min(b_scale)))
}

/// Go's `math.Pow10`: products and quotients of two tables of powers, 32 apart.
fn go_pow10(exponent: i32) -> f64 {
    const ONES: [f64; 32] = [
        1e00, 1e01, 1e02, 1e03, 1e04, 1e05, 1e06, 1e07, 1e08, 1e09, 1e10, 1e11, 1e12, 1e13, 1e14,
        1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29,
        1e30, 1e31,
    ];
    const UP: [f64; 10] = [
        1e00, 1e32, 1e64, 1e96, 1e128, 1e160, 1e192, 1e224, 1e256, 1e288,
    ];
    const DOWN: [f64; 11] = [
        1e-00, 1e-32, 1e-64, 1e-96, 1e-128, 1e-160, 1e-192, 1e-224, 1e-256, 1e-288, 1e-320,
    ];
    let size = exponent.unsigned_abs() as usize;
    match exponent {
        0..=308 => UP[size / 32] * ONES[size % 32],
        -323..0 => DOWN[size / 32] / ONES[size % 32],
        309.. => f64::INFINITY,
        _ => 0.0,
    }
}

/// Returns `int64(math.Pow10(n))` as amd64 converts it: a value that does not fit becomes the least
/// integer.
fn go_pow10_int(exponent: u64) -> i64 {
    u32::try_from(exponent)
        .ok()
        .and_then(|n| 10_i64.checked_pow(n))
        .unwrap_or(i64::MIN)
}

/// Returns the decimal suffix of a power of ten.
pub(super) fn suffix(exponent: i32) -> Option<&'static str> {
    const SUFFIXES: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
    let place = usize::try_from(exponent / 3 + 3).ok()?;
    SUFFIXES.get(place).filter(|_| exponent % 3 == 0).copied()
}
