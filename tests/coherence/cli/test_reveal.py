import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import coherence
from coherence.cli.main import main

ROOT = Path(__file__).parents[3]
SMALL = ["--where", "scenario=coins", "--where", "variant=single", "--where", "n=2,3", "--threads", "1"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two random models with all letters and digits in their vocabulary: their beliefs are nonsense, but they have some."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    letters = {symbol: number for number, symbol in enumerate(["<end>", *sorted(pre_tokenizers.ByteLevel.alphabet())])}
    tokenizer = Tokenizer(models.BPE(vocab=letters, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2}
    found = {}
    for name, seed, template in (("base", 0, None), ("instruct", 1, "{% for m in messages %}{{ m['content'] }}{% endfor %} Reply:")):
        folder = tmp_path_factory.mktemp("models") / name
        fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>", padding_side="left")
        fast.chat_template = template
        torch.manual_seed(seed)
        config = LlamaConfig(vocab_size=len(letters), max_position_embeddings=512, eos_token_id=0, **sizes)
        LlamaForCausalLM(config).save_pretrained(folder)
        fast.save_pretrained(folder)
        found[name] = str(folder)
    return found


def test_from_a_model_folder_to_the_verdict(folders, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["reveal", "--model", folders["base"], "--out", str(out), *SMALL]) == 0
    printed = capsys.readouterr()
    assert "coins: 2 coins, bias 3x, single" in printed.out
    assert "prompt_consistency:story" in printed.out  # the verdict of the checks
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
        "outcomes.png",
        "report.html",
        "results.json",
    }
    assert names <= {path.name for path in out.iterdir()}
    checks = {result["check"] for unit in json.loads((out / "results.json").read_text())["units"] for result in unit["results"]}
    assert {"iterated_expectation", "residual_covariance"} <= checks
    # Every text is in the store: the same command asks nothing and finds the same.
    first = pd.read_csv(out / "scores.csv")
    assert main(["reveal", "--model", folders["base"], "--out", str(out), "--only-revealed", *SMALL]) == 0
    assert "beliefs: 36 of 36 texts" in capsys.readouterr().err
    pd.testing.assert_frame_equal(pd.read_csv(out / "scores.csv"), first)


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
    assert "the order of options: position" in capsys.readouterr().out
    assert {"previous.png", "orders.png"} <= {path.name for path in out.iterdir()}


def test_answers_from_elsewhere_need_no_model(tmp_path):
    """Breaks if torch is loaded on the way: scoring a table must work without the extra."""
    questions, out = tmp_path / "q.csv", tmp_path / "out"
    where = ["--faces", "6", "--where", "scenario=dice", "--where", "variant=single"]
    assert main(["reveal", "--questions", str(questions), *where]) == 0
    table = pd.read_csv(questions)
    assert table["setting"].nunique() == 3
    n_outcomes = table.groupby(["setting", "wording"])["outcome"].transform("size")
    table.assign(probability=1 / n_outcomes).to_csv(tmp_path / "uniform.csv", index=False)
    arguments = ["reveal", "--answers", str(tmp_path / "uniform.csv"), "--out", str(out), *where]
    code = f"import sys; from coherence.cli.main import main; status = main({arguments!r}); sys.exit(status or 10 * ('torch' in sys.modules))"
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
        (["--model", "x", "--out", "o", "--labels", "Left"], "two labels with a slash"),
        (["--model", "x", "--out", "o"], "x is not a folder"),
        (["--answers", "nowhere.csv", "--out", "o"], "cannot be read as CSV"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_two(options, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["reveal", *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_an_interruption_keeps_what_was_read(folders, tmp_path, monkeypatch, capsys):
    import elicitation.scenarios.tables as tables

    def interrupted(model, settings, store, **_):
        reveal(model, settings[:1], store)
        raise KeyboardInterrupt

    reveal = tables.reveal
    monkeypatch.setattr(tables, "reveal", interrupted)
    assert main(["reveal", "--model", folders["base"], "--out", str(tmp_path / "o"), *SMALL]) == 130
    assert "3 answers are kept" in capsys.readouterr().err


def test_help_loads_nothing_heavy():
    code = (
        "import sys, contextlib, io\nfrom coherence.cli.main import main\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n    main(['reveal', '--help'])\n"
        "print([name for name in ('numpy', 'pandas', 'torch', 'matplotlib') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_lesson_runs_and_says_what_is_known(tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "revealed_lesson.py"), "--out", str(tmp_path)],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "outcomes.png").exists()
    table = pd.read_csv(tmp_path / "lesson.csv").set_index("believer")
    assert table.loc["exact", "l1"] == pytest.approx(0)
    assert table.loc["point mass", "l1_relative"] == pytest.approx(1)
    assert table["pull"].idxmin() == "gambler"
    assert table["position"].idxmax() == "first-outcome lover"
    assert all(name in done.stdout for name in table.index)
