//! What the documentation must mention to stay up to date: fields of the output, expectations,
//! exit codes, dependencies; and that its links lead somewhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use kubectl_hpa::args::{ExpectShorthand, command_line};
use kubectl_hpa::whatif::expect::{metric_fields, pass_fields, run_fields};
use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[track_caller]
fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).expect("a document")
}

/// Checks that a document has each of these in backticks.
#[track_caller]
fn names<'n>(document: &str, wanted: impl IntoIterator<Item = &'n str>) {
    let text = read(document);
    let code: BTreeSet<&str> = text.split('`').skip(1).step_by(2).collect();
    let missing: Vec<&str> = wanted
        .into_iter()
        .filter(|name| !code.contains(name))
        .collect();
    assert!(missing.is_empty(), "{document} does not name {missing:?}");
}

#[test]
fn the_output_is_described() {
    for schema in ["explanation", "prediction", "apply-result"] {
        let schema: Value = serde_json::from_str(&read(&format!("schema/{schema}.json"))).unwrap();
        let fields = schema["properties"].as_object().unwrap().keys();
        names("docs/output.md", fields.map(String::as_str));
    }
    let schema: Value = serde_json::from_str(&read("schema/explanation.json")).unwrap();
    let steps = schema["$defs"]["step"]["oneOf"].as_array().unwrap().iter();
    let steps = steps.map(|step| step["$ref"].as_str().unwrap().rsplit('/').next().unwrap());
    names("docs/output.md", steps);
}

#[test]
fn expectations_are_described() {
    let fields = pass_fields()
        .chain(metric_fields("NAME"))
        .chain(run_fields());
    // The replay's fields are listed once for all.
    let fields = fields
        .map(|field| field.to_string())
        .filter(|it| !it.starts_with("replay."));
    let fields: Vec<String> = fields.collect();
    names("docs/expectations.md", fields.iter().map(String::as_str));
    let values: Vec<_> = ExpectShorthand::value_variants()
        .iter()
        .map(|it| it.to_possible_value().unwrap())
        .collect();
    names(
        "docs/expectations.md",
        values.iter().map(clap::builder::PossibleValue::get_name),
    );
}

#[test]
fn exit_codes_are_described() {
    let command = command_line();
    let help = command.get_after_help().unwrap().to_string();
    let codes = |text: &str| -> Vec<u8> {
        text.split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect()
    };
    let text = read("docs/exit-codes.md");
    let rows = text
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    let mut rows: Vec<u8> = rows.flat_map(|row| codes(&row.replace(',', " "))).collect();
    rows.dedup();
    assert_eq!(rows, codes(&help.replace(',', " ")));
}

#[test]
fn each_dependency_has_a_reason() {
    let manifest = read("Cargo.toml");
    let (mut inside, mut crates) = (false, Vec::new());
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line == "[dependencies]" || line == "[dev-dependencies]";
        } else if let Some((name, _)) = line.split_once(" = ").filter(|_| inside) {
            crates.push(name.trim());
        }
    }
    assert!(crates.len() > 20, "{crates:?}");
    names("CONTRIBUTING.md", crates);
}

#[test]
fn long_tests_are_described() {
    let text = read("CONTRIBUTING.md");
    let is_long = |file: &Path| {
        let source = fs::read_to_string(file).unwrap_or_default();
        source
            .lines()
            .any(|line| line.trim_start().starts_with("#[ignore"))
    };
    let files = |directory: &Path| {
        fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().path())
    };
    let mut long = 0;
    for program in
        files(&root().join("tests")).filter(|directory| directory.join("main.rs").exists())
    {
        if files(&program).any(|file| is_long(&file)) {
            let name = program.file_name().unwrap().to_str().unwrap();
            let command = format!("cargo test --release --test {name} -- --ignored");
            assert!(
                text.contains(&command),
                "CONTRIBUTING.md does not have {command}"
            );
            long += 1;
        }
    }
    assert_eq!(long, 5, "all of them have long tests");
}

#[test]
fn promises_of_security_are_tested() {
    let text = read("SECURITY.md");
    let code = text.split('`').skip(1).step_by(2);
    let is_name = |text: &&str| {
        text.bytes()
            .all(|b| b.is_ascii_lowercase() || b"_:".contains(&b))
    };
    let tests: Vec<&str> = code
        .filter(is_name)
        .filter(|name| name.matches('_').count() > 1)
        .collect();
    assert!(tests.len() > 15, "{tests:?}");
    let mut sources = Vec::new();
    for directory in ["src", "tests"] {
        collect(&root().join(directory), &mut sources);
    }
    for test in tests {
        let (suite, name) = test.rsplit_once("::").unwrap_or(("", test));
        let is_there = |(path, text): &(PathBuf, String)| {
            let fits = suite.is_empty()
                || path.ends_with(format!("{suite}.rs"))
                || path.ends_with(format!("{suite}/mod.rs"));
            fits && text.contains(&format!("#[test]\nfn {name}()"))
                || suite.is_empty() && text.contains(&format!("#[test]\n    fn {name}()"))
        };
        assert!(
            sources.iter().any(is_there),
            "SECURITY.md: there is no test {test}"
        );
    }
}

fn collect(directory: &Path, sources: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, sources);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).expect("a source");
            sources.push((path, text));
        }
    }
}

#[test]
fn pipelines_use_this_version() {
    const TAG: &str = concat!("v", env!("CARGO_PKG_VERSION"));
    const NAME: &str = "kubectl-hpa/kubectl-hpa";
    let mut documents = markdown(&root().join("docs/ci"));
    documents.extend([root().join("README.md"), root().join("docs/install.md")]);
    let mut used = 0;
    for document in documents {
        let text = fs::read_to_string(&document).unwrap();
        for rest in text.split(NAME).skip(1) {
            let Some(version) = rest.strip_prefix(['@', ':']) else {
                continue;
            };
            let version = version
                .split(|c: char| c.is_whitespace() || c == '`')
                .next();
            assert_eq!(version, Some(TAG), "{}", document.display());
            used += 1;
        }
    }
    assert!(used >= 5, "{used}");
}

#[test]
fn links_lead_somewhere() {
    let mut documents = vec![
        root().to_owned(),
        root().join("docs"),
        root().join("docs/ci"),
    ];
    documents = documents
        .into_iter()
        .flat_map(|directory| markdown(&directory))
        .collect();
    assert!(documents.len() > 8, "{documents:?}");
    for document in documents {
        let text = fs::read_to_string(&document).unwrap();
        for target in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            if target.contains("://") {
                continue;
            }
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let path = match file {
                "" => document.clone(),
                file => document.parent().unwrap().join(file),
            };
            assert!(path.exists(), "{} links to {target}", document.display());
            if !heading.is_empty() {
                let text = fs::read_to_string(&path).unwrap();
                let headings = text.lines().filter_map(|line| line.strip_prefix('#'));
                let mut slugs = headings.map(|line| {
                    line.trim_start_matches('#')
                        .trim()
                        .replace(' ', "-")
                        .to_lowercase()
                });
                assert!(
                    slugs.any(|it| it == heading),
                    "{} links to {target}",
                    document.display()
                );
            }
        }
    }
}

fn markdown(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path());
    entries
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect()
}
