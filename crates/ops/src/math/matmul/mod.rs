//! Products of matrices and of batches of matrices.

pub(super) mod batch;
pub(super) mod fused;
pub(super) mod plain;
pub(super) mod sparse;

use tensorfleet_framework::Value;
use tensorfleet_kernels::gemm::Mat;
use tensorfleet_kernels::{Parallel, gemm};
use tensorfleet_tensor::{Element, Error, Result, Shape, Tensor, invalid_argument};

/// What is done to a matrix before it is multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Plain,
    Transposed,
    /// Transposed and, if complex, conjugated.
    Adjoint,
}

impl Side {
    fn apply<T: Copy>(self, matrix: Mat<'_, T>) -> Mat<'_, T> {
        match self {
            Side::Plain => matrix,
            Side::Transposed => matrix.t(),
            Side::Adjoint => matrix.adjoint_if(true),
        }
    }

    /// Rows and columns after the operation, of a matrix that is stored with these.
    fn size(self, rows: usize, columns: usize) -> (usize, usize) {
        if self == Side::Plain { (rows, columns) } else { (columns, rows) }
    }
}

/// Rows and columns of a matrix, of at least two dimensions.
fn matrix_size(dims: &[usize]) -> (usize, usize) {
    (dims[dims.len() - 2], dims[dims.len() - 1])
}

/// The product of two matrices whose sizes were checked.
fn product<T: Element + gemm::Element>(
    par: Parallel,
    a: (&Tensor, Side),
    b: (&Tensor, Side),
) -> Result<Tensor> {
    let (a, b) = (view::<T>(a)?, view::<T>(b)?);
    let shape = Shape::new(&[a.rows(), b.cols()])?;
    Tensor::build(shape, |out: &mut [T]| gemm::matmul(par, a, b, out))
}

fn view<T: Element>((matrix, side): (&Tensor, Side)) -> Result<Mat<'_, T>> {
    let (rows, columns) = matrix_size(matrix.dims());
    Ok(side.apply(Mat::new(matrix.values::<T>()?, rows, columns)))
}

fn incompatible(a: &Tensor, b: &Tensor) -> Error {
    invalid_argument!("Matrix size-incompatible: In[0]: {}, In[1]: {}", a.shape(), b.shape())
}

/// Nanoseconds for a product of the first two inputs, at tens of operations a nanosecond.
fn product_cost(inputs: &[Value]) -> u64 {
    let [Value::Tensor(a), Value::Tensor(b), ..] = inputs else { return 0 };
    let (Some(&m), Some(&n)) = (a.dims().last(), b.dims().last()) else { return 0 };
    // Rows of `a` times an inner size times columns of `b`, whichever side is transposed.
    let work = (a.num_elements() as u64).saturating_mul(b.num_elements() as u64);
    let inner = m.min(n).max(1) as u64;
    work / inner / 16
}
