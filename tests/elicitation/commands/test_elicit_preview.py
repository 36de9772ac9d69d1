"""Looking ahead: breaks if a session costs or lasts more than was said before it."""

import pytest

from coherence.cli.main import main
from elicitation.models.base import Answer
from elicitation.session.overview import Pacing, preview
from elicitation.session.plan import Design, plan_own_questions
from elicitation.session.session import run_plan
from elicitation.store import AnswerStore


class Talker:
    name = fingerprint = "m"

    def generate(self, requests):
        return [Answer("No: 0.4\nYes: 0.6", n_tokens=10) for _ in requests]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "days.csv"
    rows = "".join(f"{n},Will it rain on day {n:03}?\n" for n in range(100))
    path.write_text(f"context,belief_question\n{rows}", encoding="utf-8")
    return path


def dry_run(table, capsys, *words):
    out = ["--out", str(table.with_name("runs.csv")), "--max-new-tokens", "100", "--dry-run"]
    design = ["--prompts", "standard", "--reps", "10", "--model", "m"]
    assert main(["elicit", "--questions", str(table), *design, *out, *words]) == 0
    return dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())


def test_prices_make_money_of_tokens(table, capsys):
    said = dry_run(table, capsys, "--price-in", "2", "--price-out", "8")
    n_texts = float(said["tokens"].split()[1].replace(",", ""))
    assert said["price"] == (
        f"at most {n_texts * 2e-6 + 0.8:.2f} ({n_texts * 2e-6:.2f} for texts, 0.80 for answers)"
    )
    assert "price" not in dry_run(table, capsys)


def test_time_follows_from_how_many_are_asked_at_once(table, capsys):
    def seconds(*words):
        number, unit = dry_run(table, capsys, *words)["time"].split()[1:3]
        return float(number) * {"seconds": 1, "minutes": 60, "hours": 3600}[unit.rstrip(",")]

    one, two = ["--server", "http://a"], ["--server", "http://a,http://b"]
    # 1000 answers of .5 s and 100 tokens at 50 a second.
    assert seconds(*one, "--concurrency", "1") == pytest.approx(2500, rel=0.03)
    assert seconds(*one, "--concurrency", "50") == pytest.approx(50, rel=0.03)
    assert seconds(*two, "--concurrency", "25") == pytest.approx(50, rel=0.03)
    # Limits hold whatever is under way, and for each server.
    assert seconds(*one, "--concurrency", "50", "--requests-per-minute", "100") == 600
    assert seconds(*two, "--concurrency", "50", "--requests-per-minute", "100") == 300
    said = dry_run(table, capsys, *one, "--tokens-per-minute", "1000")
    assert "at the limits per minute" in said["time"]


def test_answers_in_the_store_say_how_long_others_will_be(table, tmp_path, capsys):
    from elicitation.session.custom import load_questions

    design = Design(reps=5, prompts=("standard",), max_new_tokens=100)
    plan = plan_own_questions(load_questions(table), design, task="days")
    path = tmp_path / "runs.csv.answers.sqlite"
    with AnswerStore(path) as store:
        run_plan(Talker(), plan, store)
    said = dry_run(table, capsys, "--price-out", "10")
    assert said["in"] == "store   500"
    long = "if they are as long as those in the store"
    assert said["tokens"].endswith(f"50,000 in answers, 5,000 {long}")
    assert said["price"].endswith("0.05 if answers are as long as those in the store")
    design = Design(reps=6, prompts=("standard",), max_new_tokens=100)
    more = plan_own_questions(load_questions(table), design)
    outlook = preview(more, model_name="m", store=path, pacing=Pacing(8))
    assert (outlook.n_left, outlook.n_expected_tokens) == (100, 1000.0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--price-in", "1"], "--price-in belongs to --dry-run"),
        (["--price-out", "-1", "--dry-run"], "--price-out must be at least 0"),
        (["--price-out", "nan", "--dry-run"], "--price-out must be at least 0"),
    ],
)
def test_prices_that_are_none(table, capsys, words, message):
    out = str(table.with_name("runs.csv"))
    assert main(["elicit", "--questions", str(table), "--model", "m", "--out", out, *words]) == 2
    assert message in capsys.readouterr().err


def test_few_contexts_are_told_before_anything_is_asked(tmp_path, capsys):
    words = ["elicit", "--task", "asia", "--agent", "leaky", "--out", str(tmp_path / "r.csv")]
    assert main([*words, "--contexts", "9", "--dry-run"]) == 0
    assert "9 contexts are fewer than 10" in capsys.readouterr().err
    assert main([*words, "--contexts", "10", "--dry-run"]) == 0
    assert "fewer than 10" not in capsys.readouterr().err
