//! A run, pass by pass: the controller's decision, history and writes go into the cluster of the next pass.

use jiff::SignedDuration;

use super::player::Player;
use super::world::{LoadSetting, World};
use super::{MAX_PASSES, PassChange, Point, Timeline};
use crate::calendar::Calendar;
use crate::engine;
use crate::engine::decision::{Block, Decision};
use crate::error::Error;
use crate::snapshot::Snapshot;

/// A run at one of its passes.
pub struct Course<'p> {
    pub(super) player: &'p Player,
    pub(super) world: World,
    /// The decision of the pass, with every step.
    pub(super) decision: Decision,
    /// The replicas before the pass.
    pub(super) before: i32,
    /// The time since the first pass.
    pub(super) after_first: SignedDuration,
    /// The number of passes before.
    passes: i64,
    /// The next of the player's settings.
    next_setting: usize,
    /// The index of the next time when someone else scales to 0 or back.
    next_sleep: usize,
    /// The changes under the present load: the time since the one before, and the replicas before and after.
    changes: Vec<(SignedDuration, i32, i32)>,
    last_change: SignedDuration,
    /// Whether all further passes are like the last one while the load stays as it is. Known once [`Course::go_on`] has
    /// returned `false`.
    pub(super) is_at_rest: bool,
}

impl Player {
    /// Starts a run at its first pass on a snapshot. `None` if the scale cannot be read.
    pub fn start(&self, snapshot: &Snapshot, first: Decision) -> Option<Course<'_>> {
        let before = snapshot.scale.as_ref().ok()?.spec_replicas;
        let next_sleep = self.sleeps.partition_point(|own| !own.0.is_positive());
        let mut course = Course {
            player: self,
            world: World::of(snapshot, &self.held, self.plan.times),
            decision: first,
            before,
            after_first: SignedDuration::ZERO,
            passes: 0,
            next_setting: 0,
            next_sleep,
            changes: Vec::new(),
            last_change: SignedDuration::ZERO,
            is_at_rest: false,
        };
        if let Some(rollout) = &self.rollout {
            course.world.expect(rollout);
        }
        let has_begun = |own: &&LoadSetting| !own.after.is_positive();
        for setting in self.settings.iter().take_while(has_begun) {
            course
                .world
                .take_over(setting, &self.places[setting.column]);
            course.next_setting += 1;
        }
        course.note_change();
        Some(course)
    }

    /// Plays the passes that follow the first one on a snapshot. `None` if the scale cannot be read.
    ///
    /// # Errors
    ///
    /// The run needs more pods than can be played.
    pub fn play(&self, snapshot: &Snapshot, first: &Decision) -> Result<Option<Timeline>, Error> {
        let Some(mut course) = self.start(snapshot, first.clone()) else {
            return Ok(None);
        };
        let mut timeline = Timeline::of(&course);
        loop {
            timeline.record(&course);
            if !course.go_on()? {
                timeline.end(&course);
                return Ok(Some(timeline));
            }
        }
    }
}

impl Course<'_> {
    /// The counts between which the replicas oscillate under the current load, if they do.
    pub fn swing(&self) -> Option<(i32, i32)> {
        if self.is_at_rest {
            None
        } else {
            swing(&self.changes, self.player.wait)
        }
    }

    /// The pass in numbers.
    pub fn point(&self) -> Point {
        let is_at_zero = self.decision.block() == Some(Block::AtZero);
        let is_answered = match self.decision.block() {
            // At 0, scaling is switched off, which is an answer.
            Some(_) => is_at_zero,
            None => !self.decision.is_unread() && !self.world.lacks_values(&self.decision),
        };
        let asleep = self.player.sleeps[..self.next_sleep].last();
        Point {
            replicas: self.after(),
            proposal: self.decision.proposal,
            ready: self.world.ready(),
            is_answered,
            is_off: is_at_zero && asleep.is_none_or(|(_, count)| *count != 0),
        }
    }

    /// Returns the pass's change of the replicas, with its reason; the pass may have kept them.
    pub fn change(&self) -> PassChange {
        let now = self.world.snapshot.now;
        PassChange::of(&self.decision, now, self.player.delay, self.before)
    }

    /// The replicas after the pass.
    fn after(&self) -> i32 {
        self.decision.replicas_after().unwrap_or(self.before)
    }

    /// Goes to the next pass. Returns false if the run is over; it then stays at the last pass.
    ///
    /// # Errors
    ///
    /// The run needs more pods than can be played.
    pub fn go_on(&mut self) -> Result<bool, Error> {
        let Player {
            settings,
            sleeps,
            places,
            ..
        } = self.player;
        let mut replicas = self.after();
        let next = self
            .after_first
            .saturating_add(self.world.snapshot.controller.sync_period);
        let is_over = self.is_over(next);
        // With a constant load, nothing comes after a rest.
        let is_steady = self.next_setting == settings.len() && self.next_sleep == sleeps.len();
        self.is_at_rest = (is_over || is_steady)
            && self.before == replicas
            && self.world.is_at_rest(&self.decision, replicas);
        if is_over || self.is_at_rest {
            return Ok(false);
        }
        self.world.reveal();
        // The status that the controller writes while a metric is unread is not known; the previous one stays.
        if let Some(status) = self.decision.outcome.status.take() {
            self.world.snapshot.hpa.status = status;
        }
        self.world.scale_to(replicas)?;
        let now = self.world.snapshot.now;
        let since = |own: SignedDuration| now.plus(own.saturating_sub(self.after_first));
        while let Some((at, count)) = sleeps.get(self.next_sleep).filter(|own| own.0 <= next) {
            self.next_sleep += 1;
            if (replicas == 0) != (*count == 0) {
                self.world.advance(since(*at));
                self.world.scale_to(*count)?;
                replicas = *count;
                self.changes.clear();
            }
        }
        self.world.advance(since(next));
        while let Some(setting) = settings
            .get(self.next_setting)
            .filter(|it| it.after <= next)
        {
            self.world.set(setting, &places[setting.column])?;
            self.next_setting += 1;
            self.changes.clear();
        }
        // While pods are being replaced, a change may lead to more.
        if self.world.workload.is_rolling() {
            self.changes.clear();
            self.last_change = next;
        }
        self.world.settle();
        let memory = std::mem::take(&mut self.decision.memory);
        self.decision = engine::reconcile(&self.world.snapshot, &memory);
        (self.before, self.after_first) = (replicas, next);
        self.passes += 1;
        self.note_change();
        Ok(true)
    }

    fn note_change(&mut self) {
        let after = self.after();
        if self.before != after {
            let interval = self.after_first.saturating_sub(self.last_change);
            self.changes.push((interval, self.before, after));
            self.last_change = self.after_first;
        }
    }

    /// Whether the next pass is not played. After the end of a trace, the run continues with its consequences, such as
    /// the scale-down once a window has passed: it ends when nothing has changed for so long that nothing can be
    /// pending.
    fn is_over(&self, next: SignedDuration) -> bool {
        let Player {
            plan, span, wait, ..
        } = self.player;
        if next <= *span || plan.span.is_some() {
            return next > *span;
        }
        next > (*span).max(self.last_change).saturating_add(*wait)
            || self.passes >= MAX_PASSES
            || swing(&self.changes, *wait).is_some()
    }
}

/// The counts between which changes oscillate for ever, if they do: all changes for as long as a pass may remember or
/// a pod may take to join have come before, at the same intervals. A single change that comes again may find another
/// history, and lead to something else.
fn swing(changes: &[(SignedDuration, i32, i32)], wait: SignedDuration) -> Option<(i32, i32)> {
    let mut since = SignedDuration::ZERO;
    let further = changes.iter().rev().take_while(|(interval, ..)| {
        since = since.saturating_add(*interval);
        since < wait
    });
    let count = further.count() + 1;
    let recent = changes.get(changes.len().checked_sub(count)?..)?;
    let mut earlier = changes.windows(count).rev().skip(1);
    let round = earlier.position(|own| own == recent)? + 1;
    let counts = || {
        changes
            .iter()
            .rev()
            .take(round)
            .flat_map(|own| [own.1, own.2])
    };
    Some((counts().min()?, counts().max()?))
}
