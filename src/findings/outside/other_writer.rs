//! The finding `other-writer`.

use std::collections::BTreeSet;

use super::show_fields;
use crate::apimachinery::managed_fields::ManagedFieldsEntry;
use crate::findings::last_pass::LastPass;
use crate::findings::path::corrected::{BeyondBoundCause, Correction};
use crate::findings::prelude::*;
use crate::findings::writer::{By, by};
use crate::snapshot::evidence::Event;
use crate::snapshot::hpa::CrossVersionObjectReference;
use crate::snapshot::surroundings::{Fallback, ManifestReplicas, ScaledObject};

/// The target does not have the replicas that the last pass left, or the controller scales to the same number over and
/// over, or a Deployment, a Rollout or a DeploymentConfig owns the target: something else sets the replicas, too. A
/// manifest given to `--hpa` that states replicas will do so whenever it is applied.
///
/// Take `replicas` out of the manifest, and leave it to the HPA alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OtherWriter {
    /// The replicas now.
    pub now: i32,
    /// The replicas that the last pass left, if they differ.
    pub left: Option<i32>,
    /// The last writer of the replicas, if the target shows it.
    pub writer: Option<Writer>,
    /// The owner of the target, if its controller sets the replicas.
    pub owner: Option<CrossVersionObjectReference>,
    /// Another HPA, which scales that owner.
    pub hpa: Option<String>,
    /// The count that the controller has repeatedly restored.
    pub again: Option<Again>,
    /// The replicas after this pass.
    pub after: Option<i32>,
    /// Until when this pass's recommendation holds the replicas, if the controller left fewer.
    pub held_until: Option<Timestamp>,
    /// The side whose bound, set to these replicas, makes the pass keep them.
    pub keeps: Option<Direction>,
    /// The replicas in the target's manifest, which sets them whenever it is applied.
    pub manifest: Option<ManifestReplicas>,
}

impl Kind for OtherWriter {
    fn find(case: &Case<'_>) -> Option<Finding> {
        let manifest = case.surroundings.manifest_replicas.clone();
        let controlling = controlling(case);
        let seen = seen_writer(case, controlling.is_some());
        let is_its_own = |it: &OtherWriter| it.is_of_program();
        let owner =
            controlling.filter(|it| it.sets_replicas() || seen.as_ref().is_some_and(is_its_own));
        let is_seen = seen.is_some() || owner.is_some();
        if !is_seen && manifest.is_none() {
            return None;
        }
        let is_assumed = case.pass.input.observed_replicas().is_some();
        let facts = OtherWriter {
            now: replicas_now(case)?,
            manifest,
            hpa: owner.as_ref().and_then(|it| case.hpa_of(it)),
            owner,
            ..seen.unwrap_or_default()
        };
        // A single correction is explained by the finding about the correction.
        let is_single = case.decision.corrects().is_some() && !facts.repeats();
        let explains = is_seen && !is_assumed && !is_single;
        Some(Finding::new(Severity::Warning, explains, facts))
    }

    fn cause(&self, about: &About<'_>) -> Option<Code> {
        // Without a controller, whoever scales other than by a manifest may stand in for it.
        let writer = self.writer.as_ref().filter(|_| self.owner.is_none());
        let stands_in = writer.is_some_and(|it| !it.by.is_of_manifest());
        // The advice on what a person set beyond a bound is about the bound.
        about.first(|it| match &it.facts {
            Facts::AboveMax(Correction::Due(due)) | Facts::BelowMin(Correction::Due(due)) => {
                due.cause == BeyondBoundCause::Person
            }
            Facts::ControllerSilent(_) => stands_in && it.severity == Severity::Error,
            _ => false,
        })
    }

    fn summary(&self, about: &About<'_>) -> String {
        let now = about.now();
        let who = self.who();
        if let Some(left) = self.left {
            let at = self.writer.as_ref().and_then(|it| it.time);
            let ago = at.map_or_else(String::new, |at| format!(" {} ago", distance(at, now)));
            let set = count(self.now, "replica");
            return format!("{who} set {set}{ago}, though the last pass had left {left}");
        }
        if let Some(again) = self.again {
            return format!(
                "{who} keeps changing the replicas: the controller put back {} {} times in {}",
                count(again.replicas, "replica"),
                again.count,
                distance(again.first, now)
            );
        }
        match &self.manifest {
            Some(manifest) => {
                let off = match manifest.replicas {
                    0 => ", which stops all pods and switches the HPA off",
                    _ => "",
                };
                let set = count(manifest.replicas, "replica");
                format!("{} sets {set} whenever it is applied{off}", manifest.origin)
            }
            None => format!("{who} sets the replicas, too"),
        }
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let now = about.now();
        let mut evidence = Vec::new();
        if let Some(owner) = &self.owner {
            let target = about.reference();
            evidence.push(format!("{owner} owns {target} and sets its replicas."));
        }
        let writer = self.writer.as_ref();
        evidence.extend(writer.map(|it| it.sentence(now, self.left.is_some())));
        evidence.extend(self.again.map(|it| it.sentence(now)));
        evidence.extend(self.manifest.as_ref().map(about_manifest));
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
        evidence.extend(writer.into_iter().flat_map(Writer::cautions));
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        if let Some(owner) = &self.owner {
            return match &self.hpa {
                Some(hpa) => {
                    let made_from = about.owner();
                    let own = made_from.map_or_else(|| "this HPA".to_owned(), |it| it.to_string());
                    Remedy::LeaveReplicas
                        .says(format!("Delete {own}: {owner} is the target of HPA {hpa}."))
                }
                None => about.point_at(Remedy::PointAt, owner, "."),
            };
        }
        let fields = show_fields(about);
        let Some(writer) = &self.writer else {
            return match self.manifest {
                Some(_) => Remedy::TakeOut
                    .says("Take replicas out of the manifest, and leave them to the HPA alone."),
                None => Remedy::TakeOut
                    .says("Find out what sets the replicas, and take replicas out of manifests.")
                    .with(fields),
            };
        };
        let advice = match writer.by {
            By::Scale | By::Hand => return self.change_bounds(about),
            By::ArgoCd => writer.take_out("the manifest"),
            By::Helm => writer.take_out("the chart's manifest where an HPA scales it"),
            By::Flux => writer.take_out("the manifest that Flux applies"),
            By::ServerSide => {
                writer.take_out(&format!("the manifest that {} applies", writer.manager))
            }
            By::Autoscaler | By::Program => match self.of_keda(about) {
                Some(owner) => return look_at_keda(about, owner),
                None => Remedy::LeaveReplicas.says(format!(
                    "Have {} leave the replicas to the HPA.{}",
                    self.who(),
                    set_through(about, writer.by)
                )),
            },
            By::Replace => Remedy::TakeOut.says(format!(
                "Apply a manifest without replicas: {} sets them each time, to 1 if its manifest has none.",
                self.who()
            )),
            By::Apply => writer
                .take_out("the last applied manifest, then out of the manifest")
                .with(about.kubectl_quoted("apply edit-last-applied", &about.target(), "")),
        };
        advice.with(fields)
    }
}

/// The writer of the replicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Writer {
    /// The field manager.
    pub manager: String,
    /// The time of the write.
    pub time: Option<Timestamp>,
    /// The means by which they were set.
    pub by: By,
    /// Whether a manifest that the API server applies states the replicas.
    pub is_applied: bool,
    /// Whether the writer may have removed the replicas from a manifest: the API server then sets 1.
    pub may_have_removed: bool,
}

/// Describes what a manifest states.
fn about_manifest(manifest: &ManifestReplicas) -> String {
    let ManifestReplicas { origin, replicas } = manifest;
    match replicas {
        0 => format!(
            "The manifest in {origin} states spec.replicas: 0. Applied, it stops all pods and \
             switches the HPA off."
        ),
        to => format!(
            "The manifest in {origin} states spec.replicas: {to}. Each time it is applied, the \
             target has {} until the next pass.",
            count(*to, "replica")
        ),
    }
}

/// Returns the advice to look at KEDA's own scaling.
fn look_at_keda(about: &About<'_>, owner: OwnScaledObject<'_>) -> Advice {
    let advice = about.conflict(owner).unwrap_or_else(|| {
        Remedy::LookAtScaledObject.says(format!(
            "Look at {owner}: KEDA itself scales to 0 or its idleReplicaCount, from there, and to its fallback."
        ))
    });
    advice.with(about.describe_scaled_object(owner))
}

/// Says where an operator's replicas may be set: its usual field manager names nothing that a user knows.
fn set_through(about: &About<'_>, by: By) -> String {
    let workload = about.workload().filter(|_| by == By::Program);
    let owner = workload.and_then(|it| it.metadata.controller());
    let Some(owner) = owner else {
        return String::new();
    };
    format!(
        " {}/{} owns {}: if its operator sets them, set them there.",
        owner.kind,
        owner.name,
        about.reference()
    )
}

/// Repeated scaling to the same count, without other scaling by the controller in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Again {
    /// The replicas.
    pub replicas: i32,
    /// The number of times.
    pub count: i32,
    /// The first time.
    pub first: Timestamp,
    /// The last time.
    pub last: Timestamp,
}

impl Again {
    /// Describes the repeated scaling.
    fn sentence(&self, now: Timestamp) -> String {
        format!(
            "The controller has scaled to {} {} times since {}, the last time at {}, and \
             its events do not show it scaling elsewhere in between.",
            count(self.replicas, "replica"),
            self.count,
            time(now, self.first),
            time(now, self.last)
        )
    }
}

/// The maximum time that a pass takes from reading the scale to writing its status.
const SETTLED: SignedDuration = SignedDuration::from_secs(60);

/// Returns the observed replicas of the target, even if others are assumed: assumed replicas have no writer to look
/// for.
fn replicas_now(case: &Case<'_>) -> Option<i32> {
    let scale = case.pass.input.as_observed().scale.as_ref();
    scale.ok().map(|scale| scale.spec_replicas)
}

/// Returns what the replicas and their managers show about another writer, given whether the target has an owner.
fn seen_writer(case: &Case<'_>, is_owned: bool) -> Option<OtherWriter> {
    let hpa = &case.snapshot.hpa;
    let now = replicas_now(case)?;
    let is_assumed = case.pass.input.observed_replicas().is_some();
    let last = LastPass::of(&hpa.status, now)?;
    // Switching on and off is a different matter.
    if now == 0 || last.left() == 0 {
        return None;
    }
    let last_entry = case.last_replicas_write();
    let controller = hpa.written.controller.as_deref();
    let is_of_controller = |entry: &ManagedFieldsEntry| {
        entry.manager == controller.unwrap_or(CONTROLLER_MANAGER)
            && (entry.is_of_scale() || !is_owned)
    };
    let by_controller = last_entry.is_some_and(is_of_controller)
        || case
            .pass
            .input
            .scaled_to(now)
            .any(|time| hpa.written.status.is_none_or(|it| time > it));
    // If the target was not read, the controller may have scaled it since its status was read.
    let differs = now != last.left() && !by_controller && !is_assumed && case.workload().is_some();
    let is_of_others = |entry: &ManagedFieldsEntry| {
        !is_of_controller(entry) && !entry.manager.contains("keda") && by(entry).repeats()
    };
    let is_third =
        |again: &Again| last_entry.is_some_and(is_of_others) || has_left(case, again.replicas);
    let again = again(case).filter(|again| !may_idle(case) || is_third(again));
    if !differs && again.is_none() {
        return None;
    }
    let entry = last_entry
        .filter(|entry| !is_of_controller(entry))
        // A value written long before the last pass is the one that the pass found.
        .filter(|entry| match (entry.time, hpa.written.status) {
            (Some(time), Some(status)) => !differs || status.duration_since(time) < SETTLED,
            _ => true,
        });
    let after = case.decision.replicas_after().filter(|_| !is_assumed);
    let writer = entry.map(|entry| Writer {
        manager: entry.manager.clone(),
        time: entry.time,
        by: by(entry),
        is_applied: entry.is_applied(),
        may_have_removed: differs && now == 1 && by(entry).is_of_manifest(),
    });
    Some(OtherWriter {
        now,
        left: differs.then(|| last.left()),
        writer,
        again,
        after,
        keeps: keeps(case, now, last.left()),
        held_until: (after == Some(now) && now > last.left())
            .then(|| held_until(case))
            .flatten(),
        ..OtherWriter::default()
    })
}

/// Returns the side whose bound, set to the replicas that a person has set, makes the pass keep them; `None` if the
/// metrics propose more, or if they are at a bound already, so that the other bound would fix them.
fn keeps(case: &Case<'_>, now: i32, left: i32) -> Option<Direction> {
    let spec = &case.snapshot.hpa.spec;
    let is_more = case.decision.proposal > Some(now) && !spec.is_disabled(Direction::Up);
    if is_more || [spec.min(), spec.max_replicas].contains(&now) {
        return None;
    }
    let mut sides = Direction::BOTH;
    if left < now {
        sides.reverse();
    }
    // A window keeps them for a while only.
    let with = |side: Direction| case.forget(|it| it.hpa.spec.set_bound(side, now));
    sides
        .into_iter()
        .find(|side| with(*side).replicas_after() == Some(now))
}

/// Returns until when this pass's recommendation keeps the controller from scaling down.
fn held_until(case: &Case<'_>) -> Option<Timestamp> {
    let window = case.decision.stabilization()?.down_window;
    case.snapshot.now.checked_add(window).ok()
}

/// The usual field manager of the built-in controllers.
const CONTROLLER_MANAGER: &str = "kube-controller-manager";

/// Returns the owner of the target whose controller may set the target's replicas, as a Deployment's controller does
/// for its ReplicaSets.
fn controlling(case: &Case<'_>) -> Option<CrossVersionObjectReference> {
    let workload = case
        .workload()
        .filter(|_| case.target().has_no_rollouts())?;
    let owner = workload.metadata.controller()?;
    Some(CrossVersionObjectReference {
        api_version: owner.api_version.clone(),
        kind: owner.kind.clone(),
        name: owner.name.clone(),
    })
}

/// Looks for events that show the controller scaling to one count over and over. If it had scaled to other counts in
/// between, there would be about as many events about those.
fn again(case: &Case<'_>) -> Option<Again> {
    /// Events that are further apart are not connected.
    const KEPT: SignedDuration = SignedDuration::from_mins(30);
    /// This many are no coincidence.
    const SEVERAL: i32 = 3;
    let events = || case.pass.input.rescale_events();
    let most = events().max_by_key(|it| it.count)?;
    let (first, last, count) = (most.first?, most.last?, most.count);
    let replicas = most.new_size()?;
    let of_size = |size| events().filter(move |it| (it.new_size() == Some(replicas)) == size);
    let others = of_size(false)
        .map(|it| it.count)
        .fold(0, i32::saturating_add);
    let is_recent = case.snapshot.now.duration_since(last) < KEPT;
    let is_dense = last.duration_since(first) < KEPT * (count - 1).max(1);
    (count >= SEVERAL && others < count - 1 && is_recent && is_dense).then_some(Again {
        replicas,
        count,
        first,
        last,
    })
}

/// Whether KEDA may scale the target to an idle count and back, about which the controller has no events.
fn may_idle(case: &Case<'_>) -> bool {
    let idles = |it: &ScaledObject| {
        it.spec.min_replica_count.is_none_or(|least| least <= 0)
            || it.spec.idle_replica_count.is_some()
    };
    case.snapshot.hpa.scaled_object().is_some() && case.scaled_object().is_none_or(idles)
}

/// Returns the counts above 0 to which KEDA itself may scale a target down; `None` if they are unknown, as with a
/// fallback that depends on the current replicas.
fn counts_of_keda(object: &ScaledObject) -> Option<[Option<i32>; 3]> {
    let fallback = object.spec.fallback.as_ref();
    fallback.is_none_or(Fallback::is_static).then_some([
        object.spec.idle_replica_count,
        fallback.map(|it| it.replicas),
        object.paused_replicas(),
    ])
}

/// Whether the target has gone from a count to a lower one above 0, and neither the controller nor KEDA did that.
fn has_left(case: &Case<'_>, replicas: i32) -> bool {
    let input = &case.pass.input;
    let Some(of_keda) = case.scaled_object().and_then(counts_of_keda) else {
        return false;
    };
    let followed = || input.evidence.scaled.iter();
    // During a rollout, a count of one ReplicaSet is not the target's.
    let sets: BTreeSet<Option<&str>> = followed().map(Event::replica_set).collect();
    let goes = |(from, to): (Option<i32>, i32)| {
        from == Some(replicas)
            && (1..replicas).contains(&to)
            && !of_keda.contains(&Some(to))
            && input.scaled_to(to).next().is_none()
    };
    sets.len() == 1 && followed().filter_map(Event::followed).any(goes)
}

impl OtherWriter {
    /// Whether the last writer may be the controller of the target's owner.
    fn is_of_program(&self) -> bool {
        let writer = self.writer.as_ref();
        writer.is_none_or(|it| it.by == By::Program)
    }

    /// Whether the writer will set the replicas again.
    fn repeats(&self) -> bool {
        let writer = self.writer.as_ref();
        self.again.is_some() || self.owner.is_some() || writer.is_some_and(|it| it.by.repeats())
    }

    /// Returns the name of the writer of the replicas.
    fn who(&self) -> String {
        match (&self.owner, &self.writer) {
            (Some(owner), _) if self.left.is_none() || self.is_of_program() => owner.to_string(),
            (_, Some(writer)) => writer.name(),
            (_, None) => "something else".to_owned(),
        }
    }

    /// Returns the advice to change a bound of the HPA instead of the replicas, if that keeps them.
    fn change_bounds(&self, about: &About<'_>) -> Advice {
        let tried = about.predict_for("10m", "");
        let Some(side) = self.keeps else {
            let mut text = "Leave the replicas to the HPA".to_owned();
            let spec = &about.hpa.spec;
            let proposal = about.pass.decision.proposal;
            let is_more = proposal > Some(self.now);
            let way = if is_more {
                Direction::Up
            } else {
                Direction::Down
            };
            if let Some(proposal) = proposal.filter(|_| !spec.is_disabled(way)) {
                text += &format!(": its metrics propose {proposal}");
                let bound = |side: Direction| spec.bound(side);
                let is_beyond = |side: &Direction| side.is_beyond(proposal, bound(*side));
                if let Some(side) = Direction::BOTH.into_iter().find(is_beyond) {
                    text += &format!(", and {} is {}", side.words().bound, bound(side));
                }
            }
            return Remedy::LeaveReplicas.says(text + ".").with_all(tried);
        };
        let bound = side.words().bound;
        Remedy::ChangeBounds
            .says(format!(
                "Change {} instead, if {} is right.",
                about.field(bound),
                self.now
            ))
            .with_all(tried)
            .with_all(about.patch_spec(&json!({ bound: self.now })))
    }

    /// Returns the ScaledObject of the HPA, if KEDA has scaled the target itself.
    fn of_keda<'a>(&self, about: &About<'a>) -> Option<OwnScaledObject<'a>> {
        let manager = &self.writer.as_ref()?.manager;
        about.owner().filter(|_| manager.contains("keda"))
    }
}

impl Writer {
    /// Describes what the writer has set.
    fn sentence(&self, now: Timestamp, has_changed: bool) -> String {
        let manager = &self.manager;
        let set = if has_changed { "set" } else { "also sets" };
        let at = self
            .time
            .map_or_else(String::new, |at| format!(" at {}", time(now, at)));
        let through = match self.by {
            By::Scale | By::Autoscaler => " through the subresource scale",
            _ => "",
        };
        format!("The field manager {manager} {set} spec.replicas{at}{through}.")
    }

    /// Returns the cautions for removing the replicas from a manifest.
    fn cautions(&self) -> Vec<String> {
        let removed = self.may_have_removed;
        let mut cautions = Vec::new();
        if removed {
            cautions.push(
                "Where a manifest has no replicas, the API server sets its default of 1: once when they are taken \
                 out, and whenever the target is replaced (helm upgrade --force, kubectl replace)."
                    .to_owned(),
            );
        }
        match self.by {
            By::ArgoCd => cautions.push(
                "Argo CD leaves a field alone that ignoreDifferences names if the sync option \
                 RespectIgnoreDifferences=true is set."
                    .to_owned(),
            ),
            By::Apply if !removed => cautions.push(
                "Taken out of the manifest first, the replicas would be reset to 1.".to_owned(),
            ),
            _ => {}
        }
        if !removed && self.is_applied {
            cautions.push(
                "Taken out before the controller scales again, the replicas are reset to 1 if no \
                 other manager owns them."
                    .to_owned(),
            );
        }
        cautions
    }

    /// Returns the advice to remove the replicas from a manifest, unless the manifest may already state none.
    fn take_out(&self, manifest: &str) -> Advice {
        /// The API server's default of 1: the replicas were removed from their manifest, or the target was replaced by
        /// a manifest without any.
        const RESET: &str = "take them out. If not, the reset to 1 happens once, or at each replace (helm upgrade --force).";
        // A merge of the last manifest and the new one deletes the field, whatever its value is.
        let merges = matches!(self.by, By::ArgoCd | By::Helm | By::Flux) && !self.is_applied;
        let reset = if merges {
            ", which resets them to 1 once"
        } else {
            ""
        };
        Remedy::TakeOut.says(match (self.may_have_removed, self.by) {
            (false, By::ArgoCd) => format!(
                "Have Argo CD ignore /spec/replicas, or take replicas out of {manifest}{reset}."
            ),
            (false, _) => format!("Take replicas out of {manifest}{reset}."),
            (true, By::Helm) => format!("If the chart states replicas, {RESET}"),
            (true, By::ArgoCd) => {
                "If the manifest states replicas, have Argo CD ignore /spec/replicas, or take them out."
                    .to_owned()
            }
            (true, _) => format!("If the manifest states replicas, {RESET}"),
        })
    }

    /// Returns the writer's name, with the tool that it belongs to.
    fn name(&self) -> String {
        let manager = &self.manager;
        match self.by {
            By::Scale if manager == "kubectl" => "kubectl scale".to_owned(),
            By::ServerSide if manager == "kubectl" => "kubectl apply --server-side".to_owned(),
            By::Replace => manager.replace('-', " "),
            By::ArgoCd => "Argo CD".to_owned(),
            By::Helm => "Helm".to_owned(),
            By::Flux => "Flux".to_owned(),
            _ => manager.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::build;
    use crate::findings::Code;
    use crate::findings::outside::testing::{
        deployment, rescale, settled, unknown_memory, with_pods, writes,
    };
    use crate::findings::testing::{
        found, of_keda, only, only_of, owned_by_keda, said, set_by, with, with_hpa,
    };

    #[test]
    fn replicas_that_somebody_else_set() {
        // Whoever applies the manifest need not have written this.
        let annotations =
            json!({"argocd.argoproj.io/tracking-id": "web", "meta.helm.sh/release-name": "shop"});
        let annotated = json!({"metadata": { "annotations": annotations }});
        let writer = |left: i32, now: i32, managed: &Value| {
            let target = build::with(deployment(now, managed), &annotated);
            let items = with_pods([unknown_memory(), settled(left), target], 5, "50m");
            only_of::<OtherWriter>(&items).map(|(facts, it)| {
                assert_eq!((it.severity, it.explains), (Severity::Warning, true));
                assert_eq!((facts.now, facts.left), (now, Some(left)));
                facts.writer.map(|it| it.by)
            })
        };
        for (manager, subresource, by) in [
            ("kubectl", "scale", By::Scale),
            ("k9s", "scale", By::Scale),
            ("kubectl-scale", "scale", By::Scale),
            ("cronhpa", "scale", By::Autoscaler),
            ("ocelot", "scale", By::Autoscaler),
            ("argocd-controller", "", By::ArgoCd),
            ("helm", "", By::Helm),
            ("kustomize-controller", "", By::Flux),
            ("kubectl-client-side-apply", "", By::Apply),
            ("kubectl-edit", "", By::Hand),
            ("kubectl-patch", "", By::Hand),
            ("my-operator", "", By::Program),
        ] {
            let managed = writes(manager, subresource);
            for (left, now) in [(3, 8), (9, 5)] {
                assert_eq!(writer(left, now, &managed), Some(Some(by)), "{managed}");
            }
        }
        let none = json!([]);
        assert_eq!(writer(9, 5, &none), Some(None));
        let by_hand = writes("kubectl", "scale");
        for (left, now, managed) in [
            // The controller itself, which has not written its status yet.
            (3, 8, &writes("kube-controller-manager", "scale")),
            (5, 5, &by_hand),
            // Switched off and on.
            (3, 0, &by_hand),
            (0, 3, &by_hand),
        ] {
            assert_eq!(writer(left, now, managed), None, "{left} {now} {managed}");
        }
        // In some distributions, the controller has another name.
        let distribution =
            json!([{"manager": "k3s", "subresource": "status", "time": "2026-11-21T05:59:51Z"}]);
        let target = deployment(8, &writes("k3s", "scale"));
        let items = with_pods([unknown_memory(), settled(3), target], 5, "50m");
        let items = with_hpa(
            &items,
            &json!({"metadata": {"managedFields": distribution}}),
        );
        assert_eq!(only(Code::OtherWriter, &items), None);
        // An event of the controller about the same count, after the status.
        let later = build::with(
            rescale(8, 1),
            &json!({"lastTimestamp": "2026-11-21T05:59:58Z"}),
        );
        let items = [unknown_memory(), settled(3), deployment(8, &none), later];
        let items = with_pods(items, 5, "50m");
        assert_eq!(only(Code::OtherWriter, &items), None);
        // A single correction by a pass is explained by the finding about the correction.
        // If a program writes, it will write again, and so comes first.
        let code = |now: i32, writer: &Value| {
            let hpa = build::with(settled(3), &json!({"spec": {"maxReplicas": 4}}));
            let items = [unknown_memory(), hpa, deployment(now, writer)];
            let items = with_pods(items, usize::try_from(now).expect("a count"), "50m");
            found(&items)[0].code()
        };
        for (writer, comes_first) in [
            (&by_hand, false),
            (&writes("cronhpa", "scale"), true),
            (&writes("kubectl-edit", ""), false),
            (&json!([]), false),
            (&writes("helm", ""), true),
            (&writes("argocd-controller", ""), true),
            (&writes("my-operator", ""), true),
        ] {
            let want = |corrected| {
                if comes_first {
                    Code::OtherWriter
                } else {
                    corrected
                }
            };
            assert_eq!(code(1, writer), want(Code::BelowMin), "{writer}");
            assert_eq!(code(6, writer), want(Code::AboveMax), "{writer}");
        }
    }

    /// The controller of a Deployment sets the replicas of its ReplicaSets, not the HPA controller.
    #[test]
    fn replicas_of_a_target_that_something_owns() {
        let owners = build::owned_by("apps/v1", "Deployment", "shop");
        let hpa = writes("kube-controller-manager", "scale");
        let owner = |kind: &str, owners: &Value, writer: &Value, max: i32| {
            let kind = json!({ "kind": kind });
            let target = build::with(deployment(5, writer), &kind);
            let target = build::with(target, &json!({"metadata": {"ownerReferences": owners}}));
            let spec = json!({"spec": {"scaleTargetRef": kind, "maxReplicas": max}});
            let items = [unknown_memory(), build::with(settled(4), &spec), target];
            let all = found(&with_pods(items, 5, "50m"));
            let Facts::OtherWriter(facts) = &all.first()?.facts else {
                return None;
            };
            assert!(
                all[1..]
                    .iter()
                    .all(|it| it.follows == Some(Code::OtherWriter)),
                "{all:?}"
            );
            // The HPA controller itself has scaled since the last pass.
            assert_eq!(facts.left, Some(4).filter(|_| *writer != hpa));
            Some(facts.owner.as_ref().map(ToString::to_string))
        };
        let (manager, none) = (writes("kube-controller-manager", ""), json!([]));
        let hand = writes("kubectl", "scale");
        let own = Some(Some("Deployment/shop".to_owned()));
        for max in [20, 4] {
            assert_eq!(owner("ReplicaSet", &owners, &manager, max), own);
            assert_eq!(owner("ReplicaSet", &owners, &none, max), own);
            assert_eq!(owner("ReplicaSet", &owners, &hpa, max), own);
            assert_eq!(owner("ReplicaSet", &owners, &hand, max), own);
        }
        // What the controller of another kind does is shown by the replicas alone.
        let custom = build::owned_by("example.com/v1", "Shop", "shop");
        let program = writes("shop-operator", "");
        assert_eq!(
            owner("ReplicaSet", &custom, &program, 20),
            Some(Some("Shop/shop".to_owned()))
        );
        assert_eq!(owner("ReplicaSet", &custom, &hand, 20), Some(None));
        assert_eq!(owner("ReplicaSet", &custom, &hpa, 20), None);
        // A ReplicaSet of an earlier revision has no pods.
        let target = json!({"kind": "ReplicaSet", "metadata": {"ownerReferences": owners}});
        let old = build::with(deployment(0, &none), &target);
        let hpa = build::hpa(&json!({"scaleTargetRef": {"kind": "ReplicaSet"}}));
        let all = found(&[unknown_memory(), hpa, old]);
        let told: Vec<_> = all.iter().map(|it| (it.code(), it.follows)).collect();
        assert_eq!(told, [(Code::OtherWriter, None), (Code::SwitchedOff, None)]);
        // Before 1.22, the subresource is not told.
        assert_eq!(owner("ReplicaSet", &none, &manager, 20), None);
        // Whether an operator sets the replicas is not known.
        assert_eq!(owner("Deployment", &owners, &none, 20), Some(None));
        // Two HPAs of one target would both stop.
        let kind = json!({"spec": {"scaleTargetRef": {"kind": "ReplicaSet"}}});
        let shop =
            json!({"metadata": {"name": "shop"}, "spec": {"scaleTargetRef": {"name": "shop"}}});
        let named = json!({"metadata": {"name": "shop"}});
        let mut items = vec![
            unknown_memory(),
            build::with(settled(5), &kind),
            build::with(deployment(5, &manager), &target),
            build::with(deployment(5, &none), &named),
        ];
        let advice = |items: &[Value]| {
            said(Code::OtherWriter, &with_pods(items.to_vec(), 5, "50m"))
                .advice
                .text()
        };
        assert_eq!(advice(&items), "Point scaleTargetRef at Deployment/shop.");
        items.push(build::with(settled(5), &shop));
        assert_eq!(
            advice(&items),
            "Delete this HPA: Deployment/shop is the target of HPA shop."
        );
        // No labels keep the pods of both apart.
        let shared = said(Code::SharedPods, &with_pods(items, 5, "50m"));
        assert_eq!(shared.follows, Some(Code::OtherWriter));
    }

    #[test]
    fn replicas_that_go_to_and_fro() {
        let target = deployment(4, &json!([]));
        for (events, want) in [
            (vec![rescale(4, 20)], Some(20)),
            (vec![rescale(4, 20), rescale(3, 2)], Some(20)),
            // The controller's own doing.
            (vec![rescale(4, 20), rescale(3, 19)], None),
            (vec![rescale(4, 2)], None),
            (
                vec![rescale(4, i32::MAX), rescale(3, i32::MAX), rescale(2, 20)],
                None,
            ),
            (vec![], None),
        ] {
            let items = [&[unknown_memory(), settled(4), target.clone()], &events[..]].concat();
            let got = only_of::<OtherWriter>(&with_pods(items, 4, "50m")).map(|(facts, _)| {
                let Again {
                    replicas, count, ..
                } = facts.again.expect("repeated scaling");
                assert_eq!((replicas, facts.left), (4, None));
                count
            });
            assert_eq!(got, want, "{events:?}");
        }
        // KEDA goes to 0 and back by itself, which the controller's events do not show.
        let written_by = |writers: &Value| {
            let items = [
                unknown_memory(),
                settled(4),
                deployment(4, writers),
                rescale(4, 20),
            ];
            with_pods(items, 4, "50m")
        };
        let items = written_by(&json!([]));
        for (writer, subresource, want) in [
            ("keda", "", false),
            ("argocd-controller", "", true),
            // A person does not write again and again.
            ("kubectl", "scale", false),
        ] {
            let items = of_keda(&written_by(&writes(writer, subresource)), &json!({}));
            let got = only(Code::OtherWriter, &items);
            assert_eq!(got.is_some(), want, "{writer}");
        }
        let followed = |message: &str| {
            let of_target = json!({"metadata": {"name": message}, "reason": "ScalingReplicaSet",
                "involvedObject": {"kind": "Deployment"}, "message": message});
            build::with(rescale(2, 1), &of_target)
        };
        let (down, off) = (
            "Scaled down replica set web-a from 4 to 2",
            "Scaled down replica set web-a from 4 to 0",
        );
        let spec = |spec: Value| json!({ "spec": spec });
        let higher = json!({"replicas": 3, "behavior": "currentReplicasIfHigher"});
        let paused = json!({"autoscaling.keda.sh/paused-replicas": "2"});
        let rollout = "Scaled up replica set web-b from 0 to 2";
        for (messages, own, object, want) in [
            (&[off][..], 20, json!({}), false),
            (&[down], 20, json!({}), true),
            // KEDA's, the controller's own, and a rollout.
            (&[down], 20, spec(json!({"idleReplicaCount": 2})), false),
            (
                &[down],
                20,
                spec(json!({"fallback": {"replicas": 2}})),
                false,
            ),
            (
                &[down],
                20,
                spec(json!({"fallback": {"replicas": 3}})),
                true,
            ),
            (&[down], 20, spec(json!({ "fallback": higher })), false),
            (
                &[down],
                20,
                json!({"metadata": {"annotations": paused}}),
                false,
            ),
            (&[down], 2, json!({}), false),
            (&[down, rollout], 20, json!({}), false),
        ] {
            let mut events: Vec<Value> = messages.iter().map(|it| followed(it)).collect();
            if own == 2 {
                events.push(rescale(2, 1));
            }
            let items = of_keda(&[&items[..], &events].concat(), &object);
            let got = only(Code::OtherWriter, &items);
            assert_eq!(got.is_some(), want, "{messages:?} {own} {object}");
        }
        for (object, want) in [
            (json!({}), false),
            (spec(json!({"minReplicaCount": 0})), false),
            (
                spec(json!({"minReplicaCount": 2, "idleReplicaCount": 0})),
                false,
            ),
            (spec(json!({"minReplicaCount": 2})), true),
        ] {
            let got = only(Code::OtherWriter, &of_keda(&items, &object));
            assert_eq!(got.is_some(), want, "{object}");
        }
        // Of a ScaledObject that was not read, nothing is known.
        let unread = owned_by_keda(&[&items[..], &[followed(down)]].concat());
        assert_eq!(only(Code::OtherWriter, &unread), None);
        assert_eq!(only(Code::OtherWriter, &owned_by_keda(&items)), None);
    }

    /// A tool that applies a manifest on the server will apply it again; one that edits the object will not.
    #[test]
    fn replicas_of_a_manifest_that_the_server_applies() {
        let advice = |manager: &str, operation: &str| {
            let writer = json!({"manager": manager, "operation": operation});
            said(Code::OtherWriter, &set_by(&writer, 3)).advice.text()
        };
        let hand = "Change maxReplicas instead, if 3 is right.";
        for (manager, operation, want) in [
            (
                "kubectl",
                "Apply",
                "Take replicas out of the manifest that kubectl applies.",
            ),
            ("kubectl", "Update", hand),
            ("kubectl-edit", "Update", hand),
            (
                "kubectl-replace",
                "Update",
                "Apply a manifest without replicas: kubectl replace sets them each time, to 1 if its manifest has none.",
            ),
            ("kubectl-create", "Update", hand),
            (
                "ci",
                "Apply",
                "Take replicas out of the manifest that ci applies.",
            ),
            ("ci", "Update", "Have ci leave the replicas to the HPA."),
            (
                "argocd-controller",
                "Apply",
                "Have Argo CD ignore /spec/replicas, or take replicas out of the manifest.",
            ),
            (
                "argocd-controller",
                "Update",
                "Have Argo CD ignore /spec/replicas, or take replicas out of the manifest, which resets them to 1 once.",
            ),
            (
                "kustomize-controller",
                "Update",
                "Take replicas out of the manifest that Flux applies, which resets them to 1 once.",
            ),
            (
                "helm",
                "Update",
                "Take replicas out of the chart's manifest where an HPA scales it, which resets them to 1 once.",
            ),
        ] {
            assert_eq!(advice(manager, operation), want, "{manager} {operation}");
        }
        // An operator's usual field manager does not say which operator it is.
        let set = set_by(&json!({"manager": "manager", "operation": "Update"}), 3);
        let owner = build::owned_by("serving.knative.dev/v1", "KnativeServing", "knative");
        let owned = json!({"metadata": {"ownerReferences": owner}});
        let items = with(&set, "Deployment", &owned);
        assert_eq!(
            said(Code::OtherWriter, &items).advice.text(),
            "Have manager leave the replicas to the HPA. KnativeServing/knative owns Deployment/web: if its operator \
             sets them, set them there."
        );
    }

    /// The server removes a field that no manager states any more, whichever tool applies the manifest.
    #[test]
    fn replicas_that_the_server_resets() {
        let evidence = |manager: &str, operation: &str| {
            let writer = json!({"manager": manager, "operation": operation});
            said(Code::OtherWriter, &set_by(&writer, 3)).evidence
        };
        let alone = Some(
            "Taken out before the controller scales again, the replicas are reset to 1 if no other manager owns them.",
        );
        let first = Some("Taken out of the manifest first, the replicas would be reset to 1.");
        for (manager, operation, want) in [
            ("kubectl", "Apply", alone),
            ("ci", "Apply", alone),
            ("kustomize-controller", "Apply", alone),
            ("helm", "Apply", alone),
            ("argocd-controller", "Apply", alone),
            ("kubectl", "Update", None),
            ("ci", "Update", None),
            ("helm", "Update", None),
            ("kubectl-client-side-apply", "Update", first),
        ] {
            let evidence = evidence(manager, operation);
            let got = evidence.iter().find(|it| it.starts_with("Taken out"));
            assert_eq!(got.map(|it| &**it), want, "{manager} {operation}");
        }
    }

    /// A bound that keeps what a person set, and leaves the HPA a choice.
    #[test]
    fn replicas_that_a_person_sets() {
        // Beyond a bound, the correction has the advice.
        let told = |items: &[Value]| {
            let own = said(Code::OtherWriter, items);
            match own.follows {
                Some(code) => said(code, items),
                None => own,
            }
        };
        let patch_at = |replicas: i32, least: i32, most: i32, target: i32| {
            let writer = json!({"manager": "kubectl", "subresource": "scale"});
            let metric = build::resource("cpu", &build::utilization(target));
            let spec =
                json!({"spec": {"minReplicas": least, "maxReplicas": most, "metrics": [metric]}});
            let items = with_hpa(&set_by(&writer, replicas), &spec);
            let commands = told(&items).commands;
            commands
                .get(1)
                .map(|it| it.split("-p ").last().unwrap().to_owned())
        };
        let patch = |replicas: i32, least: i32, most: i32| patch_at(replicas, least, most, 50);
        let of = |field: &str, value: i32| Some(format!("'{}'", json!({"spec": {field: value}})));
        // The last pass left 6.
        assert_eq!(patch(8, 2, 10), of("minReplicas", 8));
        assert_eq!(patch(8, 2, 7), of("maxReplicas", 8));
        assert_eq!(patch(3, 2, 10), of("maxReplicas", 3));
        assert_eq!(patch(3, 4, 10), of("minReplicas", 3));
        // It is the bound already.
        assert_eq!(patch(8, 2, 8), None);
        assert_eq!(patch(3, 3, 10), None);
        assert_eq!(patch(3, 2, 3), None);
        // The metrics need more.
        assert_eq!(patch_at(3, 2, 10, 30), None);
        assert_eq!(patch_at(8, 2, 7, 30), of("maxReplicas", 8));
        let writer = json!({"manager": "kubectl", "subresource": "scale"});
        let advice = |replicas: i32, spec: &Value| {
            let metric = build::resource("cpu", &build::utilization(30));
            let spec = build::with(json!({"metrics": [metric]}), spec);
            let spec = json!({ "spec": spec });
            let items = with_hpa(&set_by(&writer, replicas), &spec);
            told(&items).advice.text()
        };
        let leave =
            |needed: i32| format!("Leave the replicas to the HPA: its metrics propose {needed}.");
        assert_eq!(advice(3, &json!({"minReplicas": 2})), leave(5));
        assert_eq!(advice(3, &json!({"minReplicas": 3})), leave(5));
        // It is the bound already.
        let beyond = |needed: i32, field: &str, bound: i32| {
            format!(
                "Leave the replicas to the HPA: its metrics propose {needed}, and {field} is {bound}."
            )
        };
        let at_most = beyond(5, "maxReplicas", 3);
        assert_eq!(advice(3, &json!({"maxReplicas": 3})), at_most);
        let idle = |least: i32, most: i32| {
            let metric = build::resource("cpu", &build::utilization(90));
            json!({"minReplicas": least, "maxReplicas": most, "metrics": [metric]})
        };
        assert_eq!(advice(3, &idle(3, 8)), beyond(2, "minReplicas", 3));
        // Without the window, only the minimum keeps them.
        let least = |now: i32| format!("Change minReplicas instead, if {now} is right.");
        assert_eq!(advice(8, &idle(2, 8)), leave(5));
        assert_eq!(advice(3, &idle(2, 8)), least(3));
        // The last pass left fewer.
        assert_eq!(advice(8, &json!({})), leave(14));
        // Another bound would not keep them.
        let idle = json!({"maxReplicas": 7, "metrics": [build::resource("cpu", &build::utilization(90))],
            "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}});
        let slow = build::with(
            idle.clone(),
            &json!({"maxReplicas": 3, "behavior": {"scaleDown": {
            "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}}}),
        );
        for (replicas, spec) in [(8, &idle), (1, &json!({"minReplicas": 2}))] {
            assert_eq!(advice(replicas, spec), "Leave the replicas to the HPA.");
        }
        // The metrics need some of them.
        assert_eq!(advice(8, &slow), "Change maxReplicas if 5 is right.");
        // Without a controller, only that can be mended.
        let lapsed = build::lease("2026-11-21T05:55:00.000000Z");
        for (manager, subresource, follows) in [
            ("kubectl-hpa", "scale", Some(Code::ControllerSilent)),
            ("kubectl-edit", "", Some(Code::ControllerSilent)),
            ("helm", "", None),
        ] {
            let writer = json!({"manager": manager, "subresource": subresource});
            let earlier = json!({"metadata": {"managedFields": [{"manager": "kube-controller-manager",
                "subresource": "status", "time": "2026-11-21T05:54:00Z"}]}});
            let items = [
                with_hpa(&set_by(&writer, 8), &earlier),
                vec![lapsed.clone()],
            ]
            .concat();
            let own = said(Code::OtherWriter, &items);
            assert_eq!(own.follows, follows, "{manager}");
        }
        // Nothing is added.
        let no_more = json!({"behavior": {"scaleUp": {"selectPolicy": "Disabled"}}});
        assert_eq!(
            advice(3, &no_more),
            "Change maxReplicas instead, if 3 is right."
        );
    }
}
