//! The two tools as an agent sees them: descriptions, schemas, hints and arguments.

use std::ops::RangeInclusive;
use std::time::Duration;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::error::Error;

/// More than loading a page may take.
const DEFAULT_TIMEOUT_S: f64 = 40.0;
const TIMEOUT_S: RangeInclusive<f64> = 0.1..=600.0;
/// An error repeats the invalid argument, which may be long.
const MAX_REASON: usize = 200;

pub const INSTRUCTIONS: &str = "Drives the user's own browser, with their logins and tabs. Call snapshot() to see the page, act on its refs, then call \
snapshot({diff: true}) to see what changed. Open tabs belong to the user: work in your own `page` unless asked. To use one of theirs: `page = pages().find(p => p.url().includes('…'))`.";

const EXECUTE: &str = "Run Playwright JavaScript in the user's browser. Supports top-level await. Returns the value of the last expression (or `return`) and console output.
In scope:
- page: the current tab, kept between calls; assign `page = …` to switch. If there is none, a new background tab opens
- context, browser: Playwright objects. pages(): all tabs. Tabs that you open are closed when you leave; keep(page) leaves one open
- state: an object kept between calls (variables are not)
- snapshot(locator?, {search, interactive, diff, depth, offset, compact}): the accessibility tree as text; act on its refs with page.locator('aria-ref=e5'). search: text or RegExp, matching lines only. interactive: only elements to act on. diff: only what changed. compact: false for everything
- screenshot(locator?, {fullPage, labels}): attaches an image, or tiles of a large one; labels: draws the refs
- markdown(locator?): the page to read. find(text): elements with refs. download(locator or function), upload(locator, files), fetch(url) with the page's cookies, networkIdle(), pdf(). help('name') has details
- logs({level, since, search}): console messages. requests({url, type, status}): what pages loaded, each with await .body()
- secret('NAME'): stands for a secret of the user in fill() and type(); you never see it
- dialogs.next = 'accept' | 'dismiss' | text: answers the next dialog; by default it is dismissed
- record.start(), await record.stop(): an animated GIF of the page with your clicks; returns its path. script(): this session as a Playwright script
Example: await page.goto('https://example.com'); snapshot()";

const USAGE: &str = "`code` (a string) and optionally `timeout` (0.1 to 600 seconds)";

const RESET: &str = "Reconnect to the browser with an empty `state`. Returns the tabs and the current page. Use only if `execute` keeps failing although the code is right.";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecuteArguments {
    pub code: String,
    /// In seconds.
    timeout: Option<f64>,
}

impl ExecuteArguments {
    pub fn parse(arguments: JsonObject) -> Result<Self, Error> {
        let arguments: Self = parse("execute", USAGE, arguments)?;
        match arguments.timeout {
            Some(timeout) if !TIMEOUT_S.contains(&timeout) => Err(Error::Arguments {
                tool: "execute",
                reason: format!("a timeout of {timeout:?} seconds"),
                usage: USAGE,
            }),
            _ => Ok(arguments),
        }
    }

    pub fn timeout(&self) -> Duration {
        Duration::from_secs_f64(self.timeout.unwrap_or(DEFAULT_TIMEOUT_S))
    }
}

/// Parses the arguments of a tool. `usage`: what it takes, for the error.
pub fn parse<T: DeserializeOwned>(
    tool: &'static str,
    usage: &'static str,
    arguments: JsonObject,
) -> Result<T, Error> {
    let parsed = serde_json::from_value(Value::Object(arguments));
    parsed.map_err(|error| Error::Arguments {
        tool,
        reason: error.to_string().chars().take(MAX_REASON).collect(),
        usage,
    })
}

pub fn list() -> Vec<Tool> {
    vec![execute(), reset()]
}

fn execute() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "code": { "type": "string" },
            "timeout": {
                "type": "number",
                "minimum": TIMEOUT_S.start(),
                "maximum": TIMEOUT_S.end(),
                "description": "seconds, default 40; then the code is stopped and `state` is lost",
            },
        },
        "required": ["code"],
    });
    let hints = hints("Run code in the browser")
        .destructive(true)
        .idempotent(false);
    Tool::new("execute", EXECUTE, object(schema)).with_annotations(hints)
}

fn reset() -> Tool {
    let schema = json!({ "type": "object", "properties": {} });
    let hints = hints("Reconnect to the browser")
        .destructive(false)
        .idempotent(true);
    Tool::new("reset", RESET, object(schema)).with_annotations(hints)
}

fn hints(title: &str) -> ToolAnnotations {
    ToolAnnotations::with_title(title)
        .read_only(false)
        .open_world(true)
}

pub fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::default(),
    }
}
