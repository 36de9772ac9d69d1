import json
from pathlib import Path

import pandas as pd

from coherence import read_runs
from tests.api.importing.conftest import RUN, sample

GOLDEN = Path(__file__).parents[1] / "golden"
BELIEF = str(GOLDEN / "inspect_belief.eval")


def texts(tmp_path, *completions, **metadata):
    samples = [
        json.loads(sample(number, text)) | {"metadata": {"choice": "go", **metadata}}
        for number, text in enumerate(completions)
    ]
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"status": "success", "eval": RUN, "samples": samples}))
    return str(path)


def test_beliefs_alone_are_imported_and_analysed(tmp_path, run):
    out = tmp_path / "runs.csv"
    status, printed, _ = run("import", BELIEF, "--exact", "-", "--out", str(out))
    assert status == 0
    assert "\n  the table allows calibration, scores\n" in printed
    status, out, _ = run("analyze", str(out), "--full")
    assert status == 0
    assert "1 forecaster, 18 cases" in " ".join(out.split())
    assert "no action column (--action NAME, if it has another name): " in " ".join(out.split())


def test_most_beliefs_unread_is_exit_1_with_examples(tmp_path, run):
    log = texts(tmp_path, "It depends. Overall I would say 70.", "Hard to tell, 0.5 perhaps", "0.2")
    status, printed, _ = run("import", log, "--out", str(tmp_path / "runs.csv"))
    assert status == 1
    assert "most beliefs are missing or could not be read, such as 'It depends. Overall" in printed
    assert len(read_runs(tmp_path / "runs.csv")) == 3
    half = texts(tmp_path, "0.5", "0.25", "perhaps", "maybe")
    assert run("import", half, "--out", str(tmp_path / "half.csv"))[0] == 0


def test_untrusted_text_stays_text(tmp_path, run):
    log, out = texts(tmp_path, "=HYPERLINK(1)\x1b[2J", "0.5"), tmp_path / "runs.jsonl"
    evil = Path(log).read_text().replace('"task": "t"', '"task": "t\\u001b[31m\\nstatus: ok 99"')
    Path(log).write_text(evil)
    choice = ["--action", "metadata.choice", "--actions", "go"]
    status, printed, _ = run("import", log, *choice, "--out", str(out))
    assert (status, "\x1b" in printed, "\nstatus: ok 99" in printed) == (0, False, False)
    assert read_runs(out)["raw_belief"].tolist()[0] == "=HYPERLINK(1)\x1b[2J"


def test_no_input_is_replaced_and_no_output_without_force(tmp_path, run):
    log = texts(tmp_path, "0.2", "0.5")
    table = tmp_path / "mine.csv"
    table.write_text("p,action,theta\n0.5,a,1\n")
    link = tmp_path / "link.csv"
    link.symlink_to(table)
    for out in (table, link):
        status, _, err = run("import", str(table), "--out", str(out), "--force")
        assert status == 2
        assert "--out must not be one of the logs" in err
    assert table.read_text() == "p,action,theta\n0.5,a,1\n"
    status, _, err = run("import", log, "--out", str(table))
    assert status == 2
    assert "replace it with --force" in err
    assert run("import", log, "--out", str(table), "--force")[0] == 0
    assert len(pd.read_csv(table)) == 2


def test_answers_on_a_scale_are_mapped(tmp_path, run):
    log = texts(tmp_path, "1", "4", "7", "9", "")
    command = ["import", log, "--out", tmp_path / "runs.csv"]
    status, said, _ = run(*command, "--scale", "1..7")
    assert "output was read on the scale 1..7: 1 as 0, 4 as 0.5" in " ".join(said.split())
    runs = read_runs(tmp_path / "runs.csv")
    assert (status, runs["p"][:3].tolist()) == (0, [0, 0.5, 1])
    assert runs["status"].tolist() == ["ok", "ok", "ok", "out_of_range", "unparsed"]


def test_what_a_log_of_an_agent_holds_is_said_and_makes_a_table_of_episodes(tmp_path, run):
    agent, out = str(GOLDEN / "inspect_agent.eval"), tmp_path / "runs.parquet"
    status, _, err = run("import", agent, "--out", str(out))
    assert (status, err.count("\n"), out.exists()) == (2, 1, False)
    assert "test (10), test.kind (10), treat (8), treat.dose (7)" in err
    assert "report_confidence (17), report_confidence.probability (17)" in err
    assert "episodes with a belief that was asked aside: 7" in err
    status, printed, _ = run(
        "import", agent, "--action-from", "treat,test", "--exact", "-", "--out", str(out)
    )
    assert status == 0
    assert any("allows" in line for line in printed.splitlines())
    runs = read_runs(out)
    assert set(runs["action"].dropna()) == {"test", "treat"}
    assert runs["context"].is_unique


def test_a_pattern_is_one_group_of_a_regular_expression(tmp_path, run):
    log, out = texts(tmp_path, "I think rain: 0.25", "rain: 0.5"), tmp_path / "runs.csv"
    command = ["import", log, "--out", str(out), "--belief-pattern"]
    for pattern, said in (("(", "must be a regular expression"), ("(a)(b)", "must have one group")):
        status, _, err = run(*command, pattern)
        assert (status, said in err) == (2, True)
    assert run(*command, "rain: ([0-9.]+)")[0] == 0
    assert read_runs(out)["p"].tolist() == [0.25, 0.5]
