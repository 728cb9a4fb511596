//! Tests of the whole connection, with files in their own directories, shell scripts as plugins and
//! listeners on loopback.

mod exec;
mod http;
mod kubeconfig;
mod scale;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::connect::environment::Environment;

/// A directory that is deleted with its test.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("kubectl-hpa-test-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        shown(&path)
    }

    fn path(&self, name: &str) -> String {
        shown(&self.0.join(name))
    }

    /// Returns an environment whose home is this directory.
    fn env(&self, variables: &[(&str, &str)]) -> Environment {
        let mut env = Environment {
            service_account: self.0.join("account"),
            ..Environment::default()
        };
        let home = self.path("");
        let path = std::env::var("PATH").unwrap_or_default();
        for (name, value) in [("HOME", home.as_str()), ("PATH", path.as_str())]
            .iter()
            .chain(variables)
        {
            env.variables
                .insert((*name).to_owned(), (*value).to_owned());
        }
        env
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Runs to completion on this thread, as the program does.
pub(super) fn wait<T>(task: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(task)
}

/// Runs to completion on a clock that advances whenever there is nothing to do but wait.
pub(super) fn wait_for_nothing<T>(task: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(task)
}
