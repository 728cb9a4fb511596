//! ScaledObjects as candidates: the result of `predict --hpa` for each (`tests/keda`), where the values of
//! its metrics come from, and what KEDA rejects. The HPAs themselves are tested next to `src/keda`.

use crate::common::ran::{Ran, program, run};

/// Runs `predict -f state.yaml --hpa -` for a ScaledObject with these flags: returns exit code, standard
/// output and standard error.
fn predict(flags: &[&str], manifest: &str) -> Ran {
    run(program()
        .args(["predict", "keda-hpa-web", "-f", "state.yaml", "--hpa", "-"])
        .args(flags)
        .current_dir("tests/keda")
        .write_stdin(manifest))
}

fn manifest() -> String {
    std::fs::read_to_string("tests/keda/scaledobject.yaml").expect("a ScaledObject")
}

/// A prometheus, a cron and a cpu trigger: two of the metrics have values in the state, one is assumed.
#[test]
fn three_triggers() {
    let stdout = predict(
        &["--metric", "s1-cron-Europe-Berlin-08xx1-5-018xx1-5=10"],
        &manifest(),
    )
    .quiet()
    .text();
    insta::assert_snapshot!(stdout, @"
    assuming HPA from standard input
    assuming maxReplicas 20 (observed 10)
    assuming target of s0-prometheus 50 (observed 100)
    assuming target of s1-cron-Europe-Berlin-08xx1-5-018xx1-5 1 (observed none)
    assuming s1-cron-Europe-Berlin-08xx1-5-018xx1-5 10 (observed none)

    shop/keda-hpa-web → Deployment/web
    rules of v1.36.2, at 2026-11-21T06:00:00Z

      SCALE UP 2 → 4
      s1-cron-Europe-Berlin-08xx1-5-018xx1-5 proposes 10 replicas; one pass may at most double the current 2.
      Wait for the next passes, or set behavior.scaleUp.policies of ScaledObject/web.
      OBSERVED  STAYS AT 2

    METRIC                                    CURRENT      TARGET  RATIO  COUNTED     PROPOSES
    s0-prometheus                                  95  50 per pod    1.9  2 replicas         4
    s1-cron-Europe-Berlin-08xx1-5-018xx1-5          5   1 per pod      5  2 replicas        10  highest
    cpu                                     60% (60m)         60%      1  2 ready            2

    FROM PROPOSAL TO REPLICAS
      10  highest proposal: s1-cron-Europe-Berlin-08xx1-5-018xx1-5
       4  rate limit: at most max(2 × 2, 4) = 4 in one pass  ScaleUpLimit

    NEXT PASSES, IF THE METRICS KEEP PROPOSING 10
       8  at 06:00:15Z (in 15s)
      10  at 06:00:30Z (in 30s)

    CHANGES
      s0-prometheus, in all  any value   adds replicas: s1-cron-Europe-Berlin-08xx1-5-018xx1-5 proposes 10 and the rate limit holds 4
                             up to 50    proposes minReplicas (1)
                             90 to 110   within tolerance
                             above 110   proposes more
                             above 950   proposes maxReplicas (20)
      s1-cron-Europe-Berlin-08xx1-5-018xx1-5, in all
                             any value   adds replicas: s0-prometheus proposes 4
                             up to 1     proposes minReplicas (1)
                             1.8 to 2.2  within tolerance
                             above 2.2   proposes more
                             above 19    proposes maxReplicas (20)
      cpu                    any value   adds replicas: s1-cron-Europe-Berlin-08xx1-5-018xx1-5 proposes 10 and the rate limit holds 4
                             up to 30%   proposes minReplicas (1)
                             54% to 66%  within tolerance
                             above 66%   proposes more
                             above 570%  proposes maxReplicas (20)

      Assuming a controller that has just started (-o wide for more).

    NOTES
      standard input: KEDA itself scales to 0 replicas when no trigger for an external metric has been active for 120s, and back; that is not predicted
      standard input: spec.fallback is not predicted: once a trigger has failed more than 3 times, KEDA reports a value of its own (6 replicas)
      standard input: used by KEDA itself and not part of the HPA: spec.pollingInterval, spec.triggers[0].metadata.activationThreshold
    ");
}

/// A trigger whose metric only KEDA can name gets the running HPA's, by index.
#[test]
fn a_trigger_that_only_keda_can_name() {
    let external = "
        apiVersion: keda.sh/v1alpha1
        kind: ScaledObject
        metadata: {name: web}
        spec:
          scaleTargetRef: {name: web}
          minReplicaCount: 1
          maxReplicaCount: 10
          triggers:
          - {type: external, metadata: {scalerAddress: 'scaler:9090'}}
          - {type: cpu, metricType: Utilization, metadata: {value: '30'}}";
    let stdout = predict(&[], external).quiet().text();
    for expected in [
        "\nassuming HPA from standard input\n\
         assuming target of cpu 30% (observed 60%)\n\n",
        "\n  SCALE UP 2 → 4\n",
        "\n  standard input: spec.triggers[0] (external): the name of its metric and the number of its target are \
         taken from the running HPA, because only KEDA knows: s0-prometheus\n",
    ] {
        assert!(
            format!("\n{stdout}").contains(expected),
            "{expected}{stdout}"
        );
    }
    let cron = "{type: cron, metadata: {timezone: UTC, start: 0 8 * * *, end: 0 9 * * *, desiredReplicas: '2'}}";
    let second = external.replace(
        "- {type: external",
        &format!("- {cron}\n          - {{type: external"),
    );
    let ran = predict(&[], &second);
    assert_eq!(
        ran.refused(2),
        "error: standard input: spec.triggers[1]: unknown target of the metric: only the scaler itself knows \
         its metrics and targets, and the running HPA has no metric s1-...\n\
         hint: use --hpa with the HPA that KEDA makes\n"
    );
}

/// The replicas do not depend on the name of a metric, so another one stands in for a name that only KEDA knows: it has
/// no value, but one can be stated.
#[test]
fn another_name_stands_for_one_that_only_keda_knows() {
    let object = "apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: web}
spec:
  scaleTargetRef: {name: web}
  minReplicaCount: 1
  maxReplicaCount: 10
  triggers:
  - {type: cpu, metricType: Utilization, metadata: {value: '30'}}
  - type: mysql
    metadata: {query: q, queryValue: '3'}
    authenticationRef: {name: auth}
  - {type: kubernetes-workload, metadata: {podSelector: app=x, value: '5'}}";
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("object.yaml").display().to_string();
    std::fs::write(&path, object).expect("a file");
    let run = |flags: &[&str]| run(program().args(flags));
    let alone = ["predict", "-f", &path, "--replicas", "3"];
    let stated = [
        "--metric",
        "s1-mysql-unknown=15",
        "--metric",
        "s2-workload-default=5",
    ];
    let stdout = run(&[&alone[..], &["--cpu", "30%"], &stated].concat())
        .quiet()
        .text();
    let note = "spec.triggers[1] (mysql): s1-mysql-unknown stands in for the name of its metric, which only KEDA \
                knows: connectionString may be in what authenticationRef leads to\n";
    for expected in ["\n  SCALE UP 3 → 5\n", note] {
        assert!(stdout.contains(expected), "{expected}{stdout}");
    }
    let part = "--metric 's1-mysql-unknown{scaledobject.keda.sh/name=web}=3'";
    let ran = run(&alone);
    let says = ran.stderr.contains(part);
    assert_eq!((ran.code, says), (Some(2), true), "{}", ran.stderr);

    // What only a candidate has would be asked of a cluster.
    let lacks = "spec.triggers[1]: unknown name of the metric: connectionString may be in what authenticationRef \
                 leads to, and the running HPA has no metric s1-...";
    predict(&["--cpu", "30%"], object).fails(2, &[lacks]);

    // The namespace is the running HPA's.
    let mysql = "  - type: mysql
    metadata: {query: q, queryValue: '3'}
    authenticationRef: {name: auth}
";
    let workload = object.replace(mysql, "");
    let stdout = predict(&["--cpu", "30%"], &workload).stdout;
    assert!(
        stdout.contains("the input has no ExternalMetricValueList for s1-workload-shop"),
        "{stdout}"
    );
    let stdout = predict(
        &["--cpu", "30%", "--metric", "s1-workload-shop=25"],
        &workload,
    )
    .quiet()
    .text();
    assert!(stdout.contains("\n  SCALE UP 2 → 4\n"), "{stdout}");
}

/// A trigger before another one changes the index of that; its value is kept.
#[test]
fn values_stay_with_metrics_whose_index_changes() {
    let (cron, prometheus) = ("  - type: cron", "  - type: prometheus");
    let text = manifest();
    let (before, rest) = text.split_once(prometheus).expect("a trigger");
    let (first, rest) = rest.split_once(cron).expect("a trigger");
    let (second, rest) = rest.split_once("  - type: cpu").expect("a trigger");
    let swapped = format!("{before}{cron}{second}{prometheus}{first}  - type: cpu{rest}");
    let cron = "s0-cron-Europe-Berlin-08xx1-5-018xx1-5";
    let stdout = predict(&["--metric", &format!("{cron}=1")], &swapped)
        .quiet()
        .text();
    for expected in [
        "\n  standard input: s1-prometheus has the value of s0-prometheus: of the running HPA's metrics, only \
         that one has this name after its index\n",
        "\n  SCALE UP 2 → 4\n  s1-prometheus proposes 4 replicas.\n",
    ] {
        assert!(stdout.contains(expected), "{expected}{stdout}");
    }
    // What only the candidate has may be stated for a run as well.
    let flags = [
        "--metric",
        &format!("{cron}=10"),
        "--for",
        "5m",
        "-o",
        "json",
    ];
    let answer = predict(&flags, &swapped).quiet().answer();
    let highest = |run: &serde_json::Value| run["totals"]["highest"]["replicas"].clone();
    let runs = &answer["backtest"];
    assert_eq!(highest(&runs["replay"]), 2);
    assert_eq!(highest(&runs["candidates"][0]), 10);
}

/// KEDA refuses a second HPA for a target, or takes the first one over.
#[test]
fn an_hpa_that_keda_did_not_create() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = std::fs::read_to_string("tests/keda/state.yaml").expect("a file");
    let owner = state
        .lines()
        .find(|line| line.contains("ownerReferences"))
        .expect("an owner");
    let path = directory.path().join("state.yaml").display().to_string();
    let transfer = "{name: web, namespace: shop, annotations: \
                    {scaledobject.keda.sh/transfer-hpa-ownership: 'true'}}\nspec:\n  advanced: \
                    {horizontalPodAutoscalerConfig: {name: keda-hpa-web}}";
    let accepted = "annotations: {validations.keda.sh/hpa-ownership: 'false'}";
    let other = "spec:\n  advanced: {horizontalPodAutoscalerConfig: {name: web-2}}";
    let another = "ownerReferences: [{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, name: other, uid: u, \
                   controller: true}]";
    for (owner_is, text, expected) in [
        // It is another ScaledObject that is in the way, which no annotation changes (`verifyScaledObjects`).
        (
            another,
            manifest(),
            "KEDA's webhook refuses it while ScaledObject/other, whose HorizontalPodAutoscaler is keda-hpa-web, \
             scales the target: delete ScaledObject/other first",
        ),
        (
            another,
            manifest().replace("{name: web, namespace: shop}\nspec:", transfer),
            "KEDA's webhook refuses it while ScaledObject/other",
        ),
        (
            "",
            manifest(),
            "KEDA's webhook refuses it while HorizontalPodAutoscaler/keda-hpa-web, which KEDA did not \
             create, scales the target",
        ),
        (
            "annotations: {validations.keda.sh/hpa-ownership: 'true'}",
            manifest(),
            "KEDA's webhook refuses it while HorizontalPodAutoscaler/keda-hpa-web",
        ),
        (
            accepted,
            manifest(),
            "validations.keda.sh/hpa-ownership: KEDA takes over HorizontalPodAutoscaler/keda-hpa-web, \
             which it did not create",
        ),
        (
            accepted,
            manifest().replace("spec:", other),
            "validations.keda.sh/hpa-ownership of HorizontalPodAutoscaler/keda-hpa-web has KEDA create \
             HorizontalPodAutoscaler/web-2 alongside it: both scale the target until one is deleted",
        ),
        (
            "",
            manifest().replace("{name: web, namespace: shop}\nspec:", transfer),
            "scaledobject.keda.sh/transfer-hpa-ownership: KEDA takes over \
             HorizontalPodAutoscaler/keda-hpa-web, which it did not create",
        ),
    ] {
        let indent = owner.len() - owner.trim_start().len();
        let owner_is = format!("{:indent$}{owner_is}\n", "");
        std::fs::write(&path, state.replace(&format!("{owner}\n"), &owner_is)).expect("a file");
        let stdout = run(program()
            .args(["predict", "keda-hpa-web", "-f", &path, "--hpa", "-"])
            .write_stdin(text))
        .stdout;
        assert!(stdout.contains(expected), "{stdout}");
    }
    let stdout = predict(&[], &manifest()).stdout;
    assert!(!stdout.contains("did not create"), "{stdout}");
}

/// One line with the field, exit code 2, and nothing on standard output.
#[test]
fn what_keda_refuses() {
    let whole = manifest();
    for (from, to, expected) in [
        (
            "  scaleTargetRef: {name: web}\n",
            "",
            "error: standard input: spec.scaleTargetRef: required\n",
        ),
        (
            "metricType: Utilization",
            "metricType: Value",
            "error: standard input: spec.triggers[2].metricType: \"Value\" is not possible for cpu\n\
             hint: use Utilization or AverageValue\n",
        ),
        (
            "    metadata: {value: \"60\"}",
            "    metadata: {}",
            "error: standard input: spec.triggers[2].metadata.value: required\n",
        ),
        (
            "      threshold: \"50\"",
            "      threshold: 50",
            "error: standard input: spec.triggers[0].metadata.threshold: must be a string\n\
             hint: put the value in quotes\n",
        ),
        (
            "      threshold: \"50\"",
            "      treshold: \"50\"",
            "error: standard input: spec.triggers[0].metadata.threshold: required\n\
             hint: KEDA does not read treshold: threshold may be meant\n",
        ),
        (
            "type: prometheus",
            "type: promtheus",
            "error: standard input: spec.triggers[0].type: KEDA 2.20 has no scaler \"promtheus\"\n\
             hint: did you mean prometheus?\n",
        ),
        (
            "maxReplicaCount: 20",
            "minReplicaCount: 30\n  maxReplicaCount: 20",
            "error: standard input: spec.minReplicaCount: 30 is more than maxReplicaCount (20)\n",
        ),
        (
            "  triggers:\n",
            "  minReplicaCout: 2\n  triggers:\n  - {type: cpu, metricType: Utilization, metadata: {value: \"0\"}}\n",
            "error: standard input: unknown field \"spec.minReplicaCout\", did you mean \"spec.minReplicaCount\"?\n\
             hint: correct it, or use --validate=warn to drop it, as the API server would\n",
        ),
        (
            "  triggers:\n",
            "  triggers:\n  - {type: cpu, metricType: Utilization, metadata: {value: \"0\"}}\n",
            "error: standard input: spec.triggers[0].metadata.value: 0 is not greater than 0\n",
        ),
        (
            "maxReplicaCount: 20",
            "maxReplicas: 20",
            "error: standard input: unknown field \"spec.maxReplicas\"\n\
             hint: correct it, or use --validate=warn to drop it, as the API server would\n",
        ),
        (
            "namespace: shop}",
            "namespace: shop, annotations: {autoscaling.keda.sh/paused: \"true\"}}",
            "error: standard input: metadata.annotations[autoscaling.keda.sh/paused]: KEDA deletes the \
             HPA of a paused ScaledObject\n\
             hint: remove autoscaling.keda.sh/paused from the file to see what its HPA would decide\n",
        ),
        (
            "namespace: shop}",
            "namespace: shop, annotations: {autoscaling.keda.sh/paused: \"true\", \
             autoscaling.keda.sh/paused-replicas: \"2\"}}",
            "error: standard input: metadata.annotations[autoscaling.keda.sh/paused-replicas]: KEDA deletes \
             the HPA of a paused ScaledObject\n\
             hint: remove autoscaling.keda.sh/paused-replicas and autoscaling.keda.sh/paused from the file to see \
             what its HPA would decide\n",
        ),
        (
            "  cooldownPeriod: 120\n",
            "  advanced: {horizontalPodAutoscalerConfig: {behavior: {scaleDown: {stabilizationWindowSeconds: 4000}}}}\n",
            "error: standard input: spec.advanced.horizontalPodAutoscalerConfig.behavior.scaleDown\
             .stabilizationWindowSeconds: Invalid value: 4000: must be less than or equal to 3600\n\
             hint: the API server would reject the HPA that KEDA makes of it\n",
        ),
        (
            "  cooldownPeriod: 120\n",
            "  advanced: {horizontalPodAutoscalerConfig: {behavior: {scaleUp: {selectPolicy: Never}}}}\n",
            "error: standard input: spec.advanced.horizontalPodAutoscalerConfig.behavior.scaleUp\
             .selectPolicy: Unsupported value: \"Never\": supported values: \"Disabled\", \"Max\", \"Min\"\n\
             hint: the API server would reject the HPA that KEDA makes of it\n",
        ),
        (
            "  cooldownPeriod: 120\n",
            "  advanced: {horizontalPodAutoscalerConfig: {name: A b}}\n",
            "error: standard input: spec.advanced.horizontalPodAutoscalerConfig.name: \"A b\": a lowercase \
             RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')\n",
        ),
        (
            "scaleTargetRef: {name: web}",
            "scaleTargetRef: {name: other}",
            "error: standard input: it scales Deployment/other, but the HPA scales Deployment/web\n\
             hint: observations of one target do not apply to another: use -f with the other's objects and the \
             new HPA, without the running one\n",
        ),
    ] {
        assert!(whole.contains(from), "{from}");
        let ran = predict(&[], &whole.replace(from, to));
        assert_eq!(ran.refused(2), expected, "{to}");
    }
    // The API server validates the metadata as it does for every object.
    let named = "  advanced: {horizontalPodAutoscalerConfig: {name: web}}\n";
    let named = whole.replace("  cooldownPeriod: 120\n", named);
    let metadata = "metadata: {name: web, namespace: shop}";
    for (own, begin) in [
        (
            "{name: -x, namespace: shop}",
            "metadata.name: Invalid value: \"-x\": a lowercase",
        ),
        (
            "{name: Web_X, namespace: shop}",
            "metadata.name: Invalid value: \"Web_X\": a lowercase",
        ),
        (
            "{name: web, namespace: shop, labels: {\"a b\": c}}",
            "metadata.labels: Invalid value: \"a b\": name part must",
        ),
    ] {
        assert!(named.contains(metadata), "{named}");
        let ran = predict(&[], &named.replace(metadata, &format!("metadata: {own}")));
        let stderr = ran.refused(2);
        assert!(
            stderr.starts_with(&format!("error: standard input: {begin}")),
            "{stderr}"
        );
        assert!(
            stderr.ends_with("hint: the API server would reject this manifest\n"),
            "{stderr}"
        );
    }
}

/// A ScaledObject with a cpu trigger and these annotations and other triggers, for a Deployment that comes with it.
fn alone(annotations: &str, triggers: &str) -> String {
    format!(
        "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {{name: web, namespace: shop, annotations: \
         {{{annotations}}}}}\nspec:\n  scaleTargetRef: {{name: web}}\n  minReplicaCount: 1\n  maxReplicaCount: 4\n  triggers:\n  - type: cpu\n    \
         metricType: Utilization\n    metadata: {{value: '60'}}\n{triggers}---\napiVersion: apps/v1\nkind: Deployment\n\
         metadata: {{name: web, namespace: shop}}\nspec:\n  selector: {{matchLabels: {{app: web}}}}\n  template:\n    \
         metadata: {{labels: {{app: web}}}}\n    spec: {{containers: [{{name: app, image: a, resources: {{requests: \
         {{cpu: 100m}}}}}}]}}\n"
    )
}

fn predict_alone(flags: &[&str], text: &str) -> Ran {
    let args = [
        "predict",
        "-f",
        "-",
        "-n",
        "shop",
        "--replicas",
        "3",
        "-o",
        "wide",
    ];
    run(program().args(args).args(flags).write_stdin(text))
}

/// KEDA reverts what is changed in its HPA, also if that does not exist yet.
#[test]
fn advice_on_a_scaled_object_alone_changes_the_scaled_object() {
    let rate = "  - type: prometheus\n    metricType: Value\n    metadata: {serverAddress: http://p, query: up, threshold: '50'}\n";
    for (annotations, triggers, flags, expected) in [
        (
            "",
            "",
            &["--cpu", "300%"][..],
            &[
                "Raise maxReplicaCount of ScaledObject/web",
                "$ kubectl patch scaledobject web -n shop --type=merge -p '{\"spec\":{\"maxReplicaCount\":15}}'",
            ][..],
        ),
        (
            "",
            rate,
            &["--cpu", "50%", "--metric", "s1-prometheus=60"],
            &[
                "use metricType: AverageValue and a threshold of 50 for s1-prometheus",
                "$ kubectl edit scaledobject web -n shop",
            ],
        ),
        (
            "autoscaling.keda.sh/paused-scale-out: 'true'",
            "",
            &["--cpu", "80%"],
            &[
                "paused-by-keda: ScaledObject/web is paused by autoscaling.keda.sh/paused-scale-out",
                "Follow the advice of paused-by-keda.",
            ],
        ),
    ] {
        let stdout = predict_alone(flags, &alone(annotations, triggers)).text();
        for line in expected {
            assert!(stdout.contains(line), "{line}\n{stdout}");
        }
        assert!(!stdout.contains("kubectl patch hpa"), "{stdout}");
    }
}

/// An HPA in place of KEDA's requires that the ScaledObject is deleted.
#[test]
fn an_hpa_in_place_of_that_of_keda() {
    let hpa = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: api}\nspec:\n  scaleTargetRef: \
               {apiVersion: apps/v1, kind: Deployment, name: web}\n  maxReplicas: 10\n";
    let stdout = predict(&["--cpu", "50%"], hpa).text();
    assert!(
        stdout.contains(": delete ScaledObject/web, as Helm does"),
        "{stdout}"
    );
}

/// A ScaledObject next to the intended HPA may have the same target. An unknown field is dropped, as by an API server.
/// Without an HPA that KEDA would create, the ScaledObject is noted.
#[test]
fn a_scaled_object_beside_the_hpa_is_counted_or_noted() {
    let hpa = "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: api, namespace: shop}\nspec:\n  \
               scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n  maxReplicas: 10\n  metrics:\n  - \
               {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}\n";
    let object = alone("", "") + hpa;
    let shared = "CANNOT DECIDE, STAYS AT 3: SHARED PODS";
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("saved.json");
    let saved = path.to_str().expect("a path");
    let note = "  ScaledObject web scales the same target: ";
    for (text, expected, other) in [
        (object.clone(), shared, note),
        (
            object.replace("maxReplicaCount", "cooldownPerid: 5\n  maxReplicaCount"),
            shared,
            note,
        ),
        (object.replace("'60'", "abc"), note, shared),
    ] {
        let flags = ["--cpu", "50%", "--save", saved];
        let stdout = predict_alone(&flags, &text).text();
        let again = ["predict", "-f", saved, "--replicas", "3", "--cpu", "50%"];
        for shown in [stdout, run(program().args(again)).stdout] {
            assert!(shown.contains(expected), "{shown}");
            assert!(!shown.contains(other), "{shown}");
        }
    }
}

/// KEDA 1 had another group, whose objects are not read.
#[test]
fn a_scaled_object_of_keda_1() {
    let old = manifest().replace("keda.sh/v1alpha1", "keda.k8s.io/v1alpha1");
    let hint = "hint: it has a ScaledObject of keda.k8s.io/v1alpha1, which is KEDA 1: convert it to \
                keda.sh/v1alpha1\n";
    let ran = predict(&[], &old);
    let stderr = ran.refused(2);
    let error = "--hpa -: contains no HorizontalPodAutoscaler, ScaledObject or workload";
    assert_eq!(stderr, format!("error: {error}\n{hint}"));
    for (name, error) in [
        ("", "the input has no HorizontalPodAutoscaler"),
        ("web", "no HorizontalPodAutoscaler web in the input"),
    ] {
        let ran = run(program()
            .args(["explain", "-f", "-"])
            .args((!name.is_empty()).then_some(name))
            .write_stdin(&*old));
        assert_eq!(ran.refused(2), format!("error: {error}\n{hint}"));
    }
}

/// The target lacks the container whose environment triggers refer to, in the input or in the same manifests.
#[test]
fn a_container_that_the_target_does_not_have() {
    let named = "scaleTargetRef: {name: web, envSourceContainerName: sidecar}";
    let whole = manifest().replace("scaleTargetRef: {name: web}", named);
    let template = |container: &str| {
        format!(
            "---\n{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web, namespace: shop}}, spec: \
             {{replicas: 2, selector: {{matchLabels: {{app: web}}}}, template: {{metadata: {{labels: {{app: \
             web}}}}, spec: {{containers: [{{name: {container}, image: a, resources: {{requests: {{cpu: \
             100m}}}}}}]}}}}}}}}\n"
        )
    };
    let error = "spec.scaleTargetRef.envSourceContainerName: the target has no container \"sidecar\"\n\
                 hint: it has app\n";
    let ran = predict(&[], &format!("{whole}{}", template("app")));
    assert_eq!(ran.refused(2), format!("error: standard input: {error}"));
    let stderr = predict(&[], &format!("{whole}{}", template("sidecar"))).stderr;
    assert!(!stderr.contains("envSourceContainerName"), "{stderr}");
    // A manifest alone.
    let stderr = run(program()
        .args(["predict", "-f", "-"])
        .write_stdin(format!("{whole}{}", template("app"))))
    .stderr;
    assert!(stderr.ends_with(error), "{stderr}");
}

/// Other metadata of a trigger never leaves the program.
#[test]
fn secrets_are_not_shown() {
    let directory = tempfile::tempdir().expect("a directory");
    let saved = directory.path().join("saved.yaml");
    let with_secret = manifest().replace(
        "      query:",
        "      authModes: basic\n      password: hunter2\n      query:",
    );
    for flags in [&["-o", "json"][..], &["-o", "wide"], &["-o", "yaml"]] {
        let ran = predict(flags, &with_secret);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(!ran.shown().contains("hunter2"), "{flags:?}");
    }
    let path = saved.to_str().expect("a path");
    predict(&["--save", path], &with_secret).text();
    assert!(
        !std::fs::read_to_string(&saved)
            .expect("a file")
            .contains("hunter2")
    );
}
