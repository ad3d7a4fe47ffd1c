//! Waking a tab: from the first real command to the moment it is sent.
//!
//! 1. `attachTab`. Commands that come meanwhile wait, in order; debugger events are held.
//! 2. The frame tree is read and the journals of the tab's sessions are replayed, all at once.
//! 3. Child frames are announced, and the clients' isolated worlds are made in them.
//! 4. The held events are handled: real contexts are paired with the announced ones.
//! 5. What clients were told is done in the page already is made good (see `bootstrap`). The tab is live.
//! 6. The waiting commands go on.
//!
//! If attaching fails, the waiting commands get Chrome's reason, and the tab is dormant again.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::children::AUTO_ATTACH;
use crate::contexts::World;
use crate::error::CdpError;
use crate::frames::frames_of;
use crate::ids::{TabId, TargetId};
use crate::pending::{Continuation, Note, REVIVING, Step};
use crate::sessions::Subject;
use crate::switches::LIFECYCLE;
use crate::targets::{Attachment, HeldEvent, Waiting, Wake, WakeStage};
use crate::wire::Call;
use crate::{Core, bootstrap};

impl Core {
    pub(crate) fn wake(&mut self, tab: TabId) {
        let Some(known) = self.tabs.get_mut(tab) else {
            return;
        };
        known.attachment = Attachment::Waking(Wake::default());
        known.children_asked = None;
        tracing::info!(%tab, "waking");
        self.call(&Call::AttachTab { tab }, Continuation::Attached { tab });
    }

    pub(crate) fn on_attached(&mut self, tab: TabId) {
        let steps = self.replay_steps(tab);
        let Some(Attachment::Waking(wake)) = self.tabs.get_mut(tab).map(|tab| &mut tab.attachment)
        else {
            return;
        };
        wake.stage = WakeStage::Replaying;
        wake.outstanding = steps.len();
        for (method, params, step) in steps {
            let Some(known) = self.tabs.get(tab) else {
                return;
            };
            let params = known.frame_to_real(Cow::Borrowed(&params)).into_owned();
            let call = Call::CdpCommand {
                tab,
                method: &method,
                params: &params,
                child: None,
            };
            self.call(&call, Continuation::Waking { tab, step });
        }
    }

    /// What Chrome is told of the tab's sessions, in the order they said it; the same thing only once.
    fn replay_steps(&mut self, tab: TabId) -> Vec<(String, Arc<str>, Step)> {
        let mut steps: Vec<(String, Arc<str>, _)> = vec![
            ("Page.getFrameTree".to_owned(), "{}".into(), Step::FrameTree),
            // Whether the page has crashed.
            (
                "Inspector.enable".to_owned(),
                "{}".into(),
                Step::Other {
                    method: "Inspector.enable".to_owned(),
                },
            ),
        ];
        for (session, view) in self.sessions.viewing(&Subject::Page(tab)) {
            for entry in view.journal.entries() {
                if !self.reached_chrome(view, entry) {
                    continue;
                }
                let step = match &entry.script {
                    Some(script) => Step::Script {
                        session,
                        announced: script.announced.clone(),
                    },
                    None if entry.method == "Page.createIsolatedWorld" => {
                        Step::world(&entry.params)
                    }
                    None => Step::Other {
                        method: entry.method.clone(),
                    },
                };
                let said = |(method, params, _): &(String, Arc<str>, Step)| {
                    *method == entry.method && *params == entry.params
                };
                if entry.script.is_some() || !steps.iter().any(said) {
                    steps.push((entry.method.clone(), entry.params.clone(), step));
                }
            }
        }
        if let Some(params) = self.children_to_ask_for(&Subject::Page(tab)) {
            let method = AUTO_ATTACH.to_owned();
            steps.push((method.clone(), params.into(), Step::Other { method }));
        }
        if let Some(params) = self.interception_of(&Subject::Page(tab)) {
            // A debugger that outlived the extension's worker may hold requests that no client can answer any more.
            for (method, params) in [("Fetch.disable", "{}"), ("Fetch.enable", params.as_str())] {
                steps.push((
                    method.to_owned(),
                    params.into(),
                    Step::Other {
                        method: method.to_owned(),
                    },
                ));
            }
        }
        steps
    }

    pub(crate) fn on_wake_step(
        &mut self,
        tab: TabId,
        step: Step,
        result: Result<&RawValue, &CdpError>,
    ) {
        let Some(Attachment::Waking(wake)) = self.tabs.get_mut(tab).map(|tab| &mut tab.attachment)
        else {
            return;
        };
        wake.outstanding = wake.outstanding.saturating_sub(1);
        let is_last = wake.outstanding == 0;
        match (step, result) {
            (Step::FrameTree, Err(error @ CdpError::PageSilent(..))) => {
                return self.leave_silent_page(tab, error);
            }
            // Without its frames a page cannot be told of.
            (Step::FrameTree, Err(error)) => return self.give_up_waking(tab, error),
            // Child frames are announced when all sessions are heard.
            (Step::FrameTree, Ok(result)) => wake.frame_tree = Some(result.get().to_owned()),
            (step, result) => self.on_told(tab, None, step, result),
        }
        if is_last {
            self.on_wake_stage_done(tab);
        }
    }

    fn on_wake_stage_done(&mut self, tab: TabId) {
        let Some(Attachment::Waking(wake)) = self.tabs.get(tab).map(|tab| &tab.attachment) else {
            return;
        };
        match wake.stage {
            WakeStage::Attaching => {}
            WakeStage::Replaying => self.make_worlds(tab),
            WakeStage::MakingWorlds => self.pair_contexts(tab),
            WakeStage::MakingHelpers => self.finish_waking(tab),
        }
    }

    fn make_worlds(&mut self, tab: TabId) {
        let worlds = self.world_names(tab);
        let Some(Attachment::Waking(wake)) = self.tabs.get_mut(tab).map(|tab| &mut tab.attachment)
        else {
            return;
        };
        wake.stage = WakeStage::MakingWorlds;
        let tree = wake.frame_tree.take().unwrap_or_default();
        let mut lack_worlds = Vec::new();
        for frame in frames_of(&tree) {
            if frame.parent.is_some() || self.note_main_frame(tab, &frame.id) {
                lack_worlds.push(frame.id);
            }
        }
        self.on_frame_tree(tab, &tree);
        self.tell_of_next_document(tab);
        let Some(Attachment::Waking(wake)) = self.tabs.get_mut(tab).map(|tab| &mut tab.attachment)
        else {
            return;
        };
        wake.outstanding = lack_worlds.len() * worlds.len();
        let is_done = wake.outstanding == 0;
        for frame in &lack_worlds {
            for name in &worlds {
                let params = serde_json::json!({ "frameId": frame, "worldName": name, "grantUniveralAccess": true }).to_string();
                let method = "Page.createIsolatedWorld";
                let step = Step::Other {
                    method: method.to_owned(),
                };
                self.call(
                    &Call::CdpCommand {
                        tab,
                        method,
                        params: &params,
                        child: None,
                    },
                    Continuation::Waking { tab, step },
                );
            }
        }
        if is_done {
            self.pair_contexts(tab);
        }
    }

    /// Clients know of the document that was there before; its debugger told nothing of this one.
    fn tell_of_next_document(&mut self, tab: TabId) {
        let Some(known) = self.tabs.get_mut(tab) else {
            return;
        };
        if !matches!(&known.attachment, Attachment::Waking(wake) if wake.is_next_document) {
            return;
        }
        known.lifecycle.clear();
        let navigated = format!(
            r#"{{"frame":{},"type":"Navigation"}}"#,
            known.frames.main(&known.frame())
        );
        self.deliver(&Subject::Page(tab), "Page.frameNavigated", &navigated);
    }

    /// The isolated worlds that clients were told of in the main frame; child frames get them too.
    fn world_names(&self, tab: TabId) -> Vec<String> {
        let Some(known) = self.tabs.get(tab) else {
            return Vec::new();
        };
        let name = |world: &World| match world {
            World::Isolated(name) => Some(name.clone()),
            World::Default => None,
        };
        known
            .contexts
            .iter()
            .filter(|context| context.frame == known.page.as_str())
            .filter_map(|context| name(&context.world))
            .collect()
    }

    /// Says whether the main frame is another than the one that the worlds were asked for.
    fn note_main_frame(&mut self, tab: TabId, frame: &str) -> bool {
        let Some(known) = self.tabs.get_mut(tab) else {
            return false;
        };
        let before = known.main_frame.take();
        known.main_frame = (frame != known.page.as_str()).then(|| TargetId::new(frame));
        known.main_frame != before
    }

    fn pair_contexts(&mut self, tab: TabId) {
        self.handle_held_events(tab);
        let never_came = self
            .tabs
            .get_mut(tab)
            .map(|tab| tab.contexts.drop_imagined())
            .unwrap_or_default();
        for context in never_came {
            self.announce_context_destroyed(tab, &context);
        }
        let outstanding = self.make_helpers(tab);
        let Some(Attachment::Waking(wake)) = self.tabs.get_mut(tab).map(|tab| &mut tab.attachment)
        else {
            return;
        };
        wake.stage = WakeStage::MakingHelpers;
        wake.outstanding = outstanding;
        if outstanding == 0 {
            self.finish_waking(tab);
        }
    }

    fn handle_held_events(&mut self, tab: TabId) {
        let Some(known) = self.tabs.get_mut(tab) else {
            return;
        };
        let Attachment::Waking(wake) = &mut known.attachment else {
            return;
        };
        for event in std::mem::take(&mut wake.held) {
            if event.child.is_none() && self.is_told(tab, &event) {
                if let Some(known) = self.tabs.get_mut(tab) {
                    let params = known.frame_to_announced(Cow::Borrowed(&event.params));
                    known.mirror.note(&event.method, &params);
                }
                continue;
            }
            self.handle_cdp_event(tab, event.child.as_ref(), &event.method, &event.params);
        }
    }

    fn finish_waking(&mut self, tab: TabId) {
        self.handle_held_events(tab);
        let Some(known) = self.tabs.get_mut(tab) else {
            return;
        };
        let Attachment::Waking(wake) = std::mem::replace(&mut known.attachment, Attachment::Live)
        else {
            return;
        };
        tracing::info!(%tab, waiting = wake.waiting.len(), "live");
        for ended in &wake.ended {
            self.undo(ended, tab);
        }
        self.run_bootstraps(tab);
        for Waiting {
            client,
            session,
            request,
        } in wake.waiting
        {
            // One that went before may have ended the session.
            if self.sessions.get(session).is_some() {
                self.route(session, request);
            } else {
                self.send_error(client, session, request.id, &CdpError::SessionNotFound);
            }
        }
        self.detach_if_unused(tab);
    }

    /// Whether clients know already what a held event says: of the main frame's lifecycle so far, which Chrome tells when
    /// it is asked for it, and of frames that are in the frame tree too.
    fn is_told(&self, tab: TabId, event: &HeldEvent) -> bool {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct OfFrame {
            frame_id: String,
            #[serde(default)]
            name: String,
        }
        let (Some(known), Ok(of)) = (
            self.tabs.get(tab),
            serde_json::from_str::<OfFrame>(&event.params),
        ) else {
            return false;
        };
        match event.method.as_str() {
            LIFECYCLE => {
                of.frame_id == known.main_frame.as_ref().unwrap_or(&known.page).as_str()
                    && known.lifecycle.contains(&of.name)
            }
            "Page.frameAttached" => known.frames.contains(&of.frame_id),
            _ => false,
        }
    }

    /// A page whose renderer has gone answers nothing; what revives it goes through.
    pub(crate) fn wake_crashed(&mut self, tab: TabId) {
        self.forget_waking(tab);
        self.finish_waking(tab);
    }

    /// A page that says nothing, because it hangs or its next document does not come, can be left all the same: the browser
    /// sees to that. What else waits for the page fails, and the next one is woken.
    fn leave_silent_page(&mut self, tab: TabId, error: &CdpError) {
        let Some(Attachment::Waking(wake)) = self.tabs.get_mut(tab).map(|tab| &mut tab.attachment)
        else {
            return;
        };
        let leaves = |waiting: &Waiting| REVIVING.contains(&waiting.request.method.as_ref());
        let Some(place) = wake.waiting.iter().position(leaves) else {
            return self.give_up_waking(tab, error);
        };
        let fail: Vec<_> = wake.waiting.drain(..place).collect();
        let Some(Waiting {
            session, request, ..
        }) = wake.waiting.pop_front()
        else {
            return;
        };
        wake.stage = WakeStage::Attaching;
        wake.held.clear();
        self.forget_waking(tab);
        self.fail_waiting(fail, error);
        self.forward_noting(session, tab, None, &request, Note::Leaves);
    }

    /// The browser is on its way to another document. What waits in Chrome for the one before goes with the debugger.
    pub(crate) fn wake_next_document(&mut self, tab: TabId) {
        let Some(Attachment::Waking(wake)) = self.tabs.get_mut(tab).map(|tab| &mut tab.attachment)
        else {
            return;
        };
        wake.is_next_document = true;
        self.call(&Call::DetachTab { tab }, Continuation::Nothing);
        self.call(&Call::AttachTab { tab }, Continuation::Attached { tab });
    }

    fn forget_waking(&mut self, tab: TabId) {
        self.pending.take_where(|entry| {
            entry.tab == Some(tab) && matches!(entry.continuation, Continuation::Waking { .. })
        });
    }

    pub(crate) fn give_up_waking(&mut self, tab: TabId, error: &CdpError) {
        self.forget_waking(tab);
        self.on_wake_failed(tab, error);
        self.call(&Call::DetachTab { tab }, Continuation::Nothing);
    }

    /// Attaching failed, or the tab lost the debugger on the way.
    pub(crate) fn on_wake_failed(&mut self, tab: TabId, error: &CdpError) {
        let Some(known) = self.tabs.get_mut(tab) else {
            return;
        };
        if !matches!(known.attachment, Attachment::Waking(_)) {
            return;
        }
        let Attachment::Waking(wake) =
            std::mem::replace(&mut known.attachment, Attachment::Dormant)
        else {
            return;
        };
        // What it told and made went with the debugger.
        known.dialog_is_open = false;
        known.contexts.unmake();
        self.forget_real_scripts(tab);
        tracing::warn!(%tab, %error, "could not wake");
        self.fail_waiting(wake.waiting, error);
    }

    fn fail_waiting(&mut self, waiting: impl IntoIterator<Item = Waiting>, error: &CdpError) {
        let error = explain_attach_error(error);
        for Waiting {
            client,
            session,
            request,
        } in waiting
        {
            self.send_error(client, session, request.id, &error);
            if let Some(context) = bootstrap::helper_in(&request) {
                self.on_helper_failed(session, context);
            }
        }
    }

    /// Commands whose session ended while they waited for their tab are answered now: nobody else would.
    pub(crate) fn drop_waiting_commands(&mut self, tab: TabId) {
        let Some(Attachment::Waking(wake)) = self.tabs.get_mut(tab).map(|tab| &mut tab.attachment)
        else {
            return;
        };
        let sessions = &self.sessions;
        let (kept, dropped): (Vec<_>, Vec<_>) = wake
            .waiting
            .drain(..)
            .partition(|waiting| sessions.get(waiting.session).is_some());
        wake.waiting = kept.into();
        for waiting in dropped {
            self.send_error(
                waiting.client,
                waiting.session,
                waiting.request.id,
                &CdpError::SessionNotFound,
            );
        }
    }
}

/// Chrome's reason, with what the person can do about it.
fn explain_attach_error(error: &CdpError) -> CdpError {
    let reason = error.to_string();
    let advice = if reason.contains("Another debugger is already attached") {
        ". Close DevTools or any other tool that is debugging this tab, then try again"
    } else if reason.contains("Cannot access") || reason.contains("Cannot attach to this target") {
        ". Chrome does not let extensions debug this page"
    } else {
        ""
    };
    CdpError::Refused(format!(
        "Could not attach the debugger to this tab: {reason}{advice}"
    ))
}
