//! From a kubeconfig to a connection: what is wrong with the file, the address, the certificate, the
//! proxy or the credentials, in kubectl's words.

use std::fs;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use super::api::{Auth, Exec, Fault, Gate, Kubeconfig, Proxy, Server, Transport, When, authorize};
use super::apply::refusal;
use super::prometheus::{STATE, WEB, run_at};
use super::rounds::edit;
use super::{
    HPA, NAME, Ran, ended, explain_with, program, recorded, run, server_with, shows, until,
};

fn admin(server: &Server) -> Kubeconfig {
    server.kubeconfig(&Auth::Token("admin"))
}

/// Returns a port that no one listens on.
fn closed_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}

/// Rows 1, 2 and 4.
#[test]
fn kubeconfigs_that_are_not_there_or_not_readable() {
    let bare = ["explain", NAME];
    run(program().args(bare)).fails(
        1,
        &["error: no kubeconfig found (looked at /nonexistent/.kube/config)\n"],
    );
    let server = server_with(|_| {});
    let config = admin(&server);
    let broken = config.directory().join("broken");
    fs::write(&broken, "clusters:\n- name: [x\ncontexts: 1\n").expect("a file");
    let text = broken.display().to_string();
    // Not even in a pod does anything replace a faulty file.
    run(program()
        .args(bare)
        .env("KUBECONFIG", &broken)
        .env("KUBERNETES_SERVICE_HOST", "127.0.0.1"))
    .fails(1, &["error: error loading config file ", &text, "line "]);
    run(program()
        .args(bare)
        .args(["--kubeconfig", "/nonexistent/config"]))
    .fails(
        1,
        &["error: stat /nonexistent/config: no such file or directory\n"],
    );
    for (flag, error) in [
        (
            "--context",
            "error: context \"none\" does not exist\nhint: --context may be one of: test\n",
        ),
        (
            "--cluster",
            "error: cluster \"none\" does not exist\nhint: --cluster may be one of: test-cluster\n",
        ),
        (
            "--user",
            "error: auth info \"none\" does not exist\nhint: --user may be one of: test-user\n",
        ),
    ] {
        explain_with(&config, &[flag, "none"]).fails(1, &[error]);
    }
}

/// Row 3.
#[test]
fn of_a_list_of_kubeconfigs_one_may_be_missing() {
    let server = server_with(|_| {});
    let config = admin(&server);
    let list = std::env::join_paths(["/nonexistent/config".into(), config.path()]).expect("a list");
    for (flags, stderr) in [
        (vec![], ""),
        (vec!["-v", "1"], "no kubeconfig at /nonexistent/config\n"),
    ] {
        let ran = run(program()
            .args(["explain", NAME])
            .args(flags)
            .env("KUBECONFIG", &list));
        assert_eq!((ran.code, &*ran.stderr), (Some(0), stderr));
    }
}

/// Rows 5 to 7.
#[test]
fn servers_that_cannot_be_reached() {
    let server = server_with(|_| {});
    let config = admin(&server);
    let closed = format!("127.0.0.1:{}", closed_port());
    let refused = format!(
        "The connection to the server {closed} was refused - did you specify the right host or port?\n"
    );
    let ran = explain_with(&config, &["-s", &format!("https://{closed}")]);
    ran.fails(1, &[]);
    assert!(ran.stderr.starts_with(&refused), "{}", ran.stderr);
    explain_with(&config, &["-s", "https://no-such-host.invalid:6443"]).fails(
        1,
        &["Unable to connect to the server: cannot resolve host no-such-host.invalid: "],
    );
    let silent = server_with(|cluster| {
        cluster.transport(Transport::Silent);
    });
    let begun = Instant::now();
    explain_with(&admin(&silent), &["--request-timeout", "2s"]).fails(
        1,
        &[
            "Unable to connect to the server: timed out after 2s connecting to 127.0.0.1:",
            "hint: increase --request-timeout\n",
        ],
    );
    assert!(begun.elapsed() < Duration::from_secs(15));
}

/// Row 8.
#[test]
fn certificates_that_are_wrong() {
    for (transport, cause, hint) in [
        (
            Transport::UnknownAuthority,
            "tls: failed to verify certificate: x509: certificate signed by unknown authority",
            "--certificate-authority",
        ),
        (
            Transport::Expired,
            "tls: failed to verify certificate: x509: certificate has expired or is not yet valid",
            "compare the clocks",
        ),
        (
            Transport::WrongName,
            "tls: failed to verify certificate: x509: cannot validate certificate for 127.0.0.1 because it doesn't contain \
             any IP SANs",
            "--tls-server-name",
        ),
    ] {
        let server = server_with(|cluster| {
            cluster.transport(transport);
        });
        let ran = explain_with(&admin(&server), &[]);
        ran.fails(1, &["Unable to connect to the server: ", cause, hint]);
        assert!(!ran.stderr.contains("insecure"), "{}", ran.stderr);
        // Nothing was sent to a server that did not prove its identity.
        assert!(server.requests().is_empty());
    }
}

/// Explains through a proxy that a variable names. The server has an address of this machine other than
/// the loopback's, which is never proxied.
fn explain_through(server: &Server, proxy: &str) -> Ran {
    let config = admin(server);
    let elsewhere = format!("https://0.0.0.0:{}", server.address().port());
    let mut command = program();
    command
        .args(["explain", NAME, "-s", &elsewhere])
        .args(["--tls-server-name", "127.0.0.1", "-o", "json", "-v", "9"])
        .args(["--request-timeout", "2s", "--kubeconfig"]);
    run(command.arg(config.path()).env("HTTPS_PROXY", proxy))
}

/// Row 9 without a failure: also with a user, whose password may be escaped or missing.
#[test]
fn a_proxy_leads_to_the_server() {
    let server = server_with(|_| {});
    for (scheme, gate, user) in [
        ("http", Gate::Open, ""),
        (
            "http",
            Gate::For("me:secret-password@1"),
            "me:secret-password%401",
        ),
        ("http", Gate::For("me:"), "me"),
        ("socks5", Gate::Open, ""),
        (
            "socks5",
            Gate::For("me:secret-password@1"),
            "me:secret-password%401",
        ),
    ] {
        let proxy = Proxy::start(gate);
        let ran = explain_through(&server, &proxy.url(scheme, user));
        assert_eq!(ran.answer()["outcome"]["status"]["desiredReplicas"], 10);
        let named = format!(
            "through the proxy {} (from HTTPS_PROXY)\n",
            proxy.url(scheme, "")
        );
        shows(&ran.stderr, &named);
        let place = format!("0.0.0.0:{}", server.address().port());
        assert!(!proxy.asked().is_empty() && proxy.asked().iter().all(|asked| *asked == place));

        let config = admin(&server);
        config.edit(|config| {
            config["clusters"][0]["cluster"]["proxy-url"] = json!(proxy.url(scheme, user));
        });
        let answer = explain_with(&config, &["-o", "json"]).answer();
        assert_eq!(answer["outcome"]["status"]["desiredReplicas"], 10);
        assert_eq!(proxy.asked().last(), Some(&server.address().to_string()));
    }
}

/// Row 9.
#[test]
fn proxies_that_do_not_let_through() {
    let server = server_with(|_| {});
    for (scheme, gate, cause, hint) in [
        (
            "socks5",
            Gate::For("me:secret-password"),
            "authentication failed\n",
            "hint: check the credentials in its address, socks5://USER:PASSWORD@HOST:PORT; without them, it must not ask for any\n",
        ),
        (
            "http",
            Gate::For("me:secret-password"),
            "407 Proxy Authentication Required\n",
            "hint: its address can include credentials: http://USER:PASSWORD@HOST:PORT\n",
        ),
        (
            "http",
            Gate::Closed,
            "it refused a connection to 0.0.0.0:",
            "",
        ),
        ("http", Gate::Silent, "no answer in time\n", ""),
    ] {
        let proxy = Proxy::start(gate);
        let named = |by: &str| {
            format!(
                "Unable to connect to the server: proxy {} (from {by}): {cause}",
                proxy.url(scheme, "")
            )
        };
        explain_through(&server, &proxy.url(scheme, "me:secret-password-of-old"))
            .fails(1, &[&named("HTTPS_PROXY"), hint]);
        let config = admin(&server);
        config.edit(|config| {
            config["clusters"][0]["cluster"]["proxy-url"] =
                json!(proxy.url(scheme, "me:secret-password-x"));
        });
        let cause = named("proxy-url").replace("0.0.0.0", "127.0.0.1");
        explain_with(&config, &["--request-timeout", "2s"]).fails(1, &[&cause, hint]);
    }
    assert!(server.requests().is_empty());
}

/// Row 9: the API server's certificate is right.
#[test]
fn a_proxy_by_tls_is_blamed_for_its_own_certificate() {
    let server = server_with(|_| {});
    let proxy = server_with(|cluster| {
        cluster.transport(Transport::UnknownAuthority);
    });
    let proxy = format!("https://{}", proxy.address());
    let cause = format!(
        "Unable to connect to the server: proxy {proxy} (from HTTPS_PROXY): tls: failed to verify certificate: x509: \
         certificate signed by unknown authority\n"
    );
    let hint = "hint: as in kubectl, the cluster's certificate authority must have signed the proxy's certificate\n";
    explain_through(&server, &proxy).fails(1, &[&cause, hint]);
}

/// Rows 9 and 10.
#[test]
fn proxies_are_named_without_their_users() {
    let server = server_with(|_| {});
    let config = admin(&server);
    let port = closed_port();
    let proxy = format!("http://me:secret-password@127.0.0.1:{port}");
    // An address of this machine other than the loopback's, which is never proxied.
    let elsewhere = format!("https://0.0.0.0:{}", server.address().port());
    let arguments = [
        "explain",
        NAME,
        "-s",
        &elsewhere,
        "--tls-server-name",
        "127.0.0.1",
    ];
    for (no_proxy, warns) in [
        ("", None),
        ("0.0.0.0", Some("")),
        (
            ":80,0.0.0.0",
            Some("Warning: NO_PROXY: the entry \":80\" is ignored\n"),
        ),
    ] {
        let mut command = program();
        command.args(arguments).env("KUBECONFIG", config.path());
        let ran = run(command.env("HTTPS_PROXY", &proxy).env("NO_PROXY", no_proxy));
        match warns {
            None => {
                let named = format!("proxy http://127.0.0.1:{port} (from HTTPS_PROXY): ");
                ran.fails(1, &["Unable to connect to the server: ", &named]);
            }
            Some(entry) => {
                ended(&ran, 0);
                assert_eq!(ran.stderr.is_empty(), entry.is_empty(), "{}", ran.stderr);
                shows(&ran.stderr, entry);
            }
        }
    }
    config.edit(|config| config["clusters"][0]["cluster"]["proxy-url"] = json!(proxy));
    explain_with(&config, &["-v", "9"]).fails(1, &["(from proxy-url): "]);
}

/// Row 8: the advice works, and only for the server that it is about.
#[test]
fn certificates_that_are_right_by_another_name_or_not_looked_at() {
    for (transport, flags, field) in [
        (
            Transport::WrongName,
            ["--tls-server-name", "api.example.test"],
            ("tls-server-name", json!("api.example.test")),
        ),
        (
            Transport::WrongName,
            ["--insecure-skip-tls-verify", "--request-timeout=9s"],
            ("insecure-skip-tls-verify", json!(true)),
        ),
        (
            Transport::UnknownAuthority,
            ["--insecure-skip-tls-verify", "--request-timeout=9s"],
            ("insecure-skip-tls-verify", json!(true)),
        ),
        (
            Transport::Expired,
            ["--insecure-skip-tls-verify", "--request-timeout=9s"],
            ("insecure-skip-tls-verify", json!(true)),
        ),
    ] {
        let server = server_with(|cluster| {
            cluster.transport(transport);
        });
        let config = admin(&server);
        let ran = explain_with(&config, &flags);
        assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{flags:?}");
        config.edit(|config| {
            let cluster = &mut config["clusters"][0]["cluster"];
            if field.0.starts_with("insecure") {
                cluster
                    .as_object_mut()
                    .expect("a map")
                    .remove("certificate-authority-data");
            }
            cluster[field.0] = field.1.clone();
        });
        assert_eq!(explain_with(&config, &[]).code, Some(0), "{field:?}");
    }
    let server = server_with(|cluster| {
        cluster.transport(Transport::UnknownAuthority);
    });
    explain_with(&admin(&server), &["--tls-server-name", "127.0.0.1"])
        .fails(1, &["x509: certificate signed by unknown authority"]);
}

/// Row 14.
#[test]
fn credentials_that_are_wrong() {
    let server = server_with(|_| {});
    for auth in [Auth::BadToken, Auth::BadCertificate] {
        explain_with(&server.kubeconfig(&auth), &[]).fails(
            1,
            &["error: You must be logged in to the server (Unauthorized)\nhint: check the credentials that are sent"],
        );
    }
    explain_with(&server.kubeconfig(&Auth::None), &[]).fails(
        1,
        &[
            "Error from server (Forbidden): ",
            "User \"system:anonymous\" cannot get",
        ],
    );
    for auth in [
        Auth::Certificate("admin"),
        Auth::Exec(Exec::Certificate("admin")),
    ] {
        let ran = explain_with(&server.kubeconfig(&auth), &[]);
        assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
    }
}

/// Rows 11 to 13.
#[test]
fn credential_plugins() {
    let server = server_with(|_| {});
    for (exec, parts) in [
        (
            Exec::Fails,
            vec![
                "not logged in\n",
                "exec: executable /bin/sh failed with exit code 3\n",
            ],
        ),
        (
            Exec::Garbage,
            vec!["exec: executable /bin/sh did not print an ExecCredential\n"],
        ),
        (
            Exec::Missing,
            vec![
                "exec: executable no-such-credential-plugin not found\n",
                "hint: Install it with your package manager.\n",
            ],
        ),
    ] {
        for verbosity in ["0", "9"] {
            let config = server.kubeconfig(&Auth::Exec(exec));
            let ran = explain_with(&config, &["-v", verbosity]);
            ran.fails(
                1,
                &["Unable to connect to the server: getting credentials: "],
            );
            ran.fails(1, &parts);
        }
    }
    let config = server.kubeconfig(&Auth::Exec(Exec::Token("admin")));
    config.edit(|config| config["users"][0]["user"]["exec"]["interactiveMode"] = json!("Always"));
    explain_with(&config, &[]).fails(1, &["standard input is not a terminal\n"]);
    assert!(server.requests().is_empty() && config.exec_runs().is_empty());
}

/// Row 55: a plugin gets no input unless it is a terminal, and does not run if no cluster is asked.
#[test]
fn a_plugin_gets_no_input() {
    let server = server_with(|_| {});
    let config = server.kubeconfig(&Auth::Exec(Exec::Token("admin")));
    let script = config.directory().join("plugin.sh");
    let text = fs::read_to_string(&script).expect("a script");
    let input = config.directory().join("input");
    fs::write(&script, format!("cat > '{}'\n{text}", input.display())).expect("a script");
    let explain = |more: &[&str]| {
        let mut command = program();
        command
            .args(["explain", NAME, "-n", "default"])
            .args(more)
            .arg("--kubeconfig");
        run(command.arg(config.path()).write_stdin("kind: Nothing\n"))
    };
    explain(&["-o", "json"]).answer();
    assert_eq!(fs::read_to_string(&input).expect("it was run"), "");
    assert_eq!(config.exec_runs().len(), 1);
    let told: serde_json::Value = serde_json::from_str(&config.exec_runs()[0]).expect("JSON");
    assert_eq!(told["spec"]["interactive"], false);
    explain(&["-f", "-"]).fails(
        2,
        &["no HorizontalPodAutoscaler default/nginx-deployment in the input"],
    );
    assert_eq!(config.exec_runs().len(), 1);
}

/// Row 14 for an identity provider: its token is used while it is valid, and never renewed.
#[test]
fn a_token_of_an_identity_provider_is_used_as_it_is() {
    let token = |user: &str, expires: i64| {
        let claims = URL_SAFE_NO_PAD.encode(json!({"exp": expires}).to_string().as_bytes());
        format!("{user}.{claims}.signature")
    };
    let (old, valid) = (token("old", 1_000_000_000), token("valid", 4_000_000_000));
    let server = server_with(|cluster| {
        cluster.grant(&valid);
    });
    let explain = |token: &str, more: serde_json::Value| {
        let config = server.kubeconfig(&Auth::None);
        let mut provider = json!({
            "id-token": authorize::token(token),
            "idp-issuer-url": format!("{}/oidc", server.url()),
            "client-id": "kubernetes",
            "client-secret": "secret-password",
        });
        provider
            .as_object_mut()
            .expect("it")
            .extend(more.as_object().expect("it").clone());
        config.edit(|config| {
            config["users"][0]["user"] =
                json!({"auth-provider": {"name": "oidc", "config": provider}});
        });
        let before = fs::read(config.path()).expect("it");
        let ran = explain_with(&config, &["-o", "json", "-v", "9"]);
        assert_eq!(fs::read(config.path()).expect("it"), before);
        ran
    };
    let refreshes = json!({"refresh-token": "secret-password-of-the-provider"});
    let ran = explain(&valid, refreshes.clone());
    assert_eq!(ran.answer()["outcome"]["status"]["desiredReplicas"], 10);
    let asked = server.requests();
    let users = asked.iter().map(|request| request.user.as_deref());
    assert!(users.clone().count() > 0 && users.clone().all(|user| user == Some(&*valid)));
    let expired = "Unable to connect to the server: getting credentials: the OIDC id-token expired \
                   at 2001-09-09T01:46:40Z";
    explain(&old, refreshes).fails(1, &[expired, "hint: run kubectl once"]);
    explain(&old, json!({})).fails(1, &[expired, "no refresh-token\n", "hint: log in again\n"]);
    // The refresh token was sent to no one, so kubectl can still use it.
    assert_eq!(server.requests().len(), asked.len());
}

/// A token that does not fit a header, wherever it comes from.
#[test]
fn a_token_with_a_control_character_is_not_sent() {
    let server = server_with(|_| {});
    let config = server.kubeconfig(&Auth::None);
    let file = config.directory().join("token");
    let token = authorize::token("admin");
    let two_lines = format!("{token}\nsecret-password\n");
    let user = |user: serde_json::Value| {
        config.edit(|config| config["users"][0]["user"] = user);
    };
    let cause = "contains a newline or another control character, so it cannot be sent\n";
    let one_line = |ran: &Ran, source: &str| {
        let code = if source == "--token" { 2 } else { 1 };
        ran.fails(code, &[&format!("error: {source} {cause}hint: ")]);
        assert_eq!(ran.stderr.lines().count(), 2, "{}", ran.stderr);
    };
    user(json!({"token": format!("{token}\n")}));
    one_line(
        &explain_with(&config, &[]),
        "the token of user \"test-user\" in the kubeconfig",
    );
    user(json!({}));
    one_line(&explain_with(&config, &["--token", &two_lines]), "--token");
    fs::write(&file, &two_lines).expect("a file");
    user(json!({"tokenFile": file}));
    one_line(
        &explain_with(&config, &[]),
        &format!("the token in file {file:?}"),
    );
    assert!(server.requests().is_empty());
    // Whitespace around the one token in a file is trimmed, as in kubectl.
    fs::write(&file, format!("\n {token}\t\r\n")).expect("a file");
    explain_with(&config, &["-o", "json"]).answer();
    // As in kubectl, it goes before the flag's.
    explain_with(&config, &["-o", "json", "--token", "another"]).answer();
}

/// Files in the current directory are not run, and neither are files that are not executable.
#[cfg(unix)]
#[test]
fn no_plugin_is_run_from_the_current_directory() {
    use std::os::unix::fs::PermissionsExt;

    let server = server_with(|_| {});
    let config = server.kubeconfig(&Auth::Exec(Exec::Token("admin")));
    let directory = config.directory();
    let install = |directory: &std::path::Path, mode| {
        let path = directory.join("get-token");
        fs::create_dir_all(directory).expect("a directory");
        fs::write(&path, "#!/bin/sh\nexec /bin/sh \"$@\"\n").expect("a file");
        fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("a mode");
    };
    install(directory, 0o755);
    install(&directory.join("plain"), 0o644);
    install(&directory.join("good"), 0o755);
    let plain = directory.join("plain").display().to_string();
    let good = directory.join("good").display().to_string();
    let explain = |command: &str, path: &str| {
        config.edit(|config| config["users"][0]["user"]["exec"]["command"] = command.into());
        let mut run_here = program();
        run_here
            .args(["explain", NAME, "-o", "json", "--kubeconfig"])
            .arg(config.path());
        run(run_here.current_dir(directory).env("PATH", path))
    };
    let relative = "Unable to connect to the server: getting credentials: exec: executable \
                    get-token: cannot run executable found relative to current directory\nhint: ";
    for path in [format!(":{good}"), format!(".:{good}"), format!("{plain}:")] {
        explain("get-token", &path).fails(1, &[relative]);
    }
    explain("get-token", &plain).fails(1, &["exec: executable get-token not found\nhint: "]);
    explain("./plain/get-token", &good).fails(1, &["/plain/get-token: permission denied\nhint: "]);
    assert_eq!(config.exec_runs().len(), 0);
    explain("get-token", &format!("{plain}:{good}:/usr/bin:/bin:")).answer();
    // With a slash it is relative to the kubeconfig, whatever the current directory.
    explain("./good/get-token", "/usr/bin:/bin").answer();
    assert_eq!(config.exec_runs().len(), 2);
}

#[test]
fn what_cannot_be_an_address_or_a_name_is_refused() {
    let server = server_with(|_| {});
    let config = admin(&server);
    let explain = |name: &str, more: &[&str]| {
        let mut command = program();
        command
            .args(["explain", name, "--kubeconfig"])
            .arg(config.path());
        run(command.args(more))
    };
    for (place, port) in [
        ("https://127.0.0.1:65536", " 65536"),
        ("127.0.0.1:4294967739", " 4294967739"),
        ("127.0.0.1:-1", " -1"),
        ("https://[::1]:70000/x", " 70000"),
        ("127.0.0.1:s3cr3t", ""),
    ] {
        let error =
            format!("error: the port{port} of the server's address is not one from 0 to 65535\n");
        explain(NAME, &["-s", place])
            .fails(2, &[&error, "hint: it comes from --server, or from the"]);
    }
    for (place, error) in [
        (
            "ftp://127.0.0.1",
            "error: ftp is not a scheme of the server's address, only http and https",
        ),
        (
            "127.0.0.1/x",
            "error: the server's address is not a URL of http or https, or a host:port pair",
        ),
        (
            "https://",
            "error: the server's address is not a URL of http or https, or a host:port pair",
        ),
        (
            "http:/",
            "error: the server's address is not a URL of http or https, or a host:port pair",
        ),
        (
            "https:",
            "error: the server's address is not a URL of http or https, or a host:port pair",
        ),
        (
            "https://user:s3cr3t@127.0.0.1",
            "error: the server's address must not name a user",
        ),
    ] {
        explain(NAME, &["-s", place])
            .fails(2, &[error, "hint: it comes from --server, or from the"]);
    }
    for name in [".", "..", "hpa/.."] {
        explain(name, &[]).fails(2, &["error: invalid resource name \".", "may not be '."]);
        explain(NAME, &["-n", name.trim_start_matches("hpa/")])
            .fails(2, &["error: invalid namespace \".", "may not be '."]);
    }
    config.edit(|config| config["contexts"][0]["context"]["namespace"] = "..".into());
    explain(NAME, &[]).fails(2, &["error: invalid namespace \"..\": may not be '..'\n"]);
    explain(NAME, &["--request-timeout", "1000000000000000000s"])
        .fails(2, &["Invalid timeout value"]);
    assert!(server.requests().is_empty());
    explain(NAME, &["-n", "default", "--request-timeout", "2562047h"]);
    assert!(!server.requests().is_empty());
}

/// Row 14 for a plugin.
#[test]
fn a_plugin_is_asked_again_once() {
    for (faults, code, runs) in [(1, Some(0), 2), (usize::MAX, Some(1), 2)] {
        let server = server_with(|cluster| {
            cluster.fault(When::on(HPA).first(faults), Fault::Unauthorized);
        });
        let config = server.kubeconfig(&Auth::Exec(Exec::Token("admin")));
        let ran = explain_with(&config, &["-o", "json"]);
        assert_eq!(
            (ran.code, config.exec_runs().len()),
            (code, runs),
            "{}",
            ran.stderr
        );
        if code == Some(1) {
            ran.fails(
                1,
                &["error: You must be logged in to the server (Unauthorized)\n"],
            );
        }
    }
}

/// As in kubectl, a client certificate is used in place of a plugin.
#[test]
fn a_certificate_makes_a_plugin_unnecessary() {
    let server = server_with(|_| {});
    let config = server.kubeconfig(&Auth::Certificate("admin"));
    config.edit(|config| {
        config["users"][0]["user"]["exec"] = json!({"command": "false", "interactiveMode": "Never",
            "apiVersion": "client.authentication.k8s.io/v1"});
    });
    explain_with(&config, &["-o", "json"]).answer();
}

/// What a server repeats of a token is struck, unless the token is as short as a part of a word; what this program says
/// itself is not.
#[test]
fn a_short_token_hides_no_words_of_this_program() {
    for (token, said) in [
        ("default", "(Forbidden): a ***\n"),
        ("a", "(Forbidden): a default\n"),
    ] {
        let server = server_with(|cluster| {
            cluster.fault(When::on(HPA), refusal(403, "Forbidden", "a default"));
        });
        let config = admin(&server);
        config.edit(|config| config["users"][0]["user"] = json!({"token": token}));
        let right =
            "get horizontalpodautoscalers.autoscaling in the namespace default; check it with";
        explain_with(&config, &[]).fails(1, &[said, right]);
    }
}

/// A token that expires is replaced in its file.
#[test]
fn a_token_file_is_read_again() {
    let [admins, bobs] = ["admin", "bob"].map(authorize::token);
    for (next, code, is_new) in [(&*admins, 1, false), (&bobs, 0, true), ("abc", 1, true)] {
        let server = server_with(|cluster| {
            cluster.fault(When::on(HPA).first(1), Fault::Unauthorized);
            cluster.grant("bob").latency(Duration::from_millis(200));
        });
        let config = admin(&server);
        let file = config.directory().join("token");
        config.edit(|config| config["users"][0]["user"] = json!({"tokenFile": "token"}));
        fs::write(&file, authorize::token("admin")).expect("a file");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                until("a request", || !server.requests().is_empty());
                fs::write(&file, next).expect("a file");
            });
            let ran = explain_with(&config, &["-o", "json", "-v", "1"]);
            assert_eq!(ran.code, Some(code), "{next}: {}", ran.stderr);
            let again = "credentials were refused; the token file was read again";
            assert_eq!(ran.stderr.contains(again), is_new, "{next}: {}", ran.stderr);
        });
    }
}

/// Row 60.
#[test]
fn nothing_that_identifies_goes_over_plain_http() {
    let server = server_with(|cluster| {
        cluster.transport(Transport::Plain);
        cluster.grant("system:anonymous");
    });
    let ran = explain_with(&admin(&server), &["-o", "json"]);
    ran.answer();
    assert_eq!(
        ran.stderr,
        "Warning: credentials are not sent over plain HTTP\n"
    );
    let sent = server.requests();
    assert!(!sent.is_empty() && sent.iter().all(|r| r.header("authorization").is_none()));
}

fn explain_and<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["explain", NAME, "-n", "default"], more].concat()
}

/// Every file that describes a connection, however it is named, whether or not it is read.
#[test]
fn what_describes_a_connection_is_never_written() {
    let server = server_with(|_| {});
    let config = admin(&server);
    let place = |name: &str| config.directory().join(name).display().to_string();
    let [file, link, token, ca, kuberc] =
        ["config", "link", "token", "ca.pem", "kuberc"].map(place);
    fs::create_dir_all(place(".kube")).expect("a directory");
    fs::copy(&file, place(".kube/config")).expect("a copy");
    fs::write(&ca, server.authority()).expect("a file");
    fs::write(&kuberc, "").expect("a file");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    #[cfg(not(unix))]
    fs::copy(&file, &link).expect("a copy");
    let list = std::env::join_paths(["/nonexistent/config", &*file]).expect("a list");
    let list = list.to_str().expect("UTF-8");
    let junit = format!("--report=junit={file}");
    let state = "examples/backtest/state.yaml";
    let shop = &["-n", "shop", "-f", state][..];
    let expect = &["predict", "web", "--expect", "desired<99"][..];
    let told = "the file describes the connection to a cluster";
    for (args, variable, over) in [
        (
            explain_and(&["--kubeconfig", &file, "--save", &file]),
            ("", ""),
            &file,
        ),
        (
            explain_and(&["--save", &file]),
            ("KUBECONFIG", &*file),
            &file,
        ),
        (explain_and(&["--save", &file]), ("KUBECONFIG", list), &file),
        (
            explain_and(&["--save", &file]),
            ("KUBECONFIG", &link),
            &file,
        ),
        (
            explain_and(&["--save", &place(".kube/config")]),
            ("HOME", &place("")),
            &place(".kube/config"),
        ),
        (
            explain_and(&["--save", &kuberc]),
            ("KUBERC", &kuberc),
            &kuberc,
        ),
        (
            explain_and(&[
                "--kubeconfig",
                &file,
                "--certificate-authority",
                &ca,
                "--save",
                &ca,
            ]),
            ("", ""),
            &ca,
        ),
        (
            [expect, shop, &["--kubeconfig", &*file, &junit][..]].concat(),
            ("", ""),
            &file,
        ),
        (
            [expect, shop, &[&*junit][..]].concat(),
            ("KUBECONFIG", &file),
            &file,
        ),
    ] {
        let before = fs::read(over).expect("the file");
        let mut command = program();
        if !variable.0.is_empty() {
            command.env(variable.0, variable.1);
        }
        run(command.args(&args)).fails(2, &[told, "hint: write to another file\n"]);
        assert_eq!(fs::read(over).expect("the file"), before, "{args:?}");
    }
    // A kubeconfig that does not exist would be read from then on.
    let missing = place("missing");
    let elsewhere = place(".kube/../missing");
    let saved = [&["explain", "web", "--save", &elsewhere], shop].concat();
    run(program().args(&saved).env("KUBECONFIG", &missing)).fails(2, &[told]);
    assert!(!std::path::Path::new(&missing).exists());
    // What only the kubeconfig names, whether this run needs it or not.
    let [login, key, identity] = ["login", "key.pem", "identity.pem"].map(place);
    fs::write(&token, "secret-token-of-admin\n").expect("a file");
    let own = json!({"tokenFile": "token"});
    let other = json!({"name": "other", "user": {"client-certificate": "ca.pem",
        "client-key": "key.pem", "exec": {"command": "./login", "apiVersion": ""},
        "auth-provider": {"name": "oidc", "config": {"idp-certificate-authority": &identity}}}});
    config.edit(|config| {
        config["users"][0]["user"] = own;
        config["users"].as_array_mut().expect("users").push(other);
    });
    for over in [&token, &ca, &login, &key, &identity] {
        if !std::path::Path::new(over).exists() {
            fs::write(over, "secret-token-of-admin\n").expect("a file");
        }
        let before = fs::read(over).expect("the file");
        let saved = [&["explain", "web", "--save", over], shop].concat();
        run(program().args(&saved).env("KUBECONFIG", &file)).fails(2, &[told]);
        explain_with(&config, &["--save", over]).fails(2, &[told]);
        assert_eq!(fs::read(over).expect("the file"), before, "{over}");
    }
    let ran = explain_with(&config, &["--save", &place("state.json")]);
    ended(&ran, 0);
}

/// Such as a device that never ends.
#[test]
fn files_of_a_connection_are_read_up_to_a_limit() {
    let server = server_with(|_| {});
    let config = admin(&server);
    let long = config.directory().join("long");
    let file = fs::File::create(&long).expect("a file");
    file.set_len((16 << 20) + 1).expect("a file with a hole");
    let long = long.to_str().expect("UTF-8");
    let told = "it has more than 16777216 bytes\n";
    run(program().args(["explain", NAME, "--kubeconfig", long])).fails(1, &[told]);
    run(program().args([
        "__complete",
        "explain",
        "--kubeconfig",
        long,
        "--context",
        "",
    ]));
    run(program()
        .args(["explain", NAME, "--kubeconfig"])
        .arg(config.path())
        .env("KUBERC", long))
    .fails(1, &["kuberc error ", told]);
    explain_with(&config, &["--certificate-authority", long]).fails(
        1,
        &["unable to load root certificates: it has more than 16777216 bytes\n"],
    );
    for user in [
        json!({"tokenFile": "long"}),
        json!({"client-certificate": "long", "client-key": "long"}),
    ] {
        config.edit(|config| config["users"][0]["user"] = user.clone());
        let expected = if user["tokenFile"].is_null() {
            "unable to load the client certificate or key\n"
        } else {
            told
        };
        explain_with(&config, &[]).fails(1, &[expected]);
    }
    let predict = |flags: &[&str]| run_at("https://127.0.0.1:1", "predict", STATE, WEB, flags);
    predict(&["--prometheus-ca", long]).fails(2, &["--prometheus-ca: failed to read ", told]);
    for file in [long, "/dev/zero"] {
        let header = format!("Authorization=@{file}");
        predict(&["--prometheus-header", &header]).fails(
            2,
            &["--prometheus-header authorization: failed to read ", told],
        );
    }
}

/// A command to paste reaches the same cluster as the same user, and never shows a token.
#[test]
fn commands_to_paste_carry_the_flags_that_select_cluster_and_user() {
    let mut cluster = recorded();
    cluster
        .grant("bob")
        .deny("bob", "list", "pods.metrics.k8s.io");
    edit(&mut cluster, |hpa| {
        hpa["spec"]["maxReplicas"] = json!(500);
        hpa["spec"]["behavior"] = json!({"scaleUp": {"selectPolicy": "Disabled"}});
    });
    let server = Server::start(cluster);
    let config = server.kubeconfig(&Auth::Token("admin"));
    let path = config.path();
    let kubeconfig = path.to_str().expect("a path");
    let explain = ["explain", NAME, "-n", "default", "--kubeconfig"];
    let mut command = program();
    let answer = run(command.args(explain).args([kubeconfig, "-o", "json"])).answer();
    let commands = answer["findings"][0]["commands"].to_string();
    let patch = format!("\"kubectl --kubeconfig={kubeconfig} patch hpa {NAME} -n default ");
    shows(&commands, &patch);
    let predict =
        format!(" -n default --set behavior.scaleUp.selectPolicy=null --kubeconfig={kubeconfig}\"");
    shows(&commands, &predict);

    let config = server.kubeconfig(&Auth::Token("bob"));
    let path = config.path();
    let kubeconfig = path.to_str().expect("a path");
    let mut command = program();
    command.args(explain).arg(kubeconfig);
    let denied = run(command.args(["--cluster=test-cluster", "--tls-server-name=localhost"]));
    let flags =
        format!("--kubeconfig={kubeconfig} --cluster=test-cluster --tls-server-name=localhost");
    let can =
        format!("check it with `kubectl {flags} auth can-i list pods.metrics.k8s.io -n default`");
    let told = denied.shown();
    shows(&told, &can);
}
