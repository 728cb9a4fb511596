//! The completion scripts in `completions/` are generated from the command line's definition, and
//! must not fall behind it. `UPDATE_COMPLETIONS=1 cargo test --test completions` writes them anew.

use std::path::Path;
use std::{env, fs};

use clap::CommandFactory;
use clap_complete::{Shell, generate};
use kubectl_hpa::args::Cli;

#[test]
fn completion_scripts_are_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("completions");
    let update = env::var_os("UPDATE_COMPLETIONS").is_some();
    for (shell, file) in [
        (Shell::Bash, "kubectl-hpa.bash"),
        (Shell::Zsh, "_kubectl-hpa"),
        (Shell::Fish, "kubectl-hpa.fish"),
    ] {
        let mut script = Vec::new();
        generate(shell, &mut Cli::command(), "kubectl-hpa", &mut script);
        let path = folder.join(file);
        if update {
            fs::write(&path, &script).unwrap();
        }
        let committed = fs::read(&path).unwrap_or_default();
        assert!(
            committed == script,
            "completions/{file} is out of date: UPDATE_COMPLETIONS=1 cargo test --test completions"
        );
    }
}
