"""Training of embeddings: a few rows of a table that is spread over two parameter servers."""

import numpy as np
import tensorflow as tf

from conformance.bench.case import Step, case, on, v1, variable

_ROWS, _WIDTH, _BATCH, _WORDS = 100_000, 64, 128, 16

_OPTIMIZERS = {
    "gradient descent": lambda: v1.train.GradientDescentOptimizer(0.1),
    "adagrad": lambda: v1.train.AdagradOptimizer(0.1),
}


def _train(optimizer):
    table = []
    for task in range(2):
        with on("ps", task):
            table.append(variable(f"table{task}", [_ROWS // 2, _WIDTH], seed=task + 1, scale=0.1))
    with on("ps"):
        weights = variable("weights", [_WIDTH, 1], scale=0.1)
    ids = v1.placeholder(tf.int64, [_BATCH, _WORDS])
    labels = v1.placeholder(tf.float32, [_BATCH, 1])
    with on("worker"):
        words = tf.nn.embedding_lookup(table, ids)
        logits = tf.matmul(tf.reduce_mean(words, axis=1), weights)
        losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
        loss = tf.reduce_mean(losses)
    train = optimizer.minimize(loss)
    random = np.random.RandomState(5)
    feeds = {
        ids: random.randint(0, _ROWS, (_BATCH, _WORDS)),
        labels: random.randint(0, 2, (_BATCH, 1)).astype(np.float32),
    }
    return Step([train, loss], feeds, values=[loss, words], tolerance=1e-3, final_tolerance=0.05)


for _name, _optimizer in _OPTIMIZERS.items():

    @case(f"embedding/{_name}", jobs={"worker": 1, "ps": 2}, target=0.4)
    def _embedding(optimizer=_optimizer):
        """A training step on 2,048 rows of a table of 100,000 rows on two parameter servers"""
        return _train(optimizer())
