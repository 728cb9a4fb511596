//! The program offline, and what ships with it: documents, completions, man pages, manifests, pictures.

mod architecture;
mod archives;
#[path = "../common/build.rs"]
mod build;
mod cli;
mod completions;
mod docs;
mod krew;
mod man;
mod packaging;
mod pictures;
#[path = "../common/ran.rs"]
mod ran;
mod readme;
mod recipes;
