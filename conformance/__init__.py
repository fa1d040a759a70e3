"""Conformance tests: TensorFlow's own Python client, unmodified, against our servers.

Every test passes with `--engine tensorflow` too, which runs it against TensorFlow's server.
"""
