"""Breaks if a cell of a log is changed on its way, or lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coherence import InputError
from coherence.decoding.decode import PARSED
from coherence.runs.columns import PERCENT
from coherence.runs.logs.answers import AnswerForm, AnswerLog, belief_cell
from coherence.runs.logs.assemble import assemble
from tests.api.importing.conftest import log_of


def test_a_posterior_is_of_the_state_that_the_log_means():
    """Breaks if a belief in the own answer is compared with the posterior of another event."""
    log = log_of("context,p,theta,p_true,right\na,0.2,1,0.4,0\nb,0.7,0,0.5,1\n")
    left = assemble([log], AnswerForm(), mapping={"theta": "right"})
    assert "p_true" not in left.runs
    assert left.runs["truth_kind"].tolist() == ["recorded"] * 2
    assert "--exact p_true" in " ".join(left.notes)
    mapped = assemble([log], AnswerForm(), mapping={"theta": "right", "p_true": "p_true"})
    assert mapped.runs["p_true"].tolist() == [0.4, 0.5]
    assert not mapped.notes


def test_percentages_are_divided_only_when_asked():
    log = log_of("p,action,theta\n70,a,1\n101,b,0\n0.5,a,1\n")
    assert assemble([log], AnswerForm()).runs["status"].tolist() == [*["out_of_range"] * 2, "ok"]
    percentages = assemble([log], AnswerForm(line=PERCENT))
    (note,) = percentages.notes
    assert "1 of 3 values of 'p' below 1 were taken as percentages: 0.5 as 0.5%." in note
    runs = percentages.runs
    assert runs["p"].tolist()[::2] == [0.7, 0.005]
    assert runs["status"].tolist() == ["ok", "out_of_range", "ok"]
    assert runs["raw_belief"].tolist()[1] == "101"


def test_stated_distributions_that_miss_one_are_not_renormalised():
    rows = "0.6,0.4,a,dry\n0.6,0.6,a,wet\n"
    runs = assemble([log_of(f"p_dry,p_wet,action,theta\n{rows}")], AnswerForm()).runs
    assert runs["status"].tolist() == ["ok", "sum_not_one"]
    assert runs["p_dry"].isna().tolist() == [False, True]
    assert runs["raw_belief"].tolist()[1] == "p_dry=0.6; p_wet=0.6"


@given(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    st.booleans(),
)
def test_a_belief_is_a_probability_or_has_a_reason(value, percent):
    cell = belief_cell(value, line=PERCENT if percent else None)
    assert (cell.status in PARSED) == (cell.value is not None)
    assert cell.value is None or 0 <= cell.value <= 1


def test_labels_of_the_state():
    def states(cells, positive=None):
        lines = "\n".join(f"c{row},0.5,{cell}" for row, cell in enumerate(cells))
        log = log_of(f"context,p,theta\n{lines}\n")
        return assemble([log], AnswerForm(positive=positive)).runs["theta"]

    assert states(["TRUE", "false", "True", ""]).fillna(-1).tolist() == [1, 0, 1, -1]
    with pytest.raises(InputError, match="'0.3'"):
        states(["0.3", "0.7"])
    with pytest.raises(InputError, match="Closest name found: 'rain'"):
        states(["rain", "dry"], "rian")


def test_cells_are_read_as_those_of_a_table():
    said = {"x_age": "7", "raw_belief": "half \ud800", "p": 0.5}
    named = dict(zip(said, said, strict=True))
    log = AnswerLog("a.log", None, None, (said, said | {"x_age": "007"}), named)
    runs = assemble([log], AnswerForm()).runs
    assert runs["x_age"].tolist() == ["7", "007"]
    assert runs["raw_belief"].tolist()[0] == "half \ufffd\ufffd\ufffd"
