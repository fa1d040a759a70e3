//! Mathematics on outputs, by the names that it has in TensorFlow.

use tensorfleet_tensor::DType;

use crate::output::{Operand, Output};

/// The dimensions that a reduction takes together. Negative ones count from the last.
///
/// ```
/// use tensorfleet_client::{Axes, Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let x = graph.constant([[1.0f32, 2.0], [3.0, 4.0]]);
/// let (rows, all) = (x.sum_along(-1, false), x.sum_along(Axes::All, true));
/// assert_eq!(all.shape().to_string(), "[1,1]");
/// assert_eq!(Session::new(&graph)?.run((), rows.value::<Vec<f32>>())?, [3.0, 7.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub enum Axes {
    /// All of them.
    All,
    /// Some of them.
    Some(Vec<i32>),
}

impl From<i32> for Axes {
    fn from(axis: i32) -> Axes {
        Axes::Some(vec![axis])
    }
}

impl<const N: usize> From<[i32; N]> for Axes {
    fn from(axes: [i32; N]) -> Axes {
        Axes::Some(axes.to_vec())
    }
}

impl From<&[i32]> for Axes {
    fn from(axes: &[i32]) -> Axes {
        Axes::Some(axes.to_vec())
    }
}

macro_rules! unary {
    ($($(#[$doc:meta])+ $name:ident $op:literal $x:tt => $type:ident $y:tt;)+) => {
        impl Output {
            $(
                $(#[$doc])+
                ///
                /// ```
                /// # use tensorfleet_client::{Graph, Session};
                /// # fn main() -> tensorfleet_client::Result<()> {
                /// # let graph = Graph::new();
                #[doc = concat!(" let x = graph.constant(", stringify!($x), ");")]
                #[doc = concat!(" let y = x.", stringify!($name), "();")]
                #[doc = concat!(" let y = Session::new(&graph)?.run((), y.value::<Vec<", stringify!($type), ">>())?;")]
                #[doc = concat!(" assert_eq!(y, ", stringify!($y), ");")]
                /// # Ok(())
                /// # }
                /// ```
                #[must_use]
                #[track_caller]
                pub fn $name(&self) -> Output {
                    self.unary($op)
                }
            )+
        }
    };
}

unary! {
    /// The absolute value.
    abs "Abs" [-2.0f32, 3.0] => f32 [2.0, 3.0];
    /// The arc cosine.
    acos "Acos" [1.0f32] => f32 [0.0];
    /// The arc sine.
    asin "Asin" [0.0f32] => f32 [0.0];
    /// The arc tangent.
    atan "Atan" [0.0f32] => f32 [0.0];
    /// The smallest integer that is not smaller.
    ceil "Ceil" [1.2f32, -1.2] => f32 [2.0, -1.0];
    /// The cosine.
    cos "Cos" [0.0f32] => f32 [1.0];
    /// The hyperbolic cosine.
    cosh "Cosh" [0.0f32] => f32 [1.0];
    /// `x` where it is positive, `e^x - 1` elsewhere.
    elu "Elu" [2.0f32, 0.0] => f32 [2.0, 0.0];
    /// The error function.
    erf "Erf" [0.0f32] => f32 [0.0];
    /// `e` to the power of each element.
    exp "Exp" [0.0f32] => f32 [1.0];
    /// `e^x - 1`, exact near zero.
    expm1 "Expm1" [0.0f32] => f32 [0.0];
    /// The largest integer that is not larger.
    floor "Floor" [1.8f32, -1.2] => f32 [1.0, -2.0];
    /// The same tensor under another name.
    identity "Identity" [1i32, 2] => i32 [1, 2];
    /// Whether an element is neither infinite nor NaN.
    is_finite "IsFinite" [1.0f32, f32::INFINITY] => bool [true, false];
    /// Whether an element is NaN.
    is_nan "IsNan" [1.0f32, f32::NAN] => bool [false, true];
    /// The natural logarithm.
    ln "Log" [1.0f32] => f32 [0.0];
    /// `ln(1 + x)`, exact near zero.
    ln_1p "Log1p" [0.0f32] => f32 [0.0];
    /// The logarithm of [`Output::softmax`], computed without loss.
    log_softmax "LogSoftmax" [5.0f32] => f32 [0.0];
    /// True where false was.
    logical_not "LogicalNot" [true, false] => bool [false, true];
    /// Ones in the same shape.
    ones_like "OnesLike" [3i64, 4] => i64 [1, 1];
    /// The reciprocal.
    recip "Reciprocal" [2.0f32, 4.0] => f32 [0.5, 0.25];
    /// `max(x, 0)`.
    relu "Relu" [-2.0f32, 3.0] => f32 [0.0, 3.0];
    /// `min(max(x, 0), 6)`.
    relu6 "Relu6" [-2.0f32, 9.0] => f32 [0.0, 6.0];
    /// The nearest integer, the even one of two.
    round "Round" [0.5f32, 1.5, 1.7] => f32 [0.0, 2.0, 2.0];
    /// `1 / sqrt(x)`.
    rsqrt "Rsqrt" [4.0f64] => f64 [0.5];
    /// The scaled exponential linear unit.
    selu "Selu" [0.0f32] => f32 [0.0];
    /// The shape as an `int32` vector, computed in the step.
    shape_tensor "Shape" [[1.0f32, 2.0, 3.0]] => i32 [1, 3];
    /// `1 / (1 + e^-x)`.
    sigmoid "Sigmoid" [0.0f32] => f32 [0.5];
    /// -1, 0 or 1 by the sign.
    sign "Sign" [-2.0f32, 0.0, 3.0] => f32 [-1.0, 0.0, 1.0];
    /// The sine.
    sin "Sin" [0.0f32] => f32 [0.0];
    /// The hyperbolic sine.
    sinh "Sinh" [0.0f32] => f32 [0.0];
    /// The number of elements as an `int32`, computed in the step.
    size_tensor "Size" [[1.0f32, 2.0, 3.0]] => i32 [3];
    /// Exponentials that add up to one along the last dimension.
    softmax "Softmax" [7.0f32, 7.0] => f32 [0.5, 0.5];
    /// `ln(1 + e^x)`.
    softplus "Softplus" [100.0f32] => f32 [100.0];
    /// `x / (1 + |x|)`.
    softsign "Softsign" [1.0f32, -3.0] => f32 [0.5, -0.75];
    /// The square root.
    sqrt "Sqrt" [9.0f32] => f32 [3.0];
    /// The square.
    square "Square" [-3.0f32] => f32 [9.0];
    /// The same tensor, which gradients do not flow back through.
    stop_gradient "StopGradient" [1.0f32] => f32 [1.0];
    /// The tangent.
    tan "Tan" [0.0f32] => f32 [0.0];
    /// The hyperbolic tangent.
    tanh "Tanh" [0.0f32] => f32 [0.0];
    /// Zeros in the same shape.
    zeros_like "ZerosLike" [3i64, 4] => i64 [0, 0];
}

macro_rules! binary {
    ($($(#[$doc:meta])+ $name:ident $op:literal $x:tt, $other:tt => $type:ident $y:tt;)+) => {
        impl Output {
            $(
                $(#[$doc])+
                ///
                /// ```
                /// # use tensorfleet_client::{Graph, Session};
                /// # fn main() -> tensorfleet_client::Result<()> {
                /// # let graph = Graph::new();
                #[doc = concat!(" let x = graph.constant(", stringify!($x), ");")]
                #[doc = concat!(" let y = x.", stringify!($name), "(", stringify!($other), ");")]
                #[doc = concat!(" let y = Session::new(&graph)?.run((), y.value::<Vec<", stringify!($type), ">>())?;")]
                #[doc = concat!(" assert_eq!(y, ", stringify!($y), ");")]
                /// # Ok(())
                /// # }
                /// ```
                #[must_use]
                #[track_caller]
                pub fn $name(&self, other: impl Operand) -> Output {
                    self.binary($op, other)
                }
            )+
        }
    };
}

binary! {
    /// The angle of the point `(other, self)`.
    atan2 "Atan2" [0.0f32], [1.0f32] => f32 [0.0];
    /// Where the elements are equal.
    equal "Equal" [1i32, 2], [1i32, 3] => bool [true, false];
    /// The quotient rounded down.
    floor_div "FloorDiv" [7i32, -7], [2i32, 2] => i32 [3, -4];
    /// Where this tensor's elements are greater.
    greater "Greater" [1.0f32, 2.0], 1.0 => bool [false, true];
    /// Where this tensor's elements are greater or equal.
    greater_equal "GreaterEqual" [1.0f32, 2.0], 1.0 => bool [true, true];
    /// Where this tensor's elements are less.
    less "Less" [1.0f32, 2.0], 2.0 => bool [true, false];
    /// Where this tensor's elements are less or equal.
    less_equal "LessEqual" [1.0f32, 2.0], 2.0 => bool [true, true];
    /// Where both are true.
    logical_and "LogicalAnd" [true, true], [true, false] => bool [true, false];
    /// Where one is true.
    logical_or "LogicalOr" [true, false], [false, false] => bool [true, false];
    /// The greater of each two elements.
    maximum "Maximum" [1.0f32, 4.0], 2.0 => f32 [2.0, 4.0];
    /// The lesser of each two elements.
    minimum "Minimum" [1.0f32, 4.0], 2.0 => f32 [1.0, 2.0];
    /// Where the elements differ.
    not_equal "NotEqual" [1i32, 2], [1i32, 3] => bool [false, true];
    /// This tensor's elements to the power of the others.
    pow "Pow" [2.0f32, 3.0], 2.0 => f32 [4.0, 9.0];
    /// The square of the difference.
    squared_difference "SquaredDifference" [5.0f32, 1.0], 2.0 => f32 [9.0, 1.0];
}

macro_rules! reductions {
    (
        $($(#[$doc:meta])+ $name:ident $along:ident $op:literal
            $x:tt => $type:ident $whole:tt, $columns:tt;)+
    ) => {
        impl Output {
            $(
                $(#[$doc])+
                ///
                /// ```
                /// # use tensorfleet_client::{Graph, Session};
                /// # fn main() -> tensorfleet_client::Result<()> {
                /// # let graph = Graph::new();
                #[doc = concat!(" let x = graph.constant(", stringify!($x), ");")]
                #[doc = concat!(" let y = x.", stringify!($name), "();")]
                #[doc = concat!(" let y = Session::new(&graph)?.run((), y.value::<", stringify!($type), ">())?;")]
                #[doc = concat!(" assert_eq!(y, ", stringify!($whole), ");")]
                /// # Ok(())
                /// # }
                /// ```
                #[must_use]
                #[track_caller]
                pub fn $name(&self) -> Output {
                    self.reduce($op, Axes::All, false)
                }

                $(#[$doc])+
                ///
                /// Along some dimensions only; they stay, with size one, if `keep_dims`.
                ///
                /// ```
                /// # use tensorfleet_client::{Graph, Session};
                /// # fn main() -> tensorfleet_client::Result<()> {
                /// # let graph = Graph::new();
                #[doc = concat!(" let x = graph.constant(", stringify!($x), ");")]
                #[doc = concat!(" let y = x.", stringify!($along), "(0, false);")]
                #[doc = concat!(" let y = Session::new(&graph)?.run((), y.value::<Vec<", stringify!($type), ">>())?;")]
                #[doc = concat!(" assert_eq!(y, ", stringify!($columns), ");")]
                /// # Ok(())
                /// # }
                /// ```
                #[must_use]
                #[track_caller]
                pub fn $along(&self, axes: impl Into<Axes>, keep_dims: bool) -> Output {
                    self.reduce($op, axes.into(), keep_dims)
                }
            )+
        }
    };
}

reductions! {
    /// Whether all elements are true.
    all all_along "All" [[true, false], [true, true]] => bool false, [true, false];
    /// Whether one element is true.
    any any_along "Any" [[true, false], [false, false]] => bool true, [true, false];
    /// The greatest element.
    max max_along "Max" [[1, 2], [3, 4]] => i32 4, [3, 4];
    /// The mean of the elements.
    mean mean_along "Mean" [[1.0, 2.0], [3.0, 4.0]] => f64 2.5, [2.0, 3.0];
    /// The least element.
    min min_along "Min" [[1, 2], [3, 4]] => i32 1, [1, 2];
    /// The product of the elements.
    product product_along "Prod" [[1, 2], [3, 4]] => i32 24, [3, 8];
    /// The sum of the elements.
    sum sum_along "Sum" [[1, 2], [3, 4]] => i32 10, [4, 6];
}

impl Output {
    #[track_caller]
    fn reduce(&self, op: &str, axes: Axes, keep_dims: bool) -> Output {
        let graph = self.graph();
        let axes = match (axes, self.rank()) {
            (Axes::Some(axes), _) => graph.constant(axes),
            (Axes::All, Some(rank)) => graph.constant((0..rank as i32).collect::<Vec<i32>>()),
            (Axes::All, None) => {
                let rank = self.unary("Rank");
                graph.op("Range").input(0i32).input(rank).input(1i32).output()
            }
        };
        graph.op(op).input(self).input(axes).attr("keep_dims", keep_dims).output()
    }

    /// The product of two matrices, or of two batches of them.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let (a, b) = (graph.constant([[1.0f32, 2.0]]), graph.constant([[3.0f32], [4.0]]));
    /// assert_eq!(Session::new(&graph)?.run((), a.matmul(&b).value::<Vec<f32>>())?, [11.0]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    #[track_caller]
    pub fn matmul(&self, other: impl Operand) -> Output {
        self.matmul_with(other, false, false)
    }

    /// The product of two matrices, or of two batches of them, of which one may be taken transposed.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let a = graph.constant([[1.0f32, 2.0], [3.0, 4.0]]);
    /// let squares = a.matmul_with(&a, true, false);
    /// let squares = Session::new(&graph)?.run((), squares.value::<Vec<f32>>())?;
    /// assert_eq!(squares, [10.0, 14.0, 14.0, 20.0]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    #[track_caller]
    pub fn matmul_with(
        &self,
        other: impl Operand,
        transpose_self: bool,
        transpose_other: bool,
    ) -> Output {
        let graph = self.graph();
        let other = graph.operand(&other, Some(self.dtype()));
        let is_batch = |output: &Output| output.rank().is_some_and(|rank| rank > 2);
        if is_batch(self) || is_batch(&other) {
            return graph
                .op("BatchMatMulV2")
                .input(self)
                .input(other)
                .attr("adj_x", transpose_self)
                .attr("adj_y", transpose_other)
                .output();
        }
        graph
            .op("MatMul")
            .input(self)
            .input(other)
            .attr("transpose_a", transpose_self)
            .attr("transpose_b", transpose_other)
            .output()
    }

    /// The same elements in another shape; one size may be -1 and is then computed.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// let graph = Graph::new();
    /// let x = graph.constant([1i32, 2, 3, 4, 5, 6]);
    /// assert_eq!(x.reshape([2i32, -1]).shape().to_string(), "[2,3]");
    /// ```
    #[must_use]
    #[track_caller]
    pub fn reshape(&self, shape: impl Operand) -> Output {
        self.graph().op("Reshape").input(self).input(shape).output()
    }

    /// The dimensions in another order.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let x = graph.constant([[1i32, 2], [3, 4]]).transpose(&[1, 0]);
    /// assert_eq!(Session::new(&graph)?.run((), x.value::<Vec<Vec<i32>>>())?, [[1, 3], [2, 4]]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    #[track_caller]
    pub fn transpose(&self, order: &[i32]) -> Output {
        self.graph().op("Transpose").input(self).input(order.to_vec()).output()
    }

    /// The elements as another type.
    ///
    /// ```
    /// use tensorfleet_client::{DType, Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let x = graph.constant([1.7f32, -1.7]).cast(DType::Int32);
    /// assert_eq!(Session::new(&graph)?.run((), x.value::<Vec<i32>>())?, [1, -1]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    #[track_caller]
    pub fn cast(&self, dtype: DType) -> Output {
        if self.dtype() == dtype {
            return self.clone();
        }
        self.graph().op("Cast").input(self).attr("DstT", dtype).output()
    }

    /// A dimension of size one more, before dimension `axis`.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// let graph = Graph::new();
    /// let x = graph.constant([1i32, 2, 3]);
    /// assert_eq!(x.expand_dims(0).shape().to_string(), "[1,3]");
    /// assert_eq!(x.expand_dims(-1).shape().to_string(), "[3,1]");
    /// ```
    #[must_use]
    #[track_caller]
    pub fn expand_dims(&self, axis: i32) -> Output {
        self.graph().op("ExpandDims").input(self).input(axis).output()
    }

    /// Without some dimensions of size one.
    ///
    /// ```
    /// use tensorfleet_client::Graph;
    ///
    /// let graph = Graph::new();
    /// let x = graph.constant([[[1i32], [2]]]);
    /// assert_eq!(x.squeeze(&[0]).shape().to_string(), "[2,1]");
    /// // With none named, all of size one go.
    /// assert_eq!(x.squeeze(&[]).shape().to_string(), "[2]");
    /// ```
    #[must_use]
    #[track_caller]
    pub fn squeeze(&self, axes: &[i64]) -> Output {
        self.graph().op("Squeeze").input(self).attr("squeeze_dims", axes.to_vec()).output()
    }

    /// The position of the greatest element along a dimension, as `int64`.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let best = graph.constant([[1.0f32, 5.0], [4.0, 3.0]]).argmax(1);
    /// assert_eq!(Session::new(&graph)?.run((), best.value::<Vec<i64>>())?, [1, 0]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    #[track_caller]
    pub fn argmax(&self, axis: i32) -> Output {
        self.graph().op("ArgMax").input(self).input(axis).output()
    }

    /// The slices with the given numbers along a dimension.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let rows = graph.constant([[1i32, 2], [3, 4], [5, 6]]).gather([2i32, 0], 0);
    /// assert_eq!(Session::new(&graph)?.run((), rows.value::<Vec<Vec<i32>>>())?, [[5, 6], [1, 2]]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    #[track_caller]
    pub fn gather(&self, indices: impl Operand, axis: i32) -> Output {
        self.graph().op("GatherV2").input(self).input(indices).input(axis).output()
    }

    /// A part: `size` elements from `begin` on in each dimension; -1 means all that follow.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let part = graph.constant([[1i32, 2, 3], [4, 5, 6]]).slice(&[0, 1], &[-1, 2]);
    /// assert_eq!(Session::new(&graph)?.run((), part.value::<Vec<Vec<i32>>>())?, [[2, 3], [5, 6]]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    #[track_caller]
    pub fn slice(&self, begin: &[i32], size: &[i32]) -> Output {
        self.graph().op("Slice").input(self).input(begin.to_vec()).input(size.to_vec()).output()
    }

    /// Elements of `self` where `condition` holds, of `other` elsewhere.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let x = graph.constant([-1.0f32, 2.0]);
    /// let leaky = x.where_or(x.greater(0.0), &x * 0.5);
    /// assert_eq!(Session::new(&graph)?.run((), leaky.value::<Vec<f32>>())?, [-0.5, 2.0]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    #[track_caller]
    pub fn where_or(&self, condition: impl Operand, other: impl Operand) -> Output {
        self.graph()
            .op("SelectV2")
            .input(condition)
            .input(self)
            .input_like(other, Some(self.dtype()))
            .output()
    }

    /// The elements, but none below `low` or above `high`.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let x = graph.constant([-5.0f32, 0.5, 5.0]).clip(-1.0, 1.0);
    /// assert_eq!(Session::new(&graph)?.run((), x.value::<Vec<f32>>())?, [-1.0, 0.5, 1.0]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    #[track_caller]
    pub fn clip(&self, low: impl Operand, high: impl Operand) -> Output {
        self.minimum(high).maximum(low)
    }

    /// A vector of ones and zeros for each class number: one at its position.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let rows = graph.constant([1i64]).one_hot(3);
    /// assert_eq!(Session::new(&graph)?.run((), rows.value::<Vec<f32>>())?, [0.0, 1.0, 0.0]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    #[track_caller]
    pub fn one_hot(&self, classes: usize) -> Output {
        self.graph()
            .op("OneHot")
            .input(self)
            .input(classes as i32)
            .input(1.0f32)
            .input(0.0f32)
            .attr("axis", -1i64)
            .output()
    }
}
