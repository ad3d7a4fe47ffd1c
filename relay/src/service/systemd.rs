//! The unit for systemd's user manager.

use crate::service::{MARK, Service, is_plain};

pub const UNIT: &str = "tabwire.service";

pub fn unit(service: &Service) -> String {
    let mut command = Vec::new();
    // systemd refuses programs with such names, but not arguments.
    if service.program.contains(['"', '\'', '\\', '$']) {
        command.extend(["/bin/sh", "-c", r#"exec "$0" "$@""#]);
    }
    command.extend([&service.program, "serve"]);
    command.extend(service.options.iter().map(String::as_str));
    let command: Vec<String> = command.into_iter().map(|word| quote(word, "$$")).collect();
    let home = service.home.as_ref();
    let home = home.map(|home| {
        let assignment = quote(&format!("TABWIRE_HOME={home}"), "$");
        format!("Environment={assignment}\n")
    });
    format!(
        "# {MARK}. It overwrites this file.\n\
         [Unit]\n\
         Description=Tabwire relay\n\
         # Give up after a few attempts, for example if another program has the port.\n\
         StartLimitIntervalSec=60\n\
         StartLimitBurst=5\n\
         \n\
         [Service]\n\
         ExecStart={}\n\
         {}Restart=on-failure\n\
         RestartSec=5\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n",
        command.join(" "),
        home.unwrap_or_default(),
    )
}

/// Quotes a word as systemd.syntax(7) and systemd.service(5) describe. `%` starts a specifier
/// everywhere; `dollar` stands for a dollar sign.
fn quote(word: &str, dollar: &str) -> String {
    if is_plain(word) {
        return word.to_owned();
    }
    let mut quoted = String::from('"');
    for c in word.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '%' => quoted.push_str("%%"),
            '$' => quoted.push_str(dollar),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
