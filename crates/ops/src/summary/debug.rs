//! The nodes that a debugger puts on edges: they pass tensors on, or their health, and write them to files.

use std::time::{SystemTime, UNIX_EPOCH};

use tensorfleet_files::FileSystem;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_tensor::{
    DType, Error, Result, Shape, Tensor, internal, invalid_argument, unimplemented_error,
};

use super::debug_numbers::Health;
use super::wire::{Content, Entry, Event, encode_event};
use crate::io::write_file;

const NO_SERVERS: &str = "`debug_urls` may name files only, no debug server (`grpc://`).";

const COUNTED: &[DType] = &[
    DType::Float,
    DType::Double,
    DType::Half,
    DType::BFloat16,
    DType::Int8,
    DType::Int16,
    DType::Int32,
    DType::Int64,
    DType::UInt8,
    DType::UInt16,
    DType::UInt32,
    DType::UInt64,
];

const SUMMARISED: &[DType] = &[
    DType::Float,
    DType::Double,
    DType::Bool,
    DType::Int8,
    DType::Int16,
    DType::Int32,
    DType::Int64,
    DType::UInt8,
    DType::UInt16,
    DType::UInt32,
    DType::UInt64,
];

const COPY_ATTRS: &[&str] =
    &["T: type", "tensor_name: string = ''", "debug_ops_spec: list(string) = []"];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Copy",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: COPY_ATTRS,
        allows_uninitialized_input: true,
        kernels: &[cpu::<Copy>()],
        ..Op::DEFAULT
    },
    Op {
        name: "CopyHost",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: COPY_ATTRS,
        allows_uninitialized_input: true,
        kernels: &[cpu::<Copy>()],
        ..Op::DEFAULT
    },
    Op {
        name: "DebugIdentity",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: type",
            "device_name: string = ''",
            "tensor_name: string = ''",
            "debug_urls: list(string) = []",
            "gated_grpc: bool = false",
        ],
        allows_uninitialized_input: true,
        kernels: &[cpu::<DebugIdentity>()],
        differs: NO_SERVERS,
        ..Op::DEFAULT
    },
    Op {
        name: "DebugIdentityV2",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: type",
            "tfdbg_context_id: string = ''",
            "op_name: string = ''",
            "output_slot: int = -1",
            "tensor_debug_mode: int = -1",
            "debug_urls: list(string) = []",
            "circular_buffer_size: int = 1000",
            "tfdbg_run_id: string = ''",
        ],
        stateful: true,
        kernels: &[cpu::<DebugIdentityV2>()],
        gradient: Some(crate::control::through),
        differs: "`debug_urls` must be empty: the files of the second debugger are not written.",
        ..Op::DEFAULT
    },
    Op {
        name: "DebugIdentityV3",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: type",
            "device_name: string = ''",
            "tensor_name: string = ''",
            "io_of_node: string = ''",
            "is_input: bool = false",
            "io_index: int = -1",
            "debug_urls: list(string) = []",
            "gated_grpc: bool = false",
        ],
        stateful: true,
        allows_uninitialized_input: true,
        kernels: &[cpu::<DebugIdentity>()],
        differs: NO_SERVERS,
        ..Op::DEFAULT
    },
    Op {
        name: "DebugNanCount",
        inputs: &["input: T"],
        outputs: &["output: int64"],
        attrs: &[
            "T: type",
            "device_name: string = ''",
            "tensor_name: string = ''",
            "debug_urls: list(string) = []",
            "gated_grpc: bool = false",
        ],
        allows_uninitialized_input: true,
        kernels: &[cpu::<NanCount>().types("T", COUNTED)],
        differs: NO_SERVERS,
        ..Op::DEFAULT
    },
    Op {
        name: "DebugNumericSummary",
        inputs: &["input: T"],
        outputs: &["output: double"],
        attrs: &[
            "T: type",
            "device_name: string = ''",
            "tensor_name: string = ''",
            "debug_urls: list(string) = []",
            "lower_bound: float = -inf",
            "upper_bound: float = inf",
            "mute_if_healthy: bool = false",
            "gated_grpc: bool = false",
        ],
        allows_uninitialized_input: true,
        kernels: &[cpu::<NumericSummary>().types("T", SUMMARISED)],
        differs: NO_SERVERS,
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Copy;

impl Kernel for Copy {
    fn new(_: &Attrs<'_>) -> Result<Copy> {
        Ok(Copy)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let copied = ctx.input(0)?.deep_copy()?;
        ctx.set_output(0, copied);
        Ok(())
    }
}

/// The tensor that a node watches, and where it tells about it.
#[derive(Debug)]
struct Watch {
    op: String,
    device: String,
    node: String,
    slot: i32,
    urls: Vec<String>,
    /// Whether nothing is told because only servers would listen, and none asked for it.
    gated: bool,
}

impl Watch {
    fn new(attrs: &Attrs<'_>) -> Result<Watch> {
        let name = attrs.string("tensor_name")?;
        let (node, slot) = match *name.split(':').collect::<Vec<_>>() {
            [node] if !node.is_empty() => (node, 0),
            [node, slot] => {
                let wrong =
                    |_| invalid_argument!("Invalid string value for output_slot: \"{slot}\"");
                (node, slot.parse().map_err(wrong)?)
            }
            _ => return Err(invalid_argument!("Failed to parse tensor name: \"{name}\"")),
        };
        let urls = attrs.strings("debug_urls")?.iter();
        let urls: Vec<String> = urls.map(|url| String::from_utf8_lossy(url).into_owned()).collect();
        let only_servers = urls.iter().all(|url| url.starts_with("grpc://"));
        Ok(Watch {
            op: attrs.op().to_owned(),
            device: attrs.string("device_name")?.into_owned(),
            node: node.to_owned(),
            slot,
            gated: attrs.bool("gated_grpc")? && only_servers && !urls.is_empty(),
            urls,
        })
    }

    fn writes_files(&self) -> bool {
        !self.urls.is_empty()
    }

    /// Writes a tensor to all files.
    fn publish(&self, files: &dyn FileSystem, tensor: &Tensor) -> Result<()> {
        if self.urls.is_empty() {
            return Ok(());
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let micros = now.map_err(|_| internal!("the clock is before 1970"))?.as_micros() as u64;
        for url in &self.urls {
            let Some(root) = url.strip_prefix("file://") else {
                return Err(not_a_file(url));
            };
            let device = self.device.replace('/', ",").replace(':', "_");
            let (node, slot, op) = (&self.node, self.slot, &self.op);
            let path = format!("{root}/_tfdbg_device_{device}/{node}_{slot}_{op}_{micros}");
            let content = Content::Watched {
                tensor: tensor.clone(),
                device: self.device.clone(),
                slot,
                watch: format!("{node}:{slot}:{op}"),
            };
            let event = Event::Summary(vec![Entry { tag: node.clone(), content }]);
            write_file(files, &path, &encode_event(event, 0, micros as f64)?)?;
        }
        Ok(())
    }

    /// Sets the output to what `told` makes of the input, and writes it if that says so.
    fn tell(
        &self,
        ctx: &mut KernelContext<'_>,
        dtype: DType,
        told: impl FnOnce(Tensor) -> Result<(Tensor, bool)>,
    ) -> Result<()> {
        let output = if self.gated {
            Tensor::zeros(dtype, Shape::vector(0))?
        } else {
            let (output, publishes) = told(ctx.take_input(0)?)?;
            if publishes {
                self.publish(&*ctx.step().files(), &output)?;
            }
            output
        };
        ctx.set_output(0, output);
        Ok(())
    }
}

fn not_a_file(url: &str) -> Error {
    match url.split_once("://") {
        Some(("grpc" | "memcbk", _)) => {
            unimplemented_error!("{url}: only files can be written for a debugger")
        }
        // TensorFlow's is UNAVAILABLE, which steps turn into this one: clients would try again for ever.
        _ => internal!("Invalid debug target URL: {url}"),
    }
}

#[derive(Debug)]
struct DebugIdentity {
    watch: Watch,
}

impl Kernel for DebugIdentity {
    fn new(attrs: &Attrs<'_>) -> Result<DebugIdentity> {
        Ok(DebugIdentity { watch: Watch::new(attrs)? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let dtype = ctx.input(0)?.dtype();
        self.watch.tell(ctx, dtype, |input| Ok((input, true)))
    }

    fn blocks(&self) -> bool {
        self.watch.writes_files()
    }
}

#[derive(Debug)]
struct DebugIdentityV2;

impl Kernel for DebugIdentityV2 {
    fn new(attrs: &Attrs<'_>) -> Result<DebugIdentityV2> {
        match attrs.strings("debug_urls")?.first() {
            None => Ok(DebugIdentityV2),
            Some(url) if url.starts_with(b"file://") => {
                Err(unimplemented_error!("DebugIdentityV2 cannot write files for a debugger"))
            }
            Some(url) => {
                Err(internal!("Unsupported debug URL schema in: {}", String::from_utf8_lossy(url)))
            }
        }
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let value = ctx.take_value(0)?;
        ctx.set_value(0, value);
        Ok(())
    }

    fn cost(&self, _: &[Value]) -> u64 {
        0
    }
}

#[derive(Debug)]
struct NanCount {
    watch: Watch,
}

impl Kernel for NanCount {
    fn new(attrs: &Attrs<'_>) -> Result<NanCount> {
        Ok(NanCount { watch: Watch::new(attrs)? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        self.watch.tell(ctx, DType::Int64, |input| {
            let health = Health::of(&input, f64::NEG_INFINITY, f64::INFINITY)?;
            Ok((Tensor::vector(&[health.nan as i64])?, true))
        })
    }

    fn blocks(&self) -> bool {
        self.watch.writes_files()
    }
}

#[derive(Debug)]
struct NumericSummary {
    watch: Watch,
    lower: f64,
    upper: f64,
    mute_if_healthy: bool,
}

impl Kernel for NumericSummary {
    fn new(attrs: &Attrs<'_>) -> Result<NumericSummary> {
        Ok(NumericSummary {
            watch: Watch::new(attrs)?,
            lower: attrs.float("lower_bound")?.into(),
            upper: attrs.float("upper_bound")?.into(),
            mute_if_healthy: attrs.bool("mute_if_healthy")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        self.watch.tell(ctx, DType::Double, |input| {
            let health = Health::of(&input, self.lower, self.upper)?;
            let output = Tensor::vector(&health.summary(&input))?;
            Ok((output, !(self.mute_if_healthy && health.is_good())))
        })
    }

    fn blocks(&self) -> bool {
        self.watch.writes_files()
    }
}
