"""``coherence elicit``: breaks if a session costs more than was said, or a table is overwritten.

Tables of each way of asking are in `test_golden.py`.
"""

import shutil
from dataclasses import replace

import pandas as pd
import pytest

from bayesnets import load_network, write_network
from coherence import read_runs
from elicitation import Tally
from elicitation.commands.elicit import print_tally


def test_prompts_are_shown_without_a_model_and_nothing_is_asked(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    shown = run("elicit --task asia --contexts 12 --show-prompts 2").out
    assert shown.count("\n--- ") + shown.startswith("--- ") == 2
    assert "Consider a patient who" in shown
    words = "elicit --task asia --agent leaky --out r.csv --dry-run --contexts"
    assert "9 contexts are fewer than 10" in run(f"{words} 9").err
    assert "fewer than 10" not in run(f"{words} 10").err
    assert list(tmp_path.iterdir()) == []


def test_exact_answers_and_what_is_said_of_them(model_folder, tmp_path, run):
    out = tmp_path / "runs.csv"
    words = f"elicit --model {model_folder} --task asia --contexts 2 --answers exact --no-iterated"
    words += f" --prompts standard --out {out}"
    assert "to ask     4\n" in run(f"{words} --dry-run").out
    said = run(words).err
    assert "2 rows, 4 answers asked, 0 reused, 100.0% of answers parsed; 0.0% of rows unp" in said
    runs = read_runs(out)
    assert runs["p"].notna().all()
    actions = runs[["action_no", "action_yes", "action_defer"]]
    assert actions.sum(axis=1).tolist() == pytest.approx([1, 1])
    # After a whole answer the form of one has next to nothing: no belief, and a warning.
    words += f" --store {tmp_path}/other --set 'prefill=No: 0.50\nYes: 0.50\nDecision: No\n'"
    said = run(words).err
    assert "4 answers asked" in said
    assert "warning: that is less than one half" in said
    assert set(read_runs(out)["status"]) == {"low_mass"}
    said = run(f"{words} --set min_mass=0.9").err
    assert "0 answers asked, 4 reused, 0.0% of answers parsed; 100.0% of rows unparsed" in said


def test_where_few_answers_are_parsed_the_way_named_works_when_it_is_typed(
    model_folder, tmp_path, run
):
    """Breaks if probabilities are advised that are refused inside of a thinking."""
    words = "elicit --model {} --task asia --contexts 2 --no-iterated --prompts standard --out {}"
    few, out = "--reps 1 --max-new-tokens 2", tmp_path / "runs.csv"
    said = run(f"{words.format(model_folder, out)} {few}").err
    assert "warning: 100.0% of answers are unparsed. --answers exact" in said
    folder = shutil.copytree(model_folder, tmp_path / "thinks")
    template = "{% for m in messages %}{{ m.content }}{% endfor %}<think>"
    (folder / "chat_template.jinja").write_text(template)
    advised, out = '--set "prefill=</think>"', tmp_path / "thought.csv"
    said = run(f"{words.format(folder, out)} {few}").err
    assert f"{advised} ends the thinking; then --answers exact" in said
    run(f"{words.format(folder, out)} --answers exact {advised} --store {tmp_path}/exact.sqlite")
    assert read_runs(out)["p"].notna().all()


def test_an_own_network_and_its_words_become_a_runs_table(tmp_path, run):
    network, words, out = tmp_path / "clinic.bif", tmp_path / "clinic.toml", tmp_path / "runs.csv"
    write_network(load_network("asia"), network)
    begin = f"networks phrases {network} --target lung --out {words}"
    run(begin)
    text = words.read_text(encoding="utf-8").replace('"a person"', '"a visitor"')
    words.write_text(text, encoding="utf-8")
    assert "must be a new file" in run(begin, status=2).err  # words written by hand are not lost
    assert words.read_text(encoding="utf-8") == text
    ask = f"elicit --agent rational --task {network} --contexts 6 --reps 1 --out {out}"
    assert "plain words" not in run(f"{ask} --phrases {words}").err
    runs = pd.read_csv(out)
    assert set(runs["task"]) == {"asia"}
    assert runs["p_true"].notna().all()
    assert "plain words" in run(f"{ask} --target smoke").err
    assert set(pd.read_csv(out)["task"]) == {"asia:smoke"}


def test_a_table_of_others_is_kept_and_a_shorter_one_is_said(tmp_path, run):
    path = tmp_path / "runs.csv"
    words = f"elicit --agent rational --task asia --out {path} --contexts"
    path.write_text("context,p\na,0.5\n")
    assert "no table of elicit" in run(f"{words} 12", status=2).err
    assert path.read_text() == "context,p\na,0.5\n"
    path.unlink()
    n_rows = {}
    for n_contexts in (12, 10):
        run(f"{words} {n_contexts}")
        n_rows[n_contexts] = len(read_runs(path))
    assert "was replaced" not in run(f"{words} 12").err
    assert f"of {n_rows[12]} rows was replaced by one of {n_rows[10]}" in run(f"{words} 10").err


def test_bounds_that_are_too_wide_are_not_blamed_on_the_form(capsys):
    unparsed = Tally(40, 0, readable=20, masses=(0.1,) * 20, too_wide=20)
    print_tally("r.csv: 20 rows", unparsed, local=False, first="")
    said = capsys.readouterr().err
    assert "bounds of 20 beliefs are wider than 0.02" in said
    assert "answers in the form" not in said
    print_tally("r.csv: 20 rows", replace(unparsed, too_wide=0), local=False, first="")
    assert "that is less than one half" in capsys.readouterr().err
