//! Target announcements: `targetInfo` objects, `Target.targetCreated`, `Target.attachedToTarget`
//! and their counterparts, and the sessions that are opened with them.

use serde::Serialize;
use serde_json::Value;

use crate::Core;
use crate::model::tab::Tab;
use crate::model::target::{AutoAttach, Filter, Target};
use crate::protocol::ids::{ClientId, SessionId, TabId, TargetId};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TargetInfo<'a> {
    target_id: &'a TargetId,
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'a str,
    url: &'a str,
    attached: bool,
    can_access_opener: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    opener_id: Option<&'a TargetId>,
    browser_context_id: &'a TargetId,
}

impl Core {
    // ---- descriptions ----

    pub(crate) fn page_target_info(&self, tab: &Tab) -> Value {
        let attached = self.is_attached(&Target::Page(tab.id()));
        self.tab_info(tab, tab.page_id(), "page", attached)
    }

    pub(crate) fn tab_target_info(&self, tab: &Tab) -> Value {
        let attached = self.is_attached(&Target::Tab(tab.id()));
        self.tab_info(tab, tab.tab_target_id(), "tab", attached)
    }

    pub(crate) fn is_attached(&self, target: &Target) -> bool {
        self.world.sessions.on(target).next().is_some()
    }

    fn tab_info(&self, tab: &Tab, id: &TargetId, kind: &'static str, attached: bool) -> Value {
        let info = TargetInfo {
            target_id: id,
            kind,
            title: tab.title(),
            url: tab.url(),
            attached,
            can_access_opener: tab.opener().is_some(),
            opener_id: tab.opener(),
            browser_context_id: &self.world.browser_context,
        };
        serde_json::to_value(info).unwrap_or_default()
    }

    fn browser_target_info(&self) -> Value {
        serde_json::json!({
            "targetId": self.world.browser_target, "type": "browser", "title": "", "url": "",
            "attached": true, "canAccessOpener": false,
        })
    }

    /// The infos of a tab's own two targets that a filter includes, in the order they are announced.
    fn tab_infos(&self, tab: &Tab, filter: &Filter) -> Vec<Value> {
        let mut infos = Vec::new();
        if filter.includes("tab") {
            infos.push(self.tab_target_info(tab));
        }
        if filter.includes("page") {
            infos.push(self.page_target_info(tab));
        }
        infos
    }

    /// The infos of all tabs and their frames, for `Target.getTargets`. Chromedriver, which lists only `tab` targets,
    /// starts in the last one. A discarded tab would be loaded for that, so those come first. Chrome's
    /// own order is arbitrary.
    pub(crate) fn all_target_infos(&self, filter: &Filter) -> Vec<Value> {
        let mut tabs: Vec<&Tab> = self.world.tabs.iter().collect();
        if !filter.includes("page") {
            tabs.sort_by_key(|tab| !tab.is_unloaded());
        }
        let infos = tabs.iter().flat_map(|tab| {
            let mut infos = self.tab_infos(tab, filter);
            infos.extend(self.frame_infos(tab, filter));
            infos
        });
        infos.collect()
    }

    /// The `targetInfo` of a target.
    pub(crate) fn target_info(&self, target: &Target) -> Option<String> {
        let tab = |id: &TabId| self.world.tabs.get(*id);
        match target {
            Target::Browser => Some(self.browser_target_info().to_string()),
            Target::Tab(id) => tab(id).map(|tab| self.tab_target_info(tab).to_string()),
            Target::Page(id) => tab(id).map(|tab| self.page_target_info(tab).to_string()),
            Target::Child(id, child_id) => tab(id)?
                .child(child_id)
                .map(|child| child.target_info().to_owned()),
        }
    }

    /// The target with this DevTools id.
    pub(crate) fn find_target(&self, id: &str) -> Option<Target> {
        let tabs = &self.world.tabs;
        self.find_top_target(id)
            .or_else(|| tabs.find_children(id).next())
    }

    /// The target with this DevTools id, if this client may attach to it: to a worker only if it was
    /// announced to the client. Frames have their own ways, see `command::frame`.
    pub(crate) fn find_attachable(&self, client_id: ClientId, id: &str) -> Option<Target> {
        let is_announced = |child: &Target| {
            let mut sessions = self.world.sessions.on(child);
            sessions.any(|(_, session)| session.client_id() == client_id)
        };
        self.find_top_target(id)
            .or_else(|| self.world.tabs.find_children(id).find(is_announced))
    }

    /// The browser, or a tab's page or `tab` target.
    fn find_top_target(&self, id: &str) -> Option<Target> {
        if id == self.world.browser_target.as_str() {
            return Some(Target::Browser);
        }
        self.world.tabs.find_target(id)
    }

    /// The DevTools id of a target, as `Target.detachedFromTarget` has it.
    fn devtools_id(&self, target: &Target) -> Option<&TargetId> {
        let tab = self.world.tabs.get(target.tab_id()?)?;
        match target {
            Target::Browser => None,
            Target::Tab(_) => Some(tab.tab_target_id()),
            Target::Page(_) => Some(tab.page_id()),
            Target::Child(_, child_id) => tab.child(child_id).map(|child| child.target_id()),
        }
    }

    // ---- sessions ----

    pub(crate) fn open_session(&mut self, parent: SessionId, target: Target) -> SessionId {
        let id = self.out.ids.session();
        let sessions = &mut self.world.sessions;
        if let Some(client_id) = sessions.get(parent).map(|session| session.client_id()) {
            sessions.open(id, client_id, Some(parent), target);
        }
        id
    }

    pub(crate) fn announce_attached(&mut self, session_id: SessionId, is_paused: bool) {
        let Some(session) = self.world.sessions.get(session_id) else {
            return;
        };
        let Some((parent, info)) = session.parent().zip(self.target_info(session.target())) else {
            return;
        };
        let params = format!(
            r#"{{"sessionId":"{session_id}","targetInfo":{info},"waitingForDebugger":{is_paused}}}"#
        );
        self.send_event(parent, "Target.attachedToTarget", &params);
    }

    pub(crate) fn announce_detached(&mut self, session_id: SessionId) {
        let Some(session) = self.world.sessions.get(session_id) else {
            return;
        };
        let Some(parent) = session.parent() else {
            return;
        };
        let target = self.devtools_id(session.target());
        let target = target.map_or(String::new(), |id| {
            format!(r#","targetId":{}"#, Value::from(id.as_str()))
        });
        let params = format!(r#"{{"sessionId":"{session_id}"{target}}}"#);
        self.send_event(parent, "Target.detachedFromTarget", &params);
    }

    // ---- tabs ----

    /// A tab has appeared: announces it to every session that discovers targets, and attaches it
    /// where requested.
    pub(crate) fn announce_tab(&mut self, tab_id: TabId) {
        for session_id in self.world.sessions.ids_at(None) {
            self.send_target_infos(session_id, tab_id, "Target.targetCreated");
            self.auto_attach_tab(session_id, tab_id);
        }
        self.announce_frame_changes(tab_id);
    }

    /// A session that discovers targets learns of the browser itself only if its filter names it:
    /// Puppeteer's does, for `browser.target()`.
    pub(crate) fn announce_browser_to(&mut self, session_id: SessionId) {
        let session = self.world.sessions.get(session_id);
        let filter = session.and_then(|session| session.discovers());
        if filter.is_some_and(|filter| filter.includes("browser")) {
            let info = self.browser_target_info();
            let params = format!(r#"{{"targetInfo":{info}}}"#);
            self.send_event(session_id, "Target.targetCreated", &params);
        }
    }

    /// Announces a tab and its frames to a session that has just started to discover targets.
    pub(crate) fn announce_created_to(&mut self, session_id: SessionId, tab_id: TabId) {
        let method = "Target.targetCreated";
        self.send_target_infos(session_id, tab_id, method);
        let session = self.world.sessions.get(session_id);
        let filter = session.and_then(|session| session.discovers());
        let Some((filter, tab)) = filter.zip(self.world.tabs.get(tab_id)) else {
            return;
        };
        for info in self.frame_infos(tab, filter) {
            self.send_event(session_id, method, &format!(r#"{{"targetInfo":{info}}}"#));
        }
    }

    /// The URL or title of a tab has changed.
    pub(crate) fn announce_changed(&mut self, tab_id: TabId) {
        for session_id in self.world.sessions.ids_at(None) {
            self.send_target_infos(session_id, tab_id, "Target.targetInfoChanged");
        }
    }

    fn send_target_infos(&mut self, session_id: SessionId, tab_id: TabId, method: &str) {
        let session = self.world.sessions.get(session_id);
        let Some(filter) = session.and_then(|session| session.discovers()) else {
            return;
        };
        let Some(tab) = self.world.tabs.get(tab_id) else {
            return;
        };
        for info in self.tab_infos(tab, filter) {
            self.send_event(session_id, method, &format!(r#"{{"targetInfo":{info}}}"#));
        }
    }

    /// A removed tab: notifies every session that discovers targets.
    pub(crate) fn announce_removed(&mut self, removed: &Tab) {
        let frames: Vec<TargetId> = removed.announced_frames().cloned().collect();
        self.announce_frames_destroyed(&frames);
        for session_id in self.world.sessions.ids_at(None) {
            let session = self.world.sessions.get(session_id);
            let Some(filter) = session.and_then(|session| session.discovers()).cloned() else {
                continue;
            };
            let targets = [
                ("page", removed.page_id()),
                ("tab", removed.tab_target_id()),
            ];
            for (_, id) in targets.iter().filter(|(kind, _)| filter.includes(kind)) {
                let params = serde_json::json!({ "targetId": id }).to_string();
                self.send_event(session_id, "Target.targetDestroyed", &params);
            }
        }
    }

    /// Attaches a tab's page or `tab` target to a session that requested it with
    /// `Target.setAutoAttach`, once.
    pub(crate) fn auto_attach_tab(&mut self, session_id: SessionId, tab_id: TabId) {
        let Some(session) = self.world.sessions.get(session_id) else {
            return;
        };
        let Some(AutoAttach { filter, .. }) = session.auto_attach() else {
            return;
        };
        let target = match session.target() {
            Target::Browser if filter.includes("page") => Target::Page(tab_id),
            Target::Browser if filter.includes("tab") => Target::Tab(tab_id),
            Target::Tab(_) if filter.includes("page") => Target::Page(tab_id),
            _ => return,
        };
        if self.world.tabs.contains(tab_id) && !self.has_child_session(session_id, &target) {
            let opened = self.open_session(session_id, target);
            self.announce_attached(opened, false);
        }
    }

    /// Whether a session has attached a session on this target already.
    pub(crate) fn has_child_session(&self, parent: SessionId, target: &Target) -> bool {
        let mut sessions = self.world.sessions.on(target);
        sessions.any(|(_, session)| session.parent() == Some(parent))
    }
}
