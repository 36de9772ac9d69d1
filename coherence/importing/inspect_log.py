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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coherence.errors import InputError, MissingExtraError
from coherence.importing.log_format import (
    PICKED,
    AnswerLog,
    LogFormat,
    errors_of,
    flatten,
    most_frequent,
    sample_columns,
)
from coherence.table.text_files import MOST_BYTES, MOST_TIMES

if TYPE_CHECKING:
    from inspect_ai.log import EvalError, EvalLog, EvalSample

_SAYS_EARLY = 100_000  # bytes of a log before its plan, results and samples
_EVAL = re.compile(rb'"eval"\s*:\s*\{')
_ATTACHMENT = "attachment://"
AT_ONCE = 16  # samples with all their messages and events
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
_FIELDS = {
    "context": "id",
    "rep": "rep",
    "answer": "output",
    "theta": "target",
    "created": "completed_at",
}


def read_inspect_log(path: Path) -> AnswerLog:
    """Return an Inspect log as one record per sample and epoch, as Inspect's own reader has it."""
    # What no answer is read from is most of a long log.
    with _one_error(path):
        # Its import teaches zipfile Zstandard, which Inspect packs its logs with.
        from inspect_ai.log import read_eval_log

        if path.suffix.lower() != ".json":
            _check_archive(path)
        log = read_eval_log(str(path), exclude_fields={"messages", "events", "store"})
    failure = _message(log.error)
    records = tuple(map(record_of, log.samples or ()))
    if not records:
        raise InputError(
            f"{path}: the log has no samples. "
            + (
                f"The run failed: {failure}"
                if failure
                else "Inspect leaves them out with --no-log-samples; run it again without."
            )
        )
    errors = errors_of(records)
    if all("error" in record and record["output"] is None for record in records):
        raise InputError(
            f"{path}: the run failed, and no sample has an answer. {most_frequent(errors)}. "
            "Run it again, or leave this file out."
        )
    names = tuple(dict.fromkeys(name for record in records for name in record))
    return AnswerLog(
        file=path.name,
        task=log.eval.task,
        model=log.eval.model,
        records=records,
        fields=_FIELDS | sample_columns(names, "metadata."),
        notes=tuple(log_notes(log, len(records), errors)),
    )


def episodes_of(path: Path) -> tuple[EvalLog, Iterator[EvalSample]]:
    """Return a log without its samples, and these with messages and events as they are read."""
    with _one_error(path):
        from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries

        n_entries = 0
        if path.suffix.lower() != ".json":
            n_entries = _check_archive(path)
        known = [(each.id, each.epoch) for each in read_eval_log_sample_summaries(str(path))]
        # A run that was cut off may have samples that its summaries lack.
        if not n_entries or len(known) != n_entries:
            log = read_eval_log(str(path))
            return log, iter(log.samples or ())
        return read_eval_log(str(path), header_only=True), _in_batches(path, known)


def _in_batches(path: Path, known: Sequence[tuple[str | int, int]]) -> Iterator[EvalSample]:
    from inspect_ai.log import read_eval_log_samples_by_id

    for first in range(0, len(known), AT_ONCE):
        with _one_error(path):
            batch = known[first : first + AT_ONCE]
            samples = read_eval_log_samples_by_id(str(path), batch, concurrency=1)
        yield from samples


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

    Inspect's reader passes damaged answers.
    """
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        total = sum(entry.file_size for entry in entries)
        limit = max(MOST_BYTES, MOST_TIMES * path.stat().st_size)
        if total > limit:
            raise InputError(
                f"{path}: its entries unpack to {total:,} bytes, more than {limit:,}. If you trust "
                "the file: inspect log convert FILE --to json --output-dir FOLDER."
            )
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
    answered = bool(sample.output.choices)
    text = whole_text(sample.output.completion, sample)
    record: dict[str, object] = {
        "id": sample.id,
        "epoch": sample.epoch,
        # Inspect counts epochs from 1, the runs table repetitions from 0.
        "rep": sample.epoch - 1,
        # The texts of a reply in parts, without its reasoning; None where nothing was said.
        "output": text if answered else text or None,
        "target": target,
    }
    if isinstance(sample.input, str):
        record["input"] = whole_text(sample.input, sample)
    if sample.choices:
        record["choices"] = tuple(sample.choices)
        record["target"] = _choice_of(target, sample.choices)
    if answered:
        reason = sample.output.choices[0].stop_reason
        record["finish_reason"] = FINISH_REASONS.get(reason, reason)
    # Explanations of scores may be long, and so may metadata, of which short values are kept.
    scores: dict[str, dict[str, object]] = {
        name: {"value": score.value}
        | ({} if score.answer is None else {"answer": score.answer})
        | ({"metadata": kept} if (kept := _short(score.metadata or {})) else {})
        for name, score in (sample.scores or {}).items()
    }
    picked = _picked(scores, record)
    if picked is not None:
        record[PICKED] = picked
    failure = _message(sample.error)
    if failure is not None:
        record["error"] = failure
    record |= {"completed_at": sample.completed_at} | flatten(sample.metadata or {}, "metadata")
    for name, kept in scores.items():
        record |= flatten(kept, f"scores.{name}")
    return record


def _short(metadata: Mapping[str, Any]) -> dict[str, object]:
    """Return the numbers and short texts of a score's metadata, such as a confidence."""
    return {
        name: value
        for name, value in metadata.items()
        if isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= 100)
    }


def whole_text(text: str, sample: EvalSample) -> str:
    """Return a text; a long one may be stored once and referred to."""
    if not text.startswith(_ATTACHMENT):
        return text
    return sample.attachments.get(text.removeprefix(_ATTACHMENT), text)


def _picked(scores: Mapping[str, Any], record: Mapping[str, object]) -> tuple[str, ...] | None:
    """What the log itself takes for the answer, in the words that may name it.

    Its scorer of multiple choice comes first; else the last line, if it has the form that Inspect
    asks for. Empty where that scorer found no answer; None where nothing picks one out.
    """
    choices = record.get("choices")
    for name, score in scores.items():
        answer = score.get("answer") if isinstance(score, dict) else None
        if isinstance(choices, tuple) and _CHOICE_SCORER.fullmatch(name) and answer is not None:
            choice = _choice_of(answer, list(choices))
            return (str(choice), str(answer)) if choice in choices else ()
    output = record["output"]
    # Of a reply that was cut the last line may be cut as well.
    if not isinstance(output, str) or record.get("finish_reason") == "length":
        return None
    lines = [line for line in output.splitlines() if line.strip()]
    forms = [form for line in lines if (form := _ANSWER_LINE.fullmatch(line))]
    # Two such lines may differ, and which is meant is the decoder's to say.
    if len(forms) != 1 or not _ANSWER_LINE.fullmatch(lines[-1]):
        return None
    answer = forms[0]["answer"]
    choice = _choice_of(answer, list(choices)) if isinstance(choices, tuple) else answer
    return tuple(dict.fromkeys((str(choice), answer)))


def _message(error: EvalError | None) -> str | None:
    """Return the message of an error that a log or a sample of it ended in."""
    return error.message if error else None


def _choice_of(target: object, choices: list[str]) -> object:
    """Replace a letter by the choice that it stands for, as Inspect's multiple_choice has it."""
    position = ord(target) - ord("A") if isinstance(target, str) and len(target) == 1 else -1
    return choices[position] if 0 <= position < len(choices) else target


def log_notes(log: EvalLog, samples: int, errors: Counter[str]) -> Iterable[str]:
    """Say how far a run came, and which errors its samples ended in."""
    failure = _message(log.error)
    if log.status != "success":
        yield f"the run did not finish (status {log.status}){f': {failure}' if failure else ''}"
    # A run that was cut off is read as far as it got, and says how far.
    expected = (log.eval.dataset.samples or 0) * (log.eval.config.epochs or 1)
    if log.results and log.results.early_stopping:
        expected -= len(log.results.early_stopping.early_stops)
    if expected > samples:
        yield f"{samples} of {expected} samples are in the log"
    if errors:
        yield (
            f"samples that ended in an error: {errors.total()}; "
            f"an answer that is missing counts as unparsed. {most_frequent(errors)}"
        )


def _recognises(path: Path) -> bool:
    """Tell a log from other JSON: it says early on what was evaluated."""
    if path.suffix.lower() == ".eval":
        return True
    with path.open("rb") as file:
        start = file.read(_SAYS_EARLY)
    return start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and bool(_EVAL.search(start))


FORMAT = LogFormat((".eval", ".json"), recognises=_recognises, read=read_inspect_log)
