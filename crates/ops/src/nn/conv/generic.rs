//! `Conv`: a convolution of images or volumes, whichever the ranks say, with any number of batch
//! dimensions.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Result, Shape, invalid_argument};

use super::super::window::{Layout, Padding};
use super::{Spec, conv2d, conv3d, cost};

const TYPES: &[DType] = &[DType::Half, DType::BFloat16, DType::Float, DType::Double, DType::Int32];

pub(super) const OPS: &[Op] = &[Op {
    name: "Conv",
    inputs: &["input: T", "filter: T"],
    outputs: &["output: T"],
    attrs: &[
        "T: {half, bfloat16, float, double, int32}",
        "strides: list(int)",
        "padding: {'SAME', 'VALID', 'EXPLICIT'}",
        "explicit_paddings: list(int) = []",
        "data_format: {'CHANNELS_FIRST', 'CHANNELS_LAST'} = 'CHANNELS_LAST'",
        "dilations: list(int) = []",
        "batch_dims: int = 1",
        "groups: int = 1",
    ],
    kernels: &[cpu::<Conv>().types("T", TYPES)],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct Conv {
    channels_first: bool,
    strides: Vec<i64>,
    dilations: Vec<i64>,
    padding: String,
    explicit: Vec<i64>,
    batch_dims: i64,
}

impl Kernel for Conv {
    fn new(attrs: &Attrs<'_>) -> Result<Conv> {
        let (batch_dims, groups) = (attrs.int("batch_dims")?, attrs.int("groups")?);
        if batch_dims <= 0 {
            return Err(invalid_argument!("batch_dims must be non-negative, got {batch_dims}"));
        }
        if groups <= 0 {
            return Err(invalid_argument!("groups must be positive, got {groups}"));
        }
        Ok(Conv {
            channels_first: &*attrs.string("data_format")? == "CHANNELS_FIRST",
            strides: attrs.ints("strides")?.to_vec(),
            dilations: attrs.ints("dilations")?.to_vec(),
            padding: attrs.string("padding")?.into_owned(),
            explicit: attrs.ints("explicit_paddings")?.to_vec(),
            batch_dims,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (input, filter) = (ctx.input(0)?, ctx.input(1)?);
        let spatial = match filter.rank() {
            4 => 2,
            5 => 3,
            rank => {
                return Err(invalid_argument!("The filter must be rank 4 or 5 but got {rank}"));
            }
        };
        let outer = self.batch_dims as usize;
        if input.rank() != outer + spatial + 1 {
            return Err(invalid_argument!(
                "Input tensor rank must be the sum of batch dims, spatial dims and channels, {}, \
                 got {}",
                outer + spatial + 1,
                input.rank()
            ));
        }
        let (batch, inner) = input.dims().split_at(outer);
        let folded = Shape::new(&[&[Shape::new(batch)?.num_elements()], inner].concat())?;
        let input = input.reshape(folded)?;
        let spec = self.spec(spatial)?;
        let shape = match spatial {
            2 => conv2d::check(&spec, &input, filter)?,
            _ => conv3d::check(&spec, &input, filter)?,
        };
        let result = spec.convolve(par, &shape, &input, filter)?;
        let result = spec.lay_out(par, result)?;
        let unfolded = [batch, &result.dims()[1..]].concat();
        let result = result.into_shape(Shape::new(&unfolded)?)?;
        ctx.set_output(0, result);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        cost(inputs.first(), inputs.get(1))
    }
}

impl Conv {
    fn spec(&self, spatial: usize) -> Result<Spec> {
        let layout = Layout { spatial, channels_first: self.channels_first };
        let ones = vec![1; layout.rank()];
        let dilations = if self.dilations.is_empty() { &ones } else { &self.dilations };
        super::check_steps(layout, &self.strides, super::Steps::Strides, false)?;
        super::check_steps(layout, dilations, super::Steps::Dilations, false)?;
        let padding = match &*self.padding {
            "SAME" => Padding::Same,
            "VALID" => Padding::Valid,
            _ => Padding::explicit(&self.explicit, layout)?,
        };
        let space = layout.space()..layout.space() + spatial;
        Ok(Spec {
            layout,
            padding,
            strides: self.strides[space.clone()].to_vec(),
            dilations: dilations[space].to_vec(),
        })
    }
}
