//! What clients are told of targets: `targetCreated`, `attachedToTarget` and their opposites, and the sessions that come
//! and go with them.

use std::fmt::Write as _;

use serde_json::Value;

use crate::Core;
use crate::ids::{ClientId, SessionId, TabId, TargetId};
use crate::sessions::{AutoAttach, Subject};
use crate::targets::{Tab, TargetInfo};

impl Core {
    // ---- descriptions ----

    pub(crate) fn page_target_info(&self, tab: &Tab) -> Value {
        let attached = self
            .sessions
            .at(Some(tab.id))
            .any(|(_, session)| session.subject == Subject::Page(tab.id));
        self.info(tab, &tab.page, "page", attached)
    }

    pub(crate) fn tab_target_info(&self, tab: &Tab) -> Value {
        let attached = self
            .sessions
            .at(Some(tab.id))
            .any(|(_, session)| session.subject == Subject::Tab(tab.id));
        self.info(tab, &tab.above, "tab", attached)
    }

    fn info(&self, tab: &Tab, target_id: &TargetId, kind: &'static str, attached: bool) -> Value {
        let opener_id = tab.opener.as_ref();
        let info = TargetInfo {
            target_id,
            kind,
            title: &tab.title,
            url: &tab.url,
            attached,
            can_access_opener: opener_id.is_some(),
            opener_id,
            browser_context_id: &self.context,
        };
        serde_json::to_value(info).unwrap_or_default()
    }

    pub(crate) fn browser_target_info(&self) -> String {
        serde_json::json!({
            "targetId": self.browser_target, "type": "browser", "title": "", "url": "", "attached": true, "canAccessOpener": false,
        })
        .to_string()
    }

    /// The `targetInfo` of what a session sees.
    pub(crate) fn subject_info(&self, subject: &Subject) -> Option<String> {
        match subject {
            Subject::Browser => Some(self.browser_target_info()),
            Subject::Tab(tab) => self
                .tabs
                .get(*tab)
                .map(|tab| self.tab_target_info(tab).to_string()),
            Subject::Page(tab) => self
                .tabs
                .get(*tab)
                .map(|tab| self.page_target_info(tab).to_string()),
            Subject::Child(tab, child) => self
                .tabs
                .get(*tab)?
                .children
                .get(child)
                .map(|child| child.target_info.clone()),
        }
    }

    pub(crate) fn target_info_by_id(&self, id: &str) -> Option<String> {
        if id == self.browser_target.as_str() {
            return Some(self.browser_target_info());
        }
        if let Some(tab) = self.tabs.by_target(id) {
            let subject = if tab.page.as_str() == id {
                Subject::Page(tab.id)
            } else {
                Subject::Tab(tab.id)
            };
            return self.subject_info(&subject);
        }
        let child = self
            .tabs
            .iter()
            .flat_map(|tab| tab.children.values())
            .find(|child| child.target.as_str() == id);
        child.map(|child| child.target_info.clone())
    }

    /// What a client may attach to by id: pages, their tabs, and targets below them that it was told of.
    pub(crate) fn subject_by_id(&self, client: ClientId, id: &str) -> Option<Subject> {
        if id == self.browser_target.as_str() {
            return Some(Subject::Browser);
        }
        if let Some(tab) = self.tabs.by_target(id) {
            return Some(if tab.page.as_str() == id {
                Subject::Page(tab.id)
            } else {
                Subject::Tab(tab.id)
            });
        }
        self.tabs.iter().find_map(|tab| {
            let (child, _) = tab
                .children
                .iter()
                .find(|(_, child)| child.target.as_str() == id)?;
            let subject = Subject::Child(tab.id, child.clone());
            let told = self
                .sessions
                .viewing(&subject)
                .any(|(_, session)| session.client == client);
            told.then_some(subject)
        })
    }

    // ---- sessions ----

    pub(crate) fn open_session(&mut self, parent: SessionId, subject: Subject) -> SessionId {
        let id = self.ids.session();
        if let Some(client) = self.sessions.get(parent).map(|session| session.client) {
            self.sessions.open(id, client, Some(parent), subject);
        }
        id
    }

    /// Tells the parent of a session that it is there.
    pub(crate) fn announce_attached(&mut self, session: SessionId, waiting: bool) {
        let Some(view) = self.sessions.get(session) else {
            return;
        };
        let (Some(parent), Some(info)) = (view.parent, self.subject_info(&view.subject)) else {
            return;
        };
        let params = format!(
            r#"{{"sessionId":"{session}","targetInfo":{info},"waitingForDebugger":{waiting}}}"#
        );
        self.send_event(parent, "Target.attachedToTarget", &params);
    }

    /// Ends a session and those below it, and tells the parents.
    pub(crate) fn end_session(&mut self, session: SessionId) {
        for ended in self.sessions.with_descendants(session) {
            self.end_one_session(ended);
        }
    }

    fn end_one_session(&mut self, session: SessionId) {
        let Some(view) = self.sessions.get(session) else {
            return;
        };
        let (parent, subject) = (view.parent, view.subject.clone());
        let target = self.subject_target(&subject);
        if let Some(parent) = parent {
            let mut params = format!(r#"{{"sessionId":"{session}""#);
            if let Some(target) = target {
                let _ = write!(params, ",\"targetId\":{}", Value::from(target));
            }
            params.push('}');
            self.send_event(parent, "Target.detachedFromTarget", &params);
        }
        if let Some(ended) = self.sessions.close(session) {
            self.release(session, ended);
        }
    }

    fn subject_target(&self, subject: &Subject) -> Option<String> {
        let tab = self.tabs.get(subject.tab()?)?;
        match subject {
            Subject::Browser => None,
            Subject::Tab(_) => Some(tab.above.to_string()),
            Subject::Page(_) => Some(tab.page.to_string()),
            Subject::Child(_, child) => tab
                .children
                .get(child)
                .map(|child| child.target.to_string()),
        }
    }

    // ---- tabs ----

    /// A tab has appeared: every session that wants to know is told, and attached where it asked to be.
    pub(crate) fn announce_tab(&mut self, tab: TabId) {
        for session in self.browser_sessions() {
            self.announce_created_to(session, tab);
            self.auto_attach_tab(session, tab);
        }
    }

    pub(crate) fn announce_created_to(&mut self, session: SessionId, tab: TabId) {
        let Some(filter) = self
            .sessions
            .get(session)
            .and_then(|view| view.discovers.clone())
        else {
            return;
        };
        let Some(tab) = self.tabs.get(tab) else {
            return;
        };
        let infos = [
            ("tab", self.tab_target_info(tab)),
            ("page", self.page_target_info(tab)),
        ];
        for (kind, info) in infos {
            if filter.wants(kind) {
                self.send_event(
                    session,
                    "Target.targetCreated",
                    &format!(r#"{{"targetInfo":{info}}}"#),
                );
            }
        }
    }

    /// Attaches a tab's page, or the target above it, to a session that asked for it and does not have it yet.
    pub(crate) fn auto_attach_tab(&mut self, session: SessionId, tab: TabId) {
        let Some(view) = self.sessions.get(session) else {
            return;
        };
        let Some(AutoAttach { filter, .. }) = &view.auto_attach else {
            return;
        };
        let wanted = match view.subject {
            Subject::Browser if filter.wants("page") => Subject::Page(tab),
            Subject::Browser if filter.wants("tab") => Subject::Tab(tab),
            Subject::Tab(_) if filter.wants("page") => Subject::Page(tab),
            _ => return,
        };
        let has_it = self
            .sessions
            .viewing(&wanted)
            .any(|(_, view)| view.parent == Some(session));
        if self.tabs.get(tab).is_none() || has_it {
            return;
        }
        let opened = self.open_session(session, wanted);
        self.announce_attached(opened, false);
    }

    /// A tab has gone: its sessions end, and every session that knew of it is told.
    pub(crate) fn announce_gone(&mut self, tab: TabId) {
        let of_tab: Vec<SessionId> = self.sessions.at(Some(tab)).map(|(id, _)| id).collect();
        for session in of_tab {
            self.end_session(session);
        }
        let Some(gone) = self.tabs.remove(tab) else {
            return;
        };
        for session in self.browser_sessions() {
            let Some(filter) = self
                .sessions
                .get(session)
                .and_then(|view| view.discovers.clone())
            else {
                continue;
            };
            for (kind, target) in [("page", &gone.page), ("tab", &gone.above)] {
                if filter.wants(kind) {
                    self.send_event(
                        session,
                        "Target.targetDestroyed",
                        &serde_json::json!({ "targetId": target }).to_string(),
                    );
                }
            }
        }
    }

    pub(crate) fn announce_changed(&mut self, tab: TabId) {
        for session in self.browser_sessions() {
            let Some(filter) = self
                .sessions
                .get(session)
                .and_then(|view| view.discovers.clone())
            else {
                continue;
            };
            let Some(tab) = self.tabs.get(tab) else {
                return;
            };
            let infos = [
                ("tab", self.tab_target_info(tab)),
                ("page", self.page_target_info(tab)),
            ];
            for (kind, info) in infos {
                if filter.wants(kind) {
                    self.send_event(
                        session,
                        "Target.targetInfoChanged",
                        &format!(r#"{{"targetInfo":{info}}}"#),
                    );
                }
            }
        }
    }

    fn browser_sessions(&self) -> Vec<SessionId> {
        self.sessions.at(None).map(|(id, _)| id).collect()
    }
}
