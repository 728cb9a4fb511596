//! Advice keeps what it promises. Each command of each finding is executed on the state in which it is given, the first of
//! its shape as it is printed (`commands`). The engine then runs the pass again on the objects as the command has left
//! them, or on what `predict` assumes: the finding is gone or changes nothing any more, and there is no other trouble.
//! What cannot be played is of a kind that says why (`promise`).

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use kubectl_hpa::apiserver::default::AdmissionRules;
use kubectl_hpa::findings::remedy::Remedy;
use kubectl_hpa::findings::{self, Code, Finding, FindingView, Severity};
use kubectl_hpa::pass::Pass;
use kubectl_hpa::saved;
use kubectl_hpa::snapshot::command_flags::CommandFlags;
use kubectl_hpa::snapshot::input::{Input, Options};
use kubectl_hpa::whatif::overrides::Assumptions;
use serde_json::{Value, json};

use crate::api::json::merge;
use crate::commands::{self, Change, Kubectl, Program, Written, words};
use crate::common::{self, build};
use crate::told::{ToldPass, moments, passes, passes_and, some_moments};

/// The way in which the promise of a kind of advice is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// Its command is played on the state, and the engine runs the pass again: the finding is gone or no longer
    /// changes anything, and there is no other problem.
    Played,
    /// Its commands only show something: they name objects that exist, and change nothing.
    Shown,
    /// It asks for nothing, so nothing may need to be done: the finding is no more than information.
    Quiet,
    /// It cannot be played, for this reason. Its commands are checked like those that only show something.
    Unplayed(&'static str),
}

/// The reason why nothing can be checked about something that is not in the state.
const ELSEWHERE: &str = "what is to be changed is not in the state";
/// The reason why only the cluster shows the effect.
const NEW_PODS: &str = "new pods come about in the cluster";
/// The reason why the new value is unknown.
const UNKNOWN_VALUE: &str = "the value of the metric is unknown";

/// Returns the result of following advice of a kind, and how that is checked.
pub(crate) fn promise(remedy: Remedy) -> (&'static str, Check) {
    use Check::{Played, Quiet, Shown, Unplayed};
    match remedy {
        Remedy::Nothing => ("Nothing has to be done.", Quiet),
        Remedy::Follow => ("The other finding has the advice for both.", Quiet),
        Remedy::PointAt => (
            "The HPA finds the target.",
            Unplayed("the scale of the other object is not in the state"),
        ),
        Remedy::CorrectReference => ("The HPA finds the target.", Shown),
        Remedy::CreateThere => ("The HPA finds the target.", Unplayed(ELSEWHERE)),
        Remedy::LookAtScale => ("It shows the error.", Unplayed(ELSEWHERE)),
        Remedy::LookAtOwner => ("It shows what that is set to.", Unplayed(ELSEWHERE)),
        Remedy::LookAtMetric => ("It shows the values.", Shown),
        Remedy::UseRate => ("The metric follows the load.", Unplayed(UNKNOWN_VALUE)),
        Remedy::PointAtRollout => (
            "The HPA scales what runs.",
            Unplayed("the scale of the other object is not in the state"),
        ),
        Remedy::PermitWrite => ("The scale can be written.", Unplayed(ELSEWHERE)),
        Remedy::LookAtController => ("It shows why.", Shown),
        Remedy::TakeOut => (
            "The replicas are left to the HPA. One reset to 1 can follow, which the evidence says.",
            Unplayed(ELSEWHERE),
        ),
        Remedy::ChangeBounds => ("The pass keeps the replicas that the person set.", Played),
        Remedy::LeaveReplicas => ("Only one of the two scales it.", Unplayed(ELSEWHERE)),
        Remedy::EndPause => ("The pause ends.", Played),
        Remedy::Upgrade => (
            "The field works.",
            Unplayed("the version of the cluster is not in the state"),
        ),
        Remedy::StateFlags => ("The pass agrees with the status.", Played),
        Remedy::SetRequest => ("The metric has a value.", Played),
        Remedy::Annotate => ("The metric has a value.", Played),
        Remedy::UseContainer => (
            "The metric has a value for that container, or proposes what that container needs.",
            Played,
        ),
        Remedy::LetInjector => ("The metric has a value.", Unplayed(ELSEWHERE)),
        Remedy::FindRequest => ("It shows how far the rollout is.", Shown),
        Remedy::Resume => ("The pods are replaced, or created.", Unplayed(NEW_PODS)),
        Remedy::Promote => ("They are gone when the rollout ends.", Unplayed(NEW_PODS)),
        Remedy::WaitForRollout => ("They are gone when the rollout ends.", Shown),
        Remedy::DeleteEarlier => ("New pods are of the current template.", Unplayed(NEW_PODS)),
        Remedy::LowerPartition => ("The rollout replaces them.", Unplayed(NEW_PODS)),
        Remedy::LabelApart => (
            "Only the pods of the target count.",
            Unplayed("labels and selectors of other objects change with it"),
        ),
        Remedy::EndReferred => (
            "Only one of the two has pods.",
            Unplayed("which pods are to serve is for the user to say"),
        ),
        Remedy::DeleteByOwner => ("They no longer count.", Unplayed(ELSEWHERE)),
        Remedy::UseValue => ("The whole value is compared with the target.", Played),
        Remedy::InstallApi => ("The metric can be read.", Unplayed(ELSEWHERE)),
        Remedy::LookAtApi => ("It shows why.", Shown),
        Remedy::PointApiService => ("KEDA serves them.", Unplayed(UNKNOWN_VALUE)),
        Remedy::LookAtScaledObject => ("It shows why.", Shown),
        Remedy::UseName => ("The metric can be read.", Unplayed(UNKNOWN_VALUE)),
        Remedy::CorrectName => ("The metric can be read.", Unplayed(UNKNOWN_VALUE)),
        Remedy::CorrectMetric => ("The metric can be read.", Unplayed(UNKNOWN_VALUE)),
        Remedy::DescribeObject => ("The metric can be read.", Unplayed(UNKNOWN_VALUE)),
        Remedy::Grant => ("The controller has the right.", Shown),
        Remedy::LookAtBackend => ("It shows the error.", Shown),
        Remedy::StateInput => (
            "The pass can be computed.",
            Unplayed("the value is for the user to state"),
        ),
        Remedy::UseOtherType => ("The metric can be read.", Unplayed(UNKNOWN_VALUE)),
        Remedy::FindSamples => ("It shows why.", Shown),
        Remedy::FindSeries => ("It shows what the API answers.", Shown),
        Remedy::RepairMetric => ("The other metrics decide.", Played),
        Remedy::NameContainer => ("The metric has a value.", Shown),
        Remedy::RequestLess => (
            "The request comes into effect.",
            Unplayed("what the node can hold is not in the state"),
        ),
        Remedy::WaitForResize => ("The requests are those in effect.", Shown),
        Remedy::UseAverageValue => (
            "The proposal is the total divided by the target, or usage alone decides.",
            Played,
        ),
        Remedy::SetTarget => ("The units agree.", Played),
        Remedy::RaiseRequest => (
            "Usage is about the target, and the proposal is lower.",
            Played,
        ),
        Remedy::LeaveRoom => (
            "The pass proposes no more replicas than there are, and fewer if they are at the maximum or only kept.",
            Played,
        ),
        Remedy::DropMetric => (
            "The replicas follow the load.",
            Unplayed("which metric follows the load is for the user to say"),
        ),
        Remedy::LowerTarget => ("Pods at their limits propose more replicas.", Played),
        Remedy::SpreadLoad => ("It shows what each pod uses.", Shown),
        Remedy::SelectOwn => ("The controller finds the pods.", Unplayed(ELSEWHERE)),
        Remedy::KeepOneHpa => (
            "One HPA decides.",
            Unplayed("which HPA is kept is for the user to say"),
        ),
        Remedy::DeleteFinished => ("They no longer count.", Played),
        Remedy::FindUnready => ("It shows the reason.", Shown),
        Remedy::RollBack => ("It shows the reason.", Shown),
        Remedy::AddNodes => ("It shows what they lack.", Shown),
        Remedy::FindQuota => (
            "It shows the events, and the quotas if one may be the reason.",
            Shown,
        ),
        Remedy::WaitForPods => ("They count as soon as they are ready and measured.", Shown),
        Remedy::EndSooner => ("They do not matter.", Shown),
        Remedy::LengthenUpWindow => (
            "The pass does not scale up further because of them.",
            Played,
        ),
        Remedy::AddStartupProbe => ("They count when they have warmed up.", Unplayed(NEW_PODS)),
        Remedy::SetTolerance => ("The metric proposes more replicas.", Played),
        Remedy::ChangeTarget => (
            "The pass proposes the replicas that the advice names.",
            Played,
        ),
        Remedy::WaitForWindow => ("Nothing has to be done: it expires.", Quiet),
        Remedy::KeepBusy => (
            "Pods end their work before they are gone.",
            Unplayed("which pods are busy is not in the state"),
        ),
        Remedy::ShortenWindow => ("The replicas follow the metrics sooner.", Played),
        Remedy::AddBehavior => ("It adds none.", Played),
        Remedy::RaiseSmallRequest => (
            "Only a lasting load adds replicas.",
            Unplayed("the load of the next hours is not in the state"),
        ),
        Remedy::LengthenDownWindow => (
            "The pass does not scale down below a recent recommendation.",
            Played,
        ),
        Remedy::ChangePolicies => (
            "The replicas reach the proposal within some passes.",
            Played,
        ),
        Remedy::EnableDirection => ("The HPA scales in that direction.", Played),
        Remedy::RaiseMax => (
            "The pass adds replicas, or proposes no more than it may.",
            Played,
        ),
        Remedy::LookAtCounted => ("It shows the pods that count.", Shown),
        Remedy::ChangeBound => (
            "The bound allows them, or as many replicas as the metrics need.",
            Played,
        ),
        Remedy::AssumeBound => (
            "The pass reads the metrics, or leaves as many replicas as they need.",
            Played,
        ),
        Remedy::LeaveToKeda => ("Nothing has to be done.", Quiet),
        Remedy::LeaveToFlagger => ("Nothing has to be done.", Quiet),
        Remedy::ScaleToOne => ("The HPA decides again.", Played),
    }
}

/// What names an object among those of its kind.
const NAMES: [&str; 2] = ["/metadata/name", "/metadata/namespace"];

/// What a command does.
enum Effect {
    /// It changes the state, or lets `predict` assume another one.
    Changes(Box<Input>),
    /// It only shows something.
    Shows,
    /// It changes something of which the state does not say enough.
    Elsewhere,
}

/// A state as text, so that a command can change its objects.
#[derive(Clone)]
struct State {
    text: String,
    items: Vec<Value>,
    options: Options,
}

impl State {
    fn of(input: &Input) -> Self {
        let text = saved::save::to_json(&[input], &[]).expect("a saved state");
        let list: Value = serde_json::from_str(&text).expect("JSON");
        let hpa = &input.snapshot.hpa;
        let options = Options {
            name: hpa.name.clone(),
            namespace: Some(hpa.namespace.clone()),
            ..Options::default()
        };
        Self {
            items: list["items"].as_array().expect("a list").clone(),
            text,
            options,
        }
    }

    fn read(&self) -> Input {
        let text = build::list(self.items.iter().cloned());
        saved::read(&text, &self.options, Timestamp::UNIX_EPOCH).expect("a state")
    }

    /// Returns the object of a change, if the state has it.
    fn item(&mut self, changed: &Value) -> Option<&mut Value> {
        self.items.iter_mut().find(|item| {
            let is_same = |field: &&str| item.pointer(field) == changed.pointer(field);
            ["/apiVersion", "/kind"].iter().all(is_same) && NAMES.iter().all(is_same)
        })
    }

    /// Sets the request of a container in the template and in all pods that have it, as a rollout does.
    fn set_request(&mut self, container: &str, resource: &str, request: &str) {
        let mut pods: Vec<&mut Value> = Vec::new();
        for item in &mut self.items {
            match item["kind"].as_str() {
                Some("Pod") => pods.push(&mut item["spec"]),
                _ if item["spec"]["template"]["spec"]["containers"].is_array() => {
                    pods.push(&mut item["spec"]["template"]["spec"]);
                }
                _ => {}
            }
        }
        let more = json!({"resources": {"requests": {resource: request}}});
        for pod in pods {
            for list in ["containers", "initContainers"] {
                let containers = pod[list].as_array_mut().into_iter().flatten();
                for own in containers.filter(|own| own["name"] == container) {
                    merge(own, &more);
                }
            }
        }
    }

    /// Returns what a command of kubectl has done.
    fn after(&self, pass: &Pass, written: &Written) -> Effect {
        match written {
            Written::Nothing => Effect::Shows,
            Written::InEditor => Effect::Elsewhere,
            Written::Changes(changes) => {
                let mut changed = self.clone();
                if changed.take(pass, changes) {
                    Effect::Changes(Box::new(changed.read()))
                } else {
                    Effect::Elsewhere
                }
            }
        }
    }

    /// Returns what a command of this program shows.
    fn asked(&self, pass: &Pass, command: &str) -> Effect {
        let words = words(command);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words[1..] {
            [
                "hpa",
                "predict",
                name,
                n,
                space,
                flag @ "--feature-gates",
                gates,
                ref rest @ ..,
            ] => {
                let mut changed = self.clone();
                changed.explained(flag, gates);
                let words = [&[name, n, space][..], rest].concat();
                predicted(&Pass::run(changed.read()), &words, command)
            }
            ["hpa", "predict", ref rest @ ..] => predicted(pass, rest, command),
            ["hpa", "explain", name, "-n", _, flag, value] => {
                assert_eq!(name, self.options.name);
                let mut changed = self.clone();
                changed.explained(flag, value);
                Effect::Changes(Box::new(changed.read()))
            }
            _ => panic!("unknown: {command}"),
        }
    }

    /// Takes over what a command has changed, with what follows in a cluster; returns whether the state shows it.
    fn take(&mut self, pass: &Pass, changes: &[Change]) -> bool {
        let mut shows = false;
        for (before, after) in changes {
            let Some(after) = after else {
                let count = self.items.len();
                self.items.retain(|item| {
                    item["kind"] != before["kind"] || item["metadata"] != before["metadata"]
                });
                shows |= self.items.len() < count;
                continue;
            };
            if let Some(item) = self.item(after) {
                item["metadata"] = after["metadata"].clone();
                item["spec"] = after["spec"].clone();
            }
            let (was, is) = (&before["spec"], &after["spec"]);
            shows |= match before["kind"].as_str() {
                // Another target is not in the state.
                Some("HorizontalPodAutoscaler") => was["scaleTargetRef"] == is["scaleTargetRef"],
                Some("ScaledObject") => self.as_keda(pass, before, after),
                _ if was["replicas"] != is["replicas"] => self.scale(after, &is["replicas"]),
                _ => self.roll_out(&was["template"], &is["template"]),
            };
        }
        shows
    }

    /// Changes the HPA as KEDA does if its ScaledObject is changed.
    fn as_keda(&mut self, pass: &Pass, before: &Value, after: &Value) -> bool {
        let (was, is) = (&before["spec"], &after["spec"]);
        let own = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": pass.input.snapshot.hpa.name, "namespace": after["metadata"]["namespace"]}});
        let hpa = self.item(&own).expect("the HPA");
        let behavior = "/advanced/horizontalPodAutoscalerConfig/behavior";
        for (field, pointer) in [
            ("minReplicas", "/minReplicaCount"),
            ("maxReplicas", "/maxReplicaCount"),
            ("behavior", behavior),
            ("scaleTargetRef", "/scaleTargetRef"),
        ] {
            let value = is.pointer(pointer);
            if let Some(value) = value.filter(|it| was.pointer(pointer) != Some(it)) {
                merge(&mut hpa["spec"][field], value);
            }
        }
        // It enables a direction that is no longer paused.
        if before["metadata"]["annotations"] != after["metadata"]["annotations"] {
            let directions = hpa["spec"]["behavior"].as_object_mut();
            for (_, rules) in directions.into_iter().flatten() {
                if rules["selectPolicy"] == "Disabled" {
                    merge(rules, &json!({"selectPolicy": null}));
                }
            }
        }
        true
    }

    /// Sets the replicas of a target in its scale.
    fn scale(&mut self, target: &Value, replicas: &Value) -> bool {
        let scale = self.items.iter_mut().find(|item| {
            let is_same = |field: &&str| item.pointer(field) == target.pointer(field);
            item["kind"] == "Scale" && NAMES.iter().all(is_same)
        });
        let set = scale.map(|scale| scale["spec"]["replicas"] = replicas.clone());
        set.is_some()
    }

    /// Replaces the pods of a template by those of another; returns whether the state shows how they differ.
    fn roll_out(&mut self, was: &Value, is: &Value) -> bool {
        let mut shows = false;
        let containers = |template: &Value| {
            let own = template["spec"]["containers"].as_array();
            own.cloned().unwrap_or_default()
        };
        for own in containers(is) {
            let mut earlier = containers(was).into_iter();
            let earlier = earlier.find(|it| it["name"] == own["name"]);
            let had = earlier.unwrap_or_default()["resources"]["requests"].clone();
            let requests = own["resources"]["requests"].as_object();
            for (resource, request) in requests.into_iter().flatten() {
                if had[resource] != *request {
                    self.set_request(text(&own["name"]), resource, text(request));
                    shows = true;
                }
            }
        }
        let [had, has] = [was, is].map(|it| &it["metadata"]["annotations"]);
        for (annotation, request) in has.as_object().into_iter().flatten() {
            if had[annotation] != *request {
                let (container, resource) = injected(annotation);
                self.set_request(container, resource, text(request));
                shows = true;
            }
        }
        shows
    }

    /// Takes over a setting of the controller.
    fn explained(&mut self, flag: &str, value: &str) {
        let duration = || Some(value.parse().expect("a duration"));
        let flags = &mut self.options.flags;
        match flag {
            "--tolerance" => flags.tolerance = Some(value.parse().expect("a number")),
            "--downscale-stabilization" => flags.downscale_stabilization = duration(),
            "--cpu-initialization-period" => flags.cpu_initialization_period = duration(),
            "--initial-readiness-delay" => flags.initial_readiness_delay = duration(),
            "--kubernetes-version" => {
                self.options.version = Some(value.parse().expect("a version"));
            }
            "--feature-gates" => {
                let (gate, _) = value.split_once('=').expect("a gate");
                self.options.gates.insert(gate.to_owned(), true);
            }
            other => panic!("{other}"),
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("text")
}

/// Returns the container and the resource whose request an annotation sets.
fn injected(annotation: &str) -> (&'static str, &'static str) {
    let containers = [
        ("sidecar.istio", "istio-proxy"),
        ("linkerd", "linkerd-proxy"),
        ("dapr", "daprd"),
    ];
    let mut containers = containers.into_iter();
    let own = containers.find(|(key, _)| annotation.contains(key));
    let is_of_memory = annotation.to_lowercase().contains("mem");
    let resource = if is_of_memory { "memory" } else { "cpu" };
    (own.expect("one").1, resource)
}

/// Returns the state that `predict` assumes.
fn predicted(pass: &Pass, words: &[&str], command: &str) -> Effect {
    let assumed = Assumptions::read(&common::typed(words).overrides);
    let assumed = assumed.unwrap_or_else(|e| panic!("{command}: {e}"));
    let (input, overrides) = assumed
        .apply(pass.input.clone(), &pass.decision)
        .unwrap_or_else(|e| panic!("{command}: {e}"));
    if overrides.is_empty() {
        Effect::Shows
    } else {
        Effect::Changes(Box::new(input))
    }
}

/// Findings that a change of an HPA cannot bring about, but may bring to light: what pods are like, and bounds that the
/// proposals of the metrics reach.
const BROUGHT_TO_LIGHT: [Code; 13] = [
    Code::UncountedPods,
    Code::StartingPods,
    Code::FinishedPods,
    Code::TerminatingPods,
    Code::ForeignPods,
    Code::OldRevisionPods,
    Code::NeverReady,
    Code::UnschedulablePods,
    Code::ReplicasWithoutPods,
    Code::SelectorMatchesNothing,
    Code::AtMax,
    Code::AtMin,
    Code::RateLimited,
];

/// Returns what somebody should act on after a command and not before.
fn worse(remedy: Remedy, found: &[Finding], later: &[Finding]) -> Vec<Code> {
    match remedy {
        // The pass ignored the metrics before.
        Remedy::ScaleToOne | Remedy::ChangeBound | Remedy::AssumeBound => return Vec::new(),
        _ => {}
    }
    let is_new = |code: &Code| {
        // A total in another unit is not examined further.
        let is_revealed = remedy == Remedy::SetTarget && *code == Code::ValueMultiplies;
        let was = found.iter().any(|it| it.code() == *code);
        !was && !is_revealed && !BROUGHT_TO_LIGHT.contains(code)
    };
    let troubles = later.iter().filter(|it| it.severity < Severity::Info);
    troubles.map(Finding::code).filter(is_new).collect()
}

/// Returns what is wrong with the promise of a finding's advice in a pass, after its command has been played.
fn broken(pass: &Pass, view: &FindingView, found: &[Finding], after: &Pass) -> Option<String> {
    let later = findings::find(after);
    let own = |all: &[Finding]| {
        let own = all.iter().find(|it| it.code() == view.code);
        own.map(|it| (it.severity, it.explains))
    };
    let replicas = |pass: &Pass| pass.decision.replicas_after();
    let advised = found.iter().find(|it| it.code() == view.code);
    let needed = advised.and_then(|it| it.without.as_ref()?.proposal);
    let worse = worse(view.remedy(), found, &later);
    let (was, is) = (pass.decision.proposal, after.decision.proposal);
    let is_kept = match view.remedy() {
        // These change what is proposed, or how far the replicas follow it.
        Remedy::RaiseMax => replicas(after) > replicas(pass),
        Remedy::RaiseRequest => is < was,
        Remedy::LeaveRoom => {
            let before = pass.decision.replicas_before();
            let grows = was > before && before < Some(pass.input.snapshot.hpa.spec.max_replicas);
            if grows { is <= before } else { is < before }
        }
        Remedy::LowerTarget | Remedy::SetTolerance | Remedy::ChangeTarget => is > was,
        Remedy::SetTarget | Remedy::UseAverageValue => is != was,
        Remedy::LengthenUpWindow | Remedy::AddBehavior => replicas(after) <= replicas(pass),
        Remedy::LengthenDownWindow => replicas(after) >= replicas(pass),
        // A bound may hold the replicas as well.
        Remedy::ShortenWindow | Remedy::ChangePolicies => was == is,
        // The metrics may need only some of the replicas above a maximum.
        Remedy::ChangeBound | Remedy::AssumeBound => {
            replicas(after) > replicas(pass) && replicas(after) >= needed
        }
        // What a person has set is what the pass leaves.
        Remedy::ChangeBounds => replicas(after) == pass.decision.replicas_before(),
        _ => false,
    };
    let gone = own(&later).is_none_or(|(severity, explains)| {
        !explains || own(found).is_some_and(|(before, _)| severity > before)
    });
    let (had, has) = (own(found), own(&later));
    match (is_kept || gone, &worse[..]) {
        (true, []) => None,
        (false, _) => Some(format!("is still there: {had:?} to {has:?}")),
        (true, worse) => Some(format!("brings about {worse:?}")),
    }
}

/// Kinds of advice that are played but given in none of the states.
fn states() -> Vec<ToldPass> {
    let cpu = build::resource("cpu", &build::utilization(50));
    let hpa = |spec: Value| {
        let spec = build::with(json!({"maxReplicas": 20, "metrics": [cpu]}), &spec);
        build::hpa(&spec)
    };
    let pods = |count: usize, usage: &str| -> Vec<Value> {
        let names = (0..count).map(|number| format!("web-{number}"));
        let items = names.flat_map(|name| [build::pod(&name), build::pod_metrics(&name, usage)]);
        items.collect()
    };
    let told = |about: &str, items: &[Value], pods: Vec<Value>| {
        let input = common::read(&build::list([items, &pods].concat())).expect("a state");
        (about.to_owned(), Pass::run(input))
    };
    let (plain, scale) = (build::state(&json!({})), build::scale(4));
    let state = |about: &str, hpa: Value, usage: &str| {
        told(about, &[plain.clone(), hpa, scale.clone()], pods(4, usage))
    };
    let recommended = json!({"recommendations": [{"replicas": 6, "time": "2026-11-21T05:58:00Z"}]});
    let recommended = [build::state(&recommended), hpa(json!({})), scale.clone()];
    let at_once = json!({"behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}});
    let least = build::with(at_once.clone(), &json!({"minReplicas": 3}));
    let too_low = build::with(at_once, &json!({"maxReplicas": 2}));
    let disabled = |way: &str| hpa(json!({"behavior": {way: {"selectPolicy": "Disabled"}}}));
    let most = |max: i32| hpa(json!({"maxReplicas": max}));
    // The last pass has corrected 9 replicas.
    let lowered = json!({"status": {"currentReplicas": 9, "desiredReplicas": 4,
        "lastScaleTime": "2026-11-21T05:59:00Z",
        "conditions": [{"type": "AbleToScale", "status": "True", "reason": "SucceededRescale"}]}});
    // A latency that a target per replica divides.
    let latency = build::external("latency_p95", &build::average("20"));
    let divided = hpa(json!({"metrics": [latency]}));
    let value = json!({"metricName": "latency_p95", "value": "45"});
    let value = build::external_values([value]);
    // Six pods of a rollout at 80 % need five, and the HPA has three.
    let surge = build::with(build::scale(3), &json!({"status": {"replicas": 6}}));
    // A ScaledObject that is paused in one direction.
    let owner = build::owned_by("keda.sh/v1alpha1", "ScaledObject", "web");
    let owner = json!({"metadata": {"ownerReferences": owner}});
    let paused = build::with(disabled("scaleDown"), &owner);
    let annotations = json!({"autoscaling.keda.sh/paused-scale-in": "true"});
    let object = build::scaled_object("web", &json!({"metadata": {"annotations": annotations}}));
    let mut all = vec![
        told(
            "an old recommendation adds replicas",
            &recommended,
            pods(4, "10m"),
        ),
        state("the maximum", most(6), "90m"),
        state("the minimum", hpa(least), "10m"),
        state(
            "above a maximum that is too low for some",
            hpa(too_low),
            "35m",
        ),
        state("above the maximum", most(3), "50m"),
        state("disabled", disabled("scaleUp"), "90m"),
        state("a lowered maximum", build::with(most(4), &lowered), "90m"),
        told(
            "a latency",
            &[plain.clone(), divided, scale.clone(), value],
            pods(4, "50m"),
        ),
        told("a surge", &[plain.clone(), most(3), surge], pods(6, "40m")),
        told(
            "a pause",
            &[plain.clone(), paused, scale.clone(), object],
            pods(4, "10m"),
        ),
    ];
    // A container without a request, in the pods and in their template, or only in the pods.
    for (about, own) in [
        ("no request", json!({})),
        ("a lost request", json!({"cpu": "100m"})),
    ] {
        let set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"});
        let template = json!({"metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "app", "resources": {"requests": own}}]}});
        let target = json!({"apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "web", "namespace": "default", "uid": "web"},
            "spec": {"replicas": 4, "selector": {"matchLabels": {"app": "web"}}, "template": template},
            "status": {"replicas": 4}});
        let owner = build::with(set.clone(), &json!({"uid": "web", "controller": true}));
        let bare = json!({"metadata": {"ownerReferences": [owner]},
            "spec": {"containers": [{"name": "app"}]}});
        let mut pods = pods(4, "50m");
        for pod in pods.iter_mut().filter(|it| it["kind"] == "Pod") {
            merge(pod, &bare);
        }
        let items = [plain.clone(), hpa(json!({"scaleTargetRef": set})), target];
        all.push(told(about, &items, pods));
    }
    all.extend(assumed_states(&state("", hpa(json!({})), "50m").1));
    let told = all.into_iter();
    told.map(|(name, pass)| ToldPass::new(name, pass)).collect()
}

/// The pass on assumptions that commands have to repeat: a share of the request along with another request, and fields
/// that a command sets in another notation, in part, or as a whole.
fn assumed_states(plain: &Pass) -> Vec<(String, Pass)> {
    let slow = r#"behavior={"scaleUp":{"stabilizationWindowSeconds":60}}"#;
    let disabled = r#"behavior={"scaleUp":{"selectPolicy":"Disabled"}}"#;
    let busy = "web-1:cpu=2000%";
    let utilization = "metrics[0].resource.target.averageUtilization=40";
    let all: [&[&str]; 9] = [
        &["--max", "3"],
        &["--cpu", "180%", "--max", "6"],
        &["--metric", "app=cpu=180%", "--set", "maxReplicas=6"],
        &["--pod", busy, "--set", utilization, "--max", "6"],
        &["--cpu", "180%", "--max", "6", "--request", "cpu=200m"],
        &["--cpu", "180%", "--pod", "web-1:cpu=60%", "--max", "6"],
        &["--cpu", "180%", "--max", "6", "--request", "cpu=+20%"],
        &["--cpu", "53%", "--set", slow],
        &["--cpu", "90%", "--set", disabled],
    ];
    let assumed = all.into_iter().map(|flags| {
        let assumed = common::assumed(flags).expect("flags");
        let (input, _) = assumed
            .apply(plain.input.clone(), &plain.decision)
            .expect("a state");
        (format!("assumed: {}", flags.join(" ")), Pass::run(input))
    });
    assumed.collect()
}

/// A pass whose advice is followed.
struct Advised<'t> {
    told: &'t ToldPass,
    state: OnceCell<State>,
}

impl<'t> Advised<'t> {
    fn new(told: &'t ToldPass) -> Self {
        Self {
            told,
            state: OnceCell::new(),
        }
    }

    /// Its state, which only commands need.
    fn state(&self) -> &State {
        let input = &self.told.pass.input;
        self.state.get_or_init(|| State::of(input))
    }

    fn has_commands(&self) -> bool {
        let ToldPass {
            pass, explanation, ..
        } = self.told;
        let mut views = explanation.findings.iter();
        views.any(|view| !given(pass, view).is_empty())
    }
}

/// Returns the commands of a finding, and the prediction that its advice names. A flag without a value refers to a
/// command that has one.
fn given(pass: &Pass, view: &FindingView) -> Vec<String> {
    let hpa = &pass.input.snapshot.hpa;
    let advice = view.advice();
    let hint = advice
        .split_once("(predict ")
        .and_then(|(_, rest)| rest.split_once(')'));
    let mut commands = view.commands().to_vec();
    match hint {
        Some((flag, _)) if !flag.contains(' ') => {
            let is_meant = |it: &String| it.contains("hpa predict") && it.contains(flag);
            assert!(commands.iter().any(is_meant), "{advice}: {commands:?}");
        }
        Some((flags, _)) => {
            commands.push(format!(
                "kubectl hpa predict {} -n {} {flags}",
                hpa.name, hpa.namespace
            ));
        }
        None => {}
    }
    commands
}

/// Executes commands, each or the first of its shape.
struct Executor {
    program: Program,
    kubectl: Option<Kubectl>,
    is_thorough: bool,
    shapes: BTreeSet<String>,
}

impl Executor {
    #[expect(clippy::print_stderr, reason = "a test that does less should say so")]
    fn new(all: &[Advised<'_>], is_thorough: bool) -> Self {
        let mut kinds = BTreeSet::new();
        for advised in all.iter().filter(|it| it.has_commands()) {
            let objects = commands::objects(&advised.state().items, &advised.told.pass.input);
            let kind = |it: &Value| {
                (
                    text(&it["apiVersion"]).to_owned(),
                    text(&it["kind"]).to_owned(),
                )
            };
            kinds.extend(objects.iter().map(kind));
        }
        let kubectl = Kubectl::installed(kinds);
        if kubectl.is_none() {
            eprintln!("there is no kubectl: its commands are only applied by hand");
        }
        Self {
            program: Program::new(),
            kubectl,
            is_thorough,
            shapes: BTreeSet::new(),
        }
    }

    /// Returns what a command does in a state, or what is wrong with it.
    fn execute(&mut self, advised: &Advised<'_>, command: &str) -> Result<Effect, String> {
        let (pass, state) = (advised.told.pass, advised.state());
        let input = &pass.input;
        let is_new = self.shapes.insert(commands::shape(command, input)) || self.is_thorough;
        if command.starts_with("kubectl hpa ") {
            let file = self.program.file().display().to_string();
            let flags = CommandFlags {
                plugin: format!("-f {file}"),
                ..CommandFlags::default()
            };
            let fault = is_new.then(|| self.program.fault(&flags.add_to(command), &state.text));
            return match fault.flatten() {
                Some(fault) => Err(fault),
                None => Ok(state.asked(pass, command)),
            };
        }
        let controller = &input.snapshot.controller;
        let rules = AdmissionRules::new(&controller.version, controller.gates);
        let objects = commands::objects(&state.items, input);
        let mut written = commands::by_hand(&objects, command, rules);
        if let Some(kubectl) = self.kubectl.as_ref().filter(|_| is_new) {
            let changes = kubectl.execute(&objects, input, rules, command)?;
            let is_same = match &written {
                Written::Changes(own) => *own == changes,
                Written::Nothing | Written::InEditor => changes.is_empty(),
            };
            if !is_same {
                return Err(format!(
                    "kubectl changes {changes:?}, and by hand it is {written:?}"
                ));
            }
            if let Written::Changes(own) = &mut written {
                *own = changes;
            }
        }
        Ok(state.after(pass, &written))
    }
}

fn check_advice<'t>(passes: impl Iterator<Item = &'t ToldPass>, is_thorough: bool) {
    let (passes, more) = (passes.collect::<Vec<_>>(), states());
    // A count that overflows 32 bits cannot be compared.
    let is_count = |told: &&ToldPass| {
        let after = told.pass.decision.replicas_after();
        after.is_none_or(|replicas| replicas >= 0)
    };
    let all = passes.into_iter().chain(&more).filter(is_count);
    let all: Vec<Advised<'_>> = all.map(Advised::new).collect();
    let mut executor = Executor::new(&all, is_thorough);
    let mut played: BTreeMap<Remedy, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for advised in &all {
        let ToldPass {
            name,
            pass,
            explanation,
            ..
        } = advised.told;
        for view in &explanation.findings {
            let (code, remedy) = (view.code.as_str(), view.remedy());
            let mut fails = |why: String| {
                wrong.push(format!("{name}: {code}: {} {why}", view.advice()));
            };
            let (_, check) = promise(remedy);
            let is_quiet = view.severity == Severity::Info || view.follows.is_some();
            match check {
                Check::Quiet if !is_quiet => fails("asks for nothing".to_owned()),
                Check::Quiet => *played.entry(remedy).or_default() += 1,
                Check::Shown | Check::Unplayed(_) | Check::Played => {}
            }
            for command in &given(pass, view) {
                // What is assumed is not in the objects.
                let is_assumed = pass.input.observed.is_some() && !command.contains("hpa predict");
                let effect = match executor.execute(advised, command) {
                    Ok(effect) => effect,
                    Err(why) => {
                        fails(format!("[{command}] {why}"));
                        continue;
                    }
                };
                match (effect, check) {
                    // A prediction without a change only shows what follows.
                    (Effect::Shows, Check::Played) if remedy != Remedy::ChangePolicies => {}
                    (Effect::Shows, _) => *played.entry(remedy).or_default() += 1,
                    (Effect::Elsewhere, _) | (_, Check::Unplayed(_)) => {}
                    (Effect::Changes(_), Check::Played) if is_assumed => {}
                    (Effect::Changes(input), Check::Played) => {
                        *played.entry(remedy).or_default() += 1;
                        let why = broken(pass, view, advised.told.found(), &Pass::run(*input));
                        why.into_iter()
                            .for_each(|why| fails(format!("[{command}] {why}")));
                    }
                    (Effect::Changes(_), _) => fails(format!("[{command}] changes something")),
                }
            }
        }
    }
    let (count, wrong) = (wrong.len(), wrong.join("\n"));
    assert_eq!(count, 0, "broken promises:\n{wrong}");
    let is_unseen = |it: &&Remedy| {
        !matches!(promise(**it), (_, Check::Unplayed(_)))
            && played.get(it).is_none_or(|times| *times == 0)
    };
    let unseen: Vec<&Remedy> = Remedy::ALL.iter().filter(is_unseen).collect();
    assert!(unseen.is_empty(), "never checked: {unseen:?}\n{played:?}");
}

/// One in five of the recorded passes has each kind of advice.
#[test]
fn advice_keeps_what_it_promises() {
    check_advice(passes_and(5, some_moments()), false);
}

#[test]
#[ignore = "executes every command, which takes minutes: cargo test --test answers advice -- --ignored"]
fn all_advice_keeps_what_it_promises() {
    check_advice(passes_and(1, &moments(1)), true);
}

/// What follows from another finding stands behind it, and asks for nothing of its own.
#[test]
fn what_follows_has_no_advice_of_its_own() {
    let mut followed = 0;
    for ToldPass {
        name, explanation, ..
    } in passes()
    {
        let all = &explanation.findings;
        for (place, view) in all.iter().enumerate() {
            let Some(cause) = view.follows else { continue };
            followed += 1;
            let cause_at = all.iter().position(|it| it.code == cause);
            let is_before = cause_at.is_some_and(|at| at < place);
            assert!(is_before, "{name}: {}", view.code.as_str());
            let advice = format!("Follow the advice of {}.", cause.as_str());
            let told = (view.advice(), view.commands().len());
            assert_eq!(told, (advice, 0), "{name}");
        }
    }
    assert!(followed > 30, "{followed}");
}

/// Each command for one of two metrics leaves the other as it is, so both can be pasted from one screen.
#[test]
fn commands_for_two_metrics_do_not_undo_each_other() {
    let share = |name: &str| build::resource(name, &build::utilization(60));
    let own = build::hpa(&json!({"maxReplicas": 20, "metrics": [share("cpu"), share("memory")]}));
    let usage = json!({"cpu": "99m", "memory": "99Mi"});
    let requests = |name: &str, own: Value| json!({"name": name, "resources": {"requests": own}});
    let containers = json!({"spec": {"containers": [
        requests("app", json!({"cpu": "100m", "memory": "100Mi"})),
        requests("proxy", json!({"cpu": "1", "memory": "1Gi"})),
    ]}});
    let usages =
        json!({"containers": [{"name": "app", "usage": usage}, {"name": "proxy", "usage": usage}]});
    let pods = ["web-0", "web-1"].into_iter().flat_map(|name| {
        [
            build::with(build::pod(name), &containers),
            build::with(build::pod_metrics(name, "1m"), &usages),
        ]
    });
    let items = [build::state(&json!({})), own, build::scale(2)].into_iter();
    let input = common::read(&build::list(items.chain(pods))).expect("a state");
    let told = ToldPass::new("two metrics".to_owned(), Pass::run(input));
    let input = &told.pass.input;
    let controller = &input.snapshot.controller;
    let rules = AdmissionRules::new(&controller.version, controller.gates);
    let mut objects = commands::objects(&State::of(input).items, input);
    let views = told.explanation.findings.iter();
    for command in views.flat_map(FindingView::commands) {
        let Written::Changes(changes) = commands::by_hand(&objects, command, rules) else {
            continue;
        };
        for (before, after) in changes {
            let place = objects.iter().position(|it| *it == before);
            objects[place.expect("an object")] = after.expect("an object");
        }
    }
    let mut objects = objects.iter();
    let own = objects.find(|it| it["kind"] == "HorizontalPodAutoscaler");
    let metrics = &own.expect("an HPA")["spec"]["metrics"];
    let of_app = |place: usize| {
        let own = &metrics[place]["containerResource"];
        (text(&own["name"]), text(&own["container"]))
    };
    assert_eq!([of_app(0), of_app(1)], [("cpu", "app"), ("memory", "app")]);
}
