//! Modules: what has parameters, by name, whatever it is made of.

use std::fmt;

use tensorfleet_tensor::Shape;

use crate::sharded::ShardedVariable;
use crate::variable::Variable;

/// Something with parameters: a variable, a layer, a model of several of them.
///
/// A program's own models get it by [`module!`](crate::module), which names the fields. Names of
/// parameters are the way to them, as `encoder/query/kernel`, wherever in a graph the model is
/// built. They are what [`Saver::of_module`](crate::Saver::of_module) and
/// [`Weights`](crate::Weights) save and load by.
///
/// ```
/// use tensorfleet_client::layers::{Dense, Embedding};
/// use tensorfleet_client::{Graph, Module, Output, module};
///
/// struct Classifier {
///     words: Embedding,
///     hidden: Vec<Dense>,
///     logits: Dense,
/// }
///
/// module!(Classifier { words, hidden, logits });
///
/// impl Classifier {
///     fn new() -> Classifier {
///         let hidden = vec![Dense::new(8).seed(2), Dense::new(8).seed(3)];
///         Classifier { words: Embedding::new(100, 4).seed(1), hidden, logits: Dense::new(2).seed(4) }
///     }
///
///     fn call(&self, ids: &Output) -> Output {
///         let mut x = self.words.call(ids).mean_along(1, false);
///         for layer in &self.hidden {
///             x = layer.call(&x).relu();
///         }
///         self.logits.call(&x)
///     }
/// }
///
/// let graph = Graph::new();
/// let model = Classifier::new();
/// let ids = graph.placeholder::<i64>([None, Some(5)]);
/// let y = model.call(&ids);
/// let names: Vec<String> = model.parameters().into_iter().map(|p| p.name).collect();
/// assert_eq!(names[..3], ["words/embeddings", "hidden/0/kernel", "hidden/0/bias"]);
/// assert_eq!(model.num_parameters(), 400 + 40 + 72 + 18);
/// // Called again, on other input, it has the same parameters: they are shared.
/// let again = model.call(&graph.constant([[1i64, 2, 3, 4, 5]]));
/// assert_eq!(model.parameters().len(), 7);
/// # drop((y, again));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no parameters with names",
    label = "not a module",
    note = "name the fields that have parameters: `module!({Self} {{ encoder, logits }});`"
)]
pub trait Module {
    /// Tells the parts, each with its name.
    fn parts(&self, parameters: &mut Parameters);

    /// All parameters in order, each once. A layer has none before it was called.
    fn parameters(&self) -> Vec<Parameter> {
        let mut parameters = Parameters::default();
        self.parts(&mut parameters);
        parameters.found
    }

    /// The variables that optimisers train, as for
    /// [`compute_gradients_of`](crate::Optimizer::compute_gradients_of).
    fn trainable_variables(&self) -> Vec<Variable> {
        let variables = self.parameters().into_iter().map(|parameter| parameter.variable);
        variables.filter(Variable::is_trainable).collect()
    }

    /// How many numbers are trained.
    fn num_parameters(&self) -> usize {
        self.trainable_variables().iter().map(Variable::num_elements).sum()
    }
}

/// A variable of a module, with its name there. See the example of [`Module`].
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The way to it, as `hidden/0/kernel`. Variables that hold the parts of one share a name.
    pub name: String,
    /// The variable.
    pub variable: Variable,
    /// Which rows of the whole it holds, if it is a part.
    pub part: Option<Rows>,
}

/// The rows of a tensor that one of several variables holds.
///
/// ```
/// use tensorfleet_client::{Graph, Module, initializer};
///
/// let graph = Graph::new();
/// let table = graph.sharded_variable("table", 5, 2, |rows| initializer::ones([rows, 2]));
/// let rows = table.parameters()[1].part.clone().expect("it is the second of two parts");
/// assert_eq!((rows.first, rows.count, rows.whole.dims()), (3, 2, &[5, 2][..]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// The shape of the whole.
    pub whole: Shape,
    /// The number of the first row.
    pub first: usize,
    /// How many rows.
    pub count: usize,
}

impl fmt::Display for Rows {
    /// As TensorFlow's checkpoints name slices: `5 2 3,2:-`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for dim in self.whole.dims() {
            write!(f, "{dim} ")?;
        }
        write!(f, "{},{}", self.first, self.count)?;
        (1..self.whole.rank()).try_for_each(|_| f.write_str(":-"))
    }
}

/// Collects the parameters of a module. See the example of [`Parameters::part`].
#[derive(Debug, Default)]
pub struct Parameters {
    path: String,
    found: Vec<Parameter>,
}

impl Parameters {
    /// Takes in what a part has, under a name. [`module!`](crate::module) writes such calls; one's
    /// own may choose.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Module, Parameters, Variable};
    ///
    /// struct Scale {
    ///     by: Variable,
    ///     shift: Option<Variable>,
    /// }
    ///
    /// impl Module for Scale {
    ///     fn parts(&self, parameters: &mut Parameters) {
    ///         parameters.part("gamma", &self.by);
    ///         parameters.part("beta", &self.shift);
    ///     }
    /// }
    ///
    /// let graph = Graph::new();
    /// let scale = Scale { by: graph.variable("by", 1.0f32), shift: None };
    /// assert_eq!(scale.parameters()[0].name, "gamma");
    /// ```
    pub fn part(&mut self, name: &str, module: &(impl Module + ?Sized)) {
        let outer = self.path.len();
        if outer > 0 {
            self.path.push('/');
        }
        self.path.push_str(name);
        module.parts(self);
        self.path.truncate(outer);
    }

    fn add(&mut self, variable: &Variable, part: Option<Rows>) {
        // A variable that several parts share goes by the first name.
        let is_known = self.found.iter().any(|known| known.variable.is_same(variable));
        if !is_known {
            let name = self.path.clone();
            self.found.push(Parameter { name, variable: variable.clone(), part });
        }
    }
}

/// The parameters of a module under a name; none, if it is empty.
pub(crate) fn parameters_of(name: &str, module: &(impl Module + ?Sized)) -> Vec<Parameter> {
    let mut parameters = Parameters::default();
    if name.is_empty() {
        module.parts(&mut parameters);
    } else {
        parameters.part(name, module);
    }
    parameters.found
}

impl Module for Variable {
    fn parts(&self, parameters: &mut Parameters) {
        parameters.add(self, None);
    }
}

impl Module for ShardedVariable {
    fn parts(&self, parameters: &mut Parameters) {
        let rows = self.rows();
        let mut dims = self.shards()[0].shape().to_shape().unwrap_or_default().dims().to_vec();
        if let Some(first) = dims.first_mut() {
            *first = rows.iter().sum();
        }
        // A shape of variables that exist; should it be none, their parts go by themselves.
        let whole = Shape::new(&dims).ok().filter(|whole| whole.rank() > 0);
        let mut first = 0;
        for (shard, &count) in self.shards().iter().zip(rows) {
            let part = whole.clone().map(|whole| Rows { whole, first, count });
            parameters.add(shard, part);
            first += count;
        }
    }
}

impl<M: Module + ?Sized> Module for &M {
    fn parts(&self, parameters: &mut Parameters) {
        (**self).parts(parameters);
    }
}

impl<M: Module + ?Sized> Module for Box<M> {
    fn parts(&self, parameters: &mut Parameters) {
        (**self).parts(parameters);
    }
}

impl<M: Module + ?Sized> Module for std::sync::Arc<M> {
    fn parts(&self, parameters: &mut Parameters) {
        (**self).parts(parameters);
    }
}

impl<M: Module> Module for Option<M> {
    fn parts(&self, parameters: &mut Parameters) {
        self.iter().for_each(|module| module.parts(parameters));
    }
}

impl<M: Module> Module for [M] {
    fn parts(&self, parameters: &mut Parameters) {
        for (number, module) in self.iter().enumerate() {
            parameters.part(&number.to_string(), module);
        }
    }
}

impl<M: Module> Module for Vec<M> {
    fn parts(&self, parameters: &mut Parameters) {
        self[..].parts(parameters);
    }
}

impl<M: Module, const N: usize> Module for [M; N] {
    fn parts(&self, parameters: &mut Parameters) {
        self[..].parts(parameters);
    }
}

/// Makes a struct a [`Module`](crate::Module): `module!(Model { encoder, logits });` names the fields
/// that have parameters.
///
/// ```
/// use tensorfleet_client::layers::Dense;
/// use tensorfleet_client::{Graph, Module, module};
///
/// struct Tower<const N: usize> {
///     layers: [Dense; N],
/// }
///
/// module!([const N: usize] Tower<N> { layers });
///
/// let graph = Graph::new();
/// let tower = Tower { layers: [Dense::new(3), Dense::new(3)] };
/// let x = graph.constant([[1.0f32, 2.0, 3.0]]);
/// let y = tower.layers.iter().fold(x, |x, layer| layer.call(&x));
/// assert_eq!(tower.parameters()[2].name, "layers/1/kernel");
/// # drop(y);
/// ```
#[macro_export]
macro_rules! module {
    ([$($generics:tt)*] $model:ty { $($field:ident),* $(,)? }) => {
        impl<$($generics)*> $crate::Module for $model {
            fn parts(&self, parameters: &mut $crate::Parameters) {
                $(parameters.part(stringify!($field), &self.$field);)*
            }
        }
    };
    ($model:ty { $($field:ident),* $(,)? }) => {
        $crate::module!([] $model { $($field),* });
    };
}
