//! A load of another time, mostly of the past: the observed state is used as the state at its start. The
//! state of the cluster at that time is known only from the trace.

use jiff::{SignedDuration, Timestamp};

use super::player::wait;
use super::world::shift_samples;
use super::{JoinTimes, Trace};
use crate::apimachinery::json::SecondsTime;
use crate::calendar::Calendar;
use crate::memory::Memory;
use crate::snapshot::Snapshot;
use crate::snapshot::clock::newest_sample;
use crate::snapshot::evidence::Evidence;
use crate::snapshot::input::Input;
use crate::snapshot::note::Note;

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

/// The age of a sample at a pass: metrics-server reads every 15 s.
const AGE: SignedDuration = SignedDuration::from_secs(7);

/// Moves everything in a snapshot to another time, so that it is as old as when the samples were taken. The
/// age of the state at the time of use, and whether it states its time at all, belong to another time.
fn move_to(snapshot: &mut Snapshot, time: Timestamp) {
    let read = newest_sample(snapshot).map_or(snapshot.now, |newest| newest.plus(AGE));
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
