"""From answers to the runs table: one row per context, repetition and framing or state of z.

The action, asked for by itself, stands on the rows of the reference framing. A row's status is the
gravest of its answers; what could be read of it is kept, the rest is null. Truth comes from the
network, exactly, or from the table of questions, as far as it is there.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import pandas as pd

from coherence.decoding.decode import Decoded, worst
from elicitation.answers.beliefs import ReadBelief, sampled_belief
from elicitation.answers.distributions import ACTION_LABELS, ExactReading
from elicitation.answers.reading import ReadAnswer
from elicitation.answers.runs_columns import SPREAD, typed_runs
from elicitation.questions.grid import reference_of
from elicitation.questions.tasks import Truth, features_of

_KINDS = {
    "verbalised": "stated:drawn",
    "forced": "stated:forced",
    "exact": "stated:exact",
    "token": "token",
    "sampled": "sampled",
}
# The gravest first; a server's own words for anything else are left to the store.
_ENDS = ("content_filter", "length", "stop")
_Place = tuple[int, int, str, str]
"""Case, repetition, role and key of a question: where its answer goes."""


@dataclass(frozen=True)
class _Reading:
    """The answers to a question: one, or the draws of a sampled belief."""

    answers: list[ReadAnswer]

    @property
    def first(self) -> ReadAnswer:
        return self.answers[0]

    @property
    def raw(self) -> str:
        """The answer as it came; of many draws, how often each came; a distribution by its line."""
        question, text = self.first.question, self.first.stored.text
        if question.way == "exact":
            parts = json.loads(text)
            # The numbers of a line are those of its label: of No and Yes, the probability of No.
            lines = question.lines if question.form == "lines" else ("Yes",)
            in_lines = question.role not in ("decision", "choice")
            return json.dumps(
                dict(zip(lines, parts, strict=False)) if in_lines else parts[0], ensure_ascii=False
            )
        if question.way != "sampled":
            return text
        texts = Counter(answer.stored.text for answer in self.answers)
        return json.dumps(dict(texts.most_common()), ensure_ascii=False)

    @cached_property
    def value(self) -> Decoded[Any] | ReadBelief | ExactReading:
        if self.first.question.way != "sampled":
            return self.first.decoded
        draws = [cast("Decoded[str]", answer.decoded) for answer in self.answers]
        return sampled_belief(draws)

    def belief_cells(self) -> dict[str, Any]:
        """The cells of a row that come from a question for a belief."""
        stored = self.first.stored
        kind = _KINDS[self.first.question.way]
        cells = {
            "p": self.value.value,
            "belief_kind": kind,
            "raw_belief": self.raw,
            "seed": stored.seed,
        }
        if kind == "stated:exact" and isinstance(self.value, ExactReading):
            spread = (self.value.sd, self.value.q05, self.value.q95)
            cells |= dict(zip(SPREAD, spread, strict=True))
        # A belief that is read off has a mass on Yes and No; the text of a stated one has a
        # likelihood.
        if not isinstance(self.value, Decoded):
            return cells | {"answer_mass": self.value.answer_mass}
        return cells | {"logprob_belief": stored.logprob}

    def action_cells(self) -> dict[str, Any]:
        """The cells of a row that come from a question for an action."""
        question = self.first.question
        if question.way == "exact":
            # An action that is a distribution has a column for each label.
            labels = question.lines if question.role == "choice" else ACTION_LABELS
            shares = cast("dict[str, float | None]", self.value.value or dict.fromkeys(labels))
            return {f"action_{label}": shares[label] for label in labels} | {"raw_action": self.raw}
        return {
            "action": self.value.value,
            "raw_action": self.raw,
            "logprob_action": self.first.stored.logprob,
        }


def _gathered(read: Sequence[ReadAnswer]) -> dict[_Place, _Reading]:
    """Return the answers by their place, in the order of the runs table."""
    readings: dict[_Place, _Reading] = {}
    for answer in read:
        question = answer.question
        position = (question.case, question.rep, question.role, question.key)
        readings.setdefault(position, _Reading([])).answers.append(answer)
    # By case and repetition; sorting is stable, so that framings stay in the order of the plan.
    return dict(sorted(readings.items(), key=lambda item: item[0][:2]))


def _reference(read: Sequence[ReadAnswer]) -> str:
    framings = (answer.question.key for answer in read if answer.question.role == "belief")
    return reference_of(list(dict.fromkeys(framings)))


def _sum_up(used: Sequence[_Reading]) -> dict[str, Any]:
    """Return the status, the answer mass and the time of a row."""
    values = [reading.value for reading in used]
    masses = [value.answer_mass for value in values if not isinstance(value, Decoded)]
    ended = {answer.stored.finish_reason for reading in used for answer in reading.answers}
    return {
        "status": worst([value.status for value in values]),
        # As the status: of a belief and an action the one that the model would give less.
        **({"answer_mass": min(masses)} if masses else {}),
        "finish_reason": next((reason for reason in _ENDS if reason in ended), None),
        # A row is as old as the youngest of its answers.
        "created": max(
            answer.stored.created or "" for reading in used for answer in reading.answers
        ),
    }


def assemble_runs(
    cases: pd.DataFrame, read: Sequence[ReadAnswer], truth: Truth, *, task: str, model: str
) -> pd.DataFrame:
    """Lay the answers out as a runs table.

    A row of which an answer has not come is left out: of a session that is none, of the log of a
    run that was cut off the last ones.
    """
    readings, reference = _gathered(read), _reference(read)
    acting = next((role for _, _, role, _ in readings if role in ("decision", "choice")), None)
    rows, positions = [], []
    for (position, rep, role, key), belief in readings.items():
        if role not in ("belief", "conditional"):
            continue
        # Actions are asked without a framing. On the rows of all framings one action would count
        # as several.
        second = "auxiliary" if role == "conditional" else acting if key == reference else None
        other = readings.get((position, rep, second, "")) if second else None
        if second and other is None:
            continue
        row = {"task": task, "model": model, "rep": rep, **belief.belief_cells()}
        if role == "conditional":
            assert other is not None, "left out above"
            row |= {"prompt": reference, "z": cases["z"].iloc[position], "z_state": key}
            row |= {"raw_z": other.raw, **truth[position][key]}
            # In the order of the labels that the question listed, which is that of the states.
            shares = cast("tuple[float, ...] | None", other.value.value)
            if shares is not None:
                row["p_z"] = shares[list(truth[position]).index(key)]
        else:
            row["prompt"] = key
            if "p_true" in cases.columns:
                row["p_true"] = cases["p_true"].iloc[position]
            if other is not None:
                row |= other.action_cells()
        rows.append(row | _sum_up([belief] if other is None else [belief, other]))
        positions.append(position)
    # What is not known of the truth is no column at all: an empty one would read as known and
    # missing.
    absent = [name for name in ("theta", "p_true") if name not in cases.columns]
    if acting is None:
        absent += ["action", "raw_action", "logprob_action"]
    if "z" not in cases.columns:
        absent += ["z", "z_state", "p_z", "p_z_true", "raw_z"]
    features = features_of(cases)
    kept = [name for name in ("context", "theta", *features) if name in cases.columns]
    runs = typed_runs(rows, cases[kept].iloc[positions], features)
    return runs.drop(columns=runs.columns.intersection(absent))
