//! The finding `starting-pods`.

use super::{among, filled, is_starting, is_young, pod_names};
use crate::engine::decision::{Group, PodRow};
use crate::findings::path::WINDOWS;
use crate::findings::prelude::*;
use crate::words::metric_format;

/// Pods that have only just started, or are not ready yet, change the answer: they use much more than the other pods, or
/// the metric counts them, or assumes a value for them, although they are not ready.
///
/// Add a startup probe, or lengthen the scale-up stabilization window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartingPods {
    /// These pods, by name.
    pub pods: Vec<Box<str>>,
    /// The start of the oldest of them.
    pub since: Timestamp,
    /// The metric that counts the pods, by index in the spec.
    pub metric: usize,
    /// The way in which the pods count.
    pub how: Starting,
}

impl Kind for StartingPods {
    fn find(case: &Case<'_>) -> Option<Finding> {
        let (step, (pods, how)) = case.metrics().find_map(|step| {
            let found = not_ready_yet(case, step).or_else(|| hot(case, step))?;
            Some((step, found))
        })?;
        let without = case.without_pods(among(&pods));
        let answer = case.answer();
        let is_hot = matches!(how, Starting::Hot { .. });
        let asks_for_fewer = answer.proposal < case.decision.replicas_before();
        if without == answer
            || without.proposal.is_none()
            // Pods with high usage can only raise the proposal.
            || is_hot && (asks_for_fewer || answer.proposal < without.proposal)
        {
            return None;
        }
        let since = pods
            .iter()
            .filter_map(|pod| pod.start_time.or(pod.created))
            .min()?;
        let facts = StartingPods {
            pods: pod_names(pods.iter().copied()),
            since,
            metric: step.index,
            how,
        };
        let mut finding = case.weigh(facts, without, Severity::Info);
        if !is_hot && pods.iter().all(|pod| is_young(case, pod)) {
            finding.severity = Severity::Info;
        }
        Some(finding)
    }

    fn summary(&self, about: &About<'_>) -> String {
        let (label, pods) = (about.label(self.metric), self.pods.len());
        let starting = count(pods, "starting pod");
        let effect = about.cost();
        match self.how {
            Starting::NotReady { .. } => {
                let affects = one_or_many(pods, "affects", "affect");
                let first = first_of(&self.pods);
                format!("{starting} ({first}) {affects} {label} although never ready{effect}")
            }
            Starting::Hot { usage, others } => {
                let step = about.step(self.metric);
                let format = step.map(metric_format).unwrap_or_default();
                let (usage, others) = (amount(usage, format), amount(others, format));
                let uses = one_or_many(pods, "uses", "use");
                format!(
                    "{starting} {uses} {usage} of {label} on average, and the others {others}{effect}"
                )
            }
        }
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let since = future(about.now(), self.since);
        let mut evidence = vec![match self.pods.len() {
            1 => format!("Started {since}: {}.", names(&self.pods)),
            _ => format!("The first started {since}: {}.", names(&self.pods)),
        }];
        evidence.extend(about.short_window());
        if self.are_assumed() {
            evidence.extend(filled(about, self.metric));
        }
        evidence.extend(about.otherwise(&format!("Without {}", them(self.pods.len()))));
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        if self.are_assumed() || !raise_proposal(about) {
            return Remedy::WaitForPods
                .waits("until the pods are ready")
                .or("have them start faster")
                .with_all(about.list_pods(""));
        }
        match (self.how, self.lengthen_window(about)) {
            (Starting::NotReady { .. }, Some((delay, command))) => Remedy::LengthenUpWindow
                .says(format!(
                    "Lengthen the scale-up window to {delay}, which delays each scale-up by as much."
                ))
                .with(command),
            (Starting::NotReady { .. }, None) => Remedy::FindUnready
                .says("Find out why the pods take so long to become ready.")
                .with_all(self.pods.first().map(|name| about.describe(name))),
            (Starting::Hot { .. }, Some((delay, command))) => Remedy::LengthenUpWindow
                .says(format!(
                    "Add a startup probe, or a scale-up window of {delay}, delaying each scale-up."
                ))
                .with(command),
            (Starting::Hot { .. }, None) => {
                Remedy::AddStartupProbe.says("Add a startup probe for the warm-up.")
            }
        }
    }

    fn pods(&self) -> Vec<&str> {
        names_of(&self.pods)
    }
}

/// Whether the pods of a finding raise the proposal, so that a longer scale-up window holds it back.
fn raise_proposal(about: &About<'_>) -> bool {
    let without = about.finding.without.and_then(|it| it.proposal);
    without < about.pass.decision.proposal
}

/// The time for which a pod may still be warming up after it became ready.
const WARM: SignedDuration = SignedDuration::from_mins(2);

/// The factor by which a pod that is still warming up exceeds other pods.
const WARMING_UP: f64 = 1.5;

impl StartingPods {
    /// Whether the pods use more than the others.
    pub(crate) fn is_hot(&self) -> bool {
        matches!(self.how, Starting::Hot { .. })
    }

    /// Whether some of them have no metric, so that they count with an assumed value.
    fn are_assumed(&self) -> bool {
        matches!(self.how, Starting::NotReady { are_assumed: true })
    }

    /// Returns a command that lengthens the scale-up window, with its length. At the maximum, nothing is left to hold
    /// back.
    fn lengthen_window(&self, about: &About<'_>) -> Option<(String, Command)> {
        let spec = &about.hpa.spec;
        if about.pass.decision.replicas_before() >= Some(spec.max_replicas) {
            return None;
        }
        let rules = spec.rules(Direction::Up);
        let present = rules.and_then(|it| it.stabilization_window_seconds);
        let seconds = self.longer_window(present.unwrap_or(0), about.now())?;
        let window = json!({ "stabilizationWindowSeconds": seconds });
        let delay = duration(SignedDuration::from_secs(seconds.into()));
        let command = about.patch_spec(&json!({ "behavior": { "scaleUp": window } }))?;
        Some((delay, command))
    }

    /// Returns a scale-up window in seconds that is longer than the current one and than the time since the pods
    /// started, if the API server accepts it.
    fn longer_window(&self, present: i32, now: Timestamp) -> Option<i32> {
        let started = now.duration_since(self.since).as_secs();
        let least = started.max(present.into());
        WINDOWS.into_iter().find(|it| i64::from(*it) > least)
    }
}

/// The way in which pods that are still starting count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Starting {
    /// The pods are not ready, but count anyway.
    NotReady {
        /// Whether some of them have no metric, so that they count with an assumed value.
        are_assumed: bool,
    },
    /// The pods are ready, and use more than the others, on average and in thousandths.
    Hot {
        /// Their usage.
        usage: i64,
        /// The usage of the others.
        others: i64,
    },
}

/// Returns the pods that a metric counts although they are not ready yet: with their usage, as all
/// metrics except CPU do, or, after a while, with an assumed value.
fn not_ready_yet<'p>(case: &Case<'p>, step: &'p MetricStep) -> Option<(Vec<&'p Pod>, Starting)> {
    let counted = step.pods.iter().filter(|row| {
        let pod = case.pod_of(row);
        row.counted.is_some()
            && is_starting(case, pod)
            && match row.group {
                Group::Ready => true,
                Group::Missing => !is_young(case, pod),
                Group::Unready | Group::Ignored => false,
            }
    });
    let rows = Vec::from_iter(counted);
    let are_assumed = rows.iter().any(|row| row.group == Group::Missing);
    let pods: Vec<&Pod> = rows.into_iter().map(|row| case.pod_of(row)).collect();
    (!pods.is_empty()).then_some((pods, Starting::NotReady { are_assumed }))
}

/// Whether a pod started, and became ready, only recently.
fn is_new(case: &Case<'_>, pod: &Pod) -> bool {
    let period = case.snapshot.controller.cpu_initialization_period;
    let ready = pod
        .ready
        .and_then(|ready| case.since(ready.last_transition_time));
    case.age(pod)
        .is_some_and(|age| age < period.saturating_mul(2))
        && ready.is_none_or(|since| since < WARM)
}

/// Returns the usage of pods as a share of their requests, if the rows have requests, or else per pod.
fn share(rows: &[&PodRow]) -> f64 {
    let requested = sum(rows.iter().filter_map(|row| row.request));
    let all = if requested > 0.0 {
        requested
    } else {
        rows.len() as f64
    };
    sum(rows.iter().filter_map(|row| row.value)) / all
}

fn sum(amounts: impl Iterator<Item = i64>) -> f64 {
    amounts.map(|amount| amount as f64).sum()
}

/// Returns the mean usage of some pods, at least one.
fn mean(rows: &[&PodRow]) -> i64 {
    let values = rows.iter().filter_map(|row| row.value);
    let sum: i128 = values.map(i128::from).sum();
    i64::try_from(sum / i128::try_from(rows.len()).unwrap_or(1)).unwrap_or(i64::MAX)
}

/// Returns the ready pods that started only recently, if they use much more than the others.
fn hot<'p>(case: &Case<'p>, step: &'p MetricStep) -> Option<(Vec<&'p Pod>, Starting)> {
    let (new, others): (Vec<&PodRow>, Vec<&PodRow>) = step
        .ready_rows()
        .filter(|row| row.value.is_some())
        .partition(|row| is_new(case, case.pod_of(row)));
    if new.is_empty() || others.is_empty() || share(&new) <= WARMING_UP * share(&others) {
        return None;
    }
    let how = Starting::Hot {
        usage: mean(&new),
        others: mean(&others),
    };
    Some((new.into_iter().map(|row| case.pod_of(row)).collect(), how))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build;
    use crate::findings::pods::testing::{of_job, ready, rps, unready_since, with_pods};
    use crate::findings::testing::{cpu, of_pods, said, state, table, values, with_pod};

    #[test]
    fn starting_pods() {
        let warm = state(&[cpu()], &["50m", "50m", "150m"]);
        let start = "2026-11-21T05:57:00Z";
        let started = |items, since| {
            let pod = build::with(unready_since(start), &ready("True", since));
            with_pod(items, "web-2", &pod)
        };
        let new = |items| started(items, "2026-11-21T05:58:30Z");
        let settled = |items| started(items, "2026-11-21T05:57:10Z");
        let queue = [state(&[rps()], &["1m"; 3]), vec![values("rps", &["15"])]].concat();
        let slow = "2026-11-21T05:45:00Z";
        // 1.5 times one pod is 2; with two more at 0, the ratio is 0.5, and the 3 stay.
        let two = |start| with_pods(&queue, &["web-1", "web-2"], &unready_since(start));
        let counted = of_pods("rps", "10", &["10", "10", "30"]);
        // 32 of 30 is within the tolerance, and 32 of 20 asks for 4.
        let falling = of_pods("rps", "10", &["16", "16", "0"]);
        let unready = |items, start| with_pod(items, "web-2", &unready_since(start));
        // Waiting comes first, as `Advice::of_past` needs it.
        let advice = said(Code::StartingPods, &two(slow)).advice;
        assert_eq!(advice.of_past().text(), "Have them start faster.");
        let states = [
            ("use more, but are old", warm.clone()),
            ("use more", new(&warm)),
            ("use more, of a Job", of_job(&new(&warm), "web-2")),
            (
                "use more, and have been ready for minutes, as a canary",
                settled(&warm),
            ),
            ("use as much", new(&state(&[cpu()], &["80m", "80m", "80m"]))),
            ("have no metrics for long", two(slow)),
            ("have no metrics yet", two(start)),
            ("count without being ready", unready(&counted, slow)),
            ("count before they are ready", unready(&counted, start)),
            ("count and are ready", counted.clone()),
            ("count with less", unready(&falling, start)),
        ];
        insta::assert_snapshot!(table(Code::StartingPods, states), @r#"
        use more, but are old: none
        use more: warning, explains, without it 3 -> 3
            1 starting pod uses 150m of cpu on average, and the others 50m: 5 replicas instead of 3
            - Started 05:57:00Z (3m ago): web-2.
            - Without it: 3 replicas.
            > Add a startup probe, or a scale-up window of 5m, delaying each scale-up.
            $ kubectl patch hpa web -n default --type=merge -p '{"spec":{"behavior":{"scaleUp":{"stabilizationWindowSeconds":300}}}}'
            @ pod/web-2
        use more, of a Job: warning, explains, follows foreign-pods, without it 3 -> 3
            1 starting pod uses 150m of cpu on average, and the others 50m: 5 replicas instead of 3
            - Started 05:57:00Z (3m ago): web-2.
            - Without it: 3 replicas.
            > Follow the advice of foreign-pods.
            @ pod/web-2
        use more, and have been ready for minutes, as a canary: none
        use as much: none
        have no metrics for long: warning, explains, without it 2 -> 3
            2 starting pods (web-1 and 1 more) affect rps although never ready
            - The first started 05:45:00Z (15m ago): web-1 and web-2.
            - rps assumes 2 pods without metrics at 0, which takes its ratio from 1.5 to 0.5.
            - Without them: a proposal of 2, and 3 replicas after stabilization and limits.
            > Wait until the pods are ready, or have them start faster.
            $ kubectl get pods -n default -l app=web
            @ pod/web-1 pod/web-2
        have no metrics yet: none
        count without being ready: warning, explains, without it 3 -> 3
            1 starting pod (web-2) affects rps although never ready: 5 replicas instead of 3
            - Started 05:45:00Z (15m ago): web-2.
            - Without it: 3 replicas.
            > Lengthen the scale-up window to 30m, which delays each scale-up by as much.
            $ kubectl patch hpa web -n default --type=merge -p '{"spec":{"behavior":{"scaleUp":{"stabilizationWindowSeconds":1800}}}}'
            @ pod/web-2
        count before they are ready: info, explains, without it 3 -> 3
            1 starting pod (web-2) affects rps although never ready: 5 replicas instead of 3
            - Started 05:57:00Z (3m ago): web-2.
            - Without it: 3 replicas.
            > Lengthen the scale-up window to 5m, which delays each scale-up by as much.
            $ kubectl patch hpa web -n default --type=merge -p '{"spec":{"behavior":{"scaleUp":{"stabilizationWindowSeconds":300}}}}'
            @ pod/web-2
        count and are ready: none
        count with less: info, explains, without it 4 -> 4
            1 starting pod (web-2) affects rps although never ready: 3 replicas instead of 4
            - Started 05:57:00Z (3m ago): web-2.
            - Without it: 4 replicas.
            > Wait until the pods are ready, or have them start faster.
            $ kubectl get pods -n default -l app=web
            @ pod/web-2
        "#);
        for (since, present, want) in [
            ("2026-11-21T05:57:00Z", 0, Some(300)),
            ("2026-11-21T05:57:00Z", 300, Some(600)),
            ("2026-11-21T05:35:00Z", 0, Some(1800)),
            ("2026-11-21T05:35:00Z", 3600, None),
            ("2026-11-21T05:00:00Z", 0, None),
        ] {
            let pods = StartingPods {
                pods: vec!["web-2".into()],
                since: since.parse().unwrap(),
                metric: 0,
                how: Starting::NotReady { are_assumed: false },
            };
            let now = build::NOW.parse().unwrap();
            assert_eq!(pods.longer_window(present, now), want, "{since} {present}");
        }
    }
}
