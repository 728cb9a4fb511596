//! The archives of a release, packed as the release workflow packs them, for the tests of what installs them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The tag of a release of this version.
pub(crate) const TAG: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// The address of the releases.
pub(crate) const RELEASES: &str = "https://github.com/kubectl-hpa/kubectl-hpa/releases/download";

/// The pairs of `os` and `arch` that are released.
pub(crate) const RELEASED: [(&str, &str); 5] = [
    ("linux", "amd64"),
    ("linux", "arm64"),
    ("darwin", "amd64"),
    ("darwin", "arm64"),
    ("windows", "amd64"),
];

/// The archives in a directory, with their checksums by file name.
pub(crate) struct Archives {
    pub(crate) directory: PathBuf,
    pub(crate) sums: BTreeMap<String, String>,
}

impl Archives {
    /// Packs them into a directory that is named after the test.
    pub(crate) fn pack(test: &str) -> Self {
        let name = format!("{test}-{}", std::process::id());
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut sums = BTreeMap::new();
        // Any file can replace the programs, whose test builds are large; the release's own
        // is packed and run by scripts/check-install.
        for (os, arch) in RELEASED {
            let output = Command::new(root.join("scripts/package"))
                .arg(root.join("LICENSE"))
                .arg(format!("{os}-{arch}"))
                .arg(&directory)
                .output()
                .expect("it runs");
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            let path = PathBuf::from(
                String::from_utf8(output.stdout)
                    .expect("it is there")
                    .trim(),
            );
            let name = path
                .file_name()
                .expect("it is there")
                .to_str()
                .expect("it is there")
                .to_owned();
            let sum =
                fs::read_to_string(directory.join(format!("{name}.sha256"))).expect("it is there");
            let sum = sum
                .split_whitespace()
                .next()
                .expect("it is there")
                .to_owned();
            sums.insert(name, sum);
        }
        Self { directory, sums }
    }

    /// The files of an archive, unpacked.
    pub(crate) fn unpack(&self, name: &str) -> PathBuf {
        let directory = self.directory.join(name.trim_end_matches(".tar.gz"));
        if !directory.exists() {
            fs::create_dir(&directory).expect("it is there");
            let mut tar = Command::new("tar");
            let tar = tar
                .arg("xzf")
                .arg(self.directory.join(name))
                .arg("-C")
                .arg(&directory);
            assert!(tar.status().expect("it runs").success());
        }
        directory
    }
}

impl Drop for Archives {
    fn drop(&mut self) {
        // Leftovers are below the target directory.
        drop(fs::remove_dir_all(&self.directory));
    }
}
