import re

import numpy as np
import pandas as pd
import pytest

from bayesnets import Network, Node, load_network, posterior
from coherence.errors import InputError

ASIA = load_network("asia")


def test_whole_numbers_stand_for_states_of_that_spelling():
    network = Network(
        "n",
        "n",
        "test",
        True,
        (Node("a", ("0", "1"), (), np.array([0.4, 0.6])), Node("b", ("0", "1"), ("a",), np.eye(2))),
    )
    evidence = pd.DataFrame({"b": [0, 1, None]})
    assert evidence["b"].dtype == float
    assert posterior(network, evidence, "a")["1"].tolist() == [0.0, 1.0, 0.6]
    with pytest.raises(InputError, match=r"the first is 0\.5 at 1\."):
        posterior(network, pd.DataFrame({"b": [0, 0.5]}), "a")


@pytest.mark.parametrize("cell", [["yes"], {}, ("yes", []), {"yes"}])
def test_lists_are_no_states(cell):
    evidence = pd.DataFrame({"smoke": pd.Series(["yes", cell], dtype=object)})
    with pytest.raises(InputError, match="'smoke' of evidence must hold states .* lists or the"):
        posterior(ASIA, evidence, "lung")


@pytest.mark.parametrize("dtype", ["object", "str", "category"])
def test_any_column_type_holds_states(dtype):
    evidence = pd.DataFrame({"smoke": pd.Series(["yes", None, "no"], dtype=dtype)})
    assert posterior(ASIA, evidence, "lung")["yes"].tolist() == pytest.approx([0.1, 0.055, 0.01])


@pytest.mark.parametrize(
    ("evidence", "target", "message"),
    [
        (
            pd.DataFrame({"smok": ["yes"]}),
            "lung",
            "columns of evidence must be variables of network 'asia'; 'smok' are not. "
            "Did you mean 'smoke'?",
        ),
        (
            pd.DataFrame({"smoke": ["no", "Yes"]}, index=[7, 8]),
            "lung",
            "1 of 2 values do not, the first is 'Yes' at 8. Did you mean 'yes'?",
        ),
        (pd.DataFrame({"smoke": ["no"]}), "lang", "Did you mean 'lung'?"),
        (
            pd.DataFrame([["no", "no"]], columns=["smoke", "smoke"]),
            "lung",
            "columns of evidence must be unique; smoke are repeated",
        ),
        ({"smoke": "no"}, "lung", "must be a DataFrame with one column per variable, not dict"),
    ],
)
def test_wrong_evidence_is_refused(evidence, target, message):
    with pytest.raises(InputError, match=re.escape(message)):
        posterior(ASIA, evidence, target)
