"""The sweep over kernels, without a server."""

import tensorflow as tf

from conformance.bench.kernels import __main__ as command
from conformance.bench.kernels import generated, page, row, rows, sweep


def test_rows_have_names_of_their_own_and_build():
    everything = rows.load()
    names = [(each.name, each.size) for each in everything]
    assert len(set(names)) == len(names)
    assert {each.size for each in everything} == set(row.SIZES)
    for each in everything:
        if each.size == "small":
            _, _, _, results = sweep.build(each)
            assert results, each.name


def test_rows_time_ops_that_we_have():
    timed = {op for each in rows.load() for op in each.ops}
    assert timed <= command._ours() | {"ClipByValue"}


def test_generators_make_rows_for_other_ops():
    found = {each.ops[0]: each for each in generated.rows({"Abs"}) if each.ops[0] in ("Abs", "Bucketize", "Concat")}
    assert sorted(found) == ["Bucketize", "Concat"]
    _, assignments, _, results = sweep.build(found["Concat"])
    assert len(assignments) > 2 and isinstance(results[0], tf.Tensor)


def test_page_lists_what_is_slower_first_and_what_is_not_timed():
    timed = lambda best: {"seconds": [best], "cpu": 0.0, "best": best}
    measured = {"name": "Abs", "size": "small", "ratio": 2.5, "cpu_ratio": None, "tensorflow": timed(0.1), "tensorfleet": timed(0.25)}
    result = {
        "machine": {"processor": "P", "cores": 2, "system": "S"}, "tensorflow": "2", "started": "now", "commit": "c",
        "rounds": 1, "seconds": 0.1, "load": {"before": 0.0, "after": 0.0},
        "rows": [measured], "failed": {"Neg (small)": "WrongNumbers: 1"}, "untimed": ["Abort"],
    }
    text = page.render(result)
    assert "| 2.50 | - | 100.00 ms | 250.00 ms | Abs | small |" in text
    assert "1 above 1.05, 1 above 2; 1 failed, 1 ops without a row" in text
    assert text.rstrip().endswith("Abort")
