//! A backtest as data: the load, the check, and each run with its totals and changes.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::{Compared, ComparedRun};
use crate::apimachinery::json::SecondsTime;
use crate::backtest::{Backtest, Check, Run};
use crate::findings::FindingView;
use crate::report::Certainty;
use crate::report::timeline::{ChangeView, PassesView, Played};
use crate::report::totals::{ReplicasView, TotalsView};
use crate::whatif::overrides::{Override, Reported};
use crate::whatif::timeline::{PassChange, Stretch, Tolerated};

impl Serialize for Compared<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Backtest {
            load,
            replay,
            check,
            ready_after,
            ..
        } = self.backtest;
        let candidates: Vec<CandidateView<'_>> = self
            .candidates
            .iter()
            .map(
                |ComparedRun {
                     candidate,
                     played,
                     findings,
                     ..
                 }| CandidateView {
                    run: RunView::new(&candidate.run, played, self.has_passes),
                    manifest: candidate.manifest.as_ref().map(|it| &*it.file),
                    findings,
                    first_parted: candidate.parted.as_ref().map(|parting| PartingView {
                        time: SecondsTime(parting.time).to_string(),
                        replay: PartingPassView::of(&self.replay, &parting.replay),
                        candidate: PartingPassView::of(played, &parting.candidate),
                    }),
                    differs: DiffersView {
                        total: candidate.stretches.total().as_secs_f64(),
                        stretches: &candidate.stretches.all,
                    },
                },
            )
            .collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("start", &SecondsTime(replay.timeline.start).to_string())?;
        map.serialize_entry("syncPeriod", &replay.timeline.totals.period.as_secs_f64())?;
        map.serialize_entry("load", load)?;
        map.serialize_entry(
            "check",
            &check
                .as_ref()
                .map(|check| CheckView::new(check, self.has_passes)),
        )?;
        map.serialize_entry("readyAfter", &ready_after.map(|ready| ready.as_secs_f64()))?;
        map.serialize_entry(
            "replay",
            &RunView::new(replay, &self.replay, self.has_passes),
        )?;
        map.serialize_entry("candidates", &candidates)?;
        if let Some(search) = self.search() {
            map.serialize_entry("search", &search)?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct CheckView<'a> {
    #[serde(flatten)]
    check: &'a Check,
    recorded: Option<ReplicasView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replicas: Option<&'a [Option<i32>]>,
}

impl<'a> CheckView<'a> {
    fn new(check: &'a Check, has_passes: bool) -> Self {
        let recorded = &check.recorded;
        Self {
            check,
            recorded: (recorded.totals.passes > 0).then(|| (&recorded.totals).into()),
            replicas: has_passes.then_some(&recorded.replicas),
        }
    }
}

#[derive(Serialize)]
struct RunView<'a> {
    name: &'a str,
    overrides: &'a [Override],
    certainty: Certainty,
    totals: TotalsView,
    changes: Vec<ChangeView>,
    #[serde(flatten)]
    passes: Option<PassesView>,
}

impl<'a> RunView<'a> {
    fn new(run: &'a Run, played: &'a Played<'_>, has_passes: bool) -> Self {
        Self {
            name: &run.name,
            overrides: &run.overrides,
            certainty: played.certainty(),
            totals: (&run.timeline.totals).into(),
            changes: played.change_views(),
            passes: has_passes.then(|| played.passes()),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CandidateView<'a> {
    #[serde(flatten)]
    run: RunView<'a>,
    manifest: Option<&'a str>,
    findings: &'a [FindingView],
    first_parted: Option<PartingView<'a>>,
    differs: DiffersView<'a>,
}

#[derive(Serialize)]
struct PartingView<'a> {
    time: String,
    replay: PartingPassView<'a>,
    candidate: PartingPassView<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PartingPassView<'a> {
    #[serde(flatten)]
    change: ChangeView,
    value: Option<&'a Reported>,
    within_tolerance: bool,
    filled_within_tolerance: bool,
}

impl<'a> PartingPassView<'a> {
    fn of(played: &'a Played<'_>, change: &'a PassChange) -> Self {
        Self {
            change: played.view(change),
            value: change.value.as_ref(),
            within_tolerance: change.tolerated.is_some(),
            filled_within_tolerance: change.tolerated == Some(Tolerated::Filled),
        }
    }
}

#[derive(Serialize)]
struct DiffersView<'a> {
    total: f64,
    stretches: &'a [Stretch],
}
