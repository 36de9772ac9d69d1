"""Command lines of elicit, reveal, mix, bets and study that cannot mean anything.

Breaks if one ends in a traceback, does not name what is wrong, asks a model, or leaves a file.
"""

import shlex

import pytest

FILES = {
    "taken": "",
    "flips.csv": "experiment,p,answer,probability\nflip,.2,1,.2\nflip,.8,1,.8\n",
    "percent.csv": "experiment,p,answer\nflip,20,1\nflip,80,0\n",
    "q.csv": "id,belief_question,action_question,options,theta\na,Rain?,What now?,stay|go,1\n",
    "lab.toml": '[belief.number]\nform = "number"\ntext = "{description}: {question}?"\n',
}
HOSTED = "elicit --model m --server http://a --task asia --out x.csv"
ASIA = "elicit --agent leaky --task asia --out x.csv"
LINES = {
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
    "elicit --agent leaky --out no/x.csv --task asia": "--out must lie in a folder",
    "elicit --model m --out x.csv --questions q.csv --target lung": "--target belongs to --task",
    "elicit --model m --out x.csv --questions q.csv --contexts 3": "--contexts belongs to --task",
    "elicit --model m --out x.csv --questions no.csv": "no.csv cannot be read",
    f"{ASIA} --phrases a.toml": "--phrases goes with a network of your own",
    "elicit --agent leaky --task randhie --set records=a.csv --out x.csv": "--records goes with",
    f"{ASIA} --set min_records=50": "'asia' of the catalogue has none behind it",
    # How they are asked.
    f"{ASIA} --contexts 0": "contexts must be at least 1",
    f"{ASIA} --contexts 100000": "distinct evidence sets",
    f"{ASIA} --reps 0": "--reps must be at least 1",
    f"{ASIA} --prompts standard,odd": "among standard, mse, absolute, bayes",
    "elicit --model m --task asia --out x.csv --prompts no.toml": "no.toml cannot be read",
    "elicit --model m --task asia --out x.csv --prompts lab.toml,odd": "must be distinct",
    f"{ASIA} --temperature -1": "--temperature must be at least 0",
    f"{ASIA} --batch-size 0": "--batch-size must be at least 1",
    f"{ASIA} --seed -1": "seed must be at least 0",
    f"{ASIA} --answers exact --reps 5": "answers='exact' draws nothing",
    f"{ASIA} --set min_mass=2": "--set min_mass must be at least 0 and at most 1",
    f"{ASIA} --set time=30": "'timeout'",
    f"{ASIA} --set timeout=soon": "--set timeout must be a whole number; received 'soon'",
    f"{ASIA} --set resume=no": "resume must be true or false",
    f"{ASIA} --set draws=x": "--set draws must be a whole number",
    f"{ASIA} --set 'prefill=So: '": "--prefill begins the answers of a local model",
    f"{ASIA} --answers drown": "--answers must be one of drawn, forced, exact; received 'drown'",
    f"{ASIA} --show-prompts 0": "--show-prompts must be at least 1",
    f"{ASIA} --set price_in=1": "price_in belongs to --dry-run",
    f"{ASIA} --set price_out=-1 --dry-run": "price_out must be at least 0",
    f"{ASIA} --set price_out=nan --dry-run": "price_out must be at least 0",
    "elicit --status no.sqlite": "no.sqlite does not exist",
    f"{ASIA} --store no/s.sqlite": "folder that exists",
    f"{ASIA} --store q.csv": "q.csv cannot be used",
    # Hidden states.
    f"{ASIA} --keep-hidden": "--keep-hidden takes a local causal model",
    f"{HOSTED} --keep-hidden": "--keep-hidden takes a local causal model",
    "elicit --model m --task asia --out x.csv --set hidden_layers=4": "with --keep-hidden",
    "elicit --model m --task asia --out x.csv --keep-hidden --set hidden_layers=a": "such as 4,8",
    "probe no.parquet": "no.parquet: no such file",
    # Hosted models.
    f"{HOSTED} --set extra_body=[1]": "extra_body must be a JSON object",
    f"{HOSTED} --set extra_body={{": "extra_body must be a JSON object",
    f"{HOSTED} --set chat_template_kwargs=7": "chat_template_kwargs must be a JSON object",
    f"{HOSTED} --set timeout=0": "(--timeout) must",
    f"{HOSTED} --set max_retries=-1": "(--max-retries) must",
    f"{HOSTED} --set max_connections=0": "(--max-connections) must",
    "elicit --model m --set base_url=http://a --task asia --out x.csv": "--base-url is the address",
    # What the batteries share.
    "reveal": "needed: --model DIR",
    "mix --out x": "needed: --model DIR to ask a model, or --answers FILE",
    "bets --out x": "needed: --model DIR to ask a model, or --answers FILE",
    "reveal --base m --out x": "both --base DIR and --instruct DIR",
    "mix --model m --answers flips.csv --out x": "and not both",
    "mix --answers flips.csv": "--out DIR is missing",
    "mix --answers flips.csv --out taken": "--out must be a folder",
    "mix --answers flips.csv --out taken/x": "--out must be a folder that can be made",
    "mix --answers flips.csv --out . --paper taken": "--paper must be a folder",
    "mix --answers no.csv --out x": "no.csv: no such file",
    "bets --answers no.txt --out x": "Name a .csv or .parquet",
    "mix --answers flips.csv flips.csv --out x": "flips.csv is named twice",
    "mix --model no --out x": "no is not a folder",
    "mix --model openai/gpt-4o --model no --out x": "Ask them in two commands",
    "mix --model m --out x --seed -1": "--seed must be at least 0",
    "mix --answers flips.csv --out x --server http://a": "--server needs --model",
    "mix --model m --model m --out x --server http://a": "--model must name different models",
    # What each has of its own.
    "mix --answers percent.csv --out x": "column 'p' must hold probabilities in [0, 1]",
    "mix --answers flips.csv --out x --exact": "--exact and --draws are for --model",
    "mix --model m --out x --exact --draws 5": "--exact draws no answers",
    "mix --model m --out x --draws 0": "--draws must be at least 1",
    "mix --model m --out x --server http://a --exact": "--exact needs the files of the model",
    "reveal --model m --out x --reps 0": "--reps must be at least 1",
    "reveal --model m --out x --where faces": "--where needs NAME=VALUE",
    "reveal --model m --out x --where faces=7": "no setting has faces '7'",
    "reveal --model m --out x --faces six": "--faces must be whole numbers",
    "reveal --model m --out x --faces 101": "faces from 2 to 100",
    "reveal --model m --out x --labels Left": "two labels with a slash",
    "reveal --model m --out x --max-new-tokens 9": "--max-new-tokens belongs to hosted models",
    "reveal --questions q2.csv --model m --out x": "--model, --out has no meaning beside it",
    "reveal --questions no/q.csv --where scenario=choice": "(--questions) must lie in a folder",
    "bets --model m --questions q.csv --out x": "--questions belongs to --answers",
    "bets --answers flips.csv --questions q.csv --payout 1 --out x": "without --items, --chance",
    "bets --model m --temperature 1 --out x": "--temperature belongs to hosted models",
    "bets --model m --server http://a --likelihood token --out x": "needs the model's files",
    "bets --rule outcome questions --out x.csv": "--rule does not belong to 'coherence bets quest",
    "bets --paper x questions --out x.csv": "--paper does not belong to 'coherence bets quest",
    "bets --model m train --modality coin --out x": "--model does not belong to 'coherence bets tr",
    "bets --store s train --modality coin --out x": "--store does not belong to 'coherence bets tr",
    "bets --no-chat transfer --out x": "--chat does not belong to 'coherence bets tr",
    "bets --items no.csv questions --out x.csv": "items no.csv cannot be read",
    "bets questions --out x.csv --payout -1": "payout must be a number of at least 0",
    "bets questions --out x.csv --chance 50": "chances must lie strictly between 0 and 1",
    "bets train --modality coin --out x": "needed: --model DIR, or --from-scratch",
    "bets train --modality coin --out x --from-scratch --goal 2": "goal in (0, 1]",
    "study run no.toml": "no.toml cannot be read",
    "study run lab.txt": "lab.txt",
    "organisms leaky": "--out DIR is missing",
    "models fetch smollm3": "Did you mean 'smollm2'?",
    "models show no": "no",
}


@pytest.mark.parametrize("line", LINES)
def test_what_is_wrong_is_named_in_one_line_and_nothing_is_left(line, tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    status, _, errors = run(*shlex.split(line))
    assert status == 2
    assert LINES[line] in errors
    assert errors.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == set(FILES)
