//! `MaxPoolWithArgmax` and its gradient: maxima with the places where they stand.

use tensorfleet_framework::gradient::only;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, cpu,
};
use tensorfleet_kernels::pool::Pool;
use tensorfleet_tensor::{DType, Result, Tensor, invalid_argument, try_repeat};

use super::super::REAL_NUMBERS;
use super::places::for_each_place;
use super::spec::Spec;
use crate::sparse::number::{Number, for_real};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "MaxPoolGradGradWithArgmax",
        inputs: &["input: T", "grad: T", "argmax: Targmax"],
        outputs: &["output: T"],
        attrs: &[
            "ksize: list(int) >= 4",
            "strides: list(int) >= 4",
            "padding: {'SAME', 'VALID'}",
            "include_batch_in_index: bool = false",
            "Targmax: {int32, int64}",
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}",
        ],
        ..Op::DEFAULT
    },
    Op {
        name: "MaxPoolGradWithArgmax",
        inputs: &["input: T", "grad: T", "argmax: Targmax"],
        outputs: &["output: T"],
        attrs: &[
            "ksize: list(int) >= 4",
            "strides: list(int) >= 4",
            "padding: {'SAME', 'VALID'}",
            "include_batch_in_index: bool = false",
            "Targmax: {int32, int64}",
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}",
        ],
        kernels: &[cpu::<MaxPoolGradWithArgmax>()
            .types("T", REAL_NUMBERS)
            .types("Targmax", &[DType::Int64])],
        ..Op::DEFAULT
    },
    Op {
        name: "MaxPoolWithArgmax",
        inputs: &["input: T"],
        outputs: &["output: T", "argmax: Targmax"],
        attrs: &[
            "ksize: list(int) >= 4",
            "strides: list(int) >= 4",
            "Targmax: {int32, int64} = DT_INT64",
            "padding: {'SAME', 'VALID'}",
            "include_batch_in_index: bool = false",
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}",
        ],
        kernels: &[cpu::<MaxPoolWithArgmax>().types("T", REAL_NUMBERS)],
        gradient: Some(argmax_gradient),
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct MaxPoolWithArgmax {
    spec: Spec,
    index: DType,
    /// Whether indices count from the first image of the batch.
    counts_batch: bool,
}

impl Kernel for MaxPoolWithArgmax {
    fn new(attrs: &Attrs<'_>) -> Result<MaxPoolWithArgmax> {
        Ok(MaxPoolWithArgmax {
            spec: Spec::new(attrs)?,
            index: attrs.dtype("Targmax")?,
            counts_batch: attrs.bool("include_batch_in_index")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.input(0)?;
        let pool = self.spec.pool(&*self.spec.windows(ctx, 1)?, input.dims())?;
        let (channels, shape) = (pool.channels, self.spec.last(&pool, false)?);
        let image = input.num_elements() / pool.batch.max(1);
        let mut places = try_repeat(0i64, shape.num_elements())?;
        let output = for_real!(input.dtype(), T => {
            let values = input.values::<T>()?;
            Tensor::build(shape.clone(), |out: &mut [T]| {
                let mut best = vec![0; channels];
                for_each_place(&pool, |place| {
                    place.first_maxima(values, &mut best);
                    let start = if self.counts_batch { 0 } else { place.image * image };
                    for (channel, pixel) in best.iter().enumerate() {
                        let (to, from) = (place.output * channels + channel, pixel * channels + channel);
                        out[to] = values[from];
                        places[to] = (from - start) as i64;
                    }
                });
            })
        })?;
        let places = if self.index == DType::Int64 {
            Tensor::from_slice(shape, &places)?
        } else {
            let places: Vec<i32> = places.iter().map(|&place| place as i32).collect();
            Tensor::from_slice(shape, &places)?
        };
        ctx.set_output(0, output);
        ctx.set_output(1, places);
        Ok(())
    }
}

#[derive(Debug)]
struct MaxPoolGradWithArgmax {
    spec: Spec,
    counts_batch: bool,
}

impl Kernel for MaxPoolGradWithArgmax {
    fn new(attrs: &Attrs<'_>) -> Result<MaxPoolGradWithArgmax> {
        let counts_batch = attrs.bool("include_batch_in_index")?;
        Ok(MaxPoolGradWithArgmax { spec: Spec::new(attrs)?, counts_batch })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (input, gradient, places) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let pool = self.spec.pool(&*self.spec.windows(ctx, 3)?, input.dims())?;
        self.spec.check_outputs(&pool, &[("grad", gradient), ("argmax", places)])?;
        let starts = self.starts(&pool, input.num_elements(), places)?;
        let output = for_real!(input.dtype(), T => {
            let gradient = gradient.values::<T>()?;
            Tensor::build(input.shape().clone(), |out: &mut [T]| {
                out.fill(T::default());
                for (&at, &gradient) in starts.iter().zip(gradient) {
                    out[at] = out[at].plus(gradient);
                }
            })
        })?;
        ctx.set_output(0, output);
        Ok(())
    }
}

impl MaxPoolGradWithArgmax {
    /// Where each gradient goes, over the whole batch.
    fn starts(&self, pool: &Pool, inputs: usize, places: &Tensor) -> Result<Vec<usize>> {
        let batch = pool.batch.max(1);
        let (image, outputs) = (inputs / batch, places.num_elements() / batch);
        let indices = places.values::<i64>()?.iter().enumerate();
        let starts = indices.map(|(position, &place)| {
            let start = if self.counts_batch { 0 } else { position / outputs * image };
            let at = usize::try_from(place).ok().map(|place| place + start);
            at.filter(|&at| at < inputs).ok_or_else(|| {
                invalid_argument!(
                    "MaxPoolGradWithArgmax: index {place} is out of range for an input of {inputs} \
                     values"
                )
            })
        });
        starts.collect()
    }
}

fn argmax_gradient(g: &GradientContext<'_>) -> InputGradients {
    only(g.call_with_attrs("MaxPoolGradWithArgmax", [g.input(0), g.grad(0)?, g.output(1)])?)
}
