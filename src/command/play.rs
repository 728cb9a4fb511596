//! What `predict` plays: which specs, over which load.

use std::sync::Arc;

use jiff::SignedDuration;

use crate::args::{Overrides, TimelineArgs};
use crate::backtest::{Backtest, ManifestPlace, Plan, Spec};
use crate::error::Error;
use crate::pass::Pass;
use crate::saved::file;
use crate::snapshot::input::{Input, Options};
use crate::whatif::overrides::{Assumptions, Candidate, Override};
use crate::whatif::timeline::{JoinTimes, Timeline, TimelineOptions, Trace};

/// How long a new pod takes until it is ready, unless that is known.
const READY_AFTER: SignedDuration = SignedDuration::from_secs(10);

/// What came of the runs.
pub(super) struct Runs {
    /// The pass at the beginning of the load, where that is at another time than what was read.
    pub(super) observed: Option<Pass>,
    /// The input of the pass that is explained: the first candidate's.
    pub(super) input: Input,
    pub(super) overrides: Vec<Override>,
    pub(super) timeline: Option<Timeline>,
    /// The runs side by side, if there is anything to compare the first with.
    pub(super) backtest: Option<Backtest>,
}

impl Runs {
    /// No runs: only the pass.
    pub(super) fn none(observed: &Pass, assumptions: &Assumptions) -> Result<Self, Error> {
        let (input, overrides) = assumptions.apply(observed.input.clone(), &observed.decision)?;
        Ok(Self { observed: None, input, overrides, timeline: None, backtest: None })
    }

    /// Plays the HPA as it is, and the candidates where there are any.
    pub(super) fn play(
        plan: &Plan,
        candidates: Vec<Spec>,
        assumptions: &Assumptions,
    ) -> Result<Self, Error> {
        let observed = plan.is_moved.then(|| Pass::run(plan.observed.clone()));
        if candidates.is_empty() && !plan.is_recorded() {
            let prepared = plan.prepare(assumptions)?;
            let timeline = prepared.play()?;
            let (input, overrides) = prepared.into_parts();
            return Ok(Self { observed, input, overrides, timeline, backtest: None });
        }
        let Some(backtest) = plan.run(assumptions, candidates)? else {
            let (input, overrides) = plan.prepare(assumptions)?.into_parts();
            return Ok(Self { observed, input, overrides, timeline: None, backtest: None });
        };
        let first = backtest.candidates.first().map_or(&backtest.replay, |it| &it.run);
        let (input, overrides) = (first.input.clone(), first.overrides.clone());
        let timeline = Some(first.timeline.clone());
        Ok(Self { observed, input, overrides, timeline, backtest: Some(backtest) })
    }
}

/// The specs to play beside the HPA as it is: one for each manifest, with all that is set on top.
pub(super) fn candidates(
    overrides: &Overrides,
    options: &mut Options,
    assumptions: &Assumptions,
    plays: bool,
) -> Result<Vec<Spec>, Error> {
    if overrides.hpa.len() > 1 && !plays {
        return Err(Error::usage("several --hpa are compared only over time")
            .hint("use --for or --trace, or one --hpa"));
    }
    let mut manifests = Vec::new();
    for path in &overrides.hpa {
        let objects = file::read(std::slice::from_ref(path))?;
        let manifest = Candidate::find(&objects, options, path, overrides.validate)?;
        manifests.push(manifest);
    }
    options.also = manifests.iter().flat_map(|it| it.metrics().iter().cloned()).collect();
    let specs = manifests.into_iter().map(|manifest| {
        let name = manifest.origin().to_owned();
        let place = ManifestPlace { file: name.clone(), line: 1 };
        let mut assumptions = assumptions.clone();
        assumptions.replace_hpa(manifest.among(&options.also));
        Spec { name, assumptions, manifest: Some(place) }
    });
    let mut specs: Vec<Spec> = specs.collect();
    if specs.is_empty() && assumptions.changes_spec() {
        let (name, assumptions) = ("candidate".to_owned(), assumptions.clone());
        specs.push(Spec { name, assumptions, manifest: None });
    }
    Ok(specs)
}

/// How long is played, under what load.
pub(super) fn timeline_options(args: &TimelineArgs) -> Result<TimelineOptions, Error> {
    let TimelineArgs { span, trace, ready_after, metrics_after } = args;
    let trace = trace.as_ref().map(|path| {
        let (bytes, origin) = file::read_whole(path.as_ref())?;
        Trace::read(&bytes, &origin).map(Arc::new)
    });
    let ready = ready_after.unwrap_or(READY_AFTER);
    let times = JoinTimes { ready, measured: *metrics_after };
    Ok(TimelineOptions { span: *span, trace: trace.transpose()?, times })
}
