//! `BatchMatMul` and its later versions: a product for each index of the outer dimensions.

use half::{bf16, f16};
use num_complex::Complex;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, ShapeContext,
    Value, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::gemm::{self, Mat};
use tensorfleet_tensor::{
    DType, Element, Result, Shape, Tensor, dispatch, internal, invalid_argument,
};

use super::super::cast::cast;
use super::{Side, incompatible, matrix_size, product_cost};
use crate::broadcast::Alignment;

use DType::{
    BFloat16, Complex64, Complex128, Double, Float, Half, Int8, Int16, Int32, Int64, UInt8,
};
use tensorfleet_framework::gradient::both;
use tensorfleet_framework::shape::broadcast;
use tensorfleet_graph::Output;
use tensorfleet_tensor::PartialShape;

const TYPES: &[DType] = &[BFloat16, Half, Float, Double, Int32, Int64, Complex64, Complex128];
const TYPES_V2: &[DType] =
    &[BFloat16, Half, Float, Double, Int16, Int32, Int64, Complex64, Complex128];
const BYTES: &[DType] = &[Int8, UInt8];
const BYTES_OR_BFLOAT16: &[DType] = &[Int8, UInt8, BFloat16];

const ADJOINTS: [&str; 4] =
    ["adj_x: bool = false", "adj_y: bool = false", "grad_x: bool = false", "grad_y: bool = false"];

/// A kernel for operands and a result of one type.
const fn uniform(types: &'static [DType]) -> tensorfleet_framework::KernelDef {
    cpu::<BatchMatMul>().types("Ta", types).types("Tb", types).types("Tout", types)
}

pub(in crate::math) const OPS: &[Op] = &[
    Op {
        name: "BatchMatMul",
        inputs: &["x: T", "y: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: {bfloat16, half, float, double, int32, int64, complex64, complex128}",
            ADJOINTS[0],
            ADJOINTS[1],
            ADJOINTS[2],
            ADJOINTS[3],
        ],
        kernels: &[cpu::<BatchMatMul>().types("T", TYPES)],
        shape: Some(shape),
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "BatchMatMulV2",
        inputs: &["x: T", "y: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: {bfloat16, half, float, double, int16, int32, int64, uint8, uint16, uint32, \
             uint64, complex64, complex128}",
            ADJOINTS[0],
            ADJOINTS[1],
            ADJOINTS[2],
            ADJOINTS[3],
        ],
        kernels: &[cpu::<BatchMatMul>().types("T", TYPES_V2)],
        shape: Some(shape),
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "BatchMatMulV3",
        inputs: &["x: Ta", "y: Tb"],
        outputs: &["output: Tout"],
        attrs: &[
            "Ta: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, \
             complex128}",
            "Tb: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, \
             complex128}",
            "Tout: {bfloat16, half, float, double, int16, int32, int64, complex64, complex128}",
            ADJOINTS[0],
            ADJOINTS[1],
            ADJOINTS[2],
            ADJOINTS[3],
        ],
        kernels: &[
            uniform(&[BFloat16]),
            uniform(&[Float]),
            uniform(&[Double]),
            uniform(&[Int16]),
            uniform(&[Int32]),
            uniform(&[Int64]),
            uniform(&[Complex64]),
            uniform(&[Complex128]),
            cpu::<BatchMatMul>().types("Ta", BYTES).types("Tb", BYTES).types("Tout", &[Int32]),
            cpu::<BatchMatMul>()
                .types("Ta", BYTES_OR_BFLOAT16)
                .types("Tb", BYTES_OR_BFLOAT16)
                .types("Tout", &[BFloat16]),
        ],
        shape: Some(shape),
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct BatchMatMul {
    x: Side,
    y: Side,
    out: DType,
    /// The first version wants equal outer dimensions.
    broadcasts: bool,
}

impl Kernel for BatchMatMul {
    fn new(attrs: &Attrs<'_>) -> Result<BatchMatMul> {
        let side = |adjoint| if adjoint { Side::Adjoint } else { Side::Plain };
        Ok(BatchMatMul {
            x: side(attrs.bool("adj_x")?),
            y: side(attrs.bool("adj_y")?),
            out: attrs.outputs()[0].dtype,
            broadcasts: attrs.op() != "BatchMatMul",
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (x, y) = (ctx.input(0)?, ctx.input(1)?);
        let batch = self.check(x, y)?;
        let (x, y) = (cast(par, x, self.out, false)?, cast(par, y, self.out, false)?);
        let product = dispatch!(
            self.out,
            [f32, f64, f16, bf16, i16, i32, i64, Complex<f32>, Complex<f64>],
            T => batch_product::<T>(par, &batch, (&x, self.x), (&y, self.y))?,
            else => return Err(internal!("BatchMatMul was asked for a {} tensor", self.out))
        );
        ctx.set_output(0, product);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        product_cost(inputs)
    }
}

impl BatchMatMul {
    /// Checks the shapes and lines up the outer dimensions.
    fn check(&self, x: &Tensor, y: &Tensor) -> Result<Alignment> {
        if !self.broadcasts && x.rank() != y.rank() {
            return Err(invalid_argument!(
                "In[0] and In[1] has different ndims: {} vs. {}",
                x.shape(),
                y.shape()
            ));
        }
        for (number, input) in [x, y].into_iter().enumerate() {
            if input.rank() < 2 {
                return Err(invalid_argument!("In[{number}] ndims must be >= 2: {}", input.rank()));
            }
        }
        let outer = |tensor: &Tensor| Shape::new(&tensor.dims()[..tensor.rank() - 2]);
        let (x_outer, y_outer) = (outer(x)?, outer(y)?);
        if !self.broadcasts
            && let Some(axis) =
                (0..x_outer.rank()).find(|&axis| x_outer.dims()[axis] != y_outer.dims()[axis])
        {
            return Err(invalid_argument!(
                "In[0].dim({axis}) and In[1].dim({axis}) must be the same: {} vs {}",
                x.shape(),
                y.shape()
            ));
        }
        let batch = Alignment::find(&x_outer, &y_outer)?.ok_or_else(|| {
            invalid_argument!(
                "In[0] and In[1] must have compatible batch dimensions: {} vs. {}",
                x.shape(),
                y.shape()
            )
        })?;
        let (rows, columns) = matrix_size(x.dims());
        let inner = self.x.size(rows, columns).1;
        let (rows, columns) = matrix_size(y.dims());
        if inner != self.y.size(rows, columns).0 {
            return Err(incompatible(x, y));
        }
        Ok(batch)
    }
}

/// Products of the matrices that meet when the outer dimensions are lined up.
fn batch_product<T: Element + gemm::Element>(
    par: Parallel,
    batch: &Alignment,
    (x, x_side): (&Tensor, Side),
    (y, y_side): (&Tensor, Side),
) -> Result<Tensor> {
    let (x_size, y_size) = (matrix_size(x.dims()), matrix_size(y.dims()));
    let rows = x_side.size(x_size.0, x_size.1).0;
    let columns = y_side.size(y_size.0, y_size.1).1;
    let mut dims = batch.shape().dims().to_vec();
    dims.extend([rows, columns]);
    let shape = Shape::new(&dims)?;
    let (x, y) = (x.values::<T>()?, y.values::<T>()?);
    let mut pairs = Vec::new();
    if shape.num_elements() > 0 {
        pairs.reserve(batch.shape().num_elements());
        batch.positions(|i, j| pairs.push((i, j)));
    }
    let operands = |index: usize| {
        let (i, j) = pairs[index];
        let x = matrix(x, i, x_size);
        let y = matrix(y, j, y_size);
        (x_side.apply(x), y_side.apply(y))
    };
    Tensor::build(shape, |out: &mut [T]| {
        gemm::batch_matmul(par, operands, pairs.len(), out);
    })
}

/// The matrix number `index` of a batch.
fn matrix<T: Copy>(values: &[T], index: usize, (rows, columns): (usize, usize)) -> Mat<'_, T> {
    let size = rows * columns;
    Mat::new(&values[index * size..(index + 1) * size], rows, columns)
}

fn shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let attrs = c.attrs();
    let (Some(x), Some(y)) = (&c.input(0).dims, &c.input(1).dims) else {
        return Ok(vec![PartialShape::UNKNOWN]);
    };
    let split = |dims: &[Option<usize>], adjoint: bool| {
        let Some((batch, &[rows, columns])) = dims.split_last_chunk() else {
            return Err(invalid_argument!("{}: an operand is no matrix", c.describe()));
        };
        let (rows, columns) = if adjoint { (columns, rows) } else { (rows, columns) };
        Ok((PartialShape::known(batch.iter().copied()), rows, columns))
    };
    let (x_batch, rows, inner) = split(x, attrs.bool("adj_x")?)?;
    let (y_batch, other_inner, columns) = split(y, attrs.bool("adj_y")?)?;
    if let (Some(a), Some(b)) = (inner, other_inner)
        && a != b
    {
        return Err(invalid_argument!(
            "matrices of shapes {} and {} cannot be multiplied: {a} is not {b}",
            c.input(0),
            c.input(1)
        ));
    }
    let batch = broadcast(&x_batch, &y_batch)?;
    let dims = batch.dims.into_iter().flatten().chain([rows, columns]);
    Ok(vec![PartialShape::known(dims)])
}

fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let attrs = g.attrs();
    let (x, y, grad) = (g.input(0), g.input(1), g.grad(0)?);
    let product = |a, b, adj_x: bool, adj_y: bool| {
        let node = NewNode::new("BatchMatMulV2").input(a).input(b);
        g.out(node.attr("adj_x", adj_x).attr("adj_y", adj_y))
    };
    let (dx, dy) = match (attrs.bool("adj_x")?, attrs.bool("adj_y")?) {
        (false, false) => (product(grad, y, false, true)?, product(x, grad, true, false)?),
        (false, true) => (product(grad, y, false, false)?, product(grad, x, true, false)?),
        (true, false) => (product(y, grad, false, true)?, product(x, grad, false, false)?),
        (true, true) => (product(y, grad, true, true)?, product(grad, x, true, true)?),
    };
    both(reduce_batch(g, dx, x, y)?, reduce_batch(g, dy, y, x)?)
}

/// Sums over the outer dimensions along which `x` was broadcast.
pub(crate) fn reduce_batch(
    g: &GradientContext<'_>,
    dx: Output,
    x: Output,
    y: Output,
) -> Result<Output> {
    let batch = |output| {
        let dims = g.shape(output).dims?;
        let outer = dims.len().checked_sub(2)?;
        dims[..outer].iter().copied().collect::<Option<Vec<usize>>>()
    };
    if let (Some(x), Some(y)) = (batch(x), batch(y))
        && x == y
    {
        return Ok(dx);
    }
    let zero = g.vector(&[0i32])?;
    let outer = |shape| {
        let end = g.vector(&[-2i32])?;
        let one = g.vector(&[1i32])?;
        g.call("StridedSlice", [shape, zero, end, one])
    };
    let (x_shape, y_shape) = (g.shape_tensor(x)?, g.shape_tensor(y)?);
    let axes = g.call("BroadcastGradientArgs", [outer(x_shape)?, outer(y_shape)?])?;
    g.reshape(g.call("Sum", [dx, axes])?, x_shape)
}
