//! The steps of a simulation and how often each is generated.

use proptest::prelude::*;

/// One step. Its numbers select among what exists when the step runs.
#[derive(Debug, Clone)]
pub enum Step {
    ConnectClient,
    DisconnectClient(usize),
    RootCommand {
        client: usize,
        command: usize,
        tab: usize,
    },
    SessionCommand {
        client: usize,
        session: usize,
        command: usize,
    },
    /// Everything that Playwright sends to a page when it connects.
    Init {
        client: usize,
        session: usize,
    },
    Reply {
        call: usize,
        fails: bool,
    },
    ReplyToAll,
    CreateTab(usize),
    NavigateTab(usize),
    /// The tab goes to a page that extensions cannot debug.
    RestrictTab(usize),
    RemoveTab(usize),
    DetachDebugger {
        tab: usize,
        by_user: bool,
    },
    /// The person stops all clients, or lets them go on.
    SetPaused(bool),
    DebuggerEvent {
        tab: usize,
        kind: usize,
        number: usize,
    },
    /// A download starts, goes on or ends, and finished files arrive.
    Download {
        tab: usize,
        kind: usize,
        number: usize,
    },
    DisconnectExtension,
    /// `attached`: whether the debugger outlived the extension's worker.
    ConnectExtension {
        attached: bool,
    },
    SendGarbage(usize),
    Wait(u8),
}

pub fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        27 => client_step(),
        20 => reply_step(),
        8 => tab_step(),
        12 => (select(), 0..9usize, select())
            .prop_map(|(tab, kind, number)| Step::DebuggerEvent { tab, kind, number }),
        4 => (select(), 0..5usize, 0..3usize)
            .prop_map(|(tab, kind, number)| Step::Download { tab, kind, number }),
        1 => Just(Step::DisconnectExtension),
        2 => any::<bool>().prop_map(|attached| Step::ConnectExtension { attached }),
        1 => select().prop_map(Step::SendGarbage),
        2 => (0..12u8).prop_map(Step::Wait),
    ]
}

/// A number that selects a client, session, tab or call.
fn select() -> std::ops::Range<usize> {
    0..6
}

fn client_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => Just(Step::ConnectClient),
        1 => select().prop_map(Step::DisconnectClient),
        7 => (select(), 0..16usize, select())
            .prop_map(|(client, command, tab)| Step::RootCommand { client, command, tab }),
        14 => (select(), select(), 0..40usize)
            .prop_map(|(client, session, command)| Step::SessionCommand { client, session, command }),
        4 => (select(), select()).prop_map(|(client, session)| Step::Init { client, session }),
    ]
}

fn reply_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        16 => (select(), prop::bool::weighted(0.15))
            .prop_map(|(call, fails)| Step::Reply { call, fails }),
        4 => Just(Step::ReplyToAll),
    ]
}

fn tab_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => select().prop_map(Step::CreateTab),
        3 => select().prop_map(Step::NavigateTab),
        1 => select().prop_map(Step::RestrictTab),
        1 => select().prop_map(Step::RemoveTab),
        2 => (select(), any::<bool>())
            .prop_map(|(tab, by_user)| Step::DetachDebugger { tab, by_user }),
        2 => any::<bool>().prop_map(Step::SetPaused),
    ]
}
