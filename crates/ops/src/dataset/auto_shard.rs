//! `AutoShardDataset`: the part of a dataset that one of several workers reads.
//!
//! Workers share files where the pipeline reads files: then each opens only its own. The pipeline is
//! searched from its end for the place where files are opened, and a shard is put before it; a shuffle
//! of the files before that place would give each worker another order to choose from, so it moves
//! behind the shard. Otherwise workers share elements, at the end of the pipeline.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use tensorfleet_framework::{AsyncContext, AsyncKernel, Attrs, Op, Outcome, Started, cpu_async};
use tensorfleet_graph::{AttrList, AttrMap, AttrValue, NodeDef};
use tensorfleet_tensor::{Code, DType, PartialShape, Result, Tensor, invalid_argument, not_found};

use super::dataset::from_tensor;
use super::from_graph;
use super::origin::{DatasetGraph, functions_of};
use super::shard::SHARD_HINT;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "AutoShardDataset",
        inputs: &["input_dataset: variant", "num_workers: int64", "index: int64"],
        outputs: &["handle: variant"],
        attrs: &[
            "auto_shard_policy: int = 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
            "num_replicas: int = 0",
        ],
        kernels: &[cpu_async::<AutoShard>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ExperimentalAutoShardDataset",
        inputs: &["input_dataset: variant", "num_workers: int64", "index: int64"],
        outputs: &["handle: variant"],
        attrs: &[
            "auto_shard_policy: int = 0",
            "output_types: list(type) >= 1",
            "output_shapes: list(shape) >= 1",
        ],
        kernels: &[cpu_async::<AutoShard>()],
        ..Op::DEFAULT
    },
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Policy {
    Off,
    /// By files where that is possible, else by elements.
    Auto,
    File,
    Data,
    /// Where the user put a shard without saying which.
    Hint,
}

#[derive(Debug)]
struct AutoShard {
    policy: Policy,
    replicas: i64,
}

impl AsyncKernel for AutoShard {
    fn new(attrs: &Attrs<'_>) -> Result<AutoShard> {
        let policy = match attrs.int("auto_shard_policy")? {
            -1 => Policy::Off,
            0 => Policy::Auto,
            1 => Policy::File,
            2 => Policy::Data,
            3 => Policy::Hint,
            _ => return Err(invalid_argument!("auto_shard_policy is invalid.")),
        };
        let replicas = match attrs.get("num_replicas") {
            Some(_) => attrs.int("num_replicas")?,
            None => 0,
        };
        Ok(AutoShard { policy, replicas })
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let dataset = from_tensor(ctx.input(0)?)?;
        let workers = ctx.input(1)?.scalar_value::<i64>()?;
        let index = ctx.input(2)?.scalar_value::<i64>()?;
        if workers <= 0 {
            return Err(invalid_argument!("num_workers must be greater than zero."));
        }
        if !(0..workers).contains(&index) {
            return Err(invalid_argument!("index must be between 0 and {}", workers - 1));
        }
        if self.policy == Policy::Off || (self.policy == Policy::File && workers == 1) {
            return Ok(Started::Done(Outcome::from(vec![ctx.input(0)?.clone()])));
        }
        let mut sharding = Sharding {
            graph: DatasetGraph::new(&dataset)?,
            workers,
            index,
            removed: FxHashSet::default(),
        };
        sharding.apply(self.policy, self.replicas)?;
        from_graph::make(&ctx.step, sharding.finish())
    }
}

/// A pipeline into which shards are put.
struct Sharding {
    graph: DatasetGraph,
    workers: i64,
    index: i64,
    /// Nodes that nothing needs any more.
    removed: FxHashSet<String>,
}

/// Datasets that open the files which their first input names.
const READERS: &[&str] = &[
    "ArrayRecordDataset",
    "FixedLengthRecordDataset",
    "RecordIODataset",
    "SSTableDataset",
    "TextLineDataset",
    "TFRecordDataset",
];

const SEVERAL_INPUTS: &[&str] = &["ConcatenateDataset", "ZipDataset"];

/// Datasets whose elements come from their first input's, so that it may be sharded instead.
const PASS_THROUGH: &[&str] = &[
    "_Retval",
    "AssertNextDataset",
    "BatchDataset",
    "CacheDataset",
    "ExperimentalMapAndBatchDataset",
    "ExperimentalParseExampleDataset",
    "ExperimentalRebatchDataset",
    "FilterDataset",
    "FinalizeDataset",
    "Identity",
    "MapAndBatchDataset",
    "MapDataset",
    "MaxIntraOpParallelismDataset",
    "ModelDataset",
    "OptimizeDataset",
    "OptionsDataset",
    "PaddedBatchDataset",
    "ParallelBatchDataset",
    "ParallelMapDataset",
    "ParseExampleDataset",
    "PrefetchDataset",
    "PrivateThreadPoolDataset",
    "ReduceDataset",
    "RebatchDataset",
    "RepeatDataset",
    "ShardDataset",
    "ShuffleAndRepeatDataset",
    "ShuffleDataset",
    "SkipDataset",
    "TakeDataset",
    "WindowDataset",
];

/// Datasets of the elements of datasets that a function makes.
const FLATTENING: &[&str] = &[
    "ExperimentalParallelInterleaveDataset",
    "FlatMapDataset",
    "InterleaveDataset",
    "LegacyParallelInterleaveDataset",
    "ParallelInterleaveDataset",
];

const UNSHARDABLE: &[&str] = &[
    "GeneratorDataset",
    "RangeDataset",
    "SparseTensorsSliceDataset",
    "TensorDataset",
    "TensorSliceDataset",
];

/// Whether an op is one of `names`, in any version.
fn is_one_of(op: &str, names: &[&str]) -> bool {
    names.iter().any(|name| {
        op.strip_prefix(name).is_some_and(|rest| {
            rest.is_empty()
                || rest
                    .strip_prefix('V')
                    .is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit()))
        })
    })
}

/// A node as a message shows it.
fn show(node: &NodeDef) -> String {
    let inputs: String = node.inputs.iter().map(|input| format!("input: \"{input}\"\n")).collect();
    format!("name: \"{}\"\nop: \"{}\"\n{inputs}", node.name, node.op)
}

impl Sharding {
    fn apply(&mut self, policy: Policy, replicas: i64) -> Result<()> {
        match policy {
            Policy::Off => Ok(()),
            Policy::File => self.by_file("dataset"),
            Policy::Data => self.by_data(replicas),
            Policy::Hint => self.by_hint(),
            Policy::Auto => match self.by_file("dataset") {
                Err(error) if error.code() == Code::NotFound => self.by_data(replicas),
                outcome => outcome,
            },
        }
    }

    fn node(&self, name: &str) -> Result<&NodeDef> {
        self.graph
            .nodes
            .iter()
            .find(|node| node.name == name)
            .ok_or_else(|| not_found!("the pipeline has no node {name}"))
    }

    /// The node that makes an input of another one.
    fn input(&self, name: &str, index: usize) -> Result<&NodeDef> {
        let node = self.node(name)?;
        let input = node.inputs.get(index);
        self.node(input.ok_or_else(|| not_found!("Node {name} has no input {index}"))?)
    }

    /// Has every node that used `old` use `new` instead, but for `new` itself.
    fn redirect(&mut self, old: &str, new: &str) {
        for node in self.graph.nodes.iter_mut().filter(|node| node.name != new) {
            for input in node.inputs.iter_mut().filter(|input| *input == old) {
                new.clone_into(input);
            }
        }
    }

    /// Looks for files from the node `name` on, towards the sources.
    fn by_file(&mut self, name: &str) -> Result<()> {
        let node = self.node(name)?.clone();
        let op = node.op.as_str();
        if op == "AssertCardinalityDataset" {
            // A part has not as many elements.
            let input = self.input(name, 0)?.name.clone();
            self.redirect(name, &input);
            self.removed.insert(name.to_owned());
            return self.by_file(&input);
        }
        if is_one_of(op, UNSHARDABLE) {
            return Err(not_found!("Found an unshardable source dataset: {}", show(&node)));
        }
        if is_one_of(op, SEVERAL_INPUTS) {
            return node.inputs.iter().try_for_each(|input| self.by_file(input));
        }
        let is_known = is_one_of(op, FLATTENING) || is_one_of(op, PASS_THROUGH);
        if is_one_of(op, READERS) || (is_known && self.reads_in_function(&node.attrs)) {
            return self.shard_files(name);
        }
        if !is_known {
            return Err(not_found!(
                "Did not find a shardable source, walked to a node which is not a dataset: {}. \
                 Consider either turning off auto-sharding or switching the auto_shard_policy to DATA \
                 to shard this dataset. You can do this by creating a new `tf.data.Options()` object \
                 then setting `options.experimental_distribute.auto_shard_policy = \
                 AutoShardPolicy.DATA` before applying the options object to the dataset via \
                 `dataset.with_options(options)`.",
                show(&node)
            ));
        }
        let input = self.input(name, 0)?.name.clone();
        self.by_file(&input)
    }

    /// Whether a function in attributes opens files.
    fn reads_in_function(&self, attrs: &AttrMap) -> bool {
        let functions = attrs.get("f").into_iter().flat_map(functions_of);
        functions.filter_map(|func| self.graph.library.find(&func.name)).any(|function| {
            function.nodes.iter().any(|node| {
                (is_one_of(&node.op, READERS) && !node.inputs.is_empty())
                    || (is_one_of(&node.op, FLATTENING) && self.reads_in_function(&node.attrs))
            })
        })
    }

    /// Shards the input of a node that opens files, and shuffles it after that if it was shuffled
    /// before.
    fn shard_files(&mut self, name: &str) -> Result<()> {
        self.add_shard(name)?;
        let mut shuffle = None;
        for op in ["ShuffleDataset", "ShuffleDatasetV2", "ShuffleDatasetV3"] {
            self.remove_shuffles(name, op, &mut shuffle)?;
            if shuffle.is_some() {
                break;
            }
        }
        let Some(mut shuffle) = shuffle else { return Ok(()) };
        let before = self.input(name, 0)?.clone();
        shuffle.inputs[0].clone_from(&before.name);
        for attr in ["output_types", "output_shapes"] {
            if let Some(value) = before.attrs.get(attr) {
                shuffle.attrs.insert(attr.to_owned(), value.clone());
            }
        }
        let added = self.graph.add(&shuffle.op, shuffle.inputs, shuffle.attrs);
        self.redirect(&before.name, &added);
        Ok(())
    }

    /// Takes the shuffles out from which a node gets its elements; the last one found is kept.
    fn remove_shuffles(&mut self, name: &str, op: &str, found: &mut Option<NodeDef>) -> Result<()> {
        let node = self.node(name)?.clone();
        if node.op == op {
            self.redirect(name, &node.inputs[0]);
            self.removed.insert(name.to_owned());
            *found = Some(node.clone());
        }
        node.inputs.iter().try_for_each(|input| self.remove_shuffles(input, op, found))
    }

    /// Puts a shard before the first input of a node.
    fn add_shard(&mut self, name: &str) -> Result<()> {
        let before = self.input(name, 0)?.clone();
        if !before.op.contains("Dataset") {
            return Err(not_found!(
                "Unable to shard this input. You may need to wrap the inputs to your reader dataset in \
                 a TensorSliceDataset. Input node is {}",
                show(&before)
            ));
        }
        let types = before.attrs.get("output_types").or(before.attrs.get("Toutput_types"));
        let types = types.cloned().unwrap_or(AttrValue::List(AttrList::Types(vec![DType::String])));
        let unknown = || AttrValue::List(AttrList::Shapes(vec![PartialShape::UNKNOWN]));
        let shapes = before.attrs.get("output_shapes").cloned().unwrap_or_else(unknown);
        let workers = self.graph.add_const(Tensor::scalar(self.workers));
        let index = self.graph.add_const(Tensor::scalar(self.index));
        let attrs = super::origin::attrs([
            ("output_types", types),
            ("output_shapes", shapes),
            // Who has no file has nothing to do, which is hardly what the user wants.
            ("require_non_empty", AttrValue::Bool(true)),
        ]);
        let inputs = vec![before.name.clone(), workers, index];
        let shard = self.graph.add("ShardDataset", inputs, attrs);
        self.redirect(&before.name, &shard);
        Ok(())
    }

    /// Puts a shard at the end, but before what only says how the pipeline is run.
    fn by_data(&mut self, replicas: i64) -> Result<()> {
        const LAST: &[&str] = &["PrefetchDataset", "OptionsDataset", "FinalizeDataset"];
        let mut before = "dataset".to_owned();
        loop {
            let input = self.input(&before, 0)?;
            if !LAST.contains(&input.op.as_str()) {
                break;
            }
            before.clone_from(&input.name);
        }
        self.rebatch_by_replicas(&before, replicas)?;
        self.add_shard(&before)
    }

    /// Where batches are cut for replicas before workers share them, each batch is cut into equal
    /// parts, so that every worker finds as many.
    fn rebatch_by_replicas(&mut self, before: &str, replicas: i64) -> Result<()> {
        let name = self.input(before, 0)?.name.clone();
        if self.node(&name)?.op != "RebatchDatasetV2" {
            return Ok(());
        }
        if replicas < 1 {
            return Err(invalid_argument!(
                "Cannot rewrite RebatchDatasetV2 to legacy RebatchDataset with invalid num_replicas \
                 argument. `num_replicas` is {replicas}, but expected to be >= 1."
            ));
        }
        let replicas = self.graph.add_const(Tensor::scalar(replicas));
        let Some(node) = self.graph.nodes.iter_mut().find(|node| node.name == name) else {
            return Ok(());
        };
        "RebatchDataset".clone_into(&mut node.op);
        node.inputs.truncate(1);
        node.inputs.push(replicas);
        if let Some(AttrValue::List(AttrList::Shapes(shapes))) = node.attrs.get_mut("output_shapes")
        {
            for dims in shapes.iter_mut().filter_map(|shape| shape.dims.as_mut()) {
                if let Some(rows) = dims.first_mut() {
                    *rows = None;
                }
            }
        }
        Ok(())
    }

    /// Chooses the shard where the user left that open.
    fn by_hint(&mut self) -> Result<()> {
        let workers = self.graph.add_const(Tensor::scalar(self.workers));
        let index = self.graph.add_const(Tensor::scalar(self.index));
        let hinted: Vec<usize> = (0..self.graph.nodes.len())
            .filter(|&at| {
                let node = &self.graph.nodes[at];
                node.op == "ShardDataset" && self.is_hint(&node.inputs[1])
            })
            .collect();
        for at in hinted {
            let node = &mut self.graph.nodes[at];
            node.inputs[1].clone_from(&workers);
            node.inputs[2].clone_from(&index);
            node.attrs.insert("require_non_empty".to_owned(), AttrValue::Bool(true));
        }
        Ok(())
    }

    fn is_hint(&self, name: &str) -> bool {
        match self.node(name).ok().and_then(|node| node.attrs.get("value")) {
            Some(AttrValue::Tensor(value)) => {
                value.to_i64_vec().is_ok_and(|values| values == [SHARD_HINT])
            }
            _ => false,
        }
    }

    fn finish(mut self) -> DatasetGraph {
        let removed = Arc::new(self.removed);
        self.graph.nodes.retain(|node| !removed.contains(&node.name));
        self.graph
    }
}
