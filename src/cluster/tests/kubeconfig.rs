//! Loading, merging and overriding, case by case, with clientcmd's own rules.

use super::Directory;
use crate::args::ConnectionFlags;
use crate::cluster::connect::environment::Environment;
use crate::cluster::connect::kubeconfig::load;
use crate::cluster::connect::resolve::{Endpoint, resolve};
use crate::error::{Error, ErrorKind};
use crate::secret::Secret;

const ONE: &str = "
current-context: a
contexts:
- {name: a, context: {cluster: c, user: u, namespace: team}}
- {name: bare, context: {user: u}}
- {name: lost, context: {cluster: nowhere, user: u}}
- {name: nobody, context: {cluster: c, user: missing}}
- {name: empty, context: {cluster: c, user: u, namespace: ''}}
clusters:
- {name: c, cluster: {server: 'https://one:6443', tls-server-name: one, insecure-skip-tls-verify: null}}
- {name: d, cluster: {server: 'https://two:6443', certificate-authority-data: QQ==}}
users:
- {name: u, user: {token: s3cr3t, as: null}}
- {name: who, user: {as-uid: '7'}}
";

fn flags(change: impl FnOnce(&mut ConnectionFlags)) -> ConnectionFlags {
    let mut flags = ConnectionFlags::default();
    change(&mut flags);
    flags
}

fn resolved(flags: &ConnectionFlags, env: &Environment) -> Result<Endpoint, Error> {
    resolve(flags, &load(flags.kubeconfig.as_deref(), env)?, env)
}

fn message(flags: &ConnectionFlags, env: &Environment) -> String {
    resolved(flags, env).unwrap_err().message
}

#[test]
fn lists_merge_and_missing_files_are_skipped() {
    let directory = Directory::new();
    let first = directory.write("first", "current-context: ''\nclusters: [{name: c, cluster: {server: 'https://first'}}]\nusers: null\n");
    let second = directory.write("second", ONE);
    let list = format!("{}::{first}:{first}:{second}", directory.path("none"));
    let env = directory.env(&[("KUBECONFIG", &list)]);
    let loaded = load(None, &env).unwrap();
    assert_eq!((loaded.tried.len(), loaded.missing.len()), (3, 1));
    // The whole entry of the first file, and the first context that is set.
    let target = resolved(&ConnectionFlags::default(), &env).unwrap();
    assert_eq!(target.cluster.server, "https://first");
    assert_eq!(target.cluster.tls_server_name, "");
    assert_eq!(target.namespace, "team");
    assert_eq!(target.user.token.expose(), "s3cr3t");
    assert!(!format!("{loaded:?} {target:?}").contains("s3cr3t"));
}

#[test]
fn an_explicit_file_is_alone_and_must_exist() {
    let directory = Directory::new();
    let file = directory.write("here", ONE);
    let env = directory.env(&[("KUBECONFIG", "/nonexistent/list")]);
    let explicit = flags(|flags| flags.kubeconfig = Some(file));
    assert!(resolved(&explicit, &env).is_ok());
    let none = directory.path("none");
    let missing = flags(|flags| flags.kubeconfig = Some(none.clone()));
    assert_eq!(
        message(&missing, &env),
        format!("stat {none}: no such file or directory")
    );
}

#[test]
fn broken_files_stop_without_showing_values() {
    let directory = Directory::new();
    directory.write("account/token", "t");
    for (text, want) in [
        ("a: [", "not readable as YAML"),
        ("token: s3cr3t\n\ta: s3cr3t: b", "not readable as YAML"),
        ("kind: s3cr3t", "it is not of kind Config and apiVersion v1"),
        (
            "apiVersion: s3cr3t",
            "it is not of kind Config and apiVersion v1",
        ),
        ("[s3cr3t, s3cr3t]", "it is not an object"),
        ("s3cr3t", "it is not an object"),
        (
            "contexts: [[s3cr3t, {}]]",
            "the value of contexts[0] has the wrong type",
        ),
        (
            "clusters: [{name: a, cluster: [s3cr3t]}]",
            "the value of clusters[0] has the wrong type",
        ),
        (
            "users: [{name: u, user: {token: [s3cr3t]}}]",
            "the value of users[0].token has the wrong type",
        ),
        ("users: s3cr3t", "the value of users has the wrong type"),
        (
            "clusters: [{name: a}, {name: a}]",
            "clusters[1] has the name of another one",
        ),
    ] {
        let path = directory.write("bad", text);
        // Never the pod's own account, even if there is one.
        let env = directory.env(&[
            ("KUBECONFIG", &path),
            ("KUBERNETES_SERVICE_HOST", "10.0.0.1"),
            ("KUBERNETES_SERVICE_PORT", "443"),
        ]);
        let got = message(&ConnectionFlags::default(), &env);
        let start = format!("error loading config file \"{path}\": ");
        assert!(got.starts_with(&start) && got.contains(want), "{got}");
        assert!(!got.contains("s3cr3t"), "{got}");
    }
}

#[test]
fn the_first_document_counts_and_the_last_of_repeated_keys() {
    let directory = Directory::new();
    let text = format!("current-context: none\n{ONE}\n---\na: [");
    directory.write(".kube/config", &text);
    let target = resolved(&ConnectionFlags::default(), &directory.env(&[])).unwrap();
    assert_eq!(target.cluster.server, "https://one:6443");
}

#[test]
fn names_that_do_not_exist() {
    let directory = Directory::new();
    let file = directory.write(".kube/config", ONE);
    let env = directory.env(&[]);
    let context = |name: &str| flags(|flags| flags.context = Some(name.to_owned()));
    let user = |name: &str| flags(|flags| flags.user = Some(name.to_owned()));
    let group = || flags(|flags| flags.impersonate_groups = vec!["g".to_owned()]);
    for (change, want) in [
        (context("x"), "context \"x\" does not exist"),
        (
            flags(|flags| flags.cluster = Some("x".to_owned())),
            "cluster \"x\" does not exist",
        ),
        (user("x"), "auth info \"x\" does not exist"),
        (context("lost"), "cluster \"nowhere\" does not exist"),
        (context("nobody"), "auth info \"missing\" does not exist"),
        (context("bare"), "default cluster has no server defined"),
        (
            user("who"),
            "requesting uid, groups or user-extra for who without impersonating a user",
        ),
        (
            group(),
            "requesting uid, groups or user-extra for u without impersonating a user",
        ),
    ] {
        assert_eq!(message(&change, &env), want);
    }
    // The kubeconfig's own fault, and one of the command line.
    for (change, kind) in [
        (user("who"), ErrorKind::Failed),
        (group(), ErrorKind::Usage),
        (
            flags(|flags| flags.client_certificate = Some(file.clone())),
            ErrorKind::Usage,
        ),
    ] {
        assert_eq!(resolved(&change, &env).unwrap_err().kind, kind);
    }
    let hint = resolved(&context("x"), &env).unwrap_err().hint.unwrap();
    assert_eq!(
        hint,
        "--context may be one of: a, bare, empty, lost, nobody"
    );
    std::fs::write(&file, "current-context: gone").unwrap();
    assert_eq!(
        message(&ConnectionFlags::default(), &env),
        "Error in configuration: context was not found for specified context: gone"
    );
}

#[test]
fn flags_go_over_entries() {
    let directory = Directory::new();
    directory.write(".kube/config", ONE);
    let authority = directory.write("ca.crt", "");
    let env = directory.env(&[]);
    let get = |change: ConnectionFlags| resolved(&change, &env).unwrap();

    let target = get(flags(|flags| flags.server = Some("https://x".to_owned())));
    assert_eq!(target.cluster.server, "https://x");
    assert_eq!(target.cluster.tls_server_name, "");
    let target = get(flags(|flags| {
        flags.cluster = Some("d".to_owned());
        flags.insecure_skip_tls_verify = Some(true);
    }));
    assert!(target.cluster.insecure_skip_tls_verify);
    assert_eq!(target.cluster.certificate_authority_data, "");
    let target = get(flags(|flags| {
        flags.cluster = Some("d".to_owned());
        flags.certificate_authority = Some(authority.clone());
    }));
    assert_eq!(target.cluster.certificate_authority, authority);
    assert_eq!(target.cluster.certificate_authority_data, "");
    let target = get(flags(|flags| flags.token = Some(Secret::new("new"))));
    assert_eq!(target.user.token.expose(), "new");
    let target = get(flags(|flags| flags.context = Some("empty".to_owned())));
    assert_eq!(target.namespace, "default");
    let target = get(flags(|flags| {
        flags.impersonate = Some("me".to_owned());
        flags.impersonate_extra = ["a=1", "a=2", "skipped", "b=x=y"].map(str::to_owned).into();
    }));
    let extra = format!("{:?}", target.user.impersonate_extra);
    assert_eq!(extra, r#"{"a": ["1", "2"], "b": ["x=y"]}"#);
    let both = flags(|flags| {
        flags.insecure_skip_tls_verify = Some(true);
        flags.certificate_authority = Some(authority.clone());
    });
    assert!(message(&both, &env).contains("insecure flag is not allowed"));
}

#[test]
fn a_pods_account_is_for_empty_configurations_only() {
    let directory = Directory::new();
    directory.write("account/token", "t");
    directory.write("account/ca.crt", "");
    directory.write("account/namespace", "own\n");
    let pod = [
        ("KUBERNETES_SERVICE_HOST", "fd00::1"),
        ("KUBERNETES_SERVICE_PORT", "443"),
    ];
    let env = directory.env(&pod);
    let target = resolved(&ConnectionFlags::default(), &env).unwrap();
    assert_eq!(target.cluster.server, "https://[fd00::1]:443");
    assert_eq!(target.user.token_file, directory.path("account/token"));
    assert_eq!(target.namespace, "own");
    let server = flags(|flags| flags.server = Some("https://x".to_owned()));
    assert_eq!(resolved(&server, &env).unwrap().user.token_file, "");
    // Two flags change the account's connection.
    let token = flags(|flags| flags.token = Some(Secret::new("other")));
    let target = resolved(&token, &env).unwrap();
    assert_eq!(target.cluster.server, "https://[fd00::1]:443");
    assert_eq!(target.user.token_file, "");
    let authority = directory.write("other.crt", "");
    let insecure = flags(|flags| flags.insecure_skip_tls_verify = Some(true));
    assert!(message(&insecure, &env).starts_with("the service account of a pod takes only"));
    for text in [
        "current-context: a\ncontexts: [{name: a, context: {user: u}}]\nusers: [{name: u, user: {token: t}}]\n",
        "current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\nclusters: [{name: c, cluster: {certificate-authority: /x}}]\n",
    ] {
        let path = directory.write("part", text);
        let part = directory.env(&[&pod[..], &[("KUBECONFIG", &*path)]].concat());
        assert!(resolved(&ConnectionFlags::default(), &part).is_err());
    }
    let own_authority = flags(|flags| flags.certificate_authority = Some(authority.clone()));
    let target = resolved(&own_authority, &env).unwrap();
    assert_eq!(target.cluster.certificate_authority, authority);
    assert_eq!(target.user.token_file, directory.path("account/token"));

    let bare = directory.env(&[]);
    let got = resolved(&ConnectionFlags::default(), &bare).unwrap_err();
    assert!(got.message.starts_with("no kubeconfig found (looked at "));
    directory.write(".kube/config", ONE);
    let target = resolved(&ConnectionFlags::default(), &env).unwrap();
    assert_eq!(target.cluster.server, "https://one:6443");
}

#[test]
fn paths_are_relative_to_their_file() {
    let directory = Directory::new();
    directory.write(
        ".kube/config",
        "
current-context: a
contexts: [{name: a, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: 'https://x', certificate-authority: ca.crt}}]
users: [{name: u, user: {tokenFile: ../t, exec: {command: ./bin/p, apiVersion: client.authentication.k8s.io/v1beta1}}}]
",
    );
    let authority = directory.write(".kube/ca.crt", "");
    let target = resolved(&ConnectionFlags::default(), &directory.env(&[])).unwrap();
    assert_eq!(target.cluster.certificate_authority, authority);
    assert_eq!(target.user.token_file, directory.path(".kube/../t"));
    let command = target.user.exec.unwrap().command;
    assert_eq!(command, directory.path(".kube/./bin/p"));
}
