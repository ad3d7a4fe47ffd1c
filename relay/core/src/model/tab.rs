//! A tab of the browser and everything known of its page.

mod attachment;
mod awaited_document;
mod child_contexts;
mod document;
mod release;
mod remote_frames;
mod translation;

pub use attachment::Attachment;
pub use release::Releases;
pub use remote_frames::FrameTarget;

use std::collections::{BTreeMap, BTreeSet};

use super::bootstraps::Bootstraps;
use super::child::Child;
use super::contexts::Contexts;
use super::frames::Frames;
use super::mirror::Mirror;
use super::paused::PausedRequests;
use crate::protocol::ids::{ChildId, ClientId, TabId, TargetId};
use crate::protocol::wire::{LoadStatus, RemoteFrame, TabReport};

#[derive(Debug)]
#[expect(
    clippy::struct_field_names,
    reason = "`tab` is the CDP name of that target"
)]
pub struct Tab {
    id: TabId,
    /// The DevTools target id of the page. Clients also know the main frame by it.
    page_id: TargetId,
    /// Chrome's id of the main frame, if it is not the page's: a prerendered page brings its own
    /// frame, which only the debugger reports.
    real_main_frame: Option<TargetId>,
    /// The id of the `tab` target, the page's parent. The relay's own, because Chrome does not
    /// report it.
    tab_target_id: TargetId,
    url: String,
    title: String,
    status: LoadStatus,
    opener: Option<TargetId>,
    /// The client that created this tab. Its library's defaults may be visible there.
    created_by: Option<ClientId>,
    /// The clients that have sent more to this tab than their libraries send to every tab. A client
    /// enters with its first such command and leaves when it disconnects.
    used_by: BTreeSet<ClientId>,
    pub releases: Releases,
    attachment: Attachment,
    /// Whether the debugger is attached again without a command when the extension is back: not
    /// after somebody has detached it, such as the person.
    resumes: bool,
    contexts: Contexts,
    bootstraps: Bootstraps,
    mirror: Mirror,
    /// While dormant: the synthetic loader id of the document, and the lifecycle events that
    /// clients received.
    loader: TargetId,
    lifecycle: BTreeSet<&'static str>,
    /// The page waits for an answer to its dialog.
    dialog_is_open: bool,
    /// The pending request for the next document; see `awaited_document`.
    awaited_document: Option<String>,
    kind: PageKind,
    /// The renderer has crashed and the page was not reloaded yet.
    is_crashed: bool,
    frames: Frames,
    auto_attach: Option<bool>,
    /// While dormant, also placeholders of cross-process frames; see `session::dormant_frames`.
    children: BTreeMap<ChildId, Child>,
    /// The cross-process frames of the document, as the extension last reported them.
    remote_frames: Vec<RemoteFrame>,
    /// The frames that clients know as targets, with their URLs.
    announced_frames: BTreeMap<TargetId, String>,
    paused: PausedRequests,
}

/// What a tab shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageKind {
    Ordinary,
    /// A page that Chrome does not let extensions debug.
    Restricted,
    /// Chrome's viewer. The tab shows the title of the PDF; the document has none.
    Pdf,
}

impl PageKind {
    fn updated(self, report: &TabReport) -> Self {
        let is = |kind, reported: Option<bool>| reported.unwrap_or(self == kind);
        if is(Self::Restricted, report.restricted) {
            Self::Restricted
        } else if is(Self::Pdf, report.pdf) {
            Self::Pdf
        } else {
            Self::Ordinary
        }
    }
}

impl Tab {
    pub fn new(
        report: TabReport,
        page_id: TargetId,
        tab_target_id: TargetId,
        loader: TargetId,
        opener: Option<TargetId>,
    ) -> Self {
        let kind = PageKind::Ordinary.updated(&report);
        Self {
            id: TabId(report.tab_id),
            page_id,
            real_main_frame: None,
            tab_target_id,
            url: report.url.unwrap_or_default(),
            title: report.title.unwrap_or_default(),
            status: report.status.unwrap_or(LoadStatus::Complete),
            opener,
            created_by: None,
            used_by: BTreeSet::new(),
            releases: Releases::default(),
            attachment: Attachment::Dormant,
            resumes: false,
            contexts: Contexts::default(),
            bootstraps: Bootstraps::default(),
            mirror: Mirror::default(),
            loader,
            lifecycle: BTreeSet::new(),
            dialog_is_open: false,
            awaited_document: None,
            kind,
            is_crashed: false,
            frames: Frames::default(),
            auto_attach: None,
            children: BTreeMap::new(),
            remote_frames: report.frames.unwrap_or_default(),
            announced_frames: BTreeMap::new(),
            paused: PausedRequests::default(),
        }
    }

    // ---- what the browser shows ----

    pub fn id(&self) -> TabId {
        self.id
    }

    pub fn page_id(&self) -> &TargetId {
        &self.page_id
    }

    pub fn tab_target_id(&self) -> &TargetId {
        &self.tab_target_id
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn title(&self) -> &str {
        &self.title
    }

    pub fn opener(&self) -> Option<&TargetId> {
        self.opener.as_ref()
    }

    /// Applies a report of the extension. Returns whether URL or title changed.
    pub fn update(&mut self, report: &TabReport) -> bool {
        self.status = report.status.unwrap_or(self.status);
        self.kind = self.kind.updated(report);
        let mut changed = false;
        for (field, reported) in [
            (&mut self.url, &report.url),
            (&mut self.title, &report.title),
        ] {
            if let Some(reported) = reported.as_ref().filter(|reported| *reported != field) {
                field.clone_from(reported);
                changed = true;
            }
        }
        changed
    }

    /// Returns whether the URL changed.
    pub fn set_url(&mut self, url: String) -> bool {
        let changed = self.url != url;
        self.url = url;
        changed
    }

    pub fn is_restricted(&self) -> bool {
        self.kind == PageKind::Restricted
    }

    pub fn was_created_by(&self, client_id: ClientId) -> bool {
        self.created_by == Some(client_id)
    }

    pub fn created_by(&self) -> Option<ClientId> {
        self.created_by
    }

    pub fn set_created_by(&mut self, client_id: Option<ClientId>) {
        self.created_by = client_id;
    }

    /// Whether a client needs this tab's debugger as long as it has a session here.
    pub fn is_used_by(&self, client_id: ClientId) -> bool {
        self.was_created_by(client_id) || self.used_by.contains(&client_id)
    }

    /// Returns whether it is the client's first use of this tab.
    pub fn add_user(&mut self, client_id: ClientId) -> bool {
        let is_first = !self.is_used_by(client_id);
        self.used_by.insert(client_id);
        is_first
    }

    pub fn remove_user(&mut self, client_id: ClientId) {
        self.used_by.remove(&client_id);
        self.releases.forget_client(client_id);
    }

    /// Whether nothing is left of what clients did with it.
    #[cfg(test)]
    pub fn has_forgotten_clients(&self) -> bool {
        self.used_by.is_empty()
            && self.releases.is_free_of_clients()
            && !self.contexts.has_worlds()
            && self.bootstraps.is_empty()
            && self.children.values().all(Child::is_placeholder)
    }

    pub fn dialog_is_open(&self) -> bool {
        self.dialog_is_open
    }

    pub fn set_dialog_open(&mut self, is_open: bool) {
        self.dialog_is_open = is_open;
    }

    pub fn is_crashed(&self) -> bool {
        self.is_crashed
    }

    pub fn set_crashed(&mut self, is_crashed: bool) {
        self.is_crashed = is_crashed;
    }

    // ---- child targets ----

    pub fn child(&self, id: &ChildId) -> Option<&Child> {
        self.children.get(id)
    }

    pub fn child_mut(&mut self, id: &ChildId) -> Option<&mut Child> {
        self.children.get_mut(id)
    }

    pub fn children(&self) -> impl Iterator<Item = (&ChildId, &Child)> {
        self.children.iter()
    }

    /// The children of a child.
    pub fn children_of(&self, parent: &ChildId) -> impl DoubleEndedIterator<Item = &ChildId> {
        let children = self.children.iter();
        let of_parent = children.filter(move |(_, child)| child.parent() == Some(parent));
        of_parent.map(|(id, _)| id)
    }

    pub fn add_child(&mut self, id: ChildId, child: Child) {
        self.children.insert(id, child);
    }

    pub fn remove_child(&mut self, id: &ChildId) -> Option<Child> {
        self.children.remove(id)
    }

    /// Sets what Chrome should have as `Target.setAutoAttach` of the page or a child: off, or on
    /// with or without pausing new targets. Returns whether that is a change.
    pub fn request_auto_attach(
        &mut self,
        child_id: Option<&ChildId>,
        wanted: Option<bool>,
    ) -> bool {
        match child_id {
            None => std::mem::replace(&mut self.auto_attach, wanted) != wanted,
            Some(id) => {
                let child = self.children.get_mut(id);
                child.is_some_and(|child| child.request_auto_attach(wanted))
            }
        }
    }
}
