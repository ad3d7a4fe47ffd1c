//! The agents over HTTP. Most have a session, and the number of sessions is bounded. Agents often disconnect without
//! ending theirs, so a new one takes the place of the one that has been idle the longest. Newer versions of the protocol
//! have no sessions: the agents that use them count as one. What a session means is up to the SDK.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{Stream, StreamExt as _};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};
use tokio::sync::{Mutex, OwnedMutexGuard, watch};
use tokio::time::{Instant, sleep};

/// More than anyone is expected to run.
pub const MAX_SESSIONS: usize = 64;
/// An agent that has called since is not disconnected for another.
const MIN_IDLE: Duration = Duration::from_secs(10 * 60);
/// When an idle agent is disconnected. Its user may be at lunch.
const TIMEOUT: Duration = Duration::from_secs(8 * 60 * 60);
/// How often agents without a session are checked for `TIMEOUT`.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);

pub struct HttpSessions {
    sessions: LocalSessionManager,
    agents: Arc<Mutex<Agents>>,
    /// Called when the last agent has gone. A new one begins after that.
    when_empty: Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>,
}

/// By session, or `None` for all agents without one. An agent leaves when its session is closed.
type Agents = HashMap<Option<SessionId>, Activity>;

/// When an agent last sent something or got a response. Each of its running requests holds a clone.
#[derive(Clone)]
struct Activity(Arc<watch::Sender<Instant>>);

impl Activity {
    fn new() -> Self {
        Self(Arc::new(watch::Sender::new(Instant::now())))
    }

    fn renew(&self) {
        self.0.send_replace(Instant::now());
    }

    fn last(&self) -> Instant {
        *self.0.borrow()
    }

    fn is_idle_for(&self, time: Duration) -> bool {
        Arc::strong_count(&self.0) == 1 && self.last().elapsed() >= time
    }
}

/// Keeps its agent from being disconnected until it is dropped.
pub struct RunningRequest(Activity);

impl RunningRequest {
    fn new(activity: &Activity) -> Self {
        activity.renew();
        Self(activity.clone())
    }
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        self.0.renew();
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "{MAX_SESSIONS} agents are connected to this server, and all have called in the last {} minutes. End one of them, or restart `tabwire mcp --http`",
        MIN_IDLE.as_secs() / 60
    )]
    TooMany,
    #[error(transparent)]
    Session(#[from] LocalSessionManagerError),
}

impl HttpSessions {
    pub fn new(when_empty: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static) -> Self {
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(TIMEOUT);
        Self {
            sessions,
            agents: Arc::default(),
            when_empty: Box::new(when_empty),
        }
    }

    /// Call this for each request without a session.
    pub async fn begin_without_session(self: &Arc<Self>) -> RunningRequest {
        let mut agents = self.agents.lock().await;
        let activity = agents.entry(None).or_insert_with(|| {
            tokio::spawn(self.clone().watch_without_session());
            Activity::new()
        });
        RunningRequest::new(activity)
    }

    /// Nothing says when agents without a session have gone, except that they send nothing.
    async fn watch_without_session(self: Arc<Self>) {
        loop {
            sleep(CHECK_INTERVAL).await;
            let mut agents = self.agents.clone().lock_owned().await;
            let Some(activity) = agents.get(&None) else {
                return;
            };
            if activity.is_idle_for(TIMEOUT) {
                agents.remove(&None);
                return self.on_left(agents).await;
            }
        }
    }

    async fn on_left(&self, agents: OwnedMutexGuard<Agents>) {
        if agents.is_empty() {
            let finishing = (self.when_empty)();
            // The agent may not wait for the response.
            let _ = tokio::spawn(async move {
                finishing.await;
                drop(agents);
            })
            .await;
        }
    }

    /// The session is in use until the result is dropped.
    async fn on_use(&self, id: &SessionId) -> Option<RunningRequest> {
        let agents = self.agents.lock().await;
        agents.get(&Some(id.clone())).map(RunningRequest::new)
    }

    /// Disconnects an agent if there are too many.
    async fn make_room(&self, agents: &mut Agents) -> Result<(), Error> {
        if agents.len() < MAX_SESSIONS {
            return Ok(());
        }
        let idle = agents
            .iter()
            .filter(|(_, activity)| activity.is_idle_for(MIN_IDLE));
        let oldest = idle.min_by_key(|(_, activity)| activity.last());
        let agent = oldest.map(|(agent, _)| agent.clone());
        let agent = agent.ok_or(Error::TooMany)?;
        tracing::info!("the agent that was idle the longest was disconnected for another");
        agents.remove(&agent);
        if let Some(id) = agent {
            self.sessions.close_session(&id).await?;
        }
        Ok(())
    }
}

impl SessionManager for HttpSessions {
    type Error = Error;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Error> {
        // Held until the new session counts, so that simultaneous agents cannot exceed the limit.
        let mut agents = self.agents.lock().await;
        self.make_room(&mut agents).await?;
        let created = self.sessions.create_session().await?;
        agents.insert(Some(created.0.clone()), Activity::new());
        Ok(created)
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Error> {
        Ok(self.sessions.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Error> {
        Ok(self.sessions.has_session(id).await?)
    }

    /// The SDK calls this for every session that ends, in whatever way.
    async fn close_session(&self, id: &SessionId) -> Result<(), Error> {
        let mut agents = self.agents.clone().lock_owned().await;
        let was_open = agents.remove(&Some(id.clone())).is_some();
        let closed = self.sessions.close_session(id).await;
        if was_open {
            self.on_left(agents).await;
        }
        Ok(closed?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error> {
        let running = self.on_use(id).await;
        let responses = self.sessions.create_stream(id, message).await?;
        Ok(responses.inspect(move |_| _ = &running))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Error> {
        self.on_use(id).await;
        Ok(self.sessions.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error> {
        self.on_use(id).await;
        Ok(self.sessions.create_standalone_stream(id).await?)
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error> {
        self.on_use(id).await;
        Ok(self.sessions.resume(id, last_event_id).await?)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::FutureExt as _;

    use super::*;

    /// Sessions, and how often the last agent has gone.
    fn sessions() -> (Arc<HttpSessions>, Arc<AtomicUsize>) {
        let times = Arc::new(AtomicUsize::new(0));
        let counter = times.clone();
        let when_empty = move || {
            counter.fetch_add(1, Ordering::Relaxed);
            async {}.boxed()
        };
        (Arc::new(HttpSessions::new(when_empty)), times)
    }

    #[tokio::test]
    async fn notices_once_that_the_last_session_has_ended() {
        let (sessions, times) = sessions();
        let (first, _transport) = sessions.create_session().await.unwrap();
        let (second, _transport) = sessions.create_session().await.unwrap();
        sessions.close_session(&first).await.unwrap();
        sessions.close_session(&first).await.unwrap();
        assert_eq!(times.load(Ordering::Relaxed), 0);
        sessions.close_session(&second).await.unwrap();
        sessions.close_session(&second).await.unwrap();
        assert_eq!(times.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn agents_without_a_session_count_as_one_until_they_are_idle() {
        let (sessions, times) = sessions();
        let running = sessions.begin_without_session().await;
        let (id, _transport) = sessions.create_session().await.unwrap();
        sessions.close_session(&id).await.unwrap();
        sleep(TIMEOUT * 2).await;
        assert_eq!(times.load(Ordering::Relaxed), 0, "a request is running");
        drop(running);
        sleep(TIMEOUT / 2).await;
        drop(sessions.begin_without_session().await);
        sleep(TIMEOUT * 3 / 4).await;
        assert_eq!(times.load(Ordering::Relaxed), 0, "one has called since");
        sleep(TIMEOUT / 2).await;
        assert_eq!(times.load(Ordering::Relaxed), 1);
        drop(sessions.begin_without_session().await);
        sleep(TIMEOUT + CHECK_INTERVAL).await;
        assert_eq!(
            times.load(Ordering::Relaxed),
            2,
            "those that come later, too"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn idle_session_makes_room_and_busy_ones_do_not() {
        let (sessions, _) = sessions();
        let mut ids = Vec::new();
        let mut transports = Vec::new();
        for _ in 0..MAX_SESSIONS {
            let (id, transport) = sessions.create_session().await.unwrap();
            ids.push(id);
            transports.push(transport);
        }
        assert!(matches!(
            sessions.create_session().await,
            Err(Error::TooMany)
        ));
        let mut running = Vec::new();
        for id in &ids[1..] {
            running.push(sessions.on_use(id).await);
        }
        tokio::time::advance(MIN_IDLE).await;
        let (newcomer, _transport) = sessions.create_session().await.unwrap();
        assert!(!sessions.has_session(&ids[0]).await.unwrap());
        for id in ids[1..].iter().chain([&newcomer]) {
            assert!(sessions.has_session(id).await.unwrap());
        }
        drop(running);
        assert!(
            matches!(sessions.create_session().await, Err(Error::TooMany)),
            "their responses have just ended"
        );
        sessions.close_session(&newcomer).await.unwrap();
        assert!(sessions.create_session().await.is_ok());
    }
}
