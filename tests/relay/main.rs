//! The relay as a real process.
