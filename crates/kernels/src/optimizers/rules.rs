//! The update rules, written as the papers and TensorFlow's documentation write them.
//!
//! Those on any [`Scalar`] also serve complex variables. The others need an order, and are on real
//! numbers only.

use num_traits::Float;

use super::{Rule, Scalar};

/// A real number that rules compute with.
pub trait Real: Scalar + Float {}

impl Real for f32 {}
impl Real for f64 {}

/// -1, 0 or 1; NaN stays NaN.
#[inline(always)]
fn sign<W: Real>(x: W) -> W {
    if x > W::zero() {
        Scalar::of(1.0)
    } else if x < W::zero() {
        Scalar::of(-1.0)
    } else {
        x
    }
}

/// Moves `x` towards zero by `by`, at most to zero.
#[inline(always)]
fn shrink<W: Real>(x: W, by: W) -> W {
    sign(x) * (Float::abs(x) - by).max(W::zero())
}

/// Steps straight down.
#[derive(Clone, Copy, Debug)]
pub struct GradientDescent<W> {
    pub lr: W,
}

impl<W: Scalar> Rule<W, 1> for GradientDescent<W> {
    #[inline(always)]
    fn step(&self, [var]: [W; 1], grad: W) -> [W; 1] {
        [var - grad * self.lr]
    }
}

/// Steps down, then shrinks by the regularisation (Duchi and Singer's Fobos).
#[derive(Clone, Copy, Debug)]
pub struct ProximalGradientDescent<W> {
    pub lr: W,
    pub l1: W,
    pub l2: W,
}

impl<W: Real> Rule<W, 1> for ProximalGradientDescent<W> {
    #[inline(always)]
    fn step(&self, [var]: [W; 1], grad: W) -> [W; 1] {
        let stepped = var - grad * self.lr;
        [shrink(stepped, self.lr * self.l1) / (<W as Scalar>::one() + self.l2 * self.lr)]
    }
}

/// Zeiler's step sizes from past gradients and past updates.
#[derive(Clone, Copy, Debug)]
pub struct Adadelta<W> {
    pub lr: W,
    pub rho: W,
    pub epsilon: W,
}

impl<W: Scalar> Rule<W, 3> for Adadelta<W> {
    #[inline(always)]
    fn step(&self, [var, accum, accum_update]: [W; 3], grad: W) -> [W; 3] {
        let fresh = W::one() - self.rho;
        let accum = accum * self.rho + grad.square() * fresh;
        let update = (accum_update + self.epsilon).sqrt() / (accum + self.epsilon).sqrt() * grad;
        let accum_update = accum_update * self.rho + update.square() * fresh;
        [var - update * self.lr, accum, accum_update]
    }
}

/// Smaller steps where gradients were large.
#[derive(Clone, Copy, Debug)]
pub struct Adagrad<W> {
    pub lr: W,
    /// Whether this gradient counts for later steps, and for this one.
    pub update_slots: bool,
}

impl<W: Scalar> Rule<W, 2> for Adagrad<W> {
    #[inline(always)]
    fn step(&self, [var, accum]: [W; 2], grad: W) -> [W; 2] {
        let accum = if self.update_slots { accum + grad.square() } else { accum };
        [var - grad * self.lr * (W::one() / accum.sqrt()), accum]
    }
}

/// As [`Adagrad`], with a term that keeps the step finite.
#[derive(Clone, Copy, Debug)]
pub struct AdagradV2<W> {
    pub lr: W,
    pub epsilon: W,
    pub update_slots: bool,
}

impl<W: Scalar> Rule<W, 2> for AdagradV2<W> {
    #[inline(always)]
    fn step(&self, [var, accum]: [W; 2], grad: W) -> [W; 2] {
        let accum = if self.update_slots { accum + grad.square() } else { accum };
        [var - grad * self.lr / (accum.sqrt() + self.epsilon), accum]
    }
}

/// Adagrad by dual averaging: the variable follows from the sums of all gradients and squares.
#[derive(Clone, Copy, Debug)]
pub struct AdagradDa<W> {
    pub lr: W,
    pub l1: W,
    pub l2: W,
    pub global_step: W,
}

impl<W: Real> Rule<W, 3> for AdagradDa<W> {
    #[inline(always)]
    fn step(&self, [_, sum, squares]: [W; 3], grad: W) -> [W; 3] {
        let sum = sum + grad;
        let squares = squares + grad.square();
        let down = -(self.lr * shrink(sum, self.global_step * self.l1));
        let var = down / (self.l2 * (self.global_step * self.lr) + Scalar::sqrt(squares));
        [var, sum, squares]
    }
}

/// [`Adagrad`]'s step sizes, then [`ProximalGradientDescent`]'s shrinking.
#[derive(Clone, Copy, Debug)]
pub struct ProximalAdagrad<W> {
    pub lr: W,
    pub l1: W,
    pub l2: W,
}

impl<W: Real> Rule<W, 2> for ProximalAdagrad<W> {
    #[inline(always)]
    fn step(&self, [var, accum]: [W; 2], grad: W) -> [W; 2] {
        let accum = accum + grad.square();
        let lr = self.lr / Scalar::sqrt(accum);
        let stepped = var - grad * lr;
        [shrink(stepped, lr * self.l1) / (<W as Scalar>::one() + self.l2 * lr), accum]
    }
}

/// How [`Ftrl`] turns an accumulator into a step size.
pub trait Power<W>: Copy + Send + Sync {
    /// The accumulator to the power of minus `lr_power`.
    fn of(self, accum: W) -> W;
}

/// `lr_power` is -0.5, as it nearly always is.
#[derive(Clone, Copy, Debug)]
pub struct SquareRoot;

impl<W: Real> Power<W> for SquareRoot {
    #[inline(always)]
    fn of(self, accum: W) -> W {
        Scalar::sqrt(accum)
    }
}

/// Any `lr_power`.
#[derive(Clone, Copy, Debug)]
pub struct AnyPower<W> {
    pub lr_power: W,
}

impl<W: Real> Power<W> for AnyPower<W> {
    #[inline(always)]
    fn of(self, accum: W) -> W {
        accum.powf(-self.lr_power)
    }
}

/// Follow the regularised leader (McMahan et al.).
#[derive(Clone, Copy, Debug)]
pub struct Ftrl<W, P> {
    pub lr: W,
    pub l1: W,
    pub l2: W,
    pub l2_shrinkage: W,
    pub power: P,
    /// Whether the slot `linear` holds its sum multiplied by the learning rate.
    pub multiply_linear_by_lr: bool,
}

impl<W: Real, P: Power<W>> Rule<W, 3> for Ftrl<W, P> {
    #[inline(always)]
    fn step(&self, [var, accum, linear]: [W; 3], grad: W) -> [W; 3] {
        let two = <W as Scalar>::of(2.0);
        let shrunk = grad + two * self.l2_shrinkage * var;
        let new_accum = accum + grad.square();
        let (before, after) = (self.power.of(accum), self.power.of(new_accum));
        let (linear, l1, slope) = if self.multiply_linear_by_lr {
            let linear = linear + (shrunk * self.lr - (after - before) * var);
            (linear, self.l1 * self.lr, after + two * self.l2 * self.lr)
        } else {
            let linear = linear + (shrunk - (after - before) / self.lr * var);
            (linear, self.l1, after / self.lr + two * self.l2)
        };
        let inside = (l1 * sign(linear) - linear) / slope;
        let var = if Float::abs(linear) > l1 { inside } else { W::zero() };
        [var, new_accum, linear]
    }
}

/// Rolls on in the direction of past gradients.
#[derive(Clone, Copy, Debug)]
pub struct Momentum<W> {
    pub lr: W,
    pub momentum: W,
    pub use_nesterov: bool,
}

impl<W: Scalar> Rule<W, 2> for Momentum<W> {
    #[inline(always)]
    fn step(&self, [var, accum]: [W; 2], grad: W) -> [W; 2] {
        let accum = accum * self.momentum + grad;
        let step = if self.use_nesterov {
            grad * self.lr + accum * self.momentum * self.lr
        } else {
            accum * self.lr
        };
        [var - step, accum]
    }
}

/// As [`Momentum`], with the learning rate inside the slot.
#[derive(Clone, Copy, Debug)]
pub struct KerasMomentum<W> {
    pub lr: W,
    pub momentum: W,
    pub use_nesterov: bool,
}

impl<W: Scalar> Rule<W, 2> for KerasMomentum<W> {
    #[inline(always)]
    fn step(&self, [var, accum]: [W; 2], grad: W) -> [W; 2] {
        let accum = accum * self.momentum - grad * self.lr;
        let step = if self.use_nesterov { accum * self.momentum - grad * self.lr } else { accum };
        [var + step, accum]
    }
}

/// Kingma and Ba's moments.
#[derive(Clone, Copy, Debug)]
pub struct Adam<W> {
    /// The learning rate corrected for the moments' start at zero.
    pub alpha: W,
    pub beta1: W,
    pub beta2: W,
    pub epsilon: W,
    pub use_nesterov: bool,
}

/// The learning rate of [`Adam`] after as many steps as the powers tell.
fn corrected<W: Scalar>(lr: W, beta1_power: W, beta2_power: W) -> W {
    lr * (W::one() - beta2_power).sqrt() / (W::one() - beta1_power)
}

impl<W: Scalar> Adam<W> {
    /// Makes the rule for one step from the powers of the betas so far.
    pub fn new(
        [beta1_power, beta2_power, lr, beta1, beta2, epsilon]: [W; 6],
        use_nesterov: bool,
    ) -> Adam<W> {
        let alpha = corrected(lr, beta1_power, beta2_power);
        Adam { alpha, beta1, beta2, epsilon, use_nesterov }
    }
}

impl<W: Scalar> Rule<W, 3> for Adam<W> {
    #[inline(always)]
    fn step(&self, [var, m, v]: [W; 3], grad: W) -> [W; 3] {
        let fresh = W::one() - self.beta1;
        let m = m + (grad - m) * fresh;
        let v = v + (grad.square() - v) * (W::one() - self.beta2);
        let direction = if self.use_nesterov { grad * fresh + self.beta1 * m } else { m };
        [var - direction * self.alpha / (v.sqrt() + self.epsilon), m, v]
    }
}

/// [`Adam`] with step sizes that never grow.
#[derive(Clone, Copy, Debug)]
pub struct AmsGrad<W> {
    pub alpha: W,
    pub beta1: W,
    pub beta2: W,
    pub epsilon: W,
}

impl<W: Real> AmsGrad<W> {
    /// Makes the rule for one step from the powers of the betas so far.
    pub fn new([beta1_power, beta2_power, lr, beta1, beta2, epsilon]: [W; 6]) -> AmsGrad<W> {
        AmsGrad { alpha: corrected(lr, beta1_power, beta2_power), beta1, beta2, epsilon }
    }
}

impl<W: Real> Rule<W, 4> for AmsGrad<W> {
    #[inline(always)]
    fn step(&self, [var, m, v, vhat]: [W; 4], grad: W) -> [W; 4] {
        let one = <W as Scalar>::one();
        let m = m + (grad - m) * (one - self.beta1);
        let v = v + (grad.square() - v) * (one - self.beta2);
        let vhat = vhat.max(v);
        [var - m * self.alpha / (Scalar::sqrt(vhat) + self.epsilon), m, v, vhat]
    }
}

/// [`Adam`] with the largest gradient instead of the second moment.
#[derive(Clone, Copy, Debug)]
pub struct AdaMax<W> {
    /// The learning rate corrected for the moment's start at zero.
    pub alpha: W,
    pub beta1: W,
    pub beta2: W,
    pub epsilon: W,
}

impl<W: Real> AdaMax<W> {
    /// Makes the rule for one step from the power of `beta1` so far.
    pub fn new([beta1_power, lr, beta1, beta2, epsilon]: [W; 5]) -> AdaMax<W> {
        AdaMax { alpha: lr / (<W as Scalar>::one() - beta1_power), beta1, beta2, epsilon }
    }
}

impl<W: Real> Rule<W, 3> for AdaMax<W> {
    #[inline(always)]
    fn step(&self, [var, m, v]: [W; 3], grad: W) -> [W; 3] {
        let m = m + (grad - m) * (<W as Scalar>::one() - self.beta1);
        let v = (self.beta2 * v).max(Float::abs(grad));
        [var - self.alpha * (m / (v + self.epsilon)), m, v]
    }
}

/// Hinton's step sizes from a moving average of squared gradients.
#[derive(Clone, Copy, Debug)]
pub struct RmsProp<W> {
    pub lr: W,
    pub rho: W,
    pub momentum: W,
    pub epsilon: W,
}

impl<W: Scalar> Rule<W, 3> for RmsProp<W> {
    #[inline(always)]
    fn step(&self, [var, ms, mom]: [W; 3], grad: W) -> [W; 3] {
        let ms = ms + (grad.square() - ms) * (W::one() - self.rho);
        let mom = mom * self.momentum + grad * self.lr / (ms + self.epsilon).sqrt();
        [var - mom, ms, mom]
    }
}

/// As [`RmsProp`], with the variance instead of the mean square.
#[derive(Clone, Copy, Debug)]
pub struct CenteredRmsProp<W> {
    pub lr: W,
    pub rho: W,
    pub momentum: W,
    pub epsilon: W,
}

impl<W: Scalar> Rule<W, 4> for CenteredRmsProp<W> {
    #[inline(always)]
    fn step(&self, [var, mg, ms, mom]: [W; 4], grad: W) -> [W; 4] {
        let fresh = W::one() - self.rho;
        let ms = ms + (grad.square() - ms) * fresh;
        let mg = mg + (grad - mg) * fresh;
        let variance = ms - mg.square() + self.epsilon;
        let mom = mom * self.momentum + grad * self.lr / variance.sqrt();
        [var - mom, mg, ms, mom]
    }
}

/// Longer steps while gradient and momentum agree (Bello et al.).
#[derive(Clone, Copy, Debug)]
pub struct AddSign<W> {
    pub lr: W,
    pub alpha: W,
    pub sign_decay: W,
    pub beta: W,
}

impl<W: Real> Rule<W, 2> for AddSign<W> {
    #[inline(always)]
    fn step(&self, [var, m]: [W; 2], grad: W) -> [W; 2] {
        let m = m * self.beta + grad * (<W as Scalar>::one() - self.beta);
        let agreement = sign(grad) * sign(m);
        [var - self.lr * (self.alpha + self.sign_decay * agreement) * grad, m]
    }
}

/// As [`AddSign`], with a factor instead of a term.
#[derive(Clone, Copy, Debug)]
pub struct PowerSign<W> {
    pub lr: W,
    /// The factor while the two agree; its inverse is for when they do not.
    pub scale: W,
    pub beta: W,
}

impl<W: Real> PowerSign<W> {
    /// Makes the rule for one step.
    pub fn new([lr, logbase, sign_decay, beta]: [W; 4]) -> PowerSign<W> {
        PowerSign { lr, scale: Float::exp(logbase * sign_decay), beta }
    }
}

impl<W: Real> Rule<W, 2> for PowerSign<W> {
    #[inline(always)]
    fn step(&self, [var, m]: [W; 2], grad: W) -> [W; 2] {
        let one = <W as Scalar>::one();
        let m = m * self.beta + grad * (one - self.beta);
        let agreement = sign(grad) * sign(m);
        let scale = if agreement > W::zero() {
            self.scale
        } else if agreement < W::zero() {
            one / self.scale
        } else {
            // Neither, or not a number.
            one + agreement
        };
        [var - self.lr * scale * grad, m]
    }
}
