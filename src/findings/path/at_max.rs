//! The finding `at-max`.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::bound::{Bound, bound, bounded, leave, suspected};
use super::{proposed, target, tried};
use crate::apimachinery::names::shell_word;
use crate::apimachinery::quantity::Quantity;
use crate::engine::decision::{Group, MetricStep};
use crate::findings::about::exact;
use crate::findings::last_pass::Rescale;
use crate::findings::requests::total;
use crate::findings::targets::{OtherRequest, Room, rooms};
use crate::findings::{
    About, Advice, Before, Case, Code, Command, Finding, Kind, Others, Rank, Remedy, Severity, Text,
};
use crate::numbers::format_of;
use crate::words::{amount, amount_of, count, distance, list};

/// `maxReplicas` decides.
#[derive(Debug, Clone, PartialEq)]
pub struct AtMax {
    /// The bound.
    pub bound: Bound,
    /// What the metrics that propose more count, the highest proposal first.
    pub counted: Vec<Counted>,
    /// The highest proposal of another metric, with its index in the spec, if `maxReplicas` allows it.
    pub beside: Option<(usize, i32)>,
    /// What keeps those metrics from proposing as many as `maxReplicas`, or else more, by index in the spec. Empty if
    /// nothing is found.
    pub rooms: Vec<(usize, Room)>,
    /// The proposal of the pass with all of it.
    pub proposal: Option<i32>,
    /// The last time that most replicas were removed at once, if the load has returned since.
    pub dropped: Option<Dropped>,
}

impl Kind for AtMax {
    type Hits = Option<Finding>;

    const CODE: &'static str = "at-max";
    const WHEN: &'static str = "The metrics propose more than `maxReplicas`.";
    const REMEDY: &'static str = "Raise `maxReplicas` if nodes can carry it, or what the metrics are compared with, a request or a target, if a \
             pod can carry more.";
    const RANK: Rank = Rank::Rule;

    fn find(case: &Case<'_>, _: &Before<'_>) -> Self::Hits {
        let bound = bound(case, "TooManyReplicas")?;
        let without = case.without(|snapshot| snapshot.hpa.spec.max_replicas = i32::MAX);
        let severity = if bound.is_disabled {
            Severity::Info
        } else {
            Severity::Warning
        };
        let proposals = || {
            case.metrics()
                .filter_map(|step| Some((step, step.proposal()?.replicas)))
        };
        let (mut above, others): (Vec<_>, Vec<_>) =
            proposals().partition(|(_, proposal)| *proposal > bound.bound);
        above.sort_by_key(|(_, proposal)| std::cmp::Reverse(*proposal));
        let above: Vec<&MetricStep> = above.into_iter().map(|(step, _)| step).collect();
        // Below the maximum there is room for a load that rises.
        let found = [bound.bound.saturating_sub(1), bound.bound]
            .into_iter()
            .find_map(|most| rooms(case, &above, most));
        let (rooms, proposal) = found.unzip();
        let facts = AtMax {
            bound,
            counted: above.iter().filter_map(|step| counted_by(step)).collect(),
            beside: others
                .into_iter()
                .map(|(step, it)| (step.index, it))
                .max_by_key(|it| it.1),
            rooms: rooms.unwrap_or_default(),
            proposal,
            dropped: dropped(case),
        };
        Some(Finding::explaining(severity, facts).without(without))
    }

    fn cause(&self, others: &Others<'_>) -> Option<Code> {
        if self.bound.is_disabled {
            return others.any(Code::DirectionDisabled);
        }
        others
            .beyond(self.bound.asked, self.bound.bound)
            .or_else(|| others.prior_to_more(self.bound.metric))
            .or_else(|| others.any(Code::AboveMax))
    }

    fn text(&self, about: &About<'_>) -> Text {
        let bound = &self.bound;
        let below = bound
            .metric
            .filter(|_| bound.ratio.is_some_and(|ratio| ratio <= 1.0));
        let mut evidence: Vec<String> = self.counted.iter().map(|it| it.sentence(about)).collect();
        evidence.extend(
            self.beside
                .map(|(metric, it)| format!("{} alone proposes {it}.", about.label(metric))),
        );
        evidence.extend(bounded(about, bound, "maxReplicas"));
        let (advice, commands) = match below {
            _ if bound.is_disabled => (leave("maxReplicas"), Vec::new()),
            Some(metric) => (
                Remedy::LookAtCounted.says(format!(
                    "Look at the counted pods first: {} is not above its target.",
                    about.label(metric)
                )),
                Vec::from_iter(about.list_pods("")),
            ),
            None if bound.suspicion.is_some() => suspected(about, bound),
            None => self.raise(about, &mut evidence),
        };
        // Where the number itself is in doubt, it is not explained.
        let is_told = below.is_none() && about.finding.follows.is_none();
        let counted = self
            .counted
            .first()
            .filter(|_| is_told)
            .map_or_else(String::new, |it| {
                let [total, per_pod] = it.amounts(about);
                format!(" ({total} at {per_pod} per pod)")
            });
        Text {
            summary: format!(
                "{}{counted}, and maxReplicas is {}",
                proposed(about, bound.asked),
                bound.bound
            ),
            evidence,
            advice,
            commands,
            objects: about.own(),
        }
    }
}

/// What a metric counts, in absolute terms and in milli-units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Its index in the spec, from 0.
    pub metric: usize,
    /// All of it.
    pub total: i64,
    /// The target for a pod, the mean if requests differ.
    pub per_pod: i64,
    /// The pods that use it, with the request that the target is a percentage of, and whether all have the same; `None`
    /// for what is not of pods.
    pub of_pods: Option<(usize, Option<(i64, bool)>)>,
}

/// Replicas that were removed in one pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped {
    /// The replicas before.
    pub from: i32,
    /// The replicas after.
    pub to: i32,
    /// When it was.
    pub at: Timestamp,
}

/// Returns what a metric counts, if that can be divided by its target.
fn counted_by(step: &MetricStep) -> Option<Counted> {
    let proposal = step.proposal()?;
    let target = &step.target;
    let average = target.average_value.as_ref().map(Quantity::milli_value);
    if let (Some(total), Some(per_pod)) = (&proposal.total, average) {
        return Some(Counted {
            metric: step.index,
            total: total.milli_value(),
            per_pod,
            of_pods: None,
        });
    }
    let rows = || step.pods.iter().filter(|row| row.group == Group::Ready);
    let sum = total(rows().map(|row| row.value))?;
    let pods = i64::try_from(rows().count())
        .ok()
        .filter(|pods| *pods > 0)?;
    let (per_pod, request) = match (average, target.average_utilization) {
        (Some(average), _) => (average, None),
        (None, Some(percent)) => {
            let mean = total(rows().map(|row| row.request))? / pods;
            let is_same = rows().all(|row| row.request == Some(mean));
            (
                mean.checked_mul(percent.into())? / 100,
                Some((mean, is_same)),
            )
        }
        (None, None) => return None,
    };
    let of_pods = Some((rows().count(), request));
    Some(Counted {
        metric: step.index,
        total: sum,
        per_pod,
        of_pods,
    })
}

/// Returns the last time that the controller removed most replicas at once and has added some since, if events show it.
fn dropped(case: &Case<'_>) -> Option<Dropped> {
    /// As long as an API server keeps events by default.
    const RECENT: SignedDuration = SignedDuration::from_hours(1);
    /// Fewer are no loss.
    const SEVERAL: i32 = 4;
    let (rescales, _) = case.pass.input.rescales();
    let is_drop = |pair: &&[Rescale]| {
        let (from, to) = (pair[0].size, pair[1].size);
        pair[1].is_up == Some(false) && to <= from / 2 && from.saturating_sub(to) >= SEVERAL
    };
    let last = rescales.windows(2).rfind(is_drop)?;
    let (
        from,
        Rescale {
            size: to, time: at, ..
        },
    ) = (last[0].size, last[1]);
    let has_returned = rescales.last()?.time > at;
    (has_returned && case.since(at)? <= RECENT).then_some(Dropped { from, to, at })
}

impl Counted {
    /// Returns the total, and the target for a pod.
    fn amounts(&self, about: &About<'_>) -> [String; 2] {
        let spec = about.spec(self.metric);
        let format = match &about.target_of(self.metric).average_value {
            Some(average) => average.format(),
            None => format_of(spec.name()),
        };
        let of = |milli: i64| amount_of(Some(spec), &Quantity::from_milli(milli, format));
        [self.total, self.per_pod].map(of)
    }

    /// Words the two, with where they come from.
    fn sentence(&self, about: &About<'_>) -> String {
        let spec = about.spec(self.metric);
        let [total, per_pod] = self.amounts(about);
        let Some((pods, request)) = self.of_pods else {
            return format!(
                "{} is {total} in all, at {per_pod} per pod.",
                about.label(self.metric)
            );
        };
        let pods = count(pods, "pod");
        let resource = if spec.is_resource() {
            format!(" of {}", spec.name())
        } else {
            String::new()
        };
        let per_pod = match request {
            Some((request, is_same)) => {
                let request = amount(request, format_of(spec.name()));
                let mean = if is_same { "" } else { " on average" };
                let share = target(about.target_of(self.metric));
                format!("{share} of a request of {request} is {per_pod} per pod{mean}")
            }
            None => format!("The target is {per_pod} per pod"),
        };
        format!("{per_pod}, and {pods} use {total}{resource}.")
    }
}

/// What else than a higher maximum lets the metrics propose fewer.
struct Lever {
    /// What to raise, as it follows an alternative.
    act: String,
    /// What comes of it.
    effect: String,
    command: Command,
}

impl AtMax {
    fn lever(&self, about: &About<'_>) -> Option<Lever> {
        let proposal = self.proposal?;
        let (mut what, mut values, mut flags) = (Vec::new(), Vec::new(), Vec::new());
        for (metric, room) in &self.rooms {
            let resource = about.spec(*metric).name();
            if let Some(OtherRequest {
                container, request, ..
            }) = &room.request
            {
                let word = shell_word(&format!("{container}={resource}={request}"));
                what.push(format!("the {resource} request to {request}"));
                values.push(format!("a {resource} request of {request}"));
                flags.push(format!("--request {word}"));
            } else if let Some(other) = &room.target {
                let to = exact(&other.target);
                what.push(format!("the target to {to}"));
                values.push(format!("a target of {to} for {}", about.label(*metric)));
                flags.push(about.target_flags(*metric, &to)?);
            }
        }
        // The value is said, and the name of the container or metric is in the command.
        let hint = flags
            .first()?
            .split(' ')
            .next()
            .map(|flag| about.try_it(flag));
        let command = about.predict(&flags.join(" "));
        Some(Lever {
            act: format!(
                "{} if a pod can carry more{}",
                list(&what),
                hint.filter(|_| about.pass.input.evidence.past.is_none())
                    .unwrap_or_default()
            ),
            effect: format!("With {}, the metrics propose {proposal}.", list(&values)),
            command,
        })
    }

    /// Returns what to do if nothing speaks against the metrics: the maximum, or what they are compared with.
    fn raise(&self, about: &About<'_>, evidence: &mut Vec<String>) -> (Advice, Vec<Command>) {
        /// A maximum is hardly raised further at once.
        const MOST: i32 = 4;
        let Bound {
            asked, bound: max, ..
        } = self.bound;
        let raise = if about.assumes("maxReplicas") {
            "Assume a higher maxReplicas".to_owned()
        } else {
            format!("Raise {}", about.field("maxReplicas"))
        };
        let flags = format!("--max {asked}");
        // No maximum is named that the metrics exceed as well.
        let (mut text, mut commands) = if asked <= max.saturating_mul(MOST) {
            (
                format!("{raise} if nodes can carry it{}", about.try_it(&flags)),
                tried(about, &flags, &json!({ "maxReplicas": asked })),
            )
        } else {
            (format!("{raise} as far as nodes can carry it"), Vec::new())
        };
        if let Some(Lever {
            act,
            effect,
            command,
        }) = self.lever(about)
        {
            text += &format!(", or {act}");
            evidence.push(effect);
            commands.push(command);
        }
        text.push('.');
        if let Some(Dropped { from, to, at }) = self.dropped {
            text += &format!(
                " It went from {from} to {to} in one step {} ago: set scaleDown policies or a longer window ({}).",
                distance(at, about.now()),
                about.field_name("behavior")
            );
            if about.hpa().spec.behavior.is_none() {
                let why = "Without behavior, nothing limits how many replicas go at once.";
                evidence.push(why.to_owned());
            }
        }
        (Remedy::RaiseMax.says(text), commands)
    }
}
