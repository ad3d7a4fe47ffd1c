//! What an agent may send before its session has begun: requests. The SDK ends the server when anything else
//! comes first, such as a notification that was meant for an earlier server of the same host.

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, GetMeta as _, ProtocolVersion};
use rmcp::service::TxJsonRpcMessage;
use rmcp::transport::Transport;

/// Drops notifications and responses until a request begins the session.
pub struct FromFirstRequest<T> {
    transport: T,
    has_begun: bool,
}

impl<T> FromFirstRequest<T> {
    pub fn new(transport: T) -> Self {
        Self {
            transport,
            has_begun: false,
        }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for FromFirstRequest<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let message = self.transport.receive().await?;
            if self.has_begun {
                return Some(message);
            }
            if let ClientJsonRpcMessage::Request(request) = &message {
                self.has_begun = begins_session(&request.request);
                return Some(message);
            }
            tracing::debug!("dropped a message that came before `initialize`");
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.transport.close()
    }
}

/// Of other requests, the SDK answers those that describe their client as a newer protocol requires, which
/// has no `initialize`, and rejects the rest.
fn begins_session(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        request => {
            let meta = request.get_meta();
            let is_supported = |version| ProtocolVersion::KNOWN_VERSIONS.contains(&version);
            let missing = meta.missing_required_keys(&ProtocolVersion::V_2026_07_28);
            missing.is_empty() && meta.protocol_version().is_some_and(is_supported)
        }
    }
}
