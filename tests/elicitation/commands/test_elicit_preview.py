"""Looking ahead: breaks if a session costs or lasts more than was said before it."""

import pytest

from coherence.cli.main import main
from elicitation import Answer, AnswerStore, Design, plan_own_questions, preview, run_plan


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
    said = dry_run(table, capsys, "--set", "price_in=2", "--set", "price_out=8")
    n_texts = float(said["tokens"].split()[1].replace(",", ""))
    assert said["price"] == f"about {n_texts * 2e-6:.2f} for texts, at most 0.80 for answers"
    assert "price" not in dry_run(table, capsys)


def test_the_system_message_goes_with_every_question(table, capsys):
    """Breaks if only the questions are paid for, or a word of three bytes counts as one letter."""
    plain, spoken = (
        float(dry_run(table, capsys, *words)["tokens"].split()[1].replace(",", ""))
        for words in ((), ("--set", f"system={'請回答' * 100}"))
    )
    n_asked = int(dry_run(table, capsys)["to"].split()[-1])
    assert spoken - plain == pytest.approx(n_asked * 900 / 4, abs=1)


def test_a_time_is_told_from_answers_alone(table, capsys):
    assert dry_run(table, capsys)["time"] == "not known before the store has answers of this model"


def test_answers_in_the_store_say_how_long_others_will_be(table, tmp_path, capsys):
    from elicitation import load_questions

    design = Design(reps=5, prompts=("standard",), max_new_tokens=100)
    plan = plan_own_questions(load_questions(table), design, task="days")
    path = tmp_path / "runs.csv.answers.sqlite"
    with AnswerStore(path) as store:
        run_plan(Talker(), plan, store)
    said = dry_run(table, capsys, "--set", "price_out=10")
    assert said["in"] == "store   500"
    long = "if they are as long as those in the store"
    assert said["tokens"].endswith(f"50,000 in answers, 5,000 {long}")
    assert said["price"].endswith("0.05 if answers are as long as those in the store")
    design = Design(reps=6, prompts=("standard",), max_new_tokens=100)
    more = plan_own_questions(load_questions(table), design)
    outlook = preview(more, model_name="m", store=path)
    assert (outlook.n_left, outlook.n_expected_tokens) == (100, 1000.0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--set", "price_in=1"], "price_in belongs to --dry-run"),
        (["--set", "price_out=-1", "--dry-run"], "price_out must be at least 0"),
        (["--set", "price_out=nan", "--dry-run"], "price_out must be at least 0"),
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
