"""``coherence beliefs``: one page, and a reason wherever a belief is not identified."""

import json
import shlex

import pytest

from coherence import read_runs


@pytest.fixture
def beliefs(run, tmp_path):
    def ask(words):
        done = run(f"beliefs --task asia --out {tmp_path / 'out'} {words}")
        path = tmp_path / "out" / "beliefs.json"
        told = json.loads(path.read_text("utf-8"))["beliefs"] if path.is_file() else []
        return done, {row["belief"]: row for row in told}

    return ask


def test_who_acts_on_more_than_it_says_is_nearer_to_the_truth_in_what_it_acts_on(beliefs, tmp_path):
    done, told = beliefs("--agent leaky --contexts 30")
    assert told["said"]["distance_low"] > 10 > told["acted on"]["distance_high"]
    assert told["acted on"]["beyond"].startswith("9")  # percent of the exact posterior
    assert told["represented"]["distance"] is None
    assert "local models only" in told["represented"]["note"]
    assert "represented" in done.out
    assert " 0 reused" in done.err
    again, _ = beliefs("--agent leaky --contexts 30")
    assert " 0 answers asked" in again.err
    page = (tmp_path / "out" / "beliefs.html").read_text("utf-8")
    assert page.count("<svg") == 2
    runs = read_runs(tmp_path / "out" / "runs.parquet")
    assert runs["level"].isna().sum() == 30  # an ordinary row of belief and action for each case


def test_who_does_not_answer_the_stated_chance_has_no_belief_acted_on(beliefs, model_folder):
    _, told = beliefs(f"--model {shlex.quote(str(model_folder))} --contexts 30")
    assert told["acted on"]["distance"] is None
    assert "does not answer the stated chance" in told["acted on"]["note"]
    assert told["represented"]["distance"] is None
    assert "no better than the evidence" in told["represented"]["note"]


def test_few_cases_leave_reasons_and_a_page(beliefs):
    _, told = beliefs("--agent rational --contexts 3")
    assert told["acted on"]["distance"] is None
    assert "contexts" in told["acted on"]["note"]


def test_a_look_ahead_asks_nothing_and_leaves_nothing(beliefs, tmp_path):
    done, _ = beliefs("--agent rational --contexts 20 --dry-run")
    assert "answers" in done.out
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("beliefs --task asia --agent leaky", "--out DIR is missing"),
        ("beliefs --agent leaky --out x", "needed: --task"),
        ("beliefs --task asia --out x", "needed: --model"),
        ("beliefs --task asia --agent leaky --out x --levels 1", "levels"),
    ],
)
def test_what_lacks_is_named(run, words, said):
    assert said in run(words, status=2).err


def test_the_state_of_a_network_of_your_own_can_be_named(run, tmp_path):
    tables = [f"({cause}) {odds};" for cause, odds in (("no", ".8, .1, .1"), ("yes", ".2, .3, .5"))]
    (tmp_path / "own.bif").write_text(
        "network own { }\n"
        "variable rain { type discrete [ 2 ] { no, yes }; }\n"
        "variable wet { type discrete [ 3 ] { dry, damp, soaked }; }\n"
        "probability ( rain ) { table 0.7, 0.3; }\n"
        f"probability ( wet | rain ) {{ {' '.join(tables)} }}\n",
        encoding="utf-8",
    )
    asked = f"beliefs --agent rational --task {tmp_path / 'own.bif'} --target wet --contexts 2"
    done = run(f"{asked} --out {tmp_path / 'out'}", status=2)
    assert "--positive" in done.err
    run(f"{asked} --positive soaked --out {tmp_path / 'out'}")
    assert read_runs(tmp_path / "out" / "runs.parquet")["context"].nunique() == 2
