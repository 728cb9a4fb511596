//! The assumptions of a pass in a command that assumes something else as well. A new flag replaces assumptions that
//! overlap with it, however they are spelled, and a new request leaves the pods' usage as it is.

use std::collections::HashSet;

use super::difference::{PathStep, overlap, target_path};
use super::metric::alone;
use super::named::split;
use super::patch::{NewTarget, Patch, TARGETS};
use super::pods::of_target;
use super::requests::TypedRequest;
use super::spec::SET;
use super::typed::Assigned;
use super::values::set_alone;
use crate::apimachinery::names::{shell_word, shell_words};
use crate::engine::decision::Group;
use crate::error::Error;
use crate::pass::Pass;
use crate::snapshot::Snapshot;
use crate::snapshot::input::Input;
use crate::whatif::unit;
use crate::whatif::value::AssumedValue;

/// A flag of `predict` with its value, which is empty if the flag includes it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RepeatedFlag {
    name: String,
    value: String,
}

/// A part of what a flag sets, with the flag that sets only this part.
struct FlagPart {
    path: Vec<PathStep>,
    flag: RepeatedFlag,
}

/// Returns flags of `predict` with the assumptions of a pass that they do not replace.
pub(crate) fn repeat_assumed(own: &str, pass: &Pass) -> String {
    let input = &pass.input;
    let words = shell_words(own);
    let mut new: Vec<FlagPart> = words
        .chunks_exact(2)
        .map(|pair| RepeatedFlag::new(&pair[0], &pair[1]))
        .flat_map(|flag| flag.parts(input))
        .collect();
    let resources: Vec<String> = new.iter().filter_map(FlagPart::requested).collect();
    let assumed: Vec<RepeatedFlag> = input
        .command_flags
        .assumed
        .iter()
        .map(RepeatedFlag::of)
        .collect();
    // A new request is for the first pass, before assumed requests that come at a time.
    let is_later = !resources.is_empty() && assumed.iter().any(|flag| flag.name == "--at");
    let mut kept = Vec::new();
    for flag in &assumed {
        if is_later && ["--at", "--request"].contains(&&*flag.name) {
            continue;
        }
        for left in flag.clone().beside(&mut new, input) {
            let mut amounts = resources.iter();
            let amount = amounts.find_map(|it| left.as_amount(it, &assumed, pass));
            kept.push(amount.unwrap_or(left));
        }
    }
    let flags = new.into_iter().map(|part| part.flag).chain(kept);
    let texts: Vec<String> = flags.map(|flag| flag.text()).collect();
    texts.join(" ")
}

impl FlagPart {
    /// Returns the resource, if the part is a request.
    fn requested(&self) -> Option<String> {
        match &self.path[..] {
            [PathStep::Name(flag), PathStep::Name(resource), _] if flag == "--request" => {
                Some(resource.clone())
            }
            _ => None,
        }
    }
}

impl RepeatedFlag {
    fn new(name: &str, value: &str) -> Self {
        Self {
            name: name.to_owned(),
            value: value.to_owned(),
        }
    }

    /// Reads an assumed flag, whose value is quoted for a shell.
    fn of((name, value): &(&'static str, String)) -> Self {
        Self::new(name, &shell_words(value).concat())
    }

    fn text(&self) -> String {
        match &*self.value {
            "" => self.name.clone(),
            value => format!("{} {}", self.name, shell_word(value)),
        }
    }

    /// Returns the parts of what the flag sets. Fields of the spec keep their paths.
    fn parts(self, input: &Input) -> Vec<FlagPart> {
        if self.name == "--request"
            && let Ok(parts) = self.requests(input)
        {
            return parts;
        }
        let name = |text: &str| PathStep::Name(text.to_owned());
        let path = match (&*self.name, self.patch(&input.snapshot)) {
            (_, Ok(Some(patch))) => patch.path,
            _ => {
                let subject = self.value.rsplit_once('=');
                vec![name(&self.name), name(subject.map_or("", |(own, _)| own))]
            }
        };
        vec![FlagPart { path, flag: self }]
    }

    /// Returns the requests that the flag sets, each of one container or of the pods as a whole.
    fn requests(&self, input: &Input) -> Result<Vec<FlagPart>, Error> {
        let typed = TypedRequest::read(&self.value)?;
        let all = typed.of_pods(input, &of_target(&input.snapshot)?)?;
        let parts = all.into_iter().map(|own| {
            let container = own.container.as_deref().unwrap_or_default();
            let steps = ["--request", &*own.resource, container];
            let prefix = own
                .container
                .iter()
                .map(|it| format!("{it}="))
                .collect::<String>();
            FlagPart {
                path: steps.map(|step| PathStep::Name(step.to_owned())).into(),
                flag: Self::new(
                    "--request",
                    &format!("{prefix}{}={}", own.resource, own.text),
                ),
            }
        });
        Ok(parts.collect())
    }

    /// Returns the field of the spec that the flag sets, with its value; `None` if it sets none.
    fn patch(&self, snapshot: &Snapshot) -> Result<Option<Patch>, Error> {
        if self.name == "--target" {
            return self.target(snapshot).map(Some);
        }
        let text = Patch::set_by(&self.name, &self.value);
        text.map(|text| Patch::read(&text, SET)).transpose()
    }

    fn target(&self, snapshot: &Snapshot) -> Result<Patch, Error> {
        let (wanted, text) = split(&self.value, &self.text(), TARGETS)?;
        let place = wanted.place(snapshot)?;
        let mut metric = snapshot.hpa.spec.metrics[place].clone();
        NewTarget::read(text, &self.text())?.set(&mut metric, &self.value)?;
        let value = serde_json::to_value(metric.target())
            .map_err(|e| Error::failed(format!("failed to write the target: {e}")))?;
        Ok(Patch::of(target_path(&metric, place), value))
    }

    /// Returns what is left of the flag along with new ones. New flags that set something inside a field that it sets
    /// are merged into it.
    fn beside(self, new: &mut Vec<FlagPart>, input: &Input) -> Vec<Self> {
        let snapshot = &input.snapshot;
        if self.name == "--set"
            && let Ok(Some(mut patch)) = self.patch(snapshot)
        {
            let count = new.len();
            new.retain(|part| {
                let own = part.flag.patch(snapshot).ok().flatten();
                !own.is_some_and(|own| patch.include(own))
            });
            if new.len() < count {
                let value = format!("{}={}", patch.item, patch.value);
                return vec![Self::new("--set", &value)];
            }
        }
        let mut parts = self.clone().parts(input);
        let count = parts.len();
        parts.retain(|part| !new.iter().any(|own| overlap(&own.path, &part.path)));
        if parts.len() == count {
            return vec![self];
        }
        parts.into_iter().map(|part| part.flag).collect()
    }

    /// Returns the flag with an amount in place of its value, if the value is a share of the requests for this
    /// resource: the average over the counted pods, because the controller compares the sum of their usage with the sum
    /// of their requests. Pods whose whole usage one of the `assumed` flags sets are left out.
    fn as_amount(&self, resource: &str, assumed: &[Self], pass: &Pass) -> Option<Self> {
        let assigned = Assigned::of_flag(&self.name, &self.value).ok()??;
        let Assigned {
            pod, wanted, text, ..
        } = &assigned;
        if !matches!(assigned.value, AssumedValue::Share(_)) || !wanted.is_of_resource(resource) {
            return None;
        }
        let snapshot = &pass.input.snapshot;
        let unchanged = &pass.input.as_observed().hpa.spec.metrics;
        let found = wanted.find_in_run(&[], unchanged, snapshot, None, None, &self.name);
        let meant = found.ok()??;
        let (place, container) = (meant.first(), meant.spec.container());
        let own: HashSet<String> = assumed
            .iter()
            .filter_map(|flag| flag.pod_with_all(resource, container))
            .collect();
        // The pass may have ended before the metric.
        let metric = snapshot.hpa.spec.metrics[place].clone();
        let probed = alone(snapshot, place, metric);
        let rows = probed.metric(0)?.pods.iter();
        let counted: HashSet<&str> = rows
            .filter(|row| row.group == Group::Ready)
            .map(|row| &*snapshot.pods[row.pod as usize].name)
            .collect();
        let decided: HashSet<&str> = counted
            .iter()
            .filter(|name| !own.contains(**name))
            .copied()
            .collect();
        let pods = match pod {
            Some(pod) => HashSet::from([&**pod]),
            None if decided.is_empty() => counted,
            None => decided,
        };
        let mut without_others = snapshot.clone();
        set_alone(&mut without_others, &assigned, &meant).ok()?;
        let items = without_others.pod_metrics.iter();
        let used: Vec<i128> = items
            .filter(|item| pods.contains(&*item.name))
            .filter_map(|item| item.usage(resource, container))
            .map(i128::from)
            .collect();
        let sum: i128 = used.iter().sum();
        let average = i64::try_from(sum.checked_div(used.len() as i128)?).ok()?;
        let amount = unit::stated(resource, average);
        let named = self.value.strip_suffix(&**text)?;
        Some(Self::new(&self.name, &format!("{named}{amount}")))
    }

    /// Returns the pod for which the flag sets a value of a resource in all containers, or in the container that is
    /// meant.
    fn pod_with_all(&self, resource: &str, container: Option<&str>) -> Option<String> {
        let Assigned { pod, wanted, .. } = Assigned::of_flag(&self.name, &self.value).ok()??;
        let own = wanted.container.as_deref();
        let is_part = own.is_some() && own != container;
        pod.filter(|_| wanted.is_of_resource(resource) && !is_part)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use serde_json::json;

    use super::repeat_assumed;
    use crate::apimachinery::names::{shell_word, shell_words};
    use crate::args::{Cli, Verb};
    use crate::build;
    use crate::pass::Pass;
    use crate::saved::testing::input;
    use crate::whatif::overrides::Assumptions;

    fn flags(text: &str) -> Vec<(&'static str, String)> {
        let mut flags: Vec<(&'static str, String)> = Vec::new();
        for word in shell_words(text) {
            match flags.last_mut() {
                Some((_, value)) if !word.starts_with("--") => *value = shell_word(&word),
                _ => flags.push((word.leak(), String::new())),
            }
        }
        flags.retain(|(flag, _)| !flag.is_empty());
        flags
    }

    /// Returns a pass with targets for cpu, a queue and the memory of app, and pods that have the containers app and
    /// proxy.
    fn pass() -> Pass {
        let queue = build::external("queue{q=a}", &build::average("5"));
        let memory = build::resource_of("memory", "app", &build::average("1Gi"));
        let metrics = [
            build::resource("cpu", &build::utilization(50)),
            queue,
            memory,
        ];
        let containers = [
            build::requesting("app", "100m"),
            build::requesting("proxy", "100m"),
        ];
        let patch = json!({"spec": {"containers": containers}});
        let usage = |name: &str, cpu: &str| {
            let memory = if name == "app" { "64Mi" } else { "16Mi" };
            json!({"name": name, "usage": {"cpu": cpu, "memory": memory}})
        };
        let mut items = vec![
            build::hpa(&json!({"maxReplicas": 20, "metrics": metrics})),
            build::scale(2),
            build::state(&json!({})),
        ];
        for (name, cpu) in [("web-0", "600m"), ("web-1", "300m")] {
            let used = json!({"containers": [usage("app", cpu), usage("proxy", cpu)]});
            items.push(build::with(build::pod(name), &patch));
            items.push(build::with(build::pod_metrics(name, "1m"), &used));
        }
        Pass::run(input(&items).unwrap())
    }

    #[test]
    fn a_flag_replaces_what_it_overlaps() {
        let mut pass = pass();
        for (assumed, own, want) in [
            // The same in the same notation, and in another one.
            ("", "", ""),
            ("--max 8 --min 2", "", "--max 8 --min 2"),
            ("--max 8 --min 2", "--max 9", "--max 9 --min 2"),
            ("--set maxReplicas=8", "--max 9", "--max 9"),
            ("--set spec.maxReplicas=8", "--max 9", "--max 9"),
            (
                "--replicas +1",
                "--replicas 4 --for 5m",
                "--replicas 4 --for 5m",
            ),
            (
                "--target 'queue{q=a}=5' --target cpu=60%",
                "--target 'queue{q=a}=11'",
                "--target 'queue{q=a}=11' --target cpu=60%",
            ),
            // A part of it, and what it is a part of.
            (
                "--set 'metrics[0].resource.target.averageUtilization=60' --max 8",
                "--target cpu=70%",
                "--target cpu=70% --max 8",
            ),
            (
                r#"--set 'behavior={"scaleUp":{"tolerance":0.5}}'"#,
                "--set behavior.scaleUp.selectPolicy=Max --max 9",
                r#"--max 9 --set 'behavior={"scaleUp":{"selectPolicy":"Max","tolerance":0.5}}'"#,
            ),
            (
                "--set behavior=null",
                "--set behavior.scaleUp.tolerance=0.1",
                r#"--set 'behavior={"scaleUp":{"tolerance":0.1}}'"#,
            ),
            // Requests, and what the pods use.
            (
                "--request app=cpu=500m --request app=memory=1Gi --at 5m",
                "--request app=cpu=1100m",
                "--request app=cpu=1100m",
            ),
            (
                "--request app=cpu=500m --request app=memory=1Gi",
                "--request app=cpu=1100m",
                "--request app=cpu=1100m --request app=memory=1Gi",
            ),
            (
                "--request app=memory=1Gi --at 5m",
                "--max 9",
                "--max 9 --request app=memory=1Gi --at 5m",
            ),
            (
                "--request cpu=+20%",
                "--request app=cpu=1100m",
                "--request app=cpu=1100m --request proxy=cpu=+20%",
            ),
            (
                "--cpu 600% --memory 50% --pod web-1:app=cpu=600% --metric 'queue{q=a}=9'",
                "--request app=cpu=1100m",
                "--request app=cpu=1100m --cpu 1200m --memory 50% --pod web-1:app=cpu=600m --metric 'queue{q=a}=9'",
            ),
            (
                "--cpu +600%",
                "--request app=cpu=1",
                "--request app=cpu=1 --cpu +600%",
            ),
            (
                "--cpu 600% --validate=warn",
                "--max 9",
                "--max 9 --cpu 600% --validate=warn",
            ),
        ] {
            pass.input.command_flags.assumed = flags(assumed);
            assert_eq!(repeat_assumed(own, &pass), want, "{assumed} with {own}");
        }
    }

    /// Returns the pass on a state that these flags change.
    fn assuming(pass: &Pass, flags: &str) -> Pass {
        let words = shell_words(flags);
        let line = ["kubectl-hpa", "predict"].map(str::to_owned);
        let Verb::Predict(args) = Cli::parse_from(line.into_iter().chain(words)).verb else {
            panic!("{flags}: another verb");
        };
        let assumed = Assumptions::read(&args.overrides).unwrap();
        let (input, _) = assumed.apply(pass.input.clone(), &pass.decision).unwrap();
        Pass::run(input)
    }

    #[test]
    fn a_new_request_leaves_the_usage_as_it_is() {
        let plain = pass();
        for (assumed, amounts) in [
            ("--cpu 450%", "--cpu 900m"),
            ("--cpu app=450%", "--cpu app=450m"),
            (
                "--cpu 450% --pod web-1:cpu=1000m",
                "--cpu 900m --pod web-1:cpu=1000m",
            ),
            (
                "--cpu 450% --pod web-0:app=cpu=50m --pod web-1:app=cpu=50m",
                "--cpu 900m --pod web-0:app=cpu=50m --pod web-1:app=cpu=50m",
            ),
            (
                "--cpu 450% --pod web-0:app=cpu=50% --pod web-1:app=cpu=50m",
                "--cpu 900m --pod web-0:app=cpu=50m --pod web-1:app=cpu=50m",
            ),
            (
                "--cpu app=450% --pod web-0:proxy=cpu=50m --pod web-1:proxy=cpu=50m",
                "--cpu app=450m --pod web-0:proxy=cpu=50m --pod web-1:proxy=cpu=50m",
            ),
            (
                "--cpu 300% --pod web-0:cpu=100m --pod web-1:cpu=200m",
                "--cpu 600m --pod web-0:cpu=100m --pod web-1:cpu=200m",
            ),
            // At a maximum below its replicas, the pass looks at no metric.
            ("--max 1 --cpu 450%", "--cpu 900m --max 1"),
            (
                "--request app=cpu=200m --cpu 450%",
                "--cpu 1350m --request app=cpu=200m",
            ),
        ] {
            let before = assuming(&plain, assumed);
            let repeated = repeat_assumed("--request proxy=cpu=800m", &before);
            let after = assuming(&plain, &repeated);
            let used = |pass: &Pass| pass.input.snapshot.pod_metrics.clone();
            assert_eq!(used(&after), used(&before), "{assumed}: {repeated}");
            assert_eq!(repeated, format!("--request proxy=cpu=800m {amounts}"));
        }
    }
}
