import math

import pytest

from coherence import CheckResult, Interval
from coherence.report.wording import (
    format_effect,
    format_pvalue,
    full_verdict,
    interval_heading,
    sample_sentences,
    unit_heading,
)


def test_effect_keeps_its_unit_and_a_missing_interval_is_a_dash():
    result = CheckResult("c", "n", 1.5, "% of log-loss", Interval(-0.5, 3.5), None, 10, 5)
    assert format_effect(result) == ("1.50% of log-loss", "[-0.50, 3.50]")
    undefined = CheckResult("c", "n", math.nan, "nats", Interval(math.nan, math.nan), None, 0, 0)
    assert format_effect(undefined) == ("undefined", "–")


@pytest.mark.parametrize(
    ("pvalue", "text"),
    [(0.0009, "<0.001"), (0.001, "0.001"), (1.0, "1.000"), (None, "–"), (math.nan, "–")],
)
def test_pvalue(pvalue, text):
    assert format_pvalue(pvalue) == text


def result(check="c", *, level=0.95, rows=10, dropped=0, reason=""):
    interval = None if level is None else Interval(0.0, 1.0, level)
    return CheckResult(check, "n", 0.5, "nats", interval, None, rows, 5, dropped, reason=reason)


def test_the_heading_names_the_level_only_where_all_intervals_share_it():
    assert interval_heading([result(), result(level=None)]) == "95% interval"
    assert interval_heading([result(), result(level=0.9)]) == "interval"
    assert interval_heading([]) == "interval"


def test_a_reason_follows_the_verdict_unless_the_verdict_gives_it():
    assert (
        full_verdict(result(reason="no row has z."), "Undefined.") == "Undefined. (no row has z.)"
    )
    assert full_verdict(result(reason="no row has z."), "Undefined: no row has z") == (
        "Undefined: no row has z"
    )


def test_checks_with_equal_samples_share_a_sentence():
    sentences = sample_sentences([result("a"), result("b", dropped=2), result("c\x1b[31m")])
    assert sentences == [
        "10 rows in 5 contexts: a, c",
        "10 rows in 5 contexts, 2 left out for missing values: b",
    ]


def test_a_unit_is_called_by_what_is_named_of_it(unit):
    assert unit_heading(unit(task="asia", model="m")) == "asia · m"
    assert unit_heading(unit(task="", model="m")) == "m"
    assert unit_heading(unit(task="", model="")) == "all rows"
    assert len(unit_heading(unit(task="t" * 200, model=""))) == 80
