//! Messages and services of TensorFlow's wire protocol.
//!
//! The `.proto` files under `proto/` are written for this crate and are wire-compatible with
//! TensorFlow 2.21: same packages, names, field numbers and method paths.
//! `conformance/test_proto_descriptors.py` compares them with an installed TensorFlow.
//! After a change there, `cargo xtask codegen` writes `src/generated` anew.
//!
//! `bytes` fields are [`bytes::Bytes`], so decoding a message from a `Bytes` shares its memory,
//! and maps are ordered, so that equal messages have equal encodings.
//! Messages nested deeper than prost's limit of 100 levels fail to decode.

/// The descriptors of all messages and services here, as a serialized `FileDescriptorSet`.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("generated/descriptors.bin");

/// Packages of TensorFlow.
#[allow(warnings, clippy::all, reason = "generated code")]
pub mod tensorflow {
    include!("generated/tensorflow.rs");

    /// Contexts and operations of TF2's eager service.
    pub mod eager {
        include!("generated/tensorflow.eager.rs");
    }

    /// Error codes.
    pub mod error {
        include!("generated/tensorflow.error.rs");
    }

    /// Payloads of errors that cross the wire.
    pub mod distributed_runtime {
        include!("generated/tensorflow.distributed_runtime.rs");
    }

    /// Where errors come from.
    pub mod core {
        /// Payloads of errors.
        pub mod platform {
            include!("generated/tensorflow.core.platform.rs");
        }
    }
}

/// Packages of gRPC.
#[allow(warnings, clippy::all, reason = "generated code")]
pub mod grpc {
    /// Health checking.
    pub mod health {
        /// The only version there is.
        pub mod v1 {
            include!("generated/grpc.health.v1.rs");
        }
    }
}

/// Packages of Protocol Buffers.
#[allow(warnings, clippy::all, reason = "generated code")]
pub mod google {
    /// Well-known types.
    pub mod protobuf {
        include!("generated/google.protobuf.rs");
    }
}
