//! Credential plugins, as shell scripts that count their runs.

use std::time::Duration;

use serde_json::Value;

use super::{Directory, wait};
use crate::cluster::connect::config_file::{Cluster, Exec, Variable};
use crate::cluster::connect::exec::{Credentials, PluginFault, run_within};
use crate::cluster::connect::plugin_policy::Policy;
use crate::cluster::connect::tls::Identity;
use crate::secret::Secret;

const V1: &str = "client.authentication.k8s.io/v1";

/// Returns a plugin that runs a script.
fn plugin(script: &str) -> Exec {
    Exec {
        command: "sh".to_owned(),
        args: vec![Secret::new("-c"), Secret::new(script)],
        api_version: V1.to_owned(),
        interactive_mode: "IfAvailable".to_owned(),
        ..Exec::default()
    }
}

fn run(exec: &Exec) -> Result<Credentials, PluginFault> {
    let directory = Directory::new();
    let limit = Duration::from_millis(1500);
    let env = directory.env(&[]);
    let cluster = Cluster::default();
    wait(run_within(limit, exec, &cluster, &Policy::AllowAll, &env))
}

fn answer(status: &str) -> String {
    format!(r#"echo '{{"kind":"ExecCredential","apiVersion":"{V1}","status":{status}}}'"#)
}

#[test]
fn what_a_plugin_gives() {
    let token = run(&plugin(&answer(r#"{"token":"T-1"}"#))).unwrap();
    assert_eq!(token.token, Some(Secret::new("T-1")));
    assert!(!format!("{token:?}").contains("T-1"));
    for printed in [
        format!(r#"{{"apiVersion":"{V1}","status":{{"token":"T-0","token":"T-1"}}}}"#),
        format!("kind: ExecCredential\napiVersion: {V1}\nstatus: {{token: T-1}}"),
    ] {
        let other = run(&plugin(&format!("echo '{printed}'"))).unwrap();
        assert_eq!(other.token, token.token, "{printed}");
    }
    let identity = r#"{"clientCertificateData":"C","clientKeyData":"K"}"#;
    let identity = run(&plugin(&answer(identity))).unwrap();
    assert_eq!(
        identity.identity,
        Some(Identity {
            certificate: "C".to_owned(),
            key: Secret::new("K")
        })
    );
}

#[test]
fn faults_show_no_output_and_no_environment() {
    for (script, want) in [
        (
            "echo T-s3cr3t; exit 7".to_owned(),
            "exec: executable sh failed with exit code 7",
        ),
        (
            "echo T-s3cr3t".to_owned(),
            "exec: executable sh did not print an ExecCredential",
        ),
        (answer("null"), "exec plugin didn't return a status field"),
        (
            answer("{}"),
            "exec plugin didn't return a token or cert/key pair",
        ),
        (
            answer(r#"{"token":"T-s3cr3t","clientKeyData":"s3cr3t"}"#),
            "exec plugin returned only certificate or key, not both",
        ),
        (
            answer(r#"{"token":"T-s3cr3t"}"#).replace("/v1\"", "/v1beta1\""),
            "exec plugin is configured to use API version client.authentication.k8s.io/v1, plugin \
             returned version client.authentication.k8s.io/v1beta1",
        ),
        (
            answer(r#"{"token":"T-s3cr3t\\n"}"#),
            "exec: executable sh returned a token with a newline or another control character, \
             so it cannot be sent",
        ),
        (
            "sleep 20".to_owned(),
            "exec: executable sh did not respond within 1s",
        ),
    ] {
        let mut exec = plugin(&script);
        exec.env.push(Variable {
            name: "MY_SECRET".to_owned(),
            value: Secret::new("s3cr3t"),
        });
        let fault = run(&exec).unwrap_err();
        assert_eq!(fault.cause, want);
        assert!(!format!("{exec:?} {fault:?}").contains("s3cr3t"));
    }
}

#[test]
fn a_plugin_has_a_minute() {
    let directory = Directory::new();
    let (plugin, env) = (plugin("sleep 20"), directory.env(&[]));
    let cluster = Cluster::default();
    // The clock advances whenever there is nothing to do but wait.
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let clock = builder.enable_all().start_paused(true).build().unwrap();
    let run = crate::cluster::connect::exec::run(&plugin, &cluster, &Policy::AllowAll, &env);
    let begun = std::time::Instant::now();
    let fault = clock.block_on(run).unwrap_err();
    assert_eq!(
        fault.cause,
        "exec: executable sh did not respond within 60s"
    );
    assert!(begun.elapsed() < Duration::from_secs(15));
}

#[test]
fn what_cannot_run_does_not() {
    let directory = Directory::new();
    let ran = directory.path("ran");
    let script = format!("touch {ran}");
    let run = |exec: &Exec, policy: &Policy| {
        let env = directory.env(&[]);
        let limit = Duration::from_secs(5);
        wait(run_within(limit, exec, &Cluster::default(), policy, &env)).unwrap_err()
    };
    let mut always = plugin(&script);
    always.interactive_mode = "Always".to_owned();
    assert_eq!(
        run(&always, &Policy::AllowAll).cause,
        "exec plugin cannot support interactive mode: standard input is not a terminal"
    );
    assert!(
        run(&plugin(&script), &Policy::DenyAll)
            .cause
            .contains("DenyAll")
    );
    let mut old = plugin(&script);
    old.api_version = "client.authentication.k8s.io/v1alpha1".to_owned();
    assert!(
        run(&old, &Policy::AllowAll)
            .cause
            .contains("invalid apiVersion")
    );
    let mut missing = plugin(&script);
    missing.command = "no-such-plugin".to_owned();
    missing.install_hint = "get it\n from \u{1b}[31mhere".to_owned();
    let fault = run(&missing, &Policy::AllowAll);
    assert_eq!(fault.cause, "exec: executable no-such-plugin not found");
    assert_eq!(fault.hint.as_deref(), Some("get it from [31mhere"));
    assert!(!std::path::Path::new(&ran).exists());
    missing.command = directory.write("no-interpreter", "#!/no/such/interpreter\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let executable = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(&missing.command, executable).unwrap();
        let fault = run(&missing, &Policy::AllowAll);
        assert!(fault.cause.ends_with(": no such file or directory"));
        assert!(fault.hint.unwrap().contains("the interpreter"));
    }
}

#[test]
fn what_a_plugin_is_told() {
    let directory = Directory::new();
    let told = directory.path("told");
    let script = format!(
        "printf %s \"$KUBERNETES_EXEC_INFO\" > {told}; cat; {}",
        answer(r#"{"token":"t"}"#)
    );
    let mut exec = plugin(&script);
    exec.provide_cluster_info = true;
    let cluster = Cluster {
        server: "https://x".to_owned(),
        certificate_authority: directory.write("ca.crt", "A"),
        tls_server_name: "n".to_owned(),
        ..Cluster::default()
    };
    let (limit, env) = (Duration::from_secs(5), directory.env(&[]));
    wait(run_within(limit, &exec, &cluster, &Policy::AllowAll, &env)).unwrap();
    let told: Value = serde_json::from_str(&std::fs::read_to_string(told).unwrap()).unwrap();
    let want = serde_json::json!({
        "kind": "ExecCredential",
        "apiVersion": V1,
        "spec": {
            "interactive": false,
            "cluster": {
                "server": "https://x",
                "certificate-authority-data": "QQ==",
                "tls-server-name": "n",
            },
        },
    });
    assert_eq!(told, want);
}

#[cfg(unix)]
#[test]
fn a_plugin_that_takes_too_long_ends_with_its_children() {
    let directory = Directory::new();
    // Its writers are the plugin's child and grandchild.
    let pipe = directory.path("pipe");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let (ended, all_ended) = std::sync::mpsc::channel();
    std::thread::spawn({
        let pipe = pipe.clone();
        move || ended.send(std::fs::read_to_string(pipe))
    });
    let script = format!("sh -c 'echo begun; sleep 60 & sleep 60' > {pipe}");
    let fault = run(&plugin(&script)).unwrap_err();
    assert_eq!(fault.cause, "exec: executable sh did not respond within 1s");
    let said = all_ended
        .recv_timeout(Duration::from_secs(20))
        .expect("none is left");
    assert_eq!(said.unwrap(), "begun\n");
}

#[cfg(unix)]
#[test]
fn what_a_plugin_leaves_behind_on_purpose_stays() {
    let directory = Directory::new();
    let told = directory.path("told");
    // An agent is another process that does not hold the output.
    let agent = format!("(sleep 1; echo still > {told}) > /dev/null 2>&1 &");
    run(&plugin(&format!("{agent} {}", answer(r#"{"token":"t"}"#)))).unwrap();
    let said = || std::fs::read_to_string(&told).unwrap_or_default();
    let begun = std::time::Instant::now();
    while said().is_empty() && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(said(), "still\n");
}

#[test]
fn a_plugin_prints_up_to_a_limit() {
    let script = answer(r#"{"token":"t"}"#);
    let fill = |length: usize| format!("{script}; head -c {length} /dev/zero | tr '\\0' ' '");
    assert!(run(&plugin(&fill(1 << 19))).is_ok());
    let fault = run(&plugin(&fill(1 << 20))).unwrap_err();
    assert_eq!(fault.cause, "exec: executable sh printed more than 1 MiB");
}
