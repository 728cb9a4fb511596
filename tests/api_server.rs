//! The test API server held to what a real one answered, and to what its switches promise. Every
//! other end-to-end test rests on it.

mod api;

use api::{Auth, Client, Clock, Cluster, Server, exchanges};

/// A server with the recorded cluster after `change`.
fn server(change: impl FnOnce(&mut Cluster)) -> Server {
    let mut cluster = Cluster::recorded();
    change(&mut cluster);
    Server::start(cluster)
}

#[test]
fn recorded_requests_are_answered_as_they_were() {
    // Recorded after the writes, or with something switched off.
    let later = [
        "deployment after scale",
        "scale after",
        "pod metrics failing in the adapter",
        "external metric failing in the adapter",
        "custom pods metric failing in the adapter",
        "pod metrics with the backend down",
        "discovery metrics with the backend down",
        "apiservice unavailable",
        "pod metrics not installed",
    ];
    let server = server(|cluster| {
        cluster.clock(Clock::Recorded);
    });
    let mut count = 0;
    for exchange in exchanges() {
        if exchange.request.method != "GET" {
            continue;
        }
        if later.contains(&exchange.name.as_str()) {
            server.change(|cluster| {
                cluster.as_recorded(&exchange.name);
            });
        }
        let auth = match exchange.request.user.as_str() {
            "admin" => Auth::Token("admin"),
            "user without roles" => Auth::Token("viewer"),
            "bad token" => Auth::BadToken,
            _ => Auth::None,
        };
        let mut client = Client::connect(&server, &auth)
            .expect("a connection")
            .header("Accept", &exchange.request.accept);
        let got = client.get(&exchange.request.path).expect("an answer");
        let (name, want) = (&exchange.name, &exchange.response);
        assert_eq!(got.status, want.status, "{name}: {}", got.text());
        assert_eq!(got.json(), want.body, "{name}");
        for (header, value) in &want.headers {
            match header.as_str() {
                "audit-id" => assert!(!got.header(header).is_empty(), "{name}"),
                // Some were recorded seconds later.
                "date" => assert!(got.header(header).ends_with(" GMT"), "{name}"),
                _ => assert_eq!(got.header(header), value, "{name}: {header}"),
            }
        }
        count += 1;
    }
    assert!(count > 40, "only {count} recorded requests");
}
