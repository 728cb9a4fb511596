//! The settings of a controller manager, read from the command line and the image of its container. Follows
//! pflag with component-base's `WordSepNormalizeFunc`, `FeatureGate.Set` and controller-manager's
//! `IsControllerEnabled`.

use std::collections::BTreeMap;

use serde::de::{Deserialize, Deserializer};

use crate::apimachinery::go;
use crate::apimachinery::json::{BorrowedText, read_each};
use crate::flags::Flags;
use crate::version::{FeatureGate, Stage, Version, is_too_old};

/// The name of the container; the pod's name is this name followed by the node's.
pub const MANAGER: &str = "kube-controller-manager";

/// The settings of a controller manager. A setting without a flag has its default.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ManagerSettings {
    /// The version of the image, or the version that it emulates; an error if the rules of the image are too old.
    pub version: Option<Result<Version, String>>,
    /// The flags that are set.
    pub flags: Flags,
    /// The feature gates that are set and on which a pass depends, `AllAlpha` and `AllBeta`.
    pub gates: BTreeMap<String, bool>,
    /// The controllers that are switched on and off; empty means all are on.
    pub controllers: Vec<String>,
    /// Whether it runs without a leader election, so that the lease is not its own.
    pub is_unelected: bool,
    /// The flags whose values cannot be used, with the reasons.
    pub unusable: Vec<(ManagerFlag, String)>,
}

/// The flags of the controller manager on which a pass depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManagerFlag {
    /// A flag of the HPA controller, by its name in [`Flags`].
    Hpa(&'static str),
    /// `--feature-gates`.
    FeatureGates,
    /// `--emulated-version`.
    EmulatedVersion,
    /// `--controllers`.
    Controllers,
    /// `--leader-elect`.
    LeaderElect,
}

/// The prefix of the HPA controller's flags.
const HPA_PREFIX: &str = "horizontal-pod-autoscaler-";

impl ManagerFlag {
    /// Returns the flag's name without the leading dashes.
    pub fn name(self) -> String {
        match self {
            Self::Hpa(name) => format!("{HPA_PREFIX}{name}"),
            Self::FeatureGates => "feature-gates".to_owned(),
            Self::EmulatedVersion => "emulated-version".to_owned(),
            Self::Controllers => "controllers".to_owned(),
            Self::LeaderElect => "leader-elect".to_owned(),
        }
    }

    /// Returns the flag of this name as written; an underscore counts as a dash.
    fn of(written: &str) -> Option<Self> {
        let name = written.replace('_', "-");
        match name.strip_prefix(HPA_PREFIX) {
            Some(name) => Flags::known_name(name).map(Self::Hpa),
            None => [
                Self::FeatureGates,
                Self::EmulatedVersion,
                Self::Controllers,
                Self::LeaderElect,
            ]
            .into_iter()
            .find(|flag| flag.name() == name),
        }
    }
}

/// The arguments of a command that are relevant to a pass, with their values.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Arguments {
    flags: Vec<(ManagerFlag, Option<String>)>,
    /// Whether there are flags at all, rather than a shell command line.
    any: bool,
    /// Whether the value of the last flag is the next argument.
    open: bool,
}

impl Arguments {
    fn push(&mut self, argument: &str) {
        if self.open {
            self.open = false;
            if let Some((_, value)) = self.flags.last_mut() {
                *value = Some(argument.to_owned());
            }
            return;
        }
        let Some(flag) = argument.strip_prefix("--") else {
            return;
        };
        self.any = true;
        let (name, value) = match flag.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (flag, None),
        };
        match ManagerFlag::of(name) {
            // A flag of this type needs no value, and takes none from the next argument.
            Some(flag @ ManagerFlag::LeaderElect) => {
                let stated = value.unwrap_or_else(|| "true".to_owned());
                self.flags.push((flag, Some(stated)));
            }
            Some(flag) => {
                self.open = value.is_none();
                self.flags.push((flag, value));
            }
            None => {}
        }
    }
}

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut arguments = Self::default();
        read_each(
            deserializer,
            "a list of strings",
            |argument: BorrowedText<'de>| {
                arguments.push(&argument);
                Ok(())
            },
        )?;
        Ok(arguments)
    }
}

impl ManagerSettings {
    /// Returns the settings of a container, if it is the controller manager's and its command is not a
    /// shell command line.
    pub(super) fn of(
        container: &str,
        command: Arguments,
        args: Arguments,
        image: &str,
    ) -> Option<Self> {
        if container != MANAGER || !(command.any || args.any) {
            return None;
        }
        let mut settings = Self {
            version: version_of(image),
            ..Self::default()
        };
        for (flag, value) in command.flags.into_iter().chain(args.flags) {
            let set = match &value {
                None => Err("no value".to_owned()),
                Some(value) if value.contains("$(") => {
                    Err(format!("the value of {} is unknown", go::quote(value)))
                }
                Some(value) => settings.set(flag, value),
            };
            if let Err(why) = set {
                settings.unusable.push((flag, why));
            }
        }
        Some(settings)
    }

    fn set(&mut self, flag: ManagerFlag, value: &str) -> Result<(), String> {
        match flag {
            ManagerFlag::Hpa(name) => self.flags.read(name, value)?,
            ManagerFlag::FeatureGates => self.set_gates(value)?,
            ManagerFlag::EmulatedVersion => {
                for entry in value.split(',') {
                    let (component, version) = entry.split_once('=').unwrap_or(("kube", entry));
                    if component.trim() == "kube" {
                        self.version = Some(Ok(version.trim().parse()?));
                    }
                }
            }
            ManagerFlag::Controllers => {
                self.controllers.extend(value.split(',').map(str::to_owned));
            }
            ManagerFlag::LeaderElect => {
                let unusable = || format!("{} is neither true nor false", go::quote(value));
                self.is_unelected = !go::parse_bool(value).ok_or_else(unusable)?;
            }
        }
        Ok(())
    }

    /// Reads `A=true,B=false`, since v1.31 also with a component prefix, as in `kube:A=true`.
    fn set_gates(&mut self, value: &str) -> Result<(), String> {
        for entry in value.split(',').filter(|entry| !entry.is_empty()) {
            let unusable = || format!("{} is not a feature gate setting", go::quote(entry));
            let setting = match entry.split_once(':') {
                Some((component, setting)) if ["", "kube"].contains(&component.trim()) => setting,
                Some(_) => continue,
                None => entry,
            };
            let (name, state) = setting.split_once('=').ok_or_else(unusable)?;
            let on = go::parse_bool(state.trim()).ok_or_else(unusable)?;
            let gate = name.trim();
            if FeatureGate::named(gate).is_some() || gate == ALL_ALPHA || gate == ALL_BETA {
                self.gates.insert(gate.to_owned(), on);
            }
        }
        Ok(())
    }

    /// Returns the value that the flags set for a gate, either directly or with all gates of its stage.
    pub(super) fn gate(&self, gate: FeatureGate, version: &Version) -> Option<bool> {
        let all = match gate.stage(version) {
            Stage::Off => Some(ALL_ALPHA),
            Stage::On => Some(ALL_BETA),
            _ => None,
        };
        self.gates
            .get(gate.name())
            .or_else(|| self.gates.get(all?))
            .copied()
    }

    /// Whether the HPA controller runs; the first entry that names it decides.
    pub(super) fn runs_hpa_controller(&self) -> bool {
        let is_hpa = |name: &str| HPA_CONTROLLER.contains(&name);
        let named = self
            .controllers
            .iter()
            .find_map(|entry| match entry.strip_prefix('-') {
                Some(name) => is_hpa(name).then_some(false),
                None => is_hpa(entry).then_some(true),
            });
        let unnamed = || self.controllers.is_empty() || self.controllers.iter().any(|it| it == "*");
        named.unwrap_or_else(unnamed)
    }

    /// Whether a flag has an unusable value.
    pub(super) fn is_unusable(&self, flag: ManagerFlag) -> bool {
        self.unusable.iter().any(|(unusable, _)| *unusable == flag)
    }
}

/// The gates that set all alpha or beta gates, except gates that are set individually.
const ALL_ALPHA: &str = "AllAlpha";
const ALL_BETA: &str = "AllBeta";

/// The names of the HPA controller, up to v1.27 and since.
const HPA_CONTROLLER: [&str; 2] = [
    "horizontalpodautoscaling",
    "horizontal-pod-autoscaler-controller",
];

/// Returns the version in an image's tag, unless it has none. A registry may have a port, and a digest may follow.
fn version_of(image: &str) -> Option<Result<Version, String>> {
    let tagged = image.split('@').next()?;
    let (_, name) = tagged.rsplit_once('/').unwrap_or(("", tagged));
    let (_, tag) = name.split_once(':')?;
    let version = tag.parse();
    (version.is_ok() || is_too_old(tag)).then_some(version)
}
