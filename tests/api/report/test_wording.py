"""Words that all views share, and what a report says of the way of answering."""

import pytest

from coherence.report.wording import (
    answering_sentences,
)
from coherence.table.audit import Answering


@pytest.mark.parametrize(("median", "warned"), [(0.5, False), (0.499, True), (1.8e-6, True)])
def test_a_warning_comes_first_where_half_of_the_mass_is_elsewhere(median, warned):
    got = answering_sentences(Answering({"token": 3}, False, 3, median, median))
    assert got[0].startswith("warning: ") is warned
    assert len(got) == 2 + warned
