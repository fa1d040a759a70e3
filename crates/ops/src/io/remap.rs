//! Models whose vocabulary has changed: which old entries the new ones are, and the rows and columns
//! of an old matrix in their new places.

use std::collections::HashMap;
use std::sync::Arc;

use tensorfleet_checkpoint::Checkpoint;
use tensorfleet_files::FileSystem;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{
    DType, Result, Shape, Tensor, failed_precondition, invalid_argument, not_found, out_of_range,
    unimplemented_error,
};

use super::text;
use crate::record::{Compression, Stream};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "GenerateVocabRemapping",
        inputs: &["new_vocab_file: string", "old_vocab_file: string"],
        outputs: &["remapping: int64", "num_present: int32"],
        attrs: &[
            "new_vocab_offset: int >= 0",
            "num_new_vocab: int >= 0",
            "old_vocab_size: int >= -1 = -1",
        ],
        kernels: &[cpu::<VocabRemapping>()],
        ..Op::DEFAULT
    },
    Op {
        name: "LoadAndRemapMatrix",
        inputs: &[
            "ckpt_path: string",
            "old_tensor_name: string",
            "row_remapping: int64",
            "col_remapping: int64",
            "initializing_values: float",
        ],
        outputs: &["output_matrix: float"],
        attrs: &["num_rows: int >= 0", "num_cols: int >= 1", "max_rows_in_memory: int = -1"],
        stateful: true,
        kernels: &[cpu::<RemapMatrix>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct VocabRemapping {
    offset: usize,
    count: usize,
    /// Lines of the old vocabulary that count; negative for all.
    old_size: i64,
}

impl Kernel for VocabRemapping {
    fn new(attrs: &Attrs<'_>) -> Result<VocabRemapping> {
        let size = |name: &str| {
            let size = attrs.int(name)?;
            usize::try_from(size).map_err(|_| invalid_argument!("{name} must be >= 0, got {size}"))
        };
        Ok(VocabRemapping {
            offset: size("new_vocab_offset")?,
            count: size("num_new_vocab")?,
            old_size: attrs.int("old_vocab_size")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let new_name = text(ctx.input(0)?, "new_vocab_file")?;
        let old_name = text(ctx.input(1)?, "old_vocab_file")?;
        if new_name.is_empty() || old_name.is_empty() {
            return Err(invalid_argument!("new vocab filename cannot be empty."));
        }
        let files = ctx.step().files();
        let old = self.old_entries(&*files, &old_name)?;
        let mut remapping = Vec::new();
        for line in lines(&*files, &new_name)?.skip(self.offset).take(self.count) {
            remapping.push(old.get(&line?).copied().unwrap_or(-1));
        }
        if remapping.len() < self.count {
            return Err(invalid_argument!(
                "lookup table size must be larger than last new vocab entry's line"
            ));
        }
        let present = remapping.iter().filter(|&&old| old >= 0).count();
        ctx.set_output(0, Tensor::vector(&remapping)?);
        ctx.set_output(1, Tensor::scalar(present as i32));
        Ok(())
    }

    fn blocks(&self) -> bool {
        true
    }
}

impl VocabRemapping {
    /// The lines of the old vocabulary, and their numbers.
    fn old_entries(&self, files: &dyn FileSystem, name: &str) -> Result<HashMap<Vec<u8>, i64>> {
        if self.old_size == 0 {
            return Err(out_of_range!("Finished reading 0 of lines from {name}"));
        }
        let wanted = usize::try_from(self.old_size).unwrap_or(usize::MAX);
        let mut entries = HashMap::new();
        for (number, line) in lines(files, name)?.take(wanted).enumerate() {
            let (line, number) = (line?, number as i64);
            if let Some(earlier) = entries.insert(line.clone(), number) {
                return Err(failed_precondition!(
                    "HashTable has different value for same key. Key {} has {earlier} and trying \
                     to add value {number}",
                    String::from_utf8_lossy(&line)
                ));
            }
        }
        if entries.is_empty() {
            return Err(out_of_range!("Read less bytes than requested"));
        }
        if self.old_size > 0 && entries.len() < wanted {
            return Err(invalid_argument!(
                "Invalid vocab_size in {name}: expected {wanted} but got {}",
                entries.len()
            ));
        }
        Ok(entries)
    }
}

fn lines(
    files: &dyn FileSystem,
    name: &str,
) -> Result<impl Iterator<Item = Result<Vec<u8>>> + use<>> {
    let mut file = Stream::open(files, name, Compression::None, None)?;
    Ok(std::iter::from_fn(move || file.line().transpose()))
}

#[derive(Debug)]
struct RemapMatrix {
    rows: i64,
    columns: i64,
}

impl Kernel for RemapMatrix {
    fn new(attrs: &Attrs<'_>) -> Result<RemapMatrix> {
        Ok(RemapMatrix { rows: attrs.int("num_rows")?, columns: attrs.int("num_cols")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (path, name) = (ctx.input(0)?, ctx.input(1)?);
        let (rows, columns) = (ctx.input(2)?, ctx.input(3)?);
        for (name, remapping) in [("row_remapping", rows), ("col_remapping", columns)] {
            if remapping.rank() != 1 {
                return Err(invalid_argument!(
                    "The `{name}` tensor must be 1-D, got a tensor of shape {}",
                    remapping.shape()
                ));
            }
        }
        if rows.num_elements() as i64 != self.rows {
            return Err(invalid_argument!(
                "Size of row_remapping is {} instead of being equal to num_rows={}",
                rows.num_elements(),
                self.rows
            ));
        }
        let keeps_columns = columns.num_elements() == 0;
        if !keeps_columns && columns.num_elements() as i64 != self.columns {
            return Err(invalid_argument!(
                "Provided col_remapping, but its size is {} instead of being equal to num_cols={}",
                columns.num_elements(),
                self.columns
            ));
        }
        let (rows, columns) = (rows.values::<i64>()?, columns.values::<i64>()?);
        check_distinct(rows)?;
        check_distinct(columns)?;
        let files = ctx.step().files();
        let (path, named) = (text(path, "ckpt_path")?, text(name, "old_tensor_name")?);
        let matrix = self.old_matrix(files, &path, &named)?;
        let all: Vec<i64> = (0..matrix.dims()[1] as i64).collect();
        if keeps_columns && matrix.dims()[1] as i64 != self.columns {
            return Err(invalid_argument!(
                "Tensor {} has shape {}, where the size of its 2nd dimension is {} instead of being \
                 equal to num_cols={}",
                text(name, "old_tensor_name")?,
                matrix.shape(),
                matrix.dims()[1],
                self.columns
            ));
        }
        let columns = if keeps_columns { &all } else { columns };
        let output = remap(&matrix, rows, columns, ctx.input(4)?.values::<f32>()?)?;
        ctx.set_output(0, output);
        Ok(())
    }

    fn blocks(&self) -> bool {
        true
    }
}

impl RemapMatrix {
    fn old_matrix(&self, files: Arc<dyn FileSystem>, path: &str, name: &str) -> Result<Tensor> {
        let checkpoint = Checkpoint::open(files, path)?;
        let found = checkpoint.tensors()?.into_iter().find(|(found, ..)| found == name);
        let Some((_, dtype, shape)) = found else {
            return Err(not_found!("Key {name} not found in checkpoint"));
        };
        if dtype != DType::Float {
            return Err(invalid_argument!(
                "Tensor {name} has invalid type {dtype} instead of expected type float"
            ));
        }
        if shape.rank() != 2 {
            return Err(invalid_argument!(
                "Tensor {name} has shape {shape} of invalid rank {} instead of expected shape of \
                 rank 2.",
                shape.rank()
            ));
        }
        checkpoint.restore(name, "", dtype)
    }
}

/// Refuses to put one old row or column in two places.
fn check_distinct(remapping: &[i64]) -> Result<()> {
    let mut places = HashMap::new();
    for (new, &old) in remapping.iter().enumerate().filter(|&(_, &old)| old >= 0) {
        if let Some(earlier) = places.insert(old, new) {
            return Err(unimplemented_error!(
                "Old ID {old} is mapped to both new ID {earlier} and {new}, which is not supported."
            ));
        }
    }
    Ok(())
}

/// Puts rows and columns in their new places; what is new there gets the initial values in turn.
fn remap(matrix: &Tensor, rows: &[i64], columns: &[i64], initial: &[f32]) -> Result<Tensor> {
    let [old_rows, old_columns] = [matrix.dims()[0], matrix.dims()[1]];
    for (remapping, size) in [(rows, old_rows), (columns, old_columns)] {
        if let Some(old) = remapping.iter().find(|&&old| old >= size as i64) {
            return Err(invalid_argument!("Old ID {old} is not below {size}"));
        }
    }
    let old = matrix.values::<f32>()?;
    let mut unused = initial.iter();
    let output = Tensor::try_build(
        Shape::new(&[rows.len(), columns.len()])?,
        |out: &mut [f32]| {
            for (out, &row) in out.chunks_exact_mut(columns.len().max(1)).zip(rows) {
                for (out, &column) in out.iter_mut().zip(columns) {
                    *out = if row >= 0 && column >= 0 {
                        old[row as usize * old_columns + column as usize]
                    } else {
                        *unused.next().ok_or_else(|| {
                            invalid_argument!(
                                "initializing_values contained {} elements, but more missing values \
                                 remain.",
                                initial.len()
                            )
                        })?
                    };
                }
            }
            Ok(())
        },
    )?;
    let used = initial.len() - unused.len();
    if used < initial.len() {
        return Err(invalid_argument!(
            "initializing_values contained {} elements, but only {used} elements were used to fill \
             in missing values.",
            initial.len()
        ));
    }
    Ok(output)
}
