//! A load of another time, mostly of the past: the observed state serves as the state at its start. The cluster at that
//! time is known only from the trace.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};

use super::player::wait;
use super::world::{World, shift_samples};
use super::{JoinTimes, PodLack, Record, Trace};
use crate::apimachinery::json::SecondsTime;
use crate::calendar::Calendar;
use crate::engine;
use crate::memory::Memory;
use crate::numbers::first_few;
use crate::snapshot::Snapshot;
use crate::snapshot::clock::newest_sample;
use crate::snapshot::evidence::Evidence;
use crate::snapshot::input::Input;
use crate::snapshot::note::Note;
use crate::whatif::overrides::make_ready;

/// Moves an input to the start of a load of another time, where its controller has just started. Returns
/// false if the load covers the time at which the state was read.
pub fn begin_with_load(input: &mut Input, trace: &Trace, times: JoinTimes) -> bool {
    let read = input.snapshot.now;
    let reach = wait(times, &input.snapshot);
    let Some(start) = trace.begins_elsewhere(read, reach) else {
        return false;
    };
    move_to(&mut input.snapshot, start);
    // What the API shows of the controller's history belongs to another time.
    input.stated_memory = Some(Memory::default());
    input.evidence = Evidence::default();
    input.clock_doubt = None;
    let read = if input.knows_time() {
        SecondsTime(read).to_string()
    } else {
        "the input, which lacks its time".to_owned()
    };
    input.notes.push(Note::new(format!(
        "the HPA and the pods are those of {read}, used as the state at the start of the \
         load, and the controller for one that has just started"
    )));
    true
}

/// Makes pods of an input ready if they would never count during a load of another time, except as many as were not
/// ready for most of that time.
pub fn make_ready_then(input: &mut Input, record: &Record, times: JoinTimes) {
    let snapshot = &mut input.snapshot;
    let world = World::of(snapshot, &HashSet::new(), times);
    let mut unready = record.unready();
    let mut stays = world.workload.stays(&world.snapshot);
    stays.retain(|own| match own.lacks {
        // The pod does not count as a replica.
        PodLack::Failed => false,
        PodLack::Metrics => true,
        PodLack::Unschedulable | PodLack::Readiness => {
            let was_ready = unready == 0;
            unready = unready.saturating_sub(1);
            was_ready
        }
    });
    if stays.is_empty() {
        return;
    }
    let names: Vec<&str> = stays.iter().map(|own| &*own.pod).collect();
    // If no pod counts, only one that has become ready shows what a measured one uses.
    for _ in 0..2 {
        let decision = engine::reconcile(snapshot, &Memory::default());
        make_ready(snapshot, &decision, |pod| names.contains(&&*pod.name));
    }
    let pods = first_few(&names, 5);
    let are = if names.len() == 1 { "is" } else { "are" };
    input.notes.push(Note::new(format!(
        "{pods} {are} now unready or without metrics, and {are} assumed to be ready and measured at the start of the load"
    )));
}

/// The age of a sample at a pass: metrics-server reads every 15 s.
const AGE: SignedDuration = SignedDuration::from_secs(7);

/// Moves everything in a snapshot to another time, so that it is as old as when the samples were taken. The age of the
/// state when it is used, and whether it states its time at all, do not matter.
fn move_to(snapshot: &mut Snapshot, time: Timestamp) {
    let newest = newest_sample(snapshot).and_then(|sample| sample.time);
    let read = newest.map_or(snapshot.now, |newest| newest.plus(AGE));
    let by = time.duration_since(read);
    snapshot.now = time;
    let shift = |time: &mut Timestamp| *time = time.plus(by);
    let shift_some = |time: &mut Option<Timestamp>| time.iter_mut().for_each(shift);
    for pod in &mut snapshot.pods {
        shift_some(&mut pod.deletion_timestamp);
        shift_some(&mut pod.start_time);
        shift_some(&mut pod.created);
        pod.ready
            .iter_mut()
            .for_each(|ready| shift(&mut ready.last_transition_time));
    }
    shift_samples(snapshot, by);
    let status = &mut snapshot.hpa.status;
    shift_some(&mut status.last_scale_time);
    status
        .conditions
        .iter_mut()
        .for_each(|it| shift_some(&mut it.last_transition_time));
}
