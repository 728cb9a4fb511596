//! HPAs by their targets, several at once, and none: what is found, what is rejected, and what it
//! costs.

use serde_json::{Value, json};

use super::api::json::array;
use super::api::{Cluster, Server};
use super::{NAME, ask, ended, with_hpas};

/// Returns `shop/web`, `shop/cart` and its twin on the same Deployment, and the recorded HPA.
fn cluster() -> Cluster {
    let mut cluster = with_hpas(&["web", "cart"]);
    cluster.hpa(
        ["shop", "twin"],
        ["apps/v1", "Deployment", "cart"],
        &json!({}),
    );
    cluster
}

/// Returns an answer in JSON, and how many requests it took.
fn answer(server: &Server, words: &[&str]) -> (Value, usize) {
    let before = server.requests().len();
    let answer = ask(server, "admin", &[words, &["-o", "json"]].concat()).answer();
    (answer, server.requests().len() - before)
}

#[test]
fn a_target_leads_to_its_hpa_with_one_request_more() {
    let server = Server::start(cluster());
    let (by_name, requests) = answer(&server, &["explain", "web", "-n", "shop"]);
    for (words, more) in [
        (&["explain", "hpa/web", "-n", "shop"][..], 0),
        (&["explain", "shop/web"], 0),
        (&["explain", "deploy/web", "-n", "shop"], 1),
        (&["explain", "deployments.apps", "web", "-n", "shop"], 1),
    ] {
        let (by_target, sent) = answer(&server, words);
        assert_eq!(
            (&by_target["hpa"], sent),
            (&by_name["hpa"], requests + more),
            "{words:?}"
        );
        assert_eq!(by_target["outcome"], by_name["outcome"], "{words:?}");
    }
    let (named, requests) = answer(&server, &["predict", NAME, "-n", "default"]);
    for words in [
        &["predict", "-n", "default"][..],
        &["predict", "deploy", NAME, "-n", "default"],
    ] {
        let (found, sent) = answer(&server, words);
        assert_eq!(
            (&found["hpa"], sent),
            (&named["hpa"], requests + 1),
            "{words:?}"
        );
    }
    let (plan, _) = answer(
        &server,
        &["apply", "deploy/web", "-n", "shop", "--dry-run=client"],
    );
    assert_eq!(plan["hpa"], by_name["hpa"]);
    let mut cluster = cluster();
    super::rounds::rollout(&mut cluster);
    let server = Server::start(cluster);
    let (canary, _) = answer(
        &server,
        &["explain", "rollouts.argoproj.io/canary", "-n", "default"],
    );
    assert_eq!(canary["hpa"]["name"], NAME);
}

#[test]
fn several_are_listed_and_none_is_an_error() {
    let server = Server::start(cluster());
    let names = |list: &Value| -> Vec<Value> {
        array(&list["items"])
            .iter()
            .map(|item| item["hpa"]["name"].clone())
            .collect()
    };
    let (list, _) = answer(&server, &["explain", "deploy/cart", "-n", "shop"]);
    assert_eq!(names(&list), ["cart", "twin"]);
    let (list, _) = answer(&server, &["explain", "twin", "deploy/web", "-n", "shop"]);
    assert_eq!(names(&list), ["twin", "web"]);

    let absent = "no HorizontalPodAutoscaler for deploy/none in the namespace shop";
    let hint = "hint: the namespace shop has cart (Deployment/cart), twin (Deployment/cart), \
                web (Deployment/web)\n";
    let two = "2 HorizontalPodAutoscalers for deploy/cart in the namespace shop: cart, twin";
    let three = "3 HorizontalPodAutoscalers in the namespace shop: cart, twin, web";
    let one_of = "hint: name one of them\n";
    for (words, code, parts) in [
        (
            &["explain", "deploy/none", "-n", "shop"][..],
            1,
            [absent, hint],
        ),
        (&["predict", "deploy/none", "-n", "shop"], 1, [absent, hint]),
        (&["predict", "deploy/cart", "-n", "shop"], 2, [two, one_of]),
        (
            &["apply", "deploy/cart", "-n", "shop", "--yes"],
            2,
            [two, one_of],
        ),
        (&["predict", "-n", "shop"], 2, [three, one_of]),
        (
            &["predict", "-n", "none"],
            1,
            [
                "no HorizontalPodAutoscaler in the namespace none",
                "hint: use -n for another",
            ],
        ),
    ] {
        ask(&server, "admin", words).fails(code, &parts);
    }

    let ran = ask(
        &server,
        "admin",
        &["explain", "web", "none", "-n", "shop", "-o", "json"],
    );
    let list = ran.json();
    let said =
        "Error from server (NotFound): horizontalpodautoscalers.autoscaling \"none\" not found";
    assert_eq!((ran.code, names(&list)), (Some(1), vec![json!("web")]));
    assert_eq!(ran.stderr, format!("error: shop/none: {said}\n"));
    assert_eq!(
        (&list["errors"][0]["name"], &list["errors"][0]["message"]),
        (&json!("none"), &json!(said))
    );
}

/// It may have the target that was named, and may select the same pods.
#[test]
fn an_hpa_that_cannot_be_read_stays_in_sight() {
    let mut cluster = cluster();
    let change = |hpa: &mut Value| hpa["spec"]["maxReplicas"] = json!("ten");
    cluster.edit_hpa(["shop", "cart"], change);
    let server = Server::start(cluster);
    let why = "spec.maxReplicas: a string, expected a 32-bit integer";
    let unknown = "unknown whether the HPA shop/cart selects the same pods: it cannot be read: ";
    for words in [
        &["explain", "web"][..],
        &["explain", "deploy/web"],
        &["predict", "web"],
    ] {
        let ran = ask(&server, "admin", &[words, &["-n", "shop"]].concat());
        ended(&ran, 0);
        let [note, cause] = [unknown, why].map(|part| ran.stdout.contains(part));
        assert!(note && cause, "{}", ran.stdout);
    }
    let ran = ask(&server, "admin", &["apply", "web", "-n", "shop", "--yes"]);
    let [note, refusal] = [unknown, "nothing written"].map(|part| ran.stderr.contains(part));
    assert!(ran.code == Some(6) && note && refusal, "{}", ran.stderr);
    let absent = "no HorizontalPodAutoscaler for deploy/none in the namespace shop";
    let hint = "hint: it may be the target of one that cannot be read: cart (";
    ask(&server, "admin", &["explain", "deploy/none", "-n", "shop"]).fails(1, &[absent, hint, why]);
    let ran = ask(
        &server,
        "admin",
        &["explain", "deploy/none", "web", "-n", "shop"],
    );
    let absent = "error: shop/deploy/none: no HorizontalPodAutoscaler has this target\n";
    let told = [absent, hint, why].map(|part| ran.stderr.contains(part));
    assert!(ran.code == Some(1) && told == [true; 3], "{}", ran.stderr);
    // The only one of its namespace is asked for all the same.
    for name in ["twin", "web"] {
        let remove = |cluster: &mut Cluster| {
            cluster.remove("autoscaling/v2", "HorizontalPodAutoscaler", ["shop", name]);
        };
        server.change(remove);
    }
    ask(&server, "admin", &["predict", "-n", "shop"]).fails(1, &[why]);
}

#[test]
fn a_missing_permission_to_list_is_named() {
    let mut cluster = cluster();
    cluster
        .grant("bob")
        .deny("bob", "list", "horizontalpodautoscalers.autoscaling");
    let server = Server::start(cluster);
    let right =
        "missing permission: list horizontalpodautoscalers.autoscaling in the namespace shop";
    for verb in ["explain", "predict"] {
        ask(&server, "bob", &[verb, "deploy/web", "-n", "shop"])
            .fails(1, &["Error from server (Forbidden)", right]);
    }
}
