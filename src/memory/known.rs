//! What the rules know: the HPA, the times of its passes where known, and the content of its
//! events and earlier states. This file calculates when passes may have run, how old their effects
//! are by the next one, and whether the controller may have forgotten them.

use jiff::{SignedDuration, Timestamp};

use super::rhythm::Rhythm;
use super::spans::{SECOND, SLACK, windows};
use super::{sighting, states};
use crate::calendar::Calendar;
use crate::order;
use crate::snapshot::controller::Controller;
use crate::snapshot::evidence::{Event, Evidence, Lease, Rescales, SeenPass};
use crate::snapshot::hpa::{Hpa, HpaSpec};
use crate::snapshot::written::Written;

/// Another leader takes over this long after the last sign of the previous one at the earliest: a lease of
/// 15 s is renewed every 2 s.
const TAKEOVER: SignedDuration = SignedDuration::from_secs(13);
/// A controller without leader election, such as k3s on SQLite, is back this soon.
const RESTART: SignedDuration = SignedDuration::from_secs(4);

/// What the rules know.
pub(super) struct Known<'k> {
    pub(super) hpa: &'k Hpa,
    /// The replicas requested of the target.
    pub(super) current: i32,
    pub(super) now: Timestamp,
    pub(super) rhythm: Rhythm,
    /// The spec of the next pass, if that differs from the spec of the passes so far.
    pub(super) next: &'k HpaSpec,
    /// How long a recommendation holds back scaling up at the next pass; zero without `behavior`.
    pub(super) up_window: SignedDuration,
    /// How long a recommendation holds back scaling down at the next pass.
    pub(super) down_window: SignedDuration,
    /// The two windows, up and down, of the passes so far.
    pub(super) windows_before: (SignedDuration, SignedDuration),
    /// The lease of a present leader.
    pub(super) lease: Option<Lease>,
    /// There is a lease without a holder.
    leader_left: bool,
    /// The rescales that events report, the oldest first.
    pub(super) rescales: Vec<Rescale>,
    /// What was observed of earlier passes.
    pub(super) seen: &'k [SeenPass],
    /// All rescales since some time.
    pub(super) rescales_seen: Option<&'k Rescales>,
    /// How the target was scaled, if it is a Deployment, according to its events.
    pub(super) scaled: &'k [Event],
    /// The number of events about the HPA, including repeats.
    pub(super) event_count: i64,
    /// Since when passes over the current spec have left the status as it is; `None` if there may have
    /// been no such pass.
    pub(super) status_since: Option<Timestamp>,
    /// The status shows that its pass remembered the last rescale.
    pub(super) counts_rescale: bool,
    /// Since when, at the latest, the controller that wrote the last status had been running.
    running_since: Option<Timestamp>,
    /// When a status last could not be written: what that pass left in the memory is not visible anywhere.
    pub(super) status_lost: Option<Timestamp>,
    /// There was an earlier HPA of the same name, whose memory the controller keeps if no pass ran in
    /// between.
    pub(super) replaces_another: bool,
}

/// A rescale that an event reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rescale {
    /// Its time; up to a second later.
    pub(super) time: Timestamp,
    /// The new number of replicas.
    pub(super) size: i32,
    /// The reason.
    pub(super) reason: RescaleReason,
    /// Whether there were others since the previous one that are not reported individually.
    pub(super) gap: bool,
}

/// The reason in an event, fixed before stabilization and limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RescaleReason {
    /// A metric was above its target.
    AboveTarget,
    /// All metrics were below their targets.
    BelowTarget,
    /// The count was outside the bounds.
    AboveMax,
    BelowMin,
    /// The metrics asked for no change.
    None,
}

impl<'k> Known<'k> {
    pub(super) fn new(
        hpa: &'k Hpa,
        next: &'k HpaSpec,
        current: i32,
        controller: &Controller,
        now: Timestamp,
        evidence: &'k Evidence,
    ) -> Self {
        let (up_window, down_window) = windows(next, controller);
        let (own, others): (Vec<&Event>, Vec<&Event>) =
            evidence.events.iter().partition(|event| event.is_about(hpa));
        let lease = evidence.lease.filter(|lease| lease.is_held(now));
        let mut known = Self {
            hpa,
            current,
            now,
            rhythm: Rhythm::of(controller),
            next,
            up_window,
            down_window,
            windows_before: windows(&hpa.spec, controller),
            lease,
            leader_left: evidence.lease.is_some() && lease.is_none(),
            seen: &evidence.seen,
            rescales_seen: evidence.rescales.as_ref(),
            rescales: rescales(&own),
            scaled: &evidence.scaled,
            counts_rescale: false,
            event_count: own.iter().map(|event| i64::from(event.count)).sum(),
            status_since: None,
            running_since: None,
            status_lost: status_lost(&own),
            replaces_another: !others.is_empty(),
        };
        let since = states::passed_since(hpa, now, &known.rhythm);
        known.status_since = since.filter(|_| !known.status_may_lag());
        known.counts_rescale =
            known.status_since.is_some() && sighting::counts_rescale(&hpa.spec, &hpa.status);
        known.running_since = known.unbroken_since();
        known
    }
}

impl Known<'_> {
    /// Returns when a pass wrote the status.
    pub(super) fn status_written(&self) -> Option<Timestamp> {
        self.hpa.written.status.filter(|_| !self.hpa.written.by_us)
    }

    /// Returns when the status was written, if no pass can have run since.
    fn fresh(&self) -> Option<Timestamp> {
        let written = self.status_written()?;
        let same_leader = match self.lease {
            _ if !self.rhythm.at_once_on_start => true,
            Some(lease) => lease.acquired.plus(SECOND) <= written,
            // The next leader runs a pass as soon as it takes over.
            None if self.leader_left => false,
            None => self.now <= written.minus(SECOND).plus(TAKEOVER),
        };
        (same_leader
            && self.is_regular_since(written)
            && self.now <= written.plus(self.rhythm.period).minus(SECOND))
        .then_some(written)
    }

    /// Whether no pass at a time or later was an extra one.
    fn is_regular_since(&self, time: Timestamp) -> bool {
        self.rhythm.is_regular_since(time, self.hpa)
    }

    /// Whether the next pass is over a changed spec, and so runs at once.
    fn next_is_extra(&self) -> bool {
        let changed = self.rhythm.extra_on_change && *self.next != self.hpa.spec;
        changed || self.rhythm.is_pending(self.hpa)
    }

    /// Returns the minimum age of the last pass's effects at the next pass.
    pub(super) fn least_gap(&self) -> SignedDuration {
        let regular = !self.next_is_extra() && self.is_regular_since(self.last_pass());
        if regular { self.rhythm.period } else { SignedDuration::ZERO }
    }

    /// Returns how long the passes so far have kept a recommendation: one that is older than both windows may
    /// have been overwritten.
    pub(super) fn retention(&self) -> SignedDuration {
        let (up, down) = self.windows_before;
        up.max(down)
    }

    /// Whether passes so far may have remembered a rescale that they made at some time. Only passes over
    /// a spec with `behavior` do.
    pub(super) fn may_have_stored(&self, rescale: Timestamp) -> bool {
        self.hpa.spec.behavior.is_some() || self.spec_may_have_changed_since(rescale.minus(SECOND))
    }

    /// Returns the earliest time at which the next pass may read its clock.
    pub(super) fn earliest_pass(&self) -> Timestamp {
        let fresh = self.fresh().filter(|_| !self.next_is_extra());
        fresh.map_or(self.now, |last| self.now.max(last.minus(SECOND).plus(self.rhythm.period)))
    }

    /// Returns the latest such time.
    pub(super) fn latest_pass(&self) -> Timestamp {
        self.fresh().map_or(self.now, |last| last.plus(SECOND)).plus(self.rhythm.longest)
    }

    /// Returns the earliest time at which the last pass, whose status is the current one, may have
    /// run. A running controller has passed since; a stopped one has forgotten everything.
    pub(super) fn last_pass(&self) -> Timestamp {
        let running = self.last_before(self.now);
        self.status_written().map_or(running, |written| running.max(written.minus(SECOND)))
    }

    /// Returns the earliest time of the last pass before a time, if the controller was running then.
    pub(super) fn last_before(&self, time: Timestamp) -> Timestamp {
        time.minus(self.rhythm.longest).minus(SECOND)
    }

    /// Whether the controller may have restarted since. If its first pass comes a sync period
    /// later, that is when the controller that wrote a fresh status would have made its next one.
    pub(super) fn may_have_restarted_since(&self, time: Timestamp) -> bool {
        self.may_have_lost(time)
            || match self.lease {
                Some(lease) => lease.acquired >= time,
                None => self.still_running_since().is_none_or(|since| since > time),
            }
    }

    /// Whether it may have done so even before the last pass that wrote a status. The count that it then
    /// used as a recommendation is not visible anywhere.
    pub(super) fn may_have_restarted_unseen_since(&self, time: Timestamp) -> bool {
        let written = self.status_written().map(|written| written.plus(SECOND));
        self.may_have_lost(time)
            || match self.lease {
                Some(lease) => lease.acquired >= time && Some(lease.acquired) <= written,
                None => self.running_since.is_none_or(|since| since > time),
            }
    }

    /// Whether its history of an earlier HPA of the same name, as of a time, may have been lost with it.
    fn may_have_lost(&self, time: Timestamp) -> bool {
        let created = self.hpa.written.created.filter(|_| self.replaces_another);
        created.is_some_and(|created| created.plus(SECOND) > time)
    }

    /// Whether the status of a later pass could not be written.
    pub(super) fn status_may_lag(&self) -> bool {
        let written = self.hpa.written.status;
        self.status_lost
            .is_some_and(|lost| written.is_none_or(|written| lost.plus(SECOND) >= written))
    }

    /// Returns since when statuses show that the controller that wrote the last one was running.
    fn unbroken_since(&self) -> Option<Timestamp> {
        // Between consecutive passes there is no time for a restart.
        let first_pass = match self.rhythm.at_once_on_start {
            true => SignedDuration::ZERO,
            false => self.rhythm.period,
        };
        let unbroken = RESTART.plus(first_pass).minus(SECOND);
        let mut since = self.status_written()?;
        for write in self.writes().rev() {
            if since.duration_since(write) < unbroken {
                since = since.min(write);
            }
        }
        // The last pass still counts its last rescale.
        let rescale = self.hpa.status.last_scale_time.filter(|_| self.counts_rescale);
        Some(rescale.map_or(since, |rescale| since.min(rescale)).minus(SECOND))
    }

    /// Returns the same for the controller of the next pass, if it is the same one.
    pub(super) fn still_running_since(&self) -> Option<Timestamp> {
        self.fresh().filter(|_| self.now <= self.last_pass().plus(TAKEOVER))?;
        self.running_since
    }

    /// Whether the spec may have been different then.
    pub(super) fn spec_may_have_changed_since(&self, time: Timestamp) -> bool {
        let Written { created, spec, .. } = self.hpa.written;
        spec.is_none_or(|spec| spec.plus(SECOND) >= time)
            && (spec.is_none() || spec != created || self.replaces_another)
    }

    /// Whether the observed earlier passes ran under a spec other than the last one.
    pub(super) fn seen_is_outdated(&self) -> bool {
        let until = self.seen.last().map(|seen| seen.until);
        self.hpa.written.spec.is_none_or(|spec| until.is_none_or(|until| until < spec))
    }

    /// Returns what was observed of all passes since some time, except those that left the status as it is;
    /// `None` if there may have been others.
    pub(super) fn passes_since(&self, time: Timestamp) -> Option<&[SeenPass]> {
        let is_over = |seen: Timestamp| seen.plus(SECOND) <= time;
        self.passes(is_over, is_over)
    }

    /// Returns the same since the start of a window that ends with the next pass.
    pub(super) fn passes_within(&self, window: SignedDuration) -> Option<&[SeenPass]> {
        self.passes(
            |first| self.least_age(first) >= window,
            |until| self.least_age_before(until) >= window,
        )
    }

    /// Returns what was observed, except what `is_over`, judging by when it was overwritten. The
    /// observations must start early enough, with a recommendation: the first pass that makes one uses the
    /// count as another, which its status does not show.
    fn passes(
        &self,
        starts_early: impl Fn(Timestamp) -> bool,
        is_over: impl Fn(Timestamp) -> bool,
    ) -> Option<&[SeenPass]> {
        let (first, last) = (self.seen.first()?, self.seen.last()?);
        let recommended = self.seen.iter().find(|seen| !seen.may_lack_recommendation)?;
        let joined = self.seen.windows(2).all(|pair| pair[0].until >= pair[1].time);
        let reaches = last.until >= self.hpa.written.status.max(self.hpa.written.spec)?;
        // A changed spec may not have had a pass at once.
        let passed = match recommended.spec_changed {
            true => recommended.time.plus(SECOND).plus(self.rhythm.longest),
            false => recommended.time,
        };
        let told = starts_early(passed)
            && joined
            && reaches
            && self.status_lost.is_none_or(|lost| lost.plus(SECOND) < first.time)
            && !self.may_have_restarted_since(first.time.minus(SECOND));
        told.then(|| &self.seen[self.seen.partition_point(|seen| is_over(seen.until))..])
    }

    /// Returns the minimum age, at the next pass, of what was done before a pass wrote its status at some
    /// time.
    pub(super) fn least_age_before(&self, time: Timestamp) -> SignedDuration {
        let wrote = self.writes().any(|write| write == time);
        let regular = wrote && self.is_regular_since(time.minus(self.rhythm.period));
        let before = if regular { self.rhythm.period } else { SignedDuration::ZERO };
        before.plus(self.least_age(time))
    }

    /// Returns when passes wrote their status, where known.
    fn writes(&self) -> impl DoubleEndedIterator<Item = Timestamp> {
        let last = self.seen.last().map(|seen| seen.time);
        let own = self.status_written().filter(|own| last.is_none_or(|last| last < *own));
        self.seen.iter().filter(|seen| !seen.spec_changed).map(|seen| seen.time).chain(own)
    }

    /// Returns the minimum age, at the next pass, of what a pass did by some time. Regular passes are whole
    /// sync periods apart.
    pub(super) fn least_age(&self, time: Timestamp) -> SignedDuration {
        let passed = self.earliest_pass().duration_since(time).minus(SECOND);
        if self.next_is_extra() || !self.is_regular_since(time.minus(self.rhythm.period)) {
            return passed;
        }
        let latest = self.rhythm.period.plus(SLACK);
        let (mut periods, mut before) = (0, time);
        for until in self.writes().filter(|write| *write > time).chain([self.now]) {
            let span = until.duration_since(before).minus(SECOND);
            let many = (span.as_millis() + latest.as_millis() - 1) / latest.as_millis().max(1);
            periods = i32::try_from(many).unwrap_or(i32::MAX).max(1).saturating_add(periods);
            before = until;
        }
        passed.max(self.rhythm.period.saturating_mul(periods))
    }

    /// Returns the time before which the controller remembers nothing of this HPA.
    pub(super) fn nothing_before(&self) -> Option<Timestamp> {
        let created = self.hpa.written.created.filter(|_| !self.replaces_another);
        created.max(self.lease.map(|lease| lease.acquired))
    }
}

/// Returns when a status last could not be written.
fn status_lost(events: &[&Event]) -> Option<Timestamp> {
    let lost = events.iter().filter(|event| event.reason == "FailedUpdateStatus");
    lost.filter_map(|event| event.last).max()
}

/// Returns the rescales that events report, the oldest first. A repeated event only reports its first and
/// its last time.
fn rescales(events: &[&Event]) -> Vec<Rescale> {
    let mut rescales = Vec::new();
    for event in events.iter().filter(|event| event.reason == "SuccessfulRescale") {
        // The recorder merges frequent events, and keeps only the last message.
        let separate = event.message.strip_prefix("(combined from similar events): ");
        let Some((size, reason)) = size_and_reason(separate.unwrap_or(&event.message)) else {
            continue;
        };
        let reason = match reason {
            "All metrics below target" => RescaleReason::BelowTarget,
            "Current number of replicas above Spec.MaxReplicas" => RescaleReason::AboveMax,
            "Current number of replicas below Spec.MinReplicas" => RescaleReason::BelowMin,
            reason if reason.ends_with(" above target") => RescaleReason::AboveTarget,
            _ => RescaleReason::None,
        };
        let rescale = |time, gap| Rescale { time, size, reason, gap };
        let (first, last) = (event.first.or(event.last), event.last.or(event.first));
        if event.count > 1 {
            rescales.extend(first.map(|time| rescale(time, separate.is_some())));
        }
        rescales.extend(last.map(|time| rescale(time, separate.is_some() || event.count > 2)));
    }
    order::sort_by_key(&mut rescales, |rescale| rescale.time);
    // What a gap hides lies anywhere since the first of the repeats.
    if let Some(last_gap) = rescales.iter().rposition(|rescale| rescale.gap) {
        for rescale in &mut rescales[..last_gap] {
            rescale.gap = true;
        }
    }
    rescales
}

/// Reads `New size: 4; reason: cpu resource utilization (...) above target`.
fn size_and_reason(message: &str) -> Option<(i32, &str)> {
    let (size, reason) = message.strip_prefix("New size: ")?.split_once("; reason: ")?;
    Some((size.parse().ok()?, reason))
}

#[cfg(test)]
mod tests;
