//! What iterators do ahead, in which order, and when they stop. Functions are closures here.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use expect_test::{Expect, expect};
use futures_channel::oneshot;
use rustc_hash::FxHashMap;
use tensorfleet_framework::{BoxFuture, Function, FunctionRunner, StepContext};
use tensorfleet_graph::{AttrList, AttrMap, AttrValue, Func};
use tensorfleet_tensor::{
    DType, PartialShape, Result, Tensor, invalid_argument, not_found, out_of_range,
};
use tensorfleet_testing::{OpRun, finish, step_context};

use super::dataset::{Elements, from_tensor};
use super::scope::Scope;

type Body = Arc<dyn Fn(Vec<Tensor>) -> BoxFuture<Result<Vec<Tensor>>> + Send + Sync>;

/// Functions by name.
#[derive(Clone, Default)]
struct Closures(FxHashMap<&'static str, Body>);

impl fmt::Debug for Closures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Closures")
    }
}

struct Closure(Body);

impl fmt::Debug for Closure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Closure")
    }
}

impl Function for Closure {
    fn num_outputs(&self) -> usize {
        1
    }

    fn call(&self, _: &Arc<StepContext>, args: Vec<Tensor>) -> BoxFuture<Result<Vec<Tensor>>> {
        (self.0)(args)
    }
}

impl FunctionRunner for Closures {
    fn instantiate(&self, function: &Func) -> Result<Arc<dyn Function>> {
        match self.0.get(&*function.name) {
            Some(body) => Ok(Arc::new(Closure(Arc::clone(body)))),
            None => Err(not_found!("Function {} is not defined.", function.name)),
        }
    }

    fn fork(&self) -> Arc<dyn FunctionRunner> {
        Arc::new(self.clone())
    }
}

/// A step with functions.
struct Fixture {
    step: Arc<StepContext>,
}

impl Fixture {
    fn new(functions: Vec<(&'static str, Body)>) -> Fixture {
        Fixture {
            step: Arc::new(StepContext {
                functions: Arc::new(Closures(functions.into_iter().collect())),
                ..StepContext::clone(&step_context())
            }),
        }
    }

    /// A dataset of single numbers.
    fn dataset(
        &self,
        op: &str,
        attrs: &[(&str, AttrValue)],
        inputs: Vec<Tensor>,
    ) -> Result<Tensor> {
        let types = AttrValue::List(AttrList::Types(vec![DType::Int64]));
        let shapes = AttrValue::List(AttrList::Shapes(vec![PartialShape::UNKNOWN]));
        let mut run = OpRun::new(op).attr("output_types", types).attr("output_shapes", shapes);
        for (name, value) in attrs {
            run = run.attr(name, value.clone());
        }
        for input in inputs {
            run = run.input(input);
        }
        Ok(run.run_in(&crate::registry()?, &self.step)?.swap_remove(0))
    }

    fn range(&self, count: i64) -> Tensor {
        let bounds = [0, count, 1].map(Tensor::scalar);
        self.dataset("RangeDataset", &[], bounds.into()).unwrap()
    }

    fn map(&self, input: Tensor, function: &str) -> Tensor {
        let attrs = [("f", func(function)), no_captures()];
        self.dataset("MapDataset", &attrs, vec![input]).unwrap()
    }

    fn parallel_map(&self, input: Tensor, function: &str, calls: i64) -> Tensor {
        let attrs = [("f", func(function)), no_captures()];
        let inputs = vec![input, Tensor::scalar(calls)];
        self.dataset("ParallelMapDatasetV2", &attrs, inputs).unwrap()
    }

    fn with_number(&self, op: &str, input: Tensor, number: i64) -> Tensor {
        self.dataset(op, &[], vec![input, Tensor::scalar(number)]).unwrap()
    }

    fn iterate(&self, dataset: &Tensor) -> Box<dyn Elements> {
        Scope::root(&self.step).iterate(&*from_tensor(dataset).unwrap()).unwrap()
    }
}

fn func(name: &str) -> AttrValue {
    AttrValue::Func(Func { name: name.into(), attrs: AttrMap::new() })
}

fn no_captures() -> (&'static str, AttrValue) {
    ("Targuments", AttrValue::List(AttrList::Empty))
}

/// A function of one number that does not wait.
fn body(function: impl Fn(i64) -> Result<i64> + Send + Sync + 'static) -> Body {
    Arc::new(move |args| {
        let result = args[0].scalar_value().and_then(&function);
        Box::pin(async move { Ok(vec![Tensor::scalar(result?)]) })
    })
}

fn next(elements: &mut dyn Elements) -> Result<Option<i64>> {
    match finish(elements.next())? {
        Some(element) => element[0].scalar_value().map(Some),
        None => Ok(None),
    }
}

/// All elements, or what came instead, as text.
fn all(mut elements: Box<dyn Elements>) -> String {
    let mut text = String::new();
    loop {
        match next(&mut *elements) {
            Ok(Some(number)) => text += &format!("{number} "),
            Ok(None) => return text + "end",
            Err(error) => text += &format!("({error}) "),
        }
    }
}

fn check(fixture: &Fixture, dataset: &Tensor, expect: Expect) {
    expect.assert_eq(&all(fixture.iterate(dataset)));
}

#[test]
fn a_function_may_fail_and_may_end_the_sequence() {
    let fixture = Fixture::new(vec![(
        "f",
        body(|x| match x {
            2 => Err(invalid_argument!("no two")),
            4 => Err(out_of_range!("enough")),
            x => Ok(x * 10),
        }),
    )]);
    let mapped = fixture.map(fixture.range(9), "f");
    check(
        &fixture,
        &mapped,
        expect![
            "0 10 (INVALID_ARGUMENT: Error in user-defined function passed to MapDataset transformation with iterator: Iterator::Root::Map: no two) 30 end"
        ],
    );
    let parallel = fixture.parallel_map(fixture.range(9), "f", 3);
    check(
        &fixture,
        &parallel,
        expect![
            "0 10 (INVALID_ARGUMENT: Error in user-defined function passed to ParallelMapDatasetV2 transformation with iterator: Iterator::Root::ParallelMapV2: no two) 30 end"
        ],
    );
    let tolerant = fixture.dataset("IgnoreErrorsDataset", &[], vec![mapped]).unwrap();
    check(&fixture, &tolerant, expect!["0 10 30 end"]);
}

/// Calls that wait until they are let go.
#[derive(Clone, Default)]
struct Gates(Arc<Mutex<FxHashMap<i64, oneshot::Sender<()>>>>);

impl Gates {
    fn body(&self) -> Body {
        let gates = self.clone();
        Arc::new(move |args| {
            let number = args[0].scalar_value::<i64>().unwrap();
            let (sender, receiver) = oneshot::channel();
            gates.0.lock().unwrap().insert(number, sender);
            Box::pin(async move {
                receiver.await.ok();
                Ok(args)
            })
        })
    }

    fn open(&self, number: i64) {
        self.0.lock().unwrap().remove(&number).unwrap().send(()).unwrap();
    }

    fn waiting(&self) -> Vec<i64> {
        let gates = self.0.lock().unwrap();
        let mut waiting: Vec<i64> =
            gates.iter().filter(|(_, gate)| !gate.is_canceled()).map(|(n, _)| *n).collect();
        waiting.sort_unstable();
        waiting
    }
}

/// Lets background work go as far as it can.
fn settle() {
    finish(std::future::pending::<Result<()>>()).unwrap_err();
}

#[test]
fn parallel_calls_are_limited_and_keep_their_order() {
    let gates = Gates::default();
    let fixture = Fixture::new(vec![("f", gates.body())]);
    let dataset = fixture.parallel_map(fixture.range(9), "f", 3);
    let mut elements = fixture.iterate(&dataset);
    settle();
    assert_eq!(gates.waiting(), [0; 0], "nothing is done before somebody asks");
    next(&mut *elements).unwrap_err();
    drop(elements);
    settle();
    assert_eq!(gates.waiting(), [0; 0], "calls end with their iterator");

    let mut elements = fixture.iterate(&dataset);
    // The first question starts the calls; it does not get its answer in time.
    next(&mut *elements).unwrap_err();
    let started = gates.waiting();
    assert!(started.len() >= 2 && started.len() <= 4, "{started:?}");
    gates.open(2);
    gates.open(1);
    assert_eq!(next(&mut *elements).unwrap(), Some(1));
    assert_eq!(next(&mut *elements).unwrap(), Some(2));
}

#[test]
fn elements_are_made_ahead_but_only_so_many() {
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let counting = body(move |x| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(x)
    });
    let fixture = Fixture::new(vec![("f", counting)]);
    let mapped = fixture.map(fixture.range(1000), "f");
    let prefetched = fixture.with_number("PrefetchDataset", mapped, 5);
    let mut elements = fixture.iterate(&prefetched);
    assert_eq!(next(&mut *elements).unwrap(), Some(0));
    settle();
    assert_eq!(made.load(Ordering::Relaxed), 6);
    let ready = elements.try_next().unwrap().unwrap().unwrap();
    assert_eq!(ready[0].scalar_value::<i64>().unwrap(), 1);
    drop(elements);
    settle();
    assert!(made.load(Ordering::Relaxed) <= 7);
}

#[test]
fn shuffles_are_those_of_tensorflow() {
    let fixture = Fixture::new(Vec::new());
    let shuffle = |count, size: i64, seed| {
        let inputs = [size, 87_654_321, seed].map(Tensor::scalar);
        let inputs = std::iter::once(fixture.range(count)).chain(inputs).collect();
        fixture.dataset("ShuffleDataset", &[], inputs).unwrap()
    };
    check(&fixture, &shuffle(6, 4, 11), expect!["3 2 0 1 4 5 end"]);
    check(&fixture, &shuffle(6, 10, 11), expect!["5 3 1 2 4 0 end"]);
    let inputs = [4i64, 87_654_321, 11, 3].map(Tensor::scalar);
    let inputs = std::iter::once(fixture.range(6)).chain(inputs).collect();
    let repeated = fixture.dataset("ShuffleAndRepeatDataset", &[], inputs).unwrap();
    check(&fixture, &repeated, expect!["3 2 0 1 4 5 2 0 1 4 3 5 0 1 2 5 4 3 end"]);
}

#[test]
fn skipping_goes_where_asking_would_go() {
    let fixture = Fixture::new(vec![("f", body(|x| Ok(x + 1)))]);
    let numbers = fixture.with_number("SkipDataset", fixture.range(7), 2);
    let repeated = fixture.with_number("RepeatDataset", numbers, 3);
    let taken = fixture.with_number("TakeDataset", repeated, 13);
    let mapped = fixture.map(taken.clone(), "f");
    for dataset in [taken, mapped] {
        let mut expected = Vec::new();
        let mut elements = fixture.iterate(&dataset);
        while let Some(number) = next(&mut *elements).unwrap() {
            expected.push(number);
        }
        assert_eq!(expected.len(), 13);
        for count in 0..=13 {
            let mut elements = fixture.iterate(&dataset);
            assert_eq!(finish(elements.skip(count)).unwrap(), count);
            assert_eq!(next(&mut *elements).unwrap(), expected.get(count as usize).copied());
        }
        let mut elements = fixture.iterate(&dataset);
        assert_eq!(finish(elements.skip(99)).unwrap(), 13);
        assert_eq!(next(&mut *elements).unwrap(), None);
    }
}

#[test]
fn huge_numbers_cost_nothing() {
    let fixture = Fixture::new(Vec::new());
    let numbers = fixture.range(i64::MAX);
    for op in ["TakeDataset", "RepeatDataset", "PrefetchDataset"] {
        let mut elements = fixture.iterate(&fixture.with_number(op, numbers.clone(), i64::MAX));
        assert_eq!(next(&mut *elements).unwrap(), Some(0));
    }
    let skipped = fixture.with_number("SkipDataset", numbers, i64::MAX - 1);
    check(&fixture, &skipped, expect!["9223372036854775806 end"]);
    let batched = fixture.with_number("BatchDataset", fixture.range(3), i64::MAX);
    let batch = finish(fixture.iterate(&batched).next()).unwrap().unwrap();
    assert_eq!(batch[0].values::<i64>().unwrap(), [0, 1, 2]);
}
