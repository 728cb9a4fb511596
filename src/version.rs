//! The Kubernetes version of the controller and its API server, and the feature gates of that version. Only
//! the minor version counts. Other differences between versions belong to the code that they concern: `rules`
//! for the controller, admission for the API server.

use std::fmt;
use std::str::FromStr;

/// The oldest minor version whose rules are known: the first with `autoscaling/v2`.
const OLDEST: u32 = 23;
/// The newest released minor version.
const RELEASED: u32 = 37;
/// The newest minor version whose rules are known: in alpha, from the changes that are merged or proposed
/// for it.
const NEWEST: u32 = 38;

/// A version of Kubernetes, limited to the parts on which rules depend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    minor: u32,
    stated: Option<String>,
}

impl Version {
    /// Returns the newest released version, used if none is stated.
    pub fn released() -> Self {
        Self {
            minor: RELEASED,
            stated: None,
        }
    }

    /// Returns all versions from the oldest known one to the newest released one, in this order.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (OLDEST..=RELEASED).map(|minor| Self {
            minor,
            stated: None,
        })
    }

    /// Returns the minor version. It may be newer than all known ones.
    pub fn minor(&self) -> u32 {
        self.minor
    }

    /// Returns the version as it was stated, such as `v1.29.4-gke.1043`.
    pub fn stated(&self) -> Option<&str> {
        self.stated.as_deref()
    }

    /// Returns the version as it was stated, or else with the precision that rules depend on.
    pub fn named(&self) -> String {
        let of_rules = || format!("v1.{}", self.minor);
        self.stated.clone().unwrap_or_else(of_rules)
    }

    /// Whether the version is newer than the newest known version.
    pub fn is_newer_than_known(&self) -> bool {
        self.minor > NEWEST
    }

    /// Whether the controller of StatefulSets may respect `maxUnavailable` by default:
    /// `MaxUnavailableStatefulSet` was on up to v1.35.3, off from v1.35.4 on (137926), and is on again as of
    /// v1.37 (139466).
    pub(crate) fn replaces_several(&self) -> bool {
        self.minor == 35 || self.minor >= 37
    }

    /// Returns the reason why the rules of this version are uncertain.
    pub fn caveat(&self) -> Option<&'static str> {
        match self.minor {
            24 => Some("its source was not read: where v1.23 and v1.25 differ, v1.23 is followed"),
            NEWEST.. => Some(
                "v1.38 is in alpha: some of its rules are taken from the text of pull requests",
            ),
            _ => None,
        }
    }
}

/// Writes the version from whose source the rules were taken.
impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let patch = match self.minor {
            23 => ".0",
            25 => ".9",
            26 => ".4",
            27 => ".16",
            28 => ".15",
            29..=31 => ".14",
            32 | 33 => ".13",
            34 => ".9",
            35 => ".6",
            36 => ".2",
            37 => ".0",
            _ => "",
        };
        write!(f, "v1.{}{patch}", self.minor.min(NEWEST))
    }
}

/// Reads `v1.31.4`, `1.31`, and vendors' variants: `v1.29.4-gke.1043`, `v1.31.0+k3s1`, `1.29+`.
impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let minor = minor_of(text).ok_or("not a version such as v1.31.4")?;
        if minor < OLDEST {
            return Err(format!(
                "v1.{minor} is older than v1.{OLDEST}, the oldest rules known"
            ));
        }
        Ok(Self {
            minor,
            stated: Some(text.to_owned()),
        })
    }
}

/// Whether a version is stated that is older than the oldest known one, and so lacks `autoscaling/v2`.
pub(crate) fn is_too_old(stated: &str) -> bool {
    minor_of(stated).is_some_and(|minor| minor < OLDEST)
}

/// Returns the minor version of a stated version 1.
fn minor_of(stated: &str) -> Option<u32> {
    let number = stated.strip_prefix('v').unwrap_or(stated);
    let rest = number.strip_prefix("1.")?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (minor, after) = rest.split_at(end);
    let is_readable = after.is_empty() || after.starts_with(['.', '+', '-']);
    minor.parse().ok().filter(|_| is_readable)
}

/// Declares the feature gates on which a pass depends, each with the minor versions in which its stages begin. Before
/// the first, it is absent.
macro_rules! gates {
    ($($(#[$doc:meta])+ $gate:ident: $($stage:ident $since:literal),+;)+) => {
        /// A feature gate on which a pass depends.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum FeatureGate {
            $($(#[$doc])+ $gate,)+
        }

        impl FeatureGate {
            /// All gates, in the order in which they are listed.
            pub const ALL: [Self; [$(Self::$gate),+].len()] = [$(Self::$gate),+];

            /// Returns the gate's name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$gate => stringify!($gate),)+
                }
            }

            fn stages(self) -> &'static [(u32, Stage)] {
                match self {
                    $(Self::$gate => &[$(($since, Stage::$stage)),+],)+
                }
            }
        }
    };
}

// Follows the versioned specifications in upstream's `pkg/features/kube_features.go`. It is not confirmed that
// `PodLevelResources` stayed beta in 1.37: 140536, which graduates it, was open when this was written. Nor is it
// confirmed that `HPAOptimizedSelectorStore` and `StaleControllerConsistencyHPA` stay beta in 1.38.
gates! {
    /// `minReplicas: 0` is allowed.
    HPAScaleToZero: Off 16, On 37;
    /// Metrics of the type ContainerResource.
    HPAContainerMetrics: Off 20, On 27, Locked 30, Removed 32;
    /// `behavior.*.tolerance`.
    HPAConfigurableTolerance: Off 33, On 35, Locked 37;
    /// Requests of whole pods.
    PodLevelResources: Unused 32, On 34;
    /// `status.observedGeneration`, and a pass as soon as the spec has changed.
    HPAGeneration: On 37, Locked 38;
    /// An index of the selectors of all HPAs.
    HPAOptimizedSelectorStore: On 37;
    /// A pass waits until the controller has seen its own last write.
    StaleControllerConsistencyHPA: On 37;
}

impl FeatureGate {
    /// Returns the gate of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|gate| gate.name() == name)
    }

    /// Returns the gates that can be set in a version.
    pub fn settable(version: &Version) -> impl Iterator<Item = Self> {
        let is_settable = |gate: &Self| gate.stage(version).is_settable();
        Self::ALL.into_iter().filter(is_settable)
    }

    /// Returns the gate's stage in a version.
    pub fn stage(self, version: &Version) -> Stage {
        let begun = self.stages().iter().filter(|it| it.0 <= version.minor);
        let last = begun.max_by_key(|it| it.0);
        last.map_or(Stage::Absent, |it| it.1)
    }

    /// Returns the first later minor version in which the gate is on by default, if it is off in this one.
    pub fn on_after(self, version: &Version) -> Option<u32> {
        let is_later = |it: &&(u32, Stage)| it.0 > version.minor && it.1.is_on();
        let later = self.stages().iter().filter(is_later).map(|it| it.0);
        later.min().filter(|_| !self.stage(version).is_on())
    }

    /// Whether the gate is on in a document that states a version but not the gate: as by default,
    /// except that the recorded controllers of 1.27 to 1.29, which such a document means, ran without
    /// container metrics. A kube-controller-manager of these versions has them on.
    pub fn is_on_unstated(self, version: &Version) -> bool {
        let recorded_off = self == Self::HPAContainerMetrics && (27..30).contains(&version.minor);
        !recorded_off && self.stage(version).is_on()
    }
}

impl fmt::Display for FeatureGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The stage of a feature gate in a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Neither the gate nor its feature exists.
    Absent,
    /// The gate exists, but a pass does not depend on it.
    Unused,
    /// Off by default.
    Off,
    /// On by default.
    On,
    /// On, and cannot be switched off.
    Locked,
    /// The feature is always on, and the gate is gone.
    Removed,
}

impl Stage {
    /// Whether setting the gate makes a difference.
    pub fn is_settable(self) -> bool {
        matches!(self, Self::Off | Self::On)
    }

    /// Whether the feature is on if nothing sets the gate.
    pub fn is_on(self) -> bool {
        matches!(self, Self::On | Self::Locked | Self::Removed)
    }
}

#[cfg(test)]
mod tests {
    use super::{FeatureGate, Stage, Version, is_too_old};

    #[test]
    fn versions_are_read_as_vendors_write_them() {
        for (text, minor, rules) in [
            ("v1.36.2", 36, "v1.36.2"),
            ("v1.29.4-gke.1043", 29, "v1.29.14"),
            ("v1.31.0+k3s1", 31, "v1.31.14"),
            ("1.23", 23, "v1.23.0"),
            ("v1.24+", 24, "v1.24"),
            ("v1.37.0-rc.1", 37, "v1.37.0"),
            ("v1.38.0-alpha.1", 38, "v1.38"),
            ("v1.41.0", 41, "v1.38"),
        ] {
            let version: Version = text.parse().unwrap();
            assert_eq!(
                (version.minor(), &*version.to_string()),
                (minor, rules),
                "{text}"
            );
            assert_eq!(version.stated(), Some(text));
        }
        let unreadable = Err("not a version such as v1.31.4".to_owned());
        for text in [
            "",
            "v",
            "1",
            "v1.",
            "v2.1",
            "1.x",
            "v1.31rc",
            "v1.99999999999",
            "-1.31",
        ] {
            assert_eq!(text.parse::<Version>(), unreadable);
        }
        let old = "v1.22 is older than v1.23, the oldest rules known".to_owned();
        assert_eq!("v1.22.17".parse::<Version>(), Err(old));
        assert!(is_too_old("v1.22.17") && !is_too_old("v1.23.0") && !is_too_old("v2.1"));
    }

    #[test]
    fn gates_come_graduate_and_go() {
        use Stage::{Absent, Locked, Off, On, Removed, Unused};
        for (gate, minor, stage) in [
            (FeatureGate::HPAScaleToZero, 23, Off),
            (FeatureGate::HPAScaleToZero, 36, Off),
            (FeatureGate::HPAScaleToZero, 37, On),
            (FeatureGate::HPAScaleToZero, 38, On),
            (FeatureGate::HPAContainerMetrics, 26, Off),
            (FeatureGate::HPAContainerMetrics, 27, On),
            (FeatureGate::HPAContainerMetrics, 29, On),
            (FeatureGate::HPAContainerMetrics, 30, Locked),
            (FeatureGate::HPAContainerMetrics, 31, Locked),
            (FeatureGate::HPAContainerMetrics, 32, Removed),
            (FeatureGate::HPAConfigurableTolerance, 32, Absent),
            (FeatureGate::HPAConfigurableTolerance, 33, Off),
            (FeatureGate::HPAConfigurableTolerance, 34, Off),
            (FeatureGate::HPAConfigurableTolerance, 35, On),
            (FeatureGate::HPAConfigurableTolerance, 36, On),
            (FeatureGate::HPAConfigurableTolerance, 37, Locked),
            (FeatureGate::PodLevelResources, 31, Absent),
            (FeatureGate::PodLevelResources, 32, Unused),
            (FeatureGate::PodLevelResources, 33, Unused),
            (FeatureGate::PodLevelResources, 34, On),
            (FeatureGate::PodLevelResources, 37, On),
            (FeatureGate::HPAGeneration, 36, Absent),
            (FeatureGate::HPAGeneration, 37, On),
            (FeatureGate::HPAGeneration, 38, Locked),
            (FeatureGate::HPAOptimizedSelectorStore, 36, Absent),
            (FeatureGate::HPAOptimizedSelectorStore, 38, On),
            (FeatureGate::StaleControllerConsistencyHPA, 36, Absent),
            (FeatureGate::StaleControllerConsistencyHPA, 38, On),
        ] {
            let version: Version = format!("v1.{minor}").parse().unwrap();
            assert_eq!(gate.stage(&version), stage, "{gate} in {version}");
        }
        for (gate, minor, later) in [
            (FeatureGate::HPAContainerMetrics, 26, Some(27)),
            (FeatureGate::HPAContainerMetrics, 27, None),
            (FeatureGate::HPAGeneration, 23, Some(37)),
            (FeatureGate::HPAGeneration, 37, None),
        ] {
            let version: Version = format!("v1.{minor}").parse().unwrap();
            assert_eq!(gate.on_after(&version), later, "{gate} after {version}");
        }
    }
}
