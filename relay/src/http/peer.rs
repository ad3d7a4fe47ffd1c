//! Which user and process is at the other end of a local connection, from the kernel's table of
//! connections. Only Linux has it; on other systems the token is the only protection.

use std::net::SocketAddr;

use tokio::net::TcpStream;

/// Whether the peer is this user or root.
#[cfg(target_os = "linux")]
pub fn may_connect(stream: &TcpStream, peer: SocketAddr) -> bool {
    let Ok(local) = stream.local_addr() else {
        return false;
    };
    let mut tables = tables().peekable();
    if tables.peek().is_none() {
        return true;
    }
    let own = rustix::process::geteuid().as_raw();
    let owner = tables.find_map(|table| owner(&table, peer, Some(local)));
    owner.is_some_and(|uid| uid == own || uid == 0)
}

#[cfg(not(target_os = "linux"))]
pub fn may_connect(_stream: &TcpStream, _peer: SocketAddr) -> bool {
    true
}

/// The kernel's readable tables. Java and .NET use IPv6 sockets for IPv4 addresses too; those are
/// in the second table.
#[cfg(target_os = "linux")]
fn tables() -> impl Iterator<Item = String> {
    ["/proc/net/tcp", "/proc/net/tcp6"]
        .into_iter()
        .filter_map(|file| std::fs::read_to_string(file).ok())
}

/// The user who owns the socket that is bound to `local`.
#[cfg(target_os = "linux")]
fn owner(table: &str, local: SocketAddr, remote: Option<SocketAddr>) -> Option<u32> {
    row(table, local, remote)?.get(7)?.parse().ok()
}

#[cfg(target_os = "linux")]
fn row(table: &str, local: SocketAddr, remote: Option<SocketAddr>) -> Option<Vec<&str>> {
    let local = kernel_addresses(local)?;
    let remote = match remote {
        Some(remote) => Some(kernel_addresses(remote)?),
        None => None,
    };
    let matches = |field: Option<&&str>, addresses: &[String; 2]| {
        field.is_some_and(|field| addresses.iter().any(|address| address == field))
    };
    // The kernel lists a socket that its process has closed without an inode, as owned by root.
    let has_owner = |fields: &Vec<&str>| fields.get(9).is_some_and(|inode| *inode != "0");
    table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(has_owner)
        .find(|fields| {
            matches(fields.get(1), &local)
                && remote
                    .as_ref()
                    .is_none_or(|remote| matches(fields.get(2), remote))
        })
}

/// `127.0.0.1:80` as the kernel writes it, as an IPv4 and as a mapped IPv6 address: a number in the
/// machine's byte order, then the port.
#[cfg(target_os = "linux")]
fn kernel_addresses(address: SocketAddr) -> Option<[String; 2]> {
    let SocketAddr::V4(address) = address else {
        return None;
    };
    let number = u32::from_ne_bytes(address.ip().octets());
    let mapped = u32::from_ne_bytes([0, 0, 0xFF, 0xFF]);
    let (short, port) = (format!("{number:08X}"), address.port());
    Some([
        format!("{short}:{port:04X}"),
        format!("{:016X}{mapped:08X}{short}:{port:04X}", 0),
    ])
}

/// Describes who listens on a port of 127.0.0.1, for the error that it is in use.
#[cfg(target_os = "linux")]
pub fn holder_of(port: u16) -> Option<String> {
    let table = tables().collect::<String>();
    let loopback = SocketAddr::from(([127, 0, 0, 1], port));
    let any = SocketAddr::from(([0, 0, 0, 0], port));
    let fields = row(&table, loopback, None).or_else(|| row(&table, any, None))?;
    let (uid, inode) = (fields.get(7)?, fields.get(9)?);
    Some(match process_with_socket(inode) {
        Some(pid) => {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            format!("process {pid} ({}) of user {uid}", name.trim())
        }
        None => format!("a process of user {uid}"),
    })
}

#[cfg(target_os = "linux")]
fn process_with_socket(inode: &str) -> Option<u32> {
    let socket = format!("socket:[{inode}]");
    let is_open_in = |pid: &u32| {
        let files = std::fs::read_dir(format!("/proc/{pid}/fd"));
        files.is_ok_and(|files| {
            files
                .flatten()
                .filter_map(|file| std::fs::read_link(file.path()).ok())
                .any(|link| link.as_os_str() == socket.as_str())
        })
    };
    std::fs::read_dir("/proc")
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok()?.parse::<u32>().ok())
        .find(is_open_in)
}

#[cfg(not(target_os = "linux"))]
pub fn holder_of(_port: u16) -> Option<String> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:4B16 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 41 1 0000000000000000 100 0 0 10 0
   1: 0100007F:D431 0100007F:4B16 01 00000000:00000000 00:00000000 00000000  1001        0 42 1 0000000000000000 20 4 30 10 -1";

    #[test]
    fn closed_socket_has_no_owner() {
        let closed = TABLE.replace("1001        0 42", "   0        0 0");
        let (from, to) = (
            SocketAddr::from(([127, 0, 0, 1], 0xD431)),
            SocketAddr::from(([127, 0, 0, 1], 0x4B16)),
        );
        assert_eq!(owner(&closed, from, Some(to)), None);
    }

    #[test]
    fn finds_mapped_ipv6_and_half_closed_sockets() {
        let (from, to) = (
            SocketAddr::from(([127, 0, 0, 1], 0xD431)),
            SocketAddr::from(([127, 0, 0, 1], 0x4B16)),
        );
        let mapped = TABLE.replace("0100007F:", "0000000000000000FFFF00000100007F:");
        assert_eq!(owner(&mapped, from, Some(to)), Some(1001));
        let half_closed = TABLE.replace("0100007F:4B16 01", "0100007F:4B16 05");
        assert_eq!(owner(&half_closed, from, Some(to)), Some(1001));
    }

    #[test]
    fn finds_the_owner_by_both_ends() {
        let from = SocketAddr::from(([127, 0, 0, 1], 0xD431));
        let to = SocketAddr::from(([127, 0, 0, 1], 0x4B16));
        assert_eq!(owner(TABLE, from, Some(to)), Some(1001));
        assert_eq!(owner(TABLE, to, None), Some(1000));
        assert_eq!(owner(TABLE, to, Some(from)), None);
    }
}
