import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import coherence
from coherence.cli.main import main

ROOT = Path(__file__).parents[3]
SMALL = [
    "--where",
    "scenario=coins",
    "--where",
    "variant=single",
    "--where",
    "n=2,3",
    "--threads",
    "1",
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two random models with all letters and digits in their vocabulary.

    Their beliefs are nonsense, but they have some.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    letters = {
        symbol: number
        for number, symbol in enumerate(["<end>", *sorted(pre_tokenizers.ByteLevel.alphabet())])
    }
    tokenizer = Tokenizer(models.BPE(vocab=letters, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    sizes = {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
    }
    folders_by_name = {}
    for name, seed, template in (
        ("base", 0, None),
        ("instruct", 1, "{% for m in messages %}{{ m['content'] }}{% endfor %} Reply:"),
    ):
        folder = tmp_path_factory.mktemp("models") / name
        fast = PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, eos_token="<end>", padding_side="left"
        )
        fast.chat_template = template
        torch.manual_seed(seed)
        config = LlamaConfig(
            vocab_size=len(letters), max_position_embeddings=512, eos_token_id=0, **sizes
        )
        LlamaForCausalLM(config).save_pretrained(folder)
        fast.save_pretrained(folder)
        folders_by_name[name] = str(folder)
    return folders_by_name


def test_from_a_model_folder_to_the_verdict(folders, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["reveal", "--model", folders["base"], "--out", str(out), *SMALL]) == 0
    printed = capsys.readouterr()
    assert "2 coins, bias 3x, single" in printed.out
    assert "prompt_consistency:story" in printed.out  # the verdict of the checks
    assert "coins, stated error" in printed.out
    (line,) = [line for line in printed.out.splitlines() if line.startswith("base   ")][-1:]
    assert line.split()[-5:-3] == ["16", "0"]  # bets, of which none is unread
    # Random weights hardly ever say a letter: the answer mass is in the table, and a line warns of
    # it.
    errors = pd.read_csv(out / "stated_errors.csv")
    assert errors["answer_mass"].between(0, 0.5).all()
    assert "shares of that little: no belief" in printed.out
    runs = coherence.read_runs(out / "runs.parquet")  # valid, or this raises
    assert set(runs["task"]) == {"coins"}
    assert (runs["status"] == "ok").all()
    names = {
        "beliefs.csv",
        "scores.csv",
        "summary.csv",
        "table.csv",
        "stated.csv",
        "stated_errors.csv",
        "bets.csv",
        "outcomes.png",
        "report.html",
        "results.json",
    }
    assert names <= {path.name for path in out.iterdir()}
    checks = {
        result["check"]
        for unit in json.loads((out / "results.json").read_text())["units"]
        for result in unit["results"]
    }
    assert {"iterated_expectation", "residual_covariance"} <= checks
    # Every text is in the store: the same command asks nothing and finds the same.
    first = pd.read_csv(out / "scores.csv")
    assert (
        main(["reveal", "--model", folders["base"], "--out", str(out), "--only-revealed", *SMALL])
        == 0
    )
    assert "base, beliefs: 36 of 36 answers" in capsys.readouterr().err
    pd.testing.assert_frame_equal(pd.read_csv(out / "scores.csv"), first)


@pytest.mark.lengthy
def test_base_and_instruct_side_by_side(folders, tmp_path, capsys):
    out = tmp_path / "out"
    options = [
        "--base",
        folders["base"],
        "--instruct",
        folders["instruct"],
        "--out",
        str(out),
        "--where",
        "variant=single,independent",
        "--where",
        "scenario=choice,preference",
    ]
    assert main(["reveal", *options, "--labels", "Up/In", "--threads", "1"]) == 0
    table = pd.read_csv(out / "table.csv")
    assert {"base", "instruct", "instruct stated"} <= set(table.columns)
    assert "base stated" not in table.columns
    assert table["instruct stated"].between(0, 1).all()
    assert (table["base"] != table["instruct"]).all()
    orders = pd.read_csv(out / "orders.csv")
    assert set(orders["option"]) == {"In"}
    assert "order: position" in capsys.readouterr().out
    assert {"previous.png", "orders.png"} <= {path.name for path in out.iterdir()}


@pytest.mark.lengthy
def test_several_models_side_by_side(folders, tmp_path, capsys):
    out = tmp_path / "out"
    options = [
        *f"--model {folders['base']} --model {folders['instruct']} --out {out}".split(),
        *SMALL,
    ]
    assert main(["reveal", *options]) == 0
    table = pd.read_csv(out / "table.csv")
    assert {"base", "base stated", "instruct", "instruct stated", "instruct stated mass"} <= set(
        table.columns
    )
    runs = coherence.read_runs(out / "runs.parquet")
    assert set(runs["model"]) == {"base", "instruct"}
    printed = capsys.readouterr().out
    assert re.search("settings +base +instruct", printed)
    # Asked alone, a model says the same: neither model's answers reach the other.
    alone = ["reveal", "--model", folders["instruct"], "--out", str(tmp_path / "alone")]
    assert main([*alone, "--only-revealed", *SMALL]) == 0
    assert pd.read_csv(tmp_path / "alone" / "table.csv")["instruct"].tolist() == pytest.approx(
        table["instruct"].tolist()
    )


@pytest.mark.lengthy
def test_one_model_is_in_memory_at_a_time(folders, tmp_path, monkeypatch):
    import gc
    import weakref

    import elicitation.models.local.causal as causal

    alive, load = [], causal.load_causal_model

    def watched(*arguments, **options):
        gc.collect()
        assert not any(reference() for reference in alive)
        model = load(*arguments, **options)
        alive.append(weakref.ref(model.network))
        return model

    monkeypatch.setattr(causal, "load_causal_model", watched)
    options = [
        "--model",
        folders["base"],
        "--model",
        folders["instruct"],
        "--out",
        str(tmp_path / "o"),
        "--only-revealed",
    ]
    assert (
        main(["reveal", *options, "--where", "scenario=choice", "--where", "variant=single"]) == 0
    )
    assert len(alive) == 2


def test_one_model_is_asked_twice_under_two_names_alone(folders, tmp_path, capsys):
    again = tmp_path / "again"
    again.mkdir()
    (again / "base").symlink_to(folders["base"])
    assert (
        main(f"reveal --model {folders['base']} --model {again}/base --out {tmp_path}/o".split())
        == 2
    )
    assert "base is named twice. Leave one of them out" in capsys.readouterr().err
    (again / "other").symlink_to(folders["base"])
    options = f"--model {folders['base']} --model {again}/other --out {tmp_path}/o".split()
    options += ["--only-revealed", "--where", "scenario=choice", "--where", "variant=single"]
    assert main(["reveal", *options]) == 0
    assert {"base", "other"} <= set(pd.read_csv(tmp_path / "o" / "table.csv").columns)


DICE = ["--where", "scenario=dice", "--where", "n=2,3", "--where", "variant=single,observation"]


def believer(questions, *, accepts):
    """Fill in the whole battery as somebody who believes the truth and bets by it."""
    from elicitation import standard_grid
    from elicitation.batteries.revealed.questions import battery
    from elicitation.batteries.revealed.scenarios.grid import select

    settings = select(
        standard_grid(),
        {"scenario": ["dice"], "n": ["2", "3"], "variant": ["single", "observation"]},
    )
    asked = {question.name: question for question in battery(settings)}

    def number(row):
        setting = asked[row.question].setting
        if row.kind == "belief":
            return float(setting.truth[row.outcome])
        if row.kind == "stated":
            return float(row.option == str(setting.truth[setting.asked]))
        share = accepts(float(setting.probability(setting.event)))
        return share if row.option == "Yes" else 1 - share

    return questions.assign(probability=[number(row) for row in questions.itertuples()])


@pytest.mark.slow
@pytest.mark.parametrize("who", ["coherent", "reversed"])
def test_the_whole_battery_from_elsewhere(who, tmp_path, capsys):
    """Who bets on what is believed is told from who bets against it.

    Breaks also if any kind of answer is not scored.
    """
    questions, filled, out = tmp_path / "q.csv", tmp_path / "somebody.csv", tmp_path / "out"
    assert main(["reveal", "--questions", str(questions), *DICE]) == 0
    assert "280 stated" in capsys.readouterr().err
    table = pd.read_csv(questions, dtype={"outcome": str, "option": str})
    accepts = {"coherent": lambda p: 0.1 + 0.8 * p, "reversed": lambda p: 0.9 - 0.8 * p}[who]
    believer(table, accepts=accepts).to_csv(filled, index=False)
    assert main(["reveal", "--answers", str(filled), "--out", str(out), "--seed", "1", *DICE]) == 0
    assert pd.read_csv(out / "scores.csv")["l1"].max() < 1e-9
    assert pd.read_csv(out / "stated_errors.csv")["stated_error"].max() == 0
    bets = pd.read_csv(out / "bets.csv")
    assert ((bets["share"] > 0.5) == (bets["truth"] > 0.5)).all() == (who == "coherent")
    assert {"report.html", "results.json", "runs.parquet"} <= {path.name for path in out.iterdir()}
    (unit,) = json.loads((out / "results.json").read_text())["units"]
    pvalues = {
        result["check"]: result["pvalue"]
        for result in unit["results"]
        if result["pvalue"] is not None
    }
    assert {"residual_covariance", "cmi", "predictive_gain", "monotone_choice:yes/no"} <= set(
        pvalues
    )
    # The gaps of somebody who is exact are rounding errors, whose signs mean nothing.
    gap = next(
        result["statistic"]
        for result in unit["results"]
        if result["check"] == "iterated_expectation"
    )
    assert abs(gap) < 1e-9
    rejected = {
        check
        for check, pvalue in pvalues.items()
        if pvalue < 0.05 and check != "iterated_expectation"
    }
    assert rejected == (set() if who == "coherent" else {"monotone_choice:yes/no"})
    # What is asked for alone is all that is looked at.
    assert (
        main([*f"reveal --answers {filled} --out {tmp_path}/first --only-revealed".split(), *DICE])
        == 0
    )
    assert {"stated.csv", "bets.csv", "runs.parquet"}.isdisjoint(
        path.name for path in (tmp_path / "first").iterdir()
    )


def test_all_faults_of_answers_at_once(tmp_path, capsys):
    questions = tmp_path / "q.csv"
    assert main(["reveal", "--questions", str(questions), "--where", "scenario=choice"]) == 0
    table = pd.read_csv(questions)
    table.assign(
        probability=30,
        question=table["question"].replace("choice/single/2 options | standard", "mine"),
    ).to_csv(tmp_path / "a.csv", index=False)
    capsys.readouterr()
    assert (
        main(
            f"reveal --answers {tmp_path}/a.csv --out {tmp_path}/o --where scenario=choice".split()
        )
        == 2
    )
    error = capsys.readouterr().err
    assert "has 2 errors" in error
    assert "Divide percentages by 100" in error
    assert "(row 0, 1, " in error
    assert [line[:4] for line in error.splitlines()[1:]] == ["  - "] * 2


def test_stated_answers_alone_are_scored(tmp_path, capsys):
    questions, out = tmp_path / "q.csv", tmp_path / "out"
    where = ["--where", "scenario=choice", "--where", "n=2"]
    assert main(["reveal", "--questions", str(questions), *where]) == 0
    table = pd.read_csv(questions)
    table[table["kind"] == "stated"].assign(probability=0.1).to_csv(tmp_path / "a.csv", index=False)
    assert main(["reveal", "--answers", str(tmp_path / "a.csv"), "--out", str(out), *where]) == 0
    assert pd.read_csv(out / "stated_errors.csv")["stated_error"].tolist() == pytest.approx(
        [0.75] * 3
    )
    assert "is a letter at all is 0.4 (median)" in capsys.readouterr().out
    assert not (out / "scores.csv").exists()


@pytest.mark.lengthy
def test_distances_are_printed_although_a_check_fails(tmp_path, capsys, monkeypatch):
    import coherence.analysis.analyze

    def failing(*_, **__):
        raise RuntimeError("a check")

    questions, out = tmp_path / "q.csv", tmp_path / "out"
    assert main(["reveal", "--questions", str(questions), *DICE]) == 0
    believer(
        pd.read_csv(questions, dtype={"outcome": str, "option": str}), accepts=lambda p: p
    ).to_csv(tmp_path / "a.csv", index=False)
    monkeypatch.setattr(coherence.analysis.analyze, "analyze", failing)
    with pytest.raises(RuntimeError, match="a check"):
        main(["reveal", "--answers", str(tmp_path / "a.csv"), "--out", str(out), *DICE])
    assert re.search("bets +unread +taken", capsys.readouterr().out)
    assert {"scores.csv", "bets.csv", "runs.parquet"} <= {path.name for path in out.iterdir()}


@pytest.mark.lengthy
def test_answers_from_elsewhere_need_no_model(tmp_path):
    """Breaks if torch is loaded on the way: scoring a table must work without the extra."""
    questions, out = tmp_path / "q.csv", tmp_path / "out"
    where = ["--faces", "6", "--where", "scenario=dice", "--where", "variant=single"]
    assert main(["reveal", "--questions", str(questions), "--only-revealed", *where]) == 0
    table = pd.read_csv(questions)
    assert table["setting"].nunique() == 3
    n_outcomes = table.groupby(["setting", "wording"])["outcome"].transform("size")
    table.assign(probability=1 / n_outcomes).to_csv(tmp_path / "uniform.csv", index=False)
    arguments = ["reveal", "--answers", str(tmp_path / "uniform.csv"), "--out", str(out), *where]
    code = (
        f"import sys; from coherence.cli.main import main; status = main({arguments!r}); "
        "sys.exit(status or 10 * ('torch' in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    scores = pd.read_csv(out / "scores.csv").groupby("group")["chebyshev"].mean()
    assert scores["1 die, single"] == pytest.approx(0)
    assert scores["2 dice, single"] == pytest.approx(1 / 6 - 1 / 11)
    assert not (out / "runs.parquet").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "needed: --model DIR"),
        (["--base", "x", "--out", "o"], "both --base DIR and --instruct DIR"),
        (["--model", "x", "--answers", "y", "--out", "o"], "only one of these"),
        (["--model", "x"], "--out DIR is missing"),
        (["--model", "x", "--out", "o", "--reps", "0"], "--reps must be at least 1"),
        (["--model", "x", "--out", "o", "--where", "faces"], "--where needs NAME=VALUE"),
        (["--model", "x", "--out", "o", "--where", "faces=7"], "no setting has faces '7'"),
        (["--model", "x", "--out", "o", "--faces", "six"], "--faces must be whole numbers"),
        (
            ["--model", "x", "--out", "o", "--faces", "101"],
            "faces from 2 to 100; received 1 and 101",
        ),
        (["--model", ".", "--out", "taken/o"], "model folder . lacks config.json"),
        (
            ["--questions", "q.csv", "--model", "x", "--out", "o"],
            "so that --model, --out has no meaning beside it",
        ),
        (["--model", "x", "--out", "o", "--labels", "Left"], "two labels with a slash"),
        (["--model", "x", "--out", "o"], "x is not a folder"),
        (["--answers", "nowhere.csv", "--out", "o"], "nowhere.csv: no such file"),
        (
            ["--questions", "nowhere/q.csv", "--where", "scenario=choice"],
            "--questions must be a file that can be written",
        ),
    ],
)
def test_wrong_usage_is_one_line_and_exit_two(options, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("", encoding="utf-8")
    assert main(["reveal", *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_model_that_is_not_there_leaves_nothing_behind(tmp_path):
    assert main(["reveal", "--model", str(tmp_path / "x"), "--out", str(tmp_path / "o")]) == 2
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_keeps_what_was_read(folders, tmp_path, monkeypatch, capsys):
    import elicitation.batteries.revealed.questions as tables

    def interrupted(model, settings, store, **_):
        reveal(model, settings[:1], store)
        raise KeyboardInterrupt

    reveal = tables.reveal
    monkeypatch.setattr(tables, "reveal", interrupted)
    assert main(["reveal", "--model", folders["base"], "--out", str(tmp_path / "o"), *SMALL]) == 130
    assert "3 answers are kept" in capsys.readouterr().err


@pytest.mark.lengthy
def test_the_lesson_runs_and_says_what_is_known(tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "revealed_lesson.py"), "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "outcomes.png").exists()
    table = pd.read_csv(tmp_path / "lesson.csv").set_index("believer")
    assert table.loc["exact", "l1"] == pytest.approx(0)
    assert table.loc["point mass", "l1_relative"] == pytest.approx(1)
    assert table["pull"].idxmin() == "gambler"
    assert table["position"].idxmax() == "first-outcome lover"
    assert all(name in done.stdout for name in table.index)
