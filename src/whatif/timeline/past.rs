//! A load of another time, mostly of the past: the observed state is used as the state at its start. What
//! the cluster was like then is known only from the trace.

use jiff::Timestamp;

use super::player::wait;
use super::{JoinTimes, Trace};
use crate::calendar::Calendar;
use crate::memory::Memory;
use crate::snapshot::evidence::Evidence;
use crate::snapshot::input::Input;
use crate::snapshot::note::Note;
use crate::snapshot::{MetricAnswer, Snapshot};

/// Moves an input to the start of a load of another time; its controller has just started. False if the
/// load is about the time at which the state was read.
pub fn begin_with_load(input: &mut Input, trace: &Trace, times: JoinTimes) -> bool {
    let read = input.snapshot.now;
    let reach = wait(times, &input.snapshot);
    let Some(start) = trace.begins_elsewhere(read, reach) else { return false };
    move_to(&mut input.snapshot, start);
    // What the API shows of the controller's past belongs to another time.
    input.stated_memory = Some(Memory::default());
    input.evidence = Evidence::default();
    input.clock_doubt = None;
    input.notes.push(Note::BegunWithLoad { read });
    true
}

/// Moves everything in a snapshot to another time, so that it is as long ago as before.
fn move_to(snapshot: &mut Snapshot, time: Timestamp) {
    let by = time.duration_since(snapshot.now);
    let shift = |time: &mut Timestamp| *time = time.plus(by);
    let shift_some = |time: &mut Option<Timestamp>| time.iter_mut().for_each(shift);
    shift(&mut snapshot.now);
    for pod in &mut snapshot.pods {
        shift_some(&mut pod.deletion_timestamp);
        shift_some(&mut pod.start_time);
        shift_some(&mut pod.created);
        pod.ready.iter_mut().for_each(|ready| shift(&mut ready.last_transition_time));
    }
    snapshot.pod_metrics.iter_mut().for_each(|item| shift(&mut item.timestamp));
    for answer in &mut snapshot.metrics {
        if let MetricAnswer::Pods(values) = answer {
            values.iter_mut().for_each(|value| shift(&mut value.timestamp));
        }
    }
    let status = &mut snapshot.hpa.status;
    shift_some(&mut status.last_scale_time);
    status.conditions.iter_mut().for_each(|it| shift_some(&mut it.last_transition_time));
}
