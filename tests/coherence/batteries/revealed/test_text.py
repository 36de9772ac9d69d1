"""What the tables of revealed beliefs say."""

import math

import pandas as pd

from coherence.batteries.revealed.answer_scores import score_stated, score_wagers


def test_text_warns_of_stated_answers_that_are_none(stated_rows):
    from coherence.batteries.revealed.text import render_stated

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
    from coherence.batteries.revealed.text import render_bets

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


def test_text_warns_of_wordings_that_scatter():
    from coherence.batteries.revealed.text import render_cautions

    runs = pd.DataFrame(
        {"task": "dice", "model": "m", "context": [0, 0, 1, 1], "prompt": ["a", "b"] * 2, "z": None}
    )
    assert render_cautions(runs.assign(p=[0.5, 0.52, 0.1, 0.12])) == ""
    # Variances of .02 and 0: their mean is the square of .1.
    assert "dice, m: wordings move the belief by 0.10" in render_cautions(
        runs.assign(p=[0.5, 0.7, 0.1, 0.1])
    )
