//! Waking a tab: from the first command that needs the debugger until that command is sent.
//!
//! 1. `attachTab`. Commands that arrive in the meantime wait, in order; debugger events are held.
//! 2. The frame tree is read, and the journals of the tab's sessions are replayed, all at once.
//! 3. Child frames are announced, and the clients' isolated worlds are created in them.
//! 4. The held events are handled: real contexts are paired with the announced ones.
//! 5. What clients consider done in the page is carried out (`bootstrap`). The tab is live.
//! 6. The waiting commands are ready and are sent.
//!
//! If attaching fails, the waiting commands get Chrome's reason, and the tab is dormant again.

use crate::Core;
use crate::model::bootstraps::helper_context;
use crate::model::calls::{Continuation, Note, Replayed, Step};
use crate::model::frames::parse_tree;
use crate::model::target::Target;
use crate::model::wake::{HeldEvent, Stage, Waiting};
use crate::protocol::error::CdpError;
use crate::protocol::ids::{Debuggee, TabId};
use crate::protocol::methods::event::Event;
use crate::session::auto_attach::AUTO_ATTACH;
use serde::Deserialize;

impl Core {
    pub(crate) fn wake(&mut self, tab_id: TabId) {
        let Some(tab) = self.world.tabs.get_mut(tab_id) else {
            return;
        };
        tab.start_waking();
        tracing::info!(tab = %tab_id, "waking");
        self.out.attach(tab_id);
    }

    // ---- 2. replay ----

    pub(crate) fn on_attached(&mut self, tab_id: TabId) {
        let commands = self.commands_to_replay(tab_id);
        let Some(tab) = self.world.tabs.get_mut(tab_id) else {
            return;
        };
        let Some(wake) = tab.wake_mut() else {
            return;
        };
        wake.start_stage(Stage::Replaying, commands.len());
        for Replayed {
            method,
            params,
            step,
        } in commands
        {
            let params = tab.frame_to_real((&*params).into());
            let continuation = Continuation::Waking { tab_id, step };
            let page = Debuggee::page(tab_id);
            self.out.command(&page, &method, &params, continuation);
        }
    }

    fn commands_to_replay(&mut self, tab_id: TabId) -> Vec<Replayed> {
        let mut commands = vec![
            Replayed {
                method: "Page.getFrameTree".to_owned(),
                params: "{}".into(),
                step: Step::FrameTree,
            },
            // Reports whether the page has crashed.
            Replayed::other("Inspector.enable", "{}"),
        ];
        self.world.add_journaled_commands(tab_id, &mut commands);
        let page = Target::Page(tab_id);
        if let Some(params) = self.update_auto_attach(&page) {
            commands.push(Replayed::other(AUTO_ATTACH, &params));
        }
        if let Some(params) = self.merged_interception(&page) {
            // A debugger that outlived the extension's worker may hold requests that no client can
            // answer any more.
            commands.push(Replayed::other("Fetch.disable", "{}"));
            commands.push(Replayed::other("Fetch.enable", &params));
        }
        commands
    }

    pub(crate) fn on_wake_step(
        &mut self,
        tab_id: TabId,
        step: Step,
        result: Result<&str, &CdpError>,
    ) {
        let tab = self.world.tabs.get_mut(tab_id);
        let Some(wake) = tab.and_then(|tab| tab.wake_mut()) else {
            return;
        };
        let is_stage_done = wake.finish_step();
        match (step, result) {
            (Step::FrameTree, Err(error @ CdpError::PageSilent(..))) => {
                return self.leave_silent_page(tab_id, error);
            }
            // Without its frames, a page cannot be announced.
            (Step::FrameTree, Err(error)) => return self.abort_waking(tab_id, error),
            // Child frames are announced when the journals are replayed.
            (Step::FrameTree, Ok(tree)) => wake.set_frame_tree(tree),
            (step, Ok(result)) => self.on_step_done(&Debuggee::page(tab_id), step, result),
            (step, Err(error)) => self.on_step_failed(tab_id, step, error),
        }
        if is_stage_done {
            self.finish_stage(tab_id);
        }
    }

    fn finish_stage(&mut self, tab_id: TabId) {
        let tab = self.world.tabs.get(tab_id);
        let Some(wake) = tab.and_then(|tab| tab.wake()) else {
            return;
        };
        match wake.stage() {
            Stage::Attaching => {}
            Stage::Replaying => self.create_worlds(tab_id),
            Stage::CreatingWorlds => self.pair_contexts(tab_id),
            Stage::CreatingHelpers => self.finish_waking(tab_id),
        }
    }

    // ---- 3. frames and worlds ----

    fn create_worlds(&mut self, tab_id: TabId) {
        let Some(tab) = self.world.tabs.get_mut(tab_id) else {
            return;
        };
        let worlds = tab.main_frame_worlds();
        let Some(wake) = tab.wake_mut() else {
            return;
        };
        wake.start_stage(Stage::CreatingWorlds, 0);
        let tree = wake.take_frame_tree();
        let mut frames = parse_tree(&tree);
        // The worlds of the main frame were created by the replay, unless Chrome has another main
        // frame.
        frames.retain(|frame| frame.parent.is_some() || tab.set_real_main_frame(&frame.id));
        self.on_frame_tree(tab_id, &tree);
        self.announce_next_document(tab_id);
        let tab = self.world.tabs.get_mut(tab_id);
        let Some(wake) = tab.and_then(|tab| tab.wake_mut()) else {
            return;
        };
        let count = frames.len() * worlds.len();
        wake.start_stage(Stage::CreatingWorlds, count);
        for frame in &frames {
            for world in &worlds {
                self.create_world(tab_id, &frame.id, world);
            }
        }
        if count == 0 {
            self.pair_contexts(tab_id);
        }
    }

    fn create_world(&mut self, tab_id: TabId, frame: &str, world: &str) {
        let method = "Page.createIsolatedWorld";
        // `grantUniveralAccess` is spelled like this in the protocol.
        let params = serde_json::json!({
            "frameId": frame, "worldName": world, "grantUniveralAccess": true,
        });
        let step = Step::other(method);
        let continuation = Continuation::Waking { tab_id, step };
        let page = Debuggee::page(tab_id);
        self.out
            .command(&page, method, &params.to_string(), continuation);
    }

    /// Clients know the previous document. The debugger that reported its end was detached.
    fn announce_next_document(&mut self, tab_id: TabId) {
        let Some(tab) = self.world.tabs.get_mut(tab_id) else {
            return;
        };
        if !tab.wake().is_some_and(|wake| wake.is_next_document()) {
            return;
        }
        tab.reset_lifecycle();
        let params = format!(r#"{{"frame":{},"type":"Navigation"}}"#, tab.main_frame());
        self.broadcast(&Target::Page(tab_id), "Page.frameNavigated", &params);
    }

    // ---- 4. contexts ----

    fn pair_contexts(&mut self, tab_id: TabId) {
        self.handle_held_events(tab_id);
        let Some(tab) = self.world.tabs.get_mut(tab_id) else {
            return;
        };
        for context in tab.contexts_mut().take_unpaired() {
            self.announce_context_destroyed(tab_id, &context);
        }
        let helpers = self.create_helpers(tab_id);
        let tab = self.world.tabs.get_mut(tab_id);
        let Some(wake) = tab.and_then(|tab| tab.wake_mut()) else {
            return;
        };
        wake.start_stage(Stage::CreatingHelpers, helpers);
        if helpers == 0 {
            self.finish_waking(tab_id);
        }
    }

    fn handle_held_events(&mut self, tab_id: TabId) {
        let tab = self.world.tabs.get_mut(tab_id);
        let Some(wake) = tab.and_then(|tab| tab.wake_mut()) else {
            return;
        };
        let has_history = wake.stage() != Stage::CreatingHelpers;
        let all_held = wake.take_held();
        if has_history {
            let page_events = all_held.iter().filter(|held| held.child_id.is_none());
            let logged = page_events
                .filter_map(HeldEvent::log_time)
                .collect::<Vec<_>>();
            let sessions = &mut self.world.sessions;
            sessions.expect_repetitions(&Target::Page(tab_id), &logged);
        }
        for held in all_held {
            let event = Event::classify(&held.method);
            if held.child_id.is_none() && self.is_already_known(tab_id, event, &held.params) {
                if let Some(tab) = self.world.tabs.get_mut(tab_id) {
                    let params = tab.frame_to_announced(held.params.as_str().into());
                    tab.mirror_mut(None)
                        .into_iter()
                        .for_each(|mirror| mirror.note(event, &params));
                }
                continue;
            }
            let HeldEvent {
                child_id,
                method,
                params,
            } = held;
            let debuggee = Debuggee { tab_id, child_id };
            self.apply_event(&debuggee, event, &method, &params);
        }
    }

    /// Whether clients already know what a held event reports: lifecycle events of the main frame,
    /// which Chrome sends when they are enabled, and frames of the frame tree.
    fn is_already_known(&self, tab_id: TabId, event: Event, params: &str) -> bool {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct FrameEvent {
            frame_id: String,
            #[serde(default)]
            name: String,
        }
        if !matches!(event, Event::Lifecycle | Event::FrameAttached) {
            return false;
        }
        let parsed = serde_json::from_str::<FrameEvent>(params);
        let (Some(tab), Ok(parsed)) = (self.world.tabs.get(tab_id), parsed) else {
            return false;
        };
        if event == Event::FrameAttached {
            return tab.frames().contains_child(&parsed.frame_id);
        }
        parsed.frame_id == tab.real_main_frame().as_str() && tab.has_sent_lifecycle(&parsed.name)
    }

    // ---- 5. and 6. live ----

    fn finish_waking(&mut self, tab_id: TabId) {
        self.handle_held_events(tab_id);
        let tab = self.world.tabs.get_mut(tab_id);
        let Some(wake) = tab.and_then(|tab| tab.finish_waking()) else {
            return;
        };
        let (waiting, ended) = wake.finish();
        self.end_unattached_frames(tab_id);
        tracing::info!(tab = %tab_id, waiting = waiting.len(), "live");
        for session in &ended {
            self.undo(session, tab_id);
        }
        self.run_bootstraps(tab_id);
        for command in waiting {
            self.out.queue_ready(tab_id, command);
        }
        self.detach_if_unused(tab_id);
    }

    /// A page whose renderer has crashed answers nothing, but can be reloaded.
    pub(crate) fn wake_crashed(&mut self, tab_id: TabId) {
        self.out.calls.forget_waking(tab_id);
        self.finish_waking(tab_id);
    }

    // ---- failures ----

    /// A page that is hung or waits for its next document can still be left, because the browser
    /// handles that. Commands before the one that leaves it fail, and the next document is woken.
    fn leave_silent_page(&mut self, tab_id: TabId, error: &CdpError) {
        let tab = self.world.tabs.get_mut(tab_id);
        let Some(wake) = tab.and_then(|tab| tab.wake_mut()) else {
            return;
        };
        let Some((before, leaving)) = wake.restart_at_leaving() else {
            return self.abort_waking(tab_id, error);
        };
        self.out.calls.forget_waking(tab_id);
        self.fail_waiting(before, error);
        let page = Debuggee::page(tab_id);
        self.forward_noting(leaving.caller, &page, &leaving.request, Note::Leaving);
    }

    /// The page is on its way to another document. What waits in Chrome for the previous one ends
    /// with the debugger.
    pub(crate) fn wake_next_document(&mut self, tab_id: TabId) {
        let tab = self.world.tabs.get_mut(tab_id);
        let Some(wake) = tab.and_then(|tab| tab.wake_mut()) else {
            return;
        };
        wake.set_next_document();
        self.out.detach(tab_id);
        self.out.attach(tab_id);
    }

    pub(crate) fn abort_waking(&mut self, tab_id: TabId, error: &CdpError) {
        self.out.calls.forget_waking(tab_id);
        self.on_attach_failed(tab_id, error);
        self.out.detach(tab_id);
    }

    /// The tab stays as it was. Sessions that asked for its frames meanwhile get them.
    pub(crate) fn on_attach_failed(&mut self, tab_id: TabId, error: &CdpError) {
        self.on_wake_failed(tab_id, error);
        self.announce_dormant_frames(tab_id);
    }

    /// Attaching failed, or the tab lost the debugger while waking.
    pub(crate) fn on_wake_failed(&mut self, tab_id: TabId, error: &CdpError) {
        let tab = self.world.tabs.get_mut(tab_id);
        let Some(wake) = tab.and_then(|tab| tab.abort_waking()) else {
            return;
        };
        self.world.forget_real_scripts(tab_id);
        tracing::warn!(tab = %tab_id, %error, "could not wake");
        self.fail_waiting(wake.finish().0, error);
        // Those of clients that have left meanwhile.
        self.forget_worlds(&Target::Page(tab_id));
    }

    fn fail_waiting(&mut self, waiting: impl IntoIterator<Item = Waiting>, error: &CdpError) {
        let is_refusal = matches!(error, CdpError::Paused | CdpError::Released);
        let error = explain_attach_error(error);
        for Waiting { caller, request } in waiting {
            if is_refusal {
                self.refuse(caller, &request, error.clone());
                continue;
            }
            self.send_error(caller, &error);
            if let Some(context) = helper_context(&request) {
                self.on_helper_failed(caller.session_id, context);
            }
        }
    }
}

/// Chrome's reason, and what the person can do about it.
fn explain_attach_error(error: &CdpError) -> CdpError {
    if matches!(
        error,
        CdpError::Restricted(_) | CdpError::Paused | CdpError::Released
    ) {
        return error.clone();
    }
    let reason = error.to_string();
    let reason = reason.trim_end_matches('.');
    let advice = if reason.contains("Another debugger is already attached") {
        // DevTools and other extensions are no obstacle: this is an earlier debugger of our own.
        " Reload the extension at chrome://extensions, then try again."
    } else if reason.contains("is a restricted page")
        || reason.contains("Cannot access")
        || reason.contains("cannot be scripted")
    {
        " Chrome does not let extensions debug this page."
    } else if reason.contains("Cannot attach to this target") || reason.contains("by policy") {
        " Chrome does not let extensions debug this page, or a policy forbids it: run `tabwire doctor`."
    } else {
        ""
    };
    CdpError::Refused(format!(
        "Could not attach the debugger to this tab: {reason}.{advice}"
    ))
}
