//! Files in JSON, some of them with comments and trailing commas. Only Tabwire's entry changes; comments, order and
//! indentation stay.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use serde::de::IgnoredAny;

use crate::setup::agent::JsonFormat;
use crate::setup::{Change, Existing, Fault, Patch, Server};

pub fn edit(text: &str, change: Change<'_>, format: JsonFormat) -> Result<Option<String>, Fault> {
    let is_new = text.trim().is_empty();
    let root = parse(if is_new { "{}\n" } else { text }, format)?;
    let file = root
        .object_value()
        .ok_or_else(|| Fault::NotATable("the file".to_owned()))?;
    let servers = object(&file, format.servers)?;
    match (change, servers) {
        (Change::Add(server), servers) => {
            let servers = servers.unwrap_or_else(|| file.object_value_or_set(format.servers));
            add(&servers, server, format)?;
        }
        (Change::Remove(name), Some(servers)) => remove(&servers, name)?,
        (Change::Remove(_), None) => return Ok(None),
    }
    let edited = root.to_string();
    Ok((edited != text).then_some(edited))
}

fn parse(text: &str, format: JsonFormat) -> Result<CstRootNode, Fault> {
    if !format.lenient {
        check_strictly(text)?;
    }
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    CstRootNode::parse(text, &options).map_err(|error| Fault::Syntax {
        line: error.line_display(),
        reason: error.kind().to_string(),
    })
}

/// The parser that keeps the formatting accepts comments in places where it was told not to.
fn check_strictly(text: &str) -> Result<(), Fault> {
    let parsed = serde_json::from_str::<IgnoredAny>(text);
    parsed.map(drop).map_err(|error| {
        let reason = error.to_string();
        let position = format!(" at line {} column {}", error.line(), error.column());
        Fault::Syntax {
            line: error.line(),
            reason: reason.trim_end_matches(&position).to_owned(),
        }
    })
}

fn add(servers: &CstObject, server: &Server, format: JsonFormat) -> Result<(), Fault> {
    let Some(entry) = object(servers, &server.name)? else {
        servers.append(&server.name, new_entry(server, format));
        return Ok(());
    };
    let Patch {
        command,
        args,
        home,
    } = server.patch(&read(&entry))?;
    if let Some(command) = command {
        set(&entry, "command", command.into());
    }
    if let Some(args) = args {
        set(&entry, "args", array(args));
    }
    if let Some(home) = home {
        let env = object(&entry, "env")?;
        let env = env.unwrap_or_else(|| entry.object_value_or_set("env"));
        set(&env, "TABWIRE_HOME", home.into());
    }
    Ok(())
}

fn remove(servers: &CstObject, name: &str) -> Result<(), Fault> {
    if let Some(entry) = object(servers, name)? {
        read(&entry).checked_command(name)?;
        if let Some(property) = servers.get(name) {
            property.remove();
        }
    }
    Ok(())
}

fn new_entry(server: &Server, format: JsonFormat) -> CstInputValue {
    let mut fields = Vec::new();
    if format.has_type {
        fields.push(("type".to_owned(), "stdio".into()));
    }
    fields.push(("command".to_owned(), server.command.clone().into()));
    fields.push(("args".to_owned(), array(server.args())));
    if let Some(home) = &server.home {
        let variable = ("TABWIRE_HOME".to_owned(), home.clone().into());
        fields.push(("env".to_owned(), CstInputValue::Object(vec![variable])));
    }
    CstInputValue::Object(fields)
}

fn array(items: Vec<String>) -> CstInputValue {
    CstInputValue::Array(items.into_iter().map(CstInputValue::from).collect())
}

fn set(object: &CstObject, key: &str, value: CstInputValue) {
    match object.get(key) {
        Some(property) => property.set_value(value),
        None => drop(object.append(key, value)),
    }
}

/// The object at a key, if there is one.
fn object(parent: &CstObject, key: &str) -> Result<Option<CstObject>, Fault> {
    let is_named = |name: Option<String>| name.is_some_and(|name| name == key);
    let mut properties = parent.properties().into_iter();
    let mut same = properties.by_ref().filter(|it| is_named(it.decoded_name()));
    let Some(property) = same.next() else {
        return Ok(None);
    };
    if same.next().is_some() {
        return Err(Fault::Twice(key.to_owned()));
    }
    let found = property.object_value();
    found
        .map(Some)
        .ok_or_else(|| Fault::NotATable(format!("'{key}'")))
}

fn read(entry: &CstObject) -> Existing {
    let text = |object: &CstObject, key: &str| text_of(&object.get(key)?.value()?);
    let args = entry.array_value("args");
    let args = args.map(|args| args.elements());
    Existing {
        command: text(entry, "command"),
        args: args
            .unwrap_or_default()
            .iter()
            .filter_map(text_of)
            .collect(),
        home: entry
            .object_value("env")
            .and_then(|env| text(&env, "TABWIRE_HOME")),
    }
}

fn text_of(node: &CstNode) -> Option<String> {
    node.as_string_lit()?.decoded_value().ok()
}
