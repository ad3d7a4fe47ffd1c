//! Execution context ids in the parameters, results and events that carry them. Only text at the named places changes;
//! everything else passes to the letter. Called only while a tab has contexts whose ids differ (see `contexts`).

use std::borrow::Cow;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserializer, de};
use serde_json::value::RawValue;

use crate::contexts::Contexts;

/// A method or event, and the path of a context id in it.
type Place = (&'static str, &'static [&'static str]);

/// Commands whose parameters name a context: by number, or by unique id.
const PARAMS: &[Place] = &[
    ("DOM.resolveNode", &["executionContextId"]),
    ("Runtime.addBinding", &["executionContextId"]),
    ("Runtime.callFunctionOn", &["executionContextId"]),
    ("Runtime.callFunctionOn", &["uniqueContextId"]),
    ("Runtime.compileScript", &["executionContextId"]),
    ("Runtime.evaluate", &["contextId"]),
    ("Runtime.evaluate", &["uniqueContextId"]),
    ("Runtime.globalLexicalScopeNames", &["executionContextId"]),
    ("Runtime.runScript", &["executionContextId"]),
];

/// Commands whose result may name one.
const RESULTS: &[Place] = &[
    ("Debugger.evaluateOnCallFrame", EXCEPTION),
    ("Debugger.setScriptSource", EXCEPTION),
    ("Page.createIsolatedWorld", &["executionContextId"]),
    ("Runtime.awaitPromise", EXCEPTION),
    ("Runtime.callFunctionOn", EXCEPTION),
    ("Runtime.compileScript", EXCEPTION),
    ("Runtime.evaluate", EXCEPTION),
    ("Runtime.getExceptionDetails", EXCEPTION),
    ("Runtime.getProperties", EXCEPTION),
    ("Runtime.runScript", EXCEPTION),
];

const EXCEPTION: &[&str] = &["exceptionDetails", "executionContextId"];

/// The events that make and end contexts are not here: `debugger_event` keeps the book of contexts by them.
const EVENTS: &[Place] = &[
    ("Debugger.scriptFailedToParse", &["executionContextId"]),
    ("Debugger.scriptParsed", &["executionContextId"]),
    ("Runtime.bindingCalled", &["executionContextId"]),
    ("Runtime.consoleAPICalled", &["executionContextId"]),
    ("Runtime.exceptionThrown", EXCEPTION),
    ("Runtime.inspectRequested", &["executionContextId"]),
];

pub fn result_names_context(method: &str) -> bool {
    RESULTS.iter().any(|(name, _)| *name == method)
}

/// A client's parameters, as Chrome understands them.
pub fn params_to_real<'p>(contexts: &Contexts, method: &str, params: &'p str) -> Cow<'p, str> {
    let mut text = Cow::Borrowed(params);
    for (_, path) in PARAMS.iter().filter(|(name, _)| *name == method) {
        text = replace(text, path, |value| value_to_real(contexts, value));
    }
    text
}

/// Whether a client's parameters name a context that Chrome has not made yet.
pub fn names_imagined(contexts: &Contexts, method: &str, params: &str) -> bool {
    let places = PARAMS
        .iter()
        .filter(|(name, _)| *name == method && contexts.has_imagined());
    places
        .filter_map(|(_, path)| locate(params, path))
        .any(|id| contexts.is_imagined(id))
}

/// Chrome's result, as the client understands it. The method is not asked for: no other place has this shape.
pub fn result_to_announced<'r>(contexts: &Contexts, result: Cow<'r, str>) -> Cow<'r, str> {
    let text = replace(result, EXCEPTION, |value| {
        value_to_announced(contexts, value)
    });
    replace(text, &["executionContextId"], |value| {
        value_to_announced(contexts, value)
    })
}

pub fn event_to_announced<'e>(contexts: &Contexts, method: &str, params: &'e str) -> Cow<'e, str> {
    let mut text = Cow::Borrowed(params);
    for (_, path) in EVENTS.iter().filter(|(name, _)| *name == method) {
        text = replace(text, path, |value| value_to_announced(contexts, value));
    }
    text
}

fn value_to_real(contexts: &Contexts, value: &str) -> Option<String> {
    if let Ok(id) = value.parse() {
        return contexts.to_real(id).map(|id| id.to_string());
    }
    let unique: String = serde_json::from_str(value).ok()?;
    contexts
        .unique_to_real(&unique)
        .map(|id| serde_json::Value::from(id).to_string())
}

fn value_to_announced(contexts: &Contexts, value: &str) -> Option<String> {
    if let Ok(id) = value.parse() {
        return contexts.to_announced(id).map(|id| id.to_string());
    }
    let unique: String = serde_json::from_str(value).ok()?;
    contexts
        .unique_to_announced(&unique)
        .map(|id| serde_json::Value::from(id).to_string())
}

/// Replaces an id wherever it stands as a value of its own; for ids that nothing else is ever called.
pub fn rename<'t>(text: Cow<'t, str>, from: &str, to: &str) -> Cow<'t, str> {
    let (from, to) = (format!("\"{from}\""), format!("\"{to}\""));
    if text.contains(&from) {
        Cow::Owned(text.replace(&from, &to))
    } else {
        text
    }
}

/// Replaces the value at `path` where there is one and `with` knows another.
pub fn replace<'t>(
    text: Cow<'t, str>,
    path: &[&str],
    with: impl Fn(&str) -> Option<String>,
) -> Cow<'t, str> {
    let Some((start, end, new)) = locate(&text, path).and_then(|value| {
        // The value is a part of the text, so the distance between the two is where it stands.
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

/// The text at a path.
pub fn locate<'t>(text: &'t str, path: &[&str]) -> Option<&'t str> {
    path.iter().try_fold(text, |object, key| field(object, key))
}

/// The text of one field of an object; the others are passed over unread.
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

/// The value of one field of an object that is a string.
pub fn text_field(object: &str, key: &str) -> Option<String> {
    serde_json::from_str(field(object, key)?).ok()
}

/// A key, borrowed where it has no escapes.
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
    use crate::contexts::World;

    fn one_pair() -> (Contexts, i64) {
        let mut contexts = Contexts::default();
        let announced = contexts.imagine("F", World::Default, "").0.announced;
        contexts.created(
            r#"{"id":3,"uniqueId":"-1.2","name":"","auxData":{"isDefault":true,"frameId":"F"}}"#,
        );
        (contexts, announced)
    }

    #[test]
    fn every_place_of_the_published_protocol_is_known() {
        let fixture = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fixtures/context_ids.json"
        );
        let fixture: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(fixture).unwrap()).unwrap();
        let list =
            |kind: &str| -> Vec<String> { serde_json::from_value(fixture[kind].clone()).unwrap() };
        let written = |places: &[Place]| {
            places
                .iter()
                .map(|(method, path)| format!("{method} {}", path.join(".")))
                .collect::<Vec<_>>()
        };
        assert_eq!(written(PARAMS), list("params"));
        assert_eq!(written(RESULTS), list("results"));
        let rewritten: Vec<_> = list("events")
            .into_iter()
            .filter(|place| !place.starts_with("Runtime.executionContext"))
            .collect();
        assert_eq!(written(EVENTS), rewritten);
    }

    #[test]
    fn only_the_named_places_change() {
        let (contexts, id) = one_pair();
        let params = format!(
            r#"{{"functionDeclaration":"executionContextId", "executionContextId" : {id},"arguments":[{{"value":{id}}}]}}"#
        );
        let real = params_to_real(&contexts, "Runtime.callFunctionOn", &params);
        assert_eq!(
            real,
            format!(
                r#"{{"functionDeclaration":"executionContextId", "executionContextId" : 3,"arguments":[{{"value":{id}}}]}}"#
            )
        );
        let unique = format!(r#"{{"uniqueContextId":"tabwire.{id}"}}"#);
        assert_eq!(
            params_to_real(&contexts, "Runtime.evaluate", &unique),
            r#"{"uniqueContextId":"-1.2"}"#
        );
    }

    #[test]
    fn results_and_events_come_back_in_the_clients_ids() {
        let (contexts, id) = one_pair();
        let result = r#"{"result":{},"exceptionDetails":{"executionContextId":3}}"#;
        assert_eq!(
            result_to_announced(&contexts, result.into()),
            format!(r#"{{"result":{{}},"exceptionDetails":{{"executionContextId":{id}}}}}"#)
        );
        let event = r#"{"type":"log","executionContextId":3}"#;
        assert_eq!(
            event_to_announced(&contexts, "Runtime.consoleAPICalled", event),
            format!(r#"{{"type":"log","executionContextId":{id}}}"#)
        );
        assert!(matches!(
            event_to_announced(&contexts, "Network.dataReceived", event),
            Cow::Borrowed(_)
        ));
    }
}
