//! Commands to paste must reach the same state: the same cluster as the same user, or the same files.

use crate::apimachinery::names::shell_word;
use crate::args::ConnectionFlags;

/// The flags with which a command to paste reaches the same state, quoted for a shell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandFlags {
    /// kubectl's flags that select cluster and user. With `-f` they are not used.
    pub kubectl: String,
    /// The flags of our own verbs: the same, or `-f FILE`.
    pub plugin: String,
}

impl CommandFlags {
    /// Returns those of a state that is read from a cluster.
    pub(crate) fn of(connection: &ConnectionFlags) -> Self {
        let kubectl = connection.selection();
        Self { plugin: kubectl.clone(), kubectl }
    }

    /// Returns those of a state that is read from files.
    pub(crate) fn of_files(files: &[String]) -> Self {
        let files: Vec<String> =
            files.iter().map(|file| format!("-f {}", shell_word(file))).collect();
        Self { kubectl: String::new(), plugin: files.join(" ") }
    }

    /// Whether the state is read from files.
    pub(crate) fn reads_files(&self) -> bool {
        self.kubectl != self.plugin
    }

    /// Adds the flags to a command that begins with `kubectl`. It takes flags before its own verbs, but not before
    /// those of a plugin.
    pub fn add_to(&self, command: &str) -> String {
        match command.strip_prefix("kubectl ") {
            Some(verb) if verb.starts_with("hpa ") && !self.plugin.is_empty() => {
                format!("{command} {}", self.plugin)
            }
            Some(verb) if !verb.starts_with("hpa ") && !self.kubectl.is_empty() => {
                format!("kubectl {} {verb}", self.kubectl)
            }
            _ => command.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CommandFlags;

    #[test]
    fn flags_go_where_kubectl_takes_them() {
        let kubectl = "--context=prod".to_owned();
        let cluster = CommandFlags { plugin: kubectl.clone(), kubectl };
        let files = CommandFlags::of_files(&["a b.yaml".to_owned(), "-".to_owned()]);
        for (flags, command, want) in [
            (&cluster, "kubectl get hpa -n shop", "kubectl --context=prod get hpa -n shop"),
            (&cluster, "kubectl hpa predict web", "kubectl hpa predict web --context=prod"),
            (&files, "kubectl get hpa -n shop", "kubectl get hpa -n shop"),
            (&files, "kubectl hpa predict web", "kubectl hpa predict web -f 'a b.yaml' -f -"),
            (&CommandFlags::default(), "kubectl hpa predict web", "kubectl hpa predict web"),
        ] {
            assert_eq!(flags.add_to(command), want);
        }
    }
}
