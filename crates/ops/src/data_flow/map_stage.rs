//! `MapStage`, `OrderedMapStage` and their kin: staging areas in which tuples have keys, and may be
//! put and taken component by component.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use tensorfleet_framework::{
    AsyncContext, AsyncKernel, Attrs, Kernel, KernelContext, KernelDef, Op, Outcome, Resource,
    Started, Values, cpu, cpu_async,
};
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use super::stage::{Place, bytes_of, tensors};
use super::watched::Watched;

const CLEAR: &[KernelDef] = &[cpu::<Clear>()];
const INCOMPLETE_SIZE: &[KernelDef] = &[cpu::<Size>()];
const PEEK: &[KernelDef] = &[cpu_async::<Get>()];
const SIZE: &[KernelDef] = &[cpu::<Size>()];
const STAGE: &[KernelDef] = &[cpu_async::<MapStage>()];
const UNSTAGE: &[KernelDef] = &[cpu_async::<Get>()];
const UNSTAGE_NO_KEY: &[KernelDef] = &[cpu_async::<GetAny>()];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "MapClear",
        attrs: &[
            "capacity: int >= 0 = 0",
            "memory_limit: int >= 0 = 0",
            "dtypes: list(type)",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: CLEAR,
        ..Op::DEFAULT
    },
    Op {
        name: "MapIncompleteSize",
        outputs: &["size: int32"],
        attrs: &[
            "capacity: int >= 0 = 0",
            "memory_limit: int >= 0 = 0",
            "dtypes: list(type)",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: INCOMPLETE_SIZE,
        ..Op::DEFAULT
    },
    Op {
        name: "MapPeek",
        inputs: &["key: int64", "indices: int32"],
        outputs: &["values: dtypes"],
        attrs: &[
            "capacity: int >= 0 = 0",
            "memory_limit: int >= 0 = 0",
            "dtypes: list(type) >= 1",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: PEEK,
        ..Op::DEFAULT
    },
    Op {
        name: "MapSize",
        outputs: &["size: int32"],
        attrs: &[
            "capacity: int >= 0 = 0",
            "memory_limit: int >= 0 = 0",
            "dtypes: list(type)",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: SIZE,
        ..Op::DEFAULT
    },
    Op {
        name: "MapStage",
        inputs: &["key: int64", "indices: int32", "values: fake_dtypes"],
        attrs: &[
            "capacity: int >= 0 = 0",
            "memory_limit: int >= 0 = 0",
            "dtypes: list(type)",
            "fake_dtypes: list(type) >= 1",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: STAGE,
        ..Op::DEFAULT
    },
    Op {
        name: "MapUnstage",
        inputs: &["key: int64", "indices: int32"],
        outputs: &["values: dtypes"],
        attrs: &[
            "capacity: int >= 0 = 0",
            "memory_limit: int >= 0 = 0",
            "dtypes: list(type) >= 1",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: UNSTAGE,
        ..Op::DEFAULT
    },
    Op {
        name: "MapUnstageNoKey",
        inputs: &["indices: int32"],
        outputs: &["key: int64", "values: dtypes"],
        attrs: &[
            "capacity: int >= 0 = 0",
            "memory_limit: int >= 0 = 0",
            "dtypes: list(type) >= 1",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: UNSTAGE_NO_KEY,
        ..Op::DEFAULT
    },
    Op {
        name: "OrderedMapClear",
        attrs: &[
            "capacity: int >= 0 = 0",
            "memory_limit: int >= 0 = 0",
            "dtypes: list(type)",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: CLEAR,
        ..Op::DEFAULT
    },
    Op {
        name: "OrderedMapIncompleteSize",
        outputs: &["size: int32"],
        attrs: &[
            "capacity: int >= 0 = 0",
            "memory_limit: int >= 0 = 0",
            "dtypes: list(type)",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: INCOMPLETE_SIZE,
        ..Op::DEFAULT
    },
    Op {
        name: "OrderedMapPeek",
        inputs: &["key: int64", "indices: int32"],
        outputs: &["values: dtypes"],
        attrs: &[
            "capacity: int >= 0 = 0",
            "memory_limit: int >= 0 = 0",
            "dtypes: list(type) >= 1",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: PEEK,
        ..Op::DEFAULT
    },
    Op {
        name: "OrderedMapSize",
        outputs: &["size: int32"],
        attrs: &[
            "capacity: int >= 0 = 0",
            "memory_limit: int >= 0 = 0",
            "dtypes: list(type)",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: SIZE,
        ..Op::DEFAULT
    },
    Op {
        name: "OrderedMapStage",
        inputs: &["key: int64", "indices: int32", "values: fake_dtypes"],
        attrs: &[
            "capacity: int >= 0 = 0",
            "memory_limit: int >= 0 = 0",
            "dtypes: list(type)",
            "fake_dtypes: list(type) >= 1",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: STAGE,
        ..Op::DEFAULT
    },
    Op {
        name: "OrderedMapUnstage",
        inputs: &["key: int64", "indices: int32"],
        outputs: &["values: dtypes"],
        attrs: &[
            "capacity: int >= 0 = 0",
            "memory_limit: int >= 0 = 0",
            "dtypes: list(type) >= 1",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: UNSTAGE,
        ..Op::DEFAULT
    },
    Op {
        name: "OrderedMapUnstageNoKey",
        inputs: &["indices: int32"],
        outputs: &["key: int64", "values: dtypes"],
        attrs: &[
            "capacity: int >= 0 = 0",
            "memory_limit: int >= 0 = 0",
            "dtypes: list(type) >= 1",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: UNSTAGE_NO_KEY,
        ..Op::DEFAULT
    },
];

/// A tuple of which some components may be missing: not yet put, or taken already.
type Tuple = Vec<Option<Tensor>>;

/// Both kinds of maps keep their keys in order, so that the unordered ones are predictable too.
#[derive(Debug, Default)]
struct State {
    complete: BTreeMap<i64, Tuple>,
    incomplete: BTreeMap<i64, Tuple>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct StagingMap(Arc<Watched<State>>);

impl Resource for StagingMap {
    const TYPE_NAME: &'static str = "N10tensorflow12_GLOBAL__N_110StagingMapE";
}

fn scalar_key(key: &Tensor) -> Result<i64> {
    if key.num_elements() != 1 {
        return Err(invalid_argument!(
            "key must be an int64 scalar, got tensor with shape: {}",
            key.shape()
        ));
    }
    key.scalar_value()
}

/// Reads which components are meant; they must be in order.
fn ordered_indices(indices: &Tensor) -> Result<Vec<usize>> {
    let values = indices.to_i64_vec()?;
    if values.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err(invalid_argument!("Indices are not strictly ordered"));
    }
    // As in TensorFlow a negative index is a huge one.
    Ok(values.iter().map(|&index| index as usize).collect())
}

fn out_of_bounds(index: usize, key: i64, count: usize) -> tensorfleet_tensor::Error {
    invalid_argument!("Index '{index}' for key '{key}' was out of bounds '{count}'.")
}

#[derive(Debug)]
struct MapStage {
    place: Place,
    /// Components of a whole tuple.
    components: usize,
}

impl AsyncKernel for MapStage {
    fn new(attrs: &Attrs<'_>) -> Result<MapStage> {
        Ok(MapStage { place: Place::new(attrs)?, components: attrs.dtypes("dtypes")?.len() })
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let map = self.place.find::<StagingMap>(&ctx.step)?;
        let key = scalar_key(ctx.input(0)?)?;
        let indices = ordered_indices(ctx.input(1)?)?;
        let values = tensors(&ctx.inputs[2..])?;
        let (components, limits) = (self.components, self.place.limits);
        // As in TensorFlow a whole tuple is taken as it is, whatever its indices.
        let indices = match indices.len() == components {
            true => (0..components).collect(),
            false => indices,
        };
        if let Some(&index) = indices.iter().find(|&&index| index >= components) {
            return Err(out_of_bounds(index, key, components));
        }
        if indices.len() != values.len() {
            return Err(invalid_argument!(
                "{} values were given for {} indices",
                values.len(),
                indices.len()
            ));
        }
        let more = bytes_of(&values);
        limits.check_size(more)?;
        let mut values = Some(values);
        map.0.start(move |state| {
            // A tuple that was begun has its place already.
            let begun = state.incomplete.contains_key(&key);
            let tuples = state.complete.len() + state.incomplete.len();
            if !limits.have_room(if begun { 0 } else { tuples }, state.bytes, more) {
                return Ok(None);
            }
            // A whole tuple does not mind one that was begun.
            let begun =
                if indices.len() < components { state.incomplete.remove(&key) } else { None };
            let mut tuple = begun.unwrap_or_else(|| vec![None; components]);
            let taken = indices.iter().find(|&&index| tuple[index].is_some()).copied();
            if let Some(index) = taken {
                state.incomplete.insert(key, tuple);
                return Err(invalid_argument!(
                    "The tensor for index '{index}' for key '{key}' was already initialized \
                     '{components}'."
                ));
            }
            for (&index, value) in indices.iter().zip(values.take().unwrap_or_default()) {
                tuple[index] = Some(value);
            }
            if tuple.iter().all(Option::is_some) {
                // The first tuple of a key stays.
                if let Entry::Vacant(place) = state.complete.entry(key) {
                    place.insert(tuple);
                    state.bytes += more;
                }
            } else {
                state.incomplete.insert(key, tuple);
                state.bytes += more;
            }
            Ok(Some(Outcome::Values(Values::new())))
        })
    }
}

/// The components at `indices` of a tuple, which lose them unless they are only looked at.
fn components(
    state: &mut State,
    key: i64,
    indices: &[usize],
    keeps: bool,
) -> Result<Option<Vec<Tensor>>> {
    let Some(tuple) = state.complete.get_mut(&key) else { return Ok(None) };
    let mut found = Vec::with_capacity(indices.len());
    for &index in indices {
        let Some(component) = tuple.get(index) else {
            return Err(out_of_bounds(index, key, tuple.len()));
        };
        let Some(component) = component else {
            return Err(invalid_argument!(
                "Tensor at index '{index}' for key '{key}' has already been removed."
            ));
        };
        found.push(component.clone());
    }
    if !keeps {
        state.bytes = state.bytes.saturating_sub(bytes_of(&found));
        indices.iter().for_each(|&index| tuple[index] = None);
        if tuple.iter().all(Option::is_none) {
            state.complete.remove(&key);
        }
    }
    Ok(Some(found))
}

#[derive(Debug)]
struct Get {
    place: Place,
    /// Whether the components stay.
    keeps: bool,
}

impl AsyncKernel for Get {
    fn new(attrs: &Attrs<'_>) -> Result<Get> {
        Ok(Get { place: Place::new(attrs)?, keeps: attrs.op().ends_with("Peek") })
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let map = self.place.find::<StagingMap>(&ctx.step)?;
        let key = scalar_key(ctx.input(0)?)?;
        let indices = ordered_indices(ctx.input(1)?)?;
        let keeps = self.keeps;
        map.0.start(move |state| Ok(components(state, key, &indices, keeps)?.map(Outcome::from)))
    }
}

/// Takes from the first tuple.
#[derive(Debug)]
struct GetAny(Place);

impl AsyncKernel for GetAny {
    fn new(attrs: &Attrs<'_>) -> Result<GetAny> {
        Place::new(attrs).map(GetAny)
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let map = self.0.find::<StagingMap>(&ctx.step)?;
        let indices = ordered_indices(ctx.input(0)?)?;
        map.0.start(move |state| {
            let Some(&key) = state.complete.keys().next() else { return Ok(None) };
            let found = components(state, key, &indices, false)?.unwrap_or_default();
            let outputs: Vec<Tensor> = std::iter::once(Tensor::scalar(key)).chain(found).collect();
            Ok(Some(Outcome::from(outputs)))
        })
    }
}

#[derive(Debug)]
struct Size {
    place: Place,
    incomplete: bool,
}

impl Kernel for Size {
    fn new(attrs: &Attrs<'_>) -> Result<Size> {
        let incomplete = attrs.op().ends_with("IncompleteSize");
        Ok(Size { place: Place::new(attrs)?, incomplete })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let map = self.place.find::<StagingMap>(ctx.step())?;
        let size =
            map.0.look(
                |state| {
                    if self.incomplete { state.incomplete.len() } else { state.complete.len() }
                },
            );
        ctx.set_output(0, Tensor::scalar(size as i32));
        Ok(())
    }
}

#[derive(Debug)]
struct Clear(Place);

impl Kernel for Clear {
    fn new(attrs: &Attrs<'_>) -> Result<Clear> {
        Place::new(attrs).map(Clear)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let map = self.0.find::<StagingMap>(ctx.step())?;
        map.0.change(|state| *state = State::default());
        Ok(())
    }
}
