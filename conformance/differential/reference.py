"""TensorFlow's own engine, as the judge, in a process of its own.

Kernels of TensorFlow can end the process that they run in, by a failed assertion or by an
instruction that the processor announces and does not have. Such a case is lost, and says so; the
next one finds a new process.
"""

import multiprocessing
import signal

import tensorflow as tf
import tensorflow.compat.v1 as v1

from conformance.differential import compare, graphs

RUN_MILLISECONDS = 30_000
# Nothing that TensorFlow can still end by itself takes so long.
LOST_SECONDS = 3 * RUN_MILLISECONDS / 1000


class Reference:
    """A process that runs graphs on TensorFlow; it starts when it is needed."""

    def __init__(self):
        # Importing TensorFlow takes seconds: one process does so, and others are forked from it.
        self._processes = multiprocessing.get_context("forkserver")
        self._processes.set_forkserver_preload([__name__])
        self._child = self._connection = self._graph = None

    def outcome(self, graph, fetches, feeds):
        """Runs a part of a graph; graphs that were run before must not have grown."""
        if self._child is None:
            self._connection, theirs = self._processes.Pipe()
            self._child = self._processes.Process(target=_serve, args=[theirs], daemon=True)
            self._child.start()
            theirs.close()
        try:
            if self._graph is not graph:
                self._connection.send(graph.as_graph_def(add_shapes=False).SerializeToString())
                self._graph = graph
            feeds = {tensor.name: value for tensor, value in feeds.items()}
            self._connection.send(([fetch.name for fetch in fetches], feeds))
            if not self._connection.poll(LOST_SECONDS):
                self._child.kill()
            return self._connection.recv()
        except (EOFError, ConnectionError):
            return self._lost()

    def close(self):
        """Ends the process, if there is one."""
        if self._child is not None:
            self._connection.close()
            self._child.kill()
            self._child.join()
            self._child = self._connection = self._graph = None

    def _lost(self):
        self._child.join(LOST_SECONDS)
        exit_code = self._child.exitcode
        self.close()
        return compare.Died(exit_code)


def outcome(session, fetches, feeds):
    """Runs a part of a graph in a session."""
    options = v1.RunOptions(timeout_in_ms=RUN_MILLISECONDS)
    # Some kernels of TensorFlow write into what they are fed.
    feeds = {tensor: value.copy() for tensor, value in feeds.items()}
    try:
        values = session.run(fetches, feeds, options=options)
    except tf.errors.OpError as error:
        return compare.Failed(error.error_code, _last_line(error.message))
    return compare.Returned([graphs.as_array(value) for value in values if value is not None])


def config():
    """How sessions of either engine run single ops."""
    config = v1.ConfigProto()
    # A graph rewritten for speed tests the rewriter, and takes longer than the op it has.
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    return config


def _serve(connection):
    """The other process: reads graphs and what to run of the latest, and writes outcomes."""
    # An interrupt from the keyboard is for the tests; they end this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    session = None
    while True:
        try:
            request = connection.recv()
        except (EOFError, ConnectionError):
            return
        if isinstance(request, bytes):
            if session is not None:
                session.close()
            with tf.Graph().as_default() as graph:
                tf.import_graph_def(v1.GraphDef.FromString(request), name="")
            session = v1.Session("", graph=graph, config=config())
        else:
            connection.send(outcome(session, *request))


def _last_line(message):
    """The op's own words, without the client's account of where it was made."""
    lines = [line for line in message.split("\n") if line.strip()]
    lines = [line for line in lines if "[[{{node" not in line and "Original stack" not in line]
    return lines[-1] if lines else ""
