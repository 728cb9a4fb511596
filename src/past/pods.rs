//! The state of a pod at a time, from the samples around it.

use jiff::Timestamp;

use super::SECOND;
use crate::prometheus::history::{self, History, PodHistory, Samples};
use crate::snapshot::pod::{ConditionStatus, Phase, Pod, ReadyCondition};

/// Whether a pod was there.
pub(super) fn exists(history: &History, pod: &PodHistory, millis: i64, is_later: bool) -> bool {
    let since = |second: Option<i64>| second.is_some_and(|second| second * SECOND <= millis);
    if (pod.created.is_some() && !since(pod.created)) || since(pod.replaced) {
        return false;
    }
    match (pod.seen.last(millis), pod.seen.next(millis)) {
        (_, Some(_)) => pod.created.is_some() || is_later || pod.seen.last(millis).is_some(),
        // The next scrape did not see it any more.
        (Some((last, _)), None) => match history.scrapes.next(last) {
            Some((next, _)) if next <= millis => false,
            Some(_) => !is_later,
            None => true,
        },
        (None, None) => false,
    }
}

/// Returns when a pod ended at the latest that is known, in milliseconds: it was marked for deletion, or not seen any more.
pub(super) fn end(history: &History, pod: &PodHistory) -> Option<i64> {
    let seen = pod.seen.all().last().map(|(last, _)| *last);
    let gone = seen.filter(|last| history.scrapes.next(*last).is_some());
    let deleted = pod.deleted.all().first().map(|(first, _)| *first);
    gone.into_iter().chain(deleted).min()
}

/// Whether a workload counts a pod as one of its replicas.
pub(super) fn is_active(history: &History, pod: &PodHistory, millis: i64) -> bool {
    exists(history, pod, millis, false)
        && pod.deleted.last(millis).is_none()
        && phase(pod, millis, false) != Phase::Failed
}

pub(super) fn phase(own: &PodHistory, millis: i64, is_later: bool) -> Phase {
    if own.phases.is_empty() {
        return Phase::Running;
    }
    let phases = || own.phases.iter();
    let shows_next = is_later && phases().any(|(_, samples)| samples.next(millis).is_some());
    if !shows_next && phases().all(|(_, samples)| samples.last(millis).is_none()) {
        // Created since the last scrape.
        return Phase::Pending;
    }
    let is_shown = |(_, samples): &&(Phase, Samples)| {
        beside(samples, millis, shows_next).is_some_and(|(_, value)| value == 1.0)
    };
    phases()
        .find(is_shown)
        .map(|(phase, _)| *phase)
        .unwrap_or_default()
}

/// Returns the last sample up to a time, or the first one after it.
pub(super) fn beside(samples: &Samples, millis: i64, is_later: bool) -> Option<(i64, f64)> {
    if is_later {
        samples.next(millis)
    } else {
        samples.last(millis)
    }
}

/// Returns the value of the sample on one side of a time, or else of the nearest one.
pub(super) fn shown(samples: &Samples, millis: i64, is_later: bool) -> Option<f64> {
    let beside = beside(samples, millis, is_later).map(|(_, value)| value);
    beside.or_else(|| samples.near(millis))
}

/// Returns the Ready condition. When it last changed is recorded for ready pods, and by some versions for all.
pub(super) fn ready(
    own: &PodHistory,
    pod: &Pod,
    millis: i64,
    is_later: bool,
) -> Option<ReadyCondition> {
    let start = pod.start_time?;
    let (is_ready, since) = readiness(own, millis, is_later);
    Some(ReadyCondition {
        status: if is_ready {
            ConditionStatus::True
        } else {
            ConditionStatus::False
        },
        last_transition_time: since
            .and_then(|millis| Timestamp::from_millisecond(millis).ok())
            .unwrap_or(start),
    })
}

/// Whether a pod was ready, and since when, if that is recorded.
fn readiness(own: &PodHistory, millis: i64, is_later: bool) -> (bool, Option<i64>) {
    let is_ready = |(_, value): (i64, f64)| value == 1.0;
    let (before, after) = if own.ready.is_empty() {
        // A time alone is recorded for pods that are ready.
        let as_ready = |sample: Option<(i64, f64)>| sample.map(|(time, _)| (time, 1.0));
        (
            as_ready(own.ready_time.last(millis)),
            as_ready(own.ready_time.next(millis)),
        )
    } else {
        (own.ready.last(millis), own.ready.next(millis))
    };
    if before.is_none() && after.is_none() {
        // Nothing is recorded of its readiness.
        return (own.ready.is_empty() && own.ready_time.is_empty(), None);
    }
    if let Some(after) = after
        && let Some(since) = ready_since(own, after.0)
        && is_ready(after)
    {
        if since <= millis {
            return (true, Some(since));
        }
        // It was not ready until then, unless it lost that in between.
        let was = before.filter(|before| is_ready(*before));
        return (
            was.is_some(),
            was.and_then(|before| ready_since(own, before.0)),
        );
    }
    let seen = if is_later { after.or(before) } else { before };
    match seen {
        None => (false, None),
        Some(sample) if is_ready(sample) => (true, ready_since(own, sample.0)),
        Some((last, _)) => {
            let mut earlier = own.ready.all().iter();
            let lost = earlier
                .rfind(|(time, value)| *time < last && *value == 1.0)
                .and_then(|(time, _)| own.ready.next(*time));
            // From some time after it was last seen ready.
            (false, lost.map(|(time, _)| time.min(millis)))
        }
    }
}

fn ready_since(own: &PodHistory, millis: i64) -> Option<i64> {
    let (_, value) = own.ready_time.last(millis)?;
    Some(history::second(value)? * SECOND)
}
