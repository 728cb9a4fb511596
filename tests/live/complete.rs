//! Completion through kubectl, if it is installed, and without it: what is offered at each place, and
//! that an unresponsive cluster, a failing plugin or a missing right costs nothing
//! but the candidates.

use std::time::{Duration, Instant};

use super::api::{Answer, Auth, Cluster, Exec, Fault, Kubeconfig, Server, When};
use super::names::{Installed, kubectl};
use super::{NAME, Ran, command, ended, faulty, recorded, run};

/// The time that the protocol allows, with some slack for a busy machine.
const LIMIT: Duration = Duration::from_secs(3);

fn cluster() -> Cluster {
    let mut cluster = recorded();
    cluster
        .autoscaled(["shop", "web"], 3)
        .autoscaled(["shop", "cart"], 3)
        .autoscaled(["twice", "a"], 3)
        .autoscaled(["twice", "b"], 3)
        .autoscaled(["twice", "c"], 3)
        .edit_hpa(["twice", "c"], |hpa| {
            hpa["spec"]["scaleTargetRef"]["name"] = "a".into();
        });
    let namespaces = r#"{"apiVersion":"v1","kind":"NamespaceList","metadata":{},
        "items":[{"metadata":{"name":"default"}},{"metadata":{"name":"shop"}}]}"#;
    let answer = Answer::json(200, namespaces.to_owned());
    cluster.fault(When::on("/api/v1/namespaces").nth(1), Fault::Answer(answer));
    cluster
}

/// Returns the lines that are printed for these words.
fn complete(program: &str, words: &[&str], config: &Kubeconfig) -> Ran {
    let installed =
        Installed::new(&format!("complete-{}", config.path().display()).replace('/', "_"));
    let mut command = match program {
        "kubectl" => command(kubectl().expect("it was found")),
        name => command(installed.0.join(name)),
    };
    // kubectl keeps a cache in the home directory.
    command
        .env("HOME", &installed.0)
        .env("PATH", installed.path())
        .env("KUBECONFIG", config.path());
    let begun = Instant::now();
    let ran = run(command.args(words));
    assert!(
        begun.elapsed() < LIMIT,
        "{words:?} took {:?}",
        begun.elapsed()
    );
    ended(&ran, 0);
    ran
}

#[test]
fn each_place_has_its_candidates() {
    let server = Server::start(cluster());
    let config = server.kubeconfig(&Auth::Token("admin"));
    let hpa = format!("{NAME}\t8/10 replicas of Deployment/{NAME}\n:4\n");
    for (words, lines) in [
        (&["explain", "-n", ""][..], "default\nshop\n:4\n"),
        (&["explain", ""], &*hpa),
        (&["explain", "nginx"], &hpa),
        (
            &["explain", "-n", "shop", "c"],
            "cart\tDeployment/cart\n:4\n",
        ),
        (&["explain", "-n", "none", ""], ":4\n"),
        (&["explain", NAME, ""], ":4\n"),
        (
            &["explain", "-n", "shop", "cart", ""],
            "web\tDeployment/web\n:4\n",
        ),
        (&["explain", "shop/w"], "shop/web\tDeployment/web\n:4\n"),
        (
            &["explain", "-n", "shop", "deploy", "c"],
            "cart\thpa/cart\n:4\n",
        ),
        (
            &["explain", "-n", "twice", "deploy", ""],
            "a\thpa/a\nb\thpa/b\n:4\n",
        ),
        (&["predict", "-n", "shop", "cart", ""], ":4\n"),
        (&["predict", "--metric", ""], "cpu=\tcpu\n:6\n"),
        (&["explain", "--context", ""], "test\n:4\n"),
        (&["explain", "--context=t"], "test\n:4\n"),
        (&["explain", "--user", ""], "test-user\n:4\n"),
        (&["explain", "--context", "other", ""], ":4\n"),
        (&["predict", NAME, "--metric", ""], "cpu=\tcpu\n:6\n"),
        (&["predict", NAME, "--pod", "x:"], "x:cpu=\tcpu\n:6\n"),
        (
            &["predict", NAME, "--expect", "metric.cpu.u"],
            "metric.cpu.utilization\n:4\n",
        ),
        (
            &["predict", NAME, "--expect", "desired <= 3 and not lim"],
            "desired <= 3 and not limited\n:4\n",
        ),
        (
            &["predict", NAME, "--color", ""],
            "auto\tIf the output is a terminal that supports them\nalways\tAlways\nnever\tNever\n:4\n",
        ),
    ] {
        let ran = complete("kubectl_complete-hpa", words, &config);
        assert_eq!((&*ran.stdout, &*ran.stderr), (lines, ""), "{words:?}");
    }
    let pods = complete(
        "kubectl_complete-hpa",
        &["predict", NAME, "--missing", ""],
        &config,
    );
    let pods: Vec<&str> = pods.stdout.lines().collect();
    assert!(
        pods.len() == 3 && pods[0].starts_with(NAME) && pods[2] == ":4",
        "{pods:?}"
    );
    // The verb is in the name of the executable.
    let ran = complete(
        "kubectl_complete-hpa_predict",
        &[NAME, "--metric", ""],
        &config,
    );
    assert_eq!(ran.stdout, "cpu=\tcpu\n:6\n");
}

#[test]
fn kubectl_asks_for_them() {
    if kubectl().is_none() {
        return;
    }
    let server = Server::start(cluster());
    let config = server.kubeconfig(&Auth::Token("admin"));
    for (words, lines) in [
        (
            &["hpa", "explain", "-n", "shop", "c"][..],
            "cart\tDeployment/cart\n:4\n",
        ),
        (
            &["hpa-explain", "-n", "shop", "c"],
            "cart\tDeployment/cart\n:4\n",
        ),
        (&["hpa-predict", NAME, "--target", ""], "cpu=\tcpu\n:6\n"),
        (
            &["hpa", "expl"],
            "explain\tRun the controller's algorithm once and explain the decision step by step\n:4\n",
        ),
    ] {
        let ran = complete("kubectl", &[&["__complete"], words].concat(), &config);
        assert_eq!(ran.stdout, lines, "{words:?}");
    }
}

#[test]
fn nothing_comes_in_time_where_nobody_answers() {
    let ask = ["explain", "-n", "shop", ""];
    for fault in [
        Fault::Hang,
        Fault::InternalError,
        Fault::InvalidJson,
        Fault::Unavailable(Some(1)),
    ] {
        let server = faulty(cluster(), [(When::on("/"), fault)]);
        let config = server.kubeconfig(&Auth::Token("admin"));
        let ran = complete("kubectl_complete-hpa", &ask, &config);
        assert_eq!((&*ran.stdout, &*ran.stderr), (":4\n", ""));
        // Candidates that need no cluster are still offered.
        let ran = complete("kubectl_complete-hpa", &["explain", "-o", "j"], &config);
        assert_eq!(
            ran.stdout,
            "json\tJSON with a published schema\njsonl\tThe same, an HPA per line as soon as it is explained\n:4\n"
        );
    }
    let server = Server::start(cluster());
    let config = server.kubeconfig(&Auth::Token("bob"));
    server.change(|cluster| {
        cluster
            .grant("bob")
            .deny("bob", "list", "horizontalpodautoscalers.autoscaling");
    });
    let ran = complete("kubectl_complete-hpa", &ask, &config);
    assert_eq!((&*ran.stdout, &*ran.stderr), (":4\n", ""));
    drop(server);
    let ran = complete("kubectl_complete-hpa", &ask, &config);
    assert_eq!((&*ran.stdout, &*ran.stderr), (":4\n", ""));
}

#[test]
fn credential_plugins_are_run_without_a_word() {
    let server = Server::start(cluster());
    for (exec, lines) in [
        (Exec::Token("admin"), "cart\tDeployment/cart\n:4\n"),
        (Exec::Fails, ":4\n"),
        (Exec::Garbage, ":4\n"),
        (Exec::Hangs, ":4\n"),
        (Exec::Missing, ":4\n"),
    ] {
        let config = server.kubeconfig(&Auth::Exec(exec));
        let ran = complete(
            "kubectl_complete-hpa",
            &["explain", "-n", "shop", "c"],
            &config,
        );
        assert_eq!((&*ran.stdout, &*ran.stderr), (lines, ""), "{exec:?}");
    }
}

/// Its address may contain a password, and its token may not fit a header.
#[test]
fn nothing_of_a_kubeconfig_but_names_shows() {
    let server = Server::start(cluster());
    let config = server.kubeconfig(&Auth::Token("admin"));
    config.edit(|config| {
        config["clusters"][0]["cluster"]["server"] =
            "https://me:secret-password@127.0.0.1:1".into();
    });
    let ran = complete(
        "kubectl_complete-hpa",
        &["explain", "--cluster", ""],
        &config,
    );
    assert_eq!((&*ran.stdout, &*ran.stderr), ("test-cluster\n:4\n", ""));
    let config = server.kubeconfig(&Auth::None);
    config.edit(|config| {
        config["users"][0]["user"]["token"] = "secret-token-of-admin\n".into();
    });
    let ran = complete("kubectl_complete-hpa", &["explain", ""], &config);
    assert_eq!((&*ran.stdout, &*ran.stderr), (":4\n", ""));
}

#[test]
fn a_file_that_never_ends_is_not_waited_for() {
    let server = Server::start(cluster());
    let config = server.kubeconfig(&Auth::Token("admin"));
    let pipe = config.directory().join("pipe");
    let made = std::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .expect("mkfifo");
    assert!(made.success());
    let pipe = pipe.to_str().expect("a path");
    let ran = complete(
        "kubectl_complete-hpa",
        &["explain", "-f", pipe, ""],
        &config,
    );
    assert_eq!((&*ran.stdout, &*ran.stderr), (":4\n", ""));
}
