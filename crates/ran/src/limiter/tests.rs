//! Tests of limiters.
