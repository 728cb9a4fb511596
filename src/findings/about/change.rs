//! The right place for a change: the HPA, the ScaledObject that KEDA creates it from, or the source from which an owner
//! or a tool writes them.

use serde_json::json;

use super::About;
use crate::apimachinery::metadata::OwnerReference;
use crate::apimachinery::names::shell_word;
use crate::apimachinery::quantity::Quantity;
use crate::apimachinery::tool::Tool;
use crate::findings::advice::Advice;
use crate::findings::command::Edited;
use crate::findings::remedy::Remedy;
use crate::findings::scaled_object::{OwnScaledObject, unready};
use crate::findings::{Case, Code, Severity};
use crate::keda;
use crate::numbers::bare_number;
use crate::snapshot::hpa::CrossVersionObjectReference;
use crate::snapshot::surroundings::ScaledObjectSpec;
use crate::words::percent;

impl About<'_> {
    /// Makes advice change the right source: anything that KEDA does not pass on is fixed first, and anything that a
    /// tool or an owner would overwrite is changed there.
    pub(crate) fn correct(&self, advice: Advice, evidence: &mut Vec<String>) -> Advice {
        let mut advice = self.withheld().or_else(|| self.zero()).unwrap_or(advice);
        let mut then = advice.then.and_then(|first| self.after_template(first));
        // The source of the target is named after all that has to be changed there, and before what its pods need.
        if let Some(then) = then.take_if(|_| self.replaced_by_hand().is_none()) {
            advice = advice.and(&then);
        }
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
        if let Some(then) = then {
            advice = advice.and(&then);
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

    /// Returns the advice if a ScaledObject and its HPA have different bounds, which comes before any change of a
    /// bound.
    fn withheld(&self) -> Option<Advice> {
        let field = match self.finding.code() {
            Code::AtMax | Code::AboveMax => "maxReplicas",
            Code::AtMin | Code::BelowMin => "minReplicas",
            _ => return None,
        };
        let owner = self.owner().filter(|_| !self.assumes(field))?;
        let stated = owner.object?.withheld_bound(field, &self.hpa.spec)?;
        let own = keda::field_of(field);
        let advice = self.conflict(owner).unwrap_or_else(|| {
            Remedy::LookAtScaledObject.says(format!(
                "Find out why KEDA does not pass on {own} {stated} of {owner}."
            ))
        });
        Some(advice.with(self.describe_scaled_object(owner)))
    }

    /// Returns the advice on a metric that is exactly 0 while the pods are busy, which comes before any advice that
    /// makes fewer pods more likely.
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
        let hpa = self.hpa;
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

    /// Returns the name of a field where it must be changed, without its path: a ScaledObject has one `behavior`.
    pub(crate) fn field_name<'p>(&self, path: &'p str) -> &'p str {
        match self.owner() {
            Some(_) => keda::field_of(path),
            None => path,
        }
    }

    /// Returns the value of a target for its trigger, if the trigger states it as a number: KEDA reads only the targets
    /// of cpu and memory as quantities.
    pub(crate) fn trigger_number(&self, metric: usize, amount: &Quantity) -> Option<String> {
        let is_number = self.owner().is_some() && !self.spec(metric).is_resource();
        is_number.then(|| bare_number(amount))
    }

    /// Returns the text that gives a metric a target of type AverageValue, to follow `Use`.
    pub(crate) fn average_value(&self, metric: usize, amount: &Quantity) -> String {
        let Some(owner) = self.owner() else {
            return format!("averageValue: {amount}");
        };
        let spec = self.spec(metric);
        let value = self
            .trigger_number(metric, amount)
            .unwrap_or_else(|| amount.to_string());
        if self.is_formula(metric) {
            return format!(
                "metricType: AverageValue and target: {value} in spec.advanced.scalingModifiers of \
                 {owner}"
            );
        }
        let threshold = if keda::is_cron(spec) {
            String::new()
        } else if spec.is_resource() {
            format!(" and metadata.value: {value}")
        } else {
            format!(" and a threshold of {value}")
        };
        let label = spec.short_label();
        format!("metricType: AverageValue{threshold} for {label} in spec.triggers of {owner}")
    }

    /// Returns the text that turns a metric into a ContainerResource metric, to follow `Use`.
    pub(crate) fn container_metric(&self, metric: usize, container: &str) -> String {
        match self.owner() {
            None => format!("a ContainerResource metric for {container}"),
            Some(owner) => format!(
                "metadata.containerName: {container} for {} in spec.triggers of {owner}",
                self.spec(metric).name()
            ),
        }
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

    /// Returns the advice to state the value of a metric that only a candidate has, or of a container that only its
    /// pods have: the value cannot have been observed.
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
        let value = shell_word(&format!("{}=VALUE", spec.flag_name(&[])));
        Some(format!(
            "state the value of {}: --metric {value}",
            spec.short_label()
        ))
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
