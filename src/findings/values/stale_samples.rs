//! The finding `stale-samples`.

use crate::apimachinery::json::SecondsTime;
use crate::findings::prelude::*;
use crate::snapshot::by_name::Names;
use crate::snapshot::{Measurement, Snapshot};

/// Samples are older than both a minute and twice their window, so the pass answers for that time rather than for now;
/// or they are far from the clock of the pass. Values without a window are treated as having one of a minute; metrics
/// of cloud providers are some minutes late.
///
/// Look at the metrics pipeline, or state the time at which the objects were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaleSamples {
    /// The metrics with old samples, by index in the spec.
    pub metrics: Vec<usize>,
    /// The number of old samples.
    pub stale: usize,
    /// The number of samples.
    pub samples: usize,
    /// The end of the newest sample.
    pub newest: Timestamp,
    /// The window of the newest sample, if its API states windows.
    pub window: Option<SignedDuration>,
    /// The newest time in the input, if the clock of the pass may be wrong, rather than the samples.
    pub read: Option<Timestamp>,
}

impl Kind for StaleSamples {
    fn find(case: &Case<'_>) -> Vec<Finding> {
        let snapshot = case.snapshot;
        let mut found: Vec<(&str, StaleSamples)> = Vec::new();
        let doubt = case.pass.input.clock_doubt;
        let read = doubt.and_then(|doubt| doubt.alternative());
        for step in case.metrics().filter(|step| step.proposal().is_some()) {
            let spec = case.spec(step);
            let is_same = |group: &str| spec.is_resource() && group == spec.api_group();
            if let Some((_, facts)) = found.iter_mut().find(|(group, _)| is_same(group)) {
                facts.metrics.push(step.index);
                continue;
            }
            let samples = counted(case, step);
            let old = samples
                .iter()
                .filter(|it| is_old(snapshot, it, read.is_some()));
            let stale: Vec<_> = old.filter_map(|it| Some((it.time?, it.window))).collect();
            let Some(&(newest, window)) = stale.iter().max_by_key(|(time, _)| *time) else {
                continue;
            };
            let facts = StaleSamples {
                metrics: vec![step.index],
                stale: stale.len(),
                samples: samples.len(),
                newest,
                window,
                read,
            };
            found.push((spec.api_group(), facts));
        }
        found
            .into_iter()
            .map(|(_, facts)| facts.weighed(case))
            .collect()
    }

    fn concerns(&self) -> Vec<usize> {
        self.metrics.clone()
    }

    fn summary(&self, about: &About<'_>) -> String {
        let Self { stale, samples, .. } = self;
        let labels = about.labels(&self.metrics);
        let these = if stale == samples {
            format!("all samples of {labels} are")
        } else {
            let are = one_or_many(*stale, "is", "are");
            format!("{stale} of {samples} samples of {labels} {are}")
        };
        let (age, side) = self.age(about.now());
        if self.read.is_some() {
            format!("{these} {age} {side} the clock of the pass")
        } else if stale == samples && about.finding.explains {
            let newest = time(about.now(), self.newest);
            format!("{these} {age} old or older, so the answer is as of {newest}")
        } else {
            format!("{these} {age} old or older")
        }
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let now = about.now();
        let (age, side) = self.age(now);
        let window = self.window.map_or_else(String::new, |window| {
            format!(" Its window is {}.", duration(window))
        });
        vec![format!(
            "The newest of them ends at {}, {age} {side} the time of the pass, {}.{window}",
            time(now, self.newest),
            time(now, now)
        )]
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        let first = self.metrics.first().copied().unwrap_or_default();
        if let Some(read) = self.read {
            let read = SecondsTime(read);
            let advice = format!("State the time at which the objects were read: --now {read}");
            return Remedy::StateInput.says(advice);
        }
        match about.spec(first).api_group() {
            _ if self.window.is_none() && about.finding.severity == Severity::Info => {
                Remedy::Nothing.says("Nothing to do unless they get older: the values of clouds arrive some minutes late.")
            }
            "metrics.k8s.io" => Remedy::FindSamples
                .says("Find out why metrics-server has no newer samples.")
                .with("kubectl describe apiservice v1beta1.metrics.k8s.io"),
            _ => Remedy::FindSamples
                .says("Find out why the adapter has no newer values.")
                .with("kubectl get apiservices"),
        }
    }

    fn objects(&self, _: &About<'_>) -> Vec<String> {
        Vec::new()
    }
}

/// Whether a sample is stale; or far from the clock of the pass, if the clock may be wrong.
fn is_old(snapshot: &Snapshot, sample: &Measurement<'_>, doubts_clock: bool) -> bool {
    let Some(time) = sample.time.filter(|_| doubts_clock) else {
        return snapshot.is_stale(sample);
    };
    let distance = snapshot.now.duration_since(time).abs();
    distance > sample.current_for()
}

/// Returns the samples that a metric counts, if they state their time. Without a stated time, the age is unknown.
fn counted<'c>(case: &'c Case<'_>, step: &MetricStep) -> Vec<Measurement<'c>> {
    let snapshot = case.snapshot;
    let names: Names<&str> = step
        .ready_rows()
        .map(|row| &*case.pod_of(row).name)
        .collect();
    let answer = snapshot.metrics.get(step.index);
    let mut samples = answer.map_or_else(Vec::new, |it| snapshot.measurements(it));
    samples.retain(|sample| sample.pod.is_none_or(|pod| names.contains(pod)));
    samples.retain(|sample| sample.time.is_some());
    samples
}

impl StaleSamples {
    fn weighed(self, case: &Case<'_>) -> Finding {
        /// Pipelines that work may be late by this much, as may those of cloud providers, which state no windows.
        const LATE: SignedDuration = SignedDuration::from_mins(2);
        const LATE_IN_CLOUDS: SignedDuration = SignedDuration::from_mins(5);
        let winner = case.decision.winner();
        let decides = winner.is_some_and(|step| self.metrics.contains(&step.index));
        let late = self.window.map_or(LATE_IN_CLOUDS, |_| LATE);
        let is_late = case.snapshot.now.duration_since(self.newest) <= late;
        if self.read.is_some() || is_late {
            Finding::aside(Severity::Info, self)
        } else if self.stale == self.samples && decides {
            Finding::explaining(Severity::Warning, self)
        } else {
            Finding::aside(Severity::Warning, self)
        }
    }

    /// Returns how far the newest sample is from the time of the pass, and on which side.
    fn age(&self, now: Timestamp) -> (String, &'static str) {
        if self.newest > now {
            (distance(now, self.newest), "after")
        } else {
            (distance(self.newest, now), "before")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build;
    use crate::findings::testing::{cpu, external, only_of, state, table, with};

    #[test]
    fn samples_that_are_old() {
        let fresh = state(&[cpu()], &["50m", "50m"]);
        let time = |seconds: i64| {
            (build::NOW.parse::<Timestamp>().unwrap() - SignedDuration::from_secs(seconds))
                .to_string()
        };
        let at = |seconds| with(&fresh, "PodMetrics", &json!({"timestamp": time(seconds)}));
        let mixed = {
            let mut items = fresh.clone();
            items.last_mut().unwrap()["timestamp"] = json!(time(121));
            items
        };
        // The external API states times, but no windows.
        let external = |seconds: Option<i64>| {
            let mut items = external("queue", &build::average("10"), "10", 1);
            items.last_mut().unwrap()["items"][0]["timestamp"] = json!(seconds.map(time));
            items
        };
        let states = [
            ("more than two minutes", at(121)),
            ("more than a minute", at(61)),
            ("a minute", at(60)),
            // Samples from after the pass show that its time is wrong.
            ("less than nothing", at(-3600)),
            ("an hour, from the external API", external(Some(3600))),
            (
                "more than five minutes, from the external API",
                external(Some(301)),
            ),
            ("five minutes, from the external API", external(Some(300))),
            ("two minutes, from the external API", external(Some(120))),
            ("an unknown time, from the external API", external(None)),
            ("one pod", mixed),
        ];
        // Of samples that are all old, the words do not tell the number.
        for (place, samples) in [(0, 2), (4, 1)] {
            let (about, items) = &states[place];
            let (facts, _) = only_of::<StaleSamples>(items).expect(about);
            assert_eq!((facts.stale, facts.samples), (samples, samples), "{about}");
        }
        insta::assert_snapshot!(table(Code::StaleSamples, states), @r"
        more than two minutes: warning, explains
            all samples of cpu are 2m1s old or older, so the answer is as of 05:57:59Z
            - The newest of them ends at 05:57:59Z, 2m1s before the time of the pass, 06:00:00Z. Its window is 15s.
            > Find out why metrics-server has no newer samples.
            $ kubectl describe apiservice v1beta1.metrics.k8s.io
            @ none
        more than a minute: info, aside
            all samples of cpu are 61s old or older
            - The newest of them ends at 05:58:59Z, 61s before the time of the pass, 06:00:00Z. Its window is 15s.
            > Find out why metrics-server has no newer samples.
            $ kubectl describe apiservice v1beta1.metrics.k8s.io
            @ none
        a minute: none
        less than nothing: info, aside
            all samples of cpu are 60m after the clock of the pass
            - The newest of them ends at 07:00:00Z, 60m after the time of the pass, 06:00:00Z. Its window is 15s.
            > State the time at which the objects were read: --now 2026-11-21T07:00:00Z
            @ none
        an hour, from the external API: warning, explains
            all samples of queue are 60m old or older, so the answer is as of 05:00:00Z
            - The newest of them ends at 05:00:00Z, 60m before the time of the pass, 06:00:00Z.
            > Find out why the adapter has no newer values.
            $ kubectl get apiservices
            @ none
        more than five minutes, from the external API: warning, explains
            all samples of queue are 5m1s old or older, so the answer is as of 05:54:59Z
            - The newest of them ends at 05:54:59Z, 5m1s before the time of the pass, 06:00:00Z.
            > Find out why the adapter has no newer values.
            $ kubectl get apiservices
            @ none
        five minutes, from the external API: info, aside
            all samples of queue are 5m old or older
            - The newest of them ends at 05:55:00Z, 5m before the time of the pass, 06:00:00Z.
            > Nothing to do unless they get older: the values of clouds arrive some minutes late.
            @ none
        two minutes, from the external API: none
        an unknown time, from the external API: none
        one pod: warning, aside
            1 of 2 samples of cpu is 2m1s old or older
            - The newest of them ends at 05:57:59Z, 2m1s before the time of the pass, 06:00:00Z. Its window is 15s.
            > Find out why metrics-server has no newer samples.
            $ kubectl describe apiservice v1beta1.metrics.k8s.io
            @ none
        ");
    }
}
