//! Commands to nested frames: replies of outer frames come first, so commands to inner frames wait
//! behind barriers in the frames around them. A frame that does not respond blocks those inside it
//! only until its deadline.

use serde_json::json;

use super::{attach_frame, attached_children, auto_attach_to_children};
use crate::tests::script::{Call, Calls, Script, Session};
use crate::tests::sessions::two_clients;

const TREE: &str = "Page.getFrameTree";
const BARRIER: &str = "Runtime.getIsolateId";

/// Sessions of frame `one` of the page, of frame `two` inside it, and of frame `three` inside that.
fn nested_frames() -> (Script, [Session; 3]) {
    let (mut script, [page, _]) = two_clients();
    auto_attach_to_children(&mut script, &page);
    let mut parent = page.clone();
    let nesting = [(None, "one"), (Some("one"), "two"), (Some("two"), "three")];
    let frames = nesting.map(|(parent_name, name)| {
        attach_frame(&mut script, parent_name, name);
        parent = attached_children(&mut script, &parent).remove(0);
        auto_attach_to_children(&mut script, &parent);
        parent.clone()
    });
    script.answer_calls();
    script.received(&page);
    (script, frames)
}

fn answer<'a>(script: &mut Script, calls: impl IntoIterator<Item = &'a Call>) {
    for call in calls {
        script.reply(call, json!({}));
    }
}

/// Takes all calls, which must be these commands: the CDP method of each, and the frame that
/// receives it.
#[track_caller]
fn expect_commands<const N: usize>(script: &mut Script, expected: [[&str; 2]; N]) -> Calls {
    let calls = script.calls();
    assert_eq!(commands(&calls), expected);
    calls
}

fn commands(calls: &Calls) -> Vec<[&str; 2]> {
    calls
        .iter()
        .map(|call| [call.command(), call.child().unwrap()])
        .collect()
}

#[test]
fn inner_frames_are_answered_after_outer_frames() {
    let (mut script, frames) = nested_frames();
    let [_, _, three] = &frames;
    let trees = frames
        .each_ref()
        .map(|frame| script.send(frame, TREE, json!({})));
    let enable = script.send(three, "Runtime.enable", json!({}));
    // Commands to inner frames wait in the outermost frame.
    let [at_one, at_two] = ["one", "two"].map(|frame| [BARRIER, frame]);
    let calls = expect_commands(&mut script, [[TREE, "one"], at_one, at_one, at_one]);
    answer(&mut script, &calls[..3]);
    // The first command of frame `three` has reached frame `two` by now, its second one still waits
    // in frame `one`.
    let evaluate = script.send(three, "Runtime.evaluate", json!({}));
    answer(&mut script, &calls[3..]);
    assert_eq!(script.received(three).reply_ids(), [trees[0]]);

    let calls = expect_commands(&mut script, [[TREE, "two"], at_two, at_one, at_two]);
    answer(&mut script, [&calls[2], &calls[0], &calls[1], &calls[3]]);
    let enabled = ["Runtime.enable", "three"];
    let calls = expect_commands(&mut script, [at_two, [TREE, "three"], enabled]);
    assert_eq!(script.received(three).reply_ids(), [trees[1]]);
    answer(&mut script, calls.iter());
    let calls = expect_commands(&mut script, [["Runtime.evaluate", "three"]]);
    answer(&mut script, calls.iter());
    assert_eq!(
        script.received(three).reply_ids(),
        [trees[2], enable, evaluate]
    );
}

#[test]
fn unresponsive_frame_does_not_block_the_frame_inside_it() {
    let (mut script, [one, two, _]) = nested_frames();
    let outer = script.send(&one, TREE, json!({}));
    script.send(&two, TREE, json!({}));
    let resume = script.send(&two, "Runtime.runIfWaitingForDebugger", json!({}));
    script.calls();
    // Until after its deadline and the time in which it may answer a probe.
    let calls = script.elapse(35).into_iter();
    let calls: Calls = calls.filter(|call| call.child() == Some("two")).collect();
    assert_eq!(
        commands(&calls),
        [[TREE, "two"], ["Runtime.runIfWaitingForDebugger", "two"]]
    );
    let received = script.received(&one);
    assert_eq!(received.reply_ids(), [outer]);
    received.error(outer);
    script.reply(&calls[1], json!({}));
    assert_eq!(script.received(&two).reply_ids().last(), Some(&resume));
}
