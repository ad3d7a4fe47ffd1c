//! A child target of a tab's page: an out-of-process iframe or a worker, with its own debugger
//! session.

use super::contexts::Contexts;
use super::mirror::Mirror;
use crate::protocol::ids::{ChildId, TargetId};
use crate::protocol::json;

#[derive(Debug)]
pub struct Child {
    /// Chrome's `targetInfo`, unparsed.
    target_info: String,
    target_id: TargetId,
    kind: String,
    /// The child session that it was attached to; `None` for a direct child of the page.
    parent: Option<ChildId>,
    is_paused: bool,
    /// `Target.setAutoAttach` as last sent to this target; see `Tab::request_auto_attach`.
    auto_attach: Option<bool>,
    /// The pending request for its next document, as for a page.
    awaited_document: Option<String>,
    mirror: Mirror,
    /// The contexts that clients received from its placeholder. Empty for any other child, whose
    /// contexts have Chrome's ids.
    contexts: Contexts,
    /// It stands for a frame of a dormant tab, and Chrome has not attached it yet.
    is_placeholder: bool,
    /// While it is a placeholder: the synthetic loader id of the document that it has navigated to.
    loader: Option<TargetId>,
    /// Frame and loader of the last navigation that started in it.
    navigation: Option<(String, String)>,
}

impl Child {
    pub fn new(
        target_info: String,
        target_id: TargetId,
        kind: String,
        parent: Option<ChildId>,
        is_paused: bool,
    ) -> Self {
        Self {
            target_info,
            target_id,
            kind,
            parent,
            is_paused,
            auto_attach: None,
            awaited_document: None,
            mirror: Mirror::default(),
            contexts: Contexts::default(),
            is_placeholder: false,
            loader: None,
            navigation: None,
        }
    }

    /// The placeholder for a frame of a dormant page.
    pub fn placeholder(target_info: String, target_id: TargetId) -> Self {
        Self {
            is_placeholder: true,
            ..Self::new(target_info, target_id, "iframe".to_owned(), None, false)
        }
    }

    pub fn is_placeholder(&self) -> bool {
        self.is_placeholder
    }

    /// Takes over what clients received from a placeholder.
    pub fn replace(&mut self, placeholder: Self) {
        self.contexts = placeholder.contexts;
    }

    pub fn contexts(&self) -> &Contexts {
        &self.contexts
    }

    pub fn contexts_mut(&mut self) -> &mut Contexts {
        &mut self.contexts
    }

    pub fn target_info(&self) -> &str {
        &self.target_info
    }

    pub fn set_target_info(&mut self, target_info: String) {
        self.target_info = target_info;
    }

    pub fn url(&self) -> String {
        json::string_field(&self.target_info, "url").unwrap_or_default()
    }

    pub fn loader(&self) -> Option<&TargetId> {
        self.loader.as_ref()
    }

    pub fn set_loader(&mut self, loader: TargetId) {
        self.loader = Some(loader);
    }

    pub fn target_id(&self) -> &TargetId {
        &self.target_id
    }

    pub fn kind(&self) -> &str {
        &self.kind
    }

    pub fn parent(&self) -> Option<&ChildId> {
        self.parent.as_ref()
    }

    /// Whether Chrome paused it at its start and nobody has resumed it yet.
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    pub fn on_resumed(&mut self) {
        self.is_paused = false;
    }

    /// Returns whether this changes what was sent before.
    pub fn request_auto_attach(&mut self, wanted: Option<bool>) -> bool {
        std::mem::replace(&mut self.auto_attach, wanted) != wanted
    }

    pub fn awaited_document(&self) -> Option<&String> {
        self.awaited_document.as_ref()
    }

    pub fn awaited_document_mut(&mut self) -> &mut Option<String> {
        &mut self.awaited_document
    }

    pub fn mirror_mut(&mut self) -> &mut Mirror {
        &mut self.mirror
    }

    pub fn navigation(&self) -> Option<&(String, String)> {
        self.navigation.as_ref()
    }

    pub fn set_navigation(&mut self, navigation: Option<(String, String)>) {
        self.navigation = navigation;
    }
}
