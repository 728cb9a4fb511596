//! The API server's processing of a HorizontalPodAutoscaler before the controller sees it: conversion
//! between versions, defaults, dropped fields and validation. [`admit`] runs them in order. There is no
//! network I/O here, and no decision of the controller.

pub mod admit;
pub mod convert;
pub mod default;
pub mod metadata;
pub mod validate;
