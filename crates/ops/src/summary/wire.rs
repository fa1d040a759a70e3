//! Summaries as protocol messages.

use prost::Message;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_proto::tensorflow::summary::value::Value;
use tensorfleet_tensor::wire as tensor_wire;
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

/// One thing to show under a tag.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) tag: String,
    pub(super) content: Content,
}

#[derive(Debug)]
pub(super) enum Content {
    Scalar(f32),
    Histogram(Histogram),
    Image { height: usize, width: usize, channels: usize, png: Vec<u8> },
    Tensor { tensor: Tensor, metadata: bytes::Bytes },
}

#[derive(Debug)]
pub(super) struct Histogram {
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) count: f64,
    pub(super) sum: f64,
    pub(super) sum_squares: f64,
    /// Upper limits of buckets with their counts.
    pub(super) buckets: Vec<(f64, f64)>,
}

/// Encodes entries as one summary.
pub(super) fn encode(entries: Vec<Entry>) -> Result<Tensor> {
    let value = entries.into_iter().map(encode_entry).collect::<Result<_>>()?;
    Ok(Tensor::string(pb::Summary { value }.encode_to_vec()))
}

fn encode_entry(entry: Entry) -> Result<pb::summary::Value> {
    let mut metadata = None;
    let value = match entry.content {
        Content::Scalar(value) => Value::SimpleValue(value),
        Content::Histogram(histogram) => {
            let (bucket_limit, bucket) = histogram.buckets.into_iter().unzip();
            Value::Histo(pb::HistogramProto {
                min: histogram.min,
                max: histogram.max,
                num: histogram.count,
                sum: histogram.sum,
                sum_squares: histogram.sum_squares,
                bucket_limit,
                bucket,
            })
        }
        Content::Image { height, width, channels, png } => Value::Image(pb::summary::Image {
            height: height as i32,
            width: width as i32,
            colorspace: channels as i32,
            encoded_image_string: png.into(),
        }),
        Content::Tensor { tensor, metadata: bytes } => {
            let decoded = pb::SummaryMetadata::decode(bytes)
                .map_err(|_| invalid_argument!("Could not parse serialized_summary_metadata"))?;
            metadata = Some(decoded);
            Value::Tensor(tensor_wire::tensor_proto(&tensor)?)
        }
    };
    Ok(pb::summary::Value { tag: entry.tag, metadata, value: Some(value), ..Default::default() })
}

/// Joins encoded summaries, in which no tag may stand twice.
pub(super) fn merge<'a>(summaries: impl Iterator<Item = &'a bytes::Bytes>) -> Result<Tensor> {
    let mut merged = pb::Summary::default();
    let mut tags = std::collections::BTreeSet::new();
    for bytes in summaries {
        let summary = pb::Summary::decode(bytes.clone())
            .map_err(|_| invalid_argument!("Could not parse one of the summary inputs"))?;
        for value in summary.value {
            if !value.tag.is_empty() && !tags.insert(value.tag.clone()) {
                return Err(invalid_argument!(
                    "Duplicate tag {} found in summary inputs",
                    value.tag
                ));
            }
            merged.value.push(value);
        }
    }
    Ok(Tensor::string(merged.encode_to_vec()))
}
