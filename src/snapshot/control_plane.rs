//! The facts that a cluster reveals about the control plane: the pods of the controller manager, its leader, and the
//! server's version, with the words for what could not be read. Only the parts of these pods that affect a pass are
//! kept.

use std::fmt;

use super::evidence::LEASE_NAMESPACE;
use super::manager::{MANAGER, ManagerSettings};
use super::pod::{Phase, Pod};
use super::right::UnknownFactCause;
use crate::version::Version;

/// The label of the controller manager's pods, where kubeadm, kind and minikube run it.
pub const MANAGER_LABEL: (&str, &str) = ("component", "kube-controller-manager");

/// The known facts about the control plane.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ControlPlane {
    /// The pods of the controller manager that may be running.
    pub pods: Vec<ManagerPod>,
    /// The holder of the controller manager's lease.
    pub holder: Option<String>,
    /// The server's version, or the version that it emulates.
    pub server: Option<Version>,
    /// The facts about the controller manager that could not be read, with the reasons.
    pub unread: Vec<(ManagerFact, Unshown)>,
}

/// A fact about the controller manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ManagerFact {
    /// The flags of the controller manager.
    #[error("flags")]
    Flags,
    /// The time at which it became the leader.
    #[error("start")]
    Start,
}

/// The reason why a fact about the controller manager could not be read.
#[derive(Debug, Clone, PartialEq)]
pub enum Unshown {
    /// The request was not answered.
    Cause(UnknownFactCause),
    /// The controller manager has no pod.
    NoPod,
    /// These pods differ, and the leader is unknown.
    PodsDiffer(Vec<String>),
}

impl fmt::Display for Unshown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // With -v, the advice is printed.
            Self::Cause(UnknownFactCause::MissingRight(right)) => write!(f, "{right}"),
            Self::Cause(cause) => write!(f, "{cause}"),
            Self::NoPod => {
                let (label, value) = MANAGER_LABEL;
                write!(
                    f,
                    "no pod in {LEASE_NAMESPACE} with {label}={value} shows them"
                )
            }
            Self::PodsDiffer(pods) => {
                write!(f, "{} differ, and the leader is unknown", pods.join(", "))
            }
        }
    }
}

/// Names a pod of the controller manager.
pub(crate) fn manager(pod: &str) -> String {
    format!("pod {LEASE_NAMESPACE}/{pod}")
}

/// A pod of the controller manager.
#[derive(Debug, Clone, PartialEq)]
pub struct ManagerPod {
    /// The pod's name.
    pub name: Box<str>,
    /// The pod's settings.
    pub settings: ManagerSettings,
}

impl ManagerPod {
    /// Takes the settings from a pod, and returns them if the pod is a controller manager that may be running.
    pub(crate) fn of(pod: &mut Pod) -> Option<Self> {
        let settings = *pod.manager.take()?;
        let (label, value) = MANAGER_LABEL;
        let is_own = pod.namespace.as_deref() == Some(LEASE_NAMESPACE)
            && pod.labels.get(label) == Some(value)
            && matches!(pod.phase, Phase::Running | Phase::Other);
        is_own.then(|| Self {
            name: pod.name.clone(),
            settings,
        })
    }

    /// Whether the pod runs on the node that an identity such as `NODE_UUID` names.
    fn leads(&self, holder: &str) -> bool {
        let node = self
            .name
            .strip_prefix(MANAGER)
            .and_then(|rest| rest.strip_prefix('-'));
        holder
            .rsplit_once('_')
            .is_some_and(|(host, _)| node == Some(host))
    }
}

impl ControlPlane {
    /// Returns the pod whose settings apply: the leader, or any pod if all have the same settings.
    ///
    /// # Errors
    ///
    /// It is unknown which pod applies.
    pub(super) fn leader(&self) -> Result<Option<&ManagerPod>, Unshown> {
        let holder = self.holder.as_deref();
        let leader = self
            .pods
            .iter()
            .find(|pod| holder.is_some_and(|holder| pod.leads(holder)));
        let first = self.pods.first();
        match leader.or(first) {
            None => Ok(None),
            Some(pod)
                if leader.is_some()
                    || self.pods.iter().all(|other| other.settings == pod.settings) =>
            {
                Ok(Some(pod))
            }
            Some(_) => Err(Unshown::PodsDiffer(
                self.pods.iter().map(|pod| pod.name.to_string()).collect(),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ControlPlane, ManagerPod};
    use crate::flags::Flags;
    use crate::snapshot::manager::{ManagerFlag, ManagerSettings};
    use crate::version::{FeatureGate, Version};

    /// Returns the settings that a pod of the controller manager with these changes reveals.
    fn read(name: &str, change: impl FnOnce(&mut Value)) -> Option<ManagerPod> {
        let mut pod = json!({
            "metadata": {
                "name": name,
                "namespace": "kube-system",
                "labels": {"component": "kube-controller-manager"},
            },
            "spec": {"containers": [{
                "name": "kube-controller-manager",
                "command": ["kube-controller-manager", "--leader-elect=true"],
                "image": "registry.k8s.io/kube-controller-manager:v1.31.4",
            }]},
            "status": {"phase": "Running"},
        });
        change(&mut pod);
        ManagerPod::of(&mut serde_json::from_str(&pod.to_string()).unwrap())
    }

    fn settings(args: &[&str]) -> ManagerSettings {
        let pod = read("kube-controller-manager-a", |pod| {
            pod["spec"]["containers"][0]["args"] = json!(args);
        });
        pod.unwrap().settings
    }

    #[test]
    fn flags_are_read_as_the_controller_manager_reads_them() {
        let seconds = |seconds| Some(jiff::SignedDuration::from_secs(seconds));
        let none = Flags::default();
        for (args, want) in [
            (&[][..], none),
            (
                &["--horizontal-pod-autoscaler-sync-period=30s"],
                Flags {
                    sync_period: seconds(30),
                    ..none
                },
            ),
            (
                &["--horizontal-pod-autoscaler-sync-period", "1m30s", "--v=2"],
                Flags {
                    sync_period: seconds(90),
                    ..none
                },
            ),
            (
                &["--horizontal_pod_autoscaler_tolerance=2e-1"],
                Flags {
                    tolerance: Some(0.2),
                    ..none
                },
            ),
            (
                &[
                    "--horizontal-pod-autoscaler-tolerance=0.2",
                    "--horizontal-pod-autoscaler-tolerance",
                    "0",
                ],
                Flags {
                    tolerance: Some(0.0),
                    ..none
                },
            ),
            (
                &[
                    "--horizontal-pod-autoscaler-downscale-stabilization=1h",
                    "--horizontal-pod-autoscaler-cpu-initialization-period=0",
                    "--horizontal-pod-autoscaler-initial-readiness-delay=1.5s",
                ],
                Flags {
                    downscale_stabilization: seconds(3600),
                    cpu_initialization_period: seconds(0),
                    initial_readiness_delay: Some(jiff::SignedDuration::from_millis(1500)),
                    ..none
                },
            ),
            // Not this flag, one dash, the value of another flag.
            (
                &[
                    "--horizontal-pod-autoscaler-tolerances=1",
                    "-horizontal-pod-autoscaler-tolerance=1",
                    "--controllers",
                    "--horizontal-pod-autoscaler-tolerance=1",
                ],
                none,
            ),
        ] {
            let found = settings(args);
            assert_eq!(
                (found.flags, found.unusable),
                (want, Vec::new()),
                "{args:?}"
            );
        }
    }

    #[test]
    fn a_controller_manager_without_an_election_has_no_lease() {
        for (args, is_unelected) in [
            (&[][..], false),
            (&["--leader-elect=false"], true),
            (&["--leader-elect=0", "--leader-elect"], false),
            (&["--leader-elect", "false"], false),
        ] {
            let found = settings(args);
            assert_eq!(found.is_unelected, is_unelected, "{args:?}");
            assert_eq!(found.unusable, [], "{args:?}");
        }
    }

    #[test]
    fn unusable_values_are_told() {
        use ManagerFlag::{Controllers, EmulatedVersion, FeatureGates, Hpa, LeaderElect};
        for (arg, flag, why) in [
            (
                "--leader-elect=no",
                LeaderElect,
                "\"no\" is neither true nor false",
            ),
            (
                "--horizontal-pod-autoscaler-sync-period=30",
                Hpa("sync-period"),
                "\"30\" is not a duration such as 5m0s",
            ),
            (
                "--horizontal-pod-autoscaler-sync-period=-1s",
                Hpa("sync-period"),
                "\"-1s\" is not a duration such as 5m0s",
            ),
            (
                "--horizontal-pod-autoscaler-sync-period",
                Hpa("sync-period"),
                "no value",
            ),
            (
                "--horizontal-pod-autoscaler-tolerance=10%",
                Hpa("tolerance"),
                "\"10%\" is not a fraction such as 0.1",
            ),
            (
                "--horizontal-pod-autoscaler-tolerance=NaN",
                Hpa("tolerance"),
                "\"NaN\" is not a fraction such as 0.1",
            ),
            (
                "--controllers=$(ON)",
                Controllers,
                "the value of \"$(ON)\" is unknown",
            ),
            (
                "--feature-gates=HPAScaleToZero",
                FeatureGates,
                "\"HPAScaleToZero\" is not a feature gate setting",
            ),
            (
                "--feature-gates=HPAScaleToZero=yes",
                FeatureGates,
                "\"HPAScaleToZero=yes\" is not a feature gate setting",
            ),
            (
                "--emulated-version=kube=1.x",
                EmulatedVersion,
                "not a version such as v1.31.4",
            ),
        ] {
            let found = settings(&[arg]);
            assert_eq!(found.unusable, [(flag, why.to_owned())], "{arg}");
            assert!(found.is_unusable(flag) && found.runs_hpa_controller());
        }
    }

    #[test]
    fn gates_are_set_alone_or_by_stage() {
        for (args, minor, want) in [
            (
                &["--feature-gates=HPAScaleToZero=true"][..],
                31,
                [Some(true), None],
            ),
            (
                &[
                    "--feature-gates=A=true,HPAScaleToZero=T,",
                    "--feature-gates",
                    "HPAScaleToZero=0",
                ],
                31,
                [Some(false), None],
            ),
            (
                &["--feature-gates=kube:HPAScaleToZero=true, other:HPAConfigurableTolerance=false"],
                35,
                [Some(true), None],
            ),
            (
                &["--feature-gates=AllAlpha=true"],
                34,
                [Some(true), Some(true)],
            ),
            (&["--feature-gates=AllAlpha=true"], 35, [Some(true), None]),
            (&["--feature-gates=AllBeta=false"], 35, [None, Some(false)]),
            (
                &[
                    "--feature-gates=HPAScaleToZero=false",
                    "--feature-gates=AllAlpha=true",
                ],
                35,
                [Some(false), None],
            ),
            // That gate does not exist yet.
            (&["--feature-gates=AllAlpha=true"], 32, [Some(true), None]),
        ] {
            let settings = settings(args);
            let version: Version = format!("v1.{minor}").parse().unwrap();
            let found = [
                FeatureGate::HPAScaleToZero,
                FeatureGate::HPAConfigurableTolerance,
            ]
            .map(|gate| settings.gate(gate, &version));
            assert_eq!(
                (found, settings.unusable),
                (want, Vec::new()),
                "{args:?} in {minor}"
            );
        }
    }

    #[test]
    fn the_hpa_controller_may_be_switched_off() {
        for (args, runs) in [
            (&[][..], true),
            (&["--controllers=*,bootstrapsigner,tokencleaner"], true),
            (&["--controllers=*,-horizontalpodautoscaling"], false),
            (
                &["--controllers=-horizontal-pod-autoscaler-controller,*"],
                false,
            ),
            (
                &[
                    "--controllers=*",
                    "--controllers=-horizontal-pod-autoscaler-controller",
                ],
                false,
            ),
            (&["--controllers=deployment,replicaset"], false),
            (&["--controllers=deployment,horizontalpodautoscaling"], true),
            (
                &["--controllers=horizontalpodautoscaling,-horizontalpodautoscaling"],
                true,
            ),
            (
                &["--controllers=*,-horizontalpodautoscaler-controller"],
                true,
            ),
        ] {
            assert_eq!(settings(args).runs_hpa_controller(), runs, "{args:?}");
        }
    }

    #[test]
    fn the_version_is_that_of_the_image() {
        for (image, args, want) in [
            (
                "registry.k8s.io/kube-controller-manager:v1.31.4",
                &[][..],
                Some(Ok("v1.31.4")),
            ),
            (
                "localhost:5000/kube-controller-manager:v1.30.1_vendor.2@sha256:0123",
                &[],
                Some(Ok("v1.30.1_vendor.2")),
            ),
            ("localhost:5000/kube-controller-manager", &[], None),
            ("kube-controller-manager:latest", &[], None),
            (
                "kube-controller-manager:v1.16.3",
                &[],
                Some(Err("v1.16 is older than v1.23, the oldest rules known")),
            ),
            (
                "kube-controller-manager:v1.33.1",
                &["--emulated-version=1.32"],
                Some(Ok("1.32")),
            ),
            (
                "kube-controller-manager:v1.33.1",
                &["--emulated-version=other=1.2,kube=1.31"],
                Some(Ok("1.31")),
            ),
        ] {
            let pod = read("a", |pod| {
                pod["spec"]["containers"][0]["image"] = json!(image);
                pod["spec"]["containers"][0]["args"] = json!(args);
            });
            let version = pod.unwrap().settings.version;
            let stated = |version: Version| version.stated().unwrap_or_default().to_owned();
            let found = version.map(|version| version.map(stated));
            let wanted = want.map(|want| want.map(str::to_owned).map_err(str::to_owned));
            assert_eq!(found, wanted, "{image}");
        }
    }

    #[test]
    fn no_other_pod_counts() {
        let changes: [fn(&mut Value); 8] = [
            |pod| pod["metadata"]["namespace"] = json!("default"),
            |pod| pod["metadata"]["namespace"] = Value::Null,
            |pod| pod["metadata"]["labels"]["component"] = json!("kube-scheduler"),
            |pod| pod["status"]["phase"] = json!("Failed"),
            |pod| pod["status"]["phase"] = json!("Pending"),
            |pod| pod["spec"]["containers"][0]["name"] = json!("sidecar"),
            |pod| {
                let line = "exec kube-controller-manager --horizontal-pod-autoscaler-tolerance=1";
                pod["spec"]["containers"][0]["command"] = json!(["/bin/sh", "-c", line]);
            },
            |pod| pod["spec"]["containers"][0]["command"] = json!(["kube-controller-manager"]),
        ];
        assert!(read("a", |_| {}).is_some());
        for (place, change) in changes.into_iter().enumerate() {
            assert_eq!(read("a", change), None, "change {place}");
        }
    }

    #[test]
    fn the_leader_counts_or_what_all_have() {
        let pod = |node: &str, tolerance: &str| {
            read(&format!("kube-controller-manager-{node}"), |pod| {
                let flag = format!("--horizontal-pod-autoscaler-tolerance={tolerance}");
                pod["spec"]["containers"][0]["args"] = json!([flag]);
            })
            .unwrap()
        };
        for (pods, holder, want) in [
            (&[("a", "1")][..], None, Ok(Some("a"))),
            (&[("a", "1")], Some("elsewhere_3b2e"), Ok(Some("a"))),
            (&[("a", "1"), ("b", "1")], None, Ok(Some("a"))),
            (&[("a", "1"), ("b", "2")], Some("b_3b2e"), Ok(Some("b"))),
            (
                &[("a", "1"), ("b_c", "2")],
                Some("b_c_3b2e"),
                Ok(Some("b_c")),
            ),
            (&[("a", "1"), ("b", "2")], Some("b"), Err(())),
            (&[("a", "1"), ("b", "2")], Some("c_3b2e"), Err(())),
            (&[("a", "1"), ("b", "2")], None, Err(())),
            (&[], Some("a_3b2e"), Ok(None)),
        ] {
            let plane = ControlPlane {
                pods: pods
                    .iter()
                    .map(|(node, tolerance)| pod(node, tolerance))
                    .collect(),
                holder: holder.map(str::to_owned),
                ..ControlPlane::default()
            };
            let name = |node: &str| format!("kube-controller-manager-{node}");
            let found = plane
                .leader()
                .map(|pod| pod.map(|pod| pod.name.to_string()));
            assert_eq!(
                found.map_err(drop),
                want.map(|node| node.map(name)),
                "{pods:?} {holder:?}"
            );
        }
    }
}
