//! The finding `terminating-pods`.

use super::{filled, pod_names};
use crate::findings::prelude::*;

/// Ready pods that are being deleted still count in Object and External metrics with a `Value` target.
///
/// Use an `AverageValue` target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminatingPods {
    /// These pods, by name.
    pub pods: Vec<Box<str>>,
    /// The first such metric, by index in the spec.
    pub metric: usize,
    /// The time by which the last of them should be gone.
    pub last: Timestamp,
}

impl Kind for TerminatingPods {
    fn find(case: &Case<'_>) -> Option<Finding> {
        let mut totals = case.metrics().filter(|step| step.is_total());
        let (metric, pods) = totals.find_map(|step| {
            let pods: Vec<&Pod> = step
                .ready_rows()
                .map(|row| case.pod_of(row))
                .filter(|pod| pod.deletion_timestamp.is_some())
                .collect();
            (!pods.is_empty()).then_some((step.index, pods))
        })?;
        let last = pods.iter().filter_map(|pod| pod.deletion_timestamp).max()?;
        let pods = pod_names(pods);
        let facts = TerminatingPods { pods, metric, last };
        let without = case.without_pods(|pod| pod.deletion_timestamp.is_some());
        Some(case.weigh(facts, without, Severity::Info))
    }

    fn summary(&self, about: &About<'_>) -> String {
        let pods = self.pods.len();
        format!(
            "{} still {} as ready for {}{}",
            count(pods, "terminating pod"),
            one_or_many(pods, "counts", "count"),
            about.label(self.metric),
            about.cost()
        )
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let pods = self.pods.len();
        let mut evidence = Vec::from_iter(filled(about, self.metric));
        evidence.push(format!(
            "{} {} among them, due to be gone by {}: {}.",
            count(pods, "terminating pod"),
            one_or_many(pods, "is", "are"),
            future(about.now(), self.last),
            names(&self.pods)
        ));
        evidence.extend(about.otherwise(&format!("Without {}", them(pods))));
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        Remedy::EndSooner
            .says("Use an AverageValue target, which does not depend on pods.")
            .with_all(about.list_pods(""))
    }

    fn pods(&self) -> Vec<&str> {
        names_of(&self.pods)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build;
    use crate::findings::pods::testing::{of_job, ready};
    use crate::findings::testing::{external, table, with_pod};

    #[test]
    fn terminating_pods() {
        let queue = |target: &_| external("queue", target, "20", 3);
        let deleted = json!({"metadata": {"deletionTimestamp": "2026-11-21T06:00:20Z"}});
        let unready = ready("False", "2026-11-21T05:59:00Z");
        let value = queue(&build::value("10"));
        let terminates = with_pod(&value, "web-2", &deleted);
        let average = queue(&build::average("10"));
        let states = [
            ("stay", value.clone()),
            ("count", terminates.clone()),
            ("count, of a Job", of_job(&terminates, "web-2")),
            ("are not ready", with_pod(&terminates, "web-2", &unready)),
            (
                "make no difference to an average",
                with_pod(&average, "web-2", &deleted),
            ),
        ];
        insta::assert_snapshot!(table(Code::TerminatingPods, states), @r"
        stay: none
        count: warning, explains, without it 4 -> 4
            1 terminating pod still counts as ready for queue: 6 replicas instead of 4
            - queue multiplies its ratio of 2 by 3 ready pods.
            - 1 terminating pod is among them, due to be gone by 06:00:20Z (in 20s): web-2.
            - Without it: 4 replicas.
            > Use an AverageValue target, which does not depend on pods.
            $ kubectl get pods -n default -l app=web
            @ pod/web-2
        count, of a Job: warning, explains, follows foreign-pods, without it 4 -> 4
            1 terminating pod still counts as ready for queue: 6 replicas instead of 4
            - queue multiplies its ratio of 2 by 3 ready pods.
            - 1 terminating pod is among them, due to be gone by 06:00:20Z (in 20s): web-2.
            - Without it: 4 replicas.
            > Follow the advice of foreign-pods.
            @ pod/web-2
        are not ready: none
        make no difference to an average: none
        ");
    }
}
