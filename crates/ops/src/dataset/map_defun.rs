//! `MapDefun`: a function of each row of tensors.

use tensorfleet_framework::{AsyncContext, AsyncKernel, Attrs, Op, Outcome, Started, cpu_async};
use tensorfleet_graph::Func;
use tensorfleet_tensor::{DType, PartialShape, Result, Shape, Tensor, invalid_argument};

use super::batch::stack;
use super::dataset::slice;
use super::scope::{Captured, Scope};

pub(super) const OPS: &[Op] = &[Op {
    name: "MapDefun",
    inputs: &["arguments: Targuments", "captured_inputs: Tcaptured"],
    outputs: &["output: output_types"],
    attrs: &[
        "Targuments: list(type) >= 1",
        "Tcaptured: list(type) >= 0 = []",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "f: func",
        "max_intra_op_parallelism: int = 1",
    ],
    kernels: &[cpu_async::<MapDefun>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct MapDefun {
    function: Func,
    arguments: usize,
    types: Vec<DType>,
    shapes: Vec<PartialShape>,
}

impl AsyncKernel for MapDefun {
    fn new(attrs: &Attrs<'_>) -> Result<MapDefun> {
        Ok(MapDefun {
            function: attrs.func("f")?.clone(),
            arguments: attrs.dtypes("Targuments")?.len(),
            types: attrs.dtypes("output_types")?.to_vec(),
            shapes: attrs.shapes("output_shapes")?.to_vec(),
        })
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let scope = Scope::within(&ctx.step, "MapDefun");
        let mut inputs = ctx.into_tensors()?;
        let captured = inputs.split_off(self.arguments);
        let count = rows(&inputs)?;
        if count == 0 {
            return self.nothing().map(|outputs| Started::Done(Outcome::from(outputs)));
        }
        let function = scope.function(&Captured::new(&self.function, captured))?;
        let calls = (0..count)
            .map(|row| {
                let arguments = inputs.iter().map(|input| slice(input, row));
                Ok(scope.spawn(function.call(arguments.collect::<Result<_>>()?)))
            })
            .collect::<Result<Vec<_>>>()?;
        let shapes = self.shapes.clone();
        Ok(Started::Waiting(Box::pin(async move {
            let mut results = Vec::with_capacity(calls.len());
            for call in calls {
                let result = call.await??;
                check_shapes(&result, &shapes)?;
                results.push(result);
            }
            Ok(Outcome::from(stack(results)?))
        })))
    }
}

impl MapDefun {
    /// What comes of no rows, which only the declared shapes can tell.
    fn nothing(&self) -> Result<Vec<Tensor>> {
        let outputs = self.types.iter().zip(&self.shapes).map(|(&dtype, shape)| {
            let shape = shape.to_shape().ok_or_else(|| {
                invalid_argument!(
                    "The function of MapDefun was given no rows, and its output shapes are not \
                     fully defined"
                )
            })?;
            Tensor::zeros(dtype, Shape::new(&[&[0], shape.dims()].concat())?)
        });
        outputs.collect()
    }
}

/// The number of rows that all arguments have.
fn rows(arguments: &[Tensor]) -> Result<usize> {
    let mut count = None;
    for (index, argument) in arguments.iter().enumerate() {
        let Some(&rows) = argument.dims().first() else {
            return Err(invalid_argument!(
                "All inputs must have rank at least 1. Input {index} has a rank of 0"
            ));
        };
        if *count.get_or_insert(rows) != rows {
            return Err(invalid_argument!("All inputs must have the same dimension 0."));
        }
    }
    Ok(count.unwrap_or(0))
}

fn check_shapes(result: &[Tensor], shapes: &[PartialShape]) -> Result<()> {
    for (index, (tensor, shape)) in result.iter().zip(shapes).enumerate() {
        if !shape.is_compatible_with(tensor.shape()) {
            return Err(invalid_argument!(
                "Inconsistent shape for output {index}: expected {shape} but got {}",
                tensor.shape()
            ));
        }
    }
    Ok(())
}
