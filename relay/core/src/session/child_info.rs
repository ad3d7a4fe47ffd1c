//! The description of a child, which changes when it navigates.

use std::collections::BTreeSet;

use crate::Core;
use crate::model::target::Target;
use crate::protocol::ids::{SessionId, TabId};
use crate::protocol::json;

impl Core {
    /// Chrome reports another URL of a child. Sessions that attached it get that, too.
    pub(crate) fn on_child_info_changed(&mut self, tab_id: TabId, params: &str) {
        let info = json::field(params, "targetInfo").unwrap_or_default();
        let Some(target_id) = json::string_field(info, "targetId") else {
            return;
        };
        let info = self.with_own_context(info);
        let mut targets = self.world.tabs.find_children(&target_id);
        let target = targets.find(|target| target.tab_id() == Some(tab_id));
        drop(targets);
        let Some(Target::Child(_, child_id)) = &target else {
            return;
        };
        let tab = self.world.tabs.get_mut(tab_id);
        if let Some(child) = tab.and_then(|tab| tab.child_mut(child_id)) {
            child.set_target_info(info.clone());
        }
        self.announce_child_info(&Target::Child(tab_id, child_id.clone()), &info);
        self.announce_frame_changes(tab_id);
    }

    /// Sends the info of a child to the sessions of its page or frame that have a session on it.
    pub(crate) fn announce_child_info(&mut self, child: &Target, info: &str) {
        let sessions = self.world.sessions.on(child);
        let parents = sessions.filter_map(|(_, session)| session.parent());
        let parents: BTreeSet<SessionId> = parents.collect();
        let params = format!(r#"{{"targetInfo":{info}}}"#);
        for parent in parents {
            // Sessions on the browser receive it if they discover targets.
            let session = self.world.sessions.get(parent);
            if session.is_some_and(|session| *session.target() != Target::Browser) {
                self.send_event(parent, "Target.targetInfoChanged", &params);
            }
        }
    }

    /// Clients know the person's profile by the relay's id.
    pub(crate) fn with_own_context(&self, target_info: &str) -> String {
        let context = serde_json::Value::from(self.world.browser_context.as_str()).to_string();
        let own = |_: &str| Some(context.clone());
        json::replace(target_info.into(), &["browserContextId"], own).into_owned()
    }
}
