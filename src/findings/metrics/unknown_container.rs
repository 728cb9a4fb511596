//! The finding `unknown-container`.

use super::{failed, running_containers};
use crate::apimachinery::names::nearest;
use crate::findings::prelude::*;

/// A ContainerResource metric names a container that no pod has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownContainer {
    /// The index of the metric in the spec, from 0.
    pub metric: usize,
    /// The container that it names.
    pub container: String,
    /// The containers that the pods have.
    pub known: Vec<String>,
    /// The one that was probably meant.
    pub near: Option<String>,
}

impl Kind for UnknownContainer {
    type Hits = Vec<Finding>;

    const CODE: &'static str = "unknown-container";
    const WHEN: &'static str = "A ContainerResource metric names a container that no pod has.";
    const REMEDY: &'static str = "Use the name of a container of the pods.";
    const RANK: Rank = Rank::Broken;
    const IS: &'static [Aspect] = &[Aspect::OfMetrics, Aspect::Lasts];

    fn find(case: &Case<'_>) -> Self::Hits {
        let facts = |step: &MetricStep| {
            let container = step.container.clone()?;
            let mut known: Vec<String> = Vec::new();
            for name in case.pods().flat_map(running_containers) {
                if !known.iter().any(|known| known == name) {
                    known.push(name.to_owned());
                }
            }
            if known.is_empty() || known.contains(&container) {
                return None;
            }
            let near = nearest(&container, known.iter().map(|it| &**it)).map(str::to_owned);
            Some(UnknownContainer {
                metric: step.index,
                container,
                known,
                near,
            })
        };
        let errors = case.metrics().filter(|step| step.is_failed());
        errors
            .filter_map(facts)
            .map(|facts| failed(case, facts))
            .collect()
    }

    fn failed_metrics(&self) -> Vec<usize> {
        vec![self.metric]
    }

    fn text(&self, about: &About<'_>) -> Text {
        let Self {
            metric,
            container,
            known,
            near,
        } = self;
        let path = format!("/spec/metrics/{metric}/containerResource/container");
        let command = match near {
            Some(near) => about.replace(&path, &**near),
            None => about.list_pods("-o jsonpath='{.items[*].spec.containers[*].name}'"),
        };
        Text {
            summary: format!("no pod has a container {container}, {}", about.effect("it")),
            evidence: vec![format!("The containers of the pods: {}.", list(known))],
            advice: match near {
                Some(near) if about.hpa().scaled_object().is_some() => Remedy::UseContainer
                    .says(format!("Use {}.", about.container_metric(*metric, near))),
                Some(near) => Remedy::UseContainer.says(format!("Use the container {near}.")),
                None => Remedy::NameContainer.says("Use the name of one of the containers."),
            },
            commands: command.into_iter().collect(),
            objects: about.own(),
        }
    }
}
