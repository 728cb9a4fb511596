//! Words findings about the way from the metrics to the replicas.

use jiff::SignedDuration;
use serde_json::{Map, Value, json};

use super::command::Command;
use super::remedy::Remedy;
use super::requests::More;
use super::{About, Advice, Text, Words, exact};
use crate::apimachinery::managed_fields::{ManagedFieldsEntry, SpecField};
use crate::apimachinery::names::shell_word;
use crate::apimachinery::quantity::{Format, Quantity};
use crate::calendar::Calendar;
use crate::engine::decision::{Direction, RateLimit};
use crate::findings::Severity;
use crate::findings::path::{
    AboveMax, AlikeMemory, AtMax, AtMin, BelowMin, Bound, Cause, Changed, Corrected,
    CorrectedBefore, Correction, Counted, DirectionDisabled, Dropped, HeldByWindow, Keeper,
    RateLimited, Rounding, Suspicion, SwitchedOff, Then, WithinTolerance,
};
use crate::findings::targets::{OtherRequest, OtherTarget, Room};
use crate::numbers::format_of;
use crate::pass::Origin;
use crate::report::words::{
    amount, amount_of, count, distance, duration, future, in_unit, list, number, percent, quantity,
    sentence, time,
};
use crate::snapshot::hpa::{CrossVersionObjectReference, MetricTarget, ScalingPolicy};
use crate::snapshot::surroundings::{ScaleDown, ScaledObjectSpec};
use crate::whatif::thresholds::{Borders, Scale, Unit};

/// `scaleUp`, `scaleDown`
fn rules(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "scaleUp",
        Direction::Down => "scaleDown",
    }
}

fn verb(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "up",
        Direction::Down => "down",
    }
}

/// Returns a value of the metric, with what it counts.
pub(in crate::report) fn value(scale: &Scale, value: i64) -> String {
    let text = in_unit(value, scale.unit, scale.format);
    if scale.divided {
        format!("a total of {text}")
    } else {
        text
    }
}

/// Returns the highest value for fewer replicas, or the lowest for more, as people read it: of bytes and of millions,
/// fewer digits are shown, and what is shown is on the same side.
fn threshold(scale: &Scale, at: i64, side: Direction) -> String {
    let (least, base, parts) = match scale.format {
        Format::BinarySI => (1000.0, 1024.0, 10.0),
        _ => (1e9, 1000.0, 1000.0),
    };
    if scale.unit == Unit::Percent || (at as f64) < least {
        return value(scale, at);
    }
    let mut unit = least;
    while at as f64 >= unit * base {
        unit *= base;
    }
    let shown = at as f64 / unit * parts;
    let shown = if side == Direction::Down {
        shown.floor()
    } else {
        shown.ceil()
    };
    value(scale, (shown / parts * unit).round() as i64)
}

fn target(target: &MetricTarget) -> String {
    match (
        target.average_utilization,
        &target.average_value,
        &target.value,
    ) {
        (Some(percent), ..) => format!("{percent}%"),
        (None, Some(amount), _) | (None, None, Some(amount)) => quantity(amount),
        (None, None, None) => String::new(),
    }
}

impl Words for WithinTolerance {
    fn text(&self, about: &About<'_>) -> Text {
        let label = about.label(self.metric);
        let side = if self.ratio > 1.0 { "above" } else { "below" };
        let off = percent((self.ratio - 1.0).abs());
        let tolerance = percent(self.tolerance);
        let wanted = target(about.target_of(self.metric));
        let mut evidence = Vec::new();
        if !self.has_field {
            evidence.push("The HPA has a field tolerance as of Kubernetes 1.35.".to_owned());
        }
        if let Some(Borders {
            scale,
            now,
            fewer,
            more,
            ..
        }) = &self.borders
        {
            // There is nothing below the one replica that is left.
            let is_last = about.pass.decision.replicas_before() == Some(1);
            let fewer = fewer.filter(|_| !is_last);
            let fewer = fewer.map(|at| {
                format!(
                    "fewer replicas up to {}",
                    threshold(scale, at, Direction::Down)
                )
            });
            let what = if fewer.is_some() {
                "more"
            } else {
                "more replicas"
            };
            let more =
                more.map(|at| format!("{what} from {}", threshold(scale, at, Direction::Up)));
            let parts: Vec<String> = fewer.into_iter().chain(more).collect();
            if !parts.is_empty() {
                let now =
                    now.map_or_else(String::new, |now| format!(" (now {})", value(scale, now)));
                evidence.push(format!("{label} proposes {}{now}.", list(&parts)));
            }
        }
        evidence.extend(about.of_requests(self.metric));
        let (advice, commands) = match (self.narrower, &self.target) {
            (Some(hundredths), _) => {
                let narrower = f64::from(hundredths) / 100.0;
                let field = "behavior.scaleUp.tolerance";
                (
                    Remedy::SetTolerance.says(format!(
                        "Nothing to do; to have it react, set {} to {narrower}.",
                        about.field(field)
                    )),
                    vec![about.predict(&format!("--set {field}={narrower}"))],
                )
            }
            (None, Some(other @ OtherTarget { proposal, .. })) => {
                let to = exact(&other.target);
                let flags = about.target_flags(self.metric, &to);
                (
                    Remedy::ChangeTarget.says(format!(
                        "Nothing to do; with a target of {to}, it proposes {proposal} at this load."
                    )),
                    flags.iter().map(|flags| about.predict(flags)).collect(),
                )
            }
            (None, None) => (Remedy::Nothing.says(NOTHING_TO_DO), Vec::new()),
        };
        let assumed = if self.is_filled {
            ", with values assumed for pods that do not count,"
        } else {
            ""
        };
        let rule = Text {
            summary: format!(
                "{label}{assumed} is {off} {side} its target of {wanted}, within the tolerance of \
                 {tolerance}"
            ),
            evidence,
            advice,
            commands,
            objects: about.own(),
        };
        of_memory(about, self.memory.as_ref(), rule)
    }
}

impl Words for Rounding {
    fn text(&self, about: &About<'_>) -> Text {
        let label = about.label(self.metric);
        let mut evidence = Vec::new();
        if let Some(borders) = &self.borders {
            let scale = &borders.scale;
            if let Some(with) = self.one_fewer.filter(|_| self.memory.is_none()) {
                let wanted = target(about.target_of(self.metric));
                evidence.push(format!(
                    "The same load on {} would be {}, target {wanted}.",
                    count(self.fewer, "replica"),
                    value(scale, with)
                ));
            }
            if let Some(at) = borders.fewer {
                let at = threshold(scale, at, Direction::Down);
                let mut text = format!("At {at} or less, {label} proposes fewer replicas");
                let window = self.window.filter(|window| !window.is_zero());
                if let Some(window) = window.filter(|_| self.beside.is_empty()) {
                    text += &format!(", which takes effect {} later", duration(window));
                }
                evidence.push(format!("{text}."));
            }
        }
        evidence.extend(about.of_requests(self.metric));
        let exact = number((self.exact * 100.0).round() / 100.0);
        let also: Vec<String> = self
            .beside
            .iter()
            .map(|metric| about.label(*metric))
            .collect();
        let propose = if also.len() == 1 {
            "proposes"
        } else {
            "propose"
        };
        let advice = if also.is_empty() {
            NOTHING_TO_DO.to_owned()
        } else {
            format!(
                "Nothing to do: {} {propose} {} as well.",
                list(&also),
                self.replicas
            )
        };
        let rule = Text {
            summary: format!(
                "{label} needs {exact} replicas for its target, which is rounded up to the current \
                 {}",
                self.replicas
            ),
            evidence,
            advice: Remedy::Nothing.says(advice),
            commands: Vec::new(),
            objects: about.own(),
        };
        of_memory(about, self.memory.as_ref(), rule)
    }
}

/// Words what keeps the replicas: memory that is not shared, with the rule as evidence, or else the rule.
fn of_memory(about: &About<'_>, memory: Option<&AlikeMemory>, rule: Text) -> Text {
    let Some(memory) = memory else { return rule };
    let AlikeMemory {
        metric,
        scale,
        now,
        at,
        fewer,
        has_others,
        room,
    } = memory;
    let More { act, commands, .. } = room.more(about, *metric);
    let instead = if *has_others {
        "drop the metric"
    } else {
        "scale on load"
    };
    let mut evidence = vec![sentence(&format!("{}.", rule.summary))];
    evidence.extend(rule.evidence);
    Text {
        summary: format!(
            "for {}, {} must be {} or less; it is {}",
            count(*fewer, "replica"),
            about.label(*metric),
            value(scale, *at),
            value(scale, *now)
        ),
        evidence,
        advice: Remedy::LeaveRoom.says(format!(
            "Pods seldom free memory: {}, {act}, or {instead}.",
            about.for_fewer(room)
        )),
        commands,
        objects: rule.objects,
    }
}

impl About<'_> {
    /// Words what room for pods leads to: `for 5 instead of 6`.
    pub(super) fn for_fewer(&self, room: &Room) -> String {
        let now = self.pass.decision.replicas_after();
        let both = room.proposal().zip(now).filter(|(other, now)| other < now);
        both.map_or("for fewer".to_owned(), |(other, now)| {
            format!("for {other} instead of {now}")
        })
    }
}

impl Words for HeldByWindow {
    fn text(&self, about: &About<'_>) -> Text {
        let (past, now) = (self.held_by, about.now());
        let window = duration(self.window);
        let replicas = past.replicas;
        let mut evidence = Vec::new();
        let what = match self.origin {
            Origin::Start | Origin::NoneStated | Origin::Assumed => {
                evidence.push(
                    "At its first pass, the controller takes the current replicas as a \
                     recommendation."
                        .to_owned(),
                );
                format!("the current {replicas} count for {window}")
            }
            Origin::Inferred => {
                format!("{replicas} was recommended in the last {window}")
            }
            Origin::Known => format!(
                "{replicas} was recommended {} ago and holds for {window}",
                distance(past.time, now)
            ),
        };
        if let Some(since) = self.leads_since {
            evidence.push(format!(
                "The controller manager has led since {}, less than {window} ago: it started with \
                 the replicas of that time as its only recommendation.",
                time(now, since)
            ));
        }
        if self.origin == Origin::Known {
            let until = past.time.plus(self.window);
            evidence.push(format!("It holds until {}.", future(now, until)));
        }
        evidence.extend(self.next.and_then(|next| about.next(next)));
        evidence.push(format!(
            "The controller uses the {} recommendation of the window; this is not a pause after \
             scaling.",
            if self.against == Direction::Down {
                "highest"
            } else {
                "lowest"
            }
        ));
        evidence.extend(
            about
                .without()
                .map(|without| format!("Without it: {without}.")),
        );
        if self.adds {
            return self.returns(about, evidence);
        }
        let after = match &self.then {
            Some(Then { policies, reached }) => {
                evidence.push(format!(
                    "After the window, the policies decide: {} at {}.",
                    count(self.desired, "replica"),
                    future(now, *reached)
                ));
                let fields = about.field(&format!("behavior.{}", rules(self.against)));
                evidence.push(format!("Both are in {fields}."));
                let all: Vec<String> = policies.iter().map(policy).collect();
                format!("; after that, at most {}", all.join(" or "))
            }
            None => String::new(),
        };
        let (advice, commands) = self.advice(about);
        Text {
            summary: format!("the metrics propose {}, but {what}{after}", self.desired),
            evidence,
            advice,
            commands,
            objects: about.own(),
        }
    }
}

/// The advice where nothing is wrong.
pub(in crate::report) const NOTHING_TO_DO: &str = "Nothing to do.";

impl HeldByWindow {
    /// Returns what to do: to wait, or to shorten a window that is longer than by default.
    fn advice(&self, about: &About<'_>) -> (Advice, Vec<Command>) {
        let end = self.next.and_then(|it| it.latest.or(Some(it.likely?.time)));
        let until = end.map_or_else(String::new, |end| {
            format!("until {}", time(about.now(), end))
        });
        if self.busy {
            let own = if about.hpa().scaled_object().is_some() {
                "a ScaledJob"
            } else {
                "Jobs"
            };
            let jobs = format!(
                "The controller does not know which pods are busy: for long jobs, use {own}, or let them end \
                 within terminationGracePeriodSeconds."
            );
            let wait = Remedy::WaitForWindow.waits(until);
            let is_past = about.pass.input.evidence.past.is_some();
            let wait = if is_past {
                String::new()
            } else {
                format!("{} ", wait.text())
            };
            return (Remedy::KeepBusy.says(format!("{wait}{jobs}")), Vec::new());
        }
        let Some(shorter) = self.shorter else {
            return (Remedy::WaitForWindow.waits(until), Vec::new());
        };
        let rules_of = rules(self.against);
        let field = about.field(&format!("behavior.{rules_of}.stabilizationWindowSeconds"));
        let sooner = match self.then {
            Some(_) => "change the window and the policies".to_owned(),
            None => format!(
                "shorten {field} ({}s) to scale {} sooner",
                self.window.as_secs(),
                verb(self.against)
            ),
        };
        let flags = format!("--set behavior.{rules_of}.stabilizationWindowSeconds={shorter}");
        (
            Remedy::ShortenWindow.waits(until).or(sooner),
            Vec::from_iter(about.predict_for("10m", &flags)),
        )
    }

    /// Words an earlier recommendation that adds replicas, as only happens without `behavior`
    /// (`stabilizeRecommendation`).
    fn returns(&self, about: &About<'_>, evidence: Vec<String>) -> Text {
        let (replicas, seconds) = (self.held_by.replicas, self.window.as_secs());
        let mut evidence = evidence;
        evidence.push(
            "Without behavior, an earlier recommendation adds replicas; with it, it only keeps them."
                .to_owned(),
        );
        let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": seconds}});
        let flags = format!("--set behavior.scaleDown.stabilizationWindowSeconds={seconds}");
        Text {
            summary: format!(
                "the metrics propose {}, but the controller goes back towards {replicas}, which was \
                 recommended in the last {}",
                self.desired,
                duration(self.window)
            ),
            evidence,
            advice: Remedy::AddBehavior.says(format!(
                "Set any {}, such as a scaleDown window of {seconds}s.",
                about.field("behavior")
            )),
            commands: tried(about, &flags, &json!({ "behavior": behavior })),
            objects: about.own(),
        }
    }
}

/// Words a policy: `2 pods per 60s`, `1 pod per 20m`.
pub(super) fn policy(policy: &ScalingPolicy) -> String {
    let value = match &*policy.type_ {
        "Percent" => format!("{}%", policy.value),
        _ => count(policy.value, "pod"),
    };
    let period = match policy.period_seconds {
        seconds if seconds <= 180 => format!("{seconds}s"),
        seconds => duration(SignedDuration::from_secs(seconds.into())),
    };
    format!("{value} per {period}")
}

impl About<'_> {
    /// Words how the HPA scales up, as far as `behavior` states it: `It scales up by 100% per 15s, with a window of 0s.`
    pub(super) fn scales_up(&self) -> Option<String> {
        let rules = self.hpa().spec.behavior.as_ref()?.scale_up.as_ref()?;
        let all: Vec<String> = rules.policies.iter().flatten().map(policy).collect();
        let by = if all.is_empty() {
            String::new()
        } else {
            format!(" by {}", all.join(" or "))
        };
        let window = rules.stabilization_window_seconds.unwrap_or_default();
        Some(format!("It scales up{by}, with a window of {window}s."))
    }

    /// Returns a sentence about a window of scaling up that holds no earlier recommendation, because there is none in it.
    pub(super) fn short_window(&self) -> Option<String> {
        let sync = self.pass.input.snapshot.controller.sync_period;
        let seconds = self
            .hpa()
            .spec
            .behavior
            .as_ref()?
            .scale_up
            .as_ref()?
            .stabilization_window_seconds?;
        let is_short = seconds > 0 && i64::from(seconds) < sync.as_secs();
        is_short.then(|| {
            format!(
                "{} ({seconds}s) has no effect: passes are {} apart.",
                self.field("behavior.scaleUp.stabilizationWindowSeconds"),
                duration(sync)
            )
        })
    }
}

/// Words what a limit is applied to: the highest proposal, or what stabilization makes of it.
fn proposed(about: &About<'_>, replicas: i32) -> String {
    if about.pass.decision.proposal == Some(replicas) {
        format!("the metrics propose {replicas}")
    } else {
        format!("stabilization leaves {replicas}")
    }
}

/// Returns how to predict a change of the spec, and how to make it.
fn tried(about: &About<'_>, flags: &str, patch: &Value) -> Vec<Command> {
    [about.predict(flags)]
        .into_iter()
        .chain(about.patch_spec(patch))
        .collect()
}

/// Words what a rate limit allows, policy by policy.
fn policies(limit: &RateLimit) -> Vec<String> {
    let allows = |it: &crate::engine::decision::PolicyLimit| {
        format!(
            "{}, counted from {} at the start of the period, allows {}",
            policy(&it.policy),
            it.period_start,
            it.replicas
        )
    };
    limit.policies.iter().map(allows).collect()
}

impl Words for RateLimited {
    fn text(&self, about: &About<'_>) -> Text {
        let Self {
            desired,
            result,
            current,
            limit,
            next,
            metric,
        } = self;
        let direction = limit.direction;
        let mut evidence: Vec<String> = policies(limit)
            .iter()
            .map(|policy| sentence(&format!("{policy}.")))
            .collect();
        if limit.select_policy.is_none() {
            evidence.push(format!(
                "The built-in limit of a pass is the larger of 4 and twice the {current} replicas."
            ));
        }
        let sync = about.pass.input.snapshot.controller.sync_period;
        let is_short = |own: &ScalingPolicy| i64::from(own.period_seconds) < sync.as_secs();
        if limit.policies.iter().any(|it| is_short(&it.policy)) {
            evidence.push(format!(
                "A period below the {} between passes limits each pass, and nothing beyond it.",
                duration(sync)
            ));
        }
        evidence.extend(metric.and_then(|metric| about.of_requests(metric)));
        evidence.extend(next.and_then(|next| about.next(next)));
        let field = about.field(&format!("behavior.{}.policies", rules(direction)));
        let (what, advice) = match &limit.select_policy {
            None => (
                format!("without behavior, one pass goes from {current} to at most {result}"),
                format!("set {field}"),
            ),
            Some(select) => {
                let which = match (limit.policies.len(), &**select) {
                    (1, _) => "the policy allows".to_owned(),
                    (_, "Min") => "the smallest change of the policies allows".to_owned(),
                    _ => "the largest change of the policies allows".to_owned(),
                };
                let bound = if direction == Direction::Up {
                    "at most"
                } else {
                    "no fewer than"
                };
                // What was changed within the period may be beyond what the policies allow.
                let is_used_up = limit.policies.iter().all(|it| it.replicas != *result);
                let what = if is_used_up && result == current {
                    format!("the policies allow no change from {current} now")
                } else {
                    format!("{which} {bound} {result} now")
                };
                (what, format!("change {field}"))
            }
        };
        let max = format!("--set behavior.{}.selectPolicy=Max", rules(direction));
        let allowed = || limit.policies.iter().map(|it| it.replicas);
        // The other choice allows more only if a policy does.
        let is_smallest = limit.select_policy.as_deref() == Some("Min");
        let allows_more = is_smallest && allowed().any(|it| it != limit.replicas);
        let mut commands = Vec::from_iter(about.predict_for("5m", ""));
        commands.extend(allows_more.then(|| about.predict(&max)));
        let advice = Remedy::ChangePolicies
            .waits("for the next passes")
            .or(advice);
        Text {
            summary: format!("{}, but {what}", proposed(about, *desired)),
            evidence,
            advice,
            commands,
            objects: about.own(),
        }
    }
}

impl Words for DirectionDisabled {
    fn text(&self, about: &About<'_>) -> Text {
        let direction = self.direction;
        let field = format!("behavior.{}.selectPolicy", rules(direction));
        let (bound, flag, change, further) = match direction {
            Direction::Up => ("maxReplicas", "--max", "raise", "higher"),
            Direction::Down => ("minReplicas", "--min", "lower", "lower"),
        };
        let behavior = json!({ rules(direction): { "selectPolicy": null } });
        let mut patch = Map::from_iter([("behavior".to_owned(), behavior)]);
        let mut flags = format!("--set {field}=null");
        let (mut policy, mut all) = ("the default, Max".to_owned(), about.field(&field));
        if let Some(to) = self.bound {
            patch.insert(bound.to_owned(), to.into());
            flags += &format!(" {flag} {to}");
            policy += &format!(", and {bound} {to}");
            let change = if about.assumes(bound) {
                format!("assume a {further} {bound}")
            } else {
                format!("{change} {}", about.field(bound))
            };
            all = format!("{} and {change}", about.field_name(&field));
        }
        let without = about
            .without()
            .map(|without| format!("With {policy}: {without}."));
        let mut evidence = Vec::from_iter(without);
        if direction == Direction::Down {
            // No longer window is valid.
            let window = "A stabilizationWindowSeconds of up to 3600 also keeps replicas, for that time only.";
            evidence.push(window.to_owned());
        }
        Text {
            summary: format!(
                "{}, but {field} is Disabled, so the HPA never scales {}",
                proposed(about, self.desired),
                verb(direction)
            ),
            evidence,
            advice: Remedy::EnableDirection.says(format!("If that is not meant, remove {all}.")),
            commands: tried(about, &flags, &patch.into()),
            objects: about.own(),
        }
    }
}

/// How many seconds after a trigger was active KEDA scales to 0, by default (`defaultCooldownPeriod`).
const COOLDOWN: i32 = 300;

/// Words a bound that decides.
fn bounded(about: &About<'_>, bound: &Bound, field: &str) -> Vec<String> {
    let mut evidence = Vec::new();
    if let (Some(metric), Some(ratio)) = (bound.metric, bound.ratio) {
        evidence.push(format!(
            "{} is at {} of its target.",
            about.label(metric),
            percent(ratio)
        ));
    }
    if let Some(since) = bound.since {
        evidence.push(format!(
            "The status has said so since {}.",
            time(about.now(), since)
        ));
    }
    evidence.extend(bound.metric.and_then(|metric| about.of_requests(metric)));
    evidence.extend(about.running(field));
    let owner = about
        .hpa()
        .scaled_object()
        .filter(|_| field == "minReplicas");
    evidence.extend(owner.and_then(|owner| about.activity(about.object_of(owner)?)));
    evidence.extend(
        about
            .without()
            .map(|without| format!("Without {field}: {without}.")),
    );
    evidence
}

impl About<'_> {
    /// Returns a sentence about the bound of the running HPA, if another one is assumed.
    fn running(&self, field: &str) -> Option<String> {
        let running = &self
            .pass
            .input
            .observed
            .as_ref()
            .filter(|_| self.assumes(field))?
            .spec;
        let own = match field {
            "maxReplicas" => running.max_replicas,
            _ => running.min_replicas.unwrap_or(1),
        };
        Some(format!("The HPA itself has {field} {own}."))
    }
}

/// Returns what to do about a bound that decides while another bound would change nothing.
fn leave(field: &str) -> Advice {
    Remedy::Nothing.says(format!(
        "Leave it: with scaling disabled in this direction, another {field} changes nothing."
    ))
}

/// Returns what to do about a bound if something speaks against the metric.
fn suspected(about: &About<'_>, bound: &Bound) -> (Advice, Vec<Command>) {
    let Some(metric) = bound.metric else {
        return (Advice::default(), Vec::new());
    };
    let label = about.label(metric);
    let advice = match bound.suspicion {
        Some(Suspicion::Counter) => Remedy::UseRate.says(format!(
            "Use a rate of {label}: like a counter, it rises with the age of a pod."
        )),
        Some(Suspicion::Cpu(share)) => Remedy::LookAtMetric.says(format!(
            "Look at {label} first: the pods use {} of the cpu that they request.",
            percent(share)
        )),
        None => Advice::default(),
    };
    (advice, vec![about.ask(metric)])
}

impl Counted {
    /// Returns the total, and the target for a pod.
    fn amounts(&self, about: &About<'_>) -> [String; 2] {
        let spec = about.spec(self.metric);
        let format = match &about.target_of(self.metric).average_value {
            Some(average) => average.format(),
            None => format_of(spec.name()),
        };
        let of = |milli: i64| amount_of(Some(spec), &Quantity::from_milli(milli, format));
        [self.total, self.per_pod].map(of)
    }

    /// Words the two, with where they come from.
    fn sentence(&self, about: &About<'_>) -> String {
        let spec = about.spec(self.metric);
        let [total, per_pod] = self.amounts(about);
        let Some((pods, request)) = self.of_pods else {
            return format!(
                "{} is {total} in all, at {per_pod} per pod.",
                about.label(self.metric)
            );
        };
        let pods = count(pods, "pod");
        let resource = if spec.is_resource() {
            format!(" of {}", spec.name())
        } else {
            String::new()
        };
        let per_pod = match request {
            Some((request, is_same)) => {
                let request = amount(request, format_of(spec.name()));
                let mean = if is_same { "" } else { " on average" };
                let share = target(about.target_of(self.metric));
                format!("{share} of a request of {request} is {per_pod} per pod{mean}")
            }
            None => format!("The target is {per_pod} per pod"),
        };
        format!("{per_pod}, and {pods} use {total}{resource}.")
    }
}

/// What else than a higher maximum lets the metrics propose fewer.
struct Lever {
    /// What to raise, as it follows an alternative.
    act: String,
    /// What comes of it.
    effect: String,
    command: Command,
}

impl AtMax {
    fn lever(&self, about: &About<'_>) -> Option<Lever> {
        let proposal = self.proposal?;
        let (mut what, mut values, mut flags) = (Vec::new(), Vec::new(), Vec::new());
        for (metric, room) in &self.rooms {
            let resource = about.spec(*metric).name();
            if let Some(OtherRequest {
                container, request, ..
            }) = &room.request
            {
                let word = shell_word(&format!("{container}={resource}={request}"));
                what.push(format!("the {resource} request to {request}"));
                values.push(format!("a {resource} request of {request}"));
                flags.push(format!("--request {word}"));
            } else if let Some(other) = &room.target {
                let to = exact(&other.target);
                what.push(format!("the target to {to}"));
                values.push(format!("a target of {to} for {}", about.label(*metric)));
                flags.push(about.target_flags(*metric, &to)?);
            }
        }
        // The value is said, and the name of the container or metric is in the command.
        let hint = flags
            .first()?
            .split(' ')
            .next()
            .map(|flag| about.try_it(flag));
        let command = about.predict(&flags.join(" "));
        Some(Lever {
            act: format!(
                "{} if a pod can carry more{}",
                list(&what),
                hint.filter(|_| about.pass.input.evidence.past.is_none())
                    .unwrap_or_default()
            ),
            effect: format!("With {}, the metrics propose {proposal}.", list(&values)),
            command,
        })
    }

    /// Returns what to do if nothing speaks against the metrics: the maximum, or what they are compared with.
    fn raise(&self, about: &About<'_>, evidence: &mut Vec<String>) -> (Advice, Vec<Command>) {
        /// A maximum is hardly raised further at once.
        const MOST: i32 = 4;
        let Bound {
            asked, bound: max, ..
        } = self.bound;
        let raise = if about.assumes("maxReplicas") {
            "Assume a higher maxReplicas".to_owned()
        } else {
            format!("Raise {}", about.field("maxReplicas"))
        };
        let flags = format!("--max {asked}");
        // No maximum is named that the metrics exceed as well.
        let (mut text, mut commands) = if asked <= max.saturating_mul(MOST) {
            (
                format!("{raise} if nodes can carry it{}", about.try_it(&flags)),
                tried(about, &flags, &json!({ "maxReplicas": asked })),
            )
        } else {
            (format!("{raise} as far as nodes can carry it"), Vec::new())
        };
        if let Some(Lever {
            act,
            effect,
            command,
        }) = self.lever(about)
        {
            text += &format!(", or {act}");
            evidence.push(effect);
            commands.push(command);
        }
        text.push('.');
        if let Some(Dropped { from, to, at }) = self.dropped {
            text += &format!(
                " It went from {from} to {to} in one step {} ago: set scaleDown policies or a longer window ({}).",
                distance(at, about.now()),
                about.field_name("behavior")
            );
            if about.hpa().spec.behavior.is_none() {
                let why = "Without behavior, nothing limits how many replicas go at once.";
                evidence.push(why.to_owned());
            }
        }
        (Remedy::RaiseMax.says(text), commands)
    }
}

impl Words for AtMax {
    fn text(&self, about: &About<'_>) -> Text {
        let bound = &self.bound;
        let below = bound
            .metric
            .filter(|_| bound.ratio.is_some_and(|ratio| ratio <= 1.0));
        let mut evidence: Vec<String> = self.counted.iter().map(|it| it.sentence(about)).collect();
        evidence.extend(
            self.beside
                .map(|(metric, it)| format!("{} alone proposes {it}.", about.label(metric))),
        );
        evidence.extend(bounded(about, bound, "maxReplicas"));
        let (advice, commands) = match below {
            _ if bound.is_disabled => (leave("maxReplicas"), Vec::new()),
            Some(metric) => (
                Remedy::LookAtCounted.says(format!(
                    "Look at the counted pods first: {} is not above its target.",
                    about.label(metric)
                )),
                Vec::from_iter(about.list_pods("")),
            ),
            None if bound.suspicion.is_some() => suspected(about, bound),
            None => self.raise(about, &mut evidence),
        };
        // Where the number itself is in doubt, it is not explained.
        let is_told = below.is_none() && about.finding.follows.is_none();
        let counted = self
            .counted
            .first()
            .filter(|_| is_told)
            .map_or_else(String::new, |it| {
                let [total, per_pod] = it.amounts(about);
                format!(" ({total} at {per_pod} per pod)")
            });
        Text {
            summary: format!(
                "{}{counted}, and maxReplicas is {}",
                proposed(about, bound.asked),
                bound.bound
            ),
            evidence,
            advice,
            commands,
            objects: about.own(),
        }
    }
}

impl Words for AtMin {
    fn text(&self, about: &About<'_>) -> Text {
        let Self { bound, least } = self;
        let Bound {
            asked, bound: min, ..
        } = *bound;
        let (advice, commands) = match about.hpa().scaled_object() {
            _ if bound.is_disabled => (leave("minReplicas"), Vec::new()),
            _ if bound.suspicion.is_some() => suspected(about, bound),
            _ if about.hpa().spec.max_replicas == min => (
                Remedy::Nothing.says(format!(
                    "Nothing to do if it is pinned on purpose: {} and {} are both {min}.",
                    about.field_name("minReplicas"),
                    about.field("maxReplicas")
                )),
                Vec::new(),
            ),
            _ if asked.max(*least) < min => (Remedy::Nothing.says(NOTHING_TO_DO), Vec::new()),
            Some(owner) => (
                Remedy::LeaveToKeda.says(match about.object_of(owner).map(|it| &it.spec) {
                    Some(ScaledObjectSpec { min_replica_count: Some(0), cooldown_period, .. }) => {
                        format!(
                            "Nothing to do: KEDA itself scales to 0 when no trigger has been active for \
                             {}s.",
                            cooldown_period.unwrap_or(COOLDOWN)
                        )
                    }
                    _ => "Nothing to do: KEDA itself scales to 0 while no trigger is active, if \
                          minReplicaCount is 0."
                        .to_owned(),
                }),
                vec![about.scaled_object(owner)],
            ),
            None => (
                Remedy::Nothing.says(
                    "Nothing to do: fewer than 1 needs the feature gate HPAScaleToZero, and a metric of \
                     type Object or External.",
                ),
                Vec::new(),
            ),
        };
        let mut evidence = bounded(about, bound, "minReplicas");
        let idle = bound
            .metric
            .filter(|metric| about.spec(*metric).is_resource());
        evidence.extend(idle.map(|metric| {
            format!(
                "If the service is slow, {} is not what limits it.",
                about.label(metric)
            )
        }));
        Text {
            summary: format!("{}, and minReplicas is {min}", proposed(about, asked)),
            evidence,
            advice,
            commands,
            objects: about.own(),
        }
    }
}

/// The words for a bound that replicas are beyond.
struct BoundWords {
    field: &'static str,
    owned: SpecField,
    beyond: &'static str,
    other: &'static str,
    change: &'static str,
    flag: &'static str,
}

const MAX: BoundWords = BoundWords {
    field: "maxReplicas",
    owned: SpecField::MaxReplicas,
    beyond: "above",
    other: "more",
    change: "raise",
    flag: "--max",
};

const MIN: BoundWords = BoundWords {
    field: "minReplicas",
    owned: SpecField::MinReplicas,
    beyond: "below",
    other: "fewer",
    change: "lower",
    flag: "--min",
};

impl BoundWords {
    /// Words a correction to the bound.
    fn correction(&self, about: &About<'_>, correction: &Correction) -> Text {
        match correction {
            Correction::Due(due) => corrected(about, *due, self),
            Correction::Done(done) => corrected_before(about, done, self),
        }
    }

    /// Returns who has written the bound last. KEDA writes those of its HPAs, for somebody else.
    fn writer<'a>(&self, about: &About<'a>) -> Option<&'a ManagedFieldsEntry> {
        let hpa = about.hpa();
        let entry = hpa.written.last_writer(self.owned);
        entry.filter(|it| !it.manager.is_empty() && hpa.scaled_object().is_none())
    }

    /// Words who has written the bound last.
    fn written(&self, about: &About<'_>) -> Option<String> {
        let ManagedFieldsEntry {
            manager, time: at, ..
        } = self.writer(about)?;
        let (field, now) = (self.field, about.now());
        Some(match at {
            Some(at) => format!(
                "The field manager {manager} wrote {field}, and last changed the HPA at {} ({} ago).",
                time(now, *at),
                distance(*at, now)
            ),
            None => format!("The field manager {manager} wrote {field}."),
        })
    }
}

/// Words replicas that were beyond a bound, and that an earlier pass has corrected.
fn corrected_before(about: &About<'_>, done: &CorrectedBefore, words: &BoundWords) -> Text {
    let BoundWords {
        field,
        beyond,
        other,
        change,
        flag,
        ..
    } = words;
    let CorrectedBefore {
        bound,
        from,
        at,
        changed,
        asked: _,
    } = *done;
    let ago = distance(at, about.now());
    let were = match from {
        Some(1) => format!("1 replica was {beyond} {field} ({bound})"),
        Some(from) => format!("{from} replicas were {beyond} {field} ({bound})"),
        None => format!("there were {other} replicas than {field} ({bound})"),
    };
    let writer = words.writer(about).filter(|_| changed == Changed::Bound);
    let by = writer.map_or_else(String::new, |it| format!(", which {} wrote", it.manager));
    let mut evidence = vec![format!(
        "The controller corrected that at {} without considering metrics, stabilization or rate limits.",
        time(about.now(), at)
    )];
    evidence.extend(words.written(about));
    evidence.extend(
        match changed {
            Changed::Created => Some("The HPA had just been created."),
            Changed::Bound => None,
            Changed::Replicas => Some(
                "The HPA had not been changed for long, so something else had scaled the target.",
            ),
            Changed::Unknown => {
                Some("Either the HPA was changed, or something else had scaled the target.")
            }
        }
        .map(str::to_owned),
    );
    let earlier = done.earlier();
    let flags = earlier.map(|earlier| format!("{flag} {earlier}"));
    evidence.extend(
        earlier
            .zip(about.without())
            .map(|(earlier, without)| format!("With {field} {earlier}: {without}.")),
    );
    let hint = flags
        .as_ref()
        .map_or_else(String::new, |flags| about.try_it(flags));
    let to = about.field(field);
    if changed == Changed::Created && about.finding.severity == Severity::Info {
        return Text {
            summary: format!(
                "{were} when the HPA was created, so the controller set {bound} {ago} ago and ignored \
                 the metrics"
            ),
            evidence,
            advice: Remedy::Nothing.says(NOTHING_TO_DO),
            commands: Vec::new(),
            objects: [about.own(), vec![about.target()]].concat(),
        };
    }
    let advice = match changed {
        Changed::Created => format!("If {bound} is not meant, {change} {to}{hint}."),
        Changed::Replicas => format!("Find out what scaled the target, or {change} {to}{hint}."),
        Changed::Bound | Changed::Unknown => {
            format!("If {bound} is not meant, {change} {to} again{hint}.")
        }
    };
    let mut commands = Vec::new();
    if let (Some(flags), Some(earlier)) = (&flags, earlier) {
        let patch = Map::from_iter([((*field).to_owned(), earlier.into())]);
        commands = tried(about, flags, &patch.into());
    }
    if about.hpa().written.last_writer(words.owned).is_none() {
        commands.push(about.kubectl("get hpa", "-o yaml --show-managed-fields"));
    }
    Text {
        summary: format!(
            "{were}{by}, so the controller set {bound} {ago} ago and ignored the metrics"
        ),
        evidence,
        advice: Remedy::ChangeBound.says(advice),
        commands,
        objects: [about.own(), vec![about.target()]].concat(),
    }
}

/// Words replicas beyond a bound.
fn corrected(about: &About<'_>, corrected: Corrected, words: &BoundWords) -> Text {
    let BoundWords {
        field,
        beyond,
        flag,
        ..
    } = *words;
    let Corrected {
        current,
        bound,
        cause,
    } = corrected;
    let mut evidence = Vec::new();
    evidence.extend(match cause {
        Cause::Assumed(own) => Some(format!("The HPA itself has {field} {own}.")),
        Cause::AssumedReplicas(own) => Some(format!(
            "{} has {}.",
            about.hpa().reference(),
            count(own, "replica")
        )),
        Cause::NewHpa => Some("The HPA has no status yet.".to_owned()),
        Cause::Changed => Some(format!(
            "The last pass left {}, so {field} was changed after it.",
            count(current, "replica")
        )),
        Cause::Person | Cause::Program | Cause::Unknown => None,
    });
    evidence.extend(words.written(about).filter(|_| cause == Cause::Changed));
    let without = about.without();
    evidence.extend(without.map(|without| format!("With {field} {current}: {without}.")));
    let patch = Map::from_iter([(field.to_owned(), current.into())]);
    let commands = tried(about, &format!("{flag} {current}"), &patch.into());
    let (advice, commands) = match cause {
        Cause::AssumedReplicas(_) => (
            Remedy::AssumeBound.says(format!(
                "Add {flag} {current} to see what the metrics propose."
            )),
            vec![about.predict(&format!("--replicas {current} {flag} {current}"))],
        ),
        // The HPA itself allows the replicas.
        Cause::Assumed(_) => (
            Remedy::AssumeBound.says(format!("Use another {field} if {current} is right.")),
            commands,
        ),
        Cause::Unknown => (
            Remedy::ChangeBound.says(format!(
                "Find out what scaled it to {current}, or change {}.",
                about.field(field)
            )),
            commands,
        ),
        _ => (
            Remedy::ChangeBound.says(format!(
                "Change {} if {current} is right.",
                about.field(field)
            )),
            commands,
        ),
    };
    Text {
        summary: format!(
            "{} {beyond} {field} ({bound}), so the controller sets {bound} and ignores the metrics",
            match current {
                1 => "1 replica is".to_owned(),
                _ => format!("{current} replicas are"),
            }
        ),
        evidence,
        advice,
        commands,
        objects: [about.own(), vec![about.target()]].concat(),
    }
}

impl Words for AboveMax {
    fn text(&self, about: &About<'_>) -> Text {
        MAX.correction(about, &self.0)
    }
}

impl Words for BelowMin {
    fn text(&self, about: &About<'_>) -> Text {
        MIN.correction(about, &self.0)
    }
}

/// Words what a Rollout does with the replicas of the workload that has its template.
pub(super) fn scales_down(
    rollout: &CrossVersionObjectReference,
    when: Option<ScaleDown>,
) -> String {
    let does = match when {
        Some(ScaleDown::Progressively) => "scales that down as the Rollout scales up",
        Some(ScaleDown::OnSuccess) => "scales that to 0 once the Rollout is healthy",
        Some(ScaleDown::Never) | None => "never scales that down itself",
    };
    let stated = when.map_or("not stated", ScaleDown::as_str);
    format!("spec.workloadRef.scaleDown of {rollout} is {stated}: Argo Rollouts {does}.")
}

impl Words for SwitchedOff {
    fn text(&self, about: &About<'_>) -> Text {
        let target = about.hpa().reference();
        let mut evidence = vec![match self.observed {
            Some(own) => format!(
                "{target} has {}; with 0, the controller does nothing (ScalingDisabled).",
                count(own, "replica")
            ),
            None => format!(
                "spec.replicas of {target} is 0, for which the controller does nothing \
                 (ScalingDisabled)."
            ),
        }];
        if let Some((manager, at)) = &self.writer {
            evidence.push(format!(
                "{manager} set the replicas last, {} ago.",
                distance(*at, about.now())
            ));
        }
        if self.may_be_zero {
            evidence.push(
                "minReplicas is 0, but the controller wakes the target only if it has scaled it to \
                 zero itself."
                    .to_owned(),
            );
        }
        let owner = about.hpa().scaled_object();
        let scale = format!(
            "kubectl scale {} {} --replicas=1",
            about.target(),
            about.namespace()
        );
        let scale = || vec![scale.into()];
        let (advice, commands) = match (owner, &self.keeper) {
            _ if self.observed.is_some() => (Advice::default(), Vec::new()),
            (_, Some(Keeper::Rollout { rollout, hpa: Some(hpa), .. })) => (
                Remedy::Nothing.says(format!(
                    "Nothing to do: the HPA {hpa} scales {rollout}, which runs the pods of this template."
                )),
                Vec::new(),
            ),
            (_, Some(Keeper::Rollout { rollout, scale_down, hpa: None })) => {
                let patch = json!({"scaleTargetRef": {
                    "apiVersion": rollout.api_version, "kind": rollout.kind, "name": rollout.name,
                }});
                evidence.push(scales_down(rollout, *scale_down));
                let advice = Remedy::PointAtRollout.says(format!(
                    "Point {} at {rollout} ({}): it runs the pods of this template (spec.workloadRef).",
                    about.field("scaleTargetRef"),
                    rollout.api_version
                ));
                (advice, about.patch_spec(&patch).into_iter().collect())
            }
            (_, Some(Keeper::Rollouts)) => (
                Remedy::PointAtRollout.says(format!(
                    "Leave it at 0: a Rollout runs its pods. Point {} at that Rollout.",
                    about.field("scaleTargetRef")
                )),
                vec![format!("kubectl get rollouts.argoproj.io {}", about.namespace()).into()],
            ),
            (Some(owner), keeper) if !matches!(keeper, Some(Keeper::Flagger { .. })) => {
                let object = about.object_of(owner);
                evidence.extend(object.and_then(|it| about.activity(it)));
                let is = |type_: &str| object.and_then(|it| it.condition(type_));
                let name = &owner.name;
                (
                    match (is("Ready"), is("Active")) {
                        (Some(false), _) => Remedy::LookAtScaledObject
                            .says(format!("Find out why ScaledObject/{name} is not ready.")),
                        (_, Some(true)) => Remedy::LookAtScaledObject.says(format!(
                            "Find out why KEDA leaves it at 0: a trigger of ScaledObject/{name} is active."
                        )),
                        _ => Remedy::LeaveToKeda.waits(
                            "for a trigger to become active; KEDA then scales the target up",
                        ),
                    },
                    vec![about.scaled_object(owner)],
                )
            }
            (_, Some(Keeper::Keda)) => (
                Remedy::LeaveToKeda
                    .says("Leave it: KEDA keeps it at 0 while no trigger is active."),
                vec![format!("kubectl get scaledobjects {}", about.namespace()).into()],
            ),
            (_, Some(Keeper::Owner(owner))) => (
                Remedy::LookAtOwner.says(format!(
                    "If it is meant to run, change {owner}: it owns {target} and sets its replicas."
                )),
                vec![format!("kubectl get {} {} -o yaml", about.target(), about.namespace()).into()],
            ),
            (_, Some(Keeper::Flagger { primary })) => {
                let primary = primary.clone().unwrap_or_else(|| format!("{target}-primary"));
                (
                    Remedy::LeaveToFlagger.says(format!(
                        "Leave it: between releases, Flagger keeps it at 0 and runs {primary}."
                    )),
                    vec![format!("kubectl get canaries.flagger.app {}", about.namespace()).into()],
                )
            }
            (_, Some(Keeper::Manifest)) => (
                Remedy::ScaleToOne.says(
                    "If it is meant to run, take replicas out of its manifest, and scale it to 1.",
                ),
                scale(),
            ),
            (_, Some(Keeper::Other) | None) => (
                Remedy::ScaleToOne.says(
                    "If it is meant to run, scale the target to 1; the HPA takes over from there.",
                ),
                scale(),
            ),
        };
        Text {
            summary: match &self.writer {
                Some((manager, _)) => {
                    format!("{manager} set the target to 0 replicas, so the HPA is off")
                }
                None => "the target has 0 replicas, so the HPA is off, whatever the metrics say"
                    .to_owned(),
            },
            evidence,
            advice,
            commands,
            objects: vec![about.target()],
        }
    }
}
