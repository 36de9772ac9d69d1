"""From answers to the runs table: one row per context, repetition and framing, and one per state of z.

The action, asked for by itself, stands on the rows of the standard framing. A row's status is the gravest of its answers; what could be read of it
is kept, the rest is null. Truth comes from the network, exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bayesnets import Network, Phrases, posterior
from elicitation.decode import Decoded, decode_belief, decode_decision, decode_distribution, worst
from elicitation.questions import FEATURE_PREFIX, Question, evidence_of
from elicitation.store import StoredAnswer

_TEXT_COLUMNS = ("task", "model", "prompt", "action", "z", "z_state", "status", "raw_belief", "raw_action", "raw_z", "created")
_NUMBER_COLUMNS = ("p", "p_true", "p_z", "p_z_true")


@dataclass(frozen=True)
class _Read:
    """An answer and what was read of it."""

    stored: StoredAnswer
    decoded: Decoded[Any]


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
        A probability, an action, or the probabilities of the states of z.
    """
    if question.role == "decision":
        return decode_decision(text)
    if question.role == "auxiliary":
        return decode_distribution(text, question.lines)
    return decode_belief(text)


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
        Sorted by context, repetition, framing; it depends on the answers alone, so a second assembly is the same to the byte.
    """
    read = {
        (question.case, question.rep, question.role, question.key): _Read(answer, decode_answer(question, answer.text))
        for question, answer in zip(questions, answers, strict=True)
    }
    truth = _conditional_truth(cases, network, phrases, target)
    columns = [name for name in cases.columns if str(name).startswith(FEATURE_PREFIX)]
    rows = []
    for (position, rep, role, key), belief in sorted(read.items(), key=lambda item: item[0][:2]):
        if role not in ("belief", "conditional"):
            continue
        case = cases.iloc[position]
        row = {"task": task, "model": model, "context": case["context"], "rep": rep, "theta": int(case["theta"])}
        row |= {"p": belief.decoded.value, "raw_belief": belief.stored.text, "seed": belief.stored.seed}
        used = [belief]
        if role == "belief":
            row |= {"prompt": key, "p_true": float(case["p_true"])}
            if key == "standard":
                decision = read[position, rep, "decision", ""]
                used.append(decision)
                row |= {"action": decision.decoded.value, "raw_action": decision.stored.text}
        else:
            auxiliary = read[position, rep, "auxiliary", ""]
            used.append(auxiliary)
            row |= {"prompt": "standard", "z": case["z"], "z_state": key, "raw_z": auxiliary.stored.text}
            if auxiliary.decoded.value is not None:
                row["p_z"] = auxiliary.decoded.value[list(phrases.labels(str(case["z"]))).index(key)]
            row |= truth[position, key]
        row["status"] = worst([one.decoded.status for one in used])
        row["created"] = max(one.stored.created for one in used)
        row |= {str(name): case[name] for name in columns}
        rows.append(row)
    return _typed(rows, [str(name) for name in columns])


def _typed(rows: list[dict[str, Any]], features: list[str]) -> pd.DataFrame:
    order = ["task", "model", "context", "rep", "prompt", "p", "action", "theta", "p_true", "z", "z_state", "p_z", "p_z_true", *features,
             "status", "raw_belief", "raw_action", "raw_z", "seed", "created"]  # fmt: skip
    runs = pd.DataFrame.from_records(rows).reindex(columns=order)
    # A column that happens to be all null would otherwise take another type than in the next session.
    runs[list(_NUMBER_COLUMNS)] = runs[list(_NUMBER_COLUMNS)].astype("float64")
    texts = [*_TEXT_COLUMNS, *features]
    runs[texts] = runs[texts].astype("string")
    runs[["rep", "theta", "seed"]] = runs[["rep", "theta", "seed"]].astype("int64")
    return runs


def _conditional_truth(cases: pd.DataFrame, network: Network, phrases: Phrases, target: str) -> dict[tuple[int, str], dict[str, float]]:
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
                truth[position, state] = {"p_true": float(beliefs.iloc[row][positive]), "p_z_true": float(weights.iloc[row][state])}
    return truth
