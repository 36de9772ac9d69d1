"""Records behind evidence: breaks if one is miscounted, or counting stops too early."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesnets import support
from bayesnets.support import Support


def by_hand(records, evidence):
    return [
        sum(all(e in (-1, r) for e, r in zip(row, record, strict=True)) for record in records)
        for row in evidence
    ]


def rows(least, most):
    return st.integers(1, 40).flatmap(
        lambda n: st.lists(
            st.lists(st.integers(least, most), min_size=3, max_size=3), min_size=n, max_size=n
        )
    )


@pytest.mark.lengthy
@given(rows(0, 2), rows(-1, 3), st.integers(0, 12))
def test_counts_are_those_of_looking_at_every_record(records, evidence, at_least):
    counts = Support(np.array(records)).counts(np.array(evidence), at_least=at_least)
    truth = np.array(by_hand(records, evidence))
    enough = truth >= at_least
    assert (counts[enough] == truth[enough]).all()
    # Below the limit the count may be too high, but never so high that it would pass.
    assert (counts[~enough] < at_least).all()
    assert (counts >= truth).all()


@pytest.mark.lengthy
def test_portions_of_evidence_are_counted_alike(monkeypatch):
    generator = np.random.default_rng(1)
    records, evidence = generator.integers(0, 3, (1003, 6)), generator.integers(-1, 3, (500, 6))
    whole = Support(records).counts(evidence)
    monkeypatch.setattr(support, "_MOST_BYTES", 126 * 7)  # seven rows at a time
    assert (Support(records).counts(evidence) == whole).all()
    assert whole.tolist() == by_hand(records, evidence)


def test_no_records_show_nothing():
    empty = Support(np.empty((0, 2), dtype=np.int64))
    assert empty.counts(np.array([[0, -1], [-1, -1]])).tolist() == [0, 0]
    assert len(empty) == 0
    assert Support(np.zeros((8, 2), dtype=np.int64)).counts(np.array([[0, 0]])) == pytest.approx(8)
