import shlex
from pathlib import Path

import pytest

from coherence import read_runs

GOLDEN = Path(__file__).parents[1] / "golden"
AGENT = str(GOLDEN / "inspect_agent.eval")
CALLS = (AGENT, "--action-from", "tool_calls")


def test_what_list_proposes_makes_a_table_that_has_the_checks_of_episodes(tmp_path, run):
    status, printed, _ = run("import", AGENT, "--list")
    assert status == 0
    for line in (
        "    treat: 8 calls\n      dose: 5 (4), 10 (3)\n",
        "    side_question: in 17 turns, read in 16, such as '0.6'\n",
        "    tool:report_confidence.probability: in 17 turns, read in 17 as percentages, such as",
        "episodes without one: 1\n",
    ):
        assert line in printed
    command = shlex.split(printed.rpartition("next: coherence ")[2])
    out = tmp_path / "runs.parquet"
    status, printed, _ = run(*command[:-1], str(out))
    assert status == 0
    assert "belief_movement" in next(line for line in printed.splitlines() if "allows" in line)
    assert set(read_runs(out)["action"].dropna()) == {"test", "treat", "test + treat"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*CALLS, "--tool-action", "tst"), "never called. Closest name found: 'test'"),
        ((*CALLS, "--action-argument", "treat:dos"), "Closest name found: 'dose'"),
        ((*CALLS, "--action-argument", "treat"), "--action-argument needs TOOL:ARGUMENT"),
        ((*CALLS, "--belief-from", "words"), "received 'words'"),
        ((*CALLS, "--belief-from", "tool:treat.p"), "no call of 'treat' has the argument 'p'"),
        ((AGENT, "--belief-from", "text"), "Add --action-from tool_calls"),
        (
            (str(GOLDEN / "inspect_belief.eval"), "--action-from", "tool_calls"),
            "no message of 36 episodes calls a tool",
        ),
        (
            (str(GOLDEN / "folktexts_predictions.csv"), "--action-from", "tool_calls"),
            "only logs of Inspect have tool calls",
        ),
    ],
)
def test_what_no_log_holds_is_one_line_with_what_it_does(arguments, message, tmp_path, run):
    status, _, err = run("import", *arguments, "--out", str(tmp_path / "x.csv"))
    assert status == 2
    assert message in err
    assert err.count("\n") == 1
    assert not (tmp_path / "x.csv").exists()
