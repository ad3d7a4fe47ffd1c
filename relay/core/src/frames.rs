//! The frames of one tab's page, as its clients know them: what `Page.getFrameTree` says, kept up to date by the events that
//! change it, so that a client that comes later learns it though the page may be busy.
//!
//! Frames of other processes are not here: they are targets of their own, and Chrome leaves them out too.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Core;
use crate::contexts::Context;
use crate::ids::{SessionId, TabId};
use crate::sessions::Subject;
use crate::translate::{self, field, text_field};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub id: String,
    pub parent: Option<String>,
    /// The CDP `Frame`; of one that has shown no document yet only what is known of it.
    pub text: String,
}

/// A CDP `Frame`, as far as it is known without Chrome's own description.
pub fn describe(id: &str, parent: Option<&str>, loader: &str, url: &str) -> serde_json::Value {
    let (document, fragment) = split(url);
    let mut frame = serde_json::json!({
        "id": id, "loaderId": loader, "url": document, "domainAndRegistry": "", "securityOrigin": origin(url), "mimeType": "text/html",
        "adFrameStatus": { "adFrameType": "none" },
        "secureContextType": if url.starts_with("https:") { "Secure" } else { "InsecureScheme" },
        "crossOriginIsolatedContextType": "NotIsolated", "gatedAPIFeatures": [],
    });
    let parts = [
        ("parentId", parent.map(str::to_owned)),
        ("urlFragment", fragment),
    ];
    if let Some(object) = frame.as_object_mut() {
        object.extend(
            parts
                .into_iter()
                .filter_map(|(key, value)| Some((key.to_owned(), value?.into()))),
        );
    }
    frame
}

/// An address as a `Frame` carries it: the document's, and the place in it.
fn split(url: &str) -> (&str, Option<String>) {
    url.split_once('#')
        .map_or((url, None), |(document, place)| {
            (document, Some(format!("#{place}")))
        })
}

/// The security origin of a document, as contexts and frames carry it.
pub fn origin(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return "://".to_owned();
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}")
}

impl Frame {
    fn attached(id: String, parent: String) -> Self {
        let text = describe(&id, Some(&parent), "", "").to_string();
        Self {
            id,
            parent: Some(parent),
            text,
        }
    }

    /// A CDP `Frame`.
    fn read(text: &str) -> Option<Self> {
        Some(Self {
            id: text_field(text, "id")?,
            parent: text_field(text, "parentId"),
            text: text.to_owned(),
        })
    }
}

/// The book of frames. It is filled by a frame tree, and right as long as Chrome tells of `Page`.
#[derive(Debug, Default)]
pub struct Frames {
    /// The main frame's document, once the debugger has told of it.
    main: Option<String>,
    /// Child frames that clients were told of, parents first. They enter with the tree or `Page.frameAttached`, and leave with
    /// `Page.frameDetached` or with the document that holds them.
    below: Vec<Frame>,
    /// Whether all frames of the page are here.
    pub is_complete: bool,
}

impl Frames {
    /// A tree of all frames: gives those that were not known.
    pub fn learn(&mut self, tree: &str) -> Vec<Frame> {
        let (main, below): (Vec<_>, Vec<_>) = frames_of(tree)
            .into_iter()
            .partition(|frame| frame.parent.is_none());
        self.main = main.into_iter().next().map(|frame| frame.text);
        let before = std::mem::replace(&mut self.below, below);
        self.is_complete = true;
        self.below
            .iter()
            .filter(|frame| before.iter().all(|known| known.id != frame.id))
            .cloned()
            .collect()
    }

    pub fn note(&mut self, event: &str, params: &str) {
        match event {
            "Page.frameAttached" => {
                if let (Some(id), Some(parent)) = (
                    text_field(params, "frameId"),
                    text_field(params, "parentFrameId"),
                ) {
                    self.remove(&id);
                    self.below.push(Frame::attached(id, parent));
                }
            }
            "Page.frameDetached" => {
                if let Some(id) = text_field(params, "frameId") {
                    self.remove(&id);
                }
            }
            "Page.frameNavigated" => {
                let Some(frame) = field(params, "frame").and_then(Frame::read) else {
                    return;
                };
                self.remove_below(&frame.id);
                if frame.parent.is_none() {
                    // The frames of a page that comes back are there again, and Chrome does not tell of them.
                    self.is_complete = field(params, "type") != Some("\"BackForwardCacheRestore\"");
                }
                self.replace(frame);
            }
            "Page.documentOpened" => {
                if let Some(frame) = field(params, "frame").and_then(Frame::read) {
                    self.replace(frame);
                }
            }
            "Page.navigatedWithinDocument" => {
                if let (Some(id), Some(url)) =
                    (text_field(params, "frameId"), text_field(params, "url"))
                {
                    self.move_within_document(&id, &url);
                }
            }
            _ => {}
        }
    }

    fn replace(&mut self, frame: Frame) {
        if frame.parent.is_none() {
            self.main = Some(frame.text);
        } else if let Some(known) = self.below.iter_mut().find(|known| known.id == frame.id) {
            *known = frame;
        } else {
            self.below.push(frame);
        }
    }

    fn move_within_document(&mut self, id: &str, url: &str) {
        let main = self
            .main
            .as_mut()
            .filter(|text| text_field(text, "id").as_deref() == Some(id));
        let Some(text) = main.or_else(|| {
            self.below
                .iter_mut()
                .find(|frame| frame.id == id)
                .map(|frame| &mut frame.text)
        }) else {
            return;
        };
        let Ok(mut frame) = serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(text) else {
            return;
        };
        let (document, fragment) = split(url);
        frame.remove("urlFragment");
        for (key, value) in [
            ("url", Some(document.to_owned())),
            ("urlFragment", fragment),
        ] {
            if let Some(value) =
                value.and_then(|value| serde_json::value::to_raw_value(&value).ok())
            {
                frame.insert(key.to_owned(), value);
            }
        }
        if let Ok(moved) = serde_json::to_string(&frame) {
            *text = moved;
        }
    }

    fn remove(&mut self, id: &str) {
        self.remove_below(id);
        self.below.retain(|frame| frame.id != id);
    }

    /// The frames that a document held go with it.
    fn remove_below(&mut self, id: &str) {
        let mut gone = vec![id.to_owned()];
        self.below.retain(|frame| {
            let is_gone = frame
                .parent
                .as_ref()
                .is_some_and(|parent| gone.contains(parent));
            if is_gone {
                gone.push(frame.id.clone());
            }
            !is_gone
        });
    }

    pub fn contains(&self, id: &str) -> bool {
        self.below.iter().any(|frame| frame.id == id)
    }

    pub fn below(&self) -> impl DoubleEndedIterator<Item = &Frame> {
        self.below.iter()
    }

    /// The main frame, or what stands for it.
    pub fn main(&self, instead: &serde_json::Value) -> String {
        self.main.clone().unwrap_or_else(|| instead.to_string())
    }

    /// The result of `Page.getFrameTree`; `main` stands for the main frame where nothing better is known.
    pub fn tree(&self, main: &serde_json::Value) -> String {
        // From the last to the first: whoever is below a frame comes after it.
        let mut children: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for frame in self.below.iter().rev() {
            let node = node(
                &frame.text,
                children.remove(frame.id.as_str()).unwrap_or_default(),
            );
            children
                .entry(frame.parent.as_deref().unwrap_or_default())
                .or_default()
                .push(node);
        }
        let main = self.main(main);
        let id = text_field(&main, "id").unwrap_or_default();
        let tree = node(&main, children.remove(id.as_str()).unwrap_or_default());
        format!(r#"{{"frameTree":{tree}}}"#)
    }
}

/// A `FrameTree`; its children are given from the last to the first.
fn node(frame: &str, children: Vec<String>) -> String {
    if children.is_empty() {
        return format!(r#"{{"frame":{frame}}}"#);
    }
    let children: Vec<String> = children.into_iter().rev().collect();
    format!(
        r#"{{"frame":{frame},"childFrames":[{}]}}"#,
        children.join(",")
    )
}

impl Core {
    /// The frames of a page as Chrome has them, in its own words.
    pub(crate) fn on_frame_tree(&mut self, tab: TabId, tree: &str) {
        let Some(known) = self.tabs.get(tab) else {
            return;
        };
        let tree = known.frame_to_announced(Cow::Borrowed(tree)).into_owned();
        self.learn_frames(tab, &tree, None);
    }

    /// Tells of the frames that were not known, and of what is in them; not the session that is answered with the tree.
    pub(crate) fn learn_frames(&mut self, tab: TabId, tree: &str, asker: Option<SessionId>) {
        let Some(known) = self.tabs.get_mut(tab) else {
            return;
        };
        let unknown = known.frames.learn(tree);
        for frame in unknown {
            let attached =
                serde_json::json!({ "frameId": frame.id, "parentFrameId": frame.parent })
                    .to_string();
            let navigated = format!(r#"{{"frame":{},"type":"Navigation"}}"#, frame.text);
            let views: Vec<(SessionId, bool)> = self
                .sessions
                .viewing(&Subject::Page(tab))
                .filter(|(id, view)| Some(*id) != asker && view.enabled.contains("Page"))
                .map(|(id, view)| (id, view.enabled.contains("Runtime")))
                .collect();
            for (session, hears_contexts) in views {
                self.send_event(session, "Page.frameAttached", &attached);
                self.send_event(session, "Page.frameNavigated", &navigated);
                if hears_contexts {
                    self.announce_contexts_of(session, tab, |context| context.frame == frame.id);
                }
            }
        }
    }

    /// Tells one session of every context of its page; one that hears of frames hears of what is in them only afterwards.
    pub(crate) fn announce_contexts_to(&mut self, session: SessionId) {
        let Some(view) = self.sessions.get(session) else {
            return;
        };
        let hears_frames = view.enabled.contains("Page");
        let Some(known) = view.subject.tab().and_then(|tab| self.tabs.get(tab)) else {
            return;
        };
        let mut frames: Vec<String> = known.frames.below().map(|frame| frame.id.clone()).collect();
        frames.push(known.page.to_string());
        self.announce_contexts_of(session, known.id, |context| {
            !hears_frames || frames.contains(&context.frame)
        });
    }

    fn announce_contexts_of(
        &mut self,
        session: SessionId,
        tab: TabId,
        is_meant: impl Fn(&Context) -> bool,
    ) {
        let Some(known) = self.tabs.get(tab) else {
            return;
        };
        let meant = known.contexts.iter().filter(|context| is_meant(context));
        let all: Vec<String> = meant
            .map(|context| format!(r#"{{"context":{}}}"#, context.description))
            .collect();
        for params in all {
            self.send_event(session, "Runtime.executionContextCreated", &params);
        }
    }
}

/// All frames in the result of `Page.getFrameTree`, parents first.
pub fn frames_of(tree: &str) -> Vec<Frame> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Node<'a> {
        #[serde(borrow)]
        frame: &'a RawValue,
        #[serde(borrow, default)]
        child_frames: Vec<&'a RawValue>,
    }
    let mut found = Vec::new();
    // A list of what is still to be read instead of recursion: frames may be nested deeper than a stack is.
    let mut unread: VecDeque<&str> = translate::field(tree, "frameTree").into_iter().collect();
    while let Some(text) = unread.pop_front() {
        let Ok(node) = serde_json::from_str::<Node<'_>>(text) else {
            continue;
        };
        unread.extend(node.child_frames.iter().map(|child| child.get()));
        found.extend(Frame::read(node.frame.get()));
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn frame(id: &str, parent: Option<&str>) -> Value {
        let mut frame = json!({ "id": id, "loaderId": "l", "url": format!("https://{id}/") });
        if let Some(parent) = parent {
            frame["parentId"] = parent.into();
        }
        frame
    }

    /// A page `main` with a frame `a`, in which is `b`, and a frame `c`.
    fn known() -> (Frames, Value) {
        let a = json!({ "frame": frame("a", Some("main")), "childFrames": [{ "frame": frame("b", Some("a")) }] });
        let tree = json!({ "frameTree": { "frame": frame("main", None), "childFrames": [a, { "frame": frame("c", Some("main")) }] } });
        let mut frames = Frames::default();
        let unknown: Vec<_> = frames
            .learn(&tree.to_string())
            .into_iter()
            .map(|frame| frame.id)
            .collect();
        assert_eq!(unknown, ["a", "c", "b"]);
        (frames, tree)
    }

    fn told(frames: &Frames) -> Value {
        serde_json::from_str(&frames.tree(&json!({ "id": "main" }))).unwrap()
    }

    #[test]
    fn the_tree_is_told_again_as_it_was_learned() {
        let (mut frames, tree) = known();
        assert_eq!(told(&frames), tree);
        assert!(
            frames.learn(&tree.to_string()).is_empty(),
            "nothing is new the second time"
        );
        assert_eq!(told(&frames), tree);
    }

    #[test]
    fn frames_that_come_and_go_change_it() {
        let (mut frames, _) = known();
        frames.note(
            "Page.frameAttached",
            r#"{"frameId":"d","parentFrameId":"c"}"#,
        );
        let d = frame("d", Some("c"));
        frames.note(
            "Page.frameNavigated",
            &json!({ "frame": d, "type": "Navigation" }).to_string(),
        );
        frames.note("Page.frameDetached", r#"{"frameId":"a","reason":"remove"}"#);
        let c = json!({ "frame": frame("c", Some("main")), "childFrames": [{ "frame": d }] });
        assert_eq!(
            told(&frames),
            json!({ "frameTree": { "frame": frame("main", None), "childFrames": [c] } })
        );
    }

    #[test]
    fn a_new_document_takes_the_frames_of_the_one_before_along() {
        let (mut frames, _) = known();
        frames.note(
            "Page.frameNavigated",
            &json!({ "frame": frame("a", Some("main")) }).to_string(),
        );
        assert!(frames.contains("a") && !frames.contains("b"));
        frames.note(
            "Page.frameNavigated",
            &json!({ "frame": frame("main", None) }).to_string(),
        );
        assert_eq!(frames.below().count(), 0);
        assert!(frames.is_complete);
        frames.note(
            "Page.frameNavigated",
            &json!({ "frame": frame("main", None), "type": "BackForwardCacheRestore" }).to_string(),
        );
        assert!(!frames.is_complete, "its frames are back too, and untold");
    }

    #[test]
    fn an_address_that_changes_within_the_document_is_the_frames_own() {
        let (mut frames, _) = known();
        for (id, at) in [
            ("main", "/frameTree/frame"),
            ("b", "/frameTree/childFrames/0/childFrames/0/frame"),
        ] {
            frames.note(
                "Page.navigatedWithinDocument",
                &json!({ "frameId": id, "url": "https://x/y#z" }).to_string(),
            );
            let moved = told(&frames).pointer(at).unwrap().clone();
            assert_eq!(
                (moved["url"].as_str(), moved["urlFragment"].as_str()),
                (Some("https://x/y"), Some("#z"))
            );
            assert_eq!(moved["loaderId"], "l");
        }
    }

    #[test]
    fn a_frame_without_a_document_is_told_of_too() {
        let mut frames = Frames::default();
        frames.note(
            "Page.frameAttached",
            r#"{"frameId":"a","parentFrameId":"main"}"#,
        );
        assert_eq!(
            told(&frames)
                .pointer("/frameTree/childFrames/0/frame/parentId")
                .unwrap(),
            "main"
        );
    }

    #[test]
    fn a_frame_below_one_that_was_not_known_is_in_its_place_when_the_tree_is() {
        let (mut frames, tree) = known();
        frames.note("Page.frameDetached", r#"{"frameId":"a","reason":"remove"}"#);
        frames.note(
            "Page.frameNavigated",
            &json!({ "frame": frame("b", Some("a")) }).to_string(),
        );
        let unknown: Vec<_> = frames
            .learn(&tree.to_string())
            .into_iter()
            .map(|frame| frame.id)
            .collect();
        assert_eq!(unknown, ["a"]);
        assert_eq!(told(&frames), tree);
    }
}
