//! Signals while no one reads the answer: they end the program, whatever was listened to before, and what
//! was written is still reported.
#![cfg(target_os = "linux")]

use std::io::{Read, Write, pipe};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::api::{Auth, Server};
use super::apply::{cluster, writes};
use super::apply_rest::away;
use super::recorded;

/// Runs it with a standard output that is full and has no reader, and sends a signal again and again until
/// it ends; returns the exit code and standard error.
fn interrupted(args: &[&str], signal: &str, is_on: impl Fn() -> bool) -> (Option<i32>, String) {
    let (reader, mut full) = pipe().expect("a pipe");
    full.write_all(&[b' '; 1 << 16]).expect("as much as it holds");
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-hpa"));
    away(&mut command);
    let mut child = command.args(args).stdout(full).stderr(Stdio::piped()).spawn().expect("it");
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
    child.stderr.take().expect("a pipe").read_to_string(&mut told).expect("text");
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
    for (args, signal, expected) in [
        (&search[..], "-INT", 130),
        (&search, "-TERM", 143),
        (&["explain", "-A", "-o", "json", "--kubeconfig", &config], "-INT", 130),
        (&["explain", "-A", "-o", "yaml", "--kubeconfig", &config], "-TERM", 143),
        (&["explain", "-A", "-o", "jsonl", "--kubeconfig", &config], "-INT", 130),
    ] {
        let (code, told) = interrupted(args, signal, || true);
        assert_eq!(code, Some(expected), "{args:?}: {told}");
    }
}

#[test]
fn what_was_written_is_told_where_no_one_reads() {
    let server = Server::start(cluster());
    let config = server.kubeconfig(&Auth::Token("admin"));
    let config = config.path().to_str().expect("a path in UTF-8").to_owned();
    let args = ["apply", "web", "-n", "default", "--yes", "--kubeconfig", &config];
    let (code, told) = interrupted(&args, "-INT", || !writes(&server).is_empty());
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("deployment.apps/web was written and has 4 replicas"), "{told}");
}
