//! Commands about the objects of a pass that work when pasted.

use serde_json::{Map, Value, json};

use super::About;
use crate::apimachinery::names::shell_word;
use crate::findings::command::{Command, Edited, merge, patch_flags, typed};
use crate::findings::scaled_object::OwnScaledObject;
use crate::keda;
use crate::saved::request;
use crate::snapshot::hpa::{MetricSource, MetricSpec, MetricTarget};
use crate::whatif::MAX_PODS;
use crate::whatif::overrides::{NamedMetric, repeat_assumed};

impl About<'_> {
    /// Returns `kubectl VERB NAME -n NAMESPACE`, with the given verb and the rest after the name.
    pub(crate) fn kubectl(&self, verb: &str, rest: &str) -> Command {
        self.kubectl_for(verb, &self.hpa.name, rest)
    }

    /// Returns `kubectl VERB NAME -n NAMESPACE` for an object of another name in the namespace.
    pub(crate) fn kubectl_for(&self, verb: &str, name: &str, rest: &str) -> Command {
        self.kubectl_quoted(verb, &shell_word(name), rest)
    }

    /// Returns `kubectl VERB NAME -n NAMESPACE` for an object that is already quoted, or for all objects of a kind.
    pub(crate) fn kubectl_quoted(&self, verb: &str, object: &str, rest: &str) -> Command {
        let namespace = self.namespace();
        format!("kubectl {verb} {object} {namespace} {rest}")
            .trim_end()
            .into()
    }

    /// Returns `-n NAMESPACE`.
    pub(crate) fn namespace(&self) -> String {
        format!("-n {}", shell_word(&self.hpa.namespace))
    }

    /// Returns the target as kubectl accepts it: `deployment/web`, `rollout.argoproj.io/web`.
    pub(crate) fn target(&self) -> String {
        typed(&self.hpa.spec.scale_target_ref)
    }

    /// Returns the object that has the pods' template, as `kubectl` accepts it.
    pub(crate) fn template_target(&self) -> String {
        typed(self.template_holder())
    }

    /// `kubectl describe pod NAME -n NAMESPACE`
    pub(crate) fn describe(&self, pod: &str) -> Command {
        self.kubectl_for("describe pod", pod, "")
    }

    /// Returns `kubectl get pods -n NAMESPACE -l SELECTOR`, with the rest after it.
    pub(crate) fn list_pods(&self, rest: &str) -> Option<Command> {
        let selector = self.selector()?;
        Some(self.kubectl_quoted("get", "pods", &format!("-l {selector} {rest}")))
    }

    /// Returns a command that sends the controller's own request to a metrics API.
    pub(crate) fn ask(&self, metric: usize) -> Command {
        let spec = self.spec(metric);
        if spec.identifier().is_some() {
            let path = request::path(self.snapshot, &self.pass.input.surroundings, spec);
            return format!("kubectl get --raw {}", shell_word(&path)).into();
        }
        let scale = self.snapshot.scale.as_ref().ok();
        let pods = scale.map_or("", |scale| scale.selector.as_str());
        self.kubectl_quoted("top", "pods", &format!("-l {}", shell_word(pods)))
    }

    /// Returns the path of a metrics API in the version that the controller asks.
    pub(crate) fn path_of(&self, group: &str) -> String {
        format!(
            "/apis/{group}/{}",
            self.pass.input.surroundings.version_of(group)
        )
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

    /// Returns `kubectl hpa predict NAME …`, with the assumptions of the pass.
    pub(crate) fn predict(&self, flags: &str) -> Command {
        self.kubectl("hpa predict", &repeat_assumed(flags, self.pass))
    }

    /// Returns `kubectl hpa predict NAME … --for TIME`; `None` if the HPA may have more replicas than are played.
    pub(crate) fn predict_for(&self, time: &str, flags: &str) -> Option<Command> {
        let most = self
            .hpa
            .spec
            .max_replicas
            .max(self.pass.decision.replicas_before()?);
        let is_played = usize::try_from(most).is_ok_and(|most| most <= MAX_PODS);
        is_played.then(|| self.predict(format!("{flags} --for {time}").trim_start()))
    }

    /// Returns a hint at a command that shows the effect of a change, to follow advice: ` (predict --max 12)`.
    pub(crate) fn try_it(&self, flags: &str) -> String {
        if self.pass.input.evidence.past.is_some() {
            return String::new();
        }
        format!(" (predict {flags})")
    }

    /// Returns the flags that predict another target of a metric; `None` if flags cannot distinguish it from
    /// others of its name.
    pub(crate) fn target_flags(&self, metric: usize, target: &str) -> Option<String> {
        let spec = self.spec(metric);
        let plain = match spec.container() {
            Some(container) => format!("{container}={}", spec.name()),
            None => spec.name().to_owned(),
        };
        let name = [plain, spec.flag_name(&[])].into_iter().find(|name| {
            let place = NamedMetric::read(name, "").and_then(|it| it.place(self.snapshot));
            place.is_ok_and(|place| place == metric)
        })?;
        Some(format!(
            "--target {}",
            shell_word(&format!("{name}={target}"))
        ))
    }

    /// Returns a hint at the command that predicts another target of a metric, with the command; neither if flags
    /// cannot distinguish the metric from others of its name. The name is only in the command, because long names are
    /// common.
    pub(crate) fn try_target(&self, metric: usize, target: &str) -> (String, Option<Command>) {
        match self.target_flags(metric, target) {
            Some(flags) => (self.try_it("--target"), Some(self.predict(&flags))),
            None => (String::new(), None),
        }
    }

    /// Returns a command that changes fields of the spec; `None` if the running HPA has other values there, for which
    /// the command would be wrong. KEDA reverts changes to its HPAs, so their commands change the ScaledObject.
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
            let mut names = keda::field_of(field).split('.');
            let first = names.next().unwrap_or_default();
            let value = names.rfold(value.clone(), |value, name| json!({ name: value }));
            changed.insert(first.to_owned(), value);
        }
        let patch = merge(&changed.into());
        let command = self.kubectl_for("patch scaledobject", owner.name, &patch);
        Some(command.editing(Edited::ScaledObject))
    }

    /// Returns a command that changes metrics with a JSON patch of the HPA; `None` if the running HPA has other metrics
    /// there. For an HPA of KEDA, the command edits the ScaledObject, whose triggers have nothing in common with
    /// metrics.
    pub(crate) fn patch_metrics(&self, patch: &Value) -> Option<Command> {
        (!self.assumes("metrics")).then(|| match self.owner() {
            Some(owner) => self.edit(owner),
            None => {
                let command = self.kubectl("patch hpa", &patch_flags("json", patch));
                command.editing(Edited::Hpa)
            }
        })
    }

    /// Returns a command that gives a metric another target.
    pub(crate) fn patch_target(&self, metric: usize, target: MetricTarget) -> Option<Command> {
        let mut spec = self.spec(metric).clone();
        *spec.target_mut()? = target;
        self.patch_metric(metric, &spec)
    }

    /// Returns a command that replaces a metric, and fails if another metric has taken its place.
    pub(crate) fn patch_metric(&self, metric: usize, other: &MetricSpec) -> Option<Command> {
        self.patch_metrics(&json!([
            self.test_name(metric),
            {"op": "replace", "path": format!("/spec/metrics/{metric}"), "value": other},
        ]))
    }

    /// Returns a command that replaces a part of a metric, and fails if the metrics have changed since.
    pub(crate) fn replace(&self, path: &str, value: impl Into<Value>) -> Option<Command> {
        let other: Value = value.into();
        let own = json!({"spec": {"metrics": self.hpa.spec.metrics}});
        self.patch_metrics(&json!([
            {"op": "test", "path": path, "value": own.pointer(path)?},
            {"op": "replace", "path": path, "value": other},
        ]))
    }

    /// Returns the operation of a JSON patch that makes the patch fail if a metric is no longer at its place.
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

    /// Returns a command that changes the object that has the template of the pods, with a patch of this type.
    pub(crate) fn patch_template(&self, type_: &str, patch: &Value) -> Command {
        let holder = self.template_target();
        self.kubectl_quoted("patch", &holder, &patch_flags(type_, patch))
            .editing(Edited::Template)
    }
}
