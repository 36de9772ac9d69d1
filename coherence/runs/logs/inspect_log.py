"""Inspect logs: ``.eval``, a zip file with a JSON document per sample, and ``.json``, one for all.

Fields of a sample: ``id``, ``epoch``, ``rep`` (the epoch counted from 0), ``input`` (where it is
one text), ``output`` (what the model said last), ``finish_reason`` (``length`` where that was
cut), ``target``, ``choices``, ``error``, ``metadata.<name>``, ``scores.<scorer>.value``,
``.answer`` and ``.metadata.<name>`` (numbers and short texts).
"""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.errors import InputError, MissingExtraError, listing
from coherence.runs.logs.answers import (
    PICKED,
    AnswerLog,
    LogFormat,
    flatten,
    names_of,
    sample_columns,
)

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample
    from inspect_ai.scorer import Score

_SAYS_EARLY = 100_000  # bytes of a log before its plan, results and samples
_EVAL = re.compile(rb'"eval"\s*:\s*\{')
_AT_ONCE = 16  # samples with all their messages and events
OWN_TASKS = {
    "belief_coherence/beliefs_and_actions": "coherence analyze",
    "belief_coherence/bets": "coherence bets --answers",
    "belief_coherence/mixing": "coherence mix --answers",
}
"""What reads the logs of this package's own tasks."""
FINISH_REASONS = {"max_tokens": "length", "model_length": "length"}
"""Inspect's words for why an answer ended that differ from those of OpenAI's API."""
_CHOICE_SCORER = re.compile(r"(?:.*/)?choice\d*")
# The form that Inspect's multiple_choice asks for, and its scorer `answer` looks for.
_ANSWER_LINE = re.compile(r"\s*ANSWER\s*:\s*(?P<answer>\S(?:.*\S)?)\s*", re.IGNORECASE)
_LONGEST = 100  # characters of a score's metadata: explanations are longer


def read_inspect_log(path: Path) -> AnswerLog:
    """Return an Inspect log as one record per sample and epoch, as Inspect's own reader has it."""
    with _one_error(path):
        # Its import teaches zipfile Zstandard, which Inspect packs its logs with.
        from inspect_ai.log import read_eval_log

        _check_archive(path)
        # What no answer is read from is most of a long log.
        unread = {"messages", "events", "store"}
        log = read_eval_log(str(path), resolve_attachments="core", exclude_fields=unread)
    samples = log.samples or []
    require_answers(path, log, samples)
    records = tuple(map(record_of, samples))
    fields = {
        "context": "id",
        "rep": "rep",
        "answer": "output",
        "theta": "target",
        "created": "completed_at",
        **sample_columns(names_of(records), "metadata."),
    }
    notes = tuple(notes_on(log, samples))
    return AnswerLog(path.name, log.eval.task, log.eval.model, records, fields, notes=notes)


def require_answers(path: Path, log: EvalLog, samples: Sequence[EvalSample]) -> None:
    """Raise where a log has no samples, or the run failed before any had an answer."""
    if not samples:
        raise InputError(
            f"{path}: the log has no samples. "
            + (
                f"The run failed: {log.error.message}"
                if log.error
                else "Inspect leaves them out with --no-log-samples; run it again without."
            )
        )
    if all(sample.error and not sample.output.choices for sample in samples):
        of = f" of {expected}" if (expected := _expected(log)) else ""
        raise InputError(
            f"{path}: the run failed, and no sample has an answer: {len(samples)}{of} ended in an "
            f"error. {_most_frequent_error(samples)}. Run it again, or leave this file out."
        )


def _expected(log: EvalLog) -> int:
    return (log.eval.dataset.samples or 0) * (log.eval.config.epochs or 1)


def read_samples(path: Path) -> tuple[EvalLog, Iterator[EvalSample]]:
    """Return a log's header, and its samples with messages and events as they are read."""
    with _one_error(path):
        from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries

        n_entries = _check_archive(path)
        known = [(each.id, each.epoch) for each in read_eval_log_sample_summaries(str(path))]
        # A run that was cut off may have samples that its summaries lack.
        if not n_entries or len(known) != n_entries:
            log = read_eval_log(str(path), resolve_attachments="core")
            return log, iter(log.samples or ())
        return read_eval_log(str(path), header_only=True), _in_batches(path, known)


def _in_batches(path: Path, known: Sequence[tuple[str | int, int]]) -> Iterator[EvalSample]:
    from inspect_ai.log import read_eval_log_samples_by_id

    for first in range(0, len(known), _AT_ONCE):
        with _one_error(path):
            yield from read_eval_log_samples_by_id(
                str(path), known[first : first + _AT_ONCE], resolve_attachments="core"
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
    scores = sample.scores or {}
    picked = _picked(scores, record)
    if picked is not None:
        record[PICKED] = picked
    if sample.error:
        record["error"] = sample.error.message
    record |= {"completed_at": sample.completed_at} | flatten(sample.metadata or {}, "metadata")
    for name, score in scores.items():
        answer = {} if score.answer is None else {"answer": score.answer}
        record |= flatten({"value": score.value, **answer}, f"scores.{name}")
        told = flatten(score.metadata or {}, f"scores.{name}.metadata")
        record |= {field: value for field, value in told.items() if len(str(value)) <= _LONGEST}
    return record


def _picked(scores: Mapping[str, Score], record: Mapping[str, object]) -> str | None:
    """What the log itself takes for the answer.

    Its scorer of multiple choice comes first; else the last line, if it has the form that Inspect
    asks for. Empty where that scorer found no answer; None where nothing picks one out.
    """
    offered, output = record.get("choices", ()), record["output"]
    choices = offered if isinstance(offered, tuple) else ()
    for name, score in scores.items():
        if choices and _CHOICE_SCORER.fullmatch(name) and score.answer is not None:
            choice = _choice_of(score.answer, choices)
            return str(choice) if choice in choices else ""
    # Of a reply that was cut the last line may be cut as well.
    if not isinstance(output, str) or record.get("finish_reason") == "length":
        return None
    forms = [_ANSWER_LINE.fullmatch(line) for line in output.splitlines() if line.strip()]
    # Two such lines may differ, and which is meant is the decoder's to say.
    if not forms or forms[-1] is None or any(forms[:-1]):
        return None
    return str(_choice_of(forms[-1]["answer"], choices))


def _choice_of(target: object, choices: Sequence[str]) -> object:
    """Replace a letter by the choice that it stands for, as Inspect's multiple_choice has it."""
    position = ord(target) - ord("A") if isinstance(target, str) and len(target) == 1 else -1
    return choices[position] if 0 <= position < len(choices) else target


def notes_on(log: EvalLog, samples: Sequence[EvalSample]) -> Iterator[str]:
    """Say how far a run came, and which errors and limits its samples ended in."""
    if log.status != "success":
        failure = f": {log.error.message}" if log.error else ""
        yield f"the run did not finish (status {log.status}){failure}"
    # A run that was cut off is read as far as it got, and says how far.
    expected = _expected(log)
    if log.results and log.results.early_stopping:
        expected -= len(log.results.early_stopping.early_stops)
    if expected > len(samples):
        yield f"{len(samples)} of {expected} samples are in the log"
    if n_failed := sum(sample.error is not None for sample in samples):
        yield (
            f"samples that ended in an error: {n_failed}; "
            f"an answer that is missing counts as unparsed. {_most_frequent_error(samples)}"
        )
    if limits := Counter(sample.limit.type for sample in samples if sample.limit):
        kinds = listing(f"{kind} ({n})" for kind, n in limits.items())
        yield f"samples that a limit ended, whose last answer need not be the final one: {kinds}"


def _most_frequent_error(samples: Sequence[EvalSample]) -> str:
    # The first line says what went wrong; a traceback behind it fills a page.
    errors = (sample.error.message.strip() for sample in samples if sample.error)
    lines = Counter(message.partition("\n")[0][:300] for message in errors)
    shown, count = lines.most_common(1)[0]
    return f"The most frequent error ({count}): {shown or 'without a message'}"


def _recognises(path: Path) -> bool:
    """Tell a log from other JSON: it says early on what was evaluated."""
    if path.suffix.lower() == ".eval":
        return True
    with path.open("rb") as file:
        start = file.read(_SAYS_EARLY)
    return start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and bool(_EVAL.search(start))


FORMAT = LogFormat("inspect", (".eval", ".json"), _recognises, read_inspect_log)
