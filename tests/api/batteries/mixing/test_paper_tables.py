"""The table of failures to mix equals the scores."""

import io

import numpy as np
import pytest

from coherence import score_mixing, simulate_mixing
from coherence.batteries.mixing.tables import mixing_table
from coherence.report.files import render_csv
from tests.api.tables import read_exactly


@pytest.fixture(scope="module")
def experiments():
    answers = simulate_mixing("literal", n_draws=8, rng=0)
    return score_mixing(answers, n_resamples=100, rng=0).experiments


def test_every_number_is_that_of_the_scores(experiments):
    table = read_exactly(io.StringIO(render_csv(mixing_table(experiments))))
    for name in ("points", "published", "ceiling", "equilibrium", "corrected", "unread", "refused"):
        np.testing.assert_array_equal(table[name], experiments[name])
    np.testing.assert_array_equal(table["corrected.low"], experiments["low"])
    np.testing.assert_array_equal(table["bounds.worst"], experiments["worst"])
    assert table["experiment"].tolist() == experiments["experiment"].tolist()


def test_the_ceiling_stands_beside_every_score(experiments):
    table = mixing_table(experiments)
    headings = [column.title for column in table.columns]
    ceiling = headings.index("ceiling")
    total = table.rows[-1]
    assert total[1].text == "total"
    assert float(total[ceiling].text) == pytest.approx(experiments["ceiling"].iloc[-1], abs=0.05)
    assert f"Scored are {experiments['answers'].iloc[-1]:.0f} answers" in table.caption
