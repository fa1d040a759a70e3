"""The test rig: starts servers and clusters of either engine, and cleans up after them.

`supervisor` is a process that owns all servers and ends them when the tests end, however they end.
`servers` is the tests' side of it, `cluster` describes tasks, and `ports` hands out free ports.
"""
