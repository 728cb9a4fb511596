//! The tables of `docs/fidelity.md`: how many recorded answers there are, by version and kind of case, how many
//! differ, and what long runs tried. Recorded answers are counted and compared, the figures of runs come from
//! `tests/fidelity.yaml`. `UPDATE_FIDELITY=1 cargo test --test answers fidelity` regenerates them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::BufRead;
use std::path::Path;
use std::{env, fs};

use flate2::read::GzDecoder;
use serde::Deserialize;

use super::{admission, vectors};
use crate::common::trajectories;

/// The kinds of cases, each with the names that cases of it have.
const KINDS: [(&str, &[&str]); 10] = [
    ("Resource", &["resource", "overhead"]),
    ("ContainerResource", &["container"]),
    ("Pods", &["pods"]),
    ("Object", &["object"]),
    ("External", &["external"]),
    ("several metrics", &["mixed"]),
    ("`behavior`", &["behavior"]),
    ("errors", &["errors"]),
    ("zero replicas", &["zero", "zero8"]),
    ("extreme values", &["extreme", "int32", "overflow"]),
];

/// The version of the cases whose names have none.
const NEWEST: &str = "v1.36.2";

/// The figures of runs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Runs {
    properties: Vec<PropertyRun>,
    fuzz: Vec<FuzzRun>,
    mutants: Vec<Mutants>,
    equivalent: Vec<Equivalent>,
}

/// Situations in which properties held.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PropertyRun {
    command: String,
    holds: String,
    tried: u64,
    commit: String,
}

/// Inputs that fuzz targets tried.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FuzzRun {
    targets: Vec<String>,
    holds: String,
    inputs: u64,
}

/// What became of the mutants of some code.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutants {
    code: String,
    unbuildable: u64,
    /// Some test fails.
    failed: u64,
    /// Some test never ends.
    endless: u64,
}

/// Mutants that change no answer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Equivalent {
    reason: String,
    /// Each with the path of its file first.
    mutants: Vec<String>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).expect("a file of the repository")
}

/// The lines of a file of recorded answers.
fn lines(name: &str) -> usize {
    let text = read(name);
    text.lines().filter(|line| !line.is_empty()).count()
}

/// The lines of a compressed file.
fn packed_lines(name: &str) -> usize {
    let file = fs::File::open(root().join(name)).expect("a file of the repository");
    std::io::BufReader::new(GzDecoder::new(file))
        .lines()
        .count()
}

/// A number with separators.
fn number(count: impl TryInto<u64>) -> String {
    let digits = count.try_into().unwrap_or_default().to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut text = format!(
        "| {} |\n|{}\n",
        head.join(" | "),
        " --- |".repeat(head.len())
    );
    for row in rows {
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
    text
}

/// The recorded passes of a version.
#[derive(Default)]
struct Passes {
    /// How many there are of each kind.
    kinds: BTreeMap<&'static str, usize>,
    /// How many are answered differently.
    differ: usize,
}

impl Passes {
    fn row(&self, version: &str) -> Vec<String> {
        let of = |(kind, _): &(&str, _)| {
            self.kinds
                .get(kind)
                .map_or("-".to_owned(), |it| number(*it))
        };
        let all = [
            number(self.kinds.values().sum::<usize>()),
            number(self.differ),
        ];
        [version.to_owned()]
            .into_iter()
            .chain(KINDS.iter().map(of))
            .chain(all)
            .collect()
    }
}

/// The recorded passes, by version and kind.
fn passes() -> String {
    let mut versions: BTreeMap<&str, Passes> = BTreeMap::new();
    let mut total = Passes::default();
    for case in vectors::newest().iter().chain(vectors::other_versions()) {
        let parts: Vec<&str> = case.name.split('-').collect();
        let (version, name) = match parts[..] {
            [name, _] => (NEWEST, name),
            [version, name, _] => (version, name),
            _ => panic!("{}", case.name),
        };
        let kind = KINDS.iter().find(|(_, names)| names.contains(&name));
        let (kind, _) = kind.unwrap_or_else(|| panic!("{name} is of no kind"));
        for passes in [versions.entry(version).or_default(), &mut total] {
            *passes.kinds.entry(*kind).or_default() += 1;
            passes.differ += usize::from(case.difference.is_some());
        }
    }
    let head = ["controller"]
        .into_iter()
        .chain(KINDS.iter().map(|(kind, _)| *kind));
    let head: Vec<&str> = head.chain(["all", "differ"]).collect();
    // Their minor versions have two digits, so sorting by name sorts by version.
    let rows = versions.iter().map(|(version, passes)| passes.row(version));
    let table = table(&head, rows.chain([total.row("all")]));
    let is_recorded = |minor: &String| {
        versions
            .keys()
            .any(|it| it.starts_with(&format!("{minor}.")))
    };
    let minors = (23..=38).map(|minor| format!("v1.{minor}"));
    let without: Vec<String> = minors.filter(|minor| !is_recorded(minor)).collect();
    format!(
        "{table}\nNo answers of {} were recorded.\n",
        without.join(", ")
    )
}

/// Recorded answers other than passes.
fn others() -> String {
    let admission = admission::cases();
    let of = |status: u16| {
        number(
            admission
                .iter()
                .filter(|case| case.expected.status == status)
                .count(),
        )
    };
    let differ = number(
        admission
            .iter()
            .filter(|case| admission::differs(case).is_some())
            .count(),
    );
    let logged: usize = trajectories::NAMES
        .iter()
        .map(|name| trajectories::passes(name).len())
        .sum();
    let seen: usize = trajectories::NAMES
        .iter()
        .map(|name| {
            trajectories::lines(&format!("{name}.jsonl.gz"))
                .lines()
                .count()
        })
        .sum();
    let row = |columns: [&str; 4]| columns.map(str::to_owned).to_vec();
    table(
        &["recorded", "from", "answers", "compared by"],
        [
            row([
                "HPA manifests, with defaults or causes",
                "a v1.36.2 API server",
                &format!(
                    "{} accepted, {} rejected, {} not decoded; {differ} differ",
                    of(201),
                    of(422),
                    of(400)
                ),
                "`--test answers admission`",
            ]),
            row([
                "four workloads, scaled for a quarter of an hour",
                "a v1.36.2 controller and API server; the nodes were simulated",
                &format!(
                    "{} passes, and what a user could see at {} moments",
                    number(logged),
                    number(seen)
                ),
                "`--test answers trajectories`",
            ]),
            row([
                "requests and responses, failures included",
                "a v1.36.2 API server; what is behind its metrics APIs is a stand-in",
                &number(lines("tests/wire/kubernetes-1.36.2.jsonl")),
                "`--test live`",
            ]),
            row([
                "queries of a load",
                "Prometheus 2.42, with a generated history",
                &number(lines("tests/wire/prometheus-2.42.jsonl")),
                "`--test live prometheus`",
            ]),
            row([
                "queries of ten past passes",
                "Prometheus 2.42, with the history of the four workloads",
                &number(packed_lines("tests/wire/prometheus-2.42-past.jsonl.gz")),
                "`--test live past`",
            ]),
            row([
                "HPAs, metric names and targets, and refusals of ScaledObjects",
                "KEDA 2.20.2: its unit tests, and its own code without connections",
                &["hpas", "names", "refused"]
                    .map(|name| number(lines(&format!("src/keda/tests/{name}.jsonl"))))
                    .join(", "),
                "the unit tests of `src/keda`",
            ]),
            row([
                "states rebuilt from threads of users, and healthy ones",
                "by hand: which findings explain them is our judgment",
                &number(
                    fs::read_dir(root().join("tests/cases"))
                        .expect("cases")
                        .count(),
                ),
                "`--test answers findings`",
            ]),
        ],
    )
}

/// The number of inputs that the short form of each fuzz target tries.
fn short_runs() -> BTreeMap<String, u64> {
    let text = read("tests/fuzz/main.rs");
    let (_, list) = text
        .split_once("\ntargets! {\n")
        .expect("the list of targets");
    let list = list.split('}').next().expect("its end");
    let target = |line: &str| {
        let (name, count) = line.trim().trim_end_matches(',').split_once(": ")?;
        Some((name.to_owned(), count.parse().ok()?))
    };
    list.lines().filter_map(target).collect()
}

fn fuzz(runs: &[FuzzRun]) -> String {
    let short = short_runs();
    let mut known: Vec<&String> = runs.iter().flat_map(|run| &run.targets).collect();
    known.sort_unstable();
    assert_eq!(
        known,
        short.keys().collect::<Vec<_>>(),
        "tests/fidelity.yaml: the targets"
    );
    let rows = runs.iter().map(|run| {
        let names: Vec<String> = run.targets.iter().map(|name| format!("`{name}`")).collect();
        let short = run.targets.iter().map(|name| short[name]).sum::<u64>();
        vec![
            names.join(", "),
            run.holds.clone(),
            number(short),
            number(run.inputs),
        ]
    });
    let table = table(
        &[
            "target",
            "what must hold for any input",
            "in `cargo test`",
            "in long runs",
        ],
        rows,
    );
    let all = runs.iter().map(|run| run.inputs).sum::<u64>();
    format!("{table}\nIn all, long runs tried {} inputs.\n", number(all))
}

fn mutants(all: &[Mutants], equivalent: &[Equivalent]) -> String {
    let listed = || equivalent.iter().flat_map(|it| &it.mutants);
    let of = |it: &Mutants| {
        listed()
            .filter(|mutant| mutant.starts_with(&it.code))
            .count() as u64
    };
    assert_eq!(
        all.iter().map(of).sum::<u64>(),
        listed().count() as u64,
        "each is of one code"
    );
    let count = |it: &Mutants| it.unbuildable + it.failed + it.endless + of(it);
    let row = |name: String, counts: [u64; 5]| {
        [name]
            .into_iter()
            .chain(counts.map(number))
            .collect::<Vec<_>>()
    };
    let counts = |it: &Mutants| [count(it), it.unbuildable, it.failed, it.endless, of(it)];
    let sum = all
        .iter()
        .map(counts)
        .reduce(|one, other| std::array::from_fn(|i| one[i] + other[i]));
    let rows = all
        .iter()
        .map(|it| row(format!("`{}`", it.code), counts(it)));
    let rows = rows.chain([row("all".to_owned(), sum.expect("some code"))]);
    let head = [
        "code",
        "mutants",
        "do not compile",
        "a test fails",
        "a test never ends",
        "equivalent",
    ];
    table(&head, rows)
}

fn equivalents(all: &[Equivalent]) -> String {
    let row = |it: &Equivalent| vec![it.reason.clone(), number(it.mutants.len())];
    table(&["reason", "mutants"], all.iter().map(row))
}

fn properties(runs: &[PropertyRun]) -> String {
    let rows = runs.iter().map(|run| {
        let PropertyRun {
            command,
            holds,
            tried,
            commit,
        } = run;
        let command = format!("`cargo test --test {command}`");
        vec![
            command,
            holds.clone(),
            number(*tried),
            format!("`{commit}`"),
        ]
    });
    table(&["run", "what held", "tried", "at commit"], rows)
}

#[test]
fn the_report_has_the_figures() {
    let runs: Runs = serde_yaml::from_str(&read("tests/fidelity.yaml")).expect("figures of runs");
    let path = root().join("docs/fidelity.md");
    let page = read("docs/fidelity.md");
    let mut wanted = page.clone();
    for (name, text) in [
        ("passes", passes()),
        ("others", others()),
        ("properties", properties(&runs.properties)),
        ("fuzz", fuzz(&runs.fuzz)),
        ("mutants", mutants(&runs.mutants, &runs.equivalent)),
        ("equivalent", equivalents(&runs.equivalent)),
    ] {
        let (start, end) = (format!("<!-- {name} -->\n"), "<!-- end -->\n");
        let (before, rest) = wanted
            .split_once(&*start)
            .unwrap_or_else(|| panic!("no {start}"));
        let (_, after) = rest.split_once(end).expect("the end of a table");
        wanted = format!("{before}{start}{text}{end}{after}");
    }
    if env::var_os("UPDATE_FIDELITY").is_some() {
        fs::write(&path, &wanted).expect("it is written");
    }
    let page = fs::read_to_string(&path).expect("the page");
    assert!(
        page == wanted,
        "docs/fidelity.md is out of date: UPDATE_FIDELITY=1 cargo test --test answers fidelity"
    );
    // The README repeats some of the figures.
    let readme = read("README.md");
    for count in [
        vectors::newest().len(),
        vectors::other_versions().len(),
        admission::cases().len(),
    ] {
        assert!(
            readme.contains(&number(count)),
            "README.md does not say {count}"
        );
    }
}
