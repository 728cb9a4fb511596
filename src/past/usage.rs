//! The usage of a pod as a metrics API may have had it at a time, from the samples around it.

use jiff::{SignedDuration, Timestamp};

use super::SECOND;
use super::view::{BoundSide, HEIGHTS, View};
use crate::prometheus::history::{ContainerHistory, PodHistory, Samples};
use crate::prometheus::load::usage_milli;
use crate::snapshot::metric::{ContainerUsage, PodMetrics, Usage};
use crate::snapshot::pod::{Container, Pod, resource_name};

/// A metrics API's newest sample is at most this old: kubelets measure every 10 to 15 s, and metrics-server
/// asks them every 15 s.
const AGE: i64 = 30 * SECOND;
/// The window over which it is measured.
const WINDOW: i64 = 15 * SECOND;
/// The shortest window.
pub(super) const SHORTEST: i64 = 10 * SECOND;
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
    // A metrics API measures more often than it is scraped.
    let longest = match view.measured {
        BoundSide::Low => shown.window,
        BoundSide::Likely => WINDOW,
        BoundSide::High => SHORTEST,
    };
    let (end, window) = (until(shown), shown.window.min(longest));
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

/// Returns the rate of a counter, as between two samples of it since the start of its pod.
fn rate(samples: &Samples, since: i64, millis: i64, view: View) -> Option<WindowValue> {
    let place = samples.all().partition_point(|(time, _)| *time < since);
    let own = &samples.all()[place..];
    let pairs = own.windows(2);
    let rising = pairs.filter(|pair| pair[1].1 >= pair[0].1);
    let rates = rising.map(|pair| {
        let ((start, before), (end, after)) = (pair[0], pair[1]);
        let value = (after - before) / seconds(end - start);
        WindowValue {
            value,
            end,
            window: end - start,
        }
    });
    let mut is_old = false;
    let mut candidates = Vec::new();
    if let Some(first) = own.first() {
        candidates.extend(first_rates(*first, since, millis, view));
    }
    for rate in rates {
        is_old |= rate.end <= millis - AGE;
        if rate.end > millis - AGE - WINDOW && rate.end - rate.window < millis {
            candidates.push(rate);
        }
    }
    pick(&candidates, millis, !is_old, view)
}

/// Returns the rates of a counter from the start of its pod to its first sample: what was used until then may have been
/// used in one window, or outside of all windows, or evenly.
fn first_rates(
    (end, used): (i64, f64),
    since: i64,
    millis: i64,
    view: View,
) -> impl Iterator<Item = WindowValue> {
    // Its first value takes a window, and the time until it is asked for.
    let age = match view.measured {
        BoundSide::Likely => AGE,
        BoundSide::Low | BoundSide::High => WINDOW,
    };
    let is_possible = since > i64::MIN && since <= millis - age && millis - AGE < end;
    let window = end.saturating_sub(since).max(SHORTEST);
    let values = [0.0, used / seconds(SHORTEST), used / seconds(window)];
    let rates = values.map(|value| WindowValue { value, end, window });
    rates.into_iter().filter(move |_| is_possible)
}

fn seconds(millis: i64) -> f64 {
    millis as f64 / SECOND as f64
}

/// Returns the value of a gauge that was measured since the start of its pod: what an earlier pod of the name had last
/// does not hold for it. A sample holds until the next one, unless that is later than `longest` milliseconds.
pub(super) fn gauge(
    samples: &Samples,
    since: i64,
    longest: i64,
    millis: i64,
    view: View,
) -> Option<WindowValue> {
    let next = samples.next(millis);
    let is_own = |sample: &(i64, f64)| sample.0 >= since;
    let older = samples.last(millis - AGE).filter(|own| {
        let until = samples.next(own.0);
        is_own(own) && until.is_some_and(|next| next.0 - own.0 <= longest)
    });
    let held = older.filter(|_| samples.last(millis) == older);
    let own = samples.all().iter().copied().filter(is_own);
    let recent = own.filter(|(end, _)| {
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

/// Returns the time in milliseconds from which on samples can be those of a pod: its start, or else its creation.
fn start_of(pod: &Pod) -> i64 {
    let start = pod.start_time.or(pod.created);
    start.map_or(i64::MIN, Timestamp::as_millisecond)
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
    let since = start_of(pod);
    let mut used = Vec::new();
    for Container { name, .. } in pod.running(false) {
        let history = own.containers.get(name)?;
        used.push(container_usage(name, history, wanted, since, millis, view)?);
    }
    let others = own.containers.iter().filter(|(_, it)| own.is_ephemeral(it));
    used.extend(
        others.filter_map(|(name, it)| container_usage(name, it, wanted, since, millis, view)),
    );
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
    since: i64,
    millis: i64,
    view: View,
) -> Option<(ContainerUsage, (i64, i64))> {
    let mut usage = Usage::new();
    let mut measured: Option<(i64, i64)> = None;
    for resource in wanted {
        let found = match *resource {
            "cpu" => rate(&own.cpu, since, millis, view),
            // As the rate of a counter, which is an average over scrapes that failed.
            "memory" => gauge(&own.memory, since, i64::MAX, millis, view),
            _ => None,
        }?;
        if measured.is_none_or(|(end, _)| found.end < end) {
            measured = Some((found.end, found.window));
        }
        usage.push((resource_name(resource), usage_milli(found.value).ok()?));
    }
    let container = ContainerUsage {
        name: name.into(),
        usage,
    };
    Some((container, measured?))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::snapshot::pod::Requests;

    #[test]
    fn usage_does_not_outlive_the_pod_that_it_was_measured_of() {
        let hour = 3600 * SECOND;
        let samples = [(0, 80.0), (15 * SECOND, 90.0), (2 * hour, 99.0)];
        let mut series = Samples::default();
        series.add(&samples);
        let app = ContainerHistory {
            cpu: series.clone(),
            memory: series,
            ..ContainerHistory::default()
        };
        let own = PodHistory {
            containers: BTreeMap::from([("app".into(), app)]),
            ..PodHistory::default()
        };
        let at = |millis| Timestamp::from_millisecond(millis).ok();
        let container = Container {
            name: "app".into(),
            requests: Requests::default(),
            limits: Requests::default(),
            restart_always: false,
        };
        for (about, start_time, created, is_known) in [
            ("scraped rarely", at(0), at(0), true),
            ("of an unknown start", None, None, true),
            ("started since", at(hour - SECOND), None, false),
            ("created since", None, at(hour - SECOND), false),
        ] {
            let pod = Pod {
                start_time,
                created,
                containers: vec![container.clone()].into(),
                ..Pod::default()
            };
            for resource in ["cpu", "memory"] {
                let found = usage(&own, &pod, &[resource], hour, View::LIKELY);
                assert_eq!(found.is_some(), is_known, "{resource} of a pod {about}");
            }
        }
    }

    /// The first scrape was half a minute after the start. A metrics API may have measured the pod before, and then any
    /// rate that the first sample allows.
    #[test]
    fn a_pod_may_be_measured_before_it_is_scraped() {
        let mut samples = Samples::default();
        samples.add(&[(30 * SECOND, 3.0), (60 * SECOND, 6.0)]);
        let view = |measured, usage| View {
            measured,
            usage,
            ..View::LIKELY
        };
        for (second, measured, usage, want) in [
            (14, BoundSide::High, None, None),
            (15, BoundSide::High, Some(0), Some(0.0)),
            (15, BoundSide::High, Some(HEIGHTS), Some(0.3)),
            (15, BoundSide::Low, Some(0), None),
            (29, BoundSide::Likely, None, None),
            (30, BoundSide::Likely, None, Some(0.1)),
            (59, BoundSide::High, Some(HEIGHTS), Some(0.3)),
            (60, BoundSide::High, Some(HEIGHTS), Some(0.1)),
        ] {
            let found = rate(&samples, 0, second * SECOND, view(measured, usage));
            let value = found.map(|own| own.value);
            assert_eq!(value, want, "{second} {measured:?} {usage:?}");
        }
        // Nothing is known of its start.
        let found = rate(&samples, i64::MIN, 30 * SECOND, View::LIKELY);
        assert!(found.is_none());
    }
}
