//! The files in `completions/`. The executables that kubectl looks for depend on the verbs and must not
//! fall behind them: `UPDATE_COMPLETIONS=1 cargo test --test program completions` regenerates them. The
//! scripts for shells ask the program, and are run here if the shell is installed.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use kubectl_hpa::args::command_line;

const SHELLS: [(&str, &str); 3] = [
    ("bash", "kubectl-hpa.bash"),
    ("zsh", "_kubectl-hpa"),
    ("fish", "kubectl-hpa.fish"),
];

/// The program and its links.
fn programs() -> Vec<String> {
    let command = command_line();
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let verbs = verbs
        .map(clap::Command::get_name)
        .filter(|name| *name != "install-links");
    [String::new()]
        .into_iter()
        .chain(verbs.map(|verb| format!("_{verb}")))
        .map(|form| format!("kubectl-hpa{form}"))
        .collect()
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("completions")
        .join(name)
}

#[test]
fn kubectl_finds_an_executable_for_each_form() {
    for program in programs() {
        let script = format!(
            "#!/bin/sh\n\
             # kubectl runs this to complete the arguments of {program}. It never fails, because kubectl\n\
             # would print the error in the middle of the prompt.\n\
             exec 2>/dev/null\n\
             {program} __complete \"$@\" || echo :4\n"
        );
        let path = file(&program.replacen("kubectl-", "kubectl_complete-", 1));
        if env::var_os("UPDATE_COMPLETIONS").is_some() {
            fs::write(&path, &script).unwrap();
            #[cfg(unix)]
            fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755))
                .unwrap();
        }
        assert_eq!(
            fs::read_to_string(&path).unwrap_or_default(),
            script,
            "{} is out of date: UPDATE_COMPLETIONS=1 cargo test --test program completions",
            path.display()
        );
        #[cfg(unix)]
        {
            let mode =
                std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
            assert_eq!(mode & 0o111, 0o111, "{} is not executable", path.display());
        }
    }
}

#[test]
fn scripts_know_the_program_by_all_its_names() {
    for (_, name) in SHELLS {
        let script = fs::read_to_string(file(name)).unwrap();
        let all = programs().join(" ");
        assert!(script.contains(&all), "{name} does not name {all}");
    }
}

#[test]
fn scripts_are_well_formed() {
    for (shell, name) in SHELLS {
        // Machines without the shell have nothing to prove here.
        let Ok(output) = Command::new(shell).arg("-n").arg(file(name)).output() else {
            continue;
        };
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// The directory of the program.
fn directory() -> &'static Path {
    let program = Path::new(env!("CARGO_BIN_EXE_kubectl-hpa"));
    program.parent().expect("a directory")
}

/// Returns a PATH on which the program is found first.
fn with_the_program() -> OsString {
    let paths = env::var_os("PATH").unwrap_or_default();
    let all = [directory().to_owned()].into_iter();
    env::join_paths(all.chain(env::split_paths(&paths))).expect("directories of a PATH")
}

/// A shell that finds the program on the PATH and in the home directory.
fn shell(name: &str) -> Command {
    let mut command = Command::new(name);
    command
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("PATH", with_the_program())
        .env("HOME", directory());
    command
}

#[cfg(unix)]
#[test]
fn words_that_are_no_text_fail_nothing() {
    use std::os::unix::ffi::OsStrExt;

    let output = Command::new(env!("CARGO_BIN_EXE_kubectl-hpa"))
        .args(["__complete", "explain", "--color"].map(OsStr::new))
        .args([
            OsStr::from_bytes(b"\xff"),
            OsStr::new("--save"),
            OsStr::new(""),
        ])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(String::from_utf8_lossy(&output.stdout), ":0\n");
    assert!(output.status.success());
}

#[test]
fn fish_completes_in_quotes() {
    for (line, replies) in [
        ("kubectl-hpa expl", "explain"),
        (
            "kubectl-hpa explain --output=j",
            "--output=json --output=jsonl",
        ),
        ("kubectl-hpa explain -f examples/shop ca", "cart"),
        (
            "kubectl-hpa predict web -f examples/shop --expect \"metric.cpu.d",
            "metric.cpu.desired",
        ),
        (
            "kubectl-hpa predict web --expect 'min < 3 and lim",
            "min < 3 and limited",
        ),
        (
            "kubectl-hpa predict web --expect min\\ \\<\\ 3\\ and\\ lim",
            "min < 3 and limited",
        ),
        (
            "kubectl-hpa explain --filename=exam",
            "--filename=examples/",
        ),
        ("~/kubectl-hpa expl", "explain"),
        ("~/none/kubectl-hpa expl", ""),
    ] {
        let output = shell("fish")
            .args([
                "--no-config",
                "-c",
                "source completions/kubectl-hpa.fish; complete -C $argv[1]",
            ])
            .arg(line)
            .output();
        // Machines without fish have nothing to prove here.
        let Ok(output) = output else { return };
        let said = String::from_utf8(output.stdout).unwrap();
        let said: Vec<&str> = said
            .lines()
            .filter_map(|reply| reply.split('\t').next())
            .collect();
        assert_eq!(said.join(" "), replies, "{line}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}

#[test]
fn zsh_types_what_follows() {
    // A shell on a terminal of its own completes each line, and prints what it then has.
    const RUN: &str = r#"
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'fpath=($PWD/completions $fpath); autoload -U compinit; compinit -D -u'
zpty -w shell 'show() { print -rn -- $'"'\1'"'$BUFFER'"$'\1'"'; BUFFER=; }; zle -N show; bindkey "^T" show'
for line; do
    zpty -n -w shell $line$'\t\x14'
    zpty -r shell said $'*\1*\1'
    print -r -- ${${said%$'\1'}#*$'\1'}
done
"#;
    let lines = [
        ("kubectl-hpa expl", "ain "),
        ("kubectl-hpa explain --output=j", "son"),
        ("kubectl-hpa explain -f examples/shop ca", "rt "),
        ("kubectl-hpa explain --filename=exam", "ples/"),
        ("kubectl-hpa predict web -f examples/shop --metric=c", "pu="),
        (
            "kubectl-hpa predict web -f examples/shop --pod web-0:c",
            "pu=",
        ),
        (
            "kubectl-hpa predict web --expect 'min < 3 and lim",
            "ited' ",
        ),
        ("~/kubectl-hpa expl", "ain "),
        ("~/none/kubectl-hpa expl", ""),
    ];
    let output = shell("zsh")
        .args(["-f", "-c", RUN, "zsh"])
        .args(lines.map(|(line, _)| line))
        .output();
    // Machines without zsh have nothing to prove here.
    let Ok(output) = output else { return };
    let typed: String = lines
        .iter()
        .map(|(line, rest)| format!("{line}{rest}\n"))
        .collect();
    assert_eq!(String::from_utf8_lossy(&output.stdout), typed);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn bash_gets_what_follows_where_it_splits() {
    const RUN: &str = r#"
source completions/kubectl-hpa.bash
COMP_LINE=$1 COMP_POINT=${#1}
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_kubectl_hpa
printf '%s\n' "${COMPREPLY[@]}"
"#;
    // bash splits words at `|` even without a space.
    for (line, replies) in [
        ("kubectl-hpa expl", "explain"),
        ("kubectl-hpa explain -f examples/shop ca", "cart"),
        (
            "kubectl-hpa explain --output|=",
            "wide markdown json jsonl yaml",
        ),
        ("kubectl-hpa explain --output|=|j", "json jsonl"),
        (
            "kubectl-hpa predict web -f examples/shop --pod web-0|:",
            "cpu=",
        ),
        (
            "kubectl-hpa predict web -f examples/shop --pod|=|web-0|:|c",
            "cpu=",
        ),
        (
            "kubectl-hpa predict web --fail-on limited,ma",
            "limited,maxed",
        ),
        ("kubectl-hpa explain -f exam", "examples"),
        ("kubectl-hpa explain --filename|=|exam", "examples"),
        ("kubectl-hpa explain web -f examples/shop ca", "cart"),
        ("kubectl-hpa predict web -f examples/shop ", ""),
        ("~/kubectl-hpa expl", "explain"),
        ("~/none/kubectl-hpa expl", ""),
    ] {
        let words = line.split(' ').flat_map(|word| word.split('|'));
        let output = shell("bash")
            .args(["--norc", "-c", RUN, "bash", &line.replace('|', "")])
            .args(words)
            .output();
        // Machines without bash have nothing to prove here.
        let Ok(output) = output else { return };
        let said = String::from_utf8(output.stdout).unwrap();
        let said: Vec<&str> = said.split_whitespace().collect();
        assert_eq!(said.join(" "), replies, "{line}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}

/// kubectl's script passes candidates without descriptions to `compgen -W`, which expands them.
#[test]
fn names_run_nothing_in_a_shell() {
    const EXPANDED: &str = r#"compgen -W "$(kubectl-hpa __complete "$@" | cut -f1)""#;
    const HPA: &str = r#"{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "NAME"},
        "spec": {"maxReplicas": 4, "scaleTargetRef": {"kind": "Deployment", "name": "web"}, "metrics": [
            {"type": "External", "external": {"metric": {"name": "NAME"}, "target": {"value": "1"}}},
            {"type": "External", "external": {"metric": {"name": "a.b/c:d"}, "target": {"value": "1"}}},
            {"type": "External", "external": {"metric": {"name": "q{}"}, "target": {"value": "1"}}}]}}"#;
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("completions");
    // It exists if the test has run before.
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir(&directory).unwrap();
    for name in [
        "a$(touch${IFS}run)",
        "a`touch${IFS}run`",
        "a;b",
        "a*",
        "~",
        "a{b,c}",
        "a{1..3}",
    ] {
        fs::write(directory.join("hpa"), HPA.replace("NAME", name)).unwrap();
        for (line, replies) in [
            ("explain -f hpa -n ", ":4"),
            ("predict -f hpa --metric ", "a.b/c:d= q{}= :6"),
            (
                "predict -f hpa --expect metric.a",
                "metric.a.b/c:d.desired metric.a.b/c:d.utilization metric.a.b/c:d.averageValue \
                 metric.a.b/c:d.value :4",
            ),
        ] {
            let output = Command::new("bash")
                .current_dir(&directory)
                .env("PATH", with_the_program())
                .args(["--norc", "-c", EXPANDED, "bash"])
                .args(line.split(' '))
                .output();
            // Machines without bash have nothing to prove here.
            let Ok(output) = output else { return };
            let said = String::from_utf8(output.stdout).unwrap();
            let said: Vec<&str> = said.split_whitespace().collect();
            assert_eq!(said.join(" "), replies, "{name}: {line}");
            assert!(!directory.join("run").exists(), "{name}: {line}");
        }
    }
}
