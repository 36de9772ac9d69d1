"""Words that all views share, and what a report says of the way of answering."""

import math

import pytest

from coherence import CheckResult, Interval
from coherence.report.wording import (
    KINDS,
    answering_sentences,
    format_pvalue,
    interval_heading,
    unit_heading,
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


def test_a_unit_is_called_by_what_is_named_of_it(unit):
    assert unit_heading(unit(task="asia", model="m")) == "asia · m"
    assert unit_heading(unit(task="", model="m")) == "m"
    assert unit_heading(unit(task="", model="")) == "all rows"
    assert len(unit_heading(unit(task="t" * 200, model=""))) == 80


def test_nothing_is_said_of_what_is_not_known():
    assert answering_sentences(None) == answering_sentences(Answering({})) == []


def test_every_kind_of_belief_has_its_words():
    assert set(KINDS) == set(BELIEF_KINDS)


def test_kinds_policies_and_mass_are_said():
    got = answering_sentences(Answering({"stated:exact": 30, "token": 10}, True, 40, 0.72, 0.6))
    assert got == [
        "beliefs are stated, the mean of the distribution over all answers that have the form "
        "(30 of 40 rows).",
        "beliefs are the probability of the next token (10 of 40 rows).",
        "actions are probabilities that were computed, and no action was drawn: "
        "the checks of belief against action test the policy.",
        "the form of the answers had a probability of 0.720 (median; smallest 0.600; 40 rows).",
    ]


@pytest.mark.parametrize(("median", "warned"), [(0.5, False), (0.499, True), (1.8e-6, True)])
def test_a_warning_comes_first_where_half_of_the_mass_is_elsewhere(median, warned):
    got = answering_sentences(Answering({"token": 3}, False, 3, median, median))
    assert got[0].startswith("warning: ") is warned
    assert len(got) == 2 + warned


def test_tiny_masses_do_not_read_as_zero():
    assert (
        "of 1.8e-06 (median; smallest 1e-09; 3 rows)"
        in answering_sentences(Answering({}, False, 3, 1.8e-6, 1e-9))[-1]
    )
