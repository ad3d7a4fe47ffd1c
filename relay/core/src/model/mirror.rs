//! Events that Chrome sends only once and that a session enabling their domain later would miss:
//! scripts and style sheets, lifecycle events of frames, and contexts of child targets (`contexts`
//! has those of the page itself).

use std::sync::Arc;

use crate::protocol::json;
use crate::protocol::methods::domains::{LIFECYCLE, switch_of_event};
use crate::protocol::methods::event::{Event, MIRRORED};

/// A page that creates scripts endlessly must not fill the relay: the oldest of each kind are
/// dropped, and very long events (a script with its whole source map) are not kept.
const MAX_PER_KIND: usize = 5_000;
const MAX_PARAMS_LEN: usize = 8 << 10;

#[derive(Debug, Default)]
pub struct Mirror {
    /// An entry enters with its event. It leaves when the thing ends, with its document, or when
    /// its domain is disabled.
    entries: Vec<Entry>,
    /// The breakpoints at which the target is paused; empty while it runs.
    paused_at: Vec<String>,
}

#[derive(Debug)]
struct Entry {
    method: &'static str,
    id: String,
    params: Arc<str>,
}

impl Mirror {
    pub fn note(&mut self, event: Event, params: &str) {
        match event {
            Event::Other => return,
            Event::ContextsCleared => {
                self.forget("Runtime");
                self.forget("Debugger");
                return;
            }
            Event::FrameDetached => {
                let frame = json::field(params, "frameId").unwrap_or_default();
                return self.remove(LIFECYCLE, frame);
            }
            Event::Lifecycle => return self.note_lifecycle(params),
            Event::DebuggerPaused => {
                self.paused_at = json::field(params, "hitBreakpoints")
                    .and_then(|ids| serde_json::from_str(ids).ok())
                    .unwrap_or_default();
            }
            Event::DebuggerResumed => self.paused_at.clear(),
            _ => {}
        }
        for mirrored in MIRRORED {
            if mirrored.event == event {
                let Some(id) = json::locate(params, mirrored.id) else {
                    return;
                };
                self.remove(mirrored.method, id);
                self.push(mirrored.method, id, params);
            } else if let Some((_, key)) = mirrored.ended_by.filter(|(end, _)| *end == event) {
                self.remove(
                    mirrored.method,
                    json::field(params, key).unwrap_or_default(),
                );
            }
        }
    }

    /// A frame's new document starts with `init`; the events of its previous document are obsolete.
    fn note_lifecycle(&mut self, params: &str) {
        let Some(frame) = json::field(params, "frameId") else {
            return;
        };
        if json::field(params, "name") == Some("\"init\"") {
            self.remove(LIFECYCLE, frame);
        }
        self.push(LIFECYCLE, frame, params);
    }

    fn remove(&mut self, method: &str, id: &str) {
        self.entries
            .retain(|entry| entry.method != method || entry.id != id);
    }

    fn push(&mut self, method: &'static str, id: &str, params: &str) {
        if params.len() > MAX_PARAMS_LEN {
            return;
        }
        let of_kind = |entry: &&Entry| entry.method == method;
        if self.entries.iter().filter(of_kind).count() >= MAX_PER_KIND
            && let Some(oldest) = self.entries.iter().position(|e| e.method == method)
        {
            self.entries.remove(oldest);
        }
        self.entries.push(Entry {
            method,
            id: id.to_owned(),
            params: params.into(),
        });
    }

    /// The switch is off in Chrome, which sends these events again when it is turned on.
    pub fn forget(&mut self, switch: &str) {
        self.entries
            .retain(|entry| switch_of_event(entry.method) != switch);
        if switch == "Debugger" {
            self.paused_at.clear();
        }
    }

    /// The method and parameters of the events that a switch lets through, in order.
    pub fn of_switch(&self, switch: &str) -> Vec<(&'static str, Arc<str>)> {
        self.entries
            .iter()
            .filter(|entry| switch_of_event(entry.method) == switch)
            .map(|entry| (entry.method, entry.params.clone()))
            .collect()
    }

    /// Whether the target is paused, and only at breakpoints for which `is_removed` holds.
    pub fn is_paused_only_at(&self, is_removed: impl Fn(&String) -> bool) -> bool {
        !self.paused_at.is_empty() && self.paused_at.iter().all(is_removed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(mirror: &Mirror, switch: &str) -> Vec<String> {
        let events = mirror.of_switch(switch).into_iter();
        events.map(|(_, params)| params.to_string()).collect()
    }

    #[test]
    fn forgets_what_has_ended() {
        let mut mirror = Mirror::default();
        for id in [1, 2] {
            mirror.note(
                Event::ContextCreated,
                &format!(r#"{{"context":{{"id":{id}}}}}"#),
            );
            mirror.note(Event::ScriptParsed, &format!(r#"{{"scriptId":"{id}"}}"#));
        }
        mirror.note(Event::ContextDestroyed, r#"{"executionContextId":1}"#);
        assert_eq!(params(&mirror, "Runtime"), [r#"{"context":{"id":2}}"#]);
        assert_eq!(params(&mirror, "Debugger").len(), 2);
        mirror.forget("Debugger");
        assert!(params(&mirror, "Debugger").is_empty());
        mirror.note(Event::ContextsCleared, "{}");
        assert!(params(&mirror, "Runtime").is_empty());
    }

    #[test]
    fn a_new_document_replaces_the_lifecycle_of_its_frame() {
        let mut mirror = Mirror::default();
        for (frame, name) in [
            ("a", "init"),
            ("a", "load"),
            ("b", "init"),
            ("a", "init"),
            ("a", "commit"),
        ] {
            let params = format!(r#"{{"frameId":"{frame}","name":"{name}"}}"#);
            mirror.note(Event::Lifecycle, &params);
        }
        let names: Vec<_> = params(&mirror, LIFECYCLE)
            .iter()
            .map(|params| json::string_field(params, "name").unwrap())
            .collect();
        assert_eq!(names, ["init", "init", "commit"]);
        assert!(params(&mirror, "Page").is_empty(), "it has its own switch");
    }
}
