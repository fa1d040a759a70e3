//! Where descriptors of messages come from, and what the ops need of them.

use prost_reflect::{Cardinality, DescriptorPool, MessageDescriptor};
use tensorfleet_files::FileSystem;
use tensorfleet_framework::Attrs;
use tensorfleet_tensor::{Code, Result, invalid_argument, try_repeat};

use super::kind::{Kind, Scalar};
use super::wire::LOCAL;

/// A field that a node reads or writes.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) full_name: String,
    pub(super) number: u32,
    pub(super) kind: Kind,
    pub(super) repeated: bool,
    pub(super) packed: bool,
    pub(super) default: Scalar,
}

/// Reads a descriptor: those of fields and of extensions have the same methods and no trait.
macro_rules! field {
    ($descriptor:expr) => {{
        let descriptor = $descriptor;
        let kind = Kind::new(&descriptor.kind(), descriptor.is_group());
        Field {
            name: descriptor.name().to_owned(),
            full_name: descriptor.full_name().to_owned(),
            number: descriptor.number(),
            repeated: descriptor.cardinality() == Cardinality::Repeated,
            packed: descriptor.is_packed(),
            default: Scalar::default_of(kind, &descriptor.kind(), descriptor.default_value()),
            kind,
        }
    }};
}

/// Finds the message and the fields that a node's attributes name.
pub(super) fn find(
    attrs: &Attrs<'_>,
    with_extensions: bool,
) -> Result<(MessageDescriptor, Vec<Field>)> {
    let name = attrs.string("message_type")?;
    let pool = pool(attrs)?;
    let Some(message) =
        pool.get_message_by_name(&name).filter(|message| message.full_name() == name)
    else {
        return Err(invalid_argument!("No descriptor found for message type {name}"));
    };
    let mut fields = Vec::new();
    for field in attrs.strings("field_names")? {
        let field = String::from_utf8_lossy(field);
        let extension = || {
            message.extensions().find(|extension| with_extensions && extension.full_name() == field)
        };
        let found = match message.get_field_by_name(&field) {
            Some(found) => Some(field!(found)),
            None => extension().map(|extension| field!(extension)),
        };
        fields.push(
            found.ok_or_else(|| {
                invalid_argument!("Unknown field: {field} in message type {name}")
            })?,
        );
    }
    Ok((message, fields))
}

/// Whether a node's descriptors are in a file.
pub(super) fn is_in_file(attrs: &Attrs<'_>) -> Result<bool> {
    let source = attrs.bytes("descriptor_source")?;
    Ok(!source.is_empty() && source.as_ref() != LOCAL_SOURCE && !source.starts_with(IN_PLACE))
}

/// The server's own descriptors.
const LOCAL_SOURCE: &[u8] = b"local://";

/// Before descriptors that the source itself is.
const IN_PLACE: &[u8] = b"bytes://";

fn pool(attrs: &Attrs<'_>) -> Result<DescriptorPool> {
    let source = attrs.bytes("descriptor_source")?;
    if source.is_empty() || source.as_ref() == LOCAL_SOURCE {
        return LOCAL
            .clone()
            .ok_or_else(|| invalid_argument!("the server's own descriptors cannot be read"));
    }
    let read = match source.strip_prefix(IN_PLACE) {
        Some(set) => DescriptorPool::decode(set).ok(),
        None => contents(&*attrs.files(), &String::from_utf8_lossy(source))?
            .and_then(|set| DescriptorPool::decode(&set[..]).ok()),
    };
    read.ok_or_else(|| {
        invalid_argument!(
            "Source does not represent serialized file descriptor set proto. This may be due to a missing \
             dependency on the file containing REGISTER_DESCRIPTOR_POOL(\"{}\", ...);",
            String::from_utf8_lossy(source)
        )
    })
}

/// What a file holds, if it can be read. That it may not be is told.
fn contents(files: &dyn FileSystem, path: &str) -> Result<Option<Vec<u8>>> {
    let file = match files.open(path) {
        Ok(file) => file,
        Err(error) if error.code() == Code::PermissionDenied => return Err(error),
        Err(_) => return Ok(None),
    };
    let mut contents = try_repeat(0, usize::try_from(file.len()).unwrap_or(usize::MAX))?;
    Ok(file.read_at(0, &mut contents).is_ok().then_some(contents))
}
