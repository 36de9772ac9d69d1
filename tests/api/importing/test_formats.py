"""Files that are no log, or damaged: breaks if one crashes or passes for one."""

import inspect_ai.log  # noqa: F401 - teaches zipfile Zstandard
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coherence import InputError
from coherence.decoding.decode import PARSED
from coherence.runs.columns import PERCENT
from coherence.runs.logs.answers import AnswerForm, AnswerLog, belief_cell
from coherence.runs.logs.assemble import FORMATS
from tests.api.importing.conftest import (
    BELIEF,
    GOLDEN,
    HEADER,
    TEXT,
    assembled,
    imported,
    log_of,
    write_text,
)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.eval", "no zip at all", "no Inspect log.*zip"),
        ("a.json", "{", "is not JSON"),
        ("a.json", "[{}]", "not a log of inspect or lm-eval.*: coherence analyze .*a.json"),
        ("a.json", '{"eval": "x", "rows": [1, 2]}', "must be a JSON array of objects"),
        ("a.json", '{"eval": {}}', "no Inspect log"),
        ("a.json", HEADER, "the log has no answer: 0 of 0 samples are in the log"),
        ("a.json", "[" * 100_000, "nested too deeply"),
        ("a.jsonl", '{"p": 0.5}\n', "not a log of inspect or lm-eval"),
        ("a.jsonl", '{"p": \n', "line 1 is not JSON"),
        ("a.jsonl", '{"doc_id": 0, "resps": [["a"]]}\n', "line 1 lacks 'doc', 'target'"),
        ("my a.csv", "p,theta\n1,1\n", "A table needs no import: coherence analyze '.*/my a.csv'"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path, name, content, message):
    path = write_text(tmp_path / name, content)
    with pytest.raises(InputError, match=message):
        imported(path)


def test_formats_are_told_by_content_and_not_mixed(tmp_path):
    with pytest.raises(InputError, match=r"different formats .inspect, lm-eval. one by one"):
        imported(BELIEF, TEXT)
    with pytest.raises(InputError, match="no such file"):
        imported(GOLDEN)
    for form in FORMATS:
        broken = tmp_path / f"log{form.endings[0]}"
        broken.write_bytes(b"\xff\xfe\xff")
        with pytest.raises(InputError, match="^(?!.*--encoding)"):  # which import does not have
            form.read(broken)


@pytest.mark.parametrize("length", [10, 3000, -30])
def test_a_truncated_archive_is_named(tmp_path, length):
    path = tmp_path / "cut.eval"
    path.write_bytes(BELIEF.read_bytes()[:length])
    with pytest.raises(InputError, match=r"cut\.eval.*damaged.*whole file"):
        imported(path)


def test_a_flipped_byte_never_passes_for_content(tmp_path):
    content, path = BELIEF.read_bytes(), tmp_path / "flipped.eval"
    whole, refused = imported(BELIEF).runs, 0
    for place in range(0, len(content), len(content) // 16):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        path.write_bytes(damaged)
        try:
            pd.testing.assert_frame_equal(imported(path).runs, whole)
        except InputError:
            refused += 1
    assert refused > 8


# Breaks if a cell of a log is changed on its way, or lost.


def test_a_posterior_is_of_the_state_that_the_log_means():
    """Breaks if a belief in the own answer is compared with the posterior of another event."""
    log = log_of("context,p,theta,p_true,right\na,0.2,1,0.4,0\nb,0.7,0,0.5,1\n")
    left = assembled([log], mapping={"theta": "right"})
    assert "p_true" not in left.runs
    assert left.runs["truth_kind"].tolist() == ["recorded"] * 2
    mapped = assembled([log], mapping={"theta": "right", "p_true": "p_true"})
    assert mapped.runs["p_true"].tolist() == [0.4, 0.5]
    assert not mapped.notes


def test_percentages_are_divided_only_when_asked():
    log = log_of("p,action,theta\n70,a,1\n101,b,0\n0.5,a,1\n")
    assert assembled([log]).runs["status"].tolist() == [*["out_of_range"] * 2, "ok"]
    percentages = assembled([log], AnswerForm(line=PERCENT))
    (note,) = percentages.notes
    assert "1 of 3 values of 'p' below 1 were taken as percentages: 0.5 as 0.5%." in note
    runs = percentages.runs
    assert runs["p"].tolist()[::2] == [0.7, 0.005]
    assert runs["status"].tolist() == ["ok", "out_of_range", "ok"]
    assert runs["raw_belief"].tolist()[1] == "101"


def test_stated_distributions_that_miss_one_are_not_renormalised():
    rows = "0.6,0.4,a,dry\n0.6,0.6,a,wet\n"
    runs = assembled([log_of(f"p_dry,p_wet,action,theta\n{rows}")]).runs
    assert runs["status"].tolist() == ["ok", "sum_not_one"]
    assert runs["p_dry"].isna().tolist() == [False, True]
    assert runs["raw_belief"].tolist()[1] == "p_dry=0.6; p_wet=0.6"


@given(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()), st.booleans())
def test_a_belief_is_a_probability_or_has_a_reason(value, percent):
    cell = belief_cell(value, line=PERCENT if percent else None)
    assert (cell.status in PARSED) == (cell.value is not None)
    assert cell.value is None or 0 <= cell.value <= 1


def test_labels_of_the_state():
    def states(cells, positive=None):
        lines = "\n".join(f"c{row},0.5,{cell}" for row, cell in enumerate(cells))
        log = log_of(f"context,p,theta\n{lines}\n")
        return assembled([log], AnswerForm(positive=positive)).runs["theta"]

    assert states(["TRUE", "false", "True", ""]).fillna(-1).tolist() == [1, 0, 1, -1]
    with pytest.raises(InputError, match="'0.3'"):
        states(["0.3", "0.7"])
    with pytest.raises(InputError, match="Closest name found: 'rain'"):
        states(["rain", "dry"], "rian")


def test_cells_are_read_as_those_of_a_table():
    said = {"x_age": "7", "raw_belief": "half \ud800", "p": 0.5}
    named = dict(zip(said, said, strict=True))
    log = AnswerLog("a.log", None, None, (said, said | {"x_age": "007"}), named)
    runs = assembled([log]).runs
    assert runs["x_age"].tolist() == ["7", "007"]
    assert runs["raw_belief"].tolist()[0] == "half \ufffd\ufffd\ufffd"
