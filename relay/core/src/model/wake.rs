//! The state of a tab between dormant and live: which stage of waking it is in and what waits for
//! it.

use std::collections::VecDeque;

use super::logged::LogTime;
use super::sessions::Session;
use crate::MAX_WAITING_BYTES;
use crate::protocol::cdp::Request;
use crate::protocol::ids::{Caller, ChildId, SessionId};
use crate::protocol::methods::command::leaves_page;
use crate::protocol::methods::event::Event;

#[derive(Debug, Default)]
pub struct Wake {
    /// Commands received in the meantime. They are sent in order when the tab is live.
    waiting: VecDeque<Waiting>,
    /// The size of everything that has waited; bounded.
    waiting_bytes: usize,
    /// Debugger events received in the meantime. Clients have to know a child frame before they
    /// receive its events.
    held: Vec<HeldEvent>,
    stage: Stage,
    /// Replies of the current stage that are still missing.
    outstanding: usize,
    frame_tree: Option<String>,
    /// The page has moved on to a document that was not announced to clients.
    is_next_document: bool,
    /// Sessions that ended in the meantime. What Chrome received from them is undone when the tab
    /// is live.
    ended: Vec<Session>,
}

/// The stages of waking, in order.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    #[default]
    Attaching,
    Replaying,
    CreatingWorlds,
    CreatingHelpers,
}

/// A command that was received before its tab was live.
#[derive(Debug)]
pub struct Waiting {
    pub caller: Caller,
    pub request: Request<'static>,
}

#[derive(Debug)]
pub struct HeldEvent {
    pub child_id: Option<ChildId>,
    pub method: String,
    pub params: String,
}

impl HeldEvent {
    /// `None` for events that are not logged by a page.
    pub fn log_time(&self) -> Option<(Event, LogTime)> {
        let event = Event::classify(&self.method);
        LogTime::of(event, &self.params).map(|time| (event, time))
    }
}

impl Wake {
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Starts a stage that is done after this many replies.
    pub fn start_stage(&mut self, stage: Stage, outstanding: usize) {
        self.stage = stage;
        self.outstanding = outstanding;
    }

    /// The current stage has to wait for one more reply.
    pub fn add_step(&mut self) {
        self.outstanding += 1;
    }

    /// Returns whether the current stage is done.
    pub fn finish_step(&mut self) -> bool {
        self.outstanding = self.outstanding.saturating_sub(1);
        self.outstanding == 0
    }

    /// Queues a command. `false` if too much is waiting already.
    pub fn queue(&mut self, waiting: Waiting) -> bool {
        self.waiting_bytes += waiting.request.params.len();
        let fits = self.waiting_bytes <= MAX_WAITING_BYTES;
        if fits {
            self.waiting.push_back(waiting);
        }
        fits
    }

    pub fn hold(&mut self, event: HeldEvent) {
        self.held.push(event);
    }

    pub fn take_held(&mut self) -> Vec<HeldEvent> {
        std::mem::take(&mut self.held)
    }

    pub fn set_frame_tree(&mut self, tree: &str) {
        self.frame_tree = Some(tree.to_owned());
    }

    pub fn take_frame_tree(&mut self) -> String {
        self.frame_tree.take().unwrap_or_default()
    }

    pub fn is_next_document(&self) -> bool {
        self.is_next_document
    }

    pub fn set_next_document(&mut self) {
        self.is_next_document = true;
    }

    pub fn add_ended(&mut self, session: Session) {
        self.ended.push(session);
    }

    /// Whether clients have received anything from this debugger session yet.
    pub fn is_visible_to_clients(&self) -> bool {
        matches!(self.stage, Stage::CreatingWorlds | Stage::CreatingHelpers)
    }

    /// If a waiting command leads the page elsewhere, starts over and returns that command with
    /// those before it.
    pub fn restart_at_leaving(&mut self) -> Option<(Vec<Waiting>, Waiting)> {
        let leaves = |waiting: &Waiting| leaves_page(&waiting.request.method);
        let index = self.waiting.iter().position(leaves)?;
        let before = self.waiting.drain(..index).collect();
        let leaving = self.waiting.pop_front()?;
        self.stage = Stage::Attaching;
        self.held.clear();
        Some((before, leaving))
    }

    /// Removes the commands of sessions that no longer exist.
    pub fn take_orphans(&mut self, exists: impl Fn(SessionId) -> bool) -> Vec<Waiting> {
        let (kept, orphans): (Vec<_>, Vec<_>) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|waiting| exists(waiting.caller.session_id));
        self.waiting = kept.into();
        orphans
    }

    /// Waking is over: the commands to send and the sessions to undo.
    pub fn finish(self) -> (VecDeque<Waiting>, Vec<Session>) {
        (self.waiting, self.ended)
    }
}
