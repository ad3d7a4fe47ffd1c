//! The sessions of agents over HTTP, which are bounded in number. Agents often leave without a word, so a new
//! one takes the place of the one that has been idle the longest. What a session means is up to the SDK.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use futures_util::future::BoxFuture;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};
use tokio::sync::Mutex;
use tokio::time::Instant;

/// More agents than anybody runs at a time.
pub const MAX_SESSIONS: usize = 64;
/// An agent that has called since is not disconnected for another.
const MIN_IDLE: Duration = Duration::from_secs(10 * 60);

pub struct HttpSessions {
    sessions: LocalSessionManager,
    /// When each session's agent last sent something. A session leaves when it is closed.
    last_used: Arc<Mutex<HashMap<SessionId, Instant>>>,
    /// Called when the last session has ended. A new one begins after that.
    when_empty: Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>,
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
    pub fn new(
        sessions: LocalSessionManager,
        when_empty: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) -> Self {
        Self {
            sessions,
            last_used: Arc::default(),
            when_empty: Box::new(when_empty),
        }
    }

    async fn on_use(&self, id: &SessionId) {
        if let Some(at) = self.last_used.lock().await.get_mut(id) {
            *at = Instant::now();
        }
    }

    /// Closes a session if there are too many.
    async fn make_room(&self, last_used: &mut HashMap<SessionId, Instant>) -> Result<(), Error> {
        if last_used.len() < MAX_SESSIONS {
            return Ok(());
        }
        let oldest = last_used.iter().min_by_key(|(_, at)| **at);
        let idle = oldest.filter(|(_, at)| at.elapsed() >= MIN_IDLE);
        let id = idle.map(|(id, _)| id.clone()).ok_or(Error::TooMany)?;
        tracing::info!("the agent that was idle the longest was disconnected for another");
        last_used.remove(&id);
        Ok(self.sessions.close_session(&id).await?)
    }
}

impl SessionManager for HttpSessions {
    type Error = Error;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Error> {
        // Held until the new session counts, so that simultaneous agents cannot exceed the limit.
        let mut last_used = self.last_used.lock().await;
        self.make_room(&mut last_used).await?;
        let created = self.sessions.create_session().await?;
        last_used.insert(created.0.clone(), Instant::now());
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
        let mut last_used = self.last_used.clone().lock_owned().await;
        let was_open = last_used.remove(id).is_some();
        let closed = self.sessions.close_session(id).await;
        if was_open && last_used.is_empty() {
            let finishing = (self.when_empty)();
            // The agent may not wait for the response.
            let _ = tokio::spawn(async move {
                finishing.await;
                drop(last_used);
            })
            .await;
        }
        Ok(closed?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error> {
        self.on_use(id).await;
        Ok(self.sessions.create_stream(id, message).await?)
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

    /// Sessions, and how often the last of them has ended.
    fn sessions() -> (HttpSessions, Arc<AtomicUsize>) {
        let times = Arc::new(AtomicUsize::new(0));
        let counter = times.clone();
        let when_empty = move || {
            counter.fetch_add(1, Ordering::Relaxed);
            async {}.boxed()
        };
        let sessions = HttpSessions::new(LocalSessionManager::default(), when_empty);
        (sessions, times)
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
        tokio::time::advance(MIN_IDLE).await;
        sessions.on_use(&ids[0]).await;
        let (newcomer, _transport) = sessions.create_session().await.unwrap();
        let mut present = Vec::new();
        for id in ids.iter().chain([&newcomer]) {
            if sessions.has_session(id).await.unwrap() {
                present.push(id);
            }
        }
        assert_eq!(present.len(), MAX_SESSIONS);
        assert!(present.contains(&&ids[0]), "it was used a moment ago");
        assert!(present.contains(&&newcomer));
        sessions.close_session(&newcomer).await.unwrap();
        assert!(sessions.create_session().await.is_ok());
    }
}
