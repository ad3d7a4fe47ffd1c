//! A tab that loses its debugger: dormant again until the next command.

use crate::Core;
use crate::model::pending_call::PendingCall;
use crate::model::tab::Attachment;
use crate::protocol::error::CdpError;
use crate::protocol::ids::TabId;

impl Core {
    /// The debugger is detached. The next command wakes the tab to the state that its sessions had.
    pub(crate) fn on_attachment_lost(&mut self, tab_id: TabId, reason: &str) {
        let error = CdpError::Detached(reason.to_owned());
        self.lose_attachment(tab_id, &error, &error);
    }

    /// As `on_attachment_lost`, with one error for commands in flight and one for those that wait
    /// for the tab to wake.
    pub(crate) fn lose_attachment(
        &mut self,
        tab_id: TabId,
        lost_by: &CdpError,
        waiting: &CdpError,
    ) {
        let is_visible = self.is_attachment_visible(tab_id);
        let is_lost = |call: &PendingCall| {
            // Calls to the browser, such as activating the tab, do not need the debugger.
            call.tab_id() == Some(tab_id)
                && call.is_command()
                && (call.is_awaited() || call.is_waking())
        };
        let lost = self.out.calls.take_where(is_lost);
        self.out.calls.forget_unawaited(tab_id);
        self.on_wake_failed(tab_id, waiting);
        for (_, call) in lost {
            self.fail_call(call, lost_by);
        }
        if is_visible {
            self.retract_page(tab_id);
        }
    }

    /// Whether clients have received anything that ends with the debugger.
    fn is_attachment_visible(&self, tab_id: TabId) -> bool {
        let tab = self.world.tabs.get(tab_id);
        tab.is_some_and(|tab| match tab.attachment() {
            Attachment::Live => true,
            Attachment::Waking(wake) => wake.is_visible_to_clients(),
            Attachment::Dormant => false,
        })
    }
}
