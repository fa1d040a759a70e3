//! Branches, loops and functions.

mod call;
mod cond;
mod function;
mod gradient;
mod part;
mod while_loop;

pub use self::call::Function;
pub(crate) use self::cond::Branch;
pub(crate) use self::gradient::find as find_gradient;

use crate::output::Output;

/// Tensors that go into and come out of branches and loops: one, several in a tuple, or any number.
///
/// ```
/// use tensorfleet_client::{Graph, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// // Two tensors go round the loop, as a tuple: 1 + 2 + 3 + 4.
/// let start = (graph.constant(1i32), graph.constant(0i32));
/// let (_, sum) = graph.while_loop(
///     start,
///     |(number, _)| number.less_equal(4),
///     |(number, sum)| (&number + 1, sum + number),
/// );
/// assert_eq!(Session::new(&graph)?.run((), sum.value::<i32>())?, 10);
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` are not outputs of the graph",
    label = "not outputs",
    note = "closures of branches, loops and functions take and return an `Output`, a tuple or array of them, or a `Vec<Output>`"
)]
pub trait Outputs: Sized {
    /// The tensors one after the other.
    fn into_outputs(self) -> Vec<Output>;

    /// The tensors put together again; there are as many as there were.
    fn from_outputs(outputs: Vec<Output>) -> Self;
}

impl Outputs for Output {
    fn into_outputs(self) -> Vec<Output> {
        vec![self]
    }

    fn from_outputs(outputs: Vec<Output>) -> Output {
        outputs.into_iter().next().expect("one tensor went in")
    }
}

impl Outputs for Vec<Output> {
    fn into_outputs(self) -> Vec<Output> {
        self
    }

    fn from_outputs(outputs: Vec<Output>) -> Vec<Output> {
        outputs
    }
}

impl<const N: usize> Outputs for [Output; N] {
    fn into_outputs(self) -> Vec<Output> {
        self.into()
    }

    fn from_outputs(outputs: Vec<Output>) -> [Output; N] {
        outputs.try_into().expect("as many tensors as went in")
    }
}

macro_rules! tuples {
    ($($($name:ident)+;)+) => {$(
        impl Outputs for ($(tuples!(@output $name),)+) {
            fn into_outputs(self) -> Vec<Output> {
                #[allow(non_snake_case, reason = "the parts are named by position")]
                let ($($name,)+) = self;
                vec![$($name,)+]
            }

            fn from_outputs(outputs: Vec<Output>) -> Self {
                let mut outputs = outputs.into_iter();
                ($({
                    let $name = outputs.next().expect("as many tensors as went in");
                    $name
                },)+)
            }
        }
    )+};
    (@output $name:ident) => { Output };
}

tuples! {
    a;
    a b;
    a b c;
    a b c d;
    a b c d e;
    a b c d e f;
}
