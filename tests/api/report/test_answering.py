"""What a report says of the way of answering, and when it cautions."""

import pytest

from coherence.report.answering import KINDS, NOUNS, answering_sentences
from coherence.table.audit import Answering
from coherence.table.schema import BELIEF_KINDS


def test_nothing_is_said_of_what_is_not_known():
    assert answering_sentences(None) == answering_sentences(Answering({})) == []


def test_every_kind_of_belief_has_its_words():
    assert set(KINDS) == set(NOUNS) == set(BELIEF_KINDS)


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


@pytest.mark.parametrize(("median", "cautioned"), [(0.5, False), (0.499, True), (1.8e-6, True)])
def test_a_caution_comes_first_where_half_of_the_mass_is_elsewhere(median, cautioned):
    got = answering_sentences(Answering({"token": 3}, False, 3, median, median))
    assert got[0].startswith("caution: ") is cautioned
    assert len(got) == 2 + cautioned


def test_tiny_masses_do_not_read_as_zero():
    assert (
        "of 1.8e-06 (median; smallest 1e-09; 3 rows)"
        in answering_sentences(Answering({}, False, 3, 1.8e-6, 1e-9))[-1]
    )
