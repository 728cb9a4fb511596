//! The agreement of a replay with the record. Samples smooth peaks, and the load does not contain rollouts or
//! manual changes of the replicas. Candidates are therefore measured against the replay, and the replay
//! against the record.

use jiff::SignedDuration;
use serde::Serialize;

use crate::snapshot::Snapshot;
use crate::whatif::timeline::{Player, Point, Record, Timeline, Totals};

/// The record compared with the replay.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// The number of passes that were compared.
    pub compared: usize,
    /// The number of those at which there were replicas.
    #[serde(skip)]
    pub awake: usize,
    /// The number of passes that ended with the recorded replicas: those of the sample before or after the pass.
    pub equal: usize,
    /// The number of passes that ended with at most one more or fewer.
    pub within_one: usize,
    /// The number of passes that were left out: those forced, after a mark, or without a record.
    pub left_out: usize,
    /// The number of those at which the replay has the recorded replicas by force: 0, or what follows from them.
    #[serde(skip)]
    pub forced: usize,
    /// The replica-hours of the replay over the passes that were compared, as a multiple of those
    /// recorded, if there were any.
    pub replica_hours: Option<f64>,
    /// The totals of the record.
    #[serde(skip)]
    pub recorded: RecordTotals,
}

/// The totals of the record.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordTotals {
    /// The replicas at each pass of the load, if they are known.
    pub replicas: Vec<Option<i32>>,
    /// Its totals over the passes at which they are known, without proposals.
    pub totals: Totals,
}

impl Check {
    /// Compares a replay with a record. Forced passes are left out, and those after a mark for as long as one change may
    /// lead to the next. `None` if no replicas were recorded.
    pub(super) fn of(
        replay: &Timeline,
        record: &Record,
        passes: usize,
        player: &Player,
        snapshot: &Snapshot,
    ) -> Option<Self> {
        if !record.has_replicas() {
            return None;
        }
        let mut check = Self {
            compared: 0,
            awake: 0,
            equal: 0,
            within_one: 0,
            left_out: 0,
            forced: 0,
            replica_hours: None,
            recorded: RecordTotals {
                replicas: Vec::with_capacity(passes),
                totals: Totals::new(player, snapshot),
            },
        };
        let (mut own, mut others) = (0i128, 0i128);
        let began = snapshot.scale.as_ref().map_or(0, |it| it.spec_replicas);
        let mut known = None;
        let mut after = SignedDuration::ZERO;
        for point in replay.passes.iter().take(passes) {
            // The controller writes at its pass, and the record may be from the moment before.
            let at = after.saturating_add(replay.totals.period / 2);
            let around = record.replicas_around(at);
            let replicas = around.map(|[before, _]| before);
            check.recorded.add(known, replicas);
            known = replicas.or(known);
            let is_forced = player.is_forced(at, began);
            check.forced += usize::from(is_forced && around.is_some());
            let mark = record.last_mark(at);
            let is_marked = mark.is_some_and(|mark| at < mark.saturating_add(player.wait));
            match around.filter(|_| !is_forced && !is_marked) {
                None => check.left_out += 1,
                Some(around) => {
                    let [to_last, to_next] = around.map(|it| it.abs_diff(point.replicas));
                    let apart = to_last.min(to_next);
                    check.compared += 1;
                    check.awake += usize::from(around[0] > 0);
                    check.equal += usize::from(apart == 0);
                    check.within_one += usize::from(apart <= 1);
                    own += i128::from(point.replicas);
                    others += i128::from(around[0]);
                }
            }
            after = after.saturating_add(replay.totals.period);
        }
        check.replica_hours = (others != 0).then(|| own as f64 / others as f64);
        Some(check)
    }
}

impl RecordTotals {
    /// Adds the replicas at the next pass, with those known before it. Proposals were not recorded.
    fn add(&mut self, before: Option<i32>, recorded: Option<i32>) {
        self.replicas.push(recorded);
        let Some(replicas) = recorded else {
            self.totals.skip();
            return;
        };
        let point = Point {
            replicas,
            proposal: None,
            ready: 0,
            is_answered: true,
            is_off: false,
        };
        self.totals.add(before.unwrap_or(replicas), point);
    }
}
