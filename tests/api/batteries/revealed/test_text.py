"""What the terminal says of sources: breaks if little probability is not warned of."""

import math

import pandas as pd
import pytest

from coherence.batteries.revealed.scores import score_wagers
from coherence.batteries.revealed.tables import render_sources


def bets_of(share, mass):
    table = {"source": "m", "truth": [0.75, 0.25], "share": share, "answer_mass": mass}
    return score_wagers(pd.DataFrame(table))


def errors_of(mass, source="m"):
    columns = {"source": source, "scenario": "dice", "group": "g", "setting": ["s", "t"]}
    return pd.DataFrame(columns | {"stated_error": 0.5, "answer_mass": mass})


def test_bets_are_counted_and_averaged_over_those_that_were_read():
    text = render_sources(None, None, None, None, bets_of([1.0, math.nan], [0.9, 0.0]))
    heading, _, line, *warning = text.splitlines()
    assert heading.split()[:4] == ["source", "bets", "unread", "taken"]
    assert line.split() == ["m", "2", "1", "100.0%", "0.00", "0.450"]
    assert "0.45 on average" in " ".join(warning)


@pytest.mark.parametrize(("mass", "warned"), [(0.49, 2), (0.5, 0)])
def test_below_one_half_is_little(mass, warned):
    text = render_sources(None, None, None, errors_of(mass), bets_of(1.0, mass))
    assert text.count("shares of that little") == warned
