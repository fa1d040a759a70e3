//! `QuantizedMatMul`: the product of two matrices of bytes.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::gemm::{Mat, matmul};
use tensorfleet_tensor::{DType, QUInt8, Result, Shape, Tensor, invalid_argument};

use super::convert::centred;
use super::range::Range;

pub(super) const OPS: &[Op] = &[Op {
    name: "QuantizedMatMul",
    inputs: &["a: T1", "b: T2", "min_a: float", "max_a: float", "min_b: float", "max_b: float"],
    outputs: &["out: Toutput", "min_out: float", "max_out: float"],
    attrs: &[
        "T1: {qint8, quint8, qint32, qint16, quint16}",
        "T2: {qint8, quint8, qint32, qint16, quint16}",
        "Toutput: {qint8, quint8, qint32, qint16, quint16} = DT_QINT32",
        "transpose_a: bool = false",
        "transpose_b: bool = false",
        "Tactivation: {qint8, quint8, qint32, qint16, quint16} = DT_QUINT8",
    ],
    kernels: &[cpu::<MatMul>()
        .types("T1", &[DType::QUInt8])
        .types("T2", &[DType::QUInt8])
        .types("Toutput", &[DType::QInt32])],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct MatMul {
    transpose_a: bool,
    transpose_b: bool,
}

impl Kernel for MatMul {
    fn new(attrs: &Attrs<'_>) -> Result<MatMul> {
        Ok(MatMul {
            transpose_a: attrs.bool("transpose_a")?,
            transpose_b: attrs.bool("transpose_b")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let end = |index, name: &str| match ctx.input(index)? {
            end if end.num_elements() == 1 => end.scalar_value(),
            end => Err(invalid_argument!("{name} must be a scalar, but got shape{}", end.shape())),
        };
        let of_a = Range { low: end(2, "min_a")?, high: end(3, "max_a")? };
        let of_b = Range { low: end(4, "min_b")?, high: end(5, "max_b")? };
        of_a.check("max_a must be larger than min_a.")?;
        of_b.check("max_b must be larger than min_b.")?;
        let (a, b) = (ctx.input(0)?, ctx.input(1)?);
        for (index, matrix) in [a, b].into_iter().enumerate() {
            if matrix.rank() != 2 {
                return Err(invalid_argument!("In[{index}] is not a matrix"));
            }
        }
        let (left, right) = (centred::<QUInt8>(a, of_a)?, centred::<QUInt8>(b, of_b)?);
        let left = Mat::new(left.values()?, a.dims()[0], a.dims()[1]).t_if(self.transpose_a);
        let right = Mat::new(right.values()?, b.dims()[0], b.dims()[1]).t_if(self.transpose_b);
        if left.cols() != right.rows() {
            return Err(invalid_argument!(
                "Matrix size-incompatible: In[0]: {}, In[1]: {}",
                a.shape(),
                b.shape()
            ));
        }
        let shape = Shape::new(&[left.rows(), right.cols()])?;
        let par = Parallel::new(ctx.parallelism());
        let product = Tensor::build(shape.clone(), |out: &mut [i32]| {
            matmul(par, left, right, out);
        })?;
        ctx.set_output(0, product.reinterpret(DType::QInt32, shape)?);
        Range::of_products::<QUInt8, QUInt8>(of_a, of_b).output(ctx, 1);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        match inputs {
            [Value::Tensor(a), Value::Tensor(b), ..] if b.rank() == 2 => {
                let columns = b.dims()[usize::from(!self.transpose_b)];
                (a.num_elements() as u64).saturating_mul(columns as u64) / 4
            }
            _ => 0,
        }
    }
}
