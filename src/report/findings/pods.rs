//! The words of findings about pods.

use super::{About, Text, Words, names};
use crate::findings::pods::FinishedPods;
use crate::report::words::count;

impl Words for FinishedPods {
    fn text(&self, about: &About<'_>) -> Text {
        let all: Vec<&str> =
            self.succeeded.iter().chain(&self.failed).map(|name| &**name).collect();
        let pods = count(all.len(), "finished pod");
        let verb = if all.len() == 1 { "matches" } else { "match" };
        let mut evidence = vec![format!("Finished: {}.", names(&all))];
        evidence.extend(about.without().map(|without| format!("Without {pods}: {without}.")));
        let namespace = &about.hpa().namespace;
        Text {
            summary: format!("{pods} {verb} the selector of the target"),
            evidence,
            advice:
                "Delete the finished pods, or give them labels that the selector does not match."
                    .to_owned(),
            commands: vec![format!("kubectl delete pod {} -n {namespace}", all.join(" "))],
            objects: all.iter().map(|name| format!("pod/{name}")).collect(),
        }
    }
}
