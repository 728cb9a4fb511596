//! Exact arithmetic on numbers that are known within bounds. Nothing is rounded, because that could reverse a
//! comparison.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign as SignOf};

use super::facts::Fact;
use super::fields::Field;
use super::syntax::{Number, Operand};
use super::units::Sign;
use crate::apimachinery::quantity::Amount;

/// A number.
#[derive(Debug, Clone)]
pub(super) struct Exact {
    numerator: BigInt,
    /// Greater than 0.
    denominator: BigInt,
}

/// All numbers between two, both included.
#[derive(Debug, Clone)]
pub(super) struct Interval {
    pub(super) min: Exact,
    pub(super) max: Exact,
}

/// The reason why an operand has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownOperandCause {
    /// A field is not known.
    Field,
    /// A divisor is 0, or may be 0.
    Zero,
    /// A number is too long to compute with.
    Length,
}

/// The longest numbers, in bits.
const LONGEST: u64 = 1 << 18;

impl Exact {
    /// Returns the quotient of two numbers.
    pub(super) fn new(numerator: BigInt, denominator: BigInt) -> Result<Self, UnknownOperandCause> {
        let (numerator, denominator) = match denominator.sign() {
            SignOf::NoSign => return Err(UnknownOperandCause::Zero),
            SignOf::Minus => (-numerator, -denominator),
            SignOf::Plus => (numerator, denominator),
        };
        if numerator.bits().max(denominator.bits()) > LONGEST {
            return Err(UnknownOperandCause::Length);
        }
        Ok(Self {
            numerator,
            denominator,
        })
    }

    pub(super) fn int(n: impl Into<BigInt>) -> Self {
        Self {
            numerator: n.into(),
            denominator: 1.into(),
        }
    }

    fn of(amount: &Amount) -> Result<Self, UnknownOperandCause> {
        let (digits, scale) = amount.digits_and_scale();
        if u64::from(scale.unsigned_abs()) > LONGEST / 4 {
            return Err(UnknownOperandCause::Length);
        }
        let power = BigInt::from(10).pow(scale.unsigned_abs());
        match scale {
            ..0 => Self::new(digits * power, 1.into()),
            _ => Self::new(digits, power),
        }
    }

    fn negative(self) -> Self {
        Self {
            numerator: -self.numerator,
            ..self
        }
    }

    fn combined(&self, sign: Sign, other: &Self) -> Result<Self, UnknownOperandCause> {
        let (a, b) = (&self.numerator, &self.denominator);
        let (c, d) = (&other.numerator, &other.denominator);
        match sign {
            Sign::Plus => Self::new(a * d + c * b, b * d),
            Sign::Minus => Self::new(a * d - c * b, b * d),
            Sign::Times => Self::new(a * c, b * d),
            Sign::Over => Self::new(a * d, b * c),
        }
    }
}

impl PartialEq for Exact {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Exact {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (&self.numerator * &other.denominator).partial_cmp(&(&other.numerator * &self.denominator))
    }
}

impl Interval {
    fn point(at: Exact) -> Self {
        Self {
            min: at.clone(),
            max: at,
        }
    }

    /// Returns the known range of a field.
    fn of(fact: &Fact) -> Result<Self, UnknownOperandCause> {
        match fact {
            Fact::Count { min, max } => Ok(Self {
                min: Exact::int(*min),
                max: Exact::int(*max),
            }),
            Fact::Amount(quantity) => Exact::of(quantity.amount()).map(Self::point),
            Fact::Fraction {
                numerator,
                denominator,
            } => Exact::new((*numerator).into(), (*denominator).into()).map(Self::point),
            Fact::Duration { min, max } => Ok(Self {
                min: Exact::int(min.as_nanos()),
                max: Exact::int(max.as_nanos()),
            }),
            Fact::Flag(_) | Fact::Unknown(_) => Err(UnknownOperandCause::Field),
        }
    }

    fn negative(self) -> Self {
        Self {
            min: self.max.negative(),
            max: self.min.negative(),
        }
    }

    /// Returns the range of results for all numbers of both operands. They are assumed to vary independently, even
    /// where they cannot.
    fn combined(&self, sign: Sign, other: &Self) -> Result<Self, UnknownOperandCause> {
        let zero = Exact::int(0);
        if sign == Sign::Over && other.min <= zero && zero <= other.max {
            return Err(UnknownOperandCause::Zero);
        }
        // Each operation is monotonic in both operands, so the extremes are at the ends of the ranges.
        let ends = [
            (&self.min, &other.min),
            (&self.min, &other.max),
            (&self.max, &other.min),
        ];
        let mut range = Self::point(self.max.combined(sign, &other.max)?);
        for (one, other) in ends {
            let result = one.combined(sign, other)?;
            if result < range.min {
                range.min = result;
            } else if result > range.max {
                range.max = result;
            }
        }
        Ok(range)
    }
}

impl Operand {
    /// Returns the known range of the fact; durations are in nanoseconds.
    pub(super) fn range(
        &self,
        facts: &impl Fn(&Field) -> Fact,
    ) -> Result<Interval, UnknownOperandCause> {
        match self {
            Self::Field(field) => Interval::of(&facts(field)),
            Self::Number(Number { quantity, .. }) => {
                Exact::of(quantity.amount()).map(Interval::point)
            }
            Self::Duration { duration, .. } => Ok(Interval::point(Exact::int(duration.as_nanos()))),
            Self::Negative(inner) => inner.range(facts).map(Interval::negative),
            Self::Chain(first, rest) => {
                let mut range = first.range(facts)?;
                for (sign, next) in rest {
                    range = range.combined(*sign, &next.range(facts)?)?;
                }
                Ok(range)
            }
        }
    }
}
