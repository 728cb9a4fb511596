//! The scale of a target. Its absence is an outcome, as it is for the controller. If the user may not read
//! it, the same values are taken from a built-in target itself; for other targets, that is an error of this
//! program.

use super::super::Failure;
use super::discovery::{Discovery, Resource, built_in};
use super::right::missing;
use super::{Fetch, is_well_formed};
use crate::apimachinery::json;
use crate::apimachinery::names::no_kind;
use crate::cluster::observed::{ScaleAt, ScaleState};
use crate::error::Error;
use crate::saved::assemble::{scale_in, scale_of};
use crate::saved::wire::ScaleObject;
use crate::snapshot::basis::Basis;
use crate::snapshot::hpa::Hpa;
use crate::snapshot::right::MissingRight;
use crate::snapshot::{Scale, ScaleError};

/// A scale, or the controller's outcome without one, and the substitute if the scale itself was not read.
#[derive(Clone)]
pub(super) struct FetchedScale {
    pub(super) scale: Result<Scale, ScaleError>,
    pub(super) basis: Option<Basis>,
    /// The place at which the scale was read, if it was.
    pub(super) at: Option<ScaleAt>,
}

impl From<Result<(Scale, ScaleAt), ScaleError>> for FetchedScale {
    fn from(found: Result<(Scale, ScaleAt), ScaleError>) -> Self {
        match found {
            Ok((scale, at)) => Self {
                scale: Ok(scale),
                basis: None,
                at: Some(at),
            },
            Err(e) => Self {
                scale: Err(e),
                basis: None,
                at: None,
            },
        }
    }
}

impl Fetch<'_> {
    /// Returns the scale of a target of a built-in kind; `None` if the kind needs discovery.
    pub(super) async fn built_in_scale(&self, hpa: &Hpa) -> Option<Result<FetchedScale, Failure>> {
        let target = &hpa.spec.scale_target_ref;
        if !is_well_formed(&target.api_version) {
            // The engine produces this message before it reads the scale.
            return Some(Ok(Err(ScaleError::Mapping(String::new())).into()));
        }
        let resource = built_in(target.group(), &target.kind)?;
        if let Some(listed) = self.lists.and_then(|lists| lists.targets(&resource)) {
            let scale = scale_in(hpa, listed.get(&target.name));
            let unreadable =
                |e: Error| self.unreadable(&resource.path(self.namespace, ""), e.message);
            let found = scale.map(|scale| FetchedScale {
                scale,
                basis: None,
                at: None,
            });
            return Some(found.map_err(unreadable));
        }
        let failure = match self.scale(&resource, &target.name).await {
            Ok(scale) => return Some(Ok(scale.into())),
            Err(failure) => failure,
        };
        let Some(right) = missing(&failure) else {
            return Some(Err(failure));
        };
        let found = self.in_place_of_scale(hpa, &resource, right).await;
        Some(found.ok_or(failure))
    }

    /// Returns the scale of a target of any other kind.
    pub(super) async fn custom_scale(
        &self,
        hpa: &Hpa,
        discovery: &Result<Discovery, Failure>,
    ) -> Result<FetchedScale, Failure> {
        let target = &hpa.spec.scale_target_ref;
        let group = target.group();
        let found = discovery
            .as_ref()
            .and_then(|it| it.resource(group, &target.kind));
        match found.map_err(Clone::clone)? {
            Some(resource) => Ok(self.scale(&resource, &target.name).await?.into()),
            None => Ok(Err(ScaleError::Mapping(no_kind(group, &target.kind))).into()),
        }
    }

    /// Returns the same values from the target itself, if it can be read.
    async fn in_place_of_scale(
        &self,
        hpa: &Hpa,
        resource: &Resource,
        right: MissingRight,
    ) -> Option<FetchedScale> {
        let target = &hpa.spec.scale_target_ref;
        let path = resource.path(self.namespace, &target.name);
        let scale = match self.session.get(&path).await {
            Ok(response) => {
                let hpa = hpa.clone();
                let read = move |body: &[u8]| json::text(body).map(|text| scale_of(&hpa, &text));
                self.session
                    .read(&response.body, read)
                    .await
                    .ok()?
                    .ok()?
                    .ok()?
            }
            Err(e) if e.is_not_found() => Err(ScaleError::Get(e.client_go())),
            Err(_) => return None,
        };
        let replicas = scale.as_ref().ok().map(|scale| scale.spec_replicas);
        let basis = Basis::Target {
            kind: target.kind.clone(),
            replicas,
            right,
        };
        Some(FetchedScale {
            scale,
            basis: Some(basis),
            at: None,
        })
    }

    async fn scale(
        &self,
        resource: &Resource,
        name: &str,
    ) -> Result<Result<(Scale, ScaleAt), ScaleError>, Failure> {
        let path = resource.path(self.namespace, name);
        let of_scale = format!("{path}/scale");
        match self.body(&of_scale).await {
            Ok(body) => {
                let scale: ScaleObject = self.object(&of_scale, "Scale", &body).await?;
                let at = ScaleAt {
                    path,
                    resource: resource.group_resource(),
                    name: name.to_owned(),
                    namespace: self.namespace.to_owned(),
                    state: ScaleState::of(&scale),
                };
                Ok(Ok((scale.scale(), at)))
            }
            Err(e) if e.is_not_found() => Ok(Err(ScaleError::Get(e.client_go()))),
            Err(e) => Err(e),
        }
    }
}
