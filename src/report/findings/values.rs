//! Words findings about misleading values.

use super::command::Command;
use super::remedy::Remedy;
use super::{About, Text, Words};
use crate::apimachinery::quantity::Quantity;
use crate::findings::values::{Clue, StaleSamples, SuspectUnit, ValueMultiplies};
use crate::report::words::{amount_of, count, distance, duration, list, number, percent, time};

impl Words for StaleSamples {
    fn text(&self, about: &About<'_>) -> Text {
        let Self {
            metrics,
            stale,
            samples,
            newest,
            window,
            doubts_clock,
        } = self;
        let now = about.now();
        let labels = about.labels(metrics);
        let of = if stale == samples {
            format!("all samples of {labels} are")
        } else {
            let are = if *stale == 1 { "is" } else { "are" };
            format!("{stale} of {samples} samples of {labels} {are}")
        };
        let newest_at = time(now, *newest);
        let (age, side) = if *newest > now {
            (distance(now, *newest), "after")
        } else {
            (distance(*newest, now), "before")
        };
        let window = match window {
            Some(window) => format!(" Its window is {}.", duration(*window)),
            None => String::new(),
        };
        let evidence = vec![format!(
            "The newest of them ends at {newest_at}, {age} {side} the time of the pass, {}.{window}",
            time(now, now)
        )];
        let group = about
            .spec(metrics.first().copied().unwrap_or_default())
            .api_group();
        let summary = match (doubts_clock, stale == samples) {
            (true, _) => format!("{of} {age} {side} the clock of the pass"),
            (false, true) if about.finding.explains => {
                format!("{of} {age} old or older, so the answer is as of {newest_at}")
            }
            (false, _) => format!("{of} {age} old or older"),
        };
        let (advice, command) = match group {
            _ if *doubts_clock => (
                Remedy::StateInput.says(format!(
                    "State the time at which the objects were read: --now {newest}"
                )),
                None,
            ),
            "metrics.k8s.io" => (
                Remedy::FindSamples.says("Find out why metrics-server has no newer samples."),
                Some("kubectl describe apiservice v1beta1.metrics.k8s.io"),
            ),
            _ => (
                Remedy::FindSamples.says("Find out why the adapter has no newer values."),
                Some("kubectl get apiservices"),
            ),
        };
        let commands = command.map(Command::from).into_iter().collect();
        Text {
            summary,
            evidence,
            advice,
            commands,
            objects: Vec::new(),
        }
    }
}

impl Words for SuspectUnit {
    fn text(&self, about: &About<'_>) -> Text {
        let Self {
            metric,
            current,
            target,
            ratio,
            meant,
            clue,
        } = self;
        let label = about.label(*metric);
        let plain = number(target.milli_value() as f64 / 1000.0);
        // Next to plain values, thousandths are easily taken for ones.
        let is_fraction = target.milli_value() < 1000 && !about.spec(*metric).is_resource();
        let shown = |amount: &Quantity| amount_of(Some(about.spec(*metric)), amount);
        let own = if is_fraction {
            format!("{plain} ({target})")
        } else {
            shown(target)
        };
        let times = if *ratio >= 1.0 {
            format!("{} times its target of {own}", number(ratio.round()))
        } else {
            format!("1/{} of its target of {own}", number((1.0 / ratio).round()))
        };
        let share = |amount: &Quantity| percent(amount.milli_value() as f64 / 1000.0);
        let mut evidence = vec![match clue {
            Clue::Divided { by_query } => return divided(self, about, *by_query),
            Clue::Milliseconds => format!(
                "{target} is {plain} of the metric's unit: the suffix m is for thousandths, not for \
                 milliseconds."
            ),
            Clue::Share => format!(
                "Read as shares, the value is {} and the target {}.",
                share(current),
                share(target)
            ),
            Clue::Whole => {
                let step = about.step(*metric);
                let total = step.and_then(|step| step.proposal()?.total.as_ref());
                let whole = match total {
                    Some(total) => format!("the total, {}, is a whole number", shown(total)),
                    None if about.spec(*metric).is_total() => {
                        "the value is a whole number".to_owned()
                    }
                    None => "the values of the pods are whole numbers".to_owned(),
                };
                format!("{target} is {plain} in plain units, while {whole}.")
            }
            Clue::Power => {
                format!(
                    "With {}, the value would be {} of the target.",
                    shown(meant),
                    {
                        let share = current.milli_value() as f64 / meant.milli_value() as f64;
                        percent(share)
                    }
                )
            }
        }];
        evidence.extend(
            about
                .without()
                .map(|without| format!("With {}: {without}.", shown(meant))),
        );
        let flags = about.target_flags(*metric, &meant.to_string());
        // The name is in the command, and long ones are common.
        let hint = flags
            .as_ref()
            .map(|_| about.try_it("--target"))
            .unwrap_or_default();
        Text {
            summary: format!(
                "{label} is {}, {times}: the units probably differ",
                shown(current)
            ),
            evidence,
            advice: Remedy::SetTarget.says(format!(
                "Set the target to {}, if that is what is meant{hint}.",
                shown(meant)
            )),
            commands: flags.iter().map(|flags| about.predict(flags)).collect(),
            objects: about.own(),
        }
    }
}

/// Words a value that is divided by the replicas, on which it does not depend.
fn divided(facts: &SuspectUnit, about: &About<'_>, by_query: bool) -> Text {
    let SuspectUnit {
        metric,
        current,
        target,
        ..
    } = facts;
    let label = about.label(*metric);
    let own = |amount: &Quantity| amount_of(Some(about.spec(*metric)), amount);
    let says = if by_query {
        "Its query says"
    } else {
        "Its name says"
    };
    let mut evidence = vec![
        format!("{says} that it is an average or a quantile, or is divided by the pods already."),
        "AverageValue divides it by the replicas, so more of them make it look lower.".to_owned(),
    ];
    evidence.extend(
        about
            .without()
            .map(|without| format!("With a target of type Value: {without}.")),
    );
    let mut metrics = about.hpa().spec.metrics.clone();
    if let Some(of_metric) = metrics[*metric].target_mut() {
        of_metric.type_ = "Value".to_owned();
        of_metric.value = of_metric.average_value.take();
    }
    let use_ = match about.hpa().scaled_object() {
        Some(owner) => {
            let short = about.spec(*metric).short_label();
            format!(
                "metricType: Value for {short} in spec.triggers of ScaledObject/{}",
                owner.name
            )
        }
        None => format!("value: {target} instead of averageValue"),
    };
    Text {
        summary: format!(
            "{label} is {}, above its target of {}, but AverageValue divides it by the replicas",
            own(current),
            own(target)
        ),
        evidence,
        advice: Remedy::UseValue.says(format!("Use {use_}.")),
        commands: Vec::from_iter(about.patch_spec(&serde_json::json!({ "metrics": metrics }))),
        objects: about.own(),
    }
}

impl Words for ValueMultiplies {
    fn text(&self, about: &About<'_>) -> Text {
        let Self {
            metric,
            current,
            target,
            proposals,
            average,
            is_average,
        } = self;
        let label = about.label(*metric);
        let shown = |amount: &Quantity| amount_of(Some(about.spec(*metric)), amount);
        let mut steps = proposals
            .windows(2)
            .map(|pair| format!("at {} it proposes {}", count(pair[0], "replica"), pair[1]));
        let mut evidence = vec![format!(
            "The target {} is for the value in all, so each pass multiplies the ready pods by {} / {}.",
            shown(target),
            shown(current),
            shown(target)
        )];
        let further: Vec<String> = steps.by_ref().collect();
        if !further.is_empty() {
            evidence.push(format!(
                "If the value stays at {}, {}.",
                shown(current),
                list(&further)
            ));
        }
        evidence.extend((!is_average).then(|| {
            format!(
                "As a target per replica (AverageValue), {} proposes {}.",
                shown(target),
                count(*average, "replica")
            )
        }));
        let mut metrics = about.hpa().spec.metrics.clone();
        if let Some(of_metric) = metrics[*metric].target_mut() {
            of_metric.type_ = "AverageValue".to_owned();
            of_metric.average_value = of_metric.value.take();
        }
        Text {
            summary: format!(
                "{label} proposes {} now, and more in each pass while it stays at {}",
                count(proposals.first().copied().unwrap_or_default(), "replica"),
                shown(current)
            ),
            evidence,
            advice: if *is_average {
                Remedy::Nothing.says(
                    "Nothing to do if it falls as replicas are added, as a time or an average should.",
                )
            } else {
                Remedy::UseAverageValue.says(format!(
                    "Use {} if the metric does not fall with the replicas.",
                    about.average_value(*metric, &target.to_string())
                ))
            },
            commands: if *is_average {
                vec![about.ask(*metric)]
            } else {
                Vec::from_iter(about.patch_spec(&serde_json::json!({ "metrics": metrics })))
            },
            objects: about.own(),
        }
    }
}
