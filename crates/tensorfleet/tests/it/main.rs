//! The product from outside: the program, its examples, and clusters of Rust programs.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cli;
mod demo;
mod examples;
mod local_cluster;
mod monitored;
mod operate;
mod serving;
