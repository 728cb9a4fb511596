//! kubectl's connection flags, with kubectl's names and rules. Nothing is read or resolved here.
//! Follows `ConfigFlags` of cli-runtime's `genericclioptions`, and kubectl's `-v`.

use std::time::Duration;

use clap::Args;

use super::whole;
use crate::apimachinery::go;
use crate::apimachinery::names::shell_word;
use crate::secret::Secret;

pub(super) const CONNECTION: &str =
    "Connection (as in kubectl; with -f, only the namespace is used)";

/// How to reach the API server. With `-f`, only the namespace is used.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = CONNECTION)]
pub struct ConnectionFlags {
    /// Namespace (default: the namespace of the context; with -f, all namespaces)
    #[arg(short = 'n', long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,

    /// Path to the kubeconfig file (default: KUBECONFIG, then ~/.kube/config)
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<String>,

    /// Context of the kubeconfig to use
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,

    /// Cluster of the kubeconfig to use
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,

    /// User of the kubeconfig to use
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,

    /// Address of the API server
    #[arg(short = 's', long, value_name = "URL")]
    pub server: Option<String>,

    /// Bearer token for authentication to the API server
    #[arg(long, value_name = "TOKEN")]
    pub token: Option<Secret>,

    /// User to impersonate
    #[arg(long = "as", value_name = "USER")]
    pub impersonate: Option<String>,

    /// Group to impersonate; repeatable
    #[arg(long = "as-group", value_name = "GROUP")]
    pub impersonate_groups: Vec<String>,

    /// UID to impersonate
    #[arg(long = "as-uid", value_name = "UID")]
    pub impersonate_uid: Option<String>,

    /// Extra attribute of the user to impersonate; repeatable
    #[arg(long = "as-user-extra", value_name = "KEY=VALUE")]
    pub impersonate_extra: Vec<String>,

    /// Path to a file with the certificate authorities to trust
    #[arg(long, value_name = "FILE")]
    pub certificate_authority: Option<String>,

    /// Path to a client certificate file for TLS
    #[arg(long, value_name = "FILE")]
    pub client_certificate: Option<String>,

    /// Path to a client key file for TLS
    #[arg(long, value_name = "FILE")]
    pub client_key: Option<String>,

    /// Do not verify the server's certificate; this makes the connection insecure
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
        default_missing_value = "true", value_parser = boolean, hide_possible_values = true)]
    pub insecure_skip_tls_verify: Option<bool>,

    /// Name to expect in the server's certificate (default: the host of the server's address)
    #[arg(long, value_name = "NAME")]
    pub tls_server_name: Option<String>,

    /// Time limit for one request, such as 5s; 0 means no limit (default 10s)
    #[arg(long, value_name = "DURATION", value_parser = timeout)]
    pub request_timeout: Option<Duration>,

    /// Do not ask for compressed responses
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
        default_missing_value = "true", value_parser = boolean, hide_possible_values = true)]
    pub disable_compression: Option<bool>,

    /// Verbosity of logs, 0 to 9: details such as retries and queries from level 1, every request from
    /// level 6
    #[arg(
        short = 'v',
        long = "v",
        value_name = "LEVEL",
        default_value_t = 0,
        value_parser = level,
        allow_negative_numbers = true
    )]
    pub verbosity: i32,

    /// Treat warnings of the server as errors and exit with a non-zero code
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
        default_missing_value = "true", value_parser = boolean, hide_possible_values = true)]
    pub warnings_as_errors: Option<bool>,
}

impl ConnectionFlags {
    /// Returns the flags that select cluster and user, quoted for a shell, so that a command to paste reaches
    /// the same cluster as the same user. A token is not repeated; the command has a placeholder for it.
    pub fn selection(&self) -> String {
        let token = self.token.as_ref().map(|_| "TOKEN".to_owned());
        let insecure = self.insecure_skip_tls_verify.map(|it| it.to_string());
        let flags = [
            ("kubeconfig", self.kubeconfig.as_slice()),
            ("context", self.context.as_slice()),
            ("cluster", self.cluster.as_slice()),
            ("user", self.user.as_slice()),
            ("server", self.server.as_slice()),
            ("token", token.as_slice()),
            ("as", self.impersonate.as_slice()),
            ("as-group", &self.impersonate_groups),
            ("as-uid", self.impersonate_uid.as_slice()),
            ("as-user-extra", &self.impersonate_extra),
            (
                "certificate-authority",
                self.certificate_authority.as_slice(),
            ),
            ("client-certificate", self.client_certificate.as_slice()),
            ("client-key", self.client_key.as_slice()),
            ("insecure-skip-tls-verify", insecure.as_slice()),
            ("tls-server-name", self.tls_server_name.as_slice()),
        ];
        let mut words = Vec::new();
        for (name, values) in flags {
            for value in values {
                words.push(format!("--{name}={}", shell_word(value)));
            }
        }
        words.join(" ")
    }
}

fn boolean(text: &str) -> Result<bool, &'static str> {
    go::parse_bool(text).ok_or("neither true nor false")
}

/// Any whole number, as for kubectl.
fn level(text: &str) -> Result<i32, String> {
    text.parse().or_else(|_| whole(text))
}

/// Follows `clientcmd.ParseTimeout`; a negative duration means no limit, as in Go's HTTP client.
fn timeout(text: &str) -> Result<Duration, String> {
    if let Ok(seconds) = text.parse::<u32>() {
        return Ok(Duration::from_secs(seconds.into()));
    }
    go::parse_duration(text)
        .map(|duration| duration.try_into().unwrap_or_default())
        .ok_or_else(|| {
            "Invalid timeout value. Timeout must be a single integer in seconds, or an integer \
             followed by a corresponding time unit (e.g. 1s | 2m | 3h)"
                .to_owned()
        })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::Parser;

    use super::{ConnectionFlags, boolean, timeout};

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        connection: ConnectionFlags,
    }

    fn parsed(words: &[&str]) -> ConnectionFlags {
        let line = [&["test"], words].concat();
        Line::try_parse_from(line).unwrap().connection
    }

    #[test]
    fn timeouts() {
        for (text, want) in [
            ("0", Some(0)),
            ("7", Some(7000)),
            ("1s", Some(1000)),
            ("1m30s", Some(90_000)),
            ("250ms", Some(250)),
            ("-1s", Some(0)),
            ("1p", None),
            ("4294967295", Some(4_294_967_295_000)),
            ("2562047h", Some(9_223_369_200_000)),
            ("1000000000000000000s", None),
            ("1000000000000000000", None),
            ("1 m", None),
            ("1minute", None),
            ("", None),
        ] {
            let got = timeout(text).ok();
            assert_eq!(got, want.map(Duration::from_millis), "{text}");
        }
    }

    #[test]
    fn booleans() {
        assert_eq!(boolean("T"), Ok(true));
        assert_eq!(boolean("0"), Ok(false));
        assert!(boolean("yes").is_err());
        let flags = parsed(&["--insecure-skip-tls-verify", "--disable-compression=false"]);
        assert_eq!(flags.insecure_skip_tls_verify, Some(true));
        assert_eq!(flags.disable_compression, Some(false));
        assert_eq!(flags.warnings_as_errors, None);
    }

    #[test]
    fn what_selects_cluster_and_user_is_repeated_without_the_token() {
        for (given, want) in [
            (&[][..], ""),
            (&["-n", "shop", "-v", "6", "--request-timeout=5s"], ""),
            (
                &["--context", "prod", "--as=eve o'x"],
                r"--context=prod --as='eve o'\''x'",
            ),
            (
                &["--token=s3cr3t", "-s", "https://k:6443"],
                "--server=https://k:6443 --token=TOKEN",
            ),
            (
                &[
                    "--as=a",
                    "--as-group=b",
                    "--as-group=c d",
                    "--insecure-skip-tls-verify",
                ],
                "--as=a --as-group=b --as-group='c d' --insecure-skip-tls-verify=true",
            ),
        ] {
            assert_eq!(parsed(given).selection(), want);
        }
    }

    #[test]
    fn groups_are_not_split_and_the_token_does_not_print() {
        let flags = parsed(&[
            "--as-group=a,b",
            "--as-group=c",
            "--token",
            "s3cr3t",
            "-v",
            "6",
        ]);
        assert_eq!(flags.impersonate_groups, ["a,b", "c"]);
        assert_eq!(flags.verbosity, 6);
        assert!(!format!("{flags:?}").contains("s3cr3t"));
        // Any level, as for kubectl.
        for (given, level) in [("--v=10", 10), ("-v=-1", -1)] {
            assert_eq!(parsed(&[given]).verbosity, level);
        }
    }
}
