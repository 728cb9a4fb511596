//! The comparison of `tests/cluster` against the test API server: what the controller would write is found to be the
//! same, and another word is not.

#[path = "../cluster/watch.rs"]
mod watch;

use serde_json::{Value, json};
use watch::{Tools, Verdict, Watch};

use super::api::json::array;
use super::api::{Auth, Server};
use super::apply::{WEB, cluster};
use super::names::kubectl;

const HPA: [&str; 2] = ["autoscaling/v2", "HorizontalPodAutoscaler"];

#[test]
fn a_status_is_compared_word_for_word() {
    if kubectl().is_none() {
        return;
    }
    let server = Server::start(cluster());
    let config = server.kubeconfig(&Auth::Token("admin"));
    let tools = Tools {
        kubeconfig: Some(config.path().to_owned()),
    };
    let (_, answer, errors) = tools.program(&["explain", "web", "-n", "default", "-o", "json"]);
    let answer: Value = serde_json::from_str(&answer).expect(&errors);
    let mut watch = Watch::new(&tools, "default");
    watch.look();
    assert!(
        watch.verdicts()["web"].is_empty(),
        "no status was written yet"
    );

    // The pass as it is, with its status but without its new replicas, which would begin another.
    let write = |change: fn(&mut Value)| {
        let mut status = answer["outcome"]["status"].clone();
        change(&mut status);
        server.change(|cluster| {
            cluster.edit(HPA[0], HPA[1], WEB, |hpa| hpa["status"] = status.clone());
        });
    };
    write(|_| {});
    watch.look();
    let events = array(&answer["outcome"]["events"]).to_vec();
    assert!(!events.is_empty());
    assert_eq!(watch.verdicts()["web"], [Verdict::Same(events.clone())]);

    write(|status| status["conditions"][0]["message"] = json!("the HPA controller was able"));
    watch.look();
    let verdicts = &watch.verdicts()["web"];
    let Verdict::Differs(difference) = &verdicts[1] else {
        panic!("{verdicts:?}")
    };
    assert!(
        difference.starts_with("status.conditions[0].message: said "),
        "{difference}"
    );

    // Other values of the metric than at any time at which the program was asked.
    write(|status| {
        status["currentMetrics"][0]["resource"]["current"]["averageUtilization"] = json!(77);
    });
    watch.look();
    assert_eq!(watch.verdicts()["web"][2], Verdict::Unseen);
    assert_eq!(watch.verdicts()["web"][0], Verdict::Same(events));
    assert_eq!(watch.answers()["web"].all, 0, "no pass was waited for");
}
