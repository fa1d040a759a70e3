//! `_Send` and `_Recv`: the two ends of an edge between devices.

use tensorfleet_framework::{
    AsyncContext, AsyncKernel, Attrs, Awaited, Delivery, Kernel, KernelContext, KernelDef, Op,
    Outcome, Parcel, Started, Value, cpu, cpu_async, key_in_frame, key_prefix,
};
use tensorfleet_tensor::Result;

const SEND: &[&str] = &[
    "T: type",
    "tensor_name: string",
    "send_device: string",
    "send_device_incarnation: int",
    "recv_device: string",
    "client_terminated: bool = false",
];
const RECV: &[&str] = &[
    "tensor_type: type",
    "tensor_name: string",
    "send_device: string",
    "send_device_incarnation: int",
    "recv_device: string",
    "client_terminated: bool = false",
];

const SEND_KERNELS: &[KernelDef] = &[cpu::<Send>()];
const RECV_KERNELS: &[KernelDef] = &[cpu_async::<Recv>()];

const fn send(name: &'static str) -> Op {
    Op {
        name,
        inputs: &["tensor: T"],
        attrs: SEND,
        stateful: true,
        kernels: SEND_KERNELS,
        ..Op::DEFAULT
    }
}

const fn recv(name: &'static str) -> Op {
    Op {
        name,
        outputs: &["tensor: tensor_type"],
        attrs: RECV,
        stateful: true,
        distributed_communication: true,
        kernels: RECV_KERNELS,
        ..Op::DEFAULT
    }
}

pub(super) const OPS: &[Op] = &[recv("_HostRecv"), send("_HostSend"), recv("_Recv"), send("_Send")];

fn prefix(attrs: &Attrs<'_>) -> Result<String> {
    Ok(key_prefix(
        &attrs.string("send_device")?,
        attrs.int("send_device_incarnation")? as u64,
        &attrs.string("recv_device")?,
        &attrs.string("tensor_name")?,
    ))
}

#[derive(Debug)]
struct Send {
    key_prefix: String,
}

impl Kernel for Send {
    fn new(attrs: &Attrs<'_>) -> Result<Send> {
        Ok(Send { key_prefix: prefix(attrs)? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let tensor = ctx.take_input(0)?;
        let key = key_in_frame(&self.key_prefix, ctx.frame());
        ctx.step().rendezvous.send(&key, Parcel { tensor, is_dead: false })
    }

    fn compute_dead(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let key = key_in_frame(&self.key_prefix, ctx.frame());
        ctx.step().rendezvous.send(&key, Parcel::dead())
    }

    fn takes_dead_inputs(&self) -> bool {
        true
    }

    fn cost(&self, _: &[Value]) -> u64 {
        0
    }
}

#[derive(Debug)]
struct Recv {
    key_prefix: String,
    from: String,
    edge: String,
}

impl AsyncKernel for Recv {
    fn new(attrs: &Attrs<'_>) -> Result<Recv> {
        let (from, edge) = (attrs.string("send_device")?, attrs.string("tensor_name")?);
        Ok(Recv { key_prefix: prefix(attrs)?, from: from.to_string(), edge: edge.to_string() })
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let key = key_in_frame(&self.key_prefix, ctx.frame);
        Ok(match ctx.step.rendezvous.recv(&key)? {
            Delivery::Now(parcel) => Started::Done(outcome(parcel)),
            Delivery::Later(parcel) => {
                Started::Waiting(Box::pin(async move { Ok(outcome(parcel.await?)) }))
            }
        })
    }

    fn awaits(&self) -> Awaited {
        Awaited::Tensor { from: self.from.clone(), edge: self.edge.clone() }
    }
}

fn outcome(parcel: Parcel) -> Outcome {
    if parcel.is_dead {
        return Outcome::Dead;
    }
    parcel.tensor.adopt();
    Outcome::from(vec![parcel.tensor])
}
