"""``coherence beliefs``: one page, and a reason wherever a belief is not identified."""

import json

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
    done, told = beliefs("--agent leaky --contexts 30 --dry-run")
    assert "answers" in done.out
    assert not (tmp_path / "out").exists()
    done, told = beliefs("--agent leaky --contexts 30")
    assert told["said"]["distance_low"] > 10 > told["acted on"]["distance_high"]
    assert told["acted on"]["beyond"].startswith("9")  # percent of the exact posterior
    assert told["represented"]["distance"] is None
    assert "local models only" in told["represented"]["note"]
    assert " 0 reused" in done.err
    again, _ = beliefs("--agent leaky --contexts 30")
    assert " 0 answers asked" in again.err
    page = (tmp_path / "out" / "beliefs.html").read_text("utf-8")
    assert page.count("<svg") == 2
    runs = read_runs(tmp_path / "out" / "runs.parquet")
    assert runs["level"].isna().sum() == 30  # an ordinary row of belief and action for each case


MODEL = {"acted on": "answer the stated chance", "represented": "no better than the evidence"}


@pytest.mark.parametrize(
    ("who", "notes"),
    [
        pytest.param("--model {} --contexts 30", MODEL, marks=pytest.mark.lengthy),
        ("--agent rational --contexts 3", {"acted on": "contexts"}),
    ],
)
def test_a_belief_that_is_not_identified_has_a_reason_and_no_number(
    who, notes, beliefs, model_folder
):
    _, told = beliefs(who.format(model_folder))
    for belief, note in notes.items():
        assert told[belief]["distance"] is None
        assert note in told[belief]["note"]


def test_what_lacks_is_named_and_the_state_of_an_own_network_can_be(run, tmp_path):
    for words, said in (
        ("--task asia --agent leaky", "--out DIR is missing"),
        ("--agent leaky --out x", "needed: --task"),
        ("--task asia --out x", "needed: --model"),
        ("--task asia --agent leaky --out x --levels 1", "levels"),
    ):
        assert said in run(f"beliefs {words}", status=2).err
    (tmp_path / "own.bif").write_text(
        "network own { }\n"
        "variable rain { type discrete [ 2 ] { no, yes }; }\n"
        "variable wet { type discrete [ 3 ] { dry, damp, soaked }; }\n"
        "probability ( rain ) { table 0.7, 0.3; }\n"
        "probability ( wet | rain ) { (no) .8, .1, .1; (yes) .2, .3, .5; }\n",
        encoding="utf-8",
    )
    asked = f"beliefs --agent rational --task {tmp_path}/own.bif --target wet --contexts 2"
    assert "--positive" in run(f"{asked} --out {tmp_path}/out", status=2).err
    run(f"{asked} --positive soaked --out {tmp_path}/out")
    assert read_runs(tmp_path / "out" / "runs.parquet")["context"].nunique() == 2
