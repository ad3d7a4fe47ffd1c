//! Measures the relay alone, between a scripted extension and a bare client, and compares it with a
//! bare WebSocket pipe, and with itself while others connect.
//!
//! `cargo run --release -p tabwire-tests --bin bench-relay [-- --json] [peers] [handshake]`
//!
//! `peers` measures only the effect of refused connections, `handshake` only that of the handshake.
//!
//! `TABWIRE_BIN` chooses another binary than the one built from these sources.

mod client;
mod ends;
mod extension;
mod handshake;
mod memory;
mod page;
mod peers;
mod pipe;
mod port;
mod process;
mod processor_time;
mod report;

use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::ensure;
use process::Process;
use report::{Row, median, mib};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    if args.iter().any(|arg| arg == "pipe") {
        return runtime.block_on(pipe::run());
    }
    if let [mode, port] = args.as_slice()
        && mode == "connect"
    {
        return runtime.block_on(peers::connect(port.parse()?));
    }
    build_relay()?;
    let has = |name: &str| args.iter().any(|arg| arg == name);
    let tabwire = process::tabwire()?;
    let rows = runtime.block_on(async {
        if has("peers") {
            return peers::measure(&tabwire).await;
        }
        if has("handshake") {
            return handshake::measure(&tabwire).await;
        }
        measure(&tabwire).await
    })?;
    if has("--json") {
        println!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        print!("{}", report::table(&rows));
    }
    Ok(())
}

/// Ensures that the measured binary is up to date.
fn build_relay() -> anyhow::Result<()> {
    let is_chosen = std::env::var_os("TABWIRE_BIN").is_some();
    if let Some(cargo) = std::env::var_os("CARGO").filter(|_| !is_chosen) {
        let status = std::process::Command::new(cargo)
            .args(["build", "--release", "--quiet", "--package", "tabwire"])
            .status()?;
        ensure!(status.success(), "Building the relay failed.");
    }
    Ok(())
}

async fn measure(tabwire: &Path) -> anyhow::Result<Vec<Row>> {
    let mut rows = processor_time::measure(tabwire).await?;
    rows.extend(memory::measure(tabwire).await?);
    rows.extend(peers::measure(tabwire).await?);
    rows.extend(handshake::measure(tabwire).await?);
    let size = std::fs::metadata(tabwire)?.len();
    rows.push(Row::figure("release binary", "MB", mib(size), Some(15.0)));
    rows.push(Row::figure(
        "start of `tabwire serve` to its first response",
        "ms",
        start_time(tabwire).await?,
        Some(50.0),
    ));
    Ok(rows)
}

/// The median time from starting the program to the first byte of a response, in milliseconds.
async fn start_time(tabwire: &Path) -> anyhow::Result<f64> {
    const STARTS: usize = 20;
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let port = TcpListener::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?
            .local_addr()?
            .port();
        let started = Instant::now();
        let _process = Process::start(tabwire, &["serve", "--port", &port.to_string()])?;
        let mut stream = connect(port).await?;
        stream
            .write_all(format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n").as_bytes())
            .await?;
        stream.read_u8().await?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    Ok(median(times))
}

/// Retries until the port is open.
async fn connect(port: u16) -> anyhow::Result<TcpStream> {
    const TIMEOUT: Duration = Duration::from_secs(10);
    const RETRY_DELAY: Duration = Duration::from_micros(200);
    let retry = async {
        loop {
            match TcpStream::connect(("127.0.0.1", port)).await {
                Ok(stream) => return stream,
                Err(_) => tokio::time::sleep(RETRY_DELAY).await,
            }
        }
    };
    Ok(tokio::time::timeout(TIMEOUT, retry).await?)
}
