//! `InitializeTableFromDataset`: filling a table with the elements of a dataset.

use tensorfleet_framework::{AsyncContext, AsyncKernel, Attrs, Op, Outcome, Started, cpu_async};
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument};

use super::initialize::check_initializable;
use super::table::{Cells, Table};
use crate::dataset::{Scope, from_tensor, stack};

pub(super) const OPS: &[Op] = &[Op {
    name: "InitializeTableFromDataset",
    inputs: &["table_handle: resource", "dataset: variant"],
    stateful: true,
    kernels: &[cpu_async::<FromDataset>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct FromDataset;

impl AsyncKernel for FromDataset {
    fn new(_: &Attrs<'_>) -> Result<FromDataset> {
        Ok(FromDataset)
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let table = ctx.resource::<Table>(0)?;
        check_initializable(&table)?;
        let dataset = from_tensor(ctx.input(1)?)?;
        let scope = Scope::within(&ctx.step, "LookupTable::Root");
        let unit = ctx.step.unit.clone();
        let task = scope.clone().spawn(async move {
            let mut elements = scope.iterate(&*dataset)?;
            let mut entries = Vec::new();
            while let Some(element) = elements.next().await? {
                check_entry(&table, &element)?;
                entries.push(element);
            }
            let columns = match entries.is_empty() {
                true => vec![
                    Tensor::zeros(table.signature.key_dtype, Shape::vector(0))?,
                    Tensor::zeros(table.signature.value_dtype, Shape::vector(0))?,
                ],
                false => stack(entries)?,
            };
            let [keys, values] = &columns[..] else {
                return Err(invalid_argument!("expected keys and values"));
            };
            let (keys, values) =
                (Cells::new(keys, &Shape::SCALAR)?, Cells::new(values, &Shape::SCALAR)?);
            table.initialize(unit.as_deref(), keys, values)
        });
        Ok(Started::Waiting(Box::pin(async move {
            let filled: Result<()> = task.await?;
            filled.map(|()| Outcome::from(Vec::new()))
        })))
    }
}

fn check_entry(table: &Table, element: &[Tensor]) -> Result<()> {
    let [key, value] = element else {
        return Err(invalid_argument!(
            "Dataset should have two output types: key and value, but it has {}",
            element.len()
        ));
    };
    let signature = &table.signature;
    if (key.dtype(), value.dtype()) != (signature.key_dtype, signature.value_dtype) {
        return Err(invalid_argument!(
            "Table {} has types {} -> {}, but the dataset has {} -> {}",
            table.name,
            signature.key_dtype,
            signature.value_dtype,
            key.dtype(),
            value.dtype()
        ));
    }
    Ok(())
}
