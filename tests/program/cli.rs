//! The program from the outside: what it prints where, and how it exits. Whatever the input, it ends
//! soon with an answer on standard output, or with one clear line (and at most one hint) on standard
//! error. Other suites check whether answers are right.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::build;
use crate::ran::{self, PROGRAM, Ran, program};

const STATE: &str = "\
apiVersion: kubectl-hpa/v1alpha1
kind: ControllerState
now: 2026-11-21T07:00:10Z
";

const HPA: &str = "\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  maxReplicas: 5
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}
";

const REST: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {replicas: 2, selector: {matchLabels: {app: web}}}
status: {replicas: 2}
---
apiVersion: v1
kind: Pod
metadata: {name: web-1, namespace: shop, labels: {app: web}}
spec: {containers: [{name: app, resources: {requests: {cpu: 100m}}}]}
status:
  phase: Running
  startTime: 2026-01-01T00:00:00Z
  conditions: [{type: Ready, status: "True", lastTransitionTime: 2026-01-01T00:00:10Z}]
---
apiVersion: metrics.k8s.io/v1beta1
kind: PodMetrics
metadata: {name: web-1, namespace: shop}
timestamp: 2026-11-21T07:00:00Z
window: 15s
containers: [{name: app, usage: {cpu: 150m}}]
"#;

const SCALED: &str = "\
apiVersion: v1
kind: Event
involvedObject: {kind: Deployment, name: web, namespace: shop}
reason: ScalingReplicaSet
message: Scaled up replica set web-1 from 1 to 2
lastTimestamp: 2026-11-21T06:00:00Z
";

/// Documents in one text.
fn documents(parts: &[&str]) -> String {
    parts.join("\n---\n")
}

/// Returns an input with the answer 2 -> 3.
fn good() -> String {
    documents(&[HPA, REST, STATE])
}

/// Returns an empty directory for a test.
fn directory(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).expect("a directory");
    directory
}

/// Writes a file in a directory for a test; returns its name for the command line.
fn file(test: &str, content: impl AsRef<[u8]>) -> String {
    let path = directory(test).join("in");
    fs::write(&path, content).expect("a file");
    path.to_str().expect("a path in UTF-8").to_owned()
}

/// Runs the program with a command line, whose words are separated by spaces, and more words, such as paths, in an
/// environment without a locale and without variables that request colors.
#[track_caller]
fn run(line: &str, more: &[&str], stdin: &str) -> Ran {
    run_in(&[], line, more, stdin)
}

/// Does so in an environment with these variables.
#[track_caller]
fn run_in(variables: &[(&str, &str)], line: &str, more: &[&str], stdin: &str) -> Ran {
    let mut command = program();
    command.env_clear().envs(variables.iter().copied());
    let words = line.split_whitespace().chain(more.iter().copied());
    ran::run(command.args(words).write_stdin(stdin))
}

/// A failure, a refusal and missing input: three answers, of which only the first says anything in
/// the controller's name.
#[test]
fn a_metric_that_is_missing_is_neither_refused_nor_failed() {
    let (workload, metrics) = REST.split_at(REST.rfind("---").expect("documents"));
    let metrics = metrics.trim_start_matches("---");
    let (target, _) = workload.split_at(workload.find("---").expect("documents"));
    let errors = |more: &str| format!("{STATE}errors: [{{api: resource, message: down{more}}}]\n");
    let (failed, refused) = (errors(""), errors(", denied: true"));
    let list = "{kind: PodMetricsList, apiVersion: metrics.k8s.io/v1beta1, items: []}";
    let elsewhere = metrics.replace("namespace: shop", "namespace: other");
    let list_elsewhere = "{kind: PodMetricsList, apiVersion: metrics.k8s.io/v1beta1, items: [\
         {metadata: {name: x, namespace: other}, timestamp: null, window: 0s, containers: []}]}";
    let pods_elsewhere =
        "{kind: PodList, apiVersion: v1, items: [{metadata: {name: x, namespace: other}}]}";
    let custom = HPA.replace(
        "type: Resource\n    resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}",
        "type: Pods\n    pods: {metric: {name: hits}, target: {type: AverageValue, averageValue: 5}}",
    );
    let values_elsewhere = "{kind: MetricValueList, apiVersion: custom.metrics.k8s.io/v1beta2, items: [\
         {describedObject: {kind: Pod, name: web-1, namespace: other}, metric: {name: hits}, value: 7}]}";
    let (stays, not_known) = ("CANNOT DECIDE, STAYS AT 2", "UNKNOWN: ");
    for (name, parts, code, headline, finding) in [
        (
            "failed",
            vec![HPA, workload, &failed],
            0,
            stays,
            "metric-failing",
        ),
        (
            "complete, empty",
            vec![HPA, workload, STATE],
            0,
            stays,
            "metric-empty",
        ),
        (
            "an empty list",
            vec![HPA, workload, list],
            0,
            stays,
            "metric-empty",
        ),
        (
            "refused",
            vec![HPA, workload, &refused],
            1,
            "UNKNOWN: NO ACCESS TO THE METRICS",
            "you are not allowed to read cpu",
        ),
        (
            "no metrics",
            vec![HPA, workload],
            2,
            "UNKNOWN: THE INPUT LACKS A METRIC",
            "the input has no PodMetrics for cpu",
        ),
        (
            "metrics of another namespace",
            vec![HPA, workload, &elsewhere],
            2,
            "UNKNOWN: THE INPUT LACKS A METRIC",
            "the input has no PodMetrics for cpu",
        ),
        (
            "a list of metrics of another namespace",
            vec![HPA, workload, list_elsewhere],
            2,
            "UNKNOWN: THE INPUT LACKS A METRIC",
            "the input has no PodMetrics for cpu",
        ),
        (
            "a list of values of another namespace",
            vec![&custom, workload, values_elsewhere],
            2,
            "UNKNOWN: THE INPUT LACKS A METRIC",
            "the input has no MetricValueList for hits",
        ),
        (
            "a list of pods of another namespace",
            vec![HPA, target, metrics, pods_elsewhere],
            2,
            "UNKNOWN: THE INPUT LACKS THE PODS",
            "the input has no Pod for cpu",
        ),
        (
            "no pods",
            vec![HPA, target, metrics],
            2,
            "UNKNOWN: THE INPUT LACKS THE PODS",
            "the input has no Pod for cpu",
        ),
    ] {
        let input = documents(&parts);
        let explain = |more: &[&str]| run("explain web -f -", more, &input);
        let page = explain(&[]);
        assert_eq!(page.code, Some(code), "{name}: {}", page.stderr);
        let shown = &*page.stdout;
        assert!(shown.contains(headline), "{name}: {shown}");
        let page = explain(&["-o", "wide"]);
        let wide = &*page.stdout;
        assert_eq!(
            wide.contains("CONDITIONS AND EVENTS"),
            code == 0,
            "{name}: {wide}"
        );
        if code > 0 {
            let error = format!("error: no answer: {finding}\n");
            assert!(page.stderr.starts_with(&error), "{name}: {}", page.stderr);
            assert!(
                headline.starts_with(not_known) && !shown.contains("Failed"),
                "{name}: {shown}"
            );
        }
        let outcome = explain(&["-o", "json"]).json();
        for said in ["status", "events"] {
            assert_eq!(
                outcome["outcome"][said].is_null(),
                code > 0,
                "{name}: {outcome:#}"
            );
        }
        let table = run("explain -f -", &[], &input);
        assert!(table.stdout.contains(finding), "{name}: {}", table.stdout);
        assert_eq!(table.code, Some(i32::from(code > 0)), "{name}");
        let saves = shown.contains("`kubectl-hpa explain web -n shop --save FILE` saves");
        assert_eq!(saves, code == 2, "{name}: {shown}");
        // A finding may hide behind what is not known.
        let gate = run("predict web -f - --fail-on unreachable-target", &[], &input);
        let expected = if code == 0 { 0 } else { 4 };
        assert_eq!(gate.code, Some(expected), "{name}: {}", gate.stderr);
        // Likewise if the pass ignores the metrics, unless it is about something else.
        let metric = if code == 0 {
            finding
        } else {
            "missing-request"
        };
        let failed = if code == 0 { 3 } else { 4 };
        for (watched, expected) in [(metric, failed), ("warning", failed), ("other-writer", 0)] {
            let gate = run("predict web -f - --max 1 --fail-on", &[watched], &input);
            assert_eq!(
                gate.code,
                Some(expected),
                "{name} {watched}: {}",
                gate.stdout
            );
        }
    }

    // Assumptions need not be in the input.
    let input = documents(&[HPA, workload]);
    let assumed = run("predict web -f - --cpu 90%", &[], &input)
        .quiet()
        .text();
    let told = "  STAYS AT 2\n  cpu proposes 2, the current number.\n";
    assert!(assumed.contains(told), "{assumed}");
}

#[test]
fn a_target_that_the_input_lacks_is_named_with_the_command_that_saves_it() {
    let other = REST.replace("name: web,", "name: other,");
    let missing = documents(&[HPA, REST.split_once("---").expect("documents").1]);
    let page = run("explain web -f -", &[], &missing).quiet().text();
    assert!(page.contains("UNKNOWN: THE INPUT HAS NO TARGET"), "{page}");
    let note = "the input lacks the target Deployment web: add it; ";
    assert!(page.contains(note), "{page}");
    assert!(
        page.contains("explain web -n shop --save FILE` saves"),
        "{page}"
    );
    // That another namespace has objects of its kind says nothing.
    let stored = HPA.replace("namespace: shop}", "namespace: shop, uid: u-1}");
    let elsewhere = other.replace("namespace: shop", "namespace: other, uid: u-2");
    let page = run("explain web -f -", &[], &documents(&[&stored, &elsewhere]))
        .quiet()
        .text();
    assert!(page.contains("UNKNOWN: THE INPUT HAS NO TARGET"), "{page}");
    for flags in [["--fail-on", "at-max"], ["--expect", "not blocked"]] {
        let gate = run("predict web -f -", &flags[..], &missing);
        assert_eq!(gate.code, Some(4), "{flags:?}: {}", gate.stderr);
    }
    // A prediction without assumptions is rejected, and the error has the command that gives an answer.
    for (flags, kept) in [
        (&[][..], ""),
        (&["--max", "5"], "--max 5"),
        (&["--for", "1m"], ""),
    ] {
        let none = run("predict web -f -", flags, HPA);
        let error = &*none.stderr;
        assert_eq!(none.code, Some(2), "{flags:?}: {error}");
        assert!(
            error.contains("no answer: the input lacks the target Deployment web"),
            "{error}"
        );
        assert!(!none.stdout.contains("CHANGES"), "{}", none.stdout);
        let command = error.split('`').nth(1).expect("a command");
        assert!(command.contains(kept), "{command}");
        let (_, flags) = command.split_once("predict ").expect("its flags");
        run(&format!("predict {flags}"), &[], HPA).quiet().text();
    }
    // Nothing is said in the controller's name, and the spec is as a server would store it.
    let object = run("explain web -f - -o json", &[], &missing)
        .quiet()
        .answer();
    assert_eq!(
        [&object["outcome"]["status"], &object["outcome"]["events"]],
        [&Value::Null; 2]
    );
    assert_eq!(object["hpa"]["spec"]["minReplicas"], 1);
    // Saved, it is missing again, and not something that a server said.
    let path = directory("without_target").join("state.json");
    let path = path.to_str().expect("a path in UTF-8");
    run("explain web -f - --save", &[path], &missing)
        .quiet()
        .text();
    let again = run("explain web -f", &[path, "-o", "json"], "");
    let saved = again.json();
    assert_eq!(saved["outcome"], object["outcome"]);
    // It did not exist in a complete capture, or in one that lists Deployments of a cluster.
    for parts in [vec![&*missing, STATE], vec![HPA, LISTED]] {
        let page = run("explain web -f -", &[], &documents(&parts))
            .quiet()
            .text();
        assert!(page.contains("CANNOT SCALE"), "{page}");
        assert!(
            page.contains("deployments.apps \"web\" not found"),
            "{page}"
        );
    }
}

/// A list of a cluster, with a Deployment.
const LISTED: &str = "\
apiVersion: v1
kind: List
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: other, namespace: shop, uid: u-2}
  spec: {replicas: 2, selector: {matchLabels: {app: other}}}
";

/// Manifests, also in a list, and single objects of a cluster say nothing about others, whatever the HPA is.
#[test]
fn only_a_list_of_a_cluster_says_what_does_not_exist() {
    let stored = HPA.replace("namespace: shop}", "namespace: shop, uid: u-1}");
    let (_, single) = LISTED.split_once("- ").expect("an item");
    let single = single.replace("\n  ", "\n");
    let made = |text: &str| text.replace(", uid: u-2", "");
    for (name, other, lacks) in [
        ("a list", LISTED.to_owned(), false),
        ("a list of manifests", made(LISTED), true),
        ("an object", single.clone(), true),
        ("a manifest", made(&single), true),
    ] {
        for hpa in [HPA, &stored] {
            let input = documents(&[hpa, &other]);
            let page = run("explain web -f -", &[], &input).quiet().text();
            let is_lacking = page.contains("UNKNOWN: THE INPUT HAS NO TARGET");
            assert_eq!(is_lacking, lacks, "{name}: {page}");
            assert_eq!(page.contains("CANNOT SCALE"), !lacks, "{name}: {page}");
        }
    }
    // A list of one group says nothing about another.
    let hpa = HPA.replace("apiVersion: apps/v1,", "apiVersion: apps.kruise.io/v1,");
    let page = run("explain web -f -", &[], &documents(&[&hpa, LISTED])).stdout;
    assert!(page.contains("UNKNOWN: THE INPUT HAS NO SCALE"), "{page}");
}

/// The scale of a custom kind is not derived from its object, so the input may have the target.
#[test]
fn the_scale_of_a_custom_target_may_be_what_the_input_lacks() {
    let hpa = HPA.replace(
        "{apiVersion: apps/v1, kind: Deployment, name: web}",
        "{apiVersion: apps.openshift.io/v1, kind: DeploymentConfig, name: web}",
    );
    let target = "apiVersion: apps.openshift.io/v1\nkind: DeploymentConfig\n\
                  metadata: {name: web, namespace: shop}\n";
    let input = documents(&[&hpa, target]);
    let page = run("explain web -f -", &[], &input).quiet().text();
    for said in [
        "UNKNOWN: THE INPUT HAS NO SCALE\n",
        "The input lacks the Scale of DeploymentConfig web.\n",
        "  the input lacks the Scale of DeploymentConfig web: add it; ",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    let list = run("explain -A -f -", &[], &input).stdout;
    assert!(list.contains("the input has no scale"), "{list}");
}

/// What another HPA selects is left open once the target's pods are known, also assumed ones.
#[test]
fn other_hpas_are_noted_once_the_target_s_pods_are_known() {
    let other = HPA.replace("name: web", "name: other");
    let alone = documents(&[HPA, &other]);
    let (target, _) = REST.split_once("---").expect("documents");
    let note = "the HPA shop/other selects the same pods";
    for (command, input, is_noted) in [
        ("explain web -n shop -f -", &alone, false),
        ("explain web -n shop -f - -o json", &alone, false),
        (
            "predict web -n shop -f - --replicas 3 --cpu 80%",
            &alone,
            true,
        ),
        (
            "explain web -n shop -f -",
            &documents(&[HPA, &other, target]),
            true,
        ),
    ] {
        let said = run(command, &[], input).stdout;
        assert_eq!(said.contains(note), is_noted, "{command}: {said}");
    }
    let list = run("explain -n shop -f -", &[], &alone).stdout;
    assert!(!list.contains("note"), "{list}");
}

/// Without a ControllerState, a list of pods that has none of those that the target reports is a selection, unless it
/// has pods that the target owns; and single PodMetrics are a selection, too.
#[test]
fn what_is_left_out_of_a_selection_is_unknown() {
    let (workload, metrics) = REST.split_at(REST.rfind("---").expect("documents"));
    let metrics = metrics.trim_start_matches("---");
    let (target, _) = workload.split_at(workload.find("---").expect("documents"));
    let pod = |name: &str, label: &str, owner: &str| {
        json!({"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Running"},
            "metadata": {"name": name, "namespace": "shop", "labels": {"app": label},
                "ownerReferences": build::owned_by("apps/v1", "Deployment", owner)},
            "spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": "100m"}}}]}})
    };
    let others = build::list_of("v1", "PodList", &[pod("api-1", "api", "api")]);
    let own = build::list_of("v1", "PodList", &[pod("web-1", "old", "web")]);
    let null = r#"{"apiVersion": "v1", "kind": "PodList", "items": null}"#;
    let both = build::list([pod("web-1", "web", "web"), pod("web-2", "web", "web")]);
    let starting = both
        .replacen("Running", "Pending", 2)
        .replacen("Pending", "Running", 1);
    let item: Value = build::yaml(metrics);
    let usage = build::list([item]);
    let (no_pods, no_usage) = ("THE INPUT LACKS THE PODS", "no PodMetricsList for cpu");
    let (nothing, some) = ("selector-matches-nothing", "1 missing");
    for (name, parts, said) in [
        ("pods of others", [&*others, metrics], no_pods),
        ("no pods", [null, metrics], no_pods),
        ("pods that it owns", [&own, metrics], nothing),
        ("one of two PodMetrics", [&both, metrics], no_usage),
        ("a list of one", [&both, &usage], some),
        (
            "a pod that uses nothing yet",
            [&starting, metrics],
            "2 unready",
        ),
    ] {
        let input = documents(&[&[HPA, target][..], &parts].concat());
        let page = run("explain web -f - -o wide", &[], &input).stdout;
        assert!(page.contains(said), "{name}: {page}");
    }
}

/// Saved, a manifest is what it was: the pods that were assumed are in no cluster.
#[test]
fn assumed_pods_are_not_saved() {
    let explained = run("explain web -f -", &[], HPA).quiet().text();
    let hint = "; `kubectl-hpa predict web -n shop -f - --replicas 3 --cpu 80%` assumes the pods";
    assert!(explained.contains(hint), "{explained}");
    let path = directory("assumed_pods").join("state.json");
    let path = path.to_str().expect("a path in UTF-8");
    let predict = "predict web --replicas 3 --cpu 90%";
    let first = run(predict, &["-f", "-", "--save", path], HPA)
        .quiet()
        .text();
    let saved = fs::read_to_string(path).expect("a state");
    assert!(
        !saved.contains("\"Pod\"") && !saved.contains("-assumed-"),
        "{saved}"
    );
    let explained = run("explain web -f", &[path], "").quiet().text();
    assert!(
        explained.contains("UNKNOWN: THE INPUT HAS NO TARGET"),
        "{explained}"
    );
    let verdict = |page: &str| {
        page.lines()
            .find(|it| it.contains("SCALE UP"))
            .map(str::to_owned)
    };
    let again = run(predict, &["-f", path], "").quiet().text();
    assert!(
        verdict(&again).is_some() && verdict(&again) == verdict(&first),
        "{again}"
    );
}

/// What is printed for pasting answers, or says what it still lacks.
#[test]
fn commands_that_assume_pods_can_be_pasted() {
    let container = "  - {type: ContainerResource, containerResource: {name: cpu, container: app, \
                     target: {type: Utilization, averageUtilization: 60}}}\n";
    let two = HPA.trim_end().to_owned() + "\n" + container;
    let target = REST
        .split("---")
        .find(|it| it.contains("Deployment"))
        .expect("a Deployment");
    let unstated = target
        .replace("replicas: 2, s", "s")
        .replace("status: {replicas: 2}", "");
    assert!(!unstated.contains("replicas"), "{unstated}");
    let of_keda = "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: web, namespace: shop}\n\
                   spec: {scaleTargetRef: {name: web}, minReplicaCount: 1, triggers: [{type: cpu, metricType: Utilization, \
                   metadata: {value: '70'}}]}\n";
    let lacks_value = "state what is missing, such as --cpu 80%";
    for (input, lacks) in [
        (HPA.to_owned(), None),
        (two, None),
        (documents(&[HPA, target]), None),
        (documents(&[HPA, &unstated]), None),
        (of_keda.to_owned(), Some(lacks_value)),
    ] {
        let explained = run("explain web -f -", &[], &input);
        let shown = explained.shown();
        let commands = shown
            .split('`')
            .filter_map(|it| Some(it.split_once("predict ")?.1));
        let commands: Vec<&str> = commands.collect();
        let [command] = commands[..] else {
            panic!("{shown}")
        };
        let words = command.split(' ').map(|word| word.trim_matches('\''));
        let pasted = run("predict", &Vec::from_iter(words), &input);
        let says = &*pasted.stderr;
        match lacks {
            None => assert!(pasted.stdout.contains("SCALE UP"), "{command}: {says}"),
            Some(lacks) => assert!(says.contains(lacks), "{command}: {says}"),
        }
    }
}

/// A printed command explains the same pass: by the same clock, rules and history.
#[test]
fn commands_repeat_what_was_typed_of_the_controller() {
    let typed = "--now 2026-11-21T07:06:40Z --kubernetes-version v1.30.7-gke.1 --tolerance 0.2 --sync-period 30.0001s \
                 --feature-gates HPAScaleToZero=true --recommendation 3@1m0s";
    let explain = "explain nginx-deployment -f examples/nginx -o wide";
    let explained = run(&format!("{explain} {typed}"), &[], "").quiet().text();
    let printed = explained
        .lines()
        .filter_map(|line| line.trim().split_once("$ "));
    let commands: Vec<&str> = printed.map(|(_, command)| command).collect();
    assert!(!commands.is_empty(), "{explained}");
    let rules = explained.lines().nth(1).expect("the rules and the time");
    for command in commands {
        for flag in typed.split(" --") {
            assert!(command.contains(flag), "{command}");
        }
        let (_, line) = command.split_once(' ').expect("its words");
        let again = run(line, &[], "").quiet().text();
        assert!(again.contains(rules), "{command}: {again}");
    }
}

/// A chart may have a pod that tests it. Whatever that requests, and whether the target selects it, it does not run.
#[test]
fn a_pod_without_a_status_is_only_a_manifest() {
    let target = REST
        .split("---")
        .find(|it| it.contains("Deployment"))
        .expect("a Deployment");
    let target = target.replace("status: {replicas: 2}", "");
    let typed = "predict -f - --replicas 4 --cpu 90%";
    let alone = run(typed, &[], &documents(&[HPA, &target])).quiet().text();
    for (labels, requests) in [
        ("{app: web}", "{cpu: 10m}"),
        ("{app: web}", "{}"),
        ("{}", "{}"),
    ] {
        let pod = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: web-test, namespace: shop, labels: {labels}}}\n\
             spec: {{containers: [{{name: wget, resources: {{requests: {requests}}}}}]}}\n"
        );
        let with_test = run(typed, &[], &documents(&[HPA, &target, &pod]))
            .quiet()
            .text();
        let note = "skipped Pod/web-test: without a status it is a manifest, and does not run";
        assert!(with_test.contains(note), "{with_test}");
        // The clock of the two runs is the system's: its times may be a second apart.
        let without_notes_and_times = |page: &str| {
            let page = page.split("\nNOTES").next().unwrap_or_default().to_owned();
            Vec::from_iter(
                page.split_whitespace()
                    .filter(|word| !word.ends_with("Z"))
                    .map(str::to_owned),
            )
        };
        let expected = without_notes_and_times(&alone);
        assert_eq!(
            without_notes_and_times(&with_test),
            expected,
            "{labels} {requests}"
        );
    }
}

/// The only manifest of the target may be a candidate's, even if settings of the candidate are varied.
#[test]
fn pods_are_assumed_from_the_target_of_a_candidate() {
    let target = REST
        .split("---")
        .find(|it| it.contains("Deployment"))
        .expect("a Deployment");
    let template = ", template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: web, \
                    resources: {requests: {cpu: 100m}}}]}}}";
    let target = target.replace("{app: web}}}", &format!("{{app: web}}}}{template}"));
    let target = target.replace("status: {replicas: 2}", "");
    let path = directory("target_of_a_candidate").join("new.yaml");
    fs::write(&path, documents(&[HPA, &target])).expect("a file");
    let path = path.to_str().expect("a path in UTF-8");
    let typed = "predict -f - --cpu 90% --for 1m --hpa";
    for more in [&[path][..], &[path, "--vary", "max=4,5"]] {
        let page = run(typed, more, HPA).quiet().text();
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        let want = format!("2 pods, ready and alike, as Deployment/web in {path} makes them");
        assert!(page.contains(&want), "{page}");
    }
}

#[test]
fn the_version_decides_the_rules_and_gates() {
    let stating = |more: &str| documents(&[HPA, REST, &format!("{STATE}{more}")]);
    let typed = "explain web -f - -o json";
    for (state, more, rules) in [
        ("", &[][..], "v1.37.0"),
        ("kubernetesVersion: v1.31.0+k3s1\n", &[], "v1.31.14"),
        (
            "kubernetesVersion: v1.31.0\n",
            &["--kubernetes-version", "v1.28"],
            "v1.28.15",
        ),
    ] {
        let object = run(typed, more, &stating(state)).quiet().answer();
        assert_eq!(object["rules"], rules, "{state} {more:?}");
    }

    let gates = |version: &str| format!("kubernetesVersion: {version}\n");
    let old = "kubernetesVersion: v1.22 is older than v1.23, the oldest rules known";
    let odd = "kubernetesVersion: not a version such as v1.31.4";
    let first = "--kubernetes-version takes precedence";
    let removed = "unknown feature gate HPAConfigurableTolerance";
    for (state, more, error, hint) in [
        (gates("v1.22.1"), &[][..], old, Some(first)),
        (gates("new"), &[], odd, Some(first)),
        (
            gates("v1.26.4"),
            &["--feature-gates", "HPAConfigurableTolerance=true"],
            removed,
            Some("a pass in v1.26.4 is affected by HPAScaleToZero, HPAContainerMetrics"),
        ),
        (
            gates("v1.37.0"),
            &["--feature-gates", "HPAConfigurableTolerance=false"],
            "cannot set feature gate HPAConfigurableTolerance to false: v1.37.0 has it locked to true",
            None,
        ),
        (
            gates("v1.30.1"),
            &["--feature-gates", "HPAContainerMetrics=false"],
            "cannot set feature gate HPAContainerMetrics to false: v1.30.14 has it locked to true",
            None,
        ),
    ] {
        let refused = run(typed, more, &stating(&state)).refusal();
        assert_eq!(
            refused,
            (error.to_owned(), hint.map(str::to_owned), Some(2)),
            "{state}"
        );
    }
    run(typed, &["--kubernetes-version", "v1.22"], &good())
        .fails(2, &["v1.22 is older than v1.23"]);

    // 55m of 100m is at the edge of the tolerance around 50%, which v1.33 moved.
    let edge = good()
        .replace("cpu: 150m", "cpu: 55m")
        .replace("{replicas: 2, s", "{replicas: 1, s");
    let moved = "by the rules of v1.37.0 this pass would end at 1 replica";
    for (state, more, said) in [
        (
            gates("v1.30.1"),
            &["--feature-gates", "HPAContainerMetrics=true"][..],
            vec![moved],
        ),
        (
            gates("v1.33.1"),
            &["--feature-gates", "PodLevelResources=true"],
            vec!["feature gate PodLevelResources does not affect a pass in v1.33.13"],
        ),
        (
            gates("v1.26.4") + "featureGates: {HPAConfigurableTolerance: true}\n",
            &[],
            vec![
                "feature gate HPAConfigurableTolerance does not affect a pass in v1.26.4",
                moved,
            ],
        ),
        (gates("v1.32.1"), &[], vec![moved]),
        (gates("v1.33.1"), &[], vec![]),
    ] {
        let object = run(typed, more, &format!("{edge}{state}")).quiet().answer();
        assert_eq!(object["notes"], serde_json::json!(said), "{state} {more:?}");
    }
}

#[test]
fn a_controller_managers_pod_states_its_settings() {
    let pod = |tolerance: &str| {
        format!(
            "apiVersion: v1
kind: Pod
metadata: {{name: kube-controller-manager-a, namespace: kube-system, labels: {{component: kube-controller-manager}}}}
spec:
  containers:
  - name: kube-controller-manager
    image: registry.k8s.io/kube-controller-manager:v1.31.4
    command: [kube-controller-manager]
    args: [--horizontal-pod-autoscaler-tolerance, '{tolerance}']
    env: [{{name: PASSWORD, value: secret-password}}]
"
        )
    };
    let path = directory("manager").join("saved");
    let path = path.to_str().expect("a path in UTF-8");
    let explain = |from: &str, input: &str, more: &[&str]| {
        let ran = run("explain web -o json -f", &[&[from], more].concat(), input).quiet();
        assert!(!ran.stdout.contains("secret-"), "{}", ran.stdout);
        ran.answer()
    };
    let without = explain("-", &good(), &[]);
    let tolerant = explain(
        "-",
        &good(),
        &["--tolerance", "9", "--kubernetes-version", "v1.31"],
    );
    assert_ne!(without["outcome"], tolerant["outcome"]);

    let found = explain("-", &documents(&[&good(), &pod("9")]), &["--save", path]);
    assert_eq!(
        (&found["rules"], &found["outcome"]),
        (&"v1.31.14".into(), &tolerant["outcome"])
    );
    let first = &found["basis"][0];
    let want = [
        "controller flags",
        "tolerance 9",
        "pod kube-system/kube-controller-manager-a",
    ];
    assert_eq!(["item", "value", "source"].map(|field| &first[field]), want);
    let saved = fs::read_to_string(path).expect("a saved file");
    assert!(
        !saved.contains("secret-") && !saved.contains("kube-system"),
        "{saved}"
    );
    let again = explain(path, "", &[]);
    assert_eq!(
        [&again["rules"], &again["outcome"]],
        [&found["rules"], &found["outcome"]]
    );

    // Rules that are too old are not replaced by the newest ones.
    let old = documents(&[&good(), &pod("9").replace("v1.31.4", "v1.16.3")]);
    run("explain web -f -", &[], &old).fails(
        2,
        &["kube-controller-manager-a): v1.16 is older than v1.23"],
    );
    let like = explain("-", &old, &["--kubernetes-version", "v1.31"]);
    assert_eq!(like["outcome"], tolerant["outcome"]);

    // A ControllerState takes precedence.
    let stated = format!("{STATE}\nflags: {{tolerance: 0.1}}\nkubernetesVersion: v1.37.0\n");
    let stated = explain("-", &documents(&[HPA, REST, &pod("9"), &stated]), &[]);
    assert_eq!(
        (&stated["rules"], &stated["outcome"]),
        (&"v1.37.0".into(), &without["outcome"])
    );
}

#[test]
fn bad_input_is_refused_with_one_clear_line() {
    let quantities = "quantities must match the regular expression \
                      '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    let two_states = documents(&[HPA, STATE, STATE]);
    let unknown_field = documents(&[HPA, &format!("{STATE}flags: {{tolerence: 0.2}}")]);
    let other_version = good().replace("v1alpha1", "v2");
    let deep_value = good().replace("150m", "150q");
    let wrong_type = good().replace("maxReplicas: 5", "maxReplicas: '5'");
    let parts: Vec<&str> = REST.split("---\n").collect();
    let twice = |part: &str| documents(&[HPA, REST, part]);
    let [deployment, pod, metrics] = [0, 1, 2].map(|part| twice(parts[part]));
    let invalid = good()
        .replace("maxReplicas: 5", "maxReplicas: -1")
        .replace("name: cpu", "name: ''");
    let misspelt_kind = HPA.replace("PodAutoscaler", "PodAutoScaler");
    let short_version = HPA.replace("autoscaling/v2", "v2");
    let no_version = HPA.replace("apiVersion: autoscaling/v2\n", "");
    let misspelt_field = HPA.replace("maxReplicas", "maxreplicas");
    for (input, said, hinted) in [
        (&b""[..], "failed to read IN: it is empty", None),
        (
            b"\n# nothing\n---\n",
            "failed to read IN: it has no object",
            None,
        ),
        (
            b"\x7fELF\x02\x01\x01\x00",
            "failed to read IN: not text (byte 7 is 0)",
            None,
        ),
        (
            b"\x1f\x8b\x08\x00",
            "failed to read IN: not text (byte 3 is 0)",
            Some("it is compressed with gzip: unpack it first"),
        ),
        (
            b"replicaCount: 2\n",
            "failed to read IN:1:1: not a Kubernetes object: it has no kind",
            Some(
                "if it belongs to a chart or a kustomization, use the output of `helm template` or \
                 `kustomize build`",
            ),
        ),
        (
            b"kind: Pod\n  name: web\n",
            "failed to read IN:2:7: mapping values are not allowed in this context",
            None,
        ),
        (
            b"{\"kind\": \"Pod\",\n \"metadata\": {\"name\" \"web\"}}",
            "failed to read IN:2:22: expected `:`",
            None,
        ),
        (
            b"{\"kind\": \"Pod\", \"metadata\": {\"na",
            "failed to read IN:1:32: EOF while parsing a string",
            None,
        ),
        (
            b"kind: PodList\nmetadata: {continue: abc}\nitems: []\n",
            "failed to read IN:2:11: metadata: the list has more pages (continue): save all of them, as kubectl \
             get does",
            None,
        ),
        (
            b"apiVersion: metrics.k8s.io/v1beta1\nkind: PodMetricsList\nmetadata: {continue: abc}\nitems: []\n",
            "failed to read IN:3:11: metadata: the list has more pages (continue): save all of them, as kubectl \
             get does",
            None,
        ),
        (
            b"apiVersion: custom.metrics.k8s.io/v1beta2\nkind: MetricValueList\nmetadata: {continue: abc}\nitems: []\n",
            "failed to read IN:3:11: metadata: the list has more pages (continue): save all of them, as kubectl \
             get does",
            None,
        ),
        (
            b"kind: Pod\nmetadata: {name: 5}\n",
            "failed to read IN:2:18: metadata.name: an integer, expected a string",
            None,
        ),
        (
            wrong_type.as_bytes(),
            "IN: HorizontalPodAutoscaler web: spec.maxReplicas: a string, \
             expected a 32-bit integer",
            None,
        ),
        (
            deep_value.as_bytes(),
            &format!("failed to read IN:33:39: containers[0].usage.cpu: {quantities}"),
            None,
        ),
        (
            two_states.as_bytes(),
            "failed to read IN:17:1: second ControllerState (the first is in IN): saved states \
             cannot be combined, so read one of them",
            None,
        ),
        (
            unknown_field.as_bytes(),
            "failed to read IN:15:8: flags: unknown field, expected one of \
             `tolerance`, `downscaleStabilization`, `cpuInitializationPeriod`, \
             `initialReadinessDelay`, `syncPeriod`",
            None,
        ),
        (
            other_version.as_bytes(),
            "failed to read IN:37:7: kind: unsupported apiVersion of \
             ControllerState; expected \"kubectl-hpa/v1alpha1\"",
            None,
        ),
        (
            deployment.as_bytes(),
            "the input repeats Deployment web",
            Some("keep one of each"),
        ),
        (
            pod.as_bytes(),
            "the input repeats Pod web-1",
            Some("keep one of each"),
        ),
        (
            metrics.as_bytes(),
            "the input repeats PodMetrics web-1",
            Some("keep one of each"),
        ),
        (
            invalid.as_bytes(),
            "IN: HorizontalPodAutoscaler.autoscaling \"web\" is invalid: \
             [spec.maxReplicas: Invalid value: -1: must be greater than or equal to 1, \
             spec.maxReplicas: Invalid value: -1: must be greater than or equal to `minReplicas`, \
             spec.metrics[0].resource.name: Required value: must specify a resource name]",
            Some("the API server would reject this manifest with these causes"),
        ),
        (
            REST.as_bytes(),
            "no HorizontalPodAutoscaler web in the input",
            Some("it has Deployment/web, Pod/web-1, 1 value of a metrics API"),
        ),
        (
            misspelt_kind.as_bytes(),
            "no HorizontalPodAutoscaler web in the input",
            Some("it has the kind HorizontalPodAutoScaler: did you mean HorizontalPodAutoscaler?"),
        ),
        (
            short_version.as_bytes(),
            "no HorizontalPodAutoscaler web in the input",
            Some("a HorizontalPodAutoscaler has the apiVersion v2: did you mean autoscaling/v2?"),
        ),
        (
            no_version.as_bytes(),
            "no HorizontalPodAutoscaler web in the input",
            Some("a HorizontalPodAutoscaler has no apiVersion: add autoscaling/v2"),
        ),
        (
            b"apiVersion: v1\nkind: List\nitems: []\n",
            "no HorizontalPodAutoscaler web in the input",
            Some("it has no objects"),
        ),
        (
            misspelt_field.as_bytes(),
            "IN: HorizontalPodAutoscaler.autoscaling \"web\" is invalid: \
             [spec.maxReplicas: Required value: must be set and greater than 0, \
             spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`]",
            Some(
                "the API server would reject this manifest with these causes, and ignores what it does not know: \
                 unknown field \"spec.maxreplicas\", did you mean \"spec.maxReplicas\"?",
            ),
        ),
        (
            b"{{- if .Values.hpa }}\nkind: a\n{{- end }}\n",
            "failed to read IN:1:2: key must be a string",
            Some("this is a template: use the output of `helm template` or `kustomize build`"),
        ),
    ] {
        let path = file("bad_input", input);
        let (error, hint, code) = run("explain web -f", &[&path], "").refusal();
        assert_eq!((error, code), (said.replace("IN", &path), Some(2)));
        assert_eq!(hint.as_deref(), hinted);
    }
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let empty = directory("files_that_cannot_be_read");
    let empty = empty.to_str().expect("a path in UTF-8");
    let values = directory("values_alone");
    fs::write(values.join("values.yaml"), "replicas: 2\n").expect("a file");
    let values = values.to_str().expect("a path in UTF-8");
    let only = format!("it has no objects, only files without a kind: {values}/values.yaml");
    for (args, said, hinted) in [
        (
            vec!["-f", values],
            "no HorizontalPodAutoscaler web in the input".to_owned(),
            Some(&*only),
        ),
        (
            vec!["-f", "missing.yaml"],
            "failed to read missing.yaml: no such file or directory".to_owned(),
            None,
        ),
        (
            vec!["-f", empty],
            format!("no .json, .yaml or .yml file in the directory {empty}"),
            None,
        ),
        (
            vec!["-f", "-", "-f", "-"],
            "standard input (-) can be read only once".to_owned(),
            None,
        ),
        (
            vec!["-f", "-"],
            "failed to read standard input: it is empty".to_owned(),
            None,
        ),
        (
            vec!["-f", "https://example.com/hpa.yaml"],
            "failed to read https://example.com/hpa.yaml: addresses are not read".to_owned(),
            Some("download the file and name it, or pipe it to -f -"),
        ),
    ] {
        let (error, hint, code) = run("explain web", &args, "").refusal();
        assert_eq!((error, code), (said, Some(2)));
        assert_eq!(hint.as_deref(), hinted);
    }
}

#[test]
fn words_of_fail_on_that_are_not_known_have_near_ones() {
    let codes = "a finding is named by its code or by its severity, which is error, warning or info: \
                 https://github.com/kubectl-hpa/kubectl-hpa/blob/main/docs/findings.md lists them";
    for (verb, word, hinted) in [
        ("predict", "limit", "did you mean limited?"),
        ("predict", "scaledown", "did you mean scale-down?"),
        (
            "predict",
            "max",
            "did you mean maxed or run-maxed or above-max or at-max?",
        ),
        ("predict", "at-mx", "did you mean at-max?"),
        ("predict", "nonsense", codes),
        (
            "explain",
            "maxed",
            "maxed is a condition of `kubectl-hpa predict --fail-on`",
        ),
        ("explain", "max", "did you mean above-max or at-max?"),
        ("explain", "nonsense", codes),
    ] {
        let output = run(verb, &["web", "-f", "-", "--fail-on", word], &good());
        let (error, hint, code) = output.refusal();
        let what = if verb == "predict" {
            "condition or finding"
        } else {
            "finding"
        };
        assert_eq!((error, code), (format!("unknown {what} {word:?}"), Some(2)));
        assert_eq!(hint.as_deref(), Some(hinted), "{verb} {word}");
    }
    for verb in ["explain", "predict"] {
        let gate = |fail_on, ignored| {
            let flags = ["-f", "-", "--fail-on", fail_on, "--ignore", ignored];
            run(&format!("{verb} web"), &flags, &good())
        };
        let (error, hint, code) = gate("held-by-window,at-max", "at-max,held-by-window").refusal();
        assert_eq!(error, "--ignore leaves out every finding of --fail-on");
        assert_eq!((hint.is_some(), code), (true, Some(2)));
        // Something remains, if only a condition of the run.
        let others = ["held-by-window,at-max", "error,at-max", "maxed,at-max"];
        for other in others.iter().take(if verb == "predict" { 3 } else { 2 }) {
            let output = gate(other, "at-max");
            assert_ne!(output.code, Some(2), "{verb} {other}: {}", output.shown());
        }
    }
}

#[test]
fn files_without_objects_beside_manifests_are_skipped_with_a_note() {
    let chart = directory("chart");
    for (name, text) in [
        ("all.yaml", &*good()),
        ("empty.yaml", ""),
        ("package.json", r#"{"name": "web"}"#),
        ("values.yaml", "replicas: 2\n---\n- a\n"),
    ] {
        fs::write(chart.join(name), text).expect("a file");
    }
    let chart = chart.to_str().expect("a path in UTF-8");
    let object = run("explain web -o json -f", &[chart], "").quiet().answer();
    assert_eq!(object["outcome"]["scaleTo"], 3);
    let files = ["empty.yaml", "package.json", "values.yaml"].map(|it| format!("{chart}/{it}"));
    let skipped = format!("skipped {}: no Kubernetes object", files.join(", "));
    let notes = object["notes"].as_array().expect("notes");
    assert!(notes.contains(&json!(skipped)), "{notes:?}");
    // For a list, they are no notes about one of the HPAs.
    let list = run("explain -A -o json -f", &[chart], "");
    assert_eq!(list.stderr, format!("Note: {skipped}\n"));
    let of_one = &list.answer()["items"][0]["notes"];
    assert!(!of_one.to_string().contains("skipped"), "{of_one}");
    // A broken one is not skipped.
    fs::write(Path::new(chart).join("values.yaml"), "a: b: c\n").expect("a file");
    let (error, ..) = run("explain web -o json -f", &[chart], "").refusal();
    assert!(
        error.starts_with(&format!("failed to read {chart}/values.yaml:1:")),
        "{error}"
    );
}

#[test]
fn a_sample_without_a_timestamp_is_of_unknown_age() {
    let untimed = good().replace("timestamp: 2026-11-21T07:00:00Z\n", "");
    let text = run("explain web -f -", &[], &untimed).quiet().text();
    assert!(
        !text.contains("0001-01-01") && !text.contains("older than"),
        "{text}"
    );
    let note = "the metrics of 1 of 1 pods state no timestamp, so their age is unknown";
    let object = run("explain web -f - -o json", &[], &untimed)
        .quiet()
        .answer();
    assert!(
        object["notes"]
            .as_array()
            .expect("notes")
            .contains(&json!(note)),
        "{object}"
    );
}

#[test]
fn the_hpa_is_found_by_name_and_namespace() {
    let of = |namespace: &str| HPA.replace("shop", namespace);
    let two = documents(&[&good(), &of("test")]);
    let twice = documents(&[&good(), HPA]);
    let many: Vec<String> = (10..22).map(|n| of(&format!("n{n}"))).collect();
    let many = documents(&many.iter().map(String::as_str).collect::<Vec<_>>());

    for words in [
        &["web"][..],
        &["hpa", "web"],
        &["hpa/web"],
        &["horizontalpodautoscaler/web"],
        &["horizontalpodautoscalers.autoscaling/web"],
        &["hpa.v2.autoscaling/web"],
        &["shop/web"],
        &["deploy/web"],
        &["Deployment", "web"],
        &["deployments.apps/web"],
        // One HPA, typed twice.
        &["web", "hpa/web"],
    ] {
        let ran = run("explain -f - -o json", words, &good()).quiet();
        assert_eq!(ran.answer()["outcome"]["scaleTo"], 3, "{words:?}");
    }
    for words in [
        &["web", "-n", "shop"][..],
        &["shop/web"],
        &["deploy/web", "-n", "shop"],
    ] {
        let ran = run("explain -f - -o json", words, &two).quiet();
        assert_eq!(ran.answer()["outcome"]["scaleTo"], 3, "{words:?}");
    }
    for words in [&[][..], &["deploy/web"], &["sts", "web", "-n", "shop"]] {
        let ran = run("predict -f - -o json", words, &good());
        match words.first() {
            Some(&"sts") => assert_eq!(ran.code, Some(2)),
            _ => assert_eq!(ran.quiet().answer()["outcome"]["scaleTo"], 3, "{words:?}"),
        }
    }

    for (args, input, said, hinted) in [
        (
            vec!["api"],
            &two,
            "no HorizontalPodAutoscaler api in the input",
            "it has shop/web, test/web",
        ),
        (
            vec!["deploy/api"],
            &two,
            "no HorizontalPodAutoscaler for deploy/api in the input",
            "it has shop/web (Deployment/web), test/web (Deployment/web)",
        ),
        (
            vec!["sts", "web", "-n", "shop"],
            &two,
            "no HorizontalPodAutoscaler for sts/web in the namespace shop of the input",
            "it has shop/web (Deployment/web), test/web (Deployment/web)",
        ),
        (
            vec!["web", "-n", "prod"],
            &two,
            "no HorizontalPodAutoscaler prod/web in the input",
            "it has shop/web, test/web",
        ),
        (
            vec!["web"],
            &two,
            "2 HorizontalPodAutoscalers named web in the input: shop/web (standard input:1), \
             test/web (standard input:41)",
            "name the namespace with -n",
        ),
        (
            vec!["web", "-n", "shop"],
            &twice,
            "2 HorizontalPodAutoscalers named web in the input: shop/web (standard input:1), \
             shop/web (standard input:41)",
            "keep one of them",
        ),
        (
            vec!["api"],
            &many,
            "no HorizontalPodAutoscaler api in the input",
            "it has n10/web, n11/web, n12/web, n13/web, n14/web, n15/web, n16/web, n17/web, \
             n18/web, n19/web and 2 more",
        ),
    ] {
        let (error, hint, code) = run("explain -f -", &args, input).refusal();
        assert_eq!(
            (&*error, hint.as_deref(), code),
            (said, Some(hinted), Some(2))
        );
    }
}

#[test]
fn predict_takes_one_hpa_and_no_name_if_there_is_only_one() {
    for (args, input, said, hinted) in [
        (
            &[][..],
            &several(),
            "3 HorizontalPodAutoscalers in the input: shop/web, shop/api, test/web",
            Some("name one of them"),
        ),
        (
            &["deploy/web"],
            &several(),
            "2 HorizontalPodAutoscalers for deploy/web in the input: shop/web, test/web",
            Some("name one of them"),
        ),
        (
            &["-n", "prod"],
            &good(),
            "no HorizontalPodAutoscaler in the namespace prod of the input",
            Some("it has shop/web"),
        ),
        (
            &[],
            &REST.to_owned(),
            "the input has no HorizontalPodAutoscaler",
            Some("it has Deployment/web, Pod/web-1, 1 value of a metrics API"),
        ),
        (
            &[],
            &documents(&[REST, SCALED]),
            "the input has no HorizontalPodAutoscaler",
            Some("it has Deployment/web, Pod/web-1, 1 value of a metrics API, 1 event"),
        ),
        (
            &["web", "api"],
            &several(),
            "predict takes one HPA, not 2: web, api",
            Some("explain lists several"),
        ),
        (
            &["web", "deploy"],
            &several(),
            "predict takes one HPA, not 2: web, deploy",
            Some("a type comes first: deploy NAME"),
        ),
        (
            &["web", "api.yaml"],
            &several(),
            "predict takes one HPA, not 2: web, api.yaml",
            Some("to read api.yaml, use -f api.yaml"),
        ),
        (
            &["deplyo/web"],
            &several(),
            "no HorizontalPodAutoscaler deplyo/web in the input",
            Some(
                "deplyo is not a known type, so it is read as a namespace: did you mean deploy/web?",
            ),
        ),
        (
            &["pod/web"],
            &several(),
            "no HorizontalPodAutoscaler pod/web in the input",
            Some("a pod has no HPA of its own: name the workload, such as deploy/NAME"),
        ),
        (
            &["shop/web", "-n", "test"],
            &several(),
            "shop/web contradicts -n test",
            Some(
                "shop is not a known type, so it is read as a namespace; types are hpa, deploy, sts, rs, rc, ro \
                 and RESOURCE.GROUP",
            ),
        ),
    ] {
        let (error, hint, code) = run("predict -f -", args, input).refusal();
        assert_eq!(
            (&*error, hint.as_deref(), code),
            (said, hinted, Some(2)),
            "{args:?}"
        );
    }
    run("apply --yes", &[], "").fails(2, &["required"]);
}

#[test]
fn several_names_and_targets_with_several_hpas_are_listed() {
    for (args, keys, missing) in [
        (
            &["web", "api", "-n", "shop"][..],
            &["shop/api", "shop/web"][..],
            &[][..],
        ),
        (
            &["hpa", "web", "api", "-n", "shop"],
            &["shop/api", "shop/web"],
            &[],
        ),
        (&["deploy/web"], &["shop/web", "test/web"], &[]),
        (
            &["deploy", "web", "api", "-n", "shop"],
            &["shop/api", "shop/web"],
            &[],
        ),
        (
            &["deploy/api", "hpa/web", "-n", "shop"],
            &["shop/api", "shop/web"],
            &[],
        ),
        (
            &["shop/web", "shop/none"],
            &["shop/web"],
            &[("none", "shop", "not in the input")],
        ),
        (
            &["web", "sts/db"],
            &["shop/web", "test/web"],
            &[(
                "sts/db",
                "",
                "no HorizontalPodAutoscaler in the input has this target",
            )],
        ),
    ] {
        let output = run("explain -f - -o json", args, &several());
        let answer = output.json();
        let items = answer["items"]
            .as_array()
            .expect("items")
            .iter()
            .map(|it| &it["hpa"]);
        let text_of = |value: &Value| value.as_str().expect("text").to_owned();
        let found =
            items.map(|hpa| format!("{}/{}", text_of(&hpa["namespace"]), text_of(&hpa["name"])));
        assert_eq!(found.collect::<Vec<_>>(), keys, "{args:?}");
        let errors: Vec<Value> = missing
            .iter()
            .map(|(name, namespace, message)| {
                json!({"name": name, "namespace": namespace, "message": message, "hint": null})
            })
            .collect();
        assert_eq!(answer["errors"], json!(errors), "{args:?}");
        let lines: Vec<&str> = output.stderr.lines().collect();
        assert_eq!(lines.len(), missing.len(), "{lines:?}");
        for (line, (name, namespace, message)) in lines.iter().zip(missing) {
            let slash = if namespace.is_empty() { "" } else { "/" };
            assert_eq!(*line, format!("error: {namespace}{slash}{name}: {message}"));
        }
        assert_eq!(
            output.code,
            Some(i32::from(!missing.is_empty())),
            "{args:?}"
        );
    }
    let args = "explain deploy/web -f - --recommendation 8@2m";
    let (error, ..) = run(args, &[], &several()).refusal();
    assert_eq!(error, "a stated history belongs to one HPA");
}

/// Returns `shop/web`, `shop/api` with a label, and `test/web`, of which only the first has a target.
fn several() -> String {
    let api = HPA
        .replace("name: web", "name: api")
        .replace("shop}", "shop, labels: {team: a}}");
    documents(&[&good(), &api, &HPA.replace("shop", "test")])
}

#[test]
fn without_a_name_all_hpas_of_the_files_are_listed() {
    let list = |more: &[&str]| run("explain -f -", more, &several()).quiet().text();
    assert_eq!(
        list(&[]),
        "\
NAMESPACE  NAME  REFERENCE       TARGETS             CURRENT  WANTED  FINDING
shop       api   Deployment/api  cpu: <unknown>/50%        -       -  target-not-found
test       web   Deployment/web  cpu: <unknown>/50%        -       -  target-not-found
shop       web   Deployment/web  cpu: 150%/50%             2       3  -
"
    );
    for (args, keys) in [
        (&[][..], &["shop/api", "shop/web", "test/web"][..]),
        (&["-A", "-n", "test"], &["shop/api", "shop/web", "test/web"]),
        (&["-n", "shop"], &["shop/api", "shop/web"]),
        (&["-l", "team in (a, b)"], &["shop/api"]),
        (&["-l", "!team", "-n", "shop"], &["shop/web"]),
        (&["-n", "none"], &[]),
    ] {
        let json = list(&[args, &["-o", "json"]].concat());
        let answer: Value = serde_json::from_str(&json).expect("JSON");
        let items = answer["items"].as_array().expect("items").iter();
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let found = items.map(|it| {
            format!(
                "{}/{}",
                text(&it["hpa"]["namespace"]),
                text(&it["hpa"]["name"])
            )
        });
        assert_eq!(found.collect::<Vec<_>>(), keys, "{args:?}");
        let yaml: Value =
            serde_yaml::from_str(&list(&[args, &["-o", "yaml"]].concat())).expect("YAML");
        assert_eq!(yaml, answer, "{args:?}");
    }
    let none = run("explain -f - -n none", &[], &several());
    assert_eq!((none.code, &*none.stdout), (Some(0), ""));
    assert_eq!(none.stderr, "No resources found in none namespace.\n");
    let none = run("explain -f - -l team=none", &[], &several());
    assert_eq!(none.stderr, "No resources found\n");
}

/// Other HPAs for its target or its pods are said of an HPA in a list, too: without pods, and without replicas.
#[test]
fn an_hpa_of_a_list_has_the_notes_and_findings_that_it_has_alone() {
    const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: app}]}}
";
    let other = HPA.replace("name: web, namespace", "name: api, namespace");
    let without_replicas = DEPLOYMENT
        .replace("name: web,", "name: api,")
        .replace("  replicas: 2\n", "");
    let of_api = other.replace("name: web}", "name: api}");
    for (input, said) in [
        (
            documents(&[HPA, &other, DEPLOYMENT]),
            "HPA api scales the same target",
        ),
        (
            documents(&[HPA, REST, &of_api, &without_replicas]),
            "1 pod belongs to this HPA and to HPA api",
        ),
    ] {
        let explain = "explain -f - -o json --now 2026-11-21T07:00:10Z";
        let [alone, list] = [&["web"][..], &[]].map(|name| run(explain, name, &input).json());
        let mut items = list["items"].as_array().expect("items").iter();
        let listed = items.find(|it| it["hpa"]["name"] == "web").expect("web");
        for part in ["notes", "findings", "outcome"] {
            assert_eq!(listed[part], alone[part], "{part}");
        }
        assert!(alone.to_string().contains(said), "{alone:#}");
    }
}

#[test]
fn an_hpa_that_no_server_would_take_leaves_the_others_their_answers() {
    let bad = HPA
        .replace("name: web", "name: bad")
        .replace("maxReplicas: 5", "maxReplicas: 0");
    let input = documents(&[&good(), &bad]);
    let output = run("explain -f -", &[], &input);
    assert_eq!(output.code, Some(1));
    let rows: Vec<&str> = output.stdout.lines().collect();
    assert_eq!(rows.len(), 3);
    let said = "standard input: HorizontalPodAutoscaler.autoscaling \"bad\" is invalid: ";
    assert!(
        rows[1].starts_with("bad   -") && rows[1].contains(said),
        "{}",
        rows[1]
    );
    assert!(
        rows[2].starts_with("web   Deployment/web  cpu: 150%/50%        2       3  "),
        "{}",
        rows[2]
    );
    let errors: Vec<&str> = output.stderr.lines().collect();
    assert!(
        errors[0].starts_with(&format!("error: shop/bad: {said}")),
        "{}",
        errors[0]
    );
    assert_eq!(
        errors[1],
        "hint: the API server would reject this manifest with these causes"
    );
    let output = run("explain -f - -o json", &[], &input);
    assert_eq!(output.code, Some(1));
    let answer = output.json();
    assert_eq!(answer["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        (
            &answer["errors"][0]["name"],
            &answer["errors"][0]["namespace"]
        ),
        (&"bad".into(), &"shop".into())
    );
}

#[test]
fn what_no_list_can_be_made_of_is_refused() {
    let remembers =
        format!("{STATE}recommendations: [{{replicas: 4, time: 2026-11-21T07:00:00Z}}]");
    let remembers = several().replace(STATE, &remembers);
    let gate = several().replace(STATE, &format!("{STATE}memory: unknown\n"));
    let rescaled = "memory: unknown\nrescales: {since: 2026-11-21T06:00:00Z, changes: []}";
    let rescaled = several().replace(STATE, &format!("{STATE}{rescaled}"));
    for (args, input, said, hinted) in [
        (
            &[][..],
            REST,
            "the input has no HorizontalPodAutoscaler",
            Some("it has Deployment/web, Pod/web-1, 1 value of a metrics API"),
        ),
        (
            &[],
            &documents(&[&good(), HPA]),
            "the input repeats a HorizontalPodAutoscaler: shop/web (standard input:1, standard input:41)",
            Some("keep one of each"),
        ),
        (
            &[],
            &remembers,
            "the ControllerState has the history of one HPA, but the input has 3 HPAs",
            Some("name the HPA that it belongs to"),
        ),
        (
            &[],
            &rescaled,
            "the ControllerState has the history of one HPA, but the input has 3 HPAs",
            Some("name the HPA that it belongs to"),
        ),
        (
            &["--feature-gates", "A=true"],
            &gate,
            "unknown feature gate A",
            Some(
                "a pass in v1.37.0 is affected by HPAScaleToZero, PodLevelResources, \
                 HPAGeneration, HPAOptimizedSelectorStore, StaleControllerConsistencyHPA",
            ),
        ),
    ] {
        let (error, hint, code) = run("explain -f -", args, input).refusal();
        assert_eq!((&*error, hint.as_deref(), code), (said, hinted, Some(2)));
    }
    // A single HPA is not a list, whatever else is there.
    let one = run("explain -f - -n test", &[], &remembers).quiet().text();
    assert_eq!(one.lines().count(), 2);
}

#[test]
fn a_saved_list_gives_the_same_list() {
    let path = directory("saved_list").join("out");
    let path = path.to_str().expect("a path in UTF-8");
    for selection in [&[][..], &["-n", "shop"], &["-l", "team"]] {
        let of = |files: &[&str], input: &str| {
            let more = [selection, &["-f"], files].concat();
            run("explain -o json", &more, input).quiet().answer()
        };
        let first = of(&["-", "--save", path], &several());
        let again = of(&[path], "");
        let [first, again] = [first, again].map(|list| {
            let items = list["items"].as_array().expect("items").iter();
            items
                .map(|it| [it["hpa"].clone(), it["outcome"].clone()])
                .collect::<Vec<_>>()
        });
        assert_eq!(first, again, "{selection:?}");
    }
    // A target without replicas, of two HPAs with different minimums, next to one that selects the same pods.
    let at_least_two = HPA.replace("spec:\n", "spec:\n  minReplicas: 2\n");
    let same_target = HPA.replace("name: web, namespace", "name: api, namespace");
    let neighbour = HPA.replace("name: web", "name: cart");
    let rest = REST.replace("replicas: 2, selector", "selector");
    let rest = rest.replace("status: {replicas: 2}\n", "");
    let cart = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: cart, namespace: shop}, \
        spec: {replicas: 2, selector: {matchLabels: {app: web}}}}";
    let input = documents(&[STATE, &at_least_two, &same_target, &neighbour, &rest, cart]);
    let first = run("explain -f - --save", &[path], &input);
    let again = run("explain -f", &[path], "");
    let [first, again] = [first, again].map(|output| output.stdout);
    assert_eq!(first, again);
    assert_eq!(
        first.matches("the input has no replicas").count(),
        2,
        "{first}"
    );
    // What two HPAs of one target share is saved once.
    let other = HPA.replace("name: web, namespace", "name: api, namespace");
    let input = documents(&[&good(), SCALED, &other]);
    run("explain -f - --save", &[path], &input).quiet().text();
    let saved = fs::read_to_string(path).expect("a saved file");
    assert_eq!(saved.matches("ScalingReplicaSet").count(), 1, "{saved}");
}

/// A saved state has the neighbours of its HPA, because they may share its pods, but neither answers to them nor their
/// history.
#[test]
fn a_saved_state_belongs_to_the_hpas_whose_requests_it_has() {
    let path = directory("neighbours").join("out");
    let path = path.to_str().expect("a path in UTF-8");
    let named = |text: &str, name: &str| {
        let text = text.replace("name: web", &format!("name: {name}"));
        text.replace("app: web", &format!("app: {name}"))
    };
    let api = documents(&[&named(HPA, "api"), &named(REST, "api")]);
    let down = format!("{STATE}errors: [{{api: resource, metric: cpu, message: down}}]\n");
    let remembers =
        format!("{STATE}recommendations: [{{replicas: 4, time: 2026-11-21T07:00:00Z}}]\n");
    for state in [STATE, &down, &remembers] {
        let input = documents(&[HPA, REST, state, &api]);
        let explain = "explain -o json -f";
        let first = run(explain, &["-", "web", "--save", path], &input)
            .quiet()
            .answer()["outcome"]
            .clone();
        let list = run(explain, &[path], "");
        let note = "Note: left out 1 HPA: the ControllerState belongs to others\n";
        assert_eq!(list.stderr, note);
        let list = list.json();
        let listed: Vec<[&Value; 2]> = list["items"]
            .as_array()
            .expect("items")
            .iter()
            .map(|it| [&it["hpa"]["name"], &it["outcome"]])
            .collect();
        assert_eq!(listed, [[&json!("web"), &first]], "{state}");
        // Only one that is wanted is left out.
        for (wanted, said) in [
            ("", note),
            ("!team", note),
            ("team", "No resources found\n"),
        ] {
            let shown = run("explain -f", &[path, "-l", wanted], "");
            assert_eq!(shown.stderr, said, "{wanted}");
        }
        let predicted = run("predict -o json -f", &[path], "").quiet().answer()["outcome"].clone();
        assert_eq!(predicted["replicas"], first["replicas"], "{state}");
        let no_answers = "the ControllerState belongs to shop/web, not to shop/api";
        for verb in ["explain", "predict"] {
            let (error, hint, code) = run(verb, &["api", "-f", path], "").refusal();
            let hint = hint.as_deref();
            assert_eq!(
                (&*error, hint, code),
                (
                    no_answers,
                    Some("leave it out, or save one of shop/api"),
                    Some(2)
                )
            );
        }
        let both = run("explain web api -f", &[path], "");
        let error = format!("error: shop/api: {no_answers}\n");
        assert!(both.stderr.starts_with(&error), "{state}");
        let saved = fs::read_to_string(path).expect("a saved file");
        let key = r#""metric":"cpu","hpa":"shop/web","#;
        assert_eq!(saved.contains(key), state == down, "{saved}");
    }
    // An HPA about which nothing was requested, because its target states no replicas, is one of them, too.
    let (target, _) = api.split_once("---\napiVersion: v1").expect("documents");
    let target = target
        .replace("replicas: 2, ", "")
        .replace("status: {replicas: 2}", "");
    let list = |input: &str, more: &[&str]| run("explain -o json -f", more, input);
    let first = list(&documents(&[HPA, REST, &target]), &["-", "--save", path]);
    let again = list("", &[path]);
    let [first, again] = [first, again].map(|it| {
        let list = it.json();
        let items = list["items"].as_array().expect("items").iter();
        items.map(|it| it["outcome"].clone()).collect::<Vec<_>>()
    });
    assert_eq!((first.len(), &first), (2, &again));
    // One that is written by hand may have what is needed of both, and what it lacks is not known to be empty.
    let external =
        "  - {type: External, external: {metric: {name: a}, target: {type: Value, value: 1}}}\n";
    let own = format!("{STATE}answers: [{{hpa: shop/web, api: resource, podMetrics: []}}]\n");
    let (more, rest) = (named(HPA, "api") + external, named(REST, "api"));
    let both = run(
        "explain -f -",
        &[],
        &documents(&[HPA, REST, &own, &more, &rest]),
    );
    let both = &*both.stdout;
    let unknown = "the input has no ExternalMetricValueList for a\n";
    assert!(both.contains("\nweb ") && both.ends_with(unknown), "{both}");
}

/// Returns texts of a size that are invalid input, with their names.
fn hostile(size: usize) -> [(&'static str, Vec<u8>); 11] {
    let all = |unit: &str| unit.repeat(size / unit.len()).into_bytes();
    [
        ("zeros", vec![0; size]),
        ("one word", all("a")),
        ("words", all("a\n")),
        ("a list", all("- a\n")),
        ("nested lists", all("- ")),
        ("documents", all("---\na: 1\n")),
        ("empty documents", all("---\n")),
        ("nested objects of JSON", all(r#"{"a":"#)),
        ("nested lists of JSON", all("[")),
        (
            "nested Lists",
            all(r#"{"apiVersion":"v1","kind":"List","items":["#),
        ),
        ("nested Lists, kinds last", {
            let depth = size / 31;
            let ends = r#"],"kind":"List"}"#.repeat(depth);
            (r#"{"items":["#.repeat(depth) + &ends).into_bytes()
        }),
    ]
}

/// Longer than a busy machine needs, and less than time that grows with the square of the input.
const PATIENCE: Duration = Duration::from_secs(120);

fn ends_soon(test: &str, size: usize) {
    for (name, content) in hostile(size) {
        let path = file(test, content);
        let start = Instant::now();
        let output = run("explain web -f", &[&path], "");
        let took = start.elapsed();
        let (error, _, code) = output.refusal();
        assert_eq!(code, Some(2), "{name}: {error}");
        assert!(error.len() < 1000, "{name}: {} bytes of error", error.len());
        assert!(took < PATIENCE, "{name}: {took:?}");
    }
    let _ = fs::remove_dir_all(directory(test));
}

#[test]
fn half_a_megabyte_of_something_else_ends_soon() {
    ends_soon("megabytes", 500_000);
}

/// `cargo test --release --test program -- --ignored`
#[test]
#[ignore = "writes 1 GB: cargo test --release --test program -- --ignored"]
fn a_hundred_megabytes_of_something_else_end_soon() {
    ends_soon("hundred_megabytes", 100_000_000);
}

#[test]
fn the_command_line_is_checked_before_anything_is_read() {
    for (args, code, out, err) in [
        (vec!["--version"], 0, "kubectl-hpa ", ""),
        (vec!["--help"], 0, "Usage: kubectl-hpa", ""),
        (vec!["explain", "--help"], 0, "--filename <FILE>", ""),
        (vec!["help", "explain"], 0, "Examples:\n", ""),
        (vec!["help", "explain"], 0, "--tolerance <FRACTION>", ""),
        (vec![], 2, "", "Usage: kubectl-hpa"),
        (
            vec!["explain", "web", "-A", "-f", "missing"],
            2,
            "",
            "error: a resource cannot be retrieved by name across all namespaces\nhint: drop -A",
        ),
        (
            vec!["explain", "web", "-l", "app=web", "-f", "missing"],
            2,
            "",
            "error: name cannot be provided when a selector is specified\nhint: drop -l",
        ),
        (
            vec!["explain", "-l", "app in", "-f", "missing"],
            2,
            "",
            "invalid label selector: ",
        ),
        (vec!["explode"], 2, "", "unrecognized subcommand 'explode'"),
        (
            vec!["explain", "web", "-f", "missing", "--verbose"],
            2,
            "",
            "unexpected argument '--verbose'",
        ),
        (
            vec!["explain", "web", "-f", "missing", "-o", "xml"],
            2,
            "",
            "invalid value 'xml'",
        ),
        (
            vec!["explain", "web", "-f", "missing", "--now", "today"],
            2,
            "",
            "invalid value 'today'",
        ),
        (
            vec!["explain", "web", "-f", "missing", "--tolerance", "-1"],
            2,
            "",
            "'-1'",
        ),
    ] {
        let output = run("", &args, "");
        assert_eq!(output.code, Some(code), "{args:?}");
        for (found, wanted) in [(output.stdout, out), (output.stderr, err)] {
            assert!(found.contains(wanted), "{args:?}: {found}");
            assert_eq!(found.is_empty(), wanted.is_empty(), "{args:?}: {found}");
        }
    }
}

#[test]
fn colours_width_and_letters_suit_the_place() {
    let args = "explain web -f -";
    let plain = run_in(&[("LANG", "C.UTF-8")], args, &[], &good())
        .quiet()
        .text();
    assert!(plain.contains("SCALE UP 2 → 3"), "{plain}");
    assert!(!plain.contains('\u{1b}'), "{plain}");

    let [always, never] = ["always", "never"].map(|when| ["--color", when]);
    let utf8 = ("LANG", "C.UTF-8");
    for (more, variables, colored) in [
        (&[][..], vec![utf8, ("NO_COLOR", "1")], false),
        (&[], vec![utf8, ("CLICOLOR_FORCE", "1")], true),
        (&[], vec![utf8, ("COLUMNS", "40")], false),
        (
            &[],
            vec![utf8, ("TERM", "xterm-256color"), ("COLORTERM", "truecolor")],
            false,
        ),
        (&always, vec![utf8], true),
        (&always, vec![utf8, ("NO_COLOR", "1")], true),
        (&never, vec![utf8, ("CLICOLOR_FORCE", "1")], false),
    ] {
        let shown = run_in(&variables, args, more, &good()).quiet().text();
        assert_eq!(shown.contains("\u{1b}["), colored, "{more:?} {variables:?}");
        // Only the colors differ.
        let shown = anstream::adapter::strip_str(&shown).to_string();
        assert_eq!(shown, plain, "{more:?} {variables:?}");
    }

    let odd = documents(&[
        HPA,
        REST,
        &format!("{STATE}featureGates: {{größe: true}}\n"),
    ]);
    let shown = run_in(&[utf8], args, &[], &odd).quiet().text();
    assert!(shown.contains("größe"), "{shown}");
    for variables in [
        &[][..],
        &[("LANG", "C")],
        &[("LC_ALL", "C"), ("LANG", "C.UTF-8")],
    ] {
        let ascii = run_in(variables, args, &[], &odd).quiet().text();
        assert!(
            ascii.contains("SCALE UP 2 -> 3") && ascii.is_ascii(),
            "{ascii}"
        );
    }
}

/// What would change colors, ring, clear the screen, reverse text and start lines.
const EVIL: &str = "\u{1b}[31mE\u{7}\u{9b}2J\u{7f}\u{202e}\u{2028}x\r\nZ\tü";

/// Returns a quoted text for both JSON and YAML, without control characters.
fn quoted(text: &str) -> String {
    let units = text.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
    format!("\"{}\"", units.collect::<String>())
}

#[test]
fn nothing_that_a_terminal_obeys_gets_through() {
    let quoted = quoted(EVIL);
    let admitted = HPA.replace("name: web, ", "name: web, uid: u, ");
    let with = |old: &str, new: &str| {
        let changed = documents(&[&admitted, REST, STATE]).replace(old, new);
        assert!(changed.contains(&quoted), "{old}");
        changed
    };
    let external = format!(
        "metrics:\n  - type: External\n    external: {{metric: {{name: {quoted}, selector: \
         {{matchLabels: {{a: {quoted}}}}}}}, target: {{type: Value, value: 1}}}}\n"
    );
    let metrics = &admitted[admitted.find("metrics:").expect("metrics")..];
    for (input, code) in [
        (with("name: web-1,", &format!("name: {quoted},")), 0),
        (
            with(
                "labels: {app: web}",
                &format!("labels: {{app: web, {quoted}: {quoted}}}"),
            ),
            0,
        ),
        (
            with(
                "Deployment, name: web",
                &format!("Deployment, name: {quoted}"),
            ),
            0,
        ),
        (with(metrics, &external), 0),
        (with("type: Resource", &format!("type: {quoted}")), 0),
        (
            with("u, namespace: shop", &format!("u, namespace: {quoted}")),
            0,
        ),
        (
            with("namespace: shop}", &format!("namespace: {quoted}}}")),
            0,
        ),
        (
            with(STATE, &format!("{STATE}kubernetesVersion: {quoted}\n")),
            2,
        ),
        (
            with(STATE, &format!("{STATE}featureGates: {{{quoted}: true}}\n")),
            0,
        ),
        (
            with(
                STATE,
                &format!("{STATE}errors: [{{api: scale, message: {quoted}}}]\n"),
            ),
            0,
        ),
        (
            with(
                STATE,
                &format!("{STATE}---\nkind: {quoted}\napiVersion: {quoted}\n"),
            ),
            0,
        ),
        (
            with(
                "name: web, uid: u",
                &format!("name: web, x: {quoted}, uid: {quoted}"),
            ),
            0,
        ),
        (
            with("name: web, uid: u", &format!("name: {quoted}, uid: u")),
            2,
        ),
        (with(STATE, &format!("{STATE}{quoted}: 1\n")), 2),
        (with("150m", &quoted), 2),
        (with("15s", &quoted), 2),
        (with("phase: Running", &format!("phase: [{quoted}]")), 2),
        (
            with(
                "matchLabels: {app: web}",
                &format!("matchLabels: {{app: {quoted}}}"),
            ),
            2,
        ),
    ] {
        for (form, args) in [&[][..], &["-o", "wide"], &["-o", "json"], &["-o", "yaml"]]
            .into_iter()
            .enumerate()
        {
            for (named, name) in [&[][..], &["web"]].into_iter().enumerate() {
                // Each form and each name in both locales, but not with each other.
                let locale = ["C", "C.UTF-8"][(form + named) % 2];
                let more = [name, args].concat();
                let output = run_in(&[("LANG", locale)], "explain -f -", &more, &input);
                if !name.is_empty() {
                    assert_eq!(output.code, Some(code), "{}", output.stderr);
                }
                for printed in [&output.stdout, &output.stderr] {
                    let raw =
                        |c: char| c != '\n' && (c.is_control() || "\u{202e}\u{2028}".contains(c));
                    assert!(!printed.contains(raw), "{printed:?}");
                    assert!(
                        !printed.lines().any(|line| line.starts_with('Z')),
                        "{printed:?}"
                    );
                }
            }
        }
    }
    let (error, ..) = run("explain web -f", &[EVIL], "").refusal();
    assert!(error.contains("^[[31mE\\u{7}"), "{error}");
}

#[test]
fn a_command_line_is_repeated_without_what_a_terminal_obeys() {
    for (typed, shown) in [
        ("\u{1b}[31mred", "^[[31mred"),
        ("\u{202e}1", "\\u{202e}1"),
        ("1\nerror: 2", "1\\nerror: 2"),
    ] {
        for args in [
            &["predict", "web", "--max", typed][..],
            &["explain", "web", "--output", typed],
            &["explain", "web", &format!("--{typed}")],
            &[typed],
        ] {
            let output = run("", args, "");
            let told = &*output.stderr;
            assert_eq!(output.code, Some(2), "{told}");
            assert!(
                told.contains(shown) && !told.contains(typed),
                "{args:?}: {told}"
            );
        }
    }
}

#[test]
fn machine_forms_hold_what_was_read() {
    let state = format!("{STATE}errors: [{{api: scale, message: {}}}]", quoted(EVIL));
    let input = documents(&[HPA, REST, &state]);
    let json = run("explain web -f - -o json", &[], &input)
        .quiet()
        .answer();
    let yaml = run("explain web -f - -o yaml", &[], &input).quiet().text();
    for object in [json, serde_yaml::from_str::<Value>(&yaml).expect("YAML")] {
        assert_eq!(object["outcome"]["events"][0]["message"], EVIL);
    }
}

#[test]
fn what_is_saved_gives_the_same_outcome() {
    let directory = directory("saved");
    let [first, second] = ["first", "second"].map(|name| {
        let path = directory.join(name);
        path.to_str().expect("a path in UTF-8").to_owned()
    });
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for (example, name) in [
        ("nginx", "nginx-deployment"),
        ("nginx/after-15s", "nginx-deployment"),
        ("nginx/after-30s", "nginx-deployment"),
        ("podinfo", "podinfo"),
        ("queue", "worker"),
    ] {
        let example = examples.join(example);
        let example = example.to_str().expect("a path in UTF-8");
        let from = |input, output| {
            let clock = "2026-11-21T07:00:00Z";
            let clock = if name == "worker" {
                vec!["--now", clock]
            } else {
                vec![]
            };
            let args = [name, "-o", "json", "-f", input, "--save", output];
            let more = [&args[..], &clock].concat();
            run("explain", &more, "").quiet().answer()["outcome"].clone()
        };
        assert_eq!(from(example, &first), from(&first, &second), "{example}");
        let [first, second] = [&first, &second].map(|path| fs::read_to_string(path).expect(path));
        assert_eq!(first, second, "{example}");
    }
}

/// An empty list replaces the default, an absent one does not.
#[test]
fn other_requests_are_assumed_of_what_was_saved_before_them() {
    let path = directory("requests").join("out");
    let path = path.to_str().expect("a path");
    let input = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/nginx");
    let flags = [
        "--request",
        "nginx=cpu=x0.7",
        "--cpu",
        "nginx=80%",
        "-o",
        "json",
    ];
    let predicted = |input: &str, more: &[&str]| {
        let object = run(
            "predict nginx-deployment -f",
            &[&[input][..], &flags[..], more].concat(),
            "",
        )
        .quiet()
        .answer();
        [
            "outcome",
            "overrides",
            "observed",
            "thresholds",
            "keptTargets",
        ]
        .map(|it| object[it].clone())
    };
    let first = predicted(input, &["--save", path]);
    assert_eq!(predicted(path, &[]), first);
    let [.., kept] = first;
    let (target, exact) = (&kept[0]["target"], &kept[0]["exact"]);
    assert_eq!((target, exact), (&json!(31), &json!(true)));
    let outcome_of = |input: &str| {
        run("explain nginx-deployment -f", &[input, "-o", "json"], "")
            .quiet()
            .answer()["outcome"]
            .clone()
    };
    assert_eq!(outcome_of(path), outcome_of(input));
}

#[test]
fn policies_that_are_none_are_saved_as_such() {
    let path = directory("no_policies").join("state.json");
    let path = path.to_str().expect("a path in UTF-8");
    let behavior = "behavior: {scaleUp: {policies: [], selectPolicy: Disabled}}\n  metrics:";
    // An HPA that a server holds is not validated.
    let input = good()
        .replace("metrics:", behavior)
        .replace("name: web, ", "name: web, uid: u, ");
    let first = run("explain web -f - -o json --save", &[path], &input);
    let again = run("explain web -f", &[path, "-o", "json"], "");
    assert!(!first.stdout.is_empty(), "{}", first.stderr);
    let spec = |ran: &Ran| {
        let object = ran.json();
        (object["hpa"]["spec"].clone(), object["outcome"].clone())
    };
    assert_eq!(spec(&first).0["behavior"]["scaleUp"]["policies"], json!([]));
    assert_eq!(spec(&first), spec(&again));
}

/// A pipeline runner finds no commands from outside in a log, but finds those meant for it.
#[test]
fn a_runner_obeys_nothing_that_was_read() {
    let metric = |name: &str| {
        format!(
            "metrics:\n  - type: External\n    external: {{metric: {{name: {}}}, target: {{type: \
             Value, value: 1}}}}\n",
            quoted(name)
        )
    };
    let metrics = &HPA[HPA.find("metrics:").expect("metrics")..];
    let obeyed = |line: &str, command: &str| {
        if command.starts_with("::") {
            line.trim_start().starts_with("::")
        } else {
            line.contains("##[")
        }
    };
    for command in ["::stop-commands::x", "##[set-output name=a]b"] {
        let input = documents(&[HPA, REST, STATE]).replace(metrics, &metric(command));
        let forms = [
            &[][..],
            &["-o", "wide"],
            &["-o", "markdown"],
            &["-o", "json"],
            &["-o", "yaml"],
        ];
        for form in forms {
            let ran = run_in(
                &[("GITHUB_ACTIONS", "true")],
                "explain web -f -",
                form,
                &input,
            );
            assert_eq!(ran.code, Some(0), "{}", ran.stderr);
            for printed in [&ran.stdout, &ran.stderr] {
                let found = printed.lines().find(|line| obeyed(line, command));
                assert_eq!(found, None, "{form:?}");
            }
            if let ["-o", "json" | "yaml"] = form {
                let object: Value = serde_yaml::from_str(&ran.stdout).expect("YAML");
                let name = &object["hpa"]["spec"]["metrics"][0]["external"]["metric"]["name"];
                assert_eq!(name, command);
            }
        }
        // Elsewhere a text is unchanged.
        let ran = run("explain web -f -", &[], &input);
        assert!(
            ran.stdout.lines().any(|line| obeyed(line, command)),
            "{command}"
        );
        let expect = ["--expect", "desired == 99", "--report", "github"];
        let ran = run_in(
            &[("GITHUB_ACTIONS", "true")],
            "predict web -f -",
            &expect,
            &input,
        );
        let mut lines = ran.stderr.lines();
        assert!(
            lines.any(|line| line.starts_with("::error title=")),
            "{}",
            ran.stderr
        );
    }
    let path = "::add-mask::x";
    let ran = run_in(
        &[("GITHUB_ACTIONS", "true")],
        "explain web --tolerance",
        &[path],
        "",
    );
    assert!(!ran.stderr.is_empty() && ran.code == Some(2));
    assert!(
        !ran.stderr.lines().any(|line| obeyed(line, path)),
        "{}",
        ran.stderr
    );
}

/// A pipe in a directory may never be written to; a named one is what the shell makes of `<(…)`.
#[cfg(unix)]
#[test]
fn a_pipe_is_read_only_by_its_name() {
    let directory = directory("pipes");
    let path = |name: &str| {
        directory
            .join(name)
            .to_str()
            .expect("a path in UTF-8")
            .to_owned()
    };
    let pipe = path("pipe.json");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .expect("mkfifo")
            .success()
    );
    fs::write(path("in.yaml"), good()).expect("a file");
    let object = run("explain web -f", &[&path("."), "-o", "json"], "")
        .quiet()
        .answer();
    let note = format!(
        "{} is skipped: it is not a regular file",
        path("./pipe.json")
    );
    assert!(
        object["notes"]
            .as_array()
            .expect("notes")
            .contains(&json!(note)),
        "{object:#}"
    );
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::write(pipe, good())
    });
    run("explain web -f", &[&pipe], "").quiet().text();
    writer.join().expect("a thread").expect("a reader");
}

#[test]
fn values_are_found_whatever_namespace_they_leave_out() {
    let of = |type_: &str, source: &Value, values: Value| {
        let metric = json!({"type": type_, (type_.to_lowercase()): source});
        build::list([
            build::hpa(&json!({"maxReplicas": 9, "metrics": [metric]})),
            build::scale(2),
            build::pod("web-1"),
            values,
        ])
    };
    let pods = json!({
        "metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "10"},
    });
    let node = json!({
        "describedObject": {"kind": "Node", "name": "n", "apiVersion": "v1"},
        "metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "10"},
    });
    for (type_, source, object, proposal) in [
        (
            "Pods",
            &pods,
            json!({"kind": "Pod", "name": "web-1"}),
            json!(2),
        ),
        (
            "Pods",
            &pods,
            json!({"kind": "Pod", "name": "web-1", "namespace": "default"}),
            json!(2),
        ),
        (
            "Pods",
            &pods,
            json!({"kind": "Pod", "name": "web-1", "namespace": "other"}),
            Value::Null,
        ),
        (
            "Object",
            &node,
            json!({"kind": "Node", "name": "n", "apiVersion": "v1"}),
            json!(2),
        ),
        (
            "Object",
            &node,
            json!({"kind": "Node", "name": "n", "namespace": ""}),
            json!(2),
        ),
        (
            "Object",
            &node,
            json!({"kind": "Node", "name": "n", "namespace": "other"}),
            Value::Null,
        ),
    ] {
        let item = json!({"describedObject": object, "metric": {"name": "m"}, "value": "20"});
        let values = json!({
            "apiVersion": "custom.metrics.k8s.io/v1beta2", "kind": "MetricValueList",
            "items": [item],
        });
        let input = of(type_, source, values);
        let output = run("explain web -f - -o json", &[], &input);
        let answer = output.json();
        assert_eq!(
            answer["proposal"], proposal,
            "{type_} of {object}: {:#}",
            answer["outcome"]
        );
        // Values of another namespace say nothing.
        let code = if proposal.is_null() { 2 } else { 0 };
        assert_eq!(output.code, Some(code), "{type_} of {object}");
    }
}

/// The answer may have taken long.
#[test]
fn an_answer_is_printed_even_if_its_files_cannot_be_written() {
    let directory = directory("not_saved");
    let directory = directory.to_str().expect("a path in UTF-8");
    let missing = format!("{directory}/missing/file");
    let report = format!("--report=junit={missing}");
    let expects = [
        "predict",
        "web",
        "-f",
        "-",
        "--cpu=80%",
        &report,
        "--expect",
    ];
    for (args, path, code) in [
        (
            &["explain", "web", "-f", "-", "--save", directory][..],
            directory,
            1,
        ),
        (
            &["explain", "web", "-f", "-", "--save", &missing],
            &missing,
            1,
        ),
        (&["explain", "-f", "-", "--save", &missing], &missing, 1),
        (
            &["predict", "web", "-f", "-", "--cpu=80%", "--save", &missing],
            &missing,
            1,
        ),
        (&[&expects[..], &["desired > 0"]].concat(), &missing, 1),
        (&[&expects[..], &["desired > 99"]].concat(), &missing, 3),
    ] {
        let output = run("", args, &good());
        assert!(output.stdout.contains("cpu"), "{args:?}");
        let said = format!("error: failed to write {path}: ");
        assert!(output.stderr.contains(&said), "{}", output.stderr);
        assert_eq!(output.code, Some(code), "{args:?}");
    }
}

#[test]
fn what_was_probably_meant_is_said_of_one_and_of_several() {
    let state = file("meant", good().as_bytes());
    let other = file("meant_too", HPA.as_bytes());
    let both = format!("{state},{other}");
    for (args, hint) in [
        (
            &["explain", "explain", "web", "-f", &state][..],
            "leave out the second explain",
        ),
        (
            &["predict", "predict", "web", "-f", &state, "--cpu=80%"],
            "leave out the second predict",
        ),
        (
            &["explain", "web", "deploy.yaml", "-f", &state],
            "to read deploy.yaml, use -f deploy.yaml",
        ),
        (
            &["explain", "svc/web", "-f", &state],
            "svc is not the type of a target",
        ),
        (
            &["explain", "web", "-f", &both],
            &format!("a flag of its own: -f {state} -f {other}"),
        ),
        (
            &["predict", "web", "-f", &state, "--target=cpu"],
            "such as --target cpu=70%",
        ),
    ] {
        let output = run("", args, "");
        assert!(output.stderr.contains(hint), "{args:?}: {}", output.stderr);
        assert_ne!(output.code, Some(0), "{args:?}");
    }
    // As in kubectl, an empty namespace means no namespace.
    run("explain web -f", &[&state, "-n", ""], "")
        .quiet()
        .text();
}

#[test]
fn fail_on_names_what_it_found() {
    let found = |line: &str| {
        let output = run(line, &["--fail-on", "info"], &several());
        assert_eq!(output.code, Some(3));
        output.stderr
    };
    let one = found("explain api -n shop -f -");
    assert!(
        one.starts_with("--fail-on found target-not-found (error)"),
        "{one}"
    );
    let all = found("explain -f -");
    assert!(
        all.starts_with("shop/api: --fail-on found target-not-found (error)"),
        "{all}"
    );
}

/// Returns an input without a time. Its second pod has just started at the time of the samples, but not by the clock.
fn at_a_doubtful_time() -> String {
    let (_, pods) = REST.split_once("---").expect("documents");
    let young = pods
        .replace("web-1", "web-2")
        .replace("2026-01-01T00:00:00Z", "2026-11-21T06:59:40Z")
        .replace("2026-01-01T00:00:10Z", "2026-11-21T06:59:50Z");
    documents(&[HPA, REST, &young])
}

#[test]
fn what_depends_on_a_time_in_doubt_is_not_certain() {
    let state = at_a_doubtful_time();
    let predict = "predict web -f -";
    let page = run(predict, &[], &state).quiet().text();
    let basis = "not certain: based on this time\n";
    assert!(page.contains(basis), "{page}");
    let queue = "{type: External, external: {metric: {name: q}, target: {type: Value, value: 9}}}";
    let unread = documents(&[&format!("{HPA}  - {queue}\n"), REST]);
    let then = ["--now=2026-11-21T07:00:10Z", "--history=none"];
    let page = run(predict, &then, &unread).quiet().text();
    let basis = "not certain: based on the metrics that are known\n";
    assert!(page.contains(basis), "{page}");
    let object = run(predict, &["-o", "json"], &state).quiet().answer();
    let bands = object["thresholds"][0]["bands"].as_array().expect("bands");
    let certain = bands.iter().map(|it| (&it["effect"], &it["certain"]));
    assert_eq!(
        Vec::from_iter(certain),
        [
            (&json!("keeps"), &json!(true)),
            (&json!("adds"), &json!(false))
        ]
    );
}

#[test]
fn an_expectation_that_only_the_time_leaves_open_names_the_flag_that_tells() {
    for field in [
        "desired <= 3",
        "delta <= 1",
        "not limited",
        "recommended <= 3",
    ] {
        let output = run("predict web -f - --expect", &[field], &at_a_doubtful_time());
        assert_eq!(output.code, Some(4), "{field}");
        let page = &*output.stdout;
        let hint = "use --now 2026-11-21T07:00:00Z to resolve this";
        assert!(page.contains(hint), "{field}: {page}");
    }
}

/// A finding that there is only with another history or at another time is unknown; most depend on neither.
#[test]
fn fail_on_is_unknown_if_the_history_or_the_time_decides_about_the_finding() {
    let named = HPA.replace(
        "name: web, namespace: shop}",
        "name: web, namespace: shop, uid: u}",
    );
    let rules = "  behavior: {scaleUp: {policies: [{type: Pods, value: 2, periodSeconds: 600}]}}\n";
    let status =
        "status: {currentReplicas: 2, desiredReplicas: 2, lastScaleTime: 2026-11-21T06:55:00Z}";
    let unknown = format!("{STATE}memory: unknown");
    let history = documents(&[&format!("{named}{rules}{status}"), REST, &unknown]);
    let time = at_a_doubtful_time();
    for (state, finding, code, why) in [
        (
            &history,
            "rate-limited",
            4,
            "in a cluster, or --history none",
        ),
        (&history, "info", 4, "in a cluster, or --history none"),
        (&history, "at-max", 0, ""),
        (&history, "warning", 0, ""),
        (&history, "missing-request", 0, ""),
        (&time, "uncounted-pods", 4, "use --now 2026-11-21T07:00:00Z"),
        (&time, "missing-request", 0, ""),
        (&time, "stale-samples", 3, ""),
    ] {
        for verb in ["explain web", "explain", "predict web"] {
            let output = run(verb, &["-f", "-", "--fail-on", finding], state);
            assert_eq!(output.code, Some(code), "{verb} {finding}");
            let said = Vec::from_iter(output.shown().split_whitespace()).join(" ");
            assert!(said.contains(why), "{verb} {finding}: {said}");
        }
    }
}

/// A finding that is there fails a run that has no answer, too; what is unknown does not hide the error.
#[test]
fn fail_on_takes_precedence_over_the_lack_of_an_answer() {
    let (target, _) = REST.split_once("status:").expect("documents");
    let unread = documents(&[HPA, target]);
    for (finding, codes) in [("warning", [3, 3, 3]), ("at-max", [2, 1, 4])] {
        let verbs = ["explain web", "explain", "predict web"];
        for (verb, code) in verbs.into_iter().zip(codes) {
            let output = run(verb, &["-f", "-", "--fail-on", finding], &unread);
            let error = output.stderr;
            assert_eq!(output.code, Some(code), "{verb} {finding}: {error}");
        }
    }
    let queue = "external: {metric: {name: q}, target: {type: AverageValue, averageValue: 5}}";
    let other = [HPA, target].map(|text| text.replace(": web", ": api"));
    let (spec, _) = other[0].split_once("  - type").expect("metrics");
    let unread = format!("{spec}  - type: External\n    {queue}\n");
    let both = documents(&[&at_a_doubtful_time(), &unread, &other[1]]);
    for (name, code) in [("web", 4), ("api", 2), ("", 1)] {
        let line = format!("explain {name} -n shop -f - --fail-on uncounted-pods");
        assert_eq!(run(&line, &[], &both).code, Some(code), "{name}");
    }
}

#[test]
fn an_assumption_shows_what_it_comes_to() {
    for (flag, line, result) in [
        (
            "--cpu=+20%",
            "assuming cpu +20% -> 180% (observed 150%)",
            json!("180%"),
        ),
        (
            "--cpu=80%",
            "assuming cpu 80% of the request (observed 150%)",
            Value::Null,
        ),
        (
            "--cpu=62.5%",
            "assuming cpu 62.5% of the request -> 62% (observed 150%)",
            json!("62%"),
        ),
        (
            "--pod=web-1:cpu=x2",
            "assuming cpu of web-1 x2 -> 300m (observed 150m)",
            json!("300m"),
        ),
        (
            "--replicas=+2",
            "assuming replicas +2 -> 4 (observed 2)",
            json!("4"),
        ),
        (
            "--replicas=4",
            "assuming replicas 4 (observed 2)",
            Value::Null,
        ),
    ] {
        let text = run("predict web -f -", &[flag], &good()).quiet().text();
        assert!(text.contains(line), "{flag}: no {line:?} in {text}");
        let object = run("predict web -o json -f -", &[flag], &good())
            .quiet()
            .answer();
        assert_eq!(object["overrides"][0]["result"], result, "{flag}");
    }
}

/// What was observed is what the input has, whatever else is assumed, and whether or not the pass reads it.
#[test]
fn an_assumption_shows_what_was_observed() {
    let full = good().replace("maxReplicas: 5", "maxReplicas: 1");
    let queue = "{type: External, external: {metric: {name: q}, target: {type: Value, value: 9}}}";
    let items =
        "[{metricName: q, metricLabels: {}, timestamp: '2026-11-21T07:00:00Z', value: '50'}]";
    let asleep = documents(&[
        &format!("{HPA}  - {queue}\n"),
        &REST.replace("replicas: 2", "replicas: 0"),
        &format!(
            "{{kind: ExternalMetricValueList, apiVersion: external.metrics.k8s.io/v1beta1, items: {items}}}"
        ),
        STATE,
    ]);
    let memory = "{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 1Gi}}}";
    let candidate = format!("--hpa={}", file("observed", format!("{HPA}  - {memory}\n")));
    let measured = good().replace("usage: {cpu: 150m}", "usage: {cpu: 150m, memory: 90Mi}");
    let unmeasured = good().replace("kind: PodMetrics", "kind: Secret");
    for (state, flags, line) in [
        (
            &good(),
            &["--cpu=300m", "--pod=web-1:cpu=10m"][..],
            "cpu of web-1 10m (observed 150m)",
        ),
        (
            &good(),
            &["--cpu=300m", "--pod=web-1:cpu=x3"],
            "cpu of web-1 x3 -> 450m (observed 150m)",
        ),
        (
            &good(),
            &["--cpu=300m", "--pod=web-1:app=cpu=x3"],
            "web-1 x3 -> 450m (observed 150m)",
        ),
        (
            &full,
            &["--cpu=60%"],
            "cpu 60% of the request (observed 150%)",
        ),
        (
            &full,
            &["--cpu=app=60%"],
            "60% of the request (observed 150%)",
        ),
        (&asleep, &["--metric=q=7"], "q 7 (observed 50)"),
        (
            &measured,
            &[&candidate, "--memory=1Gi"],
            "memory 1Gi (observed 90Mi)",
        ),
        (
            &measured,
            &[&candidate, "--pod=web-1:memory=x2"],
            "x2 -> 180Mi (observed 90Mi)",
        ),
        (
            &unmeasured,
            &["--cpu=100m", "--pod=web-1:cpu=x3"],
            "cpu of web-1 x3 -> 300m",
        ),
        // In a run, the HPA as it is lacks the metric.
        (
            &measured,
            &[&candidate, "--pod=web-1:memory=x2", "--for=1m"],
            "x2 -> 180Mi (observed 90Mi)",
        ),
    ] {
        let page = run("predict web -f -", flags, state).quiet().text();
        assert!(page.contains(line), "{flags:?}: no {line:?} in {page}");
    }
}

#[test]
fn what_is_typed_for_predict_is_refused_in_one_line() {
    // Errors of the command-line parser itself.
    for flag in ["--max=+5", "--min=+1"] {
        let said = "a bound cannot be changed by an amount: give the new number";
        run("predict web -f -", &[flag], &good()).fails(2, &[said]);
    }
    // Seconds need no unit.
    let played = |span: &str| {
        run("predict web -f - --for", &[span, "-o", "json"], &good())
            .quiet()
            .text()
    };
    assert_eq!(played("600"), played("10m"));
}

#[test]
fn nothing_that_is_read_is_saved_over() {
    let directory = directory("saved_over");
    let path = |name: &str| {
        directory
            .join(name)
            .to_str()
            .expect("a path in UTF-8")
            .to_owned()
    };
    let (state, link, other) = (path("state.json"), path("link"), path("other.yaml"));
    let states = path(".");
    fs::write(&state, good()).expect("a file");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&state, &link).expect("a link");
    #[cfg(not(unix))]
    fs::hard_link(&state, &link).expect("a link");
    let by = |flag: &str| format!(" is also read by {flag}");
    for (verb, save, flags, said) in [
        ("explain", &*state, &["-f", &*state][..], by("-f")),
        ("predict", &state, &["-f", &state], by("-f")),
        ("explain", &link, &["-f", &state], by("-f")),
        ("explain", &state, &["-f", &states], by("-f")),
        ("explain", &other, &["-f", &states], by("-f")),
        (
            "predict",
            &state,
            &["-f", "-", "--hpa", &state],
            by("--hpa"),
        ),
        (
            "explain",
            &state,
            &["-f", "-", "--history", &state],
            by("--history"),
        ),
        (
            "explain",
            "-",
            &["-f", &state],
            "--save - is not allowed, because stdout has the answer".to_owned(),
        ),
        (
            "predict",
            "-",
            &["-f", &state],
            "--save - is not allowed, because stdout has the answer".to_owned(),
        ),
    ] {
        let args = [&["web", "--save", save], flags].concat();
        let (error, hint, code) = run(verb, &args, &good()).refusal();
        assert!(error.contains(&said), "{args:?}: {error}");
        assert!(
            hint.is_some() && code == Some(2),
            "{args:?}: {hint:?}, {code:?}"
        );
        assert_eq!(
            fs::read_to_string(&state).expect("the file"),
            good(),
            "{args:?}"
        );
    }
    assert!(!Path::new(&other).exists());
    // Two files to write that are one.
    let (save, junit) = (
        path("new.json"),
        format!("junit={}", path("../saved_over/new.json")),
    );
    let expect = [
        "--expect",
        "desired < 99",
        "--save",
        &save,
        "--report",
        &junit,
    ];
    let (error, _, code) = run("predict web -f", &[&[&*state][..], &expect].concat(), "").refusal();
    assert!(error.contains(" is also written by --save"), "{error}");
    assert!(code == Some(2) && !Path::new(&save).exists());
    let report = [
        "--expect",
        "desired < 99",
        "--report",
        &junit,
        "--report",
        "github",
    ];
    let args = [&[&*state][..], &report].concat();
    let summary = [("GITHUB_STEP_SUMMARY", &*save)];
    let (error, _, code) = run_in(&summary, "predict web -f", &args, "").refusal();
    assert!(
        error.contains(" is also written by --report junit="),
        "{error}"
    );
    assert!(code == Some(2) && !Path::new(&save).exists());
    // A file next to it is not read.
    run("explain web -f", &[&state, "--save", &other], "")
        .quiet()
        .text();
    // Another name of the input file gets a file of its own.
    fs::remove_file(&link).expect("a link");
    fs::hard_link(&state, &link).expect("a link");
    run("explain web -f", &[&state, "--save", &link], "")
        .quiet()
        .text();
    assert_eq!(fs::read_to_string(&state).expect("the file"), good());
    assert_ne!(fs::read_to_string(&link).expect("the file"), good());
    // Both are separate states.
    let (error, _, code) = run("explain web -f", &[&state, "-f", &other], "").refusal();
    assert_eq!(code, Some(2));
    assert!(
        error.starts_with(&format!("failed to read {other}:")),
        "{error}"
    );
    let first = format!("second ControllerState (the first is in {state}): saved states");
    assert!(error.contains(&first), "{error}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    // More than fits into a pipe.
    let pod = |n| REST.replace("web-1", &format!("web-{n}"));
    let pods: Vec<String> = (0..500).map(pod).collect();
    let pods = pods
        .iter()
        .flat_map(|pod| pod.split("---\n").skip(1))
        .collect::<Vec<_>>();
    let deployment = REST.split("---\n").next().expect("the Deployment");
    let input = documents(&[&[HPA, STATE, deployment], &pods[..]].concat());

    let output = unread("explain web -f - -o json", &[], &input);
    assert_eq!(output.stderr, "");
    assert_eq!(output.code, Some(0));
}

/// Runs the program on an input, without a reader of its output.
fn unread(line: &str, more: &[&str], input: &str) -> Ran {
    let mut child = Command::new(PROGRAM)
        .args(line.split(' ').chain(more.iter().copied()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin
        .write_all(input.as_bytes())
        .expect("the input is read");
    drop(stdin);
    Ran::of(child.wait_with_output().expect("the program ends"))
}

/// Of many HPAs, those whose lines no one reads are not explained, unless the exit code depends on them.
#[test]
fn a_list_from_files_ends_when_its_lines_are_no_longer_read() {
    // Every second one is invalid, which is an error of its own.
    let max = |n: usize| {
        if n.is_multiple_of(2) {
            "maxReplicas: 5"
        } else {
            "maxReplicas: 0"
        }
    };
    let hpa = |n| {
        let named = HPA.replace("{name: web,", &format!("{{name: web-{n},"));
        named.replace("maxReplicas: 5", max(n))
    };
    let input = (0..400).map(hpa).collect::<Vec<_>>().join("\n---\n");
    let explained = |more: &[&str]| {
        let output = unread("explain -A -f - -o jsonl", more, &input);
        let lines = output.stderr.lines();
        lines.filter(|line| line.starts_with("error: ")).count()
    };
    let some = explained(&[]);
    assert!(some < 200, "{some}");
    assert_eq!(explained(&["--fail-on", "error"]), 200);
}

#[test]
fn pods_that_an_input_lacks_are_assumed_from_the_template_for_a_load() {
    let template = json!({"metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "resources": {"requests": {"cpu": "400m"}}}]}});
    let hpa = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"maxReplicas": 9, "metrics": [{"type": "Resource", "resource": {"name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 60}}}],
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template},
        "status": {"replicas": 3}});
    let pod = |place: usize| {
        let time = "2026-11-20T06:00:00Z";
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("web-{place}"),
            "namespace": "shop", "labels": {"app": "web"}, "creationTimestamp": time},
            "spec": template["spec"], "status": {"phase": "Running", "startTime": time,
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": time}]}})
    };
    let load = file(
        "assumed-load.csv",
        "time,cpu\n2026-11-21T06:00:00Z,700m\n2026-11-21T06:10:00Z,1900m\n\
                                         2026-11-21T06:20:00Z,500m\n2026-11-21T06:40:00Z,500m\n",
    );
    let played = |items: &[Value]| {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
        let play = "predict web -f - -o json --passes --now 2026-11-21T06:00:00Z --trace";
        run(play, &[&load], &list).quiet().answer()
    };
    let assumed = played(&[hpa.clone(), target.clone()]);
    let read = played(&[hpa.clone(), target.clone(), pod(1), pod(2), pod(3)]);
    let replay = |of: &Value| {
        let replay = &of["backtest"]["replay"];
        ["replicas", "proposals", "readyPods", "totals"].map(|field| replay[field].clone())
    };
    assert!(
        replay(&assumed)[1]
            .as_array()
            .is_some_and(|all| all.len() > 100),
        "{assumed}"
    );
    assert_eq!(replay(&assumed), replay(&read));
    let basis = "3, ready and alike, as the template of the target makes them";
    assert!(
        assumed["basis"].to_string().contains(basis),
        "{}",
        assumed["basis"]
    );
    assert!(
        !read["basis"].to_string().contains(basis),
        "{}",
        read["basis"]
    );
}

/// A command about the first pass of a run has its load: without it, it would be about another pass.
#[test]
fn commands_about_the_first_pass_of_a_run_repeat_its_load() {
    let state = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/backtest/state.yaml");
    let load = file("repeated_load", "time,cpu\n0s,4000m\n1m,5000m\n2m,6000m\n");
    let findings = |more: &[&str]| -> Vec<Value> {
        let more = [&[state], more].concat();
        let all = run("predict web -n shop -o json -f", &more, "")
            .quiet()
            .answer();
        let first = all["backtest"]["candidates"][0]["findings"].as_array();
        first.expect("findings").clone()
    };
    let run = ["--trace", &load, "--for", "5m", "--set", "maxReplicas=6"];
    let at_max = findings(&run);
    let commands = at_max[0]["commands"].as_array().expect("commands").clone();
    let commands: Vec<&str> = commands.iter().filter_map(Value::as_str).collect();
    assert_eq!((&at_max[0]["code"], commands.len()), (&json!("at-max"), 2));
    for command in commands {
        let (_, flags) = command.split_once(" -n shop ").expect("a command");
        let flags = flags.replace(&format!(" -f {state}"), "");
        assert!(flags.contains(&format!("--trace {load}")), "{command}");
        let later = findings(&flags.split(' ').collect::<Vec<_>>());
        let still = later.iter().any(|it| it["code"] == "at-max");
        assert!(!still, "{command}: {later:?}");
    }
}

#[test]
fn a_maximum_far_above_the_lines_of_a_backtest_is_named_at_the_edge() {
    let state = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/backtest/state.yaml");
    let day = file("far_above_the_lines", build::busy_day());
    let play = "predict web -n shop --max 100 -o svg -f";
    let picture = run(play, &[state, "--trace", &day], "").quiet().text();
    assert!(
        picture.contains(">max 24</text>") && picture.contains(">↑ max 100</text>"),
        "{picture}"
    );
}

#[test]
fn the_time_of_a_state_that_lacks_it_is_not_the_clock() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/backtest/state.yaml");
    let with = fs::read_to_string(path).expect("a state");
    let time = "now: \"2026-11-23T00:05:00Z\"";
    let without = with
        .lines()
        .filter(|line| line.trim() != time)
        .collect::<Vec<_>>()
        .join("\n");
    assert!(without.len() < with.len());
    let day = file("the_time_of_a_state", build::busy_day());
    for (state, said) in [
        (
            with,
            "the HPA and the pods are those of 2026-11-23T00:05:00Z, used as",
        ),
        (
            without,
            "the HPA and the pods are those of the input, which lacks its time, used as",
        ),
    ] {
        let printed = run("predict web -f - --trace", &[&day, "-o", "json"], &state)
            .quiet()
            .answer();
        let notes = printed["notes"].to_string();
        assert!(notes.contains(said), "{notes}");
    }
}

#[test]
fn the_memory_can_be_stated_by_hand() {
    let files = [
        "examples/nginx/after-30s/hpa.yaml",
        "examples/nginx/after-30s/pods.yaml",
    ];
    let explain = |more: &[&str]| {
        let explain = "explain nginx-deployment --now 2026-11-21T07:06:59Z -o json";
        let input = ["-f", files[0], "-f", files[1]];
        run(explain, &[&input, more].concat(), "")
    };
    let state = "examples/nginx/after-30s/state.yaml";
    let stated = fs::read_to_string(state).expect("an example");
    let of_another = file("history", stated + "hpas: [shop/web]\n");
    for (flags, knowledge, scale_to) in [
        (&[] as &[&str], "unknown", Value::Null),
        (&["--history", "none"], "justStarted", Value::Null),
        (&["--history", "infer"], "unknown", Value::Null),
        (&["--history", state], "stated", Value::from(10)),
        // Exactly as old as the window is too old.
        (&["--recommendation", "10@5m"], "stated", Value::from(2)),
        (
            &["--recommendation", "10@4m59s", "--recommendation", "3@1m"],
            "stated",
            Value::from(10),
        ),
    ] {
        let output = explain(flags);
        let answer = output.json();
        assert_eq!(answer["memory"]["knowledge"], knowledge, "{flags:?}");
        assert_eq!(answer["outcome"]["scaleTo"], scale_to, "{flags:?}");
    }
    for (flags, message) in [
        (&["--history", files[0]] as &[&str], "states no history"),
        (
            &["--history", &of_another],
            "states the history of shop/web, not of default/nginx-deployment",
        ),
        (&["--history", "/nonexistent"], "/nonexistent"),
        (&["--recommendation", "8"], "not of the form REPLICAS@AGE"),
        (&["--recommendation=-8@2m"], "is not a number of replicas"),
        (&["--recommendation", "8@-2m"], "must not be negative"),
        (
            &["--recommendation", "8@2m", "--history", "none"],
            "cannot be used with",
        ),
        (&["--observe", "1m"], "cannot be used with"),
    ] {
        let output = explain(flags);
        let error = output.refused(2);
        assert!(error.contains(message), "{flags:?}: {error}");
    }
    let list = run("explain -f examples/shop --recommendation 8@2m", &[], "");
    assert_eq!(list.refusal().2, Some(2));
    assert!(list.stderr.contains("a stated history belongs to one HPA"));
}

/// Any time that can be written allows inferring the memory, or treating it as unknown.
#[test]
fn times_at_the_ends_of_the_calendar_are_no_failure() {
    let hpa = HPA.replace("namespace: shop}", "namespace: shop, uid: u}");
    let status = "status:\n  lastScaleTime: TIME\n  desiredReplicas: 2\n  conditions: \
                  [{type: AbleToScale, status: \"True\", lastTransitionTime: TIME}]\n";
    for time in [
        "-009999-01-02T01:59:59Z",
        "9999-12-30T22:00:00Z",
        "2026-11-21T07:00:00Z",
    ] {
        let status = status.replace("TIME", time);
        let input = documents(&[&format!("{hpa}{status}"), REST]);
        for now in [
            "-009999-01-02T01:59:59Z",
            "9999-12-30T22:00:00Z",
            "2026-11-21T07:00:10Z",
        ] {
            let flags = [format!("--now={now}"), "--sync-period=2562047h".to_owned()];
            let output = run("explain web -f - -o json", &[&flags[0], &flags[1]], &input);
            assert_eq!(output.code, Some(0), "{time} at {now}: {}", output.stderr);
        }
    }
}

/// What would happen after the last time that can be written happens at it.
#[test]
fn what_follows_the_end_of_the_calendar_is_no_failure() {
    let state = "examples/backtest/state.yaml";
    let line = "explain web -n shop --now 9999-12-30T21:58:00Z --recommendation 9@10s -f";
    let output = run(line, &[state], "");
    assert_eq!(output.code, Some(0), "{}", output.stderr);

    let hpa = HPA.replace(
        "namespace: shop}",
        "namespace: shop, uid: u, managedFields: [{manager: kube-controller-manager, operation: \
         Update, apiVersion: autoscaling/v2, time: \"9999-12-30T21:59:10Z\", fieldsType: FieldsV1, \
         fieldsV1: {\"f:status\": {}}, subresource: status}]}",
    );
    let status = "status:\n  currentReplicas: 2\n  desiredReplicas: 2\n  currentMetrics: [{type: \
                  Resource, resource: {name: cpu, current: {averageUtilization: 52, averageValue: \
                  52m}}}]\n";
    let rest = REST.replace("2026-11-21T07:00:00Z", "9999-12-30T21:59:30Z");
    let state = STATE.replace("2026-11-21T07:00:10Z", "9999-12-30T22:00:00Z");
    let state = format!("{state}memory: unknown\nflags: {{syncPeriod: 1s}}\n");
    let output = run(
        "explain web -f -",
        &[],
        &documents(&[&format!("{hpa}{status}"), &rest, &state]),
    );
    assert_eq!(output.code, Some(0), "{}", output.stderr);
}

/// The controller's history is unknown here, and other memories lead to other counts: they are
/// bounds of the one likely course, not steps of it.
#[test]
fn next_is_one_course_with_the_counts_that_are_possible() {
    let condition = |type_: &str, reason: &str| {
        serde_json::json!({"type": type_, "status": "True", "reason": reason,
                           "lastTransitionTime": "2026-11-20T06:00:00Z"})
    };
    let spec = json!({
        "metrics": [build::external("queue", &build::average("1"))],
        "behavior": {"scaleUp": {"stabilizationWindowSeconds": 60, "policies": [
            {"type": "Percent", "value": 100, "periodSeconds": 60}]}},
    });
    let written = json!({
        "metadata": {"creationTimestamp": "2026-11-20T06:00:00Z"},
        "status": {
            "currentReplicas": 6, "desiredReplicas": 6,
            "lastScaleTime": "2026-11-21T05:59:40Z",
            "conditions": [
                condition("AbleToScale", "SucceededGetScale"),
                condition("ScalingActive", "ValidMetricFound"),
                condition("ScalingLimited", "ScaleUpLimit")],
        },
    });
    let hpa = build::with(build::hpa(&spec), &written);
    let input = build::list([hpa, build::scale(6), build::queue(&["96"])]);
    let explain = |output: &str| {
        let line = "explain web -f - --now 2026-11-21T06:00:00Z -o";
        run(line, &[output], &input)
    };
    let answer = explain("json").json();
    let possible = serde_json::json!({"min": 6, "max": 96});
    let row = |minute: i32, replicas: i32| {
        let time = format!("2026-11-21T06:0{minute}:00Z");
        serde_json::json!({"time": time, "replicas": replicas, "range": possible})
    };
    let course = serde_json::json!([row(1, 12), row(2, 24), row(3, 48), row(4, 96)]);
    assert_eq!(answer["upcoming"], course);
    let text = explain("wide").stdout;
    assert!(
        text.contains("  24  most likely at 06:02:00Z (in 2m); 6 to 96 possible\n"),
        "{text}"
    );
}

#[test]
fn a_clock_far_from_its_samples_is_said_where_the_answer_stands() {
    // At the time of its sample, the only pod with one was starting; a day later it counts.
    let rest = REST.replace("2026-01-01T00:00:00Z", "2026-11-21T06:59:30Z");
    let rest = rest.replace("2026-01-01T00:00:10Z", "2026-11-21T06:59:50Z");
    let state = STATE.lines().filter(|line| !line.starts_with("now:"));
    let state = state.collect::<Vec<_>>().join("\n");
    let input = documents(&[HPA, &rest, &state]);
    let explain = |now: &[&str], form: &str| {
        run(
            "explain web -n shop -f - -o",
            &[&[form][..], now].concat(),
            &input,
        )
        .quiet()
        .text()
    };
    let object = |now: &[&str]| -> Value {
        serde_json::from_str(&explain(now, "json")).expect("JSON is printed")
    };
    let unstated = "The input does not state when it was saved";
    let ahead = "The stated time is wrong: the newest time in the input is 10m later.";
    let old = "The newest time in the input is 25h ago: either metrics have stopped arriving";
    for (now, why, said, range) in [
        (
            &[][..],
            Some("unstated"),
            unstated,
            json!({"min": 2, "max": 3}),
        ),
        (
            &["--now", "2026-11-21T06:50:00Z"],
            Some("ahead"),
            ahead,
            json!({"min": 2, "max": 2}),
        ),
        // A stated clock is kept: metrics may be that old.
        (
            &["--now", "2026-11-22T08:00:00Z"],
            Some("old"),
            old,
            json!({"min": 3, "max": 3}),
        ),
        (
            &["--now", "2026-11-21T07:00:30Z"],
            None,
            "",
            json!({"min": 2, "max": 2}),
        ),
    ] {
        let found = object(now);
        let doubt = &found["clockDoubt"];
        assert_eq!(doubt["why"].as_str(), why, "{now:?}");
        assert_eq!(found["range"], range, "{now:?}");
        let certain = if range["min"] == range["max"] {
            "certain"
        } else {
            "bounded"
        };
        assert_eq!(found["certainty"], certain, "{now:?}");
        let page = explain(now, "wide");
        let (head, _) = page.split_once("\nMETRIC").expect("a table of metrics");
        assert!(head.contains(said), "{now:?}: {head}");
        let type_this = "--now 2026-11-21T07:00:00Z";
        assert_eq!(head.contains(type_this), why.is_some(), "{now:?}: {head}");
        assert_eq!(
            doubt["newestTime"] == "2026-11-21T07:00:00Z",
            why.is_some(),
            "{now:?}"
        );
    }
}

/// The times of metrics of objects and of external ones are compared with the clock, too, and what is saved
/// keeps the doubt.
#[test]
fn other_metrics_are_compared_with_the_clock_too_and_a_saved_state_keeps_the_doubt() {
    let directory = directory("clock");
    let path = directory.join("state.json");
    let (spec, _) = HPA.split_once("  - type").expect("metrics");
    let of = |metric: &str| format!("{spec}  - {metric}");
    let external = "{type: External, external: {metric: {name: queue}, \
                    target: {type: AverageValue, averageValue: 10}}}\n";
    let object = "{type: Object, object: {metric: {name: queue}, \
                  describedObject: {apiVersion: v1, kind: Service, name: web}, \
                  target: {type: Value, value: 10}}}\n";
    let external_value = "kind: ExternalMetricValueList\napiVersion: external.metrics.k8s.io/v1beta1\n\
                          items: [{metricName: queue, value: 20, timestamp: 2026-11-21T07:00:00Z}]\n";
    let object_value = "kind: MetricValueList\napiVersion: custom.metrics.k8s.io/v1beta2\n\
                        items: [{metric: {name: queue}, value: 10, timestamp: 2026-11-21T07:00:00Z, \
                        describedObject: {kind: Service, name: web, namespace: shop, apiVersion: v1}}]\n";
    for (metric, value) in [(external, external_value), (object, object_value)] {
        let input = documents(&[&of(metric), REST, value]);
        let to = path.to_str().expect("a path in UTF-8");
        let first = run("explain web -f - -o json --save", &[to], &input)
            .quiet()
            .answer();
        assert_eq!(first["clockDoubt"]["why"], "unstated", "{metric}");
        let again = fs::read_to_string(&path).expect("a saved state");
        let again = run("explain web -f - -o json", &[], &again)
            .quiet()
            .answer();
        assert_eq!(again["clockDoubt"], first["clockDoubt"], "{metric}");
        let stated = "explain web -f - -o json --now 2026-11-21T07:00:20Z";
        let stated = run(stated, &[], &input).quiet().answer();
        assert_eq!(stated["clockDoubt"], Value::Null, "{metric}");
    }
}

/// Two manifests over the same load, one of which is not the first document of its file.
#[test]
fn each_candidate_is_judged_and_shown_where_it_is() {
    let directory = directory("candidates");
    let two = HPA.replace("maxReplicas: 5", "maxReplicas: 2");
    let other = "# Not this one.\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}";
    let texts = [
        ("state.yaml", good()),
        ("a.yaml", two),
        ("b.yaml", documents(&[other, HPA])),
    ];
    for (name, text) in texts {
        fs::write(directory.join(name), text).expect("a file");
    }
    let run = |more: &[&str]| {
        let typed = "predict web -n shop -f state.yaml --history none";
        ran::run(
            program()
                .current_dir(&directory)
                .env_remove("GITHUB_STEP_SUMMARY")
                .args(typed.split(' '))
                .args(more),
        )
    };
    let manifests = [
        "--for", "5m", "--hpa", "a.yaml", "--hpa", "b.yaml", "--report", "github",
    ];
    let both = run(&[
        &manifests[..],
        &["--expect", "run.highest > 2", "-o", "json"],
    ]
    .concat());
    assert_eq!(both.code, Some(3));
    assert_eq!(
        both.stderr,
        "::error file=a.yaml,line=1,title=HPA shop/web (a.yaml)::run.highest > 2 is false: \
         run.highest is 2 at 2026-11-21T07:00:10Z\n"
    );
    let json = both.json();
    let found = json["expectations"].as_array().expect("a list").iter();
    let found: Vec<_> = found
        .map(|one| (&one["candidate"], &one["truth"]))
        .collect();
    assert_eq!(
        found,
        [
            (&json!("a.yaml"), &json!("false")),
            (&json!("b.yaml"), &json!("true"))
        ]
    );
    // From the document with the HPA; a single candidate needs no name.
    let one = run(&[
        "--hpa", "b.yaml", "--expect", "max < 5", "--report", "github",
    ]);
    assert_eq!(
        one.stderr,
        "::error file=b.yaml,line=6,title=HPA shop/web::max < 5 is false: max is 5\n"
    );
    let without = run(&["--expect", "max < 9 and not run.settled"]);
    assert_eq!(without.code, Some(2));
    assert_eq!(
        without.stderr,
        "error: failed to read an expectation: run.settled is known only over time\n  \
         max < 9 and not run.settled\n                  ^\n\
         hint: use --for or --trace to play a run\n"
    );
    let without = run(&["--fail-on", "unsettled"]);
    assert_eq!(without.code, Some(2));
    assert_eq!(
        without.stderr,
        "error: --fail-on unsettled is about a run, and none is played\n\
         hint: use --for or --trace to play a run\n"
    );
}

/// A value may be as long as a file or a command line.
#[test]
fn errors_do_not_repeat_long_values() {
    let long = "x".repeat(100_000);
    let name = documents(&[&HPA.replace("name: web", &format!("name: {long}")), REST]);
    let field = good().replace("spec:\n", &format!("spec:\n  {long}: 1\n"));
    let policy = good().replace(
        "maxReplicas: 5",
        &format!("maxReplicas: 5\n  behavior: {{scaleUp: {{selectPolicy: {long}}}}}"),
    );
    let key = format!("kind: Pod\nmetadata: {{labels: {{{long}: 1}}}}\n");
    for input in [
        &*name,
        &field,
        &policy,
        &key,
        &long,
        &format!("kind: {long}"),
    ] {
        let output = run("predict -f - --hpa -", &[], input);
        assert_ne!(output.code, Some(0));
        for line in ["explain -f -", "explain -f - -o json"] {
            let output = run(line, &[], input);
            let stderr = &*output.stderr;
            assert!(
                stderr.lines().all(|line| line.len() <= 4096),
                "{} bytes",
                stderr.len()
            );
        }
    }
    for words in [
        &["explain", "web", "-f", &*long][..],
        &["explain", &*long, "-f", "-"],
        &["predict", "web", "-f", "-", "--cpu", &*long],
        &["predict", "web", "-f", "-", "--expect", &*long],
        &["predict", "web", "-f", "-", "--set", &*long],
        &[&*long],
    ] {
        let output = run("", words, &good());
        let stderr = &*output.stderr;
        assert_eq!(output.code, Some(2), "{}", words[0]);
        assert!(
            stderr.lines().all(|line| line.len() <= 4096),
            "{}: {}",
            words[0],
            stderr.len()
        );
    }
}

/// Each value that is tried takes a pass over all metrics: with a search for each of them, twice the metrics would
/// take four times as long.
#[test]
fn of_many_metrics_only_the_first_are_searched() {
    let metric = |place: usize| {
        format!(
            "  - {{type: External, external: {{metric: {{name: q{place}}}, target: {{type: AverageValue, \
             averageValue: 10}}}}}}\n"
        )
    };
    let value = |place: usize| {
        format!("- {{metricName: q{place}, timestamp: 2026-01-02T00:00:00Z, value: 15}}\n")
    };
    let hpa = HPA.split("  - type").next().expect("its start");
    let hpa = format!("{hpa}{}", (0..130).map(metric).collect::<String>());
    let values = format!(
        "apiVersion: external.metrics.k8s.io/v1beta1\nkind: ExternalMetricValueList\nitems:\n{}",
        (0..130).map(value).collect::<String>()
    );
    let input = documents(&[&hpa, REST, &values, STATE]);
    for curve in [&[][..], &["--curve", "q120"]] {
        let answer = run("predict web -f - --replicas 3 -o json", curve, &input)
            .quiet()
            .answer();
        let all = answer["thresholds"].as_array().expect("thresholds");
        assert_eq!(all.len(), 130);
        for (place, own) in all.iter().enumerate() {
            let said = own["error"].as_str().unwrap_or_default();
            let is_left_out = place >= 100 && (place != 120 || curve.is_empty());
            assert_eq!(
                said.starts_with("not searched"),
                is_left_out,
                "{place}: {own}"
            );
        }
    }
}

/// Of many HPAs that cannot be read, an answer names some, so that those of all of them do not grow with the square.
#[test]
fn of_many_hpas_with_unknown_selectors_some_are_named() {
    // Their targets do not exist any more, and the controller may remember their selectors.
    const PASSED: &str =
        "status: {conditions: [{type: ScalingActive, reason: ValidMetricFound}]}\n";
    let other = |place: usize| {
        let hpa = HPA.replace("name: web", &format!("name: other{place}"));
        hpa.replace("namespace: shop}", "namespace: shop, uid: u}") + PASSED
    };
    let others: Vec<String> = (0..1015).map(other).collect();
    let parts: Vec<&str> = [HPA, REST, STATE]
        .into_iter()
        .chain(others.iter().map(String::as_str))
        .collect();
    let answer = run("explain web -f - -o json", &[], &documents(&parts))
        .quiet()
        .answer();
    let notes = answer["notes"].as_array().expect("notes");
    let about = |part: &str| {
        notes
            .iter()
            .filter(|note| note.to_string().contains(part))
            .count()
    };
    assert_eq!(about("shop/other"), 20, "{notes:?}");
    assert_eq!(
        about("unknown whether 995 more HPAs select the same pods"),
        1,
        "{notes:?}"
    );
}
