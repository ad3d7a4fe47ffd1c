//! Reading and replacing single fields of JSON text without parsing the rest.
//!
//! Parameters and results stay unparsed text in the relay. These functions look up the few fields
//! it needs; everything else passes through byte for byte, whatever its size or depth.

use std::borrow::Cow;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserializer, de};
use serde_json::value::RawValue;

/// The JSON text of one field of an object.
pub fn field<'t>(object: &'t str, key: &str) -> Option<&'t str> {
    struct Field<'k>(&'k str);
    impl<'de> Visitor<'de> for Field<'_> {
        type Value = Option<&'de RawValue>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut found = None;
            while let Some(key) = map.next_key_seed(Key)? {
                if key == self.0 {
                    found = Some(map.next_value()?);
                } else {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            Ok(found)
        }
    }
    let found = serde_json::Deserializer::from_str(object)
        .deserialize_map(Field(key))
        .ok()?;
    found.map(RawValue::get)
}

/// The value of a field that is a string.
pub fn string_field(object: &str, key: &str) -> Option<String> {
    serde_json::from_str(field(object, key)?).ok()
}

/// The value of a field that is an integer.
pub fn integer_field(object: &str, key: &str) -> Option<i64> {
    field(object, key)?.parse().ok()
}

/// Whether a field is literally `true`.
pub fn is_true(object: &str, key: &str) -> bool {
    field(object, key) == Some("true")
}

/// The JSON text at a path of keys.
pub fn locate<'t>(text: &'t str, path: &[&str]) -> Option<&'t str> {
    path.iter().try_fold(text, |object, key| field(object, key))
}

/// Replaces the value at `path` if it exists and `with` returns a replacement.
pub fn replace<'t>(
    text: Cow<'t, str>,
    path: &[&str],
    with: impl Fn(&str) -> Option<String>,
) -> Cow<'t, str> {
    let Some((start, end, new)) = locate(&text, path).and_then(|value| {
        // `value` is a slice of `text`, so the distance between the two pointers is its offset.
        let start = value.as_ptr() as usize - text.as_ptr() as usize;
        with(value).map(|new| (start, start + value.len(), new))
    }) else {
        return text;
    };
    let (Some(before), Some(after)) = (text.get(..start), text.get(end..)) else {
        return text;
    };
    Cow::Owned([before, &new, after].concat())
}

/// Replaces an id wherever it is a complete string value. Only for ids that cannot be confused with
/// other strings.
pub fn replace_id<'t>(text: Cow<'t, str>, from: &str, to: &str) -> Cow<'t, str> {
    let (from, to) = (format!("\"{from}\""), format!("\"{to}\""));
    if text.contains(&from) {
        Cow::Owned(text.replace(&from, &to))
    } else {
        text
    }
}

/// Deserializes a key, borrowed unless it has escapes.
struct Key;

impl<'de> de::DeserializeSeed<'de> for Key {
    type Value = Cow<'de, str>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Cow<'de, str>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(text))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Cow::Owned(text.to_owned()))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_one_field_and_ignores_the_rest() {
        let text = r#"{"a":{"b":[1,2]},"c":"d","e":true}"#;
        assert_eq!(field(text, "a"), Some(r#"{"b":[1,2]}"#));
        assert_eq!(locate(text, &["a", "b"]), Some("[1,2]"));
        assert_eq!(string_field(text, "c").as_deref(), Some("d"));
        assert!(is_true(text, "e") && !is_true(text, "c"));
        assert_eq!(field("[1]", "a"), None);
    }

    #[test]
    fn replaces_only_the_value_at_the_path() {
        let text = r#"{"a": {"id" : 1}, "id":1}"#;
        let replaced = replace(text.into(), &["a", "id"], |_| Some("2".to_owned()));
        assert_eq!(replaced, r#"{"a": {"id" : 2}, "id":1}"#);
    }

    #[test]
    fn replaces_whole_string_values_of_an_id() {
        let replaced = replace_id(r#"{"a":"X","b":"XY"}"#.into(), "X", "Z");
        assert_eq!(replaced, r#"{"a":"Z","b":"XY"}"#);
    }
}
