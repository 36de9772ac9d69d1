"""Calls of `bayesnets` that cannot mean anything: breaks if one is answered, or if the error does
not name what stands beside the call: parameter, value, place and remedy."""

import numpy as np
import pandas as pd
import pytest

import bayesnets
from bayesnets import Network, Node
from coherence import InputError

ASIA = bayesnets.load_network("asia")
RECORDS = bayesnets.sample(ASIA, 4000, rng=1)
TASK = bayesnets.RecordTask("t", RECORDS, ("smoke", "bronc", "xray"), "either", "yes")
ALONE = bayesnets.RecordTask("t", RECORDS, ("smoke",), "either", "yes")
WIDE = pd.DataFrame({f"v{number}": list("ab") * 200 for number in range(24)})
TWO = {"covariates": ["smoke", "bronc"], "target": "either", "positive": "yes"}
WORDS = bayesnets.load_phrases("asia")
COIN, HALF = Node("coin", ("head", "tail"), (), [0.5, 0.5]), np.full((2, 2), 0.5)
NONE, TYPO = pd.DataFrame(), pd.DataFrame({"smoke": ["no", "Yes"]}, index=[7, 8])
LAWN = pd.DataFrame([("yes", "wet")] * 3 + [("no", "dry")] * 3, columns=["rain", "grass"])
STATES = {"rain": ("no", "yes"), "grass": ("wet", "dry")}
OWN = {"structure": {"rain": (), "grass": ("rain",)}, "states": STATES}
MANY = [f"v{number}" for number in range(30)]
LARGE = {name: MANY[:position] for position, name in enumerate(MANY)}
ONE = '{"nodes": [{"name": "a", "states": %s, "table": %s}]}'


def node(name, table, parents=(), states=("x", "y")):
    return Node(name, states, parents, table)


def network(*nodes):
    return Network("small", "small", "test", True, nodes)


def cases(target="lung", n=10, **options):
    return bayesnets.sample_cases(ASIA, target, n, **options)


def strata(records=RECORDS, **options):
    return bayesnets.strata(records, **TWO | options)


def fit(records=LAWN, **options):
    return bayesnets.fit(records=records, **OWN | options)


def posterior(evidence=NONE, target="lung", of=ASIA, **options):
    return bayesnets.posterior(of, evidence, target, **options)


# What must be said of each: parameter | remedy.
CALLS = r"""
sample(ASIA, -1) => n must be a number of records | not -1
sample(ASIA, 2.5) => n must be a number of records
sample(ASIA, True) => n must be a number of records
sample(ASIA, "3") => n must be a number of records
cases(n=0) => n must be a whole number of at least 1; received 0
cases(n_bins=1.5) => n_bins must be a whole number of at least 1
cases("lang") => Did you mean 'lung'?
cases(target_state="true") => target_state must be a state of 'lung', not 'true'
cases(auxiliary="lung") => auxiliary must be a covariate, and not the target
cases(auxiliary="smok") => Did you mean 'smoke'?
cases(n_observed=8) => from 1 to 7, not 8
cases(min_probability=2) => min_probability must lie in [0, 1], not 2
cases(min_probability=1) => 0 sets
cases(min_records=50) => 'asia' comes with no records, so that min_records
cases(min_records=True) => min_records must be a whole number of at least 0
coverage(pd.DataFrame({"n": [1]})) => has lost

strata(covariates=["smoke", "age"]) => these are absent: 'age'
strata(covariates="smoke") => covariates must be a sequence
strata(covariates=["smoke", "either"]) => distinct and other than the target 'either'
strata(target="lungs") => Did you mean 'lung'
strata(positive="true") => positive must be a state of 'either', not 'true'. Known: no, yes
strata(min_records=0) => min_records must be a whole number of at least 1; received 0
strata(min_records=5000) => the largest holds | of 4000 records, fewer than 5000
strata(n_observed=3) => n_observed must be | from 1 to 2, not 3
strata(missing="ignore") => missing must be 'error' or 'drop'
strata(RECORDS.assign(age=41), covariates=["age"]) => 'age' of records must hold labels | 41 (int)
strata(RECORDS.assign(smoke=None)) => 'smoke' of records must hold a label; all 4000 values are
sample_record_cases(TASK, 5000) => 5000 cases | strata with 1 to 2 | at least 100 records
sample_record_cases(TASK, 5, auxiliary="smok") => auxiliary must | 'smok'. Did you mean 'smoke'
sample_record_cases(RECORDS, 5) => task must be a RecordTask, not DataFrame
sample_record_cases(TASK, 0) => n must be a whole number of at least 1
sample_record_cases(ALONE, 1, auxiliary="smoke") => covariates must include one beside | 0 are left
TASK.cases(5, seed=-1) => seed must be a whole number of at least 0; received -1
RecordTask("w", WIDE, MANY[:23], "v23", "a").network => at most 10,000,000 | have 16,777,216
load_dataset("randhi") => not 'randhi'. Did you mean 'randhie'
load_dataset("breast_cancer", min_records=400).strata() => the largest holds 285 of 569 records

fit(LAWN.drop(columns="grass")) => these are absent: 'grass'. Known: rain
fit(LAWN.rename(columns={"grass": "gras"})) => Did you mean 'gras'
fit(LAWN.assign(grass=np.arange(6) + 0.5)) => 6 of its 6 | 0.5 (float) | pandas.cut
fit(LAWN.assign(grass=[0, 1] * 3)) => the first is 0 (int)
fit(LAWN.assign(grass=[["wet"]] * 6)) => 'grass' | unhashable | one label in every cell
fit(LAWN.replace({"dry": "Dry", "yes": "maybe"})) => 'maybe' in | at index 3; | 'dry'
fit(LAWN[:0]) => at least one row; the table is empty
fit(LAWN.to_dict()) => must be a DataFrame | not dict
fit(pd.concat([LAWN, LAWN["rain"]], axis=1)) => 'rain' occur more than once
fit(prior=-1) => prior must be a pseudo-count per cell
fit(min_support=2.5) => min_support must be a whole number of at least 0
fit(empty="zero") => empty must be 'error', 'marginal' or 'uniform'
fit(missing="ignore") => missing must be 'error' or 'drop'
fit(states=None) => states must be stated where structure is a mapping
fit(states={"rain": ("no", "yes")}) => same variables; 'grass' are in only one
fit(states={**STATES, "rain": "no"}) => states of 'rain' must be sequences
fit(structure=ASIA) => states must be left out
fit(structure=LARGE, states=dict.fromkeys(MANY, "ab")) => 'v0' must be sequences
fit(structure=LARGE, states=dict.fromkeys(MANY, ("a", "b"))) => at most 20,000,000 | 'v29'

posterior(pd.DataFrame({"smok": ["yes"]})) => 'smok' are not. Did you mean 'smoke'
posterior(TYPO) => 1 of 2 values do not, the first is 'Yes' at 8. Did you mean 'yes'
posterior(pd.DataFrame({"smoke": ["no"]}), "lang") => Did you mean 'lung'
posterior(pd.DataFrame([["no"] * 2], columns=["smoke"] * 2)) => must be unique; smoke are repeated
posterior("smoke=no") => must be a DataFrame with one column per variable, a dict of states
posterior(errors="ignore") => errors must be 'raise' or 'nan', not 'ignore'
posterior(of="asia") => network must be a Network or a pgmpy model, not str
posterior(max_bytes=0) => max_bytes must be positive
posterior({"xray": "yes"}, "smoke", max_bytes=8) => network 'asia'; it is 8, and a row needs

network() => nodes must hold at least one node
network(COIN, COIN) => 'coin' is the name of nodes 0 and 1
network(node("a", HALF, ("con",)), COIN) => 'con' is not. Did you mean 'coin'
network(node("a", [0.5, 0.5], ("coin",)), COIN) => must have shape (2, 2)
network(node("a", [0.5, 0.5], states=("x", "x"))) => must be non-empty texts without repetition
network(node("a", [], states=())) => states of node 'a' must not be empty
network(node("a", [1.5, -0.5])) => at the only column
network(node("a", [0.5, 0.5 + 3e-8])) => at the only column
network(node("a", HALF, ("b",)), node("b", HALF, ("a",))) => a cycle; one runs through a, b
network(COIN, node("b", [[0.5, 0.6], [0.5, 0.405]], ("coin",))) => 1 of 2 | sum 1.005 at coin=tail
node("a", [[0.9, "0.1"], [0.1, 0.9]], ("coin",)) => table of node 'a' must hold numbers | '0.1'
node("a", [[True, 0.5], [False, 0.5]], ("coin",)) => table of node 'a' must hold numbers | True
node("a", np.array([0.5 + 0j, 0.5])) => table of node 'a' must be | numbers | complex
Network.from_json("{") => must hold JSON
Network.from_json("[]") => list 'nodes'
Network.from_json('{"nodes": [3]}') => node 0 in text must be an object
Network.from_json('{"nodes": [{"name": "a"}]}') => must have states, table
Network.from_json(ONE % ('"xy"', "[0.5, 0.5]")) => must be a sequence of names
Network.from_json(ONE % ('["x", "y"]', "[[0.5], [0.5, 0.1]]")) => full array of numbers
Network.from_json('{"illustrative": "no", "nodes": []}') => must be true or false
Network.from_json('{"tables": ["fitted"], "nodes": []}') => fitted, not ['fitted']
Network.from_json('{"tables": "illustrative", "illustrative": false, "nodes": []}') => , since

WORDS.describe({"smok": "yes"}) => 'smok' has none. Did you mean 'smoke'?
WORDS.describe({"smoke": "Yes"}) => 'Yes' has none. Did you mean 'yes'?
WORDS.describe({}, wording=3) => wording must be a whole number from 0 to 2
load_phrases("asai") => not 'asai'. Did you mean 'asia'?
load_phrases("nowhere.toml") => must be readable UTF-8 text
plain_phrases(ASIA, "lung", "TRUE") => must be a state of 'lung', not 'TRUE'.
plain_phrases(ASIA, "lang", "yes") => not 'lang'. Did you mean 'lung'?
plain_phrases(network(node("a", [0.5, 0.5], states=("x:y", "z"))), "a", "z") => colon in label 'x:y'
draw(ASIA, highlight="lang") => highlight must be | 'lang' is not. Did you mean 'lung'
draw(ASIA, "asia.jpg") => path must end in .png, .svg, .pdf
draw(ASIA, "nowhere/asia.png") => must lie in a folder
"""
KNOWN = {name: getattr(bayesnets, name) for name in bayesnets.__all__}


@pytest.mark.parametrize("line", [*filter(None, CALLS.splitlines())])
def test_what_is_wrong_is_named_and_nothing_is_left(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, _, words = line.partition(" => ")
    with pytest.raises(InputError) as error:
        eval(call, KNOWN | globals())  # noqa: S307
    message = str(error.value)
    assert [word for word in words.split(" | ") if word not in message] == []
    assert len(message.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
