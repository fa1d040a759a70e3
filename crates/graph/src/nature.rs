//! What an op is to those who plan and run graphs, beyond its signature.

/// What is said of an op where it is defined. Signatures from the wire do not tell it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nature {
    /// What the executor itself does with a node, instead of a kernel.
    pub control_flow: Option<ControlFlow>,
    /// How a node calls the functions in its attributes, if it may be replaced by their bodies.
    pub calls: Option<Calls>,
    /// The value comes from elsewhere, a feed or a file, though the op is not called stateful.
    pub reads_outside: bool,
    /// The value is that of a variable, which the op changes nothing in.
    pub reads_variable: bool,
    /// Only the shape of the input is read, not its values.
    pub needs_only_shape: bool,
    /// The node is there to fail, whether or not anybody reads its value.
    pub is_check: bool,
}

impl Nature {
    /// Of an op that computes and nothing else.
    pub const PLAIN: Nature = Nature {
        control_flow: None,
        calls: None,
        reads_outside: false,
        reads_variable: false,
        needs_only_shape: false,
        is_check: false,
    };

    /// Of an op whose value comes from elsewhere though it is not called stateful.
    pub const READS_OUTSIDE: Nature = Nature { reads_outside: true, ..Nature::PLAIN };
    /// Of an op that only reads a variable.
    pub const READS_VARIABLE: Nature = Nature { reads_variable: true, ..Nature::PLAIN };
    /// Of an op that reads its input's shape and not its values.
    pub const NEEDS_ONLY_SHAPE: Nature = Nature { needs_only_shape: true, ..Nature::PLAIN };
    /// Of an op that is there to fail.
    pub const CHECK: Nature = Nature { is_check: true, ..Nature::PLAIN };

    /// Of an op that calls functions.
    pub const fn calling(calls: Calls) -> Nature {
        Nature { calls: Some(calls), ..Nature::PLAIN }
    }
}

/// How a node calls functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// Its one function, once.
    Once,
    /// One of several, which an input chooses.
    OneOf,
    /// A body, as long as a condition holds.
    Repeatedly,
}

/// What a control-flow node does with its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlFlow {
    /// Passes input 0 to the output that input 1 chooses; the other output is dead.
    Switch,
    /// Passes on the first live input and its index.
    Merge,
    /// Brings a value into a loop's frame.
    Enter,
    /// Brings a value out of a loop's frame when the loop ends.
    Exit,
    /// Brings a value to the next iteration of a loop.
    NextIteration,
    /// Passes on whether a loop goes on.
    LoopCond,
    /// Passes input 0 to one of n outputs that input 1 chooses by number.
    SwitchN,
    /// Runs even when a control input is dead.
    ControlTrigger,
    /// An argument of a function or a fed tensor: the executor puts the value in.
    Arg,
    /// A return value of a function or a fetched tensor: the executor takes the value out.
    Retval,
}

impl ControlFlow {
    /// Whether the node is where values come into a graph or leave it.
    pub fn is_end(self) -> bool {
        matches!(self, ControlFlow::Arg | ControlFlow::Retval)
    }

    /// Whether all outputs but one are dead.
    pub fn is_switch(self) -> bool {
        matches!(self, ControlFlow::Switch | ControlFlow::SwitchN)
    }
}
