//! Advice keeps what it promises. Each command of each finding is played on the state in which it is given: a change of
//! an object changes the state, and what `predict` would assume is assumed. The engine then runs the pass again: the
//! finding is gone or changes nothing any more, and there is no other trouble. Commands that only show something name
//! objects that are there. What cannot be played is of a kind that says why (`report::findings::remedy`).

use std::collections::BTreeMap;

use clap::Parser;
use jiff::Timestamp;
use kubectl_hpa::args::{Cli, Verb};
use kubectl_hpa::findings::{self, Code, Finding, Severity};
use kubectl_hpa::pass::Pass;
use kubectl_hpa::report::Explanation;
use kubectl_hpa::report::findings::FindingView;
use kubectl_hpa::report::findings::remedy::{Check, Remedy};
use kubectl_hpa::saved;
use kubectl_hpa::snapshot::input::{Input, Options};
use kubectl_hpa::whatif::overrides::Assumptions;
use serde_json::{Value, json};

use crate::common::{self, build};
use crate::findings::passes;

/// Returns the words of a command as a shell does, for the quotes that commands to paste have.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            '\\' if !quoted => word.get_or_insert_default().extend(letters.next()),
            ' ' if !quoted => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    assert!(!quoted, "{command}");
    words.extend(word);
    words
}

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
struct State {
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
        Self { items: list["items"].as_array().expect("a list").clone(), options }
    }

    fn read(&self) -> Input {
        let text = build::list(self.items.iter().cloned());
        saved::read(&text, &self.options, Timestamp::UNIX_EPOCH).expect("a state")
    }

    /// Returns the objects of a kind, and of a name if it is stated. Kinds are as kubectl takes them.
    fn objects(&mut self, kind: &str, name: Option<&str>) -> Vec<&mut Value> {
        let kind = kind.split('.').next().unwrap_or_default().to_lowercase();
        let kind = if kind == "hpa" { "horizontalpodautoscaler".to_owned() } else { kind };
        let is_it = |it: &&mut Value| {
            it["kind"].as_str().is_some_and(|own| own.to_lowercase() == kind)
                && name.is_none_or(|name| it["metadata"]["name"] == name)
        };
        self.items.iter_mut().filter(is_it).collect()
    }

    /// Changes the HPA as a merge patch of its spec does.
    fn patch_hpa(&mut self, spec: &Value) {
        let name = self.options.name.clone();
        for hpa in self.objects("hpa", Some(&name)) {
            merge(&mut hpa["spec"], spec);
        }
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
        for pod in pods {
            for list in ["containers", "initContainers"] {
                let containers = pod[list].as_array_mut().into_iter().flatten();
                for own in containers.filter(|own| own["name"] == container) {
                    merge(own, &json!({"resources": {"requests": {resource: request}}}));
                }
            }
        }
    }

    /// Plays a command.
    fn play(mut self, pass: &Pass, command: &str) -> Effect {
        let words = words(command);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        assert_eq!(words[0], "kubectl", "{command}");
        match words[1..] {
            ["hpa", "predict", ref rest @ ..] => predicted(pass, rest, command),
            ["hpa", "explain", name, "-n", _, flag, value] => {
                assert_eq!(name, self.options.name);
                self.explained(flag, value);
                Effect::Changes(Box::new(self.read()))
            }
            ["patch", "hpa", _, "-n", _, "--type=merge", "-p", patch] => {
                let patch: Value = serde_json::from_str(patch).expect("JSON");
                let target = &patch["spec"]["scaleTargetRef"];
                if let (Some(kind), name) = (target["kind"].as_str(), target["name"].as_str()) {
                    assert!(!self.objects(kind, name).is_empty(), "{command}");
                    return Effect::Elsewhere;
                }
                self.patch_hpa(&patch["spec"]);
                Effect::Changes(Box::new(self.read()))
            }
            ["patch", "hpa", name, "-n", _, "--type=json", "-p", patch] => {
                let patch: Value = serde_json::from_str(patch).expect("JSON");
                let metrics_removed = self.patch_metrics(name, &patch);
                assert!(metrics_removed || !patch[0]["value"].is_null(), "{command}");
                Effect::Changes(Box::new(self.read()))
            }
            ["patch", "scaledobject", _, "-n", _, "--type=merge", "-p", patch] => {
                let patch: Value = serde_json::from_str(patch).expect("JSON");
                let own = &patch["spec"];
                let behavior = &own["advanced"]["horizontalPodAutoscalerConfig"]["behavior"];
                let spec = json!({"minReplicas": own["minReplicaCount"], "maxReplicas": own["maxReplicaCount"],
                    "behavior": behavior, "scaleTargetRef": own["scaleTargetRef"]});
                // What the patch does not name stays.
                let spec = spec.as_object().expect("an object").iter();
                let spec = spec.filter(|(_, value)| !value.is_null());
                self.patch_hpa(&spec.map(|(key, value)| (key.clone(), value.clone())).collect());
                Effect::Changes(Box::new(self.read()))
            }
            ["patch", _, "-n", _, "--type=merge", "-p", patch] => {
                let patch: Value = serde_json::from_str(patch).expect("JSON");
                let annotations = &patch["spec"]["template"]["metadata"]["annotations"];
                let Some((key, value)) = annotations.as_object().and_then(|all| all.iter().next())
                else {
                    return Effect::Elsewhere;
                };
                let (container, resource) = injected(key);
                self.set_request(container, resource, value.as_str().expect("an amount"));
                Effect::Changes(Box::new(self.read()))
            }
            ["set", "resources", _, "-n", _, "-c", container, requests] => {
                let request = requests.strip_prefix("--requests=").expect("requests");
                let (resource, request) = request.split_once('=').expect("a request");
                self.set_request(container, resource, request);
                Effect::Changes(Box::new(self.read()))
            }
            ["scale", target, "-n", _, replicas] => {
                let replicas: i32 = replicas
                    .strip_prefix("--replicas=")
                    .expect("replicas")
                    .parse()
                    .expect("a count");
                let (kind, name) = target.split_once('/').expect("a target");
                let mut scaled = 0;
                for object in self.objects(kind, Some(name)) {
                    merge(object, &json!({"spec": {"replicas": replicas}}));
                    scaled += 1;
                }
                for scale in self.objects("scale", Some(name)) {
                    merge(scale, &json!({"spec": {"replicas": replicas}}));
                    scaled += 1;
                }
                assert!(scaled > 0, "{command}");
                Effect::Changes(Box::new(self.read()))
            }
            ["delete", "pod", ref rest @ ..] => {
                let is_named = |item: &Value| {
                    let is_finished = ["Succeeded", "Failed"]
                        .contains(&item["status"]["phase"].as_str().unwrap_or_default());
                    match rest.contains(&"-l") {
                        true => is_finished,
                        false => {
                            rest.contains(&item["metadata"]["name"].as_str().unwrap_or_default())
                        }
                    }
                };
                let before = self.items.len();
                self.items.retain(|item| item["kind"] != "Pod" || !is_named(item));
                assert!(self.items.len() < before, "{command}");
                Effect::Changes(Box::new(self.read()))
            }
            ["annotate", "scaledobject", name, "-n", _, key] => {
                let key = key.strip_suffix('-').expect("an annotation to take away");
                for object in self.objects("scaledobject", Some(name)) {
                    let annotations = object["metadata"]["annotations"].as_object_mut();
                    annotations.and_then(|all| all.remove(key)).expect("the annotation");
                }
                // KEDA then enables the direction in its HPA.
                let own = self.options.name.clone();
                for hpa in self.objects("hpa", Some(&own)) {
                    for rules in hpa["spec"]["behavior"].as_object_mut().into_iter().flatten() {
                        if rules.1["selectPolicy"] == "Disabled" {
                            merge(rules.1, &json!({"selectPolicy": null}));
                        }
                    }
                }
                Effect::Changes(Box::new(self.read()))
            }
            ["scale", _, "-n", _, _, "--dry-run=server"]
            | ["get" | "top" | "api-resources" | "auth", ..]
            | ["rollout", "status", ..] => Effect::Shows,
            ["describe", "pod", name, ..] | ["logs", name, ..] => {
                assert!(!self.objects("pod", Some(name)).is_empty(), "{command}");
                Effect::Shows
            }
            ["describe", ..] => Effect::Shows,
            ["edit" | "apply" | "patch", ..] | ["rollout", "resume", ..] => Effect::Elsewhere,
            _ => panic!("unknown: {command}"),
        }
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

    /// Applies a JSON patch to the metrics of an HPA, and returns whether it removes one.
    fn patch_metrics(&mut self, name: &str, patch: &Value) -> bool {
        let mut removes = false;
        for hpa in self.objects("hpa", Some(name)) {
            for op in patch.as_array().expect("operations") {
                let path = op["path"].as_str().expect("a path");
                let (parent, last) = path.rsplit_once('/').expect("a path");
                let parent = hpa.pointer_mut(parent).expect("what is patched");
                match (op["op"].as_str(), parent) {
                    (Some("remove"), Value::Array(items)) => {
                        items.remove(last.parse().expect("an index"));
                        removes = true;
                    }
                    (Some("replace"), parent) => parent[last] = op["value"].clone(),
                    other => panic!("{other:?}"),
                }
            }
        }
        removes
    }
}

/// Merges a patch into an object as kubectl does.
fn merge(into: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *into = patch.clone();
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    for (key, value) in fields {
        match value {
            Value::Null => drop(into.as_object_mut().expect("an object").remove(key)),
            value => merge(&mut into[key], value),
        }
    }
}

/// Returns the container and the resource whose request an annotation sets.
fn injected(annotation: &str) -> (&'static str, &'static str) {
    let container =
        [("sidecar.istio", "istio-proxy"), ("linkerd", "linkerd-proxy"), ("dapr", "daprd")];
    let (_, container) =
        container.into_iter().find(|(key, _)| annotation.contains(key)).expect("one");
    (container, if annotation.to_lowercase().contains("mem") { "memory" } else { "cpu" })
}

/// Returns the state that `predict` assumes.
fn predicted(pass: &Pass, words: &[&str], command: &str) -> Effect {
    let typed = ["kubectl-hpa", "predict"].into_iter().chain(words.iter().copied());
    let cli = Cli::try_parse_from(typed).unwrap_or_else(|e| panic!("{command}: {e}"));
    let Verb::Predict(args) = cli.verb else { panic!("{command}") };
    let assumed = Assumptions::read(&args.overrides).unwrap_or_else(|e| panic!("{command}: {e}"));
    let (input, overrides) = assumed
        .apply(pass.input.clone(), &pass.decision)
        .unwrap_or_else(|e| panic!("{command}: {e}"));
    if overrides.is_empty() { Effect::Shows } else { Effect::Changes(Box::new(input)) }
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
        // A total of another unit is not looked at further.
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
    let worse = worse(view.remedy(), found, &later);
    let (was, is) = (pass.decision.proposal, after.decision.proposal);
    let is_kept = match view.remedy() {
        // These change what is proposed, or how far the replicas follow it.
        Remedy::RaiseMax => replicas(after) > replicas(pass),
        Remedy::LowerMin => replicas(after) <= replicas(pass) && was == is,
        Remedy::RaiseRequest | Remedy::RaiseRequestOrTarget | Remedy::RaiseTarget => is < was,
        Remedy::LowerTarget => is > was,
        Remedy::SetTolerance | Remedy::SetTarget | Remedy::UseAverageValue => is != was,
        Remedy::LengthenUpWindow | Remedy::AddBehavior => replicas(after) <= replicas(pass),
        Remedy::LengthenDownWindow => replicas(after) >= replicas(pass),
        // A bound may hold the replicas as well.
        Remedy::ShortenWindow | Remedy::ChangePolicies => was == is,
        // What a person has set is what the pass leaves.
        Remedy::ChangeBounds => replicas(after) == pass.decision.replicas_before(),
        _ => false,
    };
    let gone = own(&later).is_none_or(|(severity, explains)| {
        !explains || own(found).is_some_and(|(before, _)| severity > before)
    });
    match (is_kept || gone, &worse[..]) {
        (true, []) => None,
        (false, _) => Some(format!("is still there: {:?} to {:?}", own(found), own(&later))),
        (true, worse) => Some(format!("brings about {worse:?}")),
    }
}

/// Kinds of advice that are played but given in none of the states.
fn states() -> Vec<(String, Pass)> {
    let cpu = build::resource("cpu", &build::utilization(50));
    let hpa = |spec: Value| {
        let spec = build::with(json!({"maxReplicas": 20, "metrics": [cpu]}), &spec);
        build::hpa(&spec)
    };
    let pods = |usage: &str| -> Vec<Value> {
        let names = (0..4).map(|number| format!("web-{number}"));
        names.flat_map(|name| [build::pod(&name), build::pod_metrics(&name, usage)]).collect()
    };
    let state = |about: &str, controller: Value, hpa: Value, usage: &str| {
        let items = [build::state(&controller), hpa, build::scale(4)].into_iter();
        let input = common::read(&build::list(items.chain(pods(usage)))).expect("a state");
        (about.to_owned(), Pass::run(input))
    };
    let recommended = json!({"recommendations": [{"replicas": 6, "time": "2026-11-21T05:58:00Z"}]});
    let at_once = json!({"behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}});
    let disabled = json!({"behavior": {"scaleUp": {"selectPolicy": "Disabled"}}});
    let mut all = vec![
        state("an old recommendation adds replicas", recommended, hpa(json!({})), "10m"),
        state("the maximum", json!({}), hpa(json!({"maxReplicas": 6})), "90m"),
        state(
            "the minimum",
            json!({}),
            hpa(build::with(at_once, &json!({"minReplicas": 3}))),
            "10m",
        ),
        state("above the maximum", json!({}), hpa(json!({"maxReplicas": 3})), "50m"),
        state("disabled", json!({}), hpa(disabled), "90m"),
    ];
    // Six pods of a rollout at 80 % need five, and the HPA has three.
    let surge = {
        let scale = build::with(build::scale(3), &json!({"status": {"replicas": 6}}));
        let six = (0..6).map(|number| format!("web-{number}"));
        let pods = six.flat_map(|name| [build::pod(&name), build::pod_metrics(&name, "40m")]);
        let items = [build::state(&json!({})), hpa(json!({"maxReplicas": 3})), scale];
        common::read(&build::list(items.into_iter().chain(pods))).expect("a state")
    };
    all.push(("a surge".to_owned(), Pass::run(surge)));
    // A ScaledObject that is paused in one direction.
    let paused = {
        let owner = json!([{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": "web",
            "uid": "1", "controller": true}]);
        let disabled = json!({"behavior": {"scaleDown": {"selectPolicy": "Disabled"}}});
        let own = build::with(hpa(disabled), &json!({"metadata": {"ownerReferences": owner}}));
        let object = json!({"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {
            "name": "web", "namespace": "default",
            "annotations": {"autoscaling.keda.sh/paused-scale-in": "true"}}});
        let items = [build::state(&json!({})), own, build::scale(4), object];
        common::read(&build::list(items.into_iter().chain(pods("10m")))).expect("a state")
    };
    all.push(("a pause".to_owned(), Pass::run(paused)));
    // A container without a request, in the pods and in their template, or only in the pods.
    for (about, own) in [("no request", json!({})), ("a lost request", json!({"cpu": "100m"}))] {
        let set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"});
        let template = json!({"metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "app", "resources": {"requests": own}}]}});
        let target = json!({"apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "web", "namespace": "default", "uid": "web"},
            "spec": {"replicas": 4, "selector": {"matchLabels": {"app": "web"}}, "template": template},
            "status": {"replicas": 4}});
        let owner = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "web",
            "controller": true}]);
        let bare = json!({"metadata": {"ownerReferences": owner},
            "spec": {"containers": [{"name": "app"}]}});
        let pods = pods("50m").into_iter().map(|item| match item["kind"] == "Pod" {
            true => build::with(item, &bare),
            false => item,
        });
        let items = [build::state(&json!({})), hpa(json!({"scaleTargetRef": set})), target];
        let input = common::read(&build::list(items.into_iter().chain(pods))).expect("a state");
        all.push((about.to_owned(), Pass::run(input)));
    }
    let (_, plain) = state("", json!({}), hpa(json!({})), "50m");
    let typed = ["kubectl-hpa", "predict", "web", "--max", "3"];
    let Verb::Predict(args) = Cli::parse_from(typed).verb else { panic!("predict") };
    let assumed = Assumptions::read(&args.overrides).expect("flags");
    let (input, _) = assumed.apply(plain.input.clone(), &plain.decision).expect("a state");
    all.push(("an assumed maximum".to_owned(), Pass::run(input)));
    all
}

#[test]
fn advice_keeps_what_it_promises() {
    /// A run has this many moments that differ little.
    const EACH: usize = 8;
    let mut played: BTreeMap<Remedy, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    let moments = |(name, _): &(String, Pass)| name.contains(" at ");
    let (runs, others): (Vec<_>, Vec<_>) = passes().partition(moments);
    let all = others.into_iter().chain(runs.into_iter().step_by(EACH)).chain(states());
    for (name, pass) in all {
        // A count that overflows 32 bits is none to compare.
        if pass.decision.replicas_after().is_some_and(|replicas| replicas < 0) {
            continue;
        }
        let found = findings::find(&pass);
        for view in &Explanation::new(&pass).findings {
            let (code, remedy) = (view.code.as_str(), view.remedy());
            let mut fails = |why: String| {
                wrong.push(format!("{name}: {code}: {} {why}", view.advice()));
            };
            let check = remedy.check();
            let is_quiet = view.severity == Severity::Info || view.follows.is_some();
            match check {
                Check::Quiet if !is_quiet => fails("asks for nothing".to_owned()),
                Check::Quiet => *played.entry(remedy).or_default() += 1,
                Check::Shown | Check::Unplayed(_) | Check::Played => {}
            }
            for command in view.commands() {
                // What is assumed is not in the objects.
                let is_assumed = pass.input.is_assumed && !command.contains("hpa predict");
                let state = State::of(&pass.input);
                match (state.play(&pass, command), check) {
                    // A prediction without a change only shows what follows.
                    (Effect::Shows, Check::Played) if remedy != Remedy::ChangePolicies => {}
                    (Effect::Shows, _) => *played.entry(remedy).or_default() += 1,
                    (Effect::Elsewhere, _) | (_, Check::Unplayed(_)) => {}
                    (Effect::Changes(_), Check::Played) if is_assumed => {}
                    (Effect::Changes(input), Check::Played) => {
                        *played.entry(remedy).or_default() += 1;
                        let why = broken(&pass, view, &found, &Pass::run(*input));
                        why.into_iter().for_each(|why| fails(format!("[{command}] {why}")));
                    }
                    (Effect::Changes(_), _) => fails(format!("[{command}] changes something")),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} promises are broken:\n{}", wrong.len(), wrong.join("\n"));
    let is_unseen = |it: &&Remedy| {
        !matches!(it.check(), Check::Unplayed(_)) && played.get(it).is_none_or(|times| *times == 0)
    };
    let unseen: Vec<&Remedy> = Remedy::ALL.iter().filter(is_unseen).collect();
    assert!(unseen.is_empty(), "never checked: {unseen:?}\n{played:?}");
}

/// What follows from another finding stands behind it, and asks for nothing of its own.
#[test]
fn what_follows_has_no_advice_of_its_own() {
    let mut followed = 0;
    for (name, pass) in passes() {
        let all = Explanation::new(&pass).findings;
        for (place, view) in all.iter().enumerate() {
            let Some(cause) = view.follows else { continue };
            followed += 1;
            let cause_at = all.iter().position(|it| it.code == cause);
            assert!(cause_at.is_some_and(|at| at < place), "{name}: {}", view.code.as_str());
            let advice = format!("Follow the advice of {}.", cause.as_str());
            assert_eq!((view.advice(), view.commands().len()), (advice, 0), "{name}");
        }
    }
    assert!(followed > 30, "{followed}");
}
