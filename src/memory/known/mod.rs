//! The known facts that the rules use: the HPA, the times of its passes where known, and the content of its
//! events ([`super::events`]) and earlier states. This file calculates when passes may have run, how old their effects are by
//! the next pass, and whether the controller may have forgotten them.

use jiff::{SignedDuration, Timestamp};

use super::events::{Recorder, Rescale, last_of, rescale_spans, rescales};
use super::rhythm::Rhythm;
use super::spans::{SECOND, SLACK, intervals, windows};
use super::{Delay, Extreme, sighting, states};
use crate::calendar::Calendar;
use crate::snapshot::controller::Controller;
use crate::snapshot::evidence::{Event, Evidence, Lease, Rescales, SeenPass};
use crate::snapshot::hpa::{Hpa, HpaSpec};
use crate::snapshot::past::Bounds;
use crate::snapshot::written::Written;

/// The minimum time from the last sign of a leader until another takes over: a lease of 15 s is renewed
/// every 2 s.
const TAKEOVER: SignedDuration = SignedDuration::from_secs(13);
/// The number of passes after a status from which on the next pass may be at any time.
const MOST_GAPS: i32 = 8;
/// The usual delay of a pass beyond the sync period.
pub(super) const USUAL_DELAY: SignedDuration = SignedDuration::from_millis(40);
/// The minimum downtime of a controller without leader election, such as k3s on SQLite.
const RESTART: SignedDuration = SignedDuration::from_secs(4);

/// The known facts that the rules use.
pub(super) struct Known<'k> {
    pub(super) hpa: &'k Hpa,
    /// The replicas requested of the target.
    pub(super) current: i32,
    pub(super) now: Timestamp,
    pub(super) rhythm: Rhythm,
    /// The spec of the next pass, if that differs from the spec of the passes so far.
    pub(super) next: &'k HpaSpec,
    /// The window in which a recommendation holds back scaling up at the next pass; zero without `behavior`.
    pub(super) up_window: SignedDuration,
    /// The window in which a recommendation holds back scaling down at the next pass.
    pub(super) down_window: SignedDuration,
    /// The two windows, up and down, of the passes so far.
    pub(super) windows_before: (SignedDuration, SignedDuration),
    /// The lease of a present leader.
    pub(super) lease: Option<Lease>,
    /// Whether there is a lease without a holder.
    leader_left: bool,
    /// The rescales that events report, the oldest first.
    pub(super) rescales: Vec<Rescale>,
    /// The first and the last time of each event about rescales.
    rescale_spans: Vec<(Timestamp, Timestamp)>,
    /// The earlier passes that were observed.
    pub(super) seen: &'k [SeenPass],
    /// All rescales since some time.
    pub(super) rescales_seen: Option<&'k Rescales>,
    /// The scaling of the target according to its events, if it is a Deployment.
    pub(super) scaled: &'k [Event],
    /// The known creation times of the pods that the target still has.
    pub(super) pods_created: Vec<Timestamp>,
    /// The events about the HPA that the controller's recorder has accepted.
    pub(super) recorder: Recorder,
    /// The time of the last failed rescale, if events report one.
    rescale_failed: Option<Timestamp>,
    /// The time since which passes over the current spec have left the status unchanged; `None` if there may
    /// have been no such pass.
    pub(super) status_since: Option<Timestamp>,
    /// Whether the status shows that its pass remembered the last rescale.
    pub(super) counts_rescale: bool,
    /// The latest possible start of the controller that wrote the last status.
    running_since: Option<Timestamp>,
    /// The time at which a status last could not be written. What that pass left in the memory is not visible
    /// anywhere.
    pub(super) status_lost: Option<Timestamp>,
    /// Whether there was an earlier HPA of the same name, whose memory the controller keeps if no pass ran in
    /// between.
    pub(super) replaces_another: bool,
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
        let (own, others): (Vec<&Event>, Vec<&Event>) = evidence
            .events
            .iter()
            .partition(|event| event.is_about(hpa));
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
            rescale_spans: rescale_spans(&own),
            scaled: &evidence.scaled,
            pods_created: Vec::new(),
            counts_rescale: false,
            recorder: Recorder::default(),
            rescale_failed: last_of(&own, "FailedRescale"),
            status_since: None,
            running_since: None,
            status_lost: last_of(&own, "FailedUpdateStatus"),
            replaces_another: !others.is_empty(),
        };
        known.recorder = Recorder::new(&own, now, known.nothing_before());
        let since = states::passed_since(hpa, known.led_since(), now, &known.rhythm);
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
        self.hpa.written.by_pass()
    }

    /// Returns the time since which passes have failed, if the last one has; later ones may have rewritten the status.
    pub(super) fn failed_since(&self) -> Option<Timestamp> {
        let failed = self.condition_since("ScalingActive", "False");
        let written = self.status_written()?;
        Some(failed.map_or(written, |failed| failed.min(written)))
    }

    /// Returns the time of the first pass of the leader, if one is known.
    pub(super) fn led_since(&self) -> Option<Timestamp> {
        let delay = self.rhythm.first_delay();
        self.lease.map(|lease| lease.acquired.plus(delay))
    }

    /// Returns the time since which a condition has had a status; `None` if its status is another.
    pub(super) fn condition_since(&self, type_: &str, status: &str) -> Option<Timestamp> {
        let found = self.hpa.status.condition(type_)?;
        found
            .last_transition_time
            .filter(|_| found.status == status)
    }

    /// Whether a condition has had a status since a given time.
    pub(super) fn has_been(&self, type_: &str, status: &str, since: Timestamp) -> bool {
        self.condition_since(type_, status)
            .is_some_and(|changed| changed <= since)
    }

    /// Whether every rescale since some time was written: no later failure has shown in `AbleToScale`, or an event
    /// would report it.
    pub(super) fn has_written_since(&self, time: Timestamp) -> bool {
        let failed = self
            .rescale_failed
            .is_some_and(|failed| failed.plus(SECOND) >= time);
        let is_told = || self.recorder.drops_none_since(time) && !failed;
        self.has_been("AbleToScale", "True", time) || is_told()
    }

    /// Returns the time at which the status was written, if no pass can have run since.
    fn fresh(&self) -> Option<Timestamp> {
        let written = self.on_schedule_since()?;
        (self.now <= written.plus(self.rhythm.period).minus(SECOND)).then_some(written)
    }

    /// Returns the time at which the status was written, if all passes that still remember its pass are
    /// regular. The first pass of a controller that has started since may be at another time, and remembers
    /// none of it.
    fn on_schedule_since(&self) -> Option<Timestamp> {
        let written = self.status_written()?;
        let same_leader = match self.lease {
            _ if !self.rhythm.at_once_on_start => true,
            Some(lease) => lease.acquired.plus(SECOND) <= written,
            // The next leader runs a pass as soon as it takes over.
            None if self.leader_left => false,
            None => self.now <= written.minus(SECOND).plus(TAKEOVER),
        };
        (same_leader && self.is_regular_since(written)).then_some(written)
    }

    /// Returns the times of the passes that are scheduled after the last status: of those that may be the next
    /// pass from now, the earliest time of the first and the latest time of the last.
    fn scheduled(&self) -> Option<(Timestamp, Timestamp)> {
        let written = self.on_schedule_since().filter(|_| !self.next_is_extra())?;
        let (from, until) = (written.minus(SECOND), written.plus(SECOND));
        let earliest = |pass: i32| from.plus(self.rhythm.period.saturating_mul(pass));
        let latest = |pass: i32| until.plus(self.rhythm.longest.saturating_mul(pass));
        let first = (1..=MOST_GAPS).find(|pass| latest(*pass) >= self.now)?;
        let last = (first..=MOST_GAPS)
            .take_while(|pass| earliest(pass - 1) < self.now)
            .last()
            .unwrap_or(first);
        // The pass before it has run by now.
        let follows = self.now.plus(self.rhythm.longest);
        let end = match last {
            1 => latest(1),
            MOST_GAPS => follows,
            _ => latest(last).min(follows),
        };
        Some((earliest(first), end))
    }

    /// Returns the most likely time of the next pass.
    pub(super) fn likely_pass(&self) -> Timestamp {
        let usual = self.rhythm.period.plus(USUAL_DELAY);
        let (earliest, latest) = (self.earliest_pass(), self.latest_pass());
        let expected = match (self.status_written(), self.hpa.written.created) {
            (Some(written), _) => {
                let gaps = intervals(self.now.duration_since(written), usual);
                written.plus(usual.saturating_mul(gaps.max(1)))
            }
            (None, Some(created)) => created.plus(self.rhythm.first_delay()),
            (None, None) => earliest,
        };
        expected.max(earliest).min(latest)
    }

    /// Returns the time from now to the next pass.
    pub(super) fn delay(&self) -> Delay {
        let until = |time: Timestamp| time.duration_since(self.now);
        Delay {
            least: until(self.earliest_pass()),
            likely: until(self.likely_pass()),
            most: until(self.latest_pass()),
        }
    }

    /// Returns the most likely time of the last pass.
    pub(super) fn likely_last_pass(&self) -> Timestamp {
        let before = self
            .likely_pass()
            .minus(self.rhythm.period)
            .minus(USUAL_DELAY);
        self.status_written()
            .map_or(before, |written| before.max(written))
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
        if regular {
            self.rhythm.period
        } else {
            SignedDuration::ZERO
        }
    }

    /// Returns a recommendation of this age within the bounds of the windows that contain it.
    pub(super) fn within_windows(
        &self,
        mut replicas: i32,
        age: SignedDuration,
        highest: Extreme,
        lowest: Extreme,
    ) -> i32 {
        if age <= self.down_window {
            replicas = highest.at_most.map_or(replicas, |high| replicas.min(high));
        }
        if age <= self.up_window && self.up_window > self.least_gap() {
            replicas = lowest.at_least.map_or(replicas, |low| replicas.max(low));
        }
        replicas
    }

    /// Returns the time for which the passes so far have kept a recommendation: one that is older than both
    /// windows may have been overwritten.
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
        self.scheduled()
            .map_or(self.now, |(earliest, _)| self.now.max(earliest))
    }

    /// Returns the latest such time.
    pub(super) fn latest_pass(&self) -> Timestamp {
        let latest = self.scheduled().map(|(_, latest)| latest);
        latest.unwrap_or_else(|| match self.fresh() {
            Some(last) => last.plus(SECOND).plus(self.rhythm.longest),
            None => self.now.plus(self.rhythm.longest),
        })
    }

    /// Returns the earliest possible time of the last pass, whose status is the current one. A running
    /// controller has had a pass since; a stopped one has forgotten everything.
    pub(super) fn last_pass(&self) -> Timestamp {
        let running = self.last_before(self.now, None);
        self.status_written().map_or(running, |written| {
            let since = written.minus(SECOND);
            let unbroken = Some(written).filter(|_| !self.may_have_restarted_since(since));
            self.last_before(self.now, unbroken).max(since)
        })
    }

    /// Returns the earliest time of the last pass before a time, if the controller was running then; and, if it
    /// was since the pass that wrote its status at another time, with the passes between the two.
    pub(super) fn last_before(&self, time: Timestamp, since: Option<Timestamp>) -> Timestamp {
        let Rhythm {
            period, longest, ..
        } = self.rhythm;
        let running = time.minus(longest).minus(SECOND);
        since
            .filter(|since| self.is_regular_since(since.minus(SECOND)))
            .map_or(running, |since| {
                let passes = intervals(running.duration_since(since).minus(SECOND), longest);
                running.max(since.minus(SECOND).plus(period.saturating_mul(passes)))
            })
    }

    /// Whether a status was lost at some time or later.
    pub(super) fn has_lost_status_since(&self, time: Timestamp) -> bool {
        self.status_lost
            .is_some_and(|lost| lost.plus(SECOND) >= time)
    }

    /// Returns the fewest and the most replicas that the last pass and the next one find.
    pub(super) fn found_now(&self) -> Bounds {
        Bounds::exactly(self.current).with(self.hpa.status.current_replicas)
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

    /// Whether the controller may have restarted since the last pass.
    pub(super) fn may_have_restarted_since_last_pass(&self) -> bool {
        self.may_have_restarted_since(self.last_pass())
    }

    /// Whether the controller may have restarted since a time, even before the last pass that wrote a status. The count
    /// that it then used as a recommendation is not visible anywhere.
    pub(super) fn may_have_restarted_unseen_since(&self, time: Timestamp) -> bool {
        let written = self.status_written().map(|written| written.plus(SECOND));
        self.may_have_lost(time)
            || match self.lease {
                Some(lease) => lease.acquired >= time && Some(lease.acquired) <= written,
                None => self.running_since.is_none_or(|since| since > time),
            }
    }

    /// Whether the history at a given time may have belonged to an earlier HPA of the same name, and been lost
    /// with it.
    fn may_have_lost(&self, time: Timestamp) -> bool {
        let created = self.hpa.written.created.filter(|_| self.replaces_another);
        created.is_some_and(|created| created.plus(SECOND) > time)
    }

    /// Whether the status of a later pass could not be written.
    pub(super) fn status_may_lag(&self) -> bool {
        match self.hpa.written.status {
            Some(written) => self.has_lost_status_since(written),
            None => self.status_lost.is_some(),
        }
    }

    /// Returns the time since which, according to statuses, the controller that wrote the last one was running.
    fn unbroken_since(&self) -> Option<Timestamp> {
        // Between consecutive passes there is no time for a restart.
        let unbroken = RESTART.plus(self.rhythm.first_delay()).minus(SECOND);
        let mut since = self.status_written()?;
        let writes = self.writes().map(|write| (write, write));
        // A recorder only repeats its own events.
        let rescales = self.rescale_spans.iter().copied();
        let mut signs: Vec<(Timestamp, Timestamp)> = writes.chain(rescales).collect();
        signs.sort_by_key(|(_, last)| *last);
        for (first, last) in signs.into_iter().rev() {
            if since.duration_since(last) < unbroken {
                since = since.min(first);
            }
        }
        // The last pass still counts its last rescale.
        let rescale = self
            .hpa
            .status
            .last_scale_time
            .filter(|_| self.counts_rescale);
        Some(
            rescale
                .map_or(since, |rescale| since.min(rescale))
                .minus(SECOND),
        )
    }

    /// Returns the same for the controller of the next pass, if it is the same one.
    pub(super) fn still_running_since(&self) -> Option<Timestamp> {
        self.fresh()
            .filter(|written| self.now <= written.minus(SECOND).plus(TAKEOVER))?;
        self.running_since
    }

    /// Returns the greatest age of the count that a restarted controller found after it had forgotten a
    /// rescale, if that count still holds in either direction. The controller found it some time after the last
    /// sign of its predecessor.
    pub(super) fn held_since_restart(&self, rescale: Timestamp) -> Option<SignedDuration> {
        let delay = self.rhythm.first_delay();
        let start = match self.lease {
            Some(lease) => lease.acquired,
            None => {
                let ran = self
                    .running_since
                    .is_some_and(|since| since <= rescale.plus(SECOND));
                let sign = self.status_written().filter(|_| ran).unwrap_or(rescale);
                // Without an election it would be back sooner.
                let away = if sign == rescale { RESTART } else { TAKEOVER };
                sign.minus(SECOND).plus(away)
            }
        };
        let window = self.up_window.min(self.down_window).min(self.retention());
        // The count is recent at the first pass, whenever that is.
        let age = self
            .latest_pass()
            .duration_since(start.plus(delay))
            .max(SignedDuration::ZERO);
        (age < window).then_some(age)
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
        self.hpa
            .written
            .spec
            .is_none_or(|spec| until.is_none_or(|until| until < spec))
    }

    /// Returns the observations of all passes since a given time, except those that left the current status;
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

    /// Returns the time since which passes over the current spec have left the current status, if its own time is known.
    /// Passes over an earlier spec may have left the same, and have proposed something else.
    pub(super) fn current_since(&self) -> Option<Timestamp> {
        self.status_since
            .filter(|_| self.status_written().is_some())
    }

    /// Whether all passes in a window that ends with the next pass were over the current spec, and have left the current
    /// status.
    pub(super) fn are_all_current(&self, window: SignedDuration) -> bool {
        let since = self.current_since();
        since.is_some_and(|since| self.least_age_before(since) >= window)
    }

    /// Returns the observations, except those that `is_over`, judging by the time at which they were
    /// overwritten. They must start early enough, with a recommendation: the first pass that makes one uses the
    /// count as another, which its status does not show.
    fn passes(
        &self,
        starts_early: impl Fn(Timestamp) -> bool,
        is_over: impl Fn(Timestamp) -> bool,
    ) -> Option<&[SeenPass]> {
        let first = self.seen.first()?;
        let recommended = self
            .seen
            .iter()
            .find(|seen| !seen.may_lack_recommendation)?;
        // A changed spec may not have had a pass at once.
        let passed = if recommended.spec_changed {
            recommended.time.plus(SECOND).plus(self.rhythm.longest)
        } else {
            recommended.time
        };
        let told = (starts_early(passed) || self.begins_with(first))
            && self.are_all_seen()
            && (!self.may_have_restarted_since(first.time.minus(SECOND))
                || self.seen.iter().all(|seen| seen.replicas.is_some())
                    && sighting::found(self.hpa).is_some());
        told.then(|| &self.seen[self.seen.partition_point(|seen| is_over(seen.until))..])
    }

    /// Whether every status since the first observed one was observed.
    fn are_all_seen(&self) -> bool {
        let (Some(first), Some(last)) = (self.seen.first(), self.seen.last()) else {
            return false;
        };
        let written = self.hpa.written.status.max(self.hpa.written.spec);
        self.seen
            .windows(2)
            .all(|pair| pair[0].until >= pair[1].time)
            && written.is_some_and(|written| last.until >= written)
            && !self.has_lost_status_since(first.time)
    }

    /// Whether no pass that still counts ran before the observed passes that left a status.
    fn begins_with(&self, first: &SeenPass) -> bool {
        let since_leader = self
            .lease
            .is_some_and(|lease| first.time.plus(SECOND) <= lease.acquired);
        first.replicas.is_some()
            && (since_leader || !first.spec_changed && self.is_first_pass(first.time))
    }

    /// Whether a status that was written at some time is the first one of the HPA.
    pub(super) fn is_first_pass(&self, written: Timestamp) -> bool {
        let passes = if self.rhythm.at_once_on_start { 1 } else { 2 };
        let second = self
            .rhythm
            .period
            .saturating_mul(passes)
            .minus(SECOND.saturating_mul(2));
        let created = self.hpa.written.created.filter(|_| !self.replaces_another);
        created.is_some_and(|created| written < created.plus(second))
    }

    /// Returns the replicas that the very first pass found, and its time; they were its first recommendation.
    /// `None` if they are unknown.
    pub(super) fn first_of_all(&self) -> Option<(i32, Timestamp)> {
        let (replicas, time) = match self.seen.first() {
            Some(first) => (first.replicas.filter(|_| !first.spec_changed)?, first.time),
            None => (sighting::found(self.hpa)?, self.status_written()?),
        };
        let is_first = self.is_first_pass(time) && !self.has_lost_status_since(time);
        is_first.then_some((replicas, time))
    }

    /// Returns the fewest and the most replicas that the passes since a time, and the next pass, find: a
    /// controller that has started since has recommended one of these first. `None` if some are unknown.
    pub(super) fn found_since(&self, time: Timestamp) -> Option<Bounds> {
        let there = self.found_now();
        let seen = &self.seen[self
            .seen
            .partition_point(|seen| seen.until.plus(SECOND) <= time)..];
        let Some(first) = self.seen.first() else {
            return self
                .status_written()
                .filter(|written| written.minus(SECOND) <= time)
                .map(|_| there);
        };
        if first.time.minus(SECOND) > time || !self.are_all_seen() {
            return None;
        }
        seen.iter()
            .try_fold(there, |found, seen| Some(found.with(seen.replicas?)))
    }

    /// Returns the bounds of the recommendations that the passes of a status have put into the list: their own,
    /// and the replicas that they found if one of them may be the first pass of a controller.
    pub(super) fn listed(&self, seen: &SeenPass) -> Bounds {
        let &SeenPass {
            at_least, at_most, ..
        } = seen;
        let own = Bounds { at_least, at_most };
        match seen.replicas {
            Some(found)
                if self.may_have_started(seen.time, seen.until)
                    || self.is_first_pass(seen.time) =>
            {
                own.with(found)
            }
            _ => own,
        }
    }

    /// Returns the recommendation that the passes of the current status have put into the list in addition to
    /// their own, and its least age at the next pass: the replicas that they found, if one of them may be the
    /// first pass of a controller, or the first that could read them.
    pub(super) fn listed_last(&self) -> Option<(i32, SignedDuration)> {
        let written = self.hpa.written.status?;
        let leads = self
            .lease
            .is_some_and(|lease| lease.acquired.plus(SECOND) <= written);
        let is_first = self.is_first_pass(written);
        let has_started = self.may_have_started(written, self.now);
        if !is_first && !has_started && !self.is_readable_since(written) {
            return None;
        }
        let age = if is_first && leads || !has_started {
            self.least_age(written)
        } else {
            self.least_gap()
        };
        Some((self.hpa.status.current_replicas, age))
    }

    /// Whether the pass that wrote its status at some time may be the first that could read the scale.
    pub(super) fn is_readable_since(&self, written: Timestamp) -> bool {
        let able = self.condition_since("AbleToScale", "True");
        able.is_some_and(|since| since.plus(SLACK).plus(SECOND) >= written)
    }

    /// Whether one of the passes that left a status, which was written at one time and in place until another,
    /// may be the first pass of a controller that started when the HPA existed.
    fn may_have_started(&self, written: Timestamp, until: Timestamp) -> bool {
        match self.lease {
            Some(lease) => {
                // The first pass comes a sync period after the start, unless it comes at once.
                let delay = self.rhythm.first_delay();
                let latest = lease
                    .acquired
                    .plus(self.rhythm.longest)
                    .plus(self.rhythm.period);
                until.plus(SECOND) >= lease.acquired.plus(delay) && written <= latest
            }
            None => self
                .running_since
                .is_none_or(|since| written <= since.plus(SECOND * 2)),
        }
    }

    /// Returns the minimum age, at the next pass, of what was done before a pass wrote its status at some
    /// time.
    pub(super) fn least_age_before(&self, time: Timestamp) -> SignedDuration {
        let wrote = self.writes().any(|write| write == time);
        let regular = wrote && self.is_regular_since(time.minus(self.rhythm.period));
        let before = if regular {
            self.rhythm.period
        } else {
            SignedDuration::ZERO
        };
        before.plus(self.least_age(time))
    }

    /// Returns the times at which passes wrote their status, where known.
    fn writes(&self) -> impl DoubleEndedIterator<Item = Timestamp> {
        let last = self.seen.last().map(|seen| seen.time);
        let latest = self
            .status_written()
            .filter(|written| last.is_none_or(|last| last < *written));
        self.seen
            .iter()
            .filter(|seen| !seen.spec_changed)
            .map(|seen| seen.time)
            .chain(latest)
    }

    /// Returns the minimum age, at the next pass, of what a pass did by some time. Regular passes are whole
    /// sync periods apart.
    pub(super) fn least_age(&self, time: Timestamp) -> SignedDuration {
        let passed = self.earliest_pass().duration_since(time).minus(SECOND);
        if self.next_is_extra() || !self.is_regular_since(time.minus(self.rhythm.period)) {
            return passed;
        }
        let latest = self.rhythm.period.plus(SLACK);
        let (mut periods, mut before) = (0i32, time);
        for until in self
            .writes()
            .filter(|write| *write > time)
            .chain([self.now])
        {
            let span = until.duration_since(before).minus(SECOND);
            periods = periods.saturating_add(intervals(span, latest).max(1));
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

#[cfg(test)]
mod tests;
