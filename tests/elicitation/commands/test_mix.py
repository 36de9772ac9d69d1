"""``coherence mix``: breaks if a score differs from Python's or if a model is asked twice."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

from coherence import read_runs
from coherence.batteries import score_mixing, simulate_mixing
from elicitation import AnswerStore

from ..models.hosted.fake_server import Fake, probing, reply_in_form, serving
from .conftest import written

TABLES = {"scores.csv", "measures.csv", "curves.csv", "dependence.csv"}
FIGURES = {"rates-1.png", "rates-2.png"}


@pytest.mark.lengthy
def test_answers_of_several_models_are_scored_as_in_python_and_all_is_written(
    answers, tmp_path, run
):
    out, table = tmp_path / "scores", simulate_mixing("uniform", n_draws=5, rng=0)
    both = pd.concat([pd.read_csv(answers, dtype={"answer": str}), table.astype({"answer": str})])
    both.to_csv(tmp_path / "both.csv", index=False)
    said = run(f"mix --answers {tmp_path}/both.csv --out {out} --seed 3").out
    # Names of models are neither paths nor terminal commands.
    assert "\x1b" not in said
    assert not (tmp_path / "first").exists()
    assert TABLES | {"files.sha256"} < written(out)
    golden = score_mixing(both, rng=3).experiments
    scored = pd.read_csv(out / "scores.csv")
    for name in ("published", "low"):
        assert scored[name].tolist() == pytest.approx(golden[name].tolist())


@pytest.mark.parametrize("shown", [0.4, 0.6])
def test_the_share_that_cannot_be_read_is_warned_of(shown, tmp_path, run):
    table = {"experiment": "flip", "p": [0.2, 0.8], "answer": "1", "probability": shown}
    pd.DataFrame(table).to_csv(tmp_path / "flips.csv", index=False)
    said = run(f"mix --answers {tmp_path}/flips.csv --out {tmp_path}/out").out
    assert ("cannot be read in experiment 1 (60.0%)" in said) == (shown == 0.4)
    # One experiment of a nameless model has no figure of flips.
    assert written(tmp_path / "out") == TABLES | {"rates.png", "files.sha256"}


@pytest.mark.lengthy
def test_a_model_is_asked_once_and_folders_of_one_name_are_told_apart(blank_models, tmp_path, run):
    """Exact rates need one question per condition."""
    for name, folder in zip(("one", "two"), blank_models, strict=True):
        shutil.copytree(folder, tmp_path / name / "model")
    named, out = f"mix --model {tmp_path}/one/model --model {tmp_path}/two/model", tmp_path / "out"
    for _ in range(2):
        said = run(f"{named} --out {out} --draws 1 --keep-going --device cpu").err
        assert said.count("98 of 98 answers") == 2
        with AnswerStore(out / "answers.sqlite") as store:
            assert len(store) == 2 * 98
    run(f"{named} --out {out} --exact")
    exact = pd.read_parquet(out / "answers.parquet").fillna({"item": "", "order": ""})
    asked = ["model", "experiment", "p", "item", "order"]
    sums = exact.groupby(asked)["probability"].sum()
    assert sums.groupby("model").size().to_dict() == {"one/model": 98, "two/model": 98}
    assert sums.to_numpy() == pytest.approx(1.0)
    assert written(out) >= FIGURES
    # A folder that is none is found before any model is asked.
    wrong = f"{named} --model {tmp_path}/none --out {tmp_path}/x"
    assert "none is not a folder" in run(wrong, 2).err
    assert not (tmp_path / "x").exists()


# ``coherence models`` and ``coherence organisms``: breaks if an option or figure gets lost.


def test_fetch_says_whether_anything_was_made(monkeypatch, run):
    calls = []
    for made, word in ((True, "ready"), (False, "there already, complete")):
        fetch = lambda *words, made=made: calls.append(words) or made  # noqa: E731
        monkeypatch.setattr("elicitation.models.fetch.fetch_model", fetch)
        assert run("models fetch smollm2").out == f"models/smollm2: smollm2, {word}\n"
    run("models fetch smollm2 --out x")
    assert calls[1:] == [("smollm2", "models/smollm2"), ("smollm2", "x")]


# The runs table of each way of asking, as it was when its first rows were read.
# Breaks if a question, a seed, a reading or a column changes. `golden_runs.csv` is what `tables`
# below returns; the server replies by the text and the seed alone.


GOLDEN = Path(__file__).with_name("golden_runs.csv")
ASIA = "--task asia --contexts 2 --seed 4"
ONE = "--prompts standard --no-iterated"
WAYS = {
    "drawn": f"{ASIA} --reps 2",
    "at temperature 0": f"{ASIA} --target bronc --reps 2 --temperature 0 --prompts standard,bayes",
    "sampled": f"{ASIA} --reps 1 --belief sampled --set draws=3",
    "token": f"{ASIA} --reps 1 --belief token",
    "forced": f"{ASIA} --reps 2 --answers forced --prompts mse",
    "matching": f"{ASIA} --reps 1 {ONE} --decision matching --set levels=3",
    "stakes": f"{ASIA} --reps 1 {ONE} --decision stakes",
    "data set": "--task randhie --contexts 3 --reps 1 --prompts standard",
    "own questions": "--questions {own}/weather.csv --reps 2 --prompts {own}/lab.toml,standard",
    "own offers": "--questions {own}/offers.csv --reps 1 --decision matching --set levels=2 "
    + ONE[:18],
    "agent, exact": f"{ASIA} --answers exact {ONE}",
}
WEATHER = (
    "id,belief_question,action_question,options,theta\n"
    "a,How probable is rain?,What now?,stay|go,1\nb,How probable is snow?,What now?,stay|go,0\n"
)
OFFERS = "id,belief_question,yes_no_question\na,How probable is rain?,Rain today?\n"
LAB = '[belief.number]\nform = "number"\ntext = "{question} A number from 0 to 1:"\n'
COLUMNS = ["task", "context", "rep", "prompt", "level", "loss", "z", "z_state", "p", "p_true"]
COLUMNS += ["theta", "action", "action_no", "action_yes", "answer_mass", "raw_belief"]
COLUMNS += ["raw_action", "status", "finish_reason", "seed"]


def tables(run, folder, ways=WAYS):
    for name, text in {"weather.csv": WEATHER, "offers.csv": OFFERS, "lab.toml": LAB}.items():
        (folder / name).write_text(text, encoding="utf-8")
    for way in ways:
        words, out = WAYS[way].format(own=folder), folder / f"{[*WAYS].index(way)}.parquet"
        with serving(fake := Fake(reply_in_form)) as address:
            who = f"--model m --server {address} --set server_name=lab --keep-going"
            who = "--agent leaky" if "agent" in way else who
            said = run(f"elicit {words} {who} --out {out}").err
        asked = sum(not probing(body) for _, body in fake.asked)
        yield way, read_runs(out).reindex(columns=COLUMNS), asked, said


@pytest.mark.parametrize("way", WAYS)
def test_the_table_of_a_way_of_asking_is_what_it_was(way, run, tmp_path):
    ((_, runs, asked, said),) = tables(run, tmp_path, [way])
    assert f"{len(runs)} rows" in said
    assert ("masks answers one token at a time" in said) == (way == "forced")
    if "agent" not in way:
        assert f"{asked} answers asked, 0 reused" in said
    golden = pd.read_csv(GOLDEN, dtype={"context": str, "seed": "Int64"})
    golden = golden[golden["way"] == way].drop(columns="way").reset_index(drop=True)
    runs.to_csv(tmp_path / "runs.csv", index=False)
    again = pd.read_csv(tmp_path / "runs.csv", dtype={"context": str, "seed": "Int64"})
    pd.testing.assert_frame_equal(again, golden, check_dtype=False, rtol=1e-9)
