//! Kubeconfig files for a running server, each in its own directory, which is deleted with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::authorize::token;
use super::server::Server;

/// In the environment of an exec plugin; no output may ever show it.
pub(crate) const EXEC_SECRET: &str = "secret-in-the-environment";

/// The credentials in a kubeconfig. Naming a user creates it; "admin" may do everything.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Auth<'a> {
    /// The token of a user.
    Token(&'a str),
    /// A token that the server does not know.
    BadToken,
    /// A client certificate of a user, in the file itself.
    Certificate(&'a str),
    /// A client certificate that the server's authority did not sign.
    BadCertificate,
    /// An exec credential plugin.
    Exec(Exec<'a>),
    /// No credentials.
    None,
}

/// How an exec credential plugin behaves.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Exec<'a> {
    /// It prints the token of a user.
    Token(&'a str),
    /// It prints a client certificate of a user.
    Certificate(&'a str),
    /// It prints a secret to stdout, a reason to stderr, and exits with 3.
    Fails,
    /// It prints something other than an ExecCredential, containing a secret.
    Garbage,
    /// It prints nothing for half a minute.
    Hangs,
    /// Its executable does not exist; the kubeconfig has a hint.
    Missing,
}

/// A kubeconfig file. Dropping it removes the file and its directory.
#[derive(Debug)]
pub(crate) struct Kubeconfig {
    directory: PathBuf,
}

impl Kubeconfig {
    /// Writes a file with the single context `test`, whose namespace is `default`.
    pub(crate) fn write(server: &Server, auth: &Auth<'_>) -> Self {
        static WRITTEN: AtomicUsize = AtomicUsize::new(0);
        let number = WRITTEN.fetch_add(1, Ordering::SeqCst);
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("kubeconfig-{}-{number}", std::process::id()));
        fs::create_dir_all(&directory).expect("a directory for a kubeconfig");
        let config = Self { directory };
        let url = server.url();
        let mut cluster = json!({"server": url});
        if url.starts_with("https") {
            let authority = STANDARD.encode(server.authority().as_bytes());
            cluster["certificate-authority-data"] = json!(authority);
        }
        let text = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test-cluster", "cluster": cluster}],
            "contexts": [{"name": "test", "context": {
                "cluster": "test-cluster",
                "user": "test-user",
                "namespace": "default",
            }}],
            "users": [{"name": "test-user", "user": config.user(server, auth)}],
        });
        // JSON is also YAML, and needs no other writer.
        let text = serde_json::to_string_pretty(&text).expect("JSON");
        fs::write(config.path(), text).expect("a kubeconfig");
        config
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.join("config")
    }

    /// Returns the directory, in which a test may put more.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Changes the file's text, which is JSON.
    pub(crate) fn edit(&self, change: impl FnOnce(&mut serde_json::Value)) {
        let text = fs::read_to_string(self.path()).expect("a kubeconfig");
        let mut config = serde_json::from_str(&text).expect("a kubeconfig in JSON");
        change(&mut config);
        fs::write(self.path(), config.to_string()).expect("a kubeconfig");
    }

    /// Returns what the exec plugin got as `KUBERNETES_EXEC_INFO`, once for each run.
    pub(crate) fn exec_runs(&self) -> Vec<String> {
        let text = fs::read_to_string(self.directory.join("runs")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn user(&self, server: &Server, auth: &Auth<'_>) -> serde_json::Value {
        match auth {
            Auth::Token(user) => json!({"token": token(user)}),
            Auth::BadToken => json!({"token": "unknown"}),
            Auth::Certificate(_) | Auth::BadCertificate => {
                let identity = server.identity(auth).expect("it is a certificate");
                json!({
                    "client-certificate-data": STANDARD.encode(identity.certificate.as_bytes()),
                    "client-key-data": STANDARD.encode(identity.key.as_bytes()),
                })
            }
            Auth::Exec(exec) => json!({"exec": self.exec(server, *exec)}),
            Auth::None => json!({}),
        }
    }

    fn exec(&self, server: &Server, exec: Exec<'_>) -> serde_json::Value {
        let print = |status: serde_json::Value| {
            let credential = json!({
                "apiVersion": "client.authentication.k8s.io/v1",
                "kind": "ExecCredential",
                "status": status,
            });
            format!("cat <<'END'\n{credential}\nEND\n")
        };
        let act = match exec {
            Exec::Token(user) => print(json!({"token": token(user)})),
            Exec::Certificate(user) => {
                let auth = Auth::Exec(Exec::Certificate(user));
                let identity = server.identity(&auth).expect("it is a certificate");
                print(json!({
                    "clientCertificateData": identity.certificate,
                    "clientKeyData": identity.key,
                }))
            }
            Exec::Fails => "echo secret-on-stdout\necho 'not logged in' >&2\nexit 3\n".to_owned(),
            Exec::Garbage => "echo secret-on-stdout\n".to_owned(),
            Exec::Hangs => "exec sleep 30\n".to_owned(),
            Exec::Missing => String::new(),
        };
        let directory = self.directory.display();
        let record = format!("printf '%s\\n' \"$KUBERNETES_EXEC_INFO\" >> '{directory}/runs'\n");
        let script = self.directory.join("plugin.sh");
        fs::write(&script, record + &act).expect("an exec plugin");
        let missing = matches!(exec, Exec::Missing);
        // The shell reads the script: a file that was just written may still be open in a process
        // forked in the meantime, and then it could not be executed itself.
        json!({
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": if missing { "no-such-credential-plugin" } else { "/bin/sh" },
            "args": [script],
            "env": [{"name": "PLUGIN_PASSWORD", "value": EXEC_SECRET}],
            "installHint": "Install it with your package manager.",
            "interactiveMode": "IfAvailable",
        })
    }
}

impl Drop for Kubeconfig {
    fn drop(&mut self) {
        // Leftovers are below the target directory.
        drop(fs::remove_dir_all(&self.directory));
    }
}
