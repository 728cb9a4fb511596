//! The finding `other-writer`.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::apimachinery::managed_fields::{ManagedFieldsEntry, SpecField};
use crate::apimachinery::metadata::OwnerReference;
use crate::engine::decision::{Path, Step};
use crate::findings::last_pass::LastPass;
use crate::findings::writer::{By, by};
use crate::findings::{
    About, Advice, Aspect, Before, Case, Command, Finding, Kind, Rank, Remedy, Severity, Text,
};
use crate::snapshot::hpa::{CrossVersionObjectReference, HpaSpec};
use crate::snapshot::surroundings::ManifestReplicas;
use crate::words::{count, distance, future, time};

/// Something else sets the replicas of the target, or will.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OtherWriter {
    /// The replicas now.
    pub now: i32,
    /// What the last pass left, if that differs.
    pub left: Option<i32>,
    /// Who last set them, if the target says so.
    pub writer: Option<Writer>,
    /// The owner of the target, if its controller sets them.
    pub owner: Option<CrossVersionObjectReference>,
    /// The count that the controller has repeatedly restored.
    pub again: Option<Again>,
    /// The replicas after this pass.
    pub after: Option<i32>,
    /// Until when this pass's recommendation holds the replicas, if the controller left fewer.
    pub held_until: Option<Timestamp>,
    /// The replicas in the target's manifest, which sets them whenever it is applied.
    pub manifest: Option<ManifestReplicas>,
}

impl Kind for OtherWriter {
    type Hits = Option<Finding>;

    const CODE: &'static str = "other-writer";
    const WHEN: &'static str = "The target has other replicas than the last pass left, or the controller scales to the \
             same number over and over: something else sets the replicas, too. A manifest given to \
             `--hpa` that states them will, whenever it is applied.";
    const REMEDY: &'static str =
        "Take `replicas` out of the manifest, and leave it to the HPA alone.";
    const RANK: Rank = Rank::Broken;
    const IS: &'static [Aspect] = &[Aspect::Lasts];

    fn find(case: &Case<'_>, _: &Before<'_>) -> Self::Hits {
        let manifest = case.surroundings().manifest_replicas.clone();
        let seen = seen_writer(case);
        if seen.is_none() && manifest.is_none() {
            return None;
        }
        let (facts, explains) = seen.unwrap_or_default();
        let facts = OtherWriter {
            now: replicas_now(case)?,
            manifest,
            ..facts
        };
        Some(if explains {
            Finding::explaining(Severity::Warning, facts)
        } else {
            Finding::aside(Severity::Warning, facts)
        })
    }

    fn text(&self, about: &About<'_>) -> Text {
        let now = about.now();
        let replicas = |n| count(n, "replica");
        let who = match (&self.owner, &self.writer) {
            (Some(owner), _) => owner.to_string(),
            (None, Some(writer)) => writer.name(),
            (None, None) => "something else".to_owned(),
        };
        let ago = self.writer.as_ref().and_then(|it| it.time);
        let ago = ago.map_or_else(String::new, |it| format!(" {} ago", distance(it, now)));
        let summary = match (self.left, self.again) {
            (Some(left), _) => {
                let set = replicas(self.now);
                format!("{who} set {set}{ago}, though the last pass had left {left}")
            }
            (
                None,
                Some(Again {
                    replicas: to,
                    count,
                    first,
                    ..
                }),
            ) => {
                let (to, since) = (replicas(to), distance(first, now));
                format!(
                    "{who} keeps changing the replicas: the controller put back {to} {count} times in {since}"
                )
            }
            (None, None) => match &self.manifest {
                Some(it) => {
                    let off = match it.replicas {
                        0 => ", which stops all pods and switches the HPA off",
                        _ => "",
                    };
                    let set = replicas(it.replicas);
                    format!("{} sets {set} whenever it is applied{off}", it.origin)
                }
                None => format!("{who} sets the replicas, too"),
            },
        };
        let mut evidence = Vec::new();
        if let Some(owner) = &self.owner {
            evidence.push(format!(
                "{owner} owns {} and sets its replicas.",
                about.hpa().reference()
            ));
        }
        if let Some(Writer {
            manager,
            time: at,
            by,
            ..
        }) = &self.writer
        {
            let through = match by {
                By::Scale | By::Autoscaler => " through the subresource scale",
                _ => "",
            };
            let at = at.map_or_else(String::new, |at| format!(" at {}", time(now, at)));
            let last = if self.left.is_some() {
                "set"
            } else {
                "also sets"
            };
            evidence.push(format!(
                "The field manager {manager} {last} spec.replicas{at}{through}."
            ));
        }
        if let Some(Again {
            replicas: to,
            count,
            first,
            last,
        }) = self.again
        {
            evidence.push(format!(
                "The controller has scaled to {} {count} times since {}, the last time at {}, and \
                 its events do not show it scaling elsewhere in between.",
                replicas(to),
                time(now, first),
                time(now, last)
            ));
        }
        if let Some(ManifestReplicas {
            origin,
            replicas: to,
        }) = &self.manifest
        {
            evidence.push(match to {
                0 => format!(
                    "The manifest in {origin} states spec.replicas: 0. Applied, it stops all pods and \
                     switches the HPA off."
                ),
                to => format!(
                    "The manifest in {origin} states spec.replicas: {to}. Each time it is applied, the \
                     target has {} until the next pass.",
                    replicas(*to)
                ),
            });
        }
        if let Some(after) = self.after.filter(|after| *after != self.now) {
            evidence.push(format!("The next pass changes {} to {after}.", self.now));
        } else if let Some(until) = self.held_until {
            evidence.push(format!(
                "This pass recommends {}, which the controller does not go below until {}; then it \
                 follows its metrics again.",
                self.now,
                future(now, until)
            ));
        }
        let removed = self.writer.as_ref().is_some_and(|it| it.may_have_removed);
        if removed {
            evidence.push(
                "Where a manifest has no replicas, the API server sets its default of 1: once when they are taken \
                 out, and whenever the target is replaced (helm upgrade --force, kubectl replace)."
                    .to_owned(),
            );
        }
        match self.writer.as_ref().map(|it| &it.by) {
            Some(By::ArgoCd) => evidence.push(
                "Argo CD leaves a field alone that ignoreDifferences names if the sync option \
                 RespectIgnoreDifferences=true is set."
                    .to_owned(),
            ),
            Some(By::Apply) if !removed => evidence.push(
                "Taken out of the manifest first, the replicas would be reset to 1.".to_owned(),
            ),
            _ => {}
        }
        if !removed && self.writer.as_ref().is_some_and(|it| it.is_applied) {
            evidence.push(
                "Taken out before the controller scales again, the replicas are reset to 1 if no \
                 other manager owns them."
                    .to_owned(),
            );
        }
        let (target, namespace) = (about.target(), about.namespace());
        let fields: Command =
            format!("kubectl get {target} {namespace} -o yaml --show-managed-fields").into();
        let by = self
            .writer
            .as_ref()
            .map(|it| &it.by)
            .filter(|_| self.owner.is_none());
        let take_out = |what: &str| {
            Remedy::TakeOut.says(match (removed, by) {
                (true, Some(By::Helm)) => format!("If the chart states replicas, {RESET}"),
                (true, Some(By::ArgoCd)) => {
                    "If the manifest states replicas, take them out, or have Argo CD ignore /spec/replicas."
                        .to_owned()
                }
                (true, _) => format!("If the manifest states replicas, {RESET}"),
                (false, _) => format!("Take {what}."),
            })
        };
        let (advice, commands): (Advice, Vec<Command>) = match by {
            Some(By::Scale | By::Hand) => (
                Remedy::ChangeBounds.says(match self.bounds(about) {
                    Some(bounds) if bounds.get("minReplicas").is_some() => {
                        format!("Change {} instead.", about.field("minReplicas"))
                    }
                    Some(_) => format!("Change {} instead.", about.field("maxReplicas")),
                    None => format!(
                        "Change {} or {} instead.",
                        about.field_name("minReplicas"),
                        about.field("maxReplicas")
                    ),
                }),
                about
                    .predict_for("10m", "")
                    .into_iter()
                    .chain(self.bounds(about).and_then(|bounds| about.patch_spec(&bounds)))
                    .collect(),
            ),
            Some(By::ArgoCd) => (
                take_out("replicas out of the manifest, or have Argo CD ignore /spec/replicas"),
                vec![fields],
            ),
            Some(By::Helm) => (
                take_out("replicas out of the chart's manifest where an HPA scales it"),
                vec![fields],
            ),
            Some(By::Flux) => {
                (take_out("replicas out of the manifest that Flux applies"), vec![fields])
            }
            Some(By::ServerSide) => {
                let manager = self.writer.as_ref().map_or("", |it| &it.manager);
                (
                    take_out(&format!("replicas out of the manifest that {manager} applies")),
                    vec![fields],
                )
            }
            Some(By::Autoscaler | By::Program) if let Some(owner) = self.of_keda(about) => (
                about.conflict(owner).unwrap_or_else(|| {
                    Remedy::LookAtScaledObject.says(format!(
                        "Look at ScaledObject/{}: KEDA itself scales to 0, from there, and to its fallback.",
                        owner.name
                    ))
                }),
                vec![about.kubectl_for(&owner.name, "describe scaledobject", "")],
            ),
            Some(By::Autoscaler | By::Program) => (
                Remedy::LeaveReplicas.says(format!("Have {who} leave the replicas to the HPA.")),
                vec![fields],
            ),
            Some(By::Apply) => (
                take_out("replicas out of the last applied manifest, then out of the manifest"),
                vec![
                    format!("kubectl apply edit-last-applied {target} {namespace}").into(),
                    fields,
                ],
            ),
            None if self.owner.is_some() => {
                let reference = about.field("scaleTargetRef");
                let patch = self.owner.as_ref().and_then(|it| {
                    let own =
                        json!({"apiVersion": it.api_version, "kind": it.kind, "name": it.name});
                    about.patch_spec(&json!({ "scaleTargetRef": own }))
                });
                (
                    Remedy::PointAt.says(format!("Point {reference} at {who}.")),
                    patch.into_iter().collect(),
                )
            }
            None if self.manifest.is_some() => (
                take_out("replicas out of the manifest, and leave them to the HPA alone"),
                Vec::new(),
            ),
            None => (
                Remedy::TakeOut
                    .says("Find out what sets the replicas, and take replicas out of manifests."),
                vec![fields],
            ),
        };
        Text {
            summary,
            evidence,
            advice,
            commands,
            objects: vec![target],
        }
    }
}

/// Who set the replicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Writer {
    /// The field manager.
    pub manager: String,
    /// When.
    pub time: Option<Timestamp>,
    /// How they were set.
    pub by: By,
    /// Whether a manifest that the API server applies states them.
    pub is_applied: bool,
    /// Whether it may have taken the replicas out of a manifest: the API server then sets 1.
    pub may_have_removed: bool,
}

/// Scaling to the same count over and over, without other scaling by the controller in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Again {
    /// The replicas.
    pub replicas: i32,
    /// How many times.
    pub count: i32,
    /// The first time.
    pub first: Timestamp,
    /// The last time.
    pub last: Timestamp,
}

/// The maximum time that a pass takes from reading the scale to writing its status.
const SETTLED: SignedDuration = SignedDuration::from_secs(60);

/// Returns the replicas that the target has: who assumes others is not looked for.
fn replicas_now(case: &Case<'_>) -> Option<i32> {
    case.pass
        .input
        .observed_replicas
        .or_else(|| Some(case.scale()?.spec_replicas))
}

/// Returns what else has set the replicas, and whether that explains the pass.
fn seen_writer(case: &Case<'_>) -> Option<(OtherWriter, bool)> {
    let hpa = &case.snapshot().hpa;
    let now = replicas_now(case)?;
    let is_assumed = case.pass.input.observed_replicas.is_some();
    let last = LastPass::of(&hpa.status, now)?;
    // Switching on and off is a different matter.
    if now == 0 || last.left() == 0 {
        return None;
    }
    let managed = case
        .workload()
        .map_or(&[][..], |target| &target.metadata.managed_fields);
    let writer = managed
        .iter()
        .filter(|it| it.owns(SpecField::Replicas))
        .max_by_key(|it| it.time);
    let owner = replicas_owner(case);
    let is_of_controller = |entry: &ManagedFieldsEntry| {
        entry.manager == CONTROLLER_MANAGER && (entry.is_of_scale() || owner.is_none())
    };
    let by_controller = writer.is_some_and(is_of_controller)
        || case
            .pass
            .input
            .scaled_to(now)
            .any(|time| hpa.written.status.is_none_or(|it| time > it));
    // If the target was not read, the controller may have scaled it since its status was read.
    let differs = now != last.left() && !by_controller && !is_assumed && case.workload().is_some();
    let again = again(case);
    if !differs && again.is_none() {
        return None;
    }
    // What was written long before the last pass is what that pass found.
    let is_later = |it: &&ManagedFieldsEntry| match (it.time, hpa.written.status) {
        (Some(time), Some(status)) => !differs || status.duration_since(time) < SETTLED,
        _ => true,
    };
    let writer = writer.filter(|it| !is_of_controller(it)).filter(is_later);
    let after = case.decision().replicas_after().filter(|_| !is_assumed);
    let writer = writer.map(|it| Writer {
        manager: it.manager.clone(),
        time: it.time,
        by: by(it),
        is_applied: it.is_applied(),
        may_have_removed: differs && now == 1 && by(it).is_of_manifest(),
    });
    let by_owner = writer.as_ref().is_none_or(|it| it.by == By::Program);
    let owner = owner
        .filter(|_| by_owner)
        .map(|it| CrossVersionObjectReference {
            api_version: it.api_version.clone(),
            kind: it.kind.clone(),
            name: it.name.clone(),
        });
    let corrects = matches!(
        case.decision().path(),
        Some(Path::AboveMax | Path::BelowMin)
    );
    let repeats =
        again.is_some() || owner.is_some() || writer.as_ref().is_some_and(|it| it.by.repeats());
    let facts = OtherWriter {
        now,
        left: differs.then(|| last.left()),
        writer,
        owner,
        again,
        after,
        held_until: (after == Some(now) && now > last.left())
            .then(|| held_until(case))
            .flatten(),
        manifest: None,
    };
    // A single correction is explained by the finding about the correction.
    Some((facts, !is_assumed && (!corrects || repeats)))
}

/// Returns until when this pass's recommendation keeps the controller from scaling down.
fn held_until(case: &Case<'_>) -> Option<Timestamp> {
    let window = case.decision().trace.iter().find_map(|step| match step {
        Step::Stabilize { down_window, .. } => Some(*down_window),
        _ => None,
    })?;
    case.snapshot().now.checked_add(window).ok()
}

/// The field manager of the built-in controllers.
const CONTROLLER_MANAGER: &str = "kube-controller-manager";

/// Returns the owner of the target whose controller sets the target's replicas, as that of a Deployment sets
/// those of its ReplicaSets.
fn replicas_owner<'p>(case: &Case<'p>) -> Option<&'p OwnerReference> {
    let workload = case
        .workload()
        .filter(|_| case.target().has_no_rollouts())?;
    workload.metadata.controller()
}

/// Looks for events that show the controller scaling to one count over and over. If it had scaled
/// elsewhere in between, there would be about as many events about that.
fn again(case: &Case<'_>) -> Option<Again> {
    /// Events that are further apart are not connected.
    const KEPT: SignedDuration = SignedDuration::from_mins(30);
    /// This many are no coincidence.
    const SEVERAL: i32 = 3;
    let input = &case.pass.input;
    let hpa = &case.snapshot().hpa;
    let events = || {
        input
            .evidence
            .events
            .iter()
            .filter(|it| it.is_rescale_of(hpa))
    };
    let most = events().max_by_key(|it| it.count)?;
    let (first, last, count) = (most.first?, most.last?, most.count);
    let replicas = most.new_size()?;
    let of_size = |size| events().filter(move |it| (it.new_size() == Some(replicas)) == size);
    let others: i32 = of_size(false).map(|it| it.count.max(1)).sum();
    let is_recent = case.snapshot().now.duration_since(last) < KEPT;
    let is_dense = last.duration_since(first) < KEPT * (count - 1).max(1);
    (count >= SEVERAL && others < count - 1 && is_recent && is_dense).then_some(Again {
        replicas,
        count,
        first,
        last,
    })
}

impl OtherWriter {
    /// Returns the ScaledObject of the HPA, if KEDA has scaled the target itself.
    fn of_keda<'a>(&self, about: &About<'a>) -> Option<&'a OwnerReference> {
        let manager = &self.writer.as_ref()?.manager;
        about
            .hpa()
            .scaled_object()
            .filter(|_| manager.contains("keda"))
    }

    /// Returns the bound that allows these replicas or keeps them, unless it would leave the HPA no choice.
    fn bounds(&self, about: &About<'_>) -> Option<serde_json::Value> {
        let HpaSpec {
            min_replicas,
            max_replicas: max,
            ..
        } = about.hpa().spec;
        let (now, min) = (self.now, min_replicas.unwrap_or(1));
        let is_lower = self.left.is_some_and(|left| left > now);
        match (min > now, max < now) {
            (true, _) => Some(json!({"minReplicas": now})),
            (_, true) => Some(json!({"maxReplicas": now})),
            _ if is_lower => (min < now).then(|| json!({"maxReplicas": now})),
            _ => (now < max).then(|| json!({"minReplicas": now})),
        }
    }
}

impl Writer {
    /// Returns its name, with what it is known as.
    fn name(&self) -> String {
        let manager = &self.manager;
        match self.by {
            By::Scale if manager == "kubectl" => "kubectl scale".to_owned(),
            By::ServerSide if manager == "kubectl" => "kubectl apply --server-side".to_owned(),
            By::ArgoCd => "Argo CD".to_owned(),
            By::Helm => "Helm".to_owned(),
            By::Flux => "Flux".to_owned(),
            _ => manager.clone(),
        }
    }
}

/// What the API server's default of 1 may mean: the replicas were taken out of their manifest, or the target was
/// replaced by a manifest without any.
const RESET: &str =
    "take them out. If not, it happens once, or at each replace (helm upgrade --force).";
