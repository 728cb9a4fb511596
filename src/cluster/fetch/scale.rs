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

impl From<Result<Scale, ScaleError>> for FetchedScale {
    fn from(scale: Result<Scale, ScaleError>) -> Self {
        Self {
            scale,
            basis: None,
            at: None,
        }
    }
}

impl Fetch<'_> {
    /// Returns the scale of a target; `discovery` is awaited only if the kind is not built in.
    pub(super) async fn target_scale<'d>(
        &self,
        hpa: &Hpa,
        discovery: impl Future<Output = &'d Result<Discovery, Failure>>,
    ) -> Result<FetchedScale, Failure> {
        match self.built_in_scale(hpa).await {
            Some(scale) => scale,
            None => self.custom_scale(hpa, discovery.await).await,
        }
    }

    /// Returns the scale of a target of a built-in kind; `None` if the kind needs discovery.
    async fn built_in_scale(&self, hpa: &Hpa) -> Option<Result<FetchedScale, Failure>> {
        let target = &hpa.spec.scale_target_ref;
        if !is_well_formed(&target.api_version) {
            // The engine produces this message before it reads the scale.
            return Some(Ok(Err(ScaleError::Mapping(String::new())).into()));
        }
        let resource = built_in(target.group(), &target.kind)?;
        if let Some(listed) = self.lists.and_then(|lists| lists.targets(hpa)) {
            let scale = scale_in(hpa, listed.get(&target.name));
            let unreadable =
                |e: Error| self.unreadable(&resource.path(self.namespace, ""), e.message);
            return Some(scale.map(FetchedScale::from).map_err(unreadable));
        }
        let found = self.scale(&resource, &target.name).await;
        let Some(right) = found.as_ref().err().and_then(missing) else {
            return Some(found);
        };
        let substitute = self.in_place_of_scale(hpa, &resource, right).await;
        Some(substitute.map_or(found, Ok))
    }

    /// Returns the scale of a target of any other kind.
    async fn custom_scale(
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
            Some(resource) => self.scale(&resource, &target.name).await,
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
            basis: Some(basis),
            ..scale.into()
        })
    }

    async fn scale(&self, resource: &Resource, name: &str) -> Result<FetchedScale, Failure> {
        let path = resource.path(self.namespace, name);
        let of_scale = format!("{path}/scale");
        match self.answer(&of_scale).await {
            Ok(response) => {
                let served = self.served_scale(&response, name).await?;
                let at = ScaleAt {
                    path,
                    resource: resource.group_resource(),
                    name: name.to_owned(),
                    namespace: self.namespace.to_owned(),
                    api_version: served.api_version.clone(),
                    state: ScaleState::of(&served.object),
                };
                Ok(FetchedScale {
                    at: Some(at),
                    ..served.scale().into()
                })
            }
            Err(e) if e.is_not_found() => Ok(Err(ScaleError::Get(e.client_go())).into()),
            Err(e) => Err(e),
        }
    }
}
