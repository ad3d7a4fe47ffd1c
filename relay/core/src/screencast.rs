//! Screenshots of tabs that nobody looks at. Chrome draws no frame for a background tab, so a capture of one waits for
//! ever; while a screencast runs, frames are drawn. So the relay runs one around each capture, and keeps its frames from
//! sessions that did not ask for any.

use crate::Core;
use crate::cdp::Request;
use crate::ids::{SessionId, TabId};
use crate::intercept::Handled;
use crate::pending::{Continuation, Note};
use crate::sessions::Subject;
use crate::wire::Call;

/// A session's `enabled` holds its own screencast under this name.
pub(crate) const SCREENCAST: &str = "Page.screencastFrame";

impl Core {
    pub(crate) fn capture(&mut self, session: SessionId, tab: TabId, request: &Request<'_>) -> Handled {
        if let Some(known) = self.tabs.get_mut(tab) {
            known.captures += 1;
            if known.captures == 1 && !self.has_screencast(tab) {
                // The smallest frames there are: nobody sees them.
                let params = r#"{"format":"jpeg","quality":1,"maxWidth":16,"maxHeight":16}"#;
                self.call(&Call::CdpCommand { tab, method: "Page.startScreencast", params, child: None }, Continuation::Nothing);
            }
        }
        self.forward_noting(session, tab, None, request, Note::Captured { tab });
        Handled::Later
    }

    /// A capture has been answered, or never will be.
    pub(crate) fn on_captured(&mut self, tab: TabId) {
        let Some(known) = self.tabs.get_mut(tab) else { return };
        known.captures = known.captures.saturating_sub(1);
        if known.captures == 0 && known.is_live() && !self.has_screencast(tab) {
            self.call(&Call::CdpCommand { tab, method: "Page.stopScreencast", params: "{}", child: None }, Continuation::Nothing);
        }
    }

    /// A session's own screencast starts or ends. Answers what must not reach Chrome because another one goes on.
    pub(crate) fn switch_screencast(&mut self, session: SessionId, tab: TabId, starts: bool) -> Option<Handled> {
        let view = self.sessions.get_mut(session)?;
        if starts {
            view.enabled.insert(SCREENCAST.to_owned());
            return None;
        }
        view.enabled.remove(SCREENCAST);
        let goes_on = self.has_screencast(tab) || self.tabs.get(tab).is_some_and(|tab| tab.captures > 0);
        goes_on.then(Handled::empty)
    }

    fn has_screencast(&self, tab: TabId) -> bool {
        self.sessions.viewing(&Subject::Page(tab)).any(|(_, view)| view.enabled.contains(SCREENCAST))
    }
}
