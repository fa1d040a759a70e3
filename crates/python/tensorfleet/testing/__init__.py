"""Clusters for tests of distributed training, with faults to order.

    from tensorfleet.testing import Cluster

    with Cluster(num_workers=2, num_ps=1) as cluster:
        train(cluster.target)
        cluster.ps[0].kill()
        cluster.ps[0].restart()

In pytest, the fixture `tensorfleet_cluster` makes such clusters and stops them after the test:

    def test_a_lost_worker(tensorfleet_cluster):
        cluster = tensorfleet_cluster(num_workers=2, num_ps=1)
        cluster.at_step(10, cluster.workers[1].kill)
        for batch in batches:
            train_on(batch)
            cluster.step()
"""

from tensorfleet.testing._cluster import Cluster, Task

__all__ = ["Cluster", "Task"]
