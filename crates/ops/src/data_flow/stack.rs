//! Stacks: where loops of TensorFlow 1 keep what their gradients need.
//!
//! The first version's handles are references to a pair of strings, the second's are resources.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Resource, Value, Variable, cpu};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument};

use super::tensor_array_ops::{set_handle, unique_name};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Stack",
        outputs: &["handle: Ref(string)"],
        attrs: &["elem_type: type", "stack_name: string = ''"],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    Op {
        name: "StackClose",
        inputs: &["handle: Ref(string)"],
        kernels: &[cpu::<Close>()],
        ..Op::DEFAULT
    },
    Op {
        name: "StackCloseV2",
        inputs: &["handle: resource"],
        stateful: true,
        kernels: &[cpu::<Close>()],
        ..Op::DEFAULT
    },
    Op {
        name: "StackPop",
        inputs: &["handle: Ref(string)"],
        outputs: &["elem: elem_type"],
        attrs: &["elem_type: type"],
        kernels: &[cpu::<Pop>()],
        ..Op::DEFAULT
    },
    Op {
        name: "StackPopV2",
        inputs: &["handle: resource"],
        outputs: &["elem: elem_type"],
        attrs: &["elem_type: type"],
        stateful: true,
        kernels: &[cpu::<Pop>()],
        ..Op::DEFAULT
    },
    Op {
        name: "StackPush",
        inputs: &["handle: Ref(string)", "elem: T"],
        outputs: &["output: T"],
        attrs: &["T: type", "swap_memory: bool = false"],
        kernels: &[cpu::<Push>()],
        ..Op::DEFAULT
    },
    Op {
        name: "StackPushV2",
        inputs: &["handle: resource", "elem: T"],
        outputs: &["output: T"],
        attrs: &["T: type", "swap_memory: bool = false"],
        stateful: true,
        kernels: &[cpu::<Push>()],
        ..Op::DEFAULT
    },
    Op {
        name: "StackV2",
        inputs: &["max_size: int32"],
        outputs: &["handle: resource"],
        attrs: &["elem_type: type", "stack_name: string = ''"],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Stack {
    name: String,
    dtype: DType,
    /// Below zero: any number of elements.
    max_size: i32,
    /// Absent once the stack is closed.
    elements: Mutex<Option<Vec<Tensor>>>,
}

impl Resource for Stack {
    const TYPE_NAME: &'static str = "N10tensorflow5StackE";
}

impl Stack {
    fn lock(&self) -> MutexGuard<'_, Option<Vec<Tensor>>> {
        self.elements.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn closed(&self) -> tensorfleet_tensor::Error {
        invalid_argument!("Stack[{}] has already been closed.", self.name)
    }

    fn push(&self, element: Tensor) -> Result<()> {
        let mut elements = self.lock();
        let elements = elements.as_mut().ok_or_else(|| self.closed())?;
        if usize::try_from(self.max_size).is_ok_and(|most| elements.len() >= most) {
            return Err(invalid_argument!(
                "Stack[{}] overflowed its max_size ({})",
                self.name,
                self.max_size
            ));
        }
        elements.push(element);
        Ok(())
    }

    fn pop(&self) -> Result<Tensor> {
        let mut elements = self.lock();
        let elements = elements.as_mut().ok_or_else(|| self.closed())?;
        elements
            .pop()
            .ok_or_else(|| invalid_argument!("Stack[{}] is empty when calling Pop().", self.name))
    }
}

/// The stack that the first input names, by either kind of handle.
fn stack_at(ctx: &KernelContext<'_>) -> Result<Arc<Stack>> {
    match ctx.value(0)? {
        Value::Tensor(_) | Value::Empty => ctx.resource(0),
        Value::Ref(variable) => {
            let handle = variable.read()?;
            let [_, name] = handle.strings()? else {
                return Err(invalid_argument!(
                    "Stack handle must have two elements, but had shape: {}",
                    handle.shape()
                ));
            };
            ctx.step().step_resources.lookup("", &String::from_utf8_lossy(name))
        }
    }
}

#[derive(Debug)]
struct Make {
    name: String,
    dtype: DType,
}

impl Kernel for Make {
    fn new(attrs: &Attrs<'_>) -> Result<Make> {
        let name = attrs.string("stack_name")?;
        let name = if name.is_empty() { attrs.node_name().into() } else { name };
        Ok(Make { name: name.into_owned(), dtype: attrs.dtype("elem_type")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let max_size = match ctx.num_inputs() {
            0 => -1,
            _ => {
                let size = ctx.input(0)?;
                if !size.shape().is_scalar() {
                    return Err(invalid_argument!(
                        "Stack size must be a scalar, but had shape: {}",
                        size.shape()
                    ));
                }
                size.scalar_value::<i32>()?
            }
        };
        let by_resource = ctx.num_inputs() == 1;
        let name = unique_name(ctx, &self.name)?;
        let stack = Stack {
            name: name.clone(),
            dtype: self.dtype,
            max_size,
            elements: Mutex::new(Some(Vec::new())),
        };
        ctx.step().step_resources.create("", &name, Arc::new(stack))?;
        if by_resource {
            set_handle::<Stack>(ctx, &name);
        } else {
            let handle = Variable::new(name.clone(), DType::String);
            let words = vec!["_stacks".into(), name.into()];
            handle.assign(Tensor::from_strings(Shape::vector(2), words)?)?;
            ctx.set_output_ref(0, Arc::new(handle));
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Push;

impl Kernel for Push {
    fn new(_: &Attrs<'_>) -> Result<Push> {
        Ok(Push)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let stack = stack_at(ctx)?;
        let element = ctx.take_input(1)?;
        if element.dtype() != stack.dtype {
            return Err(invalid_argument!(
                "Must have type {} but got {}",
                stack.dtype as u8,
                element.dtype() as u8
            ));
        }
        stack.push(element.clone())?;
        ctx.set_output(0, element);
        Ok(())
    }
}

#[derive(Debug)]
struct Pop {
    dtype: DType,
}

impl Kernel for Pop {
    fn new(attrs: &Attrs<'_>) -> Result<Pop> {
        Ok(Pop { dtype: attrs.dtype("elem_type")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let element = stack_at(ctx)?.pop()?;
        if element.dtype() != self.dtype {
            return Err(invalid_argument!(
                "Must have type {} but got {}",
                self.dtype as u8,
                element.dtype() as u8
            ));
        }
        ctx.set_output(0, element);
        Ok(())
    }
}

#[derive(Debug)]
struct Close;

impl Kernel for Close {
    fn new(_: &Attrs<'_>) -> Result<Close> {
        Ok(Close)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        *stack_at(ctx)?.lock() = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_come_back_in_reverse_order() {
        let stack = Stack {
            name: "s".into(),
            dtype: DType::Int32,
            max_size: 2,
            elements: Mutex::new(Some(Vec::new())),
        };
        stack.push(Tensor::scalar(1i32)).unwrap();
        stack.push(Tensor::scalar(2i32)).unwrap();
        let error = stack.push(Tensor::scalar(3i32)).unwrap_err();
        assert_eq!(error.message(), "Stack[s] overflowed its max_size (2)");
        assert_eq!(stack.pop().unwrap().values::<i32>().unwrap(), [2]);
        assert_eq!(stack.pop().unwrap().values::<i32>().unwrap(), [1]);
        assert!(stack.pop().is_err());
        *stack.lock() = None;
        assert!(stack.pop().unwrap_err().message().contains("closed"));
    }
}
