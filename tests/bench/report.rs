//! The results, as a table with their targets or as JSON.

use std::fmt::Write as _;

use serde::Serialize;

#[derive(Serialize)]
pub struct Row {
    pub what: &'static str,
    pub unit: &'static str,
    pub relay: f64,
    /// What the relay is compared with, if anything: the pipe's figure, or its own when nobody else
    /// connects.
    pub baseline: Option<f64>,
    /// What the target applies to: the ratio to the baseline if there is one, otherwise the figure
    /// itself.
    pub measured: f64,
    /// The highest acceptable value. Some figures have none.
    pub target: Option<f64>,
    pub met: Option<bool>,
}

impl Row {
    /// The median of the ratios of all rounds. `rounds` has the figures of relay and baseline.
    pub fn ratio(
        what: &'static str,
        unit: &'static str,
        rounds: &[(f64, f64)],
        target: Option<f64>,
    ) -> Self {
        let of = |figure: fn(&(f64, f64)) -> f64| median(rounds.iter().map(figure).collect());
        Self::new(
            what,
            unit,
            of(|(relay, _)| *relay),
            Some(of(|(_, baseline)| *baseline)),
            of(|(relay, baseline)| relay / baseline),
            target,
        )
    }

    pub fn figure(what: &'static str, unit: &'static str, relay: f64, target: Option<f64>) -> Self {
        Self::new(what, unit, relay, None, relay, target)
    }

    fn new(
        what: &'static str,
        unit: &'static str,
        relay: f64,
        baseline: Option<f64>,
        measured: f64,
        target: Option<f64>,
    ) -> Self {
        Self {
            what,
            unit,
            relay,
            baseline,
            measured,
            target,
            met: target.map(|target| measured <= target),
        }
    }

    fn cells(&self) -> [String; 6] {
        let target = self.target.map_or(String::new(), |target| {
            if self.baseline.is_some() {
                format!("<= {target:.1}x")
            } else {
                format!("<= {target:.1}")
            }
        });
        let met = self
            .met
            .map_or("", |met| if met { "met" } else { "MISSED" });
        [
            format!("{} ({})", self.what, self.unit),
            format!("{:.2}", self.relay),
            self.baseline
                .map_or(String::new(), |baseline| format!("{baseline:.2}")),
            self.baseline
                .map_or(String::new(), |_| format!("{:.2}x", self.measured)),
            target,
            met.to_owned(),
        ]
    }
}

pub fn table(rows: &[Row]) -> String {
    let mut text = String::new();
    let head = ["", "relay", "baseline", "ratio", "target", ""].map(str::to_owned);
    for [what, relay, baseline, ratio, target, met] in
        std::iter::once(head).chain(rows.iter().map(Row::cells))
    {
        let _ = writeln!(
            text,
            "{what:<58} {relay:>9} {baseline:>9} {ratio:>7} {target:>9}  {met}"
        );
    }
    text
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
pub fn mib(bytes: u64) -> f64 {
    const MIB: f64 = 1_048_576.0;
    bytes as f64 / MIB
}
