"""Effects and ranks. Breaks if a point, an end, a colour or a rank is another evaluation's."""

import math

import numpy as np
import pandas as pd
import pytest

from coherence import CheckResult, InputError, Interval
from coherence.plots import plot_forest


def row(model, effect, interval, pvalue, *, check="cmi"):
    result = CheckResult(check, "", effect, "belief", interval, pvalue, 90, 30, pvalue_holm=pvalue)
    return {"task": "", "model": model, **result.to_row()}


RESULTS = pd.DataFrame(
    [
        row("first", 0.4, Interval(0.2, 0.6), 0.001),
        row("$second$", -0.1, None, 0.3),
        row("third", math.nan, None, math.nan),
    ]
)


def test_effects_stand_below_each_other_in_the_order_given(ax, drawn):
    plot_forest(RESULTS, ax=ax)
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


def test_no_effect_is_in_sight_and_one_check_is_drawn_at_a_time(ax, drawn):
    plot_forest(RESULTS[:1], ax=ax)
    assert len(drawn(ax, "null")) == 1
    assert ax.get_xlim()[0] < 0 < 0.6 < ax.get_xlim()[1]
    both = pd.concat([RESULTS, pd.DataFrame([row("first", 2.0, None, 0.5, check="other")])])
    assert plot_forest(both, check="other").get_title(loc="left") == "other over evaluations"
    with pytest.raises(InputError, match="check must name one check of results; received None"):
        plot_forest(both)
    with pytest.raises(InputError, match="one unit of measurement; received belief and nats"):
        plot_forest(RESULTS.assign(unit=["belief", "belief", "nats"]))
