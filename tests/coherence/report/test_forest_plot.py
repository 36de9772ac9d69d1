import math

import numpy as np

from coherence.report.forest_plot import Effect, plot_forest


def test_effects_stand_below_each_other_in_the_order_given(ax, drawn):
    effects = [
        Effect("first", 0.4, 0.2, 0.6, rejected=True, url="#a"),
        Effect("$second$", -0.1, math.nan, math.nan, rejected=False),
    ]
    plot_forest(effects, ax, measure="belief")
    (points,) = drawn(ax, "effects")
    np.testing.assert_allclose(points.get_offsets(), [(0.4, 0), (-0.1, 1)])
    assert points.get_urls() == ["#a", None]
    filled, hollow = points.get_facecolor()
    assert hollow.tolist() == [1, 1, 1, 1] != filled.tolist()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["first", "$second$"]
    assert not any(label.get_parse_math() for label in ax.get_yticklabels())
    assert ax.yaxis_inverted()
    assert ax.get_xlabel() == "effect (belief)"
