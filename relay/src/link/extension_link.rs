//! `/extension`: upgrades the request, lets the extension prove who it is, and connects its socket
//! to its browser's hub until it closes.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use tokio::time::timeout;

use super::authenticate::{self, Admission, MAX_INTRODUCTION, MAX_UNPROVEN_MESSAGE};
use super::lobby::Guest;
use super::outbox::outbox;
use super::socket::{self, Ended};
use super::upgrade::{ExtensionUpgrade, Reader, Writer};
use super::websocket::{Close, Outgoing};
use crate::app::App;
use crate::direct::StrongSignal;
use crate::hub::ToHub;

/// How long a connection may take to prove who it is.
const PROOF_TIMEOUT: Duration = Duration::from_secs(3);
/// How long an extension that has proven itself may take to introduce its browser.
const INTRODUCTION_TIMEOUT: Duration = Duration::from_secs(5);
/// How long writing a close frame may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

const POLICY_VIOLATION: u16 = 1008;
const TRY_AGAIN_LATER: u16 = 1013;
const SLOT_TAKEN: u16 = 4409;

/// The guard has already checked host and origin.
pub async fn upgrade(
    State(app): State<Arc<App>>,
    ExtensionUpgrade(upgrade): ExtensionUpgrade,
) -> Response {
    let guest = app.lobby.enter();
    upgrade.run(MAX_UNPROVEN_MESSAGE, move |reader, writer| {
        run(app, guest, reader, writer)
    })
}

async fn run(
    app: Arc<App>,
    guest: Guest,
    mut reader: Reader,
    mut writer: Writer,
) -> Option<(Reader, Writer)> {
    let proving = timeout(
        PROOF_TIMEOUT,
        authenticate::prove(&app, (&mut reader, &mut writer)),
    );
    let admitted = tokio::select! {
        // A proof that holds counts, even if the place is needed at the same moment.
        biased;
        proven = proving => proven.unwrap_or_else(|_| {
            Err(Close::new(POLICY_VIOLATION, "No proof was received in time."))
        }),
        () = guest.evicted() => {
            Err(Close::new(TRY_AGAIN_LATER, "Too many connections have to prove who they are."))
        }
    };
    drop(guest);
    match admitted {
        Ok(admission) => serve(&app, admission, reader, writer).await,
        Err(close) => refuse((reader, writer), close).await,
    }
}

/// Returns the socket if the close frame was written.
async fn refuse((reader, mut writer): (Reader, Writer), close: Close) -> Option<(Reader, Writer)> {
    tracing::debug!(?close, "extension refused");
    writer.put(Outgoing::Close(close));
    let written = timeout(CLOSE_TIMEOUT, writer.flush()).await;
    matches!(written, Ok(Ok(()))).then_some((reader, writer))
}

/// Connects an extension that has proven who it is. Refuses it if it does not introduce its browser.
async fn serve(
    app: &App,
    Admission {
        entry,
        slot,
        identity,
    }: Admission,
    mut reader: Reader,
    writer: Writer,
) -> Option<(Reader, Writer)> {
    reader.set_max_message(MAX_INTRODUCTION);
    let introducing = authenticate::introduce(app, &identity, &mut reader);
    let introduced = timeout(INTRODUCTION_TIMEOUT, introducing).await;
    let (browser, name) = match introduced {
        Ok(Ok(introduced)) => introduced,
        Ok(Err(close)) => return refuse((reader, writer), close).await,
        Err(_) => {
            let close = Close::new(POLICY_VIOLATION, "The browser was not introduced in time.");
            return refuse((reader, writer), close).await;
        }
    };
    reader.set_max_message(app.config.max_message);
    let (outbox, drain) = outbox(app.config.outbox_limit);
    if !slot.open(&name, outbox.clone()) {
        let close = Close::new(SLOT_TAKEN, "Another connection has taken the slot.");
        return refuse((reader, writer), close).await;
    }
    let pairing = identity.pairing.as_ref();
    app.launcher.on_extension_opened(&name, pairing);
    let (hub, link) = (entry.hub.for_extension(), slot.link);
    let opened = ToHub::ExtensionOpened {
        link,
        outbox: outbox.clone(),
        launch_timeout: app.launch_timeout(pairing),
        install_id: identity.install_id,
        browser,
    };
    let _ = hub.send(opened).await;
    let to_hub = |text| ToHub::ExtensionText(link, text);
    // The core pings extensions, because Chrome does not report WebSocket pings to them.
    let (ended, closing) =
        socket::run((reader, writer), (&outbox, drain), None, &hub, to_hub).await;
    // A newer connection may have taken the place of this one.
    let holder = entry.connections.extension_link();
    if holder.is_none_or(|holder| holder == link) {
        let signal = signal(ended);
        app.launcher.on_extension_lost(&name, pairing, signal);
    }
    drop(slot);
    let _ = hub.send(ToHub::ExtensionClosed(link)).await;
    let reason = outbox.abort_reason();
    tracing::info!(browser = name, reason, "extension disconnected");
    closing
}

fn signal(ended: Ended) -> StrongSignal {
    match ended {
        Ended::ByPeer => StrongSignal::Closed,
        Ended::Failed => StrongSignal::Failed,
        Ended::ByRelay => StrongSignal::ByRelay,
    }
}
