//! Manifests, which no API server has processed yet, with the remarks of kubectl and the API server about
//! them. An object with a `uid`, or a workload with a status, was accepted by its API server and is not a manifest.
//! The HPA, the ScaledObject and the target go through the same check, whether they are the input (`-f`) or
//! replace it (`--hpa`).

use serde_json::Value as Json;

use super::objects::{Undecoded, UndecodedHpa};
use crate::apimachinery::json::decode;
use crate::apiserver::convert::{
    HpaObject, HpaVersion, UnknownFields, hpa_with_unknown_fields, unknown_in_workload,
};
use crate::apiserver::metadata::ObjectMeta;
use crate::apiserver::validate::{self, Cause};
use crate::args::Validate;
use crate::error::Error;
use crate::keda::{self, KedaHpa, Refused};
use crate::snapshot::note::{Note, Subject};
use crate::snapshot::surroundings::{ManifestReplicas, Workload};
use crate::version::Version;

const REJECTED: &str = "the API server would reject this manifest";

/// The manifest of an object that creates pods.
#[derive(Debug, Clone)]
pub(crate) struct WorkloadManifest {
    pub(crate) object: Workload,
    /// The file.
    pub(crate) origin: String,
    /// The containers whose cores are stated without a unit; `None` is the pod as a whole.
    pub(crate) bare_cores: Vec<Option<Box<str>>>,
    /// The notes about the manifest, or the reason why it cannot be assumed: it has unknown fields, or the API server
    /// would reject it.
    pub(crate) notes: Result<Vec<Note>, Error>,
}

impl WorkloadManifest {
    /// Returns the manifests among objects. A Rollout gets the template that it refers to.
    pub(crate) fn all<'o>(
        objects: impl Iterator<Item = (&'o Workload, &'o Option<Undecoded>)>,
        validate: Validate,
    ) -> Vec<Self> {
        let mut all = Vec::new();
        for (object, whole) in objects {
            let Some(whole) = whole else { continue };
            let mut written = object.clone();
            if written.template_of.is_some() {
                // The manifest is checked as written.
                written.template = None;
            }
            all.push(Self::read(written, whole, validate));
        }
        for place in 0..all.len() {
            let rollout = &all[place].object;
            if rollout.template_of.is_none() {
                continue;
            }
            let referenced = all
                .iter()
                .find(|it| it.object.is_template_of(rollout))
                .cloned();
            let Some(referenced) = referenced.filter(|it| it.object.template.is_some()) else {
                continue;
            };
            let manifest = &mut all[place];
            manifest.object.resolve(&referenced.object);
            manifest.bare_cores = referenced.bare_cores;
            manifest.notes = manifest.notes.clone().and_then(|mut notes| {
                notes.extend(referenced.notes?);
                Ok(notes)
            });
        }
        all
    }

    fn read(object: Workload, whole: &Undecoded, validate: Validate) -> Self {
        let place = format!("{}: {}", whole.origin, object.reference());
        let parsed =
            decode::<Json>(whole.json.expose()).map_err(|e| Error::usage(format!("{place}: {e}")));
        let bare_cores = parsed.as_ref().map_or_else(
            |_| Vec::new(),
            |whole| bare_cores(&whole["spec"]["template"]["spec"]),
        );
        let notes = parsed.and_then(|whole| Self::judge(&object, &whole, &place, validate));
        Self {
            notes,
            bare_cores,
            origin: whole.origin.clone(),
            object,
        }
    }

    /// Returns the notes about a manifest, which errors call by its `place`.
    fn judge(
        object: &Workload,
        whole: &Json,
        place: &str,
        validate: Validate,
    ) -> Result<Vec<Note>, Error> {
        let unknown = unknown_in_workload(whole, &object.group, &object.kind);
        let mut notes = ignored(&unknown, place, validate)?;
        let served = &object.api_version();
        let stated = whole["apiVersion"].as_str().unwrap_or_default();
        if stated != served && !is_admitted(whole) {
            // Some older versions have a default for it.
            let selector = match &whole["spec"]["selector"] {
                Json::Null => ", with a selector",
                _ => "",
            };
            let hint = format!("write it in {served}{selector}");
            notes.push(not_served(
                place,
                &object.kind,
                stated,
                served,
                &hint,
                validate,
            )?);
        }
        let causes = validate::workload(object, whole);
        if causes.is_empty() {
            Ok(notes)
        } else {
            Err(Error::usage(format!("{place}: {}", messages(&causes))).hint(REJECTED))
        }
    }

    /// Returns the replicas that it states, unless it has a status: then it is an object of a cluster.
    pub(crate) fn replicas(&self) -> Option<ManifestReplicas> {
        let replicas = self.object.replicas.filter(|_| self.object.is_manifest())?;
        Some(ManifestReplicas {
            origin: self.origin.clone(),
            replicas,
        })
    }
}

/// Returns the containers of a pod's spec whose cores have no unit; `None` among them is the pod as a
/// whole.
fn bare_cores(spec: &Json) -> Vec<Option<Box<str>>> {
    let lists = ["containers", "initContainers"].into_iter();
    lists
        .flat_map(|list| spec[list].as_array().into_iter().flatten())
        .filter(|container| has_bare_cores(&container["resources"]))
        .filter_map(|container| Some(Some(container["name"].as_str()?.into())))
        .chain(has_bare_cores(&spec["resources"]).then_some(None))
        .collect()
}

/// Whether the requested cores, or otherwise their limit, are a number without a unit.
fn has_bare_cores(resources: &Json) -> bool {
    let request = &resources["requests"]["cpu"];
    let cores = if request.is_null() {
        &resources["limits"]["cpu"]
    } else {
        request
    };
    let is_bare = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    cores.is_u64() || cores.as_str().is_some_and(|text| is_bare(text.trim()))
}

fn messages(causes: &[Cause]) -> String {
    let messages: Vec<String> = causes.iter().map(ToString::to_string).collect();
    messages.join("; ")
}

/// Whether an API server has accepted an object.
fn is_admitted(whole: &Json) -> bool {
    whole["metadata"]["uid"]
        .as_str()
        .is_some_and(|uid| !uid.is_empty())
}

/// Reads the manifest of an HPA, with notes about unknown fields.
///
/// # Errors
///
/// The manifest cannot be read, or has unknown fields.
pub(crate) fn read_hpa(hpa: &UndecodedHpa, validate: Validate) -> Result<HpaObject, Error> {
    let origin = &hpa.origin;
    let (mut object, unknown) = hpa_with_unknown_fields(&hpa.json).map_err(|e| {
        Error::usage(format!(
            "{origin}: HorizontalPodAutoscaler {}: {e}",
            hpa.name
        ))
    })?;
    object.notes.extend(ignored(&unknown, origin, validate)?);
    Ok(object)
}

/// Checks whether an API server of these rules serves the version of a manifest.
///
/// # Errors
///
/// The server does not serve it.
pub(crate) fn check_version(
    hpa: &HpaObject,
    origin: &str,
    rules: &Version,
    validate: Validate,
) -> Result<Option<Note>, Error> {
    let last = match hpa.version {
        HpaVersion::V1 | HpaVersion::V2 => return Ok(None),
        HpaVersion::V2beta1 => 24,
        HpaVersion::V2beta2 => 25,
    };
    if rules.minor() <= last || hpa.is_admitted() {
        return Ok(None);
    }
    let served = HpaVersion::V2.as_str();
    let hint =
        format!("write it in {served}, or state its rules with --kubernetes-version v1.{last}");
    let (kind, stated) = ("HorizontalPodAutoscaler", hpa.version.as_str());
    not_served(origin, kind, stated, served, &hint, validate).map(Some)
}

fn not_served(
    origin: &str,
    kind: &str,
    stated: &str,
    served: &str,
    hint: &str,
    validate: Validate,
) -> Result<Note, Error> {
    if validate == Validate::Strict {
        let message = format!("{origin}: no matches for kind \"{kind}\" in version \"{stated}\"");
        return Err(Error::usage(message).hint(hint));
    }
    let text = format!(
        "no API server of these rules serves a {kind} in {stated}, which is read as if it did: write it in {served}"
    );
    Ok(Note::about(Subject::VersionNotServed, text))
}

/// Builds the HPA that KEDA creates from a ScaledObject. `namespace` applies if the manifest states none.
///
/// # Errors
///
/// The API server or KEDA rejects the ScaledObject, or it has unknown fields.
pub(crate) fn hpa_of_keda(
    object: &Undecoded,
    namespace: Option<&str>,
    validate: Validate,
) -> Result<KedaHpa, Error> {
    let Undecoded { origin, json, .. } = object;
    let whole: Json = decode(json.expose()).map_err(|e| Error::usage(format!("{origin}: {e}")))?;
    let unknown = keda::unknown_fields(json.expose()).map_err(|e| refused(e, origin))?;
    let notes = ignored(&unknown, origin, validate)?;
    let mut made = KedaHpa::of(json.expose(), namespace).map_err(|e| refused(e, origin))?;
    let causes = if is_admitted(&whole) {
        Vec::new()
    } else {
        validate::of_metadata(&ObjectMeta::stated(&whole["metadata"]))
    };
    if !causes.is_empty() {
        return Err(Error::usage(format!("{origin}: {}", messages(&causes))).hint(REJECTED));
    }
    made.notes.extend(notes);
    Ok(made)
}

/// Returns the error for a ScaledObject that gets no HPA.
pub(crate) fn refused(refused: Refused, origin: &str) -> Error {
    let error = Error::usage(format!("{origin}: {refused}"));
    match refused.hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// Returns the notes about unknown fields of a manifest.
fn ignored(unknown: &UnknownFields, origin: &str, validate: Validate) -> Result<Vec<Note>, Error> {
    match validate {
        Validate::Strict if !unknown.is_empty() => {
            let fields = unknown.messages().join("; ");
            Err(Error::usage(format!("{origin}: {fields}"))
                .hint("correct it, or use --validate=warn to drop it, as the API server would"))
        }
        Validate::Strict | Validate::Ignore => Ok(Vec::new()),
        Validate::Warn => {
            let causes = unknown.messages().into_iter();
            let notes = causes.map(|cause| {
                let text = format!("ignored: {cause}");
                Note::about(Subject::FieldIgnored { cause }, text)
            });
            Ok(notes.collect())
        }
    }
}
