//! What clients prepare in every page: they add a script for new documents and run the same script in
//! the current one. A dormant tab accepts both commands and carries them out on waking.
//!
//! Playwright does so when a function is exposed in one page, and uses the same helper to read the
//! title:
//!
//! 1. `Runtime.evaluate` creates Playwright's helper object: answered with a handle of the relay.
//! 2. `Runtime.callFunctionOn` runs the script through the helper: answered as done. If it reads the
//!    title, it is answered too. Any other use of the helper, including the exposed function itself,
//!    wakes the tab.
//! 3. When the tab wakes, the helper is created and the script runs before anything else. The
//!    handle is translated from then on.
//!
//! Chromedriver does so when it connects, with `Runtime.evaluate`. Its script keeps copies of built-in
//! objects, and has no result.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;

use crate::protocol::cdp::Request;
use crate::protocol::ids::SessionId;
use crate::protocol::json;

/// In every version of Playwright, the helper's code ends by creating one of these.
pub const HELPER_CLASS: &str = "UtilityScript";

/// How chromedriver's script begins and ends. It consists of assignments to properties of `window`.
const KEEPER_START: &str = "(function () {window.cdc_";
const KEEPER_END: &str = ";}) ();";

/// The script that a command runs, if it is chromedriver's and runs in the main world.
pub fn keeper_script(params: &str) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Params {
        expression: String,
    }
    // Parsing every long expression would cost more than looking for the name.
    if !params.contains("window.cdc_") {
        return None;
    }
    let Params { expression } = serde_json::from_str(params).ok()?;
    let assignments = expression
        .strip_prefix(KEEPER_START)?
        .strip_suffix(KEEPER_END)?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " ._=;".contains(c);
    let has_result = assignments.contains("return");
    (assignments.chars().all(is_plain) && !has_result).then_some(expression)
}

/// The context in which a command creates the helper.
pub fn helper_context(request: &Request<'_>) -> Option<i64> {
    let creates = request.method == "Runtime.evaluate" && request.params.contains(HELPER_CLASS);
    if creates {
        json::integer_field(&request.params, "contextId")
    } else {
        None
    }
}

#[derive(Debug)]
struct Bootstrap {
    session_id: SessionId,
    /// The helper's object id as the client knows it, and Chrome's.
    handle: String,
    real: Option<String>,
    /// The parameters of the two commands.
    create: Arc<str>,
    run: Option<Arc<str>>,
}

/// The bootstraps of one document. One enters with the helper's creation, and leaves with its
/// document or its session.
#[derive(Debug, Default)]
pub struct Bootstraps {
    list: Vec<Bootstrap>,
    /// The parameters of chromedriver's `Runtime.evaluate`.
    keepers: Vec<(SessionId, Arc<str>)>,
    /// Handles are unique only within a tab, so that the texts of all tabs are equal and can be
    /// interned.
    handles_used: usize,
}

impl Bootstraps {
    /// Keeps the creation of a helper. Returns its handle.
    pub fn add(&mut self, session_id: SessionId, create: Arc<str>) -> String {
        self.handles_used += 1;
        let handle = format!("tabwire.helper.{}", self.handles_used);
        self.list.push(Bootstrap {
            session_id,
            handle: handle.clone(),
            real: None,
            create,
            run: None,
        });
        handle
    }

    /// Keeps chromedriver's script, which its client considers done.
    pub fn add_keeper(&mut self, session_id: SessionId, params: Arc<str>) {
        self.keepers.push((session_id, params));
    }

    /// The parameters of chromedriver's scripts. Several sessions need the same one only once.
    pub fn take_keepers(&mut self) -> Vec<Arc<str>> {
        let mut keepers: Vec<_> = self.keepers.drain(..).map(|(_, params)| params).collect();
        keepers.dedup();
        keepers
    }

    /// Whether a call runs one of the session's scripts through a helper that has not run anything
    /// yet.
    pub fn can_run(&self, session_id: SessionId, params: &str, sources: &[String]) -> bool {
        let Some(object) = json::string_field(params, "objectId") else {
            return false;
        };
        let bootstrap = self.list.iter().find(|kept| kept.handle == object);
        bootstrap.is_some_and(|kept| kept.session_id == session_id && kept.run.is_none())
            && has_argument(params, sources)
    }

    pub fn set_run(&mut self, params: Arc<str>) {
        let Some(object) = json::string_field(&params, "objectId") else {
            return;
        };
        if let Some(kept) = self.list.iter_mut().find(|kept| kept.handle == object) {
            kept.run = Some(params);
        }
    }

    /// Whether a session has created the helper with this handle.
    pub fn contains(&self, session_id: SessionId, handle: &str) -> bool {
        self.list
            .iter()
            .any(|kept| kept.session_id == session_id && kept.handle == handle)
    }

    /// The helpers to create when the tab wakes: handle and parameters.
    pub fn to_create(&self) -> impl Iterator<Item = (&str, &str)> {
        self.list.iter().map(|kept| (&*kept.handle, &*kept.create))
    }

    /// Chrome has created a helper.
    pub fn on_created(&mut self, handle: &str, result: &str) {
        let object = json::field(result, "result");
        let real = object.and_then(|object| json::string_field(object, "objectId"));
        if let Some(kept) = self.list.iter_mut().find(|kept| kept.handle == handle) {
            kept.real = real;
        }
    }

    /// The parameters of the calls that clients consider done.
    pub fn take_runs(&mut self) -> Vec<Arc<str>> {
        let runs = self.list.iter_mut();
        runs.filter_map(|kept| kept.run.take()).collect()
    }

    /// A client's parameters, with Chrome's ids of the helpers.
    pub fn to_real<'p>(&self, params: Cow<'p, str>) -> Cow<'p, str> {
        self.list
            .iter()
            .fold(params, |text, kept| match &kept.real {
                Some(real) => json::replace_id(text, &kept.handle, real),
                None => text,
            })
    }

    pub fn retain_sessions(&mut self, exists: impl Fn(SessionId) -> bool) {
        self.list.retain(|kept| exists(kept.session_id));
        self.keepers.retain(|(session_id, _)| exists(*session_id));
    }

    pub fn clear(&mut self) {
        self.list.clear();
        self.keepers.clear();
    }
}

/// Whether an argument of a `Runtime.callFunctionOn` is one of these strings.
fn has_argument(params: &str, strings: &[String]) -> bool {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow)]
        arguments: Vec<Argument<'a>>,
    }
    #[derive(Deserialize)]
    struct Argument<'a> {
        #[serde(borrow)]
        value: Option<Value<'a>>,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Value<'a> {
        Text(#[serde(borrow)] Cow<'a, str>),
        Other(serde::de::IgnoredAny),
    }
    let Ok(params) = serde_json::from_str::<Params<'_>>(params) else {
        return false;
    };
    params.arguments.iter().any(|argument| {
        matches!(&argument.value, Some(Value::Text(text)) if strings.iter().any(|s| s == text))
    })
}
