"""Files as strangers have them, a few and a thousand (`benchmarks/faults/README.md`)."""

import mutated_tables
import pytest


@pytest.mark.parametrize("n", [40, pytest.param(1000, marks=pytest.mark.slow)])
def test_mutated_tables_read_right_or_are_refused(n):
    faults: list[str] = []
    counts = mutated_tables.run(n, 0, faults.append)
    assert faults == []
    assert counts["equal: read"] > 10
    assert counts["refused: refused"] > 5
    assert counts["beliefs compared with those of pandas"] > 10
