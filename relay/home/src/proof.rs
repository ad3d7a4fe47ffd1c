//! How relay and extension prove to each other that they know the same secret, without sending it.
//! `fixtures/handshake.json` has an example. This module and the extension are both tested against
//! it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// The version of the protocol between relay and extension. It is part of every proof.
pub const PROTOCOL: u32 = 2;

/// What a browser and the relay share. No `Debug` and no `Display`, so that it cannot be logged by
/// mistake.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; 32]);

/// Whose proof it is. Otherwise one side could send the other its own proof back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Extension,
    Relay,
}

/// What both sides know of one connection. Nonces are fresh, so no proof is valid twice.
#[derive(Debug, Clone, Copy)]
pub struct Handshake<'a> {
    pub relay_nonce: &'a str,
    pub extension_nonce: &'a str,
    pub install_id: &'a str,
    /// What the extension dialled. A program on another port that forwards to the relay proves
    /// nothing.
    pub address: &'a str,
}

impl Secret {
    pub fn random() -> Self {
        Self(rand::random())
    }

    pub fn parse(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        bytes.try_into().ok().map(Self)
    }

    /// Only for the extension's folder, a pairing code, and the home's own file.
    pub fn reveal(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    pub fn prove(&self, role: Role, handshake: &Handshake<'_>) -> String {
        URL_SAFE_NO_PAD.encode(self.mac(role, handshake).finalize().into_bytes())
    }

    /// Compares in constant time.
    pub fn verify(&self, role: Role, handshake: &Handshake<'_>, proof: &str) -> bool {
        let proof = URL_SAFE_NO_PAD.decode(proof);
        proof.is_ok_and(|proof| self.mac(role, handshake).verify_slice(&proof).is_ok())
    }

    fn mac(&self, role: Role, handshake: &Handshake<'_>) -> Hmac<Sha256> {
        let role = match role {
            Role::Extension => "extension",
            Role::Relay => "relay",
        };
        let Handshake {
            relay_nonce,
            extension_nonce,
            install_id,
            address,
        } = handshake;
        // No part contains a line break, so no two handshakes have the same text.
        let text = format!(
            "tabwire {PROTOCOL}\n{role}\n{relay_nonce}\n{extension_nonce}\n{install_id}\n{address}"
        );
        // HMAC pads a key to the size of a block with zeros.
        let mut key = [0; 64];
        key.iter_mut().zip(self.0).for_each(|(to, from)| *to = from);
        Hmac::<Sha256>::new(&key.into()).chain_update(text)
    }
}

/// 32 random bytes, as text.
pub fn new_nonce() -> String {
    Secret::random().reveal()
}

pub fn is_nonce(text: &str) -> bool {
    Secret::parse(text).is_some()
}

/// The extension makes its id with `crypto.randomUUID()`.
pub fn is_install_id(text: &str) -> bool {
    let is_valid = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
    };
    text.len() == 36 && text.bytes().enumerate().all(is_valid)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INSTALL_ID: &str = "6f1f3c0e-7a54-4c1e-9d53-0b5a8a6f2d11";

    fn handshake<'a>() -> Handshake<'a> {
        Handshake {
            relay_nonce: "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE",
            extension_nonce: "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI",
            install_id: INSTALL_ID,
            address: "127.0.0.1:19222",
        }
    }

    #[test]
    fn proof_holds_only_for_its_own_handshake_role_and_secret() {
        let (secret, own) = (Secret::random(), handshake());
        let proof = secret.prove(Role::Extension, &own);
        assert!(secret.verify(Role::Extension, &own, &proof));
        assert!(!secret.verify(Role::Relay, &own, &proof));
        assert!(!Secret::random().verify(Role::Extension, &own, &proof));
        let others = [
            Handshake {
                relay_nonce: own.extension_nonce,
                ..own
            },
            Handshake {
                extension_nonce: own.relay_nonce,
                ..own
            },
            Handshake {
                install_id: "other",
                ..own
            },
            Handshake {
                address: "127.0.0.1:19223",
                ..own
            },
        ];
        for other in others {
            assert!(!secret.verify(Role::Extension, &other, &proof), "{other:?}");
        }
    }

    #[test]
    fn matches_the_extensions_example() {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Example {
            secret: String,
            relay_nonce: String,
            extension_nonce: String,
            install_id: String,
            address: String,
            extension_proof: String,
            relay_proof: String,
        }
        let text = include_str!("../../../fixtures/handshake.json");
        let example: Example = serde_json::from_str(text).unwrap();
        let handshake = Handshake {
            relay_nonce: &example.relay_nonce,
            extension_nonce: &example.extension_nonce,
            install_id: &example.install_id,
            address: &example.address,
        };
        let secret = Secret::parse(&example.secret).unwrap();
        assert_eq!(
            secret.prove(Role::Extension, &handshake),
            example.extension_proof
        );
        assert_eq!(secret.prove(Role::Relay, &handshake), example.relay_proof);
    }

    #[test]
    fn rejects_malformed_proofs() {
        let secret = Secret::random();
        let proof = secret.prove(Role::Relay, &handshake());
        for wrong in [
            "",
            "AAAA",
            "not base64!",
            &proof[..42],
            &format!("{proof}A"),
        ] {
            assert!(!secret.verify(Role::Relay, &handshake(), wrong), "{wrong}");
        }
    }

    #[test]
    fn nonces_are_fresh_and_have_32_bytes() {
        let nonce = new_nonce();
        assert_ne!(nonce, new_nonce());
        assert!(is_nonce(&nonce));
        for wrong in ["", "AAAA", &nonce[..42], &format!("{nonce}A")] {
            assert!(!is_nonce(wrong), "{wrong}");
        }
    }

    #[test]
    fn recognizes_install_ids() {
        assert!(is_install_id(INSTALL_ID));
        for wrong in ["", "6f1f3c0e", &INSTALL_ID.to_uppercase(), &"-".repeat(36)] {
            assert!(!is_install_id(wrong), "{wrong}");
        }
    }
}
