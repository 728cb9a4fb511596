//! That no secret shows, wherever it is stored and whatever goes wrong: each place that may hold one has a
//! text of its own, and after each run they are searched for in everything that was printed, saved, reported
//! and completed: verbatim, in base64, and as lists of bytes. A text that is not secret takes the same
//! paths, which proves that the search works.
//!
//! A credential plugin's output on standard error is its own, and shows as it does in kubectl.

#[cfg(unix)]
mod files;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::api::{
    Answer, Auth, Cluster, Fault, Gate, Kubeconfig, Proxy, Server, Transport, When, answer::status,
    authorize,
};
use super::apply::{SCALE, WEB, cluster};
use super::{HPAS, POD_METRICS, directory, program};

/// The start of every secret, followed by its place.
const SECRET: &str = "not-for-any-eye";
/// A text that must be visible.
const PLAIN: &str = "for-every-eye";

fn secret(place: &str) -> String {
    format!("{SECRET}-{place}")
}

/// Returns where the secret shows, with its context.
fn shown(text: &[u8], secret: &str) -> Option<String> {
    let mut forms = vec![secret.to_owned()];
    // In base64 it depends on what precedes it, and its ends on their neighbors. What remains of
    // a short one is found anywhere.
    for before in ["", "x", "xx"]
        .into_iter()
        .filter(|_| secret.len() >= PLAIN.len())
    {
        let text = URL_SAFE_NO_PAD.encode(format!("{before}{secret}").as_bytes());
        forms.push(text[4..text.len() - 2].to_owned());
    }
    let bytes: Vec<String> = secret.bytes().map(|byte| byte.to_string()).collect();
    forms.push(bytes.join(", "));
    let text = String::from_utf8_lossy(text);
    let place = forms.iter().find_map(|form| text.find(&**form))?;
    let lines = text[..place].lines().count().saturating_sub(1);
    Some(
        text.lines()
            .skip(lines)
            .take(2)
            .collect::<Vec<_>>()
            .join("\n"),
    )
}

#[test]
fn what_shows_is_found() {
    for text in [
        SECRET.to_owned(),
        format!(
            "Basic {}",
            STANDARD.encode(format!("me:{SECRET}-x").as_bytes())
        ),
        format!(
            "Basic {}",
            STANDARD.encode(format!("user:{SECRET}-x").as_bytes())
        ),
        format!(
            "Basic {}",
            STANDARD.encode(format!("she:{SECRET}-x").as_bytes())
        ),
        format!("{:?}", SECRET.as_bytes()),
    ] {
        assert!(
            shown(format!("a\n{text}\nb").as_bytes(), SECRET).is_some(),
            "{text}"
        );
        assert!(shown(text.as_bytes(), PLAIN).is_none(), "{text}");
    }
}

/// Returns a cluster whose objects contain secrets that only concern the pods.
fn guarded(users: &[&str]) -> Cluster {
    let mut cluster = cluster();
    for user in users {
        cluster.grant(user);
    }
    let annotate = |object: &mut Value, place: &str| {
        object["metadata"]["annotations"] = json!({
            "example.com/note": secret(place),
            "kubectl.kubernetes.io/last-applied-configuration": json!({"data": secret(place)}).to_string(),
        });
    };
    let env = json!([{"name": "PASSWORD", "value": secret("pod-env")}]);
    let mut template = json!({"metadata": {"labels": {"app": "web"}}, "spec": {
        "containers": [{
            "name": "nginx",
            "image": format!("registry.example/{}", secret("image")),
            "command": [secret("command")],
            "args": [secret("args")],
            "env": env,
            "envFrom": [{"secretRef": {"name": secret("env-from")}}],
            "livenessProbe": {"httpGet": {"httpHeaders": [{"value": secret("probe")}]}},
        }],
        "initContainers": [{"name": "init", "command": [secret("init-command")], "env": env}],
        "volumes": [{"name": "v", "secret": {"secretName": secret("volume")}}],
    }});
    annotate(&mut template, "template-annotation");
    for number in 0..2 {
        cluster.edit(
            "v1",
            "Pod",
            ["default", &format!("web-{number:05}")],
            |pod| {
                annotate(pod, "pod-annotation");
                pod["metadata"]["labels"][PLAIN] = json!("yes");
                let container = &mut pod["spec"]["containers"][0];
                container["env"] = env.clone();
                container["args"] = json!([secret("pod-args")]);
            },
        );
    }
    cluster.edit("apps/v1", "Deployment", WEB, |target| {
        annotate(target, "target-annotation");
        target["spec"]["template"] = template.clone();
    });
    let mut replica_set = json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web-1", "namespace": "default", "labels": {"app": "web"}},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template},
        "status": {"replicas": 2},
    });
    annotate(&mut replica_set, "replica-set-annotation");
    cluster.put(replica_set);
    let mut vpa = json!({
        "apiVersion": "autoscaling.k8s.io/v1",
        "kind": "VerticalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
    });
    annotate(&mut vpa, "vpa-annotation");
    let kind = "VerticalPodAutoscaler";
    cluster
        .unscalable_kind("autoscaling.k8s.io/v1", kind, "verticalpodautoscalers")
        .put(vpa);
    cluster.edit_hpa(WEB, |hpa| {
        annotate(hpa, "hpa-annotation");
    });
    cluster
}

/// Returns a kubeconfig in which everything that is not needed is also secret.
fn guarded_config(server: &Server, user: impl FnOnce(&Path) -> Value) -> Kubeconfig {
    let config = server.kubeconfig(&Auth::None);
    let user = user(config.directory());
    config.edit(|config| {
        let extensions = |place: &str| json!([{"name": "x", "extension": {"key": secret(place)}}]);
        config["extensions"] = extensions("extension");
        config["contexts"][0]["context"]["extensions"] = extensions("context-extension");
        config["clusters"][0]["cluster"]["extensions"] = extensions("cluster-extension");
        config["users"][0]["user"] = user;
        config["users"].as_array_mut().expect("a list").push(json!({
            "name": "other",
            "user": {"token": secret("other-token"), "password": secret("other-password")},
        }));
        let place = secret("other-server");
        config["clusters"]
            .as_array_mut()
            .expect("a list")
            .push(json!({
                "name": "other",
                "cluster": {
                    "server": format!("https://me:{place}@127.0.0.1"),
                    "proxy-url": format!("http://me:{place}@127.0.0.1"),
                },
            }));
    });
    config
}

/// Everything that the verbs left behind.
struct Traces {
    directory: PathBuf,
    /// The output on the two streams, by the words of the run.
    printed: Vec<(String, [Vec<u8>; 2])>,
}

impl Traces {
    /// Whether that text is anywhere on one of the two streams.
    fn has(&self, stream: usize, text: &str) -> bool {
        self.printed
            .iter()
            .any(|(_, both)| shown(&both[stream], text).is_some())
    }

    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let files = fs::read_dir(&self.directory).expect("a directory");
        let paths = files.map(|file| file.expect("a file").path());
        paths
            .map(|path| (path.clone(), fs::read(path).expect("a file")))
            .collect()
    }

    #[track_caller]
    fn hold_no_secret(&self, case: &str) {
        for (words, [stdout, stderr]) in &self.printed {
            for text in [stdout, stderr] {
                let shown = shown(text, SECRET);
                assert!(
                    shown.is_none(),
                    "{case}: {words}: {}",
                    shown.unwrap_or_default()
                );
            }
            let stderr = String::from_utf8_lossy(stderr);
            assert!(!stderr.contains("panicked"), "{case}: {words}: {stderr}");
        }
        for (path, text) in self.files() {
            let shown = shown(&text, SECRET);
            let path = path.display();
            assert!(
                shown.is_none(),
                "{case}: {path}: {}",
                shown.unwrap_or_default()
            );
        }
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        // Leftovers are below the target directory.
        drop(fs::remove_dir_all(&self.directory));
    }
}

const EXPLAIN: &[&str] = &[
    "explain",
    "web",
    "-n",
    "default",
    "-o",
    "json",
    "--save",
    "saved.json",
    "-v",
    "9",
];
const LIST: &[&str] = &["explain", "-n", "default", "-o", "markdown", "-v", "9"];
const PREDICT: &[&str] = &[
    "predict",
    "web",
    "-n",
    "default",
    "--expect",
    "desired < 2",
    "--report",
    "junit=report.xml",
    "--report",
    "github",
    "--save",
    "predicted.json",
    "-v",
    "9",
];
const APPLY: &[&str] = &[
    "apply",
    "web",
    "-n",
    "default",
    "--yes",
    "--force-uncertain",
    "--event",
    "--write-status",
    "--force-write-status",
    "-v",
    "9",
];
const COMPLETE: &[&str] = &["__complete", "explain", ""];
const COMPLETE_METRIC: &[&str] = &["__complete", "predict", "web", "--metric", ""];
const COMPLETE_SERVER: &[&str] = &["__complete", "explain", "--cluster", ""];
const ALL: &[&[&str]] = &[
    EXPLAIN,
    LIST,
    PREDICT,
    APPLY,
    COMPLETE,
    COMPLETE_METRIC,
    COMPLETE_SERVER,
];

/// Runs these verbs in a directory of their own, in an environment that also contains secrets.
fn traces(config: &Kubeconfig, verbs: &[&[&str]], more: &[&str], proxy: Option<&str>) -> Traces {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::SeqCst);
    let home = directory().join(format!("traces-{}-{number}", std::process::id()));
    fs::create_dir_all(&home).expect("a directory");
    let mut traces = Traces {
        directory: home,
        printed: Vec::new(),
    };
    let proxied = format!("http://me:{}@127.0.0.1:1", secret("proxy-variable"));
    for verb in verbs {
        let mut command = program();
        command
            .current_dir(&traces.directory)
            .env("HOME", &traces.directory);
        command
            .env("TMPDIR", &traces.directory)
            .env("GITHUB_STEP_SUMMARY", "summary.md");
        command
            .env("API_KEY", secret("variable"))
            .env("KUBECONFIG", config.path());
        command
            .env("HTTPS_PROXY", proxy.unwrap_or(&proxied))
            .env("HTTP_PROXY", &proxied);
        // Additional words would change what is completed.
        let more = if verb[0] == "__complete" { &[] } else { more };
        command.args(*verb).args(more);
        let output = command.output().expect("it runs");
        traces
            .printed
            .push((verb.join(" "), [output.stdout, output.stderr]));
    }
    traces
}

fn script(directory: &Path, text: &str) -> Value {
    let path = directory.join("plugin.sh");
    fs::write(&path, text).expect("a plugin");
    json!({"exec": {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "/bin/sh",
        "args": [path, secret("plugin-args")],
        "env": [{"name": "PLUGIN_PASSWORD", "value": secret("plugin-env")}],
        "interactiveMode": "Never",
        "provideClusterInfo": true,
    }})
}

fn print(status: &Value) -> String {
    let credential = json!({
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": status,
    });
    format!("cat <<'END'\n{credential}\nEND\n")
}

/// All kinds of credentials, valid and invalid. Those that grant access say so.
#[test]
fn no_credentials_show() {
    let claims = URL_SAFE_NO_PAD.encode(br#"{"exp":4000000000}"#);
    let (bearer, jwt) = (secret("token"), format!("{SECRET}.{claims}.signature"));
    let server = Server::start(guarded(&[&bearer, &jwt]));
    let token = authorize::token(&bearer);
    let identity = server
        .identity(&Auth::Certificate("admin"))
        .expect("a certificate");
    let pem = |key: &str| {
        json!({
            "client-certificate-data": STANDARD.encode(identity.certificate.as_bytes()),
            "client-key-data": STANDARD.encode(key.as_bytes()),
        })
    };
    let marked = format!("-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----\n");
    let on_one_line = marked.replace('\n', " ");
    let oidc = |token: &str| {
        json!({"auth-provider": {"name": "oidc", "config": {
            "id-token": token,
            "refresh-token": secret("refresh"),
            "client-secret": secret("client"),
            "idp-issuer-url": format!("https://me:{}@127.0.0.1", secret("issuer")),
        }}})
    };
    let expired = URL_SAFE_NO_PAD.encode(br#"{"exp":1000000000}"#);
    let expired = format!("{SECRET}.{expired}.signature");
    type User<'a> = Box<dyn Fn(&Path) -> Value + 'a>;
    let is = |user: Value| -> User<'_> { Box::new(move |_| user.clone()) };
    let runs = |text: String| -> User<'_> { Box::new(move |directory| script(directory, &text)) };
    let good = json!({"token": token});
    let cases: Vec<(&str, bool, User<'_>)> = vec![
        ("token", true, is(good.clone())),
        (
            "token of two lines",
            false,
            is(json!({"token": format!("{token}\nx")})),
        ),
        (
            "malformed token",
            false,
            is(json!({"token": {"of": secret("typed")}})),
        ),
        (
            "token file",
            true,
            Box::new(|directory| {
                fs::write(directory.join("token"), &token).expect("a file");
                json!({"tokenFile": "token", "token": secret("token-and-a-file")})
            }),
        ),
        (
            "password",
            false,
            is(json!({"username": "me", "password": secret("password")})),
        ),
        (
            "both",
            false,
            is(json!({"username": "me", "password": secret("b"), "token": token})),
        ),
        ("key", true, is(pem(&identity.key))),
        ("malformed key", false, is(pem(&marked))),
        ("key on one line", false, is(pem(&on_one_line))),
        (
            "key without an end",
            false,
            is(pem(&format!("-----BEGIN {SECRET}"))),
        ),
        (
            "key in no base64",
            false,
            is(json!({
                "client-certificate-data": STANDARD.encode(identity.certificate.as_bytes()),
                "client-key-data": secret("key-data"),
            })),
        ),
        ("plugin", true, runs(print(&good))),
        (
            "plugin with a key on one line",
            false,
            runs(print(&json!({
                "clientCertificateData": identity.certificate, "clientKeyData": on_one_line,
            }))),
        ),
        (
            "plugin with two lines",
            false,
            runs(print(&json!({"token": format!("{SECRET}\nx")}))),
        ),
        (
            "plugin with another version",
            false,
            runs(print(&good).replace("io/v1", SECRET)),
        ),
        (
            "plugin with another kind",
            false,
            runs(print(&good).replace("ExecCredential", SECRET)),
        ),
        (
            "plugin with half a credential",
            false,
            runs(print(&json!({"clientKeyData": SECRET}))),
        ),
        (
            "plugin that fails",
            false,
            runs(format!("echo {SECRET}; env; exit 3\n")),
        ),
        (
            "plugin that prints nonsense",
            false,
            runs(format!("echo {SECRET}; env\n")),
        ),
        ("OIDC", true, is(oidc(&authorize::token(&jwt)))),
        ("OIDC, expired", false, is(oidc(&expired))),
        ("OIDC, no token", false, is(oidc(SECRET))),
        (
            "another provider",
            false,
            is(json!({"auth-provider": {
                "name": "gcp", "config": {"access-token": secret("gcp")},
            }})),
        ),
    ];
    for (case, lets_in, user) in cases {
        let config = guarded_config(&server, user);
        let verbs = if lets_in {
            ALL
        } else {
            &[EXPLAIN, APPLY, COMPLETE]
        };
        let traces = traces(&config, verbs, &[], None);
        traces.hold_no_secret(case);
        // The text that is not secret is where it should be, so the secrets would be found there, too.
        assert_eq!(traces.has(0, "web\t"), lets_in, "{case}: completed");
        assert_eq!(
            traces.has(1, "GET https://"),
            lets_in || ["password"].contains(&case),
            "{case}"
        );
        let files = traces.files();
        let has = |name: &str, text: &str| {
            let file = files.iter().find(|(path, _)| path.ends_with(name));
            file.is_some_and(|(_, found)| shown(found, text).is_some())
        };
        for (name, text) in [
            ("saved.json", PLAIN),
            ("predicted.json", PLAIN),
            ("report.xml", "desired"),
            ("summary.md", "desired"),
        ] {
            assert_eq!(has(name, text), lets_in, "{case}: {name}");
        }
        // Nothing else is left on the machine.
        assert_eq!(files.len(), if lets_in { 4 } else { 0 }, "{case}");
    }
}

#[test]
fn a_token_that_an_answer_repeats_does_not_show() {
    let bearer = secret("token");
    let token = authorize::token(&bearer);
    let header = format!("Bearer {token}");
    show_nothing_of(&json!({ "token": token }), &header, &bearer);
}

#[test]
fn a_password_that_an_answer_repeats_does_not_show() {
    let password = secret("password");
    let basic = format!("me:{password}");
    let header = format!("Basic {} of {basic}", STANDARD.encode(basic.as_bytes()));
    let user = json!({"username": "me", "password": password});
    show_nothing_of(&user, &header, &secret("token"));
}

/// Tries a server, or an intermediary, that shows what it was sent.
fn show_nothing_of(user: &Value, header: &str, bearer: &str) {
    let said = format!("{PLAIN} Authorization: {header}");
    let page = format!("<html><body>{said}</body></html>");
    let refused = status(403, "Forbidden", &said, None).body;
    let refused = String::from_utf8(refused).expect("JSON");
    let escaped: String = said
        .chars()
        .map(|c| format!("\\u{:04x}", u32::from(c)))
        .collect();
    let spec = json!({"kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v2",
        "metadata": {"name": "web"}, "spec": said});
    let elsewhere = format!("https://127.0.0.1:1/?{PLAIN}&token={header}");
    let answers = [
        ("401", status(401, "Unauthorized", &said, None)),
        ("403", status(403, "Forbidden", &said, None)),
        ("422", status(422, "Invalid", &said, None)),
        ("500", status(500, "InternalError", &said, None)),
        ("a reason", status(400, &said, &said, None)),
        ("500 in text", Answer::text(500, &said)),
        ("403 in text", Answer::text(403, &said)),
        ("502 in HTML", Answer::new(502, "text/html", page)),
        (
            "escaped",
            Answer::json(403, refused.replace(&said, &escaped)),
        ),
        ("no JSON", Answer::text(200, &said)),
        (
            "another kind",
            Answer::json(200, json!({"kind": said, "metadata": {}}).to_string()),
        ),
        ("another type", Answer::json(200, spec.to_string())),
        ("JSON of a text", Answer::json(200, json!(said).to_string())),
        (
            "elsewhere",
            Answer::text(302, &said).with("Location", elsewhere),
        ),
        (
            "a warning",
            Answer::text(500, "").with("Warning", format!("299 - \"{said}\"")),
        ),
    ];
    thread::scope(|all| {
        for (case, answer) in &answers {
            all.spawn(move || show_nothing_in(case, answer, user, bearer));
        }
    });
}

/// Tries one answer, at all places.
fn show_nothing_in(case: &str, answer: &Answer, user: &Value, bearer: &str) {
    // Values of a wrong type are not quoted either.
    let is_text = ["no JSON", "another type", "JSON of a text"].contains(&case);
    let one_of_each = ["403", "500", "another kind", "a warning"].contains(&case);
    for (path, verbs) in [
        (HPAS, &[EXPLAIN, LIST][..]),
        (SCALE, &[APPLY]),
        (POD_METRICS, &[EXPLAIN, PREDICT]),
    ] {
        // The server accepts no passwords, so nothing else is ever requested.
        if path != HPAS && (!one_of_each || user["token"].is_null()) {
            continue;
        }
        let mut cluster = guarded(&[bearer]);
        let fault = || Fault::Answer(answer.clone());
        if path == SCALE {
            // It is read as it is, but not written.
            let put = || When::on(SCALE).method("PUT");
            cluster.fault(put(), Fault::Unheard).fault(put(), fault());
        } else {
            cluster.fault(When::on(path), fault());
        }
        let server = Server::start(cluster);
        let config = guarded_config(&server, |_| user.clone());
        let traces = traces(&config, verbs, &[], None);
        traces.hold_no_secret(&format!("{case} at {path}"));
        let seen = traces.has(0, PLAIN) || traces.has(1, PLAIN);
        assert_eq!(seen, !is_text, "{case} at {path}");
    }
}

/// Returns the user of a token.
fn user_of(bearer: &str) -> Value {
    json!({"token": authorize::token(bearer)})
}

#[test]
fn no_secret_shows_where_a_server_is_not_trusted() {
    let bearer = secret("token");
    for transport in [
        Transport::UnknownAuthority,
        Transport::Expired,
        Transport::WrongName,
        Transport::Plain,
    ] {
        let mut cluster = guarded(&[&bearer]);
        cluster.transport(transport);
        let server = Server::start(cluster);
        let config = guarded_config(&server, |_| user_of(&bearer));
        let traces = traces(&config, ALL, &[], None);
        traces.hold_no_secret(&format!("{transport:?}"));
        let told = traces.has(1, "certificate") || traces.has(1, "plain HTTP");
        assert!(told, "{transport:?}: {:?}", traces.printed[0]);
    }
}

#[test]
fn no_secret_shows_where_a_connection_breaks() {
    let bearer = secret("token");
    for fault in [
        Fault::CutBeforeHead,
        Fault::CutAfterHead,
        Fault::CutInBody,
        Fault::TruncatedJson,
    ] {
        let mut cluster = guarded(&[&bearer]);
        cluster.fault(When::on(HPAS), fault.clone());
        let server = Server::start(cluster);
        let config = guarded_config(&server, |_| user_of(&bearer));
        let traces = traces(&config, &[EXPLAIN, APPLY, COMPLETE], &[], None);
        traces.hold_no_secret(&format!("{fault:?}"));
        assert!(traces.has(1, HPAS), "{fault:?}");
    }
}

#[test]
fn no_secret_of_an_address_shows() {
    let bearer = secret("token");
    let server = Server::start(guarded(&[&bearer]));
    let place = secret("server");
    for wrong in [
        format!("https://me:{place}@127.0.0.1"),
        format!("https://me:{place}@127.0.0.1:99999"),
        format!("me:{place}@127.0.0.1"),
        format!("//{place}"),
        format!("ftp://{place}@x"),
    ] {
        let config = guarded_config(&server, |_| user_of(&bearer));
        let given = traces(&config, &[EXPLAIN, APPLY], &["-s", &wrong], None);
        given.hold_no_secret(&wrong);
        config.edit(|config| config["clusters"][0]["cluster"]["server"] = json!(wrong));
        let traces = traces(&config, ALL, &[], None);
        traces.hold_no_secret(&wrong);
        assert!(traces.has(1, "address"), "{wrong}");
    }
}

#[test]
fn no_secret_of_a_proxy_shows() {
    let bearer = secret("token");
    let server = Server::start(guarded(&[&bearer]));
    // An address of this machine other than the loopback's, which is never proxied.
    let elsewhere = format!("https://0.0.0.0:{}", server.address().port());
    let more = [
        "-s",
        &*elsewhere,
        "--tls-server-name",
        "127.0.0.1",
        "--request-timeout=1s",
    ];
    let password = secret("proxy");
    thread::scope(|all| {
        for (scheme, gate) in [
            ("http", Gate::Open),
            ("http", Gate::For("me:x")),
            ("http", Gate::Closed),
            ("http", Gate::Silent),
            ("socks5", Gate::For("me:x")),
        ] {
            let config = guarded_config(&server, |_| user_of(&bearer));
            let (more, password) = (&more, &password);
            all.spawn(move || show_nothing_behind(scheme, gate, &config, more, password));
        }
    });
    for wrong in [
        "ftp://me:{}@x",
        "me:{}@127.0.0.1:3128",
        "http://me:{}@x:99999",
        "http://{}@",
    ] {
        let wrong = wrong.replace("{}", &password);
        let config = guarded_config(&server, |_| user_of(&bearer));
        let given = traces(&config, &[EXPLAIN], &more, Some(&wrong));
        given.hold_no_secret(&wrong);
        config.edit(|config| config["clusters"][0]["cluster"]["proxy-url"] = json!(wrong));
        let traces = traces(&config, &[EXPLAIN, COMPLETE], &[], None);
        traces.hold_no_secret(&wrong);
        assert!(traces.has(1, "proxy"), "{wrong}");
    }
}

fn show_nothing_behind(
    scheme: &str,
    gate: Gate,
    config: &Kubeconfig,
    more: &[&str],
    password: &str,
) {
    let proxy = Proxy::start(gate);
    let url = proxy.url(scheme, &format!("me:{password}"));
    let through = traces(config, &[EXPLAIN, APPLY], more, Some(&url));
    through.hold_no_secret(&format!("{gate:?}"));
    assert!(through.has(1, &proxy.url(scheme, "")), "{gate:?}");
    config.edit(|config| config["clusters"][0]["cluster"]["proxy-url"] = json!(url));
    let traces = traces(config, &[EXPLAIN, COMPLETE], &[], None);
    traces.hold_no_secret(&format!("{gate:?}"));
}

/// A server may redirect elsewhere; nothing is requested there.
#[test]
fn no_redirect_is_followed() {
    let other = Server::start(guarded(&[]));
    for code in [301, 302, 303, 307, 308] {
        let mut cluster = guarded(&[]);
        let elsewhere = format!("{}{HPAS}/web", other.url());
        let answer = Answer::text(code, "").with("Location", elsewhere);
        cluster.fault(When::on(HPAS), Fault::Answer(answer));
        let server = Server::start(cluster);
        let config = server.kubeconfig(&Auth::Token("admin"));
        // So that it would be trusted.
        config.edit(|config| {
            let cluster = config["clusters"][0]["cluster"]
                .as_object_mut()
                .expect("a map");
            cluster.remove("certificate-authority-data");
            cluster.insert("insecure-skip-tls-verify".to_owned(), json!(true));
        });
        let traces = traces(&config, &[EXPLAIN, APPLY], &[], None);
        assert!(traces.has(1, &format!("HTTP {code} from ")), "{code}");
    }
    assert_eq!(other.connections(), 0);
}
