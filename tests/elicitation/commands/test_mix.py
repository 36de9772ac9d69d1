"""``coherence mix``: breaks if a score differs from Python's or if a model is asked twice."""

import shutil

import pandas as pd
import pytest

from coherence.batteries import score_mixing, simulate_mixing
from elicitation import AnswerStore

from .conftest import written

TABLES = {"scores.csv", "measures.csv", "curves.csv", "dependence.csv"}
FIGURES = {"rates-1.png", "rates-2.png", "flips.png"}


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
    assert TABLES | {"runs.parquet", "files.sha256"} < written(out)
    golden = score_mixing(both, rng=3).experiments
    scored = pd.read_csv(out / "scores.csv")
    for name in ("published", "low"):
        assert scored[name].tolist() == pytest.approx(golden[name].tolist())
    runs = pd.read_parquet(out / "runs.parquet")
    assert len(runs) == 2 * 6 * 48 + 5 * 48
    assert not runs.isna().all().any()


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
