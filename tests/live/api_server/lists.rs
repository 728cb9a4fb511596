//! Lists: pages, selectors, and how they are sent.

use std::collections::BTreeSet;

use serde_json::json;

use super::{PODS, admin, get, names, server};

#[test]
fn pages_have_every_pod_once() {
    let server = server(|cluster| {
        cluster.pods(["big", "web"], &[("app", "web")], 1203);
    });
    let mut client = admin(&server);
    for (selector, remaining) in [
        ("", [Some(703), Some(203), None]),
        ("&labelSelector=app", [None; 3]),
    ] {
        let (mut seen, mut token) = (Vec::new(), String::new());
        for remaining in remaining {
            let path = format!("/api/v1/namespaces/big/pods?limit=500{selector}{token}");
            let page = client.get(&path).expect("an answer").json();
            assert_eq!(page["metadata"]["remainingItemCount"].as_i64(), remaining);
            seen.extend(names(&page));
            token = match page["metadata"]["continue"].as_str() {
                Some(text) => format!("&continue={text}"),
                None => String::new(),
            };
        }
        assert_eq!(token, "");
        let unique: BTreeSet<_> = seen.iter().collect();
        assert_eq!((seen.len(), unique.len()), (1203, 1203));
    }
    assert_eq!(server.connections(), 1);
}

#[test]
fn continue_tokens_expire_when_the_history_is_compacted() {
    let server = server(|_| {});
    let page = get(&server, &format!("{PODS}?limit=1")).json();
    let token = page["metadata"]["continue"].as_str().expect("a token");
    server.change(|cluster| {
        cluster.compact();
    });
    let expired = get(&server, &format!("{PODS}?limit=1&continue={token}"));
    let status = expired.json();
    assert_eq!(
        (expired.status, &status["reason"]),
        (410, &json!("Expired"))
    );
    let message = status["message"].as_str().expect("a message");
    assert!(
        message.starts_with("The provided continue parameter is too old"),
        "{message}"
    );
    let token = status["metadata"]["continue"]
        .as_str()
        .expect("another token");
    let rest = get(&server, &format!("{PODS}?limit=1&continue={token}")).json();
    assert_eq!(names(&rest), ["nginx-deployment-596d9ffddd-w6cm2"]);
}

#[test]
fn selectors_select() {
    let server = server(|cluster| {
        cluster
            .pods(["default", "a"], &[("app", "web"), ("tier", "a")], 3)
            .pods(["default", "b"], &[("app", "web"), ("tier", "b")], 4)
            .pods(["other", "c"], &[("app", "web")], 5)
            .event(
                ["default", "web"],
                ["SuccessfulRescale", "New size: 3"],
                "2026-11-21T07:00:00Z",
            );
    });
    let web = format!("{PODS}?labelSelector=app%3Dweb");
    let events = "/api/v1/namespaces/default/events";
    let counts = [
        (format!("{PODS}?"), 9),
        (web.clone(), 7),
        (format!("{PODS}?labelSelector=app==web,tier=a"), 3),
        (format!("{PODS}?labelSelector=app!=web"), 2),
        (format!("{PODS}?labelSelector=tier+in+(a,b)"), 7),
        (format!("{PODS}?labelSelector=tier%20notin%20(a)"), 6),
        (format!("{PODS}?labelSelector=!tier"), 2),
        (format!("{PODS}?labelSelector=tier"), 7),
        (format!("{PODS}?fieldSelector=metadata.name%3Da-00001"), 1),
        (format!("{web}&fieldSelector=status.phase!=Running"), 0),
        ("/api/v1/pods?labelSelector=app%3Dweb".to_owned(), 12),
        (events.to_owned(), 7),
        (format!("{events}?fieldSelector=involvedObject.name=web"), 1),
        (
            format!(
                "{events}?fieldSelector=involvedObject.kind==HorizontalPodAutoscaler,reason!=x"
            ),
            7,
        ),
    ];
    for (path, count) in counts {
        let list = get(&server, &path).json();
        assert_eq!(names(&list).len(), count, "{path}: {list}");
    }
    let wrong = get(&server, &format!("{events}?fieldSelector=message=x"));
    assert_eq!(wrong.status, 400);
    assert_eq!(
        wrong.json()["message"],
        "field label not supported: message"
    );
}

#[test]
fn a_lists_metadata_stands_before_its_items() {
    let server = server(|_| {});
    let text = get(&server, &format!("{PODS}?limit=1")).text();
    let place = |field: &str| text.find(field).expect("the field");
    assert!(place("\"continue\"") < place("\"items\""));
    assert!(text.ends_with("}\n"), "as Go's encoder ends it");
}

#[test]
fn large_answers_are_compressed_for_those_who_take_it() {
    let server = server(|cluster| {
        cluster.pods(["big", "web"], &[("app", "web")], 200);
    });
    let path = "/api/v1/namespaces/big/pods";
    let plain = get(&server, path);
    assert_eq!(plain.header("content-encoding"), "");
    let mut client = admin(&server).header("Accept-Encoding", "gzip");
    let packed = client.get(path).expect("an answer");
    assert_eq!(packed.header("content-encoding"), "gzip");
    assert!(
        packed.sent * 10 < plain.sent,
        "{} of {}",
        packed.sent,
        plain.sent
    );
    assert_eq!(packed.body, plain.body);
    let small = client.get("/version").expect("an answer");
    assert_eq!(small.header("content-encoding"), "");
}
