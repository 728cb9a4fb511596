//! Inputs of objects, for unit tests of all layers above.

use serde_json::Value;

use crate::build;
use crate::error::Error;
use crate::snapshot::input::{Input, Options};

/// Returns the input about the HPA `web` of these objects.
pub(crate) fn input(items: &[Value]) -> Result<Input, Error> {
    let options = Options {
        name: "web".to_owned(),
        ..Options::default()
    };
    let text = build::list(items.iter().cloned());
    super::read(&text, &options, build::NOW.parse().unwrap())
}
