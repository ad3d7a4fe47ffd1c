//! Random interleavings of clients, the extension, debugger events, the user's actions and time. In
//! any order, every request gets exactly one reply, no client receives what is not its own or
//! refers to something it never received, and no state remains when everyone has disconnected.
//!
//! `steps` generates the input, `simulation` feeds it to the core, `browser` plays Chrome and the
//! extension, and `clients` checks every message that a client receives.
//!
//! A failing case is saved as a seed in `relay/core/proptest-regressions/property.txt`, with its
//! shrunk steps as a comment, and runs first from then on. Commit that line together with the fix.
//! Since a seed depends on the strategy in `steps`, write a script with the shrunk steps as well if
//! the case must outlive changes to the strategy.
//!
//! - Run the saved seeds and 256 new cases: `cargo test -p tabwire-core property`
//! - Run more cases: `PROPTEST_CASES=20000 cargo test -p tabwire-core property`

mod browser;
mod clients;
mod commands;
mod simulation;
mod steps;

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use self::simulation::Simulation;
use self::steps::step;

/// A fixed path, so that saved seeds are found when this file moves.
const REGRESSIONS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/proptest-regressions/property.txt"
);

fn config() -> ProptestConfig {
    ProptestConfig {
        max_shrink_iters: 4000,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(REGRESSIONS))),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]
    #[test]
    fn keeps_its_promises_in_any_order_of_events(
        steps in prop::collection::vec(step(), 1..120),
        browser_stays in any::<bool>(),
    ) {
        let mut simulation = Simulation::new();
        for step in &steps {
            simulation.apply(step);
        }
        if browser_stays {
            simulation.finish_with_connected_browser();
        } else {
            simulation.finish_with_disconnected_browser();
        }
    }
}
