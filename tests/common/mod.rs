//! The way of `explain -f` in-process, from the text of an input to the published object, without
//! files, clock or process. What the suites share; not every one of them needs all of it.
#![allow(dead_code)]

pub(crate) mod build;
pub(crate) mod recorded;
pub(crate) mod scenario;
pub(crate) mod schema;
pub(crate) mod trajectories;
pub(crate) mod written;

use jiff::Timestamp;
use kubectl_hpa::engine::decision::Decision;
use kubectl_hpa::error::Error;
use kubectl_hpa::pass::Pass;
use kubectl_hpa::report::Explanation;
use kubectl_hpa::saved;
use kubectl_hpa::snapshot::input::{Input, Options};
use serde_json::Value;

/// What the pass over the HPA `web` in `default` needs, from one text.
pub(crate) fn read(text: &str) -> Result<Input, Error> {
    let options = Options {
        name: "web".to_owned(),
        namespace: Some("default".to_owned()),
        ..Options::default()
    };
    saved::read(text, &options, Timestamp::UNIX_EPOCH)
}

/// One pass, and the object that `-o json` prints of it.
pub(crate) fn explain(input: &Input) -> (Decision, Value) {
    explain_as(input, |explanation| {
        serde_json::to_value(explanation).expect("an explanation is JSON")
    })
}

/// One pass, and what is made of its explanation.
pub(crate) fn explain_as<T>(
    input: &Input,
    form: impl FnOnce(&Explanation<'_>) -> T,
) -> (Decision, T) {
    let pass = Pass::run(input.clone());
    let formed = form(&Explanation::new(&pass));
    (pass.decision, formed)
}
