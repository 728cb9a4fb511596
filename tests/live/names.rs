//! The names under which the program runs: by itself, through links that kubectl looks for,
//! and by kubectl, if it is installed.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::api::{Auth, Server};
use super::{NAME, PROGRAM, Ran, command, directory, program, recorded, run, shows};

/// A directory with the program under its names; it is deleted with the test.
pub(super) struct Installed(pub(super) PathBuf);

impl Installed {
    fn empty(name: &str) -> Self {
        let path = directory().join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a directory");
        Self(path)
    }

    pub(super) fn new(name: &str) -> Self {
        let installed = Self::empty(name);
        assert_eq!(installed.links(&[]).code, Some(0));
        installed
    }

    /// Runs `install-links` for the directory.
    fn links(&self, more: &[&str]) -> Ran {
        run(program()
            .args(["install-links", "--dir"])
            .arg(&self.0)
            .args(more))
    }

    /// Returns the PATH with this directory in it.
    pub(super) fn path(&self) -> OsString {
        let paths = env::var_os("PATH").unwrap_or_default();
        let paths = [self.0.clone()].into_iter().chain(env::split_paths(&paths));
        env::join_paths(paths).expect("a path")
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        // Leftovers are below the target directory.
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Returns the installed kubectl. Machines without it have nothing to prove here.
#[expect(
    clippy::print_stderr,
    reason = "a test that does nothing should say so"
)]
pub(super) fn kubectl() -> Option<PathBuf> {
    let paths = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&paths)
        .map(|directory| directory.join("kubectl"))
        .find(|path| path.is_file());
    if found.is_none() {
        eprintln!("skipped: there is no kubectl");
    }
    found
}

/// Explains the recorded HPA with the words that lead to the verb.
fn explain(program: &Path, words: &[&str], installed: &Installed) -> Ran {
    let server = Server::start(recorded());
    let config = server.kubeconfig(&Auth::Token("admin"));
    let mut command = command(program);
    command
        .env("PATH", installed.path())
        .env("HOME", &installed.0);
    command
        .args(words)
        .args([NAME, "-n", "default", "-o", "json", "--kubeconfig"]);
    run(command.arg(config.path()))
}

#[test]
fn a_link_stands_for_the_verb() {
    let installed = Installed::new("links");
    for (name, words) in [
        ("kubectl-hpa", &["explain"][..]),
        ("kubectl-hpa_explain", &[]),
    ] {
        let answer = explain(&installed.0.join(name), words, &installed).answer();
        assert_eq!(answer["outcome"]["status"]["desiredReplicas"], 10);
    }
}

#[test]
fn kubectl_finds_it() {
    let Some(kubectl) = kubectl() else { return };
    let installed = Installed::new("kubectl");
    for words in [&["hpa", "explain"][..], &["hpa-explain"]] {
        let answer = explain(&kubectl, words, &installed).answer();
        assert_eq!(answer["outcome"]["status"]["desiredReplicas"], 10);
    }
    let run_with = |words: &[&str]| {
        let mut command = command(&kubectl);
        // It keeps a cache in the home directory.
        run(command
            .env("HOME", &installed.0)
            .env("PATH", installed.path())
            .args(words))
    };
    run_with(&["hpa-explain", NAME, "--kubeconfig", "/nonexistent/config"]).fails(
        1,
        &["error: stat /nonexistent/config: no such file or directory"],
    );
    for (words, usage) in [
        (
            &["hpa", "explain", "--no-such-flag"][..],
            "Usage: kubectl hpa explain [OPTIONS] [[TYPE] NAME... | TYPE/NAME...]\n",
        ),
        (
            &["hpa-explain", "--no-such-flag"],
            "Usage: kubectl hpa-explain [OPTIONS] [[TYPE] NAME... | TYPE/NAME...]\n",
        ),
    ] {
        run_with(words).fails(2, &[usage]);
    }
    // kubectl's own list includes them, and finds nothing that shadows something else.
    let listed = run_with(&["plugin", "list", "--name-only"]);
    for name in [
        "kubectl-hpa\n",
        "kubectl-hpa_explain\n",
        "kubectl-hpa_predict\n",
    ] {
        shows(&listed.stdout, name);
    }
    assert!(!listed.stderr.contains("kubectl-hpa"), "{}", listed.stderr);
}

#[test]
fn links_are_made_once_and_nothing_else_is_touched() {
    let installed = Installed::empty("install-links");
    let at = |name: &str| installed.0.join(name);
    fs::write(at("kubectl-hpa_predict"), "mine").expect("a file");
    symlink("/bin/true", at("kubectl_complete-hpa")).expect("a link");
    symlink("/old/version/kubectl-hpa", at("kubectl-hpa_explain")).expect("a link");

    let said = |ran: &Ran, name: &str| {
        let line = ran
            .stdout
            .lines()
            .find(|line| line.split("  ").next() == Some(name));
        line.unwrap_or_else(|| panic!("{name} in {}", ran.stdout))[name.len()..]
            .trim()
            .to_owned()
    };
    let changed = "changed: pointed to /old/version/kubectl-hpa";
    let dry = installed.links(&["--dry-run"]);
    let real = installed.links(&[]);
    let again = installed.links(&[]);
    for (name, first, later) in [
        ("kubectl-hpa", "made", "there already"),
        ("kubectl-hpa_explain", changed, "there already"),
        ("kubectl-hpa_predict", "left alone", "left alone"),
        ("kubectl_complete-hpa", "left alone", "left alone"),
        ("kubectl_complete-hpa_explain", "made", "there already"),
    ] {
        let would = if first == "left alone" {
            String::new()
        } else {
            "would be ".to_owned()
        };
        assert_eq!(said(&dry, name), format!("{would}{first}"));
        assert_eq!(said(&real, name), first);
        assert_eq!(said(&again, name), later);
    }
    for ran in [&dry, &real, &again] {
        assert_eq!(ran.code, Some(1));
        assert!(
            ran.stdout
                .ends_with("which is not on the PATH, so kubectl will not find them\n")
        );
        let alone = "kubectl-hpa_predict exists and is not a link to this program";
        shows(&ran.stderr, alone);
    }
    assert_eq!(
        fs::read_to_string(at("kubectl-hpa_predict")).expect("a file"),
        "mine"
    );
    assert_eq!(
        fs::read_link(at("kubectl_complete-hpa")).expect("a link"),
        Path::new("/bin/true")
    );

    run(program().args(["install-links", "--dir", "/nonexistent/directory"]))
        .fails(1, &["no such directory", "hint: create it"]);
    for (file, why) in [
        ("/dev/null", "it is not a directory"),
        ("/dev/null/x", "a part of its path is not a directory"),
    ] {
        let error = format!("failed to create links in {file}: {why}\nhint: use");
        run(program().args(["install-links", "--dir", file])).fails(1, &[&error]);
    }
}

/// As installed by a package manager: one link in a directory of the PATH to a program elsewhere.
#[test]
fn links_go_beside_the_one_that_was_found() {
    let installed = Installed::empty("krew");
    let link = installed.0.join("kubectl-hpa_explain");
    symlink(PROGRAM, &link).expect("a link");
    let mut command = command(&link);
    let ran = run(command.env("PATH", installed.path()).arg("install-links"));
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
    assert!(
        ran.stdout.ends_with("which is on the PATH\n"),
        "{}",
        ran.stdout
    );
    // They lead through the link that the package manager updates.
    let made = fs::read_link(installed.0.join("kubectl-hpa")).expect("a link");
    assert_eq!(made, Path::new("kubectl-hpa_explain"));
}
