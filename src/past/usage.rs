//! The usage of a pod as a metrics API may have had it at a time, from the samples around it.

use jiff::{SignedDuration, Timestamp};

use super::SECOND;
use super::view::{BoundSide, HEIGHTS, View};
use crate::prometheus::history::{ContainerHistory, PodHistory, Samples};
use crate::prometheus::load::usage_milli;
use crate::snapshot::metric::{ContainerUsage, PodMetrics, Usage};
use crate::snapshot::pod::{ConditionStatus, Container, Phase, Pod, resource_name};

/// A metrics API's newest sample is at most this old: kubelets measure every 10 to 15 s, and metrics-server
/// asks them every 15 s.
const AGE: i64 = 30 * SECOND;
/// The window over which it is measured.
const WINDOW: i64 = 15 * SECOND;
/// The shortest window, and the age from which on a pod may have metrics.
const SHORTEST: i64 = 10 * SECOND;

/// Values by time in milliseconds, ascending.
pub(super) type Points<'h> = &'h [(i64, f64)];

/// A value that was measured over a window.
pub(super) struct WindowValue {
    pub(super) value: f64,
    pub(super) end: i64,
    window: i64,
}

/// Picks a value from those that a metrics API may have had at a time, the most likely ones last. `may_lack` is whether
/// it may have had none.
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
        BoundSide::Low => candidates.iter().min_by_key(|own| own.end),
        BoundSide::Likely => newest,
        BoundSide::High => candidates.iter().max_by_key(|own| own.end),
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

/// Returns the rate of a counter, as between two samples of it since the start of its pod, when it was 0.
fn rate(samples: &Samples, since: i64, millis: i64, view: View) -> Option<WindowValue> {
    // Its first value takes a window, and the time until it is asked for.
    let age = match view.measured {
        BoundSide::Likely => AGE,
        BoundSide::Low | BoundSide::High => SHORTEST,
    };
    let place = samples.all().partition_point(|(time, _)| *time <= since);
    let start = (since > i64::MIN).then_some((since, 0.0));
    let points = start
        .into_iter()
        .chain(samples.all()[place..].iter().copied());
    let mut is_old = false;
    let (mut first, mut candidates) = (Vec::new(), Vec::new());
    for ((start, before), (end, after)) in points.clone().zip(points.skip(1)) {
        // The container starts, or starts again.
        let is_first = start == since || after < before;
        if millis <= start {
            break;
        }
        is_old = !is_first && (is_old || end <= millis - AGE);
        if end <= millis - AGE - WINDOW {
            continue;
        }
        let shortest = if is_first { SHORTEST } else { 0 };
        let window = shortest.max(end - start);
        let of = |value| WindowValue { value, end, window };
        if !is_first {
            candidates.push(of((after - before) / seconds(window)));
        } else if start <= millis - age {
            first.extend(first_rates(after, window).map(of));
        }
    }
    first.append(&mut candidates);
    pick(&first, millis, !is_old, view)
}

/// Returns the rates of a counter from the start of its container to a sample: what was used until then may have been
/// used in one window, or outside of all windows, or evenly.
fn first_rates(used: f64, window: i64) -> [f64; 3] {
    [0.0, used / seconds(SHORTEST), used / seconds(window)]
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
            || next.is_some_and(|next| next.0 == *end && *end - millis <= longest)
    });
    let mut points: Vec<(i64, f64)> = held.into_iter().chain(recent).collect();
    // A new pod may have used less before its first sample.
    if let (None, Some((end, _))) = (older, points.first().copied())
        && since > i64::MIN
    {
        points.insert(0, (end, 0.0));
    }
    let window = WINDOW;
    let of = |(end, value)| WindowValue { value, end, window };
    let candidates: Vec<WindowValue> = points.into_iter().map(of).collect();
    pick(&candidates, millis, older.is_none(), view)
}

/// Returns the time in milliseconds from which on samples can be those of a pod: its start, or else its creation.
fn start_of(pod: &Pod) -> i64 {
    let start = pod.start_time.or(pod.created);
    start.map_or(i64::MIN, Timestamp::as_millisecond)
}

/// Returns the time from which on samples show the usage that a pass between two times may read.
pub(super) fn span_of(earliest: i64, latest: i64) -> (i64, i64) {
    (earliest - AGE - WINDOW, latest)
}

/// The start and the end of what has none.
pub(super) const ALWAYS: (i64, i64) = (i64::MIN, i64::MAX);

/// Whether samples of something that started and ended show what was between two times: these are between samples of
/// which no two neighbours are further apart than a gap. The start and the end count as samples.
pub(super) fn covers(
    samples: Points<'_>,
    (start, end): (i64, i64),
    (since, until): (i64, i64),
    gap: i64,
) -> bool {
    let until = until.min(end);
    let place = samples.partition_point(|(time, _)| *time <= since.max(start));
    let (before, after) = samples.split_at(place);
    let mut last = before.last().map_or(start, |(time, _)| start.max(*time));
    for time in after.iter().map(|(time, _)| *time).chain([end]) {
        if until <= last || gap < time.saturating_sub(last) {
            break;
        }
        last = time;
    }
    until <= last
}

/// Whether each series of a pod that ended shows what was between two times, unless the pod does not count, or has
/// stopped.
pub(super) fn is_sampled(
    pod: &Pod,
    end: i64,
    all: &[Points<'_>],
    span: (i64, i64),
    gap: i64,
) -> bool {
    let counts = pod.phase == Phase::Running && pod.deletion_timestamp.is_none();
    // Nothing is measured before.
    let life = (start_of(pod).saturating_add(SHORTEST), end);
    let mut series = all.iter();
    !counts || has_stopped(pod, all, span.1, gap) || series.all(|own| covers(own, life, span, gap))
}

/// Whether a pod that is not ready has not been measured for longer than a gap: then it has no metrics.
fn has_stopped(pod: &Pod, all: &[Points<'_>], millis: i64, gap: i64) -> bool {
    let is_ready = pod
        .ready
        .is_some_and(|own| own.status == ConditionStatus::True);
    let is_recent = |time: i64| time >= millis.saturating_sub(gap);
    let is_measured = |own: &Points<'_>| {
        own.iter()
            .any(|(time, _)| *time <= millis && is_recent(*time))
    };
    !is_ready && !is_recent(start_of(pod)) && !all.iter().any(is_measured)
}

/// Returns the samples of the usage of each container that runs, of those in the spec of a pod.
pub(super) fn used<'h>(own: &'h PodHistory, pod: &Pod, wanted: &[&str]) -> Vec<Points<'h>> {
    let containers = pod.running(false).map(|it| own.containers.get(&it.name));
    let of = |own| {
        wanted
            .iter()
            .map(move |resource| usage_samples(own, resource))
    };
    containers.flat_map(of).collect()
}

fn usage_samples<'h>(own: Option<&'h ContainerHistory>, resource: &str) -> Points<'h> {
    match (own, resource) {
        (Some(own), "cpu") => own.cpu.all(),
        (Some(own), "memory") => own.memory.all(),
        _ => &[],
    }
}

/// Returns the answer of the resource metrics API for a pod; `None` unless all containers of its spec were
/// measured. The usage of others counts, too.
pub(super) fn usage(
    own: &PodHistory,
    pod: &Pod,
    wanted: &[&str],
    gap: i64,
    millis: i64,
    view: View,
) -> Option<PodMetrics> {
    if has_stopped(pod, &used(own, pod, wanted), millis, gap) {
        return None;
    }
    let since = start_of(pod);
    let mut measured = Vec::new();
    for Container { name, .. } in pod.running(false) {
        let history = own.containers.get(name)?;
        measured.push(container_usage(name, history, wanted, since, millis, view)?);
    }
    let others = own.containers.iter().filter(|(_, it)| own.is_ephemeral(it));
    measured.extend(
        others.filter_map(|(name, it)| container_usage(name, it, wanted, since, millis, view)),
    );
    let times = measured.iter().map(|(_, time)| *time);
    let (end, window) = times.min_by_key(|(end, _)| *end)?;
    Some(PodMetrics {
        name: own.name.clone(),
        namespace: pod.namespace.clone(),
        labels: pod.labels.clone(),
        timestamp: Timestamp::from_millisecond(end).ok()?,
        window: SignedDuration::from_millis(window),
        containers: measured.into_iter().map(|(usage, _)| usage).collect(),
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
    use crate::snapshot::pod::{ReadyCondition, Requests};

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
                ready: Some(ReadyCondition {
                    status: ConditionStatus::True,
                    last_transition_time: Timestamp::UNIX_EPOCH,
                }),
                containers: vec![container.clone()].into(),
                ..Pod::default()
            };
            for resource in ["cpu", "memory"] {
                let found = usage(&own, &pod, &[resource], 60 * SECOND, hour, View::LIKELY);
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
            (9, BoundSide::High, None, None),
            (10, BoundSide::High, Some(0), Some(0.0)),
            (10, BoundSide::High, Some(HEIGHTS), Some(0.3)),
            (15, BoundSide::Low, Some(0), None),
            (29, BoundSide::Likely, None, None),
            (30, BoundSide::Likely, None, Some(0.1)),
            (59, BoundSide::High, Some(HEIGHTS), Some(0.3)),
            (74, BoundSide::High, Some(HEIGHTS), Some(0.3)),
            (75, BoundSide::High, Some(HEIGHTS), Some(0.1)),
        ] {
            let found = rate(&samples, 0, second * SECOND, view(measured, usage));
            let value = found.map(|own| own.value);
            assert_eq!(value, want, "{second} {measured:?} {usage:?}");
        }
        // Nothing is known of its start.
        let found = rate(&samples, i64::MIN, 30 * SECOND, View::LIKELY);
        assert!(found.is_none());
    }

    /// A counter that falls has begun again after its older sample.
    #[test]
    fn a_container_that_restarts_is_measured_as_a_new_one() {
        let mut samples = Samples::default();
        let points = [(0, 90.0), (15, 91.5), (30, 4.0), (45, 5.5), (60, 7.0)];
        samples.add(&points.map(|(second, used)| (second * SECOND, used)));
        for (second, measured, usage, want) in [
            (24, BoundSide::High, Some(HEIGHTS), Some(0.1)),
            (25, BoundSide::High, Some(HEIGHTS), Some(0.4)),
            (25, BoundSide::High, Some(0), Some(0.0)),
            (25, BoundSide::Low, Some(0), None),
            (40, BoundSide::Likely, None, Some(0.1)),
            (75, BoundSide::Low, Some(0), Some(0.1)),
        ] {
            let view = View {
                measured,
                usage,
                ..View::LIKELY
            };
            let found = rate(&samples, i64::MIN, second * SECOND, view);
            let value = found.map(|own| own.value);
            assert_eq!(value, want, "{second} {measured:?} {usage:?}");
        }
    }

    /// Before its first sample, a pod may have used less.
    #[test]
    fn the_first_memory_of_a_pod_is_open() {
        let mut samples = Samples::default();
        samples.add(&[30, 60].map(|second| (second * SECOND, 9.0)));
        for (since, second, want) in [(0, 40, 0.0), (0, 60, 9.0), (i64::MIN, 40, 9.0)] {
            let view = View {
                usage: Some(0),
                ..View::LIKELY
            };
            let found = gauge(&samples, since, i64::MAX, second * SECOND, view);
            let value = found.map(|own| own.value);
            assert_eq!(value, Some(want), "{since} {second}");
        }
    }
}
