//! `predict` from a manifest alone: the pods that it assumes give the answer that a state with as many ready,
//! equal pods gives.

use crate::common::{self, build};

use std::iter;

use jiff::Timestamp;
use kubectl_hpa::args::Validate;
use kubectl_hpa::engine::decision::MetricResult;
use kubectl_hpa::error::Error;
use kubectl_hpa::pass::Pass;
use kubectl_hpa::render::markdown::markdown;
use kubectl_hpa::report::Explanation;
use kubectl_hpa::report::page::Page;
use kubectl_hpa::report::prediction::Prediction;
use kubectl_hpa::saved::assemble::assemble;
use kubectl_hpa::saved::file::read_text;
use kubectl_hpa::saved::objects::Objects;
use kubectl_hpa::saved::scaled_objects::add_hpas_of_keda;
use kubectl_hpa::snapshot::input::Input;
use kubectl_hpa::snapshot::input::Options;
use kubectl_hpa::whatif::expect::{Expression, Fact, PassFacts};
use kubectl_hpa::whatif::overrides::{Assumptions, Candidate, KnownValues, Override, suppose_pods};
use serde_json::{Value, json};

/// The target for a share of the CPU that is requested.
fn share() -> Value {
    build::resource("cpu", &build::utilization(70))
}

fn memory() -> Value {
    build::resource("memory", &build::average("200Mi"))
}

fn of_container() -> Value {
    build::resource_of("cpu", "app", &build::utilization(70))
}

/// A ScaledObject with a share of the CPU, and with these fields of its spec.
fn scaled_object(name: &str, spec: &Value) -> Value {
    let trigger = json!({"type": "cpu", "metricType": "Utilization", "metadata": {"value": "70"}});
    let object = build::scaled_object(name, &json!({"spec": {"triggers": [trigger]}}));
    build::with(object, &json!({"spec": spec}))
}

/// One metric of each type, with flags that state its value, and whether they need requests.
fn metrics() -> [(Value, &'static [&'static str], bool); 6] {
    let pods = build::per_pod("rps", "100");
    let ingress = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "web"});
    let object = json!({"type": "Object", "object": {"metric": {"name": "hits"},
        "describedObject": ingress, "target": build::value("100")}});
    let external = build::external("queue", &build::average("30"));
    [
        (share(), &["--cpu"], true),
        (memory(), &["--memory"], false),
        (of_container(), &["--cpu"], true),
        (pods, &["--metric", "rps="], false),
        (object, &["--metric", "hits="], false),
        (external, &["--metric", "queue="], false),
    ]
}

/// The HPA of one metric, a share of the CPU that is requested.
fn web() -> Value {
    hpa(&share())
}

fn hpa(metric: &Value) -> Value {
    json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 2, "maxReplicas": 40, "metrics": [metric],
        },
    })
}

fn template() -> Value {
    let requests = json!({"cpu": "1", "memory": "1Gi"});
    json!({
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "app", "image": "web:1", "resources": {"requests": requests}}]},
    })
}

fn deployment(replicas: i32) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
            "template": template()},
    })
}

fn pod(number: i32) -> Value {
    let mut pod = template();
    pod["apiVersion"] = "v1".into();
    pod["kind"] = "Pod".into();
    pod["metadata"]["name"] = format!("web-{number}").into();
    pod["metadata"]["namespace"] = "default".into();
    let since = "2026-11-20T06:00:00Z";
    pod["status"] = json!({"phase": "Running", "startTime": since,
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": since}]});
    pod
}

/// The pass that is predicted from documents.
fn predict(documents: &[Value], flags: impl IntoIterator<Item: AsRef<str>>) -> Result<Pass, Error> {
    let (input, assumptions) = suppose(documents, flags, &[])?;
    Ok(Pass::run(apply(input, &assumptions)?.0))
}

/// The input with its assumptions, and each of them.
fn apply(input: Input, assumptions: &Assumptions) -> Result<(Input, Vec<Override>), Error> {
    let decision = Pass::run(input.clone()).decision;
    assumptions.apply(input, &decision)
}

/// The documents of a candidate, as `--hpa` takes them from a file.
fn candidate(file: &str, documents: &[Value]) -> Result<Candidate, Error> {
    let text = build::list(documents.to_vec());
    common::candidate(&text, file, Validate::Strict)
}

/// The input with assumed pods, and the other assumptions.
fn suppose(
    documents: &[Value],
    flags: impl IntoIterator<Item: AsRef<str>>,
    candidates: &[Candidate],
) -> Result<(Input, Assumptions), Error> {
    let flags = flags.into_iter().map(|flag| flag.as_ref().to_owned());
    let args = common::typed(iter::once("web".to_owned()).chain(flags));
    let assumptions = Assumptions::read(&args.overrides)?;
    let now: Timestamp = build::NOW.parse().expect("a time");
    let mut objects = Objects::default();
    read_text(&build::list(documents.to_vec()), "manifest", &mut objects)?;
    let namespace = args.connection.namespace.clone();
    let mut options = Options {
        name: "web".to_owned(),
        namespace,
        ..Options::default()
    };
    add_hpas_of_keda(&mut objects, &mut options)?;
    let mut input = assemble(objects, &options, now)?;
    let candidates = candidates.iter().collect();
    let values = KnownValues {
        trace: None,
        is_asked: false,
        candidates,
    };
    suppose_pods(&mut input, &assumptions, &values)?;
    Ok((input, assumptions))
}

/// What a pass publishes.
fn published(pass: &Pass) -> Value {
    serde_json::to_value(Explanation::new(pass)).expect("JSON")
}

/// What `published` says of the assumed pods.
fn pods_of(published: &Value) -> String {
    let items = published["basis"].as_array().expect("a list");
    let pods = items
        .iter()
        .find(|item| item["item"] == "pods")
        .expect("assumed pods");
    format!(
        "{} ({})",
        pods["value"].as_str().expect("text"),
        pods["source"].as_str().expect("text")
    )
}

/// The notes of a pass, in words.
fn notes_of(pass: &Pass) -> Vec<String> {
    let published = published(pass);
    let notes = published["notes"].as_array().expect("a list").iter();
    notes
        .map(|note| note.as_str().expect("text").to_owned())
        .collect()
}

/// What must be the same: the proposal, the scale, the status and the events.
fn answer(pass: &Pass) -> Value {
    json!({"outcome": pass.decision.outcome, "proposal": pass.decision.proposal})
}

#[test]
fn assumed_pods_answer_as_ready_and_equal_ones() {
    let mut changes = 0;
    for (metric, flags, is_share) in metrics() {
        let (flag, name) = (flags[0], flags.get(1));
        for replicas in [1, 2, 3, 7, 30] {
            for percent in [0, 35, 63, 70, 77, 78, 101, 250, 900] {
                let value = match name {
                    Some(name) => format!("{name}{percent}"),
                    None if is_share => format!("{percent}%"),
                    None => format!("{percent}Mi"),
                };
                let flags = [flag.to_string(), value];
                let with = |more: &str| {
                    let more = if more.is_empty() {
                        None
                    } else {
                        Some(format!("--replicas={more}"))
                    };
                    flags.iter().cloned().chain(more).collect::<Vec<_>>()
                };
                let pods = (0..replicas).map(pod);
                let state: Vec<Value> = [hpa(&metric), deployment(replicas)]
                    .into_iter()
                    .chain(pods)
                    .collect();
                let known = predict(&state, with("")).expect("an answer");
                let expected = answer(&known);
                changes += usize::from(known.decision.replicas_after() != Some(replicas));
                let text = replicas.to_string();
                for (documents, replicas) in [
                    (vec![hpa(&metric)], &*text),
                    (vec![hpa(&metric), deployment(replicas)], ""),
                    (vec![hpa(&metric), deployment(replicas + 1)], &*text),
                ] {
                    let pass = predict(&documents, with(replicas)).expect("an answer");
                    assert_eq!(answer(&pass), expected, "{metric} {flags:?} {replicas}");
                }
            }
        }
    }
    assert!(changes > 100, "{changes}");
}

/// Two metrics of one name and another type, or of an object of another group, are two metrics everywhere.
#[test]
fn metrics_of_one_name_are_told_apart() {
    let of = |type_: &str, name: &str| {
        let source = json!({"metric": {"name": name}, "target": build::average("10")});
        json!({"type": type_, type_.to_lowercase(): source})
    };
    let hits = |group: &str| {
        let object = json!({"apiVersion": group, "kind": "Ingress", "name": "web"});
        json!({"type": "Object", "object": {"metric": {"name": "hits"},
            "describedObject": object, "target": build::value("10")}})
    };
    let cpu = build::resource("cpu", &build::utilization(60));
    let both = |one: Value, two: Value| {
        let mut hpa = hpa(&one);
        hpa["spec"]["metrics"].as_array_mut().unwrap().push(two);
        hpa
    };
    let proposals = |hpa: &Value, flags: &[&str]| {
        let flags = [&["--replicas", "3"], flags].concat();
        let pass = predict(std::slice::from_ref(hpa), &flags).map_err(|e| e.message)?;
        let proposals = pass.decision.metrics().map(|own| match &own.result {
            MetricResult::Proposal(proposal) => Some(proposal.replicas),
            _ => None,
        });
        Ok::<_, String>(proposals.collect::<Vec<_>>())
    };
    let rps = both(of("Pods", "rps"), of("External", "rps"));
    let flags = ["--metric", "Pods/rps=30", "--metric", "External/rps=40"];
    assert_eq!(proposals(&rps, &flags), Ok(vec![Some(9), Some(4)]));
    let flags = [&flags[..], &["--target", "External/rps=5"]].concat();
    assert_eq!(proposals(&rps, &flags), Ok(vec![Some(9), Some(8)]));
    let flags = [
        "--metric",
        "External/rps=40",
        "--pod",
        "web-assumed-1:Pods/rps=30",
        "--missing",
        "2",
    ];
    assert_eq!(proposals(&rps, &flags), Ok(vec![Some(3), Some(4)]));
    let cpus = both(of("Pods", "cpu"), cpu);
    assert_eq!(
        proposals(&cpus, &["--metric", "Pods/cpu=20", "--cpu", "90%"]),
        Ok(vec![Some(6), Some(5)])
    );
    let groups = both(hits("extensions/v1beta1"), hits("networking.k8s.io/v1"));
    let flags = [
        "--metric",
        "hits on Ingress.extensions/web=20",
        "--metric",
        "hits on Ingress.networking.k8s.io/web=30",
    ];
    assert_eq!(proposals(&groups, &flags), Ok(vec![Some(6), Some(9)]));

    for (hpa, flags, want) in [
        (
            &rps,
            &["--metric", "rps=30"],
            "--metric rps=30: rps is ambiguous: Pods/rps, External/rps",
        ),
        (
            &rps,
            &["--target", "rps=5"],
            "rps is ambiguous: Pods/rps, External/rps",
        ),
        (
            &rps,
            &["--metric", "Object/rps=3"],
            "--metric Object/rps=3: the HPA has no metric Object/rps",
        ),
        (
            &groups,
            &["--metric", "hits on Ingress/web=3"],
            "--metric hits on Ingress/web=3: hits on Ingress/web is ambiguous: hits on Ingress.extensions/web, hits on \
             Ingress.networking.k8s.io/web",
        ),
    ] {
        assert_eq!(proposals(hpa, flags), Err(want.to_owned()));
    }
    let pass = predict(&[rps], &["--replicas", "3", "--metric", "Pods/rps=30"]).unwrap();
    assert_eq!(
        notes_of(&pass),
        ["the pass has no value of External/rps; state it, such as --metric External/rps=10"]
    );
    let facts = PassFacts::of(&pass);
    let facts = ["metric.Pods/rps.desired", "metric.External/rps.desired"].map(|field| {
        let (_, field) = Expression::parse(&format!("{field} > 0"))
            .expect("one")
            .fields
            .remove(0);
        facts.get(&field)
    });
    assert!(
        matches!(facts, [Fact::Count { min: 9, .. }, Fact::Unknown(_)]),
        "{facts:?}"
    );
    let page = markdown(&Page::new(&Explanation::new(&pass), false));
    assert!(
        page.contains("Pods/rps") && !page.contains("| rps"),
        "{page}"
    );
}

/// The name of a metric may have braces, such as the name of a list in Redis with a hash tag.
#[test]
fn names_with_braces_are_taken_as_they_are() {
    let metric = |name: &str, selector: Value| {
        json!({"type": "External", "external": {
            "metric": {"name": name, "selector": selector},
            "target": build::average("10")}})
    };
    let by_label = json!({"matchLabels": {"queue": "a"}});
    for (name, selector, typed) in [
        ("a{b}c", json!(null), "a{b}c=50"),
        ("a{b}", json!(null), "a{b}=50"),
        ("a{b}", by_label.clone(), "a{b}=50"),
        ("a{b}", by_label.clone(), "a{b}{queue=a}=50"),
        ("a", by_label, "a{queue=a}=50"),
        ("a", json!(null), "a{}=50"),
    ] {
        let flags = ["--replicas", "3", "--metric", typed];
        let pass = predict(&[hpa(&metric(name, selector))], &flags).expect(typed);
        assert_eq!(pass.decision.proposal, Some(5), "{typed}");
    }
}

#[test]
fn what_is_missing_is_asked_for() {
    let scaled_object = scaled_object("web", &json!({"minReplicaCount": 1}));
    let with_status = |replicas: i32, there: i32| {
        let mut target = deployment(replicas);
        target["status"] = json!({"replicas": there});
        target
    };
    let mut no_count = deployment(1);
    no_count["spec"]["replicas"] = Value::Null;
    let other = |uid: &str| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "other", "namespace": "default", "uid": uid}, "spec": {}})
    };
    for (documents, flags, expected) in [
        (
            vec![web()],
            &["--cpu=90%"][..],
            Err("the replicas of Deployment/web are unknown"),
        ),
        (
            vec![web()],
            &["--cpu=90%", "--replicas=+1"],
            Err("the replicas of Deployment/web are unknown, so --replicas cannot change them"),
        ),
        (
            vec![web()],
            &["--cpu=300m", "--replicas=3"],
            Err("--cpu 300m: nothing says what share of the request that is"),
        ),
        (
            vec![web()],
            &["--cpu=300m", "--replicas=3", "--request=cpu=300m"],
            Ok(5),
        ),
        (
            vec![hpa(&memory())],
            &["--memory=300Mi", "--replicas=3"],
            Ok(5),
        ),
        (
            vec![hpa(&memory())],
            &["--memory=90%", "--replicas=3"],
            Err(
                "memory: a percentage cannot be used: failed to get memory utilization: missing request for \
                 memory in container container of Pod web-assumed-1",
            ),
        ),
        (
            vec![web(), deployment(3)],
            &["--cpu=90%", "--replicas=+1"],
            Ok(6),
        ),
        (
            vec![web(), deployment(0)],
            &["--cpu=90%", "--replicas=3"],
            Ok(4),
        ),
        (
            vec![web(), deployment(3)],
            &["--cpu=90%", "--unready=1"],
            Ok(3),
        ),
        // As a cluster prints it: without a status yet, switched off, and while it is scaled.
        (vec![web(), with_status(3, 0)], &["--cpu=90%"], Ok(4)),
        (
            vec![web(), with_status(0, 2)],
            &["--replicas=2", "--cpu=90%"],
            Ok(3),
        ),
        (vec![web(), with_status(6, 8)], &["--cpu=35%"], Ok(6)),
        (
            vec![web(), no_count.clone()],
            &["--cpu=90%"],
            Err("the replicas of Deployment/web are unknown"),
        ),
        (vec![web(), no_count], &["--cpu=90%", "--replicas=3"], Ok(4)),
        (
            vec![scaled_object.clone()],
            &["--cpu=90%", "--replicas=3"],
            Ok(4),
        ),
        (vec![scaled_object, deployment(3)], &["--cpu=90%"], Ok(4)),
        // Other manifests in the input say nothing about the target.
        (
            vec![web(), other("")],
            &["--cpu=90%", "--replicas=3"],
            Ok(4),
        ),
        // The target is another one than those that a cluster has.
        (
            vec![web(), other("u")],
            &["--cpu=90%", "--replicas=3"],
            Err("the pods of the target are unknown: deployments.apps \"web\" not found"),
        ),
    ] {
        let pass = predict(&documents, flags);
        let found = pass
            .as_ref()
            .map(|pass| pass.decision.replicas_after().expect("an answer"));
        assert_eq!(found.map_err(|e| &*e.message), expected, "{flags:?}");
    }
}

/// Returns an object in a namespace, or one that states none.
fn placed(mut object: Value, namespace: Option<&str>) -> Value {
    object["metadata"]["namespace"] = namespace.into();
    object
}

/// As for kubectl, a document without a namespace is in the one of `-n`; the rest of a chart often states none.
#[test]
fn a_target_in_another_namespace_is_told() {
    let both = |hpa_in: Option<&str>, target_in: Option<&str>| {
        [placed(web(), hpa_in), placed(deployment(3), target_in)]
    };
    let hpa_there = "HorizontalPodAutoscaler/web is in the namespace shop";
    let hpa_unstated = "HorizontalPodAutoscaler/web states no namespace, so it is in default";
    for (documents, expected) in [
        (both(None, None), Ok(4)),
        (both(None, Some("default")), Ok(4)),
        (both(Some("shop"), Some("shop")), Ok(4)),
        (
            both(Some("shop"), None),
            Err((
                format!("{hpa_there}, and Deployment/web states no namespace, so it is in default"),
                "use -n shop",
            )),
        ),
        (
            both(None, Some("shop")),
            Err((
                format!("{hpa_unstated}, and Deployment/web is in the namespace shop"),
                "use -n shop",
            )),
        ),
        (
            both(Some("shop"), Some("prod")),
            Err((
                format!("{hpa_there}, and Deployment/web is in the namespace prod"),
                "state the same namespace in both",
            )),
        ),
    ] {
        // The target is not left out silently where --replicas would do without it.
        for flags in [&["--cpu=90%"][..], &["--cpu=90%", "--replicas=3"]] {
            let pass = predict(&documents, flags);
            let found = pass
                .as_ref()
                .map(|pass| pass.decision.replicas_after().expect("one"));
            let found = found.map_err(|e| (&*e.message, e.hint.as_deref().unwrap_or_default()));
            let expected = expected.as_ref().map(|count| *count);
            assert_eq!(
                found,
                expected.map_err(|(message, hint)| (&**message, *hint))
            );
        }
        if let Err((places, remedy)) = &expected {
            let notes = notes_of(&predict(&documents, [""; 0]).expect("a report"));
            let want = format!("the input lacks the target Deployment web: {places}; {remedy}");
            assert!(notes.contains(&want), "{notes:?}");
        }
    }
    // A cluster has objects of one name in many namespaces, and a dump need not have them all.
    let mut dumped = both(Some("shop"), Some("prod"));
    for object in &mut dumped {
        object["metadata"]["uid"] = json!("u");
    }
    let notes = notes_of(&predict(&dumped, [""; 0]).expect("a report"));
    assert!(!notes.iter().any(|note| note.contains("prod")), "{notes:?}");
    // `-n` is the namespace of the one that states none.
    for documents in [both(Some("shop"), None), both(None, Some("shop"))] {
        let pass = predict(&documents, &["--cpu=90%", "-n=shop"]).expect("an answer");
        assert_eq!(pass.decision.replicas_after(), Some(4));
    }
}

/// Pods that the selector does not match say nothing about the target's pods; an empty list says that the target has no
/// pods.
#[test]
fn pods_of_others_are_not_the_targets() {
    let mut other = pod(1);
    other["metadata"]["labels"] = json!({"app": "other"});
    let mut pending = pod(1);
    pending["status"] = json!({"phase": "Pending"});
    let none = json!({"apiVersion": "v1", "kind": "PodList", "items": []});
    let hint = "leave the pods out of the input: those of the target are then assumed, as many as --replicas or \
                the manifest of the target states";
    let (cpu, both) = (&["--cpu=90%"][..], &["--cpu=90%", "--replicas=3"][..]);
    for (documents, flags, expected) in [
        (vec![web(), deployment(3), other.clone()], cpu, Ok(4)),
        (
            vec![web(), other.clone()],
            cpu,
            Err((
                "cpu: the pods of the target are unknown: the input lacks the target Deployment web",
                hint,
            )),
        ),
        (
            vec![web(), other],
            both,
            Err((
                "the pods of the target are unknown: the input lacks the target Deployment web",
                hint,
            )),
        ),
        (
            vec![web(), deployment(3), none],
            both,
            Err((
                "cpu: the pods of the target are unknown: the input has none of them",
                hint,
            )),
        ),
        (
            vec![web(), deployment(3), pending],
            cpu,
            Err(("cpu: no pod of the target is running", "")),
        ),
    ] {
        let pass = predict(&documents, flags);
        let found = pass
            .as_ref()
            .map(|pass| pass.decision.replicas_after().expect("an answer"));
        let found = found.map_err(|e| (&*e.message, e.hint.as_deref().unwrap_or_default()));
        assert_eq!(found, expected, "{flags:?}");
    }
}

/// A metric that fails whatever the pods use has no other possible value.
#[test]
fn a_share_of_a_request_that_a_container_lacks_is_known_to_fail() {
    let mut target = deployment(3);
    let template = &mut target["spec"]["template"]["spec"];
    let containers = template["containers"].as_array_mut().expect("containers");
    containers[0]["resources"] = json!({});
    let name = containers[0]["name"].clone();
    containers
        .push(json!({"name": "side", "image": "side", "resources": {"requests": {"cpu": "100m"}}}));
    template["resources"] = json!({"requests": {"cpu": "1"}});
    let share = |container: &Value| {
        let name = container.as_str().expect("a name");
        build::resource_of("cpu", name, &build::utilization(60))
    };
    for (container, fails) in [(name, true), (json!("side"), false)] {
        let mut own = hpa(&build::resource("cpu", &build::utilization(50)));
        let metrics = own["spec"]["metrics"].as_array_mut().expect("metrics");
        metrics.push(share(&container));
        let documents = [own, target.clone()];
        let pass = predict(&documents, &["--cpu=60%"]).expect("an answer");
        let step = pass.decision.metric(1).expect("a metric");
        let has_failed = matches!(step.result, MetricResult::Error(_));
        assert_eq!(has_failed, fails, "{container}");
    }
}

/// Several candidates have one thing in common: what runs now.
#[test]
fn candidates_that_make_different_pods_need_the_running_target() {
    let making = |replicas: Value, cpu: &str| {
        let mut target = deployment(3);
        target["spec"]["replicas"] = replicas;
        let container = &mut target["spec"]["template"]["spec"]["containers"][0];
        container["image"] = "web:1".into();
        container["resources"]["requests"]["cpu"] = cpu.into();
        target
    };
    let (one, small, five) = (
        making(json!(3), "1"),
        making(json!(3), "500m"),
        making(json!(5), "1"),
    );
    let unstated = making(Value::Null, "1");
    let pods = "a.yaml and b.yaml have different pods for Deployment/web, and nothing says which of them run now";
    let replicas = "a.yaml and b.yaml state different replicas for Deployment/web";
    let made_by = |file: &str, count: i32| {
        Ok(format!(
            "{count}, ready and alike, as Deployment/web in {file} makes them (the input has no pods of the target)"
        ))
    };
    for (first, second, flags, expected) in [
        (&one, &small, &["--cpu=900m"][..], Err(pods)),
        (&one, &small, &["--cpu=900m", "--replicas=3"], Err(pods)),
        (&one, &five, &["--cpu=900m"], Err(replicas)),
        (
            &one,
            &five,
            &["--cpu=900m", "--replicas=4"],
            made_by("a.yaml", 4),
        ),
        (&one, &one, &["--cpu=900m"], made_by("a.yaml", 3)),
        (&unstated, &one, &["--cpu=900m"], made_by("b.yaml", 3)),
    ] {
        let candidates = [("a.yaml", first), ("b.yaml", second)]
            .map(|(file, target)| candidate(file, &[web(), target.clone()]).expect(file));
        let supposed = suppose(&[web()], flags, &candidates);
        let found = supposed.map(|(input, _)| pods_of(&published(&Pass::run(input))));
        let found = found.map_err(|e| e.message.to_string());
        assert_eq!(found, expected.map_err(str::to_owned), "{flags:?}");
    }
    // With the running target, each candidate has its own pods: the same usage is a larger share of smaller requests.
    for (target, expected) in [(&one, 4), (&small, 6)] {
        let own = candidate("a.yaml", &[web(), target.clone()]).expect("one");
        let other = candidate("b.yaml", &[web(), small.clone()]).expect("one");
        let all = [own.clone(), other];
        let (input, mut assumptions) =
            suppose(&[web(), deployment(3)], &["--cpu=900m"], &all).expect("pods");
        assumptions.replace_hpa(own);
        let pass = Pass::run(apply(input, &assumptions).expect("an answer").0);
        assert_eq!(pass.decision.replicas_after(), Some(expected));
    }
    // What a candidate states was not observed.
    let own = candidate("a.yaml", &[web(), one]).expect("one");
    let flags = ["--cpu=90%", "--replicas=5"];
    let (input, mut assumptions) =
        suppose(&[web()], &flags, std::slice::from_ref(&own)).expect("pods");
    assumptions.replace_hpa(own);
    let (_, overrides) = apply(input, &assumptions).expect("an answer");
    let replicas = overrides
        .iter()
        .find(|own| own.item == "replicas")
        .expect("replicas");
    assert_eq!(replicas.observed(), None);
}

/// Assumed pods of a StatefulSet have its ordinals, by which a partition spares them.
#[test]
fn assumed_pods_below_a_partition_stay() {
    let set = |cpu: &str, partition: i32, start: i32| {
        let mut target = deployment(3);
        target["kind"] = "StatefulSet".into();
        let container = &mut target["spec"]["template"]["spec"]["containers"][0];
        container["resources"]["requests"]["cpu"] = cpu.into();
        let strategy = json!({"rollingUpdate": {"partition": partition}});
        let more = json!({"updateStrategy": strategy, "ordinals": {"start": start}});
        build::with(target, &json!({ "spec": more }))
    };
    let mut hpa = web();
    hpa["spec"]["scaleTargetRef"]["kind"] = "StatefulSet".into();
    let left = "StatefulSet/web leaves the pods below partition 2 as they are \
                (spec.updateStrategy.rollingUpdate.partition): the answer holds once all others are replaced";
    let all = "StatefulSet/web leaves all pods as they are, below partition 2 \
               (spec.updateStrategy.rollingUpdate.partition); those that a run adds are assumed to be like them, but \
               from ordinal 2 on, they would get the new template";
    for (partition, start, has_running, replicas, names, expected) in [
        // 2700m of 1500m is 180 %, of 2500m 108 %, and 3600m of 3000m are 120 %.
        (0, 0, true, "3", ["web-0", "web-2"], 8),
        (2, 0, true, "3", ["web-0", "web-2"], 5),
        (2, 5, true, "3", ["web-5", "web-7"], 5),
        (2, 5, true, "+1", ["web-5", "web-8"], 7),
        (2, 5, true, "-1", ["web-5", "web-6"], 3),
        // 2700m of 2000m is 135 %: the candidate makes the pods, and a typed request of 1 changes the last of them.
        (2, 5, false, "3", ["web-5", "web-7"], 6),
    ] {
        let (own, changed) = (set("1", partition, start), set("500m", partition, start));
        let candidate = candidate("a.yaml", &[hpa.clone(), changed]).expect("a candidate");
        let flags = ["--cpu=900m".to_owned(), format!("--replicas={replicas}")];
        let documents = if has_running {
            vec![hpa.clone(), own]
        } else {
            vec![hpa.clone()]
        };
        let flags = flags
            .into_iter()
            .chain((!has_running).then(|| "--request=cpu=1".to_owned()));
        let candidates = std::slice::from_ref(&candidate);
        let (input, mut assumptions) = suppose(&documents, flags, candidates).expect("pods");
        assumptions.replace_hpa(candidate.clone());
        let pass = Pass::run(apply(input, &assumptions).expect("an answer").0);
        let pods = &pass.input.snapshot.pods;
        let ends = [pods.first(), pods.last()].map(|pod| &*pod.expect("a pod").name);
        let answer = (ends, pass.decision.proposal);
        assert_eq!(answer, (names, Some(expected)), "{partition} {start}");
        let has_note = |text: &str| notes_of(&pass).iter().any(|note| note == text);
        let leaves_all = replicas == "-1";
        assert_eq!(has_note(left), partition == 2 && !leaves_all);
        assert_eq!(has_note(all), leaves_all);
    }
}

#[test]
fn assumed_containers_are_told() {
    let app = "3, ready and alike, with no container but app, which requests 1 of cpu";
    for (metric, flags, expected) in [
        (
            share(),
            &["--cpu=90%"][..],
            "3, ready and alike, requesting 1 of cpu each",
        ),
        (share(), &["--cpu=app=90%"], app),
        (of_container(), &["--cpu=90%"], app),
        (
            share(),
            &["--cpu=app=90%", "--cpu=proxy=50%"],
            "3, ready and alike, with no containers but app and proxy, each of which requests 1 of cpu",
        ),
        (memory(), &["--memory=90Mi"], "3, ready and alike"),
    ] {
        let flags = [&["--replicas=3"], flags].concat();
        let pass = predict(&[hpa(&metric)], &flags).expect("an answer");
        let want = format!("{expected} (the input has no pods of the target)");
        assert_eq!(pods_of(&published(&pass)), want, "{flags:?}");
    }
}

/// Two HPAs for one target, one of which KEDA may create, keep each other from scaling, also where the input lacks
/// the target.
#[test]
fn a_second_hpa_for_the_target_is_found() {
    let mut second = web();
    second["metadata"]["name"] = "second".into();
    let elsewhere = build::with(
        second.clone(),
        &json!({"spec": {"scaleTargetRef": {"name": "db"}}}),
    );
    let scaled_object = |name: &str, uid: &str| {
        let object = scaled_object(name, &json!({"minReplicaCount": 1}));
        build::with(object, &json!({"metadata": {"uid": uid}}))
    };
    // Only KEDA knows its metric, which does not matter if there is another HPA.
    let mut open = scaled_object("events", "");
    open["spec"]["triggers"][0] = json!({"type": "external", "metadata": {"scalerAddress": "a:1"}});
    // KEDA makes nothing of it.
    let mut paused = scaled_object("web", "");
    paused["metadata"]["annotations"] = json!({"autoscaling.keda.sh/paused": "true"});
    for (documents, other) in [
        (vec![web()], None),
        (vec![web(), second.clone()], Some("default/second")),
        (vec![web(), elsewhere], None),
        (
            vec![web(), scaled_object("web", "")],
            Some("default/keda-hpa-web"),
        ),
        (
            vec![scaled_object("web", ""), scaled_object("b", "")],
            Some("default/keda-hpa-b"),
        ),
        (vec![web(), open], Some("default/keda-hpa-events")),
        (vec![web(), paused], None),
        // A ScaledObject from a cluster already has its HPA, which the input may lack.
        (vec![web(), scaled_object("web", "u")], None),
    ] {
        for target in [None, Some(deployment(3))] {
            let documents: Vec<Value> = documents.iter().cloned().chain(target).collect();
            let flags = ["--cpu=90%", "--replicas=3"];
            let pass = predict(&documents, &flags).expect("an answer");
            let after = if other.is_some() { 3 } else { 4 };
            assert_eq!(pass.decision.replicas_after(), Some(after), "{documents:?}");
            let published = published(&pass);
            let found = published["findings"].to_string();
            assert_eq!(found.contains("shared-pods"), other.is_some(), "{found}");
            let others = pass.input.snapshot.other_hpas.iter();
            let others: Vec<String> = others.map(|own| own.hpa.key()).collect();
            assert_eq!(others, Vec::from_iter(other), "{documents:?}");
            let unknown = notes_of(&pass)
                .iter()
                .any(|note| note.contains("selects the same pods"));
            assert!(!unknown || other.is_none(), "{:?}", notes_of(&pass));
        }
    }
}

/// Replicas in a manifest are set whenever it is applied, whichever way it is given.
#[test]
fn replicas_in_the_manifest_of_the_target_are_found() {
    let mut unstated = deployment(3);
    unstated["spec"]["replicas"] = Value::Null;
    let running = |mut object: Value| {
        object["metadata"]["uid"] = "u".into();
        object
    };
    for (documents, is_found) in [
        ([web(), deployment(3)], true),
        ([web(), unstated], false),
        // What runs has replicas in any case.
        ([web(), running(deployment(3))], false),
        (
            [
                web(),
                build::with(deployment(3), &json!({"status": {"replicas": 3}})),
            ],
            false,
        ),
        ([running(web()), deployment(3)], false),
    ] {
        let pass = predict(&documents, &["--cpu=90%", "--replicas=3"]).expect("an answer");
        let found = published(&pass)["findings"].to_string();
        assert_eq!(
            found.contains("other-writer"),
            is_found,
            "{documents:?}: {found}"
        );
    }
}

/// A manifest passes the same checks as one of `--hpa`. What has a uid has passed its API server.
#[test]
fn manifests_that_kubectl_or_the_api_server_would_reject_are_refused() {
    let spec = "manifest: Deployment/web: spec";
    let container = format!("{spec}.template.spec.containers[0]");
    let target = |patch: Value| build::with(deployment(3), &json!({"spec": patch}));
    let of_pods = |patch: Value| target(json!({"template": {"spec": patch}}));
    let of_container = |patch: Value| {
        let mut target = deployment(3);
        let own = &mut target["spec"]["template"]["spec"]["containers"][0];
        *own = build::with(own.clone(), &patch);
        target
    };
    let requests = |requests: Value| of_container(json!({"resources": {"requests": requests}}));
    let in_version = |version: &str| build::with(deployment(3), &json!({"apiVersion": version}));
    let unserved = |version: &str| {
        format!(
            "manifest: Deployment/web: no matches for kind \"Deployment\" in version \"{version}\""
        )
    };
    let old = build::with(web(), &json!({"apiVersion": "autoscaling/v2beta2"}));
    let typo = build::with(web(), &json!({"spec": {"behavior": {"scaleup": {}}}}));
    let mut of_v1 = web();
    of_v1["apiVersion"] = "autoscaling/v1".into();
    let scaled_object = scaled_object("web", &json!({"minReplicaCounts": 5}));
    let cpus = "resources.requests[cpus]: Invalid value: \"cpus\": must be a standard resource";
    for (own, target, cause) in [
        (
            web(),
            target(json!({"template": {"metadata": {"labels": {"app": "api"}}}})),
            format!(
                "{spec}.template.metadata.labels: Invalid value: {{\"app\":\"api\"}}: `selector` does not match \
                 template `labels`"
            ),
        ),
        (
            web(),
            target(json!({"selector": null})),
            format!("{spec}.selector: Required value"),
        ),
        (web(), target(json!({"replicas": -1})), format!("{spec}.replicas: Invalid value: -1: must be")),
        (web(), of_pods(json!({"containers": []})), format!("{spec}.template.spec.containers: Required")),
        (web(), target(json!({"template": {"spec": null}})), format!("{spec}.template.spec.containers: Req")),
        (
            web(),
            of_pods(json!({"restartPolicy": "Never"})),
            format!(
                "{spec}.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\""
            ),
        ),
        (web(), of_container(json!({"image": null})), format!("{container}.image: Required value")),
        (web(), of_container(json!({"name": "App_1"})), format!("{container}.name: Invalid value")),
        (web(), requests(json!({"cpu": "-1"})), format!("{container}.resources.requests[cpu]: Invalid")),
        (
            web(),
            requests(json!({"cpus": "1"})),
            format!("{container}.{cpus} type or fully qualified; {}.{cpus} for containers", &container[26..]),
        ),
        (
            web(),
            of_container(json!({"resources": {"request": {"cpu": "1"}}})),
            "manifest: Deployment/web: unknown field \"spec.template.spec.containers[0].resources.request\", did you \
             mean \"spec.template.spec.containers[0].resources.requests\"?"
                .to_owned(),
        ),
        (web(), in_version("apps/v1beta1"), unserved("apps/v1beta1")),
        (web(), in_version("extensions/v1beta1"), unserved("extensions/v1beta1")),
        (
            old,
            deployment(3),
            "manifest: no matches for kind \"HorizontalPodAutoscaler\" in version \"autoscaling/v2beta2\""
                .to_owned(),
        ),
        (
            typo,
            deployment(3),
            "manifest: unknown field \"spec.behavior.scaleup\", did you mean \"spec.behavior.scaleUp\"?".to_owned(),
        ),
        (of_v1, deployment(3), "manifest: unknown field \"spec.metrics\"".to_owned()),
        (
            scaled_object,
            deployment(3),
            "manifest: unknown field \"spec.minReplicaCounts\", did you mean \"spec.minReplicaCount\"?".to_owned(),
        ),
    ] {
        let flags = ["--cpu=90%", "--replicas=3"];
        let e = predict(&[own.clone(), target.clone()], &flags).expect_err("an error");
        assert!(e.message.starts_with(&cause), "{}\n{cause}", e.message);
        // With --hpa it is the same.
        let supposed = suppose(&[web(), deployment(3)], &flags, &[]).expect("pods");
        let other = candidate("manifest", &[own.clone(), target.clone()]).and_then(|own| {
            let (input, mut assumptions) = supposed;
            assumptions.replace_hpa(own);
            apply(input, &assumptions)
        });
        assert_eq!(other.map(|_| ()).map_err(|e| (e.message, e.hint)), Err((e.message, e.hint)));
        // An API server has accepted both, or only the target.
        let uid = json!({"metadata": {"uid": "u"}});
        let template = &target["spec"]["template"];
        let is_whole = template["spec"]["containers"][0].is_object() && target["spec"]["selector"].is_object();
        if own["kind"] != "ScaledObject" && is_whole {
            let stored = [own.clone(), target.clone()].map(|it| build::with(it, &uid));
            predict(&stored, &flags).unwrap_or_else(|e| panic!("{}", e.message));
        }
    }
}

/// A container that the pods do not have has no usage, so nothing is asked for.
#[test]
fn a_container_that_no_pod_has_is_answered_for() {
    let other = build::with(
        of_container(),
        &json!({"containerResource": {"container": "nope"}}),
    );
    let mut both = web();
    both["spec"]["metrics"] = json!([share(), other]);
    for (own, flags, after, unread) in [
        (hpa(&other), &[][..], Some(3), 0),
        (both.clone(), &["--cpu=90%"], Some(4), 0),
        (both, &[], None, 1),
    ] {
        let pass = predict(&[own, deployment(3)], flags).expect("a pass");
        let outcome = &pass.decision.outcome;
        assert_eq!(outcome.unread.len(), unread, "{flags:?}");
        if after.is_some() {
            assert_eq!(pass.decision.replicas_after(), after);
        }
        assert!(
            published(&pass)["findings"]
                .to_string()
                .contains("unknown-container")
        );
        let notes = notes_of(&pass);
        assert!(
            !notes.iter().any(|note| note.contains("nope=")),
            "{notes:?}"
        );
    }
    // Where nothing is known of the pods, they have it.
    let pass = predict(&[hpa(&other)], &["--replicas=3"]).expect("a pass");
    assert_eq!(pass.decision.outcome.unread.len(), 1);
}

/// Of two metrics of one name, a flag names the one that has no selector by empty braces.
#[test]
fn a_metric_without_a_selector_is_told_from_one_with() {
    let mut own = hpa(&build::per_pod("lag", "10"));
    let selector = json!({"matchLabels": {"q": "a"}});
    let external = json!({"type": "External",
        "external": {"metric": {"name": "lag", "selector": selector}, "target": build::average("10")}});
    own["spec"]["metrics"]
        .as_array_mut()
        .expect("a list")
        .push(external);
    let pass = predict(std::slice::from_ref(&own), &["--replicas=3"]).expect("a pass");
    let metrics = &pass.input.snapshot.hpa.spec.metrics;
    let names: Vec<String> = metrics.iter().map(|own| own.flag_name(metrics)).collect();
    assert_eq!(names, ["lag{}", "lag{q=a}"]);
    let values = names.iter().map(|name| format!("--metric={name}=30"));
    let flags = Vec::from_iter(values.chain(["--replicas=3".to_owned()]));
    assert_eq!(
        predict(&[own], &flags)
            .expect("an answer")
            .decision
            .replicas_after(),
        Some(6)
    );
    let one = &metrics[..1];
    assert_eq!(one[0].flag_name(one), "lag");
}

#[test]
fn a_controller_has_the_selector_of_its_template() {
    // A ReplicationController has a default.
    let mut controller = deployment(3);
    controller["apiVersion"] = "v1".into();
    controller["kind"] = "ReplicationController".into();
    controller["spec"]["selector"] = Value::Null;
    let mut own = web();
    own["spec"]["scaleTargetRef"] =
        json!({"apiVersion": "v1", "kind": "ReplicationController", "name": "web"});
    let pass = predict(&[own, controller], &["--cpu=90%"]).expect("an answer");
    assert_eq!(pass.decision.replicas_after(), Some(4));
}

#[test]
fn a_scale_is_known_whatever_its_target_states() {
    let mut target = deployment(3);
    target["spec"]["replicas"] = Value::Null;
    target["status"] = json!({"replicas": 3});
    let scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": target["metadata"],
        "spec": {"replicas": 3}, "status": {"replicas": 3, "selector": "app=web"}});
    let flags = ["--cpu=90%"];
    let pass = predict(&[web(), target.clone(), scale], flags).expect("an answer");
    assert_eq!(pass.decision.replicas_after(), Some(4));
    assert!(predict(&[web(), target], flags).is_err());
}

#[test]
fn a_status_that_contradicts_ready_pods_is_told() {
    let told = "the status of Deployment/web has 1 of 3 replicas ready, but all assumed pods are ready: --unready 2 \
                assumes otherwise";
    let none = "the status of Deployment/web has 0 of 3 replicas ready, but all assumed pods are ready: --unready 3 \
                assumes otherwise";
    for (status, flags, expected) in [
        (
            json!({"observedGeneration": 2, "replicas": 3, "readyReplicas": 1}),
            &[][..],
            Some(told),
        ),
        // The API server omits a count of zero.
        (
            json!({"observedGeneration": 2, "replicas": 3}),
            &[],
            Some(none),
        ),
        (
            json!({"observedGeneration": 2, "replicas": 3, "readyReplicas": 3}),
            &[],
            None,
        ),
        (
            json!({"observedGeneration": 2, "replicas": 3, "readyReplicas": 1}),
            &["--unready=2"],
            None,
        ),
        (
            json!({"observedGeneration": 2, "replicas": 3, "readyReplicas": 1}),
            &["--replicas=3"],
            None,
        ),
        // One that is cut down says nothing of it.
        (json!({"replicas": 3}), &[], None),
        (
            json!({"replicas": 3, "readyReplicas": i32::MIN}),
            &[],
            Some(
                "the status of Deployment/web has -2147483648 of 3 replicas ready, but all assumed pods are ready: \
                 --unready 2147483647 assumes otherwise",
            ),
        ),
    ] {
        let mut target = deployment(3);
        target["status"] = status.clone();
        let flags = [&["--cpu=90%"], flags].concat();
        let notes = notes_of(&predict(&[web(), target], &flags).expect("an answer"));
        let found = notes.iter().find(|note| note.contains("replicas ready"));
        assert_eq!(found.map(|note| &**note), expected, "{status} {flags:?}");
    }
}

/// A Rollout may use the template of a Deployment. Without that template, the pods are assumed without requests.
#[test]
fn a_template_that_the_input_lacks_is_told() {
    let mut hpa = web();
    hpa["spec"]["scaleTargetRef"] =
        json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "web"});
    let rollout = json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "strategy": {"canary": {}},
            "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
    });
    let told = "Rollout/web has the template of Deployment/web (spec.workloadRef), which the input lacks: the \
                pods are assumed without it";
    let mut own = rollout.clone();
    own["spec"]["template"] = template();
    for (rollout, is_told) in [(rollout.clone(), true), (own, false)] {
        let pass = predict(&[hpa.clone(), rollout], &["--cpu=90%"]).expect("an answer");
        assert_eq!(notes_of(&pass).iter().any(|note| note == told), is_told);
    }
    let e = predict(&[hpa, rollout], &["--cpu=300m"]).expect_err("no request");
    let hint = "state the request with --request cpu=VALUE, or add the manifest of Deployment/web \
                (spec.workloadRef) with another -f";
    assert_eq!(e.hint.as_deref(), Some(hint));
}

/// A prediction of assumed pods has nothing that was observed, in any format.
#[test]
fn nothing_was_observed_of_assumed_pods() {
    let flags = ["--cpu=90%", "--replicas=3"];
    let pods = (0..3).map(pod);
    let state: Vec<Value> = [web(), deployment(3)].into_iter().chain(pods).collect();
    for (documents, is_observed) in [(vec![web()], false), (state, true)] {
        let (input, assumptions) = suppose(&documents, &flags, &[]).expect("pods");
        let observed = Pass::run(input.clone());
        let (input, overrides) = apply(input, &assumptions).expect("an answer");
        let pass = Pass::run(input);
        let (none, explanation) = (Vec::new(), Explanation::new(&pass));
        let prediction = Prediction::new(
            explanation,
            overrides,
            None,
            None,
            none,
            Vec::new(),
            &observed,
        );
        let json = serde_json::to_value(&prediction).expect("JSON");
        assert_eq!(
            json["observed"].is_object(),
            is_observed,
            "{}",
            json["observed"]
        );
        let page = Page::of_prediction(&prediction, false);
        assert_eq!(page.observed.is_some(), is_observed);
        let text = markdown(&page);
        let has = |start: &str| text.lines().any(|line| line.starts_with(start));
        assert_eq!(
            (has("| answer |"), has("| ITEM | ASSUMED | OBSERVED |")),
            (is_observed, is_observed)
        );
        let assuming = page.assuming.join("\n");
        assert_eq!(assuming.contains("observed"), is_observed, "{assuming}");
    }
}

/// A command to paste assumes what the answer assumes; without that, it would fail here.
#[test]
fn commands_of_findings_have_the_assumptions() {
    for (flags, expected) in [
        (
            &["--cpu=900%", "--replicas=2"][..],
            "kubectl hpa predict web -n default --for 5m --replicas 2 --cpu 900%",
        ),
        // A new value replaces the assumed one.
        (
            &["--cpu=500%", "--replicas=5", "--max=9"],
            "kubectl hpa predict web -n default --max 36 --replicas 5 --cpu 500%",
        ),
    ] {
        let published = published(&predict(&[web()], flags).expect("an answer"));
        let findings = published["findings"].as_array().expect("a list").iter();
        let commands = findings.flat_map(|it| it["commands"].as_array().expect("a list"));
        let commands: Vec<&str> = commands.filter_map(Value::as_str).collect();
        assert!(commands.contains(&expected), "{commands:?}");
        // Each of them gives an answer.
        for command in commands
            .iter()
            .filter_map(|own| own.strip_prefix("kubectl hpa predict "))
        {
            let flags = command.split(' ').skip(3);
            predict(&[web()], flags).unwrap_or_else(|e| panic!("{command}: {e}"));
        }
    }
}

/// Assumed pods are alike, and as of long ago, only because they are assumed.
#[test]
fn assumed_pods_are_no_evidence() {
    let state = [hpa(&memory()), deployment(4)];
    for flags in [
        &["--memory=300Mi"][..],
        &["--memory=300Mi", "--max=4"],
        &["--memory=300Mi", "--max=4", "--replicas=4"],
    ] {
        let published = published(&predict(&state, flags).expect("an answer"));
        let findings = published["findings"].as_array().expect("a list").iter();
        let codes: Vec<&str> = findings.filter_map(|it| it["code"].as_str()).collect();
        assert!(!codes.contains(&"memory-baseline"), "{codes:?}");
        assert!(!published["findings"].to_string().contains("d ago"));
    }
    let mut bare = deployment(4);
    let containers = &mut bare["spec"]["template"]["spec"]["containers"];
    let containers = containers.as_array_mut().expect("a list");
    containers.push(json!({"name": "proxy", "image": "proxy:1"}));
    for usage in ["--cpu=0", "--cpu=300m"] {
        let pass = predict(&[web(), bare.clone()], &[usage]);
        let findings = published(&pass.expect("an answer"))["findings"].to_string();
        let container = "Container proxy, in web-assumed-1";
        assert!(findings.contains("missing-request"), "{findings}");
        assert!(findings.contains(container), "{usage}: {findings}");
    }
}

/// Without a template, a share of the request is no amount, so nothing is said in amounts or decided by them.
#[test]
fn a_request_that_nothing_states_is_no_amount() {
    let flags = ["--cpu=90%", "--replicas=3", "--max=3"];
    let expected = Expression::parse("metric.cpu.averageValue < 2").expect("an expression");
    let field = &expected.fields[0].1;
    for (documents, is_stated) in [(vec![web()], false), (vec![web(), deployment(3)], true)] {
        let pass = predict(&documents, &flags).expect("an answer");
        let findings = published(&pass)["findings"].to_string();
        assert!(findings.contains("at-max"), "{findings}");
        let said = ["per pod", "--request"].map(|words| findings.contains(words));
        assert_eq!(said, [is_stated; 2], "{findings}");
        let fact = PassFacts::of(&pass).get(field);
        let unknown = Fact::Unknown("nothing states the cpu request".into());
        assert_eq!(fact == unknown, !is_stated, "{fact:?}");
    }
}

/// A metric of the pods and one of their only container are based on one usage: each value is enough for both.
#[test]
fn one_value_serves_all_metrics_of_a_usage() {
    let mut both = web();
    both["spec"]["metrics"] = json!([share(), of_container()]);
    for (flags, expected) in [
        (&["--cpu=90%"][..], Some((4, 4))),
        (&["--cpu=app=90%"], Some((4, 4))),
        (&["--cpu=app=140%", "--cpu=proxy=0%"], Some((3, 6))),
    ] {
        let flags = [&["--replicas=3"], flags].concat();
        let pass = predict(&[both.clone()], &flags).expect("an answer");
        assert!(pass.decision.outcome.unread.is_empty(), "{flags:?}");
        let proposals = pass.decision.metrics().map(|step| match &step.result {
            MetricResult::Proposal(proposal) => proposal.replicas,
            other => panic!("{other:?}"),
        });
        let proposals: Vec<i32> = proposals.collect();
        assert_eq!(Some((proposals[0], proposals[1])), expected, "{flags:?}");
    }
    let e = predict(&[both], &["--replicas=3", "--cpu=90%", "--cpu=app=90%"]);
    let e = e.expect_err("an error");
    assert_eq!(
        &*e.message,
        "cpu in app and cpu are based on the same usage: set only one"
    );
    assert!(e.hint.is_some());
}

/// A hint names only what helps: the manifest of a custom resource says nothing of its replicas and pods.
#[test]
fn hints_name_what_gives_the_answer() {
    let of_kind = |version: &str, kind: &str| {
        let mut own = web();
        own["spec"]["scaleTargetRef"] = json!({"apiVersion": version, "kind": kind, "name": "web"});
        own
    };
    let check = "check scaleTargetRef, or add the manifest of the target with another -f";
    for (version, kind, flags, expected) in [
        (
            "apps/v1",
            "StatefulSet",
            &["--cpu=90%"][..],
            "state them with --replicas, or add the manifest of the target with another -f",
        ),
        (
            "argoproj.io/v1alpha1",
            "Rollout",
            &["--cpu=90%"],
            "state them with --replicas, or add the manifest of the target with another -f",
        ),
        (
            "example.com/v1",
            "Pool",
            &["--cpu=90%"],
            "state them with --replicas",
        ),
        (
            "example.com/v1",
            "Pool",
            &["--cpu=90%", "--replicas=-1"],
            "state their number, such as --replicas 3",
        ),
        (
            "example.com/v1",
            "Pool",
            &["--cpu=300m", "--replicas=3"],
            "state the request with --request cpu=VALUE",
        ),
        (
            "apps/v1",
            "DaemonSet",
            &["--cpu=90%", "--replicas=3"],
            "point scaleTargetRef at an object that has a scale, such as a Deployment",
        ),
        (
            "apps/v1",
            "ControllerRevision",
            &["--cpu=90%", "--replicas=3"],
            "point scaleTargetRef at an object that has a scale, such as a Deployment",
        ),
        (
            "extensions/v1beta1",
            "Deployment",
            &["--cpu=90%", "--replicas=3"],
            check,
        ),
        (
            "apps/v1",
            "Deployment",
            &["--cpu=90%", "--replicas=0"],
            "without pods nothing is measured: leave the value out, or suppose some, such as --replicas 3",
        ),
    ] {
        let e = predict(&[of_kind(version, kind)], flags).expect_err("an error");
        assert_eq!(
            e.hint.as_deref(),
            Some(expected),
            "{kind} {flags:?}: {}",
            e.message
        );
    }
    let pass = predict(&[web()], &["--replicas=0"]).expect("an answer");
    assert_eq!(
        pods_of(&published(&pass)),
        "none (the input has no pods of the target)"
    );
}
