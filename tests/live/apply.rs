//! `apply` against the test API server: what is sent, once, and what is told of it.

use super::api::{Auth, Server};
use super::{Ran, program, recorded, run};

fn apply(server: &Server, more: &[&str]) -> Ran {
    let config = server.kubeconfig(&Auth::Token("admin"));
    let mut command = program();
    command.args(["apply", "web", "-n", "default"]).args(more);
    run(command.arg("--kubeconfig").arg(config.path()))
}

#[test]
fn look() {
    let mut cluster = recorded();
    cluster.autoscaled(["default", "web"], 2);
    let server = Server::start(cluster);
    for flags in [
        &["--dry-run=client"][..],
        &["--dry-run=server"],
        &["--yes", "--event"],
        &["--yes"],
        &["--yes", "-o", "json"],
        &[],
    ] {
        let ran = apply(&server, flags);
        println!("==== {flags:?} {:?}\n{}---\n{}", ran.code, ran.stdout, ran.stderr);
    }
    for request in server.requests() {
        println!(
            "{} {} {:?} {}",
            request.method,
            request.path,
            request.query,
            String::from_utf8_lossy(&request.body)
        );
    }
}
