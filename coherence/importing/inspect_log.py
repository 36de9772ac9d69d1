"""Inspect logs: ``.eval``, a zip file with a JSON document per sample, and ``.json``, one for all.

Fields of a sample: ``id``, ``epoch``, ``rep`` (the epoch counted from 0), ``output`` (what the
model said last), ``finish_reason`` (``length`` where that was cut), ``target``, ``choices``,
``error``, ``metadata.<name>``, ``scores.<scorer>.value`` and ``.answer``. Written against the files
of inspect_ai 0.3.285 (log version 2).
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from coherence.errors import InputError
from coherence.importing.answer_log import (
    PICKED,
    AnswerLog,
    flatten,
    most_frequent,
    parse_json,
    sample_columns,
)
from coherence.importing.archive import Archive
from coherence.importing.log_format import LogFormat

_ATTACHMENT = "attachment://"
_REASONS = {"max_tokens": "length", "model_length": "length"}
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


def read_inspect_log(path: Path, *, max_bytes: int) -> AnswerLog:
    """Read an Inspect log.

    Parameters
    ----------
    path : Path
        A ``.json`` file, or a zip file under any other ending.
    max_bytes : int
        Largest size of one unpacked entry of the zip file.

    Returns
    -------
    AnswerLog
        One record per sample and epoch.

    Raises
    ------
    InputError
        The file is damaged, is no Inspect log, or has no samples.
    """
    header, samples = (
        _read_json(path) if path.suffix.lower() == ".json" else _read_archive(path, max_bytes)
    )
    run = header.get("eval")
    if not isinstance(run, dict) or not isinstance(run.get("task"), str):
        raise InputError(
            f"{path}: this is no Inspect log; it has no eval.task. "
            f"Its fields are {', '.join(map(repr, list(header)[:8])) or 'none'}."
        )
    records = tuple(
        _record(sample, f"{path}: sample {number}")
        for number, sample in enumerate(samples, start=1)
    )
    if not records:
        raise InputError(
            f"{path}: the log has no samples. "
            + (
                f"The run failed: {failure}"
                if (failure := _error_of(header))
                else "Inspect leaves them out with --no-log-samples; run it again without."
            )
        )
    names = tuple(dict.fromkeys(name for record in records for name in record))
    model = run.get("model")
    return AnswerLog(
        file=path.name,
        task=run["task"],
        model=model if isinstance(model, str) else None,
        records=records,
        fields=_FIELDS | sample_columns(names, "metadata."),
        notes=tuple(_notes(header, run, records)),
    )


def _read_json(path: Path) -> tuple[dict[str, Any], Iterable[object]]:
    log = parse_json(path.read_bytes(), f"{path}: it")
    if not isinstance(log, dict):
        raise InputError(
            f"{path}: this is no Inspect log; it is a JSON {type(log).__name__}. "
            "For a list of rows use .jsonl, one row per line."
        )
    samples = log.get("samples")
    return log, samples if isinstance(samples, list) else []


def _read_archive(path: Path, max_bytes: int) -> tuple[dict[str, Any], Iterable[object]]:
    with Archive(path, max_bytes=max_bytes) as archive:
        # A run that was cut off has no header yet; its journal says what was started.
        head = next(
            (name for name in ("header.json", "_journal/start.json") if name in archive.names), None
        )
        if head is None:
            raise InputError(
                f"{path}: this zip file is no Inspect log; it has no entry 'header.json'."
            )
        header = parse_json(archive.read(head), f"{path}: entry {head!r}")
        names = [
            name for name in archive.names if name.startswith("samples/") and name.endswith(".json")
        ]
        # Flattened one by one: a sample's events may take far more room than its answer.
        samples = [
            _trimmed(parse_json(archive.read(name), f"{path}: entry {name!r}")) for name in names
        ]
    if not isinstance(header, dict):
        raise InputError(
            f"{path}: entry {head!r} is a JSON {type(header).__name__}, not an object. "
            "Get the file again."
        )
    return header, samples


def _trimmed(sample: object) -> object:
    if not isinstance(sample, dict):
        return sample
    bulky = ("events", "messages", "events_data")
    return {name: part for name, part in sample.items() if name not in bulky}


def _record(sample: object, where: str) -> dict[str, object]:
    if not isinstance(sample, dict) or not isinstance(sample.get("id"), str | int):
        raise InputError(
            f"{where} has no id that is a text or a number. Check that the file is an Inspect log."
        )
    # Inspect counts epochs from 1, the runs table repetitions from 0.
    epoch = sample.get("epoch", 1)
    if not isinstance(epoch, int):
        raise InputError(f"{where}: epoch must be a whole number; received {epoch!r}.")
    target, scores = sample.get("target"), _object(sample.get("scores"))
    record: dict[str, object] = {
        "id": sample["id"],
        "epoch": epoch,
        "rep": epoch - 1,
        "output": _answer(sample),
    }
    # Inspect takes one target or a list of them; a list of one is one.
    if isinstance(target, list) and len(target) == 1:
        target = target[0]
    else:
        target = flatten(target, "target").get("target")
    record["target"] = target
    choices = sample.get("choices")
    if isinstance(choices, list) and choices and all(isinstance(choice, str) for choice in choices):
        record["choices"] = tuple(choices)
        record["target"] = _choice_of(target, choices)
    reason = _finish_reason(sample)
    if reason is not None:
        record["finish_reason"] = reason
    picked = _picked(scores, record)
    if picked is not None:
        record[PICKED] = picked
    failure = _error_of(sample)
    if failure is not None:
        record["error"] = failure
    record |= flatten(sample.get("completed_at"), "completed_at") | flatten(
        _object(sample.get("metadata")), "metadata"
    )
    for name, score in scores.items():
        # Explanations and metadata of scores may be long, and no answer is read from them.
        kept = (
            {key: score[key] for key in ("value", "answer") if key in score}
            if isinstance(score, dict)
            else score
        )
        record |= flatten(kept, f"scores.{name}")
    return record


def _object(value: object) -> dict[str, Any]:
    """Return a JSON object; an empty one in place of anything else, which has no fields."""
    return value if isinstance(value, dict) else {}


def _answer(sample: Mapping[str, Any]) -> str | None:
    """What the model said last; None where the sample ended before it said anything."""
    output = _object(sample.get("output"))
    answers, text = output.get("choices"), output.get("completion")
    # A sample that failed may have a text and no choices, or neither.
    if not isinstance(answers, list) or not answers:
        return text if isinstance(text, str) and text else None
    if not isinstance(text, str):
        content = _object(_object(answers[0]).get("message")).get("content", "")
        # Content is a text, or a list of parts: reasoning, images and text.
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        text = "".join(
            str(part.get("text", "")) for part in map(_object, parts) if part.get("type") == "text"
        )
    # Inspect stores long texts once and refers to them; without the store the reference itself is
    # what is known.
    attached = (
        _object(sample.get("attachments")).get(text.removeprefix(_ATTACHMENT))
        if text.startswith(_ATTACHMENT)
        else None
    )
    return attached if isinstance(attached, str) else text


def _finish_reason(sample: Mapping[str, Any]) -> str | None:
    """Return how the answer ended, in the words of the runs table."""
    answers = _object(sample.get("output")).get("choices")
    last = _object(answers[0]) if isinstance(answers, list) and answers else {}
    reason = last.get("stop_reason")
    return _REASONS.get(reason, reason) if isinstance(reason, str) else None


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


def _error_of(part: Mapping[str, Any]) -> str | None:
    """Return the message of an error that a log or a sample of it ended in."""
    error = part.get("error")
    if not error:
        return None
    return str(error.get("message", error) if isinstance(error, dict) else error)


def _choice_of(target: object, choices: list[str]) -> object:
    """Replace a letter by the choice that it stands for, as Inspect's multiple_choice has it."""
    position = ord(target) - ord("A") if isinstance(target, str) and len(target) == 1 else -1
    return choices[position] if 0 <= position < len(choices) else target


def _notes(
    header: Mapping[str, Any], run: Mapping[str, Any], records: Sequence[Mapping[str, object]]
) -> Iterable[str]:
    status = header.get("status")
    if status != "success":
        shown = status if isinstance(status, str) else "unknown"
        failure = _error_of(header)
        yield f"the run did not finish (status {shown}){f': {failure}' if failure else ''}"
    samples = _object(run.get("dataset")).get("samples")
    epochs = _object(run.get("config")).get("epochs") or 1
    # A run that was cut off is read as far as it got, and says how far.
    expected = samples * epochs if isinstance(samples, int) and isinstance(epochs, int) else 0
    if expected > len(records):
        yield f"{len(records)} of {expected} samples are in the log"
    failures = Counter(str(record["error"]) for record in records if "error" in record)
    if failures:
        yield (
            f"samples that ended in an error: {failures.total()}; "
            f"an answer that is missing counts as unparsed. {most_frequent(failures)}"
        )


# A single JSON document is a log of Inspect; the other formats have a line per row.
FORMAT = LogFormat((".eval", ".json"), recognises=lambda path: True, read=read_inspect_log)
