//! Who is at the other end of a local connection. On Linux the kernel's table of connections tells the user; elsewhere
//! the token alone has to do.

use std::net::SocketAddr;

use tokio::net::TcpStream;

/// Only this user and root may connect.
#[cfg(target_os = "linux")]
pub fn may_connect(stream: &TcpStream, from: SocketAddr) -> bool {
    let Ok(local) = stream.local_addr() else {
        return false;
    };
    let mut tables = tables().peekable();
    if tables.peek().is_none() {
        return true;
    }
    let own = rustix::process::geteuid().as_raw();
    let owner = tables.find_map(|table| owner(&table, from, Some(local)));
    owner.is_some_and(|uid| uid == own || uid == 0)
}

#[cfg(not(target_os = "linux"))]
pub fn may_connect(_stream: &TcpStream, _from: SocketAddr) -> bool {
    true
}

/// The kernel's tables that can be read. Java and .NET take IPv6 sockets for IPv4 addresses too, and those are in the second.
#[cfg(target_os = "linux")]
fn tables() -> impl Iterator<Item = String> {
    ["/proc/net/tcp", "/proc/net/tcp6"]
        .into_iter()
        .filter_map(|file| std::fs::read_to_string(file).ok())
}

/// The user that owns the socket bound to `local`.
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
    let is = |field: Option<&&str>, addresses: &[String; 2]| {
        field.is_some_and(|field| addresses.iter().any(|address| address == field))
    };
    // One that its process has closed already has no inode, and root is named as its owner.
    let has_owner = |fields: &Vec<&str>| fields.get(9).is_some_and(|inode| *inode != "0");
    table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(has_owner)
        .find(|fields| {
            is(fields.get(1), &local)
                && remote
                    .as_ref()
                    .is_none_or(|remote| is(fields.get(2), remote))
        })
}

/// `127.0.0.1:80` as the kernel writes it: the address as one number in the machine's byte order, then the port; and the same
/// in an IPv6 address.
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

/// Who listens on a port of 127.0.0.1, in words, for the error that says it is taken.
#[cfg(target_os = "linux")]
pub fn holder_of(port: u16) -> Option<String> {
    let table = tables().collect::<String>();
    let loopback = SocketAddr::from(([127, 0, 0, 1], port));
    let any = SocketAddr::from(([0, 0, 0, 0], port));
    let fields = row(&table, loopback, None).or_else(|| row(&table, any, None))?;
    let (uid, inode) = (fields.get(7)?, fields.get(9)?);
    let socket = format!("socket:[{inode}]");
    let pids = std::fs::read_dir("/proc")
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok()?.parse::<u32>().ok());
    let holds = |pid: &u32| {
        let files = std::fs::read_dir(format!("/proc/{pid}/fd"));
        files.is_ok_and(|files| {
            files.flatten().any(|file| {
                std::fs::read_link(file.path()).is_ok_and(|to| to.as_os_str() == socket.as_str())
            })
        })
    };
    Some(match pids.into_iter().find(holds) {
        Some(pid) => {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            format!("process {pid} ({}) of user {uid}", name.trim())
        }
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

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:4B16 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 41 1 0000000000000000 100 0 0 10 0
   1: 0100007F:D431 0100007F:4B16 01 00000000:00000000 00:00000000 00000000  1001        0 42 1 0000000000000000 20 4 30 10 -1";

    #[test]
    fn a_socket_that_is_closed_already_has_no_owner() {
        let closed = TABLE.replace("1001        0 42", "   0        0 0");
        let (from, to) = (
            SocketAddr::from(([127, 0, 0, 1], 0xD431)),
            SocketAddr::from(([127, 0, 0, 1], 0x4B16)),
        );
        assert_eq!(owner(&closed, from, Some(to)), None);
    }

    #[test]
    fn a_client_may_have_a_socket_of_ipv6_or_be_done_with_its_request() {
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
    fn the_owner_is_found_by_both_ends_of_the_connection() {
        let from = SocketAddr::from(([127, 0, 0, 1], 0xD431));
        let to = SocketAddr::from(([127, 0, 0, 1], 0x4B16));
        assert_eq!(owner(TABLE, from, Some(to)), Some(1001));
        assert_eq!(owner(TABLE, to, None), Some(1000));
        assert_eq!(owner(TABLE, to, Some(from)), None);
    }
}
