//! The passes that several suites look at, run and explained once for all of them: the recorded ones, moments of
//! recorded runs, and the states of users' threads (`tests/cases`).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{LazyLock, OnceLock};
use std::{env, fs};

use jiff::Timestamp;
use kubectl_hpa::error::Error;
use kubectl_hpa::findings::{self, Finding};
use kubectl_hpa::pass::Pass;
use kubectl_hpa::report::Explanation;
use kubectl_hpa::saved;
use kubectl_hpa::snapshot::input::{Input, Options};
use serde::Deserialize;
use serde_json::Value;

use crate::common::{recorded, trajectories};

/// A pass with its explanation and its findings.
pub(crate) struct ToldPass {
    pub(crate) name: String,
    pub(crate) pass: &'static Pass,
    pub(crate) explanation: Explanation<'static>,
    found: OnceLock<Vec<Finding>>,
    json: OnceLock<Value>,
}

impl ToldPass {
    pub(crate) fn new(name: String, pass: Pass) -> Self {
        // It is used until the tests end.
        let pass: &Pass = Box::leak(Box::new(pass));
        Self {
            name,
            pass,
            explanation: Explanation::new(pass),
            found: OnceLock::new(),
            json: OnceLock::new(),
        }
    }

    /// Returns the findings of which the explanation shows views.
    pub(crate) fn found(&self) -> &[Finding] {
        self.found.get_or_init(|| findings::find(self.pass))
    }

    /// Returns what `-o json` prints.
    pub(crate) fn json(&self) -> &Value {
        let written = || serde_json::to_value(&self.explanation).expect("JSON");
        self.json.get_or_init(written)
    }
}

/// The 507 passes that v1.36.2 was recorded at, with what was recorded.
pub(crate) fn recorded() -> impl Iterator<Item = (&'static recorded::Case, &'static ToldPass)> {
    static TOLD: LazyLock<Vec<ToldPass>> = LazyLock::new(|| {
        let tell = |(case, input): &(recorded::Case, Input)| {
            ToldPass::new(case.name.clone(), Pass::run(input.clone()))
        };
        recorded::inputs().iter().map(tell).collect()
    });
    recorded::inputs().iter().map(|(case, _)| case).zip(&*TOLD)
}

/// The moments of the recorded runs, one in `each`.
pub(crate) fn moments(each: usize) -> Vec<ToldPass> {
    let all = trajectories::NAMES.into_iter().flat_map(|name| {
        let moments = trajectories::moments(name).iter().step_by(each);
        moments.map(move |input| {
            let about = format!("{name} at {}", input.snapshot.now);
            ToldPass::new(about, Pass::run(input.clone()))
        })
    });
    all.collect()
}

/// One in `each` of the recorded passes, these moments, and the states of users.
pub(crate) fn passes_and(each: usize, moments: &[ToldPass]) -> impl Iterator<Item = &ToldPass> {
    let states = cases().values().filter_map(|case| case.told().ok());
    let recorded = recorded().map(|(_, told)| told).step_by(each);
    recorded.chain(moments).chain(states)
}

/// One in three of the recorded passes, some moments, and the states of users; all of them if `ALL_MOMENTS` is set.
pub(crate) fn passes() -> impl Iterator<Item = &'static ToldPass> {
    passes_and(if has_all() { 1 } else { 3 }, some_moments())
}

/// The same moments for all tests. A run has many that differ little: one in 24 is taken, or all of them if
/// `ALL_MOMENTS` is set.
pub(crate) fn some_moments() -> &'static [ToldPass] {
    static MOMENTS: LazyLock<Vec<ToldPass>> =
        LazyLock::new(|| moments(if has_all() { 1 } else { 24 }));
    &MOMENTS
}

fn has_all() -> bool {
    env::var_os("ALL_MOMENTS").is_some()
}

/// A state, and the findings expected in it.
#[derive(Deserialize)]
pub(crate) struct Case {
    /// What users asked.
    pub(crate) thread: String,
    /// The name of the HPA.
    hpa: String,
    /// A List for `-f`.
    pub(crate) state: Value,
    /// The codes that must appear, one of them first; if empty, nothing above `info` may appear.
    pub(crate) findings: Vec<String>,
    #[serde(skip)]
    told: OnceLock<Result<ToldPass, Error>>,
}

impl Case {
    /// Reads a state of its HPA.
    pub(crate) fn read(&self, state: &str) -> Result<Input, Error> {
        let options = Options {
            name: self.hpa.clone(),
            ..Options::default()
        };
        saved::read(state, &options, Timestamp::UNIX_EPOCH)
    }

    /// Returns the pass, or the error instead of it.
    pub(crate) fn told(&self) -> Result<&ToldPass, &Error> {
        let tell = || {
            let input = self.read(&self.state.to_string())?;
            Ok(ToldPass::new(self.thread.clone(), Pass::run(input)))
        };
        self.told.get_or_init(tell).as_ref()
    }
}

/// All cases, by the names of their files.
pub(crate) fn cases() -> &'static BTreeMap<String, Case> {
    static CASES: LazyLock<BTreeMap<String, Case>> = LazyLock::new(|| {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
        let files = fs::read_dir(directory).expect("cases");
        let read = |path: &Path| {
            let name = path
                .file_stem()
                .and_then(|name| name.to_str())
                .expect("a name");
            let text = fs::read_to_string(path).expect("a case");
            let case = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
            (name.to_owned(), case)
        };
        files
            .map(|file| read(&file.expect("a file").path()))
            .collect()
    });
    &CASES
}

/// The pass of a case that has one.
#[track_caller]
pub(crate) fn case(name: &str) -> &'static ToldPass {
    cases()[name]
        .told()
        .unwrap_or_else(|e| panic!("{name}: {e}"))
}
