//! What Chrome tells once, as something is switched on, and a session that switches it on later would never hear: the scripts
//! and style sheets of a target, how far its frames are loaded, and the contexts of a target below a tab (those of the page
//! itself are in `contexts`).

use std::sync::Arc;

use crate::Core;
use crate::ids::SessionId;
use crate::sessions::Subject;
use crate::switches::{LIFECYCLE, gate_of};
use crate::translate;

/// An event that tells of something, where its id is, and the event that takes it back with the id's place there.
struct Told {
    event: &'static str,
    id: &'static [&'static str],
    taken_back_by: &'static str,
    taken_back_id: &'static str,
}

const TOLD: &[Told] = &[
    Told {
        event: "CSS.styleSheetAdded",
        id: &["header", "styleSheetId"],
        taken_back_by: "CSS.styleSheetRemoved",
        taken_back_id: "styleSheetId",
    },
    Told {
        event: "Debugger.scriptParsed",
        id: &["scriptId"],
        taken_back_by: "",
        taken_back_id: "",
    },
    Told {
        event: "Runtime.executionContextCreated",
        id: &["context", "id"],
        taken_back_by: "Runtime.executionContextDestroyed",
        taken_back_id: "executionContextId",
    },
];

/// A page that makes scripts without end must not fill the relay: of each kind the oldest are forgotten, and what is very long
/// (a script with its whole source map) is not kept at all.
const MOST: usize = 5_000;
const LONGEST: usize = 8 << 10;

#[derive(Debug, Default)]
pub struct Mirror {
    /// An entry enters with its event, and leaves when it is taken back, with its document, or when the domain is switched off.
    told: Vec<Entry>,
    /// The breakpoints at which the target has stopped; none while it runs.
    pub stopped_at: Vec<String>,
}

#[derive(Debug)]
struct Entry {
    event: &'static str,
    id: String,
    params: Arc<str>,
}

impl Mirror {
    pub fn note(&mut self, event: &str, params: &str) {
        if event == "Runtime.executionContextsCleared" {
            self.forget("Runtime");
            self.forget("Debugger");
            return;
        }
        if event == "Page.frameDetached" {
            let frame = translate::field(params, "frameId").unwrap_or_default();
            self.told
                .retain(|entry| entry.event != LIFECYCLE || entry.id != frame);
            return;
        }
        match event {
            LIFECYCLE => return self.note_lifecycle(params),
            "Debugger.paused" => {
                self.stopped_at = translate::field(params, "hitBreakpoints")
                    .and_then(|ids| serde_json::from_str(ids).ok())
                    .unwrap_or_default();
            }
            "Debugger.resumed" => self.stopped_at.clear(),
            _ => {}
        }
        for told in TOLD {
            if told.event == event {
                let Some(id) = translate::locate(params, told.id) else {
                    return;
                };
                self.told
                    .retain(|entry| entry.event != event || entry.id != id);
                self.push(Entry {
                    event: told.event,
                    id: id.to_owned(),
                    params: params.into(),
                });
            } else if told.taken_back_by == event {
                let id = translate::field(params, told.taken_back_id).unwrap_or_default();
                self.told
                    .retain(|entry| entry.event != told.event || entry.id != id);
            }
        }
    }

    /// A frame's document begins with `init`, and the states of the one before are of no interest any more.
    fn note_lifecycle(&mut self, params: &str) {
        let Some(frame) = translate::field(params, "frameId") else {
            return;
        };
        if translate::field(params, "name") == Some("\"init\"") {
            self.told
                .retain(|entry| entry.event != LIFECYCLE || entry.id != frame);
        }
        self.push(Entry {
            event: LIFECYCLE,
            id: frame.to_owned(),
            params: params.into(),
        });
    }

    fn push(&mut self, entry: Entry) {
        if entry.params.len() > LONGEST {
            return;
        }
        let mut alike = self
            .told
            .iter()
            .enumerate()
            .filter(|(_, kept)| kept.event == entry.event)
            .map(|(index, _)| index);
        let oldest = alike.next();
        if alike.count() + 1 >= MOST
            && let Some(oldest) = oldest
        {
            self.told.remove(oldest);
        }
        self.told.push(entry);
    }

    /// The switch is off in Chrome, which tells it all again when it is on again.
    pub fn forget(&mut self, switch: &str) {
        self.told.retain(|entry| gate_of(entry.event) != switch);
        if switch == "Debugger" {
            self.stopped_at.clear();
        }
    }

    fn of_switch(&self, switch: &str) -> Vec<(&'static str, Arc<str>)> {
        self.told
            .iter()
            .filter(|entry| gate_of(entry.event) == switch)
            .map(|entry| (entry.event, entry.params.clone()))
            .collect()
    }
}

impl Core {
    /// Tells a session that has just switched something on what others of its target know already.
    pub(crate) fn tell_mirrored(&mut self, session: SessionId, switch: &str) {
        let Some(subject) = self.sessions.get(session).map(|view| view.subject.clone()) else {
            return;
        };
        let Some(mirror) = self.mirror_of(&subject) else {
            return;
        };
        for (event, params) in mirror.of_switch(switch) {
            let params = self.in_clients_words(&subject, event, &params).into_owned();
            self.send_event(session, event, &params);
        }
    }

    pub(crate) fn mirror_of(&mut self, subject: &Subject) -> Option<&mut Mirror> {
        match subject {
            Subject::Page(tab) => self.tabs.get_mut(*tab).map(|tab| &mut tab.mirror),
            Subject::Child(tab, child) => self
                .tabs
                .get_mut(*tab)?
                .children
                .get_mut(child)
                .map(|child| &mut child.mirror),
            Subject::Browser | Subject::Tab(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(mirror: &Mirror, switch: &str) -> Vec<String> {
        mirror
            .of_switch(switch)
            .into_iter()
            .map(|(_, params)| params.to_string())
            .collect()
    }

    #[test]
    fn what_is_taken_back_is_not_told_again() {
        let mut mirror = Mirror::default();
        for id in [1, 2] {
            mirror.note(
                "Runtime.executionContextCreated",
                &format!(r#"{{"context":{{"id":{id}}}}}"#),
            );
            mirror.note(
                "Debugger.scriptParsed",
                &format!(r#"{{"scriptId":"{id}"}}"#),
            );
        }
        mirror.note(
            "Runtime.executionContextDestroyed",
            r#"{"executionContextId":1}"#,
        );
        assert_eq!(told(&mirror, "Runtime"), [r#"{"context":{"id":2}}"#]);
        assert_eq!(told(&mirror, "Debugger").len(), 2);
        mirror.forget("Debugger");
        assert!(told(&mirror, "Debugger").is_empty());
        mirror.note("Runtime.executionContextsCleared", "{}");
        assert!(told(&mirror, "Runtime").is_empty());
    }

    #[test]
    fn a_new_document_of_a_frame_begins_its_states_anew() {
        let mut mirror = Mirror::default();
        for (frame, name) in [
            ("a", "init"),
            ("a", "load"),
            ("b", "init"),
            ("a", "init"),
            ("a", "commit"),
        ] {
            mirror.note(
                LIFECYCLE,
                &format!(r#"{{"frameId":"{frame}","name":"{name}"}}"#),
            );
        }
        let names: Vec<_> = told(&mirror, LIFECYCLE)
            .iter()
            .map(|params| translate::text_field(params, "name").unwrap())
            .collect();
        assert_eq!(names, ["init", "init", "commit"]);
        assert!(
            told(&mirror, "Page").is_empty(),
            "it has a switch of its own"
        );
    }
}
