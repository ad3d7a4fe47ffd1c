//! The execution contexts of one tab's page, as its clients know them.
//!
//! 1. While the tab is dormant the relay imagines them: the default context of the main frame and one for each isolated
//!    world a client named. They carry ids of the relay's own.
//! 2. When the tab wakes, Chrome reports the real ones. A real context of the same frame and world as an imagined one is
//!    paired with it: the client keeps the id it was told, and ids are translated both ways from then on.
//! 3. Contexts that appear later keep Chrome's own ids, so a page that has navigated needs no translation any more.
//!
//! Clients are told nothing here; this is the book, the callers speak.

use serde::Deserialize;

/// Own ids start here; Chrome counts up from 1 in each renderer.
const FIRST_OWN_ID: i64 = 1 << 30;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum World {
    Default,
    /// An isolated world, by the name the client gave it.
    Isolated(String),
}

#[derive(Debug, Clone)]
pub struct Context {
    /// The id that clients know.
    pub announced: i64,
    pub announced_unique: String,
    /// Chrome's id; `None` while the context is only imagined.
    pub real: Option<i64>,
    pub real_unique: String,
    pub frame: String,
    pub world: World,
    /// The `context` object of `Runtime.executionContextCreated`, as announced.
    pub description: String,
}

/// The book of contexts. An entry enters with `imagine` or `created`, and leaves with `destroyed` or `clear`.
#[derive(Debug, Default)]
pub struct Contexts {
    list: Vec<Context>,
    own_ids_given: i64,
}

/// What a real context turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub enum Created {
    /// Clients know it already, as an imagined one.
    Paired,
    /// Clients have to be told of it.
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

    fn find(&self, frame: &str, world: &World) -> Option<&Context> {
        self.list
            .iter()
            .find(|context| context.frame == frame && context.world == *world)
    }

    /// Enters an imagined context of a dormant tab, or finds the one that is there already.
    pub fn imagine(&mut self, frame: &str, world: World, origin: &str) -> (Context, Created) {
        if let Some(known) = self.find(frame, &world) {
            return (known.clone(), Created::Paired);
        }
        let announced = FIRST_OWN_ID + self.own_ids_given;
        self.own_ids_given += 1;
        let announced_unique = format!("tabwire.{announced}");
        let (name, kind) = match &world {
            World::Default => ("", "default"),
            World::Isolated(name) => (name.as_str(), "isolated"),
        };
        let description = serde_json::json!({
            "id": announced, "origin": origin, "name": name, "uniqueId": announced_unique,
            "auxData": { "isDefault": world == World::Default, "type": kind, "frameId": frame },
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

    /// Chrome made the world that was imagined; it may report the context only later, or never when `Runtime` is off.
    pub fn made(&mut self, frame: &str, world: &World, real: i64) {
        if let Some(context) = self
            .list
            .iter_mut()
            .find(|c| c.real.is_none() && c.frame == frame && c.world == *world)
        {
            context.real = Some(real);
        }
    }

    /// Takes out a world that was imagined and could not be made.
    pub fn refused(&mut self, frame: &str, world: &World) -> Option<Context> {
        let index = self
            .list
            .iter()
            .position(|c| c.real.is_none() && c.frame == frame && c.world == *world)?;
        Some(self.list.remove(index))
    }

    /// Enters a context that Chrome reported. `None` when the description cannot be read.
    pub fn created(&mut self, description: &str) -> Option<Created> {
        let read: Description = serde_json::from_str(description).ok()?;
        let world = if read.aux.is_default {
            World::Default
        } else {
            World::Isolated(read.name)
        };
        // A debugger that was given up may have told of it just before.
        let is_known = |c: &Context| {
            c.real == Some(read.id)
                && c.real_unique == read.unique_id
                && c.frame == read.aux.frame
                && c.world == world
        };
        if self.list.iter().any(is_known) {
            return Some(Created::Paired);
        }
        let is_imagined = |c: &&mut Context| {
            c.frame == read.aux.frame
                && c.world == world
                && (c.real.is_none() || c.real == Some(read.id) && c.real_unique.is_empty())
        };
        if let Some(context) = self.list.iter_mut().find(is_imagined) {
            context.real = Some(read.id);
            context.real_unique = read.unique_id;
            return Some(Created::Paired);
        }
        // Chrome reports a context anew when Runtime is enabled anew.
        self.list.retain(|c| c.real != Some(read.id));
        self.list.push(Context {
            announced: read.id,
            announced_unique: read.unique_id.clone(),
            real: Some(read.id),
            real_unique: read.unique_id,
            frame: read.aux.frame,
            world,
            description: description.to_owned(),
        });
        Some(Created::New)
    }

    /// Takes a real context out; its entry tells what clients called it.
    pub fn destroyed(&mut self, real: i64) -> Option<Context> {
        let index = self.list.iter().position(|c| c.real == Some(real))?;
        Some(self.list.remove(index))
    }

    /// Takes out what was imagined and never turned up.
    pub fn drop_imagined(&mut self) -> Vec<Context> {
        let (imagined, real) = std::mem::take(&mut self.list)
            .into_iter()
            .partition(|c| c.real.is_none());
        self.list = real;
        imagined
    }

    /// The debugger that made them has gone before clients were told anything of it.
    pub fn unmake(&mut self) {
        for context in &mut self.list {
            context.real = None;
            context.real_unique.clear();
        }
    }

    pub fn clear(&mut self) {
        self.list.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether any id differs between clients and Chrome. When not, messages pass unread.
    pub fn translates(&self) -> bool {
        self.list
            .iter()
            .any(|c| c.real.is_some_and(|real| real != c.announced))
    }

    pub fn has_imagined(&self) -> bool {
        self.list.iter().any(|c| c.real.is_none())
    }

    /// Whether this is an id of a context that Chrome has not made yet: its number, or its unique id as text.
    pub fn is_imagined(&self, id: &str) -> bool {
        let is_same = |c: &Context| {
            id.parse() == Ok(c.announced) || id.trim_matches('"') == c.announced_unique
        };
        self.list.iter().any(|c| c.real.is_none() && is_same(c))
    }

    pub fn to_real(&self, announced: i64) -> Option<i64> {
        self.list
            .iter()
            .find(|c| c.announced == announced)
            .and_then(|c| c.real)
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
            .find(|c| c.announced_unique == announced && c.real.is_some())
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
        serde_json::json!({"id": id, "uniqueId": format!("u{id}"), "name": name, "auxData": {"isDefault": name.is_empty(), "frameId": frame}}).to_string()
    }

    #[test]
    fn a_real_context_is_paired_with_the_imagined_one_of_its_frame_and_world() {
        let mut contexts = Contexts::default();
        let main = contexts.imagine("F", World::Default, "").0.announced;
        let utility = contexts
            .imagine("F", World::Isolated("utility".into()), "")
            .0
            .announced;
        assert_eq!(
            contexts.created(&real(4, "F", "utility")),
            Some(Created::Paired)
        );
        assert_eq!(contexts.created(&real(3, "F", "")), Some(Created::Paired));
        assert_eq!(contexts.created(&real(5, "child", "")), Some(Created::New));
        assert_eq!(
            (
                contexts.to_real(main),
                contexts.to_real(utility),
                contexts.to_real(5)
            ),
            (Some(3), Some(4), Some(5))
        );
        assert_eq!(contexts.to_announced(4), Some(utility));
        assert_eq!(
            contexts.unique_to_real(&format!("tabwire.{main}")),
            Some("u3")
        );
        assert!(contexts.translates());
    }

    #[test]
    fn a_context_that_is_told_twice_is_the_same() {
        let mut contexts = Contexts::default();
        let main = contexts.imagine("F", World::Default, "").0.announced;
        assert_eq!(contexts.created(&real(3, "F", "")), Some(Created::Paired));
        assert_eq!(contexts.created(&real(3, "F", "")), Some(Created::Paired));
        assert_eq!(contexts.to_real(main), Some(3));
    }

    #[test]
    fn translation_ends_when_the_imagined_contexts_are_gone() {
        let mut contexts = Contexts::default();
        contexts.imagine("F", World::Default, "");
        contexts.created(&real(3, "F", ""));
        assert!(contexts.destroyed(3).is_some());
        contexts.created(&real(4, "F", ""));
        assert!(!contexts.translates());
    }
}
