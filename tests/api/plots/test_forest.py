"""The forest of effects. Breaks if a point, its end or its colour belongs to another unit."""

import math

import numpy as np
import pandas as pd
import pytest

from coherence import CheckResult, InputError, Interval
from coherence.plots import plot_forest


def row(model, effect, interval, pvalue, *, unit="belief", check="cmi"):
    result = CheckResult(check, "", effect, unit, interval, pvalue, 90, 30, pvalue_holm=pvalue)
    return {"task": "", "model": model, **result.to_row()}


@pytest.fixture
def results():
    return pd.DataFrame(
        [
            row("first", 0.4, Interval(0.2, 0.6), 0.001),
            row("$second$", -0.1, None, 0.3),
            row("third", math.nan, None, math.nan),
        ]
    )


def test_effects_stand_below_each_other_in_the_order_given(results, ax, drawn):
    plot_forest(results, ax=ax)
    (points,) = drawn(ax, "effects")
    np.testing.assert_allclose(points.get_offsets().filled(np.nan)[:2], [(0.4, 0), (-0.1, 1)])
    filled, hollow = points.get_facecolor()[:2]
    assert hollow.tolist() == [1, 1, 1, 1] != filled.tolist()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["first", "$second$", "third"]
    assert not any(label.get_parse_math() for label in ax.get_yticklabels())
    assert [note.get_text() for note in ax.texts] == ["not estimated"]
    assert ax.texts[0].xy[1] == 2
    assert ax.yaxis_inverted()
    assert ax.get_xlabel() == "effect (belief)"


def test_one_check_is_drawn_at_a_time(results):
    both = pd.concat([results, pd.DataFrame([row("first", 2.0, None, 0.5, check="other")])])
    assert plot_forest(both, check="other").get_title(loc="left") == "other over evaluations"
    with pytest.raises(InputError, match="check must name one check of results; received None"):
        plot_forest(both)


def test_effects_in_different_units_share_no_axis(results):
    with pytest.raises(InputError, match="one unit of measurement; received belief and nats"):
        plot_forest(results.assign(unit=["belief", "belief", "nats"]))


def test_another_table_is_refused():
    with pytest.raises(InputError, match="lacking: check, estimate"):
        plot_forest(pd.DataFrame({"p": [0.1]}))


def test_no_effect_is_in_sight_and_no_interval_is_cut_off(results, ax, drawn):
    plot_forest(results[:1], ax=ax)
    assert len(drawn(ax, "null")) == 1
    assert ax.get_xlim()[0] < 0 < 0.6 < ax.get_xlim()[1]
