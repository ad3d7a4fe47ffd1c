//! Asks the kernel for the owner of one TCP socket, with `NETLINK_SOCK_DIAG` (`man 7 sock_diag`). A
//! query takes microseconds, where reading `/proc/net/tcp` takes milliseconds.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

use super::Owner;

// Constants of the kernel.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const IPPROTO_TCP: u8 = 6;
const TCP_LISTEN: u8 = 10;

/// `nlmsghdr` and `inet_diag_req_v2`.
const REQUEST_LENGTH: u32 = 72;
/// `nlmsghdr` and `inet_diag_msg`. Attributes may follow.
const MIN_REPLY_LENGTH: u32 = 88;

/// A free netlink socket, kept because opening one takes longer than a query. Its last reply has
/// been read.
static FREE_SOCKET: Mutex<Option<OwnedFd>> = Mutex::new(None);
/// The number of the next query, which its reply repeats.
static NEXT_SEQUENCE: AtomicU32 = AtomicU32::new(0);

/// The owner of the socket that is connected from `local` to `remote`.
pub fn owner_of_connected(local: SocketAddrV4, remote: SocketAddrV4) -> Owner {
    // If there is no such connection, the kernel returns a socket that listens on `local`.
    find(local, remote, |found| {
        found.local == Some(local) && found.remote == Some(remote)
    })
}

/// The owner of the socket that accepts connections to `local`. It may listen on all addresses.
pub fn owner_of_listening(local: SocketAddrV4) -> Owner {
    let nobody = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
    find(local, nobody, |found| found.state == TCP_LISTEN)
}

fn find(local: SocketAddrV4, remote: SocketAddrV4, matches: impl Fn(&Found) -> bool) -> Owner {
    let sequence = NEXT_SEQUENCE.fetch_add(1, Ordering::Relaxed);
    let reply = match query(&request(sequence, local, remote)) {
        Ok(reply) => reply,
        Err(error) => {
            tracing::debug!(%error, "SOCK_DIAG query failed");
            return Owner::Unknown;
        }
    };
    match parse(&reply, sequence) {
        Some(found) if matches(&found) => found.owner,
        _ => Owner::Unknown,
    }
}

/// The kernel replies before `send` returns, so nothing here waits.
fn query(request: &[u8]) -> io::Result<Vec<u8>> {
    let free_socket = || FREE_SOCKET.lock().unwrap_or_else(PoisonError::into_inner);
    let free = free_socket().take();
    let socket = free.map_or_else(open, Ok)?;
    send(&socket, request, SendFlags::empty())?;
    let mut reply = vec![0; 512];
    let (length, _) = recv(&socket, &mut reply[..], RecvFlags::empty())?;
    reply.truncate(length);
    // After an error the socket is not used again: a late reply could be mistaken for the next one.
    *free_socket() = Some(socket);
    Ok(reply)
}

fn open() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let protocol = Some(netlink::SOCK_DIAG);
    Ok(socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        flags,
        protocol,
    )?)
}

/// Headers are in the machine's byte order, ports and addresses in that of the network.
///
/// Asking for IPv4 finds IPv6 sockets with mapped IPv4 addresses as well (Java and .NET open such
/// sockets): the kernel has both in one table.
fn request(sequence: u32, local: SocketAddrV4, remote: SocketAddrV4) -> Vec<u8> {
    const ALL_STATES: u32 = u32::MAX;
    const ANY_INTERFACE: [u8; 4] = [0; 4];
    const NO_COOKIE: [u8; 8] = [0xFF; 8];
    let address = |address: SocketAddrV4| {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&address.ip().octets());
        bytes
    };
    [
        &REQUEST_LENGTH.to_ne_bytes()[..],
        &SOCK_DIAG_BY_FAMILY.to_ne_bytes(),
        &NLM_F_REQUEST.to_ne_bytes(),
        &sequence.to_ne_bytes(),
        // To the kernel.
        &0_u32.to_ne_bytes(),
        // No attributes, and one byte of padding.
        &[AF_INET, IPPROTO_TCP, 0, 0],
        &ALL_STATES.to_ne_bytes(),
        &local.port().to_be_bytes(),
        &remote.port().to_be_bytes(),
        &address(local),
        &address(remote),
        &ANY_INTERFACE,
        &NO_COOKIE,
    ]
    .concat()
}

#[derive(Debug, PartialEq, Eq)]
struct Found {
    state: u8,
    /// `None` for an IPv6 address that is not a mapped IPv4 address.
    local: Option<SocketAddrV4>,
    remote: Option<SocketAddrV4>,
    owner: Owner,
}

/// Returns `None` for an error (no such socket, or a kernel without `inet_diag`) and for anything
/// unexpected.
fn parse(reply: &[u8], expected_sequence: u32) -> Option<Found> {
    let mut reply = Fields(reply);
    let length = u32::from_ne_bytes(reply.take()?);
    let kind = u16::from_ne_bytes(reply.take()?);
    let _flags: [u8; 2] = reply.take()?;
    let sequence = u32::from_ne_bytes(reply.take()?);
    let _port_id: [u8; 4] = reply.take()?;
    if length < MIN_REPLY_LENGTH || kind != SOCK_DIAG_BY_FAMILY || sequence != expected_sequence {
        return None;
    }
    let [family, state, _timer, _retransmits] = reply.take()?;
    let local_port = u16::from_be_bytes(reply.take()?);
    let remote_port = u16::from_be_bytes(reply.take()?);
    let local = ipv4(family, reply.take()?).map(|ip| SocketAddrV4::new(ip, local_port));
    let remote = ipv4(family, reply.take()?).map(|ip| SocketAddrV4::new(ip, remote_port));
    let _interface_and_cookie: [u8; 12] = reply.take()?;
    let _expires_and_queues: [u8; 12] = reply.take()?;
    let uid = u32::from_ne_bytes(reply.take()?);
    // A socket that its process has closed has no inode, and some kernels report it as root's.
    let owner = match u32::from_ne_bytes(reply.take()?) {
        0 => Owner::Unknown,
        inode => Owner::User { uid, inode },
    };
    Some(Found {
        state,
        local,
        remote,
        owner,
    })
}

fn ipv4(family: u8, address: [u8; 16]) -> Option<Ipv4Addr> {
    match family {
        AF_INET => Some(Ipv4Addr::from(*address.first_chunk::<4>()?)),
        AF_INET6 => Ipv6Addr::from(address).to_ipv4_mapped(),
        _ => None,
    }
}

/// The rest of a message.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*field)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener, TcpStream};

    use super::*;

    fn v4(address: SocketAddr) -> SocketAddrV4 {
        match address {
            SocketAddr::V4(address) => address,
            SocketAddr::V6(address) => {
                SocketAddrV4::new(address.ip().to_ipv4_mapped().unwrap(), address.port())
            }
        }
    }

    /// A connection: its client's end, the server's end, and their addresses.
    fn connect(ip: impl Into<std::net::IpAddr>) -> (TcpStream, TcpStream, [SocketAddrV4; 2]) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let server = listener.local_addr().unwrap();
        let client = TcpStream::connect((ip.into(), server.port())).unwrap();
        let accepted = listener.accept().unwrap().0;
        let addresses = [v4(client.local_addr().unwrap()), v4(server)];
        (client, accepted, addresses)
    }

    fn inode(socket: &impl std::os::fd::AsFd) -> u32 {
        let inode = rustix::fs::fstat(socket).unwrap().st_ino;
        u32::try_from(inode).unwrap()
    }

    fn owned_by_this_test(inode: u32) -> Owner {
        let uid = rustix::process::geteuid().as_raw();
        Owner::User { uid, inode }
    }

    #[test]
    fn finds_the_end_of_a_connection_that_was_asked_for() {
        let (client, accepted, [from, to]) = connect(Ipv4Addr::LOCALHOST);
        let owner = owned_by_this_test(inode(&client));
        assert_eq!(owner_of_connected(from, to), owner);
        let owner = owned_by_this_test(inode(&accepted));
        assert_eq!(owner_of_connected(to, from), owner);
    }

    #[test]
    fn finds_an_ipv6_socket_with_a_mapped_address() {
        let (client, _accepted, [from, to]) = connect(Ipv4Addr::LOCALHOST.to_ipv6_mapped());
        assert!(client.local_addr().unwrap().is_ipv6());
        let owner = owned_by_this_test(inode(&client));
        assert_eq!(owner_of_connected(from, to), owner);
    }

    #[test]
    fn finds_a_half_closed_socket_but_no_owner_of_a_closed_one() {
        let (client, accepted, [from, to]) = connect(Ipv4Addr::LOCALHOST);
        client.shutdown(std::net::Shutdown::Write).unwrap();
        let owner = owned_by_this_test(inode(&client));
        assert_eq!(owner_of_connected(from, to), owner);
        drop(client);
        assert_eq!(owner_of_connected(from, to), Owner::Unknown);
        // Now the client's end is in TIME_WAIT.
        drop(accepted);
        assert_eq!(owner_of_connected(from, to), Owner::Unknown);
    }

    #[test]
    fn a_listening_socket_is_not_mistaken_for_a_connection() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = v4(listener.local_addr().unwrap());
        let other = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1);
        assert_eq!(owner_of_connected(address, other), Owner::Unknown);
        let owner = owned_by_this_test(inode(&listener));
        assert_eq!(owner_of_listening(address), owner);
    }

    #[test]
    fn finds_sockets_that_listen_on_all_addresses() {
        for ip in [
            std::net::IpAddr::from(Ipv4Addr::UNSPECIFIED),
            Ipv6Addr::UNSPECIFIED.into(),
        ] {
            let listener = TcpListener::bind((ip, 0)).unwrap();
            let port = listener.local_addr().unwrap().port();
            let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
            let owner = owned_by_this_test(inode(&listener));
            assert_eq!(owner_of_listening(address), owner, "{ip}");
        }
    }

    #[test]
    fn requests_have_the_declared_length() {
        let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1);
        assert_eq!(request(7, address, address).len(), REQUEST_LENGTH as usize);
    }

    /// The kernel's reply to request 7, changed to user 1001 and inode 42.
    fn reply() -> Vec<u8> {
        let (client, _accepted, [from, to]) = connect(Ipv4Addr::LOCALHOST);
        let mut reply = query(&request(7, from, to)).unwrap();
        reply[80..84].copy_from_slice(&1001_u32.to_ne_bytes());
        reply[84..88].copy_from_slice(&42_u32.to_ne_bytes());
        drop(client);
        reply
    }

    #[test]
    fn reads_user_and_inode() {
        let owner = Owner::User {
            uid: 1001,
            inode: 42,
        };
        assert_eq!(parse(&reply(), 7).unwrap().owner, owner);
        let mut closed = reply();
        closed[80..88].fill(0);
        assert_eq!(parse(&closed, 7).unwrap().owner, Owner::Unknown);
    }

    #[test]
    fn rejects_replies_that_are_too_short_or_not_to_the_request() {
        let reply = reply();
        for length in 0..MIN_REPLY_LENGTH as usize {
            assert_eq!(parse(&reply[..length], 7), None, "{length}");
        }
        // The declared length, the kind (2 is an error) and the sequence number.
        for (at, value) in [(0, 87), (4, 2), (8, 2)] {
            let mut changed = reply.clone();
            changed[at..at + 2].copy_from_slice(&u16::to_ne_bytes(value));
            assert_eq!(parse(&changed, 7), None, "byte {at}");
        }
    }
}
