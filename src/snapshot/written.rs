//! When the parts of an object were written and by which tool, according to its `managedFields`.

use jiff::Timestamp;

use crate::apimachinery::managed_fields::{ManagedFieldsEntry, SpecField, last_writer};
use crate::apimachinery::tool::Tool;

/// The field manager of `apply`; its events and statuses say nothing about the controller.
pub const FIELD_MANAGER: &str = "kubectl-hpa";

/// The times at which the parts of an HPA were written, if the object records them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// `metadata.creationTimestamp`.
    pub created: Option<Timestamp>,
    /// The last change of any part except the status, according to `managedFields`.
    pub spec: Option<Timestamp>,
    /// The last change of the status, according to `managedFields`.
    pub status: Option<Timestamp>,
    /// Whether `apply` made that change instead of the controller.
    pub by_us: bool,
    /// The field manager of the controller, which some distributions name differently, if it wrote the status.
    pub controller: Option<Box<str>>,
    /// The tool that wrote any part except the status.
    pub tool: Option<Tool>,
    /// The field managers that have written `minReplicas` or `maxReplicas`.
    pub bounds: Vec<ManagedFieldsEntry>,
}

impl Written {
    /// Returns when a pass of the controller wrote the status.
    pub(crate) fn by_pass(&self) -> Option<Timestamp> {
        self.status.filter(|_| !self.by_us)
    }

    /// Returns equivalent `managedFields`.
    pub(crate) fn managed_fields(&self) -> Vec<ManagedFieldsEntry> {
        let parts = [(self.spec, false), (self.status, true)].into_iter();
        let entry =
            |(time, of_status): (Option<_>, _)| Some(ManagedFieldsEntry::at(time?, of_status));
        let mut managed: Vec<_> = parts.filter_map(entry).collect();
        let controller = self.controller.as_deref();
        let is_controllers = self.status.is_some() && !self.by_us;
        let writer = if self.by_us {
            Some(FIELD_MANAGER)
        } else {
            controller
        };
        let status = managed.iter_mut().find(|entry| entry.is_of_status());
        if let (Some(status), Some(writer)) = (status, writer) {
            writer.clone_into(&mut status.manager);
        }
        let beside = controller.filter(|_| !is_controllers);
        managed.extend(beside.map(ManagedFieldsEntry::of_status));
        managed.extend(self.bounds.iter().cloned());
        managed.extend(self.tool.map(|tool| ManagedFieldsEntry::of(tool.manager())));
        managed
    }

    /// Reads the creation time and `managedFields`. kubectl omits the latter unless `--show-managed-fields` is
    /// set.
    pub(crate) fn new(created: Option<Timestamp>, managed: &[ManagedFieldsEntry]) -> Self {
        let status = last_write(managed, true);
        let ours = |entry: &ManagedFieldsEntry| {
            entry.manager == FIELD_MANAGER && entry.is_of_status() && entry.time == status
        };
        let by_us = managed.iter().any(ours);
        let controllers = managed.iter().filter(|entry| {
            entry.is_of_status() && entry.manager != FIELD_MANAGER && !entry.manager.is_empty()
        });
        let controller = controllers.max_by_key(|entry| entry.time);
        let tool = Tool::of_managed(managed);
        let bounds = managed
            .iter()
            .filter(|entry| {
                entry.owns(SpecField::MinReplicas) || entry.owns(SpecField::MaxReplicas)
            })
            .cloned()
            .collect();
        Self {
            created,
            spec: last_write(managed, false),
            status,
            by_us,
            controller: controller.map(|entry| entry.manager.as_str().into()),
            tool,
            bounds,
        }
    }

    /// Returns the last field manager that has written a bound, if any.
    pub fn last_writer(&self, bound: SpecField) -> Option<&ManagedFieldsEntry> {
        last_writer(&self.bounds, bound)
    }
}

/// Returns the last change of an object's status, or of everything except the status.
pub(super) fn last_write(managed: &[ManagedFieldsEntry], of_status: bool) -> Option<Timestamp> {
    let entries = managed
        .iter()
        .filter(|entry| entry.is_of_status() == of_status);
    entries.filter_map(|entry| entry.time).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A state is saved with its controller's name, even after a write by `apply` or without a time.
    #[test]
    fn the_controller_of_equivalent_fields() {
        let time: Timestamp = "2026-11-21T06:00:00Z".parse().unwrap();
        for (status, by_us) in [(Some(time), false), (Some(time), true), (None, false)] {
            let written = Written {
                spec: Some(time),
                status,
                by_us,
                controller: Some("k3s".into()),
                ..Written::default()
            };
            assert_eq!(Written::new(None, &written.managed_fields()), written);
        }
    }
}
