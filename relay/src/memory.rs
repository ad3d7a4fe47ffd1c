//! Gives memory back to the system after a burst. The allocator keeps what was freed for a second, in case it is wanted
//! again, and looks at it only when something large is freed after that: a process that has gone quiet would keep it for ever.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

/// A message of this size is worth looking after.
const LARGE: usize = 256 << 10;
/// Longer than the allocator keeps what was freed.
const AFTER: Duration = Duration::from_millis(1_500);

/// Is told of large messages, and of links that are closed.
#[derive(Clone)]
pub struct Memory(watch::Sender<()>);

impl Memory {
    /// Looks after memory for as long as there is somebody to tell of messages.
    pub fn look_after() -> Self {
        let (sender, mut passed) = watch::channel(());
        tokio::spawn(async move {
            while passed.changed().await.is_ok() {
                // When the last one has passed, and not between them.
                while tokio::time::timeout(AFTER, passed.changed())
                    .await
                    .is_ok_and(|changed| changed.is_ok())
                {}
                stir();
                sleep(AFTER).await;
                stir();
            }
        });
        Self(sender)
    }

    /// What was half read, or waited to be written, went with it.
    pub fn on_link_closed(&self) {
        self.0.send_replace(());
    }

    pub fn on_message(&self, size: usize) {
        if size >= LARGE {
            self.0.send_replace(());
        }
    }
}

/// Frees something large that was never written to, and so never was memory.
fn stir() {
    const UNTOUCHED: usize = 32 << 20;
    drop(std::hint::black_box(Vec::<u8>::with_capacity(UNTOUCHED)));
}
