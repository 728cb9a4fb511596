//! No text of a file is shown unless it is what the flag reads: tokens, keys and passwords in all forms,
//! each read by each flag that names a file, by its name, through a link, and in a directory. Whoever can change
//! a file or a link in a checkout decides which file a pipeline reads.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::{directory, program};

/// Parts of secrets, of which no six characters may show.
const PARTS: [&str; 6] = [
    "Zq7Kx9wVb8Tm",
    "hU3nRtE2rPx5",
    "gHpX8sVq2Lw6",
    "nPmAq8Yc4Jd1",
    "8675309417",
    "Ry5Wf2Ob9Ns7",
];

/// Where six characters of a secret, or a whole line of the file that has it, are in a text.
fn leak(text: &[u8], file: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let pieces = PARTS.iter().flat_map(|part| part.as_bytes().windows(6));
    let mut pieces = pieces.map(|piece| String::from_utf8_lossy(piece).into_owned());
    let file = String::from_utf8_lossy(file);
    let lines = file.lines().map(str::trim).filter(|line| line.len() > 12);
    let secret = |line: &&str| PARTS.iter().any(|part| line.contains(part));
    pieces.find(|piece| text.contains(piece)).or_else(|| {
        lines
            .filter(secret)
            .find(|line| text.contains(line))
            .map(str::to_owned)
    })
}

/// Files as they are found on a machine, and the same secrets as each parser may take them.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let [a, b, c, d, number, e] = PARTS;
    let utf16: Vec<u8> = format!("\u{feff}{a}: {b}\n")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let mut files: Vec<(&str, Vec<u8>)> = [
        ("token", format!("eyJhbGciOiJSUzI1NiJ9.{a}{b}.{c}-{d}")),
        (".netrc", format!("machine {a}.example\n  login {b}\n  password {c}\n")),
        (".git-credentials", format!("https://{a}:{b}@github.example\n")),
        (".env", format!("# of the shop\nexport DB_PASSWORD={a}\nAPI_KEY=\"{b}\"\nOTHER: {c}\n")),
        ("id_rsa", format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{a}{b}{c}\n{d}{e}==\n-----END OPENSSH PRIVATE KEY-----\n")),
        (".pgpass", format!("{a}.example:5432:*:{b}:{c}\n")),
        (".npmrc", format!("//registry.example/:_authToken={a}: x\n//{b}/: {c}\n")),
        ("service account", format!("{{\"type\": \"{a}\", \"private_key\": \"{b}\", \"{c}\": [\"{d}\"]}}")),
        ("kubeconfig", format!("apiVersion: v1\nkind: Config\nusers:\n- name: {a}\n  user: {{token: {b}, tokenFile: [{c}]}}\n")),
        ("a Secret", format!("apiVersion: v1\nkind: Secret\nmetadata: {a}\ndata: [{b}]\nstringData: {{x: {c}, x: {d}}}\n")),
        ("a Secret in JSON", format!("{{\"apiVersion\": \"v1\", \"kind\": \"Secret\", \"data\": {{\"x\": \"{a}\", \"{b}\": {c}}}}}")),
        ("a list of Secrets", format!("kind: List\nitems:\n- {a}\n- {{kind: Secret, data: {b}}}\n")),
        ("a number", number.to_owned()),
        ("a number that is too large", format!("{number}{number}{number}")),
        ("lines", format!("{a}\n{b}\n{c}\n")),
        ("a block", format!("|\n  {a}\n  {b}\n")),
        ("values", format!("one: {a}\ntwo: {b}\n")),
        ("keys", format!("{a}: 1\n{b}: 2\n")),
        ("keys twice", format!("{a}: 1\n{a}: 2\n")),
        ("a list", format!("- {a}\n- {b}\n")),
        ("a flow list", format!("[{a}, {b}]")),
        ("a flow list that does not end", format!("[{a}, {b}")),
        ("a JSON text", format!("\"{a}\"")),
        ("a JSON text that does not end", format!("\"{a}")),
        ("a JSON list", format!("[\"{a}\", {{\"{b}\": \"{c}\"}}]")),
        ("JSON that does not end", format!("{{\"{a}\": \"{b}\", \"kind\": \"{c}")),
        ("JSON of a word", format!("{{{a}: {b}}}")),
        ("JSON with a stray escape", format!("{{\"kind\": \"\\q{a}\", \"{b}\": 1}}")),
        ("JSON twice", format!("{{\"kind\": \"{a}\", \"kind\": \"{b}\"}}")),
        ("a byte order mark", format!("\u{feff}{a}: {b}\n")),
        ("a long line", format!("{a}{}{b}", "x".repeat(100_000))),
        ("a template", format!("{{{{ .Values.{a} }}}}\nkey: {{{{ {b} }}}}\n")),
        ("tabs", format!("\t{a}:\t{b}\n\t- {c}\n")),
        ("an alias", format!("a: *{a}\n")),
        ("an anchor", format!("&{a} {b}: *{a}\n")),
        ("a tag", format!("!{a} {b}\n")),
        ("a tag of a handle", format!("!{a}!x {b}\n")),
        ("a global tag", format!("a: !!{a} {b}\n")),
        ("a directive", format!("%{a} {b}\n---\n{c}\n")),
        ("a merge", format!("<<: {a}\n")),
        ("a complex key", format!("? [{a}]\n: {b}\n")),
        ("binary", format!("!!binary {a}%{b}\n")),
        ("a float", "!!float Zq7Kx9wVb8Tm\n".to_owned()),
        ("a kind of words", format!("apiVersion: v1\nkind: {a} {b}\n")),
        ("a kind without a version", format!("kind: {a}\n{b}: {c}\n")),
        ("a version of words", format!("apiVersion: {a} {b}\nkind: Pod\n")),
        ("a Pod", format!("apiVersion: v1\nkind: Pod\nmetadata: {{labels: {a}}}\nspec: {b}\n")),
        ("an HPA", format!("apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {{name: web}}\nspec: {{maxReplicas: {a}, minReplicas: [{b}], scaleTargetRef: {c}}}\n")),
        ("a history", format!("apiVersion: kubectl-hpa/v1alpha1\nkind: ControllerState\nmemory: {a}\nrecommendations: {b}\n")),
        ("a history of a number", format!("apiVersion: kubectl-hpa/v1alpha1\nkind: ControllerState\nrecommendations: {number}\n")),
        ("a load", format!("apiVersion: kubectl-hpa/v1alpha1\nkind: Load\nsource: x\ncolumns: [time, {a}]\nrows: {b}\n")),
        ("an own document of another version", format!("apiVersion: {a}\nkind: Load\n")),
        ("an own document of another kind", format!("apiVersion: kubectl-hpa/{a}\nkind: {b}\n")),
        ("a duration of a load", format!("apiVersion: kubectl-hpa/v1alpha1\nkind: Load\nsource: x\nreadyAfter: {a}\ncolumns: [time, cpu]\nrows: []\n")),
        ("a note of a load", format!("apiVersion: kubectl-hpa/v1alpha1\nkind: Load\nsource: x\nnotes: [{{{a}: {b}}}]\ncolumns: [time, cpu]\nrows: []\n")),
        ("a field of a load", format!("apiVersion: kubectl-hpa/v1alpha1\nkind: Load\nsource: x\n{a}: {b}\ncolumns: [time, cpu]\nrows: []\n")),
        ("a field of a history", format!("apiVersion: kubectl-hpa/v1alpha1\nkind: ControllerState\nnow: 2026-11-21T06:00:00Z\n{a}: {b}\n")),
        ("a gate of a history", format!("apiVersion: kubectl-hpa/v1alpha1\nkind: ControllerState\nnow: 2026-11-21T06:00:00Z\nfeatureGates: {{{a}: {b}}}\n")),
        ("a gate of a history, twice", format!("{{\"apiVersion\": \"kubectl-hpa/v1alpha1\", \"kind\": \"ControllerState\", \"featureGates\": {{\"{a}\": true, \"{a}\": true}}}}")),
        ("a saved load", format!("apiVersion: kubectl-hpa/v1alpha1\nkind: Load\nhpa: default/nginx-deployment\nsource: {a}\nqueries: [{{for: cpu, query: '{b}'}}]\ncolumns: [time, '{c}{{']\nrows: [[0s, '{d}']]\n")),
        ("a row of a saved load", format!("apiVersion: kubectl-hpa/v1alpha1\nkind: Load\nhpa: default/nginx-deployment\nsource: {a}\ncolumns: [time, cpu]\nrows: [[0s, '{d}']]\n")),
        ("a saved load of another HPA", format!("apiVersion: kubectl-hpa/v1alpha1\nkind: Load\nhpa: {a}\nsource: {b}\ncolumns: [time, cpu]\nrows: [[0s, 100m]]\n")),
        ("a time of a history", format!("apiVersion: kubectl-hpa/v1alpha1\nkind: ControllerState\nnow: 2026-11-21T06:00:00Z{a}\n")),
        ("a time of its past", format!("apiVersion: kubectl-hpa/v1alpha1\nkind: ControllerState\nnow: 2026-11-21T06:00:00Z\nrecommendations: [{{replicas: 3, time: '2026-11-21T06:00:00Z{a}'}}]\n")),
        ("a flag of a history", format!("apiVersion: kubectl-hpa/v1alpha1\nkind: ControllerState\nnow: 2026-11-21T06:00:00Z\nflags: {{{a}: {b}}}\n")),
        ("a duration of a history", format!("apiVersion: kubectl-hpa/v1alpha1\nkind: ControllerState\nnow: 2026-11-21T06:00:00Z\nflags: {{syncPeriod: {a}}}\n")),
        ("a threshold of a trigger", format!("apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {{name: web}}\nspec: {{scaleTargetRef: {{name: nginx-deployment}}, triggers: [{{type: prometheus, metadata: {{serverAddress: 'http://a', query: up, threshold: {a}}}}}]}}\n")),
        ("a proxy", format!("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: c}}}}]\nclusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:1', proxy-url: '{a}://{b}'}}}}]\n")),
        ("rows", format!("time,cpu\n{a},1\n")),
        ("rows of a token", format!("time,cpu\n0s,{a}\n15s,{b}\n")),
        ("rows of a number", format!("time,cpu\n0s,{number}\n15s,{number}%\n")),
        ("a time", format!("time,cpu\n{number}{number},1\n")),
        ("a column", format!("time,{a}\n0s,1\n15s,2\n")),
        ("a column of a container", format!("time,{a}=cpu,cpu{{{b}}}\n0s,1,1\n")),
        ("columns twice", format!("time,{a},{a}\n0s,1,1\n")),
        ("an odd column", format!("time,{a}{{{b}\n0s,1\n")),
        ("replicas", format!("time,cpu,replicas\n0s,1,{a}\n")),
        ("a quote", format!("time,cpu\n0s,\"{a}\n{b},1\n")),
        ("more fields", format!("time,cpu\n0s,{a},{b}\n")),
    ]
    .map(|(name, text)| (name, text.into_bytes()))
    .into();
    files.push(("UTF-16", utf16));
    files.push((
        "other bytes",
        [a.as_bytes(), b"\xff\xfe", b.as_bytes()].concat(),
    ));
    files
}

struct Place {
    home: PathBuf,
}

impl Place {
    fn new(name: &str) -> Self {
        let home = directory().join(format!("secret-files-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&home));
        fs::create_dir_all(home.join("checkout")).expect("a directory");
        fs::create_dir_all(home.join("out")).expect("a directory");
        Self { home }
    }

    /// Runs the program, and returns its exit code and all that it left behind.
    fn run(
        &self,
        args: &[&str],
        variables: &[(&str, &Path)],
    ) -> (Option<i32>, Vec<(String, Vec<u8>)>) {
        let out = self.home.join("out");
        let mut command = program();
        command.current_dir(&out).args(args).args(["-v", "9"]);
        command
            .env("GITHUB_STEP_SUMMARY", "summary.md")
            .env("GITHUB_ACTIONS", "true");
        for (name, value) in variables {
            command.env(name, value);
        }
        let output = command.output().expect("it runs");
        let mut left = vec![
            ("stdout".to_owned(), output.stdout),
            ("stderr".to_owned(), output.stderr),
        ];
        for file in fs::read_dir(&out).expect("a directory") {
            let path = file.expect("a file").path();
            left.push((path.display().to_string(), fs::read(&path).expect("a file")));
            fs::remove_file(path).expect("it was written here");
        }
        (output.status.code(), left)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.home));
    }
}

fn nginx() -> String {
    format!("{}/examples/nginx", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn leaks_are_found() {
    let [a, ..] = PARTS;
    assert_eq!(
        leak(format!("x{}y", &a[3..9]).as_bytes(), b""),
        Some(a[3..9].to_owned())
    );
    assert_eq!(leak(b"nothing", a.as_bytes()), None);
}

/// Every file by every flag, of runs that read it in the same way by one in turn.
#[test]
fn no_text_of_a_file_shows() {
    show_no_text_of_a_file("flags", false);
}

#[test]
#[ignore = "every file by every run: cargo test --release --test live -- --ignored"]
fn no_text_of_a_file_shows_long() {
    show_no_text_of_a_file("all-flags", true);
}

fn show_no_text_of_a_file(place: &str, is_thorough: bool) {
    let place = Place::new(place);
    let state = nginx();
    let file = place.home.join("checkout/input.yaml");
    let link = place.home.join("checkout/link.yaml");
    let named = file.display().to_string();
    let by_link = link.display().to_string();
    let header = format!("Authorization=@{named}");
    let predict = ["predict", "nginx-deployment", "-f", &*state];
    let reports = [
        "--expect",
        "desired < 1000",
        "--report",
        "junit=report.xml",
        "--report",
        "github",
        "--save",
        "saved.json",
    ];
    let prometheus = [
        "--prometheus",
        "https://127.0.0.1:1",
        "--since",
        "1h",
        "--until",
        "1m",
    ];
    // Each time the runs that read a file in the same way.
    let runs: [Vec<Vec<&str>>; 7] = [
        vec![
            vec![
                "explain",
                "-f",
                &*named,
                "-o",
                "json",
                "--save",
                "saved.json",
            ],
            [
                &["predict", "web", "-f", &*named, "-o", "yaml"][..],
                &reports,
            ]
            .concat(),
            vec!["explain", "web", "-f", &*by_link, "-o", "markdown"],
        ],
        vec![
            [
                &predict[..],
                &["--trace", &*named],
                &reports,
                &["-o", "json"],
            ]
            .concat(),
            [
                &predict[..],
                &["--trace", &*by_link, "--for", "1m", "-o", "markdown"],
            ]
            .concat(),
        ],
        vec![
            vec!["explain", "web", "--kubeconfig", &*named, "-o", "json"],
            vec!["apply", "web", "--kubeconfig", &*by_link, "--yes"],
            vec!["__complete", "explain", "--kubeconfig", &*named, ""],
        ],
        vec![[&predict[..], &["--hpa", &*named], &reports].concat()],
        vec![[&predict[..], &["--history", &*named], &reports].concat()],
        vec![
            [
                &predict[..],
                &prometheus,
                &["--prometheus-header", &*header],
                &reports,
            ]
            .concat(),
        ],
        vec![
            [
                &predict[..],
                &prometheus,
                &["--prometheus-ca", &*named],
                &reports,
            ]
            .concat(),
        ],
    ];
    symlink(&file, &link).expect("a link");
    for (number, (name, content)) in files().into_iter().enumerate() {
        fs::write(&file, &content).expect("a file");
        let chosen: Vec<&Vec<&str>> = if is_thorough {
            runs.iter().flatten().collect()
        } else {
            runs.iter()
                .map(|alike| &alike[number % alike.len()])
                .collect()
        };
        for args in chosen {
            let (code, left) = place.run(args, &[]);
            for (what, text) in &left {
                let leak = leak(text, &content);
                // What a run accepts is an answer: a table that is one may name its metrics.
                let text = String::from_utf8_lossy(text);
                assert_eq!(leak, None, "{name}: {args:?}: {what}: {text}");
                assert!(!text.contains("panicked"), "{name}: {args:?}: {text}");
            }
            let completes = args[0] == "__complete";
            assert!(
                completes || code.is_some_and(|code| code != 0),
                "{name}: {args:?}: {code:?}"
            );
        }
        let (_, left) = place.run(
            &["explain", "web", "--kubeconfig", "/dev/null"],
            &[("KUBERC", &file)],
        );
        for (what, text) in left {
            assert_eq!(leak(&text, &content), None, "{name}: kuberc: {what}");
        }
    }
}

/// A link in a directory may lead to any file of whoever runs the program.
#[test]
fn links_out_of_a_directory_are_skipped() {
    let place = Place::new("links");
    let checkout = place.home.join("checkout");
    let secret = place.home.join("token");
    for (name, content) in files() {
        fs::write(&secret, &content).expect("a file");
        let link = checkout.join("deploy.yaml");
        drop(fs::remove_file(&link));
        symlink("../token", &link).expect("a link");
        let named = checkout.display().to_string();
        for args in [
            &["explain", "web", "-f", &*named][..],
            &[
                "predict",
                "nginx-deployment",
                "-f",
                &nginx(),
                "--hpa",
                &*named,
            ],
        ] {
            let (code, left) = place.run(args, &[]);
            assert_eq!(code, Some(2), "{name}");
            let text = String::from_utf8_lossy(&left[1].1);
            assert!(
                text.contains("links that lead out of it are skipped"),
                "{name}: {text}"
            );
            for (what, text) in &left {
                assert_eq!(leak(text, &content), None, "{name}: {what}");
            }
        }
    }
    // As Kubernetes mounts a ConfigMap: the links lead to another directory inside.
    let mounted = place.home.join("mounted");
    fs::create_dir_all(mounted.join("..2026_11_21")).expect("a directory");
    symlink("..2026_11_21", mounted.join("..data")).expect("a link");
    for file in fs::read_dir(nginx()).expect("a directory") {
        let file = file.expect("a file");
        if !file.path().is_file() {
            continue;
        }
        let name = file.file_name();
        fs::copy(file.path(), mounted.join("..2026_11_21").join(&name)).expect("a copy");
        symlink(Path::new("..data").join(&name), mounted.join(&name)).expect("a link");
    }
    symlink(&secret, mounted.join("token.json")).expect("a link");
    let (code, left) = place.run(
        &[
            "explain",
            "nginx-deployment",
            "-f",
            &mounted.display().to_string(),
        ],
        &[],
    );
    let [(_, stdout), (_, stderr)] = &left[..] else {
        panic!("{left:?}")
    };
    assert_eq!(code, Some(0), "{}", String::from_utf8_lossy(stderr));
    let stdout = String::from_utf8_lossy(stdout);
    let note = "token.json is skipped: it is a link that leads out of the directory";
    let words: Vec<&str> = stdout.split_whitespace().collect();
    assert!(words.join(" ").contains(note), "{stdout}");
}

/// The token of this very run, named as its input.
#[test]
fn the_files_of_the_connection_are_no_input() {
    let place = Place::new("connection");
    let [a, b, ..] = PARTS;
    let [token, key, config] = ["token", "key.pem", "config"].map(|name| place.home.join(name));
    fs::write(&token, format!("{a}{b}")).expect("a file");
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{a}{b}\n-----END PRIVATE KEY-----\n");
    fs::write(&key, &pem).expect("a file");
    let yaml = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
         contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n\
         clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:1'}}}}]\n\
         users: [{{name: u, user: {{tokenFile: {}}}}}]\n",
        token.display()
    );
    fs::write(&config, &yaml).expect("a file");
    for file in [&token, &key, &config] {
        let named = file.display().to_string();
        let content = fs::read(file).expect("a file");
        for args in [
            &["explain", "web", "-f", &*named][..],
            &["predict", "web", "--hpa", &*named],
            &["predict", "web", "--trace", &*named],
            &["explain", "web", "--history", &*named],
        ] {
            let (code, left) = place.run(args, &[("KUBECONFIG", &config)]);
            assert_ne!(code, Some(0), "{args:?}");
            for (what, text) in &left {
                assert_eq!(leak(text, &content), None, "{args:?}: {what}");
            }
        }
    }
    // Nor a place for a summary.
    let state = nginx();
    let args = [
        "predict",
        "nginx-deployment",
        "-f",
        &*state,
        "--expect",
        "desired < 1000",
    ];
    let args = [&args[..], &["--report", "github"]].concat();
    for file in [&token, &config] {
        let before = fs::read(file).expect("a file");
        let (code, left) = place.run(
            &args,
            &[("KUBECONFIG", &config), ("GITHUB_STEP_SUMMARY", file)],
        );
        assert_eq!(code, Some(2), "{left:?}");
        assert_eq!(fs::read(file).expect("a file"), before);
    }
    let dangling = place.home.join("dangling");
    symlink(place.home.join("nowhere"), &dangling).expect("a link");
    let linked = place.home.join("linked");
    symlink(&token, &linked).expect("a link");
    for link in [&dangling, &linked] {
        let (code, _) = place.run(&args, &[("GITHUB_STEP_SUMMARY", link)]);
        assert_eq!(code, Some(1));
    }
    assert!(!place.home.join("nowhere").exists());
    assert_eq!(
        fs::read(&token).expect("a file"),
        format!("{a}{b}").into_bytes()
    );
}
