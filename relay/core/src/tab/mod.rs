//! A tab's way between dormant, waking and live: what a dormant tab answers, how it wakes, how a
//! session joins a tab that others use, and what debugger events change.

mod closing;
mod debugger;
mod detach;
mod dormant;
mod frame;
mod late_join;
mod restricted;
mod steps;
mod wake;
