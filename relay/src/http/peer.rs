//! Who is at the other end of a local connection, and whether the relay serves them at all. Only
//! Linux can identify them; on other systems the token is the only protection.

#![cfg_attr(not(target_os = "linux"), allow(dead_code))]

use std::fmt;
use std::net::SocketAddr;
#[cfg(target_os = "linux")]
use std::net::{Ipv4Addr, SocketAddrV4};
#[cfg(target_os = "linux")]
use std::sync::LazyLock;

#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod sock_diag;

/// The other end of a connection that is served. The listener adds it to the extensions of every
/// request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    pub owner: Owner,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The user who opened the socket, and the socket's inode.
    User { uid: u32, inode: u32 },
    /// The kernel does not report one. Such a connection is served only in WSL, and on systems other
    /// than Linux.
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    /// As the kernel reports it: at most 15 characters.
    pub name: String,
}

/// Whom a listener serves, of those that the relay serves at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owners {
    /// The relay's own user and root, who show a token or prove themselves otherwise.
    WithProof,
    /// The relay's own user alone, because nothing else is checked.
    OwnUser,
}

impl Owners {
    #[cfg(target_os = "linux")]
    pub fn admit(self, peer: Peer) -> Result<Peer, Refused> {
        self.decide(peer, rustix::process::geteuid().as_raw())
    }

    /// Whoever has opened the port has accepted that nobody can be identified here.
    #[cfg(not(target_os = "linux"))]
    pub fn admit(self, peer: Peer) -> Result<Peer, Refused> {
        Ok(peer)
    }

    fn decide(self, peer: Peer, own_uid: u32) -> Result<Peer, Refused> {
        match (self, peer.owner) {
            (Self::WithProof, _) => Ok(peer),
            (Self::OwnUser, Owner::User { uid, .. }) if uid == own_uid => Ok(peer),
            (Self::OwnUser, Owner::User { uid, .. }) => Err(Refused::OtherUser(uid)),
            (Self::OwnUser, Owner::Unknown) => Err(Refused::UnknownOwner),
        }
    }
}

/// Whether the relay can find out which user connects.
pub const CAN_IDENTIFY: bool = cfg!(target_os = "linux");

/// Why a connection is closed before anything is read from it.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    OtherUser(u32),
    UnknownOwner,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherUser(uid) => write!(f, "it belongs to another user ({uid})"),
            Self::UnknownOwner => f.write_str(
                "its user is unknown (it has been closed, comes from another network namespace, or the kernel lacks inet_diag)",
            ),
        }
    }
}

impl Peer {
    /// Identifies the peer of a connection between these addresses. It must have been accepted.
    #[cfg(target_os = "linux")]
    pub fn identify(own: SocketAddr, peer: SocketAddr) -> Result<Self, Refused> {
        let own_uid = rustix::process::geteuid().as_raw();
        let owner = match (peer, own) {
            // The peer's local address is the remote one here.
            (SocketAddr::V4(peer), SocketAddr::V4(own)) => sock_diag::owner_of_connected(peer, own),
            _ => Owner::Unknown,
        };
        decide(owner, own_uid, *IN_WSL)
    }

    #[cfg(not(target_os = "linux"))]
    pub fn identify(_own: SocketAddr, _peer: SocketAddr) -> Result<Self, Refused> {
        let owner = Owner::Unknown;
        Ok(Self { owner })
    }

    /// Whether the peer may use only what authenticates it by other means than the token. In WSL
    /// with mirrored networking, Windows programs connect without an owner, whichever Windows user
    /// runs them.
    pub fn is_restricted(self) -> bool {
        cfg!(target_os = "linux") && self.owner == Owner::Unknown
    }

    /// The process that has the peer's socket open. Searches all processes of its user on another
    /// thread, so call it only for a peer that has been admitted.
    pub async fn process(self) -> Option<Process> {
        let Owner::User { uid, inode } = self.owner else {
            return None;
        };
        let search = tokio::task::spawn_blocking(move || process_of(uid, inode));
        search.await.ok().flatten()
    }
}

/// The relay serves its own user and root. In WSL the guard restricts peers without an owner.
#[cfg(target_os = "linux")]
fn decide(owner: Owner, own_uid: u32, in_wsl: bool) -> Result<Peer, Refused> {
    match owner {
        Owner::User { uid, .. } if uid != own_uid && uid != 0 => Err(Refused::OtherUser(uid)),
        Owner::Unknown if !in_wsl => Err(Refused::UnknownOwner),
        owner => Ok(Peer { owner }),
    }
}

#[cfg(target_os = "linux")]
static IN_WSL: LazyLock<bool> = LazyLock::new(|| {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease");
    release.is_ok_and(|release| is_wsl_release(&release))
});

/// Whether this system is WSL.
pub fn in_wsl() -> bool {
    #[cfg(target_os = "linux")]
    {
        *IN_WSL
    }
    #[cfg(not(target_os = "linux"))]
    {
        false
    }
}

/// Whether this is the kernel release of WSL, such as `5.15.167.4-microsoft-standard-WSL2`.
#[cfg(target_os = "linux")]
fn is_wsl_release(release: &str) -> bool {
    release.to_ascii_lowercase().contains("microsoft")
}

#[cfg(target_os = "linux")]
use process::process_of;

#[cfg(not(target_os = "linux"))]
fn process_of(_uid: u32, _inode: u32) -> Option<Process> {
    None
}

/// Describes who listens on a port of 127.0.0.1, for the error that it is in use.
#[cfg(target_os = "linux")]
pub fn holder_of(port: u16) -> Option<String> {
    let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
    let Owner::User { uid, inode } = sock_diag::owner_of_listening(address) else {
        return None;
    };
    Some(match process_of(uid, inode) {
        Some(Process { pid, name }) => format!("process {pid} ({name}) of user {uid}"),
        None => format!("a process of user {uid}"),
    })
}

#[cfg(not(target_os = "linux"))]
pub fn holder_of(_port: u16) -> Option<String> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use tokio::net::TcpStream;

    #[test]
    fn serves_only_its_own_user_and_root() {
        let user = |uid| Owner::User { uid, inode: 42 };
        for uid in [0, 1000] {
            let owner = user(uid);
            assert_eq!(decide(owner, 1000, false), Ok(Peer { owner }));
        }
        for (uid, own_uid) in [(1001, 1000), (1000, 0), (65534, 1000)] {
            let refused = Err(Refused::OtherUser(uid));
            assert_eq!(decide(user(uid), own_uid, false), refused);
            assert_eq!(decide(user(uid), own_uid, true), refused, "in WSL");
        }
    }

    #[test]
    fn serves_an_unknown_owner_only_in_wsl_and_restricts_it() {
        let unknown = Owner::Unknown;
        assert_eq!(decide(unknown, 1000, false), Err(Refused::UnknownOwner));
        assert!(decide(unknown, 1000, true).unwrap().is_restricted());
        let known = Owner::User { uid: 0, inode: 42 };
        assert!(!decide(known, 1000, true).unwrap().is_restricted());
    }

    #[test]
    fn without_a_proof_only_its_own_user_is_served() {
        let peer = |uid| Peer {
            owner: Owner::User { uid, inode: 42 },
        };
        for (uid, own_uid) in [(1000, 1000), (0, 0)] {
            let served = Ok(peer(uid));
            assert_eq!(Owners::OwnUser.decide(peer(uid), own_uid), served);
        }
        for (uid, own_uid) in [(0, 1000), (1000, 0), (1001, 1000)] {
            let refused = Err(Refused::OtherUser(uid));
            assert_eq!(Owners::OwnUser.decide(peer(uid), own_uid), refused);
        }
        let owner = Owner::Unknown;
        let unknown = Owners::OwnUser.decide(Peer { owner }, 1000);
        assert_eq!(unknown, Err(Refused::UnknownOwner), "also in WSL");
    }

    #[test]
    fn recognizes_the_kernels_of_wsl() {
        for release in [
            "5.15.167.4-microsoft-standard-WSL2\n",
            "4.4.0-19041-Microsoft",
        ] {
            assert!(is_wsl_release(release), "{release}");
        }
        for release in ["6.12.48+deb13-amd64\n", ""] {
            assert!(!is_wsl_release(release), "{release}");
        }
    }

    #[tokio::test]
    async fn names_the_process_of_a_peer() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let _client = TcpStream::connect(address).await.unwrap();
        let (stream, address) = listener.accept().await.unwrap();
        let peer = Peer::identify(stream.local_addr().unwrap(), address).unwrap();
        let process = peer.process().await.unwrap();
        assert_eq!(process.pid, std::process::id());
        assert!(!process.name.is_empty());
    }
}
