"""Words that all views share, and what a report says of the way of answering."""

import math

import pytest

from coherence import CheckResult, Interval
from coherence.report.wording import (
    KINDS,
    answering_sentences,
    format_pvalue,
    interval_heading,
)
from coherence.table.audit import Answering
from coherence.table.schema import BELIEF_KINDS


@pytest.mark.parametrize(
    ("pvalue", "text"),
    [(0.0009, "<0.001"), (0.001, "0.001"), (1.0, "1.000"), (None, "–"), (math.nan, "–")],
)
def test_pvalue(pvalue, text):
    assert format_pvalue(pvalue) == text


def test_the_heading_names_the_level_only_where_all_intervals_share_it():
    def of(level):
        interval = None if level is None else Interval(0.0, 1.0, level)
        return CheckResult("c", "n", 0.5, "nats", interval, None, 10, 5)

    assert interval_heading([of(0.95), of(None)]) == "95% interval"
    assert interval_heading([of(0.95), of(0.9)]) == "interval"
    assert interval_heading([]) == "interval"


def test_every_kind_of_belief_has_its_words():
    assert set(KINDS) == set(BELIEF_KINDS)


@pytest.mark.parametrize(("median", "warned"), [(0.5, False), (0.499, True), (1.8e-6, True)])
def test_a_warning_comes_first_where_half_of_the_mass_is_elsewhere(median, warned):
    got = answering_sentences(Answering({"token": 3}, False, 3, median, median))
    assert got[0].startswith("warning: ") is warned
    assert len(got) == 2 + warned
