"""``coherence elicit --keep-hidden`` and ``coherence probe``.

Breaks if the states are not those of the last token, if a kill or a resumed session loses them, if
a file of another table or one that was tampered with is used, or if a belief is given that evidence
tells as well.
"""

import json
import shlex

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import load, load_file, save_file
from transformers import AutoModelForCausalLM

from coherence import read_runs, write_runs
from elicitation import load_causal_model

N = 40


@pytest.fixture(scope="module")
def elicited(model_folder, tmp_path_factory):
    """A table of the small model with its hidden states, and the words of its command."""
    from coherence.cli.main import main

    out = tmp_path_factory.mktemp("probe") / "runs.parquet"
    words = f"elicit --model {model_folder} --task asia --contexts {N} --answers exact"
    words += f" --prompts mse,bayes --no-iterated --keep-hidden --out {out}"
    assert main(shlex.split(words)) == 0
    return out, words


def hidden_of(out):
    return out.with_name(f"{out.name}.hidden.safetensors")


@pytest.fixture
def refused(elicited, run):
    """Return the one line that a table or a file of hidden states is refused with."""

    out, _ = elicited

    def refused(table=out, file=None):
        words = f"probe {table} --hidden {file or hidden_of(out)}"
        (said,) = run(words, status=2).err.splitlines()
        return said

    return refused


def test_states_are_those_of_the_last_token_of_the_reference_question(elicited, model_folder):
    out, _ = elicited
    runs = read_runs(out)
    states = load_file(hidden_of(out))["hidden"]
    assert states.dtype == np.float16
    assert states.shape == (N, 1, 32)
    network = AutoModelForCausalLM.from_pretrained(model_folder)
    text = runs.loc[runs["prompt"] == "mse", "asked"].iloc[7]
    ids = load_causal_model(model_folder).encode([text])
    with torch.inference_mode():
        alone = network(torch.tensor(ids), output_hidden_states=True).hidden_states
    assert states[7, 0] == pytest.approx(alone[1][0, -1].numpy(), abs=5e-3)


def test_what_evidence_tells_as_well_is_no_belief(elicited, run, tmp_path):
    out, _ = elicited
    said = run(f"probe {out} --out {tmp_path / 'probed.csv'}")
    assert "evidence alone" in said.out
    assert "there is no probed belief" in said.out
    assert "no probed belief" in said.err
    assert list(tmp_path.iterdir()) == []


def rewritten(path, to, **changes):
    """Write a file of hidden states with other states or another metadata."""
    with safe_open(path, "numpy") as file:
        metadata, states = file.metadata(), file.get_tensor("hidden")
    states = changes.pop("states", lambda states: states)(states)
    metadata |= {key: change(metadata[key]) for key, change in changes.items()}
    save_file({"hidden": np.ascontiguousarray(states)}, to, metadata)


@pytest.mark.lengthy
def test_a_posterior_that_states_hold_becomes_a_table(elicited, run, tmp_path):
    out, _ = elicited
    runs = read_runs(out).drop_duplicates("context")
    odds = np.log(runs["p_true"] / (1 - runs["p_true"])).to_numpy()
    mixed = odds[:, None] * np.random.default_rng(1).normal(size=(1, 24))
    file, probed = tmp_path / "planted.safetensors", tmp_path / "probed.parquet"
    rewritten(hidden_of(out), file, states=lambda _: mixed[:, None].astype(np.float16))
    said = run(f"probe {out} --hidden {file} --out {probed}").out
    assert "goes with the probe at equal statement" in said
    assert "not what the model uses" in said
    table = read_runs(probed)
    assert set(table["belief_kind"]) == {"probed"}
    assert np.abs(table["p"] - table["p_true"]).mean() < 0.05
    assert len(table) == N
    assert "raw_belief" not in table
    run(f"analyze {probed}")


def test_words_of_the_questions_stand_for_columns_of_evidence(elicited, run, tmp_path):
    out, _ = elicited
    runs = read_runs(out)
    bare = runs.drop(columns=[name for name in runs if name.startswith("x_")])
    write_runs(bare, tmp_path / "bare.parquet")
    said = run(f"probe {tmp_path / 'bare.parquet'} --hidden {hidden_of(out)}").out
    (line,) = [line for line in said.splitlines() if line.startswith("evidence alone")]
    assert float(line.split()[2]) > 0.5


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda runs: runs.assign(asked=runs["asked"] + "!"), "of another table: 40 of 40 cases"),
        (lambda runs: runs.assign(model="other"), "no answers of"),
        (lambda runs: runs.drop(columns="asked"), "no column 'asked'"),
        (lambda runs: pd.concat([runs, runs.assign(model="o")]), "one model on one task; it has 2"),
        (lambda runs: runs[runs["context"].isin(runs["context"].unique()[:20])], "at least 30"),
        (lambda runs: runs.assign(p=np.nan, status="unparsed"), "no parsed beliefs"),
    ],
)
def test_another_table_is_refused(elicited, refused, tmp_path, change, named):
    changed = tmp_path / "changed.parquet"
    write_runs(change(read_runs(elicited[0])), changed)
    assert named in refused(table=changed)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"format": lambda _: "other"}, "not written by"),
        ({"layers": lambda _: "[1, 2]"}, "states of shape"),
        ({"layers": lambda _: '["a"]'}, "layers in its metadata that do not fit"),
        ({"layers": lambda _: "[" * 100_000}, "no layers in its metadata"),
        ({"rows": lambda rows: json.dumps(dict.fromkeys(json.loads(rows), 99))}, "rows in its"),
        ({"rows": lambda _: "[]"}, "no rows in its metadata"),
        ({"digests": lambda _: "7"}, "no digests in its metadata"),
        ({"states": lambda states: states * np.float16(np.nan)}, "no finite"),
        ({"states": lambda states: states.astype(np.float64)}, "no finite float16"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(elicited, refused, tmp_path, changes, named):
    rewritten(hidden_of(elicited[0]), tmp_path / "file", **changes)
    assert named in refused(file=tmp_path / "file")


def test_a_cut_file_is_refused_and_lost_states_come_back_without_a_question(
    elicited, refused, run, tmp_path
):
    out, words = elicited
    kept = hidden_of(out).read_bytes()
    for size in (0, 5, 100, 2_000, -1):
        (tmp_path / "file").write_bytes(kept[:size])
        said = refused(file=tmp_path / "file")
        assert "is cut or no safetensors file" in said
        assert "--keep-hidden" in said
    hidden_of(out).unlink()
    assert " 0 answers asked" in run(words).err
    assert load_file(hidden_of(out))["hidden"] == pytest.approx(load(kept)["hidden"], abs=1e-3)


def test_states_beyond_float16_keep_their_size(tmp_path, model_folder, asia, monkeypatch):
    from elicitation import Design, plan_task
    from elicitation.answers.hidden import load_states, read_states, write_states

    model = load_causal_model(model_folder)
    inner = model.hidden_states

    def large(*given):
        layers, values = inner(*given)
        return layers, 1e6 * values

    monkeypatch.setattr(model, "hidden_states", large)
    plan = plan_task(asia, asia.cases(3, seed=0), Design(prompts=("standard",), iterated=False))
    states = read_states(model, plan)
    write_states(states, tmp_path / "file")
    loaded = load_states(tmp_path / "file")
    assert loaded.values.dtype == np.float32
    assert np.array_equal(loaded.values, states.values)


def test_a_model_without_hidden_states_is_refused_before_it_is_asked(
    run, tmp_path, monkeypatch, scripted
):
    choosing = scripted()
    monkeypatch.setattr("elicitation.commands.elicit.load_model", lambda *_: choosing)
    said = run(f"elicit --model m --task asia --out {tmp_path}/a.csv --keep-hidden", status=2).err
    assert "scripted shows no hidden states" in said
    assert choosing.asked == []


def test_layers_are_chosen_and_unknown_ones_refused(model_folder, run, tmp_path):
    words = f"elicit --model {model_folder} --task asia --contexts 3 --answers exact --keep-hidden"
    words += f" --prompts standard --no-iterated --out {tmp_path / 'runs.csv'}"
    assert "layers 0, 1" in run(f"{words} --set hidden_layers=1,0").err
    assert "numbers from 0 to 1" in run(f"{words} --set hidden_layers=2", status=2).err
