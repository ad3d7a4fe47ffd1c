//! Targets below a page: frames of other processes, and workers. Chrome attaches to them below the one debugger session of the
//! tab, as long as a session asks for it with `Target.setAutoAttach`.
//!
//! 1. Chrome is asked for all kinds of them; each session is told of those that its own filter wants.
//! 2. It is asked to stop them at their start if any session wants that. One that nobody will resume is resumed here at once,
//!    so that a page never waits for a client that does not know of it.
//! 3. A session that asks later learns of those that are there already.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Core;
use crate::cdp::Request;
use crate::error::CdpError;
use crate::ids::{ChildId, SessionId, TabId, TargetId};
use crate::intercept::Handled;
use crate::mirror::Mirror;
use crate::pending::{Continuation, Entry, Step};
use crate::sessions::{AutoAttach, Session, Subject};
use crate::targets::Child;
use crate::translate;
use crate::wire::Call;

pub(crate) const AUTO_ATTACH: &str = "Target.setAutoAttach";

/// What Chrome is told: whether to attach to targets as they appear, and whether to stop them first.
fn params_of(asked: Option<bool>) -> String {
    let (attaches, stops) = (asked.is_some(), asked == Some(true));
    serde_json::json!({ "autoAttach": attaches, "waitForDebuggerOnStart": stops, "flatten": true })
        .to_string()
}

impl Core {
    /// A session of a page, or of a target below it, has said which targets below it wants.
    pub(crate) fn ask_for_children(
        &mut self,
        session: SessionId,
        subject: &Subject,
        request: &Request<'_>,
    ) -> Result<Handled, CdpError> {
        let (tab, child) = subject.place().ok_or(CdpError::SessionNotFound)?;
        let known = self.tabs.get(tab).ok_or(CdpError::TabClosed)?;
        if !known.hears_sessions() {
            // Waking asks for the children that all sessions want.
            return Ok(Handled::empty());
        }
        self.drop_unwanted_children(session, tab);
        self.announce_children_to(session, tab, child);
        let Some(params) = self.children_to_ask_for(subject) else {
            return Ok(Handled::empty());
        };
        let together = Request {
            params: params.into(),
            ..request.clone()
        };
        let is_waking = self.tabs.get(tab).is_some_and(|known| !known.is_live());
        if child.is_none() && (is_waking || self.answers_set_up(session, tab, &together)) {
            self.tell(
                session,
                tab,
                &together,
                Step::Other {
                    method: AUTO_ATTACH.to_owned(),
                },
            );
            return Ok(Handled::empty());
        }
        self.forward(session, tab, child, &together)
    }

    /// The parameters of `Target.setAutoAttach` that ask for what the sessions of a target want together; `None` where Chrome
    /// has heard just that.
    pub(crate) fn children_to_ask_for(&mut self, subject: &Subject) -> Option<String> {
        let (tab, child) = subject.place()?;
        let stops = self
            .sessions
            .viewing(subject)
            .filter_map(|(_, view)| view.auto_attach.as_ref().map(|wanted| wanted.stops));
        let wanted = stops.reduce(|one, other| one || other);
        let known = self.tabs.get_mut(tab)?;
        let asked = match child {
            None => &mut known.children_asked,
            Some(child) => &mut known.children.get_mut(child)?.children_asked,
        };
        let is_news = *asked != wanted;
        *asked = wanted;
        is_news.then(|| params_of(wanted))
    }

    /// A session of this target has ended.
    pub(crate) fn release_children(&mut self, subject: &Subject) {
        let Some((tab, child)) = subject.place() else {
            return;
        };
        if let Some(params) = self.children_to_ask_for(subject) {
            self.call(
                &Call::CdpCommand {
                    tab,
                    method: AUTO_ATTACH,
                    params: &params,
                    child,
                },
                Continuation::Nothing,
            );
        }
        self.resume_unseen_children(tab);
    }

    /// What a session got by itself and wants no more is taken from it; what nobody else will resume goes on.
    fn drop_unwanted_children(&mut self, session: SessionId, tab: TabId) {
        let wanted = self
            .sessions
            .get(session)
            .and_then(|view| view.auto_attach.clone());
        let kind_of = |child: &ChildId| {
            self.tabs
                .get(tab)
                .and_then(|known| known.children.get(child))
                .map(|child| child.kind.clone())
        };
        let is_unwanted = |view: &Session| match &view.subject {
            Subject::Child(_, child) if view.parent == Some(session) && !view.is_asked => {
                kind_of(child).is_some_and(|kind| {
                    wanted
                        .as_ref()
                        .is_none_or(|wanted| !wanted.filter.wants(&kind))
                })
            }
            _ => false,
        };
        let unwanted: Vec<SessionId> = self
            .sessions
            .at(Some(tab))
            .filter(|(_, view)| is_unwanted(view))
            .map(|(id, _)| id)
            .collect();
        for child in unwanted {
            self.end_session(child);
        }
        self.resume_unseen_children(tab);
    }

    /// A session that asks for the targets below its own learns of those that are there already.
    fn announce_children_to(&mut self, session: SessionId, tab: TabId, above: Option<&ChildId>) {
        let Some(wanted) = self
            .sessions
            .get(session)
            .and_then(|view| view.auto_attach.clone())
        else {
            return;
        };
        let Some(known) = self.tabs.get(tab) else {
            return;
        };
        let is_wanted =
            |child: &Child| child.below.as_ref() == above && wanted.filter.wants(&child.kind);
        let below: Vec<ChildId> = known
            .children
            .iter()
            .filter(|(_, child)| is_wanted(child))
            .map(|(id, _)| id.clone())
            .collect();
        for child in below {
            let subject = Subject::Child(tab, child);
            if self
                .sessions
                .viewing(&subject)
                .any(|(_, view)| view.parent == Some(session))
            {
                continue;
            }
            let opened = self.open_session(session, subject);
            self.announce_attached(opened, false);
        }
    }

    /// A target has appeared below a page or below one of its children. Says whether a session that was told of it means to
    /// resume it.
    fn announce_child(&mut self, tab: TabId, child: &ChildId) -> bool {
        let Some(known) = self.tabs.get(tab).and_then(|tab| tab.children.get(child)) else {
            return false;
        };
        let (kind, waiting) = (known.kind.clone(), known.waiting_for_debugger);
        let above = known
            .below
            .clone()
            .map_or(Subject::Page(tab), |below| Subject::Child(tab, below));
        let wants = |view: &Session| {
            view.auto_attach
                .clone()
                .filter(|wanted| wanted.filter.wants(&kind))
        };
        let parents: Vec<(SessionId, AutoAttach)> = self
            .sessions
            .viewing(&above)
            .filter_map(|(id, view)| wants(view).map(|wanted| (id, wanted)))
            .collect();
        for (parent, wanted) in &parents {
            let opened = self.open_session(*parent, Subject::Child(tab, child.clone()));
            self.announce_attached(opened, waiting && wanted.stops);
        }
        parents.iter().any(|(_, wanted)| wanted.stops)
    }

    pub(crate) fn on_child_attached(&mut self, tab: TabId, below: Option<&ChildId>, params: &str) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Attached<'a> {
            session_id: String,
            #[serde(borrow)]
            target_info: &'a RawValue,
            #[serde(default)]
            waiting_for_debugger: bool,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Info {
            target_id: String,
            #[serde(rename = "type")]
            kind: String,
        }
        let Ok(attached) = serde_json::from_str::<Attached<'_>>(params) else {
            return;
        };
        let Ok(info) = serde_json::from_str::<Info>(attached.target_info.get()) else {
            return;
        };
        let child = ChildId::new(&attached.session_id);
        let context = serde_json::Value::from(self.context.as_str()).to_string();
        // Clients know the person's profile under the relay's id.
        let target_info = translate::replace(
            attached.target_info.get().into(),
            &["browserContextId"],
            |_| Some(context.clone()),
        )
        .into_owned();
        let entry = Child {
            target_info,
            target: TargetId::new(&info.target_id),
            kind: info.kind,
            below: below.cloned(),
            waiting_for_debugger: attached.waiting_for_debugger,
            children_asked: None,
            awaited_document: None,
            mirror: Mirror::default(),
            navigating: None,
        };
        let Some(known) = self.tabs.get_mut(tab) else {
            return;
        };
        known.children.insert(child.clone(), entry);
        let will_be_resumed = self.announce_child(tab, &child);
        if !will_be_resumed && attached.waiting_for_debugger {
            // The page must not wait for ever.
            self.resume_child(tab, &child);
        }
    }

    pub(crate) fn on_child_detached(&mut self, tab: TabId, child: &ChildId) {
        let of_child = self
            .pending
            .take_where(|entry| entry.tab == Some(tab) && entry.child.as_ref() == Some(child));
        for entry in of_child {
            self.on_child_call_lost(tab, child, entry);
        }
        let Some(known) = self.tabs.get(tab) else {
            return;
        };
        let below: Vec<ChildId> = known
            .children
            .iter()
            .filter(|(_, other)| other.below.as_ref() == Some(child))
            .map(|(id, _)| id.clone())
            .collect();
        for grandchild in below {
            self.on_child_detached(tab, &grandchild);
        }
        let views: Vec<SessionId> = self
            .sessions
            .viewing(&Subject::Child(tab, child.clone()))
            .map(|(id, _)| id)
            .collect();
        for session in views {
            self.end_session(session);
        }
        if let Some(known) = self.tabs.get_mut(tab) {
            known.children.remove(child);
        }
    }

    /// A frame that navigates to a site of its parent's process leaves its own, and Chrome's answer to the navigation is
    /// lost with that. What it would say is known already, and the frame goes on under its parent's session.
    fn on_child_call_lost(&mut self, tab: TabId, child: &ChildId, entry: Entry) {
        let navigating = self
            .tabs
            .get(tab)
            .and_then(|tab| tab.children.get(child)?.navigating.as_ref());
        if let (
            Continuation::Reply {
                client,
                session,
                request,
                ..
            },
            "Page.navigate",
            Some((frame, loader)),
        ) = (&entry.continuation, entry.method.as_str(), navigating)
        {
            let result = serde_json::json!({ "frameId": frame, "loaderId": loader }).to_string();
            self.send_reply(*client, *session, *request, &result);
        } else {
            self.on_call_failed(entry, &CdpError::SessionNotFound);
        }
    }

    /// A target that waits for a client that has gone would wait for ever.
    fn resume_unseen_children(&mut self, tab: TabId) {
        let Some(known) = self.tabs.get_mut(tab) else {
            return;
        };
        let waiting: Vec<ChildId> = known
            .children
            .iter()
            .filter(|(_, child)| child.waiting_for_debugger)
            .map(|(id, _)| id.clone())
            .collect();
        for child in waiting {
            let stops = |parent| {
                self.sessions
                    .get(parent)
                    .is_some_and(|view| view.auto_attach.as_ref().is_some_and(|asked| asked.stops))
            };
            let will_be_resumed = self
                .sessions
                .viewing(&Subject::Child(tab, child.clone()))
                .any(|(_, view)| view.parent.is_some_and(stops));
            if !will_be_resumed {
                self.resume_child(tab, &child);
            }
        }
    }

    fn resume_child(&mut self, tab: TabId, child: &ChildId) {
        if let Some(known) = self
            .tabs
            .get_mut(tab)
            .and_then(|tab| tab.children.get_mut(child))
        {
            known.waiting_for_debugger = false;
        }
        let method = "Runtime.runIfWaitingForDebugger";
        self.call(
            &Call::CdpCommand {
                tab,
                method,
                params: "{}",
                child: Some(child),
            },
            Continuation::Nothing,
        );
    }
}
