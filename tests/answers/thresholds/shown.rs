//! Thresholds and curves as the program prints them, for a terminal of 80 columns with and without
//! Unicode, as a picture, as Markdown, and its message when there is nothing to draw.

use crate::common::build;
use crate::common::ran::{Ran, program, run};

use serde_json::{Value, json};

/// Returns what is printed about the example, with the exit code: standard output, and error.
fn predict(locale: &str, flags: &[&str]) -> Ran {
    run(program()
        .args([
            "predict",
            "nginx-deployment",
            "-f",
            "examples/nginx",
            "--cpu",
            "30%",
        ])
        .args(flags)
        .env("LC_ALL", locale))
}

/// Returns the part of a page from one heading to the other.
fn part<'t>(page: &'t str, from: &str, to: &str) -> &'t str {
    let (_, rest) = page.split_once(from).expect("the heading");
    rest.split_once(to).expect("the next heading").0.trim_end()
}

/// A pod without metrics counts as unused, so no value asks for fewer than the current replicas.
#[test]
fn the_lowest_proposal_is_a_lower_bound() {
    let page =
        run(program().args(["predict", "cart", "-f", "examples/shop", "--cpu", "90%"])).stdout;
    let expected = "any value   removes none: it proposes at least 3\n";
    assert!(page.contains(expected), "{page}");
}

/// While more pods count than there are replicas, a value below the target may add some.
#[test]
fn what_is_held_is_said_wherever_the_pods_exceed_the_replicas() {
    let pods = ["web-0", "web-1", "web-2"];
    let pods = pods.map(|name| [build::pod(name), build::pod_metrics(name, "50m")]);
    let items = [
        build::state(
            &json!({"recommendations": [{"replicas": 2, "time": "2026-11-21T05:59:00Z"}]}),
        ),
        build::hpa(&json!({"metrics": [build::resource("cpu", &build::utilization(50))]})),
        build::scale(2),
    ];
    let input = build::list(items.into_iter().chain(pods.into_iter().flatten()));
    let args = ["predict", "web", "-f", "-", "--cpu", "50%"];
    let page = run(program().args(args).write_stdin(input)).stdout;
    let expected = "proposes minReplicas (1), but removes none before 06:04:00Z (in 4m): stabilization holds 2\n";
    assert!(page.contains(expected), "{page}");
}

/// What is held longest ago may leave the window sooner than is likely: even if it is as old as the window, to the
/// second, at the latest time of the next pass.
#[test]
fn a_held_metric_removes_none_before_the_earliest_time() {
    let rules = json!({"scaleDown": {"stabilizationWindowSeconds": 120}});
    let metric = build::external("queue", &build::value("100"));
    let spec = json!({"maxReplicas": 5, "metrics": [metric], "behavior": rules});
    let current = json!({"metric": {"name": "queue"}, "current": {"value": "80"}});
    let metrics = json!([{"type": "External", "external": current}]);
    let condition = |type_: &str, status: &str, reason: &str, since: &str| {
        let since = format!("2026-11-21T{since}Z");
        json!({"type": type_, "status": status, "reason": reason, "lastTransitionTime": since})
    };
    let conditions = [
        condition("AbleToScale", "True", "ScaleDownStabilized", "05:00:15"),
        condition("ScalingActive", "True", "ValidMetricFound", "05:00:15"),
        condition("ScalingLimited", "False", "DesiredWithinRange", "05:58:42"),
    ];
    let status = json!({"currentReplicas": 5, "desiredReplicas": 5, "currentMetrics": metrics,
        "lastScaleTime": "2026-11-21T05:50:00Z", "conditions": conditions});
    let page = |written: &str| {
        let of_status = json!({"manager": "kube-controller-manager", "operation": "Update", "subresource": "status",
            "time": written, "fieldsV1": {"f:status": {"f:conditions": {}}}});
        let of_spec = json!({"manager": "kubectl", "operation": "Update",
            "time": "2026-11-21T05:00:00Z", "fieldsV1": {"f:spec": {"f:maxReplicas": {}}}});
        let managed = [of_spec, of_status];
        let metadata = json!({"uid": "u", "creationTimestamp": "2026-11-21T05:00:00Z", "managedFields": managed});
        let hpa = build::with(
            build::hpa(&spec),
            &json!({"metadata": metadata, "status": status}),
        );
        let input = build::list([hpa, build::scale(5), build::queue(&["80"])]);
        let args = ["predict", "web", "-f", "-", "--now", "2026-11-21T06:00:06Z"];
        let more = ["--metric", "queue=80", "--kubernetes-version", "v1.36.2"];
        let args = [&args[..], &more].concat();
        run(program().args(args).write_stdin(input)).stdout
    };
    for (written, earliest) in [
        ("2026-11-21T05:59:59Z", "06:00:28Z"),
        ("2026-11-21T06:00:00Z", "06:00:29Z"),
    ] {
        let page = page(written);
        let next = format!("; from {earliest} at the earliest");
        let held = format!("removes none before {earliest}");
        assert!(page.contains(&next) && page.contains(&held), "{page}");
    }
}

/// What a metric that could not be read asks for may be more than a value of another one.
#[test]
fn a_metric_that_is_not_read_may_keep_the_replicas() {
    let metrics = json!([
        build::resource("cpu", &build::utilization(50)),
        build::external("queue", &build::average("10")),
    ]);
    let denied = json!({"api": "external", "metric": "queue", "message": "no", "denied": true});
    let unread = "it depends on metrics that could not be read";
    for (window, expected) in [
        (0, format!("may remove none: {unread}")),
        (
            300,
            format!("removes none: stabilization holds 4, and then {unread}"),
        ),
    ] {
        let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": window}});
        let input = build::list([
            build::state(&json!({"recommendations": [], "errors": [denied]})),
            build::hpa(&json!({"metrics": metrics, "behavior": behavior})),
            build::scale(1),
            build::pod("web-0"),
            build::pod_metrics("web-0", "50m"),
        ]);
        let args = ["predict", "web", "-f", "-", "--replicas", "4"];
        let page = run(program().args(args).write_stdin(input)).stdout;
        let expected = format!("proposes fewer, but {expected}\n");
        assert!(page.contains(&expected), "{page}");
    }
}

#[test]
fn a_direction_that_is_disabled_is_named() {
    let set = "behavior.scaleDown.selectPolicy=Disabled";
    let page = predict("C", &["--replicas", "4", "--set", set]).stdout;
    let expected = "removes none: behavior disables scaling down\n";
    assert!(page.contains(expected), "{page}");
}

/// Returns what is printed about an HPA that may scale from zero and whose queue has 100 items, with this spec, the
/// replicas wanted and there, and two pods that may be unready.
fn page_of(spec: &Value, replicas: [i32; 2], ready: &str) -> String {
    let [wanted, there] = replicas;
    let conditions = json!({"status": {"conditions": [
        {"type": "Ready", "status": ready, "lastTransitionTime": "2026-11-21T05:00:10Z"}]}});
    let scaled_to_zero = json!({"type": "ScaledToZero", "status": "True", "reason": "ScaledToZero",
        "message": "earlier", "lastTransitionTime": "2026-11-21T05:50:00Z"});
    let hpa = build::with(
        build::hpa(spec),
        &json!({"status": {"currentReplicas": 0, "desiredReplicas": 0, "conditions": [scaled_to_zero]}}),
    );
    let scale = json!({"status": {"replicas": there}});
    let pods = ["web-0", "web-1"].map(|name| build::with(build::pod(name), &conditions));
    let items = [
        build::state(&json!({"featureGates": {"HPAScaleToZero": true}})),
        hpa,
        build::with(build::scale(wanted), &scale),
        build::queue(&["100"]),
    ];
    let input = build::list(items.into_iter().chain(pods));
    run(program()
        .args(["predict", "web", "-f", "-"])
        .write_stdin(input))
    .stdout
}

/// At the highest value, what holds the replicas may hold them from below, and the other way round.
#[test]
fn a_reason_has_the_direction_of_its_sentence() {
    let total = build::external("queue", &build::value("100"));
    let each = build::external("queue", &build::average("50"));
    let failing = build::external("rate", &build::average("50"));
    let up = json!({"scaleUp": {"selectPolicy": "Disabled"}, "scaleDown": {"tolerance": "1"}});
    let higher = json!({"metrics": [total, each], "maxReplicas": 2});
    for (spec, replicas, ready, expected) in [
        (
            // Above the tolerance it is the ratio times no pod.
            json!({"metrics": [total]}),
            [2, 2],
            "False",
            "any value adds none: it proposes at most 2",
        ),
        (
            json!({"metrics": [total, failing]}),
            [2, 2],
            "False",
            "any value adds none: it proposes at most 2",
        ),
        (
            json!({"metrics": [each], "behavior": up}),
            [2, 3],
            "True",
            "any value removes none: it proposes at least 3",
        ),
        (
            json!({"metrics": [each], "minReplicas": 2, "maxReplicas": 2}),
            [2, 2],
            "True",
            "above 110 proposes more, but adds none: already at maxReplicas (2)",
        ),
        (
            json!({"metrics": [each], "minReplicas": 2, "maxReplicas": 2}),
            [2, 2],
            "True",
            "up to 50 proposes fewer, but removes none: already at minReplicas (2)",
        ),
        (
            higher,
            [2, 2],
            "True",
            "above 110 proposes more, but adds none: already at maxReplicas (2)",
        ),
        (
            json!({"metrics": [each], "minReplicas": 2}),
            [0, 0],
            "True",
            "any value adds replicas: below minReplicas (2)",
        ),
    ] {
        let page = page_of(&spec, replicas, ready);
        let mut lines = page
            .lines()
            .map(|line| Vec::from_iter(line.split_whitespace()).join(" "));
        assert!(
            lines.any(|line| line.ends_with(expected)),
            "{expected}\n{page}"
        );
    }
}

#[test]
fn a_picture_stands_alone() {
    let picture_of = |metric: &str| {
        predict("C", &["--curve", metric, "-o", "svg"])
            .quiet()
            .text()
    };
    let picture = picture_of("cpu");
    // A container without a metric of its own has one, too.
    let of_container = picture_of("nginx=cpu");
    assert!(
        of_container.contains(">REPLICAS OVER cpu in nginx</title>"),
        "{of_container}"
    );
    let document = roxmltree::Document::parse(&picture).expect("XML");
    assert_eq!(document.root_element().attribute("role"), Some("img"));
    let words = |name: &str| {
        let mut nodes = document.descendants();
        let node = nodes
            .find(|node| node.has_tag_name(name))
            .expect("an element");
        node.text().expect("words").to_owned()
    };
    assert_eq!(words("title"), "REPLICAS OVER cpu");
    let said = "cpu: up to 10%: proposes fewer, but removes none: already at minReplicas (2); \
                18% to 22%: within tolerance; above 22%: adds replicas;";
    assert!(words("desc").starts_with(said), "{}", words("desc"));
}

#[test]
fn the_points_are_in_the_object() {
    let object = predict("C", &["--curve", "cpu", "-o", "json"]).json();
    let changes = &object["thresholds"][0];
    let bands = json!([
        {"from": 0, "to": 22, "effect": "keeps", "certain": true},
        {"from": 23, "to": changes["upTo"], "effect": "adds", "certain": true},
    ]);
    assert_eq!(
        (&changes["metric"], &changes["now"]),
        (&json!("cpu"), &json!(30))
    );
    assert_eq!(
        (&changes["unit"], &changes["bands"]),
        (&json!("percent"), &bands)
    );
    // 2 v / 20 for the 2 pods, and at most 4 from 2; but 2 while it is on target.
    let point = |from, proposal, replicas| json!({"from": from, "proposal": proposal, "replicas": replicas});
    let steps = changes["curve"]["steps"].as_array().expect("steps");
    let expected = [
        point(0, 0, 2),
        point(1, 1, 2),
        point(11, 2, 2),
        point(23, 3, 3),
        point(31, 4, 4),
    ];
    assert_eq!(steps[..5], expected);
    assert_eq!(steps.last(), Some(&point(101, 11, 4)));
    let object = predict("C", &["-o", "json"]).json();
    assert_eq!(object["thresholds"][0].get("curve"), None);
}

#[test]
fn a_comment_holds_both() {
    let text = predict("C", &["--curve", "cpu", "-o", "markdown"]).stdout;
    assert!(text.contains("**CHANGES**\n\n"), "{text}");
    // The chart is one element, which none of its lines ends.
    let mut options = comrak::Options::default();
    options.render.r#unsafe = true;
    let html = comrak::markdown_to_html(&text, &options);
    let chart = part(&html, "<pre>", "</pre>");
    assert_eq!(chart.lines().count(), 16, "{chart}");
    assert!(
        !chart.contains("<p>") && chart.contains("as a percentage of requests"),
        "{chart}"
    );
}

#[test]
fn there_may_be_nothing_to_draw() {
    for (flags, code, message, hint) in [
        (
            &["--curve", "memory"] as &[&str],
            2,
            "the HPA has no metric memory",
            "it has cpu",
        ),
        (
            &["--curve", "app=cpu"],
            2,
            "no pod of the target has a container app",
            "they have nginx",
        ),
        (
            &["--curve", "cpu{a=b}"],
            2,
            "the HPA has no metric cpu{a=b}",
            "it has cpu",
        ),
        (
            &["--curve", ""],
            2,
            "--curve : the metric is missing",
            "such as cpu",
        ),
        (
            &["--curve", "=cpu"],
            2,
            "--curve =cpu: the metric is missing",
            "such as cpu",
        ),
        (
            &["--curve", "cpu{a"],
            2,
            "--curve cpu{a: the metric is missing",
            "such as cpu",
        ),
        (
            &["-o", "svg"],
            2,
            "-o svg: there is nothing to draw",
            "--curve METRIC",
        ),
        (
            &["--curve", "cpu", "-o", "svg", "--replicas", "20"],
            1,
            "no curve: the pass ignores metrics",
            "",
        ),
    ] {
        let ran = predict("C", flags);
        let stderr = ran.refused(code);
        assert!(
            stderr.contains(message) && stderr.contains(hint),
            "{flags:?}: {stderr}"
        );
    }
}
