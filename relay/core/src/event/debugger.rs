//! Debugger events and detachments of tabs.

use serde_json::value::RawValue;

use crate::Core;
use crate::model::target::Target;
use crate::model::wake::HeldEvent;
use crate::protocol::ids::{ChildId, Debuggee};
use crate::protocol::methods::event::Event;
use crate::protocol::wire::{CdpEvent, TabDetached};

impl Core {
    /// A debugger event. While its tab wakes it is held, so that clients know a frame before they
    /// receive its events.
    pub(crate) fn on_cdp_event(&mut self, received: &CdpEvent<'_>) {
        let child_id = received.child_session_id.as_ref();
        let child_id = (!child_id.is_empty()).then(|| ChildId::new(child_id));
        let method = received.method.as_ref();
        let params = received.params.map_or("{}", RawValue::get);
        let tab_id = received.tab_id;
        let Some(tab) = self.world.tabs.get_mut(tab_id) else {
            return;
        };
        if !tab.has_replayed() {
            // From a debugger that was detached a moment ago.
            return;
        }
        let event = Event::classify(method);
        let is_page = child_id.is_none();
        if is_page && self.is_end_of_closing_page(tab_id, event, params) {
            return;
        }
        let Some(tab) = self.world.tabs.get_mut(tab_id) else {
            return;
        };
        if is_page {
            match event {
                Event::DialogOpening => tab.set_dialog_open(true),
                Event::DialogClosed => tab.set_dialog_open(false),
                Event::Crashed => tab.set_crashed(true),
                Event::ReloadedAfterCrash => tab.set_crashed(false),
                _ => {}
            }
        }
        let Some(wake) = tab.wake_mut() else {
            let debuggee = Debuggee { tab_id, child_id };
            return self.apply_event(&debuggee, event, method, params);
        };
        if is_page && matches!(event, Event::DialogOpening | Event::DialogClosed) {
            // A dialog blocks the page, and waking with it, until a client answers.
            return self.broadcast(&Target::Page(tab_id), method, params);
        }
        wake.hold(HeldEvent {
            child_id,
            method: method.to_owned(),
            params: params.to_owned(),
        });
        if is_page && event == Event::Crashed {
            self.wake_crashed(tab_id);
        }
    }

    pub(crate) fn on_tab_detached(&mut self, detached: &TabDetached) {
        let (tab_id, reason) = (detached.tab_id, detached.reason.as_str());
        tracing::info!(tab = %tab_id, reason, "debugger detached");
        if reason == "target_closed" {
            self.confirm_closing(tab_id);
        }
        if reason == "canceled_by_user" {
            self.on_tab_released(tab_id);
        } else {
            self.on_attachment_lost(tab_id, reason);
        }
        if let Some(tab) = self.world.tabs.get_mut(tab_id) {
            tab.stay_detached();
        }
    }
}
