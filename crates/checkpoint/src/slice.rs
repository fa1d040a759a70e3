//! Rectangular parts of tensors, and how they are written down.

use std::fmt;
use std::ops::Range;

use tensorfleet_proto::tensorflow as pb;
use tensorfleet_tensor::{Result, Shape, internal, invalid_argument};

use crate::ordered;

/// A part of a tensor: for each dimension an interval, or all of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TensorSlice {
    extents: Vec<Option<Extent>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Extent {
    start: usize,
    len: usize,
}

impl TensorSlice {
    /// The whole of a tensor with `rank` dimensions.
    pub fn full(rank: usize) -> Self {
        Self { extents: vec![None; rank] }
    }

    /// Reads `0,4:-:2,1`: start and length of each dimension, or `-` for all of it.
    pub fn parse(text: &str) -> Result<Self> {
        let extents = text.split(':').filter(|part| !part.is_empty()).map(|part| {
            if part == "-" {
                return Ok(None);
            }
            let mut numbers = part.split(',').filter(|number| !number.is_empty());
            let mut number = || numbers.next().and_then(|number| number.parse::<i64>().ok());
            let (Some(start), Some(len), None) = (number(), number(), numbers.next()) else {
                return Err(invalid_argument!(
                    "Expected a pair of numbers or '-' but got '{part}': string = {text}"
                ));
            };
            extent(start, len)
                .map(Some)
                .map_err(|error| invalid_argument!("{}: string = {text}", error.message()))
        });
        Ok(Self { extents: extents.collect::<Result<_>>()? })
    }

    pub(crate) fn from_proto(message: &pb::TensorSliceProto) -> Result<Self> {
        use pb::tensor_slice_proto::extent::HasLengthHack::Length;
        let extents = message.extent.iter().map(|e| match e.has_length_hack {
            None if e.start == 0 => Ok(None),
            None => extent(e.start, -1).map(Some),
            Some(Length(len)) => extent(e.start, len).map(Some),
        });
        Ok(Self { extents: extents.collect::<Result<_>>()? })
    }

    pub(crate) fn to_proto(&self) -> pb::TensorSliceProto {
        use pb::tensor_slice_proto::{Extent, extent::HasLengthHack::Length};
        let extents = self.extents.iter().map(|extent| match extent {
            None => Extent::default(),
            Some(extent) => Extent {
                start: extent.start as i64,
                has_length_hack: Some(Length(extent.len as i64)),
            },
        });
        pb::TensorSliceProto { extent: extents.collect() }
    }

    /// Whether every dimension is written as taken whole.
    pub fn is_full(&self) -> bool {
        self.extents.iter().all(Option::is_none)
    }

    /// The intervals that the slice takes of a tensor of `shape`.
    pub(crate) fn region(&self, shape: &Shape) -> Result<Region> {
        if shape.rank() != self.extents.len() {
            return Err(internal!("Mismatching ranks: shape = {shape}, slice = {self}"));
        }
        let ranges = shape.dims().iter().zip(&self.extents).enumerate();
        let ranges = ranges.map(|(dim, (&size, extent))| match extent {
            None => Ok(0..size),
            Some(Extent { start, len }) if start + len <= size => Ok(*start..start + len),
            Some(_) => Err(internal!(
                "Extent in dimension {dim} out of bounds: shape = {shape}, slice = {self}"
            )),
        });
        Ok(Region(ranges.collect::<Result<_>>()?))
    }

    /// The key under which the slice of the tensor `name` is stored.
    pub(crate) fn key(&self, name: &[u8]) -> Vec<u8> {
        let mut key = Vec::with_capacity(name.len() + 4 + 4 * self.extents.len());
        ordered::put_number(&mut key, 0);
        ordered::put_string(&mut key, name);
        ordered::put_number(&mut key, self.extents.len() as u64);
        for extent in &self.extents {
            let (start, len) = extent.map_or((0, -1), |e| (e.start as i64, e.len as i64));
            ordered::put_signed(&mut key, start);
            ordered::put_signed(&mut key, len);
        }
        key
    }
}

/// Checks an interval.
fn extent(start: i64, len: i64) -> Result<Extent> {
    match (usize::try_from(start), usize::try_from(len)) {
        // Both are less than 2^63, so their sum cannot overflow.
        (Ok(start), Ok(len)) if len > 0 => Ok(Extent { start, len }),
        _ => Err(invalid_argument!(
            "Expected non-negative start and positive length but got start = {start}, \
             length = {len}"
        )),
    }
}

impl fmt::Display for TensorSlice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (dim, extent) in self.extents.iter().enumerate() {
            let colon = if dim == 0 { "" } else { ":" };
            match extent {
                None => write!(f, "{colon}-")?,
                Some(Extent { start, len }) => write!(f, "{colon}{start},{len}")?,
            }
        }
        Ok(())
    }
}

/// A slice together with the tensor it is of, as `SaveV2` and `RestoreV2` are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeAndSlice {
    /// The shape of the whole tensor.
    pub shape: Shape,
    /// The part of it.
    pub slice: TensorSlice,
    /// The shape of the part.
    pub slice_shape: Shape,
}

impl ShapeAndSlice {
    /// Reads `10 4 0,4:-`: the dimensions of the whole tensor, then the slice.
    pub fn parse(text: &str) -> Result<Self> {
        let Some((shape, slice)) = text.rsplit_once(' ') else {
            return Err(invalid_argument!(
                "Need least two elements in shape_and_slice specification: {text}"
            ));
        };
        let slice = TensorSlice::parse(slice)?;
        let dims: Vec<i64> =
            shape.split(' ').map(|dim| dim.parse().ok()).collect::<Option<_>>().ok_or_else(
                || invalid_argument!("Non numerical dimension in shape_and_slice: {text}"),
            )?;
        let shape = Shape::from_signed(&dims)?;
        let slice_shape = slice.region(&shape)?.shape();
        Ok(Self { shape, slice, slice_shape })
    }
}

/// The intervals of a slice within a known tensor, one for each dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region(Vec<Range<usize>>);

impl Region {
    pub(crate) fn shape(&self) -> Shape {
        let dims: Vec<usize> = self.0.iter().map(Range::len).collect();
        Shape::new(&dims).expect("a part of a tensor has no more elements than the tensor")
    }

    /// The number of elements in the region.
    pub(crate) fn len(&self) -> usize {
        // Only an empty region can have an overflowing prefix, and its product is zero either way.
        self.0.iter().fold(1, |len: usize, range| len.wrapping_mul(range.len()))
    }

    /// What two regions have in common, if anything.
    pub(crate) fn intersection(&self, other: &Self) -> Option<Self> {
        let ranges = self.0.iter().zip(&other.0).map(|(a, b)| {
            let range = a.start.max(b.start)..a.end.min(b.end);
            (!range.is_empty()).then_some(range)
        });
        ranges.collect::<Option<_>>().map(Self)
    }

    /// Copies `common` from the elements of `self` to the elements of `target`; both hold `width`
    /// values for each element.
    pub(crate) fn copy_to<T: Clone>(
        &self,
        source: &[T],
        target: &Self,
        destination: &mut [T],
        common: &Self,
        width: usize,
    ) {
        let Some((last, outer)) = common.0.split_last() else {
            return destination.clone_from_slice(source);
        };
        let run = last.len() * width;
        let mut index: Vec<usize> = outer.iter().map(|range| range.start).collect();
        index.push(last.start);
        loop {
            let from = self.position(&index) * width;
            let to = target.position(&index) * width;
            destination[to..to + run].clone_from_slice(&source[from..from + run]);
            // Counts up the outer dimensions like the digits of a number.
            let Some(dim) = (0..outer.len()).rev().find(|&dim| index[dim] + 1 < outer[dim].end)
            else {
                return;
            };
            index[dim] += 1;
            for (index, range) in index[dim + 1..].iter_mut().zip(&outer[dim + 1..]) {
                *index = range.start;
            }
        }
    }

    /// Where the element of the whole tensor at `index` is in this region.
    fn position(&self, index: &[usize]) -> usize {
        let steps = self.0.iter().zip(index);
        steps.fold(0, |position, (range, index)| position * range.len() + index - range.start)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(spec: &str) -> String {
        ShapeAndSlice::parse(spec).unwrap_err().to_string()
    }

    #[test]
    fn specifications_are_read() {
        let spec = ShapeAndSlice::parse("10 4 2,4:-").unwrap();
        assert_eq!(spec.shape, Shape::from([10, 4]));
        assert_eq!(spec.slice_shape, Shape::from([4, 4]));
        assert_eq!(spec.slice.to_string(), "2,4:-");
        assert!(ShapeAndSlice::parse("3 -").unwrap().slice.is_full());
    }

    #[test]
    fn bad_specifications_are_refused_in_tensorflows_words() {
        for (spec, want) in [
            (
                "22",
                "INVALID_ARGUMENT: Need least two elements in shape_and_slice specification: 22",
            ),
            (
                "2 2 0,1:x",
                "INVALID_ARGUMENT: Expected a pair of numbers or '-' but got 'x': string = 0,1:x",
            ),
            ("a 2 -:-", "INVALID_ARGUMENT: Non numerical dimension in shape_and_slice: a 2 -:-"),
            (
                "2 2 0,5:-",
                "INTERNAL: Extent in dimension 0 out of bounds: shape = [2,2], slice = 0,5:-",
            ),
            ("2 2 0,1", "INTERNAL: Mismatching ranks: shape = [2,2], slice = 0,1"),
            (
                "2 2 0,0:-",
                "INVALID_ARGUMENT: Expected non-negative start and positive length but got \
                 start = 0, length = 0: string = 0,0:-",
            ),
        ] {
            assert_eq!(message(spec), want);
        }
        assert!(message("-3 2 -:-").starts_with("INVALID_ARGUMENT"));
        assert!(message(&format!("2 {m},{m}", m = i64::MAX)).starts_with("INTERNAL"));
    }

    #[test]
    fn keys_are_ordered_codes() {
        let slice = ShapeAndSlice::parse("4 2 0,2:-").unwrap().slice;
        assert_eq!(slice.key(b"x"), b"\0x\0\x01\x01\x02\x80\x82\x80\x7f");
    }

    #[test]
    fn messages_round_trip() {
        let slice = TensorSlice::parse("3,4:-:0,1").unwrap();
        assert_eq!(TensorSlice::from_proto(&slice.to_proto()).unwrap(), slice);
    }

    #[test]
    fn common_elements_are_copied() {
        // The tensor's elements are their own numbers.
        let shape = Shape::from([4, 3]);
        let region = |spec| TensorSlice::parse(spec).unwrap().region(&shape).unwrap();
        let (stored, wanted) = (region("1,3:0,2"), region("0,3:1,2"));
        let source = [3, 4, 6, 7, 9, 10];
        let mut out = [0; 6];
        let common = stored.intersection(&wanted).unwrap();
        stored.copy_to(&source, &wanted, &mut out, &common, 1);
        assert_eq!(out, [0, 0, 4, 0, 7, 0]);
        assert_eq!(region("0,1:-").intersection(&region("1,1:-")), None);
    }

    proptest! {
        #[test]
        fn arbitrary_specifications_do_not_panic(spec in "[0-9 ,:-]{0,20}") {
            ShapeAndSlice::parse(&spec).ok();
        }
    }
}
