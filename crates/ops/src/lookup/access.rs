//! Reading and changing tables.

use std::sync::Arc;

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument};

use super::table::{Cells, Table, assemble};
use crate::data_flow::named::{check_signature, input_words, resource_of};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "LookupTableExport",
        inputs: &["table_handle: Ref(string)"],
        outputs: &["keys: Tkeys", "values: Tvalues"],
        attrs: &["Tkeys: type", "Tvalues: type"],
        kernels: &[cpu::<Export>()],
        ..Op::DEFAULT
    },
    Op {
        name: "LookupTableExportV2",
        inputs: &["table_handle: resource"],
        outputs: &["keys: Tkeys", "values: Tvalues"],
        attrs: &["Tkeys: type", "Tvalues: type"],
        stateful: true,
        kernels: &[cpu::<Export>()],
        ..Op::DEFAULT
    },
    Op {
        name: "LookupTableFind",
        inputs: &["table_handle: Ref(string)", "keys: Tin", "default_value: Tout"],
        outputs: &["values: Tout"],
        attrs: &["Tin: type", "Tout: type"],
        kernels: &[cpu::<Find>()],
        ..Op::DEFAULT
    },
    Op {
        name: "LookupTableFindV2",
        inputs: &["table_handle: resource", "keys: Tin", "default_value: Tout"],
        outputs: &["values: Tout"],
        attrs: &["Tin: type", "Tout: type"],
        stateful: true,
        kernels: &[cpu::<Find>()],
        ..Op::DEFAULT
    },
    Op {
        name: "LookupTableImport",
        inputs: &["table_handle: Ref(string)", "keys: Tin", "values: Tout"],
        attrs: &["Tin: type", "Tout: type"],
        kernels: &[cpu::<Import>()],
        ..Op::DEFAULT
    },
    Op {
        name: "LookupTableImportV2",
        inputs: &["table_handle: resource", "keys: Tin", "values: Tout"],
        attrs: &["Tin: type", "Tout: type"],
        stateful: true,
        kernels: &[cpu::<Import>()],
        ..Op::DEFAULT
    },
    Op {
        name: "LookupTableInsert",
        inputs: &["table_handle: Ref(string)", "keys: Tin", "values: Tout"],
        attrs: &["Tin: type", "Tout: type"],
        kernels: &[cpu::<Insert>()],
        ..Op::DEFAULT
    },
    Op {
        name: "LookupTableInsertV2",
        inputs: &["table_handle: resource", "keys: Tin", "values: Tout"],
        attrs: &["Tin: type", "Tout: type"],
        stateful: true,
        kernels: &[cpu::<Insert>()],
        ..Op::DEFAULT
    },
    Op {
        name: "LookupTableRemoveV2",
        inputs: &["table_handle: resource", "keys: Tin"],
        attrs: &["Tin: type"],
        stateful: true,
        kernels: &[cpu::<Remove>()],
        ..Op::DEFAULT
    },
    Op {
        name: "LookupTableSize",
        inputs: &["table_handle: Ref(string)"],
        outputs: &["size: int64"],
        kernels: &[cpu::<Size>()],
        ..Op::DEFAULT
    },
    Op {
        name: "LookupTableSizeV2",
        inputs: &["table_handle: resource"],
        outputs: &["size: int64"],
        stateful: true,
        kernels: &[cpu::<Size>()],
        ..Op::DEFAULT
    },
];

/// The types that an op has, which must be those of its table.
#[derive(Debug)]
struct Types {
    by_reference: bool,
    key: DType,
    value: DType,
}

impl Types {
    fn new(attrs: &Attrs<'_>, key: &str, value: Option<&str>) -> Result<Types> {
        let key = attrs.dtype(key)?;
        Ok(Types {
            by_reference: attrs.inputs().first().is_some_and(|input| input.is_ref),
            key,
            value: value.map_or(Ok(key), |value| attrs.dtype(value))?,
        })
    }

    /// Checks inputs of keys and values, and outputs of values if there are any.
    fn check(&self, table: &Table, outputs: bool) -> Result<()> {
        let signature = &table.signature;
        let have = input_words(self.by_reference, &[self.key, self.value]);
        let want = input_words(self.by_reference, &[signature.key_dtype, signature.value_dtype]);
        if outputs {
            check_signature((&have, &[self.value]), (&want, &[signature.value_dtype]))
        } else {
            check_signature((&have, &[]), (&want, &[]))
        }
    }
}

pub(super) fn table_of(ctx: &KernelContext<'_>) -> Result<Arc<Table>> {
    resource_of(ctx.step(), ctx.value(0)?)
}

/// The shape of one value for each key.
fn values_shape(table: &Table, keys: &Tensor) -> Result<Shape> {
    let inner = table.signature.key_shape.rank();
    let outer = keys.rank().checked_sub(inner).map(|outer| keys.dims().split_at(outer));
    match outer {
        Some((outer, rest)) if rest == table.signature.key_shape.dims() => {
            Shape::new(&[outer, table.signature.value_shape.dims()].concat())
        }
        _ => Err(invalid_argument!(
            "Input key shape {} must end with the table's key shape {}",
            keys.shape(),
            table.signature.key_shape
        )),
    }
}

#[derive(Debug)]
struct Find(Types);

impl Kernel for Find {
    fn new(attrs: &Attrs<'_>) -> Result<Find> {
        Ok(Find(Types::new(attrs, "Tin", Some("Tout"))?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let table = table_of(ctx)?;
        self.0.check(&table, true)?;
        let (keys, default) = (ctx.input(1)?, ctx.input(2)?);
        let shape = values_shape(&table, keys)?;
        table.check_key_batch(keys)?;
        let one = &table.signature.value_shape;
        let each = *default.shape() == shape;
        if !each && default.shape() != one {
            return Err(invalid_argument!(
                "Expected shape {one} or {shape} for default value, got {}",
                default.shape()
            ));
        }
        let defaults = Cells::new(default, one)?;
        let each = each && default.shape() != one;
        let found = table.find(Cells::new(keys, &table.signature.key_shape)?, |index| {
            defaults.get(if each { index } else { 0 })
        })?;
        let output = assemble(table.signature.value_dtype, shape, found.iter())?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// Checks that there is a value for each key that is inserted or imported.
fn keys_and_values<'a>(
    ctx: &'a KernelContext<'_>,
    table: &Table,
    is_import: bool,
) -> Result<(Cells<'a>, Cells<'a>)> {
    let (keys, values) = (ctx.input(1)?, ctx.input(2)?);
    let signature = &table.signature;
    let key_cells = Cells::new(keys, &signature.key_shape)?;
    let value_cells = Cells::new(values, &signature.value_shape)?;
    let shape = match table.is_dense() && is_import {
        // They import what they export: rows of places.
        true => {
            let outer = &keys.dims()[..keys.rank().saturating_sub(1)];
            let inner = signature.value_shape.dims();
            Shape::new(&[outer, if inner.is_empty() { &[1] } else { inner }].concat())?
        }
        false => values_shape(table, keys)?,
    };
    if *values.shape() != shape {
        return Err(invalid_argument!("Expected shape {shape} for value, got {}", values.shape()));
    }
    table.check_key_batch(keys)?;
    Ok((key_cells, value_cells))
}

#[derive(Debug)]
struct Insert(Types);

impl Kernel for Insert {
    fn new(attrs: &Attrs<'_>) -> Result<Insert> {
        Ok(Insert(Types::new(attrs, "Tin", Some("Tout"))?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let table = table_of(ctx)?;
        self.0.check(&table, false)?;
        let (keys, values) = keys_and_values(ctx, &table, false)?;
        table.insert(ctx.step().unit.as_deref(), keys, values)
    }
}

#[derive(Debug)]
struct Import(Types);

impl Kernel for Import {
    fn new(attrs: &Attrs<'_>) -> Result<Import> {
        Ok(Import(Types::new(attrs, "Tin", Some("Tout"))?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let table = table_of(ctx)?;
        self.0.check(&table, false)?;
        let (keys, values) = keys_and_values(ctx, &table, true)?;
        table.import(ctx.step().unit.as_deref(), keys, values)
    }
}

#[derive(Debug)]
struct Remove(Types);

impl Kernel for Remove {
    fn new(attrs: &Attrs<'_>) -> Result<Remove> {
        Ok(Remove(Types::new(attrs, "Tin", None)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let table = table_of(ctx)?;
        check_signature(
            (&input_words(self.0.by_reference, &[self.0.key]), &[]),
            (&input_words(self.0.by_reference, &[table.signature.key_dtype]), &[]),
        )?;
        let keys = ctx.input(1)?;
        values_shape(&table, keys)?;
        table.check_key_batch(keys)?;
        let keys = Cells::new(keys, &table.signature.key_shape)?;
        table.remove(ctx.step().unit.as_deref(), keys)
    }
}

#[derive(Debug)]
struct Size;

impl Kernel for Size {
    fn new(_: &Attrs<'_>) -> Result<Size> {
        Ok(Size)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let size = table_of(ctx)?.len();
        ctx.set_output(0, Tensor::scalar(size as i64));
        Ok(())
    }
}

#[derive(Debug)]
struct Export(Types);

impl Kernel for Export {
    fn new(attrs: &Attrs<'_>) -> Result<Export> {
        Ok(Export(Types::new(attrs, "Tkeys", Some("Tvalues"))?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let table = table_of(ctx)?;
        let words = input_words(self.0.by_reference, &[]);
        check_signature(
            (&words, &[self.0.key, self.0.value]),
            (&words, &[table.signature.key_dtype, table.signature.value_dtype]),
        )?;
        let (keys, values) = table.export()?;
        ctx.set_output(0, keys);
        ctx.set_output(1, values);
        Ok(())
    }
}
