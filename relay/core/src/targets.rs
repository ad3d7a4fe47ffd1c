//! The tabs of the browser and what is attached to them. The one owner of tab state.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::Serialize;

use crate::bootstrap::Bootstrap;
use crate::cdp::Request;
use crate::contexts::Contexts;
use crate::frames::{self, Frames};
use crate::ids::{ChildId, ClientId, SessionId, TabId, TargetId};
use crate::interception::PausedRequests;
use crate::mirror::Mirror;
use crate::sessions::Session;
use crate::translate;
use crate::wire::{LoadStatus, TabReport};

pub struct Tab {
    pub id: TabId,
    /// The DevTools target id of the tab's page; also its main frame's id, as clients know it.
    pub page: TargetId,
    /// What Chrome calls the main frame where that is not the page's id: a prerendered page that took the place of the first
    /// brings a frame of its own, and only the debugger tells.
    pub main_frame: Option<TargetId>,
    /// The id of the `tab` target above the page; the relay's own, because Chrome does not tell its.
    pub above: TargetId,
    pub url: String,
    pub title: String,
    pub status: LoadStatus,
    pub opener: Option<TargetId>,
    /// The client that asked for this tab. Its library's defaults may show there.
    pub created_by: Option<ClientId>,
    pub attachment: Attachment,
    pub contexts: Contexts,
    /// What clients were told is done in this document, and is to be done when the tab wakes.
    pub bootstraps: Vec<Bootstrap>,
    pub helpers_given: usize,
    pub mirror: Mirror,
    /// Imagined while dormant: which document this is, and which lifecycle events clients were told of it.
    pub loader: TargetId,
    pub lifecycle: BTreeSet<String>,
    /// The page waits for somebody to answer its dialog.
    pub dialog_is_open: bool,
    /// The request for the page's next document, while its server has not answered: as far as `Network` tells.
    pub awaited_document: Option<String>,
    /// The page's renderer has crashed, and nobody has reloaded it yet.
    pub is_crashed: bool,
    pub frames: Frames,
    /// Whether Chrome was asked to attach to targets below the page, and to stop them at their start.
    pub children_asked: Option<bool>,
    /// Child sessions that Chrome opened below the tab, with the `targetInfo` it gave.
    pub children: BTreeMap<ChildId, Child>,
    /// Requests that wait for a client to say what becomes of them.
    pub paused: PausedRequests,
}

pub enum Attachment {
    Dormant,
    Waking(Wake),
    Live,
}

/// A tab on its way from dormant to live.
#[derive(Default)]
pub struct Wake {
    /// Commands that came meanwhile; they go on, in order, when the tab is live.
    pub waiting: VecDeque<Waiting>,
    /// The size of all that has waited, so that it stays bounded.
    pub waiting_bytes: usize,
    /// Debugger events that came meanwhile; clients learn of child frames before they learn of what happens there.
    pub held: Vec<HeldEvent>,
    pub stage: WakeStage,
    /// Replies of the present stage that are still to come.
    pub outstanding: usize,
    pub frame_tree: Option<String>,
    /// The page has gone on to another document, of which its clients were not told.
    pub is_next_document: bool,
    /// Sessions that ended meanwhile; what Chrome heard of them is undone when the tab is live.
    pub ended: Vec<Session>,
}

/// What is under way while a tab wakes, in this order.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum WakeStage {
    #[default]
    Attaching,
    Replaying,
    MakingWorlds,
    MakingHelpers,
}

/// A command that came before its tab was live.
pub struct Waiting {
    pub client: ClientId,
    pub session: SessionId,
    pub request: Request<'static>,
}

pub struct HeldEvent {
    pub method: String,
    pub params: String,
    pub child: Option<ChildId>,
}

/// One target below a tab.
pub struct Child {
    /// Chrome's own `targetInfo`, unread.
    pub target_info: String,
    pub target: TargetId,
    pub kind: String,
    /// The child session it was attached below; `None` when below the tab's page itself.
    pub below: Option<ChildId>,
    pub waiting_for_debugger: bool,
    /// The same question for the targets below this one.
    pub children_asked: Option<bool>,
    /// The request for its next document, as of a page.
    pub awaited_document: Option<String>,
    pub mirror: Mirror,
    /// The last navigation that began in it, as `Page.frameStartedNavigating` told: frame and loader.
    pub navigating: Option<(String, String)>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetInfo<'a> {
    pub target_id: &'a TargetId,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub title: &'a str,
    pub url: &'a str,
    pub attached: bool,
    pub can_access_opener: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opener_id: Option<&'a TargetId>,
    pub browser_context_id: &'a TargetId,
}

impl Tab {
    pub fn new(report: TabReport, page: TargetId, above: TargetId, loader: TargetId) -> Self {
        Self {
            id: TabId(report.tab_id),
            page,
            main_frame: None,
            above,
            url: report.url.unwrap_or_default(),
            title: report.title.unwrap_or_default(),
            status: report.status.unwrap_or(LoadStatus::Complete),
            opener: None,
            created_by: None,
            attachment: Attachment::Dormant,
            contexts: Contexts::default(),
            bootstraps: Vec::new(),
            helpers_given: 0,
            mirror: Mirror::default(),
            loader,
            lifecycle: BTreeSet::new(),
            dialog_is_open: false,
            awaited_document: None,
            is_crashed: false,
            frames: Frames::default(),
            children_asked: None,
            children: BTreeMap::new(),
            paused: PausedRequests::default(),
        }
    }

    pub fn is_live(&self) -> bool {
        matches!(self.attachment, Attachment::Live)
    }

    pub fn is_dormant(&self) -> bool {
        matches!(self.attachment, Attachment::Dormant)
    }

    /// Where the request for the next document of a target is kept: of the page itself, or of one below it.
    pub fn awaited_document_of(&mut self, child: Option<&ChildId>) -> Option<&mut Option<String>> {
        match child {
            None => Some(&mut self.awaited_document),
            Some(child) => self
                .children
                .get_mut(child)
                .map(|child| &mut child.awaited_document),
        }
    }

    /// A client's words about the main frame, in Chrome's.
    pub fn frame_to_real<'t>(&self, text: Cow<'t, str>) -> Cow<'t, str> {
        match &self.main_frame {
            Some(real) => translate::rename(text, self.page.as_str(), real.as_str()),
            None => text,
        }
    }

    /// Chrome's words about the main frame, in the clients'.
    pub fn frame_to_announced<'t>(&self, text: Cow<'t, str>) -> Cow<'t, str> {
        match &self.main_frame {
            Some(real) => translate::rename(text, real.as_str(), self.page.as_str()),
            None => text,
        }
    }

    /// The security origin of the tab's document, as contexts carry it.
    pub fn origin(&self) -> String {
        frames::origin(&self.url)
    }

    /// The main frame as a CDP `Frame`, as far as it is known without the debugger.
    pub fn frame(&self) -> serde_json::Value {
        frames::describe(self.page.as_str(), None, self.loader.as_str(), &self.url)
    }

    /// Whether Chrome was told of the tab's sessions, so that it has to hear what they say from now on.
    pub fn hears_sessions(&self) -> bool {
        match &self.attachment {
            Attachment::Dormant => false,
            Attachment::Waking(wake) => wake.stage != WakeStage::Attaching,
            Attachment::Live => true,
        }
    }
}

/// A tab enters with the extension's list or `tabCreated`, and leaves with `tabRemoved`, a later list without it, or
/// `closeTab`.
#[derive(Default)]
pub struct Tabs {
    map: BTreeMap<TabId, Tab>,
}

impl Tabs {
    pub fn insert(&mut self, tab: Tab) {
        self.map.insert(tab.id, tab);
    }

    pub fn remove(&mut self, id: TabId) -> Option<Tab> {
        self.map.remove(&id)
    }

    pub fn get(&self, id: TabId) -> Option<&Tab> {
        self.map.get(&id)
    }

    pub fn get_mut(&mut self, id: TabId) -> Option<&mut Tab> {
        self.map.get_mut(&id)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Tab> {
        self.map.values()
    }

    pub fn ids(&self) -> Vec<TabId> {
        self.map.keys().copied().collect()
    }

    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// The tab whose page, or whose `tab` target, has this id.
    pub fn by_target(&self, target: &str) -> Option<&Tab> {
        self.map
            .values()
            .find(|tab| tab.page.as_str() == target || tab.above.as_str() == target)
    }
}
