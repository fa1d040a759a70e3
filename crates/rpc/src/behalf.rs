//! On whose behalf a master opens a session on other tasks: said beside the request, because TensorFlow's
//! messages have no place for it.

use tensorfleet_cluster::Owner;
use tensorfleet_transport::{Call, Role};
use tonic::metadata::{MetadataMap, MetadataValue};

use crate::grpc;

/// The name may have any characters, which plain metadata may not.
const OWNER: &str = "tensorfleet-owner-bin";

/// Says whose a session is.
pub(crate) fn say(metadata: &mut MetadataMap, owner: &Owner) {
    if *owner != Owner::default() {
        metadata.insert_bin(OWNER, MetadataValue::from_bytes(owner.name.as_bytes()));
    }
}

/// Whose a session is that a call opens: other tasks are believed, and nobody else.
pub(crate) fn hear(call: &Call) -> Owner {
    let caller = grpc::owner(call);
    if call.identity.role != Role::Peer {
        return caller;
    }
    let metadata = MetadataMap::from_headers(call.metadata.clone());
    let said = metadata.get_bin(OWNER).and_then(|value| value.to_bytes().ok());
    let name = said.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
    name.map_or(caller, Owner::new)
}

#[cfg(test)]
mod tests {
    use tensorfleet_transport::{Identity, Peer};

    use super::*;

    #[test]
    fn only_tasks_speak_for_others() {
        let mut metadata = MetadataMap::new();
        say(&mut metadata, &Owner::new("älice"));
        let call = |role| Call {
            path: "/a/b",
            metadata: metadata.clone().into_headers(),
            peer: Peer::Inside,
            identity: Identity::new("caller", role),
            timeout: None,
        };
        assert_eq!(&*hear(&call(Role::Peer)).name, "älice");
        for role in [Role::Admin, Role::Trainer] {
            assert_eq!(&*hear(&call(role)).name, "caller");
        }
    }
}
