"""The schema of results.json: breaks if it lets through what is not there, or if anything that is
written has no description."""

import json

import jsonschema
import pytest

import coherence


@pytest.fixture
def schema(run):
    return json.loads(run("schema")[1])


def strict(text):
    def refuse(token):
        raise AssertionError(f"{token} is not JSON")

    return json.loads(text, parse_constant=refuse)


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


def one_belief():
    """Return a table in which hardly anything is defined."""
    return simulated(n_contexts=4, n_reps=1).assign(p=0.5, action="yes")


QUICK = ["residual_covariance", "monotone_choice", "calibration", "prompt_consistency"]
TABLES = {
    "all checks": (lambda: simulated(n_contexts=30, n_reps=3), {}),
    "policies": (lambda: simulated(policies=True), {"checks": [*QUICK, "cmi"]}),
    "published": (simulated, {"published": True, "checks": [*QUICK, "cmi"]}),
    "three states": (three_states, {"checks": ["residual_covariance", "cmi", "calibration"]}),
    "forecasts over three states": (lambda: three_states().drop(columns="action"), {}),
    "beliefs alone": (lambda: simulated()[["p", "theta"]], {}),
    "unreadable": (unreadable, {"strict": True, "checks": QUICK}),
    "undefined": (one_belief, {"checks": [*QUICK, "cmi"]}),
    "twins": (
        lambda: simulated(n_contexts=80, n_reps=3, iterated=False),
        {"twins": 40, "checks": ["residual_covariance", "rational_agent"]},
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
    if name == "twins":
        assert all(found["n_twins"] == 40 for found in results)
        assert record["evaluations"][0]["sensitivity"]["curve"][0]["shared_noise"] == 0
    if name == "answers of a model":
        assert all("answering" in unit for unit in record["evaluations"])


@pytest.fixture(scope="module")
def record():
    return strict(coherence.analyze(simulated(), checks=["calibration"], rng=1).to_json())


@pytest.mark.parametrize(
    "breaks",
    [
        lambda record: record.pop("settings"),
        lambda record: record.update(schema_version=1),
        lambda record: record["evaluations"][0].pop("task"),
        lambda record: record["evaluations"][0]["results"][0].pop("pvalue_holm"),
        lambda record: record["evaluations"][0]["results"][0].update(pvalue=1.5),
        lambda record: record["evaluations"][0]["results"][0].update(estimate="0.2"),
        lambda record: record["evaluations"][0]["results"][0].update(outcome="significant"),
        lambda record: record["evaluations"][0]["results"][0].update(n_rows=None),
        lambda record: record["evaluations"][0]["answers"][0].update(share_unreadable=2),
        lambda record: record["evaluations"][0]["figures"]["calibration"][0].pop("gap"),
        lambda record: record["evaluations"][0]["figures"]["beliefs"][0].update(n="many"),
    ],
)
def test_records_that_break_it_are_refused(record, breaks, schema):
    broken = json.loads(json.dumps(record))
    jsonschema.validate(broken, schema)
    breaks(broken)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, schema)
