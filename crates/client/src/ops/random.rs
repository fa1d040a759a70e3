//! Ops of the family `random`, @generated from the registry by `tests/it/generated`.

use super::prelude::*;

/// Class numbers drawn from unnormalised log-probabilities.
///
/// Op `Multinomial`. Output: `output`.
///
/// Attributes with defaults: `seed: int = 0`, `seed2: int = 0`, `output_dtype: type = DT_INT64`.
#[track_caller]
pub fn multinomial(graph: &Graph, logits: impl Operand, num_samples: impl Operand) -> OpBuilder {
    graph.op("Multinomial").input(logits).input(num_samples)
}

/// Integers that no seed can bring back.
///
/// Op `NonDeterministicInts`. Output: `output`.
///
/// Attributes with defaults: `dtype: type = DT_INT64`.
#[track_caller]
pub fn non_deterministic_ints(graph: &Graph, shape: impl Operand) -> OpBuilder {
    graph.op("NonDeterministicInts").input(shape)
}

/// Normal numbers within bounds, with mean, deviation and bounds for each batch.
///
/// Op `ParameterizedTruncatedNormal`. Output: `output`.
///
/// Attributes with defaults: `seed: int = 0`, `seed2: int = 0`.
#[track_caller]
pub fn parameterized_truncated_normal(
    graph: &Graph,
    shape: impl Operand,
    means: impl Operand,
    stdevs: impl Operand,
    minvals: impl Operand,
    maxvals: impl Operand,
) -> OpBuilder {
    graph
        .op("ParameterizedTruncatedNormal")
        .input(shape)
        .input(means)
        .input(stdevs)
        .input(minvals)
        .input(maxvals)
}

/// Gamma distributed numbers, `shape` of them for each `alpha`.
///
/// Op `RandomGamma`. Output: `output`.
///
/// Attributes with defaults: `seed: int = 0`, `seed2: int = 0`.
#[track_caller]
pub fn random_gamma(graph: &Graph, shape: impl Operand, alpha: impl Operand) -> OpBuilder {
    graph.op("RandomGamma").input(shape).input(alpha)
}

/// Where a position goes in a random order of all positions.
///
/// Op `RandomIndexShuffle`. Output: `output`.
///
/// Attributes with defaults: `rounds: int = 4`.
#[track_caller]
pub fn random_index_shuffle(
    graph: &Graph,
    index: impl Operand,
    seed: impl Operand,
    max_index: impl Operand,
) -> OpBuilder {
    graph.op("RandomIndexShuffle").input(index).input(seed).input(max_index)
}

/// Poisson distributed numbers, `shape` of them for each rate.
///
/// Op `RandomPoisson`. Output: `output`.
///
/// Attributes with defaults: `seed: int = 0`, `seed2: int = 0`.
#[track_caller]
pub fn random_poisson(graph: &Graph, shape: impl Operand, rate: impl Operand) -> OpBuilder {
    graph.op("RandomPoisson").input(shape).input(rate)
}

/// Poisson distributed numbers, `shape` of them for each rate.
///
/// Op `RandomPoissonV2`. Output: `output`.
///
/// Attributes with defaults: `seed: int = 0`, `seed2: int = 0`, `dtype: type = DT_INT64`.
#[track_caller]
pub fn random_poisson_v2(graph: &Graph, shape: impl Operand, rate: impl Operand) -> OpBuilder {
    graph.op("RandomPoissonV2").input(shape).input(rate)
}

/// The slices along the first axis in random order.
///
/// Op `RandomShuffle`. Output: `output`.
///
/// Attributes with defaults: `seed: int = 0`, `seed2: int = 0`.
#[track_caller]
pub fn random_shuffle(graph: &Graph, value: impl Operand) -> OpBuilder {
    graph.op("RandomShuffle").input(value)
}

/// Normal numbers of mean 0 and deviation 1.
///
/// Op `RandomStandardNormal`. Output: `output`.
///
/// Attributes with defaults: `seed: int = 0`, `seed2: int = 0`.
#[track_caller]
pub fn random_standard_normal(graph: &Graph, shape: impl Operand, dtype: DType) -> OpBuilder {
    graph.op("RandomStandardNormal").input(shape).attr("dtype", dtype)
}

/// Numbers evenly spread over `[0, 1)`.
///
/// Op `RandomUniform`. Output: `output`.
///
/// Attributes with defaults: `seed: int = 0`, `seed2: int = 0`.
#[track_caller]
pub fn random_uniform(graph: &Graph, shape: impl Operand, dtype: DType) -> OpBuilder {
    graph.op("RandomUniform").input(shape).attr("dtype", dtype)
}

/// Integers evenly spread from `minval` to `maxval`, exclusive.
///
/// Op `RandomUniformInt`. Output: `output`.
///
/// Attributes with defaults: `seed: int = 0`, `seed2: int = 0`.
#[track_caller]
pub fn random_uniform_int(
    graph: &Graph,
    shape: impl Operand,
    minval: impl Operand,
    maxval: impl Operand,
) -> OpBuilder {
    graph.op("RandomUniformInt").input(shape).input(minval).input(maxval)
}

/// The state of a generator, which is then moved on by `delta` draws.
///
/// Op `RngReadAndSkip`. Output: `value: int64`.
#[track_caller]
pub fn rng_read_and_skip(
    graph: &Graph,
    resource: impl Operand,
    alg: impl Operand,
    delta: impl Operand,
) -> OpBuilder {
    graph.op("RngReadAndSkip").input(resource).input(alg).input(delta)
}

/// Moves a generator on by `delta` draws.
///
/// Op `RngSkip`. No outputs.
#[track_caller]
pub fn rng_skip(
    graph: &Graph,
    resource: impl Operand,
    algorithm: impl Operand,
    delta: impl Operand,
) -> OpBuilder {
    graph.op("RngSkip").input(resource).input(algorithm).input(delta)
}

/// Binomially distributed numbers by a generator's state.
///
/// Op `StatefulRandomBinomial`. Output: `output`.
///
/// Attributes with defaults: `dtype: type = DT_INT64`.
#[track_caller]
pub fn stateful_random_binomial(
    graph: &Graph,
    resource: impl Operand,
    algorithm: impl Operand,
    shape: impl Operand,
    counts: impl Operand,
    probs: impl Operand,
) -> OpBuilder {
    graph
        .op("StatefulRandomBinomial")
        .input(resource)
        .input(algorithm)
        .input(shape)
        .input(counts)
        .input(probs)
}

/// Normal numbers by a generator's state.
///
/// Op `StatefulStandardNormal`. Output: `output`.
///
/// Attributes with defaults: `dtype: type = DT_FLOAT`.
#[track_caller]
pub fn stateful_standard_normal(
    graph: &Graph,
    resource: impl Operand,
    shape: impl Operand,
) -> OpBuilder {
    graph.op("StatefulStandardNormal").input(resource).input(shape)
}

/// Normal numbers by a generator's state.
///
/// Op `StatefulStandardNormalV2`. Output: `output`.
///
/// Attributes with defaults: `dtype: type = DT_FLOAT`.
#[track_caller]
pub fn stateful_standard_normal_v2(
    graph: &Graph,
    resource: impl Operand,
    algorithm: impl Operand,
    shape: impl Operand,
) -> OpBuilder {
    graph.op("StatefulStandardNormalV2").input(resource).input(algorithm).input(shape)
}

/// Normal numbers within two deviations by a generator's state.
///
/// Op `StatefulTruncatedNormal`. Output: `output`.
///
/// Attributes with defaults: `dtype: type = DT_FLOAT`.
#[track_caller]
pub fn stateful_truncated_normal(
    graph: &Graph,
    resource: impl Operand,
    algorithm: impl Operand,
    shape: impl Operand,
) -> OpBuilder {
    graph.op("StatefulTruncatedNormal").input(resource).input(algorithm).input(shape)
}

/// Numbers evenly spread over `[0, 1)` by a generator's state.
///
/// Op `StatefulUniform`. Output: `output`.
///
/// Attributes with defaults: `dtype: type = DT_FLOAT`.
#[track_caller]
pub fn stateful_uniform(
    graph: &Graph,
    resource: impl Operand,
    algorithm: impl Operand,
    shape: impl Operand,
) -> OpBuilder {
    graph.op("StatefulUniform").input(resource).input(algorithm).input(shape)
}

/// Integers with random bits by a generator's state.
///
/// Op `StatefulUniformFullInt`. Output: `output`.
///
/// Attributes with defaults: `dtype: type = DT_UINT64`.
#[track_caller]
pub fn stateful_uniform_full_int(
    graph: &Graph,
    resource: impl Operand,
    algorithm: impl Operand,
    shape: impl Operand,
) -> OpBuilder {
    graph.op("StatefulUniformFullInt").input(resource).input(algorithm).input(shape)
}

/// Integers evenly spread over a range by a generator's state.
///
/// Op `StatefulUniformInt`. Output: `output`.
#[track_caller]
pub fn stateful_uniform_int(
    graph: &Graph,
    resource: impl Operand,
    algorithm: impl Operand,
    shape: impl Operand,
    minval: impl Operand,
    maxval: impl Operand,
) -> OpBuilder {
    graph
        .op("StatefulUniformInt")
        .input(resource)
        .input(algorithm)
        .input(shape)
        .input(minval)
        .input(maxval)
}

/// Class numbers drawn from log-probabilities; equal seeds give equal numbers.
///
/// Op `StatelessMultinomial`. Output: `output`.
///
/// Attributes with defaults: `output_dtype: type = DT_INT64`.
#[track_caller]
pub fn stateless_multinomial(
    graph: &Graph,
    logits: impl Operand,
    num_samples: impl Operand,
    seed: impl Operand,
) -> OpBuilder {
    graph.op("StatelessMultinomial").input(logits).input(num_samples).input(seed)
}

/// Normal numbers within bounds, from a seed and parameters of any shape.
///
/// Op `StatelessParameterizedTruncatedNormal`. Output: `output`.
#[track_caller]
pub fn stateless_parameterized_truncated_normal(
    graph: &Graph,
    shape: impl Operand,
    seed: impl Operand,
    means: impl Operand,
    stddevs: impl Operand,
    minvals: impl Operand,
    maxvals: impl Operand,
) -> OpBuilder {
    graph
        .op("StatelessParameterizedTruncatedNormal")
        .input(shape)
        .input(seed)
        .input(means)
        .input(stddevs)
        .input(minvals)
        .input(maxvals)
}

/// Binomially distributed numbers; equal seeds give equal numbers.
///
/// Op `StatelessRandomBinomial`. Output: `output`.
///
/// Attributes with defaults: `dtype: type = DT_INT64`.
#[track_caller]
pub fn stateless_random_binomial(
    graph: &Graph,
    shape: impl Operand,
    seed: impl Operand,
    counts: impl Operand,
    probs: impl Operand,
) -> OpBuilder {
    graph.op("StatelessRandomBinomial").input(shape).input(seed).input(counts).input(probs)
}

/// Gamma distributed numbers; equal seeds give equal numbers.
///
/// Op `StatelessRandomGammaV2`. Output: `output`.
#[track_caller]
pub fn stateless_random_gamma_v2(
    graph: &Graph,
    shape: impl Operand,
    seed: impl Operand,
    alpha: impl Operand,
) -> OpBuilder {
    graph.op("StatelessRandomGammaV2").input(shape).input(seed).input(alpha)
}

/// Gamma distributed numbers; equal seeds give equal numbers.
///
/// Op `StatelessRandomGammaV3`. Output: `output`.
#[track_caller]
pub fn stateless_random_gamma_v3(
    graph: &Graph,
    shape: impl Operand,
    key: impl Operand,
    counter: impl Operand,
    alg: impl Operand,
    alpha: impl Operand,
) -> OpBuilder {
    graph
        .op("StatelessRandomGammaV3")
        .input(shape)
        .input(key)
        .input(counter)
        .input(alg)
        .input(alpha)
}

/// The generator that stateless ops use on this device.
///
/// Op `StatelessRandomGetAlg`. Output: `alg: int32`.
#[track_caller]
pub fn stateless_random_get_alg(graph: &Graph) -> OpBuilder {
    graph.op("StatelessRandomGetAlg")
}

/// The key and counter that a seed means.
///
/// Op `StatelessRandomGetKeyCounter`. Outputs: `key: uint64`, `counter: uint64`.
#[track_caller]
pub fn stateless_random_get_key_counter(graph: &Graph, seed: impl Operand) -> OpBuilder {
    graph.op("StatelessRandomGetKeyCounter").input(seed)
}

/// The key, counter and generator that a seed means.
///
/// Op `StatelessRandomGetKeyCounterAlg`. Outputs: `key: uint64`, `counter: uint64`, `alg: int32`.
#[track_caller]
pub fn stateless_random_get_key_counter_alg(graph: &Graph, seed: impl Operand) -> OpBuilder {
    graph.op("StatelessRandomGetKeyCounterAlg").input(seed)
}

/// Normal numbers; equal seeds give equal numbers.
///
/// Op `StatelessRandomNormal`. Output: `output`.
///
/// Attributes with defaults: `dtype: type = DT_FLOAT`.
#[track_caller]
pub fn stateless_random_normal(
    graph: &Graph,
    shape: impl Operand,
    seed: impl Operand,
) -> OpBuilder {
    graph.op("StatelessRandomNormal").input(shape).input(seed)
}

/// Normal numbers; equal seeds give equal numbers.
///
/// Op `StatelessRandomNormalV2`. Output: `output`.
///
/// Attributes with defaults: `dtype: type = DT_FLOAT`.
#[track_caller]
pub fn stateless_random_normal_v2(
    graph: &Graph,
    shape: impl Operand,
    key: impl Operand,
    counter: impl Operand,
    alg: impl Operand,
) -> OpBuilder {
    graph.op("StatelessRandomNormalV2").input(shape).input(key).input(counter).input(alg)
}

/// Poisson distributed numbers; equal seeds give equal numbers.
///
/// Op `StatelessRandomPoisson`. Output: `output`.
#[track_caller]
pub fn stateless_random_poisson(
    graph: &Graph,
    shape: impl Operand,
    seed: impl Operand,
    lam: impl Operand,
    dtype: DType,
) -> OpBuilder {
    graph.op("StatelessRandomPoisson").input(shape).input(seed).input(lam).attr("dtype", dtype)
}

/// Numbers evenly spread over `[0, 1)`; equal seeds give equal numbers.
///
/// Op `StatelessRandomUniform`. Output: `output`.
///
/// Attributes with defaults: `dtype: type = DT_FLOAT`.
#[track_caller]
pub fn stateless_random_uniform(
    graph: &Graph,
    shape: impl Operand,
    seed: impl Operand,
) -> OpBuilder {
    graph.op("StatelessRandomUniform").input(shape).input(seed)
}

/// Integers with random bits; equal seeds give equal numbers.
///
/// Op `StatelessRandomUniformFullInt`. Output: `output`.
///
/// Attributes with defaults: `dtype: type = DT_UINT64`.
#[track_caller]
pub fn stateless_random_uniform_full_int(
    graph: &Graph,
    shape: impl Operand,
    seed: impl Operand,
) -> OpBuilder {
    graph.op("StatelessRandomUniformFullInt").input(shape).input(seed)
}

/// Integers with random bits; equal seeds give equal numbers.
///
/// Op `StatelessRandomUniformFullIntV2`. Output: `output`.
///
/// Attributes with defaults: `dtype: type = DT_UINT64`.
#[track_caller]
pub fn stateless_random_uniform_full_int_v2(
    graph: &Graph,
    shape: impl Operand,
    key: impl Operand,
    counter: impl Operand,
    alg: impl Operand,
) -> OpBuilder {
    graph.op("StatelessRandomUniformFullIntV2").input(shape).input(key).input(counter).input(alg)
}

/// Integers evenly spread over a range; equal seeds give equal numbers.
///
/// Op `StatelessRandomUniformInt`. Output: `output`.
#[track_caller]
pub fn stateless_random_uniform_int(
    graph: &Graph,
    shape: impl Operand,
    seed: impl Operand,
    minval: impl Operand,
    maxval: impl Operand,
) -> OpBuilder {
    graph.op("StatelessRandomUniformInt").input(shape).input(seed).input(minval).input(maxval)
}

/// Integers evenly spread over a range; equal seeds give equal numbers.
///
/// Op `StatelessRandomUniformIntV2`. Output: `output`.
#[track_caller]
pub fn stateless_random_uniform_int_v2(
    graph: &Graph,
    shape: impl Operand,
    key: impl Operand,
    counter: impl Operand,
    alg: impl Operand,
    minval: impl Operand,
    maxval: impl Operand,
) -> OpBuilder {
    graph
        .op("StatelessRandomUniformIntV2")
        .input(shape)
        .input(key)
        .input(counter)
        .input(alg)
        .input(minval)
        .input(maxval)
}

/// Numbers evenly spread over `[0, 1)`; equal seeds give equal numbers.
///
/// Op `StatelessRandomUniformV2`. Output: `output`.
///
/// Attributes with defaults: `dtype: type = DT_FLOAT`.
#[track_caller]
pub fn stateless_random_uniform_v2(
    graph: &Graph,
    shape: impl Operand,
    key: impl Operand,
    counter: impl Operand,
    alg: impl Operand,
) -> OpBuilder {
    graph.op("StatelessRandomUniformV2").input(shape).input(key).input(counter).input(alg)
}

/// The slices along the first axis in an order that the key decides.
///
/// Op `StatelessShuffle`. Output: `output`.
#[track_caller]
pub fn stateless_shuffle(
    graph: &Graph,
    value: impl Operand,
    key: impl Operand,
    counter: impl Operand,
    alg: impl Operand,
) -> OpBuilder {
    graph.op("StatelessShuffle").input(value).input(key).input(counter).input(alg)
}

/// Normal numbers within two deviations; equal seeds give equal numbers.
///
/// Op `StatelessTruncatedNormal`. Output: `output`.
///
/// Attributes with defaults: `dtype: type = DT_FLOAT`.
#[track_caller]
pub fn stateless_truncated_normal(
    graph: &Graph,
    shape: impl Operand,
    seed: impl Operand,
) -> OpBuilder {
    graph.op("StatelessTruncatedNormal").input(shape).input(seed)
}

/// Normal numbers within two deviations; equal seeds give equal numbers.
///
/// Op `StatelessTruncatedNormalV2`. Output: `output`.
///
/// Attributes with defaults: `dtype: type = DT_FLOAT`.
#[track_caller]
pub fn stateless_truncated_normal_v2(
    graph: &Graph,
    shape: impl Operand,
    key: impl Operand,
    counter: impl Operand,
    alg: impl Operand,
) -> OpBuilder {
    graph.op("StatelessTruncatedNormalV2").input(shape).input(key).input(counter).input(alg)
}

/// Integers to which numbers are rounded, up or down by chance.
///
/// Op `StochasticCastToInt`. Output: `output`.
#[track_caller]
pub fn stochastic_cast_to_int(
    graph: &Graph,
    input: impl Operand,
    key: impl Operand,
    counter: impl Operand,
    alg: impl Operand,
    tout: DType,
) -> OpBuilder {
    graph
        .op("StochasticCastToInt")
        .input(input)
        .input(key)
        .input(counter)
        .input(alg)
        .attr("Tout", tout)
}

/// Normal numbers within two deviations of the mean 0.
///
/// Op `TruncatedNormal`. Output: `output`.
///
/// Attributes with defaults: `seed: int = 0`, `seed2: int = 0`.
#[track_caller]
pub fn truncated_normal(graph: &Graph, shape: impl Operand, dtype: DType) -> OpBuilder {
    graph.op("TruncatedNormal").input(shape).attr("dtype", dtype)
}
