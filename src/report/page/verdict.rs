//! The reasons for the outcome of a pass, in a sentence or two.

use jiff::SignedDuration;

use super::Words;
use super::headline::Headline;
use crate::apimachinery::json::SecondsTime;
use crate::calendar::Calendar;
use crate::engine::decision::{
    Because, CombineStep, Direction, LimitStep, MetricStep, PolicyLimit, RateLimit, StabilizeStep,
};
use crate::engine::hold::Hold;
use crate::findings::path::{policy, value};
use crate::memory::{Knowledge, infer};
use crate::numbers::age;
use crate::outlook::Range;
use crate::pass::{Pass, RecommendationOrigin};
use crate::report::{Certainty, RecordView};
use crate::snapshot::ScaleError;
use crate::snapshot::clock::{ClockDoubt, Why};
use crate::snapshot::input::Input;
use crate::whatif::thresholds::Borders;
use crate::words::{count, distance, duration, lacking, list, percent, sentence, time};

/// A pass whose time is known to within this many milliseconds is shown without the uncertainty of its time.
const SHOWN: i64 = 2000;

impl Words<'_> {
    /// Describes what happens, and why.
    pub(in crate::report) fn verdict(&self) -> (Headline, Vec<String>) {
        let pass = self.explanation.pass;
        let (headline, mut why) = (Headline::of(pass), Vec::new());
        let Some(current) = pass.decision.replicas_before() else {
            why.push(sentence(&format!("{}.", self.no_scale())));
            return (headline, why);
        };
        if !pass.is_unanswered() {
            why.push(self.because(current));
        }
        why.extend(self.explanation.clock_doubt.map(|doubt| self.clock(doubt)));
        if let Certainty::Bounded = self.explanation.certainty
            && let Some(range) = self.explanation.range
        {
            why.push(self.open(range));
            why.extend(self.narrower());
        }
        why.extend(
            self.explanation
                .record
                .as_ref()
                .map(|record| self.recorded(record)),
        );
        let unwritten = pass.decision.unwritten();
        why.extend(unwritten.map(|(_, error)| format!("Writing the scale fails: {error}.")));
        (headline, why)
    }

    /// Describes the other possible results, and what they depend on.
    fn open(&self, range: Range) -> String {
        let Range { min, max } = range;
        let pass = self.explanation.pass;
        let causes = self.unknown();
        let unknown = causes.join(", and ");
        if pass.is_unanswered() {
            return sentence(&format!(
                "{unknown}: the pass may end anywhere from {min} to {max}."
            ));
        }
        let held = pass.decision.stabilization().and_then(|step| {
            let past = step.held_by?.replicas;
            (past > step.desired).then_some((past, step.down_window))
        });
        // The API shows a recommendation that was made; samples only what it may have been.
        let by_api = pass.remembered.knowledge == Knowledge::Inferred
            && pass.input.evidence.past.is_none()
            && !self.uses_record();
        if let (Some((replicas, window)), true, 1) = (held, by_api, causes.len())
            && pass.decision.replicas_after() == Some(max)
            && self.may_remember_before(window)
        {
            let upcoming = self.explanation.upcoming;
            let fewer = upcoming.iter().find(|step| step.replicas < max);
            let likely = fewer.map_or(min, |step| step.replicas.max(min));
            let or_fewer = if likely > min { " or fewer" } else { "" };
            let follows = self.overruling().next().is_none();
            let then = upcoming
                .iter()
                .find(|step| follows && step.range.max <= likely);
            let latest = then.map_or_else(String::new, |step| {
                format!(
                    ", and by {} at the latest if the load stays the same",
                    time(self.now(), step.time)
                )
            });
            return format!(
                "Not certain: it scales to {likely}{or_fewer} if the recommendation of {replicas} is older \
                 than {} at the next pass{latest}.",
                duration(window)
            );
        }
        format!("Not certain: {unknown}; {min} to {max} are possible.")
    }

    /// Whether the controller may remember, at the next pass, a recommendation that is older than a window.
    fn may_remember_before(&self, window: SignedDuration) -> bool {
        let Pass {
            input, remembered, ..
        } = self.explanation.pass;
        let acquired = input.evidence.lease.map(|lease| lease.acquired);
        let start = input.snapshot.hpa.written.created.max(acquired);
        let next = self.now().plus(remembered.delay.most);
        start.is_none_or(|start| next.duration_since(start) > window)
    }

    /// Returns the advice that would narrow the range, if the controller's history widens it and no history was
    /// read.
    fn narrower(&self) -> Option<String> {
        let pass = self.explanation.pass;
        let Input {
            evidence,
            snapshot,
            command_flags,
            ..
        } = &pass.input;
        let has_history = evidence.past.is_some() || evidence.recorded.is_some();
        if has_history || !pass.remembered.is_open() {
            return None;
        }
        let window = duration(infer::window(&snapshot.hpa, &snapshot.controller));
        // With predict, --prometheus plays a load unless every metric has a value.
        let takes_history = self.explanation.kind != "Prediction";
        let observes = !command_flags.reads_files();
        let flags = match (takes_history, observes) {
            (true, true) => format!("--prometheus, or --observe {window}"),
            (true, false) => "--prometheus URL".to_owned(),
            (false, true) => format!("--observe {window}"),
            (false, false) => return None,
        };
        Some(format!("To narrow this, give a history with {flags}."))
    }

    /// Describes what was recorded after a past pass, and whether that contradicts the answer.
    fn recorded(&self, record: &RecordView) -> String {
        let RecordView {
            replicas,
            time,
            in_range,
            decides,
        } = *record;
        let after = distance(self.now(), time);
        let pass = self.explanation.pass;
        let range = pass
            .outlook
            .refuted
            .or(self.explanation.range)
            .filter(|_| in_range == Some(false));
        let outside = match range {
            None if decides => {
                "; of the possible answers, this is therefore the one shown".to_owned()
            }
            None => String::new(),
            Some(Range { min, max }) if decides => {
                let upper = if min == max {
                    String::new()
                } else {
                    format!(" to {max}")
                };
                format!("; the samples lead to {min}{upper}, so they do not show why")
            }
            Some(Range { min, max }) if min == max => format!(", not {min}"),
            Some(Range { min, max }) => format!(", outside the range from {min} to {max}"),
        };
        let period = pass.input.snapshot.controller.sync_period;
        let is_much_later = time.duration_since(self.now()) > period;
        let further = if range.is_some() && !decides && is_much_later {
            "; later passes may have changed them"
        } else {
            ""
        };
        format!(
            "Recorded {after} later: {}{outside}{further}.",
            count(replicas, "replica")
        )
    }

    /// Describes why the samples may belong to another time than the pass, and the flag to type.
    fn clock(&self, doubt: ClockDoubt) -> String {
        let ClockDoubt { why, newest } = doubt;
        let by = age(self.now().duration_since(newest).abs());
        let is_old = self.now() > newest;
        let newest = SecondsTime(newest);
        let use_now = format!("To explain the pass at that time, use --now {newest}.");
        match why {
            Why::Unstated => {
                let side = if is_old {
                    "old"
                } else {
                    "ahead of the system clock"
                };
                format!(
                    "The input does not state when it was saved, and its newest sample is {by} {side}. {use_now}"
                )
            }
            Why::Ahead => {
                format!("The stated time is wrong: the newest sample is {by} later. {use_now}")
            }
            Why::Old => format!(
                "The newest sample is {by} old: either metrics have stopped arriving, or the \
                 stated time is wrong (try --now {newest})."
            ),
        }
    }

    /// Describes why the answer is uncertain.
    pub(in crate::report) fn unknown(&self) -> Vec<String> {
        let Pass {
            input, remembered, ..
        } = self.explanation.pass;
        let mut unknown = Vec::from_iter(self.lacking());
        if let Some(past) = &input.evidence.past {
            if past.doubt > SHOWN {
                let seconds = (past.doubt - 1) / 1000 + 1;
                unknown.push(format!(
                    "the pass may have been up to {seconds}s earlier or later"
                ));
            }
            unknown.push("what lies between two samples is open".to_owned());
            return unknown;
        }
        let clock = self.explanation.clock_doubt;
        if clock.is_some_and(|doubt| doubt.alternative().is_some()) {
            unknown.push("the time is unknown".to_owned());
        }
        let history = match remembered.knowledge {
            Knowledge::Unknown => Some("the controller's history is unknown"),
            Knowledge::Inferred => Some("the controller's history is known only within bounds"),
            Knowledge::Stated | Knowledge::JustStarted => None,
        };
        let open = history.filter(|_| remembered.is_open());
        unknown.extend(open.map(str::to_owned));
        unknown
    }

    /// Returns the sources from which the history is inferred.
    pub(super) fn inferred_from(&self) -> &'static str {
        match &self.explanation.pass.input.evidence.past {
            Some(_) => "samples",
            None if self.uses_record() => "API and the samples",
            None => "API",
        }
    }

    /// Whether samples narrow the history; a record that contradicts the API is not used.
    pub(super) fn uses_record(&self) -> bool {
        let Pass {
            input, remembered, ..
        } = self.explanation.pass;
        let mut grounds = remembered.grounds.iter();
        let record = input.evidence.recorded.as_ref();
        record.is_some_and(|record| grounds.any(|ground| ground.source == record.source))
    }

    /// Describes which metrics are unknown here, and why.
    pub(super) fn lacking(&self) -> Option<String> {
        lacking(&self.explanation.outcome.lacking(self.explanation.hpa.spec))
    }

    fn no_scale(&self) -> String {
        let error = self.explanation.pass.decision.unreadable();
        match &self.explanation.pass.input.snapshot.scale {
            Err(e @ ScaleError::Missing(_)) => e.lacking().unwrap_or_default(),
            Err(ScaleError::NoReplicas { target, .. }) => format!(
                "{target} states no replicas in the input, so how many there are is unknown"
            ),
            _ => format!(
                "the scale of the target cannot be read: {}",
                error.unwrap_or("unknown")
            ),
        }
    }

    /// Describes why this is the result, in one sentence.
    fn because(&self, current: i32) -> String {
        let decision = &self.explanation.pass.decision;
        let combined = decision.combination().filter(|it| it.accepted);
        let mut text = combined.map_or_else(String::new, |combined| self.asks(combined, current));
        for hold in decision.holds() {
            match hold {
                Hold::AtZero => {
                    return "The target has 0 replicas: the HPA stays off until something else \
                            sets 1 or more."
                        .to_owned();
                }
                Hold::Corrected(beyond, bound) => {
                    return format!(
                        "{}; the controller corrects this without considering metrics, stabilization or rate limits.",
                        corrected(beyond, bound, current)
                    );
                }
                Hold::Selector {
                    hpas: [_, others @ ..],
                    ..
                } => {
                    return format!(
                        "Other HPAs select the same pods ({}): the controller does not scale \
                         any of them.",
                        list(others)
                    );
                }
                Hold::Selector { message, .. } => {
                    return format!("The target's pods cannot be selected: {message}.");
                }
                Hold::Failed(combined) if combined.unread > 0 => {
                    let lacking = self.lacking().unwrap_or_default();
                    return sentence(&format!(
                        "{lacking}, but this could not change the replicas."
                    ));
                }
                Hold::Failed(combined) => return undecided(combined, current),
                Hold::Window(stabilized) => text += &self.held(stabilized, current),
                Hold::Limit(limit) => text += &format!("; {}", limited(limit, current)),
                Hold::Woken(min) => text += &format!("; it starts at minReplicas ({min})"),
                Hold::Unreadable(_) | Hold::Unwritten { .. } => {}
            }
        }
        let spec = &self.explanation.pass.input.snapshot.hpa.spec;
        let fixed = if [spec.min(), spec.max_replicas] == [current; 2] {
            format!(" minReplicas and maxReplicas are both {current}, so the HPA never scales.")
        } else {
            String::new()
        };
        // It begins with the metric's name, whose case must not change.
        format!("{text}.{fixed}")
    }

    /// Describes the winning metric's proposal.
    fn asks(&self, combined: &CombineStep, current: i32) -> String {
        let CombineStep {
            highest, invalid, ..
        } = *combined;
        let winner = self.explanation.pass.decision.winner();
        let Some((winner, proposal)) = winner.and_then(|it| Some((it, it.proposal()?))) else {
            return "No metric proposes anything".to_owned();
        };
        let label = self.label(winner);
        // The second computation, with values assumed for pods without usable metrics, may change nothing.
        let is_same = proposal
            .filled
            .is_none_or(|filled| filled.ratio == proposal.ratio);
        let mut text = match proposal.because {
            Because::WithinTolerance | Because::FilledWithinTolerance if is_same => {
                // Averages over the replicas keep the count in the target's status.
                let keeps = if highest == current {
                    "the replicas".to_owned()
                } else {
                    format!(
                        "the {highest} replicas of the target's status, not the {current} of its spec"
                    )
                };
                if self.tells_tolerance() {
                    format!("{label} is within its tolerance, and keeps {keeps}")
                } else {
                    format!(
                        "{label} is at {} of its target, within the tolerance ({} to {}), and \
                         keeps {keeps}",
                        percent(proposal.ratio),
                        percent(1.0 - winner.tolerance.down),
                        percent(1.0 + winner.tolerance.up),
                    )
                }
            }
            Because::FilledWithinTolerance => {
                let ratio = proposal.filled.map_or(proposal.ratio, |it| it.ratio);
                format!(
                    "{label} keeps the replicas: with values assumed for the pods that do not count, \
                     it is at {} of its target, within the tolerance",
                    percent(ratio),
                )
            }
            Because::WithinTolerance | Because::DirectionFlips | Because::CountFlips => {
                format!(
                    "{label} keeps the replicas, because pods without usable metrics make the \
                     result ambiguous"
                )
            }
            _ if highest == current => format!(
                "{label} proposes {highest}, the current number{}",
                self.adds_above(winner).unwrap_or_default()
            ),
            _ if highest == i32::MIN && proposal.ratio.is_nan() => {
                format!(
                    "{label} divides 0 by a target of 0, which is no number and counts as {highest}"
                )
            }
            _ if highest == i32::MIN => {
                format!(
                    "{label} proposes more than fits into 32 bits, which overflows to {highest}"
                )
            }
            _ => format!("{label} proposes {}", count(highest, "replica")),
        };
        if invalid > 0 {
            text += &format!(" ({} failed)", count(invalid, "other metric"));
        }
        text
    }

    /// Returns the value above which a metric below its target adds a replica, as text, if no finding gives more
    /// detail.
    fn adds_above(&self, metric: &MetricStep) -> Option<String> {
        let pass = self.explanation.pass;
        let proposal = metric
            .proposal()
            .filter(|it| it.ratio < 1.0 && it.filled.is_none())?;
        let may_add = proposal.replicas < pass.input.snapshot.hpa.spec.max_replicas;
        let Borders {
            scale, now, more, ..
        } = Borders::find(pass, metric.index)?;
        let (above, now) = (more?.checked_sub(1)?, now?);
        (may_add && self.explanation.findings.is_empty()).then(|| {
            format!(
                "; it adds a replica above {} (now {})",
                value(&scale, above),
                value(&scale, now)
            )
        })
    }

    fn held(&self, stabilized: &StabilizeStep, current: i32) -> String {
        let StabilizeStep {
            desired, result, ..
        } = *stabilized;
        let Some(past) = stabilized.held_by else {
            return format!("; stabilization changes this to {result}");
        };
        let compared = if past.replicas > desired {
            "higher"
        } else {
            "lower"
        };
        // The limit on it follows, if there is one.
        let limit = self.explanation.pass.decision.limit();
        let is_limited = limit.is_some_and(LimitStep::holds);
        let effect = if result == current || is_limited {
            String::new()
        } else if result > desired {
            format!(", which raises the result to {result}")
        } else {
            format!(", which lowers the result to {result}")
        };
        let replicas = past.replicas;
        let held = match self.explanation.pass.origin(&past) {
            RecommendationOrigin::Start => format!(
                "the controller has no history and uses the current {replicas} as its last \
                 recommendation"
            ),
            RecommendationOrigin::NoneStated => format!(
                "no history is stated, so the current {replicas} count as the last \
                 recommendation"
            ),
            RecommendationOrigin::Assumed => format!(
                "the history is unknown, and the current {replicas} are assumed to be the \
                 last recommendation"
            ),
            RecommendationOrigin::Inferred => format!(
                "a {compared} recommendation of {replicas} (inferred from the {}) still holds{effect}",
                self.inferred_from()
            ),
            RecommendationOrigin::Known => {
                let ago = distance(past.time, self.now());
                format!(
                    "the {compared} recommendation of {replicas} from {ago} ago still \
                     holds{effect}"
                )
            }
        };
        // If the replicas stay anyway, waiting for the end of the hold is pointless.
        let disabled = Hold::Window(stabilized).disabled(self.explanation.hpa.spec);
        match disabled.filter(|_| result == current) {
            Some(direction) => format!("; behavior disables scaling {direction}, and {held}"),
            None => format!("; {held}"),
        }
    }
}

fn undecided(combined: &CombineStep, current: i32) -> String {
    let CombineStep {
        highest,
        invalid,
        total,
        ..
    } = *combined;
    if invalid == total {
        let which = match total {
            1 => "The only metric cannot".to_owned(),
            2 => "Neither metric can".to_owned(),
            _ => format!("None of the {total} metrics can"),
        };
        return format!("{which} be evaluated, so there is no decision.");
    }
    let rest = if total - invalid == 1 {
        "the other proposes"
    } else {
        "the others propose"
    };
    let total = count(total, "metric");
    format!(
        "{invalid} of {total} failed, and {rest} {highest}: while a metric fails, the \
         controller does not scale below the current {current}."
    )
}

/// Says that replicas are beyond a bound.
pub(in crate::report) fn corrected(beyond: Direction, bound: i32, replicas: i32) -> String {
    let words = beyond.words();
    format!("{replicas} is {} {} ({bound})", words.beyond, words.bound)
}

/// Says which direction is disabled, if one is.
fn disables(limit: &LimitStep) -> Option<String> {
    let rate = limit.rate.as_ref().filter(|rate| rate.is_disabled())?;
    Some(format!("behavior disables scaling {}", rate.direction))
}

/// Returns the policy that allows the replicas of a limit. Where several do, none decides alone; where none does, what
/// changed within the periods has used up more than each of them allows.
fn deciding(rate: &RateLimit) -> Option<&PolicyLimit> {
    let mut deciding = rate
        .policies
        .iter()
        .filter(|it| it.replicas == rate.replicas);
    deciding.next().filter(|_| deciding.next().is_none())
}

/// Says what limits a change of these replicas.
pub(in crate::report) fn limited(limit: &LimitStep, current: i32) -> String {
    let LimitStep { min, max, .. } = limit;
    let rate = limit.rate.as_ref();
    let replicas = rate.map_or(current, |rate| rate.replicas);
    let decides = rate.and_then(deciding);
    let which = decides.map_or_else(String::new, |it| format!(" ({})", policy(&it.policy)));
    let disables = disables(limit);
    let also = disables
        .as_ref()
        .map_or_else(String::new, |disables| format!(", and {disables}"));
    match (limit.reason, disables) {
        ("TooFewReplicas", _) => format!("the minimum is {min}{also}"),
        ("TooManyReplicas", _) => format!("the maximum is {max}{also}"),
        (_, Some(disables)) => disables,
        ("ScaleUpLimit", _) if rate.is_some_and(|rate| rate.select_policy.is_none()) => {
            if replicas < 0 {
                format!("twice {current} overflows 32 bits to {replicas}")
            } else if f64::from(replicas) == 2.0 * f64::from(current) {
                format!("one pass may at most double the current {current}")
            } else {
                format!("one pass may go to at most {replicas}")
            }
        }
        ("ScaleUpLimit", _) => format!("the policies currently allow at most {replicas}{which}"),
        ("ScaleDownLimit", _) => {
            format!("the policies currently allow no fewer than {replicas}{which}")
        }
        (other, _) => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::build;
    use crate::findings::testing::{cpu, pass, state, with_spec};
    use crate::report::Explanation;

    /// Returns the first sentence of the verdict.
    fn why(items: &[Value]) -> String {
        let pass = pass(items);
        let explanation = Explanation::new(&pass);
        let words = Words {
            explanation: &explanation,
            wide: false,
        };
        words.verdict().1.remove(0)
    }

    /// A metric that keeps the replicas below its target says from where it adds one, where no finding does.
    #[test]
    fn a_quiet_state_says_where_a_replica_is_added() {
        let at = |usage: &str, max: i32| {
            let cpu = build::resource("cpu", &build::utilization(50));
            why(&with_spec(
                &state(&[cpu], &[usage]),
                &json!({"maxReplicas": max}),
            ))
        };
        let same = "cpu proposes 1, the current number";
        assert_eq!(
            at("20m", 4),
            format!("{same}; it adds a replica above 55% (now 20%).")
        );
        assert_eq!(
            at("20m", 1),
            format!("{same}. minReplicas and maxReplicas are both 1, so the HPA never scales.")
        );
    }

    /// The verdict names the policy that limits the change, where one alone does.
    #[test]
    fn the_policy_that_decides() {
        let of = |select: &str, policies: [(i32, i32); 2]| {
            let policies = policies
                .map(|(value, seconds)| json!({"type": "Pods", "value": value, "periodSeconds": seconds}));
            let rules = json!({"selectPolicy": select, "policies": policies});
            let spec = json!({"behavior": {"scaleUp": rules}});
            why(&with_spec(&state(&[cpu()], &["300m"]), &spec))
        };
        let most = "cpu proposes 6 replicas; the policies currently allow at most";
        for (select, policies, want) in [
            ("Max", [(1, 900), (2, 60)], "3 (2 pods per 60s)."),
            ("Min", [(1, 900), (2, 60)], "2 (1 pod per 15m)."),
            ("Max", [(2, 60), (2, 600)], "3."),
        ] {
            assert_eq!(of(select, policies), format!("{most} {want}"));
        }
    }
}
