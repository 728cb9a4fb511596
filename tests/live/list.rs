//! `explain` without a name: which HPAs are in the list, what an unreadable one does to it, which flags it
//! takes, how it is saved, and its progress while it takes long.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use super::api::json::{array, each};
use super::api::{Answer, Cluster, CustomMetric, Fault, Recorded, Server, When};
use super::apply::by_gateway;
use super::metrics::external_metric;
use super::{
    HPAS, Ran, ask, condition, faulty, notes, own_by_keda, program, recorded, run, schema, shows,
    with_hpas,
};

/// Returns four HPAs in `shop`, of which `api` has a label, one in `test`, and the recorded one.
fn shop() -> Cluster {
    let mut cluster = with_hpas(&["web", "cart", "pay"]);
    cluster
        .autoscaled(["shop", "api"], 12)
        .autoscaled(["test", "web"], 4);
    cluster.edit_hpa(["shop", "api"], |hpa| {
        hpa["metadata"]["labels"] = json!({"team": "checkout"});
    });
    cluster
}

/// Returns the same with one more for the target of `cart`, and one without a target.
fn with_twin_and_lost() -> Cluster {
    let mut cluster = shop();
    for (name, target) in [("twin", "cart"), ("lost", "lost")] {
        let target = ["apps/v1", "Deployment", target];
        cluster.hpa(["shop", name], target, &json!({}));
    }
    cluster
}

fn list_as(server: &Server, user: &str, more: &[&str]) -> Ran {
    ask(server, user, &[&["explain"], more].concat())
}

fn list(server: &Server, more: &[&str]) -> Ran {
    list_as(server, "admin", more)
}

/// Returns the rows of a table without its header, split into words.
fn rows(ran: &Ran) -> Vec<Vec<&str>> {
    ran.stdout
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().collect())
        .collect()
}

/// Returns the namespaces and names of the items of a list.
fn keys(list: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    array(&list["items"])
        .iter()
        .map(|it| text(&it["hpa"]["namespace"]) + "/" + &text(&it["hpa"]["name"]))
        .collect()
}

#[test]
fn a_namespace_all_of_them_or_a_selection() {
    let server = Server::start(shop());
    let ran = list(&server, &["-n", "shop"]);
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
    assert_eq!(
        ran.stdout,
        "\
NAME  REFERENCE        TARGETS             CURRENT  WANTED  FINDING
api   Deployment/api   cpu: <unknown>/20%       12      10  above-max
cart  Deployment/cart  cpu: 50%/20%              3       6  rate-limited
pay   Deployment/pay   cpu: 50%/20%              3       6  rate-limited
web   Deployment/web   cpu: 50%/20%              3       6  rate-limited
"
    );
    let wide = list(&server, &["-n", "shop", "-o", "wide"]);
    assert_eq!((wide.code, &*wide.stderr), (Some(0), ""));
    assert_eq!(
        wide.stdout,
        "\
NAME  REFERENCE        TARGETS             CURRENT  WANTED  MIN  MAX  PROPOSAL  WINNER  LIMIT         FINDING
api   Deployment/api   cpu: <unknown>/20%       12      10    2   10         -  -       maxReplicas   above-max
cart  Deployment/cart  cpu: 50%/20%              3       6    2   10         8  cpu     ScaleUpLimit  rate-limited
pay   Deployment/pay   cpu: 50%/20%              3       6    2   10         8  cpu     ScaleUpLimit  rate-limited
web   Deployment/web   cpu: 50%/20%              3       6    2   10         8  cpu     ScaleUpLimit  rate-limited
"
    );
    for (args, want) in [
        (
            &["-A"][..],
            &[
                "default/nginx-deployment",
                "shop/api",
                "shop/cart",
                "shop/pay",
                "shop/web",
                "test/web",
            ][..],
        ),
        (&["-A", "-n", "shop", "-l", "team"], &["shop/api"]),
        (
            &["-n", "shop", "-l", "team!=checkout"],
            &["shop/cart", "shop/pay", "shop/web"],
        ),
        (&["-n", "default"], &["default/nginx-deployment"]),
        (&["-n", "shop", "-l", "team=none"], &[]),
    ] {
        let answer = list(&server, &[args, &["-o", "json"]].concat()).answer();
        assert_eq!(keys(&answer), want, "{args:?}");
        assert_eq!(
            (&answer["kind"], &answer["errors"]),
            (&json!("ExplanationList"), &json!([]))
        );
        let table = list(&server, args);
        assert_eq!(rows(&table).len(), want.len(), "{args:?}");
        let namespaces = table.stdout.starts_with("NAMESPACE  NAME");
        assert_eq!(namespaces, args.contains(&"-A"), "{args:?}");
    }
}

#[test]
fn nothing_there_is_said_as_kubectl_says_it() {
    let server = Server::start(Cluster::empty());
    for (args, said) in [
        (
            &["-n", "shop"][..],
            "No resources found in shop namespace.\n",
        ),
        (&["-A"], "No resources found\n"),
        (
            &["-n", "shop", "-o", "wide"],
            "No resources found in shop namespace.\n",
        ),
    ] {
        let ran = list(&server, args);
        assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (Some(0), "", said));
    }
    let ran = list(&server, &["-n", "shop", "-o", "json"]);
    assert_eq!(ran.stderr, "");
    let empty = json!({
        "apiVersion": "kubectl-hpa/v1alpha1", "kind": "ExplanationList", "items": [], "errors": [],
    });
    assert_eq!(ran.answer(), empty);
}

#[test]
fn a_target_that_others_select_or_that_is_lost_is_told_in_table_and_conditions() {
    let server = Server::start(with_twin_and_lost());
    let whole = list(&server, &["-n", "shop", "-o", "json"]).answer();
    assert_eq!(keys(&whole).len(), 6);
    let table = list(&server, &["-n", "shop"]);
    let worst = |name: &str| {
        let mut lines = table.stdout.lines();
        let row = lines.find(|line| line.starts_with(name)).expect("a row");
        row.rsplit_once("  ").expect("cells").1.trim()
    };
    assert_eq!(worst("twin"), "shared-pods");
    assert_eq!(worst("lost"), "target-not-found");
    // The controller's own reasons are in its conditions.
    let reason = |name: &str, kind: &str| {
        let mut items = each(&whole["items"]);
        let item = items.find(|item| item["hpa"]["name"] == name);
        let [status, reason, _] = condition(item.expect("an item"), kind);
        [status, reason]
    };
    assert_eq!(
        reason("twin", "ScalingActive"),
        ["False", "AmbiguousSelector"]
    );
    assert_eq!(reason("lost", "AbleToScale"), ["False", "FailedGetScale"]);
    // An HPA that was not requested still selects the same pods.
    let ran = list(&server, &["-n", "shop", "-l", "!team", "-o", "json"]);
    assert!(keys(&ran.answer()).contains(&"shop/twin".to_owned()));
    server.change(|cluster| {
        cluster.edit_hpa(["shop", "cart"], |hpa| {
            hpa["metadata"]["labels"] = json!({"team": "checkout"});
        });
    });
    let ran = list(&server, &["-n", "shop", "-l", "team"]);
    // Errors come first.
    assert_eq!(
        rows(&ran)[0],
        [
            "cart",
            "Deployment/cart",
            "cpu:",
            "<unknown>/20%",
            "3",
            "-",
            "shared-pods"
        ]
    );
    assert_eq!(rows(&ran)[1][0], "api");
}

#[test]
fn what_cannot_be_read_leaves_the_others_their_answers() {
    let mut cluster = shop();
    cluster.put(json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "shop"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "db"}}},
    }));
    for name in ["db", "log"] {
        cluster.hpa(["shop", name], ["apps/v1", "StatefulSet", "db"], &json!({}));
    }
    cluster.grant("bob");
    for resource in ["statefulsets.apps/scale", "statefulsets.apps"] {
        cluster.deny("bob", "get", resource);
    }
    let server = Server::start(cluster);
    let ran = list_as(&server, "bob", &["-n", "shop"]);
    assert_eq!(ran.code, Some(1));
    let found = rows(&ran);
    let names: Vec<&str> = found.iter().map(|row| row[0]).collect();
    assert_eq!(names, ["db", "log", "api", "cart", "pay", "web"]);
    let row = [
        "db",
        "StatefulSet/db",
        "-",
        "-",
        "-",
        "Error",
        "from",
        "server",
        "(Forbidden)",
    ];
    assert_eq!(found[0], row);
    assert_eq!(
        found[3][..6],
        ["cart", "Deployment/cart", "cpu:", "50%/20%", "3", "6"]
    );
    let refused = "Error from server (Forbidden): statefulsets.apps \"db\" is forbidden: User \"bob\" \
                   cannot get resource \"statefulsets/scale\" in API group \"apps\" in the namespace \
                   \"shop\"";
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(lines[0], format!("error: shop/db, shop/log: {refused}"));
    assert!(
        lines[1].starts_with("hint: missing permission: get statefulsets.apps/scale in "),
        "{}",
        lines[1]
    );
    assert_eq!(lines.len(), 2);

    let ran = list_as(&server, "bob", &["-n", "shop", "-o", "json"]);
    assert_eq!(ran.code, Some(1));
    let answer = ran.json();
    assert_eq!(
        keys(&answer),
        ["shop/api", "shop/cart", "shop/pay", "shop/web"]
    );
    assert_eq!(answer["errors"][1]["name"], "log");
    assert_eq!(answer["errors"][1]["message"], refused);
    assert_eq!(schema::EXPLANATION_LIST.fault(&answer), None);
    // It is unknown whether they select the same pods.
    let note = "unknown whether the HPA shop/db selects the same pods: its target StatefulSet/db cannot be \
                read: missing permission: get statefulsets.apps/scale in the namespace shop";
    assert!(
        notes(&answer["items"][0]).contains(note),
        "{:#}",
        answer["items"][0]
    );

    let gate = ["-n", "shop", "--feature-gates", "A=true"];
    let before = server.requests().len();
    list(&server, &gate).fails(2, &["error: unknown feature gate A\nhint: "]);
    assert_eq!(server.requests().len(), before);

    // Without the list there is no result.
    server.change(|cluster| {
        cluster.deny("bob", "list", "horizontalpodautoscalers.autoscaling");
    });
    let refused =
        "Error from server (Forbidden): horizontalpodautoscalers.autoscaling is forbidden";
    list_as(&server, "bob", &["-n", "shop"]).fails(1, &[refused, " -n shop`; add to a"]);
    list_as(&server, "bob", &["-A"]).fails(1, &[refused, " -A`; add to a"]);
    server.change(|cluster| {
        cluster.remove_version("autoscaling/v2");
    });
    list(&server, &["-A"]).fails(1, &["(v1.36.2) does not serve autoscaling/v2\nhint: "]);
}

/// A cache that mixes up its entries may return it.
#[test]
fn the_list_of_another_namespace_is_no_answer() {
    let server = Server::start(shop());
    let page = json!({"kind": "HorizontalPodAutoscalerList", "metadata": {}, "items": [
        {"metadata": {"name": "web", "namespace": "test", "uid": "u"}, "spec": {}}]});
    let answer = Answer::json(200, page.to_string());
    server.change(move |cluster| {
        let list = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers";
        cluster.fault(When::on(list), Fault::Answer(answer));
    });
    let error = "the object is \"test/web\", not \"shop/web\"\n";
    list(&server, &["-n", "shop"]).fails(1, &[error]);
}

/// Up to v1.21, no answer has the header `Audit-Id`.
#[test]
fn a_server_that_is_too_old_is_not_taken_for_a_proxy() {
    for (version, error) in [
        (
            "v1.21.14",
            "error: the server (v1.21.14) does not serve autoscaling/v2\nhint: it is served as of Kubernetes v1.23\n",
        ),
        ("v1.36.2", "hint: a proxy or another host "),
    ] {
        let mut cluster = recorded();
        cluster.version(&json!({"gitVersion": version}));
        let unserved = by_gateway(404, "404 page not found");
        cluster.fault(When::on("/apis/autoscaling/v2/"), unserved);
        let server = Server::start(cluster);
        list(&server, &["web"]).fails(1, &[error]);
        list(&server, &["-A"]).fails(1, &[error]);
    }
}

/// Returns the maximum number of concurrent requests of a kind.
fn at_once(requests: &[Recorded], sort: impl Fn(&Recorded) -> bool) -> usize {
    let spans: Vec<_> = requests
        .iter()
        .filter(|it| sort(it))
        .map(|it| (it.at, it.done.expect("an answer")))
        .collect();
    let under_way = |at| {
        spans
            .iter()
            .filter(|(from, to)| *from <= at && at < *to)
            .count()
    };
    spans
        .iter()
        .map(|(at, _)| under_way(*at))
        .max()
        .unwrap_or(0)
}

#[test]
fn what_all_need_is_asked_for_once_and_few_at_a_time() {
    let mut cluster = recorded();
    cluster
        .latency(Duration::from_millis(40))
        .custom_metric(CustomMetric {
            name: "depth".to_owned(),
            resource: "namespaces".to_owned(),
            ..CustomMetric::default()
        });
    cluster.custom_kind("argoproj.io/v1alpha1", "Rollout", "rollouts");
    let metric = json!([{"type": "Object", "object": {
        "describedObject": {"apiVersion": "v1", "kind": "Service", "name": "queue"},
        "metric": {"name": "depth"}, "target": {"type": "Value", "value": "1"},
    }}]);
    for number in 0..10 {
        let name = format!("web-{number}");
        cluster.autoscaled(["shop", &name], 1);
        let hpa = ["shop", &*format!("rollout-{number}")];
        cluster.hpa(hpa, ["argoproj.io/v1alpha1", "Rollout", &name], &json!({}));
        let change = |hpa: &mut Value| hpa["spec"]["metrics"] = metric.clone();
        cluster.edit_hpa(["shop", &name], change);
    }
    let server = Server::start(cluster);
    let answer = list(&server, &["-n", "shop", "-o", "json"]).answer();
    assert_eq!(keys(&answer).len(), 20);
    let requests = server.requests();
    let count = |end: &str| requests.iter().filter(|it| it.path.ends_with(end)).count();
    let shared = [
        "/version",
        "/apis",
        "/horizontalpodautoscalers",
        "/events",
        "/kube-controller-manager",
        "/kube-system/pods",
        "/verticalpodautoscalers",
        "/replicasets",
    ];
    assert_eq!(shared.map(count), [1; 8]);
    // Only the scales of a custom kind are asked for one by one.
    assert_eq!(
        ["/deployments", "/rollouts", "/shop/pods", "/depth"].map(count),
        [1; 4]
    );
    assert_eq!((count("/scale"), requests.len()), (10, 8 + 4 + 10));
    let most = at_once(&requests, |it| it.path.ends_with("/scale"));
    assert!((2..=4).contains(&most), "{most} at once");
}

/// A right that the requests for several HPAs lack is named once.
#[test]
fn a_missing_right_is_noted_once_for_all_hpas() {
    let mut cluster = shop();
    cluster.grant("bob");
    for verb in ["get", "list"] {
        cluster.deny("bob", verb, "deployments.apps");
    }
    let server = Server::start(cluster);
    let told = list_as(&server, "bob", &["-n", "shop", "-v", "1"]).stderr;
    let note = "left out findings such as other-writer, old-revision-pods and others: missing permission: get \
                deployments.apps in the namespace shop;";
    assert_eq!(told.matches(note).count(), 1, "{told}");
}

#[test]
fn long_lists_come_in_pages() {
    let mut cluster = Cluster::empty();
    for number in 0..501 {
        let name = format!("web-{number:03}");
        cluster.hpa(
            ["shop", &name],
            ["apps/v1", "Deployment", "none"],
            &json!({}),
        );
    }
    let server = Server::start(cluster);
    assert_eq!(rows(&list(&server, &["-A"])).len(), 501);
    let all = "/apis/autoscaling/v2/horizontalpodautoscalers";
    let lists = || {
        let requests = server.requests().into_iter().filter(|it| it.path == all);
        let limits = requests.map(|request| request.parameter("limit").map(str::to_owned));
        limits.collect::<Vec<_>>()
    };
    let limit = Some("500".to_owned());
    assert_eq!(lists(), [limit.clone(), limit.clone()]);
    server.change(|cluster| {
        cluster.fault(When::on(all).nth(2), Fault::Expired);
    });
    assert_eq!(rows(&list(&server, &["-A"])).len(), 501);
    assert_eq!(lists()[2..], [limit.clone(), limit, None]);
}

#[test]
fn what_takes_long_says_so_on_standard_error() {
    for (delay, said) in [(0, false), (1500, true)] {
        let pods = When::on("/api/v1/namespaces/shop/pods").first(1);
        let delay = Fault::DelayAnswer(Duration::from_millis(delay));
        let ran = list(&faulty(shop(), [(pods, delay)]), &["-n", "shop"]);
        assert_eq!((ran.code, rows(&ran).len()), (Some(0), 4));
        let lines: Vec<&str> = ran.stderr.lines().collect();
        assert_eq!(lines.len(), usize::from(said), "{lines:?}");
        assert!(
            lines
                .iter()
                .all(|line| line.starts_with("reading 4 HPAs: ")),
            "{lines:?}"
        );
    }
    let late = Fault::DelayAnswer(Duration::from_millis(1500));
    let ran = list(
        &faulty(shop(), [(When::on(HPAS), late)]),
        &["-n", "default"],
    );
    assert_eq!((ran.code, &*ran.stderr), (Some(0), "listing the HPAs\n"));
}

#[test]
fn what_is_saved_of_a_list_gives_the_same_list() {
    let server = Server::start(with_twin_and_lost());
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("state.json");
    let file = path.to_str().expect("a path");
    for selection in [&["-A"][..], &["-n", "shop"], &["-A", "-l", "team"]] {
        let live = list(
            &server,
            &[selection, &["-o", "json", "--save", file]].concat(),
        )
        .answer();
        let args = [&["explain", "-o", "json", "-f", file], selection].concat();
        let again = run(program().args(args)).without_file(file).answer();
        assert_eq!(keys(&live), keys(&again));
        for (live, again) in array(&live["items"]).iter().zip(array(&again["items"])) {
            for part in ["hpa", "outcome", "proposal", "range", "findings"] {
                assert_eq!(live[part], again[part], "{part} of {}", live["hpa"]["name"]);
            }
        }
        let [live, again] = [
            list(&server, selection),
            run(program().args(["explain", "-f", file]).args(selection)),
        ];
        assert_eq!(live.stdout, again.stdout);
        fs::remove_file(&path).expect("it was there");
    }

    // HPAs that cannot be read are reported as left out.
    server.change(|cluster| {
        let pay = "/apis/apps/v1/namespaces/shop/deployments/pay";
        cluster
            .deny("admin", "list", "deployments.apps")
            .fault(When::on(pay), Fault::InvalidJson);
    });
    let ran = list(&server, &["-n", "shop", "--save", file]);
    assert_eq!(ran.code, Some(1));
    let said = format!("Warning: shop/pay was not saved to {file}\nerror: shop/pay: ");
    shows(&ran.stderr, &said);
    let again = run(program().args(["explain", "-f", file]));
    assert_eq!((again.code, rows(&again).len()), (Some(0), 5));
    fs::remove_file(&path).expect("it was there");

    // External values do not state their namespace; only their answers do.
    let mut cluster = Cluster::empty();
    for (namespace, value) in [("shop", "3"), ("test", "4")] {
        cluster.autoscaled([namespace, "web"], 2);
        let change = |hpa: &mut Value| hpa["spec"]["metrics"] = json!([external_metric()]);
        let object = [namespace, "web"];
        cluster.edit_hpa(object, change);
        cluster.external_value(namespace, ["queue_depth", value], &[("queue", "a")]);
    }
    let other = Server::start(cluster);
    let live = list(&other, &["-A", "-o", "json", "--save", file]).answer();
    let again = run(program().args(["explain", "-A", "-o", "json", "-f", file])).answer();
    fs::remove_file(&path).expect("it was there");
    let proposals = |list: &Value| -> Vec<Value> {
        array(&list["items"])
            .iter()
            .map(|item| item["proposal"].clone())
            .collect()
    };
    assert_eq!(proposals(&live), [json!(3), json!(4)]);
    assert_eq!(proposals(&again), proposals(&live));

    let none = list(&server, &["-n", "none", "--save", file]);
    assert_eq!(none.code, Some(0));
    shows(&none.stderr, "Warning: nothing to save to ");
    assert!(!path.exists());
}

/// What is not known about the target of one HPA is known about the others.
#[test]
fn an_unread_target_is_a_note_of_its_own_hpa() {
    let mut cluster = shop();
    cluster.deny("admin", "list", "deployments.apps");
    for name in ["cart", "pay"] {
        let path = format!("/apis/apps/v1/namespaces/shop/deployments/{name}");
        let target = When::on(&path).except(&format!("{path}/scale"));
        cluster.fault(target, Fault::Answer(Answer::text(500, name)));
    }
    let answer = list(&Server::start(cluster), &["-n", "shop", "-o", "json"]).answer();
    for item in array(&answer["items"]) {
        let name = item["hpa"]["name"].as_str().expect("a name");
        let notes = notes(item);
        let left_out: Vec<&str> = notes
            .lines()
            .filter(|note| note.contains("other-writer"))
            .collect();
        let is_own = |note: &&str| note.ends_with(&format!("(get deployments.apps {name})"));
        let unread = usize::from(["cart", "pay"].contains(&name));
        assert_eq!(left_out.len(), unread, "{name}: {notes}");
        assert!(left_out.iter().all(is_own), "{name}: {notes}");
    }
}

/// Only pods of Deployments belong to ReplicaSets, and KEDA's HPAs ask for no VerticalPodAutoscalers.
#[test]
fn an_unread_list_is_a_note_of_the_hpas_that_it_concerns() {
    let sets = "findings such as foreign-pods";
    let vpas = "unknown whether a VerticalPodAutoscaler sets requests: ";
    let mut cluster = shop();
    cluster.unscalable_kind("keda.sh/v1alpha1", "ScaledObject", "scaledobjects");
    cluster.put(json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "cart", "namespace": "shop"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "cart"}}},
        "status": {"replicas": 3},
    }));
    cluster.edit_hpa(["shop", "cart"], |hpa| {
        hpa["spec"]["scaleTargetRef"]["kind"] = json!("StatefulSet");
    });
    cluster.edit_hpa(["shop", "pay"], |hpa| {
        own_by_keda(hpa, "pay");
    });
    cluster.edit_hpa(["shop", "api"], |hpa| {
        hpa["spec"]["scaleTargetRef"]["name"] = json!("none");
    });
    let group = "/apis/autoscaling.k8s.io/v1";
    for path in [
        "/apis/apps/v1/namespaces/shop/replicasets",
        &format!("{group}/verticalpodautoscalers"),
        &format!("{group}/namespaces/shop/verticalpodautoscalers"),
    ] {
        cluster.fault(When::on(path), Fault::Hang);
    }
    let server = Server::start(cluster);
    for all in [&["-A"][..], &["-n", "shop"]] {
        let answer = list(&server, &[all, &["-o", "json"]].concat()).answer();
        for item in array(&answer["items"]) {
            let want = match item["hpa"]["name"].as_str().expect("a name") {
                _ if item["hpa"]["namespace"] != json!("shop") => continue,
                "cart" => [false, true],
                "pay" => [true, false],
                "api" => [false, false],
                _ => [true, true],
            };
            let notes = notes(item);
            assert_eq!([sets, vpas].map(|it| notes.contains(it)), want, "{notes}");
        }
    }
}

/// The HPAs of a namespace wait together, and namespaces do not wait once others have waited in vain.
#[test]
fn an_api_that_hangs_costs_a_list_its_time_once() {
    let mut cluster = recorded();
    for number in 0..24 {
        let namespace = format!("shop-{}", number / 2);
        cluster.autoscaled([&namespace, &format!("web-{number}")], 3);
    }
    let metrics = "/apis/metrics.k8s.io/v1beta1/namespaces/shop";
    cluster.fault(When::on(metrics), Fault::Hang);
    let server = Server::start(cluster);
    let ran = list(&server, &["-A", "--request-timeout", "1s", "-o", "json"]);
    let answer = ran.unanswered();
    let hint = "hint: metrics.k8s.io could not be read: increase --request-timeout";
    shows(&ran.stderr, hint);
    assert_eq!(array(&answer["items"]).len(), 25);
    let text = answer.to_string();
    assert!(
        text.contains("timed out after 1s") && text.contains("not requested: "),
        "{text}"
    );
    let requests = server.requests();
    let asked = requests
        .iter()
        .filter(|request| request.path.starts_with(metrics))
        .count();
    // Four lists at once, and what both HPAs of three namespaces ask before the last of those is given up.
    assert!((4..=4 + 3 * 2).contains(&asked), "{asked}");
}
