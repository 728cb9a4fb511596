//! The rules of the architecture that the compiler does not hold: data flows one way through the
//! modules, the engine is pure, one place prints. It searches the source text, comments aside, and
//! proves nothing about what macros or other crates do.

use std::fs;
use std::path::{Path, PathBuf};

/// The way of the data. A module may know those to its left, never those to its right. The
/// commands tie them together and may know all. The cluster gives snapshots and so knows what they are
/// made of; a snapshot knows no network.
const LAYERS: [&str; 13] = [
    "args",
    "snapshot",
    "apiserver",
    "saved",
    "cluster",
    "memory",
    "engine",
    "outlook",
    "pass",
    "whatif",
    "apply",
    "report",
    "render",
];

/// What the layers share, and which therefore knows none of them.
const SHARED: [&str; 6] = ["apimachinery", "error", "flags", "numbers", "secret", "version"];

/// What would make two runs of the engine differ, or tie it to a cluster or a terminal.
const IMPURE: [&str; 15] = [
    "kube",
    "k8s_openapi",
    "tokio",
    "clap",
    "rand",
    "std::env",
    "std::fs",
    "std::io",
    "std::net",
    "std::process",
    "std::thread",
    "std::time",
    "SystemTime",
    "Timestamp::now",
    "Zoned::now",
];

#[test]
fn data_flows_one_way() {
    let mut wrong = Vec::new();
    for file in sources() {
        let place = LAYERS.iter().position(|layer| *layer == file.module());
        let beyond = match place {
            Some(place) => &LAYERS[place + 1..],
            None if SHARED.contains(&file.module()) => &LAYERS[..],
            None => continue,
        };
        // In one piece, because a list of imports may go over several lines.
        let code: Vec<_> = file.code().map(|(_, line)| line).collect();
        let code = code.join("\n");
        let modules = crate_modules(&code, file.depth());
        let found = modules.iter().filter(|module| beyond.contains(module));
        wrong.extend(found.map(|module| format!("{} names {module}", file.path)));
    }
    assert!(wrong.is_empty(), "against the flow:\n{}", wrong.join("\n"));
}

#[test]
fn the_engine_is_pure() {
    let files = sources();
    let engine: Vec<_> = files.iter().filter(|f| f.module() == "engine").collect();
    assert!(!engine.is_empty(), "there is no engine");
    let wrong: Vec<_> = engine
        .iter()
        .flat_map(|file| file.code().map(move |(number, line)| (file, number, line)))
        .filter(|(.., line)| IMPURE.iter().any(|name| names(line, name)))
        .map(|(file, number, line)| format!("{}:{number}: {}", file.path, line.trim()))
        .collect();
    assert!(wrong.is_empty(), "not pure:\n{}", wrong.join("\n"));
}

#[test]
fn only_the_program_prints() {
    const MACROS: [&str; 5] = ["print!", "println!", "eprint!", "eprintln!", "dbg!"];
    let mut wrong = Vec::new();
    for file in sources().iter().filter(|file| file.path != "main.rs") {
        let prints = file.code().filter(|(_, line)| MACROS.iter().any(|name| names(line, name)));
        wrong.extend(prints.map(|(number, line)| format!("{}:{number}: {line}", file.path)));
    }
    assert!(wrong.is_empty(), "prints:\n{}", wrong.join("\n"));
}

#[test]
fn every_way_to_write_an_import_is_seen() {
    for (line, depth, modules) in [
        ("use crate::engine::decision::Step;", 1, vec!["engine"]),
        (
            "use crate::{json, engine::{self, decision}, report};",
            1,
            vec!["json", "engine", "report"],
        ),
        ("use crate::{\n    engine,\n};", 1, vec!["engine"]),
        ("pub(crate) use crate::engine;", 1, vec!["engine"]),
        ("let step = crate::engine::decision::Step::default();", 1, vec!["engine"]),
        ("use kubectl_hpa::engine;", 1, vec!["engine"]),
        ("use super::engine::reconcile;", 1, vec!["engine"]),
        ("use super::decision::Step;", 2, vec![]),
        ("use super::super::engine::reconcile;", 2, vec!["engine"]),
        ("use othercrate::engine;", 1, vec![]),
    ] {
        assert_eq!(crate_modules(line, depth), modules, "{line}");
    }
    assert!(names("use std::env;", "std::env"));
    assert!(names("    eprintln!(\"{x}\");", "eprintln!"));
    assert!(!names("    eprintln!(\"{x}\");", "println!"));
    assert!(!names("use kubectl::x;", "kube"));
}

/// A source file of the crate.
struct Source {
    /// Below `src`, with slashes.
    path: String,
    text: String,
}

impl Source {
    /// The top-level module that it belongs to.
    fn module(&self) -> &str {
        let first = self.path.split('/').next().unwrap_or_default();
        first.strip_suffix(".rs").unwrap_or(first)
    }

    /// How many times `super` leads from it to the crate. A module inside the file needs one more,
    /// which at worst takes a module of the same name for a top-level one.
    fn depth(&self) -> usize {
        let stem = self.path.strip_suffix(".rs").unwrap_or(&self.path);
        stem.strip_suffix("/mod").unwrap_or(stem).split('/').count()
    }

    /// The lines that are no comments, with their numbers.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = (1..).zip(self.text.lines());
        lines.filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

fn sources() -> Vec<Source> {
    fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                collect(&path, files);
            } else if path.extension().is_some_and(|end| end == "rs") {
                files.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    let read = |file: PathBuf| {
        let path = file.strip_prefix(&root).expect("a file below it").components();
        let parts: Vec<_> = path.map(|part| part.as_os_str().to_string_lossy()).collect();
        Source { path: parts.join("/"), text: fs::read_to_string(&file).expect("a source file") }
    };
    files.into_iter().map(read).collect()
}

/// Whether a line names something, not merely as a part of another name.
fn names(line: &str, name: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(name).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + name.len()..]);
        !before.ends_with(part) && !after.starts_with(part)
    })
}

/// The top-level modules that code names through the crate's root.
fn crate_modules(code: &str, depth: usize) -> Vec<&str> {
    let mut modules = Vec::new();
    for root in ["crate::", "kubectl_hpa::", &"super::".repeat(depth)] {
        for (at, _) in code.match_indices(root) {
            if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let rest = &code[at + root.len()..];
            match rest.strip_prefix('{') {
                Some(list) => modules.extend(outermost(list)),
                None => modules.extend(word(rest)),
            }
        }
    }
    modules
}

/// The first words of the items of a list in braces, without the lists inside.
fn outermost(list: &str) -> Vec<&str> {
    let (mut depth, mut starts) = (0usize, vec![0]);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => starts.push(at + 1),
            _ => {}
        }
    }
    starts.iter().filter_map(|&at| word(list[at..].trim_start())).collect()
}

fn word(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    let word = &text[..end.unwrap_or(text.len())];
    (!word.is_empty()).then_some(word)
}
