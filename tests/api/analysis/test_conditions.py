"""Conditions: breaks if text is evaluated, if an undefined number meets one, or if a check's name
takes in what another check has said."""

import math
from dataclasses import replace

import pandas as pd
import pytest

from coherence import CheckResult, InputError, Interval
from coherence.analysis.conditions import QUANTITIES, held_against, judge, parse_condition
from coherence.report.evaluation import EvaluationReport
from coherence.report.verdicts import NOT_TESTED, VERDICTS
from coherence.result import Estimate


def result(check, statistic=0.2, pvalue=None, holm=None, interval=None):
    fields = (check, "", statistic, "nats", interval, pvalue, 60, 20)
    also = {"hidden_share": Estimate(0.4, 0.3, 0.5, "", "")} if check == "cmi" else {}
    return CheckResult(*fields, pvalue_holm=holm, pvalue_bh=holm, also=also)


RESULTS = (
    result("cmi", 0.2, 0.01, 0.03, Interval(0.1, 0.4)),
    result("monotone_choice:yes/no", math.nan, 0.4, 0.8),
    result("iterated_expectation", 0.3, math.nan, math.nan),
    result("iterated_expectation:relative", 0.6),
    result("iterated_expectation:random_forest", 0.9),
)
STATUSES = [("mse", "ok", 4), ("standard", "ok", 3), ("standard", "refused", 1)]
EVALUATION = EvaluationReport(
    *("asia", "lm", RESULTS, ("",) * 5, NOT_TESTED),
    statuses=pd.DataFrame(STATUSES, columns=["question", "status", "rows"]),
)


@pytest.mark.parametrize(
    "text",
    [
        *("", "holm", "holm<", "<.05", "holm==.05", "holm<nan", "holm<inf", "holm<.05 or 1"),
        *(".holm<1", "holm<0x1", "holm<5%", "holm<.05\nholm<1", "__import__('os').system('true')"),
    ],
)
def test_anything_else_is_refused_and_the_quantities_are_named(text):
    with pytest.raises(InputError, match="must be a quantity, a comparison and a number") as error:
        parse_condition(text)
    assert all(name in str(error.value) for name in QUANTITIES)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("holm<.05", "cmi: holm is 0.03"),
        ("pvalue>.1", "monotone_choice:yes/no: pvalue is 0.4"),
        ("cmi.interval_low>0", "cmi: interval_low is 0.1"),
        ("monotone_choice.holm<1", "monotone_choice:yes/no: holm is 0.8"),
        # The forests are a check of their own, and their gap is not the model's.
        (
            "iterated_expectation.estimate>.1",
            "iterated_expectation: estimate is 0.3; iterated_expectation:relative: estimate is 0.6",
        ),
        (
            "iterated_expectation:random_forest.estimate>.1",
            "iterated_expectation:random_forest: estimate is 0.9",
        ),
        (
            "unreadable>=0",
            "answers to 'mse': unreadable is 0; answers to 'standard': unreadable is 0.25",
        ),
        ("cmi.contexts<=20", "cmi: contexts is 20"),
        ("hidden_share>.3", "cmi: hidden_share is 0.4"),
        ("verdict=acts_on_more, not_tested", "the verdict is not_tested"),
    ],
)
def test_values_that_meet_a_condition_are_named(text, lines):
    met = held_against(parse_condition(text), (EVALUATION,)).met
    assert [line.removeprefix("task 'asia', model 'lm': ") for line in met] == [
        line for line in lines.split("; ") if line
    ]


@pytest.mark.parametrize("quantity", ["estimate", "interval_low", "interval_high"])
def test_what_has_the_unit_of_its_check_needs_a_check(quantity):
    with pytest.raises(InputError, match=rf"Begin with a check, as in sufficiency\.{quantity}>\.3"):
        parse_condition(f"{quantity}>.3")


def test_a_verdict_that_begins_as_a_named_one_is_told_and_does_not_fail(capsys):
    turning = replace(EVALUATION, verdict=VERDICTS["acts_on_more_turning"])
    condition = parse_condition("verdict=acts_on_more")
    found = held_against(condition, (turning,))
    assert found.met == ()
    assert found.near == (("task 'asia', model 'lm'", "acts_on_more_turning"),)
    both = [condition, parse_condition("verdict=acts_on_more_turning")]
    assert (judge([condition], (turning,)), judge(both, (turning,))) == (0, 1)
    out, err = capsys.readouterr()
    assert (out, err.count("the verdict is acts_on_more_turning; name it too")) == ("", 1)


def test_what_is_undefined_meets_nothing():
    for text in ("holm<2", "holm>-1"):
        found = held_against(parse_condition(text), (EVALUATION,))
        assert (len(found.met), found.n_defined) == (2, 2)
        assert found.lacking == ()
    units = (EVALUATION, EvaluationReport("", "", (), (), NOT_TESTED))
    none = held_against(parse_condition("sufficiency.holm<1"), units)
    assert (none.met, none.n_defined) == ((), 0)
    assert none.lacking == ("task 'asia', model 'lm'", "the table")
