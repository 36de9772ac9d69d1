from dataclasses import replace

import pytest

from coherence import CheckResult
from coherence.report.html import render_html
from coherence.report.ranking import by_measure, rank
from coherence.report.terminal import render_report


def result(check, statistic, unit="belief", pvalue=0.5, holm=None):
    return CheckResult(check, "n", statistic, unit, None, pvalue, 10, 5, pvalue_holm=holm)


@pytest.fixture
def units(unit):
    def made(*of_units):
        return [
            unit(model=f"m{at}", results=results, verdicts=("V.",) * len(results))
            for at, results in enumerate(of_units)
        ]

    return made


def test_the_largest_effect_comes_first_whatever_its_sign_and_measures_stay_apart(units):
    check, ranked = rank(
        units(
            (result("a", 0.1),),
            (result("a", -0.4),),
            (result("a", 5.0, "probability"),),
            (result("a", float("nan"), pvalue=float("nan")),),
            (result("a", 0.2),),
        )
    )
    assert check == "a"
    assert [row.evaluation.model for row in ranked] == ["m1", "m4", "m0", "m2", "m3"]
    assert [row.key for row in ranked][:2] == ["evaluation-2", "evaluation-5"]
    assert [
        (name, [row.evaluation.model for row in rows]) for name, rows in by_measure(ranked)
    ] == [
        ("effects in belief", ["m1", "m4", "m0"]),
        ("effects in probability", ["m2"]),
        ("no effect", ["m3"]),
    ]
    # One unit of measurement needs no heading.
    assert [name for name, _ in by_measure(ranked[:3])] == [""]


@pytest.mark.lengthy
def test_an_overview_says_where_p_concerns_more_than_the_effect_beside_it(units):
    said = "p is that of all differences together"
    several = result("a", 0.1)
    several = replace(several, settings={"component": "P(yes)", "tested": "all 3 actions together"})
    for results, says in (((several,), True), ((result("a", 0.1),), False)):
        shown = units(results, results, results, results)
        assert (said in render_report(shown, width=120)) is says
        assert (said in render_html(shown, {})) is says


@pytest.mark.lengthy
def test_calibration_stands_beside_the_effect_that_ranks(units):
    """Breaks if of several models that act only the test is seen."""
    error = replace(
        result("calibration:calibration_error", 0.0625),
        pvalue=None,
        pvalue_holm=None,
        interval=None,
    )
    shown = units((result("a", 0.1), error), *[(result("a", 0.2),)] * 3)
    screen, page = render_report(shown, width=120), render_html(shown, {})
    assert "calibration" in screen
    assert "0.062" in screen
    assert '<th scope="col" class="right">calibration error</th>' in page
    without = units(*[(result("a", 0.2),)] * 4)
    assert "calibration error" not in render_html(without, {})
