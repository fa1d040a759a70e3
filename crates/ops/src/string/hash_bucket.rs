//! Strings as numbers of buckets, by three different hashes.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{Result, Tensor, dispatch, invalid_argument};

use super::farm_hash::fingerprint64;
use super::texts::MIN_TEXTS;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "StringToHashBucket",
        inputs: &["string_tensor: string"],
        outputs: &["output: int64"],
        attrs: &["num_buckets: int >= 1"],
        kernels: &[cpu::<HashBucket>()],
        ..Op::DEFAULT
    },
    Op {
        name: "StringToHashBucketFast",
        inputs: &["input: string"],
        outputs: &["output: int64"],
        attrs: &["num_buckets: int >= 1"],
        kernels: &[cpu::<HashBucket>()],
        ..Op::DEFAULT
    },
    Op {
        name: "StringToHashBucketStrong",
        inputs: &["input: string"],
        outputs: &["output: int64"],
        attrs: &["num_buckets: int >= 1", "key: list(int)"],
        kernels: &[cpu::<HashBucket>()],
        ..Op::DEFAULT
    },
    Op {
        name: "_TensorToHashBucketFast",
        inputs: &["input: T"],
        outputs: &["output: int64"],
        attrs: &[
            "T: {int8, uint8, int16, uint16, int32, uint32, int64, uint64}",
            "num_buckets: int >= 1",
        ],
        kernels: &[cpu::<HashNumbers>()],
        ..Op::DEFAULT
    },
];

/// Numbers by the buckets of their decimal digits.
#[derive(Debug)]
struct HashNumbers {
    buckets: u64,
}

impl Kernel for HashNumbers {
    fn new(attrs: &Attrs<'_>) -> Result<HashNumbers> {
        Ok(HashNumbers { buckets: attrs.int("num_buckets")?.max(1) as u64 })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.input(0)?;
        let output = dispatch!(
            input.dtype(),
            [i8, u8, i16, u16, i32, u32, i64, u64],
            T => {
                let values = input.values::<T>()?;
                Tensor::build(input.shape().clone(), |out: &mut [i64]| {
                    for (bucket, value) in out.iter_mut().zip(values) {
                        let hash = fingerprint64(value.to_string().as_bytes());
                        *bucket = (hash % self.buckets) as i64;
                    }
                })
            },
            else => Err(invalid_argument!("{} is no integer type", input.dtype()))
        )?;
        ctx.set_output(0, output);
        Ok(())
    }
}

#[derive(Clone, Copy, Debug)]
enum Hash {
    /// MurmurHash 2, the first that TensorFlow had.
    Legacy,
    Fast,
    /// SipHash, for those who fear strings chosen to meet in one bucket.
    Strong([u64; 2]),
}

#[derive(Debug)]
struct HashBucket {
    hash: Hash,
    buckets: u64,
}

impl Kernel for HashBucket {
    fn new(attrs: &Attrs<'_>) -> Result<HashBucket> {
        let hash = match attrs.op() {
            "StringToHashBucketFast" => Hash::Fast,
            "StringToHashBucketStrong" => match attrs.ints("key")? {
                &[a, b] => Hash::Strong([a as u64, b as u64]),
                _ => return Err(invalid_argument!("Key must have 2 elements")),
            },
            _ => Hash::Legacy,
        };
        Ok(HashBucket { hash, buckets: attrs.int("num_buckets")?.max(1) as u64 })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let input = ctx.input(0)?;
        let texts = input.strings()?;
        let output = Tensor::build(input.shape().clone(), |out: &mut [i64]| {
            par.for_each((out, texts), MIN_TEXTS, |_, (out, texts)| {
                for (bucket, text) in out.iter_mut().zip(texts) {
                    let hash = match self.hash {
                        Hash::Legacy => murmur(text),
                        Hash::Fast => fingerprint64(text),
                        Hash::Strong(key) => sip(key, text),
                    };
                    *bucket = (hash % self.buckets) as i64;
                }
            });
        })?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// Words of eight bytes, and what is left filled up with zeros.
fn words(bytes: &[u8]) -> (impl Iterator<Item = u64> + '_, u64) {
    let (whole, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    (whole.iter().map(|word| u64::from_le_bytes(*word)), u64::from_le_bytes(last))
}

fn murmur(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0xc6a4_a793_5bd1_e995;
    const SEED: u64 = 0x00de_cafc_affe;
    let mut hash = SEED ^ (bytes.len() as u64).wrapping_mul(FACTOR);
    let (words, rest) = words(bytes);
    for word in words {
        let mut word = word.wrapping_mul(FACTOR);
        word ^= word >> 47;
        hash = (hash ^ word.wrapping_mul(FACTOR)).wrapping_mul(FACTOR);
    }
    if !bytes.len().is_multiple_of(8) {
        hash = (hash ^ rest).wrapping_mul(FACTOR);
    }
    hash ^= hash >> 47;
    hash = hash.wrapping_mul(FACTOR);
    hash ^ (hash >> 47)
}

/// SipHash with two rounds a word and four at the end.
fn sip(key: [u64; 2], bytes: &[u8]) -> u64 {
    fn rounds(v: &mut [u64; 4], count: usize) {
        for _ in 0..count {
            v[0] = v[0].wrapping_add(v[1]);
            v[2] = v[2].wrapping_add(v[3]);
            v[1] = v[1].rotate_left(13) ^ v[0];
            v[3] = v[3].rotate_left(16) ^ v[2];
            v[0] = v[0].rotate_left(32);
            v[2] = v[2].wrapping_add(v[1]);
            v[0] = v[0].wrapping_add(v[3]);
            v[1] = v[1].rotate_left(17) ^ v[2];
            v[3] = v[3].rotate_left(21) ^ v[0];
            v[2] = v[2].rotate_left(32);
        }
    }
    let mut v = [
        key[0] ^ 0x736f_6d65_7073_6575,
        key[1] ^ 0x646f_7261_6e64_6f6d,
        key[0] ^ 0x6c79_6765_6e65_7261,
        key[1] ^ 0x7465_6462_7974_6573,
    ];
    let (words, rest) = words(bytes);
    for word in words.chain([rest | (bytes.len() as u64) << 56]) {
        v[3] ^= word;
        rounds(&mut v, 2);
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    rounds(&mut v, 4);
    v[0] ^ v[1] ^ v[2] ^ v[3]
}
