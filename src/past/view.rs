//! The sides of what a history leaves uncertain.

use std::ops::RangeInclusive;

/// One side of an uncertainty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BoundSide {
    /// The least, or the earliest.
    Low,
    /// The most likely.
    Likely,
    /// The most, or the latest.
    High,
}

/// The steps from the least usage to the most.
pub(super) const HEIGHTS: u32 = 16;
/// The steps to a peak of a few seconds, which shows only in part in the mean between two scrapes.
const PEAK: u32 = 6 * HEIGHTS;

/// The sides of the uncertainties to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct View {
    /// The time of the pass.
    pub(super) time: BoundSide,
    /// The state as of the scrape after the time, rather than the one before.
    pub(super) is_later: bool,
    /// How many of [`HEIGHTS`] the usage is above the least that may have been read; `None` for the most likely one.
    pub(super) usage: Option<u32>,
    /// How early it was measured.
    pub(super) measured: BoundSide,
}

impl View {
    /// The most likely state.
    pub(super) const LIKELY: Self = Self {
        time: BoundSide::Likely,
        is_later: false,
        usage: None,
        measured: BoundSide::Likely,
    };

    /// Every side.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let is_side = |state: &Self| ![state.time, state.measured].contains(&BoundSide::Likely);
        let sides = Self::states().filter(is_side);
        sides.flat_map(|state| [0, HEIGHTS].map(|share| state.with_share(share)))
    }

    /// Returns the possible states, apart from the usage; the most likely first.
    pub(super) fn states() -> impl Iterator<Item = Self> {
        let states = [
            (BoundSide::Likely, false),
            (BoundSide::Likely, true),
            (BoundSide::Low, false),
            (BoundSide::High, true),
        ];
        states.into_iter().flat_map(|(time, is_later)| {
            [BoundSide::Likely, BoundSide::High, BoundSide::Low].map(|measured| Self {
                time,
                is_later,
                measured,
                ..Self::LIKELY
            })
        })
    }

    /// The shares of the usage that may have been read.
    pub(super) const WITHIN: RangeInclusive<u32> = 0..=HEIGHTS;
    /// The shares of a usage that peaked between two scrapes.
    pub(super) const PEAKS: RangeInclusive<u32> = HEIGHTS + 1..=PEAK;

    /// Returns the same view with another usage.
    pub(super) fn with_share(self, share: u32) -> Self {
        Self {
            usage: Some(share),
            ..self
        }
    }
}
