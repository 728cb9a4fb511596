//! The times of the passes around the explained one, and the pass that made each change of the replicas. A
//! pass is identified by its place: 0 is the explained one, -1 the one before it. Only the recorded changes
//! show its second: pods are created within a second of the pass that asks for them.

use jiff::Timestamp;

use super::SECOND;
use super::usage::{ALWAYS, covers};
use crate::prometheus::history::STATE_GAP;
use crate::snapshot::past::Bounds;

/// The longest delay of the next pass after a sync period has passed, in milliseconds; it is never early.
const LATE: i64 = 100;

/// The number of passes after the explained one that are run at most.
const FURTHEST: i64 = 8;

/// A change of the replicas, with times in milliseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordedChange {
    pub(super) replicas: i32,
    pub(super) from: i64,
    pub(super) until: i64,
    /// Whether a pass made it, and not someone else.
    pub(super) by_pass: bool,
}

/// The recorded replicas.
#[derive(Debug)]
pub(super) struct ReplicaRecord {
    /// The samples, with times in milliseconds since 1970.
    pub(super) samples: Vec<(i64, f64)>,
    /// When the state was read: no pass is later.
    pub(super) read: i64,
    /// The replicas before and after these, and in longer gaps.
    pub(super) beyond: Bounds,
    /// The replicas at the first sample.
    pub(super) first: i32,
    pub(super) changes: Vec<RecordedChange>,
}

/// A change with the passes that may have made it. One by someone else was made after `first` at the earliest.
#[derive(Debug, Clone, Copy)]
struct Placed {
    change: RecordedChange,
    first: i64,
    last: i64,
}

/// The passes and the changes of the replicas.
#[derive(Debug)]
pub(super) struct RecordedCourse {
    /// The time of pass 0 in milliseconds since 1970, at the earliest and at the latest.
    earliest: i64,
    latest: i64,
    /// Its most likely time.
    likely: i64,
    period: i64,
    /// The longest delay of each pass.
    late: i64,
    /// The earliest time of the very first pass, if that is known.
    begin: Option<i64>,
    record: ReplicaRecord,
    changes: Vec<Placed>,
}

impl RecordedCourse {
    /// Returns the passes around a time, one of which is nearest to it: only the changes, and `first`, the very first
    /// pass, show when passes were.
    pub(super) fn around(
        at: Timestamp,
        period: i64,
        first: Option<i64>,
        record: ReplicaRecord,
    ) -> Self {
        let millis = at.as_millisecond();
        let half = period / 2;
        let mut phase: Option<(i64, i64)> = None;
        let mut shown: Vec<(i64, i64)> = record
            .changes
            .iter()
            .filter(|change| change.by_pass)
            .map(|change| (change.from, change.until))
            .chain(first.map(|first| (first, first + 2 * SECOND)))
            .map(|(from, until)| from_pass(from, until, millis, period))
            .collect();
        shown.sort_by_key(|(from, until)| until - from);
        for (from, until) in shown
            .into_iter()
            .filter(|(from, until)| until - from < period)
        {
            phase = match phase {
                None => Some((from, until)),
                Some((earliest, latest)) if from <= latest && earliest <= until => {
                    Some((earliest.max(from), latest.min(until)))
                }
                // A controller that has restarted has another phase.
                other => other,
            };
        }
        let (earliest, latest) = phase.unwrap_or((millis - half, millis + half));
        let likely = phase.map_or(millis, |(earliest, latest)| i64::midpoint(earliest, latest));
        Self::new((earliest, likely, latest), (period, LATE), first, record)
    }

    /// Returns the passes at and before a time that is known.
    pub(super) fn before_known(next: Timestamp, period: i64, record: ReplicaRecord) -> Self {
        let millis = next.as_millisecond();
        Self::new((millis, millis, millis), (period, 0), None, record)
    }

    fn new(
        (earliest, likely, latest): (i64, i64, i64),
        (period, late): (i64, i64),
        begin: Option<i64>,
        record: ReplicaRecord,
    ) -> Self {
        let mut course = Self {
            earliest,
            latest,
            likely,
            period,
            late,
            begin,
            record,
            changes: Vec::new(),
        };
        let changes = course.record.changes.iter();
        course.changes = changes.map(|change| course.placed(*change)).collect();
        course
    }

    /// The most likely time of pass 0.
    pub(super) fn time(&self) -> Timestamp {
        Timestamp::from_millisecond(self.likely).unwrap_or(Timestamp::MAX)
    }

    /// The largest possible distance of pass 0 from its most likely time, in milliseconds.
    pub(super) fn doubt(&self) -> i64 {
        (self.likely - self.earliest).max(self.latest - self.likely)
    }

    /// Returns when a pass was at the earliest and at the latest, given its most likely time.
    pub(super) fn around_pass(&self, time: Timestamp) -> (i64, i64) {
        self.span(self.place(time))
    }

    /// Returns the place of the pass at a time, or of the next one.
    pub(super) fn place(&self, time: Timestamp) -> i64 {
        -(self.likely - time.as_millisecond()).div_euclid(self.period)
    }

    fn span(&self, place: i64) -> (i64, i64) {
        let (shift, late) = (place * self.period, place * self.late);
        (
            self.earliest + shift + late.min(0),
            (self.latest + shift + late.max(0)).min(self.record.read),
        )
    }

    fn placed(&self, change: RecordedChange) -> Placed {
        let RecordedChange {
            from,
            until,
            by_pass,
            ..
        } = change;
        // The spans of later passes begin and end later, so each search ends near its end of the range, however long that is.
        let near = |time: i64| (time - self.likely).div_euclid(self.period);
        let end = near(until) + 2;
        let (first, last) = if by_pass {
            let since = self.begin.map_or(from, |begin| from.max(begin));
            let places = near(since) - 2..=end;
            let first = places.clone().find(|place| since <= self.span(*place).1);
            let last = places.rev().find(|place| self.span(*place).0 <= until);
            let possible = first.zip(last).filter(|(first, last)| first <= last);
            possible.unwrap_or((near(until), near(until)))
        } else {
            let places = near(from) - 2..end;
            let first = places.clone().find(|place| from < self.span(*place).1);
            let last = places.clone().rfind(|place| self.span(*place).0 < until);
            (first.unwrap_or(end) - 1, last.unwrap_or(places.start - 1))
        };
        Placed {
            change,
            first,
            last,
        }
    }

    /// Returns the bounds of the replicas that a pass found.
    pub(super) fn replicas(&self, time: Timestamp) -> Bounds {
        self.found_by(self.place(time))
    }

    /// Returns the bounds of the replicas that the pass at a place found.
    pub(super) fn found_by(&self, place: i64) -> Bounds {
        let samples = &self.record.samples;
        if !covers(samples, ALWAYS, self.span(place), STATE_GAP) {
            return self.record.beyond;
        }
        let changes = self.changes.iter();
        let last_certain = changes.clone().rposition(|own| own.last < place);
        let last_possible = changes.clone().rposition(|own| own.first < place);
        let certain = last_certain.map_or(0, |last| last + 1);
        let possible = last_possible.map_or(certain, |last| certain.max(last + 1));
        let mut bounds: Option<Bounds> = None;
        let mut left = self.record.first;
        for made in 0..=possible {
            if made >= certain {
                let only = Bounds::exactly(left);
                bounds = Some(bounds.map_or(only, |bounds| bounds.with(left)));
            }
            let change = self.changes.get(made).map_or(0, |own| own.change.replicas);
            left = left.saturating_add(change);
        }
        bounds.unwrap_or(self.record.beyond)
    }

    /// Whether a pod of a second was created by a change that the pass at a time did not find: it made the change itself,
    /// or came before it.
    pub(super) fn is_created_later(&self, time: Timestamp, second: i64) -> bool {
        let (place, millis) = (self.place(time), second * SECOND);
        let mut later = self
            .changes
            .iter()
            .filter(|own| place <= own.first && own.change.replicas > 0);
        self.span(place).0 - SECOND < millis
            && later.any(|own| (own.change.from..=own.change.until).contains(&millis))
    }

    /// Returns the bounds of the replicas that pass 0 left, unless someone else changed them.
    pub(super) fn outcome(&self) -> Option<Bounds> {
        let mut others = self.changes.iter().filter(|own| !own.change.by_pass);
        let is_mixed = others.any(|own| own.first <= 0 && 0 <= own.last);
        (!is_mixed).then(|| self.found_by(1))
    }

    /// The place of the last pass that may have made a change that pass 0 may have made.
    pub(super) fn last_open(&self) -> i64 {
        let open = self.changes.iter().filter(|own| own.first <= 0);
        open.map(|own| own.last)
            .max()
            .unwrap_or(0)
            .clamp(0, FURTHEST)
    }

    /// The most likely time of the pass at a place.
    pub(super) fn time_of(&self, place: i64) -> Timestamp {
        Timestamp::from_millisecond(self.likely + place * self.period).unwrap_or(Timestamp::MAX)
    }

    /// Returns the changes that earlier passes made, with their times as long before pass 0 as they were.
    pub(super) fn rescales(&self) -> impl Iterator<Item = (i32, i64, i64)> {
        let earlier = self
            .changes
            .iter()
            .filter(|own| own.change.by_pass && own.first < 0);
        earlier.map(
            |Placed {
                 change,
                 first,
                 last,
             }| match self.late {
                0 => (change.replicas, change.from, change.until.min(self.likely)),
                late => {
                    let from = self.likely + first * (self.period + late);
                    (
                        change.replicas,
                        from,
                        self.likely + (*last).min(-1) * self.period,
                    )
                }
            },
        )
    }
}

/// Returns when the pass nearest to a time was, if another one was between two times.
fn from_pass(from: i64, until: i64, at: i64, period: i64) -> (i64, i64) {
    let middle = i64::midpoint(from, until);
    let passes = (at - middle + period / 2).div_euclid(period);
    let (shift, late) = (passes * period, passes * LATE);
    (from + shift + late.min(0), until + shift + late.max(0))
}
