//! The frame tree against the events that change it.

use serde_json::{Value, json};

use super::*;

fn frame(id: &str, parent: Option<&str>) -> Value {
    let mut frame = json!({ "id": id, "loaderId": "l", "url": format!("https://{id}/") });
    if let Some(parent) = parent {
        frame["parentId"] = parent.into();
    }
    frame
}

fn leaf(id: &str, parent: &str) -> Value {
    json!({ "frame": frame(id, Some(parent)) })
}

fn tree_of(children: &[Value]) -> Value {
    json!({ "frameTree": { "frame": frame("main", None), "childFrames": children } })
}

fn learn(frames: &mut Frames, tree: &Value) -> Vec<String> {
    let unknown = frames.learn(&tree.to_string()).into_iter();
    unknown.map(|frame| frame.id).collect()
}

/// A page `main` with a frame `a` that contains `b`, and a frame `c`.
fn learned() -> (Frames, Value) {
    let a = json!({ "frame": frame("a", Some("main")), "childFrames": [leaf("b", "a")] });
    let tree = tree_of(&[a, leaf("c", "main")]);
    let mut frames = Frames::default();
    assert_eq!(learn(&mut frames, &tree), ["a", "c", "b"]);
    (frames, tree)
}

fn navigate(frames: &mut Frames, frame: &Value, kind: &str) {
    let params = json!({ "frame": frame, "type": kind }).to_string();
    frames.note(Event::FrameNavigated, &params);
}

fn tree(frames: &Frames) -> Value {
    serde_json::from_str(&frames.tree(&json!({ "id": "main" }))).unwrap()
}

#[test]
fn reproduces_the_learned_tree() {
    let (mut frames, learned) = learned();
    assert_eq!(tree(&frames), learned);
    assert!(
        learn(&mut frames, &learned).is_empty(),
        "no frame is new the second time"
    );
    assert_eq!(tree(&frames), learned);
}

#[test]
fn follows_attached_and_detached_frames() {
    let (mut frames, _) = learned();
    let attached = r#"{"frameId":"d","parentFrameId":"c"}"#;
    frames.note(Event::FrameAttached, attached);
    navigate(&mut frames, &frame("d", Some("c")), "Navigation");
    let detached = r#"{"frameId":"a","reason":"remove"}"#;
    frames.note(Event::FrameDetached, detached);
    let c = json!({ "frame": frame("c", Some("main")), "childFrames": [leaf("d", "c")] });
    assert_eq!(tree(&frames), tree_of(&[c]));
}

#[test]
fn a_new_document_removes_the_frames_of_the_old_one() {
    let (mut frames, _) = learned();
    navigate(&mut frames, &frame("a", Some("main")), "Navigation");
    assert!(frames.contains_child("a") && !frames.contains_child("b"));
    navigate(&mut frames, &frame("main", None), "Navigation");
    assert_eq!(frames.children().count(), 0);
    assert!(frames.is_complete());
}

#[test]
fn a_page_from_the_back_forward_cache_is_incomplete() {
    let (mut frames, _) = learned();
    let restored = "BackForwardCacheRestore";
    navigate(&mut frames, &frame("main", None), restored);
    assert!(!frames.is_complete(), "its child frames were not reported");
}

#[test]
fn navigation_within_a_document_changes_only_the_url() {
    let (mut frames, _) = learned();
    for (id, path) in [
        ("main", "/frameTree/frame"),
        ("b", "/frameTree/childFrames/0/childFrames/0/frame"),
    ] {
        let params = json!({ "frameId": id, "url": "https://x/y#z" }).to_string();
        frames.note(Event::NavigatedWithinDocument, &params);
        let moved = tree(&frames).pointer(path).unwrap().clone();
        assert_eq!(moved["url"], "https://x/y");
        assert_eq!(moved["urlFragment"], "#z");
        assert_eq!(moved["loaderId"], "l");
    }
}

#[test]
fn includes_a_frame_without_a_document() {
    let mut frames = Frames::default();
    let attached = r#"{"frameId":"a","parentFrameId":"main"}"#;
    frames.note(Event::FrameAttached, attached);
    let parent = "/frameTree/childFrames/0/frame/parentId";
    assert_eq!(tree(&frames).pointer(parent).unwrap(), "main");
}

#[test]
fn a_child_of_an_unknown_frame_finds_its_place_with_the_tree() {
    let (mut frames, learned) = learned();
    let detached = r#"{"frameId":"a","reason":"remove"}"#;
    frames.note(Event::FrameDetached, detached);
    navigate(&mut frames, &frame("b", Some("a")), "Navigation");
    assert_eq!(learn(&mut frames, &learned), ["a"]);
    assert_eq!(tree(&frames), learned);
}
