//! Random interleavings of clients, the extension, debugger events, the user's actions, faults and
//! time. In any order, every request gets exactly one reply, and its own; no client receives what is
//! not its own or refers to something it never received; the events and replies of a session keep
//! their order; no command reaches Chrome twice; and no state remains when everyone has
//! disconnected.
//!
//! `steps` makes a case from a seed, `simulation` feeds it to the core, `browser` plays Chrome and
//! the extension, `clients` checks every message that a client receives, and `history` every command
//! that reaches Chrome.
//!
//! - Run 400 seeds, always the same: `cargo test -p tabwire-core any_order`
//! - Run others: `TABWIRE_SEEDS=400..100000 cargo test --release -p tabwire-core any_order`
//! - Replay one, with every step: `TABWIRE_SEED=17 cargo test -p tabwire-core any_order -- --nocapture`
//!
//! All failing seeds are counted, and for each check that did not hold, one is printed with the fewest
//! steps that still fail. A seed means something else when `steps` changes, so write these steps as a
//! script and commit it with the fix.

mod browser;
mod clients;
mod commands;
mod failure;
mod history;
mod pages;
mod random;
mod simulation;
mod steps;
mod user;

use std::collections::BTreeMap;
use std::ops::Range;

use self::failure::{Failure, silently};
use self::simulation::Simulation;
use self::steps::Case;

#[test]
fn keeps_its_promises_in_any_order_of_events() {
    if let Some(seed) = variable("TABWIRE_SEED") {
        let seed = seed.parse().expect("TABWIRE_SEED is a number");
        return Simulation::run(&Case::from_seed(seed), true);
    }
    let seeds = variable("TABWIRE_SEEDS").map_or(0..400, |text| range(&text));
    let found = silently(|| failures(seeds));
    for (place, (count, seed, failure, case)) in &found {
        println!("{count} seeds fail at {place}: {}", failure.message);
        println!("Replay one with TABWIRE_SEED={seed}. These of its steps are enough: {case:#?}");
    }
    assert!(found.is_empty(), "{} checks fail", found.len());
}

#[test]
fn the_same_seed_gives_the_same_messages() {
    for seed in 0..20 {
        let case = Case::from_seed(seed);
        let digest = Simulation::digest(&case);
        assert_eq!(Simulation::digest(&case), digest, "seed {seed}");
    }
}

/// For each check that does not hold: how many seeds fail there, the first of them, and why.
fn failures(seeds: Range<u64>) -> BTreeMap<String, (usize, u64, Failure, Case)> {
    let mut found = BTreeMap::new();
    for seed in seeds {
        let case = Case::from_seed(seed);
        let Some(failure) = Failure::of(&case) else {
            continue;
        };
        let first = || {
            let smallest = failure.shrink(&case);
            (0, seed, failure.clone(), smallest)
        };
        found.entry(failure.place.clone()).or_insert_with(first).0 += 1;
    }
    found
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

/// `FIRST..END`, or `END` for those from 0.
fn range(text: &str) -> Range<u64> {
    let number = |text: &str| text.parse().expect("a number, or FIRST..END");
    match text.split_once("..") {
        Some((first, end)) => number(first)..number(end),
        None => 0..number(text),
    }
}
