//! What the Kubernetes HorizontalPodAutoscaler controller decides, computed outside of it.
//!
//! One plain value stands between neighbours, and no module imports from its right-hand one:
//!
//! ```text
//! args -> cluster -> snapshot -> memory -> engine -> report -> render -> stdout
//!                       ^                    |
//!                     files               whatif, apply
//! ```
//!
//! [`engine::reconcile`] is the controller's pass as a pure function of a [`snapshot::Snapshot`] and
//! a [`memory::Memory`]. Everything before it reads and checks, everything after it words;
//! [`whatif`] runs it on a changed snapshot, and [`apply`] says whether its result may be written.
//!
//! The engine can be used without the program. It needs no cluster, no clock and no runtime:
//!
//! ```
//! use jiff::Timestamp;
//! use kubectl_hpa::engine;
//! use kubectl_hpa::memory::Remembered;
//! use kubectl_hpa::snapshot::input::Options;
//! use kubectl_hpa::saved::assemble::assemble;
//! use kubectl_hpa::saved::file::read_text;
//! use kubectl_hpa::saved::objects::Objects;
//!
//! let objects_as_kubectl_prints_them = r#"
//! apiVersion: autoscaling/v2
//! kind: HorizontalPodAutoscaler
//! metadata: {name: worker, namespace: default}
//! spec:
//!   scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: worker}
//!   maxReplicas: 10
//!   metrics:
//!   - type: External
//!     external:
//!       metric: {name: queue_depth}
//!       target: {type: AverageValue, averageValue: "30"}
//! ---
//! apiVersion: apps/v1
//! kind: Deployment
//! metadata: {name: worker, namespace: default}
//! spec: {replicas: 2, selector: {matchLabels: {app: worker}}}
//! status: {replicas: 2}
//! ---
//! apiVersion: external.metrics.k8s.io/v1beta1
//! kind: ExternalMetricValueList
//! items:
//! - {metricName: queue_depth, value: "100", timestamp: "2026-11-21T06:00:00Z"}
//! "#;
//! let mut objects = Objects::default();
//! read_text(objects_as_kubectl_prints_them, "example", &mut objects)?;
//! let now: Timestamp = "2026-11-21T06:00:00Z".parse()?;
//! let options = Options { name: "worker".to_owned(), ..Options::default() };
//! let input = assemble(objects, &options, now)?;
//!
//! let remembered = Remembered::of(&input);
//! let decision = engine::reconcile(&input.snapshot, &remembered.likely);
//! assert_eq!(decision.proposal, Some(4)); // 100 messages at 30 for each replica
//! assert_eq!(decision.replicas_after(), Some(4));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod apimachinery;
pub mod apiserver;
pub mod apply;
pub mod args;
pub mod cluster;
pub mod command;
pub mod engine;
pub mod error;
pub mod flags;
pub mod memory;
mod numbers;
pub mod outlook;
pub mod pass;
pub mod render;
pub mod report;
pub mod saved;
pub mod secret;
pub mod snapshot;
pub mod version;
pub mod whatif;
