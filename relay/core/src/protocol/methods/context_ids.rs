//! Where commands, results and events carry execution context ids. Checked against the published
//! protocol (`fixtures/context_ids.json`).

/// A method, and the path of a context id in its message.
pub type Place = (&'static str, &'static [&'static str]);

/// Commands whose parameters name a context, by number or by unique id.
pub const PARAMS: &[Place] = &[
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

/// Commands whose result can name a context.
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

pub const EXCEPTION: &[&str] = &["exceptionDetails", "executionContextId"];

/// Events that name a context, except those that create and destroy contexts, which `contexts`
/// handles.
pub const EVENTS: &[Place] = &[
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covers_every_place_of_the_published_protocol() {
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
}
