//! The steps of a simulation and how often each is generated.

use super::random::Random;

/// Everything that happens in one simulation. The same seed gives the same case until this file
/// changes.
#[derive(Debug, Clone)]
pub struct Case {
    /// The relay launches a browser when a client needs one.
    pub launches: bool,
    /// The relay closes the tabs that a client created when it disconnects.
    pub closes_created: bool,
    pub steps: Vec<Step>,
    pub ending: Ending,
}

/// How a simulation ends.
#[derive(Debug, Clone, Copy)]
pub enum Ending {
    BrowserGone,
    BrowserStays,
    RelayStops,
}

/// One step. Its numbers select among what exists when the step runs.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    ConnectClient(Kind),
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
    ReplaceTab(usize),
    DetachDebugger {
        tab: usize,
        reason: usize,
    },
    /// The person stops all clients, or lets them go on.
    SetPaused(bool),
    DebuggerEvent {
        tab: usize,
        kind: usize,
        number: usize,
    },
    /// A page sends many events at once, in one frame.
    Burst {
        tab: usize,
        count: usize,
    },
    /// A download starts, goes on or ends, and finished files arrive.
    Download {
        tab: usize,
        kind: usize,
        number: usize,
    },
    /// `executed`: how many calls Chrome had carried out whose replies are lost.
    DisconnectExtension {
        executed: usize,
    },
    /// `attached`: whether the debugger outlived the extension's worker.
    ConnectExtension {
        attached: bool,
    },
    /// The same extension connects again before its old connection is closed.
    ReplaceExtension,
    /// Another browser connects instead.
    ConnectOtherBrowser,
    FailLaunch,
    SendGarbage(usize),
    Wait(u64),
    /// Time passes, and the extension does not answer its pings.
    Freeze(u64),
}

/// What a client connects to.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    Browser,
    Grouped,
    /// With the client that connected first.
    SameProgram,
    Request,
    Page(usize),
    Frame(usize),
}

const MAX_STEPS: usize = 120;

impl Case {
    pub fn from_seed(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let count = 1 + random.below(MAX_STEPS);
        Self {
            launches: random.chance(20),
            closes_created: random.chance(20),
            ending: match random.below(8) {
                0 => Ending::RelayStops,
                1..=3 => Ending::BrowserGone,
                _ => Ending::BrowserStays,
            },
            steps: (0..count).map(|_| step(&mut random)).collect(),
        }
    }
}

fn step(random: &mut Random) -> Step {
    match random.below(85) {
        0..=27 => client_step(random),
        28..=47 => reply_step(random),
        48..=56 => user_step(random),
        57..=72 => page_step(random),
        73..=76 => Step::Download {
            tab: select(random),
            kind: random.below(5),
            number: random.below(3),
        },
        _ => fault(random),
    }
}

/// A number that selects a client, session, tab or call.
fn select(random: &mut Random) -> usize {
    random.below(6)
}

fn client_step(random: &mut Random) -> Step {
    match random.below(28) {
        0 | 1 => Step::ConnectClient(kind(random)),
        2 => Step::DisconnectClient(select(random)),
        3..=9 => Step::RootCommand {
            client: select(random),
            command: random.below(18),
            tab: select(random),
        },
        10..=23 => Step::SessionCommand {
            client: select(random),
            session: select(random),
            command: random.below(52),
        },
        _ => Step::Init {
            client: select(random),
            session: select(random),
        },
    }
}

fn kind(random: &mut Random) -> Kind {
    match random.below(12) {
        0 => Kind::Grouped,
        1 => Kind::SameProgram,
        2 => Kind::Request,
        3 => Kind::Page(select(random)),
        4 => Kind::Frame(select(random)),
        _ => Kind::Browser,
    }
}

fn reply_step(random: &mut Random) -> Step {
    if random.chance(20) {
        return Step::ReplyToAll;
    }
    Step::Reply {
        call: select(random),
        fails: random.chance(15),
    }
}

fn user_step(random: &mut Random) -> Step {
    let n = select(random);
    match random.below(12) {
        0 | 1 => Step::CreateTab(n),
        2..=4 => Step::NavigateTab(n),
        5 => Step::RestrictTab(n),
        6 => Step::RemoveTab(n),
        7 => Step::ReplaceTab(n),
        8 | 9 => Step::DetachDebugger {
            tab: n,
            reason: random.below(4),
        },
        _ => Step::SetPaused(random.chance(40)),
    }
}

fn page_step(random: &mut Random) -> Step {
    let tab = select(random);
    if random.chance(10) {
        let count = random.below(20);
        return Step::Burst { tab, count };
    }
    Step::DebuggerEvent {
        tab,
        kind: random.below(20),
        number: select(random),
    }
}

fn fault(random: &mut Random) -> Step {
    match random.below(16) {
        0 | 1 => Step::DisconnectExtension {
            executed: random.below(4),
        },
        2..=5 => Step::ConnectExtension {
            attached: random.chance(50),
        },
        6 => Step::ReplaceExtension,
        7 => Step::ConnectOtherBrowser,
        8 => Step::FailLaunch,
        9 | 10 => Step::SendGarbage(select(random)),
        11 => Step::Freeze(random.below(45) as u64),
        12 => Step::Wait(random.below(45) as u64),
        _ => Step::Wait(random.below(12) as u64),
    }
}
