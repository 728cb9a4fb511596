//! What the last pass did, according to its status and events.

use jiff::Timestamp;

use crate::engine::decision::Direction;
use crate::snapshot::evidence::Event;
use crate::snapshot::hpa::{Hpa, HpaStatus};
use crate::snapshot::input::Input;

/// The replicas that a pass found and left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LastPass {
    /// What it found.
    pub(crate) from: i32,
    /// What it decided on.
    pub(crate) to: i32,
    /// Whether it scaled.
    pub(crate) scaled: bool,
}

impl LastPass {
    /// Reads them from a status, given the current replicas; `None` if there was no pass, or if it
    /// could not read the scale, which leaves the count unchanged.
    pub(crate) fn of(status: &HpaStatus, now: i32) -> Option<Self> {
        let (from, to) = (status.current_replicas, status.desired_replicas);
        let able = status
            .conditions
            .iter()
            .find(|it| it.type_ == "AbleToScale");
        let able = able.map_or("", |it| &*it.reason);
        // Statuses of autoscaling/v1 may lack the condition.
        let scaled = from != to && (able == "SucceededRescale" || able.is_empty() && now == to);
        let any = *status != HpaStatus::default() && able != "FailedGetScale";
        any.then_some(Self { from, to, scaled })
    }

    /// Returns what it left.
    pub(crate) fn left(self) -> i32 {
        if self.scaled { self.to } else { self.from }
    }
}

/// A rescale that an event reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ReportedRescale {
    /// When it was, up to a second later.
    pub(crate) time: Timestamp,
    /// The replicas since then.
    pub(crate) size: i32,
    /// Whether it was up or down, if the reason says so.
    pub(crate) is_up: Option<bool>,
}

impl Event {
    /// Whether it reports that the controller has scaled the target of an HPA.
    pub(crate) fn is_rescale_of(&self, hpa: &Hpa) -> bool {
        self.is_about(hpa) && self.reason == "SuccessfulRescale"
    }

    /// Whether the controller has scaled up or down, according to the reason that it gives; `None` for another reason.
    pub(crate) fn is_up(&self) -> Option<bool> {
        let (_, reason) = self.message.split_once("; reason: ")?;
        let is_below = || reason.ends_with(" below target").then_some(false);
        reason
            .ends_with(" above target")
            .then_some(true)
            .or_else(is_below)
    }

    /// Returns the side of a bound on which the controller found the replicas, if it has corrected them to the bound.
    pub(crate) fn corrects(&self) -> Option<Direction> {
        let (_, reason) = self.message.split_once("; reason: ")?;
        match reason {
            "Current number of replicas above Spec.MaxReplicas" => Some(Direction::Up),
            "Current number of replicas below Spec.MinReplicas" => Some(Direction::Down),
            _ => None,
        }
    }

    /// Returns the replicas to which the controller has scaled.
    pub(crate) fn new_size(&self) -> Option<i32> {
        self.message
            .strip_prefix("New size: ")?
            .split(';')
            .next()?
            .parse()
            .ok()
    }
}

impl Input {
    /// Returns the rescales that the controller's events report, the oldest first, and whether these are all: a repeated
    /// event has its first and its last time only.
    pub(crate) fn rescales(&self) -> (Vec<ReportedRescale>, bool) {
        let hpa = &self.snapshot.hpa;
        let own = || {
            self.evidence
                .events
                .iter()
                .filter(|it| it.is_rescale_of(hpa))
        };
        let times = |it: &Event| [it.first.filter(|_| it.count > 1), it.last.or(it.first)];
        let of = |it: &'_ Event| {
            let (size, is_up) = (it.new_size(), it.is_up());
            let rescale = move |time| {
                Some(ReportedRescale {
                    time,
                    size: size?,
                    is_up,
                })
            };
            times(it)
                .into_iter()
                .flatten()
                .filter_map(rescale)
                .collect::<Vec<_>>()
        };
        let mut all: Vec<ReportedRescale> = own().flat_map(of).collect();
        // Within a second, the controller only scales further in the same direction.
        let further = |it: &ReportedRescale| match it.is_up {
            Some(false) => -i64::from(it.size),
            _ => it.size.into(),
        };
        all.sort_by_key(|it| (it.time, further(it)));
        (all, own().all(|it| it.count <= 2))
    }

    /// Returns when the controller has scaled to this many replicas, according to its events.
    pub(crate) fn scaled_to(&self, replicas: i32) -> impl Iterator<Item = Timestamp> {
        let hpa = &self.snapshot.hpa;
        let events = self.evidence.events.iter();
        let own = events.filter(move |it| it.is_rescale_of(hpa) && it.new_size() == Some(replicas));
        own.filter_map(|it| it.last)
    }
}
