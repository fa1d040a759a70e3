//! The vocabulary of ops that steer the executor instead of computing.

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
