//! The contexts of a frame that clients first knew as a placeholder: they keep the ids that clients
//! received then, as those of a page do. Other children have none here.

use std::borrow::Cow;

use super::Tab;
use crate::model::contexts::{Context, Created};
use crate::protocol::ids::ChildId;
use crate::protocol::json;
use crate::protocol::methods::event::Event;

impl Tab {
    /// Pairs and removes contexts of a child. Returns the event's parameters with the ids that
    /// clients know, and whether clients know already what it reports.
    pub fn note_child_context<'p>(
        &mut self,
        child_id: Option<&ChildId>,
        event: Event,
        params: Cow<'p, str>,
    ) -> (Cow<'p, str>, bool) {
        let child = child_id.and_then(|id| self.child_mut(id));
        let Some(contexts) = child.map(|child| child.contexts_mut()) else {
            return (params, false);
        };
        match event {
            Event::ContextCreated if contexts.has_synthetic() => {
                let description = json::field(&params, "context").unwrap_or_default();
                let is_paired = contexts.on_created(description) == Some(Created::Paired);
                let id = json::integer_field(description, "id");
                let paired = id.and_then(|id| contexts.by_real(id));
                match paired.filter(|_| is_paired).map(Context::created_params) {
                    Some(announced) => (announced.into(), true),
                    None => (params, false),
                }
            }
            Event::ContextDestroyed => {
                let id = json::integer_field(&params, "executionContextId");
                match id.and_then(|id| contexts.on_destroyed(id)) {
                    Some(context) => (context.destroyed_params().into(), false),
                    None => (params, false),
                }
            }
            Event::ContextsCleared => {
                contexts.clear();
                (params, false)
            }
            _ => (params, false),
        }
    }
}
