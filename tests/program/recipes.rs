//! The commands in recipes and examples for other programs: the YAML is YAML, and the command lines parse.
//! Those of recipes also run, with an example for the files of the reader's repository and for the cluster.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use kubectl_hpa::args::{Cli, command_line};
use kubectl_hpa::command::{self, Terminal};
use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn documents() -> Vec<PathBuf> {
    let of = |directory: &str| fs::read_dir(root().join(directory)).expect("a directory");
    let files = ["", "docs", "docs/ci"].into_iter().flat_map(of);
    let files = files.map(|entry| entry.expect("an entry").path());
    files
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect()
}

/// The blocks of a document in a language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let (mut blocks, mut block) = (Vec::new(), None::<String>);
    for line in text.lines() {
        if line == "```" {
            blocks.extend(block.take());
        } else if line.strip_prefix("```") == Some(language) {
            block = Some(String::new());
        } else if let Some(block) = &mut block {
            block.push_str(line);
            block.push('\n');
        }
    }
    blocks
}

/// Splits a command as a shell does, up to the first operator; comments end it.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut letters = command.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                word.extend(letters.by_ref().take_while(|it| *it != letter));
            }
            '\\' if letters.peek() == Some(&'\n') => {
                letters.next();
            }
            '|' | '>' | ';' | '\n' | ')' => break,
            '&' if letters.peek() == Some(&'&') => break,
            '#' if word.is_none() => break,
            ' ' => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    // The 2 of 2>&1.
    if words.last().is_some_and(|word| word == "2") {
        words.pop();
    }
    words
}

/// The commands of a script that run the program, each without its name.
fn commands(script: &str) -> Vec<Vec<String>> {
    let verbs: Vec<String> = command_line()
        .get_subcommands()
        .map(|verb| verb.get_name().to_owned())
        .collect();
    let mut found = Vec::new();
    for name in ["kubectl-hpa ", "kubectl hpa "] {
        for rest in script.split(name).skip(1) {
            let words = words(rest);
            // Others mention the program.
            if words.first().is_some_and(|verb| verbs.contains(verb)) {
                found.push(words);
            }
        }
    }
    found
}

#[track_caller]
fn parses(words: &[String], place: &str) {
    let line = ["kubectl-hpa"]
        .into_iter()
        .chain(words.iter().map(String::as_str));
    if let Err(e) = Cli::try_parse_from(line) {
        assert!(!e.use_stderr(), "{place}: {words:?}: {e}");
    }
}

/// What the reader's files and cluster are replaced with.
const EXAMPLES: [(&str, &str); 4] = [
    ("ci/peak.json", "examples/backtest/state.yaml"),
    ("deploy/hpa.yaml", "examples/backtest/candidate.yaml"),
    ("ci/week.csv", "examples/nginx/load.csv"),
    ("-", "examples/chart/rendered.yaml"),
];

/// Runs a command with the examples.
#[track_caller]
fn runs(words: &[String], place: &str) {
    let mut line = vec!["kubectl-hpa".to_owned()];
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (flag, value) = word.split_once('=').unwrap_or(("", word));
        // The file of an example is named after the last part of a path.
        let example = EXAMPLES
            .iter()
            .find(|(file, _)| value == *file || value.ends_with(&format!("/{file}")));
        match (flag, word.as_str(), example) {
            ("--prometheus", ..) => line.push(format!("--trace={}", EXAMPLES[2].1)),
            ("--since", ..) => {}
            (_, "--report", _) => drop(words.next()),
            ("", _, Some((_, example))) => line.push((*example).to_owned()),
            (flag, _, Some((_, example))) => line.push(format!("{flag}={example}")),
            _ => line.push(word.clone()),
        }
    }
    if !line
        .iter()
        .any(|word| word == "-f" || word.starts_with("--filename="))
    {
        line.push(format!("--filename={}", EXAMPLES[0].1));
    }
    let cli = Cli::try_parse_from(&line).unwrap_or_else(|e| panic!("{place}: {line:?}: {e}"));
    let answer = command::run(&cli, &Terminal::default());
    let answer = answer.unwrap_or_else(|e| panic!("{place}: {line:?}: {e}"));
    assert!(
        answer.errors.is_empty(),
        "{place}: {line:?}: {:?}",
        answer.errors
    );
}

/// Runs the commands in every text and every list of arguments in YAML; returns how many there are.
fn check(value: &Value, place: &str) -> usize {
    match value {
        Value::String(text) => {
            let all = commands(text);
            all.iter().for_each(|words| runs(words, place));
            all.len()
        }
        Value::Array(items) => {
            let words: Vec<String> = items
                .iter()
                .filter_map(|it| it.as_str().map(str::to_owned))
                .collect();
            let verbs = ["explain", "predict", "apply"];
            if words.first().is_some_and(|verb| verbs.contains(&&**verb)) {
                runs(&words, place);
                return 1;
            }
            items.iter().map(|item| check(item, place)).sum()
        }
        Value::Object(fields) => fields.values().map(|field| check(field, place)).sum(),
        _ => 0,
    }
}

/// The parameters of a Tekton task replaced with their defaults, or else the names of the example.
fn with_parameters(block: &str) -> String {
    let value: Value = serde_yaml::from_str(block).unwrap_or_default();
    let parameters = value.pointer("/spec/params").and_then(Value::as_array);
    parameters
        .into_iter()
        .flatten()
        .fold(block.to_owned(), |block, parameter| {
            let name = parameter["name"].as_str().expect("a name");
            let value = parameter["default"].as_str().unwrap_or_else(|| match name {
                "name" => "web",
                "namespace" => "shop",
                other => panic!("{other} has no default"),
            });
            block.replace(&format!("$(params.{name})"), value)
        })
}

#[test]
fn recipes_run() {
    let mut missing = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        let place = document.display().to_string();
        let mut count = 0;
        for block in blocks(&text, "yaml") {
            // A part of a list, with the indentation of its place, is a list as well.
            let value: Value = serde_yaml::from_str(&with_parameters(&block))
                .unwrap_or_else(|e| panic!("{place}: {e}\n{block}"));
            count += check(&value, &place);
        }
        if place.contains("/ci/") && !place.ends_with("README.md") && count == 0 {
            missing.push(place);
        }
    }
    assert!(missing.is_empty(), "no command in {missing:?}");
}

#[test]
fn shell_blocks_use_flags_that_exist() {
    let mut count = 0;
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for script in blocks(&text, "sh") {
            for words in commands(&script) {
                parses(&words, &document.display().to_string());
                count += 1;
            }
        }
    }
    assert!(count >= 15, "{count} commands");
}

/// Its commands are tables, and placeholders are parsed as names.
#[test]
fn agents_are_told_of_commands_that_exist() {
    let text = fs::read_to_string(root().join("docs/agents.md")).unwrap();
    assert!(text.lines().count() <= 60, "it fits a screen");
    let code = text.split('`').skip(1).step_by(2);
    let all: Vec<Vec<String>> = code.flat_map(commands).collect();
    let all = all.iter().map(|words| {
        words
            .iter()
            .map(|word| word.replace("replicas=N", "replicas=3"))
            .collect::<Vec<_>>()
    });
    let all: Vec<Vec<String>> = all.filter(|words| words[0] != "help").collect();
    all.iter().for_each(|words| parses(words, "docs/agents.md"));
    for verb in ["explain", "predict", "apply"] {
        assert!(all.iter().any(|words| words[0] == verb), "{verb}");
    }
}

/// k9s replaces the names by values before the shell sees them as its arguments.
#[test]
fn k9s_runs_commands_that_exist() {
    let text = fs::read_to_string(root().join("examples/k9s/plugins.yaml")).unwrap();
    let file: Value = serde_yaml::from_str(&text).unwrap();
    let plugins = file["plugins"].as_object().unwrap();
    let mut keys = Vec::new();
    for (name, plugin) in plugins {
        keys.push(plugin["shortCut"].as_str().unwrap());
        assert_eq!(plugin["scopes"][0], "hpa", "{name}");
        let args: Vec<&str> = plugin["args"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it.as_str().unwrap())
            .collect();
        let [_, script, own, values @ ..] = &args[..] else {
            panic!("{args:?}")
        };
        assert_eq!(own, name);
        let mut script = (*script).to_owned();
        for (place, value) in values.iter().enumerate() {
            let value = match *value {
                "$NAME" => "web",
                "$NAMESPACE" => "shop",
                "$CONTEXT" => "kind",
                "$KUBECONFIG" => "",
                "$INPUT_FLAGS" => plugin["inputs"][0]["default"].as_str().unwrap(),
                other => panic!("{name}: {other}"),
            };
            assert!(
                script.contains(&format!("${}", place + 1)),
                "{name} ignores {value}"
            );
            script = script.replace(&format!("${}", place + 1), value);
        }
        let commands = commands(&script);
        assert_eq!(commands.len(), 1, "{script}");
        assert_eq!(format!("hpa-{}", commands[0][0]), *name);
        parses(&commands[0], name);
        // Only what writes is disabled in k9s's read-only mode.
        assert_eq!(
            plugin["dangerous"] == true,
            commands[0][0] == "apply",
            "{name}"
        );
    }
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 3);
}
