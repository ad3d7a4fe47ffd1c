//! Who may open a connection at all: the relay's own user and root. Most of these tests act as
//! another user or create network namespaces, so they need root and are skipped without it.

use std::fs;
use std::os::unix::fs::chown;
use std::process::Stdio;
use std::sync::Arc;

use rustix::process::{Pid, Signal, geteuid, kill_process};
use tabwire_tests::{EXTENSION_ID, Relay, StartOptions, binary, http, run, until, within};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Command;

const NOBODY: u32 = 65534;
/// Runs a program as another user who exists everywhere.
pub const AS_NOBODY: &[&str] = &["setpriv", "--reuid", "65534", "--clear-groups"];

pub fn is_root() -> bool {
    let is_root = geteuid().is_root();
    if !is_root {
        eprintln!("Skipped: only root can act as another user.");
    }
    is_root
}

/// Sends a request from another process and returns the response, which is empty if the relay
/// closes the connection.
pub async fn request_from(
    launcher: &[&str],
    port: u16,
    path: &str,
    headers: &[(&str, &str)],
) -> String {
    const SCRIPT: &str =
        r#"exec 3<>"/dev/tcp/127.0.0.1/$1" && printf %s "$2" >&3 && cat <&3 2>/dev/null"#;
    let headers = [&[("Connection", "close")], headers].concat();
    let head = http::head(port, "GET", path, &headers);
    let port = port.to_string();
    let arguments = [launcher, &["bash", "-c", SCRIPT, "bash", &port, &head]].concat();
    let mut command = Command::new(arguments[0]);
    let output = command.args(&arguments[1..]).kill_on_drop(true).output();
    let output = within("another process requests /", output).await.unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
pub fn assert_status(response: &str, status: u16) {
    let start = format!("HTTP/1.1 {status} ");
    assert!(response.starts_with(&start), "not {status}: {response:?}");
}

async fn until_logged(relay: &Relay, text: &str) {
    until(&format!("the relay logs {text:?}"), async || {
        relay.stderr().contains(text).then_some(())
    })
    .await;
}

#[tokio::test]
async fn refuses_another_user_before_reading_anything() {
    if !is_root() {
        return;
    }
    let mut relay = Relay::start(&[]).await;
    assert_status(&request_from(&[], relay.port, "/", &[]).await, 200);
    for path in ["/", &relay.cdp_path(), "/extension"] {
        assert_eq!(request_from(AS_NOBODY, relay.port, path, &[]).await, "");
    }
    until_logged(&relay, "it belongs to another user (65534)").await;
    assert!(relay.is_alive().await);
}

#[tokio::test]
async fn logs_refused_connections_only_now_and_then() {
    if !is_root() {
        return;
    }
    let relay = Relay::start(&[]).await;
    for _ in 0..20 {
        request_from(AS_NOBODY, relay.port, "/", &[]).await;
    }
    let lines = relay.stderr().matches("refused a connection").count();
    assert!((1..5).contains(&lines), "{lines} lines");
}

/// A relay that another user runs. `None` if this test cannot act as that user.
pub async fn start_as_nobody() -> Option<Relay> {
    if !is_root() {
        return None;
    }
    let folder = TempDir::new().unwrap();
    chown(folder.path(), Some(NOBODY), None).unwrap();
    let reachable = std::process::Command::new(AS_NOBODY[0])
        .args(&AS_NOBODY[1..])
        .args(["test", "-x"])
        .arg(binary())
        .status();
    if !reachable.unwrap().success() {
        eprintln!("Skipped: another user cannot run {}.", binary().display());
        return None;
    }
    let relay = Relay::start_with(StartOptions {
        home: Some(Arc::new(folder)),
        launcher: AS_NOBODY,
        ..StartOptions::default()
    })
    .await;
    let status = fs::read_to_string(format!("/proc/{}/status", relay.pid())).unwrap();
    assert!(status.contains("Uid:\t65534\t"), "{status}");
    Some(relay)
}

#[tokio::test]
async fn accepts_its_own_user_and_root() {
    let Some(relay) = start_as_nobody().await else {
        return;
    };
    assert_status(&request_from(&[], relay.port, "/", &[]).await, 200);
    assert_status(&request_from(AS_NOBODY, relay.port, "/", &[]).await, 200);
    let other = ["setpriv", "--reuid", "65533", "--clear-groups"];
    assert_eq!(request_from(&other, relay.port, "/", &[]).await, "");
}

/// The kernel no longer has the owner of a closed socket, and some report root.
#[tokio::test]
async fn refuses_a_connection_that_its_process_has_closed() {
    let mut relay = Relay::start(&[]).await;
    let pid = Pid::from_raw(relay.pid().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    let mut stream = http::connect(relay.port).await;
    let head = http::head(relay.port, "GET", "/", &[]);
    stream.write_all(head.as_bytes()).await.unwrap();
    drop(stream);
    kill_process(pid, Signal::CONT).unwrap();
    until_logged(&relay, "its user is unknown").await;
    assert!(relay.is_alive().await);
}

/// Java and .NET open such sockets for any address.
#[tokio::test]
async fn accepts_a_half_closed_connection_from_an_ipv6_socket() {
    let relay = Relay::start(&[]).await;
    let address = std::net::Ipv4Addr::LOCALHOST.to_ipv6_mapped();
    let mut stream = tokio::net::TcpStream::connect((address, relay.port))
        .await
        .unwrap();
    let request = http::head(relay.port, "GET", "/", &[("Connection", "close")]);
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
}

/// Two network namespaces. From the second, 127.0.0.1 is the first one's loopback, as it is for
/// programs of Windows in WSL with mirrored networking: a connection whose other end no process in
/// the relay's namespace has open.
struct Namespaces {
    relay: String,
    outside: String,
}

impl Namespaces {
    /// Returns `None` if this system does not allow it.
    async fn create() -> Option<Self> {
        const SCRIPT: &str = r#"
            set -e
            ip netns add "$1"
            ip netns add "$2"
            ip link add inner netns "$1" type veth peer name outer netns "$2"
            ip -n "$1" address add 10.9.9.1/24 dev inner
            ip -n "$2" address add 10.9.9.2/24 dev outer
            ip -n "$1" link set lo up
            ip -n "$1" link set inner up
            ip -n "$2" link set outer up
            ip netns exec "$1" sh -c "echo 1 >/proc/sys/net/ipv4/conf/inner/route_localnet"
            ip netns exec "$2" sh -c "echo 1 >/proc/sys/net/ipv4/conf/outer/route_localnet"
            ip -n "$2" route add 127.0.0.1 via 10.9.9.1
        "#;
        let name = |part: &str| format!("tabwire-{part}-{}", std::process::id());
        let namespaces = Self {
            relay: name("relay"),
            outside: name("outside"),
        };
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "sh", &namespaces.relay, &namespaces.outside]);
        let output = within("create network namespaces", command.output()).await;
        let output = output.unwrap();
        if output.status.success() {
            return Some(namespaces);
        }
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        eprintln!("Skipped: cannot create network namespaces: {error}");
        None
    }

    fn run_in(name: &str) -> [&str; 4] {
        ["ip", "netns", "exec", name]
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in [&self.relay, &self.outside] {
            let _ = std::process::Command::new("ip")
                .args(["netns", "delete", name])
                .output();
        }
    }
}

#[tokio::test]
async fn refuses_an_unknown_owner_except_for_the_extension_in_wsl() {
    if !is_root() {
        return;
    }
    let Some(namespaces) = Namespaces::create().await else {
        return;
    };
    let inside = Namespaces::run_in(&namespaces.relay);
    let outside = Namespaces::run_in(&namespaces.outside);
    let relay = Relay::start_with(StartOptions {
        launcher: &inside,
        ..StartOptions::default()
    })
    .await;
    assert_status(&request_from(&inside, relay.port, "/", &[]).await, 200);
    assert_eq!(request_from(&outside, relay.port, "/", &[]).await, "");
    until_logged(&relay, "its user is unknown").await;

    let (wsl, _release) = start_as_in_wsl(&inside).await;
    let path = wsl.cdp_path();
    assert_status(
        &request_from(&inside, wsl.port, "/client-slot", &[]).await,
        200,
    );
    assert_status(&request_from(&inside, wsl.port, &path, &[]).await, 426);
    assert_status(&request_from(&outside, wsl.port, "/", &[]).await, 200);
    let origin = format!("chrome-extension://{EXTENSION_ID}");
    let extension = [("Origin", origin.as_str())];
    let response = request_from(&outside, wsl.port, "/extension", &extension).await;
    assert_status(&response, 426);
    for path in [&path, "/client-slot", "/json/version", "/nothing"] {
        let response = request_from(&outside, wsl.port, path, &[]).await;
        assert_status(&response, 403);
        assert!(
            response.contains("mirrored networking in WSL"),
            "{response}"
        );
    }
}

/// A relay that reads WSL's kernel release.
async fn start_as_in_wsl(launcher: &[&str]) -> (Relay, TempDir) {
    const SCRIPT: &str = r#"
        mount --make-rprivate / && mount --bind "$1" /proc/sys/kernel/osrelease && shift && exec "$@"
    "#;
    let folder = TempDir::new().unwrap();
    let release = folder.path().join("osrelease");
    fs::write(&release, "5.15.167.4-microsoft-standard-WSL2\n").unwrap();
    let release = release.to_str().unwrap();
    let with_release = ["unshare", "--mount", "sh", "-c", SCRIPT, "sh", release];
    let relay = Relay::start_with(StartOptions {
        launcher: &[launcher, &with_release].concat(),
        ..StartOptions::default()
    })
    .await;
    (relay, folder)
}

/// Responds to every request as a browser's debugging port does to `/json/version`, and prints its
/// port first.
const SQUATTER: &str = r#"
    use IO::Socket::INET;
    $| = 1;
    my $server = IO::Socket::INET->new(LocalAddr => "127.0.0.1", Listen => 5) or die;
    print $server->sockport, "\n";
    my $body = '{"Browser":"Chrome/1","webSocketDebuggerUrl":"ws://127.0.0.1/devtools/browser/1"}';
    while (my $client = $server->accept) {
        while (defined(my $line = <$client>)) { last if $line eq "\r\n" }
        push @clients, $client;
        print $client "HTTP/1.1 200 OK\r\nContent-Length: ", length $body, "\r\n\r\n$body";
    }
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn debugging_port_of_another_user_is_no_browser() {
    if !is_root() {
        return;
    }
    let mut squatter = Command::new(AS_NOBODY[0])
        .args(&AS_NOBODY[1..])
        .args(["perl", "-e", SQUATTER])
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(squatter.stdout.take().unwrap()).lines();
    let line = within("the squatter listens", lines.next_line()).await;
    let url = format!("http://127.0.0.1:{}", line.unwrap().unwrap());
    let home = TempDir::new().unwrap();
    let arguments = ["serve", "--port", "0", "--browser-url", &url];
    let exit = run(&home.path().join("home"), &arguments, &[]);
    assert_eq!(exit.code, Some(1));
    assert!(
        exit.stderr.contains("it belongs to another user"),
        "{exit:?}"
    );
}
