//! The usage of a pod as a metrics API may have had it at a time, from the samples around it.

use jiff::{SignedDuration, Timestamp};

use super::SECOND;
use super::view::{BoundSide, HEIGHTS, View};
use crate::prometheus::history::{ContainerHistory, PodHistory, Samples};
use crate::prometheus::load::milli;
use crate::snapshot::metric::{ContainerUsage, PodMetrics, Usage};
use crate::snapshot::pod::{Container, Pod, resource_name};

/// A metrics API's newest sample is at most this old: kubelets measure every 10 to 15 s, and metrics-server
/// asks them every 15 s.
const AGE: i64 = 30 * SECOND;
/// The window over which it is measured.
const WINDOW: i64 = 15 * SECOND;
/// A gap between scrapes that is longer leaves the history open.
pub(super) const GAP: i64 = 60 * SECOND;

/// A value that was measured over a window.
pub(super) struct WindowValue {
    pub(super) value: f64,
    pub(super) end: i64,
    window: i64,
}

/// Picks a value from those that a metrics API may have had at a time, which are in order. `may_lack` is
/// whether it may have had none yet.
fn pick(
    candidates: &[WindowValue],
    millis: i64,
    may_lack: bool,
    view: View,
) -> Option<WindowValue> {
    let until = |own: &WindowValue| own.end.min(millis);
    let newest = candidates
        .iter()
        .rev()
        .find(|own| own.end <= millis || own.end - own.window <= millis - AGE / 2);
    let shown = match view.measured {
        BoundSide::Low if may_lack => return None,
        BoundSide::Low => candidates.first(),
        BoundSide::Likely => newest,
        BoundSide::High => candidates.last(),
    }?;
    let (end, window) = (until(shown), shown.window);
    let values = candidates.iter().map(|own| own.value);
    let value = match view.usage {
        None => shown.value,
        Some(share) => {
            let least = values.clone().reduce(f64::min)?;
            least + (values.reduce(f64::max)? - least) * f64::from(share) / f64::from(HEIGHTS)
        }
    };
    Some(WindowValue { value, end, window })
}

/// Returns the rate of a counter, as between two samples of it.
fn rate(samples: &Samples, millis: i64, view: View) -> Option<WindowValue> {
    let pairs = samples.all().windows(2);
    let rates = pairs.filter(|pair| pair[1].1 >= pair[0].1).map(|pair| {
        let ((start, before), (end, after)) = (pair[0], pair[1]);
        let value = (after - before) / ((end - start) as f64 / SECOND as f64);
        WindowValue {
            value,
            end,
            window: end - start,
        }
    });
    let mut is_old = false;
    let mut candidates = Vec::new();
    for rate in rates {
        is_old |= rate.end <= millis - AGE;
        if rate.end > millis - AGE - WINDOW && rate.end - rate.window < millis {
            candidates.push(rate);
        }
    }
    pick(&candidates, millis, !is_old, view)
}

/// Returns the value of a gauge. A sample holds until the next one, unless that is later than `longest` milliseconds.
pub(super) fn gauge(
    samples: &Samples,
    longest: i64,
    millis: i64,
    view: View,
) -> Option<WindowValue> {
    let next = samples.next(millis);
    let older = samples.last(millis - AGE).filter(|(end, _)| {
        samples
            .next(*end)
            .is_some_and(|next| next.0 - end <= longest)
    });
    let held = older.filter(|_| samples.last(millis) == older);
    let recent = samples.all().iter().copied().filter(|(end, _)| {
        (millis - AGE < *end && *end <= millis)
            || next.is_some_and(|next| next.0 == *end && *end - millis <= GAP)
    });
    let candidates: Vec<WindowValue> = held
        .into_iter()
        .chain(recent)
        .map(|(end, value)| WindowValue {
            value,
            end,
            window: WINDOW,
        })
        .collect();
    pick(&candidates, millis, older.is_none(), view)
}

/// Returns the answer of the resource metrics API for a pod; `None` unless all containers of its spec were
/// measured. The usage of others counts, too.
pub(super) fn usage(
    own: &PodHistory,
    pod: &Pod,
    wanted: &[&str],
    millis: i64,
    view: View,
) -> Option<PodMetrics> {
    let mut used = Vec::new();
    for Container { name, .. } in pod.running(false) {
        let history = own.containers.get(name)?;
        used.push(container_usage(name, history, wanted, millis, view)?);
    }
    let others = own.containers.iter().filter(|(_, it)| own.is_ephemeral(it));
    used.extend(others.filter_map(|(name, it)| container_usage(name, it, wanted, millis, view)));
    let times = used.iter().map(|(_, time)| *time);
    let (end, window) = times.min_by_key(|(end, _)| *end)?;
    Some(PodMetrics {
        name: own.name.clone(),
        namespace: pod.namespace.clone(),
        labels: pod.labels.clone(),
        timestamp: Timestamp::from_millisecond(end).ok()?,
        window: SignedDuration::from_millis(window),
        containers: used.into_iter().map(|(usage, _)| usage).collect(),
    })
}

/// Returns the usage of a container, with the end and the length of its earliest window; `None` unless it was measured.
fn container_usage(
    name: &str,
    own: &ContainerHistory,
    wanted: &[&str],
    millis: i64,
    view: View,
) -> Option<(ContainerUsage, (i64, i64))> {
    let mut usage = Usage::new();
    let mut measured: Option<(i64, i64)> = None;
    for resource in wanted {
        let found = match *resource {
            "cpu" => rate(&own.cpu, millis, view),
            // As the rate of a counter, which is an average over scrapes that failed.
            "memory" => gauge(&own.memory, i64::MAX, millis, view),
            _ => None,
        }?;
        if measured.is_none_or(|(end, _)| found.end < end) {
            measured = Some((found.end, found.window));
        }
        usage.push((resource_name(resource), milli(found.value).ok()?));
    }
    let container = ContainerUsage {
        name: name.into(),
        usage,
    };
    Some((container, measured?))
}
