//! The nodes that make readers.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, invalid_argument};

use super::reader::Reader;
use super::reader_source::{
    FixedLength, Identity, Layout, Source, TextLines, TfRecords, WholeFile,
};
use crate::data_flow::named::Named;
use crate::record::Compression;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "FixedLengthRecordReader",
        outputs: &["reader_handle: Ref(string)"],
        attrs: &[
            "header_bytes: int = 0",
            "record_bytes: int",
            "footer_bytes: int = 0",
            "hop_bytes: int = 0",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    Op {
        name: "FixedLengthRecordReaderV2",
        outputs: &["reader_handle: resource"],
        attrs: &[
            "header_bytes: int = 0",
            "record_bytes: int",
            "footer_bytes: int = 0",
            "hop_bytes: int = 0",
            "container: string = ''",
            "shared_name: string = ''",
            "encoding: string = ''",
        ],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    Op {
        name: "IdentityReader",
        outputs: &["reader_handle: Ref(string)"],
        attrs: &["container: string = ''", "shared_name: string = ''"],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    Op {
        name: "IdentityReaderV2",
        outputs: &["reader_handle: resource"],
        attrs: &["container: string = ''", "shared_name: string = ''"],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TFRecordReader",
        outputs: &["reader_handle: Ref(string)"],
        attrs: &[
            "container: string = ''",
            "shared_name: string = ''",
            "compression_type: string = ''",
        ],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TFRecordReaderV2",
        outputs: &["reader_handle: resource"],
        attrs: &[
            "container: string = ''",
            "shared_name: string = ''",
            "compression_type: string = ''",
        ],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TextLineReader",
        outputs: &["reader_handle: Ref(string)"],
        attrs: &[
            "skip_header_lines: int = 0",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TextLineReaderV2",
        outputs: &["reader_handle: resource"],
        attrs: &[
            "skip_header_lines: int = 0",
            "container: string = ''",
            "shared_name: string = ''",
        ],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    Op {
        name: "WholeFileReader",
        outputs: &["reader_handle: Ref(string)"],
        attrs: &["container: string = ''", "shared_name: string = ''"],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
    Op {
        name: "WholeFileReaderV2",
        outputs: &["reader_handle: resource"],
        attrs: &["container: string = ''", "shared_name: string = ''"],
        stateful: true,
        kernels: &[cpu::<Make>()],
        ..Op::DEFAULT
    },
];

#[derive(Clone, Copy, Debug)]
enum Kind {
    FixedLength(Layout),
    Identity,
    TextLines { skip: u64 },
    TfRecords(Compression),
    WholeFile,
}

#[derive(Debug)]
struct Make {
    named: Named<Reader>,
    kind: Kind,
    class: String,
    node: String,
}

/// An attribute that counts something.
fn count(attrs: &Attrs<'_>, name: &str, least: i64) -> Result<u64> {
    let value = attrs.int(name)?;
    if value < least {
        return Err(invalid_argument!("{name} must be >= {least}, but got {value}"));
    }
    Ok(value.unsigned_abs())
}

impl Kernel for Make {
    fn new(attrs: &Attrs<'_>) -> Result<Make> {
        let class = attrs.op().trim_end_matches("V2");
        let kind = match class {
            "FixedLengthRecordReader" => {
                let layout = Layout {
                    header: count(attrs, "header_bytes", 0)?,
                    record: count(attrs, "record_bytes", 0)?,
                    footer: count(attrs, "footer_bytes", 0)?,
                    hop: count(attrs, "hop_bytes", 0)?,
                    compression: match attrs.get("encoding") {
                        Some(_) => Compression::parse(attrs.bytes("encoding")?)
                            .unwrap_or(Compression::None),
                        None => Compression::None,
                    },
                };
                let hop = if layout.hop == 0 { layout.record } else { layout.hop };
                Kind::FixedLength(Layout { hop, ..layout })
            }
            "TextLineReader" => Kind::TextLines { skip: count(attrs, "skip_header_lines", 0)? },
            "TFRecordReader" => {
                // TensorFlow only warns of other names.
                let compression = Compression::parse(attrs.bytes("compression_type")?);
                Kind::TfRecords(compression.unwrap_or(Compression::None))
            }
            "WholeFileReader" => Kind::WholeFile,
            _ => Kind::Identity,
        };
        Ok(Make {
            named: Named::new(attrs)?,
            kind,
            class: class.to_owned(),
            node: attrs.node_name().to_owned(),
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let files = ctx.step().files();
        self.named.output(ctx, |_| {
            let (source, saves_state): (Box<dyn Source>, bool) = match self.kind {
                Kind::FixedLength(layout) => (Box::new(FixedLength::new(files, layout)), false),
                Kind::Identity => (Box::new(Identity::default()), true),
                Kind::TextLines { skip } => (Box::new(TextLines::new(files, skip)), false),
                Kind::TfRecords(compression) => {
                    (Box::new(TfRecords::new(files, compression)), false)
                }
                Kind::WholeFile => (Box::new(WholeFile::new(files)), true),
            };
            Ok(Reader::new(format!("{} '{}'", self.class, self.node), source, saves_state))
        })?;
        Ok(())
    }
}
