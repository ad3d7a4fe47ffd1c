//! Every table of CDP methods and events. To change how a method is treated, change it here.
//!
//! | table | answers the question |
//! |---|---|
//! | [`browser`] | What does the relay do with a command to the browser? |
//! | [`command`] | What does the relay do with a command to a page or a child? |
//! | [`event`] | What does an event mean to the relay? |
//! | [`init`] | Which commands does a dormant tab answer, and which are replayed on waking? |
//! | [`permissions`] | Which permissions of a site can an extension set? |
//! | [`probe`] | Which evaluation has a result that needs no page? |
//! | [`refused`] | What does Chrome never grant to an extension? |
//! | [`waiting`] | Which settings wait until their client uses the tab? |
//! | [`undo`] | How is a setting reverted when its session ends? |
//! | [`domains`] | Which domains have to be enabled, and which switch gates an event? |
//! | [`context_ids`] | Where do messages carry execution context ids? |

pub mod browser;
pub mod command;
pub mod context_ids;
pub mod domains;
pub mod event;
pub mod init;
pub mod permissions;
pub mod probe;
pub mod refused;
pub mod undo;
pub mod waiting;
