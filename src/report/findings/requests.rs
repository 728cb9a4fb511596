//! The words of findings about requests.

use super::{About, Text, Words, names};
use crate::apimachinery::names::shell_word;
use crate::apimachinery::quantity::{Format, Quantity};
use crate::findings::requests::{MissingRequest, Source, Unrequested};
use crate::report::words::{amount, count};

/// The annotations by which the request of an injected container is set: those of its cpu and its memory.
const INJECTORS: [(&str, &str, &str); 4] = [
    ("istio-proxy", "sidecar.istio.io/proxyCPU", "sidecar.istio.io/proxyMemory"),
    (
        "linkerd-proxy",
        "config.linkerd.io/proxy-cpu-request",
        "config.linkerd.io/proxy-memory-request",
    ),
    ("daprd", "dapr.io/sidecar-cpu-request", "dapr.io/sidecar-memory-request"),
    (
        "vault-agent",
        "vault.hashicorp.com/agent-requests-cpu",
        "vault.hashicorp.com/agent-requests-mem",
    ),
];

/// How amounts of a resource are written.
fn format_of(resource: &str) -> Format {
    if resource == "memory" { Format::BinarySI } else { Format::DecimalSI }
}

/// The annotation that sets the request of an injected container.
fn annotation(container: &str, resource: &str) -> Option<&'static str> {
    let (_, cpu, memory) = INJECTORS.into_iter().find(|(name, ..)| *name == container)?;
    match resource {
        "cpu" => Some(cpu),
        "memory" => Some(memory),
        _ => None,
    }
}

impl MissingRequest {
    /// A request of which the highest usage now is the target; none where the usage is not known.
    fn request(&self, about: &About<'_>, container: &Unrequested) -> Option<Quantity> {
        let target = about.spec(self.metric).target()?.average_utilization.filter(|it| *it > 0)?;
        let needed = container.usage?.checked_mul(100)? / i64::from(target);
        let step = match &*self.resource {
            "cpu" => 10,
            "memory" => 1024 * 1024 * 1000,
            _ => 1000,
        };
        let rounded = (needed / step + 1).checked_mul(step)?;
        Some(Quantity::from_milli(rounded, format_of(&self.resource)).canonicalized())
    }

    fn command(&self, about: &About<'_>, lacking: &Unrequested) -> Option<String> {
        let namespace = about.namespace();
        let container = shell_word(&lacking.container);
        let (target, resource) = (about.target(), &self.resource);
        match &lacking.source {
            Source::Template => {
                let request = self.request(about, lacking)?;
                Some(format!(
                    "kubectl set resources {target} {namespace} -c {container} \
                     --requests={resource}={request}"
                ))
            }
            Source::Injected => {
                let annotation = annotation(&lacking.container, resource)?;
                let request = self.request(about, lacking)?.to_string();
                let patch = serde_json::json!({"spec": {"template": {"metadata": {
                    "annotations": {annotation: request}}}}});
                let patch = shell_word(&patch.to_string());
                Some(format!("kubectl patch {target} {namespace} --type=merge -p {patch}"))
            }
            Source::Foreign { .. } | Source::Unknown => None,
        }
    }
}

impl Words for MissingRequest {
    fn text(&self, about: &About<'_>) -> Text {
        let Self { metric, resource, containers, instead } = self;
        let label = about.label(*metric);
        let whose = |it: &Unrequested| {
            let (container, pods) = (&it.container, names(&it.pods));
            let usage = it.usage.map_or_else(String::new, |usage| {
                format!(", which uses up to {}", amount(usage, format_of(resource)))
            });
            let target = about.hpa().reference();
            match &it.source {
                Source::Template => {
                    format!(
                        "Container {container}{usage}, in {pods}: it is in the template of {target}."
                    )
                }
                Source::Injected => format!(
                    "Container {container}{usage}, in {pods}: it is not in the template of {target}, so it was \
                     injected."
                ),
                Source::Foreign { owner: Some(owner) } => format!(
                    "Container {container}{usage}, in {pods}: the pod belongs to {owner}, not to {target}."
                ),
                Source::Foreign { owner: None } => {
                    format!("Container {container}{usage}, in {pods}: no object controls the pod.")
                }
                Source::Unknown => format!("Container {container}{usage}, in {pods}."),
            }
        };
        let mut evidence: Vec<String> = containers.iter().map(whose).collect();
        if let (Some(container), Some(without)) = (instead, about.without()) {
            evidence.push(format!("With a ContainerResource metric for {container}: {without}."));
        } else if let Some(without) = about.without() {
            evidence.push(format!("Without these pods: {without}."));
        }
        let first = containers.first();
        let named: Vec<&str> = containers.iter().map(|it| &*it.container).collect();
        let annotated = |it: &Unrequested| annotation(&it.container, resource);
        let advice = match first.map(|it| (&it.source, annotated(it), instead)) {
            Some((Source::Injected, Some(annotation), _)) => {
                format!("Set the annotation {annotation} in the template of the target.")
            }
            Some((Source::Injected, None, Some(container))) => {
                format!("Use a ContainerResource metric for {container}.")
            }
            Some((Source::Injected, None, None)) => {
                format!("Let the injector set a {resource} request for {}.", names(&named))
            }
            Some((Source::Foreign { .. }, ..)) => {
                "Give the pods of the target labels of their own, so that no others match."
                    .to_owned()
            }
            _ => format!("Set a {resource} request for {}.", names(&named)),
        };
        let mut pods: Vec<&str> =
            containers.iter().flat_map(|it| it.pods.iter().map(|pod| &**pod)).collect();
        pods.sort_unstable();
        pods.dedup();
        let effect = match about.finding.explains {
            true => "so nothing is scaled",
            false => "so the metric has no say",
        };
        let these = match &named[..] {
            [one] => format!("container {one}"),
            several => count(several.len(), "container"),
        };
        Text {
            summary: format!(
                "{label} is a share of the requests, and {these} in {} has none, {effect}",
                count(pods.len(), "pod")
            ),
            evidence,
            advice,
            commands: containers.iter().filter_map(|it| self.command(about, it)).collect(),
            objects: pods.iter().map(|name| format!("pod/{name}")).collect(),
        }
    }
}
