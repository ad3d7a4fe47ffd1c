//! Commands that wait for their turn, and with them those of their session that come after them.
//!
//! 1. One that names a world which Chrome has not made yet waits until it has.
//! 2. One that asks for the frames of a frame waits until the session above knows its own. The two may live in processes of
//!    their own, which answer when they like, and Puppeteer forgets a frame that it hears of before the one around it.
//!
//! Chrome answers each target's commands in order. So a question is asked where the wait is for something, and its answer is
//! the turn: whatever was said there before has been heard.

use crate::Core;
use crate::bootstrap;
use crate::cdp::Request;
use crate::error::CdpError;
use crate::ids::{ChildId, ClientId, SessionId, TabId};
use crate::intercept::Handled;
use crate::pending::{Continuation, Deferred, Entry, Note};
use crate::router::MAX_WAITING_BYTES;
use crate::sessions::Subject;
use crate::translate;

const FRAME_TREE: &str = "Page.getFrameTree";

/// The target that is asked: the page, or one below it.
type Place = Option<ChildId>;

impl Core {
    /// Whether a command to a page names what Chrome has not made yet, or comes after one that does.
    pub(crate) fn must_wait_for_turn(
        &self,
        session: SessionId,
        tab: TabId,
        request: &Request<'_>,
    ) -> bool {
        let Some(known) = self.tabs.get(tab) else {
            return false;
        };
        self.comes_after_another(session, request)
            || translate::names_imagined(&known.contexts, &request.method, &request.params)
    }

    /// The answer to a dialog cannot wait for the page that waits for it.
    fn comes_after_another(&self, session: SessionId, request: &Request<'_>) -> bool {
        let waits = self
            .sessions
            .get(session)
            .is_some_and(|view| view.waits_for_turn > 0);
        waits && request.method != "Page.handleJavaScriptDialog"
    }

    /// Where a command to a target below a page has to wait, if it has to.
    pub(crate) fn place_to_wait(&self, session: SessionId, request: &Request<'_>) -> Option<Place> {
        if self.comes_after_another(session, request) {
            return self.waits_at(session, |_| true);
        }
        self.frames_awaited_above(session, request)
    }

    /// Where the session above waits for the tree of its own frames, for one that asks for the tree of those below.
    fn frames_awaited_above(&self, session: SessionId, request: &Request<'_>) -> Option<Place> {
        let above = self
            .sessions
            .get(session)?
            .parent
            .filter(|_| request.method == FRAME_TREE)?;
        let tree = self
            .pending
            .iter()
            .find(|entry| entry.is_of(above) && entry.asked_method() == FRAME_TREE)?;
        Some(tree.child.clone())
    }

    /// The place where the commands of this session wait that are furthest behind: whoever joins them there keeps the order.
    fn waits_at(&self, session: SessionId, is_meant: impl Fn(&Place) -> bool) -> Option<Place> {
        let is_turn = |entry: &&Entry| {
            matches!(
                entry.continuation,
                Continuation::Reply {
                    note: Note::Turn(_),
                    ..
                }
            )
        };
        let mut places = self
            .pending
            .iter()
            .filter(|entry| entry.is_of(session))
            .filter(is_turn)
            .map(|entry| &entry.child);
        places.find(|place| is_meant(place)).cloned()
    }

    pub(crate) fn wait_for_turn(
        &mut self,
        session: SessionId,
        tab: TabId,
        at: Place,
        request: &Request<'_>,
    ) -> Result<Handled, CdpError> {
        if let Some(view) = self.sessions.get_mut(session) {
            view.waits_for_turn += 1;
        }
        let asked = self.ask_in_turn(session, tab, at.as_ref(), request, Note::Turn);
        if asked.is_err() {
            self.end_turn(session);
        }
        asked
    }

    /// Asks a target something, the answer to which is the command's turn. Any question will do.
    pub(crate) fn ask_in_turn(
        &mut self,
        session: SessionId,
        tab: TabId,
        child: Option<&ChildId>,
        request: &Request<'_>,
        note: fn(Deferred) -> Note,
    ) -> Result<Handled, CdpError> {
        let view = self
            .sessions
            .get_mut(session)
            .ok_or(CdpError::SessionNotFound)?;
        if view.deferred_bytes + request.params.len() > MAX_WAITING_BYTES {
            return Err(CdpError::Refused(
                "Too many commands are waiting for this page, which is not responding. Try again in a moment.".to_owned(),
            ));
        }
        view.deferred_bytes += request.params.len();
        let question = Request {
            method: "Runtime.getIsolateId".into(),
            params: "{}".into(),
            ..request.clone()
        };
        self.forward_noting(session, tab, child, &question, note(Deferred::new(request)));
        Ok(Handled::Later)
    }

    /// It is this command's turn, or its client was told why that never came.
    pub(crate) fn undefer(
        &mut self,
        session: SessionId,
        request: i64,
        deferred: Deferred,
    ) -> Request<'static> {
        if let Some(view) = self.sessions.get_mut(session) {
            view.deferred_bytes = view.deferred_bytes.saturating_sub(deferred.params.len());
        }
        Request {
            id: request,
            method: deferred.method.into(),
            params: deferred.params.into(),
            session: None,
        }
    }

    /// The command has waited `at` this place.
    pub(crate) fn on_turn(
        &mut self,
        client: ClientId,
        session: SessionId,
        at: &Place,
        request: &Request<'_>,
    ) {
        self.end_turn(session);
        let subject = self.sessions.get(session).map(|view| view.subject.clone());
        let handled = match subject {
            Some(Subject::Page(tab)) => self.send_to_live_page(session, tab, request),
            Some(Subject::Child(tab, child)) => {
                // The session above may have waited too, and ask only now; then who came before this one waits there already.
                let further = self
                    .waits_at(session, |place| place != at)
                    .or_else(|| self.frames_awaited_above(session, request));
                match further {
                    Some(place) => self.wait_for_turn(session, tab, place, request),
                    None => self.send_to_child(session, tab, &child, request),
                }
            }
            _ => Err(CdpError::SessionNotFound),
        };
        self.answer(client, session, request.id, handled);
    }

    /// Whether a failed question is a turn all the same: Chrome's own errors come in turn too, and a frame need not fall silent
    /// with the one around it.
    pub(crate) fn is_turn(&self, entry: &Entry, error: &CdpError) -> bool {
        let Continuation::Reply {
            session,
            note: Note::Join(_) | Note::Turn(_),
            ..
        } = &entry.continuation
        else {
            return false;
        };
        let own = self
            .sessions
            .get(*session)
            .and_then(|view| view.subject.place())
            .map(|(_, child)| child.cloned());
        match error {
            CdpError::Chrome { .. } => true,
            CdpError::PageSilent(..) => own.is_some_and(|own| own != entry.child),
            _ => false,
        }
    }

    /// The turn of a command never came; its client was told why.
    pub(crate) fn on_turn_lost(&mut self, session: SessionId, request: &Request<'_>) {
        self.end_turn(session);
        if let Some(context) = bootstrap::helper_in(request) {
            self.on_helper_failed(session, context);
        }
    }

    fn end_turn(&mut self, session: SessionId) {
        if let Some(view) = self.sessions.get_mut(session) {
            view.waits_for_turn = view.waits_for_turn.saturating_sub(1);
        }
    }
}
