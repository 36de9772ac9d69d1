"""Small files in the shapes of other programs, each by the command that its owner types first:
breaks if the score is another than pandas gives, or what a refusal proposes is refused too."""

import json
import re
import shlex

import numpy as np
import pandas as pd
import pytest

N = 60
CASE = np.arange(N)
P = (CASE * 37 % 97 / 97).round(2)
TRUE = (CASE * 7 % 11 < 11 * P).astype(int)
GOLD, SAID = (np.array(list("ABCD"))[(CASE + odd) % 4] for odd in (0, TRUE == 0))
LONG = 9_007_199_256_442_240 + CASE  # more digits than a float holds
PERCENT = (100 * P).round().astype(int)
FEW = CASE < 4
NONE = np.where(FEW, -99, PERCENT)
FILE = {"question": [f"Q{case}" for case in CASE], "sure": P, "does": SAID, "right": TRUE}
WORDS = "--belief sure --action does --truth right --context question"
PAIR = "--belief sure --context question --prediction does --gold gold"
READ = [
    ({"gold": GOLD}, PAIR, "30 of 60 predictions right"),
    ({"gold": LONG, "does": LONG + (TRUE == 0)}, PAIR, "30 of 60 predictions right"),
    ({"sure": (2 * P - 1).round(2)}, f"{WORDS} --scale=-1..1", "-1 as 0, 0 as 0.5, 1 as 1"),
]
REFUSED = [
    (
        {"right": np.where(FEW, "void", np.where(TRUE, "yes", "no"))},
        "",
        "4 of",
        "--where '.*?'",
        "",
    ),
    ({"right": np.where(FEW, P / 2 + 0.1, TRUE)}, "", "different", "--where '.*?'", ""),
    ({"question": CASE // 4}, "", "varies", "--group question", "--context question"),
    ({"sure": 2 * PERCENT - 100}, "--percent", "-100", r"--scale=\S+", "--percent"),
    ({"sure": PERCENT / 10}, "", "0..10", "--scale 0..10", ""),
    ({"sure": np.where(FEW, -99, P)}, "", "is -99.0 (rows 0, 1", "--missing=-99", ""),
    ({"sure": NONE}, "--percent", "the first is -99 (rows 0, 1", "--missing=-99", ""),
    ({"sure": NONE}, "--scale 0..100", "the first is -99 (rows 0, 1", "--missing=-99", ""),
    ({"sure": [f"{each}%" for each in NONE]}, "", "is -99% (rows 0, 1", "--missing=-99%", ""),
    ({"right": GOLD}, "", "'A', 'B'", r"--prediction .*?(?= \()", "--action does --truth right"),
]


@pytest.fixture
def analyzed(run, tmp_path):
    def call(columns, words):
        path, out = tmp_path / "mine.csv", tmp_path / "out.json"
        pd.DataFrame(FILE | columns).to_csv(path, index=False)
        typed = [*shlex.split(words), "--json", out, "--checks", "calibration"]
        status, _, message = run("analyze", path, *typed)
        return (message, None) if status else ("", json.loads(out.read_text())["evaluations"][0])

    return call


def brier_of(evaluation):
    estimates = {each["check"]: each["estimate"] for each in evaluation["results"]}
    return estimates["calibration:brier"]


@pytest.mark.parametrize(("columns", "words", "said"), READ)
def test_a_file_is_read_as_its_owner_means_it(columns, words, said, analyzed):
    _, evaluation = analyzed(columns, words)
    assert said in " ".join(note["text"] for note in evaluation["notes"])
    assert brier_of(evaluation) == pytest.approx(((P - TRUE) ** 2).mean())


@pytest.mark.parametrize(("columns", "words", "said", "then", "in_place_of"), REFUSED)
def test_what_a_refusal_proposes_is_read(columns, words, said, then, in_place_of, analyzed):
    message, _ = analyzed(columns, f"{WORDS} {words}")
    assert said in message
    typed = re.search(then, message)[0]
    _, evaluation = analyzed(columns, f"{WORDS} {words} {typed}".replace(in_place_of, ""))
    left_out = FEW & typed.startswith(("--missing", "--where"))
    assert brier_of(evaluation) == pytest.approx(((P - TRUE) ** 2)[~left_out].mean())
