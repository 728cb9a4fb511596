//! Words findings about what affects the HPA from outside the pass.

use jiff::Timestamp;
use serde_json::json;

use super::command::{Command, Edited};
use super::metrics::end;
use super::path::policy;
use super::remedy::Remedy;
use super::{About, Advice, Text, Words};
use crate::apimachinery::metadata::OwnerReference;
use crate::apimachinery::names::shell_word;
use crate::engine::decision::Direction;
use crate::findings::outside::{
    Again, ControllerSilent, DiffersFromStatus, FieldIgnored, Flapping, Missing, OtherWriter,
    PausedByKeda, ScaleNotWritten, Setting, TargetNotFound, Writer,
};
use crate::findings::writer::By;
use crate::report::words::{
    count, distance, duration, future, list, number, sentence, time, value,
};
use crate::saved::assemble::resource_of;
use crate::snapshot::evidence::{LEASE_NAME, LEASE_NAMESPACE};
use crate::snapshot::hpa::HpaSpec;
use crate::snapshot::surroundings::ManifestReplicas;
use crate::version::Version;

impl Words for TargetNotFound {
    fn text(&self, about: &About<'_>) -> Text {
        let target = &about.hpa().spec.scale_target_ref;
        let summary = match self.missing {
            Missing::Kind => format!(
                "the API server has no kind {} in the group {:?}, so nothing can be computed",
                target.kind,
                target.group()
            ),
            Missing::Object | Missing::ObjectOrScale if self.is_assumed => {
                format!("the target {target} is not in the input, so nothing can be computed")
            }
            Missing::Object => {
                format!("the target {target} does not exist, so nothing can be computed")
            }
            Missing::ObjectOrScale => format!(
                "the target {target} does not exist, or its kind has no scale, so nothing can be computed"
            ),
            Missing::Scale => format!(
                "the kind {} has no scale, so the target {target} cannot be scaled",
                target.kind
            ),
        };
        let mut evidence = vec![if self.is_assumed {
            format!("The API server is assumed to say: {}.", self.error)
        } else {
            format!("The API server says: {}.", self.error)
        }];
        let resource = shell_word(&resource_of(target.group(), &target.kind));
        let mut commands = vec![match self.missing {
            Missing::Kind | Missing::Scale => "kubectl api-resources --namespaced".into(),
            Missing::Object | Missing::ObjectOrScale => {
                format!("kubectl get {resource} {}", about.namespace()).into()
            }
        }];
        let mut objects = about.own();
        let reference = about.field("scaleTargetRef");
        let advice = match (&self.meant, &self.elsewhere) {
            (_, Some(elsewhere)) => {
                evidence.push(format!("{elsewhere}."));
                Remedy::CreateThere.says(match (&elsewhere.hpa_namespace, &elsewhere.object_namespace) {
                    (Some(own), None) => format!(
                        "State the namespace {own} in {} too: an HPA scales only in its own namespace.",
                        elsewhere.object
                    ),
                    (_, namespace) => format!(
                        "Create the HPA in the namespace {}, where {} is: it scales only in its own.",
                        namespace.as_ref().unwrap_or(&elsewhere.default_namespace),
                        elsewhere.object
                    ),
                })
            }
            (Some(meant), None) => {
                let version = &meant.api_version;
                evidence.push(format!("There is {meant} ({version})."));
                objects.push(format!("{}/{}", meant.kind.to_lowercase(), meant.name));
                let patch = json!({"scaleTargetRef": {
                    "apiVersion": version, "kind": meant.kind, "name": meant.name,
                }});
                commands.splice(0..0, about.patch_spec(&patch));
                let version = if *version == target.api_version { String::new() } else { format!(" ({version})") };
                Remedy::PointAt
                    .says(format!("Point {reference} at {meant}{version}, if that is meant."))
            }
            (None, None) => Remedy::CorrectReference.says(match self.missing {
                Missing::Scale => {
                    format!("Point {reference} at an object that has the subresource scale.")
                }
                Missing::Kind => format!("Correct {reference}, or install what provides the kind."),
                Missing::Object | Missing::ObjectOrScale if self.is_assumed => {
                    format!("Add the target to the input, or correct {reference}.")
                }
                Missing::ObjectOrScale => format!(
                    "Correct {reference}, create the target, or add the subresource scale to its kind."
                ),
                Missing::Object => format!("Correct {reference}, or create the target."),
            }),
        };
        Text {
            summary,
            evidence,
            advice,
            commands,
            objects,
        }
    }
}

impl Words for ScaleNotWritten {
    fn text(&self, about: &About<'_>) -> Text {
        let now = about.now();
        let target = about.hpa().reference();
        let replicas = about.pass.decision.replicas_before().unwrap_or_default();
        let mut evidence = vec![format!("The error is: {}.", self.error)];
        evidence.extend(self.failed.map(|failed| {
            format!(
                "The last pass failed with it at {} (FailedUpdateScale).",
                time(now, failed)
            )
        }));
        let first = self.failures.and_then(|it| it.first);
        evidence.extend(self.failures.map(|it| {
            let since = first.map_or_else(String::new, |it| format!(" since {}", time(now, it)));
            format!(
                "An event FailedRescale counts {}{since}.",
                count(it.times, "failure")
            )
        }));
        evidence.extend(
            about
                .without()
                .map(|without| format!("Once it can be written: {without}.")),
        );
        let error = end(&self.error);
        let summary = match (self.failed, first) {
            (None, _) => format!("{target} cannot be scaled and stays at {replicas}: {error}"),
            (Some(_), Some(first)) => {
                format!(
                    "{target} could not be scaled for {}: {error}",
                    distance(first, now)
                )
            }
            (Some(failed), None) => {
                format!(
                    "{target} could not be scaled {} ago: {error}",
                    distance(failed, now)
                )
            }
        };
        let scale = format!("kubectl scale {} {}", about.target(), about.namespace());
        Text {
            summary,
            evidence,
            advice: Remedy::PermitWrite
                .says("Change the webhook, quota or right that is the reason."),
            commands: vec![
                format!("{scale} --replicas={} --dry-run=server", self.to).into(),
                "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations".into(),
            ],
            objects: [vec![about.target()], about.own()].concat(),
        }
    }
}

impl Words for PausedByKeda {
    fn text(&self, about: &About<'_>) -> Text {
        let object = format!("ScaledObject/{}", self.object);
        let name = shell_word(&self.object);
        let namespace = about.namespace();
        let verb = |direction: &Direction| match direction {
            Direction::Up => "out".to_owned(),
            Direction::Down => "in".to_owned(),
        };
        let directions: Vec<String> = self.disabled.iter().map(verb).collect();
        let directions = directions.join(" and ");
        let annotations: Vec<String> = self.annotations.iter().map(|it| (*it).to_owned()).collect();
        let mut evidence = Vec::new();
        if !directions.is_empty() {
            let fields = self.disabled.iter().map(|direction| match direction {
                Direction::Up => "spec.behavior.scaleUp.selectPolicy".to_owned(),
                Direction::Down => "spec.behavior.scaleDown.selectPolicy".to_owned(),
            });
            let fields: Vec<String> = fields.collect();
            let verb = if fields.len() == 1 { "is" } else { "are" };
            evidence.push(format!("In the HPA, {} {verb} Disabled.", list(&fields)));
        }
        if annotations.is_empty() {
            let same = "A selectPolicy in the ScaledObject has the same effect.";
            evidence.push(same.to_owned());
        }
        match self.fixed {
            Some(replicas) => evidence.push(format!(
                "Before 2.20, KEDA sets minReplicas and maxReplicas of its HPA to {replicas} for this; newer \
                 versions delete the HPA."
            )),
            None if self.is_whole() => evidence.push(
                "KEDA deletes the HPA of a ScaledObject that is paused; this one is still there."
                    .to_owned(),
            ),
            None => {}
        }
        evidence.extend(
            about
                .without()
                .map(|it| format!("Without the pause: {it}.")),
        );
        let summary = match (annotations.is_empty(), directions.is_empty()) {
            (true, _) => format!(
                "KEDA owns this HPA and has disabled scaling {directions}, as it does where \
                 {object} is paused"
            ),
            (false, true) => format!("{object} is paused by {}", list(&annotations)),
            (false, false) => format!(
                "{object} is paused by {}, so scaling {directions} is disabled",
                list(&annotations)
            ),
        };
        if self.by_flagger {
            let canaries = format!("kubectl get canaries.flagger.app {namespace}");
            return Text {
                summary,
                evidence,
                advice: Remedy::LeaveToFlagger.says(
                    "Leave it: Flagger pauses it between releases, and runs the primary instead.",
                ),
                commands: vec![canaries.into()],
                objects: vec![format!("scaledobject/{}", self.object)],
            };
        }
        let (advice, commands): (String, _) = if annotations.is_empty() {
            let keys: Vec<String> = directions
                .split(" and ")
                .map(|it| format!("paused-scale-{it}"))
                .collect();
            (
                format!("Remove autoscaling.keda.sh/{}, if set.", keys.join(" and ")),
                vec![format!("kubectl get scaledobject {name} {namespace} -o yaml").into()],
            )
        } else {
            (
                match annotations.len() {
                    1 if !self.is_whole() => format!(
                        "Nothing to do if that is on purpose; if not, remove the annotation from {object}."
                    ),
                    1 => format!("Remove the annotation from {object}."),
                    _ => format!("Remove the annotations from {object}."),
                },
                annotations
                    .iter()
                    .map(|it| format!("kubectl annotate scaledobject {name} {namespace} {it}-"))
                    .map(|line| Command::from(line).editing(Edited::ScaledObject))
                    .collect(),
            )
        };
        let objects = [vec![format!("scaledobject/{}", self.object)], about.own()].concat();
        let advice = Remedy::EndPause.says(advice);
        Text {
            summary,
            evidence,
            advice,
            commands,
            objects,
        }
    }
}

impl Words for FieldIgnored {
    fn text(&self, about: &About<'_>) -> Text {
        let version = stated(&about.pass.input.snapshot.controller.version);
        let paths = list(&self.paths);
        let who = if self.dropped {
            "the API server"
        } else {
            "the controller"
        };
        let does = match (self.stated, self.dropped) {
            (true, true) => format!("drops {paths}"),
            (true, false) => format!("ignores {paths}"),
            (false, _) => format!("drops {paths}, if the manifest of the HPA has it"),
        };
        let gate = self.gate;
        let summary = if self.settable {
            format!("without {gate}, {who} ({version}) {does}")
        } else {
            format!("{who} ({version}) {does}: {version} does not have it")
        };
        let mut evidence = Vec::new();
        let may_set = self.settable && !self.is_managed;
        if may_set {
            evidence.push(format!(
                "The API server and the controller manager take the flag \
                 --feature-gates={gate}=true, which managed control planes do not offer."
            ));
        }
        if let Some(minor) = self.on_in {
            evidence.push(format!(
                "It works by default in Kubernetes 1.{minor} and newer."
            ));
        }
        evidence.extend(about.without().map(|it| format!("With it: {it}.")));
        let mut commands = Vec::new();
        if self.settable {
            commands.push(about.kubectl("hpa explain", &format!("--feature-gates {gate}=true")));
        }
        let fields = if self.paths.len() == 1 {
            "the field"
        } else {
            "the fields"
        };
        let fields = match about.hpa().scaled_object() {
            Some(owner) => format!("{fields} from ScaledObject/{}", owner.name),
            None => fields.to_owned(),
        };
        let enable = "enable the gate if you can";
        let them = if self.paths.len() == 1 { "it" } else { "them" };
        let advice = Remedy::Upgrade.says(match (may_set, self.on_in) {
            (false, Some(minor)) if !self.stated => {
                format!("To use {them}, upgrade to Kubernetes 1.{minor}.")
            }
            (true, Some(minor)) if !self.stated => {
                format!("To use {them}, upgrade to Kubernetes 1.{minor}, or {enable}.")
            }
            (true, Some(minor)) => {
                format!("Upgrade to Kubernetes 1.{minor}, {enable}, or remove {fields}.")
            }
            (true, None) => format!("{}, or remove {fields}.", sentence(enable)),
            (false, Some(minor)) => format!("Upgrade to Kubernetes 1.{minor}, or remove {fields}."),
            (false, None) => format!("Remove {fields}."),
        });
        Text {
            summary,
            evidence,
            advice,
            commands,
            objects: about.own(),
        }
    }
}

impl Words for OtherWriter {
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

/// What to do if there are no passes, and the reason is not known.
const STUCK: &str = "Look at the controller manager: is the HPA controller blocked, slow or off?";

/// Words a status that is older than what every pass would have written.
fn late(written: Timestamp, since: Timestamp, now: Timestamp) -> String {
    format!(
        "the status was written {} ago, and any pass since {} would have changed it, so nothing is scaled",
        distance(written, now),
        time(now, since)
    )
}

impl Words for ControllerSilent {
    fn text(&self, about: &About<'_>) -> Text {
        let now = about.now();
        let period = duration(about.pass.input.snapshot.controller.sync_period);
        let passes = format!("A running controller makes a pass every {period}.");
        let lease: Command =
            format!("kubectl get lease {LEASE_NAME} -n {LEASE_NAMESPACE} -o yaml").into();
        let pods: Command =
            format!("kubectl get pods -n {LEASE_NAMESPACE} -l component=kube-controller-manager")
                .into();
        let (summary, evidence, advice, commands) = match self {
            Self::Lapsed { renewed } => {
                let ago = distance(*renewed, now);
                (
                    format!(
                        "the controller manager's lease was last renewed {ago} ago, so nothing is \
                         scaled"
                    ),
                    format!(
                        "A running controller manager renews its lease every few seconds and makes \
                         a pass every {period}; the last renewal was at {}.",
                        time(now, *renewed)
                    ),
                    "Look at the controller manager: no instance holds the lease.".to_owned(),
                    vec![lease, pods],
                )
            }
            Self::NeverPassed { created } => (
                format!(
                    "the HPA was created {} ago, and the controller has written no status yet",
                    distance(*created, now)
                ),
                format!("A running controller makes a pass every {period}."),
                "Look at the controller manager: is it running, and is the HPA controller on?"
                    .to_owned(),
                vec![lease, pods],
            ),
            Self::Replicas {
                written,
                since,
                now: replicas,
                then,
            } => (
                late(*written, *since, now),
                format!(
                    "The status says {}, and the target has had {replicas} since {}. {passes}",
                    count(*then, "replica"),
                    time(now, *since)
                ),
                STUCK.to_owned(),
                vec![pods, lease],
            ),
            Self::Usage {
                written,
                since,
                metric,
                then,
                now: current,
            } => (
                late(*written, *since, now),
                format!(
                    "The status has {} at {}; the samples that passes have had since {} make it {}. {passes}",
                    about.label(*metric),
                    value(Some(about.spec(*metric)), then),
                    time(now, *since),
                    value(Some(about.spec(*metric)), current)
                ),
                STUCK.to_owned(),
                vec![pods, lease],
            ),
            Self::Steady {
                written,
                metric,
                then,
                now: current,
            } => (
                format!(
                    "the status still has the {} of {} ago: the controller may make no passes",
                    about.label(*metric),
                    distance(*written, now)
                ),
                format!(
                    "The status has it at {}, and now it is {}. Usage seldom stays the same for so long, and \
                     each pass writes what has changed. {passes}",
                    value(Some(about.spec(*metric)), then),
                    value(Some(about.spec(*metric)), current)
                ),
                STUCK.to_owned(),
                vec![pods, lease],
            ),
            Self::Off { pod } => (
                "the HPA controller is switched off by --controllers, so nothing is scaled"
                    .to_owned(),
                format!("The flag is set on pod {LEASE_NAMESPACE}/{pod}."),
                "Take the HPA controller out of --controllers of the controller manager."
                    .to_owned(),
                vec![
                    format!(
                        "kubectl get pod {} -n {LEASE_NAMESPACE} -o yaml",
                        shell_word(pod)
                    )
                    .into(),
                ],
            ),
        };
        let objects = match self {
            Self::Off { pod } => vec![format!("pod/{pod}")],
            _ => vec![format!("lease/{LEASE_NAME}")],
        };
        let advice = Remedy::LookAtController.says(advice);
        Text {
            summary,
            evidence: vec![evidence],
            advice,
            commands,
            objects,
        }
    }
}

impl Words for DiffersFromStatus {
    fn text(&self, about: &About<'_>) -> Text {
        let Self {
            last,
            now,
            written,
            would_explain,
        } = self;
        let word = |setting: &Setting| match setting {
            Setting::Tolerance(tolerance) => format!("a tolerance of {}", number(*tolerance)),
            Setting::DownscaleStabilization(window) => {
                format!("a downscale stabilization of {}", duration(*window))
            }
            Setting::CpuInitializationPeriod(period) => {
                format!("a CPU initialization period of {}", duration(*period))
            }
            Setting::InitialReadinessDelay(delay) => {
                format!("an initial readiness delay of {}", duration(*delay))
            }
            Setting::Version(version) => format!("the rules of {version}"),
        };
        let settings: Vec<String> = would_explain.iter().map(word).collect();
        let evidence = vec![
            format!(
                "The status of {} has the same values, and the controller's history makes no \
                 difference.",
                time(about.now(), *written)
            ),
            "What was not read of the controller's settings is assumed.".to_owned(),
        ];
        let flag = |setting: &Setting| match setting {
            Setting::Tolerance(tolerance) => format!("--tolerance {}", number(*tolerance)),
            Setting::DownscaleStabilization(window) => {
                format!("--downscale-stabilization {}", duration(*window))
            }
            Setting::CpuInitializationPeriod(period) => {
                format!("--cpu-initialization-period {}", duration(*period))
            }
            Setting::InitialReadinessDelay(delay) => {
                format!("--initial-readiness-delay {}", duration(*delay))
            }
            Setting::Version(version) => format!("--kubernetes-version {}", stated(version)),
        };
        let commands = would_explain
            .iter()
            .map(|it| about.kubectl("hpa explain", &flag(it)));
        Text {
            summary: format!(
                "the controller wanted {}, and this pass {now} from the same values: {} would explain it",
                count(*last, "replica"),
                settings.join(" or ")
            ),
            evidence,
            advice: Remedy::StateFlags.says("State the flags and the version of the controller."),
            commands: commands.collect(),
            objects: about.own(),
        }
    }
}

impl Words for Flapping {
    fn text(&self, about: &About<'_>) -> Text {
        let Self {
            ups,
            downs,
            low,
            high,
            first,
            last,
            window,
            longer,
            small,
        } = self;
        let now = about.now();
        let field = about.field("behavior.scaleDown.stabilizationWindowSeconds");
        let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": longer}});
        let flags = format!("--set behavior.scaleDown.stabilizationWindowSeconds={longer}");
        let span = distance(*first, *last);
        let mut evidence = vec![format!(
            "The events of the HPA show it between {low} and {}, from {} to {}.",
            count(*high, "replica"),
            time(now, *first),
            time(now, *last)
        )];
        let rules = about
            .hpa()
            .spec
            .behavior
            .as_ref()
            .and_then(|it| it.scale_down.as_ref());
        let policies = rules
            .and_then(|rules| rules.policies.as_deref())
            .unwrap_or_default();
        let policies: Vec<String> = policies.iter().map(policy).collect();
        let by = match &policies[..] {
            [] => String::new(),
            all => format!(" by {}", all.join(" or ")),
        };
        evidence.push(format!(
            "It scales down{by} once no higher recommendation is younger than {}.",
            duration(*window)
        ));
        evidence.extend(about.scales_up());
        evidence.extend(about.short_window());
        evidence.extend(
            about
                .without()
                .map(|without| format!("With a window of {longer}s: {without}.")),
        );
        let (advice, commands) = match small {
            Some((percent, request)) => (
                Remedy::RaiseSmallRequest.says(format!(
                    "Raise the cpu request first: the target, {percent}% of {request}, is so little that any work exceeds it."
                )),
                Vec::new(),
            ),
            None => (
                Remedy::LengthenDownWindow.says(format!("Set {field} to {longer}.")),
                [about.predict(&flags)]
                    .into_iter()
                    .chain(about.patch_spec(&json!({ "behavior": behavior })))
                    .collect(),
            ),
        };
        Text {
            summary: format!(
                "the controller has scaled up {} and down {downs} times in {span}, and the window of \
                 scaling down is {}",
                count(*ups, "time"),
                duration(*window)
            ),
            evidence,
            advice,
            commands,
            objects: about.own(),
        }
    }
}

/// Returns a version as stated, or else with the precision that rules depend on.
fn stated(version: &Version) -> String {
    version
        .stated()
        .map_or_else(|| format!("v1.{}", version.minor()), str::to_owned)
}
