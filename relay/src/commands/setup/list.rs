//! `tabwire setup --list`: the agents, their files, and whether each is set up.

use clap::ValueEnum as _;
use serde_json::{Value, json};

use crate::commands::table;
use crate::setup::file::ConfigFile;
use crate::setup::{Agent, Change, Folders, edit};

#[derive(Clone, Copy)]
enum State {
    SetUp,
    NotSetUp,
    NotInstalled,
    Unreadable,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::SetUp => "set up",
            Self::NotSetUp => "not set up",
            Self::NotInstalled => "not found",
            Self::Unreadable => "unreadable",
        }
    }
}

pub fn print(folders: &Folders, json: bool) {
    let agents = Agent::value_variants().iter();
    let rows = agents.map(|agent| (*agent, agent.file(folders), state(*agent, folders)));
    if json {
        let rows: Vec<Value> = rows
            .map(|(agent, file, state)| {
                json!({ "agent": agent.id(), "title": agent.title(), "file": file, "state": state.name() })
            })
            .collect();
        print_line!("{}", json!(rows));
        return;
    }
    table::print(rows.map(|(agent, file, state)| {
        let file = file.display().to_string();
        [agent.id(), state.name().to_owned(), file]
    }));
}

/// An agent is set up if its file has an entry that could be removed.
fn state(agent: Agent, folders: &Folders) -> State {
    let Ok(file) = ConfigFile::read(&agent.file(folders)) else {
        return State::Unreadable;
    };
    match edit(agent, file.text(), Change::Remove("tabwire")) {
        Ok(Some(_)) if file.content.is_some() => State::SetUp,
        Err(crate::setup::Fault::OtherServer(_)) | Ok(_) if agent.is_installed(folders) => {
            State::NotSetUp
        }
        Ok(_) => State::NotInstalled,
        Err(_) => State::Unreadable,
    }
}
