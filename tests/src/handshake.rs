//! The extension's part of the handshake, for scripted extensions and for those that cheat.

use std::path::Path;

use serde_json::{Value, json};
use tabwire_home::{Handshake, Home, PROTOCOL, Role, Secret, new_nonce, now};

/// The installation id of a scripted extension, unless the test chooses another.
pub const INSTALL_ID: &str = "00000000-0000-4000-8000-000000000001";

/// One installation of the extension: its id and its secret.
#[derive(Clone)]
pub struct Installation {
    pub install_id: String,
    pub secret: Secret,
}

/// An extension's hello, with what is needed to check the relay's answer.
pub struct Hello {
    pub message: Value,
    relay_nonce: String,
    extension_nonce: String,
}

impl Installation {
    /// An installation that is paired with this home's relay, as `install-extension` does it.
    pub fn paired(home: &Path) -> Self {
        let home = Home::open_at(home.to_owned()).unwrap();
        let folder = Path::new("/scripted extension");
        let pairing = home.update_pairings(|pairings| {
            // The folder has no file that would show its present secret.
            let first = pairings.pair_folder(folder, None, None, now());
            pairings.pair_folder(folder, Some(&first.1), None, now())
        });
        Self {
            install_id: INSTALL_ID.to_owned(),
            secret: pairing.unwrap().1,
        }
    }

    /// Another installation with the same secret: the same folder in another profile.
    #[must_use]
    pub fn with_id(&self, number: u32) -> Self {
        Self {
            install_id: format!("{number:08x}-0000-4000-8000-000000000000"),
            secret: self.secret.clone(),
        }
    }

    /// Answers the relay's challenge. `address` is what the extension dialled.
    pub fn hello(&self, challenge: &str, address: &str, take_over: bool) -> Hello {
        let challenge: Value = serde_json::from_str(challenge).unwrap();
        assert_eq!(challenge["method"], "challenge", "{challenge}");
        assert_eq!(challenge["params"]["protocol"], PROTOCOL);
        let relay_nonce = challenge["params"]["nonce"].as_str().unwrap().to_owned();
        let extension_nonce = new_nonce();
        let handshake = Handshake {
            relay_nonce: &relay_nonce,
            extension_nonce: &extension_nonce,
            install_id: &self.install_id,
            address,
        };
        let proof = self.secret.prove(Role::Extension, &handshake);
        let params = json!({
            "protocol": PROTOCOL, "installId": self.install_id, "nonce": extension_nonce,
            "proof": proof, "takeOver": take_over,
        });
        Hello {
            message: json!({ "method": "hello", "params": params }),
            relay_nonce,
            extension_nonce,
        }
    }

    /// Checks the relay's proof in its answer to a hello.
    pub fn check_answer(&self, hello: &Hello, address: &str, answer: &str) -> Value {
        let answer: Value = serde_json::from_str(answer).unwrap();
        let handshake = Handshake {
            relay_nonce: &hello.relay_nonce,
            extension_nonce: &hello.extension_nonce,
            install_id: &self.install_id,
            address,
        };
        let proof = answer["params"]["proof"].as_str().unwrap();
        assert!(
            self.secret.verify(Role::Relay, &handshake, proof),
            "{answer}"
        );
        answer
    }
}

/// How a scripted extension introduces its browser.
pub fn introduction() -> Value {
    json!({ "method": "browser", "params": {
        "version": "0.1.0", "product": "Chrome/156.0.8078.79", "userAgent": "Mozilla/5.0 (scripted)", "brand": "chrome",
    } })
}
