"""The figure of twins: every band is two wide, and only what is extreme is full."""

import pandas as pd
import pytest
from matplotlib.colors import to_hex

from coherence import CheckResult, InputError
from coherence.plots import plot_twins
from coherence.result import Twins


def result(name, observed, *, pvalue=0.5, low=0.1, high=0.5, median=0.2):
    twins = Twins(99, observed, median, low, high, pvalue)
    return CheckResult(name, "", observed, "nats", None, None, 9, 9, twins=twins)


def test_one_row_per_result_with_twins(ax, drawn):
    results = [
        result("cmi", 0.4),
        CheckResult("calibration:rmse", "", 0.1, "", None, None, 9, 9),
        result("rational_agent", 9.0, pvalue=0.02),
        result("a_$name$", -9.0, pvalue=0.02),
    ]
    plot_twins(results, ax=ax)
    inside, above, below = drawn(ax, "observed")
    assert [tuple(points.get_offsets()[0]) for points in (inside, above, below)] == [
        (pytest.approx(1.0), 0),
        (5.0, 1),
        (-5.0, 2),
    ]
    assert to_hex(inside.get_facecolor()[0]) == "#ffffff"
    assert to_hex(above.get_facecolor()[0]) != "#ffffff"
    bands = drawn(ax, "band")
    assert [band.get_width() for band in bands] == pytest.approx([2.0] * 3)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["cmi", "rational_agent", "a_$name$"]
    assert {note.get_text() for note in ax.texts} == {"0.400", "9.00", "-9.00"}


@pytest.mark.parametrize(("observed", "place"), [(0.2, 0.0), (0.3, 5.0), (0.1, -5.0)])
def test_beside_twins_that_do_not_differ_what_differs_is_far_off(ax, drawn, observed, place):
    plot_twins(result("a", observed, low=0.2, high=0.2), ax=ax)
    (points,) = drawn(ax, "observed")
    assert tuple(points.get_offsets()[0]) == (place, 0)


def test_a_table_of_one_unit_is_drawn_and_one_of_several_is_not(ax, drawn):
    rows = [result("cmi", 0.4).to_row() | {"model": name} for name in ("a", "b")]
    plot_twins(pd.DataFrame(rows[:1]), ax=ax)
    assert len(drawn(ax, "band")) == 1
    with pytest.raises(InputError, match="one task and one model; received 2 values of 'model'"):
        plot_twins(pd.DataFrame(rows))


def test_without_twins_nothing_is_drawn():
    alone = CheckResult("calibration:rmse", "", 0.1, "", None, None, 9, 9)
    with pytest.raises(InputError, match="none of 1 has any"):
        plot_twins(alone)
