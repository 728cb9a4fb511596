//! One pass with all of its input. Whatever explains, evaluates or writes a decision takes this
//! one value.

use jiff::Timestamp;

use crate::engine;
use crate::engine::decision::{Decision, Step};
use crate::memory::{Knowledge, Remembered};
use crate::numbers::count;
use crate::outlook::{self, AtBound, Outlook, Range};
use crate::snapshot::ScaleSelector;
use crate::snapshot::input::Input;
use crate::snapshot::memory::{Memory, Recommendation};
use crate::snapshot::note::{Note, Subject};
use crate::snapshot::past::Bounds;
use crate::version::Version;

/// A pass that was run.
#[derive(Debug, Clone)]
pub struct Pass {
    /// Its input.
    pub input: Input,
    /// The history that it used.
    pub remembered: Remembered,
    /// The decision.
    pub decision: Decision,
    /// The uncertainty of the decision, and the passes after it.
    pub outlook: Outlook,
    /// The pass at the newest time in the input, if that may be the right time.
    pub elsewhen: Option<Box<Self>>,
    /// A note that the newest rules end at different replicas, if they do.
    pub newer: Option<Note>,
}

impl Pass {
    /// Runs a pass with the history that the input states, or that follows from it.
    pub fn run(input: Input) -> Self {
        let remembered = Remembered::of(&input);
        Self::with(input, remembered)
    }

    /// Runs a pass with this history.
    pub fn with(input: Input, remembered: Remembered) -> Self {
        let decision = engine::reconcile(&input.snapshot, &remembered.likely);
        let mut outlook = Outlook::new(&input.snapshot, &remembered, &decision);
        let time = input.clock_doubt.and_then(|doubt| doubt.alternative());
        let elsewhen = time.map(|time| Box::new(Self::at(time, &input)));
        if let Some(other) = &elsewhen {
            let Self {
                decision,
                outlook: at_that_time,
                ..
            } = &**other;
            let replicas = decision.replicas_after();
            let likely = replicas.map(|it| AtBound {
                replicas: it,
                steps: decision.trace.clone(),
            });
            outlook
                .extremes
                .extend(at_that_time.extremes.iter().cloned().chain(likely));
        }
        if let Some(past) = &input.evidence.past {
            outlook.add_past(&input.snapshot, &remembered, &decision, past);
        }
        let newer = newer(&input, &remembered, &decision);
        Self {
            input,
            remembered,
            decision,
            outlook,
            elsewhen,
            newer,
        }
    }

    /// Runs the same pass at another time, which is certain.
    fn at(time: Timestamp, input: &Input) -> Self {
        let mut input = input.clone();
        input.snapshot.now = time;
        input.clock_doubt = None;
        Self::run(input)
    }

    /// Returns the same pass with each history that bounds its result; none if the history is known.
    pub fn at_bounds(&self) -> impl Iterator<Item = Self> {
        let memories = outlook::memories(&self.input.snapshot, &self.remembered, &self.decision);
        memories.into_iter().map(|likely| {
            let remembered = Remembered {
                likely,
                possible: None,
                ..self.remembered.clone()
            };
            Self::with(self.input.clone(), remembered)
        })
    }

    /// Whether metrics decide that are unknown here, so that the pass has no answer.
    pub fn is_unanswered(&self) -> bool {
        self.outlook.is_unanswered(&self.decision)
    }

    /// Returns the unknowns that the passes of a run may depend on, with its highest replicas and its proposals.
    pub fn doubts(&self, highest: i32, asked: Option<Bounds>) -> Doubts {
        // At 0 the replicas stay, whatever is remembered or read.
        if highest == 0 {
            return Doubts::default();
        }
        let metrics = self.input.snapshot.unread_metrics().next().is_some();
        let time = self.elsewhen.is_some();
        // Other values, or another time, lead to other proposals. Without any, nothing is held back.
        let possible = if metrics || time {
            Some(Bounds::UNKNOWN)
        } else {
            asked
        };
        Doubts {
            metrics,
            history: possible.is_some_and(|asked| self.remembered.is_open_to(asked)),
            time,
        }
    }

    /// Returns the origin of a recommendation that holds the replicas.
    pub fn origin(&self, past: &Recommendation) -> RecommendationOrigin {
        let seeded = |step: &Step| matches!(step, Step::SeedRecommendations { .. });
        let is_seed =
            past.time == self.input.snapshot.now && self.decision.trace.iter().any(seeded);
        match self.remembered.knowledge {
            Knowledge::JustStarted if is_seed => RecommendationOrigin::Start,
            Knowledge::Stated if is_seed => RecommendationOrigin::NoneStated,
            Knowledge::Unknown => RecommendationOrigin::Assumed,
            Knowledge::Inferred if is_seed => RecommendationOrigin::Assumed,
            Knowledge::Inferred => RecommendationOrigin::Inferred,
            Knowledge::Stated | Knowledge::JustStarted => RecommendationOrigin::Known,
        }
    }

    /// Whether the replicas after the pass, or their range, depend on unknown history.
    pub fn depends_on_history(&self) -> bool {
        let elsewhen = self.elsewhen.as_deref();
        self.remembered.is_open() && self.differs_by_history()
            || elsewhen.is_some_and(Self::depends_on_history)
    }

    /// Whether a known history would narrow the range, or any possible one shift it.
    fn differs_by_history(&self) -> bool {
        let snapshot = &self.input.snapshot;
        let likely = self.range_with(self.remembered.likely.clone());
        let outlook = Outlook::new(snapshot, &self.remembered, &self.decision);
        let memories = outlook::memories(snapshot, &self.remembered, &self.decision);
        let mut ranges = memories.into_iter().map(|it| self.range_with(it));
        outlook.range(&self.decision) != likely || ranges.any(|range| range != likely)
    }

    /// Returns the replicas after the pass with this history, over everything else that is unknown.
    fn range_with(&self, likely: Memory) -> Option<Range> {
        let snapshot = &self.input.snapshot;
        let decision = engine::reconcile(snapshot, &likely);
        let remembered = Remembered {
            likely,
            possible: None,
            ..self.remembered.clone()
        };
        Outlook::new(snapshot, &remembered, &decision).range(&decision)
    }

    /// The notes about the pass. As long as the target's pods are not known, it does not matter what other HPAs select.
    pub fn notes(&self) -> impl Iterator<Item = &Note> {
        let is_known = ScaleSelector::of(&self.input.snapshot.scale).is_ok();
        let all = self.input.notes.iter().chain(&self.newer);
        let is_of_other = |it: &Note| matches!(it.subject, Subject::UnknownSelector { .. });
        all.filter(move |note| is_known || !is_of_other(note))
    }
}

/// The unknowns of a pass that the following passes may depend on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Doubts {
    /// Metrics that the controller may read.
    pub metrics: bool,
    /// The controller's history.
    pub history: bool,
    /// The time of the pass.
    pub time: bool,
}

impl Doubts {
    /// Whether there are any.
    pub fn any(self) -> bool {
        self != Self::default()
    }
}

/// The origin of a recommendation that holds the replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecommendationOrigin {
    /// A controller that has just started begins with the current replicas.
    Start,
    /// So does one whose input states something else but no recommendation.
    NoneStated,
    /// The controller's history is unknown: the pass assumes one that begins with the current replicas.
    Assumed,
    /// It is inferred from the API.
    Inferred,
    /// It is stated.
    Known,
}

fn newer(input: &Input, remembered: &Remembered, decision: &Decision) -> Option<Note> {
    let version = Version::released();
    if input.snapshot.controller.version.minor() >= version.minor() {
        return None;
    }
    let newer = engine::reconcile_in(&version, &input.snapshot, &remembered.likely);
    let replicas = newer.replicas_after()?;
    let text = format!(
        "by the rules of {version} this pass would end at {}",
        count(replicas, "replica")
    );
    (Some(replicas) != decision.replicas_after()).then(|| Note::new(text))
}
