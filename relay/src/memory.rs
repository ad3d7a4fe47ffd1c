//! Returns memory to the system after a burst. The allocator keeps freed memory for a second in
//! case it is needed again, and checks only when something large is freed after that. An idle
//! process would keep it forever.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// Smaller messages leave nothing worth purging.
const LARGE_MESSAGE: usize = 256 << 10;
/// Longer than the allocator keeps freed memory.
const PURGE_DELAY: Duration = Duration::from_millis(1_500);

/// Notified of large messages and closed links.
#[derive(Clone)]
pub struct Memory(watch::Sender<()>);

impl Memory {
    /// Purges until the last clone is dropped.
    pub fn watch() -> Self {
        let (sender, mut activity) = watch::channel(());
        tokio::spawn(async move {
            while activity.changed().await.is_ok() {
                // Wait until the burst is over.
                while let Ok(Ok(())) = timeout(PURGE_DELAY, activity.changed()).await {}
                purge();
                sleep(PURGE_DELAY).await;
                purge();
            }
        });
        Self(sender)
    }

    /// A closed link drops messages that were partly read or still queued.
    pub fn on_link_closed(&self) {
        self.0.send_replace(());
    }

    pub fn on_message(&self, size: usize) {
        if size >= LARGE_MESSAGE {
            self.0.send_replace(());
        }
    }
}

/// Frees a large allocation, which triggers the allocator's check. It is never written to, so it
/// takes no memory.
fn purge() {
    const UNTOUCHED: usize = 32 << 20;
    drop(std::hint::black_box(Vec::<u8>::with_capacity(UNTOUCHED)));
}
