//! Texts that are read, in every arrangement that kubectl and people produce, and malformed texts,
//! with their error messages.

use jiff::SignedDuration;
use serde_json::json;

use super::{read_text, text_of, within};
use crate::apimachinery::go::GoDuration;
use crate::error::Error;
use crate::saved::objects::Objects;
use crate::saved::save::Saved;
use crate::snapshot::load::{Load, LoadQuery, Rows};
use crate::snapshot::note::Note;

fn read(text: &str) -> Result<Objects, Error> {
    let mut objects = Objects::default();
    read_text(text, "in", &mut objects)?;
    Ok(objects)
}

fn refusal(text: &str) -> String {
    read(text).expect_err(text).message
}

/// A Pod `a`, a Deployment `d`, with their kinds first, as kubectl sorts them, and last.
const POD: &str = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}"#;
const DEPLOYMENT: &str =
    r#"{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}"#;
const KIND_LAST: &str = r#"{"metadata": {"name": "a"}, "apiVersion": "v1", "kind": "Pod"}"#;
const NO_KIND: &str = r#"{"metadata": {"name": "a"}}"#;

#[test]
fn every_arrangement_of_the_same_objects_reads_the_same() {
    let list =
        |items: &str| format!(r#"{{"apiVersion": "v1", "kind": "List", "items": [{items}]}}"#);
    let sorted = |kind: &str, items: &str| {
        format!(r#"{{"apiVersion": "v1", "items": [{items}], "kind": "{kind}", "metadata": {{}}}}"#)
    };
    let both = format!("{POD}, {DEPLOYMENT}");
    let deployments = r#"{"kind": "DeploymentList", "apiVersion": "apps/v1",
        "items": [{"metadata": {"name": "d"}}]}"#;
    for text in [
        format!("{POD}{DEPLOYMENT}"),
        format!("{POD}\n{DEPLOYMENT}\n"),
        format!("{KIND_LAST}{DEPLOYMENT}"),
        list(&both),
        list(&format!("{KIND_LAST}, {DEPLOYMENT}")),
        list(&list(&list(&both))),
        sorted("List", &both),
        sorted("List", &sorted("List", &both)),
        sorted("PodList", NO_KIND) + deployments,
        sorted("PodList", POD) + deployments,
        sorted("PodList", KIND_LAST) + deployments,
        sorted("PodList", &both),
        sorted("PodList", r#"{"kind": "", "apiVersion": null, "metadata": {"name": "a"}}"#)
            + deployments,
        format!(r#"{{"kind": "PodList", "apiVersion": "v1", "items": null}}{both}"#)
            .replace(", {", "{"),
        format!("# a comment\n{POD}\n---\n---\n# another\n---\n{DEPLOYMENT}\n...\n---\n"),
        format!("{POD}\n---\n{DEPLOYMENT}"),
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\n\
         apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: d\n"
            .to_owned(),
        "kind: List\napiVersion: v1\nitems:\n- kind: Pod\n  apiVersion: &v v1\n  metadata: &m\n    \
         name: &n a\n- {kind: Deployment, apiVersion: apps/v1, metadata: {<<: *m, name: d}}\n"
            .to_owned(),
    ] {
        for text in [text.clone(), text.replace('\n', "\r\n")] {
            let objects = read(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            let pods: Vec<&str> = objects.pods.iter().map(|pod| &*pod.name).collect();
            let workloads = objects.workloads.iter();
            let workloads: Vec<&str> = workloads.map(|found| &*found.metadata.name).collect();
            assert_eq!((pods, workloads), (vec!["a"], vec!["d"]), "{text}");
            assert!(objects.skipped.is_empty(), "{text}");
        }
    }
}

/// A document of this program is read strictly, but not the list around it.
#[test]
fn a_list_may_have_null_for_metadata() {
    let state = r#"{"apiVersion": "kubectl-hpa/v1alpha1", "kind": "ControllerState"}"#;
    for metadata in ["null", r#"{"continue": null}"#, r#"{"continue": ""}"#] {
        let text = format!(
            r#"{{"apiVersion": "v1", "kind": "List", "items": [{POD}, {state}], "metadata": {metadata}}}"#
        );
        let mut objects = Objects::default();
        read_text(&text, "in", &mut objects).unwrap();
        assert_eq!(objects.pods.len(), 1, "{metadata}");
    }
}

/// The API server of these versions makes a selector of the labels of the template.
#[test]
fn a_selector_has_the_default_of_its_version() {
    let labels = Some("app=web");
    for (version, kind, stated, expected) in [
        ("v1", "ReplicationController", "{}", labels),
        ("v1", "ReplicationController", "{a: b}", Some("a=b")),
        ("extensions/v1beta1", "Deployment", "null", labels),
        ("apps/v1beta1", "Deployment", "null", labels),
        ("apps/v1beta1", "StatefulSet", "null", labels),
        (
            "apps/v1beta1",
            "StatefulSet",
            "{matchLabels: {a: b}}",
            Some("a=b"),
        ),
        ("apps/v1beta2", "Deployment", "null", None),
        ("apps/v1", "Deployment", "null", None),
    ] {
        let text = format!(
            "kind: {kind}\napiVersion: {version}\nmetadata: {{name: web}}\nspec:\n  selector: {stated}\n  \
             template: {{metadata: {{labels: {{app: web}}}}}}\n"
        );
        let objects = read(&text).unwrap();
        let selector = objects.workloads[0].pod_selector();
        let found = selector.map(|own| own.to_string());
        assert_eq!(found.as_deref(), expected, "{version} {kind} {stated}");
        assert_ne!(objects.workloads[0].group, "extensions");
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_text() {
    for text in [POD, "kind: Pod\napiVersion: v1\n"] {
        let marked = format!("\u{feff}{text}");
        let in_utf16 = |bytes: fn(u16) -> [u8; 2]| marked.encode_utf16().flat_map(bytes).collect();
        for bytes in [
            marked.as_bytes().to_vec(),
            in_utf16(u16::to_le_bytes),
            in_utf16(u16::to_be_bytes),
        ] {
            let mut objects = Objects::default();
            let read = within(&*bytes, 0, 1 << 10).unwrap();
            read_text(&text_of(read, "in").unwrap(), "in", &mut objects).unwrap();
            assert_eq!(objects.pods.len(), 1);
        }
    }
}

#[test]
fn what_is_read_twice_counts_once_or_is_refused() {
    let answer = |items: &str| {
        format!(
            r#"{{"apiVersion": "custom.metrics.k8s.io/v1beta2",
            "kind": "MetricValueList", "items": [{items}]}}"#
        )
    };
    let a = r#"{"describedObject": {"kind": "Pod", "name": "a"}, "metric": {"name": "q"}, "value": "1"}"#;
    let b = r#"{"describedObject": {"kind": "Pod", "name": "b"}, "metric": {"name": "q"}, "value": "1"}"#;
    for (answers, count) in [
        (vec![answer(&format!("{a},{b}"))], 2),
        (vec![answer(&format!("{a},{b}")), answer(a)], 2),
        (vec![answer(a), answer(&format!("{b},{a},{a}"))], 3),
        (
            vec![answer(&format!("{a},{a}")), answer(&format!("{a},{a}"))],
            2,
        ),
        // Each answer may have all items of the earlier ones again.
        (
            vec![answer(a), answer(b), answer(&format!("{b},{a}")), answer(a)],
            2,
        ),
    ] {
        let read = read(&answers.concat()).unwrap();
        assert_eq!(read.metric_values.len(), count, "{answers:?}");
    }
}

#[test]
fn a_fault_is_told_with_its_place_and_field() {
    let long = format!("[{}]", "a, ".repeat(100_000));
    let deep = format!("? [a]\n: {}{}\n", "[".repeat(120), "]".repeat(120));
    for (text, said) in [
        // JSON: by line and column.
        (
            "{\"kind\": \"Pod\",\n \"metadata\": }",
            "in:2:14: expected value",
        ),
        (
            "{\"kind\": \"Pod\",\n \"meta",
            "in:2:6: EOF while parsing a string",
        ),
        (
            "{\"kind\": \"Pod\",\r\n \"metadata\": {\"ö\": 1, \"name\": 5}}",
            "in:2:31: metadata.name: an integer, expected a string",
        ),
        (
            "{\"metadata\": {\r\n\"name\": 5}, \"kind\": \"Pod\"}",
            "in:2:9: metadata.name: an integer, expected a string",
        ),
        (
            r#"{"items": [{"kind": "Pod"}, {"metadata": {"labels": {"a.b/c": 1}}, "kind": "Pod"}], "kind": "List"}"#,
            "in:1:63: items[1].metadata.labels[a.b/c]: an integer, expected a string",
        ),
        (
            r#"{"kind": "Pod", "metadata": ["a"]}"#,
            "in:1:28: metadata: a list, expected an object",
        ),
        (
            r#"{"kind": "List", "items": [{"a": 1}]}"#,
            "in:1:35: items[0]: not a Kubernetes object: it has no kind",
        ),
        (
            r#"{"kind": "List", "items": {"items": []}}"#,
            "in:1:27: items: an object, expected a list of Kubernetes objects",
        ),
        // YAML: the same, though its values are read elsewhere.
        (
            "a: b\n c: d",
            "in:2:3: mapping values are not allowed in this context",
        ),
        (
            "kind: Pod\nmetadata:\n  labels:\n    ö: ß\n    x: no\n",
            "in:5:8: metadata.labels.x: a boolean, expected a string",
        ),
        (
            "---\n---\nkind: Pod\n---\nkind: List\nitems:\n- kind: Pod\n- kind: PodList\n  items: {}\n",
            "in:9:10: items[1].items: an object, expected a list of Kubernetes objects",
        ),
        (
            "kind: Pod\n---\nmetadata: {}\n",
            "in:3:1: not a Kubernetes object: it has no kind",
        ),
        ("- kind: Pod\n", "in: a list, expected a Kubernetes object"),
        ("hello", "in: a string, expected a Kubernetes object"),
        (&long, "in: a list, expected a Kubernetes object"),
        ("a: .nan\nkind: Pod\n", "in:1:4: not a finite number"),
        // Keys that name no field, as in templates.
        (
            "kind: Pod\nmetadata:\n  name: {{ .Release.Name }}\n",
            "in:3:10: metadata.name: an object as a key, expected a string",
        ),
        (
            "kind: List\nitems:\n- metadata:\n    ? [a, b]\n    : c\n",
            "in:4:7: items[0].metadata: a list as a key, expected a string",
        ),
        (&deep, "in:1:3: expected string scalar"),
        // Empty input.
        ("", "in: it is empty"),
        ("# a comment\n---\n---\n", "in: it has no object"),
        // An answer in place of a state.
        (
            r#"{"apiVersion": "kubectl-hpa/v1alpha1", "kind": "Prediction"}"#,
            "in:1:60: Prediction is an answer; -f reads the state that --save FILE writes",
        ),
        // Duplicates.
        (
            r#"{"kind": "Pod", "metadata": {}, "metadata": {}}"#,
            "in:1:44: metadata: duplicate field `metadata`",
        ),
        (
            r#"{"kind": "Pod", "apiVersion": "v1", "kind": "List"}"#,
            "in:1:51: two different values of kind",
        ),
        (
            r#"{"kind": "Pod", "metadata": {"labels": {"a": "b", "a": "c"}}}"#,
            "in:1:59: metadata.labels: duplicate field `a`",
        ),
        (
            r#"{"kind": "List", "items": [], "items": [{"kind": "Pod"}]}"#,
            "in:1:39: items: duplicate field `items`",
        ),
        (
            r#"{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "spec": {}, "spec": {}}"#,
            "in:1:86: spec: duplicate field `spec`",
        ),
        (
            r#"{"apiVersion": "metrics.k8s.io/v1", "kind": "PodMetrics", "containers": [{"usage": {"cpu": "1", "cpu": "2"}}]}"#,
            "in:1:101: containers[0].usage.cpu: duplicate field `cpu`",
        ),
        (
            r#"{"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"resources": {"requests": {"b": 1, "a": 1, "b": 1}}}]}}"#,
            "in:1:107: spec.containers[0].resources.requests.b: duplicate field `b`",
        ),
        // Our own documents are never skipped.
        (
            "kind: ControllerState\nnow: 2026-11-21T06:00:00Z\n",
            "in:1:1: unsupported apiVersion of ControllerState; expected \
             \"kubectl-hpa/v1alpha1\"",
        ),
        (
            "apiVersion: kubectl-hpa/v1alpha1\nkind: ControllerState\nnow: today\n",
            "in:3:6: now: not a time such as 2026-11-21T07:06:29Z",
        ),
        (
            "apiVersion: kubectl-hpa/v1alpha1\nkind: ControllerState\nerrors: [{api: scale}]\n",
            "in:3:10: errors[0]: missing field `message`",
        ),
        // However deeply nested.
        (&"[".repeat(100_000), "in:1:256: recursion limit exceeded"),
        (
            &"- ".repeat(100_000),
            "in: a list, expected a Kubernetes object",
        ),
        (
            &r#"{"a":"#.repeat(100_000),
            "in:1:500000: EOF while parsing a value",
        ),
    ] {
        assert_eq!(refusal(text), format!("failed to read {said}"));
    }
}

#[test]
fn the_last_of_equal_keys_counts_in_yaml() {
    let text = "kind: Scale\napiVersion: autoscaling/v1\nmetadata: {name: a, namespace: b}\nmetadata:\n  name: a\n  \
                name: c\nspec: {replicas: 1, replicas: 2}\n";
    let objects = read(text).expect("a Scale");
    let scale = &objects.scales[0];
    assert_eq!(
        (&*scale.metadata.name, &scale.metadata.namespace),
        ("c", &None)
    );
    assert_eq!(scale.spec.replicas, 2);
    let keys = [
        "metadata (line 5)",
        "metadata.name (line 6)",
        "spec.replicas (line 7)",
    ];
    let repeats = format!(
        "in repeats {}: the last one counts, as for kubectl",
        keys.join(", ")
    );
    assert_eq!(objects.notes, [Note::new(repeats)]);
    // Two outputs without a separator between them.
    let object = "kind: Pod\napiVersion: v1\nmetadata: {name: a}\n";
    let list = "kind: List\napiVersion: v1\nitems: []\n";
    for (first, second) in [
        (object, object),
        (list, list),
        (object, list),
        (list, object),
    ] {
        assert_eq!(
            refusal(&format!("{first}{second}")),
            "failed to read in:4: a second object in the same document"
        );
    }
    // One object that repeats its type, beside another that repeats something else.
    let retyped = format!("{object}kind: Pod\napiVersion: v1\n");
    let objects = read(&format!("{retyped}---\n{object}metadata: {{name: b}}\n")).expect("Pods");
    assert_eq!(objects.pods.len(), 2);
    // Errors are about the last one, too.
    let said = refusal("kind: Pod\napiVersion: v1\nmetadata: {}\nmetadata: {name: 1}\n");
    assert_eq!(
        said,
        "failed to read in:4:18: metadata.name: an integer, expected a string"
    );
}

#[test]
fn lists_do_not_nest_without_end() {
    for (start, end) in [
        (r#"{"apiVersion":"v1","kind":"List","items":["#, "]}"),
        (r#"{"items":["#, r#"],"kind":"List"}"#),
    ] {
        let nested = |depth| format!("{}{POD}{}", start.repeat(depth), end.repeat(depth));
        assert_eq!(read(&nested(8)).unwrap().pods.len(), 1);
        for depth in [9, 10_000] {
            let said = refusal(&nested(depth));
            assert!(said.ends_with("lists are nested too deeply"), "{said}");
        }
    }
}

#[test]
fn what_was_read_is_not_repeated_in_full() {
    for text in [
        "x".repeat(100_000),
        format!("kind: {}", "x".repeat(100_000)),
    ] {
        match read(&text) {
            Ok(objects) => assert_eq!(objects.skipped.len(), 1),
            Err(e) => assert!(e.message.len() < 500, "{}", e.message.len()),
        }
    }
}

#[test]
fn yaml_numbers_are_read_as_kubectl_would_send_them() {
    for (written, replicas) in [
        ("5", 5),
        ("5.0", 5),
        ("5e0", 5),
        ("0x10", 16),
        ("010", 8),
        ("0o10", 8),
        ("1_0", 10),
    ] {
        let text =
            format!("kind: Scale\napiVersion: autoscaling/v1\nspec: {{replicas: {written}}}");
        assert_eq!(
            read(&text).unwrap().scales[0].spec.replicas,
            replicas,
            "{written}"
        );
    }
    for (written, said) in [
        ("5.5", "a floating point number"),
        ("'5'", "a string"),
        ("yes", "a boolean"),
    ] {
        let text =
            format!("kind: Scale\napiVersion: autoscaling/v1\nspec: {{replicas: {written}}}");
        let said =
            format!("failed to read in:3:18: spec.replicas: {said}, expected a 32-bit integer");
        assert_eq!(refusal(&text), said);
    }
}

/// In go-yaml, what `strconv.ParseFloat` does not read is a string.
#[test]
fn a_number_too_large_for_a_float_is_a_string() {
    let pod = |labels: &str| format!("# ö 1e400\nkind: Pod\nmetadata:\n  labels: {labels}\n");
    let nines = "9".repeat(310);
    for (labels, value) in [
        ("{v: 31e4082}", "31e4082"),
        ("{v: -9e99999}", "-9e99999"),
        ("{v: +1.5E+400}", "+1.5E+400"),
        ("{v: 1_0e400}", "1_0e400"),
        ("{v: .9e999}", ".9e999"),
        ("{v: 08e400}", "08e400"),
        ("{v: 0x1ffffffffffffffff}", "0x1ffffffffffffffff"),
        ("\n    w: &w 1e400 # c\n    v: *w", "1e400"),
        (
            "\n    w: 1e400\n    1e500: 2e400\n    v: |-\n      1e400",
            "1e400",
        ),
        ("{w: 'it''s 1e400', v: 1e400 1e400}", "1e400 1e400"),
        ("{w: 1e400, v: \"1e400\"}", "1e400"),
        (&format!("{{v: {nines}}}"), &nines),
    ] {
        let objects = read(&pod(labels)).unwrap_or_else(|e| panic!("{labels}: {e}"));
        assert_eq!(objects.pods[0].labels.get("v"), Some(value), "{labels}");
    }
    for (labels, said) in [
        ("{v: .inf}", "in:4:15: not a finite number"),
        ("{v: -.inf}", "in:4:15: not a finite number"),
        ("{w: .inf, v: 1e400}", "in:4:15: not a finite number"),
        ("{v: !!float 1e400}", "in:4:23: not a finite number"),
        // Underflow is no error in Go.
        (
            "{v: 1e-400}",
            "in:4:15: metadata.labels.v: an integer, expected a string",
        ),
        (
            "{v: 1e400}\n a: b",
            "in:5:2: while parsing a block mapping, did not find expected key",
        ),
    ] {
        assert_eq!(refusal(&pod(labels)), format!("failed to read {said}"));
    }
    let values = "image:\n  tag: 31e4082\n";
    assert_eq!(
        refusal(values),
        "failed to read in:1:1: not a Kubernetes object: it has no kind"
    );
    assert!(super::yaml::has_no_object(values));
}

#[test]
fn what_is_not_utf_8_is_replaced_unless_it_is_no_text() {
    let pod = b"# R\xe9gion\nkind: Pod\nmetadata: {name: a}\n";
    let mut utf_16 = vec![0xff, 0xfe];
    let marked = "kind: Pod\nmetadata: {name: a} #";
    utf_16.extend(marked.encode_utf16().flat_map(u16::to_le_bytes));
    utf_16.push(b'x');
    for bytes in [pod.to_vec(), utf_16] {
        let text = text_of(within(&*bytes, 0, 1 << 10).unwrap(), "in").unwrap();
        assert_eq!(text.matches('\u{fffd}').count(), 1, "{text}");
        assert_eq!(read(&text).unwrap().pods.len(), 1, "{text}");
    }
    for (bytes, said, hint) in [
        (&b"\x89PNG\r\n\x1a\n\0"[..], "byte 8", None),
        (b"k\0i\0n\0d\0", "byte 1", None),
        (
            b"\x1f\x8b\x08\0",
            "byte 3",
            Some("it is compressed with gzip: unpack it first"),
        ),
    ] {
        let error = text_of(bytes.to_vec(), "in").expect_err(said);
        let message = format!("failed to read in: not text ({said} is 0)");
        assert_eq!((error.message, error.hint.as_deref()), (message, hint));
    }
}

#[test]
fn an_input_has_an_end() {
    assert_eq!(
        within(&b"abc"[..], 3, 3).expect("as much as may be"),
        b"abc"
    );
    for size in [0, 2, 9] {
        let error = within(std::io::repeat(0), size, 3).expect_err("more than may be");
        assert_eq!(error.to_string(), "it has more than 3 bytes");
    }
}

/// Whatever is in the cells, a load is read as it was saved.
#[test]
fn a_load_is_read_as_it_was_saved() {
    let cell = "[a-z0-9%,;\"\\\\\n\u{7f}-\u{2100}]{0,6}";
    let rows = proptest::collection::vec(proptest::collection::vec(cell, 3), 0..6);
    let notes = ["Prometheus warns: \"partial\"", "timed out"].map(str::to_owned);
    proptest::proptest!(|(rows in rows, columns in proptest::collection::vec(cell, 3), source in cell)| {
           let mut cells = Rows::default();
           rows.into_iter().for_each(|row| cells.push(row));
           let query = LoadQuery { of: columns[0].clone(), query: source.clone() };
           let load = Load {
               hpa: Some("shop/web".to_owned()),
               source,
               queries: vec![query],
               metrics_after: None,
               ready_after: Some(GoDuration(SignedDuration::from_millis(12_500))),
               notes: notes.to_vec(),
               columns,
               rows: cells,
               lines: None,
           };
           let mut json = Vec::new();
           let mut saved = Saved::of(&[], &[]).unwrap();
    saved.load = Some(&load);
    saved.write(&mut json).unwrap();
           let mut objects = Objects::default();
           read_text(std::str::from_utf8(&json).unwrap(), "saved", &mut objects).unwrap();
           assert_eq!(objects.load, Some(load));
       });
}

#[test]
fn only_one_load_can_be_played() {
    let load = r#"{"apiVersion":"kubectl-hpa/v1alpha1","kind":"Load","source":"a","columns":["time","cpu"],"rows":[]}"#;
    let mut objects = Objects::default();
    read_text(load, "one", &mut objects).unwrap();
    let error = read_text(load, "other", &mut objects).unwrap_err();
    assert!(
        error
            .message
            .ends_with("second Load: only one can be played"),
        "{error}"
    );
    let odd = load.replace("\"rows\"", "\"lines\"");
    let error = read_text(&odd, "odd", &mut Objects::default()).unwrap_err();
    assert!(error.message.contains("unknown field"), "{error}");
    for version in ["v9", "kubectl-hpa/v9"] {
        let other = load.replace("kubectl-hpa/v1alpha1", version);
        let error = read_text(&other, "other", &mut Objects::default()).unwrap_err();
        let want = "unsupported apiVersion of Load; expected \"kubectl-hpa/v1alpha1\"";
        assert!(error.message.ends_with(want), "{error}");
    }
}

/// How a workload replaces its pods is saved, as its kind states it.
#[test]
fn how_pods_are_replaced_is_read_and_saved() {
    let rolling = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}});
    let partition = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}});
    for (version, kind, spec) in [
        (
            "apps/v1",
            "Deployment",
            json!({"strategy": rolling, "paused": true}),
        ),
        (
            "apps/v1",
            "StatefulSet",
            json!({"updateStrategy": partition}),
        ),
        (
            "apps/v1",
            "StatefulSet",
            json!({"updateStrategy": {"type": "OnDelete"}}),
        ),
        ("apps/v1", "ReplicaSet", json!({})),
        ("argoproj.io/v1alpha1", "Rollout", json!({"paused": false})),
    ] {
        let metadata = json!({"name": "web"});
        let object =
            json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec});
        let read = read(&object.to_string()).unwrap().workloads.remove(0);
        assert_eq!(serde_json::to_value(&read).unwrap()["spec"], spec, "{kind}");
    }
    // A field of another kind does not belong to it.
    let foreign = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"updateStrategy": {"type": "OnDelete"}}});
    assert_eq!(
        read(&foreign.to_string()).unwrap().workloads[0].strategy,
        None
    );
}

#[test]
fn directories_inside_a_directory_are_skipped_with_a_note_and_named_in_errors() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().display().to_string();
    let state = "apiVersion: kubectl-hpa/v1alpha1\nkind: ControllerState\n";
    for (file, text) in [
        ("web.yaml", "kind: Pod\n"),
        ("a/a.yaml", "kind: Pod\n"),
        ("b/b.json", r#"{"kind": "Pod"}"#),
        ("docs/README.md", ""),
        (".git/c.yaml", "kind: Pod\n"),
        ("saved/state.yaml", state),
        ("saved/other/state.yaml", state),
    ] {
        let path = place.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let inside = |name: &str| format!("{root}/{name}");
    let note = |names: &[&str]| {
        let (count, names) = (names.len(), names.iter().map(|name| inside(name)));
        let names = names.collect::<Vec<_>>().join(", ");
        match count {
            1 => format!("the directory {names} is skipped: name it to read it"),
            _ => format!("{count} directories are skipped: name them to read them: {names}"),
        }
    };
    for (named, skipped) in [
        (&[""][..], &["a", "b", "saved"][..]),
        (&["", "a/", "saved"], &["b"]),
        (&["", "saved", "a/../a"], &["b"]),
        // Next to a state may be another.
        (&["saved"], &[]),
        (&["saved", ""], &["a", "b"]),
    ] {
        let named: Vec<String> = named.iter().map(|name| inside(name)).collect();
        let read = super::read(&named).unwrap();
        let notes: Vec<&str> = read.notes.iter().map(|it| &*it.text).collect();
        let about = notes.iter().find(|it| it.contains("director")).copied();
        let expected = (!skipped.is_empty()).then(|| note(skipped));
        assert_eq!(about, expected.as_deref(), "{named:?}");
    }
    // A candidate comes from one directory, but an error names the others.
    let candidate = super::read_manifests(&root).unwrap();
    assert_eq!(candidate.notes, []);
    let hint = format!("it has Pod/; {}", note(&["a", "b", "saved"]));
    assert_eq!(candidate.without_hpa(), hint);
    let error = super::read_manifests(&"examples".to_owned()).err().unwrap();
    assert_eq!(
        error.message,
        "no .json, .yaml or .yml file in the directory examples"
    );
    assert!(
        error
            .hint
            .unwrap()
            .starts_with("name a directory inside it that has an HPA: examples/")
    );
}

/// The order of the system differs from one machine to the next.
#[cfg(unix)]
#[test]
fn skipped_links_are_noted_in_the_order_of_their_names() {
    let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(inside.path().join("a.json"), "{}").unwrap();
    std::fs::write(outside.path().join("b.json"), "{}").unwrap();
    let links: Vec<_> = (10..40)
        .map(|at| inside.path().join(format!("{at}.json")))
        .collect();
    for at in 0..links.len() {
        let link = &links[at * 7 % links.len()];
        std::os::unix::fs::symlink(outside.path().join("b.json"), link).unwrap();
    }
    let broken = inside.path().join("c.json");
    std::os::unix::fs::symlink("none.json", &broken).unwrap();
    let mut notes = Vec::new();
    super::expand(inside.path().to_str().unwrap(), &mut notes).unwrap();
    let out = "leads out of the directory; name it to read it";
    let links = links.into_iter().map(|path| (path, out));
    let expected: Vec<Note> = links
        .chain([(broken, "leads nowhere")])
        .map(|(path, leads)| {
            let path = path.display();
            Note::new(format!("{path} is skipped: it is a link that {leads}"))
        })
        .collect();
    assert_eq!(notes, expected);
}

/// A list that was cut off has lost its kind, which kubectl writes after the items, but it is no other file.
#[test]
fn a_list_without_a_kind_is_not_skipped() {
    let items = "items:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n";
    let forbidden =
        "Error from server (Forbidden): pods is forbidden: cannot list in API group: x\n";
    for (text, is_list) in [
        (&*format!("apiVersion: v1\n{items}"), true),
        (items, true),
        ("apiVersion: v1\nitems:\n- metadata: {name: a}\n", true),
        (r#"{"items": [{"apiVersion": "v1", "kind": "Pod"}]}"#, true),
        (r#"[{"apiVersion": "v1", "kind": "Pod"}]"#, true),
        (r#"[{"kind": "function"}]"#, false),
        ("apiVersion: v1\nitems: [{name: a}]\nreplicas: 1\n", false),
        ("items: [{name: a}]\n", false),
        ("- a\n", false),
        ("metadata: {kind: Pod}\n", false),
        (forbidden, false),
        (&format!("{forbidden}\n{forbidden}"), false),
    ] {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name).display().to_string();
        std::fs::write(path("a.yaml"), text).unwrap();
        let skipped = format!("skipped {}: no Kubernetes object", path("a.yaml"));
        let cut = format!(
            "failed to read {}: a list without a kind: it may be cut off",
            path("a.yaml")
        );
        match super::read(&[path("")]) {
            Ok(objects) => assert_eq!((objects.notes, is_list), (vec![Note::new(skipped)], false)),
            Err(e) => assert_eq!((e.message, is_list), (cut, true), "{text}"),
        }
    }
}
