"""Episodes of agents, from a log of Inspect (tests/golden) and from small ones."""

import re

import pandas as pd
import pytest

from coherence.runs.columns import PERCENT, Scale
from coherence.runs.read import validate_runs
from tests.api.importing.conftest import GOLDEN, HEADER, imported, packed, sample

AGENT = GOLDEN / "inspect_agent.eval"
DOSE = {"tools": ("treat.dose",)}
LIST = {"p_true": "-"}  # one number a turn
REPORTED = "tool:report_confidence.probability"


def cells(runs, column):
    return [None if pd.isna(cell) else cell for cell in runs[column]]


def test_an_episode_is_a_case_with_its_last_call_and_what_was_asked_aside_before_it():
    log = imported(AGENT, calls=DOSE, mapping=LIST)
    runs = log.runs
    validate_runs(runs)
    assert runs["context"].tolist() == [f"patient-{number}" for number in range(8)]
    assert cells(runs, "p") == [0.9, 0.1, 0.7, 0.3, 0.9, 0.3, 0.2, None]
    assert cells(runs, "action") == [10, 5, 10, 5, 10, None, 5, None]
    assert cells(runs, "raw_action")[1:3] == ["treat(dose=5)", "treat(dose=10)"]
    assert set(runs["belief_context"]) == {"own"}
    assert set(runs["theta"]) == {0, 1}
    assert "p_true" not in runs
    (note,) = log.notes
    assert "8 of 8 samples are in the log, 1 of them ended in an error" in note


def test_of_several_tools_the_last_call_is_the_action():
    runs = imported(AGENT, calls={"tools": ("test", "treat.dose")}, mapping=LIST).runs
    assert cells(runs, "action")[:4] == ["treat 10", "treat 5", "test", "treat 5"]


def test_what_a_tool_reported_before_the_call_is_said_where_the_agent_acts():
    runs = imported(AGENT, mapping=LIST, calls=DOSE | {"belief_from": REPORTED}, line=PERCENT).runs
    aside = imported(AGENT, calls=DOSE, mapping=LIST).runs
    assert cells(runs, "action") == cells(aside, "action")
    assert cells(runs, "p")[:2] == [0.9, 0.1]
    assert set(runs["belief_context"]) == {"same_context"}
    raw = imported(AGENT, mapping=LIST, calls=DOSE | {"belief_from": REPORTED}).runs
    assert "out_of_range" in set(raw["status"])  # 60 is no probability unless the user says so


def agent_log(path, *samples, events=True, metadata=None, seen=None, header=HEADER, **facts):
    """Write a log of episodes: each a list of what is asked aside, said and called, in order.

    A number is a side question's answer, or a pair with the reply before the number; a text is
    said, a list is the calls of one message. `seen` has the exact posterior of each episode.
    """
    when = {"timestamp": "2026-01-05T12:00:00+00:00", "working_start": 0}
    written = {}
    for number, (epoch, *steps) in enumerate(samples):
        messages, transcript = [], []
        for step in steps:
            if isinstance(step, float) or (isinstance(step, tuple) and isinstance(step[0], str)):
                reply, read = (str(step), step) if isinstance(step, float) else step
                data = {"question": "P?", "reply": reply, "p": read}
                source = {"event": "info", "source": "coherence.side_question"}
                transcript.append({**source, "data": data, **when})
                continue
            shown = {"source": "input"} if isinstance(step, tuple) else {}  # in an example
            said, calls = (step, []) if isinstance(step, str) else ("", [*step])
            made = [
                # Numbered anew in every message, as some providers do.
                {"id": f"call_{place}", "function": name, "arguments": arguments}
                for place, (name, arguments) in enumerate(calls)
            ]
            messages.append(
                {"role": "assistant", "content": said, "tool_calls": made or None, **shown}
            )
            transcript += [
                {"event": "tool", **call, **when} for call in made if events and not shown
            ]
        known = {"theta": 1} | ({} if seen is None else {"p_true": seen[number]})
        told = {"messages": messages, "events": transcript, "metadata": metadata or known}
        name = f"samples/{number}_epoch_{epoch}.json"
        identity = number if epoch == 1 else number - 1
        written[name] = sample(identity, epoch=epoch, **told | facts)
    return packed(path, header=header, **written)


GO, STAY, LOOK = ("go", {}), ("stay", {}), ("look", {"at": "x"})
ACTS = {"tools": ("go", "stay")}


@pytest.mark.parametrize(
    ("steps", "p", "action"),
    [
        ([0.1, [GO], [STAY], [GO]], 0.1, "go"),  # asked once, before the first of repeated ids
        ([0.1, [GO], 0.2, [STAY], 0.3, [LOOK]], 0.2, "stay"),
        ([0.1, [LOOK, GO, STAY]], 0.1, "stay"),  # of one message the last
        ([0.1, [GO], 0.2, [LOOK], 0.3, [GO], 0.4, "Done."], 0.3, "go"),
        ([[GO], 0.2, [LOOK]], None, "go"),  # what was said after it is not before it
        ([0.1, [LOOK], 0.2, "I give up."], 0.2, None),
        ([0.1, "Nothing."], 0.1, None),
        ([(GO,), 0.1, "Nothing."], 0.1, None),
    ],
)
def test_places_in_the_transcript_tell_what_was_before(tmp_path, steps, p, action):
    called = [1, 0.9, [STAY]]  # another episode, so that both tools are called
    runs = imported(agent_log(tmp_path / "a.eval", [1, *steps], called, [1, [GO]]), calls=ACTS).runs
    assert (cells(runs, "p")[0], cells(runs, "action")[0]) == (p, action)
    assert cells(runs, "p")[1] == 0.9


def test_a_call_that_was_not_run_is_the_last(tmp_path):
    path = agent_log(tmp_path / "a.eval", [1, 0.2, [GO]], events=False)
    runs = imported(path, calls={"tools": ("go",)}).runs
    assert (cells(runs, "p"), cells(runs, "action")) == ([0.2], ["go"])


def test_several_answers_to_one_question_are_repetitions_of_an_episode_that_acted_once(tmp_path):
    path = agent_log(tmp_path / "a.eval", [1, 0.9, [LOOK], 0.4, 0.5, [GO]], [1, 0.2, [STAY]])
    runs = imported(path, calls=ACTS).runs
    assert list(map(str, runs["context"])) == ["0", "0", "1"]
    assert cells(runs, "p") == [0.4, 0.5, 0.2]
    assert cells(runs, "action") == ["go", None, "stay"]
    assert set(runs["status"]) == {"ok"}


def test_epochs_of_a_sample_are_repetitions_of_its_case(tmp_path):
    episodes = [1, 0.4, 0.4, [GO]], [2, 0.5, 0.6, [STAY]]
    log = imported(agent_log(tmp_path / "a.eval", *episodes), calls=ACTS)
    assert "group" not in log.runs
    assert cells(log.runs, "context") == [0, 0, 0, 0]
    assert cells(log.runs, "rep") == [0, 1, 2, 3]
    assert cells(log.runs, "action") == ["go", None, "stay", None]
    each = imported(tmp_path / "a.eval", calls=ACTS, mapping={"context": "episode"}).runs
    assert cells(each, "context") == ["0", "0", "0 (epoch 2)", "0 (epoch 2)"]


def test_epochs_that_differ_in_the_exact_posterior_are_cases_of_one_group(tmp_path):
    path = agent_log(tmp_path / "a.eval", [1, 0.4, [GO]], [2, 0.5, [STAY]], seen=(0.3, 0.6))
    log = imported(path, calls=ACTS)
    assert cells(log.runs, "context") == ["0", "0 (epoch 2)"]
    assert (log.runs["group"].nunique(), cells(log.runs, "p_true")) == (1, [0.3, 0.6])


@pytest.mark.parametrize("line", [None, PERCENT, Scale(0, 100)])
@pytest.mark.parametrize(
    ("asked", "p"),
    [
        # What the side question read is a probability, whatever is said of bare numbers.
        ([("65%", 0.65), ("0.2", 0.2), ("1", 1)], [0.65, 0.2, 1]),
        ([("80%", 0.8), ("74", None), ("1", 1.0)], [0.8, None, 1]),
    ],
)
def test_a_number_that_the_side_question_read_is_on_no_scale(tmp_path, asked, p, line):
    path = agent_log(tmp_path / "a.eval", *([1, each, [GO]] for each in asked))
    runs = imported(path, calls={"tools": ("go",)}, line=line).runs
    assert cells(runs, "p") == p
    assert cells(runs, "raw_belief") == [reply for reply, _ in asked]


@pytest.mark.parametrize("said", ["Probability of a broken database: 0.53", "It is about 53%"])
def test_a_pattern_reads_a_number_among_words(tmp_path, said):
    steps = ["Probability of a broken database: 0.9", [LOOK], f"{said}. I restart.", [GO]]
    path = agent_log(tmp_path / "a.eval", [1, *steps], [1, "probability: 0.2", [STAY]])
    pattern = re.compile(r"(?:database:|probability:|about) ([0-9.]+%?)", re.IGNORECASE)
    said_so = ACTS | {"pattern": pattern, "belief_from": "text"}
    found = imported(path, calls=said_so, pattern=pattern).runs
    assert found["p"].tolist() == [0.53, 0.2]
    assert set(found["belief_context"]) == {"same_context"}
    assert said in found["raw_belief"][0]
    words = imported(path, calls=ACTS | {"belief_from": "text"}).runs
    assert words["p"].isna()[0]


@pytest.mark.parametrize(
    ("facts", "theta"),
    [
        ({"target": "No"}, 0),
        ({"target": ["Yes"]}, 1),
        ({"target": "", "scores": {"right": {"value": "C"}}}, None),
    ],
)
def test_the_state_is_the_target(tmp_path, facts, theta):
    known = {"x_a": 1, "sick": "yes", "why": "so"}
    path = agent_log(tmp_path / "a.eval", [1, 0.4, [GO]], metadata=known, **facts)
    log = imported(path, calls={"tools": ("go",)})
    runs, said = log.runs, "\n".join(log.notes)
    assert (cells(runs, "theta")[0] if "theta" in runs else None) == theta
    assert ("--truth FIELD" in said) == (theta is None)
