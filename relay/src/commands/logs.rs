//! `tabwire logs`: prints the relay's log, and follows it on request. Works without a relay.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tabwire_home::Home;

use crate::error::Error;
use crate::log::reader::LogReader;

/// How often the file is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, Args)]
pub struct LogsOptions {
    /// Continue with new lines until Ctrl-C
    #[arg(short, long)]
    follow: bool,
    /// How many of the last lines to print; 0 prints all
    #[arg(short = 'n', long, value_name = "LINES", default_value_t = 200)]
    lines: usize,
}

pub async fn run(options: &LogsOptions) -> Result<ExitCode, Error> {
    let home = Home::open()?;
    let file = home.relay_log_file();
    match print(options, home).await {
        // A reader such as `head` has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(reason) => Err(Error::ReadLog { file, reason }),
        Ok(()) => Ok(ExitCode::SUCCESS),
    }
}

async fn print(options: &LogsOptions, home: Home) -> io::Result<()> {
    let path = home.relay_log_file();
    let mut reader = LogReader::new(home);
    let mut stdout = io::stdout();
    print_last(&mut reader, options.lines, &mut stdout)?;
    if !reader.has_log() {
        let _ = writeln!(
            io::stderr(),
            "There is no log in {} yet. A relay writes it: start one with `tabwire serve` or `tabwire up`.",
            path.display()
        );
    }
    if !options.follow {
        return Ok(());
    }
    while !has_no_reader(&stdout) {
        tokio::time::sleep(POLL_INTERVAL).await;
        reader.read_new(&mut |line| writeln!(stdout, "{line}"))?;
    }
    Ok(())
}

/// Whether a program such as `head` has ended. Otherwise it would take another line to notice.
fn has_no_reader(stdout: &io::Stdout) -> bool {
    let mut descriptors = [PollFd::new(stdout, PollFlags::empty())];
    let polled = poll(&mut descriptors, Some(&Timespec::default()));
    polled.is_ok() && descriptors[0].revents().contains(PollFlags::ERR)
}

/// Prints the last lines; all of them if `lines` is 0.
fn print_last(reader: &mut LogReader, lines: usize, stdout: &mut io::Stdout) -> io::Result<()> {
    let mut output = io::BufWriter::new(stdout.lock());
    let mut last = VecDeque::new();
    reader.read_new(&mut |line| {
        if lines == 0 {
            return writeln!(output, "{line}");
        }
        if last.len() == lines {
            last.pop_front();
        }
        last.push_back(line);
        Ok(())
    })?;
    for line in last {
        writeln!(output, "{line}")?;
    }
    output.flush()
}
