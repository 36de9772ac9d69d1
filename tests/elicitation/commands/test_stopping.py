"""``coherence elicit --stop-when``: what was asked, what is kept, and what a plan refuses."""

import pytest

import coherence

AGENT = "elicit --agent leaky --task asia --no-iterated --prompts standard --answers exact"
PLAN = "--stop-when sufficiency --looks 4 --most 120"


def primary(path):
    (evaluation,) = coherence.analyze(path, checks=["sufficiency"], rng=9).evaluations
    return evaluation.results[0]


def test_it_asks_up_to_the_look_that_stops_and_analyze_prints_that_pvalue(tmp_path, run):
    out = tmp_path / "runs.csv"
    told = run(f"{AGENT} {PLAN} --out {out}").err
    found, table = primary(out), coherence.read_runs(out)
    stopped = found.settings["stopped"]
    assert stopped == table["context"].nunique() == table["arrival"].max() < 120
    looks = [line for line in told.splitlines() if ": look " in line]
    assert looks
    assert all(f"{30 * (at + 1)} cases" in line for at, line in enumerate(looks))
    assert f"stopped after {stopped} of at most 120" in told
    assert f"p = {found.pvalue:.2g} with" in told
    # A changed plan is refused, and the remedy works as it is typed.
    for changed in (PLAN.replace("120", "150"), f"{PLAN} --seed 3"):
        told = run(f"{AGENT} {changed} --out {out}", 2).err
        flags = told.split("Type what it was (")[1].split(")")[0]
        assert flags == "--looks 4 --most 120 --seed 0"
    again = f"{AGENT} --stop-when sufficiency {flags} --out {out}"
    assert ", 0 answers asked" in run(again).err


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        (f"{PLAN} --contexts 50", "Leave it out"),
        (f"{PLAN} --evidence 20", "in place of --looks"),
        ("--looks 4", "--stop-when sufficiency"),
        ("--stop-when sufficiency", "--most 200"),
        (f"{PLAN} --decision matching", "lack actions"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options, remedy, tmp_path, run):
    assert remedy in run(f"{AGENT} {options} --out {tmp_path}/runs.csv", 2).err


@pytest.mark.lengthy
def test_evidence_stops_and_where_reports_differ_looks_take_its_place(tmp_path, run):
    out, plan = tmp_path / "runs.csv", "--stop-when sufficiency"
    run(f"{AGENT} {plan} --evidence 20 --out {out}")
    found = primary(out)
    assert found.pvalue <= 0.05
    assert found.settings["stopped"] <= coherence.read_runs(out)["arrival"].max()
    out = tmp_path / "noisy.csv"
    noisy = AGENT.replace("leaky", "noisy").replace("--answers exact", f"--out {out}")
    told = run(f"{noisy} {plan} --evidence 20 --most 60", 2).err
    flags = told.split("Looks do: ")[1].split(" in place")[0]
    assert ", 0 reused" not in run(f"{noisy} {plan} {flags}").err
    assert primary(out).settings["plan"].startswith("looks=5 most=60")


def test_questions_of_ones_own_are_asked_in_random_order(tmp_path, run, model_folder):
    rows = [f"c{at:02},Is it {at}?,What now?,stay|go,{int(at > 9)}" for at in range(20)]
    source, out = tmp_path / "mine.csv", tmp_path / "runs.csv"
    head = "context,belief_question,action_question,options,theta"
    source.write_text("\n".join([head, *rows]) + "\n")
    asked = f"elicit --model {model_folder} --questions {source} --answers forced --reps 1"
    asked += f" --prompts standard --stop-when sufficiency --looks 2 --out {out} --most"
    run(f"{asked} 20")
    table = coherence.read_runs(out)
    assert sorted(table["context"]) == [f"c{at:02}" for at in range(20)]
    assert table["context"].tolist() != sorted(table["context"])
    assert table["arrival"].tolist() == list(range(1, 21))
    assert "--most 20" in run(f"{asked} 21", 2).err
