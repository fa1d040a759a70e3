//! Requests that carry a graph, which stays as it came: its nodes are decoded one at a time, because the
//! messages of a large graph take many times the memory of the graph itself.

use bytes::Bytes;
use tensorfleet_proto::tensorflow as pb;

/// `tensorflow.CreateSessionRequest`.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct CreateSessionRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) graph_def: Bytes,
    #[prost(message, optional, tag = "2")]
    pub(crate) config: Option<pb::ConfigProto>,
    #[prost(string, tag = "3")]
    pub(crate) target: String,
}

/// `tensorflow.ExtendSessionRequest`.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ExtendSessionRequest {
    #[prost(string, tag = "1")]
    pub(crate) session_handle: String,
    #[prost(bytes = "bytes", tag = "2")]
    pub(crate) graph_def: Bytes,
    #[prost(int64, tag = "3")]
    pub(crate) current_graph_version: i64,
}

/// What we read of a `tensorflow.RegisterGraphRequest`.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct RegisterGraphRequest {
    #[prost(string, tag = "1")]
    pub(crate) session_handle: String,
    #[prost(bytes = "bytes", tag = "2")]
    pub(crate) graph_def: Bytes,
    #[prost(message, optional, tag = "5")]
    pub(crate) debug_options: Option<pb::DebugOptions>,
    #[prost(bool, tag = "6")]
    pub(crate) create_worker_session_called: bool,
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;

    fn graph() -> (pb::GraphDef, Bytes) {
        let node = pb::NodeDef { name: "n".to_owned(), ..Default::default() };
        let graph = pb::GraphDef { node: vec![node], ..Default::default() };
        let bytes = graph.encode_to_vec().into();
        (graph, bytes)
    }

    #[test]
    fn requests_are_those_of_the_protocol() {
        let (graph, bytes) = graph();
        let create = pb::CreateSessionRequest {
            graph_def: Some(graph.clone()),
            config: Some(pb::ConfigProto { isolate_session_state: true, ..Default::default() }),
            target: "grpc://a:1".to_owned(),
        };
        let read = CreateSessionRequest::decode(&create.encode_to_vec()[..]).unwrap();
        let CreateSessionRequest { graph_def, config, target } = read;
        assert_eq!((&graph_def, config, target), (&bytes, create.config, create.target));

        let extend = pb::ExtendSessionRequest {
            session_handle: "s".to_owned(),
            graph_def: Some(graph.clone()),
            current_graph_version: 7,
        };
        let read = ExtendSessionRequest::decode(&extend.encode_to_vec()[..]).unwrap();
        assert_eq!((read.session_handle.as_str(), read.current_graph_version), ("s", 7));
        assert_eq!(read.graph_def, bytes);

        let register = pb::RegisterGraphRequest {
            session_handle: "s".to_owned(),
            graph_def: Some(graph),
            create_worker_session_called: true,
            ..Default::default()
        };
        let read = RegisterGraphRequest::decode(&register.encode_to_vec()[..]).unwrap();
        assert_eq!((read.session_handle.as_str(), read.create_worker_session_called), ("s", true));
        assert_eq!(read.graph_def, bytes);
    }
}
