"""Command lines that cannot mean anything: breaks if one ends in a traceback, does not name what is
wrong, asks a model, or leaves a file."""

import shlex
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[1] / "golden"
BELIEF, ACTION, AGENT = (GOLDEN / f"inspect_{kind}.eval" for kind in ("belief", "action", "agent"))
TEXT = next(GOLDEN.glob("samples_rain_text_*.jsonl"))
FILES = {
    "own.csv": "conf,choice,y,case\n.2,no,0,a\n.8,yes,1,b\n.6,yes,1,c\n",
    "a.csv": "p,action,theta,context\n.2,no,0,a\n.8,yes,1,b\n",
    "b.csv": "p,action,theta,context\n.3,no,0,a\n.9,yes,1,b\n",
    "taken": "",
    "flips.csv": "experiment,p,answer,probability\nflip,.2,1,.2\nflip,.8,1,.8\n",
    "percent.csv": "experiment,p,answer\nflip,20,1\nflip,80,0\n",
    "q.csv": "id,belief_question,action_question,options,theta\na,Rain?,What now?,stay|go,1\n",
    "lab.toml": '[belief.number]\nform = "number"\ntext = "{description}: {question}?"\n',
}
HOSTED = "elicit --model m --server http://a --task asia --out x.csv"
ASIA = "elicit --agent leaky --task asia --out x.csv"
OWN = "analyze own.csv --belief conf --action choice --truth y --context case"
IMPORT, CALLS = (f"import {BELIEF} --out x.csv", f"import {AGENT} --out x.csv --action-from")
LINES = {
    # Tables of answers.
    f"{OWN} --seed -1": "--seed must be at least 0; received -1.",
    f"{OWN} --checks ' , '": "at least one check",
    f"{OWN} --checks cmi,monotone": "Closest name found: 'monotone_choice'",
    f"{OWN} --out own.csv": "--out must be a folder; ",
    f"{OWN} --json no/r.json": "--json must be a file in a folder",
    f"{OWN} --answers -1": "--answers must be at least 0; received -1.",
    "analyze no.csv --fail-on 'p<.05'": "names the quantity 'p', which is none",
    "compare a.csv b.csv --effects brier": "effects must be results of checks",
    "compare a.csv a.csv": "a.csv is there twice",
    # Agents and plans.
    "simulate": "the name of an agent is missing. The agents are rational",
    "simulate leeky --out x.csv": "Closest name found: 'leaky'",
    "simulate leaky": "--out FILE is missing",
    "simulate leaky --out own.csv --contexts 6": "move it away",
    "simulate leaky --out x.csv --set hidden=1": "Its parameters are slope=20",
    "simulate leaky --out x.csv --set slope=steep": "--set slope must be a finite number",
    "simulate leaky --out x.csv --set peak=2": "peak must be at most 1",
    "power leeky": "agent must be the name of an agent",
    "power --cases ten": "--cases must be whole numbers with commas between them",
    "power --cases 5": "n_cases must be a whole number of at least 10; received 5",
    "power clairvoyant --state exact": "state cannot be 'exact' where hidden_signal is",
    # Logs of other programs.
    f"import {BELIEF} {ACTION} --out x.csv": "say which one asked for beliefs (--belief-task NAME)",
    f"import {BELIEF} {TEXT} --out x.csv": "of different formats (inspect, lm-eval) one by one",
    f"{IMPORT} --scale 1..7 --percent": "Leave percent (--percent)",
    f"{CALLS} tst,treat": "no message calls 'tst'. Closest name found: 'test'",
    f"{CALLS} treat.dos": "Closest name found: 'treat.dose'",
    f"{CALLS} treat --belief-from words": "received 'words'",
    f"{CALLS} test --belief-from tool:treat.p": "no message calls 'treat.p'. Closest",
    f"{IMPORT} --belief-from text": "Add --action-from TOOL",
    f"import {AGENT} --out x.csv": "nothing says which call is the action",
    f"{IMPORT} --action-from go": "no message calls 'go'. Found: nothing",
    f"import {TEXT} --action-from go --out x.csv": "only logs of Inspect have tool",
    # Who is asked, about what, and where the answers go.
    "elicit --task asia --out x.csv": "needed: --model",
    "elicit --model no/folder --task asia --out x.csv": "no/folder is not a folder",
    "elicit --agent leaki --task asia --out x.csv": "'leaky'",
    "elicit --agent leaky --out x.csv": "needed: --task (or --questions",
    "elicit --model m --task asia --out x.csv --questions q.csv": "but not both",
    "elicit --agent leaky --out x.csv --task asai": "Did you mean 'asia'?",
    "elicit --agent leaky --out x.csv --task asia.biff": "A network of your own is a file",
    f"{ASIA} --target lnug": "'lung'",
    "elicit --agent leaky --out runs.txt --task asia": "--out must end in .parquet, .csv or .jsonl",
    "elicit --model m --out x.csv --questions q.csv --target lung": "--target belongs to --task",
    "elicit --model m --out x.csv --questions no.csv": "no.csv: no such file",
    f"{ASIA} --phrases a.toml": "phrases goes with a network of your own",
    "elicit --agent leaky --task randhie --set records=a.csv --out x.csv": "records goes with",
    f"{ASIA} --set min_records=50": "'asia' of the catalogue has none behind it",
    # How they are asked.
    f"{ASIA} --contexts 0": "contexts must be at least 1",
    f"{ASIA} --reps 0": "--reps must be at least 1",
    f"{ASIA} --prompts standard,odd": "among standard, mse, absolute, bayes",
    "elicit --model m --task asia --out x.csv --prompts no.toml": "no.toml cannot be read",
    f"{ASIA} --temperature -1": "--temperature must be at least 0",
    f"{ASIA} --answers exact --reps 5": "answers='exact' draws nothing",
    f"{ASIA} --set min_mass=2": "--set min_mass must be at least 0 and at most 1",
    f"{ASIA} --set time=30": "'timeout'",
    f"{ASIA} --set timeout=soon": "--set timeout must be a whole number; received 'soon'",
    f"{ASIA} --set 'prefill=So: '": "--set prefill begins the answers of a local model",
    f"{ASIA} --answers drown": "--answers must be one of drawn, forced, exact; received 'drown'",
    f"{ASIA} --store no/s.sqlite": "folder that exists",
    f"{ASIA} --store q.csv": "q.csv cannot be used",
    # Hosted models.
    f"{HOSTED} --set extra_body=[1]": "extra_body must be a JSON object",
    f"{HOSTED} --set timeout=0": "--set timeout must be at least 1",
    # What the batteries share.
    "reveal": "needed: --model DIR",
    "mix --out x": "needed: --model DIR to ask a model, or --answers FILE",
    "mix --model m --answers flips.csv --out x": "and not both",
    "mix --answers flips.csv": "--out DIR is missing",
    "mix --answers flips.csv --out taken": "--out must be a folder",
    "bets --answers no.txt --out x": "Name a .csv or .parquet",
    "mix --model openai/gpt-4o --model no --out x": "Ask them in two commands",
    "mix --answers flips.csv --out x --server http://a": "--server needs --model",
    "mix --model m --model m --out x --server http://a": "--model must name different models",
    # What each has of its own.
    "mix --answers percent.csv --out x": "column 'p' must hold probabilities in [0, 1]",
    "mix --answers flips.csv --out x --exact": "--exact and --draws are for --model",
    "mix --model m --out x --exact --draws 5": "--exact draws no answers",
    "mix --model m --out x --server http://a --exact": "--exact needs the files of the model",
    "reveal --model m --out x --where faces": "--where needs NAME=VALUE",
    "reveal --model m --out x --where faces=7": "no setting has faces '7'",
    "reveal --model openai/m --out x": "received openai/m",
    "reveal --write-questions q2.csv --model m --out x": "--model, --out has no meaning beside it",
    "bets --model m --questions q.csv --out x": "--questions belongs to --answers",
    "bets --answers flips.csv --questions q.csv --items i.csv --out x": "without --items",
    "bets --max-new-tokens 1 questions --out x.csv": "--max-new-tokens does not belong",
    "bets --model m train --modality coin --out x": "--model does not belong to 'coherence bets tr",
    "bets --no-chat transfer --out x": "--chat does not belong to 'coherence bets tr",
    "bets train --modality coin --out x": "--model DIR is missing",
    "bets train --modality coin --out x --model m --goal 2": "--goal must be at least 0",
    "study run no.toml": "no.toml cannot be read",
    "models fetch smollm3": "Did you mean 'smollm2'?",
}


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.replace(f"{GOLDEN}/", ""))
def test_what_is_wrong_is_named_in_one_line_and_nothing_is_left(line, tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    status, _, errors = run(*shlex.split(line))
    assert status == 2
    assert LINES[line] in errors
    assert errors.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == set(FILES)
