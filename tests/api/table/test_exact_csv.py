"""Breaks if a number of a CSV file is read one unit off in its last place, as pandas 2 does."""

import io

import numpy as np
import pytest

from coherence.table.exact_csv import precision_option, read_exact_csv


def test_every_digit_is_kept():
    rng = np.random.default_rng(0)
    numbers = np.concatenate([rng.random(20_000), 10 ** rng.uniform(-300, 300, 10_000)])
    text = "p\n" + "\n".join(map(repr, numbers.tolist()))
    assert np.array_equal(read_exact_csv(io.StringIO(text))["p"], numbers)


@pytest.mark.parametrize(
    ("version", "told"), [("2.2.0", True), ("3.0.4", True), ("3.1.0", False), ("10.0.0rc1", False)]
)
def test_versions_that_are_not_exact_are_told(version, told):
    assert precision_option(version) == ({"float_precision": "round_trip"} if told else {})
