//! Commands that the person does not allow: they have stopped all clients, or taken a tab back.
//! Sessions survive that, so that the same page works again later.

use crate::Core;
use crate::emit::messages::exception;
use crate::emit::out::Handled;
use crate::model::bootstraps::helper_context;
use crate::protocol::cdp::Request;
use crate::protocol::error::CdpError;
use crate::protocol::ids::{Caller, TabId};
use crate::protocol::json;

impl Core {
    /// Why a client may not use this tab, if it may not.
    pub(crate) fn find_refusal(&self, caller: Caller, tab_id: TabId) -> Option<CdpError> {
        if self.out.is_paused() {
            return Some(CdpError::Paused);
        }
        let tab = self.world.tabs.get(tab_id)?;
        let is_released = tab.is_released_from(caller.client_id);
        is_released.then_some(CdpError::Released)
    }

    /// Answers a command that needs the page.
    pub(crate) fn refuse(&mut self, caller: Caller, request: &Request<'_>, error: CdpError) {
        let result = match throw_in_page(request, &error) {
            Some(thrown) => Ok(thrown),
            None => Err(error),
        };
        self.answer(caller, result);
        if let Some(context) = helper_context(request) {
            self.on_helper_failed(caller.session_id, context);
        }
    }
}

/// Libraries evaluate in a context that they name, or on an object. Playwright would hide an error
/// of such a command from its user and try again until it times out, but not an exception.
fn throw_in_page(request: &Request<'_>, error: &CdpError) -> Option<Handled> {
    let names = |key| json::string_field(&request.params, key).is_some();
    let is_of_library = match request.method.as_ref() {
        "Runtime.evaluate" => {
            json::integer_field(&request.params, "contextId").is_some() || names("uniqueContextId")
        }
        "Runtime.callFunctionOn" => true,
        _ => false,
    };
    is_of_library.then(|| exception(error))
}
