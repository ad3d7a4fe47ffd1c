//! The end of what a worker wrote to stderr, where Node reports why it exits.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStderr;
use tokio::task::JoinHandle;

const MAX_LENGTH: usize = 2_000;
/// How long the pipe of an exited process may take to deliver the rest.
const READ_TIMEOUT: Duration = Duration::from_millis(200);

pub struct StderrTail {
    text: Arc<Mutex<String>>,
    reader: JoinHandle<()>,
}

impl StderrTail {
    pub fn read(mut stderr: ChildStderr) -> Self {
        let text = Arc::new(Mutex::new(String::new()));
        let tail = text.clone();
        let reader = tokio::spawn(async move {
            let mut bytes = [0; 1024];
            while let Ok(read @ 1..) = stderr.read(&mut bytes).await {
                let text = String::from_utf8_lossy(bytes.get(..read).unwrap_or_default());
                tracing::debug!(%text, "worker stderr");
                append(
                    &mut tail.lock().unwrap_or_else(PoisonError::into_inner),
                    &text,
                );
            }
        });
        Self { text, reader }
    }

    /// The tail of a process that has exited.
    pub async fn complete(&mut self) -> String {
        let _ = tokio::time::timeout(READ_TIMEOUT, &mut self.reader).await;
        let text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        text.clone()
    }
}

fn append(tail: &mut String, text: &str) {
    tail.push_str(text);
    if let Some(surplus) = tail.len().checked_sub(MAX_LENGTH)
        && let Some(start) = (surplus..tail.len()).find(|at| tail.is_char_boundary(*at))
    {
        tail.drain(..start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_only_the_end_and_splits_no_character() {
        let mut tail = String::new();
        for _ in 0..1_000 {
            append(&mut tail, "größer ");
        }
        assert!(tail.len() <= MAX_LENGTH);
        assert!(tail.ends_with("größer "));
    }
}
