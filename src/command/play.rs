//! What `predict` plays: which specs, over which load.

use std::sync::Arc;

use jiff::SignedDuration;

use super::Terminal;
use super::vary::vary;
use crate::args::{Predict, TimelineArgs};
use crate::backtest::{Backtest, Filter, ManifestPlace, Plan, Run, Search, Spec};
use crate::error::Error;
use crate::pass::Pass;
use crate::saved::file;
use crate::snapshot::hpa::Hpa;
use crate::snapshot::input::{Input, Options};
use crate::snapshot::load::Load;
use crate::snapshot::note::Note;
use crate::whatif::expect::{Facts, Gate, RunFacts, Truth};
use crate::whatif::overrides::{Assumptions, Candidate, Override};
use crate::whatif::timeline::{JoinTimes, Timeline, TimelineOptions, Totals, Trace};

/// How long a new pod takes to become ready, unless that is known.
const READY_AFTER: SignedDuration = SignedDuration::from_secs(10);

/// How long it takes until it has metrics.
const METRICS_AFTER: SignedDuration = SignedDuration::from_secs(30);

/// The results of the runs.
pub(super) struct Runs {
    /// The pass at the beginning of the load, if that is at another time than the state.
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
        Ok(Self {
            observed: None,
            input,
            overrides,
            timeline: None,
            backtest: None,
        })
    }

    /// Plays the HPA as it is, and any candidates or combinations.
    pub(super) fn play(
        plan: Plan,
        candidates: Vec<Spec>,
        search: Option<&Search>,
        gate: &Gate,
        assumptions: &Assumptions,
        terminal: &Terminal,
    ) -> Result<Self, Error> {
        let observed = plan.is_moved.then(|| Pass::run(plan.observed.clone()));
        let first = search.map(Search::first).transpose()?;
        // What only a candidate has may be assumed in a search, too.
        let assumptions = first.as_ref().unwrap_or(assumptions);
        let as_it_is = assumptions.without_candidate();
        let specs = candidates.iter().map(|own| &own.assumptions).chain(&first);
        let plan = plan.beside(std::iter::once(&as_it_is).chain(specs));
        if candidates.is_empty() && search.is_none() && !plan.is_recorded() {
            let mut prepared = plan.prepare(assumptions)?;
            let timeline = prepared.play()?;
            let (input, overrides) = prepared.into_parts();
            return Ok(Self {
                observed,
                input,
                overrides,
                timeline,
                backtest: None,
            });
        }
        let Some(mut backtest) = plan.run(assumptions, candidates)? else {
            let (input, overrides) = plan.prepare(assumptions)?.into_parts();
            return Ok(Self {
                observed,
                input,
                overrides,
                timeline: None,
                backtest: None,
            });
        };
        if let Some(search) = search {
            let begin = Pass::run(backtest.replay.input.clone());
            let replay = RunFacts::new(&begin, &backtest.replay.timeline.totals);
            let meets = |pass: &Pass, totals: &Totals| {
                let facts = Facts::of(pass).with_runs(RunFacts::new(pass, totals), replay);
                gate.truth(&facts)
            };
            let expected = gate.has_expectations().then_some(&meets as &Filter<'_>);
            let totals = &backtest.replay.timeline.totals;
            let is_rival = meets(&begin, totals) == Truth::True;
            let rival = is_rival.then_some(totals);
            backtest.search = Some(vary(search, &plan, expected, rival, terminal)?);
        }
        let first = backtest
            .candidates
            .first()
            .map_or(&backtest.replay, |it| &it.run);
        let (mut input, overrides) = (first.input.clone(), first.overrides.clone());
        let timeline = Some(first.timeline.clone());
        let runs = || backtest.candidates.iter().map(|it| &it.run);
        if runs().count() > 1 {
            let is_common = |note: &Note| runs().all(|run| run.input.notes.contains(note));
            input.notes.retain(is_common);
            for Run {
                name, input: own, ..
            } in runs()
            {
                let own = own.notes.iter().filter(|note| !is_common(note)).cloned();
                input.notes.extend(own.map(|note| match note {
                    note @ Note::OfManifest { .. } => note,
                    note => Note::OfManifest {
                        origin: name.clone(),
                        note: Box::new(note),
                    },
                }));
            }
        }
        if search.is_some() {
            // What is to be said of a manifest is true of every combination.
            let (tried, _) = plan.prepare(assumptions)?.into_parts();
            let new: Vec<_> = tried
                .notes
                .into_iter()
                .filter(|it| !input.notes.contains(it))
                .collect();
            input.notes.extend(new);
        }
        Ok(Self {
            observed,
            input,
            overrides,
            timeline,
            backtest: Some(backtest),
        })
    }
}

/// What is played in addition to the HPA as it is.
#[derive(Default)]
pub(super) struct Others {
    /// One spec for each manifest, with all that is set on top.
    pub(super) candidates: Vec<Spec>,
    /// All combinations of some settings, instead of these.
    pub(super) search: Option<Search>,
}

impl Others {
    /// Reads the manifests, whose metrics are to be looked up as well.
    pub(super) fn read(
        args: &Predict,
        options: &mut Options,
        assumptions: &Assumptions,
        plays: bool,
    ) -> Result<Self, Error> {
        let Predict {
            overrides,
            timeline,
            ..
        } = args;
        if overrides.hpa.len() > 1 && (!plays || !timeline.vary.is_empty()) {
            return Err(if plays {
                Error::usage("--vary takes at most one --hpa")
            } else {
                Error::usage("several --hpa are compared only over time")
                    .hint("use --for or --trace, or one --hpa")
            });
        }
        let mut manifests = Vec::new();
        for path in &overrides.hpa {
            let objects = file::read_manifests(path)?;
            manifests.push(Candidate::find(
                &objects,
                options,
                path,
                overrides.validate,
            )?);
        }
        options.also = manifests
            .iter()
            .flat_map(|it| it.metrics().iter().cloned())
            .collect();
        let mut manifests = manifests.into_iter().map(|it| it.among(&options.also));
        if !timeline.vary.is_empty() {
            let search = Search::new(&timeline.vary, overrides, manifests.next(), timeline.at)?;
            return Ok(Self {
                search: Some(search),
                ..Self::default()
            });
        }
        let specs = manifests.map(|manifest| {
            let name = manifest.origin().to_owned();
            let mut assumptions = assumptions.clone();
            assumptions.replace_hpa(manifest);
            Spec {
                name,
                assumptions,
                manifest: None,
            }
        });
        let mut candidates: Vec<Spec> = specs.collect();
        if candidates.is_empty() && assumptions.has_candidate() {
            let (name, assumptions) = ("candidate".to_owned(), assumptions.clone());
            candidates.push(Spec {
                name,
                assumptions,
                manifest: None,
            });
        }
        Ok(Self {
            candidates,
            ..Self::default()
        })
    }
}

/// Finds where the HPAs of candidates are in their manifests.
pub(super) fn locate(candidates: &mut [Spec], hpa: &Hpa) {
    for spec in candidates {
        let place = spec.assumptions.candidate().and_then(|own| own.place(hpa));
        spec.manifest = place.and_then(|(file, line)| {
            Some(ManifestPlace {
                file: file.to_owned(),
                line: u64::try_from(line).ok()?,
            })
        });
    }
}

/// How long to play, under which load.
pub(super) fn timeline_options(
    args: &TimelineArgs,
    load: Option<&Load>,
) -> Result<TimelineOptions, Error> {
    let TimelineArgs {
        span,
        ready_after,
        metrics_after,
        ..
    } = args;
    let trace = load.map(|load| Trace::of(load).map(Arc::new));
    let ready = ready_after.unwrap_or(READY_AFTER);
    let measured = load
        .and_then(|load| load.metrics_after)
        .map(|after| after.0);
    let measured = metrics_after.or(measured).unwrap_or(METRICS_AFTER);
    let times = JoinTimes { ready, measured };
    Ok(TimelineOptions {
        others: Vec::new(),
        span: *span,
        trace: trace.transpose()?,
        times,
    })
}
