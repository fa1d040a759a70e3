//! What ops reach outside of their server: its files.

use tensorfleet_framework::Attrs;
use tensorfleet_graph::Node;

/// Ops that touch files, whatever their attributes, though their kernels may leave that to others, as
/// datasets leave it to their iterators.
const WITH_FILES: &[&str] = &[
    "CSVDataset",
    "CSVDatasetV2",
    "CreateSummaryFileWriter",
    "DatasetToTFRecord",
    "ExperimentalCSVDataset",
    "ExperimentalDatasetToTFRecord",
    "ExperimentalLMDBDataset",
    "ExperimentalMatchingFilesDataset",
    "ExperimentalSqlDataset",
    "FixedLengthRecordDataset",
    "FixedLengthRecordDatasetV2",
    "FixedLengthRecordReader",
    "FixedLengthRecordReaderV2",
    "GenerateVocabRemapping",
    "ImmutableConst",
    "InitializeTableFromTextFile",
    "InitializeTableFromTextFileV2",
    "LMDBDataset",
    "LMDBReader",
    "LoadAndRemapMatrix",
    "LoadDataset",
    "MatchingFiles",
    "MatchingFilesDataset",
    "MergeV2Checkpoints",
    "ReadFile",
    "RecordInput",
    "Restore",
    "RestoreSlice",
    "RestoreV2",
    "Save",
    "SaveDataset",
    "SaveDatasetV2",
    "SaveSlices",
    "SaveV2",
    "SnapshotDataset",
    "SnapshotDatasetV2",
    "SqlDataset",
    "TFRecordDataset",
    "TFRecordDatasetV2",
    "TFRecordReader",
    "TFRecordReaderV2",
    "TextLineDataset",
    "TextLineReader",
    "TextLineReaderV2",
    "WholeFileReader",
    "WholeFileReaderV2",
    "WriteFile",
];

/// Whether a node touches files by what its op and its attributes say. A kernel that blocks does too.
pub fn touches_files(node: &Node) -> bool {
    if WITH_FILES.contains(&&*node.op) {
        return true;
    }
    let attrs = Attrs::new(node);
    match &*node.op {
        "FixedUnigramCandidateSampler" => {
            attrs.bytes("vocab_file").is_ok_and(|file| !file.is_empty())
        }
        "DecodeProtoV2" | "EncodeProto" => attrs.bytes("descriptor_source").is_ok_and(|source| {
            !source.is_empty() && source.as_ref() != b"local://" && !source.starts_with(b"bytes://")
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_them_are_ops() {
        let registry = crate::library();
        for op in WITH_FILES {
            assert!(registry.iter().any(|(known, _)| known.name == *op), "{op}");
        }
    }
}
