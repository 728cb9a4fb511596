//! Manifests as candidates: the result of charts modeled on published ones (`tests/charts`), what
//! cannot be a candidate, and that a template gives the same answer as pods created from it.

use std::fmt::Write;
use std::path::Path;

use assert_cmd::Command;
use kubectl_hpa::apimachinery::quantity::Quantity;
use kubectl_hpa::args::Validate;
use kubectl_hpa::error::Error;
use kubectl_hpa::snapshot::input::Input;
use kubectl_hpa::snapshot::note::{Note, Subject};
use kubectl_hpa::snapshot::pod::Phase;
use kubectl_hpa::whatif::overrides::Assumptions;
use serde_json::{Value, json};

use crate::common::ran::{Ran, program, run};
use crate::common::{self, build, decide, recorded};

const CHARTS: &str = "tests/charts";

/// Runs `predict NAME -f state.yaml` with these flags.
fn predict(name: &str, flags: &[&str], stdin: &str) -> Ran {
    run(program()
        .args(["predict", name, "-n", "shop", "-f", "../state.yaml"])
        .args(flags)
        .current_dir(format!("{CHARTS}/rendered"))
        .write_stdin(stdin))
}

/// What runs before a chart is applied.
fn state() -> String {
    std::fs::read_to_string(format!("{CHARTS}/state.yaml")).expect("a file")
}

/// A rendered chart.
fn rendered(file: &str) -> String {
    std::fs::read_to_string(format!("{CHARTS}/rendered/{file}")).expect("a file")
}

const TARGET: &str = "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}";

/// A document with an HPA of this spec.
fn hpa(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {{name: {name}}}\nspec: {spec}\n"
    )
}

/// A document with the HPA `web` of these metrics.
fn web_hpa(metrics: &str) -> String {
    hpa(
        "web",
        &format!("{{maxReplicas: 10, {TARGET}, metrics: [{metrics}]}}"),
    )
}

/// A document with the Deployment `web`: these fields of its spec, and the resources of its only container.
fn web_deployment(fields: &str, resources: &str) -> String {
    format!(
        "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web, namespace: shop}}\nspec:\n  {fields}\n  \
         selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    spec: \
         {{containers: [{{name: app, image: a, resources: {resources}}}]}}\n"
    )
}

/// Returns the assumptions with the observed values, the notes, and the answer.
fn summary(name: &str, flags: &[&str]) -> String {
    let answer = predict(name, &[flags, &["-o", "json"]].concat(), "").answer();
    let list = |field: &str| answer[field].as_array().expect("a list").clone();
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let mut lines = String::new();
    for own in list("overrides") {
        let [item, assumed, observed] = ["item", "assumed", "observed"].map(|it| text(&own[it]));
        let before = match (&*item, &*observed) {
            ("HPA" | "template", "null") => String::new(),
            (_, observed) => format!(" (was {observed})"),
        };
        writeln!(lines, "{item}: {assumed}{before}").expect("text");
    }
    for finding in list("findings") {
        writeln!(lines, "finding {}", text(&finding["code"])).expect("text");
    }
    for note in list("notes")
        .iter()
        .map(text)
        .filter(|note| !note.starts_with("a rollout of"))
    {
        writeln!(lines, "note {note}").expect("text");
    }
    let from = text(&answer["observed"]["replicas"]);
    match &answer["outcome"]["scaleTo"] {
        Value::Null => writeln!(lines, "stays at {from}"),
        to => writeln!(lines, "{from} to {to}"),
    }
    .expect("text");
    lines
}

/// An HPA that a manifest creates under another name does not have the history of the running one.
#[test]
fn a_new_hpa_is_said_to_have_no_history() {
    let predict = |name: &str, flags: &[&str]| {
        let target = json!({"type": "Utilization", "averageUtilization": 60});
        let manifest = json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": name},
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "minReplicas": 1, "maxReplicas": 10,
                "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
            },
        });
        let flags = [&["--hpa", "-", "--cpu", "5%"], flags].concat();
        predict("web", &flags, &manifest.to_string()).text()
    };
    for (name, is_new) in [("web", false), ("web-2", true)] {
        let brief = predict(name, &[]);
        assert_eq!(
            brief.contains("Assuming a new HPA without a history"),
            is_new,
            "{brief}"
        );
        let wide = predict(name, &["-o", "wide"]);
        let words = "the HPA is new: the current replicas count as the only recommendation";
        assert_eq!(wide.contains(words), is_new, "{wide}");
    }
}

#[test]
fn charts_are_taken_as_they_are_rendered() {
    let mut wrong = String::new();
    for (name, chart, expected) in [
        (
            "web",
            "deployment.yaml",
            "HPA: from deployment.yaml
             maxReplicas: 20 (was 10)
             target of cpu: 80% (was 60%)
             template: of Deployment/web from deployment.yaml
             cpu request of app: 50m (was 100m)
             label version: 1.5 (was 1.4)
             note deployment.yaml: only the HPA and its target are read from manifests; ignored: Pod/web-test-connection, 1 Service, 1 ServiceAccount
             4 to 6",
        ),
        (
            "web",
            "sidecar.yaml",
            "HPA: from sidecar.yaml, which changes nothing
             template: of Deployment/web from sidecar.yaml
             init container migrate: requests cpu 1 (was none)
             sidecar proxy: requests cpu 50m (was none)
             finding held-by-window
             note sidecar.yaml: no pod runs proxy yet: the usage is unknown and left out, so that only the requests count, if any; --cpu proxy=VALUE states it
             stays at 4",
        ),
        (
            "db",
            "statefulset.yaml",
            "HPA: from statefulset.yaml
             target of memory: 130Mi (was 300Mi)
             template: of StatefulSet/db from statefulset.yaml
             container exporter: none (was requests cpu 20m, memory 64Mi)
             finding at-max
             note statefulset.yaml: only the HPA and its target are read from manifests; ignored: 1 PodDisruptionBudget, 1 Service
             3 to 5",
        ),
        (
            "web",
            "several.yaml",
            "HPA: from several.yaml, which changes nothing
             template: of Deployment/web from several.yaml
             cpu request of app: 120m (was 100m)
             finding rounding
             note several.yaml: only the HPA and its target are read from manifests; ignored: HorizontalPodAutoscaler/api, HorizontalPodAutoscaler/worker, Deployment/api, Deployment/worker
             stays at 4",
        ),
        (
            "web",
            "cronjob.yaml",
            "HPA: from cronjob.yaml
             target of cpu: 30% (was 60%)
             template: of Deployment/web from cronjob.yaml, which changes nothing
             note cronjob.yaml: only the HPA and its target are read from manifests; ignored: Job/migrate, 1 CronJob, 1 DaemonSet
             4 to 8",
        ),
        (
            "web",
            "replicas.yaml",
            "HPA: from replicas.yaml, which changes nothing
             template: of Deployment/web from replicas.yaml, which changes nothing
             finding other-writer
             stays at 4",
        ),
        (
            "web",
            "list.yaml",
            "HPA: from list.yaml
             target of cpu: 20% (was 60%)
             template: of Deployment/web from list.yaml
             cpu request of app: 300m (was 100m)
             note list.yaml: only the HPA and its target are read from manifests; ignored: 1 ConfigMap
             stays at 4",
        ),
        (
            "web",
            "workload-only.yaml",
            "template: of Deployment/web from workload-only.yaml
             cpu request of app: 60m (was 100m)
             note workload-only.yaml: only the HPA and its target are read from manifests; ignored: Deployment/api
             4 to 7",
        ),
        (
            "web",
            "rivals.yaml",
            "HPA: from rivals.yaml, which changes nothing
             template: of Deployment/web from rivals.yaml, which changes nothing
             finding shared-pods
             stays at 4",
        ),
        (
            "web",
            "crds.yaml",
            "HPA: from crds.yaml
             behavior.scaleDown.policies: 50% per 60s (was none)
             behavior.scaleDown.stabilizationWindowSeconds: 60 (was none)
             note crds.yaml: only the HPA and its target are read from manifests; ignored: 1 CustomResourceDefinition, 1 Queue, 2 ServiceMonitor
             stays at 4",
        ),
        (
            "web",
            "renamed.yaml",
            "HPA: from renamed.yaml, which changes nothing
             template: of Deployment/web from renamed.yaml, which changes nothing
             note shop/web-hpa is a new HPA, predicted in place of shop/web: its history begins with the current replicas; applied alongside shop/web, both stop scaling, because they select the same pods: delete web, as Helm does and `kubectl apply --prune` can
             stays at 4",
        ),
        (
            "keda-hpa-jobs",
            "scaledobject.yaml",
            "HPA: from scaledobject.yaml
             maxReplicas: 30 (was 10)
             target of s0-cron-Europe-Berlin-08xxx-018xxx{scaledobject.keda.sh/name=jobs}: 1 (was none)
             target of s1-prometheus{scaledobject.keda.sh/name=jobs}: 20 (was none)
             target of s0-prometheus{scaledobject.keda.sh/name=jobs}: none (was 40)
             template: of Deployment/jobs from scaledobject.yaml
             cpu request of app: 50m (was 100m)
             note scaledobject.yaml: only the HPA and its target are read from manifests; ignored: 1 TriggerAuthentication
             note scaledobject.yaml: s1-prometheus has the value of s0-prometheus: of the running HPA's metrics, only that one has this name after its index
             note the input has no ExternalMetricValueList for s0-cron-Europe-Berlin-08xxx-018xxx; `kubectl get --raw '/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/s0-cron-Europe-Berlin-08xxx-018xxx?labelSelector=scaledobject.keda.sh%2Fname%3Djobs'` prints what is missing
             note `kubectl hpa predict keda-hpa-jobs -n shop --hpa scaledobject.yaml --save FILE` saves everything that a pass needs
             2 to 4",
        ),
        (
            "web",
            "unchanged.yaml",
            "HPA: from unchanged.yaml, which changes nothing
             template: of Deployment/web from unchanged.yaml, which changes nothing
             stays at 4",
        ),
    ] {
        let found = summary(name, &["--hpa", chart]);
        let expected: Vec<&str> = expected.lines().map(str::trim).collect();
        if found.lines().ne(expected.iter().copied()) {
            writeln!(wrong, "{chart}:\n{found}").expect("text");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_directory_and_standard_input_are_taken_like_a_file() {
    let file = summary("web", &["--hpa", "deployment.yaml"]);
    let text = rendered("deployment.yaml");
    let stdout = predict("web", &["--hpa", "-", "-o", "json"], &text).text();
    let answer: Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!(
        answer["overrides"].as_array().map(Vec::len),
        Some(6),
        "{stdout}"
    );
    assert!(
        stdout.contains("of Deployment/web from standard input"),
        "{stdout}"
    );
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("manifests");
    std::fs::create_dir_all(&directory).expect("a directory");
    for (number, document) in text.split("\n---\n").enumerate() {
        let file = directory.join(format!("{number}.yaml"));
        // kubectl ignores an empty document.
        if document.contains("kind:") {
            std::fs::write(file, document).expect("a file");
        }
    }
    let directory = directory.to_str().expect("a path in UTF-8");
    let mut taken = summary("web", &["--hpa", directory]);
    for of_directory in ["/2.yaml", "/3.yaml", ""] {
        taken = taken.replace(&format!("{directory}{of_directory}"), "deployment.yaml");
    }
    assert_eq!(taken, file);
}

/// What is of another namespace is not used, unless everything is.
#[test]
fn manifests_of_another_namespace_and_a_status_are_noted() {
    let text = rendered("unchanged.yaml");
    let workload = "kind: Deployment\nmetadata: {name: web}";
    let elsewhere = "kind: Deployment\nmetadata: {name: web, namespace: prod}";
    let hpa = "kind: HorizontalPodAutoscaler\nmetadata: {name: web}";
    for (text, expected) in [
        (
            text.replace(workload, elsewhere),
            &[
                "standard input: only the HPA and its target are read from manifests; ignored: \
               Deployment/web in prod",
            ][..],
        ),
        (
            text.replace("{name: web}\n", "{name: web, namespace: prod}\n"),
            &[
                "the manifest of prod/web is used for shop/web and inherits its history",
                "standard input: the manifest of Deployment/web in prod is used for the one in shop",
            ],
        ),
        (
            text.replace(hpa, &format!("status: {{desiredReplicas: 7}}\n{hpa}")),
            &[
                "standard input: the status in the manifest is ignored, as by the API server: only the \
               controller writes it",
            ],
        ),
    ] {
        let answer = predict("web", &["--hpa", "-", "-o", "json"], &text).answer();
        assert_eq!(answer["notes"], json!(expected), "{text}");
    }
    // Another workload of the HPA's namespace leaves out both.
    let both = text.replace("{name: web}\n", "{name: web, namespace: prod}\n");
    let other = web_deployment("replicas: 1", "{}").replace("name: web", "name: api");
    predict("web", &["--hpa", "-"], &(both + &other)).fails(
        2,
        &["standard input: contains neither a HorizontalPodAutoscaler for Deployment/web nor Deployment/web"],
    );
}

#[test]
fn flags_go_before_manifests() {
    for (flag, gone, line) in [
        (
            "--max=15",
            "maxReplicas: 20 (was 10)",
            "maxReplicas: 15 (was 10)",
        ),
        (
            "--set=maxReplicas=15",
            "maxReplicas: 20 (was 10)",
            "maxReplicas: 15 (was 10)",
        ),
        (
            "--target=cpu=70%",
            "target of cpu: 80% (was 60%)",
            "target of cpu: 70% (was 60%)",
        ),
        (
            "--request=cpu=200m",
            "cpu request of app: 50m (was 100m)",
            "cpu request of app: 200m (was 100m)",
        ),
    ] {
        let without = summary("web", &["--hpa", "deployment.yaml"]);
        let with = summary("web", &["--hpa", "deployment.yaml", flag]);
        let has = |text: &str, line: &str| text.lines().any(|own| own == line);
        assert!(
            has(&without, gone) && !has(&with, gone) && has(&with, line),
            "{flag}:\n{with}"
        );
    }
}

#[test]
fn what_cannot_be_a_candidate_is_an_error_of_one_line() {
    let hpa = |name: &str, target: &str| {
        let target = TARGET.replace("web", target);
        hpa(name, &format!("{{maxReplicas: 3, {target}}}"))
    };
    let workload = |kind: &str, name: &str| {
        format!("apiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: {name}}}\n")
    };
    let template = |metadata: &str, container: &str| {
        workload("Deployment", "web")
            + &format!(
                "spec: {{selector: {{matchLabels: {{app: web}}}}, template: {{metadata: \
                 {{{metadata}}}, spec: {{containers: [{{{container}}}]}}}}}}\n"
            )
    };
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n".to_owned();
    let all = |documents: &[String]| documents.join("---\n");
    for (text, message, hint) in [
        (
            all(&[hpa("web-a", "web"), hpa("web-b", "web")]),
            "standard input: 2 HorizontalPodAutoscalers for Deployment/web: \
             web-a (standard input:1), web-b (standard input:6)",
            "keep one of them",
        ),
        (
            all(&[hpa("web", "web"), service.clone(), hpa("web", "web")]),
            "standard input: 2 HorizontalPodAutoscalers for Deployment/web: \
             web (standard input:1), web (standard input:10)",
            "keep one of them",
        ),
        (
            all(&[
                hpa("web", "web"),
                hpa("api", "web").replace("maxReplicas: 3", "maxReplicas: -1"),
            ]),
            "standard input: HorizontalPodAutoscaler.autoscaling \"api\" is invalid: \
             [spec.maxReplicas: Invalid value: -1: must be greater than or equal to 1, \
             spec.maxReplicas: Invalid value: -1: must be greater than or equal to `minReplicas`]",
            "the API server would reject this manifest",
        ),
        (
            all(&[
                hpa("web", "web"),
                hpa("api", "web").replace("maxReplicas", "maxReplcas"),
            ]),
            "standard input: unknown field \"spec.maxReplcas\", did you mean \"spec.maxReplicas\"?",
            "use --validate=warn",
        ),
        (
            template(
                "labels: {app: web}",
                "name: web, image: web, resources: {requests: {cpu: -1}}",
            ),
            "standard input: Deployment/web: \
             spec.template.spec.containers[0].resources.requests[cpu]: Invalid value: \"-1\": must be \
             greater than or equal to 0",
            "the API server would reject this manifest",
        ),
        (
            template("labels: {app: web}", "name: web"),
            "standard input: Deployment/web: spec.template.spec.containers[0].image: Required value",
            "the API server would reject this manifest",
        ),
        (
            template("labels: {app: api}", "name: web, image: web"),
            "standard input: Deployment/web: spec.template.metadata.labels: Invalid value: \
             {\"app\":\"api\"}: `selector` does not match template `labels`",
            "the API server would reject this manifest",
        ),
        (
            template("labels: {app: web}", "name: web, image: web")
                .replace("selector", "replica: 7, selector"),
            "standard input: Deployment/web: unknown field \"spec.replica\", did you mean \
             \"spec.replicas\"?",
            "use --validate=warn",
        ),
        (
            template(
                "labels: {app: web}",
                "name: web, image: web, resources: {request: {cpu: 200m}}",
            ),
            "standard input: Deployment/web: unknown field \
             \"spec.template.spec.containers[0].resources.request\", did you mean \
             \"spec.template.spec.containers[0].resources.requests\"?",
            "use --validate=warn",
        ),
        (
            workload("Deployment", "api").replace("{name: api", "{namespace: shop, name: api"),
            "standard input: contains neither a HorizontalPodAutoscaler for Deployment/web nor \
             Deployment/web",
            "it has Deployment/api in shop",
        ),
        (
            all(&[service.clone(), service.clone()]),
            "--hpa -: contains no HorizontalPodAutoscaler, ScaledObject or workload",
            "it has 2 Service",
        ),
        (
            all(&[
                workload("Deployment", "api"),
                workload("StatefulSet", "web"),
            ]),
            "standard input: contains neither a HorizontalPodAutoscaler for Deployment/web nor \
             Deployment/web",
            "it has Deployment/api, StatefulSet/web",
        ),
        (
            all(&[hpa("api", "api"), hpa("worker", "worker")]),
            "standard input: contains neither a HorizontalPodAutoscaler for Deployment/web nor \
             Deployment/web",
            "it has HorizontalPodAutoscaler/api for Deployment/api, \
             HorizontalPodAutoscaler/worker for Deployment/worker",
        ),
        (
            hpa("web", "web").replace("apiVersion: apps/v1, kind", "apiVersion: v1, kind"),
            "standard input: HorizontalPodAutoscaler.autoscaling \"web\" is invalid: \
             spec.scaleTargetRef.apiVersion: Invalid value: \"v1\": apiVersion must specify API group",
            "the API server would reject this manifest",
        ),
        (
            hpa("api", "api"),
            "standard input: it scales Deployment/api, but the HPA scales Deployment/web",
            "observations of one target do not apply to another",
        ),
        (
            all(&[hpa("web", "api"), workload("Deployment", "web")]),
            "standard input: it scales Deployment/api, but the HPA scales Deployment/web",
            "observations of one target do not apply to another",
        ),
        (
            all(&[
                hpa("web", "web"),
                workload("Deployment", "web"),
                workload("Deployment", "web"),
            ]),
            "standard input: contains Deployment/web more than once",
            "keep one of them",
        ),
        (
            all(&[
                hpa("web", "web"),
                "Error: no template web.labels\n".to_owned(),
            ]),
            "failed to read standard input:6:1: not a Kubernetes object: it has no kind",
            "",
        ),
        (
            all(&[
                "NAME: web\nLAST DEPLOYED: today\nMANIFEST:\n".to_owned(),
                hpa("web", "web"),
            ]),
            "failed to read standard input:3:1: not a Kubernetes object: it has no kind",
            "use the output of `helm template` or `helm get manifest`",
        ),
        (
            all(&[workload("Deployment", "web") + "spec: {replicas: many}\n"]),
            "failed to read standard input:4:18: spec.replicas: a string, \
             expected a 32-bit integer",
            "",
        ),
        (
            "\n".to_owned(),
            "failed to read standard input: it is empty",
            "",
        ),
        (
            r#"{"apiVersion": "kubectl-hpa/v1alpha1", "kind": "Prediction"}"#.to_owned(),
            "failed to read standard input:1:60: Prediction is an answer; --hpa reads manifests",
            "",
        ),
        (
            hpa("web", "web").replace("name: web}\nspec", "name: web, labels: {tier: a b}}\nspec"),
            "standard input: HorizontalPodAutoscaler.autoscaling \"web\" is invalid: metadata.labels: \
             Invalid value: \"a b\": a valid label must be an empty string or consist of alphanumeric \
             characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. \
             'MyValue',  or 'my_value',  or '12345', regex used for validation is \
             '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
            "the API server would reject this manifest",
        ),
        (
            template("labels: {app: web-2}", "name: web, image: web")
                .replace("matchLabels: {app: web}", "matchLabels: {app: web-2}"),
            "standard input: Deployment/web: spec.selector: app=web-2 instead of app=web: field is immutable",
            "the API server would reject this manifest: render it with the values of what runs",
        ),
        (
            "{{- if .Values.autoscaling.enabled }}\n".to_owned() + &hpa("web", "web"),
            "failed to read standard input:1:2: key must be a string",
            "this is a template: use the output of `helm template` or `kustomize build`",
        ),
        (
            hpa("web", "web").replace("maxReplicas: 3", "maxReplicas: {{ .Values.max }}"),
            "failed to read standard input:4:22: spec.maxReplicas: an object as a key, expected a string",
            "this is a template",
        ),
        (
            hpa("'{{ .Release.Name }}'", "'{{ .Release.Name }}'"),
            "standard input: it scales Deployment/{{ .Release.Name }}, but the HPA scales Deployment/web",
            "this is a template",
        ),
        (
            all(&[
                hpa("api", "api"),
                hpa("'{{ .Release.Name }}'", "'{{ .Release.Name }}'"),
            ]),
            "standard input: contains neither a HorizontalPodAutoscaler for Deployment/web nor \
             Deployment/web",
            "this is a template",
        ),
    ] {
        let Ran {
            code,
            stdout,
            stderr,
        } = predict("web", &["--hpa", "-"], &text);
        assert_eq!((code, &*stdout), (Some(2), ""), "{text}\n{stderr}");
        let first = stderr.lines().next().unwrap_or_default();
        assert_eq!(first, format!("error: {message}"), "{text}");
        assert!(stderr.contains(hint), "{text}\n{stderr}");
    }
}

/// A saved state has the answers to what was requested then, and of nothing else. One that is written by hand has what
/// the HPA needs.
#[test]
fn what_was_not_requested_when_a_state_was_saved_is_unknown() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (saved, candidate) = (path("saved.json"), path("hpa.yaml"));
    predict("web", &["--save", &saved], "").text();
    let predict = |state: &str, metric: &str| {
        std::fs::write(&candidate, web_hpa(metric)).expect("a file");
        let flags = ["-n", "shop", "-f", state, "--hpa", &candidate];
        let Ran { code, stdout, .. } = run(program().args(["predict", "web"]).args(flags));
        (code, stdout)
    };
    for (metric, expected) in [
        (
            "{type: External, external: {metric: {name: depth}, target: {type: AverageValue, averageValue: '30'}}}",
            (2, "UNKNOWN: THE INPUT LACKS A METRIC"),
        ),
        (
            "{type: Pods, pods: {metric: {name: rps}, target: {type: AverageValue, averageValue: '30'}}}",
            (2, "UNKNOWN: THE INPUT LACKS A METRIC"),
        ),
        // All resources share an answer.
        (
            "{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 1Gi}}}",
            (0, "memory proposes 1 replica"),
        ),
        (
            "{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 30}}}",
            (0, "SCALE UP 4 → 8"),
        ),
    ] {
        for state in [&*saved, "tests/charts/state.yaml"] {
            let (code, stdout) = predict(state, metric);
            assert_eq!(code, Some(expected.0), "{metric}\n{stdout}");
            assert!(stdout.contains(expected.1), "{metric}\n{stdout}");
        }
    }
}

/// An HPA with a cpu metric and these, for a Deployment of three pods.
fn hpa_with(metrics: &str) -> String {
    format!(
        "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {{name: web, namespace: shop}}\nspec:\n  \
         scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: web}}\n  maxReplicas: 10\n  metrics:\n  \
         - {{type: Resource, resource: {{name: cpu, target: {{type: Utilization, averageUtilization: 60}}}}}}\n{metrics}"
    )
}

/// Returns the exit code for an input, with an expectation that a metric without a value leaves open, and what is
/// possible and wrong.
fn expect_few(state: &str, text: &str, flags: &[&str]) -> (Option<i32>, String) {
    let args = ["predict", "web", "-n", "shop", "-f", state, "-o", "json"];
    let expect = ["--expect", "desired <= 3", "--cpu", "50%"];
    let ran = run(program()
        .args([&args[..], &expect, flags].concat())
        .write_stdin(text));
    let answer = ran.json();
    let parts = ["certainty", "range", "findings"].map(|field| answer[field].to_string());
    (ran.code, parts.join(" "))
}

/// What the input lacked when a prediction without a target was saved is still unknown.
#[test]
fn an_hpa_alone_is_as_unknown_once_it_is_saved() {
    let directory = tempfile::tempdir().expect("a directory");
    let saved = directory.path().join("saved.json").display().to_string();
    for metric in [
        "  - {type: Pods, pods: {metric: {name: rps}, target: {type: AverageValue, averageValue: '10'}}}\n",
        "  - {type: External, external: {metric: {name: depth}, target: {type: AverageValue, averageValue: '10'}}}\n",
        "  - {type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 1Gi}}}\n",
    ] {
        let replicas = ["--replicas", "3"];
        let flags = [&replicas[..], &["--save", &saved]].concat();
        let first = expect_few("-", &hpa_with(metric), &flags);
        assert_eq!(first.0, Some(4), "{metric}: {}", first.1);
        assert_eq!(expect_few(&saved, "", &replicas), first, "{metric}");
    }
}

/// Two HPAs for one target still share its pods once they are saved without it, or without its replicas.
#[test]
fn hpas_for_one_target_without_a_scale_are_saved() {
    let workload = &web_deployment("", "{requests: {cpu: 100m}}");
    let directory = tempfile::tempdir().expect("a directory");
    let [first, second] = ["first.json", "second.json"].map(|name| directory.path().join(name));
    let [first, second] = [&first, &second].map(|path| path.to_str().expect("a path"));
    let hpa = hpa_with("");
    let both = format!(
        "{hpa}---\n{}",
        hpa.replace("{name: web, namespace", "{name: other, namespace")
    );
    for text in [both.clone(), format!("{both}---\n{workload}")] {
        let predict = |file: &str, saved: &str| {
            let flags = ["--replicas", "3", "--cpu", "50%", "--save", saved];
            let args = ["predict", "web", "-n", "shop", "-f", file];
            run(program().args(args).args(flags).write_stdin(&*text)).stdout
        };
        for shown in [predict("-", first), predict(first, second)] {
            assert!(shown.contains("STAYS AT 3: SHARED PODS"), "{shown}");
        }
        let [first, second] =
            [first, second].map(|it| std::fs::read_to_string(it).expect("a file"));
        assert_eq!(first, second);
    }
    // Each of a list lacks it once.
    let list = ["explain", "-n", "shop", "-f", "-", "--save", first];
    run(program().args(list).write_stdin(both));
    let saved = std::fs::read_to_string(first).expect("a file");
    let count = saved.matches(r#""missing":"Scale""#).count();
    assert_eq!(count, 2, "{saved}");
}

/// What is saved is read and saved again as it is, with the same findings: including a target that two HPAs name in
/// different versions, and the answers with an HPA without its target.
#[test]
fn what_is_saved_is_saved_again_as_it_is() {
    let directory = tempfile::tempdir().expect("a directory");
    let paths = ["first.json", "second.json"].map(|it| directory.path().join(it));
    let [first, second] = paths.each_ref().map(|it| it.to_str().expect("a path"));
    let hpa = hpa_with("");
    let older = hpa
        .replace("{name: web, namespace", "{name: other, namespace")
        .replace("apiVersion: apps/v1,", "apiVersion: apps/v1beta2,");
    let workload = web_deployment("replicas: 2", "{requests: {cpu: 100m}}");
    let depth = "  - {type: External, external: {metric: {name: depth}, target: {type: Value, value: '10'}}}\n";
    let state = "---\napiVersion: kubectl-hpa/v1alpha1\nkind: ControllerState\nnow: 2026-11-21T06:00:00Z\nerrors: \
                 [{api: external, metric: depth, message: timeout}]\n";
    let values = "---\napiVersion: external.metrics.k8s.io/v1beta1\nkind: ExternalMetricValueList\nitems: \
                  [{metricName: depth, value: '5', timestamp: 2026-11-21T06:00:00Z}]\n";
    for text in [
        format!("{hpa}---\n{older}---\n{workload}"),
        format!("{}{values}{state}", hpa_with(depth)),
    ] {
        let findings = [("-", first), (first, second)].map(|(file, saved)| {
            let args = ["explain", "-n", "shop", "-f", file, "--save", saved];
            let args = args.into_iter().chain(["-o", "json"]);
            let list = run(program().args(args).write_stdin(&*text)).stdout;
            let list: Value = serde_json::from_str(&list).expect("JSON");
            let items = list["items"].as_array().expect("items");
            Vec::from_iter(items.iter().map(|item| item["findings"].clone()))
        });
        assert_eq!(findings[0], findings[1], "{text}");
        let has_manifest = text.contains("replicas: 2");
        let found = findings[1][0].to_string().contains("other-writer");
        assert_eq!(found, has_manifest, "{findings:?}");
        let [first, second] = paths
            .each_ref()
            .map(|it| std::fs::read_to_string(it).expect("a file"));
        assert_eq!(first, second, "{text}");
    }
}

/// The pods of a target that states no replicas count once `--replicas` does, also from what is saved. Before that,
/// nothing about them can be assumed.
#[test]
fn pods_of_a_target_without_replicas_count_once_they_are_typed() {
    let pod = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: web-1, namespace: shop, labels: {app: web}}\nspec: {containers: \
               [{name: app, resources: {requests: {cpu: 100m}}}]}\nstatus: {phase: Running, startTime: \
               '2026-11-21T05:00:00Z', conditions: [{type: Ready, status: 'True', lastTransitionTime: \
               '2026-11-21T05:00:20Z'}]}\n---\napiVersion: metrics.k8s.io/v1beta1\nkind: PodMetrics\nmetadata: {name: \
               web-1, namespace: shop, labels: {app: web}}\ntimestamp: '2026-11-21T06:00:00Z'\nwindow: 15s\ncontainers: \
               [{name: app, usage: {cpu: 90m}}]\n";
    let workload = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec: {selector: \
                    {matchLabels: {app: web}}}\n";
    let rate = "  - {type: Pods, pods: {metric: {name: rps}, target: {type: AverageValue, averageValue: '10'}}}\n";
    let value = "---\napiVersion: custom.metrics.k8s.io/v1beta2\nkind: MetricValueList\nitems: [{describedObject: {kind: Pod, \
                 namespace: shop, name: web-1}, metric: {name: rps}, value: '25'}]\n";
    let text = hpa_with(rate) + workload + pod + value;
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("saved.json");
    let saved = path.to_str().expect("a path");
    let predict = |file: &str, flags: &[&str]| {
        let args = ["predict", "web", "-n", "shop", "-f", file];
        run(program().args(args).args(flags).write_stdin(&*text))
    };
    let typed = ["--replicas", "1", "--cpu", "95m"];
    for (file, flags) in [("-", &["--save", saved][..]), (saved, &[])] {
        let shown = predict(file, &[&typed, flags].concat()).stdout;
        let assumed = "assuming replicas 1\nassuming cpu 95m → 95% (observed 90%)\n";
        assert!(shown.starts_with(assumed), "{shown}");
        assert!(shown.contains("SCALE UP 1 → 3"), "{shown}");
        let observed = "OBSERVED  UNKNOWN: THE INPUT HAS NO REPLICAS";
        assert!(shown.contains(observed), "{shown}");
    }
    for flags in [["--replicas", "+1"], ["--cpu", "95m"], ["--unready", "1"]] {
        let error = predict("-", &flags).stderr;
        let unknown = "error: the replicas of Deployment/web are unknown";
        assert!(error.starts_with(unknown), "{error}");
    }
}

/// A list of metric values was requested for one metric, and says nothing about another. An empty one may be the answer
/// for any.
#[test]
fn a_list_of_values_answers_only_for_their_metrics() {
    let objects = &web_deployment("replicas: 3", "{requests: {cpu: 100m}}");
    let external = "  - {type: External, external: {metric: {name: depth}, target: {type: AverageValue, averageValue: '10'}}}\n";
    let custom = "  - {type: Object, object: {metric: {name: depth}, describedObject: {kind: Service, name: web}, \
                  target: {type: AverageValue, averageValue: '10'}}}\n";
    let of_pods = "  - {type: Pods, pods: {metric: {name: depth}, target: {type: AverageValue, averageValue: '10'}}}\n";
    let list = |kind: &str, items: &str| {
        format!("---\napiVersion: {kind}\nmetadata: {{}}\nitems: [{items}]\n")
    };
    let of_external = "external.metrics.k8s.io/v1beta1\nkind: ExternalMetricValueList";
    let of_custom = "custom.metrics.k8s.io/v1beta2\nkind: MetricValueList";
    let other_value = "{metricName: hits, metricLabels: {}, value: '3'}";
    let other_object = "{describedObject: {kind: Service, namespace: shop, name: web}, metric: {name: hits}, value: '3'}";
    for (metric, list, code) in [
        (external, String::new(), 4),
        (external, list(of_external, other_value), 4),
        (
            external,
            list(of_external, &other_value.replace("hits", "depth")),
            0,
        ),
        (external, list(of_external, ""), 0),
        (custom, list(of_custom, other_object), 4),
        (
            custom,
            list(
                of_custom,
                &other_object.replace("web", "api").replace("hits", "depth"),
            ),
            4,
        ),
        (
            custom,
            list(of_custom, &other_object.replace("hits", "depth")),
            0,
        ),
        (custom, list(of_custom, ""), 0),
        (
            of_pods,
            list(of_custom, &other_object.replace("hits", "depth")),
            4,
        ),
    ] {
        let text = hpa_with(metric) + objects + &list;
        let (found, answer) = expect_few("-", &text, &[]);
        assert_eq!(found, Some(code), "{list}: {answer}");
    }
}

/// A metrics API need not repeat the labels or the selector that it was asked for.
#[test]
fn a_value_without_labels_is_of_the_only_metric_of_its_name() {
    let metric = |queue: &str| {
        format!(
            "  - {{type: External, external: {{metric: {{name: depth, selector: {{matchLabels: {{queue: {queue}}}}}}}, \
             target: {{type: AverageValue, averageValue: '30'}}}}}}\n"
        )
    };
    let value = |labels: &str| {
        format!(
            "---\napiVersion: external.metrics.k8s.io/v1beta1\nkind: ExternalMetricValueList\nmetadata: {{}}\n\
             items: [{{metricName: depth, metricLabels: {labels}, value: '180'}}]\n"
        )
    };
    let objects = &web_deployment("replicas: 3", "{requests: {cpu: 100m}}");
    let unclear = "the input has no unambiguous ExternalMetricValueList for depth{queue=a}";
    for (metrics, labels, want) in [
        (metric("a"), "null", "depth proposes 6 replicas"),
        (metric("a"), "{}", "depth proposes 6 replicas"),
        (metric("a"), "{queue: a}", "depth proposes 6 replicas"),
        // The query of an adapter may aggregate the labels.
        (
            metric("a"),
            "{namespace: shop}",
            "depth proposes 6 replicas",
        ),
        (
            metric("a"),
            "{queue: b}",
            "the input has no ExternalMetricValueList for depth",
        ),
        (metric("a") + &metric("b"), "null", unclear),
        (metric("a") + &metric("b"), "{namespace: shop}", unclear),
        (
            metric("a") + &metric("b"),
            "{queue: a}",
            "depth{queue=a} proposes 6 replicas",
        ),
    ] {
        let text = hpa_with(&metrics) + objects + &value(labels);
        let args = ["predict", "web", "-n", "shop", "-f", "-", "--cpu", "50%"];
        let shown = run(program().args(args).write_stdin(text)).stdout;
        assert!(shown.contains(want), "{labels}: {shown}");
    }
    // If there is a value of another request, one that lacks the label may be of that, too.
    let text = hpa_with(&metric("a")) + objects + &value("{queue: b}") + &value("{region: us}");
    let args = ["predict", "web", "-n", "shop", "-f", "-", "--cpu", "50%"];
    let shown = run(program().args(args).write_stdin(text)).stdout;
    let want = "the input has no ExternalMetricValueList for depth";
    assert!(shown.contains(want), "{shown}");
    // An empty list answers.
    let empty = "---\napiVersion: external.metrics.k8s.io/v1beta1\nkind: ExternalMetricValueList\nitems: []\n";
    let text = hpa_with(&metric("a")) + objects + &value("{queue: b}") + empty;
    let args = ["predict", "web", "-n", "shop", "-f", "-", "--cpu", "50%"];
    let shown = run(program().args(args).write_stdin(text)).stdout;
    let want = "there is no value for depth from the external metrics API";
    assert!(shown.contains(want), "{shown}");
    // A candidate with another selector leaves the HPA its own value.
    let state = Path::new(env!("CARGO_TARGET_TMPDIR")).join("value-without-labels.yaml");
    let text = hpa_with(&metric("a")) + objects + &value("null");
    std::fs::write(&state, text).expect("a file");
    let candidate = hpa_with(&metric("b"));
    let args = [
        "predict", "web", "-n", "shop", "--hpa", "-", "--for", "1m", "-f",
    ];
    let shown = run(program().args(args).arg(&state).write_stdin(candidate)).stdout;
    let mut lines = shown
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    assert!(
        lines.any(|words| words == ["mean", "6.0", "3.0"]),
        "{shown}"
    );
    // No list states its namespace, and the last one of an answer counts.
    let jobs = metric("a").replace("depth", "jobs");
    let of_a = value("{queue: a}");
    let bare = metric("a").replace("{matchLabels: {queue: a}}", "null");
    let of_env = |labels: &str| metric("a").replace("queue: a", labels);
    let of_both = value("{queue: a, env: b}");
    let refused = metric("a").replace(", averageValue: '30'", "");
    let six = "depth proposes 6 replicas";
    for (elsewhere, values, want) in [
        (&jobs, value("null"), six),
        (&metric("b"), value("null"), unclear),
        (&metric("b"), of_a.clone(), six),
        (&metric("a"), of_a.clone(), unclear),
        (&of_env("queue: a, env: b"), of_a.clone(), six),
        (&of_env("queue: a, env: b"), of_both.clone(), unclear),
        (&of_env("env: b"), of_both.clone(), unclear),
        (&of_env("env: c"), of_both.clone(), six),
        // No API server accepts it.
        (&refused, of_a.clone(), six),
        (&bare, of_a.clone(), unclear),
        (&jobs, of_a.replace("180", "90") + &of_a, six),
        (
            &jobs,
            of_a.clone() + &of_a.replace("180", "270"),
            "depth proposes 9 replicas",
        ),
    ] {
        let other = hpa_with(elsewhere).replace("namespace: shop", "namespace: yard");
        let text = hpa_with(&metric("a")) + objects + "---\n" + &other + &values;
        let args = ["predict", "web", "-n", "shop", "-f", "-", "--cpu", "50%"];
        let shown = run(program().args(args).write_stdin(text)).stdout;
        assert!(shown.contains(want), "{elsewhere}{values}: {shown}");
    }
    let custom = |source: &str, verb: &str| {
        let selector = format!("{{matchLabels: {{verb: {verb}}}}}");
        format!(
            "  - {{type: {source}metric: {{name: depth, selector: {selector}}}, \
             target: {{type: AverageValue, averageValue: '30'}}}}}}\n"
        )
    };
    let object = |name: &str| {
        format!("Object, object: {{describedObject: {{kind: Service, name: {name}}}, ")
    };
    let (web, api, of_pods) = (object("web"), object("api"), "Pods, pods: {");
    let value = |described: &str, selector: &str| {
        format!(
            "---\napiVersion: custom.metrics.k8s.io/v1beta2\nkind: MetricValueList\nitems: [{{describedObject: \
             {{kind: {described}, namespace: shop}}, metric: {{name: depth, selector: {selector}}}, value: '180'}}]\n"
        )
    };
    let pod = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: web-1, namespace: shop, labels: {app: web}}\n\
               status: {phase: Running, startTime: '2026-11-21T05:00:00Z', conditions: [{type: Ready, status: \
               'True', lastTransitionTime: '2026-11-21T05:00:20Z'}]}\n";
    let of_get = "{matchLabels: {verb: get}}";
    let of_put = "{matchLabels: {verb: put}}";
    let (service, web_1) = ("Service, name: web", "Pod, name: web-1");
    let [six, no_value, unclear] = [
        "proposes 6 replicas",
        "the input has no MetricValueList for depth",
        "the input has no unambiguous MetricValueList for depth",
    ];
    let get = custom(&web, "get");
    let get_of_pods = custom(of_pods, "get");
    for (metrics, value, want) in [
        (get.clone(), value(service, "null"), six),
        (get.clone(), value(service, "{}"), six),
        (get.clone(), value(service, of_get), six),
        (
            get.replace(
                of_get,
                "{matchExpressions: [{key: verb, operator: In, values: [put, get]}]}",
            ),
            value(
                service,
                "{matchExpressions: [{key: verb, operator: In, values: [get, put]}]}",
            ),
            six,
        ),
        (get.clone(), value(service, of_put), no_value),
        (
            get.clone() + &custom(&api, "put"),
            value(service, "null"),
            six,
        ),
        (
            get.clone() + &custom(&web, "put"),
            value(service, "null"),
            unclear,
        ),
        (
            get.clone() + &get.replace(of_get, "null"),
            value(service, "null"),
            six,
        ),
        (
            get.clone() + &get.replace(of_get, "null"),
            value(service, "null").repeat(2),
            unclear,
        ),
        (
            get.clone() + &custom(&web, "put"),
            value(service, of_get),
            six,
        ),
        (get_of_pods.clone(), value(web_1, "null"), "depth proposes"),
        (get_of_pods.clone(), value(web_1, of_put), no_value),
        (
            get_of_pods + &custom(of_pods, "put"),
            value(web_1, "null"),
            unclear,
        ),
    ] {
        let text = hpa_with(&metrics) + objects + pod + &value;
        let args = ["explain", "web", "-n", "shop", "-f", "-"];
        let shown = run(program().args(args).write_stdin(text));
        let all = shown.stdout + &shown.stderr;
        assert!(all.contains(want), "{value}: {all}");
    }
}

/// A request that is missing fails the metric whatever the pods use.
#[test]
fn a_percentage_without_requests_is_a_decision() {
    let text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: \
                {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec: {containers: [{name: \
                app, image: a, resources: {requests: {cpu: 100m}}}, {name: log, image: b}]}\n";
    let answer = |value: &str| {
        let flags = ["--hpa", "-", "--cpu", value, "-o", "json"];
        let ran = predict("web", &flags, text);
        let shown = ran.shown();
        assert!(!shown.contains("a percentage cannot be used"), "{shown}");
        let answer = ran.answer();
        (
            answer["outcome"].clone(),
            answer["findings"][0]["code"].clone(),
        )
    };
    let expected = answer("x2");
    assert_eq!(expected.1, "missing-request");
    assert_eq!(answer("80%"), expected);
}

/// Discovery has a kind in small letters, too.
#[test]
fn a_kind_may_be_in_small_letters() {
    let text = rendered("unchanged.yaml");
    let small = text.replace("kind: Deployment, name: web", "kind: deployment, name: web");
    assert_ne!(small, text);
    let stdout = predict("web", &["--hpa", "-"], &small).text();
    assert!(stdout.contains("shop/web → deployment/web"), "{stdout}");
}

/// What is said of manifests alone.
#[test]
fn manifests_alone() {
    let hpa = |spec: &str| hpa("web", spec);
    let (deployment, of) = (TARGET, |kind: &str| TARGET.replace("Deployment", kind));
    let cpu = "type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 10}}";
    let rps = "metric: {name: rps}, target: {type: AverageValue, averageValue: '10'}";
    let service = "describedObject: {apiVersion: v1, kind: Service, name: col}";
    let two = format!(
        "{{{deployment}, maxReplicas: 10, metrics: [{{type: Pods, pods: {{{rps}}}}}, {{type: Object, object: \
         {{{service}, {rps}}}}}]}}"
    );
    let tolerant = format!(
        "{{{deployment}, maxReplicas: 5, behavior: {{scaleUp: {{tolerance: '20'}}}}, metrics: [{{{cpu}}}]}}"
    );
    let repeated =
        format!("{{{deployment}, maxReplicas: 5, maxReplicas: 2, metrics: [{{{cpu}}}]}}");
    let old = format!(
        "{{{deployment}, maxReplicas: 5, metrics: [{{type: Resource, resource: {{name: cpu, \
         targetAverageUtilization: 50}}}}]}}"
    );
    let alone = || {
        hpa(&format!(
            "{{{deployment}, maxReplicas: 5, metrics: [{{{cpu}}}]}}"
        ))
    };
    let scaled_object = "---\napiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: so}\nspec: {scaleTargetRef: {name: web}}\n";
    let other = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: other}\nspec: {replicas: 3}\n".to_owned();
    let mismatched = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: webb}}, spec: {containers: [{name: app, image: web}]}}}\nstatus: {replicas: 3}\n";
    let no_selector =
        "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 3}\n";
    for (verb, manifest, flags, expected) in [
        // The tolerance ends at 21 times the target.
        (
            "predict",
            hpa(&tolerant),
            &["--replicas=3", "--cpu=15%"][..],
            "above 210%  adds replicas",
        ),
        // What the labels say can be typed.
        (
            "predict",
            hpa(&two),
            &[
                "--replicas=3",
                "--metric=rps=12",
                "--metric=rps on Service/col=60",
            ],
            "assuming rps on Service/col 60",
        ),
        (
            "explain",
            hpa(&two),
            &[],
            "--metric rps=10 --metric 'rps on Service/col=10'",
        ),
        // The last one of equal keys counts, and the suggested replicas are inside the bounds.
        (
            "explain",
            hpa(&repeated),
            &[],
            "standard input repeats spec.maxReplicas (line 4): the last one counts",
        ),
        (
            "explain",
            hpa(&repeated),
            &[],
            "--replicas 2 --cpu 80%` assumes the pods",
        ),
        (
            "explain",
            hpa(&old),
            &[],
            "and ignores what it does not know: unknown field \"spec.metrics[0].resource.targetAverageUtilization\"",
        ),
        (
            "explain",
            hpa(&format!("{{{deployment}, maxReplicas: 5}}")) + no_selector,
            &[],
            "error: Deployment/web: spec.selector: Required value",
        ),
        (
            "predict",
            hpa(&format!("{{{deployment}, minReplicas: 9, maxReplicas: 5}}")),
            &["--replicas=3", "--cpu=80%"],
            "would reject this manifest with these causes; minReplicas is 9",
        ),
        // What kubectl rejects can be dropped instead.
        (
            "predict",
            hpa(&format!(
                "{{{deployment}, maxReplicas: 5, behaviour: {{}}}}"
            )),
            &["--replicas=3", "--cpu=80%"],
            "error: standard input: unknown field \"spec.behaviour\", did you mean \"spec.behavior\"?",
        ),
        (
            "predict",
            hpa(&format!(
                "{{{deployment}, maxReplicas: 5, behaviour: {{}}}}"
            )),
            &["--replicas=3", "--cpu=80%", "--validate=warn"],
            "standard input: ignored: unknown field \"spec.behaviour\", did you mean \"spec.behavior\"?",
        ),
        (
            "predict",
            hpa(&format!("{{{deployment}, maxReplicas: 5}}")).replace("/v2", "/v2beta2"),
            &["--replicas=3", "--cpu=80%", "--kubernetes-version=v1.26"],
            "hint: write it in autoscaling/v2, or state its rules with --kubernetes-version v1.25",
        ),
        (
            "predict",
            hpa(&format!("{{{deployment}, maxReplicas: 5}}")).replace("/v2", "/v2beta2"),
            &["--replicas=3", "--cpu=80%", "--kubernetes-version=v1.25"],
            "STAYS AT 3",
        ),
        (
            "explain",
            hpa(&format!("{{{deployment}, maxReplicas: 5}}")).replace("/v2", "/v2beta1"),
            &["--kubernetes-version=v1.25"],
            "no API server of these rules serves a HorizontalPodAutoscaler in autoscaling/v2beta1",
        ),
        // No resource is found by the plural of a kind.
        (
            "explain",
            hpa(&format!("{{{}, maxReplicas: 5}}", of("Deployments"))),
            &[],
            "no matches for kind \"Deployments\" in group \"apps\"",
        ),
        (
            "predict",
            hpa(&format!("{{{}, maxReplicas: 5}}", of("DaemonSet"))),
            &["--replicas=3", "--cpu=80%"],
            "error: the kind DaemonSet has no scale: DaemonSet/web cannot be scaled",
        ),
        (
            "predict",
            hpa(&format!("{{{deployment}, maxReplicas: 5}}"))
                + &no_selector.replace("replicas: 3", "selector: {matchLabels: {app: web}}"),
            &["--cpu=80%"],
            "hint: state them with --replicas\n",
        ),
        // The same is unknown to a report: 1 would be below the minimum.
        (
            "explain",
            hpa(&format!("{{{deployment}, minReplicas: 2, maxReplicas: 5}}"))
                + &no_selector.replace("replicas: 3", "selector: {matchLabels: {app: web}}"),
            &[],
            "UNKNOWN: THE INPUT HAS NO REPLICAS\n  Deployment/web states no replicas in the input",
        ),
        // The input has the pods.
        (
            "predict",
            hpa(&format!("{{{deployment}, minReplicas: 2, maxReplicas: 5}}"))
                + &no_selector.replace("replicas: 3", "selector: {matchLabels: {app: web}}")
                + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: web-1, labels: {app: web}}\n\
                   status: {phase: Running}\n",
            &["--max=8"],
            "hint: `kubectl-hpa predict web -n default -f - --replicas 1 --max 8` assumes the replicas\n",
        ),
        // A workload that is not the target may be meant.
        (
            "predict",
            alone() + &other,
            &["--replicas=3", "--cpu=80%"],
            "Deployment/other is not the target, Deployment/web, and not used: correct scaleTargetRef, if it is meant",
        ),
        (
            "predict",
            alone() + &other,
            &["--cpu=80%"],
            "or add the manifest of the target with another -f; correct scaleTargetRef, if Deployment/other is meant",
        ),
        // One that another HPA scales is not.
        (
            "predict",
            alone() + &other + "---\n" + &alone().replace("name: web", "name: other"),
            &["--cpu=80%"],
            "or add the manifest of the target with another -f\n",
        ),
        (
            "explain",
            alone() + "---\n" + &alone().replacen("name: web", "name: web2", 1),
            &[],
            "HPA web2 scales the same target: since Kubernetes 1.26",
        ),
        (
            "explain",
            alone() + scaled_object,
            &[],
            "ScaledObject so scales the same target: since Kubernetes 1.26",
        ),
        (
            "explain",
            alone().replace("kind: Deployment", "kind: deployment") + scaled_object,
            &[],
            "ScaledObject so scales the same target: since Kubernetes 1.26",
        ),
        // What an explanation suggests can be pasted, whatever it reads with a note.
        (
            "explain",
            alone().replace("/v2", "/v2beta2"),
            &[],
            "--replicas 3 --cpu 80% --validate=warn` assumes the pods",
        ),
        (
            "explain",
            alone() + mismatched,
            &[],
            "taken as accepted by an API server, because it has a status, in spite of this: standard input: \
             Deployment/web: spec.template.metadata.labels: Invalid value: {\"app\":\"webb\"}",
        ),
    ] {
        let args = [&[verb, "web", "-f", "-"], flags].concat();
        let shown = run(program().args(args).write_stdin(&*manifest)).shown();
        assert!(
            shown.contains(expected),
            "{verb} {flags:?}\n{manifest}\n{shown}"
        );
    }
}

/// What is stated of whole pods is stated of their new containers, too.
#[test]
fn the_usage_of_a_new_container_is_asked_for_where_it_matters() {
    for (flags, is_asked) in [
        (&[][..], true),
        (&["--cpu=80%"], false),
        (&["--cpu=app=80%"], true),
    ] {
        let flags = [&["--hpa=sidecar.yaml"], flags].concat();
        let Ran { stdout, stderr, .. } = predict("web", &flags, "");
        let said = "--cpu proxy=VALUE states it";
        assert_eq!(
            stdout.contains(said),
            is_asked,
            "{flags:?} {stdout}{stderr}"
        );
    }
    for (trace, is_asked) in [
        ("time,cpu\n0s,60%\n10m,60%\n", false),
        ("time,cpu\n1m,missing\n", false),
    ] {
        let flags = ["--hpa=sidecar.yaml", "--for=10m", "--trace=-"];
        let Ran { stdout, stderr, .. } = predict("web", &flags, trace);
        assert_eq!(
            stdout.contains("runs proxy yet"),
            is_asked,
            "{stdout}{stderr}"
        );
    }
}

/// The targets of two HPAs may differ in their group alone, and a note names its file once.
#[test]
fn what_two_texts_have_in_common_is_said_once() {
    let manifest = |group: &str, more: &str| {
        let target = TARGET.replace("apps/v1", group);
        hpa("web", &format!("{{maxReplicas: 5, {more}{target}}}"))
    };
    let stderr = predict("web", &["--hpa=-"], &manifest("extensions/v1beta1", "")).stderr;
    let said = "it scales Deployment.extensions/web, but the HPA scales Deployment.apps/web";
    assert!(stderr.contains(said), "{stderr}");
    let stdout = predict(
        "web",
        &["--hpa=-"],
        &manifest("apps/v1", "maxReplicas: 6, "),
    )
    .stdout;
    assert!(
        stdout.contains("\n  standard input repeats spec.maxReplicas"),
        "{stdout}"
    );
}

/// A share in a trace is one of the running requests: a candidate with half of them has the same load, and
/// twice the utilization.
#[test]
fn all_candidates_have_the_load_of_the_running_pods() {
    let directory = tempfile::tempdir().expect("a directory");
    let trace = directory.path().join("load.csv");
    std::fs::write(&trace, "time,cpu\n0s,60%\n10m,60%\n").expect("a file");
    let trace = trace.to_str().expect("a path in UTF-8");
    let run = |flags: &[&str]| {
        let flags = [&["--trace", trace, "-o", "json", "--passes"], flags].concat();
        let stdout = predict("web", &flags, "").text();
        serde_json::from_str::<Value>(&stdout).expect("JSON")
    };
    let cpu = |answer: &Value| {
        answer["outcome"]["status"]["currentMetrics"][0]["resource"]["current"].clone()
    };
    let half = json!({"averageUtilization": 120, "averageValue": "60m"});
    assert_eq!(cpu(&run(&["--hpa", "deployment.yaml"])), half);
    assert_eq!(
        cpu(&run(&[])),
        json!({"averageUtilization": 60, "averageValue": "60m"})
    );
    // Each candidate has its own template, and the same one twice has two names.
    let several = ["deployment.yaml", "workload-only.yaml", "deployment.yaml"];
    let flags: Vec<&str> = several.iter().flat_map(|file| ["--hpa", file]).collect();
    let stdout = predict("web", &[&flags[..], &["--trace", trace]].concat(), "").text();
    for line in [
        "deployment.yaml: maxReplicas 20 (observed 10), target of cpu 80% (observed 60%), cpu \
         request of app 50m (observed 100m)",
        "workload-only.yaml: cpu request of app 60m (observed 100m)",
        "deployment.yaml (2): maxReplicas 20",
    ] {
        assert!(stdout.contains(line), "{line}:\n{stdout}");
    }
}

/// The usage of all containers of a trace adds up to the usage of their pods: the replicas are the same at every pass.
#[test]
fn the_usage_of_containers_may_change_over_time() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let state = state();
    let of_memory = "{name: memory, target: {type: AverageValue, averageValue: 300Mi}}";
    let of_cpu = "{name: cpu, target: {type: Utilization, averageUtilization: 50}}";
    std::fs::write(path("state.yaml"), state.replace(of_memory, of_cpu)).expect("a file");
    let run = |flags: &[&str]| {
        let ran = run(program()
            .args([
                "predict",
                "db",
                "-n",
                "shop",
                "-o",
                "json",
                "-f",
                &path("state.yaml"),
            ])
            .args(flags));
        serde_json::from_str::<Value>(&ran.stdout).map_err(|_| ran.stderr)
    };
    let played = |trace: &str| {
        std::fs::write(path("load.csv"), trace).expect("a file");
        run(&["--trace", &path("load.csv")])
    };
    let parts = played(
        "time,postgres=cpu,exporter=cpu\n0s,600m,15m\n2m,x2,x2\n4m,1500m,\n6m,missing,\n8m,300m,0\n",
    )
    .expect("a run");
    let whole = played("time,cpu\n0s,615m\n2m,x2\n4m,1530m\n6m,missing\n8m,300m\n").expect("a run");
    let passes = |answer: &Value| {
        ["replicas", "proposals", "readyPods"].map(|list| answer["timeline"][list].clone())
    };
    assert!(
        passes(&whole)[1]
            .as_array()
            .is_some_and(|all| all.len() > 30)
    );
    assert_eq!(passes(&parts), passes(&whole));
    for (trace, message) in [
        (
            "time,cpu,exporter=cpu\n0s,1,1\n5m,1,1\n",
            "column 2 and column 3 are based on the same usage: set only one",
        ),
        (
            "time,exportr=cpu\n0s,1\n5m,1\n",
            "column 2: no pod of the target has such a container\n\
             hint: did you mean exporter?",
        ),
    ] {
        let error = played(trace).expect_err("an error");
        assert!(error.contains(message), "{error}");
    }
    // The curve of a container: beyond the highest tolerated value, the answer is another one.
    let answer = run(&["--curve=exporter=cpu"]).expect("an answer");
    let of_container = &answer["thresholds"][1];
    assert_eq!(of_container["metric"], "cpu in exporter");
    assert!(
        of_container["curve"]["steps"]
            .as_array()
            .is_some_and(|steps| steps.len() > 2)
    );
    let most = of_container["tolerance"]["to"]
        .as_i64()
        .expect("a percentage");
    for (percent, scales) in [(most, Value::Null), (most + 1, json!(4))] {
        let answer = run(&[&format!("--cpu=exporter={percent}%")]).expect("an answer");
        assert_eq!(answer["outcome"]["scaleTo"], scales, "{percent}%");
    }
    let error = run(&["--curve=exportr=cpu"]).expect_err("an error");
    assert!(error.contains("--curve exportr=cpu: no pod of the target has a container exportr"));
}

/// What a new container uses counts from the pods on that have it, whenever they come, and not in the replay.
#[test]
fn a_container_that_only_the_candidate_has() {
    for flags in [
        &["--for=20m"][..],
        &["--for=20m", "--at=2m"],
        &["--for=20m", "--vary=max=10"],
    ] {
        let flags = [
            &["--hpa=sidecar.yaml", "--cpu=proxy=200m", "-o", "json"],
            flags,
        ]
        .concat();
        let answer = predict("web", &flags, "").answer();
        let runs = &answer["backtest"];
        assert_eq!(
            runs["replay"]["totals"]["highest"]["replicas"], 4,
            "{flags:?}"
        );
        let other = runs["candidates"][0]["totals"]["highest"]["replicas"].clone();
        let found = runs["search"]["settings"][0]["totals"]["highest"]["replicas"].clone();
        assert!([other, found].contains(&json!(10)), "{flags:?}: {runs}");
    }
    let text = rendered("unchanged.yaml").replace("name: app,", "name: api,");
    let stdout = predict("web", &["--hpa", "-"], &text).text();
    assert!(
        stdout.contains("State the usage of the new container: --cpu api=VALUE."),
        "{stdout}"
    );
    assert!(!stdout.contains("metrics-server"), "{stdout}");
}

/// A trace may be about a container that only the candidate has: it counts from the pods on that have it. A percentage
/// is one of its request.
#[test]
fn a_trace_may_be_about_a_container_that_only_the_candidate_has() {
    let directory = tempfile::tempdir().expect("a directory");
    let load = directory.path().join("load.csv").display().to_string();
    let run = |trace: &str, flags: &[&str]| -> Value {
        std::fs::write(&load, trace).expect("a file");
        let flags = [&["--hpa=sidecar.yaml", "--for=20m", "-o=json"], flags].concat();
        let flags = if trace.is_empty() {
            flags
        } else {
            [&flags[..], &["--trace", &load]].concat()
        };
        let stdout = predict("web", &flags, "").text();
        serde_json::from_str::<Value>(&stdout).expect("JSON")["backtest"].clone()
    };
    let totals = |runs: &Value| runs["candidates"][0]["totals"].clone();
    for at in [&[][..], &["--at=2m"], &["--at=7m"]] {
        let typed = totals(&run("", &[&["--cpu=proxy=200m"], at].concat()));
        assert_eq!(typed["highest"]["replicas"], 10, "{at:?}: {typed}");
        // Of 4 pods.
        for first in ["0s,800m\n", "0s,400%\n"] {
            let runs = run(&format!("time,proxy=cpu\n{first}20m,\n"), at);
            assert_eq!(totals(&runs), typed, "{at:?} {first}");
            assert_eq!(runs["replay"]["totals"]["highest"]["replicas"], 4, "{at:?}");
        }
        // What is stated before there are such pods is known of them.
        let runs = run("time,proxy=cpu\n1m,800m\n20m,\n", at);
        assert_eq!(totals(&runs)["highest"]["replicas"], 10, "{at:?}: {runs}");
    }
    // So may the value of one pod, unless a rollout takes the pod away.
    let of_pod = "--pod=web-5d8-0:proxy=cpu=800m";
    let runs = run("", &[of_pod]);
    assert_eq!(totals(&runs)["highest"]["replicas"], 10, "{runs}");
    assert_eq!(runs["replay"]["totals"]["highest"]["replicas"], 4);
    let flags = ["--hpa=sidecar.yaml", "--for=20m", "--at=2m", of_pod];
    assert_eq!(predict("web", &flags, "").code, Some(2));
    // What the trace says is not missing.
    std::fs::write(&load, "time,proxy=cpu\n0s,800m\n20m,\n").expect("a file");
    for (trace, is_unknown) in [(&["--trace", &*load][..], false), (&[], true)] {
        for at in [&[][..], &["--at=2m"]] {
            let flags = [&["--hpa=sidecar.yaml", "--for=20m"], trace, at].concat();
            let stdout = predict("web", &flags, "").stdout;
            assert_eq!(
                stdout.contains("no pod runs proxy yet"),
                is_unknown,
                "{stdout}"
            );
        }
    }
    // While its usage is missing, pods that have it count as missing; those of the replay do not have it.
    let runs = run("time,proxy=cpu\n0s,200m\n5m,missing\n10m,200m\n", &[]);
    assert_eq!(totals(&runs)["unanswered"], 300.0, "{runs}");
    assert_eq!(runs["replay"]["totals"]["unanswered"], 0.0, "{runs}");
    std::fs::write(&load, "time,prxy=cpu\n0s,200m\n").expect("a file");
    let flags = ["--hpa=sidecar.yaml", "--for=20m", "--trace", &load];
    let no_container = "no pod of the target has such a container";
    predict("web", &flags, "").fails(2, &[no_container]);
}

/// A template may leave out a request because something else sets it, or because it is forgotten. Which one is
/// known only together with the running template.
#[test]
fn a_request_that_a_template_lacks_is_kept_or_goes_and_that_is_said() {
    let state = state();
    let template = "  template:\n    metadata: {labels: {app: web, version: \"1.4\"}}\n    spec: \
                    {containers: [{name: app, resources: {requests: {cpu: 100m, memory: 128Mi}}}]}\n";
    assert!(state.contains(template));
    let note = "the running template is unknown, so what the pods have in addition is kept as if it \
                were injected: the cpu request of app";
    let directory = tempfile::tempdir().expect("a directory");
    let [file, manifest] = ["state.yaml", "web.yaml"].map(|name| directory.path().join(name));
    let lacks = &web_deployment("", "{requests: {memory: 128Mi}}");
    std::fs::write(&manifest, lacks).expect("a file");
    for (state, is_kept) in [(state.clone(), false), (state.replace(template, ""), true)] {
        std::fs::write(&file, state).expect("a file");
        let found = run(program()
            .args(["predict", "web", "-n", "shop", "-o", "json", "-f"])
            .arg(&file)
            .arg("--hpa")
            .arg(&manifest))
        .json();
        let notes = found["notes"].as_array().expect("a list");
        let is_noted = notes
            .iter()
            .any(|it| it.as_str().is_some_and(|it| it.ends_with(note)));
        assert_eq!(is_noted, is_kept, "{found}");
        let codes: Vec<&Value> = found["findings"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|it| &it["code"])
            .collect();
        assert_eq!(
            codes.contains(&&json!("missing-request")),
            !is_kept,
            "{found}"
        );
    }
    // A limit goes with the template that stated it.
    let own = "{requests: {cpu: 100m, memory: 128Mi}";
    let limited = state.replace(own, &format!("{own}, limits: {{cpu: 200m}}"));
    std::fs::write(&file, limited).expect("a file");
    run(program()
        .args(["predict", "web", "-n", "shop", "-o", "json", "-f"])
        .arg(&file)
        .args(["--request", "app=cpu=400m", "--hpa"])
        .arg(&manifest))
    .answer();
}

/// Findings about what only the candidate has say what is to be stated, and no command changes the running HPA.
#[test]
fn findings_about_what_only_the_candidate_has() {
    let workload = std::fs::read_to_string(format!("{CHARTS}/rendered/sidecar.yaml"));
    let workload = workload.expect("a file");
    let (workload, _) = workload.split_once("---").expect("an HPA");
    let metrics = |container: &str| {
        format!(
            "{{type: ContainerResource, containerResource: {{name: cpu, container: {container}, target: \
             {{type: Utilization, averageUtilization: 80}}}}}}, \
             {{type: Resource, resource: {{name: cpu, target: {{type: Utilization, averageUtilization: 90}}}}}}"
        )
    };
    let queue = "{type: External, external: {metric: {name: queue}, target: {type: AverageValue, averageValue: 30}}}, ";
    for (metrics, exit, expected) in [
        (
            metrics("proxy"),
            0,
            "blocked-by-failed-metric: cpu in proxy fails, so the 4 replicas stay, although cpu proposes 2
             Follow the advice of container-metrics-missing.
             container-metrics-missing: no pod runs proxy yet, so cpu in proxy blocks scaling down
             State the usage of the new container: --cpu proxy=VALUE.",
        ),
        // Its value was not asked for.
        (
            queue.to_owned() + &metrics("app"),
            2,
            "The input has no ExternalMetricValueList for queue
             hint: state what is missing, such as --metric queue=30; `",
        ),
    ] {
        let text = format!("{}---\n{workload}", web_hpa(&metrics));
        let ran = predict("web", &["--hpa", "-", "-o", "wide"], &text);
        let shown = ran.shown();
        assert_eq!(ran.code, Some(exit), "{shown}");
        for line in expected.lines().map(str::trim) {
            assert!(shown.contains(line), "{line}\n{shown}");
        }
        for command in ["kubectl patch", "kubectl logs"] {
            assert!(!shown.contains(command), "{shown}");
        }
    }
}

/// A container that moves to another list is measured as long as it keeps running.
#[test]
fn a_container_that_moves_is_measured_where_it_keeps_running() {
    let spec = |list: &str, restarts: bool| {
        let always = restarts.then_some("Always");
        let own = build::with(
            build::requesting("side", "100m"),
            &json!({"image": "a", "restartPolicy": always}),
        );
        let app = build::with(build::requesting("app", "100m"), &json!({"image": "a"}));
        let mut spec = json!({"containers": [app], "initContainers": []});
        spec[list].as_array_mut().expect("a list").push(own);
        spec
    };
    let regular = ("containers", false, true);
    let sidecar = ("initContainers", true, true);
    let starting = ("initContainers", false, false);
    // Of 100m or 200m, each pod uses 50m, and 90m in the container.
    for (from, to, replicas, is_asked) in [
        (regular, sidecar, 3, false),
        (sidecar, regular, 3, false),
        (regular, starting, 2, false),
        (sidecar, starting, 2, false),
        (starting, regular, 1, true),
        (starting, sidecar, 1, true),
    ] {
        let (list, restarts, is_measured) = from;
        let usage = json!([
            {"name": "app", "usage": {"cpu": "50m"}},
            {"name": "side", "usage": {"cpu": "90m"}},
        ]);
        let running = &usage.as_array().expect("a list")[..1 + usize::from(is_measured)];
        let pods = ["web-0", "web-1"].into_iter().flat_map(|name| {
            let pod = build::with(build::pod(name), &json!({"spec": spec(list, restarts)}));
            let metrics = build::pod_metrics(name, "50m");
            [pod, build::with(metrics, &json!({"containers": running}))]
        });
        let cpu = build::resource("cpu", &build::utilization(50));
        let hpa = build::hpa(&json!({"metrics": [cpu]}));
        let objects = [hpa, build::scale(2), build::state(&json!({}))];
        let directory = tempfile::tempdir().expect("a directory");
        let state = directory.path().join("state.json");
        std::fs::write(&state, build::list(objects.into_iter().chain(pods))).expect("a file");
        let (list, restarts, _) = to;
        let template =
            json!({"metadata": {"labels": {"app": "web"}}, "spec": spec(list, restarts)});
        let answer = run(program()
            .args(["predict", "web", "--hpa=-", "-o=json", "-f"])
            .arg(&state)
            .write_stdin(deployment(&template).to_string()))
        .answer();
        let notes = answer["notes"].to_string();
        assert_eq!(
            (
                answer["proposal"].as_i64(),
                notes.contains("no pod runs side yet")
            ),
            (Some(replicas), is_asked),
            "{from:?} {to:?}: {notes}"
        );
    }
}

/// A request of 0 counts as none, and a container without one is another matter.
#[test]
fn requests_of_zero_are_told_from_none() {
    let text = rendered("sidecar.yaml");
    // In a run, nothing else says why it has no answer.
    let lacking = text.replace("resources: {requests: {cpu: 50m}}", "stdin: true");
    let stdout = predict("web", &["--hpa", "-", "--for", "10m"], &lacking).stdout;
    assert!(
        stdout.contains("missing-request: the target of cpu is a percentage of the request"),
        "{stdout}"
    );
    let zero = text.replace("{cpu: 100m, memory: 128Mi}", "{cpu: 0}");
    let none = "restartPolicy: Always, resources: {requests: {cpu: 50m}}";
    for (text, expected) in [
        (
            zero.replace("{cpu: 50m}", "{cpu: 0}"),
            "2 containers in 4 pods have a request of 0, so nothing is scaled",
        ),
        (
            text.replace(none, "restartPolicy: Always"),
            "container proxy in 4 pods has none, so",
        ),
        (
            zero.replace(none, "restartPolicy: Always"),
            "2 containers in 4 pods have none or a request of 0, so nothing is scaled",
        ),
    ] {
        let stdout = predict("web", &["--hpa", "-"], &text).text();
        assert!(stdout.contains(expected), "{stdout}");
    }
}

/// What a template states of the pod as a whole is defaulted as the API server does it, and its huge requests
/// are compared with what was observed.
#[test]
fn a_template_may_request_as_a_whole() {
    let text = |container: &str, whole: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  selector: \
             {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    spec:\n      \
             containers: [{{name: app, image: web, resources: {container}}}]\n      resources: {whole}\n"
        )
    };
    let overrides = |container: &str, whole: &str| {
        let flags = ["--hpa", "-", "-o", "json"];
        let answer = predict("web", &flags, &text(container, whole)).answer();
        let all = answer["overrides"].as_array().cloned().unwrap_or_default();
        let of_pods = all.into_iter().filter(|own| {
            own["item"]
                .as_str()
                .is_some_and(|item| item.ends_with(" of the pods"))
        });
        let words = of_pods.map(|own| format!("{} {}", own["item"], own["assumed"]));
        words.collect::<Vec<_>>().join(", ").replace('"', "")
    };
    let limits = "{limits: {cpu: 250m}}";
    let cpu = "cpu request of the pods 250m";
    let memory = "memory request of the pods";
    assert_eq!(overrides("{}", limits), cpu);
    assert_eq!(
        overrides("{requests: {memory: 1Gi}}", limits),
        format!("{memory} 1Gi, {cpu}")
    );
    assert_eq!(
        overrides("{requests: {cpu: 100m}}", limits),
        "cpu request of the pods 100m"
    );
    assert_eq!(
        overrides("{}", "{requests: {cpu: 200m}, limits: {cpu: 250m}}"),
        "cpu request of the pods 200m"
    );
}

/// A note on a huge request compares it with the observed one, even with a template, and asks for a unit only where the
/// manifest has none.
#[test]
fn huge_requests_of_a_template_are_compared_with_the_observed_ones() {
    let said = |cpu: &str, flags: &[&str]| {
        let text = web_deployment("", &format!("{{requests: {{cpu: {cpu}}}}}"));
        let flags = [&["--hpa", "-", "-o", "json"], flags].concat();
        let answer = predict("web", &flags, &text).answer();
        let notes = answer["notes"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        notes
            .filter(|note| note.contains(" is assumed to be "))
            .collect::<Vec<_>>()
            .join(", ")
    };
    // 100m are observed.
    assert_eq!(said("1m", &["--request=app=cpu=200m"]), "");
    assert_eq!(said("200m", &["--request=app=cpu=9"]), "");
    let of_flag = said("1", &["--request=app=cpu=20"]);
    assert!(
        of_flag.contains("20, 200 times the observed 100m"),
        "{of_flag}"
    );
    assert!(of_flag.contains("thousandths of a core"), "{of_flag}");
    for bare in ["200", "'200'"] {
        assert!(
            said(bare, &[]).ends_with("; 200 thousandths of a core would be 200m"),
            "{bare}"
        );
    }
    for with_unit in ["512Mi", "2k"] {
        let said = said(with_unit, &[]);
        assert!(
            said.contains(" times the observed 100m") && !said.contains("thousandths"),
            "{said}"
        );
    }
}

/// Findings about pods that are rolled out later are those of these pods.
#[test]
fn findings_are_of_the_pods_after_a_rollout() {
    let text = rendered("sidecar.yaml");
    let lacking = text.replace("resources: {requests: {cpu: 50m}}", "stdin: true");
    let run = |text: &str, flags: &[&str]| {
        predict("web", &[&["--hpa", "-", "--for=5m"], flags].concat(), text)
    };
    for at in [&[][..], &["--at=1m"]] {
        let Ran {
            code,
            stdout,
            stderr,
        } = run(&lacking, &[&["--fail-on=missing-request"], at].concat());
        assert_eq!(code, Some(3), "{at:?}: {stderr}{stdout}");
        assert!(
            stdout.contains("missing-request: the target of cpu is a percentage of the request"),
            "{stdout}"
        );
    }
    // To ignore a finding of the first pass leaves the later ones.
    let both = "--fail-on=missing-request,at-max";
    let high = ["--max=4", "--target=cpu=20%", "--at=1m"];
    for (ignored, found) in [
        (&[both][..], &["at-max", "missing-request"][..]),
        (
            &["--ignore=at-max", "--fail-on=missing-request"],
            &["missing-request"],
        ),
        (
            &["--ignore=missing-request", "--fail-on=at-max"],
            &["at-max"],
        ),
        (&["--ignore=missing-request,at-max"], &[]),
    ] {
        let Ran {
            code,
            stdout,
            stderr,
        } = run(&lacking, &[&high[..], &["-o=json"], ignored].concat());
        assert_eq!(
            code,
            Some(if found.is_empty() { 0 } else { 3 }),
            "{ignored:?}: {stderr}"
        );
        let answer: Value = serde_json::from_str(&stdout).expect("JSON");
        let codes = answer["findings"].as_array().into_iter().flatten();
        let mut codes: Vec<_> = codes.filter_map(|it| it["code"].as_str()).collect();
        codes.retain(|code| both.contains(code));
        codes.sort_unstable();
        assert_eq!(codes, found, "{ignored:?}");
    }
    // What a container lacks is not found in the first pass, but in the pods that are rolled out.
    let stdout = run(&lacking, &[&high[..], &[both]].concat()).stdout;
    let of_first = |code: &str| {
        let mut lines = stdout
            .lines()
            .filter(|line| line.contains(&format!("no finding {code}")));
        lines
            .next()
            .expect("an expectation")
            .contains("in the first pass")
    };
    assert_eq!(
        [of_first("missing-request"), of_first("at-max")],
        [false, true],
        "{stdout}"
    );
    // The first pass corrects the replicas and looks at no metric, of the pods as they are or are to be.
    let Ran { code, stdout, .. } = run(&lacking, &["--max=2", "--fail-on=missing-request"]);
    assert_eq!(code, Some(3), "{stdout}");
    let code = run(
        &lacking,
        &["--max=2", "--fail-on=missing-request", "--at=1m"],
    )
    .code;
    assert_eq!(code, Some(3));
    let (workload, _) = text.split_once("---").expect("an HPA");
    let proxy = "{type: ContainerResource, containerResource: {name: cpu, container: proxy, target: {type: \
                 Utilization, averageUtilization: 80}}}";
    let of_proxy = format!("{workload}---\n{}", web_hpa(proxy));
    // The template has the container, and pods have it after the rollout.
    let fails = "--fail-on=container-metrics-missing";
    let flags = ["--cpu=proxy=40m", fails, "--at=1m"];
    let stdout = run(&of_proxy, &flags).text();
    assert!(!stdout.contains("container-metrics-missing:"), "{stdout}");
    // Without a rollout in the run, the running pods and their template are those that count.
    let unknown = "--fail-on=unknown-container";
    let Ran { code, stdout, .. } = run(&of_proxy, &["--cpu=proxy=40m", unknown, "--at=30m"]);
    assert_eq!(code, Some(3), "{stdout}");
}

/// What is true of one candidate alone has its name, also of the first.
#[test]
fn notes_and_findings_of_several_candidates_are_told_apart() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = rendered("sidecar.yaml");
    let lacking = text.replace("resources: {requests: {cpu: 50m}}", "stdin: true");
    let paused = lacking.replace("  selector:", "  paused: true\n  selector:");
    assert!(paused != lacking && lacking != text);
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).expect("a file");
        format!("--hpa={}", path.display())
    };
    let [one, other, third] = [
        write("one.yaml", &paused),
        write("other.yaml", &text),
        write("third.yaml", &lacking),
    ];
    let run = |flags: &[&str]| {
        let stdout = predict("web", &[&["--for=5m"], flags].concat(), "").text();
        stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let finding = "missing-request: the target of cpu is a percentage of the request";
    let named = |name: &str| {
        format!("missing-request: {name}: the target of cpu is a percentage of the request")
    };
    let said = run(&[&one, &third]);
    assert!(said.contains(finding), "{said}");
    let said = run(&[&one, &other, &third]);
    assert!(!said.contains(finding), "{said}");
    assert!(
        said.contains(&named("one.yaml")) && said.contains(&named("third.yaml")),
        "{said}"
    );
    let said = run(&[&one, &other, "--at=1m"]);
    let note = "one.yaml: Deployment/web is paused";
    assert_eq!(
        said.matches("Deployment/web is paused").count(),
        1,
        "{said}"
    );
    assert!(said.contains(note), "{said}");
}

/// A note says how the pods come to be replaced, by the manifest or else by the running workload.
#[test]
fn how_pods_are_replaced_is_said() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("state.yaml").display().to_string();
    let state = state();
    let manifest = |own: &str| web_deployment(own, "{requests: {cpu: 200m}}");
    let rolling =
        "a rollout of Deployment/web has to replace the pods first; the new ones are assumed";
    let paused = "Deployment/web is paused and replaces no pods (spec.paused): the answer holds once it is \
                  resumed and all pods are replaced; the new ones are assumed";
    for (name, running, own, expected) in [
        ("web", "", "", rolling),
        (
            "web",
            "",
            "strategy: {rollingUpdate: {maxSurge: 1}}",
            rolling,
        ),
        ("web", "paused: true", "", paused),
        ("web", "paused: true", "replicas: 4", paused),
        ("web", "", "paused: true", paused),
        ("web", "paused: true", "paused: false", rolling),
        (
            "web",
            "",
            "strategy: {type: Recreate}",
            "a rollout of Deployment/web has to replace the pods first, and removes all of them before it \
             creates new ones (spec.strategy.type: Recreate); the new ones",
        ),
        (
            "db",
            "updateStrategy: {rollingUpdate: {partition: 0}}",
            "",
            "a rollout of StatefulSet/db has to",
        ),
        (
            "db",
            "updateStrategy: {type: OnDelete}",
            "",
            "StatefulSet/db replaces only pods that are deleted (spec.updateStrategy.type: OnDelete): the \
             answer holds once all of them are; the new ones",
        ),
        (
            "db",
            "updateStrategy: {rollingUpdate: {partition: 2}}",
            "",
            "StatefulSet/db leaves the pods below partition 2 as they are \
             (spec.updateStrategy.rollingUpdate.partition): the answer holds once all others are replaced; the new \
             ones",
        ),
    ] {
        let before = format!("metadata: {{name: {name}, namespace: shop, uid: {name}}}\nspec:\n");
        assert!(state.contains(&before), "{name}");
        let after = format!("{before}  {running}\n");
        std::fs::write(&path, state.replace(&before, &after)).expect("a file");
        let mut command = program();
        command.args(["predict", name, "-n", "shop", "-f", &path]);
        match own {
            "" if name == "db" => command.arg("--request=postgres=cpu=x2"),
            "" => command.arg("--request=cpu=200m"),
            own => command.args(["--hpa", "-"]).write_stdin(manifest(own)),
        };
        let stdout = run(&mut command).stdout;
        assert!(
            stdout.contains(&format!("\n  {expected}")),
            "{running} {own}: {stdout}"
        );
    }
    // A Rollout may leave its template to a Deployment.
    let (apps, argo) = (
        "apps/v1, kind: Deployment, name: web}",
        "argoproj.io/v1alpha1, kind: Rollout, name: web}",
    );
    let of = |api_version: &str, kind: &str| {
        format!("apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: web")
    };
    let before = of("apps/v1", "Deployment");
    assert!(state.contains(apps) && state.contains(&before));
    let state = state
        .replace(apps, argo)
        .replace(&before, &of("argoproj.io/v1alpha1", "Rollout"));
    std::fs::write(&path, state).expect("a file");
    let referring = of("argoproj.io/v1alpha1", "Rollout")
        + "}\nspec: {workloadRef: {kind: Deployment, name: t}}\n";
    let stdout = run(program()
        .args(["predict", "web", "-n", "shop", "-f", &path, "--hpa", "-"])
        .write_stdin(referring))
    .stdout;
    let said =
        "Rollout/web has the template of Deployment/t (spec.workloadRef), which is not among the";
    assert!(stdout.contains(said), "{stdout}");
}

/// A StatefulSet may replace several pods at once, by the controllers that heed its limit.
#[test]
fn what_a_rollout_does_not_play_is_said() {
    let state = state();
    let (before, limit) = (
        "uid: db}\nspec:\n",
        "updateStrategy: {rollingUpdate: {maxUnavailable: ",
    );
    assert!(state.contains(before));
    let said = "the rollout is simulated one pod at a time: maxUnavailable (";
    for (version, stated, of) in [
        ("1.34", "3", None),
        ("1.35", "3", Some("3")),
        ("1.36", "3", None),
        ("1.37", "3", Some("3")),
        ("1.38", "40%", Some("40%")),
        // Of five pods at most, that is one.
        ("1.37", "39%", None),
        ("1.37", "1", None),
    ] {
        let stated = format!("{before}  {limit}{stated}}}}}\n");
        let mut command = program();
        command.args([
            "predict",
            "db",
            "-n",
            "shop",
            "-f",
            "-",
            "--for=10m",
            "--at=1m",
        ]);
        command.args([
            "--request=postgres=cpu=x2",
            "--kubernetes-version",
            version,
            "-o",
            "json",
        ]);
        let stdout = run(command.write_stdin(state.replace(before, &stated))).stdout;
        let note = of.map(|of| format!("{said}{of}) of StatefulSet/db is ignored"));
        assert_eq!(
            stdout.contains(said),
            note.is_some(),
            "{version} {stated}: {stdout}"
        );
        assert!(
            stdout.contains(&note.unwrap_or_default()),
            "{version} {stated}: {stdout}"
        );
    }
}

/// A Rollout has its scale in itself, and its template perhaps in a Deployment.
#[test]
fn a_rollout_is_a_target() {
    let before =
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop, uid: web}\n";
    let state = state();
    let target = "apiVersion: apps/v1, kind: Deployment, name: web}";
    let pods = "  selector: {matchLabels: {app: web}}\n  template:";
    let status = "status: {replicas: 4, updatedReplicas: 4}";
    assert!(
        [before, target, pods, status]
            .iter()
            .all(|text| state.contains(text))
    );
    let rollout = before
        .replace("apps/v1", "argoproj.io/v1alpha1")
        .replace("Deployment", "Rollout");
    let state = state.replace(
        target,
        "apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web}",
    );
    let referring = format!(
        "{rollout}spec:\n  replicas: 4\n  workloadRef: {{apiVersion: apps/v1, kind: Deployment, name: \
         web}}\n{status}\n---\n{before}spec:\n  replicas: 0\n{pods}"
    );
    let run = |state: &str, flags: &[&str]| {
        run(program()
            .args(["predict", "web", "-n", "shop", "-f", "-", "-o", "json"])
            .args(flags)
            .write_stdin(state))
        .json()
    };
    let own = "status: {replicas: 6, HPAReplicas: 4, selector: app=web, observedGeneration: '7'}";
    let active =
        "status: {replicas: 6, HPAReplicas: 5, selector: 'app=web,rollouts-pod-template-hash=x'}";
    let referring_state =
        state.replace(&format!("{before}spec:\n  replicas: 4\n{pods}"), &referring);
    assert!(referring_state.contains("workloadRef"));
    let state = state.replace(before, &rollout);
    for (state, replicas, selector, pods) in [
        (state.replace(status, own), 4, "app=web", Some(4)),
        // Pods of a new version that are not yet active do not count.
        (
            state.replace(status, active),
            5,
            "app=web,rollouts-pod-template-hash=x",
            None,
        ),
        (
            state.replace(status, "status: {observedGeneration: '7'}"),
            0,
            "",
            None,
        ),
        // A manifest.
        (state.replace(status, ""), 4, "app=web", Some(4)),
        (referring_state.replace(status, ""), 4, "app=web", Some(4)),
    ] {
        let answer = run(&state, &[]);
        let scale = &answer["trace"][0];
        let found = (&scale["statusReplicas"], &scale["selector"]);
        assert_eq!(found, (&json!(replicas), &json!(selector)), "{scale:#}");
        if let Some(pods) = pods {
            assert_eq!(answer["outcome"]["status"]["currentReplicas"], pods);
            assert_eq!(answer["outcome"]["error"], Value::Null, "{answer:#}");
        }
    }
    // The template of the pods is what a request differs from, and what a manifest changes.
    let own = referring_state.replace(status, own);
    let manifest = |of: &str| {
        format!(
            "{rollout}spec:\n  workloadRef: {{apiVersion: apps/v1, kind: Deployment, name: {of}}}\n---\n\
             {before}spec:\n{pods}\n    metadata: {{labels: {{app: web}}}}\n    spec: {{containers: \
             [{{name: app, image: a, resources: {{requests: {{cpu: 50m}}}}}}]}}\n"
        )
    };
    let directory = tempfile::tempdir().expect("a directory");
    for (of, note) in [("web", false), ("other", true)] {
        let path = directory.path().join("rollout.yaml");
        std::fs::write(&path, manifest(of)).expect("a file");
        let answer = run(&own, &[&format!("--hpa={}", path.display())]);
        let overrides = answer["overrides"].to_string();
        assert_eq!(
            overrides.contains("\"assumed\":\"50m\""),
            !note,
            "{overrides}"
        );
        if !note {
            assert!(
                !answer["notes"].to_string().contains("ignored"),
                "{:#}",
                answer["notes"]
            );
            for (strategy, said) in [
                (
                    "canary: {steps: [{setWeight: 20}, {pause: {}}]}",
                    "has to replace the pods first by spec.strategy.canary, which is not simulated, and it \
                     pauses until it is promoted, first at step 2 of spec.strategy.canary, with old",
                ),
                (
                    "canary: {steps: [{setWeight: 20}, {pause: {duration: 1m}}]}",
                    "has to replace the pods first by spec.strategy.canary, which is not simulated; the new",
                ),
                (
                    "blueGreen: {activeService: web}",
                    "has to replace the pods first by spec.strategy.blueGreen, which is not simulated; the new",
                ),
            ] {
                let strategy = format!("spec:\n  strategy: {{{strategy}}}\n  workloadRef");
                let text = manifest(of).replace("spec:\n  workloadRef", &strategy);
                std::fs::write(&path, text).expect("a file");
                for more in [&[][..], &["--for=2m"]] {
                    let hpa = format!("--hpa={}", path.display());
                    let answer = run(&own, &[&[&*hpa], more].concat());
                    assert!(
                        answer["notes"].to_string().contains(said),
                        "{:#}",
                        answer["notes"]
                    );
                }
            }
        }
        let said =
            "(spec.workloadRef), which is not among the manifests: its pods stay as they are";
        assert_eq!(
            answer["notes"].to_string().contains(said),
            note,
            "{:#}",
            answer["notes"]
        );
    }
}

/// A rollout of a template, and one in each run of a search.
#[test]
fn a_template_may_be_rolled_out_later() {
    let flags = [
        "--hpa=workload-only.yaml",
        "--for=10m",
        "--at=2m",
        "-o",
        "json",
    ];
    let answer = predict("web", &flags, "").answer();
    let of = |item: &str| {
        let all = answer["overrides"].as_array().into_iter().flatten();
        all.clone()
            .find(|own| own["item"] == item)
            .map(|own| own["result"].clone())
    };
    let result = of("rollout").expect("a rollout").to_string();
    assert!(result.contains("4 pods, done after 2m"), "{result}");
    let flags = [&flags[..], &["--vary=max=5,10"]].concat();
    let stdout = predict("web", &flags, "").text();
    let answer: Value = serde_json::from_str(&stdout).expect("JSON");
    let highest = |place: usize| {
        answer["backtest"]["search"]["settings"][place]["totals"]["highest"]["replicas"].clone()
    };
    assert_eq!([highest(0), highest(1)], [json!(5), json!(7)], "{stdout}");
}

/// The step of the workflow for GitHub that tests a chart, with the example as what helm renders.
#[test]
#[cfg(unix)]
fn the_workflow_tests_a_chart() {
    use std::os::unix::fs::PermissionsExt;

    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/ci/github.md")).expect("a file");
    let step = page
        .split("The chart handles the peak")
        .nth(1)
        .expect("the step");
    let step = step.split("```").next().expect("its end");
    let script = step
        .split_once("run: |\n")
        .expect("a script")
        .1
        .replace("\\\n", " ");
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    std::fs::create_dir(at("ci")).expect("a directory");
    std::fs::copy(
        root.join("examples/backtest/state.yaml"),
        at("ci/peak.json"),
    )
    .expect("a copy");
    std::fs::write(at("helm"), "#!/bin/sh\ncat rendered.yaml\n").expect("a file");
    std::fs::set_permissions(at("helm"), PermissionsExt::from_mode(0o755)).expect("a mode");
    let rendered = std::fs::read_to_string(root.join("examples/chart/rendered.yaml"));
    let rendered = rendered.expect("a file");
    let program = assert_cmd::cargo::cargo_bin!("kubectl-hpa")
        .display()
        .to_string();
    let script = script
        .replace("helm ", "./helm ")
        .replace("kubectl-hpa", &program);
    for (text, code, said) in [
        (rendered.replace("  replicas: 3\n", ""), 0, ""),
        (rendered.clone(), 3, "other-writer"),
        (
            rendered.replace("maxReplicas: 30", "maxReplicas: 6"),
            3,
            "maxed",
        ),
    ] {
        std::fs::write(at("rendered.yaml"), text).expect("a file");
        let Ran {
            code: found,
            stderr,
            ..
        } = run(Command::new("sh")
            .args(["-euc", &script])
            .current_dir(directory.path())
            .env_remove("GITHUB_STEP_SUMMARY"));
        assert_eq!(found, Some(code), "{stderr}");
        assert!(stderr.contains(said), "{stderr}");
    }
}

/// A change to the pods, as a chart makes it to their template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Edit {
    Nothing,
    Twice,
    NoRequest,
    Container,
    Sidecar,
    Removal,
    Label,
}

const EDITS: [Edit; 7] = [
    Edit::Nothing,
    Edit::Twice,
    Edit::NoRequest,
    Edit::Container,
    Edit::Sidecar,
    Edit::Removal,
    Edit::Label,
];

impl Edit {
    /// Changes a pod or a template; returns whether it has what is changed.
    fn make(self, pod: &mut Value) -> bool {
        let own = json!({"name": "added", "image": "added", "resources": {"requests": {"cpu": "70m", "memory": "64Mi"}}});
        let spec = &mut pod["spec"];
        match self {
            Self::Nothing => true,
            Self::Twice => {
                let mut any = false;
                for list in ["containers", "initContainers"] {
                    for container in spec[list].as_array_mut().into_iter().flatten() {
                        let requests = container["resources"]["requests"].as_object_mut();
                        for request in requests.into_iter().flatten().map(|(_, own)| own) {
                            let text = request
                                .as_str()
                                .map_or_else(|| request.to_string(), str::to_owned);
                            let milli = Quantity::parse(&text).expect("a quantity").milli_value();
                            *request = json!(format!("{}m", i128::from(milli) * 2));
                            any = true;
                        }
                    }
                }
                any
            }
            Self::NoRequest => {
                let requests = spec["containers"][0]["resources"]["requests"].as_object_mut();
                requests.is_some_and(|requests| requests.remove("cpu").is_some())
            }
            Self::Container => {
                spec["containers"]
                    .as_array_mut()
                    .expect("containers")
                    .push(own);
                true
            }
            Self::Sidecar => {
                if spec["initContainers"].is_null() {
                    spec["initContainers"] = json!([]);
                }
                let mut own = own;
                own["restartPolicy"] = json!("Always");
                spec["initContainers"]
                    .as_array_mut()
                    .expect("a list")
                    .push(own);
                true
            }
            Self::Removal => {
                let containers = spec["containers"].as_array_mut().expect("containers");
                containers.len() > 1 && containers.pop().is_some()
            }
            Self::Label => {
                pod["metadata"]["labels"]["added"] = json!("yes");
                true
            }
        }
    }
}

/// Returns the Deployment `web`, as a manifest or, with its pods, as part of an input.
fn deployment(template: &Value) -> Value {
    let mut template = template.clone();
    for list in ["containers", "initContainers"] {
        for container in template["spec"][list].as_array_mut().into_iter().flatten() {
            container["image"] = json!("registry/web");
        }
    }
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template},
    })
}

/// Reads an input, or a part of it.
fn read(items: &[Value]) -> Input {
    common::read(&build::list_of("v1", "List", items)).expect("an input")
}

/// Returns what a candidate of these documents assumes.
fn assuming(documents: &[Value]) -> Assumptions {
    let text = build::list_of("v1", "List", documents);
    let candidate = common::candidate(&text, "web.yaml", Validate::Strict);
    common::assuming(candidate.expect("a candidate"))
}

/// The recorded passes with all pods created from one template: the answer with another template as
/// candidate equals the answer for pods created from that one.
#[test]
fn a_template_gives_the_answer_of_pods_that_are_made_of_it() {
    let mut applied = EDITS.map(|edit| (edit, 0, 0));
    let mut wrong = Vec::new();
    for (number, (case, _)) in recorded::inputs().iter().enumerate().step_by(2) {
        let input: Value = serde_json::from_str(case.input.get()).expect("JSON");
        let mut items = input["items"].as_array().expect("a list").clone();
        let is = |item: &Value, kind: &str| item["kind"] == kind;
        let of_target = |item: &Value| item["metadata"]["labels"]["app"] == "web";
        // No rollout replaces a pod that has ended.
        let has_ended = |item: &Value| {
            let phase = item["status"]["phase"].as_str();
            phase.is_some_and(|phase| ["Failed", "Succeeded"].contains(&phase))
        };
        let is_replaced = |item: &Value| is(item, "Pod") && of_target(item) && !has_ended(item);
        let hpas = items
            .iter()
            .filter(|it| is(it, "HorizontalPodAutoscaler"))
            .count();
        let has_scale = items.iter().any(|it| is(it, "Scale"));
        let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
        let of_deployment = items
            .iter()
            .any(|it| it["spec"]["scaleTargetRef"] == target);
        let first = items
            .iter()
            .find(|it| is(it, "Pod") && of_target(it))
            .cloned();
        let is_meant = hpas == 1 && has_scale && of_deployment;
        let Some(first) = first.filter(|_| is_meant) else {
            continue;
        };
        for pod in items.iter_mut().filter(|it| is(it, "Pod") && of_target(it)) {
            pod["spec"] = first["spec"].clone();
            pod["metadata"]["labels"] = first["metadata"]["labels"].clone();
        }
        let names = items.iter().filter(|it| is_replaced(it));
        let names: Vec<Value> = names.map(|it| it["metadata"]["name"].clone()).collect();
        let template = json!({
            "metadata": {"labels": first["metadata"]["labels"]}, "spec": first["spec"],
        });
        let input = read(&[&items[..], &[deployment(&template)]].concat());
        let before = decide(&input);
        for (edit, count, others) in applied.iter_mut().skip(number % 3).step_by(3) {
            let mut edited = template.clone();
            if !edit.make(&mut edited) {
                continue;
            }
            let mut expected = [&items[..], &[deployment(&edited)]].concat();
            for item in &mut expected {
                if is_replaced(item) {
                    edit.make(item);
                }
                let is_measured =
                    is(item, "PodMetrics") && names.contains(&item["metadata"]["name"]);
                if is_measured && *edit == Edit::Removal {
                    let gone = template["spec"]["containers"]
                        .as_array()
                        .and_then(|all| all.last());
                    let gone = gone.expect("a container")["name"].clone();
                    let containers = item["containers"].as_array_mut().expect("containers");
                    containers.retain(|own| own["name"] != gone);
                }
            }
            let expected = read(&expected);
            let assumed = assuming(&[deployment(&edited)]).apply(input.clone(), &before);
            // Some of the pods request less as a whole than their containers, which no template may.
            let is_refused = |e: &Error| {
                let causes = ["aggregate container requests of", "pod limits of"];
                causes.iter().any(|cause| e.message.contains(cause))
            };
            let assumed = match assumed {
                Err(e) if is_refused(&e) => continue,
                assumed => assumed.expect("an answer").0,
            };
            let is_rollout = |note: &Note| matches!(note.subject, Subject::RolloutFirst { .. });
            let (found, wanted) = (decide(&assumed), decide(&expected));
            let selector = input
                .snapshot
                .scale
                .as_ref()
                .ok()
                .map(|scale| scale.selector.clone());
            let is_selected = |labels| {
                selector
                    .as_ref()
                    .is_some_and(|it| !it.as_str().is_empty() && it.matches(labels))
            };
            let has_pods = input.snapshot.pods.iter().any(|pod| {
                is_selected(&pod.labels) && !matches!(pod.phase, Phase::Failed | Phase::Succeeded)
            });
            let is_due = *edit != Edit::Nothing && has_pods;
            let says_so = assumed.notes.iter().any(is_rollout) == is_due;
            if found.outcome != wanted.outcome || found.proposal != wanted.proposal || !says_so {
                let (found, wanted) = (json!(found.outcome), json!(wanted.outcome));
                wrong.push(format!("{} {edit:?}: {found}, not {wanted}", case.name));
            }
            *count += 1;
            *others += usize::from(found.outcome != before.outcome);
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(5)].join("\n")
    );
    for (edit, count, others) in applied {
        let is_other = others > 0 || matches!(edit, Edit::Nothing | Edit::Label);
        assert!(
            count > 20 && is_other,
            "{edit:?}: {count} passes, {others} of them changed"
        );
        assert!(
            edit != Edit::Nothing || others == 0,
            "the same template changed {others} passes"
        );
    }
}

/// A rollout replaces the pods that it replaces, whichever template they were made of, and leaves what something else
/// has set. Each pod uses 300m of cpu, of a target of 60 %.
#[test]
fn each_pod_becomes_what_the_rollout_makes_of_it() {
    let container = |name: &str, cpu: &str| json!({"name": name, "image": name, "resources": {"requests": {"cpu": cpu}}});
    let template = |containers: &[Value]| json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}});
    let of = |cpu: &str| vec![container("app", cpu)];
    let owner = |kind: &str, name: &str| json!([{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": name, "controller": true}]);
    let workload = |kind: &str, containers: &[Value], more: &Value| {
        let spec = json!({
            "selector": {"matchLabels": {"app": "web"}}, "template": template(containers),
        });
        let own = json!({
            "apiVersion": "apps/v1", "kind": kind,
            "metadata": {"name": "web", "namespace": "default"}, "spec": spec,
        });
        build::with(own, more)
    };
    let set = |hash: &str, revision: &str| {
        json!({
                "apiVersion": "apps/v1", "kind": "ReplicaSet",
                "metadata": {
                    "name": format!("web-{hash}"), "namespace": "default", "uid": format!("web-{hash}"),
                    "labels": {"app": "web", "pod-template-hash": hash},
                    "annotations": {"deployment.kubernetes.io/revision": revision},
                    "ownerReferences": owner("Deployment", "web"),
                },
        })
    };
    let partition =
        |first: i32| json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": first}}}});
    let state = json!({"status": {"replicas": 5, "updatedReplicas": 2, "updateRevision": "new"}});
    let half = build::with(partition(3), &state);
    let whole = json!({"status": {"replicas": 5, "updatedReplicas": 5, "updateRevision": "new"}});
    let (none, proxy) = (
        json!({}),
        [container("app", "500m"), container("proxy", "100m")],
    );
    type Pods = Vec<(i32, &'static str, Vec<Value>)>;
    let from_2 = json!({"spec": {"ordinals": {"start": 2}}});
    let cases: [(&str, &str, Pods, Value, Value, i32); 14] = [
        // 1500m of 2000m is 75 %.
        (
            "partition",
            "StatefulSet",
            vec![(5, "new", of("500m"))],
            workload("StatefulSet", &of("500m"), &whole),
            workload("StatefulSet", &of("250m"), &partition(3)),
            7,
        ),
        (
            "partition, from the third ordinal",
            "StatefulSet",
            vec![(5, "new", of("500m"))],
            workload(
                "StatefulSet",
                &of("500m"),
                &build::with(whole.clone(), &from_2),
            ),
            workload("StatefulSet", &of("250m"), &partition(3)),
            7,
        ),
        // The running object has named the pods.
        (
            "partition of a manifest with another start",
            "StatefulSet",
            vec![(5, "new", of("500m"))],
            workload("StatefulSet", &of("500m"), &whole),
            workload(
                "StatefulSet",
                &of("250m"),
                &build::with(partition(3), &from_2),
            ),
            7,
        ),
        // 1500m of 1500m is 100 %: only the third one is there of those that it leaves.
        (
            "partition, without the first two pods",
            "StatefulSet",
            vec![(5, "new", of("500m"))],
            workload("StatefulSet", &of("500m"), &whole),
            workload("StatefulSet", &of("250m"), &partition(3)),
            9,
        ),
        (
            "no pod",
            "StatefulSet",
            vec![(5, "new", of("500m"))],
            workload("StatefulSet", &of("500m"), &whole),
            workload("StatefulSet", &of("250m"), &partition(9)),
            5,
        ),
        (
            "a lower partition",
            "StatefulSet",
            vec![(3, "old", of("500m")), (2, "new", of("250m"))],
            workload("StatefulSet", &of("250m"), &half),
            workload("StatefulSet", &of("250m"), &partition(0)),
            10,
        ),
        // 1500m of 1750m is 85 %: 1.4167 × 5.
        (
            "a partition below",
            "StatefulSet",
            vec![(3, "old", of("500m")), (2, "new", of("250m"))],
            workload("StatefulSet", &of("250m"), &half),
            workload("StatefulSet", &of("250m"), &partition(2)),
            8,
        ),
        (
            "on delete",
            "StatefulSet",
            vec![(5, "new", of("500m"))],
            workload("StatefulSet", &of("500m"), &whole),
            workload(
                "StatefulSet",
                &of("250m"),
                &json!({"spec": {"updateStrategy": {"type": "OnDelete"}}}),
            ),
            10,
        ),
        (
            "halfway",
            "Deployment",
            vec![(3, "old", of("500m")), (1, "new", of("250m"))],
            workload("Deployment", &of("250m"), &none),
            workload("Deployment", &of("250m"), &none),
            8,
        ),
        // 1200m of 1000m is 120 %.
        (
            "halfway, with unknown revisions",
            "Deployment",
            vec![(3, "first", of("500m")), (1, "second", of("250m"))],
            workload("Deployment", &of("250m"), &none),
            workload("Deployment", &of("250m"), &none),
            8,
        ),
        // The controller also asks for the requests of pods that have ended.
        (
            "ended",
            "Deployment",
            vec![
                (2, "new", of("500m")),
                (1, "ended", vec![json!({"name": "app", "image": "app"})]),
            ],
            workload("Deployment", &of("500m"), &none),
            workload("Deployment", &of("250m"), &none),
            0,
        ),
        // 1200m of 3200m is 37 %.
        (
            "set elsewhere",
            "Deployment",
            vec![(4, "new", of("800m"))],
            workload("Deployment", &of("500m"), &none),
            workload("Deployment", &of("250m"), &none),
            3,
        ),
        // 1200m of 1800m is 66 %, within the tolerance, and of 1400m 85 %.
        (
            "stated from now on",
            "Deployment",
            vec![(4, "new", proxy.to_vec())],
            workload("Deployment", &of("500m"), &none),
            workload(
                "Deployment",
                &[container("app", "250m"), container("proxy", "200m")],
                &none,
            ),
            4,
        ),
        (
            "injected",
            "Deployment",
            vec![(4, "new", proxy.to_vec())],
            workload("Deployment", &of("500m"), &none),
            workload("Deployment", &of("250m"), &none),
            6,
        ),
    ];
    for (about, kind, groups, running, manifest, expected) in cases {
        let target = json!({"apiVersion": "apps/v1", "kind": kind, "name": "web"});
        let metrics = [build::resource("cpu", &build::utilization(60))];
        let hpa = build::hpa(&json!({"scaleTargetRef": target, "metrics": metrics}));
        let mut items = vec![hpa, build::state(&json!({})), running];
        let mut count = 0;
        let first = if about.starts_with("partition, ") {
            2
        } else {
            0
        };
        for (pods, revision, containers) in &groups {
            for _ in 0..*pods {
                let name = format!("web-{}", first + count);
                let (label, owner) = if kind == "StatefulSet" {
                    ("controller-revision-hash", owner(kind, "web"))
                } else {
                    (
                        "pod-template-hash",
                        owner("ReplicaSet", &format!("web-{revision}")),
                    )
                };
                let phase = if *revision == "ended" {
                    "Failed"
                } else {
                    "Running"
                };
                let own = json!({
                    "metadata": {"labels": {label: revision}, "ownerReferences": owner},
                    "spec": {"containers": containers}, "status": {"phase": phase},
                });
                items.push(build::with(build::pod(&name), &own));
                let measured = containers.iter().map(|own| {
                    let cpu = if own["name"] == "app" { "300m" } else { "0" };
                    json!({"name": own["name"], "usage": {"cpu": cpu}})
                });
                let measured: Vec<Value> = measured.collect();
                let usage = build::pod_metrics(&name, "300m");
                items.push(build::with(usage, &json!({"containers": measured})));
                count += 1;
            }
        }
        if groups.iter().all(|(_, revision, _)| *revision != "first") {
            items.extend([set("old", "1"), set("new", "2")]);
        }
        items.push(build::scale(count));
        let input = read(&items);
        let assumptions = assuming(&[manifest]);
        let before = decide(&input);
        let (assumed, _) = assumptions.apply(input, &before).expect("an answer");
        assert_eq!(decide(&assumed).proposal.unwrap_or(0), expected, "{about}");
    }
}

/// Two HPAs of the manifests whose targets have pods in common block each other, as those of a cluster do, also if they
/// name different targets.
#[test]
fn another_hpa_of_the_manifests_may_select_the_same_pods() {
    let deployment = |name: &str, labels: Value| {
        let template =
            json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app"}]}});
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
            "status": {"replicas": 1},
        })
    };
    let hpa = |name: &str, least: i32| {
        let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name});
        let metrics = [build::resource("cpu", &build::utilization(50))];
        let spec = json!({"scaleTargetRef": target, "minReplicas": least, "metrics": metrics});
        build::with(build::hpa(&spec), &json!({"metadata": {"name": name}}))
    };
    let canary = json!({"app": "web", "track": "canary"});
    let pod = build::with(
        build::pod("web-canary-0"),
        &json!({"metadata": {"labels": canary}}),
    );
    let items = [
        hpa("web", 1),
        build::scale(1),
        build::state(&json!({})),
        deployment("web", json!({"app": "web"})),
        deployment("web-canary", canary),
        build::pod("web-0"),
        build::pod_metrics("web-0", "90m"),
        pod,
        build::pod_metrics("web-canary-0", "90m"),
    ];
    // Below its minimum, the other one has no selector before its second pass.
    for (least, is_blocked) in [(1, true), (2, false)] {
        let input = read(&items);
        let assumptions = assuming(&[hpa("web", 1), hpa("web-canary", least)]);
        let before = decide(&input);
        let (assumed, _) = assumptions.apply(input, &before).expect("an answer");
        assert_eq!(decide(&assumed).proposal.is_none(), is_blocked, "{least}");
    }
}

/// Metrics that only a ScaledObject names have names out of its triggers' metadata, which may hold anything.
#[test]
fn nothing_of_a_trigger_s_metadata_is_saved() {
    let directory = tempfile::tempdir().expect("a directory");
    let saved = directory.path().join("saved.json").display().to_string();
    let stdout = predict(
        "keda-hpa-jobs",
        &["--hpa=scaledobject.yaml", "--save", &saved],
        "",
    )
    .text();
    assert!(stdout.contains("Europe-Berlin"), "{stdout}");
    let saved = std::fs::read_to_string(&saved).expect("a file");
    assert!(
        saved.contains("s0-prometheus"),
        "the metric of the running HPA: {saved}"
    );
    for part in ["Europe", "Berlin", "s0-cron", "s1-prometheus"] {
        assert!(!saved.contains(part), "{part}: {saved}");
    }
}
