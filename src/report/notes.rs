//! Words the notes.

pub(crate) mod load;

use crate::apimachinery::annotations::{KEDA_OWNERSHIP, KEDA_PAUSED_SCALE_IN, KEDA_TRANSFER};
use crate::apimachinery::json::SecondsTime;
use crate::apimachinery::{go, names};
use crate::error::listed;
use crate::numbers::age;
use crate::saved::assemble::{has_own_scale, save_command};
use crate::snapshot::Documents;
use crate::snapshot::command_flags::CommandFlags;
use crate::snapshot::evidence::LEASE_NAMESPACE;
use crate::snapshot::hpa::{Hpa, MetricSpec};
use crate::snapshot::note::{
    KedaNote, NotOwned, Note, StatedReplicas, UnknownFact, WhyUnknownSelector,
};
use crate::snapshot::right::UnknownFactCause;
use crate::snapshot::surroundings::Replacement;
use crate::words::{self, count, duration};

/// Why there is no timeline.
pub(crate) const NOT_PLAYED: &str = "no timeline: the scale cannot be read";

/// Words a note on the pass of an HPA, as a sentence.
pub(crate) fn text(note: &Note, hpa: &Hpa) -> String {
    match note {
        Note::HpaDeleted { since } => format!(
            "the HPA has been marked for deletion since {}; the controller acts on it until it is gone",
            SecondsTime(*since)
        ),
        Note::StatusDropped => {
            "the HPA has no uid, so it is treated as a new manifest and its status is \
                                dropped, as by the API server"
                .to_owned()
        }
        Note::FieldDropped { path, gate, .. } => {
            format!("{path} is dropped, as by the API server without the feature gate {gate}")
        }
        Note::AnnotationIgnored { key, cause } => {
            format!("annotation {key} is ignored, as by the API server: {cause}")
        }
        Note::UnknownFields { paths, more } => {
            let more = if *more > 0 { format!(", and {more} more") } else { String::new() };
            let paths = paths.join(", ");
            format!("unknown and ignored, so the answer may be incomplete: {paths}{more}")
        }
        Note::UnknownMetricType { index, type_ } => format!(
            "spec.metrics[{index}] has the unknown type {}: it counts as failed, and a controller \
             that supports it may decide differently",
            go::quote(type_)
        ),
        Note::ToleranceIgnored { direction, version } => format!(
            "spec.behavior.{direction}.tolerance is ignored: the controller of {version} uses it \
             only with the feature gate HPAConfigurableTolerance"
        ),
        Note::NoSuchContainer { index, container, containers } => {
            let containers: Vec<String> = containers.iter().map(|name| go::quote(name)).collect();
            format!(
                "spec.metrics[{index}]: no pod of the target has a container {}: \
                 they have {}",
                go::quote(container),
                containers.join(", ")
            )
        }
        Note::StaleValues { metric, stale, total, oldest } => {
            format!(
                "{} of {stale} of {total} pods are older than a minute and twice their window (up to {})",
                values_of(metric.as_deref()),
                age(*oldest)
            )
        }
        Note::UntimedValues { metric, untimed, total } => {
            format!(
                "{} of {untimed} of {total} pods state no timestamp, so their age is unknown",
                values_of(metric.as_deref())
            )
        }
        Note::LastRead { metric, value, age: written } => {
            let status = written.map_or_else(String::new, |written| {
                format!(", in a status that last changed {} ago", age(written))
            });
            let spec = hpa.spec.metrics.iter().find(|spec| spec.name() == metric);
            let value = words::value(spec, value);
            format!("{metric}: the controller itself last read {value}{status}")
        }

        Note::FileSkipped { path } => {
            format!("{} is skipped: it is not a regular file", path.display())
        }
        Note::NoObjectSkipped { path } => {
            format!("{} is skipped: it has no Kubernetes object", path.display())
        }
        Note::KeysRepeated { origin, keys, more } => {
            let more = if *more > 0 { format!(" and {more} more") } else { String::new() };
            format!(
                "{origin} repeats {}{more}: the last one counts, as for kubectl",
                keys.join(", ")
            )
        }
        Note::LinkSkipped { path } => {
            format!(
                "{} is skipped: it is a link that leads out of the directory; name it to read it",
                path.display()
            )
        }
        Note::DirectorySkipped { path } => {
            format!("the directory {} is skipped: name it to read it", path.display())
        }
        Note::ObjectsSkipped { kind, api_version, count } => {
            let version = match &**api_version {
                "" => "without a valid kind and apiVersion",
                version => version,
            };
            let target = &hpa.spec.scale_target_ref;
            let why = match names::group(version) {
                group if *kind == target.kind && group == target.group() => {
                    "a pass uses only the Scale of the target"
                }
                "http.keda.sh" => "a pass uses only the HPA that KEDA creates",
                _ => "not used by a pass",
            };
            format!("skipped {count} {kind} ({version}): {why}")
        }
        Note::NoTarget { target, elsewhere: Some(elsewhere), .. } => {
            format!("the input lacks the target {target}: {elsewhere}; {}", elsewhere.remedy())
        }
        Note::NoTarget { target, elsewhere: None, assuming } => {
            let own = &hpa.spec.scale_target_ref;
            let document = if has_own_scale(own.group(), &own.kind) { own.kind.clone() } else { format!("Scale of the {}", own.kind) };
            let save = save_command(hpa, "");
            let assuming =
                assuming.as_ref().map(|flags| format!("; {}", assume_pods(hpa, flags, false)));
            let assuming = assuming.unwrap_or_default();
            format!("the input lacks the target {target}: add the {document}; {save}{assuming}")
        }
        Note::NoCondition { pods } => {
            let it = if pods.len() == 1 { "states no condition Ready and counts" } else { "state no condition Ready and count" };
            format!("{} {it} as not ready", listed(pods))
        }
        Note::TakenAsAccepted { why } => {
            format!("taken as accepted by an API server, because it has a status, in spite of this: {why}")
        }
        Note::TargetShared { others } => {
            let scale = if others.len() == 1 { "scales" } else { "scale" };
            format!(
                "{} {scale} the same target: since Kubernetes 1.26 the controller scales none of the HPAs that select \
                 the same pods, so keep one",
                listed(others)
            )
        }
        Note::NotTheTarget { workloads } => {
            let target = &hpa.spec.scale_target_ref;
            let (are, it) = match workloads.len() {
                1 => ("is", "it"),
                _ => ("are", "one of them"),
            };
            format!(
                "{} {are} not the target, {target}, and not used: correct scaleTargetRef, if {it} is meant",
                listed(workloads)
            )
        }
        Note::NoReplicas { assuming } => {
            let save = save_command(hpa, "");
            match assuming {
                Some(flags) => format!("{}; {save}", assume_pods(hpa, flags, false)),
                None => save,
            }
        }
        Note::NoDocuments { documents, path } => {
            let command = command(*documents, path.as_deref(), &hpa.namespace);
            format!("the input has no {}; `{command}` prints what is missing", documents.kind())
        }
        Note::NoPodMetrics => "the input has a ControllerState but no PodMetrics, so the list of \
                               them is assumed to be empty"
            .to_owned(),
        Note::SaveCommand { candidate } => save_command(hpa, candidate),
        Note::SomeNotReady { target, replicas, ready } => format!(
            "the status of {target} has {ready} of {replicas} replicas ready, but all assumed pods are \
             ready: --unready {} assumes otherwise",
            replicas - ready
        ),
        Note::NoValues(metrics) => {
            let labels: Vec<String> = metrics.iter().map(|own| own.label(&hpa.spec.metrics)).collect();
            let flags = value_flags(metrics, hpa);
            format!("the input has no value of {}; state it, such as {flags}", listed(&labels))
        }

        Note::UnknownSelector { hpa, why } => {
            let why = match why {
                WhyUnknownSelector::HpaUnreadable(cause) => format!("it cannot be read: {cause}"),
                WhyUnknownSelector::TargetUnreadable { target, why } => {
                    format!("its target {target} cannot be read: {}", cause(why))
                }
                WhyUnknownSelector::TargetGone { target } => format!(
                    "its target {target} does not exist, but the controller may remember its selector"
                ),
                WhyUnknownSelector::NoTarget(target) => format!("the input has no {target}"),
            };
            format!("unknown whether the HPA {hpa} selects the same pods: {why}")
        }
        Note::UnknownSelectors { more } => {
            format!("unknown whether {more} more HPAs select the same pods: their targets are unknown, too")
        }
        Note::NotKnown { what, why } => {
            let what = match what {
                UnknownFact::Findings(codes) => &*format!("findings such as {codes} are left out"),
                UnknownFact::ServerVersion => "the server's version is unknown",
                UnknownFact::SharedPods => "unknown whether another HPA selects the same pods",
                UnknownFact::HpaEvents => "the HPA's events are unknown",
                UnknownFact::TargetEvents => "the target's events are unknown",
                UnknownFact::VerticalPodAutoscalers => {
                    "unknown whether a VerticalPodAutoscaler sets requests"
                }
                UnknownFact::EarlierReplicas => "the replicas at earlier passes are unknown",
            };
            format!("{what}: {}", cause(why))
        }
        Note::MissingRight(right) => right.advice(),
        Note::ApiUnavailable { group, version, code, flags } => {
            let command = flags.add_to(&format!("kubectl get apiservice {version}.{group}"));
            format!("{group} is not available ({code}): see `{command}`")
        }
        Note::ClockSkew { ahead } => {
            let side = if ahead.is_negative() { "behind" } else { "ahead of" };
            let apart = duration(ahead.abs());
            format!(
                "the server's clock is {apart} {side} the local one; ages use the server's clock"
            )
        }
        Note::ReadSlowly { took } => format!(
            "its metrics came {} after the HPA, and the controller may have acted in between",
            duration(*took)
        ),
        Note::EmulatedVersion { server, emulated } => {
            format!("the server is {server} and emulates {emulated}")
        }
        Note::ServerVersionIgnored { cause } => {
            format!("the server's version is ignored: {cause}")
        }

        Note::ControllerOff { pod } => format!(
            "nothing is scaled: the HPA controller is disabled by --controllers of {}",
            manager(pod)
        ),
        Note::FlagIgnored { flag, pod, cause } => {
            format!("--{} of {} is ignored: {cause}", flag.name(), manager(pod))
        }
        Note::VersionsDiffer { manager: own, pod, server } => format!(
            "the controller manager is {own} ({}) and the server {server}: the rules are the \
             controller manager's",
            manager(pod)
        ),
        Note::NewerThanRules { stated, rules } => {
            format!("{stated} is newer than the latest known rules: those of {rules} apply")
        }
        Note::GateUnused { gate, version } => {
            format!("feature gate {gate} does not affect a pass in {version}")
        }
        Note::NewerRulesDiffer { version, replicas } => format!(
            "by the rules of {version} this pass would end at {}",
            count(*replicas, "replica")
        ),

        Note::OfManifest { origin, note } => match text(note, hpa) {
            // It names the file, or one in the directory.
            own if own.strip_prefix(&**origin).is_some_and(|it| it.starts_with([' ', '/'])) => own,
            own => format!("{origin}: {own}"),
        },
        Note::FieldIgnored { cause } => format!("ignored: {cause}"),
        Note::VersionNotServed { kind, stated, served } => format!(
            "no API server of these rules serves a {kind} in {stated}, which is read as if it did: write it in {served}"
        ),
        Note::StatusIgnored => {
            "the status in the manifest is ignored, as by the API server: only the controller writes \
             it"
                .to_owned()
        }
        Note::ManifestNotAlone { objects } => {
            format!(
                "only the HPA and its target are read from manifests; ignored: {}",
                listed(objects)
            )
        }
        Note::WorkloadElsewhere { workload, own, namespace } => {
            format!("the manifest of {workload} in {own} is used for the one in {namespace}")
        }
        Note::TemplateElsewhere { workload, of, is_assumed: false } => format!(
            "{workload} has the template of {of} (spec.workloadRef), which is not among the manifests: its \
             pods stay as they are"
        ),
        Note::TemplateElsewhere { workload, of, is_assumed: true } => format!(
            "{workload} has the template of {of} (spec.workloadRef), which the input lacks: the pods are assumed \
             without it"
        ),
        Note::KeptBesideTemplate { containers, requests } => {
            let requests = requests.iter().map(|(container, resource)| {
                format!("the {resource} request of {container}")
            });
            let kept: Vec<String> = containers.iter().cloned().chain(requests).collect();
            format!(
                "the running template is unknown, so what the pods have in addition is kept as if \
                 it were injected: {}",
                listed(&kept)
            )
        }
        Note::PodManifests { pods } => {
            let all: Vec<String> = pods.iter().map(|pod| format!("Pod/{pod}")).collect();
            let how = if pods.len() == 1 {
                "without a status it is a manifest, and does not run"
            } else {
                "without a status they are manifests, and do not run"
            };
            format!("skipped {}: {how}", listed(&all))
        }
        Note::ReplicasReset { workload, stated: StatedReplicas::Manager(manager) } => format!(
            "{workload} states no replicas here, and {manager} has stated them so far: applied, they are reset to 1 \
             once, and the HPA scales up from there"
        ),
        Note::ReplicasReset { workload, stated: StatedReplicas::LastApplied } => format!(
            "{workload} states no replicas here, but the manifest that `kubectl apply` has applied last does: \
             `kubectl apply` resets them to 1 once, and the HPA scales up from there"
        ),
        Note::RequestSetElsewhere { container, resource } => format!(
            "the {resource} request of {} stays as it is where it differs from the running template: what set it, \
             such as a VerticalPodAutoscaler, would set it again",
            container.as_deref().unwrap_or("the pods")
        ),
        Note::UsageUnknown { containers } => {
            let first = containers.first().map_or("", |first| first);
            let metrics = &hpa.spec.metrics;
            let flags = ["cpu", "memory"].into_iter().filter(|resource| {
                metrics.iter().any(|spec| spec.is_resource() && spec.name() == *resource)
            });
            let flags = flags.map(|resource| format!("--{resource} {first}=VALUE"));
            let flags: Vec<String> = flags.collect();
            let states = match flags.len() {
                0 => String::new(),
                1 => format!("; {} states it", flags[0]),
                _ => format!("; {} state it", flags.join(" and ")),
            };
            format!(
                "no pod has run {} yet: the usage is unknown and left out, so that only the requests count, if \
                 any{states}",
                listed(containers)
            )
        }
        Note::ManifestOfNamespace { manifest, hpa } => {
            format!("the manifest of {manifest} is used for {hpa} and inherits its history")
        }
        Note::ManifestOfNewHpa { manifest, hpa, beside } => {
            let (_, name) = hpa.split_once('/').unwrap_or(("", hpa));
            let beside = if *beside { format!(
                    "; applied beside {hpa}, both stop scaling, because they select the same pods: delete {name}, as \
                     Helm does and `kubectl apply --prune` can"
                ) } else { String::new() };
            format!(
                "{manifest} is a new HPA, predicted in place of {hpa}: its history begins with the current replicas{beside}"
            )
        }
        Note::RolloutFirst { target, how } => rollout_first(target, *how),
        Note::RequestFar { item, before, after, times, lacks_unit } => {
            let than = match before {
                Some(before) => format!("{times} times the observed {before}"),
                None => "where there was none".to_owned(),
            };
            let meant = if *lacks_unit { format!("; {after} thousandths of a core would be {after}m") } else { String::new() };
            format!(
                "the {item} is assumed to be {after}, {than}: a pod for which no node has room stays \
                 pending{meant}"
            )
        }
        Note::RolloutByDefault { target, how, is_stateful } => {
            let kind = if *is_stateful { "StatefulSet" } else { "Deployment" };
            let why = match how {
                Replacement::Canary(_) => "the canary strategy of {} is not simulated",
                Replacement::BlueGreen { .. } => "the blueGreen strategy of {} is not simulated",
                _ => "the strategy of {} is unknown",
            };
            let why = why.replace("{}", target);
            let waits = promotion(*how).map(|own| format!("; {own}")).unwrap_or_default();
            format!("{why}: the rollout is simulated with the defaults of a {kind}{waits}")
        }
        Note::RolloutOneByOne { target, limit } => format!(
            "the rollout is simulated one pod at a time: maxUnavailable ({limit}) of {target} is ignored, but \
             controllers of v1.37, and of v1.35 up to v1.35.3, replace that many at once"
        ),
        Note::RolloutPaused { target } => format!(
            "{target} is paused and replaces no pods: nothing changes before spec.paused is removed (--at)"
        ),
        Note::RolloutAfterEnd { at, target } => format!(
            "the run ends before the rollout of {target} begins after {}: nothing changes (--at)",
            duration(*at)
        ),
        Note::Keda(note) => keda(note),
        Note::NoModelPod { replicas } => {
            format!(
                "there is no pod to model new pods on, so no pods are assumed for {replicas} \
                 replicas"
            )
        }
        Note::BegunWithLoad { read } => {
            let read = read.map_or_else(
                || "the input, which lacks its time".to_owned(),
                |read| SecondsTime(read).to_string(),
            );
            format!(
                "the HPA and the pods are those of {read}, used as the state at the start of the \
                 load, and the controller for one that has just started"
            )
        }
        Note::OfLoad(note) => load::text(note),
        Note::NotPlayed => NOT_PLAYED.to_owned(),
        Note::ExitCodeOfFirstPass => "--exit-code is about the first pass, not the run".to_owned(),
    }
}

/// What has to happen before the answer holds.
fn rollout_first(target: &str, how: Replacement) -> String {
    let first = match how {
        Replacement::Rolling => {
            format!("a rollout of {target} has to replace the pods first")
        }
        Replacement::Recreate => format!(
            "a rollout of {target} has to replace the pods first, and removes all of them before it \
             creates new ones (spec.strategy.type: Recreate)"
        ),
        Replacement::Paused => format!(
            "{target} is paused and replaces no pods (spec.paused): the answer holds once it is resumed \
             and all pods are replaced"
        ),
        Replacement::OnDelete => format!(
            "{target} replaces only pods that are deleted (spec.updateStrategy.type: OnDelete): the \
             answer holds once all of them are"
        ),
        Replacement::ByKind => format!(
            "{target} has no rollouts and replaces only pods that are deleted: the answer holds once all \
             of them are"
        ),
        Replacement::AllBut(partition) => format!(
            "{target} replaces only pods from ordinal {partition} on \
             (spec.updateStrategy.rollingUpdate.partition): the answer holds once these are replaced, and \
             the others stay as they are"
        ),
        Replacement::Canary(_) | Replacement::BlueGreen { .. } => {
            let strategy = match how {
                Replacement::Canary(_) => "canary",
                _ => "blueGreen",
            };
            let waits = promotion(how)
                .map(|own| format!(", and {own}"))
                .unwrap_or_default();
            format!(
                "a rollout of {target} has to replace the pods first by spec.strategy.{strategy}, which is not \
                 simulated{waits}"
            )
        }
    };
    format!("{first}; the new ones are assumed to use what the observed ones do")
}

/// Where a Rollout waits until someone promotes it.
fn promotion(how: Replacement) -> Option<String> {
    match how {
        Replacement::Canary(Some(step)) => Some(format!(
            "it pauses at step {step} of spec.strategy.canary until it is promoted, with old and new pods side by side"
        )),
        Replacement::BlueGreen { is_manual: true } => Some(
            "it waits until it is promoted (spec.strategy.blueGreen.autoPromotionEnabled: false), with all old and \
             new pods side by side"
                .to_owned(),
        ),
        _ => None,
    }
}

/// What KEDA does with a ScaledObject.
fn keda(note: &KedaNote) -> String {
    match note {
        KedaNote::DirectionPaused { annotation } => {
            let direction = match *annotation {
                KEDA_PAUSED_SCALE_IN => "scaleDown",
                _ => "scaleUp",
            };
            format!("{annotation}: KEDA sets behavior.{direction}.selectPolicy to Disabled")
        }
        KedaNote::Composite { metric, triggers } => {
            let of = match &triggers[..] {
                [] => String::new(),
                names => format!(" from {}", names.join(", ")),
            };
            format!(
                "scalingModifiers: {metric} replaces the external metrics; KEDA computes it{of}, and \
                 the formula is not evaluated here: --metric {metric}=VALUE assumes its value"
            )
        }
        KedaNote::ContainersLost { metrics } => format!(
            "scalingModifiers: KEDA leaves out {} with containerName",
            count(*metrics, "trigger")
        ),
        KedaNote::NamedAsRunning {
            trigger,
            type_,
            metrics,
            with_target,
        } => {
            let own = if *with_target {
                "the name of its metric and the number of its target are taken from the running HPA"
            } else {
                "the name of its metric is taken from the running HPA"
            };
            format!(
                "spec.triggers[{trigger}] ({type_}): {own}, because only KEDA knows: {}",
                metrics.join(", ")
            )
        }
        KedaNote::PlaceHolder {
            trigger,
            type_,
            metric,
            why,
        } => format!(
            "spec.triggers[{trigger}] ({type_}): {metric} stands for the name of its metric, which only KEDA knows: \
             {why}"
        ),
        KedaNote::AuthenticationFirst { trigger, field } => format!(
            "spec.triggers[{trigger}]: KEDA prefers a {field} from authenticationRef, which is not read and \
             assumed to have none"
        ),
        KedaNote::NotRead { key, meant } => {
            format!("{key}: KEDA does not read it; {meant} may be meant")
        }
        KedaNote::RestsAt {
            replicas,
            cooldown,
            returns,
        } => {
            let back = if *returns { ", and back" } else { "" };
            format!(
                "KEDA itself scales to {} when no trigger for an external metric has been active for \
                 {cooldown}s{back}; that is not predicted",
                count(*replicas, "replica")
            )
        }
        KedaNote::Fallback {
            failures,
            replicas,
            behavior,
        } => {
            // Other behaviors weigh the number against the current replicas, or do without it.
            let own = match &**behavior {
                "" | "static" => count(*replicas, "replica"),
                other => format!("behavior {other}"),
            };
            let failures = count(*failures, "time");
            format!(
                "spec.fallback is not predicted: once a trigger has failed more than {failures}, KEDA \
                 reports a value of its own ({own})"
            )
        }
        KedaNote::NoFallback { target } => format!(
            "spec.fallback has no effect: for it, KEDA needs a whole number in \
             spec.advanced.scalingModifiers.target, which is {target:?}"
        ),
        KedaNote::Moved { metric, running } => format!(
            "{metric} has the value of {running}: of the running HPA's metrics, only that one has this \
             name after its index"
        ),
        KedaNote::NotOwned {
            hpa,
            fate: NotOwned::TakenOver(annotation),
        } => format!(
            "{annotation}: KEDA takes over HorizontalPodAutoscaler/{hpa}, which it did not create"
        ),
        KedaNote::NotOwned {
            hpa,
            fate: NotOwned::Beside(name),
        } => format!(
            "{KEDA_OWNERSHIP} of HorizontalPodAutoscaler/{hpa} has KEDA create \
             HorizontalPodAutoscaler/{name} beside it: both scale the target until one is deleted"
        ),
        KedaNote::NotOwned {
            hpa,
            fate: NotOwned::Refuses,
        } => format!(
            "KEDA's webhook refuses it while HorizontalPodAutoscaler/{hpa}, which KEDA did not create, \
             scales the target: delete that HPA, or have KEDA take it over with the annotation \
             {KEDA_TRANSFER}: \"true\" and spec.advanced.horizontalPodAutoscalerConfig.name: {hpa}"
        ),
        KedaNote::NotOwned {
            hpa,
            fate: NotOwned::OfAnother(owner),
        } => format!(
            "KEDA's webhook refuses it while ScaledObject/{owner}, whose HorizontalPodAutoscaler is {hpa}, scales \
             the target: delete ScaledObject/{owner} first"
        ),
        KedaNote::NotInHpa { fields } => {
            format!(
                "used by KEDA itself and not part of the HPA: {}",
                listed(fields)
            )
        }
    }
}

/// Words why something is unknown.
pub(super) fn cause(cause: &UnknownFactCause) -> String {
    match cause {
        UnknownFactCause::Late => "no answer in time".to_owned(),
        UnknownFactCause::MissingRight(right) => right.advice(),
        UnknownFactCause::NoPods => "the pods cannot be read".to_owned(),
        UnknownFactCause::Failed(cause) => cause.clone(),
    }
}

/// A pod of the controller manager.
pub(super) fn manager(pod: &str) -> String {
    format!("pod {LEASE_NAMESPACE}/{pod}")
}

/// Returns the command that prints what the input lacks.
fn command(documents: Documents, path: Option<&str>, namespace: &str) -> String {
    let kinds = match documents {
        // A metric needs no scale; if asked for one anyway, print what scales are derived from.
        Documents::Scale => "deployments,statefulsets,replicasets",
        _ => "pods",
    };
    match path {
        Some(path) => format!("kubectl get --raw {}", names::shell_word(path)),
        None => format!(
            "kubectl get {kinds} -n {} -o yaml",
            names::shell_word(namespace)
        ),
    }
}

/// Returns the command that answers from an input without pods. How many there are is part of it, unless the input
/// states replicas.
pub(crate) fn assume_pods(hpa: &Hpa, flags: &CommandFlags, states_replicas: bool) -> String {
    let [name, namespace] = [&hpa.name, &hpa.namespace].map(|it| names::shell_word(it));
    let command = flags.add_to(&format!("kubectl hpa predict {name} -n {namespace}"));
    let replicas = if states_replicas {
        String::new()
    } else {
        let (min, max) = (hpa.spec.min_replicas.unwrap_or(1), hpa.spec.max_replicas);
        format!(" --replicas {}", 3.min(max).max(min))
    };
    let values = value_flags(&hpa.spec.metrics, hpa);
    let assumed = flags.with_assumed(format!("{replicas} {values}").trim_start());
    format!("`{command} {assumed}` assumes the pods")
}

/// Returns flags of `predict` that give metrics of an HPA a value: of a container rather than of the pods, as both are based on
/// the same usage.
pub(crate) fn value_flags<'m>(
    metrics: impl IntoIterator<Item = &'m MetricSpec>,
    hpa: &Hpa,
) -> String {
    let metrics: Vec<&MetricSpec> = metrics.into_iter().collect();
    let is_of_container = |resource: &str| {
        metrics
            .iter()
            .any(|other| other.container().is_some() && other.name() == resource)
    };
    let is_needed = |spec: &&&MetricSpec| {
        !spec.is_resource() || spec.container().is_some() || !is_of_container(spec.name())
    };
    let flags: Vec<String> = metrics
        .iter()
        .filter(is_needed)
        .map(|spec| value_flag(spec, hpa))
        .collect();
    flags.join(" ")
}

fn value_flag(spec: &MetricSpec, hpa: &Hpa) -> String {
    let is_share = spec
        .target()
        .is_some_and(|target| target.average_utilization.is_some());
    let name = spec.name();
    if !spec.is_resource() || !["cpu", "memory"].contains(&name) {
        let value = format!("{}=30", spec.flag_name(&hpa.spec.metrics));
        return format!("--metric {}", names::shell_word(&value));
    }
    let container = spec
        .container()
        .map(|own| format!("{own}="))
        .unwrap_or_default();
    let value = match (is_share, name) {
        (true, _) => "80%",
        (false, "cpu") => "250m",
        (false, _) => "200Mi",
    };
    format!(
        "--{name} {}",
        names::shell_word(&format!("{container}{value}"))
    )
}

/// The values of a metric; `None` is all resource metrics.
fn values_of(metric: Option<&str>) -> String {
    metric.map_or_else(
        || "the metrics".to_owned(),
        |name| format!("the values of {name}"),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::text;
    use crate::findings::testing::{pass, state, with};
    use crate::snapshot::note::Note;

    #[test]
    fn an_object_that_is_skipped_says_what_is_read_instead() {
        let target = json!({"apiVersion": "example.com/v1", "kind": "Stack", "name": "web"});
        let hpa = json!({"spec": {"scaleTargetRef": target}});
        let hpa = pass(&with(
            &state(&[], &["50m"]),
            "HorizontalPodAutoscaler",
            &hpa,
        ))
        .input
        .snapshot
        .hpa;
        for (api_version, kind, want) in [
            (
                "example.com/v2",
                "Stack",
                "a pass uses only the Scale of the target",
            ),
            ("example.org/v1", "Stack", "not used by a pass"),
            (
                "http.keda.sh/v1alpha1",
                "HTTPScaledObject",
                "a pass uses only the HPA that KEDA creates",
            ),
        ] {
            let (kind, api_version) = (kind.to_owned(), api_version.to_owned());
            let want = format!("skipped 2 {kind} ({api_version}): {want}");
            assert_eq!(
                text(
                    &Note::ObjectsSkipped {
                        kind,
                        api_version,
                        count: 2
                    },
                    &hpa
                ),
                want
            );
        }
    }
}
