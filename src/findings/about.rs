//! The context of a text about a finding: the pass, and commands that work when pasted.

use crate::findings::Severity;
use jiff::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::command::{Command, Edited};
use super::remedy::Remedy;
use super::scaled_object::OwnScaledObject;
use super::{Alternative, Case, Code, Finding, NextChange};
use crate::apimachinery::metadata::{Condition, OwnerReference};
use crate::apimachinery::names::{query, segment, shell_word};
use crate::apimachinery::quantity::Format;
use crate::apimachinery::tool::Tool;
use crate::engine::decision::MetricStep;
use crate::pass::Pass;
use crate::prometheus::queries::title;
use crate::saved::assemble::resource_of;
use crate::snapshot::Snapshot;
use crate::snapshot::by_name::Names;
use crate::snapshot::hpa::{
    CrossVersionObjectReference, Hpa, MetricSource, MetricSpec, MetricTarget,
};
use crate::snapshot::note::Subject;
use crate::snapshot::pod::Pod;
use crate::snapshot::surroundings::{ScaledObjectSpec, Workload};
use crate::whatif::MAX_PODS;
use crate::whatif::overrides::{NamedMetric, with_assumed};
use crate::words::{count, first_few, future, percent, quantity, sentence, time};

/// A remedy, in the imperative: an action, something to wait for, or a choice between the two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Advice {
    /// The kind of advice.
    pub(crate) remedy: Remedy,
    /// What to wait for, worded to follow `Wait`.
    wait: Option<String>,
    /// The action: a sentence, or the end of one if waiting is the alternative.
    act: String,
    /// Lines to paste.
    pub(crate) commands: Vec<Command>,
}

impl Remedy {
    /// Returns advice of this kind.
    pub(crate) fn says(self, act: impl Into<String>) -> Advice {
        Advice {
            remedy: self,
            wait: None,
            act: act.into(),
            commands: Vec::new(),
        }
    }

    /// Returns the advice to wait.
    pub(crate) fn waits(self, until: impl Into<String>) -> Advice {
        Advice {
            wait: Some(until.into()),
            ..self.says("")
        }
    }
}

impl Default for Advice {
    fn default() -> Self {
        Remedy::Nothing.says("")
    }
}

impl Advice {
    /// Adds an alternative action.
    pub(crate) fn or(self, act: impl Into<String>) -> Self {
        Self {
            act: act.into(),
            ..self
        }
    }

    /// Adds a sentence.
    pub(crate) fn and(self, more: &str) -> Self {
        let act = format!("{} {more}", self.text());
        self.remedy.says(act).with_all(self.commands)
    }

    /// Adds a command to paste.
    pub(crate) fn with(self, command: impl Into<Command>) -> Self {
        self.with_all([command.into()])
    }

    /// Adds commands to paste.
    pub(crate) fn with_all(mut self, commands: impl IntoIterator<Item = Command>) -> Self {
        self.commands.extend(commands);
        self
    }

    /// Returns the part of it that applies to a past pass, which no one waits for and whose commands would act on
    /// the current HPA.
    pub(crate) fn of_past(self) -> Self {
        match self.wait {
            Some(_) if self.act.is_empty() => Self::default(),
            Some(_) => self.remedy.says(format!("{}.", sentence(&self.act))),
            None => self.remedy.says(self.act),
        }
    }

    /// Returns it as a sentence; empty if there is no advice.
    pub(crate) fn text(&self) -> String {
        match (&self.wait, &*self.act) {
            (None, act) => act.to_owned(),
            (Some(until), "") if until.is_empty() => "Wait.".to_owned(),
            (Some(until), "") => format!("Wait {until}."),
            (Some(until), act) if until.is_empty() => format!("Wait, or {act}."),
            (Some(until), act) => format!("Wait {until}, or {act}."),
        }
    }
}

impl Serialize for Advice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

/// The subject of the facts.
pub(crate) struct About<'a> {
    pub(crate) pass: &'a Pass,
    pub(crate) finding: &'a Finding,
}

impl<'a> About<'a> {
    pub(crate) fn snapshot(&self) -> &'a Snapshot {
        &self.pass.input.snapshot
    }

    pub(crate) fn hpa(&self) -> &'a Hpa {
        &self.snapshot().hpa
    }

    pub(crate) fn spec(&self, metric: usize) -> &'a MetricSpec {
        &self.hpa().spec.metrics[metric]
    }

    /// Returns the label of a metric of the spec.
    pub(crate) fn label(&self, metric: usize) -> String {
        self.hpa().spec.label(metric)
    }

    /// Returns the target of a metric.
    pub(crate) fn target_of(&self, metric: usize) -> &'a MetricTarget {
        static NONE: MetricTarget = MetricTarget {
            type_: String::new(),
            value: None,
            average_value: None,
            average_utilization: None,
        };
        self.spec(metric).target().unwrap_or(&NONE)
    }

    /// Returns the flags that predict another target of a metric; `None` if flags cannot distinguish it from
    /// others of its name.
    pub(crate) fn target_flags(&self, metric: usize, target: &str) -> Option<String> {
        let spec = self.spec(metric);
        let plain = match spec.container() {
            Some(container) => format!("{container}={}", spec.name()),
            None => spec.name().to_owned(),
        };
        let name = [plain, title(spec)].into_iter().find(|name| {
            let place = NamedMetric::read(name, "").and_then(|it| it.place(self.snapshot()));
            place.is_ok_and(|place| place == metric)
        })?;
        Some(format!(
            "--target {}",
            shell_word(&format!("{name}={target}"))
        ))
    }

    /// Returns a hint at the command that predicts another target of a metric, with the command; neither if flags cannot
    /// distinguish the metric from others of its name. The name is in the command, and long ones are common.
    pub(crate) fn try_target(&self, metric: usize, target: &str) -> (String, Option<Command>) {
        match self.target_flags(metric, target) {
            Some(flags) => (self.try_it("--target"), Some(self.predict(&flags))),
            None => (String::new(), None),
        }
    }

    /// Returns the HPA itself, as an object to inspect.
    pub(crate) fn own(&self) -> Vec<String> {
        vec![format!("hpa/{}", self.hpa().name)]
    }

    /// Returns the target as `Kind/name`.
    pub(crate) fn reference(&self) -> String {
        self.hpa().reference()
    }

    /// Returns the ScaledObject that KEDA creates the HPA from.
    pub(crate) fn owner(&self) -> Option<OwnScaledObject<'a>> {
        self.pass.input.own_scaled_object()
    }

    /// Returns the HPA and its target.
    pub(crate) fn own_and_target(&self) -> Vec<String> {
        [self.own(), vec![self.target()]].concat()
    }

    pub(crate) fn step(&self, metric: usize) -> Option<&'a MetricStep> {
        self.pass.decision.metric(metric)
    }

    /// Returns `kubectl VERB NAME -n NAMESPACE`, with the given verb and the rest after the name.
    pub(crate) fn kubectl(&self, verb: &str, rest: &str) -> Command {
        self.kubectl_for(verb, &self.hpa().name, rest)
    }

    /// Returns the same command for an object of another name in the namespace.
    pub(crate) fn kubectl_for(&self, verb: &str, name: &str, rest: &str) -> Command {
        self.kubectl_quoted(verb, &shell_word(name), rest)
    }

    /// Returns the same command for an object that is quoted already, or for all of a kind.
    pub(crate) fn kubectl_quoted(&self, verb: &str, object: &str, rest: &str) -> Command {
        let namespace = self.namespace();
        format!("kubectl {verb} {object} {namespace} {rest}")
            .trim_end()
            .into()
    }

    /// Returns `kubectl hpa predict NAME …`, with the assumptions of the pass.
    pub(crate) fn predict(&self, flags: &str) -> Command {
        self.kubectl("hpa predict", &with_assumed(flags, self.pass))
    }

    /// Returns `kubectl hpa predict NAME … --for TIME`; `None` if the HPA may have more replicas than are played.
    pub(crate) fn predict_for(&self, time: &str, flags: &str) -> Option<Command> {
        let most = self
            .hpa()
            .spec
            .max_replicas
            .max(self.pass.decision.replicas_before()?);
        let is_played = usize::try_from(most).is_ok_and(|most| most <= MAX_PODS);
        is_played.then(|| self.predict(format!("{flags} --for {time}").trim_start()))
    }

    /// Returns a command that changes fields of the spec; `None` if the running HPA has others there, which the
    /// command would be wrong for. KEDA reverts changes to its HPAs, so for those the command changes the
    /// ScaledObject.
    pub(crate) fn patch_spec(&self, spec: &Value) -> Option<Command> {
        let fields = || spec.as_object().into_iter().flatten();
        if fields().any(|(field, _)| self.assumes(field)) {
            return None;
        }
        let Some(owner) = self.owner() else {
            return Some(self.kubectl("patch hpa", &merge(spec)).editing(Edited::Hpa));
        };
        let mut changed = Map::new();
        for (field, value) in fields() {
            if field == "metrics" {
                return Some(self.edit(owner));
            }
            let mut names = in_scaled_object(field).split('.');
            let first = names.next().unwrap_or_default();
            let value = names.rfold(value.clone(), |value, name| json!({ name: value }));
            changed.insert(first.to_owned(), value);
        }
        let patch = merge(&changed.into());
        let command = self.kubectl_for("patch scaledobject", owner.name, &patch);
        Some(command.editing(Edited::ScaledObject))
    }

    /// Returns the advice to give the HPA another target, with the rest of its sentence.
    pub(crate) fn point_at(
        &self,
        remedy: Remedy,
        target: &CrossVersionObjectReference,
        rest: &str,
    ) -> Advice {
        let field = self.field("scaleTargetRef");
        remedy
            .says(format!("Point {field} at {target}{rest}"))
            .with_all(self.patch_spec(&json!({ "scaleTargetRef": target })))
    }

    /// Whether a field of the spec is assumed, and the running HPA has another.
    pub(crate) fn assumes(&self, field: &str) -> bool {
        let assumed = &self.hpa().spec;
        let running = &self.pass.input.as_observed().hpa.spec;
        match field {
            "minReplicas" => running.min_replicas != assumed.min_replicas,
            "maxReplicas" => running.max_replicas != assumed.max_replicas,
            "behavior" => running.behavior != assumed.behavior,
            "metrics" => running.metrics != assumed.metrics,
            _ => running.scale_target_ref != assumed.scale_target_ref,
        }
    }

    /// Returns a command that changes metrics with a JSON patch of the HPA; `None` if the running HPA has others
    /// at these places. Metrics that KEDA creates from triggers have nothing in common with those.
    pub(crate) fn patch_metrics(&self, patch: &Value) -> Option<Command> {
        (!self.assumes("metrics")).then(|| match self.owner() {
            Some(owner) => self.edit(owner),
            None => {
                let command = self.kubectl("patch hpa", &patch_flags("json", patch));
                command.editing(Edited::Hpa)
            }
        })
    }

    /// Returns a command that changes the object that has the template of the pods, with a patch of this type.
    pub(crate) fn patch_template(&self, type_: &str, patch: &Value) -> Command {
        let holder = self.template_target();
        self.kubectl_quoted("patch", &holder, &patch_flags(type_, patch))
            .editing(Edited::Template)
    }

    /// Returns the advice to state the value of a metric that only a candidate has, or of a container that only
    /// its pods have: it cannot have been observed.
    pub(crate) fn of_candidate(&self, metric: usize) -> Option<String> {
        let spec = self.spec(metric);
        if spec.is_resource() {
            let mut new = self.new_containers();
            let own = new.find(|name| spec.container().is_none_or(|own| own == **name))?;
            let value = shell_word(&format!("{own}=VALUE"));
            return Some(format!(
                "state the usage of the new container: --{} {value}",
                spec.name()
            ));
        }
        let running = &self.pass.input.as_observed().hpa.spec.metrics;
        if running.iter().any(|own| own.id() == spec.id()) {
            return None;
        }
        let value = shell_word(&format!("{}=VALUE", title(spec)));
        Some(format!(
            "state the value of {}: --metric {value}",
            spec.short_label()
        ))
    }

    /// Returns the containers that no pod has run yet.
    fn new_containers(&self) -> impl Iterator<Item = &'a String> {
        let notes = self.pass.input.notes.iter();
        notes.flat_map(|note| match &note.subject {
            Subject::UsageUnknown { containers } => &containers[..],
            _ => &[],
        })
    }

    /// Whether no pod has run a container yet.
    pub(crate) fn is_new(&self, container: &str) -> bool {
        self.new_containers().any(|own| own == container)
    }

    /// Describes whether a trigger of a ScaledObject is active, or when one was last.
    pub(crate) fn activity(&self, owner: OwnScaledObject<'_>) -> Option<String> {
        let object = owner.object?;
        match (object.condition("Active"), object.status.last_active_time) {
            (Some(true), _) => Some(format!("A trigger of {owner} is active.")),
            (_, Some(at)) => {
                let at = future(self.now(), at);
                Some(format!("A trigger of {owner} was last active at {at}."))
            }
            _ => None,
        }
    }

    /// Returns the advice on a metric that is exactly 0 while the pods are busy, which comes before any advice
    /// that makes fewer pods easier.
    pub(crate) fn zero(&self) -> Option<Advice> {
        match self.finding.code() {
            Code::AtMin | Code::HeldByWindow | Code::RateLimited => {}
            _ => return None,
        }
        let (metric, share) = Case::new(self.pass, &[]).zero_while_busy()?;
        let advice = Remedy::LookAtMetric.says(format!(
            "Look at {} first: it is exactly 0, and the pods use {} of the cpu that they request.",
            self.label(metric),
            percent(share)
        ));
        Some(advice.with(self.ask(metric)))
    }

    /// Returns the advice if a ScaledObject states another bound than its HPA has, which comes before any change
    /// of a bound.
    fn withheld(&self) -> Option<Advice> {
        let field = match self.finding.code() {
            Code::AtMax | Code::AboveMax => "maxReplicas",
            Code::AtMin | Code::BelowMin => "minReplicas",
            _ => return None,
        };
        let owner = self.owner().filter(|_| !self.assumes(field))?;
        let stated = owner.object?.withheld_bound(field, &self.hpa().spec)?;
        let own = in_scaled_object(field);
        let advice = self.conflict(owner).unwrap_or_else(|| {
            Remedy::LookAtScaledObject.says(format!(
                "Find out why KEDA does not pass on {own} {stated} of {owner}."
            ))
        });
        Some(advice.with(self.describe_scaled_object(owner)))
    }

    /// Returns advice for a ScaledObject whose bounds contradict each other: KEDA then no longer changes its HPA,
    /// and scales to its own minimum.
    pub(crate) fn conflict(&self, owner: OwnScaledObject<'_>) -> Option<Advice> {
        let ScaledObjectSpec {
            min_replica_count,
            max_replica_count,
            ..
        } = owner.object?.spec;
        let (min, max) = (min_replica_count?, max_replica_count?);
        (min > max).then(|| {
            Remedy::LookAtScaledObject.says(format!(
                "Set minReplicaCount ({min}) of {owner} to at most maxReplicaCount ({max}): until then, KEDA does \
                 not change its HPA."
            ))
        })
    }

    /// Returns a command that opens the ScaledObject that KEDA creates the HPA from.
    pub(crate) fn edit(&self, owner: OwnScaledObject<'_>) -> Command {
        self.kubectl_for("edit scaledobject", owner.name, "")
            .editing(Edited::ScaledObject)
    }

    /// Returns a command that describes a ScaledObject, with its conditions and events.
    pub(crate) fn describe_scaled_object(&self, owner: OwnScaledObject<'_>) -> Command {
        self.kubectl_for("describe scaledobject", owner.name, "")
    }

    /// Returns a command that shows a ScaledObject, with whether it is active or paused.
    pub(crate) fn scaled_object(&self, owner: OwnScaledObject<'_>) -> Command {
        self.kubectl_for("get scaledobject", owner.name, "")
    }

    /// Makes advice change the right source: anything that KEDA does not pass on is fixed first, and anything
    /// that a tool or an owner writes again is changed there.
    pub(crate) fn correct(&self, advice: Advice, evidence: &mut Vec<String>) -> Advice {
        let mut advice = self.withheld().or_else(|| self.zero()).unwrap_or(advice);
        let is_due = self.finding.severity < Severity::Info;
        let by_commands = advice.commands.iter().filter_map(|it| it.edits);
        let mut edited = by_commands.chain(self.edited_by(advice.remedy).filter(|_| is_due));
        if let Some(source) = edited.find_map(|it| self.source(it)) {
            advice
                .commands
                .retain(|it| it.edits.is_none_or(|own| self.source(own).is_none()));
            if is_due {
                advice = advice.and(&source);
            } else {
                // No action is needed.
                evidence.push(source);
            }
        }
        let is_of_object = advice.remedy == Remedy::LookAtScaledObject
            || advice
                .commands
                .iter()
                .any(|it| it.edits == Some(Edited::ScaledObject));
        let owner = self.owner().filter(|_| is_of_object);
        evidence.extend(owner.and_then(unready));
        advice
    }

    /// Returns the object that a kind of advice changes, even if no command does.
    fn edited_by(&self, remedy: Remedy) -> Option<Edited> {
        match remedy.changes()? {
            Edited::Hpa if self.owner().is_some() => Some(Edited::ScaledObject),
            own => Some(own),
        }
    }

    /// Describes where to change an object instead, if something else would undo the change: its owner, or the
    /// tool that writes it.
    pub(crate) fn source(&self, edited: Edited) -> Option<String> {
        let surroundings = &self.pass.input.surroundings;
        let hpa = self.hpa();
        let (object, owner, tool) = match edited {
            Edited::Hpa => (format!("hpa/{}", hpa.name), hpa.owner.as_ref(), hpa.tool()),
            Edited::ScaledObject => {
                let own = self.owner()?;
                let it = &own.object?.metadata;
                (own.to_string(), it.controller(), it.tool())
            }
            Edited::Template => {
                let it = &surroundings.workload(self.template_holder())?.metadata;
                (
                    self.template_holder().to_string(),
                    it.controller(),
                    it.tool(),
                )
            }
        };
        let is_copy = owner.is_some_and(|it| it.api_version.starts_with("flagger.app/"));
        let original = object.strip_suffix("-primary").filter(|_| is_copy);
        match (original, owner, tool) {
            (Some(original), ..) => Some(format!(
                "Flagger copies {object} from {original}: change {original}."
            )),
            (None, Some(OwnerReference { kind, name, .. }), _) => {
                Some(format!("{kind}/{name} owns {object}: change it there."))
            }
            (None, None, Some(tool)) => {
                let (writer, source) = sources(tool);
                Some(format!("{writer} writes {object}: change {source}."))
            }
            (None, None, None) => None,
        }
    }

    /// Returns a field of the spec as advice names it, where it must be changed: `maxReplicas`, or
    /// `maxReplicaCount of ScaledObject/queue`.
    pub(crate) fn field(&self, path: &str) -> String {
        match self.owner() {
            Some(owner) => format!("{} of {owner}", self.field_name(path)),
            None => path.to_owned(),
        }
    }

    /// Returns the name of a field where it must be changed, without the path to it: a ScaledObject has one
    /// `behavior`.
    pub(crate) fn field_name<'p>(&self, path: &'p str) -> &'p str {
        match self.owner() {
            Some(_) => in_scaled_object(path),
            None => path,
        }
    }

    /// Returns the text that gives a metric a target of type AverageValue, to follow `Use`.
    pub(crate) fn average_value(&self, metric: usize, value: &str) -> String {
        let Some(owner) = self.owner() else {
            return format!("averageValue: {value}");
        };
        let spec = self.spec(metric);
        if self.is_formula(metric) {
            return format!(
                "metricType: AverageValue and target: {value} in spec.advanced.scalingModifiers of \
                 {owner}"
            );
        }
        let threshold = if spec.is_resource() {
            format!("metadata.value: {value}")
        } else {
            format!("a threshold of {value}")
        };
        let label = spec.short_label();
        format!("metricType: AverageValue and {threshold} for {label} in spec.triggers of {owner}")
    }

    /// Returns the text that makes a metric one of a container, to follow `Use`.
    pub(crate) fn container_metric(&self, metric: usize, container: &str) -> String {
        match self.owner() {
            None => format!("a ContainerResource metric for {container}"),
            Some(owner) => format!(
                "metadata.containerName: {container} for {} in spec.triggers of {owner}",
                self.spec(metric).name()
            ),
        }
    }

    /// Whether KEDA computes a metric with the formula of a ScaledObject instead of from one trigger
    /// (`CompositeMetricName`).
    pub(crate) fn is_formula(&self, metric: usize) -> bool {
        self.owner().is_some() && self.spec(metric).name() == "composite-metric"
    }

    /// Describes since when a condition has its status, to follow it; empty if that is not stated.
    pub(crate) fn since(&self, condition: &Condition) -> String {
        let since = condition.last_transition_time;
        since.map_or_else(String::new, |since| {
            format!(" since {}", time(self.now(), since))
        })
    }

    /// Returns the time of the pass.
    pub(crate) fn now(&self) -> Timestamp {
        self.snapshot().now
    }

    /// Returns the target as kubectl accepts it: `deployment/web`, `rollout.argoproj.io/web`.
    pub(crate) fn target(&self) -> String {
        typed(&self.hpa().spec.scale_target_ref)
    }

    /// Returns the object that has the template of the target's pods: the target, or the object that a Rollout
    /// refers to.
    pub(crate) fn template_holder(&self) -> &CrossVersionObjectReference {
        self.workload()
            .and_then(|it| it.template_of.as_deref())
            .unwrap_or(&self.hpa().spec.scale_target_ref)
    }

    /// Returns the target itself, if it was read.
    pub(crate) fn workload(&self) -> Option<&'a Workload> {
        let target = &self.hpa().spec.scale_target_ref;
        self.pass.input.surroundings.workload(target)
    }

    /// Returns it as `kubectl` accepts it.
    pub(crate) fn template_target(&self) -> String {
        typed(self.template_holder())
    }

    /// Returns `-n NAMESPACE`.
    pub(crate) fn namespace(&self) -> String {
        format!("-n {}", shell_word(&self.hpa().namespace))
    }

    /// Describes the change after the pass, if it is known and nothing else sets the replicas: `it goes to 6
    /// replicas at 12:05:00Z (in 5m) if the metrics keep proposing the same`.
    pub(crate) fn next(&self, next: NextChange) -> Option<String> {
        if self.finding.follows == Some(Code::OtherWriter) {
            return None;
        }
        let NextChange {
            earliest, likely, ..
        } = next;
        let at = |time| future(self.now(), time);
        let Some(likely) = likely else {
            return Some(format!(
                "The earliest possible change is at {}.",
                at(earliest?)
            ));
        };
        let goes = format!("to {} at", count(likely.replicas, "replica"));
        let if_same = "if the metrics keep proposing the same";
        let (replicas, time) = (likely.replicas, at(likely.time));
        Some(match earliest {
            Some(earliest) if earliest < likely.time => format!(
                "It most likely goes {goes} {time} {if_same}; nothing changes before {}.",
                at(earliest)
            ),
            Some(_) if likely.range.min == replicas && likely.range.max == replicas => {
                format!("It goes {goes} {time} {if_same}.")
            }
            _ => format!("It most likely goes {goes} {time} {if_same}."),
        })
    }

    /// Returns a hint at a command that shows the effect of a change, to follow an advice: ` (predict --max 12)`.
    pub(crate) fn try_it(&self, flags: &str) -> String {
        if self.pass.input.evidence.past.is_some() {
            return String::new();
        }
        format!(" (predict {flags})")
    }

    /// Returns the result of the pass without the problem as text: `6 replicas`, or the proposal and the replicas
    /// that are left of it.
    pub(crate) fn without(&self) -> Option<String> {
        let Alternative { proposal, replicas } = self.finding.without?;
        Some(match (proposal, replicas) {
            (Some(proposal), Some(replicas)) if proposal != replicas => format!(
                "a proposal of {proposal}, and {} after stabilization and limits",
                count(replicas, "replica")
            ),
            (_, Some(replicas)) => count(replicas, "replica"),
            (Some(proposal), None) => format!("a proposal of {proposal}"),
            (None, None) => return None,
        })
    }
}

/// Returns an object as `kubectl` accepts it: `deployment/web`.
pub(crate) fn typed(object: &CrossVersionObjectReference) -> String {
    let kind = object.kind.to_lowercase();
    let group = match object.group() {
        "" | "apps" => String::new(),
        group => format!(".{group}"),
    };
    shell_word(&format!("{kind}{group}/{}", object.name))
}

/// Returns the flags that merge fields into the spec of an object.
fn merge(spec: &Value) -> String {
    patch_flags("merge", &json!({ "spec": spec }))
}

/// Returns the flags of `kubectl patch` with a patch of this type.
fn patch_flags(type_: &str, patch: &Value) -> String {
    format!("--type={type_} -p {}", shell_word(&patch.to_string()))
}

impl About<'_> {
    /// Describes how the problem affects the answer, to follow a sentence: `: 4 replicas instead of 1`; empty if
    /// it does not.
    pub(crate) fn cost(&self) -> String {
        self.cost_if("")
    }

    /// Describes the same if the result assumes that some pods are as busy as the others: `~4`. Nothing should be
    /// assumed about pods that have just started.
    pub(crate) fn cost_of<N: AsRef<str>>(&self, pods: &[N]) -> String {
        if !self.assumes_usage(pods) {
            self.cost_if("")
        } else if !self.have_just_started(pods) {
            self.cost_if("~")
        } else if self.pass.decision.proposal.is_none() {
            ": no decision".to_owned()
        } else {
            String::new()
        }
    }

    /// Whether some pods are so young that cpu of pods that are not ready is not counted.
    fn have_just_started<N: AsRef<str>>(&self, pods: &[N]) -> bool {
        let Snapshot {
            pods: all,
            controller,
            ..
        } = self.snapshot();
        let names: Names<&str> = pods.iter().map(AsRef::as_ref).collect();
        let mut own = all.iter().filter(|it| names.contains(&it.name));
        own.all(|pod| {
            let since = pod.start_time.or(pod.created);
            since.is_some_and(|it| {
                self.now().duration_since(it) < controller.cpu_initialization_period
            })
        })
    }

    /// Describes the same, with a mark before the replicas if they are uncertain.
    fn cost_if(&self, near: &str) -> String {
        let Some(without) = self.finding.without.filter(|_| self.finding.explains) else {
            return String::new();
        };
        let decision = &self.pass.decision;
        let replicas = (decision.replicas_after(), without.replicas);
        match (decision.proposal, without.proposal, replicas) {
            (None, Some(proposal), _) => {
                format!(": no decision instead of a proposal of {near}{proposal}")
            }
            (_, _, (Some(with), Some(without))) if with != without => {
                format!(": {} instead of {near}{without}", count(with, "replica"))
            }
            // The answer is the same.
            (_, _, (Some(_), Some(_))) => String::new(),
            (Some(with), Some(without), _) => {
                format!(": a proposal of {with} instead of {near}{without}")
            }
            _ => String::new(),
        }
    }

    /// Whether some pods have no value that decides, so that one would be assumed if they counted. The ratio of a
    /// total does not depend on them.
    pub(crate) fn assumes_usage<N: AsRef<str>>(&self, pods: &[N]) -> bool {
        let all = &self.snapshot().pods;
        let names: Names<&str> = pods.iter().map(AsRef::as_ref).collect();
        let mut rows = self
            .pass
            .decision
            .metrics()
            .filter(|step| !step.is_total())
            .flat_map(|step| &step.pods);
        rows.any(|row| row.value.is_none() && names.contains(&all[row.pod as usize].name))
    }

    /// Returns a sentence about the result of the pass with a change that ends the problem.
    pub(crate) fn result(&self, change: &str) -> Option<String> {
        Some(format!("{change}: {}.", self.without()?))
    }

    /// Returns a sentence about the result of the pass without the problem.
    pub(crate) fn otherwise(&self, without_it: &str) -> Option<String> {
        let without = self.without()?;
        if self.finding.explains {
            return Some(format!("{without_it}: {without}."));
        }
        // Without a decision, there is no answer.
        let is_decided = self.pass.decision.block().is_none();
        is_decided.then(|| format!("{without_it}, the answer is the same: {without}."))
    }
}

/// Returns the name of a tool, and its source.
pub(crate) fn sources(tool: Tool) -> (&'static str, &'static str) {
    match tool {
        Tool::ArgoCd => ("Argo CD", "it in Git"),
        Tool::Flux => ("Flux", "it in Git"),
        Tool::FluxHelm => ("Flux", "its HelmRelease (values) or chart"),
        Tool::Helm => ("Helm", "its chart (values or template)"),
        Tool::Terraform => ("Terraform", "its configuration"),
        Tool::Pulumi => ("Pulumi", "its program"),
    }
}

/// Returns the field of a ScaledObject's spec that sets a field of the HPA's spec (`ScaledObjectSpec`).
fn in_scaled_object(field: &str) -> &str {
    match field {
        "minReplicas" => "minReplicaCount",
        "maxReplicas" => "maxReplicaCount",
        "behavior" => "advanced.horizontalPodAutoscalerConfig.behavior",
        same => same,
    }
}

/// Says that KEDA cannot use a ScaledObject.
fn unready(owner: OwnScaledObject<'_>) -> Option<String> {
    let is_unready = owner.object?.condition("Ready") == Some(false);
    is_unready.then(|| {
        format!("The condition Ready of {owner} is False: KEDA cannot use its spec or a trigger.")
    })
}

/// Returns a reason and a message as text to follow a sentence: `: Reason: message`; empty if both are.
pub(crate) fn told(said: [&str; 2]) -> String {
    said.iter()
        .filter(|it| !it.is_empty())
        .map(|it| format!(": {it}"))
        .collect()
}

/// Returns a target as it is stated, without rounding.
pub(crate) fn exact(target: &MetricTarget) -> String {
    let amount = target.average_value.as_ref().or(target.value.as_ref());
    match (target.average_utilization, amount) {
        (Some(percent), _) => format!("{percent}%"),
        // For bytes, fewer digits are shown.
        (None, Some(amount)) if amount.format() == Format::BinarySI => amount.to_string(),
        (None, Some(amount)) => quantity(amount),
        (None, None) => String::new(),
    }
}

/// Returns the form that agrees with a number.
pub(crate) fn agree(n: usize, one: &'static str, many: &'static str) -> &'static str {
    if n == 1 { one } else { many }
}

/// `it`, `them`
pub(crate) fn them(n: usize) -> &'static str {
    agree(n, "it", "them")
}

/// The advice on pods of others that the selector matches.
pub(crate) const APART: &str =
    "Label the other pods apart, or recreate the target with another selector.";

/// Returns the first of some names, and the number of the others.
pub(crate) fn first_of<N: AsRef<str>>(names: &[N]) -> String {
    let first = names.first().map_or("", AsRef::as_ref);
    match names.len() {
        0 | 1 => first.to_owned(),
        all => format!("{first} and {} more", all - 1),
    }
}

/// Returns the names of some pods.
pub(crate) fn pod_names<'p>(pods: impl IntoIterator<Item = &'p Pod>) -> Vec<Box<str>> {
    pods.into_iter().map(|pod| pod.name.clone()).collect()
}

/// Borrows the names of some pods.
pub(crate) fn names_of(pods: &[Box<str>]) -> Vec<&str> {
    pods.iter().map(|pod| &**pod).collect()
}

/// Returns the first few of some names.
pub(crate) fn names<N: AsRef<str>>(names: &[N]) -> String {
    first_few(names, 3)
}

/// Returns the items to show, and the rest: of those of which there may be a thousand, the first five are shown, or all
/// if only one would be left.
pub(crate) fn few<T>(items: &[T], may_be_many: impl Fn(&T) -> bool) -> (Vec<&T>, Vec<&T>) {
    const SHOWN: usize = 5;
    let all = items.iter().filter(|it| may_be_many(it)).count();
    let mut numbers = 0..;
    items
        .iter()
        .partition(|it| !may_be_many(it) || all <= SHOWN + 1 || numbers.next() < Some(SHOWN))
}

impl About<'_> {
    pub(crate) fn labels(&self, metrics: &[usize]) -> String {
        names(
            &metrics
                .iter()
                .map(|metric| self.label(*metric))
                .collect::<Vec<_>>(),
        )
    }

    /// Returns a command that gives a metric another target.
    pub(crate) fn patch_target(&self, metric: usize, target: MetricTarget) -> Option<Command> {
        let mut spec = self.spec(metric).clone();
        *spec.target_mut()? = target;
        self.patch_metric(metric, &spec)
    }

    /// Returns a command that replaces a metric, and fails if another is in its place since.
    pub(crate) fn patch_metric(&self, metric: usize, other: &MetricSpec) -> Option<Command> {
        self.patch_metrics(&json!([
            self.test_name(metric),
            {"op": "replace", "path": format!("/spec/metrics/{metric}"), "value": other},
        ]))
    }

    /// Returns the operation of a JSON patch that fails it if a metric is no longer at its place.
    pub(crate) fn test_name(&self, metric: usize) -> Value {
        json!({"op": "test", "path": self.path_of_name(metric), "value": self.spec(metric).name()})
    }

    /// Returns the path to the name of a metric in the HPA.
    pub(crate) fn path_of_name(&self, metric: usize) -> String {
        let place = match self.spec(metric).source() {
            MetricSource::Resource(_) => "resource",
            MetricSource::ContainerResource(_) => "containerResource",
            MetricSource::Pods(_) => "pods/metric",
            MetricSource::Object(_) => "object/metric",
            MetricSource::External(_) | MetricSource::Unknown => "external/metric",
        };
        format!("/spec/metrics/{metric}/{place}/name")
    }

    /// Returns a command that replaces a part of a metric, and fails if the metrics have changed since.
    pub(crate) fn replace(&self, path: &str, value: impl Into<Value>) -> Option<Command> {
        let other: Value = value.into();
        let own = json!({"spec": {"metrics": self.hpa().spec.metrics}});
        self.patch_metrics(&json!([
            {"op": "test", "path": path, "value": own.pointer(path)?},
            {"op": "replace", "path": path, "value": other},
        ]))
    }

    /// Returns a command that sends a metrics API the controller's own request.
    pub(crate) fn ask(&self, metric: usize) -> Command {
        let spec = self.spec(metric);
        let scale = self.snapshot().scale.as_ref().ok();
        let pods = scale.map_or("", |scale| scale.selector.as_str());
        let (name, selector) = (segment(spec.name()), spec.selector());
        match spec.source() {
            MetricSource::External(_) => self.raw(spec, &name, &[("labelSelector", &selector)]),
            MetricSource::Pods(_) => self.raw(
                spec,
                &format!("pods/*/{name}"),
                &[("labelSelector", pods), ("metricLabelSelector", &selector)],
            ),
            MetricSource::Object(source) => {
                let object = &source.described_object;
                let of = if object.is_namespace() {
                    "metrics".to_owned()
                } else {
                    let resource = resource_of(object.group(), &object.kind);
                    format!("{resource}/{}", segment(&object.name))
                };
                self.raw(
                    spec,
                    &format!("{of}/{name}"),
                    &[("metricLabelSelector", &selector)],
                )
            }
            _ => self.kubectl_quoted("top", "pods", &format!("-l {}", shell_word(pods))),
        }
    }

    /// Returns a command that asks the API of a metric for a path below the namespace, with selectors.
    fn raw(&self, spec: &MetricSpec, rest: &str, selectors: &[(&str, &str)]) -> Command {
        let path = format!(
            "{}/namespaces/{}/{rest}{}",
            self.path_of(spec.api_group()),
            self.hpa().namespace,
            query(selectors)
        );
        format!("kubectl get --raw {}", shell_word(&path)).into()
    }

    /// Returns the path of a metrics API in the version that the controller asks.
    pub(crate) fn path_of(&self, group: &str) -> String {
        format!(
            "/apis/{group}/{}",
            self.pass.input.surroundings.version_of(group)
        )
    }

    /// `kubectl describe pod NAME -n NAMESPACE`
    pub(crate) fn describe(&self, pod: &str) -> Command {
        self.kubectl_for("describe pod", pod, "")
    }

    /// Returns the selector of the target, quoted for a shell.
    pub(crate) fn selector(&self) -> Option<String> {
        let scale = self.snapshot().scale.as_ref().ok()?;
        Some(shell_word(scale.selector.as_str()))
    }

    /// Returns `kubectl get pods -n NAMESPACE -l SELECTOR`, with the rest after it.
    pub(crate) fn list_pods(&self, rest: &str) -> Option<Command> {
        let selector = self.selector()?;
        Some(self.kubectl_quoted("get", "pods", &format!("-l {selector} {rest}")))
    }
}

/// Returns pods as objects to inspect.
pub(crate) fn pod_objects<N: AsRef<str>>(pods: &[N]) -> Vec<String> {
    pods.iter()
        .map(|name| format!("pod/{}", name.as_ref()))
        .collect()
}
