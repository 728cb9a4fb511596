//! The process's inputs other than its flags, read once so that everything else is a function of them:
//! variables, the home directory, and whether standard input is a terminal. None of them may be printed.

use std::collections::BTreeMap;
use std::fmt;
use std::io::IsTerminal;
use std::path::PathBuf;

/// The process's environment.
#[derive(Clone, Default)]
pub struct Environment {
    /// The variables.
    pub variables: BTreeMap<String, String>,
    /// The directory of a pod's service account.
    pub service_account: PathBuf,
    /// Whether someone can answer questions on standard input.
    pub interactive: bool,
    /// Whether someone may be at a terminal, from which a plugin could also read directly.
    pub attended: bool,
    /// Whether the output of credential plugins is suppressed, as in the middle of a prompt.
    pub silent: bool,
}

impl Environment {
    /// Reads the environment of this process. `stdin_is_input` says whether standard input is read as data,
    /// which credential plugins must then leave alone.
    pub fn of_process(stdin_is_input: bool) -> Self {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            // Windows does not distinguish `Path` from `PATH`.
            .map(|(name, value)| {
                (
                    if cfg!(windows) {
                        name.to_uppercase()
                    } else {
                        name
                    },
                    value,
                )
            })
            .collect();
        Self {
            variables,
            service_account: PathBuf::from("/var/run/secrets/kubernetes.io/serviceaccount"),
            interactive: !stdin_is_input && std::io::stdin().is_terminal(),
            attended: std::io::stdin().is_terminal()
                || std::io::stdout().is_terminal()
                || std::io::stderr().is_terminal(),
            silent: false,
        }
    }

    /// Returns a variable that is set and not empty.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// Returns the user's home directory.
    pub fn home(&self) -> Option<PathBuf> {
        let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        self.variable("HOME")
            .or_else(|| self.variable(name))
            .map(PathBuf::from)
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("interactive", &self.interactive)
            .finish_non_exhaustive()
    }
}
