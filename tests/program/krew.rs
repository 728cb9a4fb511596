//! The krew manifests, checked by the rules of krew's `validate-krew-manifest`, each installed from an
//! archive that is packed here like a release's. krew-release-bot's part, tag and checksums, is done by hand.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use kubectl_hpa::args::command_line;
use serde_json::Value;

use super::archives::{Archives, RELEASED, TAG};

/// The pairs of `os` and `arch` that krew supports.
const KNOWN: [(&str, &str); 11] = [
    ("windows", "386"),
    ("windows", "amd64"),
    ("windows", "arm64"),
    ("linux", "386"),
    ("linux", "amd64"),
    ("linux", "arm"),
    ("linux", "arm64"),
    ("linux", "ppc64le"),
    ("darwin", "386"),
    ("darwin", "amd64"),
    ("darwin", "arm64"),
];

const LICENSES: [&str; 8] = [
    "license",
    "license.txt",
    "license.md",
    "licenses",
    "licenses.txt",
    "licenses.md",
    "copying",
    "copying.txt",
];

/// Fills in the template as krew-release-bot does.
fn fill(template: &str, archives: &Archives) -> String {
    let text = template.replace("{{ .TagName }}", TAG);
    let lines = text.lines().map(|line| {
        let Some(rest) = line.trim().strip_prefix("{{addURIAndSha \"") else {
            return line.to_owned();
        };
        let url = rest
            .strip_suffix("\" .TagName }}")
            .expect("the function's form");
        let name = url.rsplit('/').next().expect("it is there");
        let sum = archives
            .sums
            .get(name)
            .unwrap_or_else(|| panic!("no archive {name}"));
        format!("    uri: {url}\n    sha256: {sum}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect()
}

fn text<'v>(value: &'v Value, place: &str) -> &'v str {
    value
        .pointer(place)
        .and_then(Value::as_str)
        .unwrap_or_else(|| panic!("no {place}"))
}

#[test]
fn every_manifest_installs_on_every_platform() {
    let archives = Archives::pack("krew");
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("krew");
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(path.extension().and_then(|end| end.to_str()), Some("yaml"));
        let filled = fill(&fs::read_to_string(&path).unwrap(), &archives);
        let manifest: Value = serde_yaml::from_str(&filled).unwrap();
        let name = text(&manifest, "/metadata/name").to_owned();
        assert_eq!(path.file_stem().unwrap().to_str(), Some(&*name));
        check(&manifest, &name, &archives);
        names.insert(name);
    }
    let command = command_line();
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let verbs = verbs
        .map(clap::Command::get_name)
        .filter(|name| *name != "install-links");
    let wanted: BTreeSet<String> = verbs.map(|verb| format!("hpa-{verb}")).collect();
    assert_eq!(names, wanted);
}

fn check(manifest: &Value, name: &str, archives: &Archives) {
    assert_eq!(
        keys(manifest),
        ["apiVersion", "kind", "metadata", "spec"].into()
    );
    assert_eq!(
        text(manifest, "/apiVersion"),
        "krew.googlecontainertools.github.com/v1alpha2"
    );
    assert_eq!(text(manifest, "/kind"), "Plugin");
    // Lower-case kebab-case, by the naming guide.
    assert!(
        name.chars().all(|c| c.is_ascii_lowercase() || c == '-'),
        "{name}"
    );
    let spec = &manifest["spec"];
    let known = [
        "version",
        "homepage",
        "shortDescription",
        "description",
        "caveats",
        "platforms",
    ];
    assert_eq!(keys(spec), known.into());
    let version = text(spec, "/version")
        .strip_prefix('v')
        .expect("a leading v");
    assert_eq!(
        version
            .split('.')
            .filter(|part| part.parse::<u32>().is_ok())
            .count(),
        3
    );
    let short = text(spec, "/shortDescription");
    assert!(
        !short.contains('\n') && (1..=50).contains(&short.chars().count()),
        "{short}"
    );
    for place in ["/description", "/caveats"] {
        assert!(
            text(spec, place).lines().all(|line| line.len() <= 80),
            "{name}{place}"
        );
    }
    let verb = name.strip_prefix("hpa-").expect("hpa- before the verb");
    assert!(text(spec, "/caveats").contains(&format!("kubectl hpa-{verb} install-links")));

    let mut matched = BTreeSet::new();
    for platform in spec["platforms"].as_array().expect("platforms") {
        // Without `files`, krew includes the whole archive.
        assert_eq!(keys(platform), ["selector", "uri", "sha256", "bin"].into());
        let selector = &platform["selector"];
        assert_eq!(keys(selector), ["matchLabels"].into());
        let labels = &selector["matchLabels"];
        assert_eq!(keys(labels), ["os", "arch"].into());
        let pair = (text(labels, "/os"), text(labels, "/arch"));
        assert!(KNOWN.contains(&pair), "{pair:?}");
        assert!(matched.insert(pair), "{pair:?} twice");

        let uri = text(platform, "/uri");
        assert!(
            uri.starts_with("https://") && uri.ends_with(".tar.gz"),
            "{uri}"
        );
        assert!(
            uri.contains(&format!("/{TAG}/kubectl-hpa-{TAG}-{}-{}.", pair.0, pair.1)),
            "{uri}"
        );
        let sum = text(platform, "/sha256");
        let hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        assert!(sum.len() == 64 && sum.chars().all(hex), "{sum}");

        let files = archives.unpack(uri.rsplit('/').next().expect("it is there"));
        let bin = text(platform, "/bin");
        assert_eq!(bin.ends_with(".exe"), pair.0 == "windows");
        assert!(files.join(bin).is_file(), "{bin} is not in the archive");
        let license = |entry: fs::DirEntry| {
            LICENSES.contains(&&*entry.file_name().to_string_lossy().to_lowercase())
        };
        assert!(
            fs::read_dir(&files)
                .expect("it is there")
                .any(|entry| license(entry.expect("it is there"))),
            "no license"
        );
        for file in [
            "CHANGELOG.md",
            "man/kubectl-hpa.1",
            "completions/_kubectl-hpa",
        ] {
            assert!(files.join(file).is_file(), "{file} is not in the archive");
        }
        // What the README shows can be tried, and what it links to can be read.
        let readme = fs::read_to_string(files.join("README.md")).expect("it is there");
        let links = readme
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split([')', '#']).next());
        let links = links.filter(|link| !link.contains("://") && *link != "CONTRIBUTING.md");
        let inputs = readme
            .split(" -f ")
            .skip(1)
            .filter_map(|rest| rest.split_whitespace().next());
        for file in links.chain(inputs.filter(|input| input.starts_with("examples/"))) {
            assert!(files.join(file).exists(), "{file} is not in the archive");
        }
    }
    assert_eq!(matched, RELEASED.into());
}
