//! The extension's connection: opening, messages, heartbeat and closing.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::model::calls::Continuation;
use crate::model::link::Heartbeat;
use crate::protocol::error::CdpError;
use crate::protocol::handshake::Browser;
use crate::protocol::ids::CallId;
use crate::protocol::wire::{self, Call, Incoming, TabRemoved, TabThrottled};
use crate::{Core, Output};

impl Core {
    pub(crate) fn on_extension_opened(
        &mut self,
        install_id: &str,
        browser: Browser,
        launch_timeout: Option<Duration>,
    ) {
        // A newer connection takes the place of one that has not been closed yet.
        self.on_extension_closed();
        self.config.launch_timeout = launch_timeout;
        tracing::info!(
            browser = browser.product,
            version = browser.version,
            "extension connected"
        );
        if !self.world.link.was_last(install_id) {
            // Another browser may use the same tab ids for other tabs. While nobody is connected,
            // nothing that follows from this can reach it.
            self.remove_all_tabs();
            self.process_queues();
        }
        let now = self.out.now;
        let (greeting, ping) = (self.config.greeting_timeout, self.config.ping_interval);
        self.world
            .link
            .open(install_id, browser, now + greeting, now + ping);
        self.out.set_connected(true);
        let list_tabs = Call::ListTabs(self.world.emulates_focus);
        self.out.call(&list_tabs, Continuation::Tabs);
    }

    fn remove_all_tabs(&mut self) {
        for tab_id in self.world.tabs.ids() {
            self.on_tab_removed(tab_id);
        }
    }

    /// Whatever was in flight has an unknown outcome and is never sent again: a click may already
    /// have happened.
    pub(crate) fn on_extension_closed(&mut self) {
        if self.world.link.is_absent() {
            return;
        }
        let now = self.out.now;
        let tabs_expire = now + self.config.absence_timeout;
        // If the relay launches browsers, the next message asks for one. If the person has
        // stopped clients, nothing waits.
        let may_return = self.config.launch_timeout.is_none() && !self.out.is_paused();
        let return_deadline = may_return.then_some(now + self.config.return_timeout);
        self.world.link.close(now, tabs_expire, return_deadline);
        self.out.set_connected(false);
        for call in self.out.calls.take_all() {
            self.fail_call(call, &CdpError::ExtensionGone);
            // At once, so that the errors of commands that waited for a tab keep their place.
            self.process_queues();
        }
        self.fail_downloads();
    }

    /// Closes a link that is dead although its socket may be open.
    pub(crate) fn close_extension(&mut self, reason: &str) {
        self.out.push(Output::CloseExtension(reason.to_owned()));
        self.on_extension_closed();
    }

    pub(crate) fn on_extension_message(&mut self, message: &Incoming<'_>) {
        self.world.link.on_message();
        if let Some(id) = message.id {
            let result = match (message.error, message.result) {
                (Some(error), _) => Err(CdpError::from_extension(error)),
                (None, result) => Ok(result.unwrap_or(RawValue::NULL).get()),
            };
            return self.on_reply(CallId(id), result);
        }
        let params = message.params.unwrap_or(RawValue::NULL);
        match message.method.as_ref() {
            "cdpEvent" => self.parse(params, |core, event| core.on_cdp_event(&event)),
            "pong" => {}
            "tabCreated" => self.parse(params, Self::on_tab_created),
            "tabUpdated" => self.parse(params, |core, report| core.on_tab_updated(&report)),
            "tabNavigated" => self.parse(params, Self::on_tab_navigated),
            "tabRemoved" => self.parse(params, |core, removed: TabRemoved| {
                core.on_tab_removed(removed.tab_id);
            }),
            "tabReplaced" => self.parse(params, Self::on_tab_replaced),
            "downloadCreated" => self.parse(params, Self::on_download_created),
            "downloadChanged" => self.parse(params, Self::on_download_changed),
            "tabDetached" => self.parse(params, |core, detached| core.on_tab_detached(&detached)),
            "tabThrottled" => self.parse(params, |_, throttled| log_throttling(&throttled)),
            "pause" => self.set_paused(true),
            "resume" => self.set_paused(false),
            "closePort" => self.out.push(Output::ClosePort),
            other => tracing::debug!(method = other, "unknown message from the extension"),
        }
    }

    fn parse<'a, T: Deserialize<'a>>(
        &mut self,
        params: &'a RawValue,
        then: impl FnOnce(&mut Self, T),
    ) {
        match serde_json::from_str(params.get()) {
            Ok(parsed) => then(self, parsed),
            Err(error) => tracing::warn!(%error, "malformed event from the extension"),
        }
    }

    /// Timers of the link.
    pub(crate) fn check_link(&mut self) {
        let now = self.out.now;
        if self.world.link.is_greeting_overdue(now) {
            self.close_extension("the extension did not list its tabs in time");
        }
        if self.world.link.is_launch_overdue(now) {
            self.world.link.fail_launch("it did not connect in time");
        }
        self.world.link.stop_awaiting_return(now);
        if self.world.link.take_expired_tabs(now) {
            self.remove_all_tabs();
            // The browser has quit. It remembers by itself that the person has stopped clients.
            self.out.set_paused(false);
        }
        match self.world.link.heartbeat(now) {
            Heartbeat::Quiet => {}
            Heartbeat::PongOverdue => {
                self.close_extension("the extension did not answer a ping in time");
            }
            Heartbeat::PingDue => {
                self.out.push(Output::ToExtension(wire::PING.to_owned()));
                let next_ping = now + self.config.ping_interval;
                let pong_deadline = now + self.config.pong_timeout;
                self.world.link.on_ping_sent(next_ping, pong_deadline);
            }
        }
    }
}

/// What a client may notice of it: the page is slow.
fn log_throttling(throttled: &TabThrottled) {
    let TabThrottled {
        tab_id,
        child_session_id: child,
        rate,
        lag_ms,
        events_per_second,
    } = throttled;
    if *rate > 1 {
        tracing::warn!(tab = %tab_id, child, rate, lag_ms, events_per_second, "slowing down a tab that floods the browser with events");
    } else {
        tracing::info!(tab = %tab_id, child, "the tab runs at full speed again");
    }
}
