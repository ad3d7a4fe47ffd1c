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
//! objects, and has no result. It does the same in frames, and so does Stagehand.

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
    /// The same for sessions on cross-process frames.
    frame_scripts: Vec<(SessionId, Arc<str>)>,
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

    /// Keeps chromedriver's script, which its client considers done. Returns whether there is room.
    pub fn add_keeper(&mut self, session_id: SessionId, params: Arc<str>) -> bool {
        keep_once(&mut self.keepers, session_id, params)
    }

    /// The parameters of chromedriver's scripts. Several sessions need the same one only once.
    pub fn take_keepers(&mut self) -> Vec<Arc<str>> {
        let mut keepers = Vec::new();
        for (_, params) in self.keepers.drain(..) {
            if !keepers.contains(&params) {
                keepers.push(params);
            }
        }
        keepers
    }

    /// Keeps a script that a session on a frame considers done. Returns whether there is room.
    pub fn add_frame_script(&mut self, session_id: SessionId, params: Arc<str>) -> bool {
        keep_once(&mut self.frame_scripts, session_id, params)
    }

    pub fn take_frame_scripts(&mut self, session_id: SessionId) -> Vec<Arc<str>> {
        let of_session = |kept: &mut (SessionId, Arc<str>)| kept.0 == session_id;
        let taken = self.frame_scripts.extract_if(.., of_session);
        taken.map(|(_, params)| params).collect()
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
        self.frame_scripts
            .retain(|(session_id, _)| exists(*session_id));
    }

    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty() && self.keepers.is_empty() && self.frame_scripts.is_empty()
    }

    pub fn clear(&mut self) {
        self.list.clear();
        self.keepers.clear();
        self.frame_scripts.clear();
    }
}

/// How many different scripts a session can consider done. Known clients need two.
const MAX_SCRIPTS: usize = 20;

/// Adds a script unless the session has it already. Returns whether it has it now.
fn keep_once(
    list: &mut Vec<(SessionId, Arc<str>)>,
    session_id: SessionId,
    params: Arc<str>,
) -> bool {
    let mut own = list.iter().filter(|(id, _)| *id == session_id);
    let count = own.clone().count();
    if own.any(|(_, kept)| *kept == params) {
        return true;
    }
    let has_room = count < MAX_SCRIPTS;
    if has_room {
        list.push((session_id, params));
    }
    has_room
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ids::IdSource;

    #[test]
    fn repeated_scripts_are_kept_once() {
        let mut bootstraps = Bootstraps::default();
        let mut ids = IdSource::new(1);
        let (first, second) = (ids.session(), ids.session());
        for _ in 0..100 {
            for session_id in [first, second] {
                for script in ["a", "b"] {
                    assert!(bootstraps.add_keeper(session_id, script.into()));
                }
            }
        }
        assert_eq!(bootstraps.keepers.len(), 4);
        let taken = bootstraps.take_keepers();
        assert_eq!(taken, ["a".into(), "b".into()]);
    }

    #[test]
    fn number_of_scripts_is_limited() {
        let mut bootstraps = Bootstraps::default();
        let session_id = IdSource::new(1).session();
        for number in 0..MAX_SCRIPTS {
            assert!(bootstraps.add_frame_script(session_id, number.to_string().into()));
        }
        assert!(!bootstraps.add_frame_script(session_id, "more".into()));
        let taken = bootstraps.take_frame_scripts(session_id);
        assert_eq!(taken.len(), MAX_SCRIPTS);
    }
}
