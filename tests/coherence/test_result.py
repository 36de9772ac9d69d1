"""CheckResult: flat rows, readable text."""

import math

from coherence import CheckResult, Interval


def result(**changes):
    fields = {
        "check": "cmi", "null": "nothing", "statistic": 0.123456789, "unit": "nats", "interval": Interval(0.1, 0.2), "pvalue": 0.01,
        "n_rows": 10, "n_contexts": 5,
    }  # fmt: skip
    return CheckResult(**{**fields, **changes})


def test_row_is_flat_and_unrounded():
    row = result().to_row()
    assert (row["statistic"], row["low"], row["high"], row["level"], row["pvalue"]) == (0.123456789, 0.1, 0.2, 0.95, 0.01)
    empty = result(interval=None, pvalue=None).to_row()
    assert math.isnan(empty["low"])
    assert math.isnan(empty["pvalue"])


def test_text_says_what_and_how_sure():
    text = str(result())
    assert text.splitlines()[0] == "cmi: 0.1235 nats, 95% interval [0.1, 0.2], p = 0.01"
    assert "null: nothing" in text
    assert "10 rows in 5 contexts, 0 dropped" in text
    assert "estimates: nothing" in str(result(pvalue=None))
    assert "undefined: too few" in str(result(reason="too few"))
