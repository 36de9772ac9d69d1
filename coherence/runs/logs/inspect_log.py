"""Inspect logs: ``.eval``, a zip file with a JSON document per sample, and ``.json``, one for all.

Fields of a sample: ``id``, ``epoch``, ``rep`` (the epoch counted from 0), ``input`` (where it is
one text), ``output`` (what the model said last), ``finish_reason`` (``length`` where that was
cut), ``target``, ``choices``, ``error``, ``metadata.<name>``, ``scores.<scorer>.value``,
``.answer`` and ``.metadata.<name>``.

Of an agent an episode is a case, its last call of a tool the action, and the belief what was said
before that call in the same episode: aside (an event that the solver wrote into the transcript), as
an argument of a tool that reports it, or in words. What came before what is told by places in the
transcript, never by ids of calls, which repeat in some logs.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter, defaultdict
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
    names_of,
    sample_columns,
)

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample
    from inspect_ai.tool import ToolCall

_SAYS_EARLY = 100_000  # bytes of a log before its plan, results and samples
_EVAL = re.compile(rb'"eval"\s*:\s*\{')
_AT_ONCE = 16  # samples with all their messages and events: those of a long log fill the memory
OWN_TASKS = {
    "belief_coherence/beliefs_and_actions": "coherence analyze",
    "belief_coherence/bets": "coherence bets --answers",
    "belief_coherence/mixing": "coherence mix --answers",
}
"""What reads the logs of this package's own tasks."""
FINISH_REASONS = {"max_tokens": "length", "model_length": "length"}
"""Inspect's words for why an answer ended that differ from those of OpenAI's API."""
_CHOICE_SCORER = re.compile(r"(?:.*/)?choice\d*")


def read_inspect_log(path: Path, calls: CallReading | None = None) -> AnswerLog:
    """Return a log as one record per sample and epoch; of agents that act by `calls`, per belief.

    Raises
    ------
    InputError
        No log, or one without an answer; no call, a tool or an argument that no call has, or
        nothing that says where beliefs stand.
    """
    log, samples = read_samples(path, unread=set() if calls else {"messages", "events"})
    seen, records, found = _Calls(), list[dict[str, object]](), Counter[str]()
    n, answered, errors = 0, False, Counter[str]()
    for sample in samples:
        if calls is None:
            records.append(record_of(sample))
        else:
            episode = Episode(sample)
            seen.add(episode)
            records += _records(path, episode, calls, found)
        n, answered = n + 1, answered or not sample.error or bool(sample.output.choices)
        if sample.error:  # the first line says what went wrong; a traceback fills a page
            errors[sample.error.message.strip().partition("\n")[0][:300]] += 1
    failures = [f"Most frequent error ({times}): {said}" for said, times in errors.most_common(1)]
    failures = [f"The run failed: {log.error.message}"] if log.error else failures
    expected = (log.eval.dataset.samples or 0) * (log.eval.config.epochs or 1)
    if not answered:
        raise InputError(
            f"{path}: the log has no answer; it has {n} of {expected} samples. "
            f"{' '.join(failures)} Run it again, without --no-log-samples, or leave this file out."
        )
    # A run that was cut off is read as far as it got, and says how far.
    notes = [f"the run did not finish (status {log.status})"] * (log.status != "success")
    notes += [f"{n} of {expected} samples are in the log"] * (expected > n)
    if errors:
        said = f"samples that ended in an error: {errors.total()}; an answer that is missing counts"
        notes.append(f"{said} as unparsed. {' '.join(failures)}")
    fields = {"context": "id", "rep": "rep", "answer": "output", "theta": "target"}
    fields |= {"created": "completed_at"} | sample_columns(names_of(records), "metadata.")
    told: dict[str, Any] = {}
    if calls is not None:
        seen.check(path, calls)
        records.sort(key=lambda record: int(str(record["epoch"])))
        fields, told = _of_calls(records, fields), {"labels": ("action",)}
        # What was asked aside is a probability.
        told |= {"probabilities": ("belief",)} if calls.belief_from == SIDE_QUESTION else {}
        if found := +found:
            shown = "; ".join(f"{times} {kind}" for kind, times in found.items())
            notes.append(f"of {counted(n, 'episode')} {shown}")
    told["notes"] = tuple(notes)
    return AnswerLog(path.name, log.eval.task, log.eval.model, tuple(records), fields, **told)


def read_samples(path: Path, unread: set[str]) -> tuple[EvalLog, Iterator[EvalSample]]:
    """Return a log's header, and its samples as they are read, without what is `unread`."""
    with _one_error(path):
        # Its import teaches zipfile Zstandard, which Inspect packs its logs with.
        from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries

        n_entries, unread = _check_archive(path), {"store", *unread}
        known = [(each.id, each.epoch) for each in read_eval_log_sample_summaries(str(path))]
        # A run that was cut off may have samples that its summaries lack.
        if not n_entries or len(known) != n_entries:
            log = read_eval_log(str(path), resolve_attachments="core", exclude_fields=unread)
            return log, iter(log.samples or ())
        return read_eval_log(str(path), header_only=True), _in_batches(path, known, unread)


def _in_batches(
    path: Path, known: Sequence[tuple[str | int, int]], unread: set[str]
) -> Iterator[EvalSample]:
    from inspect_ai.log import read_eval_log_samples_by_id

    how: dict[str, Any] = {"resolve_attachments": "core", "exclude_fields": unread}
    for first in range(0, len(known), _AT_ONCE):
        with _one_error(path):
            yield from read_eval_log_samples_by_id(
                str(path), known[first : first + _AT_ONCE], **how
            )


@contextmanager
def _one_error(path: Path) -> Iterator[None]:
    """Turn what Inspect raises about a file into one error."""
    try:
        import inspect_ai.log  # noqa: F401
    except ImportError:
        raise MissingExtraError("elicit", "reading a log of Inspect") from None
    try:
        yield
    except InputError:
        raise
    # Zip, Zstandard, JSON and pydantic each have errors of their own for a file that is no log.
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(
            f"{path}: this is no Inspect log, or a damaged one ({reason}). "
            "Get the whole file again."
        ) from None


def _check_archive(path: Path) -> int:
    """Hold sizes and checksums against the directory; return how many samples it has.

    Inspect's reader passes damaged answers. A log in JSON is no archive, and has 0.
    """
    if path.suffix.lower() == ".json":
        return 0
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        # Reads at most the stated size of each entry, so that the sizes hold from here on.
        damaged = archive.testzip()
    if damaged is not None:
        raise zipfile.BadZipFile(f"checksum of entry {damaged!r} differs")
    return sum(entry.filename.startswith("samples/") for entry in entries)


def record_of(sample: EvalSample) -> dict[str, object]:
    """Return the fields of a sample."""
    target: object = sample.target
    # Inspect takes one target or a list of them; a list of one is one.
    if isinstance(target, list):
        target = target[0] if len(target) == 1 else flatten(target, "target")["target"]
    # The texts of a reply in parts, without its reasoning; None where nothing was said.
    text = sample.output.completion
    record: dict[str, object] = {
        "id": sample.id,
        "epoch": sample.epoch,
        # Inspect counts epochs from 1, the runs table repetitions from 0.
        "rep": sample.epoch - 1,
        "output": text if sample.output.choices else text or None,
        "target": target,
    }
    if isinstance(sample.input, str):
        record["input"] = sample.input
    if sample.choices:
        record["choices"] = tuple(sample.choices)
        record["target"] = _choice_of(target, sample.choices)
    if sample.output.choices:
        reason = sample.output.choices[0].stop_reason
        record["finish_reason"] = FINISH_REASONS.get(reason, reason)
    if sample.error:
        record["error"] = sample.error.message
    record |= {"completed_at": sample.completed_at} | flatten(sample.metadata or {}, "metadata")
    for name, score in (sample.scores or {}).items():
        said = {"value": score.value, "answer": score.answer, "metadata": score.metadata or {}}
        known = flatten(said, f"scores.{name}")
        record |= {field: value for field, value in known.items() if value is not None}
        # The choices may have been shuffled: their scorer knows what a letter stood for.
        if sample.choices and _CHOICE_SCORER.fullmatch(name) and score.answer is not None:
            choice = _choice_of(score.answer, sample.choices)
            record.setdefault(PICKED, choice if choice in sample.choices else "")
    return record


def _choice_of(target: object, choices: Sequence[str]) -> object:
    """Replace a letter by the choice that it stands for, as Inspect's multiple_choice has it."""
    position = ord(target) - ord("A") if isinstance(target, str) and len(target) == 1 else -1
    return choices[position] if 0 <= position < len(choices) else target


def _recognises(path: Path) -> bool:
    """Tell a log from other JSON: it says early on what was evaluated."""
    if path.suffix.lower() == ".eval":
        return True
    with path.open("rb") as file:
        start = file.read(_SAYS_EARLY)
    return start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and bool(_EVAL.search(start))


FORMAT = LogFormat("inspect", (".eval", ".json"), _recognises, read_inspect_log)


SIDE_QUESTION, TEXT, TOOL = "side_question", "text", "tool:"
SOURCE = "coherence.side_question"
"""Source of the event by which a solver records what it asked aside."""
_MOST_SHOWN = 8  # calls


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
        asked = [[each for each in part if not isinstance(each, str)] for part in parts]
        return next(filter(None, reversed(asked)), [])


def as_text(value: object) -> str:
    """Return an argument's value as a label shows it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _of_calls(records: Sequence[Record], fields: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of episodes; repetitions of a case are numbered where they are joined."""
    names = names_of(records)
    fields = {column: name for column, name in fields.items() if column not in ("rep", "theta")}
    fields |= {"answer": "belief"}
    for name in ("target", "metadata.theta"):
        if any(record.get(name) not in (None, "") for record in records):
            fields["theta"] = name
    as_named = ("action", "belief_context", "raw_action", "asked")
    fields |= {name: name for name in as_named if name in names}
    fields |= {"raw_belief": "reply"} if "reply" in names else {}
    # Epochs are repetitions of a case, unless the exact posterior is of what an epoch has seen.
    truths = [fields[name] for name in ("theta", EXACT) if name in fields]
    table = pd.DataFrame(records, dtype=object).reindex(columns=["id", *truths])
    if (table.groupby("id")[truths].nunique() > 1).any(axis=None):
        fields |= {"context": "episode", "group": "id"}
    return fields


def _records(
    path: Path, episode: Episode, reading: CallReading, found: Counter[str]
) -> list[dict[str, object]]:
    """Return the records of an episode, and count what it has or lacks."""
    acting = [each for each in episode.calls if each[1].function in reading.acting]
    at, call = acting[-1] if acting else (len(episode.spoken), None)
    aside = reading.belief_from == SIDE_QUESTION
    beliefs = (
        _asked(path, episode, call, reading)
        if aside
        else [flatten(_said(episode, at, reading), "belief")]
    ) or [{"belief": None}]
    record = {**record_of(episode.sample), "episode": episode.name}
    record["belief_context"] = OWN_CONTEXT if aside else SAME_CONTEXT
    for name in (PICKED, "finish_reason"):  # of the last message, which is no action's
        record.pop(name, None)
    action, raw = (None, None) if call is None else _action(call, reading)
    found["have several calls of these tools, the last of which is the action"] += len(acting) > 1
    found["have no such call, and no action"] += call is None
    found["lack the argument that is the action"] += call is not None and action is None
    found["have no belief before the action"] += beliefs == [{"belief": None}]
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
    """Return what was asked aside before an action, with the number that the question read of it.

    Else the belief is the reply, as where a pattern is to find it there.
    """
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
    holds = reading.pattern.search if reading.pattern else _is_belief
    return next((text for text in reversed(texts) if holds(text)), texts[-1] if texts else None)


def _is_belief(text: str) -> bool:
    """Tell whether a belief can be read from a text, as it is or as a percentage."""
    return any(belief_cell(text, line=line).value is not None for line in (None, PERCENT))


class _Calls:
    """What the agents of a log called, and how often they were asked aside."""

    def __init__(self) -> None:
        self.n_episodes = self.n_asked = 0
        self.tools: Counter[str] = Counter()
        self.arguments: dict[str, dict[str, None]] = defaultdict(dict)  # of tools

    def add(self, episode: Episode) -> None:
        """Count an episode."""
        self.n_episodes += 1
        self.n_asked += not all(isinstance(event, str) for event in episode.events)
        for _, call in episode.calls:
            self.tools[call.function] += 1
            self.arguments[call.function] |= dict.fromkeys(call.arguments)

    def check(self, path: Path, reading: CallReading) -> None:
        """Raise where the log has nothing of what is to be read."""
        known = [f"{tool}.{name}" for tool, of in self.arguments.items() for name in of]
        wanted = dict.fromkeys(reading.tools, "action_from")
        wanted |= {reading.argument: "belief_from"} if reading.argument else {}
        for name, option in wanted.items():
            if name not in (*self.tools, *known):
                candidates = known if "." in name else [*self.tools]
                raise InputError(
                    f"{path}: {option} names {name!r}, which no message calls. "
                    f"{closest(name, candidates)}"
                )
        if reading.belief_from == SIDE_QUESTION and not self.n_asked:
            raise InputError(
                f"{path}: no belief was asked aside, and nothing says where beliefs stand: "
                f"--belief-from {TOOL}NAME.ARGUMENT or --belief-from {TEXT}. {self.overview()}"
            )

    def overview(self) -> str:
        """Return what was called, each argument with its most frequent values."""
        calls = (
            f"{tool}({', '.join(self.arguments[tool])}) {counted(times, 'time')}"
            for tool, times in self.tools.most_common()
        )
        asked = counted(self.n_asked, "episode has", "episodes have")
        return f"Calls: {listing(calls, _MOST_SHOWN)}; {asked} a belief that was asked aside."


def require_action_from(path: Path) -> None:
    """Raise `InputError` where the agents of a log call tools, and list these.

    The last answer need not be what was done then.
    """
    seen = _Calls()
    for sample in read_samples(path, unread=set())[1]:
        seen.add(Episode(sample))
    if seen.tools:
        raise InputError(
            f"{path}: agents call tools in {counted(seen.n_episodes, 'episode')}, and nothing says "
            f"which call is the action. {seen.overview()} Name the action, and where the belief "
            "before it stands if it was not asked aside: --action-from TOOL or TOOL.ARGUMENT, "
            f"--belief-from {TOOL}TOOL.ARGUMENT or {TEXT}; a number among words is read by "
            "--belief-pattern REGEX. To read the last answers instead: --belief output."
        )
