//! A child target of a tab's page: an out-of-process iframe or a worker, with its own debugger
//! session.

use super::mirror::Mirror;
use crate::protocol::ids::{ChildId, TargetId};

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
    pub(super) auto_attach: Option<bool>,
    /// The pending request for its next document, as for a page.
    pub(super) awaited_document: Option<String>,
    pub(super) mirror: Mirror,
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
            navigation: None,
        }
    }

    pub fn target_info(&self) -> &str {
        &self.target_info
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

    pub fn navigation(&self) -> Option<&(String, String)> {
        self.navigation.as_ref()
    }

    pub fn set_navigation(&mut self, navigation: Option<(String, String)>) {
        self.navigation = navigation;
    }
}
