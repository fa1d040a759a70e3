//! Branches and loops, and gradients through them.

use tensorfleet_client::{DType, Function, Graph, Output, PartialShape, Session, gradients};

/// The derivatives of `y` as tensors.
fn derivatives<const N: usize>(y: &Output, xs: [&Output; N]) -> Vec<Output> {
    gradients(y, xs).into_iter().map(|gradient| gradient.unwrap().to_dense()).collect()
}

#[test]
fn only_one_side_runs() {
    let graph = Graph::new();
    let flag = graph.placeholder::<bool>([]);
    let (a, b) = (graph.state("a", 0.0f32), graph.state("b", 0.0f32));
    let result = graph.cond(
        &flag,
        || {
            let done = a.assign_add(1.0f32);
            graph.control_dependencies([&done], || graph.constant(10.0f32))
        },
        || {
            let done = b.assign_add(1.0f32);
            graph.control_dependencies([&done], || graph.constant(20.0f32))
        },
    );
    let session = Session::new(&graph).unwrap();
    session.run((), &graph.initializer()).unwrap();
    assert_eq!(session.run((&flag, true), result.value::<f32>()).unwrap(), 10.0);
    assert_eq!(session.run((&flag, false), result.value::<f32>()).unwrap(), 20.0);
    assert_eq!(session.run((&flag, false), result.value::<f32>()).unwrap(), 20.0);
    let counts = session.run((), (a.value::<f32>(), b.value::<f32>())).unwrap();
    assert_eq!(counts, (1.0, 2.0));
}

#[test]
fn branches_nest_and_have_gradients() {
    let graph = Graph::new();
    let x = graph.placeholder::<f32>([]);
    let w = graph.variable("w", 3.0f32);
    let y = graph.cond(
        x.greater(0.0),
        || graph.cond(x.greater(10.0), || &x * 2.0, || x.square() * &w),
        || x.exp(),
    );
    let dx = derivatives(&y, [&x]).remove(0);
    let dw = gradients(&y, [&w]).remove(0).unwrap().to_dense();
    let session = Session::new(&graph).unwrap();
    session.run((), &graph.initializer()).unwrap();
    let at = |value: f32| {
        let fetches = (y.value::<f32>(), dx.value::<f32>(), dw.value::<f32>());
        session.run((&x, value), fetches).unwrap()
    };
    assert_eq!(at(2.0), (12.0, 12.0, 4.0));
    assert_eq!(at(20.0), (40.0, 2.0, 0.0));
    assert_eq!(at(-1.0), ((-1.0f32).exp(), (-1.0f32).exp(), 0.0));
}

#[test]
fn loops_have_gradients_by_variables_captures_and_start() {
    let graph = Graph::new();
    let x = graph.placeholder::<f32>([Some(2)]);
    let w = graph.variable("w", [0.5f32, 2.0]);
    let n = graph.placeholder::<i32>([]);
    // v = v * w + x, n times.
    let (_, v) = graph.while_loop(
        (graph.constant(0i32), &x * 3.0),
        |(i, _)| i.less(&n),
        |(i, v)| (i + 1, v * &w + &x),
    );
    let y = v.sum();
    let dx = derivatives(&y, [&x]).remove(0);
    let dw = gradients(&y, [&w]).remove(0).unwrap().to_dense();
    let session = Session::new(&graph).unwrap();
    session.run((), &graph.initializer()).unwrap();
    let fetches = (y.value::<f32>(), dx.value::<Vec<f32>>(), dw.value::<Vec<f32>>());
    let feeds = ((&x, [1.0f32, 2.0]), (&n, 2i32));
    let (y, dx, dw) = session.run(feeds, fetches.clone()).unwrap();
    // v2 = 3 x w^2 + x w + x, so dv2/dx = 3 w^2 + w + 1 and dv2/dw = 6 x w + x.
    assert_eq!(y, 2.25 + 30.0);
    assert_eq!(dx, [2.25, 15.0]);
    assert_eq!(dw, [4.0, 26.0]);
    let (y, dx, dw) = session.run(((&x, [1.0f32, 2.0]), (&n, 0i32)), fetches).unwrap();
    assert_eq!((y, dx, dw), (9.0, vec![3.0, 3.0], vec![0.0, 0.0]));
}

#[test]
fn a_branch_in_a_loop_in_a_branch() {
    let graph = Graph::new();
    let x = graph.placeholder::<f32>([]);
    let y = graph.cond(
        x.greater(0.0),
        || {
            let start = (graph.constant(0i32), x.clone());
            let (_, v) = graph.while_loop(
                start,
                |(i, _)| i.less(3),
                |(i, v)| {
                    let even = (&i % 2).equal(0);
                    let next = graph.cond(even, || &v * &x, || &v + 1.0);
                    (i + 1, next)
                },
            );
            v
        },
        || x.clone(),
    );
    let dx = derivatives(&y, [&x]).remove(0);
    let session = Session::new(&graph).unwrap();
    let fetches = || (y.value::<f32>(), dx.value::<f32>());
    // ((x * x) + 1) * x
    assert_eq!(session.run((&x, 2.0f32), fetches()).unwrap(), (10.0, 13.0));
    assert_eq!(session.run((&x, -2.0f32), fetches()).unwrap(), (-2.0, 1.0));
}

#[test]
fn a_loop_that_changes_types_is_refused() {
    let graph = Graph::new();
    let start = graph.constant(1.0f32);
    let _ = graph.while_loop(start, |x| x.less(5.0), |x| x.greater(2.0));
    let error = graph.check().unwrap_err().to_string();
    assert!(error.contains("variable 0 of the loop is float"), "{error}");
    assert!(error.contains("control.rs"), "{error}");
}

/// Functions of two scalars.
fn branches(graph: &Graph) -> [Function; 3] {
    let function = |name: &str, body: fn(Output, Output) -> Output| {
        let scalar = (DType::Float, PartialShape::scalar());
        graph.function(name, [scalar.clone(), scalar], |[x, y]: [Output; 2]| body(x, y))
    };
    [
        function("product", |x, y| x * y),
        function("square", |x, _| x.square()),
        function("ratio", |x, y| x / y),
    ]
}

#[test]
fn a_choice_among_functions_has_gradients() {
    let graph = Graph::new();
    let [x, y] = [(); 2].map(|()| graph.placeholder::<f32>([]));
    let index = graph.placeholder::<i32>([]);
    let functions: Vec<_> = branches(&graph).iter().map(|f| f.func().clone()).collect();
    let types = vec![DType::Float];
    let case = graph.op("Case").input(&index).inputs([&x, &y]).attr("Tout", types.clone());
    let case = case.attr("branches", functions.clone()).output();
    let choice = graph.op("If").input(index.equal(0)).inputs([&x, &y]).attr("Tout", types);
    let choice = choice.attr("then_branch", functions[0].clone());
    let choice = choice.attr("else_branch", functions[1].clone()).output();
    let (of_case, of_choice) = (derivatives(&case, [&x, &y]), derivatives(&choice, [&x, &y]));
    let session = Session::new(&graph).unwrap();
    let at = |chosen: i32, taken: &[Output]| {
        let feeds = ((&x, 3.0f32), (&y, 2.0f32), (&index, chosen));
        let fetches: Vec<_> = taken.iter().map(Output::value::<f32>).collect();
        session.run(feeds, fetches).unwrap()
    };
    assert_eq!(at(0, &of_case), [2.0, 3.0]);
    assert_eq!(at(1, &of_case), [6.0, 0.0]);
    assert_eq!(at(2, &of_case), [0.5, -0.75]);
    // An index that no function has means the last one.
    assert_eq!(at(7, &of_case), [0.5, -0.75]);
    assert_eq!(at(0, &of_choice), [2.0, 3.0]);
    assert_eq!(at(1, &of_choice), [6.0, 0.0]);
}
