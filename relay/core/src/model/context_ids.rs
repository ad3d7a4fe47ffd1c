//! Translates execution context ids in messages between clients and Chrome. Only the places listed
//! in `protocol::methods::context_ids` change. Used only while a page's ids differ (see
//! `contexts`).

use std::borrow::Cow;

use super::contexts::Contexts;
use crate::protocol::json;
use crate::protocol::methods::context_ids::{EVENTS, EXCEPTION, PARAMS};

/// A client's parameters, with Chrome's ids.
pub fn params_to_real<'p>(contexts: &Contexts, method: &str, params: &'p str) -> Cow<'p, str> {
    let mut text = Cow::Borrowed(params);
    for (_, path) in PARAMS.iter().filter(|(name, _)| *name == method) {
        text = json::replace(text, path, |value| value_to_real(contexts, value));
    }
    text
}

/// Whether a client's parameters name a context that Chrome has not created yet.
pub fn names_synthetic(contexts: &Contexts, method: &str, params: &str) -> bool {
    let places = PARAMS
        .iter()
        .filter(|(name, _)| *name == method && contexts.has_synthetic());
    places
        .filter_map(|(_, path)| json::locate(params, path))
        .any(|id| contexts.is_synthetic(id))
}

/// Chrome's result, with the ids that clients know. Independent of the method: no other field has
/// these paths.
pub fn result_to_announced<'r>(contexts: &Contexts, result: Cow<'r, str>) -> Cow<'r, str> {
    let to_announced = |value: &str| value_to_announced(contexts, value);
    let text = json::replace(result, EXCEPTION, to_announced);
    json::replace(text, &["executionContextId"], to_announced)
}

/// The parameters of Chrome's event, with the ids that clients know.
pub fn event_to_announced<'e>(contexts: &Contexts, method: &str, params: &'e str) -> Cow<'e, str> {
    let mut text = Cow::Borrowed(params);
    for (_, path) in EVENTS.iter().filter(|(name, _)| *name == method) {
        text = json::replace(text, path, |value| value_to_announced(contexts, value));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::contexts::JsWorld;

    fn one_pair() -> (Contexts, i64) {
        let mut contexts = Contexts::default();
        let announced = contexts.synthesize("F", JsWorld::Default, "").0.announced;
        contexts.on_created(
            r#"{"id":3,"uniqueId":"-1.2","name":"","auxData":{"isDefault":true,"frameId":"F"}}"#,
        );
        (contexts, announced)
    }

    #[test]
    fn changes_only_the_listed_places_of_parameters() {
        let (contexts, id) = one_pair();
        let params = |context| {
            format!(
                r#"{{"functionDeclaration":"executionContextId", "executionContextId" : {context},"arguments":[{{"value":{id}}}]}}"#
            )
        };
        assert_eq!(
            params_to_real(&contexts, "Runtime.callFunctionOn", &params(id)),
            params(3)
        );
        let unique = format!(r#"{{"uniqueContextId":"tabwire.{id}"}}"#);
        assert_eq!(
            params_to_real(&contexts, "Runtime.evaluate", &unique),
            r#"{"uniqueContextId":"-1.2"}"#
        );
    }

    #[test]
    fn translates_results_and_events_to_the_clients_ids() {
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
