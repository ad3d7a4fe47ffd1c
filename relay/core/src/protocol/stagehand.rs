//! The scripts with which Stagehand prepares every cross-process frame that it finds, without a
//! result: one records shadow roots, one renders elements again whose shadow roots were missed.

use serde::Deserialize;

/// Both use this object.
const MARK: &str = "window.__stagehandV3__";

/// Both consist of one function and a call of it as a statement.
const START: &str = "(()=>{function ";
const END: &str = ");})();";

/// Whether a `Runtime.evaluate` runs one of these scripts in the main world.
pub fn prepares_frame(params: &str) -> bool {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    struct Params {
        expression: String,
        #[serde(rename = "returnByValue")]
        _returns_value: Option<bool>,
        #[serde(rename = "awaitPromise")]
        _awaits: Option<bool>,
    }
    // Parsing every long expression would cost more than looking for the name.
    if !params.contains(MARK) {
        return false;
    }
    let params = serde_json::from_str::<Params>(params);
    params.is_ok_and(|params| calls_its_function(&params.expression))
}

/// Without `return`, the call has no result.
fn calls_its_function(expression: &str) -> bool {
    let inner = expression.strip_prefix(START);
    let Some(inner) = inner.and_then(|inner| inner.strip_suffix(END)) else {
        return false;
    };
    let Some((name, _)) = inner.split_once('(') else {
        return false;
    };
    let call = inner.rsplit_once(&format!("}}{name}("));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "{}:,!".contains(c);
    call.is_some_and(|(_, arguments)| arguments.chars().all(is_plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepares(expression: &str) -> bool {
        let params = serde_json::json!({
            "expression": expression, "returnByValue": true, "awaitPromise": true,
        });
        prepares_frame(&params.to_string())
    }

    #[test]
    fn finds_scripts_without_a_result() {
        for script in [
            "(()=>{function s(c={}){window.__stagehandV3__={}}s({debug:!0,tagExisting:!1});})();",
            "(()=>{function run(){let o=window.__stagehandV3__;if(!o)return;}run();})();",
        ] {
            assert!(prepares(script), "{script}");
        }
    }

    #[test]
    fn anything_else_may_have_a_result() {
        for script in [
            "(()=>{function s(){window.__stagehandV3__}return s();})();",
            "(()=>{function s(){window.__stagehandV3__}s();return (1);})();",
            "(()=>{function s(){window.__stagehandV3__}t();})();",
            "(()=>{function s(){window.other}s();})();",
            "window.__stagehandV3__",
        ] {
            assert!(!prepares(script), "{script}");
        }
        let other =
            r#"{"expression":"(()=>{function s(){window.__stagehandV3__}s();})();","contextId":3}"#;
        assert!(!prepares_frame(other));
    }
}
