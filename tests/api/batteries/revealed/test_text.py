"""What the tables of revealed beliefs say."""

import math

import pandas as pd
import pytest

from coherence.batteries.revealed.scores import score_stated, score_wagers


def test_text_warns_of_stated_answers_that_are_none(stated_rows):
    from coherence.batteries.revealed.tables import render_stated

    both = pd.concat(
        [stated_rows(0.24, source="says letters"), stated_rows(0.001, source="does not")]
    )
    lines = render_stated(score_stated(both)).splitlines()
    assert lines[2].split() == ["dice:", "g", "1", "0.75", "0.96", "0.75", "0.004"]
    assert [line for line in lines if "no belief" in line] == [
        "does not: the probability that a stated answer is a letter at all is 0.004 (median). "
        "The errors are shares of that little, and no belief."
    ]


def test_text_on_bets():
    from coherence.batteries.revealed.tables import render_bets

    table = pd.DataFrame(
        {"source": "m", "truth": [0.75, 0.25], "share": [1.0, math.nan], "answer_mass": [0.9, 0.0]}
    )
    text = render_bets(score_wagers(table))
    assert text.startswith(
        "m: takes 100% of 2 bets at even odds, and loses 0.00 points a bet against who knows "
        "the truth; 1 could not be read."
    )
    assert "0.45 (median): hardly its decisions" in text
    nothing = render_bets(score_wagers(table.assign(share=math.nan)))
    assert nothing.startswith("m: none of 2 bets could be read.")


@pytest.mark.parametrize(("mass", "warned"), [(0.49, True), (0.5, False)])
def test_below_one_half_is_little(mass, warned):
    from coherence.batteries.revealed.tables import render_bets, render_stated

    errors = pd.DataFrame(
        {"source": "m", "scenario": "dice", "group": "g", "setting": ["s", "t"]}
        | {"stated_error": 0.5, "answer_mass": mass}
    )
    assert ("no belief" in render_stated(errors)) == warned
    bets = pd.DataFrame({"source": "m", "truth": [0.75], "share": [1.0], "answer_mass": [mass]})
    assert ("hardly its decisions" in render_bets(score_wagers(bets))) == warned


def test_distances_stand_in_columns_beside_their_spread():
    from coherence.batteries.revealed.tables import render_distances

    table = pd.DataFrame(
        {"scenario": "dice", "group": ["short", "g" * 80], "metric": "l1", "n_settings": [3, 12]}
        | {"a model": [0.123, math.inf], "a model sd": [0.5, math.nan]}
    )
    text = render_distances(table)
    blocks = text.split("\n\n")
    assert [block.splitlines()[0] for block in blocks[:3]] == [
        "Chebyshev distance from the truth",
        "L1 distance from the truth",
        "Symmetric KL from the truth, nats",
    ]
    heading, short, long = blocks[1].splitlines()[1:]
    assert heading.split() == ["settings", "a", "model", "sd"]
    assert short.split() == ["dice:", "short", "3", "0.12", "0.50"]
    # Names are cut so that the numbers stay on the line, and stand right in their columns.
    assert long.split() == ["dice:", "g" * 49 + "…", "12", "inf", "-"]
    assert len(heading) == len(short) == len(long)
    assert heading.index("settings") + len("settings") == short.index(" 3 ") + 2


def test_stated_answers_stand_in_columns():
    from coherence.batteries.revealed.tables import render_stated

    errors = pd.DataFrame(
        {"source": ["m", "other"], "scenario": "dice", "group": ["g", "h"], "setting": "s"}
        | {"stated_error": [0.5, 0.25], "answer_mass": [0.9, 1.0]}
    )
    title, heading, first, second, _ = render_stated(errors).splitlines()
    assert title == "Stated answers: probability of a wrong one out of four"
    assert heading.split() == ["settings", "m", "mass", "other", "mass"]
    assert first.split() == ["dice:", "g", "1", "0.50", "0.9", "-", "-"]
    assert second.split() == ["dice:", "h", "1", "-", "-", "0.25", "1"]
    assert heading.index("settings") + len("settings") == first.index(" 1 ") + 2


def test_notes_tell_each_source_apart():
    from coherence.batteries.revealed.tables import render_notes

    scores = pd.DataFrame(
        {"source": ["m", "m", "n"], "group": ["1 die, single", "g", "g"]}
        | {"answer_mass": [0.4, 0.5, 0.9], "leaked_mass": [0.1, 0.3, 0.0]}
        | {"first_excess": [0.05, 9, 9], "first_excess_beginning": [0.25, 9, math.nan]}
    )
    influences = pd.DataFrame({"source": ["m", "m"], "distance": [0.1, 0.3], "pull": [-0.2, -0.1]})
    orders = pd.DataFrame({"source": ["n"], "position": [0.25], "label": [-0.125]})
    first, warning, second = render_notes(scores, influences, orders).splitlines()
    assert first == (
        "m: probability on the outcomes 0.45 (median); leaked to impossible ones 0.2; "
        "face 1 of a die +0.05 from the truth (+0.25 if 10 to 12 counted as 1); "
        "an earlier result: distance +0.20, pull -0.15"
    )
    assert warning.strip().startswith("Most texts would rather go on in another way")
    assert second == (
        "n: probability on the outcomes 0.9 (median); leaked to impossible ones 0; "
        "the order of options: position +0.25, label -0.12"
    )
