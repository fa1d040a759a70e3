//! Variables: named tensors that outlive a step. Reference and resource variables are the same.
//!
//! Reading shares the tensor's storage. Updating writes in place when nobody else holds it and
//! copies it otherwise, so a reader never sees half an update.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tensorfleet_tensor::{DType, Result, Shape, Tensor, failed_precondition, invalid_argument};

use crate::{Change, Measure, Resource};

/// A mutable tensor.
#[derive(Debug)]
pub struct Variable {
    name: String,
    dtype: DType,
    declared_shape: Option<Shape>,
    value: RwLock<Option<Tensor>>,
    /// How the task's journal calls the variable.
    number: OnceLock<u64>,
    reads: AtomicU64,
    /// Changed under the lock of the value only.
    updates: AtomicU64,
}

impl Resource for Variable {
    const TYPE_NAME: &'static str = "N10tensorflow3VarE";

    fn variable(&self) -> Option<&Variable> {
        Some(self)
    }

    fn measure(&self) -> Measure {
        let (shape, bytes) = match &*self.lock_shared() {
            Some(value) => (value.shape().to_string(), value.byte_len() as u64),
            None => (String::new(), 0),
        };
        Measure {
            dtype: self.dtype.to_string(),
            shape,
            bytes,
            reads: self.reads.load(Ordering::Relaxed),
            updates: self.updates.load(Ordering::Relaxed),
            ..Measure::default()
        }
    }
}

/// A variable of TensorFlow 1, found by name and handed on by reference. A resource variable of the
/// same name is another one.
#[derive(Debug)]
pub struct RefVariable(pub Arc<Variable>);

impl Resource for RefVariable {
    const TYPE_NAME: &'static str = "N10tensorflow9LegacyVarE";

    fn variable(&self) -> Option<&Variable> {
        Some(&self.0)
    }

    fn measure(&self) -> Measure {
        self.0.measure()
    }
}

impl Variable {
    /// Makes a variable without a value.
    pub fn new(name: impl Into<String>, dtype: DType) -> Variable {
        Variable {
            name: name.into(),
            dtype,
            declared_shape: None,
            value: RwLock::new(None),
            number: OnceLock::new(),
            reads: AtomicU64::new(0),
            updates: AtomicU64::new(0),
        }
    }

    /// Makes a variable without a value, whose first value should have `shape`.
    pub fn with_shape(name: impl Into<String>, dtype: DType, shape: Shape) -> Variable {
        Variable { declared_shape: Some(shape), ..Variable::new(name, dtype) }
    }

    /// The name by which errors speak of the variable.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The shape with which the variable was declared, if it was: what the first value should have.
    pub fn declared_shape(&self) -> Option<&Shape> {
        self.declared_shape.as_ref()
    }

    /// The number by which the task's journal knows the variable, if it does.
    pub fn number(&self) -> Option<u64> {
        self.number.get().copied()
    }

    /// Makes the variable known to the task's journal; the first number stays.
    pub fn set_number(&self, number: u64) {
        self.number.get_or_init(|| number);
    }

    /// A panic while the lock was held left the tensor itself whole, so the poison is ignored.
    fn lock(&self) -> RwLockWriteGuard<'_, Option<Tensor>> {
        self.value.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_shared(&self) -> RwLockReadGuard<'_, Option<Tensor>> {
        self.value.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a change. Whoever calls has the lock, so nobody else counts.
    fn count_update(&self) {
        self.updates.store(self.updates.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Whether the variable has a value.
    pub fn is_initialized(&self) -> bool {
        self.lock_shared().is_some()
    }

    /// The value, if there is one.
    pub fn get(&self) -> Option<Tensor> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.lock_shared().clone()
    }

    /// Looks at the value without holding its storage afterwards.
    ///
    /// Whoever reads a few rows of a large table should do it here: a snapshot by
    /// [`Variable::read`] that is still alive would make the next update copy the table.
    pub fn with<R>(&self, look: impl FnOnce(&Tensor) -> Result<R>) -> Result<R> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        match &*self.lock_shared() {
            Some(value) => look(value),
            None => Err(self.uninitialized()),
        }
    }

    /// The value; an error that names the variable if there is none.
    pub fn read(&self) -> Result<Tensor> {
        self.get().ok_or_else(|| self.uninitialized())
    }

    /// An error that names the variable if it has no value.
    pub fn check_initialized(&self) -> Result<()> {
        if self.is_initialized() { Ok(()) } else { Err(self.uninitialized()) }
    }

    fn uninitialized(&self) -> tensorfleet_tensor::Error {
        failed_precondition!("Attempting to use uninitialized value {}", self.name)
    }

    /// Replaces the value of a variable that no other step can find yet.
    pub fn assign(&self, value: Tensor) -> Result<()> {
        if value.dtype() != self.dtype {
            return Err(invalid_argument!(
                "Trying to assign variable {} of type {} a value of type {}",
                self.name,
                self.dtype,
                value.dtype()
            ));
        }
        let mut slot = self.lock();
        *slot = Some(value);
        self.count_update();
        Ok(())
    }

    /// Changes the slot of the value under the variable's lock: it may be empty before and after.
    pub fn update_slot<R>(
        &self,
        change: &Change<'_>,
        update: impl FnOnce(&mut Option<Tensor>) -> Result<R>,
    ) -> Result<R> {
        let recording = change.of([self])?;
        let mut slot = self.lock();
        self.count_update();
        let result = update(&mut slot);
        if let Some(recording) = recording {
            recording.tell(&result);
        }
        result
    }

    /// Changes the value under the variable's lock.
    pub fn update<R>(
        &self,
        change: &Change<'_>,
        update: impl FnOnce(&mut Tensor) -> Result<R>,
    ) -> Result<R> {
        self.update_slot(change, |slot| match slot {
            Some(value) => update(value),
            None => Err(self.uninitialized()),
        })
    }

    /// Changes the values of several variables under all their locks.
    ///
    /// Locks are taken in one global order, so that two steps that update the same variables in
    /// different orders cannot wait for each other.
    pub fn update_all<const N: usize, R>(
        variables: [&Arc<Variable>; N],
        change: &Change<'_>,
        update: impl FnOnce([&mut Tensor; N]) -> Result<R>,
    ) -> Result<R> {
        let mut order: [usize; N] = std::array::from_fn(|i| i);
        order.sort_by_key(|&i| Arc::as_ptr(variables[i]));
        if order.windows(2).any(|pair| Arc::ptr_eq(variables[pair[0]], variables[pair[1]])) {
            return Err(invalid_argument!(
                "the same variable {} was given for two inputs of one update",
                variables[order[0]].name
            ));
        }
        let recording = change.of(variables.map(|variable| &**variable))?;
        let mut guards: [Option<RwLockWriteGuard<'_, Option<Tensor>>>; N] = [const { None }; N];
        for i in order {
            guards[i] = Some(variables[i].lock());
        }
        let mut guards = guards.map(|guard| guard.expect("each was locked"));
        if let Some(empty) = guards.iter().position(|guard| guard.is_none()) {
            return Err(variables[empty].uninitialized());
        }
        variables.iter().for_each(|variable| variable.count_update());
        let result = update(guards.each_mut().map(|guard| guard.as_mut().expect("none is empty")));
        if let Some(recording) = recording {
            recording.tell(&result);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(value: f32) -> Arc<Variable> {
        let variable = Variable::new("v", DType::Float);
        variable.assign(Tensor::vector(&[value; 8]).unwrap()).unwrap();
        Arc::new(variable)
    }

    #[test]
    fn a_snapshot_does_not_see_later_updates() {
        let v = variable(1.0);
        let before = v.read().unwrap();
        v.update(&Change::UNRECORDED, |t| {
            t.values_mut::<f32>()?.fill(2.0);
            Ok(())
        })
        .unwrap();
        assert_eq!(before.values::<f32>().unwrap()[0], 1.0);
        assert_eq!(v.read().unwrap().values::<f32>().unwrap()[0], 2.0);
    }

    #[test]
    fn updating_the_same_variable_twice_at_once_is_an_error() {
        let v = variable(1.0);
        assert!(Variable::update_all([&v, &v], &Change::UNRECORDED, |_| Ok(())).is_err());
        let w = variable(2.0);
        Variable::update_all([&w, &v], &Change::UNRECORDED, |[w, v]| {
            v.values_mut::<f32>()?[0] = w.values::<f32>()?[0];
            Ok(())
        })
        .unwrap();
        assert_eq!(v.read().unwrap().values::<f32>().unwrap()[..2], [2.0, 1.0]);
    }

    #[test]
    fn reads_and_updates_are_counted() {
        let v = variable(1.0);
        v.read().unwrap();
        v.with(|_| Ok(())).unwrap();
        v.update(&Change::UNRECORDED, |_| Ok(())).unwrap();
        let measure = v.measure();
        assert_eq!((measure.reads, measure.updates), (2, 2));
        assert_eq!((&*measure.dtype, &*measure.shape, measure.bytes), ("float", "[8]", 32));
    }

    #[test]
    fn reading_nothing_is_a_failed_precondition() {
        let error = Variable::new("w", DType::Float).read().unwrap_err();
        assert_eq!(error.message(), "Attempting to use uninitialized value w");
    }
}
