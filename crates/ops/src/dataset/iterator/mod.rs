//! Iterators as resources: what a program holds to get elements step by step.

mod handle;
mod make;
mod next;
mod one_shot;
mod resource;
mod state;

pub(super) use handle::OPS as HANDLE_OPS;
pub(super) use make::{OPS as MAKE_OPS, deleter};
pub(super) use next::OPS as NEXT_OPS;
pub(super) use one_shot::OPS as ONE_SHOT_OPS;
pub(super) use state::OPS as STATE_OPS;
