//! Whether a page or a child waits for the server of its next document, as far as `Network` and
//! `Page` events tell. Chrome holds back commands to a page that is about to be left, so a slow
//! server looks like a hung page.

use super::Tab;
use crate::model::child::Child;
use crate::protocol::ids::{ChildId, TargetId};
use crate::protocol::json;
use crate::protocol::methods::event::Event;

impl Tab {
    pub fn awaits_document(&self, child_id: Option<&ChildId>) -> bool {
        let awaited = match child_id {
            None => self.awaited_document.as_ref(),
            Some(id) => self.child(id).and_then(Child::awaited_document),
        };
        awaited.is_some()
    }

    pub fn note_document_request(
        &mut self,
        child_id: Option<&ChildId>,
        event: Event,
        params: &str,
    ) {
        match event {
            // Most requests are not for a document; this check avoids parsing them.
            Event::RequestSent if params.contains("\"Document\"") => {
                let frame = json::string_field(params, "frameId");
                let is_document = json::field(params, "type") == Some("\"Document\"");
                if is_document && self.is_own_frame(child_id, frame.as_deref()) {
                    let request_id = json::string_field(params, "requestId");
                    self.set_awaited_document(child_id, request_id);
                }
            }
            Event::ResponseReceived | Event::LoadingFailed if self.awaits_document(child_id) => {
                let request_id = json::string_field(params, "requestId");
                if let Some(awaited) = self.awaited_document_mut(child_id)
                    && *awaited == request_id
                {
                    *awaited = None;
                }
            }
            Event::FrameNavigated => {
                let frame = json::locate(params, &["frame", "id"]).map(|id| id.trim_matches('"'));
                if self.is_own_frame(child_id, frame) {
                    self.set_awaited_document(child_id, None);
                }
            }
            _ => {}
        }
    }

    fn is_own_frame(&self, child_id: Option<&ChildId>, frame: Option<&str>) -> bool {
        let own = match child_id {
            None => Some(self.page_id()),
            Some(id) => self.child(id).map(Child::target_id),
        };
        frame.is_some() && frame == own.map(TargetId::as_str)
    }

    fn set_awaited_document(&mut self, child_id: Option<&ChildId>, request_id: Option<String>) {
        if let Some(awaited) = self.awaited_document_mut(child_id) {
            *awaited = request_id;
        }
    }

    fn awaited_document_mut(&mut self, child_id: Option<&ChildId>) -> Option<&mut Option<String>> {
        match child_id {
            None => Some(&mut self.awaited_document),
            Some(id) => self.child_mut(id).map(Child::awaited_document_mut),
        }
    }
}
