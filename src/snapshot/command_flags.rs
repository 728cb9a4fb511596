//! The flags with which commands to paste reach the same state: the same cluster as the same user, or the same files.

use crate::apimachinery::names::shell_word;
use crate::args::ConnectionFlags;

/// The flags with which a command to paste reaches the same state, quoted for a shell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandFlags {
    /// kubectl's flags that select cluster and user. They are not used with `-f`.
    pub kubectl: String,
    /// The flags of this program's verbs: kubectl's, or `-f FILE`.
    pub plugin: String,
    /// The controller's settings and history, as flags of this program's verbs, each with its value quoted for a shell.
    pub settings: Vec<(String, String)>,
    /// The assumptions of `predict`: its flags, each with its value quoted for a shell; the value is empty if
    /// the flag includes it.
    pub assumed: Vec<(&'static str, String)>,
}

impl CommandFlags {
    /// Returns the flags for a state that is read from a cluster.
    pub(crate) fn of(connection: &ConnectionFlags) -> Self {
        let kubectl = connection.selection();
        Self {
            plugin: kubectl.clone(),
            kubectl,
            ..Self::default()
        }
    }

    /// Returns the flags for a state that is read from files. A file descriptor, as from `<(kubectl get hpa -o yaml)`,
    /// is closed when the command is pasted: like standard input, it has to be given again.
    pub(crate) fn of_files(files: &[String]) -> Self {
        const DESCRIPTORS: [&str; 3] = ["/dev/stdin", "/dev/fd/", "/proc/self/fd/"];
        let is_descriptor = |file: &str| DESCRIPTORS.iter().any(|it| file.starts_with(it));
        let mut words: Vec<&str> = Vec::new();
        for file in files {
            let word = if is_descriptor(file) { "-" } else { file };
            if word != "-" || !words.contains(&word) {
                words.push(word);
            }
        }
        let flags: Vec<String> = words
            .into_iter()
            .map(|file| format!("-f {}", shell_word(file)))
            .collect();
        Self {
            plugin: flags.join(" "),
            ..Self::default()
        }
    }

    /// Whether the state is read from files.
    pub(crate) fn reads_files(&self) -> bool {
        self.kubectl != self.plugin
    }

    /// Adds the flag with which `predict` accepts manifests that kubectl would reject.
    pub(crate) fn allow_rejected(&mut self) {
        let flag = ("--validate=warn", String::new());
        if !self.assumed.contains(&flag) {
            self.assumed.push(flag);
        }
    }

    /// Returns the flags of `predict` that supply what a state lacks, with the assumptions. They replace assumptions
    /// about the same subject.
    pub fn with_assumed(&self, own: &str) -> String {
        with(own, &self.assumed)
    }

    /// Adds the flags to a command that begins with `kubectl`. kubectl accepts flags before its own verbs, but
    /// not before a plugin's.
    pub fn add_to(&self, command: &str) -> String {
        match command.strip_prefix("kubectl ") {
            Some(verb) if verb.starts_with("hpa ") => {
                let plugin = Some(&*self.plugin).filter(|flags| !flags.is_empty());
                let words: Vec<&str> = [command].into_iter().chain(plugin).collect();
                with(&words.join(" "), &self.settings)
            }
            Some(verb) if !verb.starts_with("hpa ") && !self.kubectl.is_empty() => {
                format!("kubectl {} {verb}", self.kubectl)
            }
            _ => command.to_owned(),
        }
    }
}

/// Adds flags to the existing ones; new flags replace flags about the same subject.
fn with<F: AsRef<str>>(own: &str, more: &[(F, String)]) -> String {
    let words: Vec<&str> = own.split(' ').collect();
    let mut flags = Vec::new();
    if !own.is_empty() {
        flags.push(own.to_owned());
    }
    for (flag, value) in more.iter().map(|(flag, value)| (flag.as_ref(), value)) {
        let is_replaced = words
            .windows(2)
            .any(|pair| pair[0] == flag && subject(pair[1]) == subject(value));
        match &**value {
            _ if is_replaced => {}
            "" => flags.push(flag.to_owned()),
            value => flags.push(format!("{flag} {value}")),
        }
    }
    flags.join(" ")
}

/// Returns the subject of a flag's value, such as the metric in `METRIC=VALUE`; empty if the flag itself
/// names the subject.
fn subject(value: &str) -> &str {
    value.rsplit_once('=').map_or("", |(subject, _)| subject)
}

#[cfg(test)]
mod tests {
    use super::CommandFlags;

    #[test]
    fn flags_go_where_kubectl_takes_them() {
        let kubectl = "--context=prod".to_owned();
        let cluster = CommandFlags {
            plugin: kubectl.clone(),
            kubectl,
            ..CommandFlags::default()
        };
        let files = CommandFlags::of_files(&["a b.yaml".to_owned(), "-".to_owned()]);
        let descriptors = ["/dev/fd/63", "/dev/fd/62", "a.yaml"].map(str::to_owned);
        assert_eq!(
            CommandFlags::of_files(&descriptors).plugin,
            "-f - -f a.yaml"
        );
        let settings = [
            ("--now", "2026-11-21T06:00:00Z"),
            ("--feature-gates", "HPAScaleToZero=true"),
        ];
        let set = CommandFlags {
            settings: settings
                .map(|(flag, value)| (flag.to_owned(), value.to_owned()))
                .into(),
            ..CommandFlags::default()
        };
        for (flags, command, want) in [
            (
                &cluster,
                "kubectl get hpa -n shop",
                "kubectl --context=prod get hpa -n shop",
            ),
            (
                &cluster,
                "kubectl hpa predict web",
                "kubectl hpa predict web --context=prod",
            ),
            (&files, "kubectl get hpa -n shop", "kubectl get hpa -n shop"),
            (
                &files,
                "kubectl hpa predict web",
                "kubectl hpa predict web -f 'a b.yaml' -f -",
            ),
            (
                &set,
                "kubectl hpa explain web --now 2026-11-21T07:00:00Z --feature-gates HPAContainerMetrics=true",
                "kubectl hpa explain web --now 2026-11-21T07:00:00Z --feature-gates HPAContainerMetrics=true \
                 --feature-gates HPAScaleToZero=true",
            ),
            (&set, "kubectl get hpa", "kubectl get hpa"),
            (
                &CommandFlags::default(),
                "kubectl hpa predict web",
                "kubectl hpa predict web",
            ),
        ] {
            assert_eq!(flags.add_to(command), want);
        }
    }

    #[test]
    fn a_flag_replaces_an_assumption_about_the_same() {
        let assumed = [
            ("--replicas", "3"),
            ("--cpu", "90%"),
            ("--target", "cpu=60%"),
            ("--target", "'queue{q=a}=5'"),
            ("--max", "8"),
            ("--validate=warn", ""),
        ];
        let assumed = assumed.map(|(flag, value)| (flag, value.to_owned()));
        let flags = CommandFlags {
            assumed: assumed.into(),
            ..CommandFlags::default()
        };
        for (own, want) in [
            (
                "",
                "--replicas 3 --cpu 90% --target cpu=60% --target 'queue{q=a}=5' --max 8 --validate=warn",
            ),
            (
                "--max 9",
                "--max 9 --replicas 3 --cpu 90% --target cpu=60% --target 'queue{q=a}=5' --validate=warn",
            ),
            (
                "--target 'queue{q=a}=11' --replicas 4",
                "--target 'queue{q=a}=11' --replicas 4 --cpu 90% --target cpu=60% --max 8 --validate=warn",
            ),
        ] {
            assert_eq!(flags.with_assumed(own), want);
        }
    }
}
