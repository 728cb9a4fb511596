//! The annotations about scaling. All others are skipped when an object is read: they may be large, and
//! they may contain secrets that must not be saved. Of the last applied manifest, only the replicas are
//! read, not the environment.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use super::json::{expecting, read_str};

/// The revision of a Deployment, and of the ReplicaSet that the Deployment created for it.
pub const REVISION: &str = "deployment.kubernetes.io/revision";
/// A VerticalPodAutoscaler's changes to a pod.
pub const VPA_UPDATES: &str = "vpaUpdates";
/// Stops a ScaledObject from scaling; its HPA is removed.
pub const KEDA_PAUSED: &str = "autoscaling.keda.sh/paused";
/// Stops a ScaledObject from scaling, at this number of replicas; its HPA is removed.
pub const KEDA_PAUSED_REPLICAS: &str = "autoscaling.keda.sh/paused-replicas";
/// Stops a ScaledObject from scaling in.
pub const KEDA_PAUSED_SCALE_IN: &str = "autoscaling.keda.sh/paused-scale-in";
/// Stops a ScaledObject from scaling out.
pub const KEDA_PAUSED_SCALE_OUT: &str = "autoscaling.keda.sh/paused-scale-out";
/// Makes KEDA count a ScaledObject as active, whatever its triggers report.
pub const KEDA_FORCE: &str = "autoscaling.keda.sh/force-activation";

/// Lets a ScaledObject take over an HPA that KEDA did not create.
pub const KEDA_TRANSFER: &str = "scaledobject.keda.sh/transfer-hpa-ownership";

/// On an HPA: whether KEDA's webhook rejects a ScaledObject for its target.
pub const KEDA_OWNERSHIP: &str = "validations.keda.sh/hpa-ownership";

/// The application of Argo CD that an object belongs to.
pub const ARGO_CD_TRACKING: &str = "argocd.argoproj.io/tracking-id";

/// The manifest that `kubectl apply` applied last; only `spec.replicas` is kept.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

const KNOWN: [&str; 10] = [
    LAST_APPLIED,
    ARGO_CD_TRACKING,
    REVISION,
    VPA_UPDATES,
    KEDA_PAUSED,
    KEDA_PAUSED_REPLICAS,
    KEDA_PAUSED_SCALE_IN,
    KEDA_PAUSED_SCALE_OUT,
    KEDA_FORCE,
    KEDA_TRANSFER,
];

/// Annotations by key, reduced to those about scaling.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Annotations(Vec<(&'static str, Box<str>)>);

impl Annotations {
    /// Returns the value of an annotation about scaling.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(name, _)| *name == key)
            .map(|(_, value)| &**value)
    }

    /// Whether the manifest that `kubectl apply` applied last states replicas.
    pub fn last_applied_states_replicas(&self) -> bool {
        self.get(LAST_APPLIED).is_some()
    }

    /// Whether there are no annotations.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Annotations {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl<'de> Deserialize<'de> for Annotations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnnotationsVisitor;
        impl<'de> Visitor<'de> for AnnotationsVisitor {
            type Value = Annotations;

            expecting!("a map of annotations");

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Annotations, A::Error> {
                let mut known: Vec<(&'static str, Box<str>)> = Vec::new();
                while let Some(KnownKey(key)) = map.next_key()? {
                    match key {
                        Some(key) => {
                            let value: Box<str> = map.next_value()?;
                            known.retain(|(name, _)| *name != key);
                            let value = match key {
                                LAST_APPLIED => replicas_of(&value),
                                _ => Some(value),
                            };
                            known.extend(value.map(|value| (key, value)));
                        }
                        None => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(Annotations(known))
            }
        }
        deserializer.deserialize_map(AnnotationsVisitor)
    }
}

/// Reduces a manifest to its replicas, if it states them.
fn replicas_of(manifest: &str) -> Option<Box<str>> {
    #[derive(serde::Deserialize)]
    struct AppliedManifest {
        spec: AppliedSpec,
    }
    #[derive(serde::Deserialize)]
    struct AppliedSpec {
        replicas: i32,
    }
    let AppliedManifest {
        spec: AppliedSpec { replicas },
    } = serde_json::from_str(manifest).ok()?;
    Some(format!("{{\"spec\":{{\"replicas\":{replicas}}}}}").into())
}

/// A key, if it is known.
struct KnownKey(Option<&'static str>);

impl<'de> Deserialize<'de> for KnownKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_str(deserializer, "the key of an annotation", |key| {
            Ok(Self(KNOWN.into_iter().find(|known| *known == key)))
        })
    }
}
