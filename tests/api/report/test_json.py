import json
import math

import numpy as np
import pandas as pd
import pytest

from coherence import Report


def strict(text):
    def refuse(token):
        raise AssertionError(f"{token} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_record_holds_everything_unrounded(report):
    record = strict(report.to_json())
    assert record["schema_version"] == 2
    assert record["settings"] == {"published": False, "seed": 0, "version": "0.1.0"}
    unit = record["evaluations"][0]
    assert (unit["task"], unit["model"]) == ("asia", "small-lm")
    assert unit["statuses"][1] == {"question": "belief and action", "status": "refused", "rows": 3}
    assert (
        unit["answers"][0]["asked"],
        unit["answers"][0]["refused"],
        unit["answers"][0]["share_unreadable"],
    ) == (1000, 3, 0.003)
    assert unit["bounds"] == [
        {
            "quantity": "mean belief",
            "label": "standard",
            "asked": 1000,
            "unreadable": 3,
            "estimate": 0.5,
            "low": 0.4985,
            "high": 0.5015,
        }
    ]
    assert unit["notes"] == [note.record() for note in report.evaluations[0].notes]
    cmi = unit["results"][0]
    assert (cmi["estimate"], cmi["low"], cmi["high"], cmi["pvalue"]) == (
        0.0312,
        0.011,
        0.0523,
        0.004,
    )
    assert cmi["settings"] == {"k": 3, "n_permutations": 999}
    assert cmi["assumptions"] == ["contexts are independent", "beliefs are reported without error"]
    assert cmi["verdict"] == report.evaluations[0].verdicts[0]


def test_undefined_numbers_are_null(report):
    results = strict(report.to_json())["evaluations"][0]["results"]
    assert results[0]["details"] == [{"belief": 0.1, "gain": 0.5}, {"belief": None, "gain": None}]
    assert results[3]["pvalue"] is None
    assert results[4]["estimate"] is None
    assert results[4]["low"] is None


def test_equal_runs_give_equal_bytes_whatever_the_number_of_jobs(report):
    alone = Report(report.evaluations, {"seed": 0, "n_jobs": 1, "version": "0.1.0"})
    parallel = Report(report.evaluations, {"version": "0.1.0", "n_jobs": 2, "seed": 0})
    assert alone.to_json().encode() == parallel.to_json().encode()
    assert "n_jobs" not in alone.to_json()


def test_text_survives_and_stays_writable_even_if_half_a_surrogate_pair(unit):
    text = Report((unit(task="日本\x1b", model="\ud800<script>"),), {}).to_json()
    assert text.isascii()
    record = strict(text)["evaluations"][0]
    assert (record["task"], record["model"]) == ("日本\x1b", "\ud800<script>")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float32(0.5), 0.5),
        (np.int8(3), 3),
        (np.bool_(True), True),
        (True, True),
        (pd.NA, None),
        (pd.NaT, None),
        (-math.inf, None),
        (pd.Timestamp("2020-01-02"), "2020-01-02 00:00:00"),
        ({"b", "a"}, ["a", "b"]),
        (np.array([[1.0, np.nan]]), [[1.0, None]]),
        (pd.Series([1, 2], dtype="Int64"), [1, 2]),
        ({1: (np.str_("x"),)}, {"1": ["x"]}),
        (pd.Categorical(["yes"]), ["yes"]),
    ],
)
def test_plain_values(value, expected):
    plain = strict(Report((), {"x": value}).to_json())["settings"]["x"]
    assert plain == expected
    assert type(plain) is type(expected)
