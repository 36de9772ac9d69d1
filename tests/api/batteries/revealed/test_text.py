"""What the terminal says of sources: breaks if little probability is not warned of."""

import math

import pandas as pd
import pytest

from coherence.batteries.revealed.scores import score_wagers
from coherence.batteries.revealed.tables import render_sources, render_tables, revealed_tables


def bets_of(share, mass):
    table = {"source": "m", "truth": [0.75, 0.25], "share": share, "answer_mass": mass}
    return score_wagers(pd.DataFrame(table))


def errors_of(mass, source="m"):
    columns = {"source": source, "scenario": "dice", "group": "g", "setting": ["s", "t"]}
    return pd.DataFrame(columns | {"stated_error": 0.5, "answer_mass": mass})


def test_bets_are_counted_and_averaged_over_those_that_were_read():
    text = render_sources(None, None, None, None, bets_of([1.0, math.nan], [0.9, 0.0]))
    heading, line, warning = text.splitlines()
    assert heading.split()[:4] == ["source", "bets", "unread", "taken"]
    assert line.split() == ["m", "2", "1", "100.0%", "0.00", "0.450"]
    assert "0.45 (median)" in warning


@pytest.mark.parametrize(("mass", "warned"), [(0.49, 2), (0.5, 0)])
def test_below_one_half_is_little(mass, warned):
    text = render_sources(None, None, None, errors_of(mass), bets_of(1.0, mass))
    assert text.count("shares of that little") == warned


def test_every_source_has_its_own_numbers():
    scores = pd.DataFrame(
        {"source": ["m", "m", "n"], "group": ["1 die, single", "g", "g"]}
        | {"answer_mass": [0.4, 0.5, 0.9], "leaked_mass": [0.1, 0.3, 0.0]}
        | {"first_excess": [0.05, 9, 9], "first_excess_beginning": [0.25, 9, math.nan]}
    )
    influences = pd.DataFrame({"source": ["m", "m"], "distance": [0.1, 0.3], "pull": [-0.2, -0.1]})
    orders = pd.DataFrame({"source": ["n"], "position": [0.25], "label": [-0.125]})
    _, first, second, warning = render_sources(scores, influences, orders, None, None).splitlines()
    numbers = ["0.450", "0.200", "0.0500", "0.250", "0.200", "-0.150", "–", "–"]
    assert first.split() == ["m", *numbers]
    assert second.split() == ["n", "0.900", "0.00", "–", "–", "–", "–", "0.250", "-0.125"]
    assert warning.startswith("m: ")


def test_stated_answers_alone_have_a_table():
    errors = pd.concat([errors_of(0.9), errors_of(1.0, source="other").assign(group="h")])
    (table,) = revealed_tables(None, errors)
    _, heading, first, second, *_ = render_tables([table]).splitlines()
    assert heading.split() == ["setting", "settings", "m", "other"]
    assert first.split() == ["g", "2", "0.500", "–"]
    assert second.split() == ["h", "2", "–", "0.500"]
