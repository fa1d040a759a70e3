//! What an op author sees: ops, kernels, the registry, resources, variables and the rendezvous.
//!
//! This crate knows no op, no executor and no network.

mod attrs;
mod background;
mod backprop;
mod bare;
mod builder;
mod collective;
mod device;
mod durable;
pub mod gradient;
mod journal;
mod kernel;
mod op;
mod outcome;
mod pointwise;
mod policy;
mod registry;
mod rendezvous;
mod resources;
pub mod shape;
mod step;
mod value;
mod variable;
mod watch;

pub use attrs::Attrs;
pub use background::{Background, Spawn};
pub use backprop::{CustomGradient, FindGradient, GradientOptions, gradients};
pub use builder::{BuildScope, DeviceFn, GraphBuilder, Input, NewNode};
pub use collective::{
    CollectiveKind, Collectives, Consume, Group, JoinGroup, JoinInstance, Member,
};
pub use device::DeviceName;
pub use durable::{Durable, DurableType, Event, Kept, MakeDurable, Telling};
pub use gradient::{
    Gradient, GradientContext, GradientFn, IndexedSlices, InputGradients, no_gradient, number,
};
pub use journal::{Change, Changer, Journal, Place, RecordedOp, Unit};
pub use kernel::{AsyncContext, AsyncKernel, Kernel, KernelContext, Outcome, Started};
pub use op::{Implementation, KernelDef, Op, control_flow, cpu, cpu_async};
pub use outcome::{CallId, Recalled, Sent};
pub use pointwise::{Pointwise, PointwiseElement, PointwiseFn, Row};
pub use policy::OpPolicy;
pub use registry::Registry;
pub use rendezvous::{
    BoxFuture, Delivery, FrameIteration, Parcel, ParsedKey, Rendezvous, key_in_frame, key_prefix,
};
pub use resources::{Resource, Resources, anonymous_handle};
pub use shape::{ShapeContext, ShapeFn};
pub use step::{Function, FunctionRunner, StepContext, StepId, Surroundings, step_resources};
pub use tensorfleet_graph::{Calls, ControlFlow, Nature};
pub use value::{Value, Values};
pub use variable::{RefVariable, Variable};
pub use watch::{Awaited, Measure, Measured, Wait, Watched};
