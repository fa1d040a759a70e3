//! Ops of the family `training`, @generated from the registry by `tests/it/generated`.

use super::prelude::*;

/// Trains a reference variable by AdaMax.
///
/// Op `ApplyAdaMax`. Output: `out`.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn apply_ada_max(
    graph: &Graph,
    var: impl Operand,
    m: impl Operand,
    v: impl Operand,
    beta1_power: impl Operand,
    lr: impl Operand,
    beta1: impl Operand,
    beta2: impl Operand,
    epsilon: impl Operand,
    grad: impl Operand,
) -> OpBuilder {
    graph
        .op("ApplyAdaMax")
        .input(var)
        .input(m)
        .input(v)
        .input(beta1_power)
        .input(lr)
        .input(beta1)
        .input(beta2)
        .input(epsilon)
        .input(grad)
}

/// Trains a reference variable by Adadelta.
///
/// Op `ApplyAdadelta`. Output: `out`.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn apply_adadelta(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    accum_update: impl Operand,
    lr: impl Operand,
    rho: impl Operand,
    epsilon: impl Operand,
    grad: impl Operand,
) -> OpBuilder {
    graph
        .op("ApplyAdadelta")
        .input(var)
        .input(accum)
        .input(accum_update)
        .input(lr)
        .input(rho)
        .input(epsilon)
        .input(grad)
}

/// Trains a reference variable by Adagrad.
///
/// Op `ApplyAdagrad`. Output: `out`.
///
/// Attributes with defaults: `use_locking: bool = false`, `update_slots: bool = true`.
#[track_caller]
pub fn apply_adagrad(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    lr: impl Operand,
    grad: impl Operand,
) -> OpBuilder {
    graph.op("ApplyAdagrad").input(var).input(accum).input(lr).input(grad)
}

/// Trains a reference variable by Adagrad with dual averaging.
///
/// Op `ApplyAdagradDA`. Output: `out`.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn apply_adagrad_da(
    graph: &Graph,
    var: impl Operand,
    gradient_accumulator: impl Operand,
    gradient_squared_accumulator: impl Operand,
    grad: impl Operand,
    lr: impl Operand,
    l1: impl Operand,
    l2: impl Operand,
    global_step: impl Operand,
) -> OpBuilder {
    graph
        .op("ApplyAdagradDA")
        .input(var)
        .input(gradient_accumulator)
        .input(gradient_squared_accumulator)
        .input(grad)
        .input(lr)
        .input(l1)
        .input(l2)
        .input(global_step)
}

/// Trains a reference variable by Adagrad with an epsilon.
///
/// Op `ApplyAdagradV2`. Output: `out`.
///
/// Attributes with defaults: `use_locking: bool = false`, `update_slots: bool = true`.
#[track_caller]
pub fn apply_adagrad_v2(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    lr: impl Operand,
    epsilon: impl Operand,
    grad: impl Operand,
) -> OpBuilder {
    graph.op("ApplyAdagradV2").input(var).input(accum).input(lr).input(epsilon).input(grad)
}

/// Trains a reference variable by Adam.
///
/// Op `ApplyAdam`. Output: `out`.
///
/// Attributes with defaults: `use_locking: bool = false`, `use_nesterov: bool = false`.
#[track_caller]
pub fn apply_adam(
    graph: &Graph,
    var: impl Operand,
    m: impl Operand,
    v: impl Operand,
    beta1_power: impl Operand,
    beta2_power: impl Operand,
    lr: impl Operand,
    beta1: impl Operand,
    beta2: impl Operand,
    epsilon: impl Operand,
    grad: impl Operand,
) -> OpBuilder {
    graph
        .op("ApplyAdam")
        .input(var)
        .input(m)
        .input(v)
        .input(beta1_power)
        .input(beta2_power)
        .input(lr)
        .input(beta1)
        .input(beta2)
        .input(epsilon)
        .input(grad)
}

/// Trains a reference variable by AddSign.
///
/// Op `ApplyAddSign`. Output: `out`.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn apply_add_sign(
    graph: &Graph,
    var: impl Operand,
    m: impl Operand,
    lr: impl Operand,
    alpha: impl Operand,
    sign_decay: impl Operand,
    beta: impl Operand,
    grad: impl Operand,
) -> OpBuilder {
    graph
        .op("ApplyAddSign")
        .input(var)
        .input(m)
        .input(lr)
        .input(alpha)
        .input(sign_decay)
        .input(beta)
        .input(grad)
}

/// Trains a reference variable by centred RMSProp.
///
/// Op `ApplyCenteredRMSProp`. Output: `out`.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn apply_centered_rms_prop(
    graph: &Graph,
    var: impl Operand,
    mg: impl Operand,
    ms: impl Operand,
    mom: impl Operand,
    lr: impl Operand,
    rho: impl Operand,
    momentum: impl Operand,
    epsilon: impl Operand,
    grad: impl Operand,
) -> OpBuilder {
    graph
        .op("ApplyCenteredRMSProp")
        .input(var)
        .input(mg)
        .input(ms)
        .input(mom)
        .input(lr)
        .input(rho)
        .input(momentum)
        .input(epsilon)
        .input(grad)
}

/// Trains a reference variable by FTRL.
///
/// Op `ApplyFtrl`. Output: `out`.
///
/// Attributes with defaults: `use_locking: bool = false`, `multiply_linear_by_lr: bool = false`.
#[track_caller]
pub fn apply_ftrl(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    linear: impl Operand,
    grad: impl Operand,
    lr: impl Operand,
    l1: impl Operand,
    l2: impl Operand,
    lr_power: impl Operand,
) -> OpBuilder {
    graph
        .op("ApplyFtrl")
        .input(var)
        .input(accum)
        .input(linear)
        .input(grad)
        .input(lr)
        .input(l1)
        .input(l2)
        .input(lr_power)
}

/// Trains a reference variable by FTRL with shrinkage.
///
/// Op `ApplyFtrlV2`. Output: `out`.
///
/// Attributes with defaults: `use_locking: bool = false`, `multiply_linear_by_lr: bool = false`.
#[track_caller]
pub fn apply_ftrl_v2(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    linear: impl Operand,
    grad: impl Operand,
    lr: impl Operand,
    l1: impl Operand,
    l2: impl Operand,
    l2_shrinkage: impl Operand,
    lr_power: impl Operand,
) -> OpBuilder {
    graph
        .op("ApplyFtrlV2")
        .input(var)
        .input(accum)
        .input(linear)
        .input(grad)
        .input(lr)
        .input(l1)
        .input(l2)
        .input(l2_shrinkage)
        .input(lr_power)
}

/// Trains a reference variable by gradient descent.
///
/// Op `ApplyGradientDescent`. Output: `out`.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn apply_gradient_descent(
    graph: &Graph,
    var: impl Operand,
    alpha: impl Operand,
    delta: impl Operand,
) -> OpBuilder {
    graph.op("ApplyGradientDescent").input(var).input(alpha).input(delta)
}

/// Trains a reference variable by momentum.
///
/// Op `ApplyMomentum`. Output: `out`.
///
/// Attributes with defaults: `use_locking: bool = false`, `use_nesterov: bool = false`.
#[track_caller]
pub fn apply_momentum(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    lr: impl Operand,
    grad: impl Operand,
    momentum: impl Operand,
) -> OpBuilder {
    graph.op("ApplyMomentum").input(var).input(accum).input(lr).input(grad).input(momentum)
}

/// Trains a reference variable by PowerSign.
///
/// Op `ApplyPowerSign`. Output: `out`.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn apply_power_sign(
    graph: &Graph,
    var: impl Operand,
    m: impl Operand,
    lr: impl Operand,
    logbase: impl Operand,
    sign_decay: impl Operand,
    beta: impl Operand,
    grad: impl Operand,
) -> OpBuilder {
    graph
        .op("ApplyPowerSign")
        .input(var)
        .input(m)
        .input(lr)
        .input(logbase)
        .input(sign_decay)
        .input(beta)
        .input(grad)
}

/// Trains a reference variable by Adagrad with a proximal step.
///
/// Op `ApplyProximalAdagrad`. Output: `out`.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn apply_proximal_adagrad(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    lr: impl Operand,
    l1: impl Operand,
    l2: impl Operand,
    grad: impl Operand,
) -> OpBuilder {
    graph
        .op("ApplyProximalAdagrad")
        .input(var)
        .input(accum)
        .input(lr)
        .input(l1)
        .input(l2)
        .input(grad)
}

/// Trains a reference variable by gradient descent with a proximal step.
///
/// Op `ApplyProximalGradientDescent`. Output: `out`.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn apply_proximal_gradient_descent(
    graph: &Graph,
    var: impl Operand,
    alpha: impl Operand,
    l1: impl Operand,
    l2: impl Operand,
    delta: impl Operand,
) -> OpBuilder {
    graph
        .op("ApplyProximalGradientDescent")
        .input(var)
        .input(alpha)
        .input(l1)
        .input(l2)
        .input(delta)
}

/// Trains a reference variable by RMSProp.
///
/// Op `ApplyRMSProp`. Output: `out`.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn apply_rms_prop(
    graph: &Graph,
    var: impl Operand,
    ms: impl Operand,
    mom: impl Operand,
    lr: impl Operand,
    rho: impl Operand,
    momentum: impl Operand,
    epsilon: impl Operand,
    grad: impl Operand,
) -> OpBuilder {
    graph
        .op("ApplyRMSProp")
        .input(var)
        .input(ms)
        .input(mom)
        .input(lr)
        .input(rho)
        .input(momentum)
        .input(epsilon)
        .input(grad)
}

/// Trains a variable by AdaMax.
///
/// Op `ResourceApplyAdaMax`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn resource_apply_ada_max(
    graph: &Graph,
    var: impl Operand,
    m: impl Operand,
    v: impl Operand,
    beta1_power: impl Operand,
    lr: impl Operand,
    beta1: impl Operand,
    beta2: impl Operand,
    epsilon: impl Operand,
    grad: impl Operand,
) -> OpBuilder {
    graph
        .op("ResourceApplyAdaMax")
        .input(var)
        .input(m)
        .input(v)
        .input(beta1_power)
        .input(lr)
        .input(beta1)
        .input(beta2)
        .input(epsilon)
        .input(grad)
}

/// Trains a variable by Adadelta.
///
/// Op `ResourceApplyAdadelta`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn resource_apply_adadelta(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    accum_update: impl Operand,
    lr: impl Operand,
    rho: impl Operand,
    epsilon: impl Operand,
    grad: impl Operand,
) -> OpBuilder {
    graph
        .op("ResourceApplyAdadelta")
        .input(var)
        .input(accum)
        .input(accum_update)
        .input(lr)
        .input(rho)
        .input(epsilon)
        .input(grad)
}

/// Trains a variable by Adagrad.
///
/// Op `ResourceApplyAdagrad`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`, `update_slots: bool = true`.
#[track_caller]
pub fn resource_apply_adagrad(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    lr: impl Operand,
    grad: impl Operand,
) -> OpBuilder {
    graph.op("ResourceApplyAdagrad").input(var).input(accum).input(lr).input(grad)
}

/// Trains a variable by Adagrad with dual averaging.
///
/// Op `ResourceApplyAdagradDA`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn resource_apply_adagrad_da(
    graph: &Graph,
    var: impl Operand,
    gradient_accumulator: impl Operand,
    gradient_squared_accumulator: impl Operand,
    grad: impl Operand,
    lr: impl Operand,
    l1: impl Operand,
    l2: impl Operand,
    global_step: impl Operand,
) -> OpBuilder {
    graph
        .op("ResourceApplyAdagradDA")
        .input(var)
        .input(gradient_accumulator)
        .input(gradient_squared_accumulator)
        .input(grad)
        .input(lr)
        .input(l1)
        .input(l2)
        .input(global_step)
}

/// Trains a variable by Adagrad with an epsilon.
///
/// Op `ResourceApplyAdagradV2`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`, `update_slots: bool = true`.
#[track_caller]
pub fn resource_apply_adagrad_v2(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    lr: impl Operand,
    epsilon: impl Operand,
    grad: impl Operand,
) -> OpBuilder {
    graph.op("ResourceApplyAdagradV2").input(var).input(accum).input(lr).input(epsilon).input(grad)
}

/// Trains a variable by Adam.
///
/// Op `ResourceApplyAdam`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`, `use_nesterov: bool = false`.
#[track_caller]
pub fn resource_apply_adam(
    graph: &Graph,
    var: impl Operand,
    m: impl Operand,
    v: impl Operand,
    beta1_power: impl Operand,
    beta2_power: impl Operand,
    lr: impl Operand,
    beta1: impl Operand,
    beta2: impl Operand,
    epsilon: impl Operand,
    grad: impl Operand,
) -> OpBuilder {
    graph
        .op("ResourceApplyAdam")
        .input(var)
        .input(m)
        .input(v)
        .input(beta1_power)
        .input(beta2_power)
        .input(lr)
        .input(beta1)
        .input(beta2)
        .input(epsilon)
        .input(grad)
}

/// Trains a variable by Adam with the AMSGrad bound.
///
/// Op `ResourceApplyAdamWithAmsgrad`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn resource_apply_adam_with_amsgrad(
    graph: &Graph,
    var: impl Operand,
    m: impl Operand,
    v: impl Operand,
    vhat: impl Operand,
    beta1_power: impl Operand,
    beta2_power: impl Operand,
    lr: impl Operand,
    beta1: impl Operand,
    beta2: impl Operand,
    epsilon: impl Operand,
    grad: impl Operand,
) -> OpBuilder {
    graph
        .op("ResourceApplyAdamWithAmsgrad")
        .input(var)
        .input(m)
        .input(v)
        .input(vhat)
        .input(beta1_power)
        .input(beta2_power)
        .input(lr)
        .input(beta1)
        .input(beta2)
        .input(epsilon)
        .input(grad)
}

/// Trains a variable by AddSign.
///
/// Op `ResourceApplyAddSign`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn resource_apply_add_sign(
    graph: &Graph,
    var: impl Operand,
    m: impl Operand,
    lr: impl Operand,
    alpha: impl Operand,
    sign_decay: impl Operand,
    beta: impl Operand,
    grad: impl Operand,
) -> OpBuilder {
    graph
        .op("ResourceApplyAddSign")
        .input(var)
        .input(m)
        .input(lr)
        .input(alpha)
        .input(sign_decay)
        .input(beta)
        .input(grad)
}

/// Trains a variable by centred RMSProp.
///
/// Op `ResourceApplyCenteredRMSProp`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn resource_apply_centered_rms_prop(
    graph: &Graph,
    var: impl Operand,
    mg: impl Operand,
    ms: impl Operand,
    mom: impl Operand,
    lr: impl Operand,
    rho: impl Operand,
    momentum: impl Operand,
    epsilon: impl Operand,
    grad: impl Operand,
) -> OpBuilder {
    graph
        .op("ResourceApplyCenteredRMSProp")
        .input(var)
        .input(mg)
        .input(ms)
        .input(mom)
        .input(lr)
        .input(rho)
        .input(momentum)
        .input(epsilon)
        .input(grad)
}

/// Trains a variable by FTRL.
///
/// Op `ResourceApplyFtrl`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`, `multiply_linear_by_lr: bool = false`.
#[track_caller]
pub fn resource_apply_ftrl(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    linear: impl Operand,
    grad: impl Operand,
    lr: impl Operand,
    l1: impl Operand,
    l2: impl Operand,
    lr_power: impl Operand,
) -> OpBuilder {
    graph
        .op("ResourceApplyFtrl")
        .input(var)
        .input(accum)
        .input(linear)
        .input(grad)
        .input(lr)
        .input(l1)
        .input(l2)
        .input(lr_power)
}

/// Trains a variable by FTRL with shrinkage.
///
/// Op `ResourceApplyFtrlV2`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`, `multiply_linear_by_lr: bool = false`.
#[track_caller]
pub fn resource_apply_ftrl_v2(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    linear: impl Operand,
    grad: impl Operand,
    lr: impl Operand,
    l1: impl Operand,
    l2: impl Operand,
    l2_shrinkage: impl Operand,
    lr_power: impl Operand,
) -> OpBuilder {
    graph
        .op("ResourceApplyFtrlV2")
        .input(var)
        .input(accum)
        .input(linear)
        .input(grad)
        .input(lr)
        .input(l1)
        .input(l2)
        .input(l2_shrinkage)
        .input(lr_power)
}

/// Trains a variable by gradient descent.
///
/// Op `ResourceApplyGradientDescent`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn resource_apply_gradient_descent(
    graph: &Graph,
    var: impl Operand,
    alpha: impl Operand,
    delta: impl Operand,
) -> OpBuilder {
    graph.op("ResourceApplyGradientDescent").input(var).input(alpha).input(delta)
}

/// Trains a variable by momentum, in the form that Keras uses.
///
/// Op `ResourceApplyKerasMomentum`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`, `use_nesterov: bool = false`.
#[track_caller]
pub fn resource_apply_keras_momentum(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    lr: impl Operand,
    grad: impl Operand,
    momentum: impl Operand,
) -> OpBuilder {
    graph
        .op("ResourceApplyKerasMomentum")
        .input(var)
        .input(accum)
        .input(lr)
        .input(grad)
        .input(momentum)
}

/// Trains a variable by momentum.
///
/// Op `ResourceApplyMomentum`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`, `use_nesterov: bool = false`.
#[track_caller]
pub fn resource_apply_momentum(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    lr: impl Operand,
    grad: impl Operand,
    momentum: impl Operand,
) -> OpBuilder {
    graph.op("ResourceApplyMomentum").input(var).input(accum).input(lr).input(grad).input(momentum)
}

/// Trains a variable by PowerSign.
///
/// Op `ResourceApplyPowerSign`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn resource_apply_power_sign(
    graph: &Graph,
    var: impl Operand,
    m: impl Operand,
    lr: impl Operand,
    logbase: impl Operand,
    sign_decay: impl Operand,
    beta: impl Operand,
    grad: impl Operand,
) -> OpBuilder {
    graph
        .op("ResourceApplyPowerSign")
        .input(var)
        .input(m)
        .input(lr)
        .input(logbase)
        .input(sign_decay)
        .input(beta)
        .input(grad)
}

/// Trains a variable by Adagrad with a proximal step.
///
/// Op `ResourceApplyProximalAdagrad`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn resource_apply_proximal_adagrad(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    lr: impl Operand,
    l1: impl Operand,
    l2: impl Operand,
    grad: impl Operand,
) -> OpBuilder {
    graph
        .op("ResourceApplyProximalAdagrad")
        .input(var)
        .input(accum)
        .input(lr)
        .input(l1)
        .input(l2)
        .input(grad)
}

/// Trains a variable by gradient descent with a proximal step.
///
/// Op `ResourceApplyProximalGradientDescent`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn resource_apply_proximal_gradient_descent(
    graph: &Graph,
    var: impl Operand,
    alpha: impl Operand,
    l1: impl Operand,
    l2: impl Operand,
    delta: impl Operand,
) -> OpBuilder {
    graph
        .op("ResourceApplyProximalGradientDescent")
        .input(var)
        .input(alpha)
        .input(l1)
        .input(l2)
        .input(delta)
}

/// Trains a variable by RMSProp.
///
/// Op `ResourceApplyRMSProp`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn resource_apply_rms_prop(
    graph: &Graph,
    var: impl Operand,
    ms: impl Operand,
    mom: impl Operand,
    lr: impl Operand,
    rho: impl Operand,
    momentum: impl Operand,
    epsilon: impl Operand,
    grad: impl Operand,
) -> OpBuilder {
    graph
        .op("ResourceApplyRMSProp")
        .input(var)
        .input(ms)
        .input(mom)
        .input(lr)
        .input(rho)
        .input(momentum)
        .input(epsilon)
        .input(grad)
}

/// Trains rows of a variable by Adadelta.
///
/// Op `ResourceSparseApplyAdadelta`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn resource_sparse_apply_adadelta(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    accum_update: impl Operand,
    lr: impl Operand,
    rho: impl Operand,
    epsilon: impl Operand,
    grad: impl Operand,
    indices: impl Operand,
) -> OpBuilder {
    graph
        .op("ResourceSparseApplyAdadelta")
        .input(var)
        .input(accum)
        .input(accum_update)
        .input(lr)
        .input(rho)
        .input(epsilon)
        .input(grad)
        .input(indices)
}

/// Trains rows of a variable by Adagrad.
///
/// Op `ResourceSparseApplyAdagrad`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`, `update_slots: bool = true`.
#[track_caller]
pub fn resource_sparse_apply_adagrad(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    lr: impl Operand,
    grad: impl Operand,
    indices: impl Operand,
) -> OpBuilder {
    graph
        .op("ResourceSparseApplyAdagrad")
        .input(var)
        .input(accum)
        .input(lr)
        .input(grad)
        .input(indices)
}

/// Trains rows of a variable by Adagrad with dual averaging.
///
/// Op `ResourceSparseApplyAdagradDA`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn resource_sparse_apply_adagrad_da(
    graph: &Graph,
    var: impl Operand,
    gradient_accumulator: impl Operand,
    gradient_squared_accumulator: impl Operand,
    grad: impl Operand,
    indices: impl Operand,
    lr: impl Operand,
    l1: impl Operand,
    l2: impl Operand,
    global_step: impl Operand,
) -> OpBuilder {
    graph
        .op("ResourceSparseApplyAdagradDA")
        .input(var)
        .input(gradient_accumulator)
        .input(gradient_squared_accumulator)
        .input(grad)
        .input(indices)
        .input(lr)
        .input(l1)
        .input(l2)
        .input(global_step)
}

/// Trains rows of a variable by Adagrad with an epsilon.
///
/// Op `ResourceSparseApplyAdagradV2`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`, `update_slots: bool = true`.
#[track_caller]
pub fn resource_sparse_apply_adagrad_v2(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    lr: impl Operand,
    epsilon: impl Operand,
    grad: impl Operand,
    indices: impl Operand,
) -> OpBuilder {
    graph
        .op("ResourceSparseApplyAdagradV2")
        .input(var)
        .input(accum)
        .input(lr)
        .input(epsilon)
        .input(grad)
        .input(indices)
}

/// Trains rows of a variable by centred RMSProp.
///
/// Op `ResourceSparseApplyCenteredRMSProp`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn resource_sparse_apply_centered_rms_prop(
    graph: &Graph,
    var: impl Operand,
    mg: impl Operand,
    ms: impl Operand,
    mom: impl Operand,
    lr: impl Operand,
    rho: impl Operand,
    momentum: impl Operand,
    epsilon: impl Operand,
    grad: impl Operand,
    indices: impl Operand,
) -> OpBuilder {
    graph
        .op("ResourceSparseApplyCenteredRMSProp")
        .input(var)
        .input(mg)
        .input(ms)
        .input(mom)
        .input(lr)
        .input(rho)
        .input(momentum)
        .input(epsilon)
        .input(grad)
        .input(indices)
}

/// Trains rows of a variable by FTRL.
///
/// Op `ResourceSparseApplyFtrl`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`, `multiply_linear_by_lr: bool = false`.
#[track_caller]
pub fn resource_sparse_apply_ftrl(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    linear: impl Operand,
    grad: impl Operand,
    indices: impl Operand,
    lr: impl Operand,
    l1: impl Operand,
    l2: impl Operand,
    lr_power: impl Operand,
) -> OpBuilder {
    graph
        .op("ResourceSparseApplyFtrl")
        .input(var)
        .input(accum)
        .input(linear)
        .input(grad)
        .input(indices)
        .input(lr)
        .input(l1)
        .input(l2)
        .input(lr_power)
}

/// Trains rows of a variable by FTRL with shrinkage.
///
/// Op `ResourceSparseApplyFtrlV2`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`, `multiply_linear_by_lr: bool = false`.
#[track_caller]
pub fn resource_sparse_apply_ftrl_v2(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    linear: impl Operand,
    grad: impl Operand,
    indices: impl Operand,
    lr: impl Operand,
    l1: impl Operand,
    l2: impl Operand,
    l2_shrinkage: impl Operand,
    lr_power: impl Operand,
) -> OpBuilder {
    graph
        .op("ResourceSparseApplyFtrlV2")
        .input(var)
        .input(accum)
        .input(linear)
        .input(grad)
        .input(indices)
        .input(lr)
        .input(l1)
        .input(l2)
        .input(l2_shrinkage)
        .input(lr_power)
}

/// Trains rows of a variable by momentum, in the form that Keras uses.
///
/// Op `ResourceSparseApplyKerasMomentum`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`, `use_nesterov: bool = false`.
#[track_caller]
pub fn resource_sparse_apply_keras_momentum(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    lr: impl Operand,
    grad: impl Operand,
    indices: impl Operand,
    momentum: impl Operand,
) -> OpBuilder {
    graph
        .op("ResourceSparseApplyKerasMomentum")
        .input(var)
        .input(accum)
        .input(lr)
        .input(grad)
        .input(indices)
        .input(momentum)
}

/// Trains rows of a variable by momentum.
///
/// Op `ResourceSparseApplyMomentum`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`, `use_nesterov: bool = false`.
#[track_caller]
pub fn resource_sparse_apply_momentum(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    lr: impl Operand,
    grad: impl Operand,
    indices: impl Operand,
    momentum: impl Operand,
) -> OpBuilder {
    graph
        .op("ResourceSparseApplyMomentum")
        .input(var)
        .input(accum)
        .input(lr)
        .input(grad)
        .input(indices)
        .input(momentum)
}

/// Trains rows of a variable by Adagrad with a proximal step.
///
/// Op `ResourceSparseApplyProximalAdagrad`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn resource_sparse_apply_proximal_adagrad(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    lr: impl Operand,
    l1: impl Operand,
    l2: impl Operand,
    grad: impl Operand,
    indices: impl Operand,
) -> OpBuilder {
    graph
        .op("ResourceSparseApplyProximalAdagrad")
        .input(var)
        .input(accum)
        .input(lr)
        .input(l1)
        .input(l2)
        .input(grad)
        .input(indices)
}

/// Trains rows of a variable by gradient descent with a proximal step.
///
/// Op `ResourceSparseApplyProximalGradientDescent`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn resource_sparse_apply_proximal_gradient_descent(
    graph: &Graph,
    var: impl Operand,
    alpha: impl Operand,
    l1: impl Operand,
    l2: impl Operand,
    grad: impl Operand,
    indices: impl Operand,
) -> OpBuilder {
    graph
        .op("ResourceSparseApplyProximalGradientDescent")
        .input(var)
        .input(alpha)
        .input(l1)
        .input(l2)
        .input(grad)
        .input(indices)
}

/// Trains rows of a variable by RMSProp.
///
/// Op `ResourceSparseApplyRMSProp`. No outputs.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn resource_sparse_apply_rms_prop(
    graph: &Graph,
    var: impl Operand,
    ms: impl Operand,
    mom: impl Operand,
    lr: impl Operand,
    rho: impl Operand,
    momentum: impl Operand,
    epsilon: impl Operand,
    grad: impl Operand,
    indices: impl Operand,
) -> OpBuilder {
    graph
        .op("ResourceSparseApplyRMSProp")
        .input(var)
        .input(ms)
        .input(mom)
        .input(lr)
        .input(rho)
        .input(momentum)
        .input(epsilon)
        .input(grad)
        .input(indices)
}

/// `SdcaOptimizer`: `out_example_state_data`, `out_delta_sparse_weights`, `out_delta_dense_weights`
/// of `sparse_example_indices`, `sparse_feature_indices`, `sparse_feature_values`,
/// `dense_features`, `example_weights`, `example_labels`, `sparse_indices`, `sparse_weights`,
/// `dense_weights`, `example_state_data`.
///
/// Outputs: `out_example_state_data: float`, `out_delta_sparse_weights: float` (a list),
/// `out_delta_dense_weights: float` (a list).
///
/// Attributes with defaults: `adaptative: bool = false`.
#[track_caller]
pub fn sdca_optimizer(
    graph: &Graph,
    sparse_example_indices: impl IntoIterator<Item = impl Operand>,
    sparse_feature_indices: impl IntoIterator<Item = impl Operand>,
    sparse_feature_values: impl IntoIterator<Item = impl Operand>,
    dense_features: impl IntoIterator<Item = impl Operand>,
    example_weights: impl Operand,
    example_labels: impl Operand,
    sparse_indices: impl IntoIterator<Item = impl Operand>,
    sparse_weights: impl IntoIterator<Item = impl Operand>,
    dense_weights: impl IntoIterator<Item = impl Operand>,
    example_state_data: impl Operand,
    loss_type: &str,
    l1: f32,
    l2: f32,
    num_loss_partitions: i64,
    num_inner_iterations: i64,
) -> OpBuilder {
    graph
        .op("SdcaOptimizer")
        .inputs(sparse_example_indices)
        .inputs(sparse_feature_indices)
        .inputs(sparse_feature_values)
        .inputs(dense_features)
        .input(example_weights)
        .input(example_labels)
        .inputs(sparse_indices)
        .inputs(sparse_weights)
        .inputs(dense_weights)
        .input(example_state_data)
        .attr("loss_type", loss_type)
        .attr("l1", l1)
        .attr("l2", l2)
        .attr("num_loss_partitions", num_loss_partitions)
        .attr("num_inner_iterations", num_inner_iterations)
}

/// `SdcaOptimizerV2`: `out_example_state_data`, `out_delta_sparse_weights`,
/// `out_delta_dense_weights` of `sparse_example_indices`, `sparse_feature_indices`,
/// `sparse_feature_values`, `dense_features`, `example_weights`, `example_labels`,
/// `sparse_indices`, `sparse_weights`, `dense_weights`, `example_state_data`.
///
/// Outputs: `out_example_state_data: float`, `out_delta_sparse_weights: float` (a list),
/// `out_delta_dense_weights: float` (a list).
///
/// Attributes with defaults: `adaptive: bool = false`.
#[track_caller]
pub fn sdca_optimizer_v2(
    graph: &Graph,
    sparse_example_indices: impl IntoIterator<Item = impl Operand>,
    sparse_feature_indices: impl IntoIterator<Item = impl Operand>,
    sparse_feature_values: impl IntoIterator<Item = impl Operand>,
    dense_features: impl IntoIterator<Item = impl Operand>,
    example_weights: impl Operand,
    example_labels: impl Operand,
    sparse_indices: impl IntoIterator<Item = impl Operand>,
    sparse_weights: impl IntoIterator<Item = impl Operand>,
    dense_weights: impl IntoIterator<Item = impl Operand>,
    example_state_data: impl Operand,
    loss_type: &str,
    l1: f32,
    l2: f32,
    num_loss_partitions: i64,
    num_inner_iterations: i64,
) -> OpBuilder {
    graph
        .op("SdcaOptimizerV2")
        .inputs(sparse_example_indices)
        .inputs(sparse_feature_indices)
        .inputs(sparse_feature_values)
        .inputs(dense_features)
        .input(example_weights)
        .input(example_labels)
        .inputs(sparse_indices)
        .inputs(sparse_weights)
        .inputs(dense_weights)
        .input(example_state_data)
        .attr("loss_type", loss_type)
        .attr("l1", l1)
        .attr("l2", l2)
        .attr("num_loss_partitions", num_loss_partitions)
        .attr("num_inner_iterations", num_inner_iterations)
}

/// `SdcaShrinkL1`, which is run for its effect.
///
/// No outputs.
#[track_caller]
pub fn sdca_shrink_l1(
    graph: &Graph,
    weights: impl IntoIterator<Item = impl Operand>,
    l1: f32,
    l2: f32,
) -> OpBuilder {
    graph.op("SdcaShrinkL1").inputs(weights).attr("l1", l1).attr("l2", l2)
}

/// Trains rows of a reference variable by Adadelta.
///
/// Op `SparseApplyAdadelta`. Output: `out`.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn sparse_apply_adadelta(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    accum_update: impl Operand,
    lr: impl Operand,
    rho: impl Operand,
    epsilon: impl Operand,
    grad: impl Operand,
    indices: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseApplyAdadelta")
        .input(var)
        .input(accum)
        .input(accum_update)
        .input(lr)
        .input(rho)
        .input(epsilon)
        .input(grad)
        .input(indices)
}

/// Trains rows of a reference variable by Adagrad.
///
/// Op `SparseApplyAdagrad`. Output: `out`.
///
/// Attributes with defaults: `use_locking: bool = false`, `update_slots: bool = true`.
#[track_caller]
pub fn sparse_apply_adagrad(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    lr: impl Operand,
    grad: impl Operand,
    indices: impl Operand,
) -> OpBuilder {
    graph.op("SparseApplyAdagrad").input(var).input(accum).input(lr).input(grad).input(indices)
}

/// Trains rows of a reference variable by Adagrad with dual averaging.
///
/// Op `SparseApplyAdagradDA`. Output: `out`.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn sparse_apply_adagrad_da(
    graph: &Graph,
    var: impl Operand,
    gradient_accumulator: impl Operand,
    gradient_squared_accumulator: impl Operand,
    grad: impl Operand,
    indices: impl Operand,
    lr: impl Operand,
    l1: impl Operand,
    l2: impl Operand,
    global_step: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseApplyAdagradDA")
        .input(var)
        .input(gradient_accumulator)
        .input(gradient_squared_accumulator)
        .input(grad)
        .input(indices)
        .input(lr)
        .input(l1)
        .input(l2)
        .input(global_step)
}

/// Trains rows of a reference variable by Adagrad with an epsilon.
///
/// Op `SparseApplyAdagradV2`. Output: `out`.
///
/// Attributes with defaults: `use_locking: bool = false`, `update_slots: bool = true`.
#[track_caller]
pub fn sparse_apply_adagrad_v2(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    lr: impl Operand,
    epsilon: impl Operand,
    grad: impl Operand,
    indices: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseApplyAdagradV2")
        .input(var)
        .input(accum)
        .input(lr)
        .input(epsilon)
        .input(grad)
        .input(indices)
}

/// Trains rows of a reference variable by centred RMSProp.
///
/// Op `SparseApplyCenteredRMSProp`. Output: `out`.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn sparse_apply_centered_rms_prop(
    graph: &Graph,
    var: impl Operand,
    mg: impl Operand,
    ms: impl Operand,
    mom: impl Operand,
    lr: impl Operand,
    rho: impl Operand,
    momentum: impl Operand,
    epsilon: impl Operand,
    grad: impl Operand,
    indices: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseApplyCenteredRMSProp")
        .input(var)
        .input(mg)
        .input(ms)
        .input(mom)
        .input(lr)
        .input(rho)
        .input(momentum)
        .input(epsilon)
        .input(grad)
        .input(indices)
}

/// Trains rows of a reference variable by FTRL.
///
/// Op `SparseApplyFtrl`. Output: `out`.
///
/// Attributes with defaults: `use_locking: bool = false`, `multiply_linear_by_lr: bool = false`.
#[track_caller]
pub fn sparse_apply_ftrl(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    linear: impl Operand,
    grad: impl Operand,
    indices: impl Operand,
    lr: impl Operand,
    l1: impl Operand,
    l2: impl Operand,
    lr_power: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseApplyFtrl")
        .input(var)
        .input(accum)
        .input(linear)
        .input(grad)
        .input(indices)
        .input(lr)
        .input(l1)
        .input(l2)
        .input(lr_power)
}

/// Trains rows of a reference variable by FTRL with shrinkage.
///
/// Op `SparseApplyFtrlV2`. Output: `out`.
///
/// Attributes with defaults: `use_locking: bool = false`, `multiply_linear_by_lr: bool = false`.
#[track_caller]
pub fn sparse_apply_ftrl_v2(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    linear: impl Operand,
    grad: impl Operand,
    indices: impl Operand,
    lr: impl Operand,
    l1: impl Operand,
    l2: impl Operand,
    l2_shrinkage: impl Operand,
    lr_power: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseApplyFtrlV2")
        .input(var)
        .input(accum)
        .input(linear)
        .input(grad)
        .input(indices)
        .input(lr)
        .input(l1)
        .input(l2)
        .input(l2_shrinkage)
        .input(lr_power)
}

/// Trains rows of a reference variable by momentum.
///
/// Op `SparseApplyMomentum`. Output: `out`.
///
/// Attributes with defaults: `use_locking: bool = false`, `use_nesterov: bool = false`.
#[track_caller]
pub fn sparse_apply_momentum(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    lr: impl Operand,
    grad: impl Operand,
    indices: impl Operand,
    momentum: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseApplyMomentum")
        .input(var)
        .input(accum)
        .input(lr)
        .input(grad)
        .input(indices)
        .input(momentum)
}

/// Trains rows of a reference variable by Adagrad with a proximal step.
///
/// Op `SparseApplyProximalAdagrad`. Output: `out`.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn sparse_apply_proximal_adagrad(
    graph: &Graph,
    var: impl Operand,
    accum: impl Operand,
    lr: impl Operand,
    l1: impl Operand,
    l2: impl Operand,
    grad: impl Operand,
    indices: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseApplyProximalAdagrad")
        .input(var)
        .input(accum)
        .input(lr)
        .input(l1)
        .input(l2)
        .input(grad)
        .input(indices)
}

/// Trains rows of a reference variable by gradient descent with a proximal step.
///
/// Op `SparseApplyProximalGradientDescent`. Output: `out`.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn sparse_apply_proximal_gradient_descent(
    graph: &Graph,
    var: impl Operand,
    alpha: impl Operand,
    l1: impl Operand,
    l2: impl Operand,
    grad: impl Operand,
    indices: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseApplyProximalGradientDescent")
        .input(var)
        .input(alpha)
        .input(l1)
        .input(l2)
        .input(grad)
        .input(indices)
}

/// Trains rows of a reference variable by RMSProp.
///
/// Op `SparseApplyRMSProp`. Output: `out`.
///
/// Attributes with defaults: `use_locking: bool = false`.
#[track_caller]
pub fn sparse_apply_rms_prop(
    graph: &Graph,
    var: impl Operand,
    ms: impl Operand,
    mom: impl Operand,
    lr: impl Operand,
    rho: impl Operand,
    momentum: impl Operand,
    epsilon: impl Operand,
    grad: impl Operand,
    indices: impl Operand,
) -> OpBuilder {
    graph
        .op("SparseApplyRMSProp")
        .input(var)
        .input(ms)
        .input(mom)
        .input(lr)
        .input(rho)
        .input(momentum)
        .input(epsilon)
        .input(grad)
        .input(indices)
}
