//! The execution contexts of one tab's page, as its clients know them.
//!
//! 1. While the tab is dormant, contexts are synthetic: the default context of the main frame, and
//!    one for each isolated world that a client named. They have ids of the relay.
//! 2. When the tab wakes, Chrome reports the real contexts. A real context is paired with the
//!    synthetic one of the same frame and world: the client keeps the id it knows, and ids are
//!    translated both ways from then on.
//! 3. Contexts that appear later keep Chrome's ids, so a page that has navigated needs no
//!    translation.

use serde::Deserialize;

/// The relay's own ids start here. Chrome counts from 1 in each renderer.
const FIRST_OWN_ID: i64 = 1 << 30;

/// A JavaScript world of a frame.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum JsWorld {
    Default,
    /// An isolated world, by the name that the client gave it.
    Isolated(String),
}

#[derive(Debug, Clone)]
pub struct Context {
    /// The id that clients know.
    pub announced: i64,
    pub announced_unique: String,
    /// Chrome's id; `None` while the context is synthetic.
    real: Option<i64>,
    real_unique: String,
    pub frame: String,
    pub world: JsWorld,
    /// The `context` object of `Runtime.executionContextCreated`, as announced.
    pub description: String,
}

impl Context {
    fn is_of(&self, frame: &str, world: &JsWorld) -> bool {
        self.frame == frame && self.world == *world
    }

    fn is_synthetic(&self) -> bool {
        self.real.is_none()
    }

    /// The parameters of `Runtime.executionContextCreated`.
    pub fn created_params(&self) -> String {
        format!(r#"{{"context":{}}}"#, self.description)
    }

    /// The parameters of `Runtime.executionContextDestroyed`.
    pub fn destroyed_params(&self) -> String {
        serde_json::json!({
            "executionContextId": self.announced,
            "executionContextUniqueId": self.announced_unique,
        })
        .to_string()
    }
}

/// A context enters with `synthesize` or `on_created`. It leaves with `on_destroyed`,
/// `take_unpaired` or `clear`.
#[derive(Debug, Default)]
pub struct Contexts {
    list: Vec<Context>,
    own_ids_used: i64,
}

/// Whether clients have to be notified of a context.
#[derive(Debug, PartialEq, Eq)]
pub enum Created {
    /// Clients know it already.
    Paired,
    New,
}

#[derive(Deserialize)]
struct Description {
    id: i64,
    #[serde(default, rename = "uniqueId")]
    unique_id: String,
    #[serde(default)]
    name: String,
    #[serde(default, rename = "auxData")]
    aux: Aux,
}

#[derive(Deserialize, Default)]
struct Aux {
    #[serde(default, rename = "isDefault")]
    is_default: bool,
    #[serde(default, rename = "frameId")]
    frame: String,
}

impl Contexts {
    pub fn iter(&self) -> impl Iterator<Item = &Context> {
        self.list.iter()
    }

    pub fn by_announced(&self, id: i64) -> Option<&Context> {
        self.list.iter().find(|context| context.announced == id)
    }

    pub fn by_real(&self, id: i64) -> Option<&Context> {
        self.list.iter().find(|context| context.real == Some(id))
    }

    /// Adds a synthetic context, or finds the existing one of this frame and world.
    pub fn synthesize(&mut self, frame: &str, world: JsWorld, origin: &str) -> (Context, Created) {
        if let Some(context) = self.list.iter().find(|c| c.is_of(frame, &world)) {
            return (context.clone(), Created::Paired);
        }
        let announced = FIRST_OWN_ID + self.own_ids_used;
        self.own_ids_used += 1;
        let announced_unique = format!("tabwire.{announced}");
        let (name, kind) = match &world {
            JsWorld::Default => ("", "default"),
            JsWorld::Isolated(name) => (name.as_str(), "isolated"),
        };
        let description = serde_json::json!({
            "id": announced, "origin": origin, "name": name, "uniqueId": announced_unique,
            "auxData": { "isDefault": world == JsWorld::Default, "type": kind, "frameId": frame },
        })
        .to_string();
        let context = Context {
            announced,
            announced_unique,
            real: None,
            real_unique: String::new(),
            frame: frame.to_owned(),
            world,
            description,
        };
        self.list.push(context.clone());
        (context, Created::New)
    }

    /// Chrome created the world of a synthetic context. It reports the context itself later, or
    /// never if `Runtime` is disabled.
    pub fn on_world_created(&mut self, frame: &str, world: &JsWorld, real: i64) {
        let mut synthetic = self.list.iter_mut().filter(|c| c.is_synthetic());
        if let Some(context) = synthetic.find(|c| c.is_of(frame, world)) {
            context.real = Some(real);
        }
    }

    /// Chrome could not create the world of a synthetic context, which is removed.
    pub fn on_world_refused(&mut self, frame: &str, world: &JsWorld) -> Option<Context> {
        let is_refused = |c: &Context| c.is_synthetic() && c.is_of(frame, world);
        let index = self.list.iter().position(is_refused)?;
        Some(self.list.remove(index))
    }

    /// Chrome reported a context. `None` if its description cannot be parsed.
    pub fn on_created(&mut self, description: &str) -> Option<Created> {
        let parsed: Description = serde_json::from_str(description).ok()?;
        let world = if parsed.aux.is_default {
            JsWorld::Default
        } else {
            JsWorld::Isolated(parsed.name)
        };
        // A debugger that was detached a moment ago may have reported the same context.
        let is_same = |c: &Context| {
            c.is_of(&parsed.aux.frame, &world)
                && c.real == Some(parsed.id)
                && c.real_unique == parsed.unique_id
        };
        if self.list.iter().any(is_same) {
            return Some(Created::Paired);
        }
        let is_unpaired = |c: &&mut Context| {
            c.is_of(&parsed.aux.frame, &world)
                && (c.is_synthetic() || c.real == Some(parsed.id) && c.real_unique.is_empty())
        };
        if let Some(context) = self.list.iter_mut().find(is_unpaired) {
            context.real = Some(parsed.id);
            context.real_unique = parsed.unique_id;
            return Some(Created::Paired);
        }
        // Chrome reports a context again when Runtime is enabled again.
        self.list.retain(|c| c.real != Some(parsed.id));
        self.list.push(Context {
            announced: parsed.id,
            announced_unique: parsed.unique_id.clone(),
            real: Some(parsed.id),
            real_unique: parsed.unique_id,
            frame: parsed.aux.frame,
            world,
            description: description.to_owned(),
        });
        Some(Created::New)
    }

    /// Chrome destroyed a context. Returns it, because clients may know it by another id.
    pub fn on_destroyed(&mut self, real: i64) -> Option<Context> {
        let index = self.list.iter().position(|c| c.real == Some(real))?;
        Some(self.list.remove(index))
    }

    /// Removes the synthetic contexts that Chrome never reported.
    pub fn take_unpaired(&mut self) -> Vec<Context> {
        let (synthetic, real) = std::mem::take(&mut self.list)
            .into_iter()
            .partition(Context::is_synthetic);
        self.list = real;
        synthetic
    }

    /// Removes the isolated worlds that nobody wants any more.
    pub fn retain_worlds(&mut self, is_wanted: impl Fn(&str) -> bool) -> Vec<Context> {
        let is_unwanted = |c: &mut Context| match &c.world {
            JsWorld::Default => false,
            JsWorld::Isolated(name) => !is_wanted(name),
        };
        self.list.extract_if(.., is_unwanted).collect()
    }

    #[cfg(test)]
    pub fn has_worlds(&self) -> bool {
        self.list.iter().any(|c| c.world != JsWorld::Default)
    }

    /// The debugger was detached before clients received anything from it: all contexts are
    /// synthetic again.
    pub fn unpair_all(&mut self) {
        for context in &mut self.list {
            context.real = None;
            context.real_unique.clear();
        }
    }

    /// Returns whether there were any.
    pub fn clear(&mut self) -> bool {
        let had_any = !self.list.is_empty();
        self.list.clear();
        had_any
    }

    /// Whether any id differs between clients and Chrome. If not, messages pass through unread.
    pub fn needs_translation(&self) -> bool {
        self.list
            .iter()
            .any(|c| c.real.is_some_and(|real| real != c.announced))
    }

    pub fn has_synthetic(&self) -> bool {
        self.list.iter().any(Context::is_synthetic)
    }

    /// Whether an id, a number or a JSON string with a unique id, names a synthetic context.
    pub fn is_synthetic(&self, id: &str) -> bool {
        let is_named = |c: &Context| {
            id.parse() == Ok(c.announced) || id.trim_matches('"') == c.announced_unique
        };
        self.list.iter().any(|c| c.is_synthetic() && is_named(c))
    }

    pub fn to_real(&self, announced: i64) -> Option<i64> {
        self.by_announced(announced).and_then(|c| c.real)
    }

    pub fn to_announced(&self, real: i64) -> Option<i64> {
        self.list
            .iter()
            .find(|c| c.real == Some(real))
            .map(|c| c.announced)
    }

    pub fn unique_to_real(&self, announced: &str) -> Option<&str> {
        self.list
            .iter()
            .find(|c| c.announced_unique == announced && !c.is_synthetic())
            .map(|c| c.real_unique.as_str())
    }

    pub fn unique_to_announced(&self, real: &str) -> Option<&str> {
        self.list
            .iter()
            .find(|c| c.real_unique == real)
            .map(|c| c.announced_unique.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn real(id: i64, frame: &str, name: &str) -> String {
        let aux = serde_json::json!({ "isDefault": name.is_empty(), "frameId": frame });
        serde_json::json!({ "id": id, "uniqueId": format!("u{id}"), "name": name, "auxData": aux })
            .to_string()
    }

    #[test]
    fn pairs_real_contexts_by_frame_and_world() {
        let mut contexts = Contexts::default();
        let main = contexts.synthesize("F", JsWorld::Default, "").0.announced;
        let utility = JsWorld::Isolated("utility".into());
        let utility = contexts.synthesize("F", utility, "").0.announced;
        let paired = Some(Created::Paired);
        assert_eq!(contexts.on_created(&real(4, "F", "utility")), paired);
        assert_eq!(contexts.on_created(&real(3, "F", "")), paired);
        assert_eq!(
            contexts.on_created(&real(5, "child", "")),
            Some(Created::New)
        );
        assert_eq!(contexts.to_real(main), Some(3));
        assert_eq!(contexts.to_real(utility), Some(4));
        assert_eq!(contexts.to_real(5), Some(5));
        assert_eq!(contexts.to_announced(4), Some(utility));
        let unique = format!("tabwire.{main}");
        assert_eq!(contexts.unique_to_real(&unique), Some("u3"));
        assert!(contexts.needs_translation());
    }

    #[test]
    fn recognizes_a_context_that_is_reported_twice() {
        let mut contexts = Contexts::default();
        let main = contexts.synthesize("F", JsWorld::Default, "").0.announced;
        for _ in 0..2 {
            assert_eq!(
                contexts.on_created(&real(3, "F", "")),
                Some(Created::Paired)
            );
        }
        assert_eq!(contexts.to_real(main), Some(3));
    }

    #[test]
    fn translation_ends_with_the_last_synthetic_id() {
        let mut contexts = Contexts::default();
        contexts.synthesize("F", JsWorld::Default, "");
        contexts.on_created(&real(3, "F", ""));
        assert!(contexts.on_destroyed(3).is_some());
        contexts.on_created(&real(4, "F", ""));
        assert!(!contexts.needs_translation());
    }
}
