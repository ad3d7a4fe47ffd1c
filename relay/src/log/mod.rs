//! What a relay writes down: its log, which has no payloads, and on request a transcript, which has
//! everything. Neither can stop or delay a message: both are written by threads of their own, and
//! what waits for a slow disk is bounded.

mod events;
mod file;
mod line;
mod observer;
mod output;
mod queue;
pub mod reader;
mod transcript;

use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use tabwire_home::Home;

use self::file::LogFile;
pub use self::file::warn;
pub use self::line::Answer;
pub use self::observer::Observer;
pub use self::output::trim_output;
use self::queue::{BATCH_DELAY, Queue};
pub use self::transcript::{Peer, Transcript, Way};

/// How much can wait for the disk. More than that is left out of the log.
const MAX_WAITING: usize = 4 << 20;

/// The log of this process. Until it has a file, nothing is kept.
#[derive(Clone)]
pub struct Log(Arc<Queue>);

impl Log {
    /// Makes this process log: to stderr, unless that is not wanted, and to the file that `open`
    /// opens later.
    pub fn start(to_stderr: bool) -> Self {
        let log = Self::new();
        events::subscribe(&log, to_stderr);
        log
    }

    pub fn new() -> Self {
        Self(Arc::new(Queue::new(MAX_WAITING)))
    }

    /// From now on, writes to the log file of this home. Only the relay that owns the home may do
    /// this.
    pub fn open(&self, home: &Home) -> io::Result<()> {
        let file = LogFile::open(home)?;
        self.0.start("log", BATCH_DELAY, file)
    }

    /// Adds a line about a request that has been answered. `name`: what the client calls itself.
    fn answered(&self, name: &str, answer: &Answer<'_>) {
        let now = SystemTime::now();
        self.0
            .push(|lines| line::put_answer(lines, now, name, answer));
    }

    fn event(&self, text: &str) {
        self.0.push(|lines| line::put_event(lines, text));
    }

    /// Writes what is left. Does not wait long for a disk that does not respond.
    pub fn close(&self) {
        self.0.close();
    }
}
