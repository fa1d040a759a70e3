//! Which tasks of a session come back as the same ones when they die: said beside the request that opens
//! the session, because TensorFlow's messages have no place for it.

use tensorfleet_framework::DeviceName;
use tensorfleet_transport::Call;
use tonic::metadata::{MetadataMap, MetadataValue};

/// The names of jobs may have any characters, which plain metadata may not.
const DURABLE: &str = "tensorfleet-durable-bin";

/// Names the durable tasks.
pub(crate) fn say(metadata: &mut MetadataMap, tasks: &[DeviceName]) {
    if !tasks.is_empty() {
        let names: Vec<String> = tasks.iter().map(DeviceName::to_string).collect();
        metadata.insert_bin(DURABLE, MetadataValue::from_bytes(names.join("\n").as_bytes()));
    }
}

/// The durable tasks that a call names.
pub(crate) fn hear(call: &Call) -> Vec<DeviceName> {
    let metadata = MetadataMap::from_headers(call.metadata.clone());
    let said = metadata.get_bin(DURABLE).and_then(|value| value.to_bytes().ok());
    let names = said.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok()).unwrap_or_default();
    names.lines().filter_map(|name| DeviceName::parse(name).ok()).collect()
}

#[cfg(test)]
mod tests {
    use tensorfleet_transport::{Identity, Peer, Role};

    use super::*;

    #[test]
    fn what_is_said_is_heard() {
        let names = ["/job:ps/replica:0/task:0", "/job:ps/replica:0/task:7"];
        let tasks: Vec<DeviceName> =
            names.iter().map(|name| DeviceName::parse(name).unwrap()).collect();
        for tasks in [&tasks[..], &[]] {
            let mut metadata = MetadataMap::new();
            say(&mut metadata, tasks);
            let call = Call {
                path: "/a/b",
                metadata: metadata.into_headers(),
                peer: Peer::Inside,
                identity: Identity::new("caller", Role::Peer),
                timeout: None,
            };
            assert_eq!(hear(&call), tasks);
        }
    }
}
