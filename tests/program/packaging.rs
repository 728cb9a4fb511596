//! What installs the program without krew: the GitHub action and its script, `cargo binstall`, the Homebrew
//! formula and the container image, each checked against the archives of a release. Registries and hosted
//! runners are not reached; the GitHub CLI is replaced.

#![allow(
    clippy::unwrap_used,
    reason = "what cannot fail here is not worth a message"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

use kubectl_hpa::version::Version;
use serde_json::Value;

use super::archives::{Archives, RELEASED, RELEASES, TAG};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).expect("a file of the repository")
}

fn yaml(name: &str) -> Value {
    serde_yaml::from_str(&read(name)).expect("YAML")
}

fn text<'v>(value: &'v Value, place: &str) -> &'v str {
    value
        .pointer(place)
        .and_then(Value::as_str)
        .unwrap_or_else(|| panic!("no {place}"))
}

fn archive(os: &str, arch: &str) -> String {
    format!("kubectl-hpa-{TAG}-{os}-{arch}.tar.gz")
}

/// GitHub's part cannot be run here; but it is checked that it is YAML, and names only what exists.
#[test]
fn workflows_name_what_exists() {
    let names: Vec<String> = RELEASED
        .iter()
        .map(|(os, arch)| format!("{os}-{arch}"))
        .collect();
    let release = yaml(".github/workflows/release.yml");
    let built = release["jobs"]["build"]["strategy"]["matrix"]["include"]
        .as_array()
        .unwrap();
    let built: Vec<&str> = built.iter().map(|one| text(one, "/platform")).collect();
    assert_eq!(built, names);
    let script = read(".github/workflows/release.yml");
    assert!(script.contains(&format!("for platform in {}; do", names.join(" "))));
    for plugin in
        yaml(".github/workflows/krew.yml")["jobs"]["update"]["strategy"]["matrix"]["plugin"]
            .as_array()
            .unwrap()
    {
        assert!(
            root()
                .join("krew")
                .join(text(plugin, ""))
                .with_extension("yaml")
                .is_file()
        );
    }
    let clusters = yaml(".github/workflows/cluster.yml");
    let clusters = clusters["jobs"]["kind"]["strategy"]["matrix"]["include"]
        .as_array()
        .unwrap();
    let newest = Version::released().minor();
    let versions = [23, newest - 2, newest - 1, newest].map(|minor| format!("v1.{minor}"));
    assert_eq!(
        clusters
            .iter()
            .map(|one| text(one, "/version"))
            .collect::<Vec<_>>(),
        versions
    );
    for (one, version) in clusters.iter().zip(versions) {
        assert!(
            text(one, "/node").starts_with(&format!("kindest/node:{version}.")),
            "{one}"
        );
    }
    for (workflow, script) in [
        ("test.yml", ".ci/run"),
        ("release.yml", "scripts/package"),
        ("release.yml", "scripts/formula"),
        ("release.yml", "packaging/Dockerfile"),
    ] {
        assert!(
            read(&format!(".github/workflows/{workflow}")).contains(script),
            "{script}"
        );
        assert!(root().join(script).is_file(), "{script}");
    }
}

/// RUSTFLAGS would replace the flags of the configuration.
#[test]
fn the_program_for_windows_contains_the_c_runtime() {
    const FLAGS: &str = r#"
[target.x86_64-pc-windows-msvc]
rustflags = ["-C", "target-feature=+crt-static"]
"#;
    assert!(read(".cargo/config.toml").contains(FLAGS));
    assert!(!read(".github/workflows/release.yml").contains("RUSTFLAGS"));
}

/// A tag can be moved to another commit. Actions that build a release or run in the pipelines of users are pinned to a
/// commit, with the tag in a comment.
#[test]
fn the_actions_of_others_are_pinned() {
    let workflows = fs::read_dir(root().join(".github/workflows")).expect("workflows");
    let files = workflows.map(|file| file.expect("a workflow").path());
    let mut pinned = 0;
    for file in files.chain([root().join("action.yml")]) {
        let text = fs::read_to_string(&file).expect("a workflow");
        for line in text.lines().filter_map(|line| line.split_once("uses:")) {
            let used = line.1.trim();
            // Of this repository.
            if used.starts_with("./") {
                continue;
            }
            let is_pinned = used.split_once('@').is_some_and(|(_, version)| {
                let (commit, tag) = version.split_once(" # ").unwrap_or((version, ""));
                let is_commit = commit.len() == 40 && commit.bytes().all(|c| c.is_ascii_hexdigit());
                is_commit && !tag.is_empty()
            });
            assert!(is_pinned, "{}: {used}", file.display());
            pinned += 1;
        }
    }
    assert!(pinned > 20, "{pinned}");
}

/// `scripts/install` with the archives of a directory, and with a GitHub CLI that succeeds or fails, and
/// writes its arguments to a file.
struct Install<'a> {
    archives: &'a Archives,
    home: PathBuf,
}

impl<'a> Install<'a> {
    /// Adds the archives as those of the tag, in a new directory.
    fn new(archives: &'a Archives) -> Self {
        let home = archives.directory.join("home");
        fs::create_dir_all(home.join(TAG)).unwrap();
        for name in archives.sums.keys() {
            for name in [name.clone(), format!("{name}.sha256")] {
                fs::copy(archives.directory.join(&name), home.join(TAG).join(name)).unwrap();
            }
        }
        Self { archives, home }
    }

    fn run(&self, version: &str, directory: &str, attested: bool, more: &[&Path]) -> Output {
        let gh = self.home.join("gh");
        let code = if attested { 0 } else { 1 };
        fs::write(
            &gh,
            format!("#!/bin/sh\necho \"$@\" >\"$0.said\"\nexit {code}\n"),
        )
        .unwrap();
        #[cfg(unix)]
        fs::set_permissions(&gh, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let path = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths(
            [self.home.clone()]
                .into_iter()
                .chain(env::split_paths(&path)),
        );
        Command::new(root().join("scripts/install"))
            .args([version.as_ref(), self.home.join(directory).as_os_str()])
            .args(more)
            .env("PATH", path.unwrap())
            .env("ARCHIVES", format!("file://{}", self.home.display()))
            .output()
            .unwrap()
    }

    /// Asserts that it failed with this text, and installed nothing.
    fn refuses(&self, output: &Output, directory: &str, part: &str) {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && said.contains(part),
            "no {part:?} in: {said}"
        );
        let directory = self.home.join(directory);
        assert!(fs::read_dir(directory).map_or(true, |mut files| files.next().is_none()));
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn the_action_installs_only_what_is_verified() {
    // Machines without curl have nothing to prove here.
    if Command::new("curl").arg("--version").output().is_err() {
        return;
    }
    let archives = Archives::pack("install");
    let install = Install::new(&archives);
    let name = archive("linux", "amd64");

    let output = install.run(TAG, "good", true, &[]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let program = fs::read_to_string(install.home.join("good/kubectl-hpa")).unwrap();
    assert_eq!(program, read("LICENSE"), "the program of these archives");
    assert_eq!(fs::read_dir(install.home.join("good")).unwrap().count(), 1);
    let repository = RELEASES.strip_prefix("https://github.com/").unwrap();
    let repository = repository.strip_suffix("/releases/download").unwrap();
    let wanted = format!(
        "attestation verify {name} --repo {repository} --signer-workflow \
         {repository}/.github/workflows/release.yml --source-ref refs/tags/{TAG}\n"
    );
    assert_eq!(
        fs::read_to_string(install.home.join("gh.said")).unwrap(),
        wanted
    );

    // What is there already is not downloaded, but verified.
    let kept = install.home.join("kept");
    assert!(install.run(TAG, "first", true, &[&kept]).status.success());
    fs::remove_dir_all(install.home.join(TAG)).unwrap();
    assert!(install.run(TAG, "second", true, &[&kept]).status.success());
    let output = install.run(TAG, "unattested", false, &[&kept]);
    install.refuses(&output, "unattested", "");
    fs::write(kept.join(&name), "another archive").unwrap();
    let output = install.run(TAG, "changed", true, &[&kept]);
    install.refuses(
        &output,
        "changed",
        &format!("the checksum of {name} is wrong"),
    );
    let output = install.run(TAG, "absent", true, &[]);
    install.refuses(&output, "absent", "curl");
    let output = install.run("latest", "unknown", true, &[]);
    install.refuses(&output, "unknown", "latest is not a version such as v0.1.0");
    assert_eq!(install.archives.sums.len(), RELEASED.len());
}

#[test]
fn the_action_installs_this_version() {
    let action = yaml("action.yml");
    assert_eq!(text(&action, "/inputs/version/default"), TAG);
    let steps = action["runs"]["steps"].as_array().unwrap();
    let script = steps
        .iter()
        .filter_map(|step| step["run"].as_str())
        .collect::<String>();
    assert!(script.contains("scripts/install"), "{script}");
    assert!(
        steps
            .iter()
            .all(|step| step.get("run").is_none() || step["shell"] == "bash")
    );
}

/// Every target of cargo-binstall has an archive, with the program where the metadata says it is.
#[test]
fn binstall_finds_the_archives() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages
        .iter()
        .find(|own| own["name"] == "kubectl-hpa")
        .unwrap();
    let about = &package["metadata"]["binstall"];
    assert_eq!(text(about, "/bin-dir"), "{ bin }{ binary-ext }");
    assert_eq!(text(about, "/pkg-fmt"), "tgz");
    let release = yaml(".github/workflows/release.yml");
    let built = release["jobs"]["build"]["strategy"]["matrix"]["include"]
        .as_array()
        .unwrap();
    let targets = about["overrides"].as_object().unwrap();
    let of = |target: &str| {
        let url =
            text(&targets[target], "/pkg-url").replace("{ repo }", text(package, "/repository"));
        url.replace("v{ version }", TAG)
    };
    for one in built {
        let (target, platform) = (text(one, "/target"), text(one, "/platform"));
        let wanted = format!("{RELEASES}/{TAG}/kubectl-hpa-{TAG}-{platform}.tar.gz");
        assert_eq!(of(target), wanted);
        if let Some(arch) = target.strip_suffix("-unknown-linux-musl") {
            assert_eq!(of(&format!("{arch}-unknown-linux-gnu")), wanted);
        }
    }
    assert_eq!(targets.len(), RELEASED.len() + 2);
}

#[test]
fn the_formula_names_the_archives() {
    let archives = Archives::pack("formula");
    let output = Command::new(root().join("scripts/formula"))
        .arg(&archives.directory)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let formula = String::from_utf8(output.stdout).unwrap();
    assert!(formula.starts_with("class KubectlHpa < Formula\n") && !formula.contains("{{"));
    assert!(formula.contains(concat!("version \"", env!("CARGO_PKG_VERSION"), "\"\n")));
    for (os, arch) in RELEASED.into_iter().filter(|(os, _)| *os != "windows") {
        let name = archive(os, arch);
        let sum = &archives.sums[&name];
        let wanted = format!("url \"{RELEASES}/{TAG}/{name}\"\n      sha256 \"{sum}\"\n    end\n");
        assert!(formula.contains(&wanted), "no {wanted} in {formula}");
    }
    // What it installs is in the archives.
    let files = archives.unpack(&archive("linux", "amd64"));
    for part in formula.split('"').skip(1).step_by(2) {
        let is_file =
            part.starts_with("completions/") || ["docs", "examples", "schema"].contains(&part);
        assert!(
            !is_file || files.join(part).exists(),
            "{part} is not in the archive"
        );
    }
    let path = archives.directory.join("kubectl-hpa.rb");
    fs::write(&path, &formula).unwrap();
    // Machines without Ruby cannot check more.
    if let Ok(output) = Command::new("ruby").arg("-c").arg(&path).output() {
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn the_image_is_built_from_what_is_released() {
    let release = yaml(".github/workflows/release.yml");
    let steps = release["jobs"]["image"]["steps"].as_array().unwrap();
    let push = steps.iter().find(|step| step["id"] == "push").unwrap();
    assert_eq!(text(push, "/with/file"), "packaging/Dockerfile");
    let platforms: Vec<&str> = text(push, "/with/platforms").split(',').collect();
    let linux = RELEASED.iter().filter(|(os, _)| *os == "linux");
    assert_eq!(
        platforms,
        linux
            .map(|(os, arch)| format!("{os}/{arch}"))
            .collect::<Vec<_>>()
    );
    let file = read("packaging/Dockerfile");
    for line in [
        "FROM scratch\n",
        "linux-${TARGETARCH}/kubectl-hpa /kubectl-hpa\n",
        "USER 65532",
    ] {
        assert!(file.contains(line), "{line}");
    }
}
