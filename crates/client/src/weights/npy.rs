//! Files of NumPy's `.npy` format: a line of Python that tells type, order and shape, and elements.

use bytes::Bytes;
use tensorfleet_tensor::{DType, Result, Shape, Tensor, data_loss, invalid_argument};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Kinds of types with their sizes.
const TYPES: &[(&str, DType)] = &[
    ("b1", DType::Bool),
    ("u1", DType::UInt8),
    ("i1", DType::Int8),
    ("u2", DType::UInt16),
    ("i2", DType::Int16),
    ("u4", DType::UInt32),
    ("i4", DType::Int32),
    ("u8", DType::UInt64),
    ("i8", DType::Int64),
    ("f2", DType::Half),
    ("f4", DType::Float),
    ("f8", DType::Double),
    ("c8", DType::Complex64),
    ("c16", DType::Complex128),
];

pub(crate) fn encode(tensor: &Tensor) -> Result<Vec<u8>> {
    let (kind, content) = match TYPES.iter().find(|(_, dtype)| *dtype == tensor.dtype()) {
        Some((kind, _)) => {
            let order = if kind.ends_with('1') { '|' } else { '<' };
            (format!("{order}{kind}"), tensor.raw().to_vec())
        }
        None if tensor.dtype() == DType::String => {
            let texts = tensor.strings()?;
            let longest = texts.iter().map(Bytes::len).max().unwrap_or(0).max(1);
            let mut content = Vec::with_capacity(texts.len() * longest);
            for text in texts {
                content.extend_from_slice(text);
                content.resize(content.len() + longest - text.len(), 0);
            }
            (format!("|S{longest}"), content)
        }
        None => return Err(invalid_argument!("NumPy has no type {}", tensor.dtype())),
    };
    let dims: String = tensor.dims().iter().map(|dim| format!("{dim}, ")).collect();
    let shape = if tensor.rank() == 1 { dims.trim_end() } else { dims.trim_end_matches(", ") };
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({shape}), }}");
    // The elements begin at a multiple of 64.
    let begin = MAGIC.len() + 4;
    let end = (begin + header.len() + 1).next_multiple_of(64);
    header.push_str(&" ".repeat(end - begin - header.len() - 1));
    header.push('\n');
    let length = u16::try_from(header.len())
        .map_err(|_| invalid_argument!("a shape of {} dimensions is too long", tensor.rank()))?;
    let mut file = MAGIC.to_vec();
    file.extend([1, 0]);
    file.extend(length.to_le_bytes());
    file.extend(header.into_bytes());
    file.extend(content);
    Ok(file)
}

pub(crate) fn decode(file: &[u8]) -> Result<Tensor> {
    let Header { order, kind, is_fortran, dims, content } = Header::parse(file)?;
    let shape = Shape::new(&dims)?;
    if let Some(length) = kind.strip_prefix('S') {
        let length: usize = length.parse().map_err(|_| unknown(kind))?;
        return texts(shape, length, content, is_fortran);
    }
    let Some((_, dtype)) = TYPES.iter().find(|(known, _)| *known == kind) else {
        return Err(unknown(kind));
    };
    let mut content = content.to_vec();
    if order == '>' {
        // The parts of complex numbers are numbers of their own.
        let size = if dtype.is_complex() { dtype.size() / 2 } else { dtype.size() };
        content.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
    let expected = shape.num_elements().checked_mul(dtype.size());
    if expected != Some(content.len()) {
        return Err(data_loss!("{} bytes are not of shape {shape}", content.len()));
    }
    if is_fortran {
        content = in_row_order(&content, &dims, dtype.size());
    }
    Tensor::from_bytes(*dtype, shape, &content)
}

fn unknown(kind: &str) -> tensorfleet_tensor::Error {
    invalid_argument!("the type {kind:?} of NumPy is not known here")
}

/// What stands in front of the elements.
struct Header<'a> {
    order: char,
    kind: &'a str,
    is_fortran: bool,
    dims: Vec<usize>,
    content: &'a [u8],
}

impl<'a> Header<'a> {
    fn parse(file: &'a [u8]) -> Result<Header<'a>> {
        let broken = || data_loss!("it is no file of NumPy, or its header is broken");
        let rest = file.strip_prefix(MAGIC).ok_or_else(broken)?;
        let (version, rest) = rest.split_first_chunk::<2>().ok_or_else(broken)?;
        let (length, rest) = match version[0] {
            1 => {
                let (length, rest) = rest.split_first_chunk::<2>().ok_or_else(broken)?;
                (usize::from(u16::from_le_bytes(*length)), rest)
            }
            2 | 3 => {
                let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(broken)?;
                (u32::from_le_bytes(*length) as usize, rest)
            }
            _ => return Err(broken()),
        };
        let (header, content) = rest.split_at_checked(length).ok_or_else(broken)?;
        let header = std::str::from_utf8(header).map_err(|_| broken())?;
        let after = |key: &str| {
            let (_, after) = header.split_once(&format!("'{key}':"))?;
            Some(after.trim_start())
        };
        let descr = after("descr").and_then(|text| text.strip_prefix('\''));
        let descr = descr.and_then(|text| text.split_once('\'')).ok_or_else(broken)?.0;
        let mut kind = descr.chars();
        let order = kind.next().filter(|order| "<>|=".contains(*order)).ok_or_else(broken)?;
        let shape = after("shape").and_then(|text| text.strip_prefix('('));
        let shape = shape.and_then(|text| text.split_once(')')).ok_or_else(broken)?.0;
        let dims = shape.split(',').map(str::trim).filter(|dim| !dim.is_empty());
        let dims = dims.map(str::parse).collect::<Result<Vec<usize>, _>>().map_err(|_| broken())?;
        let is_fortran = after("fortran_order").is_some_and(|text| text.starts_with("True"));
        Ok(Header { order, kind: kind.as_str(), is_fortran, dims, content })
    }
}

fn texts(shape: Shape, length: usize, content: &[u8], is_fortran: bool) -> Result<Tensor> {
    let expected = shape.num_elements().checked_mul(length);
    if expected != Some(content.len()) {
        return Err(data_loss!("{} bytes are not texts of shape {shape}", content.len()));
    }
    let content =
        if is_fortran { in_row_order(content, shape.dims(), length) } else { content.to_vec() };
    let texts = (0..shape.num_elements()).map(|number| {
        let text = &content[number * length..(number + 1) * length];
        // What is shorter is filled up with zeros.
        let end = text.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        Bytes::copy_from_slice(&text[..end])
    });
    Tensor::from_strings(shape.clone(), texts.collect())
}

/// Elements whose first number runs fastest, as ones whose last does.
fn in_row_order(content: &[u8], dims: &[usize], size: usize) -> Vec<u8> {
    let mut ordered = Vec::with_capacity(content.len());
    let count: usize = dims.iter().product();
    let mut place = vec![0; dims.len()];
    for _ in 0..count {
        let mut stride = 1;
        let mut at = 0;
        for (index, dim) in place.iter().zip(dims) {
            at += index * stride;
            stride *= dim;
        }
        ordered.extend_from_slice(&content[at * size..(at + 1) * size]);
        for axis in (0..dims.len()).rev() {
            place[axis] += 1;
            if place[axis] < dims[axis] {
                break;
            }
            place[axis] = 0;
        }
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(descr: &str, fortran: &str, shape: &str, content: &[u8]) -> Vec<u8> {
        let header =
            format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
        let mut file = MAGIC.to_vec();
        file.extend([1, 0]);
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.into_bytes());
        file.extend(content);
        file
    }

    #[test]
    fn other_orders_are_put_right() {
        let column_first = decode(&file("|u1", "True", "(2, 3)", &[1, 2, 3, 4, 5, 6])).unwrap();
        assert_eq!(column_first.values::<u8>().unwrap(), [1, 3, 5, 2, 4, 6]);
        let big = decode(&file(">i2", "False", "(2,)", &[0, 1, 1, 0])).unwrap();
        assert_eq!(big.values::<i16>().unwrap(), [1, 256]);
        let texts = decode(&file("|S3", "False", "(2,)", b"ab\0xyz")).unwrap();
        assert_eq!(texts.strings().unwrap(), ["ab", "xyz"]);
    }

    #[test]
    fn scalars_vectors_and_texts_come_back() {
        for dims in [&[][..], &[3], &[2, 2], &[0, 4]] {
            let shape = Shape::new(dims).unwrap();
            let count = shape.num_elements();
            let values: Vec<f64> = (0..count).map(|i| i as f64).collect();
            let tensor = Tensor::from_vec(shape, values).unwrap();
            let file = encode(&tensor).unwrap();
            assert!((file.len() - tensor.raw().len()).is_multiple_of(64));
            let again = decode(&file).unwrap();
            assert_eq!((again.shape(), again.raw()), (tensor.shape(), tensor.raw()));
        }
        let words = Tensor::from_strings(Shape::vector(2), vec!["a".into(), "bcd".into()]).unwrap();
        assert_eq!(decode(&encode(&words).unwrap()).unwrap().strings().unwrap(), ["a", "bcd"]);
    }

    #[test]
    fn what_is_broken_is_refused() {
        let good = file("<f4", "False", "(2,)", &[0; 8]);
        assert!(decode(&good).is_ok());
        for end in 0..good.len() {
            assert!(decode(&good[..end]).is_err(), "{end}");
        }
        for (descr, shape) in [("<O8", "(1,)"), ("<f4", "(3,)"), ("f4", "(2,)"), ("<f4", "(x,)")] {
            assert!(decode(&file(descr, "False", shape, &[0; 8])).is_err(), "{descr} {shape}");
        }
    }
}
