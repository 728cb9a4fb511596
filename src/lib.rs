//! The decisions of the Kubernetes HorizontalPodAutoscaler controller, computed outside it.
//!
//! [`engine::reconcile`] is one pass of the controller as a pure function: it needs no cluster, no
//! clock and no runtime.
//!
//! ```
//! use jiff::Timestamp;
//! use kubectl_hpa::engine::reconcile;
//! use kubectl_hpa::snapshot::hpa::{Hpa, HpaSpec};
//! use kubectl_hpa::snapshot::memory::Memory;
//! use kubectl_hpa::snapshot::{ExternalValue, MetricAnswer, Scale, Snapshot};
//!
//! let spec: HpaSpec = serde_json::from_str(
//!     r#"{"maxReplicas": 10, "metrics": [{"type": "External", "external": {
//!         "metric": {"name": "queue_depth"},
//!         "target": {"type": "AverageValue", "averageValue": "30"}}}]}"#,
//! )?;
//! let hpa = Hpa { name: "worker".into(), namespace: "default".into(), spec, ..Hpa::default() };
//! let mut snapshot = Snapshot::new(hpa, Scale::new(2, "app=worker"), Timestamp::now());
//! let depth = ExternalValue { value: 100_000, ..ExternalValue::default() }; // milli-units
//! snapshot.metrics = vec![MetricAnswer::External(vec![depth])];
//!
//! let decision = reconcile(&snapshot, &Memory::default());
//! assert_eq!(decision.replicas_after(), Some(4)); // 100 messages, 30 for each replica
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! Here, serde alone reads the API types, so null is an error where Go reads the zero value;
//! [`saved::read`] reads as Go does.
//!
//! [`engine::decision::Decision`] has everything that the controller would write and say, and each step
//! that led there. To run a pass over objects as kubectl prints them, or over a file that `--save` wrote:
//!
//! ```
//! use jiff::Timestamp;
//! use kubectl_hpa::pass::Pass;
//! use kubectl_hpa::saved;
//! use kubectl_hpa::snapshot::input::Options;
//!
//! # let objects = r#"
//! # apiVersion: autoscaling/v2
//! # kind: HorizontalPodAutoscaler
//! # metadata: {name: worker, namespace: default}
//! # spec:
//! #   scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: worker}
//! #   maxReplicas: 10
//! #   metrics:
//! #   - type: External
//! #     external:
//! #       metric: {name: queue_depth}
//! #       target: {type: AverageValue, averageValue: "30"}
//! # ---
//! # apiVersion: apps/v1
//! # kind: Deployment
//! # metadata: {name: worker, namespace: default}
//! # spec: {replicas: 2, selector: {matchLabels: {app: worker}}}
//! # status: {replicas: 2}
//! # ---
//! # apiVersion: external.metrics.k8s.io/v1beta1
//! # kind: ExternalMetricValueList
//! # items:
//! # - {metricName: queue_depth, value: "100", timestamp: "2026-11-21T06:00:00Z"}
//! # "#;
//! let options = Options { name: "worker".into(), ..Options::default() };
//! let pass = Pass::run(saved::read(objects, &options, Timestamp::now())?);
//! assert_eq!(pass.decision.proposal, Some(4));
//! # Ok::<(), kubectl_hpa::error::Error>(())
//! ```
//!
//! A controller remembers past recommendations and scale changes. [`snapshot::memory::Memory`] states them;
//! [`pass::Pass`] infers them from the evidence in the objects, and [`outlook::Outlook`] has the other
//! possible results of a pass if they are uncertain.
//!
//! # The layers
//!
//! Each layer depends only on those below it:
//!
//! ```text
//!  command        the verbs; the only layer that depends on all others
//!  ------------------------------------------------------------------------
//!  render         text, tables, Markdown, SVG, JUnit       -> stdout
//!  report         texts, and the published JSON
//!  findings       what is wrong, with evidence and advice
//!  apply          whether a result may be written
//!  backtest       runs of several specs over one load, side by side
//!  words          how numbers, times and lists are written
//!  whatif         overrides of a snapshot, expectations, timelines
//!  past           a past pass, from a history of samples
//!  pass           one pass with its input, and queries on it
//!  outlook        the uncertainty of a decision, and the passes that follow
//!  engine         the controller's pass, pure: (Snapshot, Memory) -> Decision
//!  memory         the controller's history: stated, or inferred with bounds
//!  rules          the differences between versions of the controller
//!  cluster        all network I/O                          <- API server
//!  prometheus     a load from the answers of Prometheus
//!  saved          the saved format                         <- files (-f)
//!  keda           the HPA that KEDA creates from a ScaledObject
//!  apiserver      what the API server does to an HPA
//!  snapshot       the values of a pass, and their sources
//!  args           the command line
//!  ------------------------------------------------------------------------
//!  apimachinery   quantities, selectors, names, JSON and YAML as in Kubernetes
//!  calendar, error, flags, numbers, secret, version
//! ```
//!
//! Modules that are not on this page belong to the program, and are public only for its tests.

pub mod apimachinery;
#[doc(hidden)]
pub mod apiserver;
#[doc(hidden)]
pub mod apply;
#[doc(hidden)]
pub mod args;
#[doc(hidden)]
pub mod backtest;
mod calendar;
#[doc(hidden)]
pub mod cluster;
#[doc(hidden)]
pub mod command;
pub mod engine;
pub mod error;
pub mod findings;
#[doc(hidden)]
pub mod flags;
#[doc(hidden)]
pub mod keda;
pub mod memory;
mod numbers;
pub mod outlook;
pub mod pass;
#[doc(hidden)]
pub mod past;
#[doc(hidden)]
pub mod prometheus;
#[doc(hidden)]
pub mod render;
#[doc(hidden)]
pub mod report;
mod rules;
pub mod saved;
#[doc(hidden)]
pub mod secret;
pub mod snapshot;
pub mod version;
#[doc(hidden)]
pub mod whatif;
mod words;

#[cfg(test)]
#[path = "../tests/common/build.rs"]
mod build;

#[cfg(test)]
#[path = "../tests/common/scenario.rs"]
#[allow(dead_code, reason = "it has more than unit tests need")]
mod scenario;
