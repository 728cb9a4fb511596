//! The units of the numbers in expectations, and of their sums and products. A literal such as `10m` may be read in
//! several ways; the rest of the comparison decides which one is meant.

/// An arithmetic operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Times,
    /// `/`
    Over,
}

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Replicas, the number of times that something happened, an amount.
    Number,
    /// Percent of the requests.
    Percent,
    /// Time.
    Duration,
}

/// The first that fits is used, so `10m` is a quantity unless it has to be a duration.
const ALL: [Unit; 3] = [Unit::Number, Unit::Percent, Unit::Duration];

impl Unit {
    /// Returns the unit of a sum, product or quotient; `None` if there is no such unit.
    fn combined(self, sign: Sign, other: Self) -> Option<Self> {
        match (sign, self, other) {
            (Sign::Plus | Sign::Minus, one, other) => (one == other).then_some(one),
            (Sign::Times | Sign::Over, one, Self::Number) | (Sign::Times, Self::Number, one) => {
                Some(one)
            }
            (Sign::Times, ..) => None,
            (Sign::Over, one, other) => (one == other).then_some(Self::Number),
        }
    }
}

/// The possible units of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Units(u8);

impl Units {
    pub(super) const NONE: Self = Self(0);

    pub(super) fn of(unit: Unit) -> Self {
        Self(1 << unit as u8)
    }

    pub(super) fn only_if(self, fits: bool) -> Self {
        if fits { self } else { Self::NONE }
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    fn all(self) -> impl Iterator<Item = Unit> {
        ALL.into_iter()
            .filter(move |unit| self.and(Self::of(*unit)) != Self::NONE)
    }

    /// Returns the unit that is meant.
    pub(super) fn first(self) -> Option<Unit> {
        self.all().next()
    }

    /// Returns the possible units of a sum, product or quotient.
    pub(super) fn combined(self, sign: Sign, other: Self) -> Self {
        let of = |unit| Self::of(unit).only_if(self.leading_to(unit, sign, other).is_some());
        ALL.into_iter().map(of).fold(Self::NONE, Self::or)
    }

    /// Returns the units of the two operands whose combination has the wanted unit. A factor is preferably a
    /// number.
    pub(super) fn leading_to(self, wanted: Unit, sign: Sign, other: Self) -> Option<(Unit, Unit)> {
        let mut pairs = other
            .all()
            .flat_map(|other| self.all().map(move |one| (one, other)));
        pairs.find(|(one, other)| one.combined(sign, *other) == Some(wanted))
    }

    /// Returns the unit's name in messages.
    pub(super) fn name(self) -> &'static str {
        match self.first() {
            Some(Unit::Percent) => "a percentage",
            Some(Unit::Duration) => "a duration",
            Some(Unit::Number) | None => "a number",
        }
    }
}
