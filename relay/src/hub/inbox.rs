//! The messages that wait for a hub: a bounded queue for each link. The queues are served in turn, one
//! message each, so that a client that floods the hub delays only itself.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::ToHub;

/// How many messages a queue holds. A link whose message does not fit stops reading until it does.
const QUEUE_SIZE: usize = 64;
/// A message of this size waits until its queue is empty, so that the queue stays small in bytes,
/// too.
const LARGE_MESSAGE: usize = 64 << 10;
/// Handling a message of this size takes a while, in which everyone has to wait.
const HUGE_MESSAGE: usize = 256 << 10;
/// How long a client's queue rests after a huge message, as a multiple of the time the hub needed for it.
const REST: u32 = 4;

/// Sends to a hub. The hub ends when the last clone is dropped.
#[derive(Clone)]
pub struct HubSender(Arc<Door>);

/// Does not keep the hub running.
#[derive(Clone)]
pub struct WeakHubSender(Weak<Door>);

struct Door {
    shared: Arc<Shared>,
    /// What does not come from a link.
    own: Arc<Queue>,
    /// All links to the extension share a queue: what arrived on one is older than what arrives on
    /// the next.
    extension: Arc<Queue>,
}

/// A link's way to the hub.
pub struct ToInbox {
    queue: Arc<Queue>,
    hub: HubSender,
}

/// The hub has ended.
#[derive(Debug)]
pub struct HubEnded;

/// The receiving end.
pub struct Inbox {
    shared: Arc<Shared>,
    /// Queues that rest until a time.
    resting: Vec<(Instant, Arc<Queue>)>,
    /// The queue of a huge message, which the hub has handled since then.
    huge: Option<(Instant, Arc<Queue>)>,
}

#[derive(Default)]
struct Shared {
    /// The queues that have messages, the next one first.
    turns: Mutex<VecDeque<Arc<Queue>>>,
    /// There is a turn, or the last sender was dropped.
    changed: Notify,
    all_senders_dropped: AtomicBool,
    hub_ended: AtomicBool,
}

struct Queue {
    messages: Mutex<Messages>,
    /// A message was taken.
    has_room: Notify,
    /// Whether the queue rests after huge messages.
    rests: bool,
}

#[derive(Default)]
struct Messages {
    waiting: VecDeque<ToHub>,
    /// Whether the queue is among the turns, or will be after its rest.
    is_in_turn: bool,
}

pub fn inbox() -> (HubSender, Inbox) {
    let shared = Arc::new(Shared::default());
    let door = Door {
        shared: shared.clone(),
        own: Queue::new(false),
        extension: Queue::new(false),
    };
    let inbox = Inbox {
        shared,
        resting: Vec::new(),
        huge: None,
    };
    (HubSender(Arc::new(door)), inbox)
}

impl HubSender {
    /// A queue of its own, for a client.
    pub fn for_client(&self) -> ToInbox {
        ToInbox {
            queue: Queue::new(true),
            hub: self.clone(),
        }
    }

    pub fn for_extension(&self) -> ToInbox {
        ToInbox {
            queue: self.0.extension.clone(),
            hub: self.clone(),
        }
    }

    pub async fn send(&self, message: ToHub) -> Result<(), HubEnded> {
        self.0.shared.send(&self.0.own, message).await
    }

    /// Sends, unless the queue is full.
    pub fn try_send(&self, message: ToHub) {
        let _ = self.0.shared.try_send(&self.0.own, message);
    }

    /// Whether both send to the same hub.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub fn downgrade(&self) -> WeakHubSender {
        WeakHubSender(Arc::downgrade(&self.0))
    }
}

impl WeakHubSender {
    pub fn upgrade(&self) -> Option<HubSender> {
        self.0.upgrade().map(HubSender)
    }
}

impl ToInbox {
    pub async fn send(&self, message: ToHub) -> Result<(), HubEnded> {
        self.hub.0.shared.send(&self.queue, message).await
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.shared
            .all_senders_dropped
            .store(true, Ordering::Release);
        self.shared.changed.notify_one();
    }
}

impl Shared {
    async fn send(&self, queue: &Arc<Queue>, message: ToHub) -> Result<(), HubEnded> {
        let mut unsent = self.try_send(queue, message);
        while let Some(message) = unsent {
            queue.has_room.notified().await;
            unsent = self.try_send(queue, message);
        }
        if self.hub_ended.load(Ordering::Acquire) {
            return Err(HubEnded);
        }
        Ok(())
    }

    /// Returns the message if the queue has no room for it. A hub that has ended drops everything.
    fn try_send(&self, queue: &Arc<Queue>, message: ToHub) -> Option<ToHub> {
        if self.hub_ended.load(Ordering::Acquire) {
            return None;
        }
        let mut messages = lock(&queue.messages);
        let is_full = if message.size() >= LARGE_MESSAGE {
            !messages.waiting.is_empty()
        } else {
            messages.waiting.len() >= QUEUE_SIZE
        };
        if is_full {
            return Some(message);
        }
        messages.waiting.push_back(message);
        if !messages.is_in_turn {
            messages.is_in_turn = true;
            self.add_turn(queue.clone());
        }
        None
    }

    fn add_turn(&self, queue: Arc<Queue>) {
        lock(&self.turns).push_back(queue);
        self.changed.notify_one();
    }
}

impl Inbox {
    /// Waits for the next message. `None`: the last sender was dropped. Cancel safe.
    pub async fn next(&mut self) -> Option<ToHub> {
        loop {
            if let Some(message) = self.try_next() {
                return Some(message);
            }
            if self.shared.all_senders_dropped.load(Ordering::Acquire) {
                return None;
            }
            let changed = self.shared.changed.notified();
            match self.resting.iter().map(|(until, _)| *until).min() {
                None => changed.await,
                Some(until) => tokio::select! {
                    () = changed => {}
                    () = sleep_until(until) => {}
                },
            }
        }
    }

    /// Takes the next message if there is one.
    pub fn try_next(&mut self) -> Option<ToHub> {
        self.start_rest();
        self.end_rests();
        let queue = lock(&self.shared.turns).pop_front()?;
        let mut messages = lock(&queue.messages);
        let message = messages.waiting.pop_front();
        let is_huge = |message: &ToHub| message.size() >= HUGE_MESSAGE;
        if queue.rests && message.as_ref().is_some_and(is_huge) {
            self.huge = Some((Instant::now(), queue.clone()));
        } else if messages.waiting.is_empty() {
            messages.is_in_turn = false;
        } else {
            lock(&self.shared.turns).push_back(queue.clone());
        }
        drop(messages);
        queue.has_room.notify_one();
        message
    }

    /// The hub has handled a huge message: its queue waits for its next turn.
    fn start_rest(&mut self) {
        if let Some((since, queue)) = self.huge.take() {
            let now = Instant::now();
            let rest = now.duration_since(since) * REST;
            self.resting.push((now + rest, queue));
        }
    }

    fn end_rests(&mut self) {
        if self.resting.is_empty() {
            return;
        }
        let now = Instant::now();
        for (_, queue) in self.resting.extract_if(.., |(until, _)| *until <= now) {
            let mut messages = lock(&queue.messages);
            messages.is_in_turn = !messages.waiting.is_empty();
            if messages.is_in_turn {
                lock(&self.shared.turns).push_back(queue.clone());
            }
        }
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.shared.hub_ended.store(true, Ordering::Release);
        let turns = std::mem::take(&mut *lock(&self.shared.turns));
        let resting = self.resting.drain(..).chain(self.huge.take());
        for queue in turns.into_iter().chain(resting.map(|(_, queue)| queue)) {
            lock(&queue.messages).waiting.clear();
            queue.has_room.notify_waiters();
        }
    }
}

impl Queue {
    fn new(rests: bool) -> Arc<Self> {
        Arc::new(Self {
            messages: Mutex::default(),
            has_room: Notify::new(),
            rests,
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tabwire_core::ids::ClientId;
    use tokio::time::{sleep, timeout};

    const SOON: Duration = Duration::from_millis(1);

    fn text(client: u64, size: usize) -> ToHub {
        ToHub::ClientText(ClientId(client), "x".repeat(size))
    }

    fn sender(message: Option<ToHub>) -> Option<u64> {
        match message? {
            ToHub::ClientText(client, _) => Some(client.0),
            _ => None,
        }
    }

    async fn fits(to: &ToInbox, message: ToHub) -> bool {
        timeout(SOON, to.send(message)).await.is_ok()
    }

    #[tokio::test]
    async fn clients_are_served_in_turn() {
        let (hub, mut inbox) = inbox();
        let [one, two] = [hub.for_client(), hub.for_client()];
        for _ in 0..3 {
            one.send(text(1, 0)).await.unwrap();
        }
        two.send(text(2, 0)).await.unwrap();
        hub.send(ToHub::StatusChanged).await.unwrap();
        let mut order = Vec::new();
        while let Some(message) = inbox.try_next() {
            order.push(sender(Some(message)));
        }
        assert_eq!(order, [Some(1), Some(2), None, Some(1), Some(1)]);
    }

    #[tokio::test(start_paused = true)]
    async fn full_queue_stops_its_own_link_only() {
        let (hub, mut inbox) = inbox();
        let [flooding, other] = [hub.for_client(), hub.for_client()];
        for _ in 0..QUEUE_SIZE {
            assert!(fits(&flooding, text(1, 0)).await);
        }
        assert!(!fits(&flooding, text(1, 0)).await);
        assert!(!fits(&flooding, text(1, LARGE_MESSAGE)).await);
        assert!(fits(&other, text(2, LARGE_MESSAGE)).await);
        assert!(!fits(&other, text(2, LARGE_MESSAGE)).await);
        assert!(inbox.try_next().is_some());
        assert!(fits(&flooding, text(1, 0)).await);
        assert!(!fits(&flooding, text(1, LARGE_MESSAGE)).await);
    }

    #[tokio::test(start_paused = true)]
    async fn client_rests_after_a_huge_message_and_others_do_not() {
        let (hub, mut inbox) = inbox();
        let [huge, other] = [hub.for_client(), hub.for_client()];
        huge.send(text(1, HUGE_MESSAGE)).await.unwrap();
        assert_eq!(sender(inbox.next().await), Some(1));
        sleep(Duration::from_millis(10)).await;
        huge.send(text(1, 0)).await.unwrap();
        other.send(text(2, 0)).await.unwrap();
        let handled = Instant::now();
        assert_eq!(sender(inbox.next().await), Some(2));
        assert_eq!(handled.elapsed(), Duration::ZERO);
        assert_eq!(sender(inbox.next().await), Some(1));
        assert!(handled.elapsed() >= Duration::from_millis(40));
    }

    #[tokio::test]
    async fn extension_never_rests() {
        let (hub, mut inbox) = inbox();
        let link = hub.for_extension();
        let message = || ToHub::ExtensionText(1, "x".repeat(HUGE_MESSAGE));
        link.send(message()).await.unwrap();
        assert!(inbox.try_next().is_some());
        link.send(message()).await.unwrap();
        assert!(inbox.try_next().is_some());
    }

    #[tokio::test]
    async fn ends_with_its_last_sender_and_fails_senders_when_it_ends() {
        let (hub, mut inbox) = inbox();
        let link = hub.for_client();
        let weak = hub.downgrade();
        drop(hub);
        link.send(text(1, 0)).await.unwrap();
        drop(link);
        assert!(weak.upgrade().is_none());
        assert!(inbox.next().await.is_some());
        assert!(inbox.next().await.is_none());

        let (hub, inbox) = super::inbox();
        let link = hub.for_client();
        while fits(&link, text(1, 0)).await {}
        let (sent, ()) = tokio::join!(link.send(text(1, 0)), async { drop(inbox) });
        assert!(sent.is_err());
        assert!(link.send(text(1, 0)).await.is_err());
    }
}
