//! Mathematics on outputs, by the names that it has in TensorFlow.

use tensorfleet_tensor::DType;

use crate::output::{Operand, Output};

/// The dimensions that a reduction takes together. Negative ones count from the last.
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
    ($($(#[$doc:meta])+ $name:ident $op:literal;)+) => {
        impl Output {
            $(
                $(#[$doc])+
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
    abs "Abs";
    /// The arc cosine.
    acos "Acos";
    /// The arc sine.
    asin "Asin";
    /// The arc tangent.
    atan "Atan";
    /// The smallest integer that is not smaller.
    ceil "Ceil";
    /// The cosine.
    cos "Cos";
    /// The hyperbolic cosine.
    cosh "Cosh";
    /// `x` where it is positive, `e^x - 1` elsewhere.
    elu "Elu";
    /// The error function.
    erf "Erf";
    /// `e` to the power of each element.
    exp "Exp";
    /// `e^x - 1`, exact near zero.
    expm1 "Expm1";
    /// The largest integer that is not larger.
    floor "Floor";
    /// The same tensor under another name.
    identity "Identity";
    /// Whether an element is neither infinite nor NaN.
    is_finite "IsFinite";
    /// Whether an element is NaN.
    is_nan "IsNan";
    /// The natural logarithm.
    ln "Log";
    /// `ln(1 + x)`, exact near zero.
    ln_1p "Log1p";
    /// The logarithm of [`Output::softmax`], computed without loss.
    log_softmax "LogSoftmax";
    /// True where false was.
    logical_not "LogicalNot";
    /// Ones in the same shape.
    ones_like "OnesLike";
    /// The reciprocal.
    recip "Reciprocal";
    /// `max(x, 0)`.
    relu "Relu";
    /// `min(max(x, 0), 6)`.
    relu6 "Relu6";
    /// The nearest integer, the even one of two.
    round "Round";
    /// `1 / sqrt(x)`.
    rsqrt "Rsqrt";
    /// The scaled exponential linear unit.
    selu "Selu";
    /// The shape as an `int32` vector, computed in the step.
    shape_tensor "Shape";
    /// `1 / (1 + e^-x)`.
    sigmoid "Sigmoid";
    /// -1, 0 or 1 by the sign.
    sign "Sign";
    /// The sine.
    sin "Sin";
    /// The hyperbolic sine.
    sinh "Sinh";
    /// The number of elements as an `int32`, computed in the step.
    size_tensor "Size";
    /// Exponentials that add up to one along the last dimension.
    softmax "Softmax";
    /// `ln(1 + e^x)`.
    softplus "Softplus";
    /// `x / (1 + |x|)`.
    softsign "Softsign";
    /// The square root.
    sqrt "Sqrt";
    /// The square.
    square "Square";
    /// The same tensor, which gradients do not flow back through.
    stop_gradient "StopGradient";
    /// The tangent.
    tan "Tan";
    /// The hyperbolic tangent.
    tanh "Tanh";
    /// Zeros in the same shape.
    zeros_like "ZerosLike";
}

macro_rules! binary {
    ($($(#[$doc:meta])+ $name:ident $op:literal;)+) => {
        impl Output {
            $(
                $(#[$doc])+
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
    atan2 "Atan2";
    /// Where the elements are equal.
    equal "Equal";
    /// The quotient rounded down.
    floor_div "FloorDiv";
    /// Where this tensor's elements are greater.
    greater "Greater";
    /// Where this tensor's elements are greater or equal.
    greater_equal "GreaterEqual";
    /// Where this tensor's elements are less.
    less "Less";
    /// Where this tensor's elements are less or equal.
    less_equal "LessEqual";
    /// Where both are true.
    logical_and "LogicalAnd";
    /// Where one is true.
    logical_or "LogicalOr";
    /// The greater of each two elements.
    maximum "Maximum";
    /// The lesser of each two elements.
    minimum "Minimum";
    /// Where the elements differ.
    not_equal "NotEqual";
    /// This tensor's elements to the power of the others.
    pow "Pow";
    /// The square of the difference.
    squared_difference "SquaredDifference";
}

macro_rules! reductions {
    ($($(#[$doc:meta])+ $name:ident $along:ident $op:literal;)+) => {
        impl Output {
            $(
                $(#[$doc])+
                #[must_use]
                #[track_caller]
                pub fn $name(&self) -> Output {
                    self.reduce($op, Axes::All, false)
                }

                $(#[$doc])+
                ///
                /// Along some dimensions only; they stay, with size one, if `keep_dims`.
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
    all all_along "All";
    /// Whether one element is true.
    any any_along "Any";
    /// The greatest element.
    max max_along "Max";
    /// The mean of the elements.
    mean mean_along "Mean";
    /// The least element.
    min min_along "Min";
    /// The product of the elements.
    product product_along "Prod";
    /// The sum of the elements.
    sum sum_along "Sum";
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
    #[must_use]
    #[track_caller]
    pub fn matmul(&self, other: impl Operand) -> Output {
        self.matmul_with(other, false, false)
    }

    /// The product of two matrices, or of two batches of them, of which one may be taken transposed.
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
    #[must_use]
    #[track_caller]
    pub fn reshape(&self, shape: impl Operand) -> Output {
        self.graph().op("Reshape").input(self).input(shape).output()
    }

    /// The dimensions in another order.
    #[must_use]
    #[track_caller]
    pub fn transpose(&self, order: &[i32]) -> Output {
        self.graph().op("Transpose").input(self).input(order.to_vec()).output()
    }

    /// The elements as another type.
    #[must_use]
    #[track_caller]
    pub fn cast(&self, dtype: DType) -> Output {
        if self.dtype() == dtype {
            return self.clone();
        }
        self.graph().op("Cast").input(self).attr("DstT", dtype).output()
    }

    /// A dimension of size one more, before dimension `axis`.
    #[must_use]
    #[track_caller]
    pub fn expand_dims(&self, axis: i32) -> Output {
        self.graph().op("ExpandDims").input(self).input(axis).output()
    }

    /// Without some dimensions of size one.
    #[must_use]
    #[track_caller]
    pub fn squeeze(&self, axes: &[i64]) -> Output {
        self.graph().op("Squeeze").input(self).attr("squeeze_dims", axes.to_vec()).output()
    }

    /// The position of the greatest element along a dimension, as `int64`.
    #[must_use]
    #[track_caller]
    pub fn argmax(&self, axis: i32) -> Output {
        self.graph().op("ArgMax").input(self).input(axis).output()
    }

    /// The slices with the given numbers along a dimension.
    #[must_use]
    #[track_caller]
    pub fn gather(&self, indices: impl Operand, axis: i32) -> Output {
        self.graph().op("GatherV2").input(self).input(indices).input(axis).output()
    }

    /// A part: `size` elements from `begin` on in each dimension; -1 means all that follow.
    #[must_use]
    #[track_caller]
    pub fn slice(&self, begin: &[i32], size: &[i32]) -> Output {
        self.graph().op("Slice").input(self).input(begin.to_vec()).input(size.to_vec()).output()
    }

    /// Elements of `self` where `condition` holds, of `other` elsewhere.
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
    #[must_use]
    #[track_caller]
    pub fn clip(&self, low: impl Operand, high: impl Operand) -> Output {
        self.minimum(high).maximum(low)
    }

    /// A vector of ones and zeros for each class number: one at its position.
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
