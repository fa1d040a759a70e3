"""Two workers that train the same variables, each at its own pace, each with a client of its own."""

import threading

from conformance.bench.case import SessionProgram, case, v1
from conformance.bench.cases import training


class TwoWorkers(SessionProgram):
    """A thread for each worker; a step is one of each."""

    def __init__(self, cluster, graph, steps):
        super().__init__(cluster, graph, steps[0])
        self._second = v1.Session(cluster.target("worker", 1), graph=graph)
        self._others = steps[1]
        self._expected = 0

    def before_check(self):
        # One worker alone: what two compute together depends on who is first.
        for _ in range(3):
            super().step()
        self._expected += 3

    def step(self):
        self.steps(1)

    def steps(self, count):
        failures = []

        def work(session, step):
            try:
                for _ in range(count):
                    session.run(step.run, step.feeds)
            except Exception as error:
                failures.append(error)

        threads = [
            threading.Thread(target=work, args=arguments)
            for arguments in [(self.session, self._step), (self._second, self._others)]
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        self._expected += 2 * count

    def values(self):
        loss, step = super().values()
        if step != self._expected:
            raise AssertionError(f"{step} steps were counted of {self._expected}")
        # After the race the losses may differ; that both have learned is what can be said.
        return [loss] if step == 3 else [loss < 2.0]

    def tolerance(self, final):
        return 1e-3

    def close(self):
        self._second.close()
        super().close()


@case("training/two workers", jobs={"worker": 2, "ps": 1}, program=TwoWorkers)
def two_workers():
    """Two asynchronous workers train a perceptron; a step of each"""
    return [training.mlp(worker=0), training.mlp(worker=1)]
