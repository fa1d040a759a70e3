//! Runs graphs: the executor, the local rendezvous, functions.
