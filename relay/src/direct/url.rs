//! The address of a browser's debugging port. It is always on this machine: the port has no
//! authentication, so it must not be reached over a network.

use std::fmt;
use std::str::FromStr;

/// `http://127.0.0.1:PORT`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BrowserUrl {
    pub port: u16,
}

impl fmt::Display for BrowserUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://127.0.0.1:{}", self.port)
    }
}

impl FromStr for BrowserUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            "a browser's debugging port has an address on this machine, such as http://127.0.0.1:9222".to_owned()
        };
        let rest = text.strip_prefix("http://").ok_or_else(expected)?;
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = authority.rsplit_once(':').ok_or_else(expected)?;
        if host != "127.0.0.1" && !host.eq_ignore_ascii_case("localhost") {
            return Err(expected());
        }
        // `parse` would also accept a sign.
        let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
        match port.parse() {
            Ok(port) if is_number && port != 0 => Ok(Self { port }),
            _ => Err(expected()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_only_ports_of_this_machine() {
        for text in [
            "http://127.0.0.1:9222",
            "http://localhost:9222/",
            "http://LOCALHOST:9222",
        ] {
            assert_eq!(text.parse(), Ok(BrowserUrl { port: 9222 }), "{text}");
        }
        for text in [
            "127.0.0.1:9222",
            "https://127.0.0.1:9222",
            "ws://127.0.0.1:9222",
            "http://127.0.0.1",
            "http://127.0.0.1:0",
            "http://127.0.0.1:+9222",
            "http://127.0.0.1:92222",
            "http://127.0.0.2:9222",
            "http://0.0.0.0:9222",
            "http://[::1]:9222",
            "http://192.168.1.5:9222",
            "http://example.com:9222",
            "http://user@127.0.0.1:9222",
            "http://127.0.0.1:9222/json",
            "http://127.0.0.1:9222@example.com:80",
        ] {
            assert!(text.parse::<BrowserUrl>().is_err(), "{text}");
        }
    }
}
