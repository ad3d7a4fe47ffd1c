//! The document of a tab's page: contexts, frames, lifecycle, and what is kept for sessions that
//! join later.

use super::{PageKind, Tab};
use crate::model::bootstraps::Bootstraps;
use crate::model::child::Child;
use crate::model::contexts::{Contexts, JsWorld};
use crate::model::frames::{self, Frames};
use crate::model::mirror::Mirror;
use crate::model::paused::PausedRequests;
use crate::protocol::ids::{ChildId, TargetId};
use crate::protocol::methods::domains::LOADED;
use crate::protocol::title;
use crate::protocol::wire::LoadStatus;

impl Tab {
    pub fn contexts(&self) -> &Contexts {
        &self.contexts
    }

    pub fn contexts_mut(&mut self) -> &mut Contexts {
        &mut self.contexts
    }

    pub fn bootstraps(&self) -> &Bootstraps {
        &self.bootstraps
    }

    pub fn bootstraps_mut(&mut self) -> &mut Bootstraps {
        &mut self.bootstraps
    }

    /// The mirror of the page or of a child.
    pub fn mirror_mut(&mut self, child_id: Option<&ChildId>) -> Option<&mut Mirror> {
        match child_id {
            None => Some(&mut self.mirror),
            Some(id) => self.children.get_mut(id).map(Child::mirror_mut),
        }
    }

    pub fn frames(&self) -> &Frames {
        &self.frames
    }

    pub fn frames_mut(&mut self) -> &mut Frames {
        &mut self.frames
    }

    /// Chrome has not sent `Page` events, so what is known of the frames is stale.
    pub fn forget_frames(&mut self) {
        self.frames = Frames::default();
    }

    pub fn paused(&self) -> &PausedRequests {
        &self.paused
    }

    pub fn paused_mut(&mut self) -> &mut PausedRequests {
        &mut self.paused
    }

    /// Chrome's contexts are gone with their document.
    pub fn clear_contexts(&mut self) {
        self.contexts.clear();
        self.bootstraps.clear();
    }

    /// The person navigated this dormant tab to a new document. Returns whether clients knew
    /// contexts of the old one.
    pub fn start_document(&mut self, loader: TargetId) -> bool {
        self.loader = loader;
        self.status = LoadStatus::Loading;
        self.lifecycle.clear();
        self.bootstraps.clear();
        self.remote_frames.clear();
        self.contexts.clear()
    }

    pub fn loader(&self) -> &TargetId {
        &self.loader
    }

    /// Whether Chrome has discarded the tab. It is loaded when somebody uses it.
    pub fn is_unloaded(&self) -> bool {
        self.status == LoadStatus::Unloaded
    }

    /// The lifecycle events that match the load status, and whether clients have yet to receive
    /// each.
    pub fn advance_lifecycle(&mut self) -> Vec<(&'static str, bool)> {
        let names: &[&str] = match self.status {
            LoadStatus::Complete => &LOADED,
            LoadStatus::Interactive => &["DOMContentLoaded"],
            LoadStatus::Loading | LoadStatus::Unloaded => &[],
        };
        let names = ["init", "commit"].iter().chain(names);
        names
            .map(|name| (*name, self.lifecycle.insert(name)))
            .collect()
    }

    pub fn is_loading(&self) -> bool {
        matches!(self.status, LoadStatus::Loading | LoadStatus::Interactive)
    }

    pub fn has_sent_lifecycle(&self, name: &str) -> bool {
        self.lifecycle.contains(name)
    }

    pub fn reset_lifecycle(&mut self) {
        self.lifecycle.clear();
    }

    /// The `document.title` of a page that is dormant, if it is certain. A discarded page counts as
    /// loaded: it must not be loaded again only to read its title.
    pub fn document_title(&self) -> Option<&str> {
        let is_loaded = matches!(self.status, LoadStatus::Complete | LoadStatus::Unloaded);
        (is_loaded && self.kind != PageKind::Pdf)
            .then(|| title::known(self.url(), self.title()))
            .flatten()
    }

    /// The security origin of the document.
    pub fn origin(&self) -> String {
        frames::origin(&self.url)
    }

    /// The main frame as a CDP `Frame`, as far as it is known without the debugger.
    pub fn describe_main_frame(&self) -> serde_json::Value {
        frames::describe(self.page_id.as_str(), None, self.loader.as_str(), &self.url)
    }

    /// The CDP `Frame` of the main frame.
    pub fn main_frame(&self) -> String {
        self.frames.main(&self.describe_main_frame())
    }

    /// The result of `Page.getFrameTree`.
    pub fn frame_tree(&self) -> String {
        self.frames.tree(&self.describe_main_frame())
    }

    /// Whether clients know a frame of the page by this id.
    pub fn has_frame(&self, id: &str) -> bool {
        id == self.page_id.as_str() || self.frames.contains_child(id)
    }

    /// The isolated worlds that clients know in the main frame.
    pub fn main_frame_worlds(&self) -> Vec<String> {
        let in_main_frame = self
            .contexts
            .iter()
            .filter(|context| context.frame == self.page_id.as_str());
        in_main_frame
            .filter_map(|context| match &context.world {
                JsWorld::Isolated(name) => Some(name.clone()),
                JsWorld::Default => None,
            })
            .collect()
    }
}
