//! Signals while no one reads the answer: they end the program, whatever was listened to before, and what
//! was written is still reported.
#![cfg(target_os = "linux")]

use std::io::{Read, Write, pipe};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::api::{Auth, Exec, Server};
use super::apply::{cluster, writes};
use super::{PROGRAM, detached, recorded, shows, signal};

/// Runs it with a standard output that is full and has no reader, and sends a signal again and again until
/// it ends; returns the exit code and standard error.
fn interrupted(args: &[&str], signal: &str, is_on: impl Fn() -> bool) -> (Option<i32>, String) {
    let (reader, mut full) = pipe().expect("a pipe");
    full.write_all(&[b' '; 1 << 16])
        .expect("as much as it holds");
    let mut command = detached(PROGRAM);
    let mut child = command
        .args(args)
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn()
        .expect("it");
    drop(command);
    let begun = Instant::now();
    while !is_on() && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(10));
    }
    // Until it listens and waits for a reader.
    std::thread::sleep(Duration::from_secs(2));
    let id = child.id().to_string();
    let code = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status.code();
        }
        if begun.elapsed() > Duration::from_secs(40) {
            child.kill().expect("it is killed");
        }
        let _ = Command::new("kill").args([signal, &id]).status();
        std::thread::sleep(Duration::from_millis(500));
    };
    drop(reader);
    let mut told = String::new();
    child
        .stderr
        .take()
        .expect("a pipe")
        .read_to_string(&mut told)
        .expect("text");
    (code, told)
}

#[test]
fn a_signal_ends_what_no_one_reads() {
    let server = Server::start(recorded());
    let config = server.kubeconfig(&Auth::Token("admin"));
    let config = config.path().to_str().expect("a path in UTF-8").to_owned();
    let state = "examples/backtest/state.yaml";
    let search = ["predict", "web", "-n", "shop", "-f", state, "--for", "1h"];
    let search = [&search[..], &["--vary", "max=5..6", "-o", "json"]].concat();
    let cases = [
        (&search[..], "-INT", 130),
        (&search, "-TERM", 143),
        (
            &["explain", "-A", "-o", "json", "--kubeconfig", &config],
            "-INT",
            130,
        ),
        (
            &["explain", "-A", "-o", "yaml", "--kubeconfig", &config],
            "-TERM",
            143,
        ),
        (
            &["explain", "-A", "-o", "jsonl", "--kubeconfig", &config],
            "-INT",
            130,
        ),
    ];
    std::thread::scope(|all| {
        for (args, signal, expected) in cases {
            all.spawn(move || {
                let (code, told) = interrupted(args, signal, || true);
                assert_eq!(code, Some(expected), "{args:?}: {told}");
            });
        }
    });
}

#[test]
fn what_was_written_is_told_where_no_one_reads() {
    let server = Server::start(cluster());
    let config = server.kubeconfig(&Auth::Token("admin"));
    let config = config.path().to_str().expect("a path in UTF-8").to_owned();
    let args = [
        "apply",
        "web",
        "-n",
        "default",
        "--yes",
        "--kubeconfig",
        &config,
    ];
    let (code, told) = interrupted(&args, "-INT", || !writes(&server).is_empty());
    assert_eq!(code, Some(0), "{told}");
    shows(&told, "deployment.apps/web was written and has 4 replicas");
}

/// A directory for pipes that no one writes to, or of which a plugin is a writer.
fn pipe_at(name: &str) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory
        .path()
        .join(name)
        .to_str()
        .expect("a path in UTF-8")
        .to_owned();
    assert!(
        Command::new("mkfifo")
            .arg(&path)
            .status()
            .expect("mkfifo")
            .success()
    );
    (directory, path)
}

/// Sends a signal after a while, and returns how the program ended.
fn ended_by(mut child: std::process::Child, name: &str) -> std::process::ExitStatus {
    let ended = child.try_wait().expect("a child");
    assert!(ended.is_none(), "it did not wait");
    signal(&child, name);
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            return status;
        }
        if begun.elapsed() > Duration::from_secs(20) {
            child.kill().expect("it is killed");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Files that never begin, and answers that never end.
#[test]
fn a_signal_ends_reading() {
    use std::os::unix::process::ExitStatusExt;

    let (_directory, pipe) = pipe_at("pipe");
    let state = "examples/backtest/state.yaml";
    let header = format!("Authorization=@{pipe}");
    let of_prometheus = ["predict", "web", "-n", "shop", "-f", state];
    let of_prometheus = [&of_prometheus[..], &["--prometheus", "https://127.0.0.1:1"]].concat();
    for args in [
        vec!["explain", "web", "-n", "shop", "-f", &pipe],
        vec!["explain", "-f", &pipe],
        vec![
            "explain",
            "web",
            "-n",
            "shop",
            "-f",
            state,
            "--history",
            &pipe,
        ],
        vec![
            "predict", "web", "-n", "shop", "-f", state, "--trace", &pipe,
        ],
        vec!["predict", "web", "-n", "shop", "-f", state, "--hpa", &pipe],
        vec!["explain", "web", "--kubeconfig", &pipe],
        [&of_prometheus[..], &["--prometheus-header", &header]].concat(),
        [&of_prometheus[..], &["--prometheus-ca", &pipe]].concat(),
    ] {
        let mut command = detached(PROGRAM);
        let child = command
            .args(&args)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = child.spawn().expect("it");
        std::thread::sleep(Duration::from_millis(500));
        let status = ended_by(child, "-TERM");
        // What asks a server says that it was interrupted.
        let ended = status.signal().or(status.code());
        assert!(matches!(ended, Some(15 | 143)), "{args:?}: {ended:?}");
    }
}

/// A plugin without a terminal is in a process group of its own, which a signal for the program does not reach.
#[test]
fn a_signal_ends_the_plugin_and_its_children() {
    let server = Server::start(recorded());
    let config = server.kubeconfig(&Auth::Exec(Exec::Token("admin")));
    let (_directory, pipe) = pipe_at("pipe");
    let script = config.directory().join("plugin.sh");
    let text = format!("#!/bin/sh\nsh -c 'echo begun; sleep 60 & sleep 60' > '{pipe}'\n");
    std::fs::write(&script, text).expect("a script");
    let mut command = detached(PROGRAM);
    command
        .args(["explain", "web", "--kubeconfig"])
        .arg(config.path());
    let child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it");
    let mut plugins = std::fs::File::open(&pipe).expect("its output");
    let mut begun = [0; 6];
    plugins.read_exact(&mut begun).expect("its first line");
    assert_eq!(ended_by(child, "-TERM").code(), Some(143));
    // The end comes when the last of them has ended.
    let (sender, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(plugins.read_to_end(&mut Vec::new())));
    let rest = ended
        .recv_timeout(Duration::from_secs(20))
        .expect("none is left");
    assert_eq!(rest.expect("the end"), 0);
}
