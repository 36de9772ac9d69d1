"""The runs table of each way of asking, as it was when its first rows were read.

Breaks if a question, a seed, a reading or a column changes. `golden_runs.csv` is what `tables`
below returns; the server replies by the text and the seed alone.
"""

from pathlib import Path

import pandas as pd
import pytest

from coherence import read_runs

from ..models.hosted.fake_server import Fake, probing, reply_in_form, serving

GOLDEN = Path(__file__).with_name("golden_runs.csv")
ASIA = "--task asia --contexts 2 --seed 4"
ONE = "--prompts standard --no-iterated"
WAYS = {
    "drawn": f"{ASIA} --reps 2",
    "at temperature 0": f"{ASIA} --target bronc --reps 2 --temperature 0 --prompts standard,bayes",
    "sampled": f"{ASIA} --reps 1 --belief sampled --set draws=3",
    "token": f"{ASIA} --reps 1 --belief token",
    "forced": f"{ASIA} --reps 2 --answers forced --prompts mse",
    "matching": f"{ASIA} --reps 1 {ONE} --decision matching --set levels=3",
    "stakes": f"{ASIA} --reps 1 {ONE} --decision stakes",
    "data set": "--task randhie --contexts 3 --reps 1 --prompts standard",
    "own questions": "--questions {own}/weather.csv --reps 2 --prompts {own}/lab.toml,standard",
    "own offers": "--questions {own}/offers.csv --reps 1 --decision matching --set levels=2 "
    + ONE[:18],
    "agent, exact": f"{ASIA} --answers exact {ONE}",
}
WEATHER = (
    "id,belief_question,action_question,options,theta\n"
    "a,How probable is rain?,What now?,stay|go,1\nb,How probable is snow?,What now?,stay|go,0\n"
)
OFFERS = "id,belief_question,yes_no_question\na,How probable is rain?,Rain today?\n"
LAB = '[belief.number]\nform = "number"\ntext = "{question} A number from 0 to 1:"\n'
COLUMNS = ["task", "context", "rep", "prompt", "level", "loss", "z", "z_state", "p", "p_true"]
COLUMNS += ["theta", "action", "action_no", "action_yes", "answer_mass", "raw_belief"]
COLUMNS += ["raw_action", "status", "finish_reason", "seed"]


def tables(run, folder, ways=WAYS):
    for name, text in {"weather.csv": WEATHER, "offers.csv": OFFERS, "lab.toml": LAB}.items():
        (folder / name).write_text(text, encoding="utf-8")
    for way in ways:
        words, out = WAYS[way].format(own=folder), folder / f"{[*WAYS].index(way)}.parquet"
        with serving(fake := Fake(reply_in_form)) as address:
            who = f"--model m --server {address} --set server_name=lab --keep-going"
            who = "--agent leaky" if "agent" in way else who
            said = run(f"elicit {words} {who} --out {out}").err
        asked = sum(not probing(body) for _, body in fake.asked)
        yield way, read_runs(out).reindex(columns=COLUMNS), asked, said


@pytest.mark.parametrize("way", WAYS)
def test_the_table_of_a_way_of_asking_is_what_it_was(way, run, tmp_path):
    ((_, runs, asked, said),) = tables(run, tmp_path, [way])
    assert f"{len(runs)} rows" in said
    assert ("masks answers one token at a time" in said) == (way == "forced")
    if "agent" not in way:
        assert f"{asked} answers asked, 0 reused" in said
    golden = pd.read_csv(GOLDEN, dtype={"context": str, "seed": "Int64"})
    golden = golden[golden["way"] == way].drop(columns="way").reset_index(drop=True)
    runs.to_csv(tmp_path / "runs.csv", index=False)
    again = pd.read_csv(tmp_path / "runs.csv", dtype={"context": str, "seed": "Int64"})
    pd.testing.assert_frame_equal(again, golden, check_dtype=False, rtol=1e-9)
