"""What a session is asked for beside its graph: the task that is its master, and its configuration."""

import tensorflow.compat.v1 as v1
from tensorflow.core.protobuf import config_pb2, rewriter_config_pb2

MASTERS = ["worker:0", "worker:1", "ps:0"]


def draw(chance):
    """Draws a master and options, mostly the usual one and none."""
    (master,) = chance.choices(MASTERS, [6, 1, 1])
    options = chance.sample(list(_OPTIONS), chance.randint(1, 2)) if chance.random() < 0.25 else []
    return master, sorted(options)


def config(names):
    """Returns the configuration that options ask for."""
    made = v1.ConfigProto()
    for name in names:
        _OPTIONS[name](made)
    return made


def _place_pruned(config):
    config.graph_options.place_pruned_graph = True


def _unoptimised(config):
    config.graph_options.optimizer_options.opt_level = config_pb2.OptimizerOptions.L0


def _unrewritten(config):
    config.graph_options.rewrite_options.disable_meta_optimizer = True


def _unfolded(config):
    config.graph_options.rewrite_options.constant_folding = rewriter_config_pb2.RewriterConfig.OFF


def _soft(config):
    config.allow_soft_placement = True


def _isolated(config):
    config.isolate_session_state = True


def _one_at_a_time(config):
    config.inter_op_parallelism_threads = 1


_OPTIONS = {
    "isolated": _isolated,
    "one_at_a_time": _one_at_a_time,
    "place_pruned": _place_pruned,
    "soft": _soft,
    "unfolded": _unfolded,
    "unoptimised": _unoptimised,
    "unrewritten": _unrewritten,
}
