//! Graphs as messages.

use prost::Message;
use tensorfleet_tensor::Result;

use crate::graph::Graph;

impl Graph {
    /// The graph as a serialized `GraphDef`, as TensorFlow's `tf.graph_util.import_graph_def` reads it.
    ///
    /// ```
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = tensorfleet_client::Graph::new();
    /// graph.constant(1.0f32);
    /// assert!(!graph.to_graph_def()?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn to_graph_def(&self) -> Result<Vec<u8>> {
        self.check()?;
        let (nodes, library) = self.nodes_from(0);
        Ok(tensorfleet_graph::wire::graph_def_of(&nodes, &library)?.encode_to_vec())
    }
}
