//! The handshake with an extension: both sides prove that they know the secret of a pairing, and
//! only then does the extension introduce its browser. Until then the relay sends nothing but its
//! nonce, and reads nothing but a small hello.

use std::time::Duration;

use serde::de::DeserializeOwned;
use tabwire_core::handshake::{self, Browser, Busy, Challenge, Hello, Welcome};
use tabwire_home::{
    Handshake, PROTOCOL, PairingId, Verdict, is_install_id, is_nonce, new_nonce, printable,
};
use tokio::time::timeout;

use super::socket::close_after;
use super::upgrade::{Reader, Writer};
use super::websocket::{Close, Message, Outgoing};
use crate::app::App;
use crate::registry::{Entry, ExtensionSlot, Identity, SlotTaken};

/// The largest message of a connection that has not proven who it is.
pub const MAX_UNPROVEN_MESSAGE: usize = 4 << 10;
/// The largest introduction.
pub const MAX_INTRODUCTION: usize = 64 << 10;
/// With `--allow-unpaired`: how long to wait for a hello. The oldest extensions send none.
const HELLO_TIMEOUT: Duration = Duration::from_secs(1);

// Close codes of our own. The extension explains them to the user.
const POLICY_VIOLATION: u16 = 1008;
const TRY_AGAIN_LATER: u16 = 1013;
const NOT_PAIRED: u16 = 4401;
const WRONG_PROOF: u16 = 4403;
const OTHER_PROTOCOL: u16 = 4406;
const SLOT_TAKEN: u16 = 4409;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Identifies every browser that has not proven who it is.
const UNPAIRED: &str = "unpaired";

/// A browser that may connect, and has taken its slot.
pub struct Admission {
    pub entry: Entry,
    pub slot: ExtensionSlot,
    pub identity: Identity,
}

/// Lets both sides prove who they are, and takes the browser's slot. Otherwise returns how to close
/// the connection.
pub async fn prove(
    app: &App,
    (reader, writer): (&mut Reader, &mut Writer),
) -> Result<Admission, Close> {
    let nonce = new_nonce();
    let challenge = Challenge {
        protocol: PROTOCOL,
        nonce: &nonce,
    };
    send(writer, "challenge", &challenge).await?;
    let hello = if app.config.allow_unpaired {
        match timeout(HELLO_TIMEOUT, read::<Hello>(reader, "hello")).await {
            Ok(Ok(hello)) => hello,
            _ => return admit_unpaired(app),
        }
    } else {
        read::<Hello>(reader, "hello").await?
    };
    let (identity, proof) = check(app, &nonce, &hello)?;
    match app
        .registry
        .take_extension_slot(identity.clone(), hello.take_over)
    {
        Ok((entry, slot)) => {
            let welcome = Welcome {
                proof: &proof,
                version: VERSION,
                name: identity.name.as_deref(),
            };
            send(writer, "welcome", &welcome).await?;
            Ok(Admission {
                entry,
                slot,
                identity,
            })
        }
        Err(SlotTaken {
            holder,
            can_take_over,
        }) => {
            tracing::debug!(?holder, "refused another browser");
            let busy = Busy {
                proof: &proof,
                version: VERSION,
                holder: holder.as_deref(),
                can_take_over,
            };
            send(writer, "busy", &busy).await?;
            Err(Close::new(SLOT_TAKEN, "Another browser is connected."))
        }
    }
}

/// Checks an extension's proof. Returns who it is, and the relay's own proof.
fn check(app: &App, nonce: &str, hello: &Hello) -> Result<(Identity, String), Close> {
    if hello.protocol != PROTOCOL {
        let reason = format!("This relay speaks protocol {PROTOCOL}.");
        return Err(Close::new(OTHER_PROTOCOL, &reason));
    }
    if !is_nonce(&hello.nonce) || !is_install_id(&hello.install_id) {
        return Err(Close::new(POLICY_VIOLATION, "The hello is malformed."));
    }
    let handshake = Handshake {
        relay_nonce: nonce,
        extension_nonce: &hello.nonce,
        install_id: &hello.install_id,
        address: &format!("127.0.0.1:{}", app.config.port),
    };
    match app.secrets.verify(&handshake, &hello.proof) {
        (Verdict::Proven { pairing, name }, Some(proof)) => {
            let identity = Identity {
                install_id: hello.install_id.clone(),
                pairing: Some(pairing),
                name,
            };
            Ok((identity, proof))
        }
        (verdict, _) => Err(refuse(app, hello, &verdict)),
    }
}

/// How to close a connection with a wrong proof. After many of them, not even the reason is sent.
fn refuse(app: &App, hello: &Hello, verdict: &Verdict) -> Close {
    if !app.lobby.answers_wrong_proof() {
        let reason = "Too many wrong proofs. Try again in a few seconds.";
        return Close::new(TRY_AGAIN_LATER, reason);
    }
    tracing::warn!(install = hello.install_id, ?verdict, "refused an extension");
    if *verdict == Verdict::WrongProof {
        Close::new(WRONG_PROOF, "The proof is wrong.")
    } else {
        Close::new(NOT_PAIRED, "This browser is not paired.")
    }
}

fn admit_unpaired(app: &App) -> Result<Admission, Close> {
    let identity = Identity {
        install_id: UNPAIRED.to_owned(),
        pairing: None,
        name: Some(UNPAIRED.to_owned()),
    };
    let taken = app.registry.take_extension_slot(identity.clone(), false);
    let (entry, slot) =
        taken.map_err(|_| Close::new(SLOT_TAKEN, "Another browser is connected."))?;
    Ok(Admission {
        entry,
        slot,
        identity,
    })
}

/// Reads the extension's introduction. Returns its browser and that browser's name.
pub async fn introduce(
    app: &App,
    identity: &Identity,
    reader: &mut Reader,
) -> Result<(Browser, String), Close> {
    let Some(pairing) = &identity.pairing else {
        return Ok((Browser::unknown(), UNPAIRED.to_owned()));
    };
    let browser = limited(&read::<Browser>(reader, "browser").await?);
    match record(app, pairing.clone(), &identity.install_id, &browser).await {
        Ok(Some(name)) => Ok((browser, name)),
        Ok(None) => Err(Close::new(NOT_PAIRED, "This browser is no longer paired.")),
        Err(error) => {
            // A browser that is in no list could not be unpaired.
            tracing::warn!(%error, "cannot record the browser");
            let reason = "The relay cannot write its list of browsers.";
            Err(Close::new(TRY_AGAIN_LATER, reason))
        }
    }
}

/// These texts are shown to people and kept in files.
fn limited(browser: &Browser) -> Browser {
    Browser {
        version: printable(&browser.version, 40),
        product: printable(&browser.product, 80),
        user_agent: printable(&browser.user_agent, 500),
        brand: printable(&browser.brand, 20),
    }
}

/// Writes a file under a lock, which may have to be waited for.
async fn record(
    app: &App,
    pairing: PairingId,
    install_id: &str,
    browser: &Browser,
) -> Result<Option<String>, tabwire_home::Error> {
    let (secrets, install_id) = (app.secrets.clone(), install_id.to_owned());
    let (brand, product) = (browser.brand.clone(), browser.product.clone());
    let in_use = app.registry.in_use();
    let recording = tokio::task::spawn_blocking(move || {
        secrets.record_seen(&pairing, &install_id, (&brand, &product), &in_use)
    });
    recording.await.unwrap_or(Ok(None))
}

async fn send(
    writer: &mut Writer,
    method: &str,
    params: &impl serde::Serialize,
) -> Result<(), Close> {
    writer.put(Outgoing::Text(handshake::message(method, params)));
    let sent = writer.flush().await;
    sent.map_err(|_| Close::new(POLICY_VIOLATION, "The connection was lost."))
}

/// Reads the next message, which must be this one.
async fn read<T: DeserializeOwned>(reader: &mut Reader, method: &str) -> Result<T, Close> {
    #[derive(serde::Deserialize)]
    struct Envelope<T> {
        method: String,
        params: T,
    }
    let unexpected = || Close::new(POLICY_VIOLATION, &format!("Expected the message {method}."));
    let text = match reader.next().await {
        Ok(Message::Text(text)) => text,
        Ok(Message::Close(code)) => return Err(Close::new(code, "")),
        Ok(Message::Ping(_) | Message::Pong) => return Err(unexpected()),
        Err(error) => {
            let close = close_after(&error).map(|(code, reason)| Close::new(code, &reason));
            return Err(close.unwrap_or_else(unexpected));
        }
    };
    match serde_json::from_str::<Envelope<T>>(&text) {
        Ok(envelope) if envelope.method == method => Ok(envelope.params),
        _ => Err(unexpected()),
    }
}
