//! The finding `unknown-container`.

use super::{failed, has_container, running_containers};
use crate::apimachinery::similar::nearest;
use crate::findings::prelude::*;

/// A ContainerResource metric names a container that neither a pod nor the template of the target has.
///
/// Use the name of a container of the pods or of the template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownContainer {
    /// The index of the metric in the spec, from 0.
    pub metric: usize,
    /// The container that it names.
    pub container: String,
    /// The containers that the pods have.
    pub known: Vec<String>,
    /// The container that was probably meant.
    pub near: Option<String>,
}

impl Kind for UnknownContainer {
    fn find(case: &Case<'_>) -> Vec<Finding> {
        let errors = case.metrics().filter(|step| step.is_failed());
        errors
            .filter_map(|step| Some(failed(case, Self::of(case, step)?)))
            .collect()
    }

    fn failed_metrics(&self) -> Vec<usize> {
        vec![self.metric]
    }

    fn summary(&self, about: &About<'_>) -> String {
        format!(
            "no pod has a container {}, {}",
            self.container,
            about.effect("it")
        )
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let mut evidence = vec![format!(
            "The containers of the pods: {}.",
            list(&self.known)
        )];
        let holder = about.template_holder();
        evidence.extend(
            self.awaited()
                .map(|it| format!("{it} is in the template of {holder} only.")),
        );
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        let Some(near) = &self.near else {
            return Remedy::NameContainer
                .says(match &self.known[..] {
                    [only] => format!("Use the name of the pods' only container, {only}."),
                    _ => "Use the name of one of the containers.".to_owned(),
                })
                .with_all(about.list_pods("-o jsonpath='{.items[*].spec.containers[*].name}'"));
        };
        let used = match about.owner() {
            Some(_) => about.container_metric(self.metric, near),
            None => format!("the container {near}"),
        };
        let advice = Remedy::UseContainer
            .says(format!("Use {used}."))
            .with_all(about.replace_container(self.metric, near));
        match self.awaited().and_then(|_| about.after_template("Then")) {
            Some(then) => advice.and(&then),
            None => advice,
        }
    }
}

impl UnknownContainer {
    /// Returns the container that was probably meant, if only pods created later have it.
    fn awaited(&self) -> Option<&String> {
        self.near.as_ref().filter(|it| !self.known.contains(it))
    }

    fn of(case: &Case<'_>, step: &MetricStep) -> Option<Self> {
        let container = step.container.clone()?;
        let mut known: Vec<String> = Vec::new();
        for name in case.pods().flat_map(running_containers) {
            if !known.iter().any(|known| known == name) {
                known.push(name.to_owned());
            }
        }
        if known.is_empty() || has_container(case, &container) {
            return None;
        }
        let of_template = case.template().into_iter().flat_map(running_containers);
        let all = known.iter().map(String::as_str).chain(of_template);
        let near = nearest(&container, all).map(str::to_owned);
        Some(Self {
            metric: step.index,
            container,
            known,
            near,
        })
    }
}

impl About<'_> {
    /// Returns a command that replaces the container of a metric.
    pub(super) fn replace_container(&self, metric: usize, container: &str) -> Option<Command> {
        let path = format!("/spec/metrics/{metric}/containerResource/container");
        self.replace(&path, container)
    }
}
