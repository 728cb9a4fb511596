//! `predict`: what the controller would decide under different conditions. Each stage is a file: the flags are
//! read and checked, the HPA is observed, the assumptions are played, the result is judged, and the answer is
//! shown.

mod judge;
mod observe;
mod play;
mod read;
mod show;
mod vary;

use std::borrow::Cow;

use self::judge::judge;
use self::observe::observe;
use self::play::play;
use self::read::read;
use self::show::show;
use super::fail_on::FindingsWatch;
use super::load::Query;
use super::{Answer, Terminal};
use crate::args::{NamedRequest, Predict};
use crate::backtest::{Backtest, NamedSpec, Search};
use crate::error::Error;
use crate::findings::FindingView;
use crate::pass::Pass;
use crate::report::Explanation;
use crate::report::expected::Judged;
use crate::snapshot::input::{Input, Options};
use crate::snapshot::load::Load;
use crate::whatif::expect::{ExpectationVerdict, Gate};
use crate::whatif::overrides::{Assumptions, NamedMetric, Override};
use crate::whatif::timeline::{Timeline, TimelineOptions};

/// Predicts what one HPA does; the text is for standard output.
pub fn run(args: &Predict, terminal: &Terminal) -> Result<Answer, Error> {
    let (scenario, saved) = read(args)?;
    let baseline = observe(&scenario, saved, terminal)?;
    let simulation = play(&scenario, &baseline, terminal)?;
    let evaluation = judge(&scenario, &baseline, &simulation)?;
    show(&scenario, &baseline, &simulation, evaluation, terminal)
}

/// The scenario to predict, after the checks that do not need the HPA.
struct Scenario<'a> {
    args: &'a Predict,
    request: NamedRequest,
    options: Options,
    gate: Gate,
    watch: FindingsWatch,
    curve: Option<NamedMetric>,
    /// The assumptions of the first candidate, if there is one.
    assumptions: Assumptions,
    /// One spec for each manifest, with all settings of the command line on top.
    candidates: Vec<NamedSpec>,
    /// All combinations of some settings, instead of the candidates.
    search: Option<Search>,
    /// A load from a file.
    load: Option<Load>,
    /// The options of the run; `None` for the next pass alone.
    timeline: Option<TimelineOptions>,
    query: Option<Query<'a>>,
    /// The file for the summary of a job.
    summary: Option<String>,
}

impl Scenario<'_> {
    /// Returns the assumptions of the pass that is explained: in a search, those of the first combination.
    fn first(&self) -> &Assumptions {
        let search = self.search.as_ref();
        search.map_or(&self.assumptions, Search::first)
    }

    /// Whether an exit code shows whether expectations hold or are unknown.
    fn is_gated(&self) -> bool {
        !self.gate.is_empty() || !self.watch.fail_on.is_empty()
    }

    /// Returns the assumptions of each candidate, or of the first combination.
    fn others(&self) -> impl Iterator<Item = &Assumptions> {
        let candidates = self.candidates.iter().map(|own| &own.assumptions);
        candidates.chain(self.search.iter().map(Search::first))
    }
}

/// The pass as it was observed, and the options of the run from there.
struct Baseline<'s> {
    pass: Pass,
    /// The input as it was read, if pods are assumed in it: assumptions are not saved.
    as_read: Option<Input>,
    load: Option<Cow<'s, Load>>,
    /// The options of the run; `None` for the next pass alone.
    timeline: Option<TimelineOptions>,
    messages: Vec<String>,
    /// Warnings of the server that count as an error.
    warned: Option<Error>,
}

/// The pass under the assumptions, and the runs that begin with it.
struct Simulation {
    /// The pass at the beginning of the load, if that is at another time than the state.
    begun: Option<Pass>,
    /// The pass of the first candidate, if there is one.
    pass: Pass,
    overrides: Vec<Override>,
    timeline: Option<Timeline>,
    /// The runs side by side, if there is a run with which to compare the first one.
    backtest: Option<Backtest>,
}

/// The explanation of the first pass, and whether all expectations hold.
struct Evaluation<'s> {
    explanation: Explanation<'s>,
    /// The findings about each candidate, in the order of the candidates.
    findings: Vec<Vec<FindingView>>,
    judged: Vec<Judged>,
    /// The worst verdict.
    verdict: ExpectationVerdict,
}
