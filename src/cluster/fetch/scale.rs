//! The scale of a target. That it is not there is an outcome, as it is for the controller; that we
//! may not look is an error of ours.

use super::super::Failure;
use super::super::discovery::{Discovery, Resource, built_in};
use super::right::denied;
use super::{Fetch, is_well_formed};
use crate::error::Error;
use crate::snapshot::hpa::Hpa;
use crate::snapshot::objects::ScaleObject;
use crate::snapshot::{Scale, ScaleError};

impl Fetch<'_> {
    /// The scale of a target of a built-in kind; none where discovery has to tell.
    pub(super) async fn built_in_scale(
        &self,
        hpa: &Hpa,
    ) -> Option<Result<Result<Scale, ScaleError>, Error>> {
        let target = &hpa.spec.scale_target_ref;
        if !is_well_formed(&target.api_version) {
            // The engine words this before it looks at the scale.
            return Some(Ok(Err(ScaleError::Mapping(String::new()))));
        }
        let resource = built_in(target.group(), &target.kind)?;
        Some(self.scale(&resource, &target.name).await)
    }

    /// The scale of a target of any other kind.
    pub(super) async fn custom_scale(
        &self,
        hpa: &Hpa,
        discovery: &Result<Discovery, Failure>,
    ) -> Result<Result<Scale, ScaleError>, Error> {
        let target = &hpa.spec.scale_target_ref;
        let group = target.group();
        let discovery = discovery.as_ref().map_err(denied)?;
        match discovery.resource(group, &target.kind) {
            Some(resource) => self.scale(&resource, &target.name).await,
            None => Ok(Err(ScaleError::Mapping(format!(
                "no matches for kind {:?} in group {group:?}",
                target.kind
            )))),
        }
    }

    async fn scale(
        &self,
        resource: &Resource,
        name: &str,
    ) -> Result<Result<Scale, ScaleError>, Error> {
        let path = format!("{}/scale", resource.path(self.namespace, name));
        match self.json::<ScaleObject>(&path, "Scale").await {
            Ok(scale) => Ok(Ok(Scale {
                spec_replicas: scale.spec.replicas,
                status_replicas: scale.status.replicas,
                selector: scale.status.selector,
            })),
            Err(e) if e.is_not_found() => Ok(Err(ScaleError::Get(e.client_go()))),
            Err(e) => Err(denied(&e)),
        }
    }
}
