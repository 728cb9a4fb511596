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
        if has_history || !pass.depends_on_history() {
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

    /// Describes why the objects may belong to another time than the pass, and the flag to type.
    fn clock(&self, doubt: ClockDoubt) -> String {
        let ClockDoubt { why, newest } = doubt;
        let by = age(self.now().duration_since(newest).abs());
        let is_old = self.now() > newest;
        let newest = SecondsTime(newest);
        let use_now = format!("To explain the pass at that time, use --now {newest}.");
        match why {
            Why::Unstated => {
                let side = if is_old {
                    "ago"
                } else {
                    "ahead of the system clock"
                };
                format!(
                    "The input does not state when it was saved, and the newest time in it is {by} {side}. {use_now}"
                )
            }
            Why::Ahead => {
                format!(
                    "The stated time is wrong: the newest time in the input is {by} later. {use_now}"
                )
            }
            Why::Old => format!(
                "The newest time in the input is {by} ago: either metrics have stopped arriving, or the \
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
        let open = history.filter(|_| self.explanation.pass.depends_on_history());
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
                Hold::Woken(min) => {
                    text += &format!("; from 0, the HPA starts at minReplicas ({min})");
                }
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
                        percent(winner.tolerance.lowest()),
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
    use crate::findings::metrics::testing::failing;
    use crate::findings::path::testing::{at_once, pods, queue_of};
    use crate::findings::testing::{
        cpu, pass, state, with, with_hpa, with_pod, with_spec, with_state,
    };
    use crate::report::Explanation;

    fn verdict(items: &[Value]) -> (Headline, Vec<String>) {
        let pass = pass(items);
        let explanation = Explanation::new(&pass);
        let words = Words {
            explanation: &explanation,
            wide: false,
        };
        words.verdict()
    }

    /// Returns the first sentence of the verdict.
    fn why(items: &[Value]) -> String {
        verdict(items).1.remove(0)
    }

    /// Returns the verdict on each state.
    fn table<'t>(states: impl IntoIterator<Item = (&'t str, Vec<Value>)>) -> String {
        let mut text = String::new();
        for (about, items) in states {
            let (headline, why) = verdict(&items);
            text += &format!("{about}: {}. {}\n", headline.text(), why.join(" "));
        }
        text
    }

    #[test]
    fn passes_that_end_early() {
        let busy = pods("80m");
        let error = |api: &str, more: Value| {
            let error = build::with(json!({"api": api, "message": "no"}), &more);
            with_state(&busy, &json!({"errors": [error]}))
        };
        let denied = error("resource", json!({"denied": true}));
        let fixed = json!({"minReplicas": 4, "maxReplicas": 4});
        let scale = |patch: Value| with(&busy, "Scale", &patch);
        let name = json!({"metadata": {"name": "other", "uid": "v"}});
        let other = build::with(build::hpa(&json!({})), &name);
        let missing = |what: &str| error("resource", json!({ "missing": what }));
        let external = |name: &str| build::external(name, &build::value("1"));
        let failing =
            |cpu: &str, metrics: &[Value]| failing(&state(metrics, &[cpu; 4]), "external", "no");
        let (a, b, c) = (external("a"), external("b"), external("c"));
        let told = table([
            ("no scale", error("scale", json!({}))),
            ("no write", error("scaleUpdate", json!({}))),
            ("not allowed", denied.clone()),
            ("not allowed, and fixed", with_spec(&denied, &fixed)),
            ("no answer", error("resource", json!({"unanswered": true}))),
            ("no pods", missing("Pod")),
            ("no usage", missing("PodMetrics")),
            ("at 0", scale(json!({"spec": {"replicas": 0}}))),
            ("above", with_spec(&busy, &json!({"maxReplicas": 3}))),
            ("below", with_spec(&busy, &json!({"minReplicas": 5}))),
            ("shared", [busy.clone(), vec![other]].concat()),
            ("no selector", scale(json!({"status": {"selector": ""}}))),
            ("1 of 1 fails", failing("80m", std::slice::from_ref(&a))),
            ("2 of 2 fail", failing("80m", &[a.clone(), b.clone()])),
            ("3 of 3 fail", failing("80m", &[a.clone(), b.clone(), c])),
            ("1 of 2 fails", failing("10m", &[cpu(), a.clone()])),
            ("2 of 3 fail", failing("10m", &[a.clone(), b, cpu()])),
            ("1 of 2 fails, upwards", failing("80m", &[cpu(), a])),
            ("fixed", with_spec(&busy, &fixed)),
        ]);
        insta::assert_snapshot!(told, @r"
        no scale: cannot scale. The scale of the target cannot be read: no.
        no write: cannot scale 4 → 7. cpu proposes 7 replicas. Writing the scale fails: no.
        not allowed: unknown: no access to the metrics. You are not allowed to read cpu: the pass may end anywhere from 4 to 8.
        not allowed, and fixed: stays at 4. You are not allowed to read cpu, but this could not change the replicas.
        no answer: unknown: no answer about the metrics. Reading cpu failed (no): the pass may end anywhere from 4 to 8.
        no pods: unknown: the input lacks the pods. The input has no Pod for cpu: the pass may end anywhere from 4 to 8.
        no usage: unknown: the input lacks a metric. The input has no PodMetrics for cpu: the pass may end anywhere from 4 to 8.
        at 0: disabled at 0. The target has 0 replicas: the HPA stays off until something else sets 1 or more.
        above: scale down 4 → 3. 4 is above maxReplicas (3); the controller corrects this without considering metrics, stabilization or rate limits.
        below: scale up 4 → 5. 4 is below minReplicas (5); the controller corrects this without considering metrics, stabilization or rate limits.
        shared: cannot decide, stays at 4. Other HPAs select the same pods (default/other): the controller does not scale any of them.
        no selector: cannot decide, stays at 4. The target's pods cannot be selected: the HPA target's scale is missing a selector.
        1 of 1 fails: cannot decide, stays at 4. The only metric cannot be evaluated, so there is no decision.
        2 of 2 fail: cannot decide, stays at 4. Neither metric can be evaluated, so there is no decision.
        3 of 3 fail: cannot decide, stays at 4. None of the 3 metrics can be evaluated, so there is no decision.
        1 of 2 fails: cannot decide, stays at 4. 1 of 2 metrics failed, and the other proposes 1: while a metric fails, the controller does not scale below the current 4.
        2 of 3 fail: cannot decide, stays at 4. 2 of 3 metrics failed, and the other proposes 1: while a metric fails, the controller does not scale below the current 4.
        1 of 2 fails, upwards: scale up 4 → 7. cpu proposes 7 replicas (1 other metric failed).
        fixed: stays at 4. cpu proposes 7 replicas; the maximum is 4. minReplicas and maxReplicas are both 4, so the HPA never scales.
        ");
    }

    #[test]
    fn what_the_metrics_and_limits_lead_to() {
        let (busy, idle) = (pods("99m"), pods("10m"));
        let unready = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
        let at = |items: &[Value], rules: Value| with_spec(items, &at_once(&rules));
        let policies = json!([{"type": "Pods", "value": 1, "periodSeconds": 60}]);
        let disabled = at(&busy, json!({"scaleUp": {"selectPolicy": "Disabled"}}));
        let mut unmeasured = pods("60m");
        unmeasured.retain(|it| it["kind"] != "PodMetrics" || it["metadata"]["name"] != "web-3");
        let queue = |length: &str, pods| queue_of(&build::average("10"), length, pods);
        let max = |items: &[Value], most: i32| with_spec(items, &json!({"maxReplicas": most}));
        let fewer = json!({"status": {"replicas": 3}});
        let gate = json!({"featureGates": {"HPAScaleToZero": true}});
        let zeroed = json!({"spec": {"minReplicas": 5},
            "status": {"conditions": [{"type": "ScaledToZero", "status": "True"}]}});
        let woken = with_hpa(&with_state(&queue("900", 0), &gate), &zeroed);
        let kept = at(&idle, json!({"scaleDown": {"policies": policies}}));
        let free = at(&idle, json!({}));
        let never = json!({"behavior": {"scaleDown": {"tolerance": "2"}}});
        let told = table([
            ("up", pods("80m")),
            ("down", at(&pods("20m"), json!({}))),
            ("within tolerance", pods("52m")),
            ("within any tolerance", with_spec(&pods("52m"), &never)),
            (
                "within tolerance, of another number",
                with(&queue("30", 4), "Scale", &fewer),
            ),
            ("within tolerance, as assumed", unmeasured),
            ("ambiguous", with_pod(&pods("56m"), "web-3", &unready)),
            ("current", max(&queue("35", 4), 4)),
            (
                "0 of 0",
                at(&queue_of(&build::value("0"), "0", 4), json!({})),
            ),
            ("minimum", with_spec(&free, &json!({"minReplicas": 3}))),
            ("maximum", max(&busy, 6)),
            ("disabled", disabled.clone()),
            ("disabled at the maximum", max(&disabled, 4)),
            ("doubled", queue("900", 9)),
            ("built-in limit", queue("900", 1)),
            (
                "policy up",
                at(&busy, json!({"scaleUp": {"policies": policies}})),
            ),
            ("policy down", kept),
            ("woken", woken),
        ]);
        insta::assert_snapshot!(told, @r"
        up: scale up 4 → 7. cpu proposes 7 replicas.
        down: scale down 4 → 2. cpu proposes 2 replicas.
        within tolerance: stays at 4. cpu is at 104% of its target, within the tolerance (90% to 110%), and keeps the replicas.
        within any tolerance: stays at 4. cpu is at 104% of its target, within the tolerance (0% to 110%), and keeps the replicas.
        within tolerance, of another number: stays at 4. queue is at 100% of its target, within the tolerance (90% to 110%), and keeps the 3 replicas of the target's status, not the 4 of its spec; the controller has no history and uses the current 4 as its last recommendation.
        within tolerance, as assumed: stays at 4. cpu keeps the replicas: with values assumed for the pods that do not count, it is at 90% of its target, within the tolerance.
        ambiguous: stays at 4. cpu keeps the replicas, because pods without usable metrics make the result ambiguous.
        current: stays at 4. queue proposes 4, the current number.
        0 of 0: scale down 4 → 1. queue divides 0 by a target of 0, which is no number and counts as -2147483648; the minimum is 1.
        minimum: scale down 4 → 3. cpu proposes 1 replica; the minimum is 3.
        maximum: scale up 4 → 6. cpu proposes 8 replicas; the maximum is 6.
        disabled: stays at 4. cpu proposes 8 replicas; behavior disables scaling up.
        disabled at the maximum: stays at 4. cpu proposes 8 replicas; the maximum is 4, and behavior disables scaling up.
        doubled: scale up 9 → 18. queue proposes 90 replicas; one pass may at most double the current 9.
        built-in limit: scale up 1 → 4. queue proposes 90 replicas; one pass may go to at most 4.
        policy up: scale up 4 → 5. cpu proposes 8 replicas; the policies currently allow at most 5 (1 pod per 60s).
        policy down: scale down 4 → 3. cpu proposes 1 replica; the policies currently allow no fewer than 3 (1 pod per 60s).
        woken: scale up 0 → 5. queue proposes 90 replicas; one pass may go to at most 4; from 0, the HPA starts at minReplicas (5).
        ");
    }

    #[test]
    fn what_the_history_and_the_time_lead_to() {
        let at = "2026-11-21T05:58:00Z";
        let (busy, idle) = (pods("80m"), pods("10m"));
        let past = |items: &[Value], replicas: i32| {
            with_state(
                items,
                &json!({"recommendations": [{"replicas": replicas, "time": at}]}),
            )
        };
        let window = json!({"behavior": {"scaleUp": {"stabilizationWindowSeconds": 300}}});
        let disabled = json!({"behavior": {"scaleDown": {"selectPolicy": "Disabled"}}});
        let stabilized = json!({"status": {"conditions": [
            {"type": "AbleToScale", "status": "True", "reason": "ScaleDownStabilized"}]}});
        let measured = |time: &str| {
            with(
                &idle,
                "PodMetrics",
                &json!({"timestamp": format!("2026-11-21T{time}Z")}),
            )
        };
        let timeless = |items: &[Value]| with_state(items, &json!({"now": null}));
        let events = json!({"scaleUpEvents": [{"replicas": 1, "time": at}]});
        let unknown = json!({"memory": "unknown"});
        let raised = past(&idle, 6);
        let told = table([
            ("raised", raised.clone()),
            ("lowered", past(&with_spec(&busy, &window), 5)),
            ("kept", past(&idle, 4)),
            ("kept, disabled", past(&with_spec(&idle, &disabled), 4)),
            (
                "raised to the maximum",
                with_spec(&raised, &json!({"maxReplicas": 5})),
            ),
            ("just started", idle.clone()),
            ("none stated", with_state(&idle, &events)),
            (
                "unknown",
                with_state(&with_hpa(&idle, &stabilized), &unknown),
            ),
            ("saved later", timeless(&measured("05:00:00"))),
            ("saved earlier", timeless(&measured("07:00:00"))),
            ("wrong time", measured("07:00:00")),
        ]);
        insta::assert_snapshot!(told, @r"
        raised: scale up 4 → 6. cpu proposes 1 replica; the higher recommendation of 6 from 2m ago still holds, which raises the result to 6.
        lowered: scale up 4 → 5. cpu proposes 7 replicas; the lower recommendation of 5 from 2m ago still holds, which lowers the result to 5.
        kept: stays at 4. cpu proposes 1 replica; the higher recommendation of 4 from 2m ago still holds.
        kept, disabled: stays at 4. cpu proposes 1 replica; behavior disables scaling down, and the higher recommendation of 4 from 2m ago still holds.
        raised to the maximum: scale up 4 → 5. cpu proposes 1 replica; the higher recommendation of 6 from 2m ago still holds; the maximum is 5.
        just started: stays at 4. cpu proposes 1 replica; the controller has no history and uses the current 4 as its last recommendation.
        none stated: stays at 4. cpu proposes 1 replica; no history is stated, so the current 4 count as the last recommendation.
        unknown: stays at 4. cpu proposes 1 replica; the history is unknown, and the current 4 are assumed to be the last recommendation. Not certain: the controller's history is unknown; 1 to 8 are possible. To narrow this, give a history with --prometheus, or --observe 5m20s.
        saved later: stays at 4. cpu proposes 1 replica; the controller has no history and uses the current 4 as its last recommendation. The input does not state when it was saved, and the newest time in it is 60m ago. To explain the pass at that time, use --now 2026-11-21T05:00:00Z.
        saved earlier: stays at 4. cpu proposes 1 replica; the controller has no history and uses the current 4 as its last recommendation. The input does not state when it was saved, and the newest time in it is 60m ahead of the system clock. To explain the pass at that time, use --now 2026-11-21T07:00:00Z.
        wrong time: stays at 4. cpu proposes 1 replica; the controller has no history and uses the current 4 as its last recommendation. The stated time is wrong: the newest time in the input is 60m later. To explain the pass at that time, use --now 2026-11-21T07:00:00Z.
        ");
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
