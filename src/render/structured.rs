//! The contract as JSON or YAML.

use serde::Serialize;

use crate::error::Error;

/// Indented JSON with a line break at the end.
pub fn json<T: Serialize>(value: &T) -> Result<String, Error> {
    let mut text = serde_json::to_string_pretty(value)
        .map_err(|e| Error::failed(format!("failed to write JSON: {e}")))?;
    text.push('\n');
    Ok(text)
}

/// YAML that kubectl reads back as it was meant.
pub fn yaml<T: Serialize>(value: &T) -> Result<String, Error> {
    let mut text = serde_yaml::to_string(value)
        .map_err(|e| Error::failed(format!("failed to write YAML: {e}")))?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}
