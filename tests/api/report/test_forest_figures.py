from coherence import CheckResult, Interval
from coherence.report.forest_figures import MOST_ROWS, forest_figures
from coherence.report.ranking import rank


def planned(unit, effects, url_of=None):
    units = []
    for at, (measure, effect) in enumerate(effects):
        ends = Interval(effect - 1, effect + 1) if at else None
        result = CheckResult("a", "n", effect, measure, ends, 0.5, 10, 5)
        units.append(unit(model=f"m{at}", results=(result,), verdicts=("V.",)))
    return forest_figures(rank(units)[1], url_of)


def test_measures_have_a_figure_each_and_a_single_unit_has_none(unit, ax, drawn):
    figures = planned(unit, [("belief", 1.0), ("belief", 3.0), ("belief", 2.0), ("share", 1.0)])
    assert [figure.title for figure in figures] == ["a over units"]
    assert "1 effects have no interval" in figures[0].caption
    figures[0].draw(ax=ax)
    (points,) = drawn(ax, "effects")
    assert points.get_offsets()[:, 0].tolist() == [3.0, 2.0, 1.0]


def test_points_lead_to_their_units(unit):
    (figure,) = planned(unit, [("belief", 1.0), ("belief", 3.0)], lambda row: f"#{row.key}")
    assert figure.names == {"#unit-2": "asia · m1", "#unit-1": "asia · m0"}
    assert figure.svg.count("<a ") == 2


def test_of_very_many_units_both_ends_are_drawn(unit, ax, drawn):
    (figure,) = planned(unit, [("belief", float(at)) for at in range(MOST_ROWS + 20)])
    figure.draw(ax=ax)
    (points,) = drawn(ax, "effects")
    at = points.get_offsets()[:, 0]
    assert (len(at), at.max(), at.min()) == (MOST_ROWS, MOST_ROWS + 19, 0)
    assert f"Of {MOST_ROWS + 20} units" in figure.caption


def test_effects_of_one_action_each_are_said_to_be_so(unit):
    def of(at, **settings):
        result = CheckResult("a", "n", 0.1, "probability", None, 0.5, 9, 9, settings=settings)
        return unit(model=f"m{at}", results=(result,), verdicts=("V.",))

    said = "the difference in the probability of one action, the surest in its unit"
    named = forest_figures(rank([of(0, component="P(yes | 1) - P(yes | not 1)"), of(1)])[1])
    assert said in named[0].caption
    assert said not in forest_figures(rank([of(0), of(1)])[1])[0].caption
