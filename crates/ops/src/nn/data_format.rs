//! `DataFormatDimMap` and `DataFormatVecPermute`: positions of dimensions between layouts such as
//! `NHWC` and `NCHW`.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, Tensor, dispatch, invalid_argument};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "DataFormatDimMap",
        inputs: &["x: T"],
        outputs: &["y: T"],
        attrs: &[
            "T: {int32, int64} = DT_INT32",
            "src_format: string = 'NHWC'",
            "dst_format: string = 'NCHW'",
        ],
        kernels: &[cpu::<DimMap>()],
        ..Op::DEFAULT
    },
    Op {
        name: "DataFormatVecPermute",
        inputs: &["x: T"],
        outputs: &["y: T"],
        attrs: &[
            "T: {int32, int64} = DT_INT32",
            "src_format: string = 'NHWC'",
            "dst_format: string = 'NCHW'",
        ],
        kernels: &[cpu::<VecPermute>()],
        ..Op::DEFAULT
    },
];

/// Two spellings of the same dimensions.
#[derive(Debug)]
struct Formats {
    source: Vec<u8>,
    target: Vec<u8>,
}

impl Formats {
    fn new(attrs: &Attrs<'_>) -> Result<Formats> {
        let source = attrs.bytes("src_format")?.to_vec();
        let target = attrs.bytes("dst_format")?.to_vec();
        for (name, attr, format) in
            [("Source", "src_format", &source), ("Destination", "dst_format", &target)]
        {
            if format.len() != 4 && format.len() != 5 {
                return Err(invalid_argument!(
                    "{name} format must be of length 4 or 5, received {attr} = {}",
                    String::from_utf8_lossy(format)
                ));
            }
        }
        let formats = Formats { source, target };
        let mut sorted = [formats.source.clone(), formats.target.clone()];
        sorted.iter_mut().for_each(|format| format.sort_unstable());
        if sorted[0] != sorted[1] || sorted[0].windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(invalid_argument!(
                "Destination and source format must determine a permutation, got {} and {}",
                String::from_utf8_lossy(&formats.source),
                String::from_utf8_lossy(&formats.target)
            ));
        }
        Ok(formats)
    }

    /// The formats without the dimensions that are not of space.
    fn spatial(&self) -> Formats {
        let keep = |format: &[u8]| format.iter().copied().filter(|c| b"DHW".contains(c)).collect();
        Formats { source: keep(&self.source), target: keep(&self.target) }
    }

    /// Where the dimension at `index` of the source is in the target.
    fn to_target(&self, index: usize) -> usize {
        let name = self.source[index];
        self.target.iter().position(|&c| c == name).expect("the formats are permutations")
    }
}

#[derive(Debug)]
struct DimMap {
    /// For each position in the source, the one in the target.
    map: Vec<u8>,
}

impl Kernel for DimMap {
    fn new(attrs: &Attrs<'_>) -> Result<DimMap> {
        let formats = Formats::new(attrs)?;
        Ok(DimMap { map: (0..formats.source.len()).map(|i| formats.to_target(i) as u8).collect() })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let mut x = ctx.take_input(0)?;
        let rank = self.map.len();
        dispatch!(
            x.dtype(),
            [i32, i64],
            T => {
                for value in x.values_mut::<T>()? {
                    // As TensorFlow's, whatever the index: it is neither checked nor refused.
                    let at = value.wrapping_add(rank as T) % rank as T;
                    let at = usize::try_from(at).unwrap_or(rank - 1);
                    *value = self.map[at].into();
                }
            },
            else => return Err(super::unsupported(x.dtype()))
        );
        ctx.set_output(0, x);
        Ok(())
    }
}

#[derive(Debug)]
struct VecPermute {
    formats: Formats,
}

impl Kernel for VecPermute {
    fn new(attrs: &Attrs<'_>) -> Result<VecPermute> {
        Ok(VecPermute { formats: Formats::new(attrs)? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let x = ctx.input(0)?;
        let rank = self.formats.source.len();
        let rows = match *x.dims() {
            [rows] | [rows, _] => rows,
            _ => {
                return Err(invalid_argument!(
                    "input must be a vector or 2D tensor, but got shape {}",
                    x.shape()
                ));
            }
        };
        if rows != rank && rows != rank - 2 {
            let what = if x.rank() == 1 { "1D input" } else { "First dimension of 2D input" };
            return Err(invalid_argument!(
                "{what} must be of size {} or {rank}, but got shape {}",
                rank - 2,
                x.shape()
            ));
        }
        if x.rank() == 2 && x.dims()[1] != 2 {
            return Err(invalid_argument!(
                "Second dimension of 2D input must be of size 2, but got shape {}",
                x.shape()
            ));
        }
        let spatial;
        let formats = if rows == rank {
            &self.formats
        } else {
            spatial = self.formats.spatial();
            if spatial.source.len() != rows {
                let names = if rows == 3 { "D, H and W for 3D" } else { "H and W for 2D" };
                return Err(invalid_argument!("Format specifier must contain {names} case"));
            }
            &spatial
        };
        let row = x.byte_len() / rows;
        let source = x.raw();
        let result = Tensor::build_raw(x.dtype(), x.shape().clone(), |out| {
            for (index, values) in source.chunks_exact(row).enumerate() {
                out[formats.to_target(index) * row..][..row].copy_from_slice(values);
            }
            Ok(())
        })?;
        ctx.set_output(0, result);
        Ok(())
    }
}
