//! A controller with its full memory over one HPA, and everything that happens to it: loads, changes
//! of the spec, other writers, failures, restarts. Time is in nanoseconds; the API shows it in
//! whole seconds.

use jiff::{SignedDuration, Timestamp};
use kubectl_hpa::apimachinery::quantity::Quantity;
use kubectl_hpa::apimachinery::selector::Labels;
use kubectl_hpa::engine;
use kubectl_hpa::engine::decision::Decision;
use kubectl_hpa::memory::Memory;
use kubectl_hpa::snapshot::controller::{Controller, Gates};
use kubectl_hpa::snapshot::evidence::{Counted, Evidence, Lease};
use kubectl_hpa::snapshot::hpa::{
    Behavior, CrossVersionObjectReference, ExternalMetricSource, Hpa, HpaSpec, HpaStatus,
    MetricIdentifier, MetricSpec, MetricTarget, ObjectMetricSource, ScalingPolicy, ScalingRules,
};
use kubectl_hpa::snapshot::written::Written;
use kubectl_hpa::snapshot::{
    ExternalValue, MetricAnswer, ObjectValue, Scale, ScaleError, Snapshot,
};
use kubectl_hpa::version::{FeatureGate, Version};

use super::recorder::{Kept, Recorder};
use super::whole;

/// Small random numbers from a seed (splitmix64).
#[derive(Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns one of `low..=high`.
    pub(crate) fn within(&mut self, low: i64, high: i64) -> i64 {
        low + i64::try_from(self.next() % u64::try_from(high - low + 1).unwrap()).unwrap()
    }

    pub(crate) fn one_in(&mut self, n: i64) -> bool {
        self.within(1, n) == 1
    }

    pub(crate) fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[usize::try_from(self.within(0, list.len() as i64 - 1)).unwrap()]
    }

    /// Returns a duration of up to this many milliseconds.
    pub(crate) fn up_to_ms(&mut self, ms: i64) -> SignedDuration {
        SignedDuration::from_nanos(self.within(0, ms * 1_000_000))
    }
}

/// The shape of a run's load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Steps a few minutes to half an hour apart, flat in between.
    Steps,
    /// The same with noise.
    NoisySteps,
    /// Up and down within hours.
    Day,
    /// Low, with occasional spikes.
    Spikes,
    /// Anything at any pass.
    Wild,
}

impl Shape {
    pub(crate) const ALL: [Self; 5] = [
        Self::Steps,
        Self::NoisySteps,
        Self::Day,
        Self::Spikes,
        Self::Wild,
    ];
}

/// How much happens in a run, and how usual the controller is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    /// Only the controller acts.
    Quiet,
    /// Something happens occasionally, to a controller with the usual flags.
    Usual,
    /// Much happens, to a controller of any version and flags, with two metrics.
    Odd,
}

/// The world of one run.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) random: Random,
    pub(crate) now: Timestamp,
    pub(crate) next_pass: Timestamp,
    /// When the next regular pass is due. An earlier one is extra.
    due: Timestamp,
    pub(crate) hpa: Hpa,
    pub(crate) replicas: i32,
    /// The metric's value, in milli-units; `None` while it fails.
    pub(crate) load: Option<i64>,
    /// The value of a second metric, if there is one.
    second: Option<i64>,
    shape: Shape,
    level: i64,
    next_level: Timestamp,
    metric_fails_until: Timestamp,
    pub(crate) scale_fails: bool,
    pub(crate) update_fails: bool,
    pub(crate) memory: Memory,
    pub(crate) leads_since: Timestamp,
    /// The last sign of the previous leader; until there is another, no passes are made.
    pub(crate) died: Option<Timestamp>,
    elected: bool,
    led_before: Timestamp,
    recorder: Recorder,
    kept: Kept,
    pub(crate) controller: Controller,
    life: Life,
    /// The number of HPAs that have had the name.
    births: usize,
    /// When a status could not be written or the HPA was replaced.
    lost: Option<Timestamp>,
    replaced: Option<Timestamp>,
    /// When `apply` last wrote a status.
    applied: Option<Timestamp>,
    /// When someone else last scaled the target.
    pub(crate) scaled_by_others: Option<Timestamp>,
    /// The target's `status.replicas`, and when its status last changed.
    there: i32,
    there_since: Timestamp,
    /// Their values when each status of the HPA was written.
    pub(crate) counted: Vec<Counted>,
}

/// The load that each replica carries.
const TARGET: i64 = 10_000;

impl World {
    pub(crate) fn new(seed: u64, shape: Shape, behavior: bool, life: Life) -> Self {
        let mut random = Random(seed);
        let start = Timestamp::from_nanosecond(
            1_700_000_000_000_000_000 + i128::from(random.within(0, 1_000_000_000_000)),
        )
        .unwrap();
        let min = random.pick(&[1, 1, 2, 3]);
        let odd = life == Life::Odd;
        let controller = if odd {
            some_controller(&mut random)
        } else {
            Controller::new(random.pick(&["v1.36", "v1.37", "v1.37"]).parse().unwrap())
        };
        let counts_generations = controller.gates[FeatureGate::HPAGeneration];
        let spec = HpaSpec {
            scale_target_ref: CrossVersionObjectReference {
                kind: "Deployment".to_owned(),
                name: "web".to_owned(),
                api_version: "apps/v1".to_owned(),
            },
            min_replicas: Some(min),
            max_replicas: random.pick(&[10, 20, 50]),
            metrics: if odd {
                vec![
                    external(),
                    if random.one_in(2) {
                        external()
                    } else {
                        object()
                    },
                ]
            } else {
                vec![external()]
            },
            behavior: behavior.then(|| some_behavior(&mut random, odd)),
        };
        let hpa = Hpa {
            accepts_scaled_objects: false,
            name: "web".to_owned(),
            namespace: "default".to_owned(),
            uid: Some("u".to_owned()),
            generation: counts_generations.then_some(1),
            resource_version: String::new(),
            deletion_timestamp: None,
            labels: Labels::default(),
            owner: None,
            written: Written {
                created: Some(whole(start)),
                spec: Some(whole(start)),
                ..Written::default()
            },
            spec,
            status: HpaStatus::default(),
        };
        let before = SignedDuration::from_secs(random.within(0, 7200));
        let replicas = random.pick(&[min, min, 5]);
        let mut world = Self {
            now: start,
            next_pass: start,
            due: start,
            hpa,
            replicas,
            load: Some(TARGET),
            second: None,
            shape,
            level: 30_000,
            next_level: start,
            metric_fails_until: start,
            scale_fails: false,
            update_fails: false,
            memory: Memory::default(),
            leads_since: start - before,
            died: None,
            elected: true,
            led_before: start - before,
            recorder: Recorder::default(),
            kept: Kept::new(),
            controller,
            random,
            life,
            births: 1,
            lost: None,
            replaced: None,
            applied: None,
            scaled_by_others: None,
            there: replicas,
            there_since: start - before,
            counted: Vec::new(),
        };
        world.change_load();
        let late = world.random.up_to_ms(100);
        world.due = if world.at_once_on_start() {
            start + late
        } else {
            start + world.controller.sync_period
        };
        world.next_pass = world.due;
        world
    }

    /// Whether a new HPA, and each HPA of a starting controller, has a pass at once.
    fn at_once_on_start(&self) -> bool {
        self.controller.version.minor() >= 37
    }

    /// Records that the HPA was created or its spec changed, at this time: next comes an extra pass, in
    /// versions that have them.
    fn pass_at_once(&mut self) {
        let late = if self.random.one_in(20) {
            self.random.up_to_ms(4_000)
        } else {
            self.random.up_to_ms(200)
        };
        self.next_pass = self.due.min(self.now + late);
    }

    /// Returns what the controller would see now.
    pub(crate) fn snapshot(&self, now: Timestamp) -> Snapshot {
        let answer = |(value, spec): (Option<i64>, &MetricSpec)| match value {
            Some(value) if spec.object.is_some() => MetricAnswer::Object(vec![ObjectValue {
                value,
                ..ObjectValue::default()
            }]),
            Some(value) => MetricAnswer::External(vec![ExternalValue {
                value,
                ..ExternalValue::default()
            }]),
            None => MetricAnswer::Failed("down".to_owned()),
        };
        let values = [self.load, self.second].into_iter();
        let metrics = values.zip(&self.hpa.spec.metrics).map(answer).collect();
        let scale = Scale {
            spec_replicas: self.replicas,
            status_replicas: self.there,
            selector: "app=web".to_owned().into(),
        };
        Snapshot {
            now,
            hpa: self.hpa.clone(),
            controller: self.controller.clone(),
            scale: if self.scale_fails {
                Err(ScaleError::Get("down".to_owned()))
            } else {
                Ok(scale)
            },
            scale_update_error: self.update_fails.then(|| "down".to_owned()),
            pods: Vec::new(),
            pods_unread: None,
            pod_metrics: Vec::new(),
            metrics,
            other_hpas: Vec::new(),
        }
    }

    /// Whether someone else has scaled the target shortly before the rescales that still count. That leaves
    /// no trace between them, and the documented inference from them ignores it.
    pub(crate) fn others_count(&self) -> bool {
        let behavior = self.hpa.spec.behavior.iter();
        let rules = behavior.flat_map(|b| b.scale_up.iter().chain(&b.scale_down));
        let policies = rules.flat_map(|rules| rules.policies.iter().flatten());
        let longest = policies
            .map(|policy| policy.period_seconds)
            .max()
            .unwrap_or(0);
        let span = SignedDuration::from_secs(i64::from(longest.max(300)) + 900);
        let span = span + self.controller.sync_period * 8;
        self.scaled_by_others
            .is_some_and(|time| time + span > self.now)
    }

    /// Whether something happened that only an event would show, and no event does.
    pub(crate) fn left_no_trace(&self, evidence: &Evidence) -> bool {
        let counts = |time: &Timestamp| *time + SignedDuration::from_secs(3700) > self.now;
        let told = |time: Timestamp| {
            let lost = evidence
                .events
                .iter()
                .filter(|event| event.reason == "FailedUpdateStatus");
            lost.filter_map(|event| event.last)
                .any(|last| last == whole(time))
        };
        self.lost.filter(counts).is_some_and(|time| !told(time))
            || evidence.seen.is_empty() && self.applied.filter(counts).is_some()
            || self.replaced.filter(counts).is_some()
                && evidence
                    .events
                    .iter()
                    .all(|event| event.is_about(&self.hpa))
    }

    /// Whether the next pass is an extra one.
    pub(crate) fn next_is_extra(&self) -> bool {
        self.next_pass < self.due
    }

    /// Whether a controller was restarted, without an election, and has made no pass since.
    pub(crate) fn is_back(&self) -> bool {
        let first = if self.at_once_on_start() {
            SignedDuration::from_secs(2)
        } else {
            self.controller.sync_period
        };
        !self.elected && self.now < self.leads_since + first
    }

    /// Returns what a user could read in addition to the HPA.
    pub(crate) fn evidence(&self, with_lease: bool, with_events: bool) -> Evidence {
        let (acquired, renewed) = match self.died {
            Some(died) => (self.led_before, died),
            None => (self.leads_since, self.now),
        };
        let lease = Lease {
            acquired: whole(acquired),
            renewed: whole(renewed),
            duration: SignedDuration::from_secs(15),
        };
        Evidence {
            events: if with_events {
                self.kept.values().cloned().collect()
            } else {
                Vec::new()
            },
            lease: with_lease.then_some(lease),
            ..Evidence::default()
        }
    }

    /// Returns the current target.
    pub(crate) fn counted(&self) -> Counted {
        let (since, until) = (whole(self.there_since), whole(self.now));
        Counted {
            replicas: self.there,
            since,
            until,
            alike: false,
        }
    }

    /// Moves the target closer to its desired replicas, or changes its status otherwise.
    fn follow(&mut self) {
        let before = self.there;
        if self.there != self.replicas && self.random.one_in(2) {
            let missing = i64::from(self.replicas - self.there);
            let some = self.random.within(1, missing.abs()) * missing.signum();
            self.there += i32::try_from(some).unwrap();
        }
        if self.there != before || self.random.one_in(100) {
            self.there_since = self.now;
        }
    }

    /// Runs the pass that is due, advancing time to it.
    pub(crate) fn pass(&mut self) -> Decision {
        self.now = self.next_pass;
        self.died = None;
        let decision = engine::reconcile(&self.snapshot(self.now), &self.memory);
        self.memory = decision.memory.clone();
        for event in decision.outcome.events.iter().flatten() {
            self.send(event.reason, &event.message);
        }
        if let Some(replicas) = decision.outcome.scale_to {
            self.replicas = replicas;
        }
        let taken = self.random.up_to_ms(300);
        self.now += taken;
        self.write(
            decision
                .outcome
                .status
                .clone()
                .expect("every metric is read"),
            false,
        );
        let late = match self.life {
            Life::Odd if self.random.one_in(30) => 4_500,
            _ if self.random.one_in(50) => 2_000,
            _ => 60,
        };
        // An extra pass does not shift the regular ones.
        if self.due <= self.now {
            self.due = self.now + self.controller.sync_period + self.random.up_to_ms(late);
            let stale = match self.life {
                Life::Quiet => false,
                Life::Usual => self.random.one_in(100),
                Life::Odd => self.random.one_in(30),
            };
            if stale && self.controller.gates[FeatureGate::StaleControllerConsistencyHPA] {
                self.due += self.controller.sync_period + self.random.up_to_ms(60);
            }
        }
        self.next_pass = self.due;
        decision
    }

    /// Lets things happen between two passes; returns true if the next one becomes unpredictable.
    pub(crate) fn live(&mut self) -> bool {
        let before = (
            self.load,
            self.scale_fails,
            self.update_fails,
            self.replicas,
        );
        self.follow();
        self.change_load();
        let mut unforeseen = false;
        if self.life != Life::Quiet {
            let odd = self.life == Life::Odd;
            let again = odd && self.random.one_in(2);
            self.scale_fails = self.random.one_in(200) || self.scale_fails && again;
            self.update_fails =
                self.random.one_in(if odd { 40 } else { 200 }) || self.update_fails && again;
            if odd && self.random.one_in(300) {
                self.replace();
                unforeseen = true;
            }
            if self.random.one_in(150) {
                self.scaled_by_others = Some(self.now);
                self.replicas = i32::try_from(self.random.within(0, 12)).unwrap();
                if self.replicas == 0 && !self.random.one_in(4) {
                    self.replicas = 1;
                }
            } else if self.replicas == 0 && self.random.one_in(5) {
                self.replicas = 2;
                self.scaled_by_others = Some(self.now);
            }
            // A change is often accompanied by others.
            let just = SignedDuration::from_secs(2);
            let spec = self.hpa.written.spec;
            let changed = odd && spec.is_some_and(|spec| self.now.duration_since(spec) < just);
            let rarely = if odd { 100 } else { 200 };
            if self.random.one_in(if changed { 3 } else { rarely }) {
                self.change_spec();
                unforeseen = true;
            } else if odd && self.random.one_in(100) {
                self.apply();
            }
            if self.random.one_in(200) {
                self.restart();
                unforeseen = true;
            }
        }
        unforeseen
            || before
                != (
                    self.load,
                    self.scale_fails,
                    self.update_fails,
                    self.replicas,
                )
    }

    fn send(&mut self, reason: &str, message: &str) {
        let uid = self.hpa.uid.clone().unwrap();
        self.recorder
            .send(&uid, reason, message, self.now, &mut self.kept);
    }

    /// Deletes the HPA and creates another with the same name and spec before the controller notices.
    fn replace(&mut self) {
        self.births += 1;
        self.now = self.now.max(self.next_pass - self.random.up_to_ms(900));
        self.replaced = Some(self.now);
        self.hpa.uid = Some(format!("u{}", self.births));
        self.hpa.status = HpaStatus::default();
        let now = Some(whole(self.now));
        self.hpa.written = Written {
            created: now,
            spec: now,
            ..Written::default()
        };
        self.hpa.generation = self.hpa.generation.map(|_| 1);
        if self.at_once_on_start() {
            self.pass_at_once();
        }
    }

    /// Returns the same world, with its HPA updated before the next pass.
    pub(crate) fn updated(&self, seed: u64) -> Self {
        let mut random = Random(seed);
        loop {
            let mut updated = Self {
                random: Random(random.next()),
                ..self.clone()
            };
            updated.change_spec();
            updated.now = self.now;
            if updated.next_pass < updated.due {
                updated.pass_at_once();
            }
            let (own, other) = (&self.hpa.spec, &updated.hpa.spec);
            // A different target would be a different world.
            if own != other && own.scale_target_ref == other.scale_target_ref {
                return updated;
            }
        }
    }

    fn change_spec(&mut self) {
        let odd = self.life == Life::Odd;
        let spec_before = &self.hpa.spec.clone();
        let spec = &mut self.hpa.spec;
        match self.random.within(0, if odd { 5 } else { 3 }) {
            0 => spec.max_replicas = self.random.pick(&[10, 20, 50]),
            1 => {
                let zero = odd && self.random.one_in(2);
                spec.min_replicas = Some(if zero {
                    0
                } else {
                    self.random.pick(&[1, 2, 3])
                });
            }
            2 => spec.behavior = Some(some_behavior(&mut self.random, odd)),
            3 => spec.behavior = None,
            // An annotation.
            4 => {}
            // Another target, which has long existed unobserved.
            _ => {
                spec.scale_target_ref.name.push('x');
                self.there = i32::try_from(self.random.within(0, 12)).unwrap();
                self.there_since = self.now - self.random.up_to_ms(1_800_000);
                self.replicas = self.there;
                self.scaled_by_others = Some(self.now);
                self.counted.clear();
            }
        }
        let since = self.next_pass - self.random.up_to_ms(14_000);
        self.now = self.now.max(since).min(self.next_pass);
        self.hpa.written.spec = Some(whole(self.now));
        if *spec_before != self.hpa.spec && self.controller.gates[FeatureGate::HPAGeneration] {
            self.hpa.generation = self.hpa.generation.map(|generation| generation + 1);
            self.pass_at_once();
        }
    }

    /// Runs `apply --write-status` as a user, which evaluates the metrics but remembers nothing.
    fn apply(&mut self) {
        self.now = self
            .now
            .max(self.next_pass - self.random.up_to_ms(14_000))
            .min(self.next_pass);
        let decision = engine::reconcile(&self.snapshot(self.now), &Memory::default());
        if let Some(replicas) = decision.outcome.scale_to {
            self.replicas = replicas;
            self.scaled_by_others = Some(self.now);
        }
        self.applied = Some(self.now);
        self.write(decision.outcome.status.expect("every metric is read"), true);
    }

    /// Writes a status, if it differs.
    fn write(&mut self, mut status: HpaStatus, by_us: bool) {
        status.last_scale_time = status.last_scale_time.map(whole);
        for condition in &mut status.conditions {
            condition.last_transition_time = condition.last_transition_time.map(whole);
        }
        if status == self.hpa.status {
            return;
        }
        if !by_us && self.life == Life::Odd && self.random.one_in(150) {
            self.send("FailedUpdateStatus", "down");
            self.lost = Some(self.now);
            return;
        }
        let now = Some(whole(self.now));
        let written = &mut self.hpa.written;
        // Both may write within the same second.
        written.by_us = by_us || written.by_us && written.status == now;
        written.status = now;
        self.hpa.status = status;
        self.counted.push(self.counted());
    }

    /// Lets another leader take over, after the lease has expired; it runs a pass at once or a sync period
    /// later.
    fn restart(&mut self) {
        self.died = Some(self.now);
        self.led_before = self.leads_since;
        // Without an election it is back at once, and looks like its predecessor until its first pass.
        self.elected = self.life != Life::Odd || self.random.one_in(2);
        let away = SignedDuration::from_secs(if self.elected { 13 } else { 4 });
        self.leads_since = self.now + away + self.random.up_to_ms(30_000);
        self.memory = Memory::default();
        self.recorder = self.recorder.next();
        let late = self.random.up_to_ms(2_000);
        self.due = if self.at_once_on_start() {
            self.leads_since + late
        } else {
            self.leads_since + self.controller.sync_period + late
        };
        self.next_pass = self.due;
    }

    /// Returns the same world in which only passes happen from now on, with metrics that always ask for
    /// the same.
    pub(crate) fn left_alone(&self) -> Self {
        let mut alone = self.clone();
        alone.life = Life::Quiet;
        alone.controller.tolerance = 0.0;
        (alone.scale_fails, alone.update_fails) = (false, false);
        alone
    }

    /// Advances time without a pass.
    pub(crate) fn wait(&mut self) {
        let left = self.next_pass.duration_since(self.now).as_millis();
        self.now += self.random.up_to_ms(i64::try_from(left).unwrap().max(0));
        self.died = self.died.filter(|_| self.now < self.leads_since);
        self.follow();
    }

    fn change_load(&mut self) {
        let now = self.now;
        if self.life != Life::Quiet && self.random.one_in(300) {
            let long = SignedDuration::from_secs(self.random.within(10, 600));
            self.metric_fails_until = now + long;
        }
        let most = i64::from(self.hpa.spec.max_replicas) * TARGET;
        let seconds = now.as_second();
        let value = match self.shape {
            Shape::Steps | Shape::NoisySteps => {
                if now >= self.next_level {
                    self.level = self.random.within(TARGET / 2, most * 11 / 10);
                    let span = SignedDuration::from_secs(self.random.within(120, 1800));
                    self.next_level = now + span;
                }
                let noise = if self.shape == Shape::Steps {
                    0
                } else {
                    self.level * 8 / 100
                };
                self.level + self.random.within(-noise, noise)
            }
            Shape::Day => {
                let phase = (seconds % 14_400) as f64 / 14_400.0 * std::f64::consts::TAU;
                let middle = most as f64 * (0.45 - 0.35 * phase.cos());
                middle as i64 + self.random.within(-2_000, 2_000)
            }
            Shape::Spikes => {
                if now >= self.next_level {
                    let calm = self.level > 2 * TARGET;
                    self.level = if calm {
                        TARGET
                    } else {
                        self.random.within(TARGET, most)
                    };
                    let (low, high) = if calm { (600, 3600) } else { (30, 300) };
                    let span = SignedDuration::from_secs(self.random.within(low, high));
                    self.next_level = now + span;
                }
                self.level
            }
            Shape::Wild if self.life == Life::Odd && self.random.one_in(8) => 0,
            Shape::Wild => {
                if self.random.one_in(3) {
                    self.random.within(0, most * 12 / 10)
                } else {
                    self.load.unwrap_or(TARGET)
                }
            }
        };
        self.load = (now >= self.metric_fails_until).then_some(value);
        if self.life == Life::Odd {
            let share = self.random.within(0, 120);
            self.second = match self.random.within(1, 40) {
                1..=4 => None,
                5 => Some(-value),
                6 => Some(i64::MAX / self.random.within(1, 1_000)),
                _ => Some(value * share / 100),
            };
        }
    }
}

fn external() -> MetricSpec {
    let metric = MetricIdentifier {
        name: "load".to_owned(),
        selector: None,
    };
    MetricSpec {
        type_: "External".to_owned(),
        external: Some(ExternalMetricSource {
            metric,
            target: average(),
        }),
        ..MetricSpec::default()
    }
}

fn object() -> MetricSpec {
    let metric = MetricIdentifier {
        name: "load".to_owned(),
        selector: None,
    };
    let source = ObjectMetricSource {
        metric,
        target: average(),
        ..ObjectMetricSource::default()
    };
    MetricSpec {
        type_: "Object".to_owned(),
        object: Some(source),
        ..MetricSpec::default()
    }
}

fn average() -> MetricTarget {
    MetricTarget {
        type_: "AverageValue".to_owned(),
        average_value: Some(Quantity::parse("10").unwrap()),
        ..MetricTarget::default()
    }
}

/// Returns a controller of some version with some flags.
fn some_controller(random: &mut Random) -> Controller {
    let version = random.pick(&[
        "v1.23", "v1.26", "v1.28", "v1.33", "v1.36", "v1.37", "v1.37", "v1.38",
    ]);
    let version: Version = version.parse().unwrap();
    let seconds = SignedDuration::from_secs;
    Controller {
        gates: Gates::new(&version, |gate| {
            (gate == FeatureGate::HPAScaleToZero).then_some(true)
        }),
        sync_period: seconds(random.pick(&[15, 15, 15, 1, 5, 60, 300])),
        downscale_stabilization: seconds(random.pick(&[300, 300, 300, 0, 60, 1800])),
        ..Controller::new(version)
    }
}

/// Returns rules as an API server would store them.
fn some_behavior(random: &mut Random, odd: bool) -> Behavior {
    let mut rules = |windows: &[Option<i32>]| {
        let window = random.pick(windows);
        let count = random.within(1, 2);
        let policies = (0..count)
            .map(|_| {
                let percent = random.one_in(2);
                ScalingPolicy {
                    type_: if percent { "Percent" } else { "Pods" }.to_owned(),
                    value: random.pick(if percent { &[10, 50, 100] } else { &[1, 3, 5] }),
                    period_seconds: random.pick(&[15, 15, 30, 60, 60, 120, 300]),
                }
            })
            .collect();
        ScalingRules {
            stabilization_window_seconds: window,
            select_policy: Some(
                random
                    .pick(&["Max", "Max", "Max", "Min", "Disabled"])
                    .to_owned(),
            ),
            policies: Some(policies),
            tolerance: (odd && random.one_in(4)).then(|| Quantity::parse("300m").unwrap()),
        }
    };
    Behavior {
        scale_up: Some(rules(&[
            Some(0),
            Some(0),
            Some(0),
            Some(30),
            Some(60),
            Some(300),
        ])),
        scale_down: Some(rules(&[None, Some(300), Some(60), Some(0), Some(600)])),
    }
}
