//! Whether the debugger is attached to a tab, and what ends with it.

use super::Tab;
use crate::model::frames::Frames;
use crate::model::mirror::Mirror;
use crate::model::paused::PausedRequests;
use crate::model::wake::{Stage, Wake};

#[derive(Debug)]
pub enum Attachment {
    Dormant,
    Waking(Wake),
    Live,
}

impl Tab {
    pub fn attachment(&self) -> &Attachment {
        &self.attachment
    }

    pub fn is_live(&self) -> bool {
        matches!(self.attachment, Attachment::Live)
    }

    pub fn is_dormant(&self) -> bool {
        matches!(self.attachment, Attachment::Dormant)
    }

    pub fn wake(&self) -> Option<&Wake> {
        match &self.attachment {
            Attachment::Waking(wake) => Some(wake),
            Attachment::Dormant | Attachment::Live => None,
        }
    }

    pub fn wake_mut(&mut self) -> Option<&mut Wake> {
        match &mut self.attachment {
            Attachment::Waking(wake) => Some(wake),
            Attachment::Dormant | Attachment::Live => None,
        }
    }

    pub fn start_waking(&mut self) {
        self.attachment = Attachment::Waking(Wake::default());
        self.resumes = true;
        self.auto_attach = None;
    }

    /// The debugger was attached while the tab was created.
    pub fn start_live(&mut self) {
        if self.is_dormant() {
            self.attachment = Attachment::Live;
            self.resumes = true;
        }
    }

    /// Whether the debugger was attached, or about to be, when the extension was lost.
    pub fn resumes(&self) -> bool {
        self.resumes
    }

    /// The next command attaches the debugger again, and nothing else does.
    pub fn stay_detached(&mut self) {
        self.resumes = false;
    }

    pub fn finish_waking(&mut self) -> Option<Wake> {
        self.end_waking(Attachment::Live)
    }

    /// Waking failed. What the debugger created is gone with it.
    pub fn abort_waking(&mut self) -> Option<Wake> {
        let wake = self.end_waking(Attachment::Dormant)?;
        self.dialog_is_open = false;
        self.contexts.unpair_all();
        Some(wake)
    }

    fn end_waking(&mut self, next: Attachment) -> Option<Wake> {
        match std::mem::replace(&mut self.attachment, next) {
            Attachment::Waking(wake) => Some(wake),
            other => {
                self.attachment = other;
                None
            }
        }
    }

    /// Whether Chrome has received the commands of the tab's sessions, so that it must receive
    /// later ones too.
    pub fn has_replayed(&self) -> bool {
        match &self.attachment {
            Attachment::Dormant => false,
            Attachment::Waking(wake) => wake.stage() != Stage::Attaching,
            Attachment::Live => true,
        }
    }

    /// Forgets everything that only the debugger knew. Returns the frames that clients know.
    pub fn become_dormant(&mut self) -> Frames {
        self.attachment = Attachment::Dormant;
        self.contexts.clear();
        self.bootstraps.clear();
        self.mirror = Mirror::default();
        self.dialog_is_open = false;
        self.is_crashed = false;
        self.awaited_document = None;
        self.auto_attach = None;
        self.children.retain(|_, child| child.is_placeholder());
        self.paused = PausedRequests::default();
        std::mem::take(&mut self.frames)
    }
}
