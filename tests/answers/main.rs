//! The answers: compared with recorded controllers and API servers, over random situations, and as
//! printed. One program, so that it is built once and its long tests share the processors.

#[path = "../api/mod.rs"]
mod api;
#[path = "../common/mod.rs"]
mod common;

mod admission;
mod advice;
mod apply;
mod backtest;
mod commands;
mod comparison;
mod expectations;
mod fidelity;
mod findings;
mod keda;
mod manifests;
mod memory;
mod past;
mod predict;
mod properties;
mod schema;
mod screens;
mod side_by_side;
mod supposed;
mod thresholds;
mod timeline;
mod told;
mod trajectories;
mod vectors;
mod versions;
