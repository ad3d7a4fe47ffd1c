//! Files in TOML, with a table for each server in `mcp_servers`. Only Tabwire's table changes; comments and order stay.

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, value};

use crate::setup::{Change, Existing, Fault, Patch, Server};

const SERVERS: &str = "mcp_servers";

pub fn edit(text: &str, change: Change<'_>) -> Result<Option<String>, Fault> {
    let mut document: DocumentMut = text.parse().map_err(|error| fault(text, &error))?;
    match change {
        Change::Add(server) => add(&mut document, server)?,
        Change::Remove(name) => remove(&mut document, name)?,
    }
    let mut edited = document.to_string();
    if text.contains("\r\n") {
        edited = edited.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    Ok((edited != text).then_some(edited))
}

fn fault(text: &str, error: &toml_edit::TomlError) -> Fault {
    let before = error.span().and_then(|span| text.get(..span.start));
    Fault::Syntax {
        line: before.map_or(1, |before| before.matches('\n').count() + 1),
        reason: error.message().to_owned(),
    }
}

fn add(document: &mut DocumentMut, server: &Server) -> Result<(), Fault> {
    let is_empty = document.as_table().is_empty();
    let servers = document.entry(SERVERS).or_insert_with(|| {
        // Without a header of its own.
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let is_inline = servers.is_inline_table();
    let servers = table_like(servers, SERVERS)?;
    let Some(entry) = servers.get_mut(&server.name) else {
        let table = new_entry(server);
        let item = if is_inline {
            Item::Value(table.into_inline_table().into())
        } else {
            Item::Table(with_blank_line(table, is_empty))
        };
        servers.insert(&server.name, item);
        return Ok(());
    };
    let entry = table_like(entry, &server.name)?;
    let Patch {
        command,
        args,
        home,
    } = server.patch(&read(entry))?;
    if let Some(command) = command {
        set(entry, "command", value(command));
    }
    if let Some(args) = args {
        set(entry, "args", value(Array::from_iter(args)));
    }
    if let Some(home) = home {
        let env = entry
            .entry("env")
            .or_insert_with(|| value(InlineTable::new()));
        set(table_like(env, "env")?, "TABWIRE_HOME", value(home));
    }
    Ok(())
}

/// A comment behind the old value stays.
fn set(table: &mut dyn TableLike, key: &str, mut item: Item) {
    let old = table.get(key).and_then(Item::as_value);
    if let (Some(old), Some(new)) = (old, item.as_value_mut()) {
        *new.decor_mut() = old.decor().clone();
    }
    match table.get_mut(key) {
        Some(existing) => *existing = item,
        None => drop(table.insert(key, item)),
    }
}

fn remove(document: &mut DocumentMut, name: &str) -> Result<(), Fault> {
    let Some(servers) = document.get_mut(SERVERS) else {
        return Ok(());
    };
    let servers = table_like(servers, SERVERS)?;
    let Some(entry) = servers.get_mut(name) else {
        return Ok(());
    };
    read(table_like(entry, name)?).checked_command(name)?;
    servers.remove(name);
    Ok(())
}

fn new_entry(server: &Server) -> Table {
    let mut table = Table::new();
    table.insert("command", value(server.command.clone()));
    table.insert("args", value(Array::from_iter(server.args())));
    if let Some(home) = &server.home {
        let env = InlineTable::from_iter([("TABWIRE_HOME", home.as_str())]);
        table.insert("env", value(env));
    }
    table
}

fn with_blank_line(mut table: Table, is_first: bool) -> Table {
    if is_first {
        table.decor_mut().set_prefix("");
    }
    table
}

fn table_like<'a>(item: &'a mut Item, name: &str) -> Result<&'a mut dyn TableLike, Fault> {
    item.as_table_like_mut()
        .ok_or_else(|| Fault::NotATable(format!("'{name}'")))
}

fn read(entry: &dyn TableLike) -> Existing {
    let text = |item: Option<&Item>| item.and_then(Item::as_str).map(ToOwned::to_owned);
    let args = entry.get("args").and_then(Item::as_array);
    let args = args.map(|args| args.iter().filter_map(|arg| arg.as_str()));
    let env = entry.get("env").and_then(Item::as_table_like);
    Existing {
        command: text(entry.get("command")),
        args: args.map_or_else(Vec::new, |args| args.map(ToOwned::to_owned).collect()),
        home: text(env.and_then(|env| env.get("TABWIRE_HOME"))),
    }
}
