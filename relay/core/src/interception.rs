//! The requests that Chrome has paused, and whose patterns they were paused for. Nobody is told anything here; that is
//! `intercept/fetch.rs`.

use std::collections::{BTreeMap, VecDeque};

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::ids::{ChildId, SessionId};

/// What one session asked for with `Fetch.enable`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interception {
    patterns: Vec<Pattern>,
    handles_auth: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Pattern {
    /// As the client wrote it.
    text: String,
    url: String,
    kind: Option<String>,
    stage: Stage,
}

/// At which moment a request is paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub enum Stage {
    #[default]
    Request,
    Response,
    /// Patterns cannot ask for this one; `handleAuthRequests` does.
    #[serde(skip)]
    Auth,
}

impl Interception {
    pub fn read(params: &str) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params<'a> {
            #[serde(borrow)]
            patterns: Option<Vec<&'a RawValue>>,
            #[serde(default)]
            handle_auth_requests: bool,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Fields {
            url_pattern: Option<String>,
            resource_type: Option<String>,
            #[serde(default)]
            request_stage: Stage,
        }
        let params: Params<'_> = serde_json::from_str(params)?;
        let texts = params.patterns.map_or_else(
            || vec!["{}"],
            |patterns| patterns.into_iter().map(RawValue::get).collect(),
        );
        let patterns = texts.into_iter().map(|text| {
            let fields: Fields = serde_json::from_str(text)?;
            let url = fields.url_pattern.unwrap_or_else(|| "*".to_owned());
            Ok(Pattern {
                text: text.to_owned(),
                url,
                kind: fields.resource_type,
                stage: fields.request_stage,
            })
        });
        Ok(Self {
            patterns: patterns.collect::<serde_json::Result<_>>()?,
            handles_auth: params.handle_auth_requests,
        })
    }

    /// The parameters of the one `Fetch.enable` that asks for all of these; `None` when there are none.
    pub fn together<'a>(all: impl Iterator<Item = &'a Self>) -> Option<String> {
        let (mut texts, mut handles_auth, mut is_any) = (Vec::new(), false, false);
        for one in all {
            is_any = true;
            handles_auth |= one.handles_auth;
            for pattern in &one.patterns {
                if !texts.contains(&pattern.text.as_str()) {
                    texts.push(&pattern.text);
                }
            }
        }
        is_any.then(|| {
            format!(
                r#"{{"patterns":[{}],"handleAuthRequests":{handles_auth}}}"#,
                texts.join(",")
            )
        })
    }

    /// Whether a pause is one that this session would see if it had Chrome for itself.
    pub fn wants(&self, pause: &Pause) -> bool {
        let fits = |pattern: &&Pattern| {
            pattern.kind.as_ref().is_none_or(|kind| *kind == pause.kind)
                && url_fits(&pattern.url, &pause.url)
        };
        let mut fitting = self.patterns.iter().filter(fits);
        match pause.stage {
            Stage::Auth => self.handles_auth && fitting.next().is_some(),
            stage => fitting.any(|pattern| pattern.stage == stage),
        }
    }
}

/// What `Fetch.requestPaused` or `Fetch.authRequired` says.
#[derive(Debug)]
pub struct Pause {
    pub request: String,
    /// The same request in the words of `Network`.
    pub network: Option<String>,
    pub stage: Stage,
    url: String,
    kind: String,
}

impl Pause {
    pub fn read(method: &str, params: &str) -> Option<Self> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            request_id: String,
            network_id: Option<String>,
            request: Request,
            resource_type: String,
            response_status_code: Option<IgnoredAny>,
            response_error_reason: Option<IgnoredAny>,
        }
        #[derive(Deserialize)]
        struct Request {
            url: String,
        }
        let params: Params = serde_json::from_str(params).ok()?;
        let stage = match method {
            "Fetch.authRequired" => Stage::Auth,
            _ if params.response_status_code.is_some()
                || params.response_error_reason.is_some() =>
            {
                Stage::Response
            }
            _ => Stage::Request,
        };
        Some(Self {
            request: params.request_id,
            network: params.network_id,
            stage,
            url: params.request.url,
            kind: params.resource_type,
        })
    }
}

/// What becomes of a session's answer to a pause.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// Chrome gets it. The number names the pause, because the same request may be paused again before Chrome has replied.
    Decides(u64),
    /// Others have yet to speak.
    GivenUp,
    /// The session was not asked, has answered, or another was first.
    TooLate,
}

#[derive(Debug)]
struct Paused {
    number: u64,
    stage: Stage,
    network: Option<String>,
    /// Sessions that were told of it and have not answered.
    holders: Vec<SessionId>,
    /// The session whose answer is on its way to Chrome.
    answering: Option<SessionId>,
    body: Body,
}

/// What was done with the body of a response that is paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Body {
    Untouched,
    Read,
    Taken,
}

/// The paused requests of one tab and the targets below it. Enters: with `Fetch.requestPaused` or `Fetch.authRequired`.
/// Leaves: with an answer that Chrome took, with `Network.loadingFailed`, with its last holder, or with the debugger.
#[derive(Debug, Default)]
pub struct PausedRequests {
    map: BTreeMap<(Option<ChildId>, String), Paused>,
    /// Who asked with `interceptResponse` to see this request's response too, whatever its patterns. Leaves with that response;
    /// one that never comes, because the page gave the request up, makes room for later ones.
    responses: VecDeque<(Option<ChildId>, String, SessionId)>,
    last_number: u64,
}

/// More than a page ever has under way.
const MOST_EXPECTED: usize = 1_000;

impl PausedRequests {
    pub fn enter(&mut self, child: Option<&ChildId>, pause: &Pause, holders: Vec<SessionId>) {
        self.last_number += 1;
        let entry = Paused {
            number: self.last_number,
            stage: pause.stage,
            network: pause.network.clone(),
            holders,
            answering: None,
            body: Body::Untouched,
        };
        self.map
            .insert((child.cloned(), pause.request.clone()), entry);
    }

    /// A session answers. `gives_up` when it lets the request go on as it is: only its own say ends, and the last who says so
    /// sends it on. Playwright and Puppeteer intercept everything to route one thing, and let the rest go.
    pub fn answer(
        &mut self,
        child: Option<&ChildId>,
        request: &str,
        session: SessionId,
        gives_up: bool,
    ) -> Answer {
        let Some(paused) = self.map.get_mut(&(child.cloned(), request.to_owned())) else {
            return Answer::TooLate;
        };
        let Some(place) = paused.holders.iter().position(|holder| *holder == session) else {
            return Answer::TooLate;
        };
        paused.holders.remove(place);
        if paused.answering.is_some() {
            return Answer::TooLate;
        }
        if gives_up && !paused.holders.is_empty() {
            return Answer::GivenUp;
        }
        paused.answering = Some(session);
        Answer::Decides(paused.number)
    }

    /// Whether a session may have the body of a paused response: one that was told of it, and not after it was taken as a stream.
    /// To take it after it was read crashes the browser.
    pub fn may_read_body(
        &mut self,
        child: Option<&ChildId>,
        request: &str,
        session: SessionId,
        takes: bool,
    ) -> bool {
        let Some(paused) = self.map.get_mut(&(child.cloned(), request.to_owned())) else {
            return false;
        };
        let may = paused.holders.contains(&session)
            && (paused.body == Body::Untouched || paused.body == Body::Read && !takes);
        if may {
            paused.body = if takes { Body::Taken } else { Body::Read };
        }
        may
    }

    /// Chrome took the answer.
    pub fn taken(&mut self, child: Option<&ChildId>, request: &str, number: u64) {
        let key = (child.cloned(), request.to_owned());
        if self
            .map
            .get(&key)
            .is_some_and(|paused| paused.number == number)
        {
            self.map.remove(&key);
        }
    }

    /// Chrome refused the answer, so the request is paused still, and its session may give a better one.
    pub fn refused(&mut self, child: Option<&ChildId>, request: &str, number: u64) {
        let paused = self
            .map
            .get_mut(&(child.cloned(), request.to_owned()))
            .filter(|paused| paused.number == number);
        if let Some(paused) = paused {
            paused.holders.extend(paused.answering.take());
        }
    }

    pub fn expect_response(&mut self, child: Option<&ChildId>, request: &str, session: SessionId) {
        if self.responses.len() >= MOST_EXPECTED {
            self.responses.pop_front();
        }
        self.responses
            .push_back((child.cloned(), request.to_owned(), session));
    }

    pub fn take_expected(&mut self, child: Option<&ChildId>, request: &str) -> Option<SessionId> {
        let place = self
            .responses
            .iter()
            .position(|(of, expected, _)| of.as_ref() == child && expected == request)?;
        self.responses.remove(place).map(|(_, _, session)| session)
    }

    /// Sessions of this target have gone. Gives the requests that nobody holds any more: they have to go on.
    pub fn without(
        &mut self,
        child: Option<&ChildId>,
        is_gone: impl Fn(SessionId) -> bool,
    ) -> Vec<(String, Stage)> {
        self.responses
            .retain(|(of, _, session)| of.as_ref() != child || !is_gone(*session));
        let mut orphans = Vec::new();
        for ((of, request), paused) in &mut self.map {
            if of.as_ref() == child {
                paused.holders.retain(|holder| !is_gone(*holder));
                paused.answering = paused.answering.filter(|session| !is_gone(*session));
                if paused.holders.is_empty() && paused.answering.is_none() {
                    orphans.push((request.clone(), paused.stage));
                }
            }
        }
        self.map
            .retain(|_, paused| !paused.holders.is_empty() || paused.answering.is_some());
        orphans
    }

    /// The page gave the request up by itself.
    pub fn failed(&mut self, network: &str) {
        self.map
            .retain(|_, paused| paused.network.as_deref() != Some(network));
    }

    /// Chrome has let go everything that was paused below this target.
    pub fn clear(&mut self, child: Option<&ChildId>) {
        self.map.retain(|(of, _), _| of.as_ref() != child);
        self.responses.retain(|(of, _, _)| of.as_ref() != child);
    }

    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }
}

/// Matches as Chrome does: `*` is any text, `?` one character or none, and `\` takes their meaning from them.
fn url_fits(pattern: &str, url: &str) -> bool {
    #[derive(Clone, Copy, PartialEq)]
    enum Part {
        Any,
        Optional,
        Exactly(char),
    }
    if pattern == "*" {
        return true;
    }
    let mut letters = pattern.chars();
    let mut parts = Vec::new();
    while let Some(letter) = letters.next() {
        parts.push(match letter {
            '*' => Part::Any,
            '?' => Part::Optional,
            '\\' => Part::Exactly(letters.next().unwrap_or('\\')),
            other => Part::Exactly(other),
        });
    }
    // Which parts may be next, for all ways to read the text so far at once. The place after the last is the end.
    let skips = |mut may_be_next: Vec<bool>| {
        let mut reached = false;
        for (index, place) in may_be_next.iter_mut().enumerate() {
            *place |= reached;
            reached = *place
                && parts
                    .get(index)
                    .is_some_and(|part| !matches!(part, Part::Exactly(_)));
        }
        may_be_next
    };
    let mut may_be_next = skips((0..=parts.len()).map(|place| place == 0).collect());
    for letter in url.chars() {
        let mut after = vec![false; 1];
        for (part, place) in parts.iter().zip(&may_be_next) {
            if let Some(same) = after.last_mut() {
                *same |= *place && *part == Part::Any;
            }
            after.push(*place && (*part == Part::Optional || *part == Part::Exactly(letter)));
        }
        may_be_next = skips(after);
    }
    may_be_next.last() == Some(&true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_fit_patterns_as_in_chrome() {
        for (pattern, url) in [
            ("*", "http://a/"),
            ("*/data*", "http://a/data?x=1"),
            ("http://a/?", "http://a/x"),
            ("http://a/?", "http://a/"),
            (r"*\?x=1", "http://a/?x=1"),
            ("http://a/*b*c", "http://a/bbcbc"),
            ("*ü*", "http://a/ü"),
        ] {
            assert!(url_fits(pattern, url), "{pattern} {url}");
        }
        for (pattern, url) in [
            ("", "http://a/"),
            ("http://a/", "http://a/b"),
            ("http://a/?", "http://a/xy"),
            (r"*\?x", "http://a/yx"),
            ("*/data", "http://a/data2"),
        ] {
            assert!(!url_fits(pattern, url), "{pattern} {url}");
        }
    }

    #[test]
    fn patterns_of_several_sessions_are_asked_for_together_and_the_same_once() {
        let all = [
            r#"{"patterns":[{"urlPattern":"*"}]}"#,
            r#"{"patterns":[{"urlPattern":"*"},{"urlPattern":"a"}],"handleAuthRequests":true}"#,
        ];
        let all = all.map(|params| Interception::read(params).unwrap());
        assert_eq!(
            Interception::together(all.iter()).unwrap(),
            r#"{"patterns":[{"urlPattern":"*"},{"urlPattern":"a"}],"handleAuthRequests":true}"#
        );
        assert_eq!(Interception::together([].into_iter()), None);
    }
}
