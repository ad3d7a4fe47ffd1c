//! The tools that manage browsers, as an agent sees them: descriptions, schemas, hints and
//! arguments. They are offered only if the user wants them, so that they cost nobody else tokens.

use std::path::PathBuf;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::Deserialize;
use serde_json::{Value, json};
use tabwire_home::check_name;
use tabwire_home::control::{LaunchOptions, ProfileChoice, absolute_program};

use crate::error::Error;
use crate::response::Report;
use crate::tools::{object, parse};

pub const NAMES: [&str; 5] = [LIST, STATUS, LAUNCH, STOP, RESTART];
const LIST: &str = "browser_list";
const STATUS: &str = "browser_status";
const LAUNCH: &str = "browser_launch";
const STOP: &str = "browser_stop";
const RESTART: &str = "browser_restart";

const WITHOUT_ARGUMENTS: &str = "no arguments";
const WITH_NAME: &str = "`name` (the name of a browser that was launched), or no arguments";
const WITH_OPTIONS: &str = "any of `browser`, `name`, `profile` (strings), `headless`, `temp`, `direct` (booleans) and `args` (an array of strings); not both `profile` and `temp`";

const NO_BROWSER: &str = "Call browser_launch to launch a browser, browser_restart if you have launched one that is gone, or browser_stop to use the user's again.";

/// What an agent asks for.
#[derive(Debug, PartialEq, Eq)]
pub enum BrowserCall {
    List,
    Status,
    Launch(LaunchOptions),
    /// `None`: the one that the agent launched, or the only one that was launched.
    Stop(Option<String>),
    Restart(Option<String>),
}

impl BrowserCall {
    /// `None` if no such tool manages browsers.
    pub fn parse(tool: &str, arguments: JsonObject) -> Option<Result<Self, Error>> {
        let call = match tool {
            LIST => parse(LIST, WITHOUT_ARGUMENTS, arguments).map(|NoArguments {}| Self::List),
            STATUS => {
                parse(STATUS, WITHOUT_ARGUMENTS, arguments).map(|NoArguments {}| Self::Status)
            }
            LAUNCH => parse(LAUNCH, WITH_OPTIONS, arguments)
                .and_then(LaunchArguments::options)
                .map(Self::Launch),
            STOP => parse(STOP, WITH_NAME, arguments).map(|it: NameArgument| Self::Stop(it.name)),
            RESTART => {
                parse(RESTART, WITH_NAME, arguments).map(|it: NameArgument| Self::Restart(it.name))
            }
            _ => return None,
        };
        Some(call)
    }
}

/// Without a browser, an agent that has these tools can help itself.
pub fn add_remedy(report: &mut Report) {
    if report.kind == "no-extension" {
        let other = report.next.take().unwrap_or_default();
        report.next = Some(format!("{NO_BROWSER} {other}"));
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NameArgument {
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LaunchArguments {
    browser: Option<String>,
    name: Option<String>,
    #[serde(default)]
    headless: bool,
    #[serde(default)]
    temp: bool,
    profile: Option<PathBuf>,
    #[serde(default)]
    direct: bool,
    #[serde(default)]
    args: Vec<String>,
}

impl LaunchArguments {
    fn options(self) -> Result<LaunchOptions, Error> {
        let invalid = |reason: String| Error::Arguments {
            tool: LAUNCH,
            reason,
            usage: WITH_OPTIONS,
        };
        if let Some(Err(fault)) = self.name.as_deref().map(check_name) {
            let fault = fault.to_string();
            return Err(invalid(fault.trim_end_matches('.').to_owned()));
        }
        let profile = match (self.profile, self.temp) {
            (Some(_), true) => return Err(invalid("both `profile` and `temp`".to_owned())),
            (Some(folder), false) => ProfileChoice::Folder(
                std::path::absolute(folder).map_err(|error| invalid(error.to_string()))?,
            ),
            (None, true) => ProfileChoice::Temporary,
            (None, false) => ProfileChoice::Kept,
        };
        let browser = self.browser.map(absolute_program).transpose();
        Ok(LaunchOptions {
            browser: browser.map_err(|error| invalid(error.to_string()))?,
            name: self.name,
            headless: self.headless,
            profile,
            direct: self.direct,
            arguments: self.args,
            ..LaunchOptions::default()
        })
    }
}

/// The hints leave out what MCP assumes anyway: a tool that is not read-only is destructive.
pub fn list() -> Vec<Tool> {
    let read_only = || ToolAnnotations::new().read_only(true).open_world(false);
    // Launching can replace a browser in use.
    let destructive = || ToolAnnotations::new().destructive(true);
    let nothing = || json!({});
    let name = || json!({ "name": { "type": "string" } });
    vec![
        tool(LIST, "List browsers that are installed, paired or connected", nothing()).with_annotations(read_only()),
        tool(
            STATUS,
            "Show the relay, its browsers (ownership: launched or attached by Tabwire, else the user's), their clients and the tabs in use",
            nothing(),
        )
        .with_annotations(read_only()),
        tool(
            LAUNCH,
            "Launch a browser without the user's tabs and logins, and run `execute` in it",
            launch_properties(),
        )
        .with_annotations(destructive()),
        tool(
            STOP,
            "Stop a launched browser, never the user's own",
            name(),
        )
        .with_annotations(destructive()),
        tool(
            RESTART,
            "Restart a launched browser; its pages are lost",
            name(),
        )
        .with_annotations(destructive()),
    ]
}

fn launch_properties() -> Value {
    let string = json!({ "type": "string" });
    let boolean = json!({ "type": "boolean" });
    json!({
        "browser": { "type": "string", "description": "from browser_list, or a path" },
        "name": string,
        "headless": boolean,
        "temp": { "type": "boolean", "description": "new profile, removed on stop" },
        "profile": { "type": "string", "description": "folder" },
        "direct": { "type": "boolean", "description": "use its debugging port, not the extension" },
        "args": { "type": "array", "items": string },
    })
}

fn tool(name: &'static str, description: &'static str, properties: Value) -> Tool {
    let schema = json!({ "type": "object", "properties": properties });
    Tool::new(name, description, object(schema))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The call, or the text of the error.
    fn call(tool: &str, arguments: Value) -> Result<BrowserCall, String> {
        let call = BrowserCall::parse(tool, object(arguments)).unwrap();
        call.map_err(|error| error.to_string())
    }

    #[test]
    fn tools_are_listed_in_few_characters() {
        let tools = list();
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(names, NAMES);
        let size = serde_json::to_string(&tools).unwrap().len();
        assert!(size < 1_500, "{size} characters");
    }

    #[test]
    fn hints_tell_looking_from_changing() {
        for tool in list() {
            let hints = tool.annotations.unwrap();
            let only_looks = [LIST, STATUS].contains(&tool.name.as_ref());
            assert_eq!(hints.read_only_hint, only_looks.then_some(true));
            assert_eq!(hints.destructive_hint, (!only_looks).then_some(true));
        }
    }

    #[test]
    fn schemas_name_exactly_the_arguments_that_are_accepted() {
        for tool in list() {
            let properties = tool.input_schema["properties"].as_object().unwrap();
            for (property, schema) in properties {
                let value = match schema["type"].as_str().unwrap() {
                    "boolean" => json!(false),
                    "array" => json!([]),
                    _ => json!("x"),
                };
                call(&tool.name, json!({ property: value })).unwrap();
            }
            let unknown = call(&tool.name, json!({ "colour": "red" })).unwrap_err();
            assert!(unknown.contains("unknown field `colour`"), "{unknown}");
        }
        assert!(BrowserCall::parse("browser_paint", JsonObject::new()).is_none());
    }

    #[test]
    fn launch_arguments_become_the_options_of_a_launch() {
        let arguments = json!({ "browser": "chromium", "name": "work", "temp": true, "direct": true, "args": ["--a"] });
        let expected = LaunchOptions {
            browser: Some("chromium".into()),
            name: Some("work".into()),
            profile: ProfileChoice::Temporary,
            direct: true,
            arguments: vec!["--a".into()],
            ..LaunchOptions::default()
        };
        assert_eq!(call(LAUNCH, arguments), Ok(BrowserCall::Launch(expected)));
        let folder = call(
            LAUNCH,
            json!({ "browser": "./chrome", "profile": "/p", "headless": true }),
        );
        let program = std::env::current_dir().unwrap().join("chrome");
        let expected = LaunchOptions {
            browser: Some(program.display().to_string()),
            headless: true,
            profile: ProfileChoice::Folder("/p".into()),
            ..LaunchOptions::default()
        };
        assert_eq!(folder, Ok(BrowserCall::Launch(expected)));
    }

    #[test]
    fn launch_arguments_that_contradict_each_other_are_rejected() {
        let both = call(LAUNCH, json!({ "profile": "/p", "temp": true })).unwrap_err();
        assert!(both.contains("both `profile` and `temp`"), "{both}");
        let name = call(LAUNCH, json!({ "name": "a b" })).unwrap_err();
        assert!(name.contains("1 to 40 letters"), "{name}");
    }
}
