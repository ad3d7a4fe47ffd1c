//! What a debugger event of a tab changes, and which sessions receive it.

use std::borrow::Cow;

use crate::Core;
use crate::model::contexts::Created;
use crate::model::target::Target;
use crate::protocol::error::CdpError;
use crate::protocol::ids::{ChildId, Debuggee, TabId};
use crate::protocol::json::{self, string_field};
use crate::protocol::methods::domains::{LIFECYCLE, LOADED};
use crate::protocol::methods::event::Event;

impl Core {
    /// Applies an event to the state of its tab and sends it to the sessions that have enabled it.
    pub(crate) fn apply_event(
        &mut self,
        debuggee: &Debuggee,
        event: Event,
        method: &str,
        params: &str,
    ) {
        let Some(tab) = self.world.tabs.get_mut(debuggee.tab_id) else {
            return;
        };
        let child_id = debuggee.child_id.as_ref();
        if child_id.is_none() && event == Event::FrameNavigated {
            tab.learn_main_frame(params);
        }
        let params = tab.frame_to_announced(Cow::Borrowed(params));
        let (params, is_known) = tab.note_child_context(child_id, event, params);
        let params = &*params;
        if let Some(mirror) = tab.mirror_mut(child_id) {
            mirror.note(event, params);
        }
        tab.note_document_request(child_id, event, params);
        if child_id.is_none() {
            tab.frames_mut().note(event, params);
        }
        if is_known {
            return;
        }
        match child_id {
            None => self.apply_page_event(debuggee, event, method, params),
            Some(child_id) => self.apply_child_event(debuggee, child_id, event, method, params),
        }
    }

    fn apply_page_event(&mut self, page: &Debuggee, event: Event, method: &str, params: &str) {
        let tab_id = page.tab_id;
        let target = Target::Page(tab_id);
        match event {
            Event::ContextCreated => self.on_context_created(tab_id, method, params),
            Event::ContextDestroyed => self.on_context_destroyed(tab_id, params),
            Event::ContextsCleared => {
                if let Some(tab) = self.world.tabs.get_mut(tab_id) {
                    tab.clear_contexts();
                }
                self.broadcast(&target, method, params);
            }
            Event::Crashed => {
                // Chrome would answer only after a reload, if ever.
                let waiting = self
                    .out
                    .calls
                    .take_where(|call| call.waits_for_page(tab_id));
                for (_, call) in waiting {
                    self.fail_call(call, &CdpError::PageCrashed);
                }
                self.broadcast(&target, method, params);
            }
            Event::FrameNavigated => {
                self.broadcast(&target, method, params);
                self.complete_restored_page(tab_id, params);
            }
            Event::ConsoleCalled | Event::LogEntryAdded => {
                self.broadcast_logged(tab_id, event, method, params);
            }
            _ => self.apply_common_event(page, event, method, params),
        }
    }

    fn apply_child_event(
        &mut self,
        child: &Debuggee,
        child_id: &ChildId,
        event: Event,
        method: &str,
        params: &str,
    ) {
        if event == Event::FrameStartedNavigating
            && let Some(tab) = self.world.tabs.get_mut(child.tab_id)
            && let Some(child) = tab.child_mut(child_id)
        {
            let navigation = string_field(params, "frameId").zip(string_field(params, "loaderId"));
            child.set_navigation(navigation);
        }
        self.apply_common_event(child, event, method, params);
    }

    /// What pages and children have in common.
    fn apply_common_event(
        &mut self,
        debuggee: &Debuggee,
        event: Event,
        method: &str,
        params: &str,
    ) {
        match event {
            Event::ChildAttached => return self.on_child_attached(debuggee, params),
            Event::ChildDetached => {
                if let Some(child) = string_field(params, "sessionId") {
                    self.on_child_detached(debuggee.tab_id, &ChildId::new(&child));
                }
                return;
            }
            Event::ChildInfoChanged => {
                return self.on_child_info_changed(debuggee.tab_id, params);
            }
            Event::RequestPaused | Event::AuthRequired => {
                return self.on_request_paused(debuggee, method, params);
            }
            Event::LoadingFailed => {
                if let Some(tab) = self.world.tabs.get_mut(debuggee.tab_id)
                    && !tab.paused().is_empty()
                    && let Some(id) = string_field(params, "requestId")
                {
                    tab.paused_mut().on_loading_failed(&id);
                }
            }
            _ => {}
        }
        self.broadcast(&Target::from(debuggee), method, params);
    }

    fn on_context_created(&mut self, tab_id: TabId, method: &str, params: &str) {
        let Some(description) = json::field(params, "context") else {
            return;
        };
        let Some(tab) = self.world.tabs.get_mut(tab_id) else {
            return;
        };
        if tab.contexts_mut().on_created(description) != Some(Created::Paired) {
            self.broadcast(&Target::Page(tab_id), method, params);
        }
    }

    fn on_context_destroyed(&mut self, tab_id: TabId, params: &str) {
        let id = json::integer_field(params, "executionContextId");
        let (Some(id), Some(tab)) = (id, self.world.tabs.get_mut(tab_id)) else {
            return;
        };
        if let Some(context) = tab.contexts_mut().on_destroyed(id) {
            self.announce_context_destroyed(tab_id, &context);
        }
    }

    /// A page from the back/forward cache is complete, so Chrome reports no loading. Clients that
    /// went back would wait for it forever.
    fn complete_restored_page(&mut self, tab_id: TabId, params: &str) {
        if json::field(params, "type") != Some("\"BackForwardCacheRestore\"") {
            return;
        }
        let Some(frame) = json::field(params, "frame") else {
            return;
        };
        let field = |key| json::field(frame, key).unwrap_or("null");
        let (frame_id, loader_id) = (field("id"), field("loaderId"));
        let timestamp = self.out.now.as_secs_f64();
        for name in LOADED {
            let params = format!(
                r#"{{"frameId":{frame_id},"loaderId":{loader_id},"name":"{name}","timestamp":{timestamp}}}"#
            );
            let page = Target::Page(tab_id);
            if let Some(mirror) = self.world.mirror_mut(&page) {
                mirror.note(Event::Lifecycle, &params);
            }
            self.broadcast(&page, LIFECYCLE, &params);
        }
    }
}
