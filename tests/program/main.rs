//! The program offline, and what ships with it: documents, completions, man pages, manifests.

mod architecture;
#[path = "../common/build.rs"]
mod build;
mod cli;
mod completions;
mod docs;
mod krew;
mod man;
mod readme;
