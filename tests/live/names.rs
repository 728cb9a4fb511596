//! The names under which the program is run: by itself, through links as kubectl looks for them,
//! and by kubectl, where there is one.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;

use super::api::{Auth, Server};
use super::{NAME, Ran, away, folder, recorded, run};

/// A folder with the program under its names; it goes with the test.
struct Installed(PathBuf);

impl Installed {
    fn new(name: &str) -> Self {
        let path = folder().join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        let program = cargo_bin("kubectl-hpa");
        for name in ["kubectl-hpa", "kubectl-hpa_explain"] {
            symlink(&program, path.join(name)).expect("a link");
        }
        Self(path)
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        // What is left lies below the target folder.
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Explains the recorded HPA with the words that lead to the verb.
fn explain(program: &Path, words: &[&str], path: Option<&Path>) -> Ran {
    let server = Server::start(recorded());
    let config = server.kubeconfig(&Auth::Token("admin"));
    let mut command = Command::new(program);
    away(&mut command);
    if let Some(path) = path {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let paths = [path.to_owned()].into_iter().chain(std::env::split_paths(&paths));
        command.env("PATH", std::env::join_paths(paths).expect("a path"));
    }
    command.args(words).args([NAME, "-n", "default", "-o", "json", "--kubeconfig"]);
    run(command.arg(config.path()))
}

#[test]
fn a_link_stands_for_the_verb() {
    let installed = Installed::new("links");
    for (name, words) in [("kubectl-hpa", &["explain"][..]), ("kubectl-hpa_explain", &[])] {
        let answer = explain(&installed.0.join(name), words, None).answer();
        assert_eq!(answer["outcome"]["status"]["desiredReplicas"], 10);
    }
}

#[test]
fn kubectl_finds_it() {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&paths).map(|folder| folder.join("kubectl"));
    // Machines without kubectl have nothing to prove here.
    let Some(kubectl) = found.find(|path| path.is_file()) else { return };
    let installed = Installed::new("kubectl");
    for words in [&["hpa", "explain"][..], &["hpa-explain"]] {
        let answer = explain(&kubectl, words, Some(&installed.0)).answer();
        assert_eq!(answer["outcome"]["status"]["desiredReplicas"], 10);
    }
    let path = [installed.0.clone()].into_iter().chain(std::env::split_paths(&paths));
    let mut command = Command::new(&kubectl);
    away(&mut command);
    command.env("PATH", std::env::join_paths(path).expect("a path"));
    run(command.args(["hpa-explain", NAME, "--kubeconfig", "/nonexistent/config"]))
        .fails(1, &["error: stat /nonexistent/config: no such file or directory"]);
}
