//! Findings: states rebuilt from users' threads, with the codes that explain them (`tests/cases`), and the
//! page that documents the codes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use jiff::Timestamp;
use kubectl_hpa::engine::decision::{Block, MetricResult};
use kubectl_hpa::findings::{self, Code, Severity};
use kubectl_hpa::pass::Pass;
use kubectl_hpa::render::layout::Layout;
use kubectl_hpa::render::page::page;
use kubectl_hpa::report::Explanation;
use kubectl_hpa::report::findings::FindingView;
use kubectl_hpa::report::findings::catalogue::entry;
use kubectl_hpa::report::page::{Page, Symbols};
use kubectl_hpa::saved;
use kubectl_hpa::snapshot::input::{Input, Options};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::common::{self, build, recorded, trajectories};

/// A state, and the findings expected in it.
#[derive(Deserialize)]
struct Case {
    /// What users asked.
    thread: String,
    /// The name of the HPA.
    hpa: String,
    /// A List for `-f`.
    state: Value,
    /// The codes that must appear, one of them first; if empty, nothing above `info` may appear.
    findings: Vec<String>,
}

/// All cases, by file.
fn cases() -> BTreeMap<PathBuf, Case> {
    let files = fs::read_dir(root().join("tests/cases")).expect("cases");
    let files = files.map(|file| file.expect("a file").path());
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a case");
        let case =
            serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        (path, case)
    };
    files.map(read).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

impl Case {
    /// Returns the pass, or the error instead of it.
    fn pass(&self) -> Result<Pass, String> {
        let options = Options { name: self.hpa.clone(), ..Options::default() };
        let input = saved::read(&self.state.to_string(), &options, Timestamp::UNIX_EPOCH);
        let with_hint =
            |e: kubectl_hpa::error::Error| format!("{} {}", e.message, e.hint.unwrap_or_default());
        input.map(Pass::run).map_err(with_hint)
    }

    /// Returns what is wrong with the findings.
    fn fault(&self) -> Option<String> {
        let found: Vec<String> = match self.pass() {
            // An HPA that does not exist gives an error, which names the code.
            Err(message) => {
                self.findings.iter().filter(|code| message.contains(&**code)).cloned().collect()
            }
            Ok(pass) => {
                let counts = |finding: &&FindingView| {
                    !self.findings.is_empty() || finding.severity != Severity::Info
                };
                let findings = Explanation::new(&pass).findings;
                let codes = findings.iter().filter(counts).map(|it| it.code.as_str().to_owned());
                codes.collect()
            }
        };
        let has_all = self.findings.iter().all(|code| found.contains(code));
        let first = found.first().is_none_or(|first| self.findings.contains(first));
        (!has_all || !first).then(|| format!("found {found:?}, expected {:?}", self.findings))
    }
}

#[test]
fn each_thread_is_answered() {
    let faults: Vec<String> = cases()
        .iter()
        .filter_map(|(path, case)| {
            let fault = case.fault()?;
            Some(format!("{} ({}): {fault}", path.display(), case.thread))
        })
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What a saved state says is found, evidence included, is found when it is read again.
#[test]
fn saving_a_state_changes_no_finding() {
    for (path, case) in &cases() {
        let Ok(pass) = case.pass() else { continue };
        let text = saved::save::to_json(&[&pass.input], &[]).expect("a saved state");
        let options = Options { name: case.hpa.clone(), ..Options::default() };
        let again = saved::read(&text, &options, Timestamp::UNIX_EPOCH);
        let again = again.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_eq!(found(&again), found(&pass.input), "{}", path.display());
    }
}

#[test]
fn half_of_the_screens_fit_24_lines() {
    let layout = Layout { width: Some(80), ..Layout::default() };
    let mut lines: Vec<usize> = cases()
        .values()
        .filter_map(|case| case.pass().ok())
        .map(|pass| {
            let page_of = Page::new(&Explanation::new(&pass), false, Symbols::UNICODE);
            page(&page_of, &layout).lines().count()
        })
        .collect();
    lines.sort_unstable();
    let median = lines[lines.len() / 2];
    assert!(median <= 24, "{median} of {lines:?}");
}

/// The findings of an input, as `-o json` prints them.
fn found(input: &Input) -> Value {
    let (_, explanation) = common::explain(input);
    explanation["findings"].clone()
}

#[test]
fn a_pass_without_an_answer_has_a_finding_that_says_so() {
    let mut silent = Vec::new();
    let mut blocked = 0;
    for (case, input) in recorded::inputs() {
        let pass = Pass::run(input.clone());
        let worst = findings::find(&pass).iter().map(|finding| finding.severity).min();
        // There is no code for a controller that may not read the scale, or a failing server.
        let has_cause = match pass.decision.block() {
            Some(Block::NoScale) => {
                pass.decision.outcome.error.as_ref().is_some_and(|e| e.contains("not found"))
            }
            other => other.is_some(),
        };
        let starting = "did not receive metrics for targeted pods";
        // Starting pods are ordinary, as long as the other metrics decide.
        let failed = pass.decision.metrics().any(|it| match &it.result {
            MetricResult::Error(e) => !e.message.contains(starting),
            MetricResult::Proposal(_) | MetricResult::Unread(_) => false,
        });
        blocked += usize::from(has_cause);
        if (has_cause || failed) && worst.is_none_or(|worst| worst > Severity::Warning) {
            silent.push(format!("{}: {:?}, {worst:?}", case.name, pass.decision.block()));
        }
    }
    assert!(blocked > 50, "{blocked} passes are blocked");
    assert!(silent.is_empty(), "{} without a finding:\n{}", silent.len(), silent.join("\n"));
}

/// Returns all integers in a text, except those that are part of a name.
fn integers(text: &str) -> Vec<i64> {
    let words = text.split(|c: char| c.is_whitespace() || ",;()".contains(c));
    words.filter_map(|word| word.trim_end_matches('.').parse().ok()).collect()
}

/// All integers of a document.
fn integers_of(value: &Value, all: &mut BTreeSet<i64>) {
    match value {
        Value::Number(number) => all.extend(number.as_i64()),
        Value::String(text) => all.extend(integers(text)),
        Value::Array(items) => {
            all.insert(items.len() as i64);
            items.iter().for_each(|item| integers_of(item, all));
        }
        Value::Object(fields) => fields.values().for_each(|field| integers_of(field, all)),
        Value::Null | Value::Bool(_) => {}
    }
}

#[test]
fn the_replicas_in_a_summary_are_those_of_the_trace() {
    const OF_REPLICAS: [&str; 8] = [
        "at-max",
        "at-min",
        "above-max",
        "below-min",
        "rate-limited",
        "direction-disabled",
        "held-by-window",
        "blocked-by-failed-metric",
    ];
    let mut seen = BTreeMap::new();
    for (case, input) in recorded::inputs() {
        let (_, explanation) = common::explain(input);
        let mut known = BTreeSet::new();
        integers_of(&explanation["trace"], &mut known);
        integers_of(&explanation["hpa"]["spec"], &mut known);
        for finding in explanation["findings"].as_array().expect("a list") {
            let (code, summary) = (&finding["code"], finding["summary"].as_str().expect("a text"));
            let Some(code) = OF_REPLICAS.into_iter().find(|known| *code == **known) else {
                continue;
            };
            *seen.entry(code).or_insert(0) += 1;
            let unknown: Vec<i64> =
                integers(summary).into_iter().filter(|number| !known.contains(number)).collect();
            assert!(unknown.is_empty(), "{}: {summary} has {unknown:?}", case.name);
        }
    }
    assert!(seen.len() >= 6, "{seen:?}");
}

#[test]
fn what_does_not_belong_to_the_target_changes_no_finding() {
    for (path, case) in cases() {
        let options = Options { name: case.hpa.clone(), ..Options::default() };
        let read = |state: &Value| saved::read(&state.to_string(), &options, Timestamp::UNIX_EPOCH);
        let Ok(before) = read(&case.state) else { continue };
        let namespace = &before.snapshot.hpa.namespace;
        let mut state = case.state.clone();
        let items = state["items"].as_array_mut().expect("items");
        let pod = |namespace: &str, labels: Value| {
            let pod = build::with(build::pod("stranger"), &json!({"metadata": {"labels": null}}));
            let metadata = json!({"namespace": namespace, "labels": labels});
            build::with(pod, &json!({"metadata": metadata, "status": {"phase": "Pending"}}))
        };
        let labels = items.iter().find(|item| item["kind"] == "Pod");
        let labels = labels.map_or(Value::Null, |pod| pod["metadata"]["labels"].clone());
        items.push(pod(namespace, json!({"no-one": "selects-it"})));
        items.push(pod("elsewhere", labels));
        let after = read(&state).unwrap_or_else(|e| panic!("{}: {e:?}", path.display()));
        assert_eq!(found(&before), found(&after), "{}", path.display());
    }
}

/// Returns the page that lists the codes, with an example of each from a case.
fn documentation() -> String {
    let mut text = "\
# Findings

`kubectl hpa explain` and `predict` say first what is wrong, and which ordinary rule of the controller explains
the answer. A report shows the three most important findings; `-o wide` shows all of them with their evidence and
with commands to paste, and `-o json` has them in `findings`.

A finding rests on evidence: what could not be read leads to no finding, so the absence of one says nothing.
What the answer would be without the trouble is computed by running the controller's algorithm on a changed
state. `error` means that nothing can be computed or written, `warning` that somebody should act, and `info`
that an ordinary rule is at work. What explains the present decision comes first, then the more severe, then
what costs more replicas.

`--fail-on CODE` makes `explain`, its list, and `predict` exit with code 3 if there is such a finding; it also
takes a severity, for all findings at least as severe. `--ignore CODE` leaves a finding out.

This page is generated from the program's own texts.
"
    .to_owned();
    let mut examples = BTreeMap::new();
    for case in cases().values() {
        let Ok(pass) = case.pass() else { continue };
        let explanation = Explanation::new(&pass);
        for finding in &explanation.findings {
            examples.entry(finding.code).or_insert_with(|| example(&explanation, finding.code));
        }
    }
    for &code in Code::ALL {
        let entry = entry(code);
        let _ = write!(text, "\n## `{}`\n\n{}\n\n{}\n", code.as_str(), entry.when, entry.advice);
        if let Some(example) = examples.get(&code) {
            let _ = write!(text, "\n```text\n{example}```\n");
        }
    }
    text
}

/// Returns a report's text about one finding.
fn example(explanation: &Explanation<'_>, code: Code) -> String {
    let layout = Layout { width: Some(100), ..Layout::default() };
    let mut all = Page::new(explanation, true, Symbols::UNICODE);
    all.sections.retain(|section| section.title == "FINDINGS");
    let text = page(&all, &layout);
    let start = format!("  {}: ", code.as_str());
    let mut lines = text.lines().skip_while(|line| !line.starts_with(&start));
    let mut example = format!("{}\n", lines.next().unwrap_or_default().trim_start());
    for line in lines.take_while(|line| line.starts_with("    ")) {
        example += &format!("{}\n", &line[2..]);
    }
    example
}

#[test]
fn the_documentation_is_current() {
    let path = root().join("docs/findings.md");
    let text = documentation();
    if env::var_os("UPDATE_FINDINGS").is_some() {
        fs::write(&path, &text).expect("docs can be written");
    }
    let there = fs::read_to_string(&path).expect("docs/findings.md");
    assert!(there == text, "docs/findings.md is stale: run with UPDATE_FINDINGS=1");
}

#[test]
fn a_controller_at_work_is_not_accused() {
    let mut moments = 0;
    for name in trajectories::NAMES {
        for input in trajectories::moments(name) {
            moments += 1;
            for finding in findings::find(&Pass::run(input.clone())) {
                // The load of these runs exceeds the maximum, and nothing else is wrong.
                let is_true = finding.code() == Code::AtMax || finding.severity == Severity::Info;
                assert!(is_true, "{name} at {}: {finding:?}", input.snapshot.now);
            }
        }
    }
    assert!(moments > 500, "{moments} moments");
}
