//! What Playwright sends to read a page's title: it creates its helper object in a world of its own
//! and calls a function through it. Both are recognized exactly, in the form that all versions from
//! 1.56 to 1.65 have.

use std::borrow::Cow;

use serde::Deserialize;

/// Calls a method of the helper with the other arguments.
const CALL_HELPER: &str = "(utilityScript, ...args) => utilityScript.evaluate(...args)";
const READ_TITLE: &str = "() => document.title";

/// Whether the parameters of a `Runtime.evaluate` only create the helper.
pub fn creates_helper(params: &str) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Params<'a> {
        #[serde(borrow)]
        expression: Cow<'a, str>,
        #[expect(dead_code, reason = "has to be there")]
        context_id: i64,
    }
    serde_json::from_str::<Params<'_>>(params)
        .is_ok_and(|params| is_helper_source(params.expression.trim()))
}

/// The code is a function that ends by creating the helper, and that is called at once.
fn is_helper_source(source: &str) -> bool {
    let body = source
        .strip_prefix("(() => {")
        .and_then(|rest| rest.strip_suffix("})();"))
        .map(str::trim);
    let last = body
        .filter(|body| body.starts_with("const module = {};"))
        .and_then(|body| body.rsplit_once('\n'));
    last.is_some_and(|(_, last)| {
        let arguments = last
            .trim()
            .strip_prefix("return new (module.exports.UtilityScript())(")
            .and_then(|rest| rest.strip_suffix(");"));
        arguments
            .is_some_and(|arguments| matches!(arguments, "globalThis, false" | "globalThis, true"))
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CallFunctionOn<'a> {
    #[serde(borrow)]
    function_declaration: Cow<'a, str>,
    #[serde(borrow)]
    object_id: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Vec<Argument<'a>>,
    return_by_value: bool,
    #[expect(dead_code, reason = "the title is no promise")]
    await_promise: Option<bool>,
    #[expect(dead_code, reason = "reading a title needs none")]
    user_gesture: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Argument<'a> {
    #[serde(borrow)]
    object_id: Option<Cow<'a, str>>,
    value: Option<serde_json::Value>,
}

/// The helper through which the parameters of a `Runtime.callFunctionOn` read the page's title, and
/// do nothing else.
pub fn reads_title(params: &str) -> Option<String> {
    let call = serde_json::from_str::<CallFunctionOn<'_>>(params).ok()?;
    let (helper, values) = call.arguments.split_first()?;
    let is_helper = helper.object_id.as_ref() == Some(&call.object_id) && helper.value.is_none();
    let reads = call.function_declaration == CALL_HELPER
        && call.return_by_value
        && is_helper
        && values.iter().all(|argument| argument.object_id.is_none())
        && are_of_title(values);
    reads.then(|| call.object_id.into_owned())
}

/// Is it a function, return by value, the function's source, and how many arguments it gets: one,
/// which is undefined. Some versions have an option of their own after the first two, also undefined.
fn are_of_title(arguments: &[Argument<'_>]) -> bool {
    let expected = [
        serde_json::json!(true),
        serde_json::json!(true),
        serde_json::json!(READ_TITLE),
        serde_json::json!(1),
        serde_json::json!({ "v": "undefined" }),
    ];
    let mut given: Vec<_> = arguments.iter().map(|argument| &argument.value).collect();
    if given.get(2) == Some(&&None) {
        given.remove(2);
    }
    given.iter().copied().flatten().eq(&expected) && given.len() == expected.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn source(body: &str, last: &str) -> String {
        format!("\n      (() => {{\n        {body}\n        {last}\n      }})();")
    }

    fn create(expression: &str) -> String {
        json!({ "expression": expression, "contextId": 5 }).to_string()
    }

    #[test]
    fn recognizes_the_helper_and_nothing_else() {
        let body = "\n        const module = {};\n        code();\n";
        let last = "return new (module.exports.UtilityScript())(globalThis, false);";
        let helper = source(body, last);
        assert!(creates_helper(&create(&helper)));
        for other in [
            source(
                body,
                "return new (module.exports.UtilityScript())(alert());",
            ),
            source(
                body,
                "new (module.exports.UtilityScript())(globalThis, false);",
            ),
            source("code();", last),
            format!("{helper} + 1"),
            "new UtilityScript()".to_owned(),
        ] {
            assert!(!creates_helper(&create(&other)), "{other}");
        }
        let by_value = json!({ "expression": helper, "contextId": 5, "returnByValue": true });
        assert!(!creates_helper(&by_value.to_string()));
    }

    fn call(values: &[Value]) -> Value {
        let mut arguments = vec![json!({ "objectId": "H" })];
        arguments.extend_from_slice(values);
        json!({
            "functionDeclaration": CALL_HELPER, "objectId": "H", "arguments": arguments,
            "returnByValue": true, "awaitPromise": true, "userGesture": true,
        })
    }

    fn title_values() -> Vec<Value> {
        let undefined = json!({ "v": "undefined" });
        let values = [
            json!(true),
            json!(true),
            READ_TITLE.into(),
            json!(1),
            undefined,
        ];
        values.map(|value| json!({ "value": value })).to_vec()
    }

    #[test]
    fn recognizes_a_title_in_the_form_of_every_version() {
        let mut values = title_values();
        assert_eq!(
            reads_title(&call(&values).to_string()).as_deref(),
            Some("H")
        );
        values.insert(2, json!({}));
        assert_eq!(
            reads_title(&call(&values).to_string()).as_deref(),
            Some("H")
        );
    }

    #[test]
    fn anything_else_is_not_a_title() {
        let with = |index: usize, value: Value| {
            let mut values = title_values();
            values[index] = json!({ "value": value });
            call(&values)
        };
        let mut others = vec![
            with(0, json!(false)),
            with(1, json!(false)),
            with(2, json!("() => document.title + 1")),
            with(3, json!(0)),
            with(4, json!({ "v": "null" })),
        ];
        let mut values = title_values();
        values.push(json!({ "objectId": "other" }));
        others.push(call(&values));
        for (key, value) in [
            ("functionDeclaration", json!("() => 1")),
            ("objectId", json!("other")),
            ("returnByValue", json!(false)),
            ("throwOnSideEffect", json!(true)),
        ] {
            let mut other = call(&title_values());
            other[key] = value;
            others.push(other);
        }
        for other in others {
            assert_eq!(reads_title(&other.to_string()), None, "{other}");
        }
    }
}
