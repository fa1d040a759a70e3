"""What a program pays before its first step: a session, a graph, its partitions on every task."""

import tensorflow as tf

from conformance.bench.case import Program, Step, case, noise, on, v1, variable


class SetUp(Program):
    """A step is a whole session: open, initialise, run once, close."""

    def __init__(self, cluster, graph, step):
        super().__init__(cluster)
        self._graph, self._step = graph, step
        self._initialise = [each.initializer for each in graph.get_collection("variables")]
        self._fetched = None

    def step(self):
        with v1.Session(self.cluster.target(), graph=self._graph) as session:
            session.run(self._initialise)
            self._fetched = session.run(self._step.run, self._step.feeds)

    def values(self):
        return self._fetched


@case("session/400 nodes", jobs={"worker": 1, "ps": 2}, program=SetUp, target=0.5)
def four_hundred_nodes():
    """A session with a training graph of about 400 nodes over three tasks: opened, run once, closed"""
    x = v1.placeholder(tf.float32, [8, 32])
    y = x
    variables = []
    for layer in range(4):
        with on("ps", layer % 2):
            weights = variable(f"w{layer}", [32, 32], seed=layer, scale=0.3)
            bias = variable(f"b{layer}", [32], seed=100 + layer, scale=0.1)
        variables += [weights, bias]
        with on("worker"):
            y = tf.nn.relu(tf.matmul(y, weights) + bias)
    with on("worker"):
        loss = tf.reduce_mean(tf.square(y))
        gradients = tf.gradients(loss, variables)
    updates = []
    for each, gradient in zip(variables, gradients):
        with on("ps", int(each.name[1]) % 2):
            updates.append(each.assign_sub(0.01 * gradient, read_value=False))
    with tf.control_dependencies(updates), on("worker"):
        result = tf.identity(loss)
    return Step(result, {x: noise(8, 32)})
