//! Ids that differ between Chrome and clients: of the main frame, of execution contexts, and of
//! helper objects.

use std::borrow::Cow;

use super::Tab;
use crate::model::child::Child;
use crate::model::context_ids;
use crate::model::contexts::Contexts;
use crate::protocol::ids::{ChildId, TargetId};
use crate::protocol::json;

impl Tab {
    pub fn real_main_frame(&self) -> &TargetId {
        self.real_main_frame.as_ref().unwrap_or(&self.page_id)
    }

    /// Returns whether the main frame is another one than before.
    pub fn set_real_main_frame(&mut self, id: &str) -> bool {
        let before = self.real_main_frame.take();
        self.real_main_frame = (id != self.page_id.as_str()).then(|| TargetId::new(id));
        self.real_main_frame != before
    }

    /// A new document of the main frame names the frame. Otherwise it would stay unknown if the
    /// renderer has crashed before Chrome sent the frame tree.
    pub fn learn_main_frame(&mut self, navigated: &str) {
        let frame = json::field(navigated, "frame").unwrap_or_default();
        if json::field(frame, "parentId").is_none()
            && let Some(id) = json::string_field(frame, "id")
        {
            self.set_real_main_frame(&id);
        }
    }

    /// Replaces the main frame's id in a client's message by Chrome's.
    pub fn frame_to_real<'t>(&self, text: Cow<'t, str>) -> Cow<'t, str> {
        match &self.real_main_frame {
            Some(real) => json::replace_id(text, self.page_id.as_str(), real.as_str()),
            None => text,
        }
    }

    /// Replaces the main frame's id in Chrome's message by the one that clients know.
    pub fn frame_to_announced<'t>(&self, text: Cow<'t, str>) -> Cow<'t, str> {
        match &self.real_main_frame {
            Some(real) => json::replace_id(text, real.as_str(), self.page_id.as_str()),
            None => text,
        }
    }

    /// The contexts of the page or of a child.
    pub fn contexts_of(&self, child_id: Option<&ChildId>) -> Option<&Contexts> {
        match child_id {
            None => Some(&self.contexts),
            Some(id) => self.child(id).map(Child::contexts),
        }
    }

    pub fn contexts_of_mut(&mut self, child_id: Option<&ChildId>) -> Option<&mut Contexts> {
        match child_id {
            None => Some(&mut self.contexts),
            Some(id) => self.child_mut(id).map(Child::contexts_mut),
        }
    }

    /// A client's parameters for a child, with Chrome's ids of contexts.
    pub fn child_params_to_real<'p>(
        &self,
        child_id: &ChildId,
        method: &str,
        params: &'p str,
    ) -> Cow<'p, str> {
        match self.child(child_id).map(Child::contexts) {
            Some(contexts) if contexts.needs_translation() => {
                context_ids::params_to_real(contexts, method, params)
            }
            _ => Cow::Borrowed(params),
        }
    }

    /// A client's parameters with Chrome's ids of contexts, helpers and the main frame.
    pub fn params_to_real<'p>(&self, method: &str, params: &'p str) -> Cow<'p, str> {
        let params = if self.contexts.needs_translation() {
            context_ids::params_to_real(&self.contexts, method, params)
        } else {
            Cow::Borrowed(params)
        };
        self.frame_to_real(self.bootstraps.to_real(params))
    }
}
