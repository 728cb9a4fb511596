//! The published JSON Schema compared with everything that the program prints for the recorded passes,
//! the examples and unknown histories; with objects that it does not describe; and the YAML form compared
//! with the JSON form. It says nothing about whether an answer is right.

use crate::common::ran::{Ran, program, run};
use crate::common::schema::{self as published, Schema};
use crate::common::{self, build, recorded, written};
use crate::told;

use std::collections::BTreeSet;
use std::path::Path;
use std::{env, fs};

use jiff::Timestamp;
use kubectl_hpa::pass::Pass;
use kubectl_hpa::render::structured;
use kubectl_hpa::report::Explanation;
use kubectl_hpa::saved::assemble::assemble;
use kubectl_hpa::saved::file;
use kubectl_hpa::snapshot::input::{Input, Options};
use serde_json::{Value, json};

/// The examples, each by its directory and the name of its HPA.
const EXAMPLES: [(&str, &str); 5] = [
    ("nginx", "nginx-deployment"),
    ("nginx/after-15s", "nginx-deployment"),
    ("nginx/after-30s", "nginx-deployment"),
    ("podinfo", "podinfo"),
    ("queue", "worker"),
];

fn example(directory: &str, name: &str) -> Input {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("examples")
        .join(directory);
    let directory = directory.to_str().expect("a path in UTF-8").to_owned();
    let options = Options {
        name: name.to_owned(),
        ..Options::default()
    };
    let objects = file::read(&[directory]).expect("an example");
    assemble(objects, &options, Timestamp::UNIX_EPOCH).expect("an example")
}

/// Results that no recorded pass has: no API server accepts the first two, and the third is of a
/// version without recorded passes.
fn made() -> Vec<(&'static str, String)> {
    let plain = build::hpa(&json!({"maxReplicas": 3}));
    let of = |metrics: Value| build::hpa(&json!({"maxReplicas": 3, "metrics": metrics}));
    let cpu = build::resource("cpu", &build::average("1"));
    let refused = json!({"errors": [{"api": "resource", "message": "forbidden", "denied": true}]});
    let lost = json!({"errors": [{"api": "resource", "message": "EOF", "unanswered": true}]});
    // For inputs without a Scale and without what their metrics need.
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}},
    });
    let (pod, metrics) = (build::pod("web-1"), build::pod_metrics("web-1", "1m"));
    let named =
        |name: &str, hpa: &Value| build::with(hpa.clone(), &json!({"metadata": {"name": name}}));
    let pods_metric = build::per_pod("hits", "1");
    let queue = build::external("queue", &build::value("1"));
    let one = json!({"selector": {"matchLabels": {"of": "one"}}});
    let hit = json!({"describedObject": {"kind": "Pod", "name": "web-1"}, "metric": {"name": "hits"},
        "value": "1"});
    let hits = json!({"apiVersion": "custom.metrics.k8s.io/v1beta2", "kind": "MetricValueList",
        "items": [hit, hit]});
    let replicas = json!({"atLeast": 1, "atMost": 1});
    let past = json!({"memory": "unknown",
        "errors": [{"api": "resource", "metric": "cpu", "message": "not in the history",
            "missing": "Samples"}],
        "past": {"source": "Prometheus", "queries": [], "read": build::NOW, "replicas": replicas,
            "passes": [], "rescales": [], "recorded": {"replicas": 2, "time": build::NOW}}});
    vec![
        (
            "a metric of an unknown type",
            build::list([of(json!([{"type": "Unknown"}])), build::scale(1)]),
        ),
        (
            "pods that two HPAs select",
            build::list([
                plain.clone(),
                named("other", &plain),
                build::scale(1),
                pod.clone(),
            ]),
        ),
        (
            "an input without metrics",
            build::list([of(json!([cpu, pods_metric, queue])), deployment.clone()]),
        ),
        (
            "values that several metrics may have",
            build::list([
                of(json!([
                    pods_metric,
                    build::with(pods_metric.clone(), &json!({"pods": {"metric": one}})),
                    queue,
                    build::with(queue.clone(), &json!({"external": {"metric": one}})),
                ])),
                deployment.clone(),
                pod.clone(),
                hits,
                build::external_values(
                    ["1", "2"].map(|it| json!({"metricName": "queue", "value": it})),
                ),
            ]),
        ),
        (
            "a metric that was refused",
            build::list([plain.clone(), build::scale(1), build::state(&refused)]),
        ),
        (
            "a metric without an answer",
            build::list([plain.clone(), build::scale(1), build::state(&lost)]),
        ),
        (
            "a past pass whose history lacks a metric",
            build::list([of(json!([cpu])), build::scale(1), build::state(&past)]),
        ),
        (
            "an input without pods",
            build::list([of(json!([cpu])), deployment.clone(), metrics.clone()]),
        ),
        (
            "usage of some pods",
            [
                build::list([
                    of(json!([cpu])),
                    deployment.clone(),
                    pod.clone(),
                    build::pod("web-2"),
                ]),
                metrics.to_string(),
            ]
            .concat(),
        ),
        (
            "a pod that has succeeded",
            build::list([
                build::with(plain, &json!({"metadata": {"generation": 7}})),
                build::state(&json!({"kubernetesVersion": "v1.38.0"})),
                build::scale(1),
                build::with(pod, &json!({"status": {"phase": "Succeeded"}})),
                metrics,
            ]),
        ),
    ]
}

/// Returns inputs with their names, in addition to the recorded passes: from the examples, constructed, without their
/// memory, and with what the controller last wrote.
fn inputs() -> Vec<(String, Input)> {
    let made = made().into_iter().map(|(name, text)| {
        let input = common::read(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        (name.to_owned(), input)
    });
    // Other versions, among them those that name no reason.
    let versions = recorded::read("tests/vectors/versions")
        .into_iter()
        .step_by(10)
        .map(|case| {
            let input =
                common::read(case.input.get()).unwrap_or_else(|e| panic!("{}: {e}", case.name));
            (case.name, input)
        });
    let examples =
        EXAMPLES.map(|(directory, name)| (directory.to_owned(), example(directory, name)));
    let mut inputs: Vec<_> = made.chain(versions).chain(examples).collect();
    let recorded = recorded::inputs()
        .iter()
        .map(|(case, input)| (case.name.clone(), input.clone()));
    let unknown: Vec<_> = recorded.chain(inputs.clone()).step_by(3).collect();
    inputs.extend(unknown.into_iter().map(|(name, mut input)| {
        input.stated_memory = None;
        (format!("{name} without its memory"), input)
    }));
    inputs.extend(written::CASES.iter().map(|case| {
        let input = common::read(&case.input()).unwrap_or_else(|e| panic!("{}: {e}", case.name));
        (case.name.to_owned(), input)
    }));
    inputs
}

/// What is wrong with printed explanations, and all strings in them.
#[derive(Default)]
struct Printed {
    count: usize,
    wrong: Vec<String>,
    met: BTreeSet<String>,
}

impl Printed {
    fn add(&mut self, name: &str, explanation: &Explanation<'_>) {
        let json = structured::json(explanation).expect("JSON");
        let object: Value = serde_json::from_str(&json).expect("JSON is printed");
        if let Some(fault) = published::EXPLANATION.fault(&object) {
            self.wrong.push(format!("{name}: {fault}"));
        }
        // Reading YAML takes longer than everything else.
        if self.count.is_multiple_of(8) {
            let yaml = structured::yaml(explanation).expect("YAML");
            let from_yaml: Value = serde_yaml::from_str(&yaml).expect("YAML is printed");
            if from_yaml != object {
                self.wrong.push(format!("{name}: YAML and JSON differ"));
            }
        }
        constants(&object, &mut self.met);
        self.count += 1;
    }
}

#[test]
fn the_schema_describes_what_is_printed() {
    let mut printed = Printed::default();
    for (case, told) in told::recorded() {
        printed.add(&case.name, &told.explanation);
    }
    for (name, input) in inputs() {
        printed.add(&name, &Explanation::new(&Pass::run(input)));
    }
    let Printed { wrong, met, .. } = printed;
    let list = wrong.join("\n");
    assert!(wrong.is_empty(), "{} wrong:\n{list}", wrong.len());

    // The inputs must cover what the schema distinguishes, or the above would prove little.
    let mut stated = BTreeSet::new();
    constants_of_schema(&published::EXPLANATION.json["$defs"], &mut stated);
    let missed: Vec<&String> = stated.difference(&met).collect();
    assert!(missed.is_empty(), "no input leads to {missed:?}");
}

#[test]
fn the_schema_describes_what_a_controller_answered() {
    let definitions = &published::EXPLANATION.json["$defs"];
    let outcome = Schema::new(json!({"$defs": definitions, "$ref": "#/$defs/outcome"}));
    for mut case in recorded::cases() {
        let answer = case.expected.as_object_mut().expect("an answer");
        answer.retain(|field, _| field != "proposal" && field != "recommendations");
        if answer["events"].is_null() {
            answer.insert("events".to_owned(), json!([]));
        }
        assert_eq!(outcome.fault(&case.expected), None, "{}", case.name);
    }
}

/// All strings in a value.
fn constants(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            found.insert(text.clone());
        }
        Value::Array(list) => list.iter().for_each(|value| constants(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| constants(value, found)),
        _ => {}
    }
}

/// All words that enumerations and discriminators of a schema list.
fn constants_of_schema(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Array(list) => list
            .iter()
            .for_each(|value| constants_of_schema(value, found)),
        Value::Object(fields) => {
            for (key, value) in fields {
                match key.as_str() {
                    "enum" | "const" => constants(value, found),
                    _ => constants_of_schema(value, found),
                }
            }
        }
        _ => {}
    }
}

#[test]
fn the_schema_rejects_what_is_not_printed() {
    let (_, right) = common::explain(&example("nginx/after-15s", "nginx-deployment"));

    // Steps are found by their rules, so the table need not count them.
    let step = |rule: &str| {
        let steps = right["trace"].as_array().unwrap();
        let place = steps.iter().position(|step| step["rule"] == rule);
        format!("/trace/{}", place.unwrap_or_else(|| panic!("no {rule}")))
    };
    let metric = step("computeMetric");
    let stabilize = step("stabilize");
    let limit = step("limit");
    let row = |name: &str| {
        let rows = right["comparison"]["rows"].as_array().unwrap();
        let place = rows.iter().position(|row| row["name"] == name);
        format!(
            "/comparison/rows/{}",
            place.unwrap_or_else(|| panic!("no {name}"))
        )
    };
    let (cpu, active) = (row("cpu"), row("ScalingActive"));
    let gone = Value::Null;
    published::EXPLANATION.rejects(
        &right,
        &[
            // Without one of its fields.
            ("", "outcome", &gone),
            ("", "notes", &gone),
            ("/outcome", "scaleTo", &gone),
            ("/outcome/status", "desiredReplicas", &gone),
            ("/hpa/spec", "maxReplicas", &gone),
            ("/memory/before", "scaleUpEvents", &gone),
            ("/basis/0", "source", &gone),
            ("", "comparison", &gone),
            ("/comparison", "written", &gone),
            ("/comparison/lastScaleTime", "age", &gone),
            ("/comparison/rows/0", "index", &gone),
            ("/comparison/reasons/0", "message", &gone),
            (&metric, "rule", &gone),
            (&metric, "proposal", &gone),
            (&format!("{metric}/pods/0"), "until", &gone),
            (&stabilize, "heldBy", &gone),
            // With an unknown field.
            ("", "unknown", &json!(1)),
            ("/hpa", "uid", &json!("u")),
            ("/outcome", "message", &json!("")),
            ("/range", "likely", &json!(1)),
            ("/memory", "age", &json!("1s")),
            ("/comparison", "age", &json!(1)),
            (&format!("{active}/now"), "message", &json!("")),
            (&format!("{cpu}/now"), "milli", &json!(1)),
            (&format!("{cpu}/measured"), "window", &json!(15)),
            (
                &metric,
                "error",
                &json!({"reason": "FailedGetResourceMetric", "message": "", "error": ""}),
            ),
            (&format!("{metric}/proposal"), "unknown", &json!(1)),
            (&format!("{metric}/pods/0"), "namespace", &json!("default")),
            (&limit, "upWindow", &json!(300)),
            // With an unknown word.
            ("", "apiVersion", &json!("kubectl-hpa/v1alpha2")),
            ("", "kind", &json!("Prediction")),
            ("", "certainty", &json!("likely")),
            ("/memory", "knowledge", &json!("guessed")),
            ("/comparison/rows/0", "item", &json!("replicas")),
            ("/comparison/reasons/0", "code", &json!("load")),
            ("/outcome/events/0", "reason", &json!("Rescaled")),
            (&metric, "rule", &json!("computeMetrics")),
            (&format!("{metric}/proposal"), "because", &json!("ratio")),
            (&format!("{metric}/pods/0"), "group", &json!("Ready")),
            (&format!("{metric}/pods/0"), "clause", &json!("unready")),
            (&stabilize, "reason", &json!("ScaleUpLimit")),
            (&limit, "reason", &json!("ReadyForNewScale")),
            // With a value of another kind.
            ("/outcome", "scaleTo", &json!("4")),
            ("/outcome", "scaleTo", &json!(4.5)),
            ("", "proposal", &json!(3_000_000_000_u32)),
            ("/comparison/rows/0", "last", &json!("4")),
            ("/comparison/rows/0", "because", &json!(["load"])),
            ("/comparison/lastScaleTime", "age", &json!(1.5)),
            (
                "/outcome/status",
                "lastScaleTime",
                &json!("2026-11-21 07:06:29"),
            ),
            (&format!("{metric}/pods/0"), "request", &json!(20)),
            (&format!("{metric}/pods/0"), "request", &json!("20 m")),
            (&format!("{metric}/proposal"), "ratio", &json!("2.5")),
            (&format!("{metric}/proposal"), "ratio", &gone),
        ],
    );
}

#[test]
fn every_property_is_described() {
    fn walk(schema: &Value, at: &str, bare: &mut Vec<String>) {
        match schema {
            Value::Object(fields) => {
                for (name, property) in fields
                    .get("properties")
                    .and_then(Value::as_object)
                    .into_iter()
                    .flatten()
                {
                    let text = property["description"].as_str().unwrap_or_default();
                    if !text.ends_with('.') || text.contains('\n') {
                        bare.push(format!("{at}/{name}"));
                    }
                }
                for (name, value) in fields {
                    walk(value, &format!("{at}/{name}"), bare);
                }
            }
            Value::Array(list) => list.iter().for_each(|value| walk(value, at, bare)),
            _ => {}
        }
    }
    let mut bare = Vec::new();
    walk(&published::EXPLANATION.json, "", &mut bare);
    walk(&published::EXPLANATION_LIST.json, "list", &mut bare);
    walk(&published::PREDICTION.json, "prediction", &mut bare);
    walk(&published::APPLY_RESULT.json, "apply", &mut bare);
    assert_eq!(bare, [""; 0]);
}

/// The line where the copy begins.
const COPIED: &str =
    r#"    "copied": {"$comment": "Copied from explanation.json by just generate."},"#;

/// Returns what other schemas copy from the schema of explanations: the object itself as one more
/// definition, and all of its definitions, as written there.
fn copied() -> String {
    let text = fs::read_to_string(published::path("explanation")).expect("a schema");
    let (object, definitions) = text.split_once(",\n  \"$defs\": {\n").expect("definitions");
    let (_, object) = object.split_once("\n  \"type\"").expect("a type");
    let object = format!("  \"type\"{object}").replace('\n', "\n    ");
    let definitions = definitions.strip_suffix("\n  }\n}\n").expect("the end");
    format!("    \"explanation\": {{\n    {object}\n    }},\n{definitions}\n  }}\n}}\n")
}

#[test]
fn schemas_are_complete_in_one_file() {
    let names = ["explanation-list", "prediction", "apply-result"];
    for name in names {
        let path = published::path(name);
        let text = fs::read_to_string(&path).expect("a schema");
        let own = match text.split_once(COPIED) {
            Some((own, _)) => own.to_owned(),
            None => format!(
                "{},\n",
                text.strip_suffix("\n  }\n}\n").expect("definitions")
            ),
        };
        let whole = format!("{own}{COPIED}\n{}", copied());
        if env::var_os("UPDATE_SCHEMA").is_some() {
            fs::write(&path, &whole).expect("the schema is written");
        }
        let text = fs::read_to_string(&path).expect("a schema");
        assert!(
            text == whole,
            "{name}.json is out of date: UPDATE_SCHEMA=1 cargo test --test answers schema"
        );
    }
    // A reference leads nowhere else, and no name is used twice.
    for name in names.into_iter().chain(["explanation"]) {
        let text = fs::read_to_string(published::path(name)).expect("a schema");
        let references = text.matches("\"$ref\": \"").count();
        assert_eq!(text.matches("\"$ref\": \"#/").count(), references, "{name}");
        assert!(!text.contains("\"$id\""), "{name}");
        let (_, definitions) = text.split_once("\n  \"$defs\": {\n").expect("definitions");
        let keys = definitions.lines().filter(|line| {
            line.starts_with("    \"") && line.ends_with('{') || line.starts_with(COPIED)
        });
        let keys: Vec<&str> = keys.collect();
        let unique: BTreeSet<&&str> = keys.iter().collect();
        assert_eq!(unique.len(), keys.len(), "{name}: {keys:?}");
    }
}

#[test]
fn other_validators_take_what_is_printed_by_the_file_alone() {
    let (_, explanation) = common::explain(&example("nginx", "nginx-deployment"));
    let read = |text: String| serde_json::from_str::<Value>(&text).expect("JSON is printed");
    published::fits_elsewhere("explanation", &explanation);
    published::fits_elsewhere("explanation-list", &read(list("json")));
    // With a moment, a duration, a fraction, a candidate and a division by 0.
    let of_run = "--expect=run.highest > run.mean / (max - max) or run.longestShort < 1s";
    let hpa = "--hpa=examples/nginx/hpa.yaml";
    let flags = [
        "--cpu=80%",
        "--curve=cpu",
        "--for=10m",
        "--expect=desired <= 20",
        of_run,
        hpa,
        hpa,
    ];
    published::fits_elsewhere("prediction", &read(prediction("json", &flags)));
}

/// Returns what the program prints for two HPAs and one that no API server would accept.
fn list(form: &str) -> String {
    let invalid = "\n---\n{kind: HorizontalPodAutoscaler, apiVersion: autoscaling/v2, metadata: \
                   {name: bad}}";
    let Ran { code, stdout, .. } = run(program()
        .args(["explain", "-f", "-", "-o", form])
        .write_stdin(format!("{}{invalid}", made()[1].1)));
    assert_eq!(code, Some(1));
    stdout
}

#[test]
fn the_schema_of_lists_describes_what_is_printed_and_nothing_else() {
    let right: Value = serde_json::from_str(&list("json")).expect("JSON is printed");
    let count = |part: &str| right[part].as_array().map(Vec::len);
    assert_eq!((count("items"), count("errors")), (Some(2), Some(1)));
    let gone = Value::Null;
    published::EXPLANATION_LIST.rejects(
        &right,
        &[
            ("", "items", &gone),
            ("", "errors", &gone),
            ("", "kind", &json!("List")),
            ("", "metadata", &json!({})),
            ("/items/0", "kind", &json!("Prediction")),
            ("/items/1", "outcome", &gone),
            ("/items/1/outcome", "scaleTo", &json!("4")),
            ("/errors/0", "message", &gone),
            ("/errors/0", "hint", &gone),
            ("/errors/0", "code", &json!(1)),
            ("/errors/0", "name", &json!(1)),
        ],
    );
}

/// Returns what the program prints for a prediction.
fn prediction(form: &str, flags: &[&str]) -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/nginx");
    let Ran { code, stdout, .. } = run(program()
        .args(["predict", "nginx-deployment", "-o", form, "-f"])
        .arg(directory)
        .args(flags));
    // An expectation may be false.
    assert!(matches!(code, Some(0 | 3 | 4)));
    stdout
}

#[test]
fn the_schema_of_predictions_describes_what_is_printed_and_nothing_else() {
    // Everything added to an explanation must also be in a prediction.
    let mut more = published::EXPLANATION.fields();
    let own = [
        "overrides",
        "observed",
        "timeline",
        "backtest",
        "expectations",
        "thresholds",
        "keptTargets",
    ];
    more.extend(own.map(str::to_owned));
    assert_eq!(published::PREDICTION.fields(), more);

    for flags in [
        &[][..],
        &["--cpu=80%", "--max=20"],
        &["--cpu=missing"],
        &["--replicas=0"],
        &["--request=cpu=30m"],
    ] {
        let json: Value = serde_json::from_str(&prediction("json", flags)).expect("JSON");
        assert_eq!(published::PREDICTION.fault(&json), None, "{flags:?}");
        let yaml: Value = serde_yaml::from_str(&prediction("yaml", flags)).expect("YAML");
        assert_eq!(yaml, json);
        assert_eq!(
            json["overrides"].as_array().map(Vec::len),
            Some(flags.len())
        );
        assert_eq!(json["observed"]["replicas"], 4);
    }
    // One of each kind of value: known, a range, and unknown.
    let expected = "desired <= 20 and not limited and metric.cpu.utilization <= 99";
    let flags = [
        "--cpu=80%",
        "--history=infer",
        "--expect",
        expected,
        "--fail-on=stale",
        "--curve=cpu",
    ];
    let right: Value = serde_json::from_str(&prediction("json", &flags)).expect("JSON is printed");
    assert_eq!(
        right["overrides"][0],
        json!({
            "item": "cpu", "assumed": "80% of the request", "result": null, "observed": "2575%",
        })
    );
    let gone = Value::Null;
    published::PREDICTION.rejects(
        &right,
        &[
            ("", "overrides", &gone),
            ("", "observed", &gone),
            ("", "expectations", &gone),
            ("", "thresholds", &gone),
            ("/thresholds/0", "metric", &gone),
            ("/thresholds/0", "now", &gone),
            ("/thresholds/0", "error", &json!("none")),
            ("/thresholds/0", "unit", &json!("permille")),
            ("/thresholds/0/tolerance", "to", &gone),
            ("/thresholds/0/bands/0", "effect", &json!("doubles")),
            ("/thresholds/0/bands/0", "certain", &gone),
            ("/thresholds/0/max", "met", &gone),
            ("/thresholds/0/lowest", "heldBy", &gone),
            ("/thresholds/0/highest", "proposal", &json!("many")),
            ("/thresholds/0/curve", "steps", &json!([])),
            ("/thresholds/0/curve/steps/0", "replicas", &gone),
            ("/expectations/0", "truth", &json!(true)),
            ("/expectations/0", "failOn", &gone),
            ("/expectations/0/values/0", "field", &gone),
            ("/expectations/0/values/0", "source", &json!("")),
            ("", "outcome", &gone),
            ("", "kind", &json!("Explanation")),
            ("", "unknown", &json!(1)),
            ("/outcome", "scaleTo", &json!("4")),
            ("/overrides/0", "item", &gone),
            ("/overrides/0", "assumed", &json!(80)),
            ("/overrides/0", "source", &json!("typed")),
            ("/overrides/0", "result", &json!(99)),
            ("/observed", "range", &gone),
            ("/observed", "replicas", &json!(4.5)),
            ("/observed", "certainty", &json!("likely")),
        ],
    );
}

#[test]
fn the_schema_describes_timelines_and_nothing_else() {
    let trace = concat!(
        "--trace=",
        env!("CARGO_MANIFEST_DIR"),
        "/examples/nginx/load.csv"
    );
    let mut limits = BTreeSet::new();
    let slow =
        r#"--set=behavior.scaleDown.policies=[{"type":"Pods","value":1,"periodSeconds":60}]"#;
    for flags in [
        &["--for=10m"][..],
        &["--for=10m", trace],
        &["--for=10m", trace, slow],
        &["--for=1m", "--replicas=12"],
        &["--for=1m", "--replicas=0", "--sync-period=100ms"],
        &["--for=1m", "--cpu=missing"],
        &["--for=1m", "--history=infer"],
    ] {
        let json: Value = serde_json::from_str(&prediction("json", flags)).expect("JSON");
        assert_eq!(published::PREDICTION.fault(&json), None, "{flags:?}");
        let yaml: Value = serde_yaml::from_str(&prediction("yaml", flags)).expect("YAML");
        assert_eq!(yaml, json);
        let timeline = &json["timeline"];
        let passes = timeline["passes"].as_u64().map(|count| count as usize);
        for column in ["replicas", "proposals", "readyPods"] {
            assert_eq!(
                timeline[column].as_array().map(Vec::len),
                passes,
                "{flags:?}: {column}"
            );
        }
        let changes = timeline["changes"].as_array().expect("changes").iter();
        let own = changes.flat_map(|change| change["limits"].as_array().expect("limits"));
        limits.extend(own.map(|limit| limit["by"].as_str().expect("a word").to_owned()));
    }
    let all = [
        "ScaleDownLimit",
        "ScaleUpLimit",
        "TooFewReplicas",
        "TooManyReplicas",
    ];
    let all = all.into_iter().chain(["outOfBounds", "stabilization"]);
    assert_eq!(limits, all.map(str::to_owned).collect());

    let right: Value =
        serde_json::from_str(&prediction("json", &["--for=10m", trace])).expect("JSON is printed");
    let gone = Value::Null;
    published::PREDICTION.rejects(
        &right,
        &[
            ("", "timeline", &gone),
            ("/timeline", "passes", &json!(0)),
            ("/timeline", "final", &gone),
            ("/timeline", "settledAt", &json!(345)),
            ("/timeline", "swing", &json!([2, 10])),
            ("/timeline", "load", &json!("none")),
            ("/timeline", "more", &json!(1)),
            ("/timeline/replicas", "0", &json!("2")),
            ("/timeline/changes/1", "limits", &gone),
            ("/timeline/changes/1/limits/0", "by", &json!("magic")),
            ("/timeline/changes/1/limits/0/recommendation", "time", &gone),
            ("/timeline/changes/1", "why", &json!("because")),
        ],
    );
}
