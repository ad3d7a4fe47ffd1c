//! The agent for launchd.

use crate::service::{MARK, Service};

pub const LABEL: &str = "dev.tabwire.relay";
const QUIET: &str = "--quiet";

pub fn agent(service: &Service) -> String {
    let mut command = vec![service.program.as_str(), "serve"];
    // launchd keeps no log, and does not limit the size of the output.
    if !service.options.iter().any(|option| option == QUIET) {
        command.push(QUIET);
    }
    command.extend(service.options.iter().map(String::as_str));
    let command: String = command.into_iter().map(|word| string(2, word)).collect();
    let output = string(1, &service.output);
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!-- {MARK}. It overwrites this file. -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>{LABEL}</string>
	<key>ProgramArguments</key>
	<array>
{command}	</array>
{environment}	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>ProcessType</key>
	<string>Interactive</string>
	<key>StandardOutPath</key>
{output}	<key>StandardErrorPath</key>
{output}</dict>
</plist>
"#,
        environment = environment(service),
    )
}

fn environment(service: &Service) -> String {
    let Some(home) = &service.home else {
        return String::new();
    };
    let home = string(2, home);
    format!(
        "\t<key>EnvironmentVariables</key>\n\t<dict>\n\t\t<key>TABWIRE_HOME</key>\n{home}\t</dict>\n"
    )
}

/// A line with a string, indented.
fn string(depth: usize, text: &str) -> String {
    let indent = "\t".repeat(depth);
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    format!("{indent}<string>{text}</string>\n")
}
