//! Writing rows of updates into rows of a tensor: what all scatters come down to.

use bytes::Bytes;
use tensorfleet_tensor::{DType, Element, Result, Tensor, internal, invalid_argument};

use super::number::{Number, for_number, for_real_number};

/// What becomes of an old value and an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    Update,
    Add,
    Sub,
    Mul,
    Div,
    Min,
    Max,
}

impl Combine {
    /// What the last word of a scatter's name says.
    pub(crate) fn of_op(name: &str) -> Result<Combine> {
        [
            ("Update", Combine::Update),
            ("Add", Combine::Add),
            ("Sub", Combine::Sub),
            ("Mul", Combine::Mul),
            ("Div", Combine::Div),
            ("Min", Combine::Min),
            ("Max", Combine::Max),
        ]
        .into_iter()
        .find_map(|(word, how)| name.ends_with(word).then_some(how))
        .ok_or_else(|| internal!("{name} is no scatter"))
    }
}

/// Combines row `rows[i]` of `target` with row `i` of `updates`, or with its only element, one after
/// the other. A row has `width` elements; rows that are `None` are passed over.
///
/// # Panics
/// If a row is not in the target, or the updates do not hold as many rows.
pub(crate) fn combine_rows(
    how: Combine,
    target: &mut Tensor,
    rows: &[Option<usize>],
    width: usize,
    updates: &Tensor,
) -> Result<()> {
    if rows.is_empty() || width == 0 {
        return Ok(());
    }
    let plan = Plan { rows, width, is_broadcast: updates.num_elements() != rows.len() * width };
    let dtype = target.dtype();
    match how {
        Combine::Update => update(&plan, target, updates),
        Combine::Add if dtype == DType::String => {
            plan.append(target.strings_mut()?, updates.strings()?);
            Ok(())
        }
        Combine::Min => for_real_number!(dtype, T => {
            plan.run(target.values_mut::<T>()?, updates.values()?, |old, new| {
                if new < old { new } else { old }
            });
            Ok(())
        }),
        Combine::Max => for_real_number!(dtype, T => {
            plan.run(target.values_mut::<T>()?, updates.values()?, |old, new| {
                if old < new { new } else { old }
            });
            Ok(())
        }),
        _ => for_number!(dtype, T => {
            arithmetic::<T>(how, &plan, target.values_mut()?, updates.values()?)
        }),
    }
}

fn arithmetic<T: Number>(
    how: Combine,
    plan: &Plan<'_>,
    target: &mut [T],
    updates: &[T],
) -> Result<()> {
    match how {
        Combine::Sub => plan.run(target, updates, T::sub),
        Combine::Mul => plan.run(target, updates, T::mul),
        Combine::Div => {
            // Found out first, so that nothing is half done.
            if updates.iter().any(|&divisor| divisor.div(divisor).is_none()) {
                return Err(invalid_argument!("Integer division by zero"));
            }
            plan.run(target, updates, |old, new| old.div(new).unwrap_or(old));
        }
        _ => plan.run(target, updates, T::add),
    }
    Ok(())
}

fn update(plan: &Plan<'_>, target: &mut Tensor, updates: &Tensor) -> Result<()> {
    match target.dtype() {
        DType::String => plan.set(target.strings_mut()?, updates.strings()?),
        DType::Variant => plan.set(target.variants_mut()?, updates.variants()?),
        DType::Resource => {
            let mut handles = target.resources()?.to_vec();
            plan.set(&mut handles, updates.resources()?);
            *target = Tensor::from_resources(target.shape().clone(), handles)?;
        }
        dtype => {
            if updates.dtype() != dtype {
                return Err(invalid_argument!(
                    "a variable of type {dtype} cannot take updates of type {}",
                    updates.dtype()
                ));
            }
            let size = dtype.size();
            let bytes = Plan { width: plan.width * size, ..*plan };
            // A broadcast element is a row of its own, repeated.
            if plan.is_broadcast {
                let row = updates.raw().repeat(plan.width);
                let rows = plan.rows;
                return target.write_raw(|target| {
                    for &row_at in rows.iter().flatten() {
                        target[row_at * row.len()..][..row.len()].copy_from_slice(&row);
                    }
                    Ok(())
                });
            }
            target.write_raw(|target| {
                bytes.for_each(updates.raw(), |place, row| {
                    target[place..place + row.len()].copy_from_slice(row);
                });
                Ok(())
            })?;
        }
    }
    Ok(())
}

struct Plan<'a> {
    rows: &'a [Option<usize>],
    width: usize,
    /// Whether the updates are one element for all.
    is_broadcast: bool,
}

impl Plan<'_> {
    /// Calls `f` with the place of every target row and with the row of updates.
    fn for_each<T>(&self, updates: &[T], mut f: impl FnMut(usize, &[T])) {
        for (row, update) in self.rows.iter().zip(updates.chunks_exact(self.width)) {
            if let Some(row) = row {
                f(row * self.width, update);
            }
        }
    }

    fn run<T: Element>(&self, target: &mut [T], updates: &[T], combine: impl Fn(T, T) -> T) {
        if self.is_broadcast {
            for &row in self.rows.iter().flatten() {
                for old in &mut target[row * self.width..][..self.width] {
                    *old = combine(*old, updates[0]);
                }
            }
            return;
        }
        self.for_each(updates, |place, update| {
            for (old, &new) in target[place..place + self.width].iter_mut().zip(update) {
                *old = combine(*old, new);
            }
        });
    }

    /// Adds up strings: each update comes after what is there.
    fn append(&self, target: &mut [Bytes], updates: &[Bytes]) {
        let join = |old: &mut Bytes, new: &Bytes| {
            *old = if old.is_empty() { new.clone() } else { [&old[..], &new[..]].concat().into() };
        };
        if self.is_broadcast {
            for &row in self.rows.iter().flatten() {
                target[row * self.width..][..self.width]
                    .iter_mut()
                    .for_each(|old| join(old, &updates[0]));
            }
            return;
        }
        self.for_each(updates, |place, update| {
            target[place..].iter_mut().zip(update).for_each(|(old, new)| join(old, new));
        });
    }

    fn set<T: Clone>(&self, target: &mut [T], updates: &[T]) {
        if self.is_broadcast {
            for &row in self.rows.iter().flatten() {
                target[row * self.width..][..self.width].fill(updates[0].clone());
            }
            return;
        }
        self.for_each(updates, |place, update| {
            target[place..place + update.len()].clone_from_slice(update);
        });
    }
}
