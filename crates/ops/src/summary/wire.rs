//! Summaries as protocol messages.

use prost::Message;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_proto::tensorflow::event::What;
use tensorfleet_proto::tensorflow::summary::value::Value;
use tensorfleet_tensor::wire as tensor_wire;
use tensorfleet_tensor::{Result, Tensor, data_loss, invalid_argument};

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
    Image {
        height: usize,
        width: usize,
        channels: usize,
        png: Vec<u8>,
    },
    Audio {
        sample_rate: f32,
        channels: usize,
        frames: usize,
        wav: Vec<u8>,
    },
    Tensor {
        tensor: Tensor,
        metadata: bytes::Bytes,
    },
    /// As a writer writes it: metadata may be missing, and are dropped when they cannot be read.
    WrittenTensor {
        tensor: Tensor,
        metadata: bytes::Bytes,
    },
    /// A tensor that goes by the name of the node that made it.
    NodeTensor(Tensor),
    /// A tensor that a debugger watches, for its plugin.
    Watched {
        tensor: Tensor,
        device: String,
        slot: i32,
        watch: String,
    },
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
    Ok(Tensor::string(summary(entries)?.encode_to_vec()))
}

fn summary(entries: Vec<Entry>) -> Result<pb::Summary> {
    Ok(pb::Summary { value: entries.into_iter().map(encode_entry).collect::<Result<_>>()? })
}

/// What an event file tells about.
#[derive(Debug)]
pub(super) enum Event {
    /// The first event of every file.
    FileVersion,
    Summary(Vec<Entry>),
    /// Encoded summaries, which are merged.
    RawSummaries(Vec<bytes::Bytes>),
    /// An encoded graph.
    Graph(bytes::Bytes),
}

/// Encodes an event that happened at `wall_time`, in seconds of the Unix epoch.
pub(super) fn encode_event(event: Event, step: i64, wall_time: f64) -> Result<Vec<u8>> {
    let mut source_metadata = None;
    let what = match event {
        Event::FileVersion => {
            let writer = "tensorflow.core.util.events_writer".to_owned();
            source_metadata = Some(pb::SourceMetadata { writer });
            What::FileVersion("brain.Event:2".to_owned())
        }
        Event::Summary(entries) => What::Summary(summary(entries)?),
        Event::RawSummaries(parts) => {
            let mut merged = pb::Summary::default();
            for (index, part) in parts.into_iter().enumerate() {
                merged.merge(part).map_err(|_| {
                    data_loss!(
                        "Bad tf.compat.v1.Summary binary proto tensor string at index {index}"
                    )
                })?;
            }
            What::Summary(merged)
        }
        Event::Graph(graph) => {
            pb::GraphDef::decode(graph.clone())
                .map_err(|_| data_loss!("Bad tf.GraphDef binary proto tensor string"))?;
            What::GraphDef(graph)
        }
    };
    let event = pb::Event { wall_time, step, source_metadata, what: Some(what) };
    Ok(event.encode_to_vec())
}

/// Refuses bytes that are no event.
pub(super) fn check_event(bytes: &bytes::Bytes) -> Result<()> {
    pb::Event::decode(bytes.clone())
        .map(drop)
        .map_err(|_| data_loss!("Bad tf.Event binary proto tensor string"))
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
        Content::Audio { sample_rate, channels, frames, wav } => Value::Audio(pb::summary::Audio {
            sample_rate,
            num_channels: channels as i64,
            length_frames: frames as i64,
            encoded_audio_string: wav.into(),
            content_type: "audio/wav".to_owned(),
        }),
        Content::NodeTensor(tensor) => {
            let value = Value::Tensor(tensor_wire::tensor_proto(&tensor)?);
            return Ok(pb::summary::Value {
                node_name: entry.tag,
                value: Some(value),
                ..Default::default()
            });
        }
        Content::Watched { tensor, device, slot, watch } => {
            let content = format!(
                "{{\"device\":\"{device}\",\"outputSlot\":{slot},\"numChunks\":1,\"chunkIndex\":0}}"
            );
            let plugin_data = pb::summary_metadata::PluginData {
                plugin_name: "debugger".to_owned(),
                content: content.into(),
            };
            return Ok(pb::summary::Value {
                tag: entry.tag,
                node_name: watch,
                metadata: Some(pb::SummaryMetadata {
                    plugin_data: Some(plugin_data),
                    ..Default::default()
                }),
                value: Some(Value::Tensor(tensor_wire::tensor_proto(&tensor)?)),
            });
        }
        Content::WrittenTensor { tensor, metadata: bytes } => {
            if !bytes.is_empty() {
                metadata = Some(pb::SummaryMetadata::decode(bytes).unwrap_or_default());
            }
            Value::Tensor(tensor_wire::tensor_proto(&tensor)?)
        }
        Content::Tensor { tensor, metadata: bytes } => {
            // What cannot be read counts as nothing, as in TensorFlow.
            metadata = Some(pb::SummaryMetadata::decode(bytes).unwrap_or_default());
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
                    "Duplicate tag {} found in summary inputs ",
                    value.tag
                ));
            }
            merged.value.push(value);
        }
    }
    Ok(Tensor::string(merged.encode_to_vec()))
}
