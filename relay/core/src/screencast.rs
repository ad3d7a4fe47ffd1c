//! Screencasts: Chrome has one a tab, and several sessions may want one, or none. The extension runs its own where a
//! background tab has to draw; its frames are for nobody.

use crate::Core;
use crate::ids::{SessionId, TabId};
use crate::intercept::Handled;
use crate::sessions::Subject;

/// A session's `enabled` holds its own screencast under this name; only then do frames reach it.
pub(crate) const SCREENCAST: &str = "Page.screencastFrame";

impl Core {
    /// A session's screencast starts or ends. Answers what must not reach Chrome because another session's goes on.
    pub(crate) fn switch_screencast(
        &mut self,
        session: SessionId,
        tab: TabId,
        starts: bool,
    ) -> Option<Handled> {
        let view = self.sessions.get_mut(session)?;
        if starts {
            view.enabled.insert(SCREENCAST.to_owned());
            return None;
        }
        view.enabled.remove(SCREENCAST);
        let goes_on = self
            .sessions
            .viewing(&Subject::Page(tab))
            .any(|(_, view)| view.enabled.contains(SCREENCAST));
        goes_on.then(Handled::empty)
    }
}
