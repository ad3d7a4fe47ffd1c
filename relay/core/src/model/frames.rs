//! The frames of one tab's page, as its clients know them: the result of `Page.getFrameTree`, kept
//! up to date by events, so that a client that connects later can be answered even if the page is
//! busy.
//!
//! Frames of other processes are not here: they are targets of their own, and Chrome omits them
//! too.

use std::collections::{BTreeMap, VecDeque};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::protocol::json::{self, field, string_field};
use crate::protocol::methods::event::Event;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub id: String,
    pub parent: Option<String>,
    /// The CDP `Frame`. Incomplete until the frame has loaded a document.
    pub text: String,
}

/// A CDP `Frame`, as far as it is known without Chrome's own description.
pub fn describe(id: &str, parent: Option<&str>, loader: &str, url: &str) -> serde_json::Value {
    let (document, fragment) = split_fragment(url);
    let mut frame = serde_json::json!({
        "id": id, "loaderId": loader, "url": document, "domainAndRegistry": "",
        "securityOrigin": origin(url), "mimeType": "text/html",
        "adFrameStatus": { "adFrameType": "none" },
        "secureContextType": if url.starts_with("https:") { "Secure" } else { "InsecureScheme" },
        "crossOriginIsolatedContextType": "NotIsolated", "gatedAPIFeatures": [],
    });
    let optional = [
        ("parentId", parent.map(str::to_owned)),
        ("urlFragment", fragment),
    ];
    if let Some(object) = frame.as_object_mut() {
        for (key, value) in optional {
            object.extend(value.map(|value| (key.to_owned(), value.into())));
        }
    }
    frame
}

/// A URL as a `Frame` has it: without the fragment, and the fragment.
fn split_fragment(url: &str) -> (&str, Option<String>) {
    url.split_once('#')
        .map_or((url, None), |(document, fragment)| {
            (document, Some(format!("#{fragment}")))
        })
}

/// The security origin of a URL, in the form that contexts and frames have.
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

    /// Parses a CDP `Frame`.
    fn parse(text: &str) -> Option<Self> {
        Some(Self {
            id: string_field(text, "id")?,
            parent: string_field(text, "parentId"),
            text: text.to_owned(),
        })
    }
}

/// Filled from a frame tree, and correct as long as Chrome sends `Page` events.
#[derive(Debug, Default)]
pub struct Frames {
    /// The CDP `Frame` of the main frame, once the debugger has reported it.
    main: Option<String>,
    /// Child frames that clients know, parents first. A frame enters with the tree or
    /// `Page.frameAttached`. It leaves with `Page.frameDetached` or with the document that contains
    /// it.
    children: Vec<Frame>,
    is_complete: bool,
}

impl Frames {
    /// Replaces all frames by those of a frame tree. Returns the child frames that were unknown.
    pub fn learn(&mut self, tree: &str) -> Vec<Frame> {
        let (main, children): (Vec<_>, Vec<_>) = parse_tree(tree)
            .into_iter()
            .partition(|frame| frame.parent.is_none());
        self.main = main.into_iter().next().map(|frame| frame.text);
        let before = std::mem::replace(&mut self.children, children);
        self.is_complete = true;
        let is_new = |frame: &&Frame| before.iter().all(|known| known.id != frame.id);
        self.children.iter().filter(is_new).cloned().collect()
    }

    pub fn note(&mut self, event: Event, params: &str) {
        match event {
            Event::FrameAttached => {
                let ids =
                    string_field(params, "frameId").zip(string_field(params, "parentFrameId"));
                if let Some((id, parent)) = ids {
                    self.remove(&id);
                    self.children.push(Frame::attached(id, parent));
                }
            }
            Event::FrameDetached => {
                if let Some(id) = string_field(params, "frameId") {
                    self.remove(&id);
                }
            }
            Event::FrameNavigated => self.on_navigated(params),
            Event::DocumentOpened => {
                if let Some(frame) = field(params, "frame").and_then(Frame::parse) {
                    self.replace(frame);
                }
            }
            Event::NavigatedWithinDocument => {
                let moved = string_field(params, "frameId").zip(string_field(params, "url"));
                if let Some((id, url)) = moved {
                    self.move_within_document(&id, &url);
                }
            }
            _ => {}
        }
    }

    fn on_navigated(&mut self, params: &str) {
        let Some(frame) = field(params, "frame").and_then(Frame::parse) else {
            return;
        };
        self.remove_children_of(&frame.id);
        if frame.parent.is_none() {
            // Chrome does not report the child frames of a page from the back/forward cache.
            self.is_complete = field(params, "type") != Some("\"BackForwardCacheRestore\"");
        }
        self.replace(frame);
    }

    fn replace(&mut self, frame: Frame) {
        if frame.parent.is_none() {
            self.main = Some(frame.text);
        } else if let Some(old) = self.children.iter_mut().find(|old| old.id == frame.id) {
            *old = frame;
        } else {
            self.children.push(frame);
        }
    }

    fn move_within_document(&mut self, id: &str, url: &str) {
        let Some(text) = self.text_mut(id) else {
            return;
        };
        let Ok(mut frame) = serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(text) else {
            return;
        };
        let (document, fragment) = split_fragment(url);
        frame.remove("urlFragment");
        for (key, value) in [
            ("url", Some(document.to_owned())),
            ("urlFragment", fragment),
        ] {
            if let Some(value) = value.and_then(|v| serde_json::value::to_raw_value(&v).ok()) {
                frame.insert(key.to_owned(), value);
            }
        }
        if let Ok(moved) = serde_json::to_string(&frame) {
            *text = moved;
        }
    }

    fn text_mut(&mut self, id: &str) -> Option<&mut String> {
        let main = self.main.as_mut();
        main.filter(|text| string_field(text, "id").as_deref() == Some(id))
            .or_else(|| {
                let child = self.children.iter_mut().find(|frame| frame.id == id);
                child.map(|frame| &mut frame.text)
            })
    }

    fn remove(&mut self, id: &str) {
        self.remove_children_of(id);
        self.children.retain(|frame| frame.id != id);
    }

    /// The frames that a document contained are gone with it. Parents come first, so one pass finds
    /// all descendants.
    fn remove_children_of(&mut self, id: &str) {
        let mut gone = vec![id.to_owned()];
        self.children.retain(|frame| {
            let parent = frame.parent.as_ref();
            let is_gone = parent.is_some_and(|parent| gone.contains(parent));
            if is_gone {
                gone.push(frame.id.clone());
            }
            !is_gone
        });
    }

    /// Whether all frames of the page are known.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    pub fn contains_child(&self, id: &str) -> bool {
        self.children.iter().any(|frame| frame.id == id)
    }

    pub fn children(&self) -> impl DoubleEndedIterator<Item = &Frame> {
        self.children.iter()
    }

    /// The CDP `Frame` of the main frame, or `fallback` if the debugger has not reported it.
    pub fn main(&self, fallback: &serde_json::Value) -> String {
        self.main.clone().unwrap_or_else(|| fallback.to_string())
    }

    /// The result of `Page.getFrameTree`; `fallback` as in [`Frames::main`].
    pub fn tree(&self, fallback: &serde_json::Value) -> String {
        // Children come after their parents, so in reverse order a frame's children are ready
        // before the frame.
        let mut children: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for frame in self.children.iter().rev() {
            let own = children.remove(frame.id.as_str()).unwrap_or_default();
            let parent = frame.parent.as_deref().unwrap_or_default();
            let siblings = children.entry(parent).or_default();
            siblings.push(tree_node(&frame.text, own));
        }
        let main = self.main(fallback);
        let id = string_field(&main, "id").unwrap_or_default();
        let tree = tree_node(&main, children.remove(id.as_str()).unwrap_or_default());
        format!(r#"{{"frameTree":{tree}}}"#)
    }
}

/// A CDP `FrameTree`; its children in reverse order.
fn tree_node(frame: &str, mut children: Vec<String>) -> String {
    if children.is_empty() {
        return format!(r#"{{"frame":{frame}}}"#);
    }
    children.reverse();
    format!(
        r#"{{"frame":{frame},"childFrames":[{}]}}"#,
        children.join(",")
    )
}

/// All frames in the result of `Page.getFrameTree`, parents first.
pub fn parse_tree(tree: &str) -> Vec<Frame> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Node<'a> {
        #[serde(borrow)]
        frame: &'a RawValue,
        #[serde(borrow, default)]
        child_frames: Vec<&'a RawValue>,
    }
    let mut found = Vec::new();
    // A queue instead of recursion: frames can be nested deeper than the stack allows.
    let mut unread: VecDeque<&str> = json::field(tree, "frameTree").into_iter().collect();
    while let Some(text) = unread.pop_front() {
        let Ok(node) = serde_json::from_str::<Node<'_>>(text) else {
            continue;
        };
        unread.extend(node.child_frames.iter().map(|child| child.get()));
        found.extend(Frame::parse(node.frame.get()));
    }
    found
}

#[cfg(test)]
mod tests;
