from dataclasses import replace

import pandas as pd
import pytest

from coherence.report.brief import MOST_NOTES, brief_parts, leading
from coherence.report.layout import render_lines
from coherence.result import CheckResult, Interval, Twins


def result(check, pvalue=0.5, statistic=0.1, holm=None, interval=None, **settings):
    return CheckResult(
        check,
        "n",
        statistic,
        "nats",
        interval,
        pvalue,
        90,
        30,
        2,
        settings,
        pvalue_holm=pvalue if holm is None else holm,
    )


def text_of(of, width=100):
    return "\n".join(render_lines(brief_parts(of, width), width=width))


def test_every_test_leads_and_of_a_check_without_one_its_first_estimate():
    nothing = float("nan")
    results = [
        result("cmi"),
        result("covariance", nothing),
        result("covariance:means", None),
        result("calibration:rmse", None),
        result("calibration:ece", None),
        result("iterated"),
        result("iterated:relative", None),
    ]
    names = [shown.check for shown in leading(results)]
    assert names == ["cmi", "covariance", "calibration:rmse", "iterated"]


def test_the_wording_that_changes_beliefs_most_leads():
    sizes = {"apple": 0.0, "pear": float("nan"), "zebra": 0.58, "yam": 0.2}
    results = [result(f"prompt_consistency:{name}", None, size) for name, size in sizes.items()]
    assert [shown.check for shown in leading(results)] == ["prompt_consistency:zebra"]
    assert leading(results[1:2]) == results[1:2]
    assert leading(results[1:3]) == results[2:3]


def test_a_line_says_effect_interval_and_p_and_whether_it_rejects(unit):
    results = (
        result("cmi", 0.001, holm=0.01, interval=Interval(0.05, 0.2)),
        result("gain", 0.03, holm=0.3),
        result("iterated", 0.6),
        result("iterated:relative", None),
    )
    text = text_of(unit(results=results, verdicts=("V.",) * 4))
    rows = {line.split()[0]: line.split() for line in text.splitlines() if line}
    assert rows["cmi"][1:] == ["0.100", "nats", "[0.050,", "0.200]", "0.001", "(0.010)", "rejects"]
    assert rows["gain"][-1] == "sign"
    assert rows["iterated"][-1] == "(0.600)"
    assert "and 1 further estimate\n" in text
    assert "V." not in text


def test_cautions_are_all_said_and_other_notes_counted_beyond_a_few(unit):
    notes = (*(f"note {at}." for at in range(5)), "caution: two options look alike.")
    of = unit(
        results=(result("cmi"),), verdicts=("V.",), notes=notes, cautions=("caution: x.", "y.")
    )
    text = text_of(of)
    assert "· caution: x." in text
    assert "y." not in text
    assert "· caution: two options look alike." in text
    assert sum(note in text for note in notes) == MOST_NOTES
    assert f"· {6 - MOST_NOTES} further notes on what was left out" in text


def test_answers_are_counted_with_what_is_unreadable_repaired_or_missing(unit):
    statuses = pd.DataFrame(
        {"question": "belief", "status": ["ok", "refused", "repaired:percent"], "rows": [96, 3, 1]}
    )
    text = text_of(unit(results=(result("cmi"),), verdicts=("V.",), statuses=statuses, notes=()))
    said = " ".join(text.split())
    assert "100 rows of answers, 3.0% unreadable; at most 90 rows in 30 contexts enter" in said
    assert "2 left out for missing values" in said
    assert "1 percent." in said


@pytest.mark.parametrize(
    ("unreadable", "said"),
    [(0, "5000 rows of answers, none unreadable"), (1, "less than 0.1% unreadable")],
)
def test_one_unreadable_answer_is_not_rounded_to_none(unit, unreadable, said):
    statuses = pd.DataFrame(
        {
            "question": "belief",
            "status": ["ok", "refused"],
            "rows": [5000 - unreadable, unreadable],
        }
    )
    text = text_of(unit(results=(result("cmi"),), verdicts=("V.",), statuses=statuses, notes=()))
    assert said in " ".join(text.split())


@pytest.mark.parametrize(("low", "shown"), [(0.0, False), (0.01, True)])
def test_gaps_that_cancel_in_the_tested_mean_stand_beside_it(unit, low, shown):
    results = (
        result("iterated_expectation", pvalue=0.5),
        result("iterated_expectation:median", pvalue=None),
        result("iterated_expectation:noise_removed", pvalue=None, interval=Interval(low, 0.1)),
    )
    text = text_of(unit(results=results, verdicts=("V.",) * 3))
    assert ("noise_removed" in text) is shown
    assert f"and {1 if shown else 2} further estimate" in text


def test_the_choice_behind_an_effect_and_an_estimate_below_its_interval_are_explained(unit):
    difference = "P(yes | 1) - P(yes | not 1)"
    results = (
        result("covariance", component=difference),
        result("cmi", statistic=-0.02, interval=Interval(0.0, 0.1)),
    )
    text = " ".join(text_of(unit(results=results, verdicts=("V.",) * 2)).split())
    assert f"covariance: {difference}" in text
    assert "cmi: The quantity cannot be negative; its estimate can" in text


def test_why_a_test_has_no_number_or_may_mislead_is_said_once(unit):
    nothing = float("nan")
    results = (
        replace(result("covariance", nothing, nothing), reason="truth is constant (0)"),
        replace(result("cmi", nothing, nothing), reason="truth is constant (0)"),
        replace(result("gain", 1.0, 0.0), reason="the truth changes no prediction"),
    )
    text = " ".join(text_of(unit(results=results, verdicts=("V.",) * 3)).split())
    assert text.count("covariance, cmi: truth is constant (0)") == 1
    assert "gain: the truth changes no prediction" in text


def test_twins_that_were_asked_for_are_shown(unit):
    twins = Twins(200, 0.1, 0.02, 0.0, 0.05, 0.01)
    of = unit(
        results=(CheckResult("cmi", "n", 0.1, "nats", None, 0.5, 9, 9, twins=twins),),
        verdicts=("V.",),
    )
    assert "beside 200 rational twins" in text_of(of)


def test_without_a_check_that_is_said(unit):
    assert "No check could be run." in text_of(unit(results=(), verdicts=()))
