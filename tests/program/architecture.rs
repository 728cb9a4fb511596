//! The rules of the architecture that the compiler does not enforce: data flows one way through the
//! modules, the engine is pure, one place prints. It searches the source text, except comments, and
//! proves nothing about what macros or other crates do.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The direction of the data. A module may use those to its left, never those to its right. The
/// commands tie them together and may use all. The cluster returns snapshots, so it uses their types; a
/// snapshot does not use the network.
const LAYERS: [&str; 20] = [
    "args",
    "snapshot",
    "apiserver",
    "keda",
    "saved",
    "prometheus",
    "cluster",
    "rules",
    "memory",
    "engine",
    "outlook",
    "pass",
    "past",
    "whatif",
    "words",
    "backtest",
    "apply",
    "findings",
    "report",
    "render",
];

/// Modules that the layers share, and which therefore use none of them.
const SHARED: [&str; 7] = [
    "apimachinery",
    "calendar",
    "error",
    "flags",
    "numbers",
    "secret",
    "version",
];

/// Files, the network, other programs, other threads and the process itself.
const IO: [&str; 11] = [
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "std::env::var",
    "std::env::var_os",
    "std::env::vars",
    "std::io::stdin",
    "std::io::stdout",
    "std::io::stderr",
    "tokio",
];

/// Anything that would make two runs of the engine differ, or tie it to a cluster or a terminal.
const IMPURE: [&str; 17] = [
    "kube",
    "k8s_openapi",
    "hyper_rustls",
    "hyper_util",
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
        // Joined, because a list of imports may span several lines.
        let code: Vec<_> = file.code().map(|(_, line)| line).collect();
        let code = code.join("\n");
        let modules = crate_modules(&code, file.depth());
        let found = modules.iter().filter(|module| beyond.contains(module));
        wrong.extend(found.map(|module| format!("{} names {module}", file.path)));
    }
    assert!(wrong.is_empty(), "against the flow:\n{}", wrong.join("\n"));
}

#[test]
fn input_and_output_have_their_place() {
    let mut wrong = Vec::new();
    for file in sources() {
        let may = matches!(file.module(), "cluster" | "command" | "main");
        if may || file.path == "saved/file/mod.rs" || file.path.ends_with("/tests.rs") {
            continue;
        }
        let found = file
            .code()
            .filter(|(_, line)| IO.iter().any(|name| names(line, name)));
        wrong.extend(found.map(|(number, line)| format!("{}:{number}: {line}", file.path)));
    }
    assert!(
        wrong.is_empty(),
        "I/O in the wrong place:\n{}",
        wrong.join("\n")
    );
}

/// What a server, a plugin or a Prometheus says is parsed only by `apimachinery::json`, which limits elements and
/// depth, and an answer of a server only through its session, which limits length and time. The head of a page keeps
/// nothing but a token.
#[test]
fn servers_are_read_in_one_way() {
    // A reader that stops early, the reader with limits itself, and numbers.
    const ALLOWED: [&str; 4] = [
        "cluster/fetch/read.rs",
        "saved/file/mod.rs",
        "keda/metadata.rs",
        "keda/fields.rs",
    ];
    const MODULES: [&str; 5] = ["apiserver", "cluster", "keda", "prometheus", "saved"];
    let mut wrong = Vec::new();
    for file in sources() {
        let is_test = file.path.contains("/tests/") || file.path.ends_with("tests.rs");
        if is_test || ALLOWED.contains(&&*file.path) || !MODULES.contains(&file.module()) {
            continue;
        }
        let file = Source {
            text: without_tests(&file.text).to_owned(),
            ..file
        };
        let parses = |line: &str| {
            ["serde_json::from_", "serde_json::Deserializer"]
                .iter()
                .any(|it| line.contains(it))
        };
        let found = file.code().filter(|(_, line)| parses(line));
        wrong.extend(found.map(|(number, line)| format!("{}:{number}: {line}", file.path)));
    }
    assert!(
        wrong.is_empty(),
        "JSON without limits:\n{}",
        wrong.join("\n")
    );
}

/// The order of the layers, as it is drawn for people.
#[test]
fn the_pictures_are_the_layers() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let drawn = |path: &str, mark: &str| -> Vec<String> {
        let text = fs::read_to_string(root.join(path)).expect("a file with a picture");
        let lines = text
            .lines()
            .map(|line| line.strip_prefix(mark).unwrap_or(line));
        let picture = lines
            .skip_while(|line| !line.starts_with(" command "))
            .take_while(|line| !line.starts_with("```"))
            .filter(|line| !line.starts_with(" --"));
        // The last line has the small shared ones side by side.
        let names = picture.flat_map(|line| {
            if line.contains("  ") {
                vec![word(line.trim_start()).unwrap_or_default()]
            } else {
                line.trim().split(", ").collect()
            }
        });
        names.map(str::to_owned).collect()
    };
    let layers = ["command"]
        .into_iter()
        .chain(LAYERS.into_iter().rev())
        .chain(SHARED);
    let layers: Vec<&str> = layers.collect();
    for (path, mark) in [("CONTRIBUTING.md", ""), ("src/lib.rs", "//! ")] {
        assert_eq!(drawn(path, mark), layers, "{path}");
    }
    let all: BTreeSet<String> = sources()
        .iter()
        .map(|file| file.module().to_owned())
        .collect();
    let known: BTreeSet<String> = layers
        .into_iter()
        .chain(["lib", "main"])
        .map(str::to_owned)
        .collect();
    assert_eq!(all, known, "modules that no picture has, or that are gone");
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
        let prints = file
            .code()
            .filter(|(_, line)| MACROS.iter().any(|name| names(line, name)));
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
        (
            "let step = crate::engine::decision::Step::default();",
            1,
            vec!["engine"],
        ),
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

/// Files that use each other, directly or through others, can only be read together. A module may use those above
/// it. An item that is re-exported counts where it is defined. Unit tests may use anything.
#[test]
fn no_files_use_each_other_in_a_circle() {
    let circles = circles(&Modules::of(&sources()).known());
    assert!(circles.is_empty(), "circles:\n{}", circles.join("\n"));
}

#[test]
fn circles_are_seen() {
    let file = |path: &str, text: &str| Source {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    let known = |files: &[Source]| {
        let name = |path: Vec<String>| path.join("::");
        let pairs = Modules::of(files).known().into_iter();
        pairs
            .map(|(one, other)| (name(one), name(other)))
            .collect::<Vec<_>>()
    };
    let pair = |one: &str, other: &str| (one.to_owned(), other.to_owned());
    let files = [
        file("lib.rs", "mod a;\nmod b;"),
        file("a.rs", "mod c;\nmod d;\npub use d::Item;\nuse c::Part;"),
        file("a/c.rs", "use super::Item;\nuse crate::b;"),
        file("a/d.rs", "fn f(x: super::c::Part) {}"),
        file(
            "b/mod.rs",
            "// use crate::a::c;\nuse crate::a::{\n    d::{self, Other as Own},\n};",
        ),
    ];
    let want = [
        pair("a", "a::c"),
        pair("a::c", "a::d"),
        pair("a::c", "b"),
        pair("a::d", "a::c"),
        pair("b", "a::d"),
    ];
    assert_eq!(known(&files), want);
    assert_eq!(circles(&Modules::of(&files).known()), ["a::c, a::d, b"]);
    let opened = [
        file("a.rs", "pub use crate::b::Item;"),
        file("b.rs", ""),
        file("c.rs", "use crate::a::*;"),
    ];
    assert_eq!(known(&opened), [pair("c", "b")]);
    let tested = "#[cfg(test)]\nmod tests {\n    use crate::b;\n}";
    assert_eq!(known(&[file("a.rs", tested), file("b.rs", "")]), []);
}

/// jiff's operators panic at the ends of the calendar.
#[test]
fn times_are_added_in_one_place() {
    let wrong = sums_of_times(&sources());
    assert!(
        wrong.is_empty(),
        "use `calendar::Calendar` for:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn sums_of_times_are_seen() {
    let file = |path: &str, text: &str| Source {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    let spans = file(
        "memory/spans.rs",
        "const SECOND: SignedDuration = SignedDuration::ZERO;",
    );
    let seen = file("memory/seen.rs", "struct Seen {\n    last: Timestamp,\n}");
    let sums = |text: &str| {
        let files = [spans.clone(), seen.clone(), file("memory/known.rs", text)];
        sums_of_times(&files).len()
    };
    for (text, count) in [
        ("let at = passed - SECOND;", 1),
        ("let at = passed\n+ SECOND;", 1),
        ("fn f(now: Timestamp) {\n    now + x\n}", 1),
        ("fn f(now: &Timestamp) {\n    x(1) - *now\n}", 1),
        ("fn f(now: i64) {\n    now + x\n}", 0),
        ("seen.last - x", 1),
        ("fn last(x: X) -> Timestamp {}\nlet at = x + last(y(1));", 1),
        ("at += SignedDuration::from_secs(1);", 1),
        ("// at - SECOND", 0),
        ("at.minus(SECOND)", 0),
        (
            "fn f(now: Timestamp) {}\nlet end = Instant::now() + PATIENCE;",
            0,
        ),
        ("#[cfg(test)]\nmod tests {\n    at - SECOND\n}", 0),
    ] {
        assert_eq!(sums(text), count, "{text}");
    }
    // Another module's constant of this name may be an integer.
    let other = file("past/mod.rs", "let at = millis + SECOND;");
    assert!(sums_of_times(&[spans, other]).is_empty());
}

/// A source file of the crate.
#[derive(Clone)]
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

    /// How many `super`s lead from it to the crate root. A module inside the file needs one more,
    /// which at worst confuses a module of the same name with a top-level one.
    fn depth(&self) -> usize {
        let stem = self.path.strip_suffix(".rs").unwrap_or(&self.path);
        stem.strip_suffix("/mod").unwrap_or(stem).split('/').count()
    }

    /// Returns the lines that are not comments, with their numbers.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = (1..).zip(self.text.lines());
        lines.filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

fn sources() -> Vec<Source> {
    fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).expect("a directory of sources") {
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
        let path = file
            .strip_prefix(&root)
            .expect("a file below it")
            .components();
        let parts: Vec<_> = path
            .map(|part| part.as_os_str().to_string_lossy())
            .collect();
        Source {
            path: parts.join("/"),
            text: fs::read_to_string(&file).expect("a source file"),
        }
    };
    files.into_iter().map(read).collect()
}

/// The path of a module, from the crate root.
type ModulePath = Vec<String>;

/// The files of the crate as modules.
struct Modules {
    /// The code of each, without unit tests.
    code: BTreeMap<ModulePath, String>,
    /// Their re-exports, by name: the module of the item, and its path there.
    exports: BTreeMap<(ModulePath, String), (ModulePath, Vec<String>)>,
}

impl Modules {
    fn of(files: &[Source]) -> Self {
        let mut modules = Self {
            code: BTreeMap::new(),
            exports: BTreeMap::new(),
        };
        for file in files.iter().filter(|file| !file.path.contains("tests")) {
            let stem = file.path.strip_suffix(".rs").unwrap_or(&file.path);
            let stem = stem.strip_suffix("/mod").unwrap_or(stem);
            let path: ModulePath = match stem {
                "main" => continue,
                "lib" => Vec::new(),
                stem => stem.split('/').map(str::to_owned).collect(),
            };
            let lines: Vec<&str> = file.code().map(|(_, line)| line).collect();
            modules
                .code
                .insert(path, without_tests(&lines.join("\n")).to_owned());
        }
        for (module, code) in &modules.code {
            for (path, _) in imports(code)
                .into_iter()
                .filter(|(_, is_export)| *is_export)
            {
                if let (Some(name), Some(place)) = (path.last(), modules.find(module, &path)) {
                    modules
                        .exports
                        .insert((module.clone(), name.clone()), place);
                }
            }
        }
        modules
    }

    /// Returns which module uses which, except those above itself.
    fn known(&self) -> BTreeSet<(ModulePath, ModulePath)> {
        let mut known = BTreeSet::new();
        for (module, code) in &self.code {
            let imports = imports(code)
                .into_iter()
                .filter(|(_, is_export)| !is_export);
            let named = imports.map(|(path, _)| path).chain(inline_paths(code));
            let places = named.filter_map(|path| self.find(module, &path));
            for place in places.flat_map(|place| self.opened(place)) {
                let found = self.defined(place);
                if !module.starts_with(&found) {
                    known.insert((module.clone(), found));
                }
            }
        }
        known
    }

    /// Returns the module that a path leads to, with the rest of the path.
    fn find(&self, from: &ModulePath, path: &[String]) -> Option<(ModulePath, Vec<String>)> {
        let (start, path) = match path.first()?.as_str() {
            "crate" | "kubectl_hpa" => (Vec::new(), &path[1..]),
            "self" => (from.clone(), &path[1..]),
            "super" => {
                let up = path.iter().take_while(|part| *part == "super").count();
                (from[..from.len().checked_sub(up)?].to_vec(), &path[up..])
            }
            child if self.code.contains_key(&joined(from, child)) => (from.clone(), path),
            _ => return None,
        };
        Some(self.descend(start, path))
    }

    fn descend(&self, mut module: ModulePath, path: &[String]) -> (ModulePath, Vec<String>) {
        let mut rest = path;
        while let Some((next, further)) = rest.split_first()
            && self.code.contains_key(&joined(&module, next))
        {
            module.push(next.clone());
            rest = further;
        }
        (module, rest.to_vec())
    }

    /// Returns everything that a module re-exports in place of a `*`.
    fn opened(&self, (module, rest): (ModulePath, Vec<String>)) -> Vec<(ModulePath, Vec<String>)> {
        if rest != ["*"] {
            return vec![(module, rest)];
        }
        let exports = self.exports.keys().filter(|(of, _)| *of == module);
        exports
            .map(|(of, name)| (of.clone(), vec![name.clone()]))
            .collect()
    }

    /// Returns the module that defines an item, which others may re-export.
    fn defined(&self, (mut module, mut rest): (ModulePath, Vec<String>)) -> ModulePath {
        while let Some((name, further)) = rest.split_first()
            && let Some((place, path)) = self.exports.get(&(module.clone(), name.clone()))
        {
            let path: Vec<String> = path.iter().chain(further).cloned().collect();
            (module, rest) = self.descend(place.clone(), &path);
        }
        module
    }
}

/// Which modules each uses.
type Uses<'m> = BTreeMap<&'m ModulePath, Vec<&'m ModulePath>>;

/// Returns the modules that a module leads to.
fn reached<'m>(start: &'m ModulePath, uses: &Uses<'m>) -> BTreeSet<&'m ModulePath> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![start]);
    while let Some(module) = open.pop() {
        let next = uses.get(module).into_iter().flatten();
        open.extend(next.copied().filter(|it| reached.insert(*it)));
    }
    reached
}

/// Returns the groups of modules in which each leads to all others.
fn circles(known: &BTreeSet<(ModulePath, ModulePath)>) -> Vec<String> {
    let mut uses = Uses::new();
    for (from, to) in known {
        uses.entry(from).or_default().push(to);
    }
    let reached: BTreeMap<_, _> = uses
        .keys()
        .map(|from| (*from, reached(from, &uses)))
        .collect();
    let group = |(from, all): (&&ModulePath, &BTreeSet<&ModulePath>)| -> Vec<String> {
        let leads_back = |to: &&&ModulePath| reached.get(*to).is_some_and(|it| it.contains(*from));
        all.iter()
            .filter(leads_back)
            .map(|to| to.join("::"))
            .collect()
    };
    let groups: BTreeSet<Vec<String>> = reached.iter().map(group).collect();
    groups
        .iter()
        .filter(|group| !group.is_empty())
        .map(|group| group.join(", "))
        .collect()
}

fn joined(module: &[String], name: &str) -> ModulePath {
    module
        .iter()
        .map(String::as_str)
        .chain([name])
        .map(str::to_owned)
        .collect()
}

/// Returns the paths that code imports, and whether it re-exports them.
fn imports(code: &str) -> Vec<(Vec<String>, bool)> {
    let mut imports = Vec::new();
    for (at, _) in code.match_indices("use ") {
        let before = code[..at].rsplit('\n').next().unwrap_or_default().trim();
        if !(before.is_empty() || before.starts_with("pub")) {
            continue;
        }
        let tree = code[at + 4..].split(';').next().unwrap_or_default();
        let tree: String = tree.split_whitespace().collect::<Vec<_>>().join(" ");
        for path in leaves(&tree) {
            let path = path.split(" as ").next().unwrap_or_default();
            let parts = path.split("::").map(|part| part.trim().to_owned());
            imports.push((
                parts.filter(|part| part != "self").collect(),
                !before.is_empty(),
            ));
        }
    }
    imports
}

/// Returns the paths of a tree of imports.
fn leaves(tree: &str) -> Vec<String> {
    let Some((start, list)) = tree.split_once('{') else {
        return vec![tree.trim().to_owned()];
    };
    let list = list.trim_end().strip_suffix('}').unwrap_or(list);
    let (mut depth, mut from, mut items) = (0usize, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                items.push(&list[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    items.push(&list[from..]);
    let items = items
        .into_iter()
        .map(str::trim)
        .filter(|item| !item.is_empty());
    items
        .flat_map(leaves)
        .map(|item| format!("{}{item}", start.trim()))
        .collect()
}

/// Returns the paths that code names outside its imports.
fn inline_paths(code: &str) -> Vec<Vec<String>> {
    let is_import = |statement: &&str| {
        statement
            .split_whitespace()
            .take(2)
            .any(|word| word == "use")
    };
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let statements = code.split(';').filter(|statement| !is_import(statement));
    let words = statements.flat_map(|statement| statement.split(|c: char| !is_part(c)));
    let paths = words.filter(|word| word.contains("::"));
    paths
        .map(|path| {
            path.trim_matches(':')
                .split("::")
                .map(str::to_owned)
                .collect()
        })
        .collect()
}

/// Whether a line contains a name, not merely as a part of another name.
fn names(line: &str, name: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(name).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + name.len()..]);
        !before.ends_with(part) && !after.starts_with(part)
    })
}

/// Returns the top-level modules that code names through the crate root.
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

/// Returns the first words of the items of a list in braces, without nested lists.
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
    starts
        .iter()
        .filter_map(|&at| word(list[at..].trim_start()))
        .collect()
}

fn word(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    let word = &text[..end.unwrap_or(text.len())];
    (!word.is_empty()).then_some(word)
}

/// Returns the sums of times, or with a constant duration, that an operator computes. It goes by the names that
/// the files declare as such.
fn sums_of_times(files: &[Source]) -> Vec<String> {
    let counted = |file: &&Source| !file.path.contains("tests") && file.path != "calendar.rs";
    let files: Vec<(&Source, &str)> = files
        .iter()
        .filter(counted)
        .map(|file| (file, without_tests(&file.text)))
        .collect();
    let times = [
        "Timestamp",
        "&Timestamp",
        "&mut Timestamp",
        "Option<Timestamp>",
    ];
    let others = [
        "i32",
        "i64",
        "u32",
        "u64",
        "usize",
        "f64",
        "i128",
        "Instant",
        "SignedDuration",
    ];
    let all = |types: &[&str]| -> BTreeSet<String> {
        let all = files.iter().flat_map(|(_, code)| declared(code, types));
        all.map(str::to_owned).collect()
    };
    let (fields, other_fields) = (all(&times), all(&others));
    let mut wrong = Vec::new();
    for (file, code) in &files {
        let durations = files
            .iter()
            .filter(|(other, _)| other.module() == file.module());
        let durations = durations.flat_map(|(_, code)| declared(code, &["SignedDuration"]));
        let durations = durations.filter(|name| name.chars().all(|c| !c.is_lowercase()));
        let durations: BTreeSet<&str> = durations.collect();
        let (own, others) = (declared(code, &times), declared(code, &others));
        let is_time = |(name, is_field): (&str, bool)| {
            if is_field {
                fields.contains(name) && !other_fields.contains(name)
            } else {
                own.contains(name) && !others.contains(name)
            }
        };
        for operator in [" + ", " - ", " += ", " -= ", "\n+ ", "\n- "] {
            for (at, _) in code.match_indices(operator) {
                let line = code[..=at].lines().count();
                let whole = code.lines().nth(line - 1).unwrap_or_default();
                let before = last_name(&code[..at]);
                let after = code[at + operator.len()..].trim_start_matches(['*', '&', '(']);
                let end = after.find(|c: char| !(c.is_alphanumeric() || "_.:".contains(c)));
                let after = after[..end.unwrap_or(after.len())].trim_end_matches('.');
                let is_duration = after.starts_with("SignedDuration::")
                    || [before.0, last_name(after).0]
                        .iter()
                        .any(|name| durations.contains(name));
                let is_comment = whole.trim_start().starts_with("//");
                if !is_comment && (is_duration || is_time(before) || is_time(last_name(after))) {
                    wrong.push(format!("{}:{line}: {}", file.path, whole.trim()));
                }
            }
        }
    }
    wrong
}

/// Returns the names of the fields, variables, constants and functions that a text declares to be of some types.
fn declared<'c>(code: &'c str, types: &[&str]) -> BTreeSet<&'c str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut names = BTreeSet::new();
    for type_ in types {
        for mark in [": ", "-> "] {
            for (at, found) in code.match_indices(&format!("{mark}{type_}")) {
                if code[at + found.len()..].starts_with(is_word) {
                    continue;
                }
                let before = &code[..at];
                names.extend(match mark {
                    ": " => before.rsplit(|c| !is_word(c)).next(),
                    _ => before
                        .rsplit_once("fn ")
                        .and_then(|(_, it)| it.split(|c| !is_word(c)).next()),
                });
            }
        }
    }
    names.remove("");
    names
}

/// Returns the last name of an operand, and whether it names a field or method: `pass` of `known.pass(3)`.
fn last_name(code: &str) -> (&str, bool) {
    let mut code = code.trim_end();
    while code.ends_with(')') {
        let mut depth = 0;
        let open = code.char_indices().rev().find(|(_, c)| {
            depth += i32::from(*c == ')') - i32::from(*c == '(');
            depth == 0
        });
        code = &code[..open.map_or(0, |(at, _)| at)];
    }
    let name = code
        .rsplit(|c: char| !(c.is_alphanumeric() || c == '_'))
        .next()
        .unwrap_or_default();
    let before = &code[..code.len() - name.len()];
    if before.ends_with("::") && !before.ends_with("Timestamp::") {
        ("", false)
    } else {
        (name, before.ends_with('.'))
    }
}

/// Returns the code without a module of tests, which is at the end.
fn without_tests(code: &str) -> &str {
    &code[..code.find("#[cfg(test)]\nmod ").unwrap_or(code.len())]
}
