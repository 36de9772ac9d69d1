"""From answers to the runs table: one row per context, repetition and framing, and one per state of z.

The action, asked for by itself, stands on the rows of the reference framing. A row's status is the
gravest of its answers; what could be read of it is kept, the rest is null. Truth comes from the
network, exactly, or from the table of questions, as far as it is there.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bayesnets import Network, Phrases, posterior
from coherence.decoding.decode import (
    BELIEF_LABELS,
    Decoded,
    decode_belief,
    decode_choice,
    decode_decision,
    decode_distribution,
    worst,
)
from elicitation.reading.belief import ReadBelief, sampled_belief, token_belief
from elicitation.session.questions import FEATURE_PREFIX, Question, evidence_of, reference_of
from elicitation.store import StoredAnswer

_TEXT_COLUMNS = (
    "task",
    "model",
    "prompt",
    "action",
    "z",
    "z_state",
    "status",
    "raw_belief",
    "raw_action",
    "raw_z",
    "created",
)
_NUMBER_COLUMNS = (
    "p",
    "p_true",
    "p_z",
    "p_z_true",
    "answer_mass",
    "logprob_belief",
    "logprob_action",
)
_Key = tuple[int, int, str, str]


@dataclass(frozen=True)
class _Read:
    """The answers to a question, one but for a sampled belief, and what was read of each."""

    question: Question
    stored: list[StoredAnswer]
    decoded: list[Decoded[Any]]

    @property
    def only(self) -> Decoded[Any]:
        return self.decoded[0]

    @property
    def raw(self) -> str:
        """The answer as it came; of many draws, how often each was said."""
        if self.question.way != "sampled":
            return self.stored[0].text
        return json.dumps(
            dict(Counter(answer.text for answer in self.stored).most_common()), ensure_ascii=False
        )

    @property
    def belief(self) -> ReadBelief | Decoded[Any]:
        return sampled_belief(self.decoded) if self.question.way == "sampled" else self.only

    def belief_cells(self) -> dict[str, Any]:
        """The cells of a row that come from a question for a belief."""
        cells = {"p": self.belief.value, "raw_belief": self.raw, "seed": self.stored[0].seed}
        if self.question.way == "verbalised":
            return cells | {"logprob_belief": self.stored[0].logprob}
        mass = (
            token_belief(self.stored[0].text).answer_mass
            if self.question.way == "token"
            else sampled_belief(self.decoded).answer_mass
        )
        return cells | {"answer_mass": mass}

    def action_cells(self) -> dict[str, Any]:
        """The cells of a row that come from a question for an action."""
        return {
            "action": self.only.value,
            "raw_action": self.raw,
            "logprob_action": self.stored[0].logprob,
        }


def decode_answer(question: Question, text: str) -> Decoded[Any]:
    """Read the answer of a question according to its role.

    Parameters
    ----------
    question : Question
        What was asked.
    text : str
        What came back.

    Returns
    -------
    Decoded
        A probability, an action, or the probabilities of the states of z; for one draw of a sampled
        belief Yes or No.
    """
    if question.way == "token":
        belief = token_belief(text)
        return Decoded(belief.value, belief.status)
    if question.way == "sampled":
        return decode_choice(text, BELIEF_LABELS)
    if question.role == "choice":
        return decode_choice(text, question.lines)
    if question.role == "decision":
        return decode_decision(text)
    if question.role == "auxiliary":
        return decode_distribution(text, question.lines)
    return decode_belief(text, form=question.form)


def _read_all(questions: Sequence[Question], answers: Sequence[StoredAnswer]) -> dict[_Key, _Read]:
    read: dict[_Key, _Read] = {}
    for question, answer in zip(questions, answers, strict=True):
        key = (question.case, question.rep, question.role, question.key)
        found = read.setdefault(key, _Read(question, [], []))
        found.stored.append(answer)
        found.decoded.append(decode_answer(question, answer.text))
    return read


def _sum_up(row: dict[str, Any], used: Sequence[_Read], belief: _Read) -> dict[str, Any]:
    """Add the status and the time of a row."""
    statuses = [belief.belief.status, *(one.only.status for one in used if one is not belief)]
    return row | {
        "status": worst(statuses),
        "created": max(answer.created for one in used for answer in one.stored),
    }


def assemble_runs(
    cases: pd.DataFrame,
    questions: Sequence[Question],
    answers: Sequence[StoredAnswer],
    *,
    network: Network,
    phrases: Phrases,
    target: str,
    task: str,
    model: str,
) -> pd.DataFrame:
    """Lay the answers out as a runs table.

    Parameters
    ----------
    cases : DataFrame
        As from ``bayesnets.sample_cases``.
    questions : sequence of Question
        As from `plan_questions` on these cases.
    answers : sequence of StoredAnswer
        One per question.
    network : Network
        Source of the truth on rows that are conditional on z.
    phrases : Phrases
        Labels of the states of z.
    target : str
        The variable asked about.
    task, model : str
        Values of these columns.

    Returns
    -------
    DataFrame
        Sorted by context, repetition, framing; it depends on the answers alone, so a second
        assembly is the same to the byte.
    """
    read = _read_all(questions, answers)
    reference = reference_of(
        list(dict.fromkeys(question.key for question in questions if question.role == "belief"))
    )
    truth = _conditional_truth(cases, network, phrases, target)
    columns = [name for name in cases.columns if str(name).startswith(FEATURE_PREFIX)]
    rows = []
    for (position, rep, role, key), belief in sorted(read.items(), key=lambda item: item[0][:2]):
        if role not in ("belief", "conditional"):
            continue
        case = cases.iloc[position]
        row = {
            "task": task,
            "model": model,
            "context": case["context"],
            "rep": rep,
            "theta": int(case["theta"]),
            **belief.belief_cells(),
        }
        used = [belief]
        if role == "belief":
            row |= {"prompt": key, "p_true": float(case["p_true"])}
            if key == reference:
                used.append(read[position, rep, "decision", ""])
                row |= used[-1].action_cells()
        else:
            auxiliary = read[position, rep, "auxiliary", ""]
            used.append(auxiliary)
            row |= {"prompt": reference, "z": case["z"], "z_state": key, "raw_z": auxiliary.raw}
            if auxiliary.only.value is not None:
                row["p_z"] = auxiliary.only.value[list(phrases.labels(str(case["z"]))).index(key)]
            row |= truth[position, key]
        rows.append(_sum_up(row, used, belief) | {str(name): case[name] for name in columns})
    runs = _typed(rows, [str(name) for name in columns])
    runs[[str(name) for name in columns]] = runs[[str(name) for name in columns]].astype("string")
    return runs.astype({"theta": "int64"})


def assemble_table(
    table: pd.DataFrame,
    questions: Sequence[Question],
    answers: Sequence[StoredAnswer],
    *,
    task: str,
    model: str,
) -> pd.DataFrame:
    """Lay the answers to a table of questions out as a runs table.

    Parameters
    ----------
    table : DataFrame
        As from ``elicitation.session.custom.load_questions``.
    questions : sequence of Question
        As from `plan_table` on this table.
    answers : sequence of StoredAnswer
        One per question.
    task, model : str
        Values of these columns.

    Returns
    -------
    DataFrame
        As from `assemble_runs`, without rows for z; ``theta``, ``p_true`` and features as the table
        has them.
    """
    read = _read_all(questions, answers)
    reference = reference_of(
        list(dict.fromkeys(question.key for question in questions if question.role == "belief"))
    )
    known = [
        str(name)
        for name in table.columns
        if name in ("theta", "p_true") or str(name).startswith(FEATURE_PREFIX)
    ]
    rows = []
    for (position, rep, role, key), belief in sorted(read.items(), key=lambda item: item[0][:2]):
        if role != "belief":
            continue
        case = table.iloc[position]
        row = {
            "task": task,
            "model": model,
            "context": case["context"],
            "rep": rep,
            "prompt": key,
            **belief.belief_cells(),
        }
        used = [belief]
        choice = read.get((position, rep, "choice", ""))
        if key == reference and choice is not None:
            used.append(choice)
            row |= choice.action_cells()
        rows.append(_sum_up(row, used, belief) | {name: case[name] for name in known})
    runs = _typed(rows, [name for name in known if name.startswith(FEATURE_PREFIX)])
    # What is not known of the truth is no column at all: an empty one would read as known and
    # missing.
    absent = [name for name in ("theta", "p_true") if name not in known]
    absent += (
        [] if "action_question" in table.columns else ["action", "raw_action", "logprob_action"]
    )
    return runs.drop(columns=[*absent, "z", "z_state", "p_z", "p_z_true", "raw_z"])


def _typed(rows: list[dict[str, Any]], features: list[str]) -> pd.DataFrame:
    order = ["task", "model", "context", "rep", "prompt", "p", "action", "theta", "p_true", "z", "z_state", "p_z", "p_z_true", *features, "status",
             "raw_belief", "raw_action", "raw_z", "answer_mass", "logprob_belief", "logprob_action", "seed", "created"]  # fmt: skip
    runs = pd.DataFrame.from_records(rows).reindex(columns=order)
    # A column that happens to be all null would otherwise take another type than in the next
    # session.
    runs[list(_NUMBER_COLUMNS)] = runs[list(_NUMBER_COLUMNS)].astype("float64")
    runs[list(_TEXT_COLUMNS)] = runs[list(_TEXT_COLUMNS)].astype("string")
    runs[["rep", "seed"]] = runs[["rep", "seed"]].astype("int64")
    return runs


def _conditional_truth(
    cases: pd.DataFrame, network: Network, phrases: Phrases, target: str
) -> dict[tuple[int, str], dict[str, float]]:
    """Return, by case and state of z, the exact P(theta | x, z) and P(z | x)."""
    truth: dict[tuple[int, str], dict[str, float]] = {}
    positive = phrases.positive(target)
    asked = cases["z"].astype("object")
    for z in asked.dropna().unique():
        positions = [position for position, value in enumerate(asked) if value == z]
        evidence = pd.DataFrame([evidence_of(cases.iloc[position]) for position in positions])
        weights = posterior(network, evidence, z)
        for state in phrases.labels(z):
            # A state of z that x rules out has no conditional truth: it stays null.
            beliefs = posterior(network, evidence.assign(**{z: state}), target, errors="nan")
            for row, position in enumerate(positions):
                truth[position, state] = {
                    "p_true": float(beliefs.iloc[row][positive]),
                    "p_z_true": float(weights.iloc[row][state]),
                }
    return truth
