//! Determines a place in a text: by line and column, and by the names of the fields that lead there. It
//! works on any text up to the place in question, and reads no values.

use std::fmt;

use super::fault::shortened;

/// The path from a document to one of its values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FieldPath(pub(crate) Vec<PlaceStep>);

/// One step into an object or a list.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum PlaceStep {
    /// The field of this name.
    Field(String),
    /// The element at this index, from 0.
    Element(usize),
}

impl FieldPath {
    /// Returns the path to the value in which the first `end` bytes of a JSON text end.
    pub(crate) fn at(json: &str, end: usize) -> Self {
        // A step for each open object and list; `None` in an object between two fields.
        let mut open: Vec<Option<PlaceStep>> = Vec::new();
        let mut string: Option<usize> = None;
        let mut bytes = json.bytes().enumerate().take(end);
        while let Some((at, byte)) = bytes.next() {
            if let Some(start) = string {
                match byte {
                    b'\\' => {
                        bytes.next();
                    }
                    b'"' => {
                        string = None;
                        if let Some(step @ None) = open.last_mut() {
                            let key = json.get(start..=at).map(serde_json::from_str);
                            *step = Some(PlaceStep::Field(
                                key.and_then(Result::ok).unwrap_or_default(),
                            ));
                        }
                    }
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => string = Some(at),
                b'{' => open.push(None),
                b'[' => open.push(Some(PlaceStep::Element(0))),
                b'}' | b']' => {
                    open.pop();
                }
                b',' => match open.last_mut() {
                    Some(Some(PlaceStep::Element(place))) => *place += 1,
                    Some(step) => *step = None,
                    None => {}
                },
                _ => {}
            }
        }
        Self(open.into_iter().map_while(|step| step).collect())
    }

    /// Returns the path to the value that an error after `end` bytes concerns. For an unknown field or value,
    /// the path lacks its name, which may be a secret.
    pub(crate) fn of_error(json: &str, end: usize, message: &str) -> Self {
        let is_unknown = ["unknown field", "unknown value", "unknown variant"]
            .iter()
            .any(|it| message.starts_with(it));
        let before = json
            .as_bytes()
            .get(..end.saturating_sub(1))
            .filter(|_| is_unknown);
        // While a name is being read, the path does not include it yet.
        match before.and_then(|before| before.iter().rposition(|byte| *byte == b'"')) {
            Some(quote) => Self::at(json, quote),
            None => Self::at(json, end),
        }
    }
}

impl fmt::Display for FieldPath {
    /// Writes the path, up to the names of feature gates: they are free text of a file that is not a Kubernetes
    /// object, and no error quotes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let is_of_gates =
            |step: &PlaceStep| matches!(step, PlaceStep::Field(name) if name == "featureGates");
        let end = self
            .0
            .iter()
            .position(is_of_gates)
            .map_or(self.0.len(), |gates| gates + 1);
        for (place, step) in self.0.iter().take(end).enumerate() {
            let name = match step {
                PlaceStep::Element(element) => {
                    write!(f, "[{element}]")?;
                    continue;
                }
                PlaceStep::Field(name) => shortened(name),
            };
            // Such as the keys of labels, which contain dots.
            if !name.chars().all(plain) {
                write!(f, "[{name}]")?;
            } else if place == 0 {
                f.write_str(&name)?;
            } else {
                write!(f, ".{name}")?;
            }
        }
        Ok(())
    }
}

/// Returns the line and column of the last of the first `end` bytes, both counted from 1 and the columns in
/// characters.
pub(crate) fn line_and_column(text: &str, end: usize) -> (usize, usize) {
    let bytes = text.as_bytes();
    let read = &bytes[..end.min(bytes.len())];
    let before = read.len().saturating_sub(1);
    let lines = read[..before].iter().filter(|&&byte| byte == b'\n').count();
    let start = read[..before].iter().rposition(|&byte| byte == b'\n');
    let line = &read[start.map_or(0, |newline| newline + 1)..];
    let is_start_of_character = |byte: &&u8| !matches!(byte, 0x80..=0xbf);
    let column = line.iter().filter(is_start_of_character).count();
    (lines + 1, column.max(1))
}

/// Returns the number of bytes of a text up to a line and column as serde_json counts them: lines from 1,
/// columns in bytes.
pub(crate) fn bytes_until(text: &str, line: usize, column: usize) -> usize {
    let lines = text.split_inclusive('\n').take(line.saturating_sub(1));
    lines.map(str::len).sum::<usize>() + column
}

#[cfg(test)]
mod tests {
    use super::{FieldPath, bytes_until, line_and_column};

    #[test]
    fn a_place_is_named_by_the_fields_that_lead_there() {
        let json =
            r#"{"a": 1, "items": [{"b\"{": [1, "]"]}, {"c": {"x/y.z": 5}, "d": 6}]} {"e": 7}"#;
        for (value, path) in [
            ("1", "a"),
            ("[{", "items[0]"),
            (r#""]""#, r#"items[0][b"{][1]"#),
            (r#""]"]"#, r#"items[0][b"{]"#),
            (r#""]"]}"#, "items[0]"),
            ("5", "items[1].c[x/y.z]"),
            ("5}", "items[1].c"),
            ("6", "items[1].d"),
            ("6}]}", ""),
            ("7", "e"),
        ] {
            let end = json.find(value).expect(value) + value.len();
            assert_eq!(FieldPath::at(json, end).to_string(), path, "{value}");
        }
    }

    #[test]
    fn columns_count_characters() {
        let text = "{\n \"größe\": 5,\r\n}";
        let end = text.find('5').unwrap() + 1;
        assert_eq!(line_and_column(text, end), (2, 11));
        assert_eq!(bytes_until(text, 2, 13), end);
        assert_eq!(line_and_column(text, 2), (1, 2));
        assert_eq!(line_and_column(text, 0), (1, 1));
        assert_eq!(line_and_column("", 9), (1, 1));
    }
}
