"""results.json and the table of results. Breaks if a number is rounded, if NaN is written, or if
the schema lets through what is not there or lacks what is written."""

import json
import math

import jsonschema
import numpy as np
import pandas as pd
import pytest

import coherence
from coherence import Report


@pytest.fixture
def schema(run):
    return json.loads(run("schema")[1])


def strict(text):
    def refuse(token):
        raise AssertionError(f"{token} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_record_holds_everything_unrounded(report):
    record = strict(report.to_json())
    assert record["schema_version"] == 4
    assert record["settings"] == {"published": False, "seed": 0, "version": "0.1.0"}
    of, unit = report.evaluations[0], record["evaluations"][0]
    assert (unit["task"], unit["model"]) == ("asia", "small-lm")
    assert unit["statuses"][1] == {"question": "belief and action", "status": "refused", "rows": 3}
    answers = unit["answers"][0]
    assert [answers[n] for n in ("asked", "refused", "share_unreadable")] == [1000, 3, 0.003]
    assert unit["notes"] == [note.record() for note in of.notes]
    cmi, *_, consistency, undefined = unit["results"]
    assert [cmi[n] for n in ("estimate", "low", "high", "pvalue")] == [0.0312, 0.011, 0.0523, 0.004]
    assert cmi["settings"] == {"k": 3, "n_permutations": 999}
    assert cmi["assumptions"] == ["contexts are independent", "beliefs are reported without error"]
    assert cmi["verdict"] == of.verdicts[0]
    # Undefined numbers are null.
    assert cmi["details"] == [{"belief": 0.1, "gain": 0.5}, {"belief": None, "gain": None}]
    assert [consistency["pvalue"], undefined["estimate"], undefined["low"]] == [None] * 3


def test_equal_runs_give_equal_bytes_whatever_the_number_of_jobs(report):
    alone = Report(report.evaluations, {"seed": 0, "n_jobs": 1, "version": "0.1.0"})
    parallel = Report(report.evaluations, {"version": "0.1.0", "n_jobs": 2, "seed": 0})
    assert alone.to_json().encode() == parallel.to_json().encode()
    assert "n_jobs" not in alone.to_json()


def test_plain_values():
    values = [np.float32(0.5), np.int8(3), np.bool_(True), True, pd.NA, pd.NaT, -math.inf]
    values += [pd.Timestamp("2020-01-02"), {"b", "a"}, np.array([[1.0, np.nan]])]
    values += [pd.Series([1, 2], dtype="Int64"), {1: (np.str_("x"),)}, pd.Categorical(["yes"])]
    expected = [0.5, 3, True, True, None, None, None, "2020-01-02 00:00:00", ["a", "b"]]
    expected += [[[1.0, None]], [1, 2], {"1": ["x"]}, ["yes"]]
    plain = strict(Report((), {"x": values}).to_json())["settings"]["x"]
    assert plain == expected
    assert [type(value) for value in plain] == [type(value) for value in expected]


def undescribed(value, schema, at="results"):
    """Yield every field that is written and not described, where fields are the same for all."""
    if isinstance(value, dict) and "properties" in schema:
        for name, content in value.items():
            if name not in schema["properties"]:
                yield f"{at}.{name}"
            else:
                yield from undescribed(content, schema["properties"][name], f"{at}.{name}")
    elif isinstance(value, list):
        for member in value:
            yield from undescribed(member, schema.get("items", {}), at)


def simulated(agent="leaky", n_contexts=12, n_reps=2, **options):
    return coherence.simulate(agent, n_contexts=n_contexts, n_reps=n_reps, rng=1, **options)


def unreadable():
    runs = simulated()
    runs.loc[::5, ["p", "action"]] = None
    runs.loc[::5, "status"] = "refused"
    return runs


def three_states():
    runs = simulated(iterated=False, prompts=["standard"])
    shares = {"p_a": runs["p"] / 2, "p_b": runs["p"] / 2, "p_c": 1 - runs["p"]}
    states = runs["theta"].map({0: "c", 1: "a"})
    return runs.drop(columns=["p", "p_true"]).assign(**shares, theta=states)


QUICK = ["sufficiency", "monotone_choice", "calibration", "prompt_consistency"]
TABLES = {
    "all checks": (lambda: simulated(n_contexts=30, n_reps=3), {}),
    "policies": (lambda: simulated(policies=True), {"checks": [*QUICK, "cmi"]}),
    "published": (simulated, {"published": True, "checks": [*QUICK, "cmi"]}),
    "three states": (three_states, {"checks": ["sufficiency", "cmi", "calibration"]}),
    "forecasts over three states": (lambda: three_states().drop(columns="action"), {}),
    "beliefs alone": (lambda: simulated()[["p", "theta"]], {}),
    "unreadable": (unreadable, {"strict": True, "checks": QUICK}),
    "undefined": (
        lambda: simulated(n_contexts=4, n_reps=1).assign(p=0.5, action="yes"),
        {"checks": [*QUICK, "cmi"]},
    ),
    "answers of a model": (
        lambda: coherence.read_runs("examples/runs.parquet"),
        {"checks": ["calibration", "monotone_choice"], "reference": "standard"},
    ),
}


@pytest.mark.lengthy
@pytest.mark.parametrize("name", TABLES)
def test_results_are_strict_json_and_hold_what_is_described(name, monkeypatch, request, schema):
    monkeypatch.chdir(request.config.rootpath)
    table, options = TABLES[name]
    record = strict(coherence.analyze(table(), rng=1, **options).to_json())
    jsonschema.validate(record, schema)
    assert record["evaluations"]
    assert list(undescribed(record, schema)) == []
    results = [found for unit in record["evaluations"] for found in unit["results"]]
    # A schema that takes null and an analysis without any would prove little about NaN.
    if name == "undefined":
        assert any(found["estimate"] is None for found in results)
        assert any(found["pvalue"] is None for found in results)
    if name == "answers of a model":
        assert all("answering" in unit for unit in record["evaluations"])


@pytest.fixture(scope="module")
def record():
    return strict(coherence.analyze(simulated(), checks=["calibration"], rng=1).to_json())


def first(record):
    return record["evaluations"][0]["results"][0]


@pytest.mark.parametrize(
    "breaks",
    [
        lambda record: record.pop("settings"),
        lambda record: first(record).update(pvalue=1.5),
        lambda record: first(record).update(outcome="significant"),
        lambda record: record["evaluations"][0]["figures"]["calibration"][0].pop("gap"),
    ],
)
def test_records_that_break_it_are_refused(record, breaks, schema):
    broken = json.loads(json.dumps(record))
    jsonschema.validate(broken, schema)
    breaks(broken)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, schema)
