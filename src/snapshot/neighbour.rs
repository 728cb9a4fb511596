//! The other HPAs of a namespace, any of which may select the same pods. The controller stores the selector
//! of an HPA once a pass has read the scale of its target, keeps it as long as the HPA exists, and refuses
//! to scale an HPA whose pods match the selectors of two HPAs (`hpaSelectors` and
//! `computeReplicasForMetrics` in horizontal.go).

use jiff::{SignedDuration, Timestamp};

use super::hpa::Hpa;
use super::note::{Note, Subject};
use super::pod::Pod;
use super::right::UnknownFactCause;
use super::shared::Shared;
use super::written::Written;
use super::{Scale, ScaleError, ScaleSelector};
use crate::apimachinery::selector::Selector;

/// The time within which a changed HPA gets a pass, even with a long sync period.
const SETTLED: SignedDuration = SignedDuration::from_mins(10);

/// Another HPA of the namespace, with its selector.
#[derive(Debug, Clone, PartialEq)]
pub struct OtherHpa {
    /// The HPA.
    pub hpa: Hpa,
    /// The scale of its target; `None` if its selector is unknown, but the last status of the HPA of the pass says that
    /// both select the same pods.
    pub scale: Option<Scale>,
}

impl OtherHpa {
    /// Whether the selector that the controller has stored for it matches a pod of the pass.
    pub(crate) fn selects(&self, pod: &Pod) -> bool {
        let scale = self.scale.as_ref();
        scale.is_none_or(|scale| scale.selector.matches(&pod.labels))
    }

    /// Returns an HPA with the scale of its target.
    ///
    /// # Errors
    ///
    /// The target has no readable selector.
    pub(crate) fn of(hpa: Hpa, scale: Scale) -> Result<Shared<Self>, UnknownSelector> {
        if scale.selector.as_str().is_empty() || scale.selector.parsed().is_err() {
            let target = hpa.spec.scale_target_ref.to_string();
            let why = WhyUnknownSelector::NoSelector { target };
            return Err(UnknownSelector::new(hpa.key(), Some(&hpa), why));
        }
        let scale = Some(scale);
        Ok(Self { hpa, scale }.into())
    }
}

/// The reason why the selector of another HPA is unknown.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WhyUnknownSelector {
    /// The HPA cannot be read.
    #[error("it cannot be read: {0}")]
    HpaUnreadable(String),
    /// The HPA's target cannot be read.
    #[error("its target {target} cannot be read: {why}")]
    TargetUnreadable {
        /// The target, as `Kind/name`.
        target: String,
        /// The reason.
        why: UnknownFactCause,
    },
    /// The HPA's target does not exist, but an earlier pass has read it.
    #[error(
        "its target {target} does not exist, but the controller may remember its selector until that HPA is deleted"
    )]
    TargetGone {
        /// The target, as `Kind/name`.
        target: String,
    },
    /// The HPA's target has no readable selector, but may have had one in an earlier pass.
    #[error(
        "its target {target} has no valid selector, but the controller may remember one until that HPA is deleted"
    )]
    NoSelector {
        /// The target, as `Kind/name`.
        target: String,
    },
    /// The input lacks the HPA's target.
    #[error("the input has no {0}")]
    NoTarget(String),
}

/// Another HPA in the namespace whose selector could not be read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UnknownSelector {
    /// The HPA's name, as `namespace/name`.
    pub(crate) key: String,
    /// The HPA, if it can be read.
    pub(crate) hpa: Option<Box<Hpa>>,
    /// The reason why the selector is unknown.
    pub(crate) why: WhyUnknownSelector,
    compared: Option<ComparedSelector>,
}

impl UnknownSelector {
    /// Creates the unknown selector of an HPA; `hpa` is the HPA, if it can be read.
    pub(crate) fn new(key: String, hpa: Option<&Hpa>, why: WhyUnknownSelector) -> Self {
        Self {
            key,
            hpa: hpa.cloned().map(Box::new),
            why,
            compared: hpa.map(ComparedSelector::of),
        }
    }

    /// Whether the controller may have stored a selector for the HPA.
    pub(crate) fn may_be_stored(&self) -> bool {
        use WhyUnknownSelector::{NoSelector, TargetGone};
        let is_gone = matches!(self.why, TargetGone { .. } | NoSelector { .. });
        self.hpa
            .as_deref()
            .is_none_or(|hpa| !is_gone || has_stored_selector(hpa))
    }

    /// Returns the HPA as one that selects the same pods, if the last status of `own` says so, and neither HPA nor the
    /// selector has changed since, nor has a later pass of the other found them apart. The passes of a changed HPA may
    /// come later, unless it is new: the status names it, so it has had one.
    pub(crate) fn as_stated(
        &self,
        own: &Hpa,
        scale: &Result<Scale, ScaleError>,
    ) -> Option<Shared<OtherHpa>> {
        let hpa = self.hpa.as_deref()?;
        let shared = Selector::parse(shared_selector(own, &self.key)?).ok()?;
        let selector = ScaleSelector::of(scale).ok()?.parsed().ok()?;
        let stated = own.written.status.filter(|_| shared == *selector)?;
        let Written { created, spec, .. } = &hpa.written;
        let settled = if spec == created {
            SignedDuration::ZERO
        } else {
            SETTLED
        };
        let is_later = self.matters_to(ComparedSelector::of(own))
            && !own.written.by_us
            && own.written.spec.is_some_and(|changed| changed <= stated)
            && spec.is_some_and(|changed| stated.duration_since(changed) >= settled);
        if !is_later {
            return None;
        }
        let other = OtherHpa {
            hpa: hpa.clone(),
            scale: None,
        };
        Some(other.into())
    }

    /// Adds notes about those that the controller may find to select pods of `own`: about the first twenty, so
    /// that a list of many HPAs has no note for each pair. Those of the same target select the same pods, whatever
    /// these are.
    pub(crate) fn note_all<'u>(
        unknown: impl IntoIterator<Item = &'u Self>,
        own: &Hpa,
        scale: &Result<Scale, ScaleError>,
        notes: &mut Vec<Note>,
    ) {
        const NAMED: usize = 20;
        let compared = ComparedSelector::of(own);
        let mut unknown = unknown
            .into_iter()
            .filter(|it| !it.scales_target_of(own) && it.matters_to(compared));
        notes.extend(unknown.by_ref().take(NAMED).map(|it| it.note(own, scale)));
        let more = unknown.count();
        if more > 0 {
            let text = format!(
                "unknown whether {more} more HPAs select the same pods: their selectors are unknown, too"
            );
            notes.push(Note::about(Subject::UnknownSelector { hpa: None }, text));
        }
    }

    fn scales_target_of(&self, own: &Hpa) -> bool {
        let target = &own.spec.scale_target_ref;
        let other = self.hpa.as_deref();
        other.is_some_and(|other| other.spec.scale_target_ref.is_same(target))
    }

    fn note(&self, own: &Hpa, scale: &Result<Scale, ScaleError>) -> Note {
        let Self { key, why, .. } = self;
        let hpa = Some(key.clone());
        let text = match self.as_stated(own, scale) {
            Some(_) => format!(
                "assumed that the HPA {key} still selects the same pods, as in the last status: {why}"
            ),
            None => format!("unknown whether the HPA {key} selects the same pods: {why}"),
        };
        Note::about(Subject::UnknownSelector { hpa }, text)
    }

    /// Whether the controller may find that this HPA selects pods of `own`.
    fn matters_to(&self, own: ComparedSelector) -> bool {
        let were_apart = self.compared.is_some_and(|other| own.were_apart(other));
        self.may_be_stored() && !were_apart
    }
}

/// Whether a pass may have stored the selector of an HPA: a pass got beyond reading the scale, and set `ScalingActive`.
fn has_stored_selector(hpa: &Hpa) -> bool {
    hpa.status.condition("ScalingActive").is_some()
}

/// What an HPA shows about the passes that compared its selector with those of others.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ComparedSelector {
    /// The time at which the HPA was changed.
    changed: Option<Timestamp>,
    /// The time since which the selector that the controller has stored for it, if any, has been the same.
    since: Option<Timestamp>,
    /// The time at which such a pass wrote the status.
    last: Option<Timestamp>,
}

impl ComparedSelector {
    fn of(hpa: &Hpa) -> Self {
        Self {
            changed: hpa.written.created.max(hpa.written.spec),
            // A pass that stores another selector changes the status.
            since: passed_since(hpa).or(hpa.written.by_pass()),
            last: last_comparison(hpa),
        }
    }

    /// Whether the controller has stored the selectors of both HPAs, compared them in a later pass, and found no pod
    /// that matches both. This stays so as long as neither HPA changes: a selector is stored until it is replaced.
    fn were_apart(self, other: Self) -> bool {
        let Some(last) = self.last.max(other.last) else {
            return false;
        };
        [self, other]
            .into_iter()
            .all(|Self { changed, since, .. }| {
                changed.is_some_and(|changed| last.duration_since(changed) >= SETTLED)
                    && since.is_some_and(|since| since <= last)
            })
    }
}

/// Returns the time since which passes of an HPA that read the scale have found no shared pods.
fn passed_since(hpa: &Hpa) -> Option<Timestamp> {
    let active = hpa.status.condition("ScalingActive")?;
    let stops_before = ["ScalingDisabled", "InvalidSelector", "AmbiguousSelector"];
    let has_passed = !stops_before.contains(&&*active.reason);
    active.last_transition_time.filter(|_| has_passed)
}

/// Whether the last pass over an HPA found that this other one selects some of its pods.
pub(crate) fn has_found_shared(own: &Hpa, other: &Hpa) -> bool {
    let written = own.written.status;
    let is_same = written.is_none_or(|written| other.written.created <= Some(written));
    is_same && shared_selector(own, &other.key()).is_some()
}

/// Returns the selector of an HPA's pods, if its last pass found that another HPA selects some of them.
fn shared_selector<'h>(own: &'h Hpa, other: &str) -> Option<&'h str> {
    let active = own.status.condition("ScalingActive")?;
    let named = active.message.strip_prefix("pods by selector ")?;
    let (selector, hpas) = named.split_once(" are controlled by ")?;
    let (_, list) = hpas.split_once('[')?;
    let (keys, _) = list.split_once(']')?;
    let is_shared = active.reason == "AmbiguousSelector" && keys.split(' ').any(|it| it == other);
    is_shared.then_some(selector)
}

/// Returns the time at which a pass that found no shared pods wrote the status. A pass that rescales may do
/// so because the replicas are out of bounds, before it compares any selectors.
fn last_comparison(hpa: &Hpa) -> Option<Timestamp> {
    const COMPARES: [&str; 4] = [
        "SucceededGetScale",
        "ReadyForNewScale",
        "ScaleDownStabilized",
        "ScaleUpStabilized",
    ];
    let able = hpa.status.condition("AbleToScale")?;
    let has_compared = COMPARES.contains(&&*able.reason) && !hpa.written.by_us;
    passed_since(hpa)
        .and(hpa.written.status)
        .filter(|_| has_compared)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::{ComparedSelector, Scale, UnknownSelector, WhyUnknownSelector, Written};
    use crate::snapshot::hpa::Hpa;
    use crate::snapshot::right::UnknownFactCause;

    fn minute(minute: i64) -> Timestamp {
        Timestamp::from_second(1_795_240_800 + 60 * minute).expect("a time")
    }

    /// An HPA that was created in one minute and has a status of another, with these reasons of `AbleToScale` and
    /// `ScalingActive`, the latter since `since`.
    fn hpa(created: i64, [able, active]: [&str; 2], since: i64, written: i64) -> Hpa {
        let status = json!({"conditions": [
            {"type": "AbleToScale", "reason": able},
            {"type": "ScalingActive", "reason": active, "lastTransitionTime": minute(since)},
        ]});
        let written = Written {
            created: Some(minute(created)),
            spec: Some(minute(created)),
            status: Some(minute(written)),
            ..Written::default()
        };
        Hpa {
            written,
            ..Hpa::of(&json!({}), status)
        }
    }

    const FINE: [&str; 2] = ["ReadyForNewScale", "ValidMetricFound"];
    const SHARED: [&str; 2] = ["SucceededGetScale", "AmbiguousSelector"];
    const RESCALED: [&str; 2] = ["SucceededRescale", "ValidMetricFound"];
    const INVALID: [&str; 2] = ["SucceededGetScale", "InvalidSelector"];
    const NO_SCALE: [&str; 2] = ["FailedGetScale", "ValidMetricFound"];

    #[test]
    fn an_unknown_selector_matters_unless_a_pass_has_compared_it() {
        let denied = || WhyUnknownSelector::TargetUnreadable {
            target: "Rollout/roll".to_owned(),
            why: UnknownFactCause::Late,
        };
        let gone = || WhyUnknownSelector::TargetGone {
            target: "Deployment/gone".to_owned(),
        };
        let none = || WhyUnknownSelector::NoSelector {
            target: "MaxScale/none".to_owned(),
        };
        let by_us = |mut hpa: Hpa| {
            hpa.written.by_us = true;
            hpa
        };
        for (name, own, other, why, matters) in [
            (
                "both passed",
                hpa(0, FINE, 1, 10),
                hpa(0, FINE, 1, 9),
                denied(),
                false,
            ),
            (
                "only the other since",
                hpa(0, FINE, 1, 2),
                hpa(5, FINE, 6, 15),
                denied(),
                false,
            ),
            (
                "too soon",
                hpa(0, FINE, 1, 2),
                hpa(5, FINE, 6, 14),
                denied(),
                true,
            ),
            (
                "only rescaled since",
                hpa(0, RESCALED, 1, 20),
                hpa(5, RESCALED, 6, 20),
                denied(),
                true,
            ),
            (
                "not since it was created",
                hpa(0, FINE, 1, 2),
                hpa(5, FINE, 6, 5),
                denied(),
                true,
            ),
            (
                "own is new",
                hpa(10, FINE, 10, 10),
                hpa(0, FINE, 1, 9),
                denied(),
                true,
            ),
            (
                "shared",
                hpa(0, SHARED, 1, 10),
                hpa(0, FINE, 1, 9),
                denied(),
                true,
            ),
            (
                "the other shares pods with a third",
                hpa(0, FINE, 1, 10),
                hpa(0, SHARED, 1, 9),
                denied(),
                false,
            ),
            (
                "only later",
                hpa(0, FINE, 1, 10),
                hpa(0, NO_SCALE, 12, 13),
                denied(),
                true,
            ),
            (
                "not the controller's",
                by_us(hpa(0, FINE, 1, 10)),
                by_us(hpa(0, FINE, 1, 9)),
                denied(),
                true,
            ),
            (
                "gone, compared before",
                hpa(0, FINE, 1, 10),
                hpa(0, NO_SCALE, 1, 9),
                gone(),
                false,
            ),
            (
                "gone, never compared",
                hpa(8, FINE, 8, 8),
                hpa(0, NO_SCALE, 1, 9),
                gone(),
                true,
            ),
            (
                "no longer valid",
                hpa(8, FINE, 8, 8),
                hpa(0, ["FailedGetScale", "InvalidSelector"], 1, 9),
                gone(),
                true,
            ),
            (
                "none, which was never valid",
                hpa(0, FINE, 1, 20),
                Hpa::of(&json!({}), json!({})),
                none(),
                false,
            ),
            (
                "none, compared since",
                hpa(0, FINE, 1, 20),
                hpa(0, INVALID, 1, 9),
                none(),
                false,
            ),
            (
                "none, not compared since",
                hpa(0, FINE, 1, 8),
                hpa(0, INVALID, 1, 9),
                none(),
                true,
            ),
            (
                "none, and off at 0 replicas",
                hpa(0, FINE, 1, 20),
                hpa(0, ["SucceededGetScale", "ScalingDisabled"], 1, 9),
                none(),
                false,
            ),
            (
                "none, a status that is not the controller's",
                hpa(0, FINE, 1, 20),
                by_us(hpa(0, INVALID, 1, 9)),
                none(),
                true,
            ),
        ] {
            let unknown = UnknownSelector::new("ops/other".to_owned(), Some(&other), why);
            let own = ComparedSelector::of(&own);
            assert_eq!(unknown.matters_to(own), matters, "{name}");
        }
    }

    /// The controller's words before 1.37 and since.
    #[test]
    fn what_the_last_status_says_of_an_unknown_selector_still_holds() {
        let denied = || WhyUnknownSelector::NoTarget("Deployment api".to_owned());
        let shared = |message: &str, created| {
            let mut own = hpa(created, SHARED, 1, 10);
            own.status.conditions[1].message = message.into();
            own
        };
        let old = "pods by selector app=web are controlled by multiple HPAs: [ops/other ops/web]";
        let new = "pods by selector app=web are controlled by more than one HPA (e.g. [ops/web ops/other])";
        let third =
            "pods by selector app=web are controlled by multiple HPAs: [ops/others ops/web]";
        let others =
            "pods by selector app=old are controlled by multiple HPAs: [ops/other ops/web]";
        let label =
            "pods by selector ops/other are controlled by multiple HPAs: [ops/third ops/web]";
        for (name, own, mut other, is_shared) in [
            ("shared", shared(old, 0), hpa(0, FINE, 1, 9), true),
            ("shared in 1.37", shared(new, 0), hpa(0, FINE, 1, 9), true),
            ("with a third", shared(third, 0), hpa(0, FINE, 1, 9), false),
            (
                "of other pods",
                shared(others, 0),
                hpa(0, FINE, 1, 9),
                false,
            ),
            ("by a label", shared(label, 0), hpa(0, FINE, 1, 9), false),
            ("apart since", shared(old, 0), hpa(0, FINE, 1, 11), false),
            ("apart", hpa(0, FINE, 1, 10), hpa(0, FINE, 1, 9), false),
            ("own is changed", shared(old, 11), hpa(0, FINE, 1, 9), false),
            (
                "the other is changed",
                shared(old, 0),
                hpa(11, FINE, 11, 9),
                false,
            ),
        ] {
            other.spec.scale_target_ref.name = "api".to_owned();
            let unknown = UnknownSelector::new("ops/other".to_owned(), Some(&other), denied());
            let scale = Ok(Scale::new(2, "app=web"));
            let found = unknown.as_stated(&own, &scale);
            let stated = found.as_ref().map(|it| &it.scale);
            assert_eq!(stated, is_shared.then_some(&None), "{name}");
            let mut notes = Vec::new();
            UnknownSelector::note_all([&unknown], &own, &scale, &mut notes);
            let assumes = notes
                .iter()
                .any(|note| note.to_string().starts_with("assumed that"));
            assert_eq!(assumes, is_shared, "{name}: {notes:?}");
        }
    }

    #[test]
    fn those_of_the_same_target_select_the_same_pods() {
        let (own, scale) = (hpa(0, FINE, 1, 2), Ok(Scale::new(2, "app=web")));
        for (target, notes) in [("web", 0), ("api", 1)] {
            let mut other = hpa(5, FINE, 6, 6);
            other.spec.scale_target_ref.name = target.to_owned();
            let why = WhyUnknownSelector::NoTarget(format!("Deployment {target}"));
            let unknown = UnknownSelector::new("default/other".to_owned(), Some(&other), why);
            let mut noted = Vec::new();
            UnknownSelector::note_all([&unknown], &own, &scale, &mut noted);
            assert_eq!(noted.len(), notes, "{noted:?}");
        }
    }

    #[test]
    fn a_target_that_never_was_has_no_selector() {
        let other = Hpa::of(&json!({}), json!({}));
        let own = ComparedSelector::of(&hpa(0, FINE, 1, 10));
        for (why, matters) in [
            (
                WhyUnknownSelector::TargetGone {
                    target: "Deployment/gone".to_owned(),
                },
                false,
            ),
            (
                WhyUnknownSelector::NoTarget("Deployment/gone".to_owned()),
                true,
            ),
        ] {
            let unknown = UnknownSelector::new("ops/other".to_owned(), Some(&other), why);
            assert_eq!(unknown.matters_to(own), matters);
        }
        let why = WhyUnknownSelector::HpaUnreadable("it has no spec".to_owned());
        let unknown = UnknownSelector::new("ops/other".to_owned(), None, why);
        assert!(unknown.matters_to(own));
    }
}
