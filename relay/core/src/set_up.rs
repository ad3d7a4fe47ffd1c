//! The first words of a session on a tab that has the debugger already, for the sake of others.
//!
//! Client libraries ask many things of each page as they connect, and wait for the answers. A page that is stopped, or that
//! waits for somebody to answer its dialog, must not hold up the way to all the others. So a session that sets up is answered
//! here, as in a dormant tab, and Chrome is told without anyone waiting for it:
//!
//! 1. Frames, contexts and states are known from what others were told (`frames`, `contexts`, `mirror`).
//! 2. Scripts and isolated worlds get ids of the relay's own, which are paired with Chrome's when it has made them.
//! 3. A command that names a world before that waits for its turn (`turns`).

use serde_json::value::RawValue;

use crate::Core;
use crate::cdp::Request;
use crate::contexts::{Created, World};
use crate::error::CdpError;
use crate::ids::{ChildId, SessionId, TabId};
use crate::intercept::Handled;
use crate::journal::{Answer, Init, Replay};
use crate::pending::{Continuation, Entry, Step};
use crate::sessions::{Session, Subject};
use crate::targets::{Attachment, Tab};
use crate::translate;
use crate::wire::Call;

/// How many scripts of sessions that have ended are waited for in one tab, to be taken back when Chrome has heard of them.
const MOST_TO_UNDO: usize = 50;

/// What is to be done when Chrome has heard a command that the relay has answered.
fn step_of(session: SessionId, request: &Request<'_>, handled: &Handled) -> Step {
    match (request.method.as_ref(), handled) {
        ("Page.addScriptToEvaluateOnNewDocument", Handled::Reply(result)) => Step::Script {
            session,
            announced: translate::text_field(result, "identifier").unwrap_or_default(),
        },
        ("Page.createIsolatedWorld", _) => Step::world(&request.params),
        (method, _) => Step::Other {
            method: method.to_owned(),
        },
    }
}

impl Core {
    /// Whether this command of a session is answered here though its tab is not dormant.
    pub(crate) fn answers_set_up(
        &self,
        session: SessionId,
        tab: TabId,
        request: &Request<'_>,
    ) -> bool {
        let Some((view, known)) = self.sessions.get(session).zip(self.tabs.get(tab)) else {
            return false;
        };
        // In a tab that it created nobody was told anything before.
        let is_own = known.created_by == Some(view.client);
        view.sets_up
            && !is_own
            && !request.method.starts_with("Fetch.")
            && !request.method.ends_with(".disable")
    }

    /// A set-up command to a tab that is just being attached to.
    pub(crate) fn set_up_waking(
        &mut self,
        session: SessionId,
        tab: TabId,
        request: &Request<'_>,
        init: &Init,
    ) -> Result<Handled, CdpError> {
        let handled = self.answer_dormant(session, tab, request, init)?;
        let is_replayed_later = self
            .tabs
            .get(tab)
            .is_some_and(|known| !known.hears_sessions());
        if is_replayed_later || init.replay == Replay::Never {
            return Ok(handled);
        }
        let is_same = |view: &Session| {
            view.journal
                .entries()
                .iter()
                .any(|entry| entry.method == request.method && *entry.params == *request.params)
        };
        let is_said = self
            .sessions
            .viewing(&Subject::Page(tab))
            .any(|(id, view)| id != session && is_same(view));
        let is_script = init.answer == Answer::ScriptIdentifier;
        if (is_script || !is_said) && !self.is_default_on_persons_tab(session, tab, request) {
            self.tell(session, tab, request, step_of(session, request, &handled));
        }
        Ok(handled)
    }

    /// A set-up command to a tab that others use.
    pub(crate) fn set_up_live(
        &mut self,
        session: SessionId,
        tab: TabId,
        request: &Request<'_>,
        init: &Init,
    ) -> Result<Handled, CdpError> {
        match init.answer {
            Answer::FrameTree => {
                let known = self.tabs.get(tab).ok_or(CdpError::TabClosed)?;
                let tree = known.frames.tree(&known.frame());
                if !known.frames.is_complete || !self.sessions.enabled_elsewhere(session, "Page") {
                    self.tell(session, tab, request, Step::FrameTree);
                }
                return Ok(Handled::Reply(tree));
            }
            Answer::ScriptIdentifier => {
                let handled = self.journal_script(session, request);
                self.tell(session, tab, request, step_of(session, request, &handled));
                return Ok(handled);
            }
            Answer::IsolatedWorld => {
                let (result, created) = self.imagine_world(tab, request)?;
                self.keep_in_journal(session, request);
                if created == Created::New {
                    self.tell(session, tab, request, Step::world(&request.params));
                }
                return Ok(Handled::Reply(result));
            }
            Answer::Empty | Answer::Contexts | Answer::Lifecycle => {}
        }
        self.keep_in_journal(session, request);
        if request.method == "Inspector.enable"
            && self.tabs.get(tab).is_some_and(|known| known.is_crashed)
        {
            self.send_event(session, "Inspector.targetCrashed", "{}");
        }
        if init.replay == Replay::Never || self.is_default_on_persons_tab(session, tab, request) {
            return Ok(Handled::empty());
        }
        if let Some(handled) = self.switch_domain(session, request) {
            return handled;
        }
        self.tell(
            session,
            tab,
            request,
            Step::Other {
                method: request.method.to_string(),
            },
        );
        Ok(Handled::empty())
    }

    /// Says to Chrome what a session was answered already. It may take as long as the page likes: nobody waits for it, only
    /// a tab that wakes.
    pub(crate) fn tell(
        &mut self,
        session: SessionId,
        tab: TabId,
        request: &Request<'_>,
        step: Step,
    ) {
        let Some(known) = self.tabs.get_mut(tab) else {
            return;
        };
        let continuation = match &mut known.attachment {
            Attachment::Waking(wake) => {
                wake.outstanding += 1;
                Continuation::Waking { tab, step }
            }
            Attachment::Live | Attachment::Dormant => Continuation::Told { tab, session, step },
        };
        let params = translate::params_to_real(&known.contexts, &request.method, &request.params);
        let params = known.frame_to_real(params).into_owned();
        self.call(
            &Call::CdpCommand {
                tab,
                method: &request.method,
                params: &params,
                child: None,
            },
            continuation,
        );
    }

    /// A session has ended. Of what it was told is done only that is still of interest which has to be taken back when it is.
    pub(crate) fn forget_told_of(&mut self, ended: SessionId, tab: TabId) {
        let is_of = |entry: &Entry| matches!(&entry.continuation, Continuation::Told { session, .. } if *session == ended);
        let is_to_be_undone = |entry: &Entry| {
            matches!(
                &entry.continuation,
                Continuation::Told {
                    step: Step::Script { .. },
                    ..
                }
            )
        };
        self.pending
            .take_where(|entry| is_of(entry) && !is_to_be_undone(entry));
        // A page that stays silent while clients come and go would fill the relay.
        let scripts = |entry: &Entry| entry.tab == Some(tab) && is_to_be_undone(entry);
        let surplus = self
            .pending
            .iter()
            .filter(|entry| scripts(entry))
            .count()
            .saturating_sub(MOST_TO_UNDO);
        let mut dropped = 0;
        self.pending.take_where(|entry| {
            let drops = dropped < surplus && scripts(entry);
            dropped += usize::from(drops);
            drops
        });
    }

    /// Chrome has heard what a session was answered by the relay.
    pub(crate) fn on_told(
        &mut self,
        tab: TabId,
        child: Option<&ChildId>,
        step: Step,
        result: Result<&RawValue, &CdpError>,
    ) {
        match (step, result) {
            (Step::FrameTree, Ok(result)) => self.on_frame_tree(tab, result.get()),
            (Step::Script { session, announced }, Ok(result)) => {
                let Some(real) = translate::text_field(result.get(), "identifier") else {
                    return;
                };
                let is_wanted = self
                    .sessions
                    .get_mut(session)
                    .is_some_and(|view| view.journal.name_script(&announced, &real));
                if !is_wanted {
                    // Taken back meanwhile, when nobody knew yet what Chrome would call it.
                    let params = serde_json::json!({ "identifier": real }).to_string();
                    let method = "Page.removeScriptToEvaluateOnNewDocument";
                    self.call(
                        &Call::CdpCommand {
                            tab,
                            method,
                            params: &params,
                            child,
                        },
                        Continuation::Nothing,
                    );
                }
            }
            (Step::Breakpoint { session }, Ok(result)) => {
                self.on_breakpoint_set(session, Some(tab), child, result.get())
            }
            (Step::World { frame, name }, Ok(result)) => {
                let real = translate::field(result.get(), "executionContextId")
                    .and_then(|text| text.parse().ok());
                if let (Some(real), Some(known)) = (real, self.tabs.get_mut(tab)) {
                    known.contexts.made(&frame, &World::Isolated(name), real);
                }
            }
            (Step::Helper { handle }, Ok(result)) => {
                self.on_helper_made(tab, &handle, result.get())
            }
            (Step::Other { .. }, Ok(_)) => {}
            // While a tab wakes its main frame may yet turn out to be another; what was not made then is sorted out at the end.
            (Step::World { frame, name }, Err(CdpError::Chrome { .. }))
                if self.tabs.get(tab).is_some_and(Tab::is_live) =>
            {
                self.on_world_refused(tab, &frame, name);
            }
            (Step::Other { method }, Err(error)) => {
                tracing::warn!(%tab, method, %error, "Chrome refused what a session was told is done")
            }
            (step, Err(error)) => {
                tracing::warn!(%tab, ?step, %error, "Chrome refused what a session was told is done")
            }
        }
    }

    /// The debugger is gone, and what was told it with it.
    pub(crate) fn forget_told(&mut self, tab: TabId) {
        self.pending.take_where(|entry| {
            entry.tab == Some(tab) && matches!(entry.continuation, Continuation::Told { .. })
        });
    }

    /// A world that clients were told of could not be made: its frame has gone.
    pub(crate) fn on_world_refused(&mut self, tab: TabId, frame: &str, name: String) {
        let refused = self
            .tabs
            .get_mut(tab)
            .and_then(|known| known.contexts.refused(frame, &World::Isolated(name)));
        if let Some(context) = refused {
            self.announce_context_destroyed(tab, &context);
        }
    }
}
