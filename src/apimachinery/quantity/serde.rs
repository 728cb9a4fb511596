//! Quantities in JSON and YAML, like `Quantity.UnmarshalJSON`: strings, and numbers taken by their text. A
//! number's text must not pass through a float where the format can still show it, because `1e3` prints as
//! `1e3` and `1000` as `1k`.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use super::{Amount, ParseError, Quantity};
use crate::apimachinery::go;
use crate::apimachinery::json::expecting;

/// The name under which serde_json passes on a value's text instead of the value. Other formats ignore it,
/// and so would a serde_json that renamed it; numbers are then read as such and printed again.
const RAW: &str = "$serde_json::private::RawValue";

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A text that reads back as the same amount in the same form.
impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.spelling())
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(RAW, QuantityVisitor)
    }
}

/// Does not allocate for strings without escapes.
impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AmountVisitor)
    }
}

struct QuantityVisitor;

impl<'de> Visitor<'de> for QuantityVisitor {
    type Value = Quantity;

    expecting!("a quantity");

    /// serde_json's raw text, as a map of one entry.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Quantity, A::Error> {
        let key: Option<String> = map.next_key()?;
        if key.as_deref() != Some(RAW) {
            return Err(A::Error::custom(ParseError::Format));
        }
        let raw: String = map.next_value()?;
        let json = raw.trim_matches([' ', '\t', '\n', '\r']);
        if json == "null" {
            return Ok(Quantity::default());
        }
        // Upstream strips the quotes without checking what is escaped between them.
        let text = json
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
            .unwrap_or(json);
        self.visit_str(text)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<Quantity, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Quantity, E> {
        Quantity::parse(text.trim()).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Quantity, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Quantity, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Quantity, E> {
        self.visit_str(&go::float(number))
    }

    fn visit_unit<E: Error>(self) -> Result<Quantity, E> {
        Ok(Quantity::default())
    }
}

struct AmountVisitor;

impl Visitor<'_> for AmountVisitor {
    type Value = Amount;

    expecting!("a quantity");

    #[inline]
    fn visit_str<E: Error>(self, text: &str) -> Result<Amount, E> {
        Amount::parse(text.trim()).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Amount, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Amount, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Amount, E> {
        self.visit_str(&go::float(number))
    }

    fn visit_unit<E: Error>(self) -> Result<Amount, E> {
        Ok(Amount::ZERO)
    }
}
