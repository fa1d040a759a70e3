//! The graphs of a `SavedModel` message, taken out as they are.

use bytes::Bytes;
use tensorfleet_tensor::{Result, invalid_argument};

/// The number of `SavedModel.meta_graphs`, and in each of them that of `MetaGraphDef.graph_def`.
const META_GRAPHS: u64 = 2;
const GRAPH_DEF: u64 = 2;

/// The encoded graphs of an encoded model.
pub(super) fn graphs(model: &[u8]) -> Result<Vec<Bytes>> {
    let mut graphs = Vec::new();
    for meta in fields(model, META_GRAPHS)? {
        graphs.extend(fields(meta, GRAPH_DEF)?.into_iter().map(Bytes::copy_from_slice));
    }
    if graphs.is_empty() {
        return Err(invalid_argument!("there is no graph in it"));
    }
    Ok(graphs)
}

/// The contents of all fields of a number, which are messages.
fn fields(mut message: &[u8], wanted: u64) -> Result<Vec<&[u8]>> {
    let broken = || invalid_argument!("it is no message of protocol buffers");
    let mut found = Vec::new();
    while !message.is_empty() {
        let tag = varint(&mut message).ok_or_else(broken)?;
        let length = match tag & 7 {
            0 => {
                varint(&mut message).ok_or_else(broken)?;
                0
            }
            1 => 8,
            2 => varint(&mut message).ok_or_else(broken)?,
            5 => 4,
            _ => return Err(broken()),
        };
        let length = usize::try_from(length).map_err(|_| broken())?;
        let (contents, rest) = message.split_at_checked(length).ok_or_else(broken)?;
        message = rest;
        if tag == (wanted << 3 | 2) {
            found.push(contents);
        }
    }
    Ok(found)
}

fn varint(message: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = message.split_first()?;
        *message = rest;
        value |= u64::from(byte & 127) << shift;
        if byte < 128 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_are_found_between_other_fields() {
        // A version, then a meta graph with one other field and a graph of two bytes.
        let model = [8, 1, 18, 8, 10, 2, 7, 7, 18, 2, 5, 6];
        assert_eq!(graphs(&model).unwrap(), [Bytes::from_static(&[5, 6])]);
    }

    #[test]
    fn what_is_cut_off_is_refused() {
        let model = [8, 1, 18, 8, 10, 2, 7, 7, 18, 2, 5, 6];
        for end in 3..model.len() {
            assert!(graphs(&model[..end]).is_err(), "{end}");
        }
        assert!(graphs(b"model: text").is_err());
    }
}
