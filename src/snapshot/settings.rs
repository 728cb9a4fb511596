//! The controller's settings: each from the command line, from the input's `ControllerState`, from the
//! controller manager's own pod, or assumed. The basis lists the origin of settings that are not stated.

use std::collections::BTreeMap;

use super::basis::{Basis, SettingSource};
use super::input::Options;
use super::note::{Note, Subject};
use crate::error::Error;
use crate::flags::{self, Flag, Flags};
use crate::snapshot::control_plane::{ControlPlane, ManagerFact, ManagerPod, manager};
use crate::snapshot::controller::{Controller, Gates, KnownSettings};
use crate::snapshot::manager::ManagerFlag;
use crate::version::{FeatureGate, Stage, Version};

/// The controller's settings.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// All settings.
    pub(crate) controller: Controller,
    /// The known settings.
    pub(crate) known: KnownSettings,
    /// Whether the controller manager runs without a leader election.
    pub(crate) is_unelected: bool,
}

/// The settings that the input states.
#[derive(Clone, Copy)]
pub(crate) struct StatedSettings<'s> {
    /// The version of the controller.
    pub(crate) kubernetes_version: Option<&'s str>,
    /// Its flags.
    pub(crate) flags: &'s Flags,
    /// Its feature gates, by name.
    pub(crate) feature_gates: &'s BTreeMap<String, bool>,
}

/// The sources of settings, in order of precedence.
#[derive(Clone, Copy)]
struct Sources<'s> {
    options: &'s Options,
    stated: Option<StatedSettings<'s>>,
    /// The pod of the controller manager whose settings apply.
    leader: Option<&'s ManagerPod>,
    server: Option<&'s Version>,
}

/// Returns flags, gates and version, each from the command line, the input, the controller manager's
/// pod, or the defaults.
pub(crate) fn controller_settings(
    stated: Option<StatedSettings<'_>>,
    options: &Options,
    control_plane: &ControlPlane,
    basis: &mut Vec<Basis>,
    notes: &mut Vec<Note>,
) -> Result<Settings, Error> {
    let mut unread = control_plane.unread.clone();
    let leader = control_plane.leader().unwrap_or_else(|why| {
        unread.push((ManagerFact::Flags, why));
        None
    });
    let sources = Sources {
        options,
        stated,
        leader,
        server: control_plane.server.as_ref(),
    };
    let mut told = Vec::new();
    let version = sources.version(&mut told, notes)?;
    let flags = sources.flags(basis);
    let mut controller = Controller::with_flags(version, flags);
    let gates = sources.gates(&mut controller, basis, notes)?;
    if !unread.is_empty() {
        basis.push(Basis::ManagerUnread(unread));
    }
    basis.extend(told);
    if let Some(pod) = leader {
        let of = manager(&pod.name);
        notes.extend(pod.settings.unusable.iter().map(|(flag, cause)| {
            let text = format!("--{} of {of} is ignored: {cause}", flag.name());
            Note::about(Subject::Settings, text)
        }));
        if !pod.settings.runs_hpa_controller() {
            let subject = Subject::ControllerOff {
                pod: pod.name.to_string(),
            };
            let text = format!(
                "nothing is scaled: the HPA controller is disabled by --controllers of {of}"
            );
            notes.insert(0, Note::about(subject, text));
        }
    }
    Ok(Settings {
        controller,
        known: KnownSettings { flags, gates },
        is_unelected: leader.is_some_and(|pod| pod.settings.is_unelected),
    })
}

impl Sources<'_> {
    fn stated_version(&self) -> Option<&str> {
        self.stated.and_then(|stated| stated.kubernetes_version)
    }

    /// Returns the version whose rules apply: the one on the command line, in the input or in the cluster, or
    /// else the newest confirmed one.
    fn version(&self, basis: &mut Vec<Basis>, notes: &mut Vec<Note>) -> Result<Version, Error> {
        let version = match (&self.options.version, self.stated_version()) {
            (Some(typed), _) => typed.clone(),
            (None, Some(stated)) => stated.parse().map_err(|e| {
                Error::usage(format!("kubernetesVersion: {e}"))
                    .hint("--kubernetes-version takes precedence")
            })?,
            (None, None) => self.read_version(notes)?.unwrap_or_else(Version::released),
        };
        if version.stated().is_none() || version.caveat().is_some() {
            basis.push(Basis::Version(version.clone()));
        }
        if let Some(stated) = version.stated().filter(|_| version.is_newer_than_known()) {
            let text =
                format!("{stated} is newer than the latest known rules: those of {version} apply");
            notes.push(Note::about(Subject::Settings, text));
        }
        Ok(version)
    }

    /// Returns the controller manager's version, or else the server's.
    ///
    /// # Errors
    ///
    /// The controller manager's rules are too old, and the server's version is unknown.
    fn read_version(&self, notes: &mut Vec<Note>) -> Result<Option<Version>, Error> {
        let of_pod = self
            .leader
            .and_then(|pod| Some((pod, pod.settings.version.as_ref()?)));
        let (pod, version) = match (of_pod, self.server) {
            (Some((pod, Ok(version))), _) => (pod, version),
            (Some((pod, Err(e))), None) => {
                let message = format!("the controller manager ({}): {e}", manager(&pod.name));
                return Err(Error::usage(message).hint(
                    "--kubernetes-version states a version whose rules are close enough, if there is one",
                ));
            }
            (_, server) => return Ok(server.cloned()),
        };
        if let Some(server) = self
            .server
            .filter(|server| server.minor() != version.minor())
        {
            let [own, server] = [version, server].map(|it| it.stated().unwrap_or_default());
            let text = format!(
                "the controller manager is {own} ({}) and the server {server}: the rules are the \
                 controller manager's",
                manager(&pod.name)
            );
            notes.push(Note::about(Subject::Settings, text));
        }
        Ok(Some(version.clone()))
    }

    /// Returns the known flags, each from the first source that has it.
    fn flags(&self, basis: &mut Vec<Basis>) -> Flags {
        let (mut known, mut origins) = (Flags::default(), Origins::new(self.leader));
        self.find(&flags::TOLERANCE, &mut known, &mut origins);
        for flag in flags::DURATIONS {
            self.find(&flag, &mut known, &mut origins);
        }
        origins.tell("controller flags", basis);
        known
    }

    fn find<T: Copy>(&self, flag: &Flag<T>, known: &mut Flags, origins: &mut Origins<'_>) {
        let stated = self.stated.and_then(|stated| flag.get(*stated.flags));
        let value = flag.get(self.options.flags).or(stated).or_else(|| {
            let set = self.leader.and_then(|pod| flag.get(pod.settings.flags));
            let value = set.unwrap_or(flag.default);
            let text = format!("{} {}", flag.name, (flag.shown)(value));
            origins
                .add(ManagerFlag::Hpa(flag.name), set.is_some(), text)
                .then_some(value)
        });
        flag.set(known, value);
    }

    /// Sets the feature gates for this version, and returns the known ones.
    fn gates(
        &self,
        controller: &mut Controller,
        basis: &mut Vec<Basis>,
        notes: &mut Vec<Note>,
    ) -> Result<Vec<(FeatureGate, bool)>, Error> {
        let Self {
            options,
            stated: by_input,
            leader,
            ..
        } = self;
        let version = &controller.version;
        for (gate, on) in &options.gates {
            match stage_of(gate, version) {
                Stage::Off | Stage::On => {}
                Stage::Absent | Stage::Removed => return Err(unknown(gate, version)),
                Stage::Locked if *on => {}
                Stage::Locked => {
                    return Err(Error::usage(format!(
                        "cannot set feature gate {gate} to false: {version} has it locked to true"
                    )));
                }
                Stage::Unused => notes.push(unused(gate, version)),
            }
        }
        for (gate, on) in by_input.iter().flat_map(|stated| stated.feature_gates) {
            let stage = stage_of(gate, version);
            if !stage.is_settable() && (stage, *on) != (Stage::Locked, true) {
                notes.push(unused(gate, version));
            }
        }
        let set = |gate| leader.and_then(|pod| pod.settings.gate(gate, version));
        // A document without a pod describes the recorded controllers, the other sources describe
        // released ones.
        let by_document =
            options.version.is_none() && self.stated_version().is_some() && leader.is_none();
        let gates = Gates::new(version, |gate| {
            let known = self.stated_gate(gate).or_else(|| set(gate));
            known.or_else(|| by_document.then(|| gate.is_on_unstated(version)))
        });
        let mut origins = Origins::new(*leader);
        let known = FeatureGate::settable(version)
            .map(|gate| (gate, gates[gate]))
            .filter(|(gate, on)| {
                let text = format!("{gate}={on}");
                self.stated_gate(*gate).is_some()
                    || origins.add(ManagerFlag::FeatureGates, set(*gate).is_some(), text)
            })
            .collect();
        origins.tell("feature gates", basis);
        controller.gates = gates;
        Ok(known)
    }

    /// Returns a feature gate as typed, or as stated by the input.
    fn stated_gate(&self, gate: FeatureGate) -> Option<bool> {
        let typed = self.options.gates.get(gate.name());
        typed
            .or_else(|| self.stated.as_ref()?.feature_gates.get(gate.name()))
            .copied()
    }
}

/// Settings that are not stated, by origin.
struct Origins<'l> {
    leader: Option<&'l ManagerPod>,
    /// Set by the pod.
    set: Vec<String>,
    /// Not set by the pod, so they have their defaults.
    unset: Vec<String>,
    assumed: Vec<String>,
}

impl<'l> Origins<'l> {
    fn new(leader: Option<&'l ManagerPod>) -> Self {
        Self {
            leader,
            set: Vec::new(),
            unset: Vec::new(),
            assumed: Vec::new(),
        }
    }

    /// Adds a setting; returns whether it is known.
    fn add(&mut self, flag: ManagerFlag, is_set: bool, text: String) -> bool {
        let is_known = self
            .leader
            .is_some_and(|pod| is_set || !pod.settings.is_unusable(flag));
        let list = match (is_set, is_known) {
            (true, _) => &mut self.set,
            (false, true) => &mut self.unset,
            (false, false) => &mut self.assumed,
        };
        list.push(text);
        is_known
    }

    fn tell(self, item: &'static str, basis: &mut Vec<Basis>) {
        let pod = self
            .leader
            .map(|pod| pod.name.to_string())
            .unwrap_or_default();
        let told = [
            (self.set, SettingSource::Pod(pod.clone())),
            (self.unset, SettingSource::PodDefaults(pod)),
            (self.assumed, SettingSource::Defaults),
        ];
        for (settings, source) in told {
            if !settings.is_empty() {
                basis.push(Basis::Settings {
                    item,
                    settings,
                    source,
                });
            }
        }
    }
}

/// Checks that the gates on the command line exist in some version.
pub(crate) fn known_gates(options: &Options) -> Result<(), Error> {
    let mut typed = options.gates.keys();
    let Some(gate) = typed.find(|name| FeatureGate::named(name).is_none()) else {
        return Ok(());
    };
    let names = FeatureGate::ALL.map(FeatureGate::name).join(", ");
    Err(Error::usage(format!("unknown feature gate {gate}"))
        .hint(format!("a pass is affected by {names}")))
}

/// Returns the stage of what may be a gate.
fn stage_of(gate: &str, version: &Version) -> Stage {
    FeatureGate::named(gate).map_or(Stage::Absent, |gate| gate.stage(version))
}

fn unknown(gate: &str, version: &Version) -> Error {
    let settable: Vec<&str> = FeatureGate::settable(version)
        .map(FeatureGate::name)
        .collect();
    Error::usage(format!("unknown feature gate {gate}")).hint(format!(
        "a pass in {version} is affected by {}",
        settable.join(", ")
    ))
}

fn unused(gate: &str, version: &Version) -> Note {
    let text = format!("feature gate {gate} does not affect a pass in {version}");
    Note::about(Subject::Settings, text)
}
