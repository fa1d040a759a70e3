//! Stochastic dual coordinate ascent: one pass over a batch of examples for a linear model.

mod examples;
mod loss;

use tensorfleet_framework::{Attrs, Changer, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::random::{Philox, entropy};
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use examples::{Batch, Columns, Model};
use loss::{Loss, Seen};

const INPUTS: &[&str] = &[
    "sparse_example_indices: num_sparse_features * int64",
    "sparse_feature_indices: num_sparse_features * int64",
    "sparse_feature_values: num_sparse_features_with_values * float",
    "dense_features: num_dense_features * float",
    "example_weights: float",
    "example_labels: float",
    "sparse_indices: num_sparse_features * int64",
    "sparse_weights: num_sparse_features * float",
    "dense_weights: num_dense_features * float",
    "example_state_data: float",
];

const OUTPUTS: &[&str] = &[
    "out_example_state_data: float",
    "out_delta_sparse_weights: num_sparse_features * float",
    "out_delta_dense_weights: num_dense_features * float",
];

const ANY_ORDER: &str =
    "Examples come one after the other in a random order, where TensorFlow's threads race.";

pub(super) const OPS: &[Op] = &[
    Op {
        name: "SdcaOptimizer",
        inputs: INPUTS,
        outputs: OUTPUTS,
        attrs: &[
            "loss_type: {'logistic_loss', 'squared_loss', 'hinge_loss', 'smooth_hinge_loss', 'poisson_loss'}",
            "adaptative: bool = false",
            "num_sparse_features: int >= 0",
            "num_sparse_features_with_values: int >= 0",
            "num_dense_features: int >= 0",
            "l1: float",
            "l2: float",
            "num_loss_partitions: int >= 1",
            "num_inner_iterations: int >= 1",
        ],
        kernels: &[cpu::<Sdca>()],
        differs: ANY_ORDER,
        ..Op::DEFAULT
    },
    Op {
        name: "SdcaOptimizerV2",
        inputs: INPUTS,
        outputs: OUTPUTS,
        attrs: &[
            "loss_type: {'logistic_loss', 'squared_loss', 'hinge_loss', 'smooth_hinge_loss', 'poisson_loss'}",
            "adaptive: bool = false",
            "num_sparse_features: int >= 0",
            "num_sparse_features_with_values: int >= 0",
            "num_dense_features: int >= 0",
            "l1: float",
            "l2: float",
            "num_loss_partitions: int >= 1",
            "num_inner_iterations: int >= 1",
        ],
        kernels: &[cpu::<Sdca>()],
        differs: ANY_ORDER,
        ..Op::DEFAULT
    },
    Op {
        name: "SdcaShrinkL1",
        inputs: &["weights: Ref(num_features * float)"],
        attrs: &["num_features: int >= 0", "l1: float", "l2: float"],
        kernels: &[cpu::<Shrink>()],
        ..Op::DEFAULT
    },
];

/// How strongly weights are held back.
#[derive(Clone, Copy, Debug)]
struct Regularization {
    l2: f64,
    /// How far every weight is drawn towards zero.
    shrinkage: f32,
}

impl Regularization {
    fn new(attrs: &Attrs<'_>) -> Result<Regularization> {
        let (l1, l2) = (attrs.float("l1")?, attrs.float("l2")?);
        Ok(Regularization { l2: l2.into(), shrinkage: l1 / l2 })
    }

    fn shrink(self, weight: f64) -> f64 {
        (weight.abs() - f64::from(self.shrinkage)).max(0.0).copysign(weight)
    }

    fn shrink_f32(self, weight: f32) -> f32 {
        (weight.abs() - self.shrinkage).max(0.0).copysign(weight)
    }
}

#[derive(Debug)]
struct Sdca {
    loss: Loss,
    regularization: Regularization,
    adaptive: bool,
    partitions: i64,
    columns: Columns,
}

impl Kernel for Sdca {
    fn new(attrs: &Attrs<'_>) -> Result<Sdca> {
        let count = |name| Ok::<_, tensorfleet_tensor::Error>(attrs.int(name)?.max(0) as usize);
        let columns = Columns {
            sparse: count("num_sparse_features")?,
            with_values: count("num_sparse_features_with_values")?,
            dense: count("num_dense_features")?,
        };
        if columns.sparse + columns.dense == 0 {
            return Err(invalid_argument!("Requires at least one feature to train."));
        }
        let adaptive = if attrs.op() == "SdcaOptimizer" { "adaptative" } else { "adaptive" };
        Ok(Sdca {
            loss: Loss::named(&attrs.string("loss_type")?)?,
            regularization: Regularization::new(attrs)?,
            adaptive: attrs.bool(adaptive)?,
            partitions: attrs.int("num_loss_partitions")?,
            columns,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let batch = Batch::new(ctx, self.columns)?;
        let mut model = Model::new(ctx, self.columns)?;
        let state = ctx.input(self.columns.state())?;
        if state.rank() != 2 {
            return Err(invalid_argument!(
                "example_state_data must be rank 2 but is rank {}",
                state.rank()
            ));
        }
        let len = batch.len();
        if state.dims() != [len, 4] {
            return Err(invalid_argument!(
                "Expected shape [{len},4] for example_state_data, got {}",
                state.shape()
            ));
        }
        let mut state_data = state.values::<f32>()?.to_vec();
        let shape = state.shape().clone();
        for example in self.order(&batch, &model, &state_data)? {
            let row = &mut state_data[4 * example..4 * example + 4];
            self.step(&batch, &mut model, example, row)?;
        }
        let deltas = model.into_deltas()?;
        ctx.set_output(0, Tensor::from_vec(shape, state_data)?);
        for (index, delta) in deltas.into_iter().enumerate() {
            ctx.set_output(index + 1, delta);
        }
        Ok(())
    }
}

impl Sdca {
    fn seen(
        &self,
        batch: &Batch<'_>,
        model: &Model<'_>,
        example: usize,
        dual: f32,
    ) -> Result<(Seen, f64)> {
        let partitions = self.partitions as f64;
        let (prediction, before) =
            model.predict(batch, example, self.partitions as f32, self.regularization);
        let seen = Seen {
            label: self.loss.label(batch.labels[example])?,
            weight: batch.weights[example].into(),
            dual: dual.into(),
            prediction,
            norm: partitions * batch.squared_norm(example) / self.regularization.l2,
        };
        Ok((seen, before))
    }

    /// Moves the dual variable of one example to where it is best, and the weights with it.
    fn step(
        &self,
        batch: &Batch<'_>,
        model: &mut Model<'_>,
        example: usize,
        row: &mut [f32],
    ) -> Result<()> {
        let (seen, before) = self.seen(batch, model, example, row[0])?;
        let dual = self.loss.best_dual(seen);
        model.learn(batch, example, (dual - seen.dual) * seen.weight / self.regularization.l2);
        row[0] = dual as f32;
        row[1] = self.loss.primal_loss(Seen { prediction: before, ..seen }) as f32;
        row[2] = self.loss.dual_loss(seen) as f32;
        row[3] = seen.weight as f32;
        Ok(())
    }

    /// The order of the examples: random, or those that may change most rather than others.
    fn order(&self, batch: &Batch<'_>, model: &Model<'_>, state: &[f32]) -> Result<Vec<usize>> {
        let len = batch.len();
        let mut random = Philox::new(entropy(), entropy()).words();
        let mut order: Vec<usize> = (0..len).collect();
        if !self.adaptive {
            for last in (1..len).rev() {
                order.swap(last, random.below_u64(last as u64 + 1) as usize);
            }
            return Ok(order);
        }
        let mut chances = Vec::with_capacity(len);
        for example in 0..len {
            let (seen, _) = self.seen(batch, model, example, state[4 * example])?;
            let curvature =
                batch.squared_norm(example) + self.regularization.l2 * self.loss.smoothness();
            let slope = seen.dual + self.loss.slope(seen);
            chances.push(seen.weight * curvature.sqrt() * slope.abs());
        }
        let mut total = 0.0;
        let sums: Vec<f64> = chances
            .iter()
            .map(|chance| {
                total += if chance.is_finite() { chance.max(0.0) } else { 0.0 };
                total
            })
            .collect();
        // Every time that an example is chosen it becomes ten times less likely.
        let mut counts = vec![0; len];
        let mut chosen = Vec::with_capacity(len);
        let mut misses = 0;
        while chosen.len() < len && misses < len && total > 0.0 {
            let at = random.next_f64() * total;
            let example = sums.partition_point(|&sum| sum <= at).min(len - 1);
            if random.next_f64() > 0.1f64.powi(counts[example]) {
                misses += 1;
                continue;
            }
            counts[example] += 1;
            chosen.push(example);
        }
        order.retain(|&example| counts[example] == 0);
        order.sort_by(|&a, &b| chances[b].total_cmp(&chances[a]));
        chosen.extend(order);
        chosen.truncate(len);
        Ok(chosen)
    }
}

#[derive(Debug)]
struct Shrink {
    regularization: Regularization,
    changer: Changer,
}

impl Kernel for Shrink {
    fn new(attrs: &Attrs<'_>) -> Result<Shrink> {
        Ok(Shrink { regularization: Regularization::new(attrs)?, changer: attrs.changer() })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let change = ctx.change(&self.changer);
        for index in 0..ctx.num_inputs() {
            ctx.variable(index)?.update(&change, |weights| {
                for weight in weights.values_mut::<f32>()? {
                    *weight = self.regularization.shrink_f32(*weight);
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}
