//! What a page's sessions receive about its contexts, frames and lifecycle. For a dormant tab the
//! relay synthesizes what a live page would send; for a live one it repeats what other sessions
//! have already received.

use crate::Core;
use crate::model::contexts::{Context, Created, JsWorld};
use crate::model::target::Target;
use crate::protocol::cdp::Request;
use crate::protocol::error::CdpError;
use crate::protocol::ids::{SessionId, TabId};
use crate::protocol::methods::domains::LIFECYCLE;
use serde::Deserialize;

pub(crate) const CONTEXT_CREATED: &str = "Runtime.executionContextCreated";
pub(crate) const CONTEXT_DESTROYED: &str = "Runtime.executionContextDestroyed";

impl Core {
    // ---- contexts ----

    /// Adds the contexts that a dormant tab's document would have: the default one and, after a
    /// navigation (`with_worlds`), one for each isolated world that clients' scripts run in.
    pub(crate) fn synthesize_contexts(&mut self, tab_id: TabId, with_worlds: bool) {
        let mut worlds = vec![JsWorld::Default];
        if with_worlds {
            for (_, session) in self.world.sessions.on(&Target::Page(tab_id)) {
                worlds.extend(session.journal().script_worlds().map(JsWorld::Isolated));
            }
        }
        if let Some(tab) = self.world.tabs.get_mut(tab_id) {
            let (frame, origin) = (tab.page_id().clone(), tab.origin());
            for world in worlds {
                tab.contexts_mut()
                    .synthesize(frame.as_str(), world, &origin);
            }
        }
    }

    /// Adds the context of `Page.createIsolatedWorld` and announces it. Returns the command's
    /// result, and whether the world is new.
    pub(crate) fn synthesize_world(
        &mut self,
        tab_id: TabId,
        request: &Request<'_>,
    ) -> Result<(String, Created), CdpError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            frame_id: String,
            #[serde(default)]
            world_name: String,
        }
        let params: Params = request.read_params()?;
        let tab = self.world.tabs.get_mut(tab_id).ok_or(CdpError::TabClosed)?;
        if !tab.has_frame(&params.frame_id) {
            return Err(CdpError::Refused("No frame for given id found".to_owned()));
        }
        let (world, origin) = (JsWorld::Isolated(params.world_name), tab.origin());
        let contexts = tab.contexts_mut();
        let (context, created) = contexts.synthesize(&params.frame_id, world, &origin);
        if created == Created::New {
            let page = Target::Page(tab_id);
            self.broadcast(&page, CONTEXT_CREATED, &context.created_params());
        }
        let result = serde_json::json!({ "executionContextId": context.announced });
        Ok((result.to_string(), created))
    }

    /// Announces a page's contexts to the sessions that have `Runtime` enabled.
    pub(crate) fn announce_contexts(&mut self, tab_id: TabId) {
        let page = Target::Page(tab_id);
        let sessions = self.world.sessions.on(&page);
        let enabled = sessions.filter(|(_, session)| session.has_enabled("Runtime"));
        let ids: Vec<SessionId> = enabled.map(|(id, _)| id).collect();
        for id in ids {
            self.announce_contexts_to(id);
        }
    }

    /// Announces a page's contexts to one session. If the session receives frames, the contexts of
    /// a frame wait until the frame was announced.
    pub(crate) fn announce_contexts_to(&mut self, session_id: SessionId) {
        let Some(session) = self.world.sessions.get(session_id) else {
            return;
        };
        let receives_frames = session.has_enabled("Page");
        let tab_id = session.target().tab_id();
        let Some(tab) = tab_id.and_then(|id| self.world.tabs.get(id)) else {
            return;
        };
        let is_announced = |c: &&Context| !receives_frames || tab.has_frame(&c.frame);
        let contexts = tab.contexts().iter().filter(is_announced);
        let all: Vec<String> = contexts.map(Context::created_params).collect();
        for params in all {
            self.send_event(session_id, CONTEXT_CREATED, &params);
        }
    }

    pub(crate) fn announce_context_destroyed(&mut self, tab_id: TabId, context: &Context) {
        let params = context.destroyed_params();
        self.broadcast(&Target::Page(tab_id), CONTEXT_DESTROYED, &params);
    }

    // ---- frames ----

    /// Updates the known frames from Chrome's frame tree, with Chrome's ids, and announces new
    /// ones.
    pub(crate) fn on_frame_tree(&mut self, tab_id: TabId, tree: &str) {
        let Some(tab) = self.world.tabs.get(tab_id) else {
            return;
        };
        let tree = tab.frame_to_announced(tree.into()).into_owned();
        self.learn_frames(tab_id, &tree, None);
    }

    /// Announces the frames of a tree that were unknown, and their contexts, except to the session
    /// that requested the tree and receives it as a reply.
    pub(crate) fn learn_frames(&mut self, tab_id: TabId, tree: &str, asker: Option<SessionId>) {
        let Some(tab) = self.world.tabs.get_mut(tab_id) else {
            return;
        };
        for frame in tab.frames_mut().learn(tree) {
            let ids = serde_json::json!({ "frameId": frame.id, "parentFrameId": frame.parent });
            let navigated = format!(r#"{{"frame":{},"type":"Navigation"}}"#, frame.text);
            for session_id in self.world.sessions.ids_on(&Target::Page(tab_id)) {
                if Some(session_id) != asker && self.has_enabled(session_id, "Page") {
                    self.send_event(session_id, "Page.frameAttached", &ids.to_string());
                    self.send_event(session_id, "Page.frameNavigated", &navigated);
                    self.announce_frame_contexts(session_id, tab_id, &frame.id);
                }
            }
        }
    }

    fn announce_frame_contexts(&mut self, session_id: SessionId, tab_id: TabId, frame: &str) {
        let Some(tab) = self.world.tabs.get(tab_id) else {
            return;
        };
        if !self.has_enabled(session_id, "Runtime") {
            return;
        }
        let in_frame = tab.contexts().iter().filter(|c| c.frame == frame);
        let all: Vec<String> = in_frame.map(Context::created_params).collect();
        for params in all {
            self.send_event(session_id, CONTEXT_CREATED, &params);
        }
    }

    pub(crate) fn has_enabled(&self, session_id: SessionId, switch: &str) -> bool {
        let session = self.world.sessions.get(session_id);
        session.is_some_and(|session| session.has_enabled(switch))
    }

    // ---- lifecycle ----

    /// Sends the lifecycle events that match a dormant tab's load status: those that are new to all
    /// sessions, or all of them to one session that just enabled them.
    pub(crate) fn synthesize_lifecycle(&mut self, tab_id: TabId, only: Option<SessionId>) {
        let timestamp = self.out.now.as_secs_f64();
        let Some(tab) = self.world.tabs.get_mut(tab_id) else {
            return;
        };
        let names = tab.advance_lifecycle();
        let (frame, loader) = (tab.page_id().clone(), tab.loader().clone());
        for (name, is_new) in names {
            let params = serde_json::json!({
                "frameId": frame, "loaderId": loader, "name": name, "timestamp": timestamp,
            })
            .to_string();
            match only {
                None if is_new => self.broadcast(&Target::Page(tab_id), LIFECYCLE, &params),
                Some(session_id) if self.has_enabled(session_id, LIFECYCLE) => {
                    self.send_event(session_id, LIFECYCLE, &params);
                }
                _ => {}
            }
        }
    }

    /// The person navigated a dormant tab: its sessions receive what a live page would send.
    pub(crate) fn synthesize_navigation(&mut self, tab_id: TabId) {
        let loader = self.out.ids.target();
        let Some(tab) = self.world.tabs.get_mut(tab_id) else {
            return;
        };
        let had_contexts = tab.start_document(loader);
        let navigated =
            serde_json::json!({ "frame": tab.describe_main_frame(), "type": "Navigation" });
        let page = Target::Page(tab_id);
        if had_contexts {
            self.broadcast(&page, "Runtime.executionContextsCleared", "{}");
        }
        self.broadcast(&page, "Page.frameNavigated", &navigated.to_string());
        self.synthesize_contexts(tab_id, true);
        self.announce_contexts(tab_id);
        self.synthesize_lifecycle(tab_id, None);
    }

    /// Sends a session that has just enabled a switch what other sessions of its target received
    /// before.
    pub(crate) fn send_mirrored(&mut self, session_id: SessionId, switch: &str) {
        let session = self.world.sessions.get(session_id);
        let Some(target) = session.map(|session| session.target().clone()) else {
            return;
        };
        let Some(mirror) = self.world.mirror_mut(&target) else {
            return;
        };
        for (method, params) in mirror.of_switch(switch) {
            let params = self.with_client_ids(&target, method, &params).into_owned();
            self.send_event(session_id, method, &params);
        }
    }
}
