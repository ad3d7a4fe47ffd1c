//! What the tests and benchmarks of the relay share.
