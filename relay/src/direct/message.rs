//! What the relay has to know about a message from the browser. It is read from the start of the
//! text, because most messages are large or many; only one that is laid out in another way than
//! Chrome's is parsed, and only its envelope.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::runtime::WeakSignal;

#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    Reply { id: i64 },
    Attached,
    Weak(WeakSignal),
    OtherEvent,
}

/// A session that the browser opened for a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub id: String,
    pub target: String,
    /// The session that announced it; `None` for the root session.
    pub parent: Option<String>,
}

pub fn classify(text: &str) -> Kind {
    if let Some(id) = text.strip_prefix("{\"id\":").and_then(leading_integer) {
        return Kind::Reply { id };
    }
    if let Some(rest) = text.strip_prefix("{\"method\":\"")
        && let Some((method, _)) = rest
            .get(..rest.len().min(64))
            .unwrap_or(rest)
            .split_once('"')
        && !method.contains('\\')
    {
        return of_event(method);
    }
    classify_any_layout(text)
}

fn of_event(method: &str) -> Kind {
    match method {
        "Target.attachedToTarget" => Kind::Attached,
        "Target.detachedFromTarget" => Kind::Weak(WeakSignal::DetachedFromTarget),
        "Inspector.detached" => Kind::Weak(WeakSignal::InspectorDetached),
        _ => Kind::OtherEvent,
    }
}

/// The number before the next comma or brace.
fn leading_integer(text: &str) -> Option<i64> {
    let end = text.find([',', '}'])?;
    text.get(..end)?.parse().ok()
}

fn classify_any_layout(text: &str) -> Kind {
    #[derive(Deserialize)]
    struct Envelope<'a> {
        id: Option<i64>,
        #[serde(borrow, default)]
        method: Cow<'a, str>,
    }
    match serde_json::from_str::<Envelope<'_>>(text) {
        Ok(Envelope { id: Some(id), .. }) => Kind::Reply { id },
        Ok(envelope) => of_event(&envelope.method),
        Err(_) => Kind::OtherEvent,
    }
}

/// The session of a reply, and whether it is an error.
pub fn read_reply(text: &str) -> (Option<String>, bool) {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Reply {
        session_id: Option<String>,
        error: Option<IgnoredAny>,
    }
    serde_json::from_str::<Reply>(text).map_or((None, true), |reply| {
        (reply.session_id, reply.error.is_some())
    })
}

/// The error code of a reply; `None` if it succeeded. A long result is not read.
pub fn error_code(reply: &str) -> Option<i64> {
    #[derive(Deserialize)]
    struct Reply {
        error: Option<Fault>,
    }
    #[derive(Deserialize)]
    struct Fault {
        code: i64,
    }
    let after_id = reply.split_once(',').map_or("", |(_, rest)| rest);
    if reply.starts_with("{\"id\":") && after_id.starts_with("\"result\"") {
        return None;
    }
    let reply: Reply = serde_json::from_str(reply).ok()?;
    reply.error.map(|error| error.code)
}

/// The session that `Target.attachedToTarget` announces.
pub fn read_attached(text: &str) -> Option<Session> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        session_id: String,
        target_info: TargetInfo,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct TargetInfo {
        target_id: String,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Attached {
        params: Params,
        session_id: Option<String>,
    }
    let Attached { params, session_id } = serde_json::from_str(text).ok()?;
    Some(Session {
        id: params.session_id,
        target: params.target_info.target_id,
        parent: session_id,
    })
}

/// The id of the session that `Target.detachedFromTarget` ends.
pub fn read_detached(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Detached {
        params: Params,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        session_id: String,
    }
    let detached: Detached = serde_json::from_str(text).ok()?;
    Some(detached.params.session_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_start_of_chromes_messages() {
        let reply = |id| Kind::Reply { id };
        assert_eq!(classify(r#"{"id":12,"result":{}}"#), reply(12));
        assert_eq!(classify(r#"{"id":-9999,"result":{}}"#), reply(-9999));
        assert_eq!(classify(r#"{"id":7}"#), reply(7));
        let event = |method: &str| classify(&format!(r#"{{"method":"{method}","params":{{}}}}"#));
        assert_eq!(event("Target.attachedToTarget"), Kind::Attached);
        assert_eq!(event("Target.attachedToTargetX"), Kind::OtherEvent);
        assert_eq!(
            event("Target.detachedFromTarget"),
            Kind::Weak(WeakSignal::DetachedFromTarget)
        );
        assert_eq!(
            event("Inspector.detached"),
            Kind::Weak(WeakSignal::InspectorDetached)
        );
    }

    #[test]
    fn reads_other_layouts_too() {
        assert_eq!(
            classify(r#"{ "result": {"id": 3}, "id": 12 }"#),
            Kind::Reply { id: 12 }
        );
        assert_eq!(
            classify(r#"{"params":{},"method":"Inspector.detached"}"#),
            Kind::Weak(WeakSignal::InspectorDetached)
        );
        assert_eq!(
            classify(r#"{"method":"Target.attached\u0054oTarget"}"#),
            Kind::Attached
        );
        for text in ["", "null", "[]", "nonsense", r#"{"id":"#, r#"{"method":"é"#] {
            assert_eq!(classify(text), Kind::OtherEvent, "{text}");
        }
    }

    #[test]
    fn event_that_contains_a_detached_target_is_none() {
        let text = r#"{"method":"Runtime.consoleAPICalled","params":{"method":"Target.detachedFromTarget","id":1}}"#;
        assert_eq!(classify(text), Kind::OtherEvent);
    }

    #[test]
    fn reads_sessions() {
        let attached = r#"{"method":"Target.attachedToTarget","params":{"sessionId":"S","targetInfo":{"targetId":"T","type":"page"},"waitingForDebugger":false},"sessionId":"P"}"#;
        let session = Session {
            id: "S".to_owned(),
            target: "T".to_owned(),
            parent: Some("P".to_owned()),
        };
        assert_eq!(read_attached(attached), Some(session));
        let detached = r#"{"method":"Target.detachedFromTarget","params":{"sessionId":"S"}}"#;
        assert_eq!(read_detached(detached), Some("S".to_owned()));
    }

    #[test]
    fn reads_the_error_code_of_a_reply() {
        let error = r#""error":{"code":-32601,"message":"no"}"#;
        assert_eq!(error_code(&format!(r#"{{"id":1,{error}}}"#)), Some(-32601));
        assert_eq!(
            error_code(&format!(r#"{{ {error}, "id": 1 }}"#)),
            Some(-32601)
        );
        assert_eq!(
            error_code(&format!(r#"{{"id":1,"result":{{{error}}}}}"#)),
            None
        );
        assert_eq!(error_code(r#"{ "id": 1, "result": {} }"#), None);
        assert_eq!(error_code("nonsense"), None);
    }

    #[test]
    fn reads_the_session_and_outcome_of_a_reply() {
        let read = |text| read_reply(text);
        assert_eq!(
            read(r#"{"id":1,"result":{},"sessionId":"S"}"#),
            (Some("S".to_owned()), false)
        );
        assert_eq!(read(r#"{"id":1,"error":{"code":-32000}}"#), (None, true));
    }
}
