"""Inspect logs: ``.eval``, a zip file with a JSON document per sample, and ``.json``, one for all.

Fields of a sample: ``id``, ``epoch``, ``rep`` (the epoch counted from 0), ``input`` (where it is
one text), ``output`` (what the model said last), ``finish_reason`` (``length`` where that was
cut), ``target``, ``choices``, ``metadata.<name>``, ``scores.<scorer>.value`` and ``.answer``.

Of an agent an episode is a case, its last call of a tool the action, and the belief what was said
before it: aside (an event that the solver wrote), as an argument of a tool, or in words. What came
before is told by places in the transcript, never by ids of calls, which repeat in some logs.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from coherence.errors import InputError, MissingExtraError, closest, listing
from coherence.printable import counted
from coherence.runs.columns import EXACT, OWN_CONTEXT, PERCENT, SAME_CONTEXT
from coherence.runs.logs.answers import (
    PICKED,
    AnswerLog,
    LogFormat,
    Record,
    belief_cell,
    flatten,
    sample_columns,
)

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample
    from inspect_ai.tool import ToolCall

_EVAL = re.compile(rb'[^{\[]*\{.*"eval"\s*:\s*\{', re.DOTALL)
_AT_ONCE = 16  # samples with all their messages and events: those of a long log fill the memory
OWN_TASK = "belief_coherence/beliefs_and_actions"
"""This package's own task, whose logs ``coherence analyze`` reads."""
FINISH_REASONS = {"max_tokens": "length", "model_length": "length"}
"""Inspect's words for why an answer ended that differ from those of OpenAI's API."""
_CHOICE_SCORER = re.compile(r"(?:.*/)?choice\d*")


def read_inspect_log(path: Path, calls: CallReading | None = None) -> AnswerLog:
    """Return a log as a record per sample and epoch; of agents that act by `calls`, per belief."""
    log, samples = read_samples(path, unread=set() if calls else {"messages", "events"})
    seen, errors, records = Counter[str](), Counter[str](), list[dict[str, object]]()
    n, answered = 0, False
    for sample in samples:
        if calls is None:
            records.append(record_of(sample))
        else:
            episode = Episode(sample)
            seen.update(episode.seen)
            records += _records(path, episode, calls)
        n, answered = n + 1, answered or not sample.error or bool(sample.output.choices)
        if sample.error:  # the first line says what went wrong; a traceback fills a page
            errors[sample.error.message.strip().partition("\n")[0][:300]] += 1
    said = [f" Most frequent error ({times}): {each}" for each, times in errors.most_common(1)]
    said = [f" The run failed: {log.error.message}"] if log.error else said
    # A run that was cut off is read as far as it got, and says how far.
    expected = (log.eval.dataset.samples or 0) * (log.eval.config.epochs or 1)
    got = f"{n} of {expected} samples are in the log, {errors.total()} of them ended in an error."
    got += "".join(said)
    if not answered:
        raise InputError(
            f"{path}: the log has no answer: {got} Run it again, without --no-log-samples, or "
            "leave this file out."
        )
    notes = [f"the run did not finish (status {log.status})"] * (log.status != "success")
    notes += [got] * bool(expected > n or errors)
    fields = {"context": "id", "rep": "rep", "answer": "output", "theta": "target"}
    fields |= {"created": "completed_at"} | sample_columns(records, "metadata.")
    told: dict[str, Any] = {"notes": tuple(notes)}
    if calls is not None:
        _require_called(path, calls, seen)
        records.sort(key=lambda record: int(str(record["epoch"])))
        fields = _of_calls(records, fields)
        # What was asked aside is a probability.
        aside = ("belief",) * (calls.belief_from == SIDE_QUESTION)
        told |= {"labels": ("action",), "probabilities": aside}
    return AnswerLog(path.name, log.eval.task, log.eval.model, tuple(records), fields, **told)


def read_samples(path: Path, unread: set[str]) -> tuple[EvalLog, Iterator[EvalSample]]:
    """Return a log's header, and its samples as they are read, without what is `unread`."""
    with _one_error(path):
        # Its import teaches zipfile Zstandard, which Inspect packs its logs with.
        from inspect_ai.log import (
            read_eval_log,
            read_eval_log_sample_summaries,
            read_eval_log_samples_by_id,
        )

        n_entries, unread = _check_archive(path), {"store", *unread}
        known = [(each.id, each.epoch) for each in read_eval_log_sample_summaries(str(path))]
        # A run that was cut off may have samples that its summaries lack.
        if not n_entries or len(known) != n_entries:
            log = read_eval_log(str(path), resolve_attachments="core", exclude_fields=unread)
            return log, iter(log.samples or ())
    how: dict[str, Any] = {"resolve_attachments": "core", "exclude_fields": unread}

    def in_batches() -> Iterator[EvalSample]:
        for first in range(0, len(known), _AT_ONCE):
            with _one_error(path):
                batch = known[first : first + _AT_ONCE]
                yield from read_eval_log_samples_by_id(str(path), batch, **how)

    return read_eval_log(str(path), header_only=True), in_batches()


@contextmanager
def _one_error(path: Path) -> Iterator[None]:
    """Turn what Inspect raises about a file into one error."""
    try:
        yield
    except InputError:
        raise
    except ImportError:
        raise MissingExtraError("elicit", "reading a log of Inspect") from None
    # Zip, Zstandard, JSON and pydantic each have errors of their own for a file that is no log.
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(
            f"{path}: this is no Inspect log, or a damaged one ({reason}). "
            "Get the whole file again."
        ) from None


def _check_archive(path: Path) -> int:
    """Check what the file holds against its directory; return how many samples, 0 in JSON."""
    if path.suffix.lower() == ".json":
        return 0
    with zipfile.ZipFile(path) as archive:
        if (damaged := archive.testzip()) is not None:
            raise zipfile.BadZipFile(f"checksum of entry {damaged!r} differs")
        return sum(name.startswith("samples/") for name in archive.namelist())


def record_of(sample: EvalSample) -> dict[str, object]:
    """Return the fields of a sample."""
    target: object = sample.target
    # Inspect takes one target or a list of them; a list of one is one.
    if isinstance(target, list):
        target = target[0] if len(target) == 1 else flatten(target, "target")["target"]
    # The texts of a reply in parts, without its reasoning; None where nothing was said.
    text, choices = sample.output.completion, tuple(sample.choices or ())
    reason = sample.output.choices[0].stop_reason if sample.output.choices else None
    record: dict[str, object] = {
        "id": sample.id,
        "epoch": sample.epoch,
        # Inspect counts epochs from 1, the runs table repetitions from 0.
        "rep": sample.epoch - 1,
        "output": text if sample.output.choices else text or None,
        "target": _choice_of(target, choices),
        "input": sample.input if isinstance(sample.input, str) else None,
        "choices": choices or None,
        "finish_reason": FINISH_REASONS.get(str(reason), reason),
        "completed_at": sample.completed_at,
        **flatten(sample.metadata or {}, "metadata"),
    }
    for name, score in (sample.scores or {}).items():
        said = {"value": score.value, "answer": score.answer, "metadata": score.metadata or {}}
        record |= flatten(said, f"scores.{name}")
        # The choices may have been shuffled: their scorer knows what a letter stood for.
        if choices and _CHOICE_SCORER.fullmatch(name) and score.answer is not None:
            choice = _choice_of(score.answer, choices)
            record.setdefault(PICKED, choice if choice in choices else "")
    return {name: value for name, value in record.items() if value is not None}


def _choice_of(target: object, choices: Sequence[str]) -> object:
    """Replace a letter by the choice that it stands for, as Inspect's multiple_choice has it."""
    position = ord(target) - ord("A") if isinstance(target, str) and len(target) == 1 else -1
    return choices[position] if 0 <= position < len(choices) else target


def _recognises(path: Path) -> bool:
    """Tell a log from other JSON: it says early on what was evaluated."""
    with path.open("rb") as file:
        start = file.read(100_000)  # before its plan, results and samples
    return path.suffix.lower() == ".eval" or bool(_EVAL.match(start))


FORMAT = LogFormat("inspect", (".eval", ".json"), _recognises, read_inspect_log)


SIDE_QUESTION, TEXT, TOOL = "side_question", "text", "tool:"
SOURCE = "coherence.side_question"  # of the event by which a solver records what it asked aside


@dataclass(frozen=True)
class CallReading:
    """Which calls are the action, and where the belief stands."""

    tools: tuple[str, ...]  # or TOOL.ARGUMENT where a value of the argument is the action
    belief_from: str = SIDE_QUESTION  # or TEXT or "tool:NAME.ARGUMENT"
    pattern: re.Pattern[str] | None = None  # of the number that is the belief

    def __post_init__(self) -> None:
        """Refuse places that there are not."""
        if self.belief_from not in (SIDE_QUESTION, TEXT) and not self.argument:
            raise InputError(
                f"belief_from must be {SIDE_QUESTION}, {TEXT} or {TOOL}NAME.ARGUMENT, such as "
                f"--belief-from tool:report_confidence.probability; received {self.belief_from!r}."
            )

    @property
    def argument(self) -> str:
        """The tool that reports beliefs and its argument, with a dot between them."""
        named = self.belief_from.removeprefix(TOOL)
        return named if named != self.belief_from and "." in named.strip(".") else ""

    @property
    def acting(self) -> dict[str, str]:
        """Tool -> the argument of it that is the action; empty for all."""
        parts = (name.partition(".") for name in self.tools)
        return {tool: argument for tool, _, argument in parts}


class Episode:
    """A sample of one epoch, in the order of its transcript."""

    def __init__(self, sample: EvalSample) -> None:
        self.sample = sample
        epoch = "" if sample.epoch == 1 else f" (epoch {sample.epoch})"
        self.name = f"{sample.id}{epoch}"
        self.spoken: list[ToolCall | str] = []  # words and calls of the agent's own messages
        # what was asked aside, and names of tools that were run
        self.events: list[Mapping[str, Any] | str] = []
        for message in sample.messages:
            # What an input shows, as in an example, the agent has not said.
            if message.role == "assistant" and message.source != "input":
                self.spoken += [text] if (text := message.text.strip()) else []
                self.spoken += message.tool_calls or ()
        for event in sample.events:
            if event.event == "info" and event.source == SOURCE:
                data = event.data
                self.events.append(data if isinstance(data, dict) else {"reply": data})
            elif event.event == "tool":
                self.events.append(event.function)

    @property
    def calls(self) -> list[tuple[int, ToolCall]]:
        """Calls of tools, with their places among what was spoken."""
        return [(at, each) for at, each in enumerate(self.spoken) if not isinstance(each, str)]

    @property
    def seen(self) -> Iterator[str]:
        """Every tool and argument that was called, as options name them, and what was asked."""
        yield from {SIDE_QUESTION for event in self.events if not isinstance(event, str)}
        for _, call in self.calls:
            yield from (call.function, *(f"{call.function}.{name}" for name in call.arguments))

    def asked_before(self, action: ToolCall | None) -> list[Mapping[str, Any]]:
        """Return what was last asked aside, in one turn, before the last call of a tool."""
        end = len(self.events)
        if action is not None:
            run = [place for place, event in enumerate(self.events) if event == action.function]
            called = sum(call.function == action.function for _, call in self.calls)
            # Where a call was not run, as at a limit, it is the last: all else was before it.
            end = run[-1] if len(run) >= called else end

        def turn(event: Mapping[str, Any] | str) -> object:
            return event if isinstance(event, str) else (event.get("turn"),)

        parts = [[*part] for _, part in groupby(self.events[:end], turn)]
        return next((part for part in reversed(parts) if not isinstance(part[0], str)), [])


def as_text(value: object) -> str:
    """Return an argument's value as a label shows it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _of_calls(records: Sequence[Record], fields: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of episodes; repetitions of a case are numbered where they are joined."""
    fields = {column: name for column, name in fields.items() if column not in ("rep", "theta")}
    fields |= {name: name for name in ("action", "belief_context", "raw_action")}
    fields |= {"answer": "belief"}
    if "reply" in records[0]:
        fields |= {"raw_belief": "reply", "asked": "asked"}
    for name in ("target", "metadata.theta"):
        if any(record.get(name) not in (None, "") for record in records):
            fields["theta"] = name
    # Epochs are repetitions of a case, unless the exact posterior is of what an epoch has seen.
    truths = [fields[name] for name in ("theta", EXACT) if name in fields]
    table = pd.DataFrame(records, dtype=object).reindex(columns=["id", *truths])
    if (table.groupby("id")[truths].nunique() > 1).any(axis=None):
        fields |= {"context": "episode", "group": "id"}
    return fields


def _records(path: Path, episode: Episode, reading: CallReading) -> list[dict[str, object]]:
    """Return the records of an episode, the first with its action."""
    acting = [each for each in episode.calls if each[1].function in reading.acting]
    at, call = acting[-1] if acting else (len(episode.spoken), None)
    aside = reading.belief_from == SIDE_QUESTION
    if aside:
        beliefs = _asked(path, episode, call, reading) or [{"belief": None}]
    else:
        beliefs = [flatten(_said(episode, at, reading), "belief")]
    record = {**record_of(episode.sample), "episode": episode.name}
    record["belief_context"] = OWN_CONTEXT if aside else SAME_CONTEXT
    for name in (PICKED, "finish_reason"):  # of the last message, which is no action's
        record.pop(name, None)
    action, raw = (None, None) if call is None else _action(call, reading)
    records = [{**record, **belief} for belief in beliefs]
    records[0] |= {"action": action, "raw_action": raw}  # it acted once
    return records


def _action(call: ToolCall, reading: CallReading) -> tuple[str | None, str]:
    """Return the action that a call is, as far as it can be named, and the call in words."""
    given = ", ".join(f"{name}={as_text(value)}" for name, value in call.arguments.items())
    raw, argument = f"{call.function}({given})", reading.acting[call.function]
    if argument and (call.parse_error or argument not in call.arguments):
        return None, raw
    value = as_text(call.arguments[argument]) if argument else ""
    alone = value and len(reading.tools) == 1
    return value if alone else f"{call.function} {value}".strip(), raw


def _asked(
    path: Path, episode: Episode, action: ToolCall | None, reading: CallReading
) -> list[dict[str, object]]:
    """Return what was asked aside before an action, with the number read of it, else the reply."""
    asked = episode.asked_before(action)
    if len(questions := {str(each.get("question")) for each in asked}) > 1:
        raise InputError(
            f"{path}: {len(questions)} different questions were asked aside before the action of "
            f"episode {episode.name!r}, and nothing says which is the belief: "
            f"{listing(sorted(map(repr, questions)), 2)}. Ask one question a turn, or read beliefs "
            f"elsewhere: --belief-from {TEXT}."
        )
    records = []
    for each in asked:
        read, reply = each.get("p"), each.get("reply")
        belief = reply if read is None or (reading.pattern and reply is not None) else read
        records.append(flatten(belief, "belief") | {"reply": reply, "asked": each.get("question")})
    return records


def _said(episode: Episode, at: int, reading: CallReading) -> object:
    """Return what the agent itself said before a place: the last that can be read."""
    if reading.argument:
        # The call that is the action may itself report the belief.
        reports = [
            value
            for place, call in episode.calls
            for name, value in call.arguments.items()
            if place <= at and f"{call.function}.{name}" == reading.argument
        ]
        return reports[-1] if reports else None
    texts = [each for each in episode.spoken[:at] if isinstance(each, str)]

    def is_belief(text: str) -> bool:
        if reading.pattern:
            return bool(reading.pattern.search(text))
        return any(belief_cell(text, line=line).value is not None for line in (None, PERCENT))

    return next(filter(is_belief, reversed(texts)), texts[-1] if texts else None)


def _require_called(path: Path, reading: CallReading, seen: Counter[str]) -> None:
    """Raise where a log has nothing of what is to be read."""
    for name in filter(None, (*reading.tools, reading.argument)):
        if not seen[name]:
            near = closest(name, [each for each in seen if each != SIDE_QUESTION])
            raise InputError(f"{path}: no message calls {name!r}. {near}")
    if reading.belief_from == SIDE_QUESTION and not seen[SIDE_QUESTION]:
        raise InputError(
            f"{path}: no belief was asked aside, and nothing says where beliefs stand: "
            f"--belief-from {TOOL}NAME.ARGUMENT or --belief-from {TEXT}. {_overview(seen)}"
        )


def _overview(seen: Counter[str]) -> str:
    """Return what was called how often, and how many episodes have beliefs that were asked."""
    calls = (f"{name} ({n})" for name, n in seen.most_common() if name != SIDE_QUESTION)
    aside = f"episodes with a belief that was asked aside: {seen[SIDE_QUESTION]}"
    return f"Calls: {listing(calls, 12)}; {aside}."


def require_action_from(path: Path) -> None:
    """Raise `InputError` where agents call tools: the last answer need not be what was done."""
    episodes = [[*Episode(sample).seen] for sample in read_samples(path, unread=set())[1]]
    seen = Counter(name for episode in episodes for name in episode)
    if {*seen} - {SIDE_QUESTION}:
        raise InputError(
            f"{path}: agents call tools in {counted(len(episodes), 'episode')}, and nothing says "
            f"which call is the action. {_overview(seen)} Name it (--action-from TOOL or "
            f"TOOL.ARGUMENT), and where the belief before it stands (--belief-from {TOOL}"
            f"TOOL.ARGUMENT or {TEXT}); to read the last answers instead: --belief output."
        )
