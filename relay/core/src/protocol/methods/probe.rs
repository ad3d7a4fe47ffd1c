//! Probes: evaluations of a constant, by which a client finds out whether a page responds. Their
//! result needs no page.

use serde::Deserialize;

/// What agent-browser evaluates in the tab that it connects to or goes on in, before anything else.
const EXPRESSION: &str = "1";
const RESULT: &str = r#"{"result":{"type":"number","value":1,"description":"1"}}"#;

/// Anything else in the parameters asks for more than the constant.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Params {
    expression: String,
    return_by_value: bool,
}

/// The result of a command that is a probe.
pub fn result_of(method: &str, params: &str) -> Option<&'static str> {
    if method != "Runtime.evaluate" {
        return None;
    }
    let params: Params = serde_json::from_str(params).ok()?;
    (params.expression == EXPRESSION && params.return_by_value).then_some(RESULT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_probe_is_one() {
        let is_probe = |method, params| result_of(method, params).is_some();
        let probe = r#"{"expression":"1","returnByValue":true}"#;
        assert!(is_probe("Runtime.evaluate", probe));
        assert!(!is_probe("Runtime.compileScript", probe));
        for params in [
            r#"{"expression":"1"}"#,
            r#"{"expression":"1","returnByValue":false}"#,
            r#"{"expression":"1+1","returnByValue":true}"#,
            r#"{"expression":"1","returnByValue":true,"contextId":3}"#,
            r#"{"expression":1,"returnByValue":true}"#,
            "[]",
            "",
        ] {
            assert!(!is_probe("Runtime.evaluate", params), "{params}");
        }
    }
}
