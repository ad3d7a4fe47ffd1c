//! The client side of a script: connections, requests, and the messages that come back.

use serde_json::{Value, json};

use super::{Messages, Script, auto_attach};
use crate::ids::ClientId;
use crate::{Connection, Input};

/// A client's session on one target.
#[derive(Debug, Clone)]
pub struct Session {
    pub client: ClientId,
    pub id: String,
}

/// Where a client sends a request: a session, or the root of its connection.
pub trait Endpoint: Copy {
    fn client(self) -> ClientId;
    fn session_id(&self) -> Option<&str>;
}

impl Endpoint for ClientId {
    fn client(self) -> ClientId {
        self
    }

    fn session_id(&self) -> Option<&str> {
        None
    }
}

impl Endpoint for &Session {
    fn client(self) -> ClientId {
        self.client
    }

    fn session_id(&self) -> Option<&str> {
        Some(&self.id)
    }
}

/// A session by its id, or the root session for "".
impl Endpoint for (ClientId, &str) {
    fn client(self) -> ClientId {
        self.0
    }

    fn session_id(&self) -> Option<&str> {
        Some(self.1).filter(|id| !id.is_empty())
    }
}

impl Script {
    pub fn connect_client(&mut self) -> ClientId {
        self.connect_client_to(Connection::Browser)
    }

    pub fn connect_client_to(&mut self, connection: Connection<'_>) -> ClientId {
        let client = ClientId(self.last_client + 1);
        self.connect_client_of(client, connection)
    }

    /// `program`: the first client of the same program.
    pub fn connect_client_of(&mut self, program: ClientId, connection: Connection<'_>) -> ClientId {
        self.open_client(program, connection, None, None)
    }

    /// A client whose tabs belong into a tab group.
    pub fn connect_grouped_client(&mut self, connection: Connection<'_>, group: &str) -> ClientId {
        let client = ClientId(self.last_client + 1);
        self.open_client(client, connection, Some(group), None)
    }

    /// A client that is recognized when it connects again.
    pub fn connect_client_with_identity(&mut self, identity: &str) -> ClientId {
        let client = ClientId(self.last_client + 1);
        self.open_client(client, Connection::Browser, None, Some(identity))
    }

    fn open_client(
        &mut self,
        program: ClientId,
        connection: Connection<'_>,
        group: Option<&str>,
        identity: Option<&str>,
    ) -> ClientId {
        self.last_client += 1;
        let client = ClientId(self.last_client);
        self.input(Input::ClientOpened {
            client,
            connection,
            program,
            group,
            identity,
        });
        client
    }

    pub fn disconnect(&mut self, client: ClientId) {
        self.input(Input::ClientClosed(client));
    }

    /// A new client that auto-attaches to every tab, as Playwright does, and its session on each
    /// page.
    pub fn auto_attached_client(&mut self) -> (ClientId, Vec<Session>) {
        let client = self.connect_client();
        self.send(client, "Target.setAutoAttach", auto_attach());
        let sessions = self.received(client).attached_sessions(client);
        (client, sessions)
    }

    /// The session of a new auto-attached client on the first page.
    pub fn auto_attached_page(&mut self) -> Session {
        self.auto_attached_client().1.remove(0)
    }

    /// The session of a new client that attaches to this target itself.
    pub fn explicitly_attached_page(&mut self, target: &str) -> Session {
        let client = self.connect_client();
        self.attach_to_target(client, target)
    }

    pub fn attach_to_target(&mut self, client: ClientId, target: &str) -> Session {
        let params = json!({ "targetId": target, "flatten": true });
        let result = self.request(client, "Target.attachToTarget", params);
        let id = result["sessionId"].as_str().unwrap().to_owned();
        Session { client, id }
    }

    /// The id that the next request gets.
    pub fn next_request(&self) -> i64 {
        self.last_request + 1
    }

    /// Sends a request and returns its id.
    pub fn send(&mut self, to: impl Endpoint, method: &str, params: Value) -> i64 {
        self.last_request += 1;
        let mut message = json!({ "id": self.last_request, "method": method, "params": params });
        if let Some(session) = to.session_id() {
            message["sessionId"] = session.into();
        }
        self.send_text(to.client(), &message.to_string());
        self.last_request
    }

    pub fn send_text(&mut self, client: ClientId, text: &str) {
        self.input(Input::ClientText(client, text));
    }

    /// Sends a request that the relay answers at once, and returns its result.
    #[track_caller]
    pub fn request(&mut self, to: impl Endpoint, method: &str, params: Value) -> Value {
        let id = self.send(to, method, params);
        self.received(to).result(id).clone()
    }

    /// Sends a request that the relay rejects at once, and returns the code and message of the
    /// error.
    #[track_caller]
    pub fn request_error(
        &mut self,
        to: impl Endpoint,
        method: &str,
        params: Value,
    ) -> (i64, String) {
        let id = self.send(to, method, params);
        let received = self.received(to);
        (received.error_code(id), received.error(id).to_owned())
    }

    /// Takes everything the client has received since the last call.
    pub fn received(&mut self, by: impl Endpoint) -> Messages {
        let messages = self.to_clients.remove(&by.client());
        Messages::new(messages.unwrap_or_default())
    }

    /// Takes everything that any client has received since the last call.
    pub fn received_by_all(&mut self) -> Vec<(ClientId, Messages)> {
        let messages = std::mem::take(&mut self.to_clients);
        let with_client = |(client, messages)| (client, Messages::new(messages));
        messages.into_iter().map(with_client).collect()
    }
}
