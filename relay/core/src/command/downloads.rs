//! What clients want done with downloads: `Browser.setDownloadBehavior`, its older form in the
//! `Page` domain, and `Browser.cancelDownload`. Nothing here wakes a tab.

use serde::Deserialize;

use crate::Core;
use crate::emit::out::{Handled, HandlerResult, reply_to};
use crate::model::calls::Note;
use crate::model::downloads::{Behavior, Destination, Naming};
use crate::protocol::cdp::Request;
use crate::protocol::error::CdpError;
use crate::protocol::ids::Caller;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BehaviorParams {
    behavior: String,
    download_path: Option<String>,
    events_enabled: Option<bool>,
    browser_context_id: Option<String>,
}

impl Core {
    /// Ends with the session that sent it.
    pub(crate) fn set_download_behavior(
        &mut self,
        caller: Caller,
        request: &Request<'_>,
    ) -> HandlerResult {
        let params = request.read_params::<BehaviorParams>()?;
        self.check_optional_context(params.browser_context_id.as_deref())?;
        let behavior = read_behavior(&params.behavior, params.download_path)?;
        // The older command has no such parameter, and does not change what the other one has set.
        let has_events = (request.method == "Browser.setDownloadBehavior")
            .then(|| params.events_enabled == Some(true));
        self.world
            .downloads
            .set(caller.session_id, caller.client_id, behavior, has_events);
        // The reply follows when the extension is watching, so that no download is missed.
        if self.update_download_watch(reply_to(caller, Note::WatchDownloads)) {
            Ok(Handled::Later)
        } else {
            Ok(Handled::empty())
        }
    }

    pub(crate) fn cancel_download(
        &mut self,
        caller: Caller,
        request: &Request<'_>,
    ) -> HandlerResult {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            guid: String,
            browser_context_id: Option<String>,
        }
        let params = request.read_params::<Params>()?;
        self.check_optional_context(params.browser_context_id.as_deref())?;
        let downloads = &self.world.downloads;
        let is_own = downloads.get(&params.guid).is_some_and(|download| {
            let mut deliveries = download.deliveries().iter();
            deliveries.any(|delivery| delivery.client_id == caller.client_id)
        });
        if is_own {
            return Ok(self.give_up_download(caller, &params.guid));
        }
        if downloads.has_ended(&params.guid) {
            return Ok(Handled::empty());
        }
        // Chrome's own words.
        Err(CdpError::rejected(
            "No download item found for the given GUID",
        ))
    }
}

fn read_behavior(behavior: &str, folder: Option<String>) -> Result<Behavior, CdpError> {
    let naming = match behavior {
        "default" => return Ok(Behavior::Default),
        "deny" => return Ok(Behavior::Deny),
        "allow" => Naming::Suggested,
        "allowAndName" => Naming::Guid,
        other => {
            return Err(CdpError::rejected(format!(
                "Unknown download behavior '{other}'. Use deny, allow, allowAndName or default."
            )));
        }
    };
    // Chrome's own words.
    let folder = folder.ok_or_else(|| CdpError::rejected("downloadPath not provided"))?;
    if folder == "." {
        // Chromedriver sends this unless its user has named a folder.
        return Ok(Behavior::Default);
    }
    if !folder.starts_with('/') {
        return Err(CdpError::rejected(format!(
            "downloadPath '{folder}' is not an absolute path on the machine that runs the relay"
        )));
    }
    Ok(Behavior::Save(Destination { folder, naming }))
}
