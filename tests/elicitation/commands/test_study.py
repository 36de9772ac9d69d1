"""``coherence study``.

Breaks if an answer is asked twice, if an outdated table passes for finished or a finished one is
made again, if one model's error costs another's answers, or if a report hides what is missing.
"""

import re
import shutil

import pandas as pd
import pytest

from coherence import analyze, compare
from elicitation import AnswerStore
from tests.api.tables import read_exactly

from ..models.hosted.fake_server import Fake, answer, serving

SMALL = """
[study]
contexts = 12
reps = 2
prompts = ["standard"]
iterated = false

[[models]]
agent = "leaky"

[[models]]
name = "steady"
agent = "rational"

[[tasks]]
task = "asia"

[[tasks]]
name = "cancer, few"
task = "cancer"
contexts = 10

[analysis]
checks = ["sufficiency"]
"""
UNITS = [("leaky", "asia"), ("leaky", "cancer, few"), ("steady", "asia"), ("steady", "cancer, few")]
TINY = '[study]\ncontexts=8\nreps=1\nprompts=["standard"]\niterated = false\n'


class Study:
    """A study file and its folder, put to the command line."""

    def __init__(self, run, place):
        self.call, self.path, self.folder = run, place / "study.toml", place / "study"

    def run(self, text=SMALL, more="--no-report", status=0):
        self.path.write_text(text, encoding="utf-8")
        return self.call(f"study run {self.path} {more}", status)

    def report(self, text=SMALL):
        self.path.write_text(text, encoding="utf-8")
        return self.call(f"study report {self.path}")

    def look(self, text=SMALL):
        """Return the rows of ``study run --dry-run`` by model and task, and the line below."""
        said = self.run(text, more="--dry-run").out
        _, _, *lines, below = said.splitlines()
        rows = {}
        for line in filter(str.strip, lines):
            model, task, state, questions, stored = re.split(r"\s{2,}", line.strip())
            rows[model, task] = {"state": state, "questions": questions, "stored": stored}
        return rows, below

    def states(self, text=SMALL):
        return {names: row["state"] for names, row in self.look(text)[0].items()}

    def finished(self, text=SMALL):
        return [row["state"] == "finished" for row in self.look(text)[0].values()]

    def table(self, model, task):
        return self.folder / "runs" / f"{task}--{model}.parquet"

    def n_stored(self):
        with AnswerStore(self.folder / "answers.sqlite") as store:
            return len(store)


@pytest.fixture
def study(run, tmp_path):
    return Study(run, tmp_path)


@pytest.fixture(scope="module")
def asked_once(tmp_path_factory):
    from coherence.cli.main import main

    place = tmp_path_factory.mktemp("asked")
    (place / "study.toml").write_text(SMALL, encoding="utf-8")
    assert main(["study", "run", str(place / "study.toml"), "--no-report"]) == 0
    return place / "study"


@pytest.fixture
def asked(study, asked_once):
    """Return the small study, asked and not reported."""
    shutil.copytree(asked_once, study.folder)
    return study


def test_what_is_counted_before_is_what_is_asked(study):
    rows, below = study.look()
    assert list(rows) == UNITS
    assert [int(row["questions"]) for row in rows.values()] == [48, 40, 48, 40]
    assert {(row["state"], row["stored"]) for row in rows.values()} == {("not begun", "0")}
    assert below == "176 answers to ask"
    assert not study.folder.exists()
    study.run()
    assert study.n_stored() == 176
    rows, below = study.look()
    assert [int(row["stored"]) for row in rows.values()] == [48, 40, 48, 40]
    assert below == "0 answers to ask"


@pytest.mark.lengthy
def test_what_is_finished_is_not_asked_again(asked):
    n_stored = asked.n_stored()
    assert "0 finished now, 4 finished before" in asked.run().err
    asked.table("leaky", "asia").unlink()
    # A lost table comes from the store.
    assert "0 finished now, 4 finished before" in asked.run().err
    assert asked.table("leaky", "asia").exists()
    # Only what a change touches is made again.
    for old, new, finished in (
        ("contexts = 10", "contexts = 11", [True, False, True, False]),
        ("sufficiency", "calibration", [True] * 4),
        ("reps = 2", "reps = 3", [False] * 4),
    ):
        assert asked.finished(SMALL.replace(old, new)) == finished
    third = SMALL.replace("[[tasks]]", '[[models]]\nagent = "noisy"\n[[tasks]]', 1)
    assert "2 finished now, 4 finished before" in asked.run(third).err
    assert asked.n_stored() == n_stored * 3 / 2
    # Tables bear the names of the file and no times, and all models have the same cases.
    runs = pd.read_parquet(asked.table("steady", "cancer__few"))
    assert (set(runs["model"]), set(runs["task"])) == ({"steady"}, {"cancer, few"})
    assert runs["context"].nunique() == 10
    assert "created" not in runs
    first, second = (pd.read_parquet(asked.table(model, "asia")) for model in ("leaky", "steady"))
    assert first["context"].tolist() == second["context"].tolist()


def served(address, more=""):
    return (
        f'{TINY}[[models]]\nmodel="m"\nserver="{address}"\n{more}\n[[tasks]]\ntask="asia"\n'
        '[[tasks]]\ntask="cancer"\n'
    )


def test_a_model_that_cannot_be_loaded_or_is_gone_stops_only_itself(study):
    fake = Fake(lambda body, n: answer("fine") if n < 3 else (_ for _ in ()).throw(OSError))
    with serving(fake) as address:
        text = served(address, "timeout=1")
        text += '[[models]]\nmodel="nowhere"\n[[models]]\nagent="leaky"\n'
        said = study.run(text, status=1).err
    for model in ("m", "nowhere"):
        assert f"not finished: {model} on asia; {model} on cancer" in said
    assert "nowhere on cancer: model must be a folder" in said
    assert "2 finished now" in said


@pytest.mark.lengthy
def test_results_are_those_of_the_tables_and_links_lead_somewhere(asked):
    said = asked.report()
    assert "not finished" not in said.err
    assert "choice at equal belief" in said.out
    for name in ("report/report.html", "compare/compare.html", "paper/paper.md"):
        assert (asked.folder / name).is_file()
    paths = sorted((asked.folder / "runs").glob("*.parquet"))
    runs = pd.concat([pd.read_parquet(path) for path in paths], ignore_index=True)
    expected = analyze(runs, checks=["sufficiency"], rng=0).results
    results = pd.read_parquet(asked.folder / "report" / "results.parquet")
    pd.testing.assert_frame_equal(results, expected, check_dtype=False)
    assert len(results) == 4
    compared = read_exactly(asked.folder / "compare" / "differences.csv")
    expected = compare(runs, rng=0).differences
    assert compared["difference"].tolist() == pytest.approx(
        expected["difference"].tolist(), nan_ok=True
    )
