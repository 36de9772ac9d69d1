"""Files of OpenAI's batch interface: a line per answer, and beside it the file of the requests.

Fields of an answer: ``custom_id``, ``rep`` (the number of the choice), ``output``,
``finish_reason``, ``model``, ``created``, ``error``, ``response.<name>`` and, with the file of the
requests, ``request.<name>``. Read are the shapes of chat completions, completions and responses.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from coherence.errors import InputError
from coherence.importing.log_format import (
    MAX_BYTES,
    AnswerLog,
    LogFormat,
    errors_of,
    flatten,
    most_frequent,
    sample_columns,
)
from coherence.table.reading import LINES
from coherence.table.text_files import AS_IT_SAYS, TextForm, read_objects

_METADATA = "request.body.metadata."
_FIELDS = {"context": "custom_id", "rep": "rep", "answer": "output", "created": "created"}
_WITHHELD = "content_filter"


def read_batch(path: Path, *, max_bytes: int, text: TextForm = AS_IT_SAYS) -> AnswerLog:
    """Read the answers of a batch, or its requests."""
    lines = [line for _, line in read_objects(path, text=text, max_bytes=max_bytes)]
    ids = [line.get("custom_id") for line in lines]
    if not lines:
        raise InputError(f"{path}: the file has no lines. Check the run that wrote it.")
    if not all(isinstance(name, str) for name in ids):
        raise InputError(f"{path}: every line of a batch file needs a custom_id that is a text.")
    # Answers come in any order, so the id alone says to which request one belongs.
    if len(set(ids)) < len(ids):
        raise InputError(
            f"{path}: custom_id {Counter(ids).most_common(1)[0][0]!r} occurs more than once. "
            "Import one batch at a time."
        )
    if all("body" in line and not {"response", "error"} & set(line) for line in lines):
        requests = tuple(
            {"custom_id": line["custom_id"], **_named(line, "request")} for line in lines
        )
        return AnswerLog(path.name, None, None, requests, {})
    records = tuple(record for line in lines for record in _records(line))
    models = {str(record["model"]) for record in records if record.get("model")}
    fields = _FIELDS if len(models) < 2 else {**_FIELDS, "model": "model"}
    return AnswerLog(
        file=path.name,
        task=None,
        model=models.pop() if len(models) == 1 else None,
        records=records,
        fields=fields,
        notes=tuple(_notes(records)),
    )


def join_requests(logs: Sequence[AnswerLog]) -> list[AnswerLog]:
    """Put what was requested beside what was answered."""
    requests = [log for log in logs if not log.fields]
    answers = [log for log in logs if log.fields]
    if not answers:
        raise InputError(
            f"{requests[0].file}: these are the requests of a batch. Give the file of its answers "
            "as well."
        )
    if not requests:
        return answers
    if len(requests) != len(answers):
        raise InputError(
            f"there must be one file of requests for each file of answers, in the same order; "
            f"received {len(requests)} and {len(answers)}."
        )
    return [_joined(*pair) for pair in zip(answers, requests, strict=True)]


def _joined(answers: AnswerLog, requests: AnswerLog) -> AnswerLog:
    asked = {record["custom_id"]: record for record in requests.records}
    for record in answers.records:
        if record["custom_id"] not in asked:
            raise InputError(
                f"{answers.file}: custom_id {record['custom_id']!r} is none of {requests.file}. "
                "Give the requests of this batch, in the order of the answers."
            )
    answered = {record["custom_id"] for record in answers.records}
    silent = [record for name, record in asked.items() if name not in answered]
    records = (
        *({**asked[record["custom_id"]], **record} for record in answers.records),
        *({**record, "rep": 0} for record in silent),
    )
    names = dict.fromkeys(name for record in records for name in record)
    columns = sample_columns(names, _METADATA)
    if f"{_METADATA}theta" in names:
        columns["theta"] = f"{_METADATA}theta"
    notes = [f"requests without an answer in the file: {len(silent)}"] if silent else []
    return replace(
        answers,
        records=records,
        fields={**answers.fields, **columns},
        notes=(*answers.notes, *notes),
    )


def _named(line: Mapping[str, Any], prefix: str) -> dict[str, object]:
    """Return the parts of a line under dotted names, without its id."""
    return {
        name: cell
        for key, part in line.items()
        if key != "custom_id"
        for name, cell in flatten(part, f"{prefix}.{key}").items()
    }


def _records(line: Mapping[str, Any]) -> Iterable[dict[str, object]]:
    response = _object(line.get("response"))
    body = _object(response.get("body"))
    shared: dict[str, object] = {
        "custom_id": line["custom_id"],
        **flatten(response, "response"),
    }
    if isinstance(body.get("model"), str):
        shared["model"] = body["model"]
    when = body.get("created", body.get("created_at"))
    if isinstance(when, int | float) and 0 < when < 2**35:  # seconds; a year that has four digits
        shared["created"] = datetime.fromtimestamp(when, UTC).isoformat()
    failure = _object(line.get("error")) or _object(body.get("error"))
    if failure:
        yield {**shared, "rep": 0, "error": str(failure.get("message") or failure.get("code"))}
        return
    answers = [*_choices(body), *_responses(body)]
    for rep, (output, reason) in enumerate(answers):
        told = {} if reason is None else {"finish_reason": reason}
        yield {**shared, "rep": rep, "output": output, **told}
    if not answers:
        status = response.get("status_code", "none")
        yield {**shared, "rep": 0, "error": f"no answer in the response (status code {status})"}


def _choices(body: Mapping[str, Any]) -> Iterable[tuple[str | None, str | None]]:
    """Yield text and finish reason of the choices of a chat completion or completion."""
    choices = body.get("choices")
    for choice in map(_object, choices if isinstance(choices, list) else []):
        message = _object(choice.get("message"))
        reason = choice.get("finish_reason")
        content, _ = text_and_thinking(message.get("content", choice.get("text")))
        refusal = message.get("refusal")
        if isinstance(refusal, str) and refusal:
            content, reason = refusal, _WITHHELD
        yield content, reason if isinstance(reason, str) else None


def text_and_thinking(content: object) -> tuple[str | None, str | None]:
    """Join the texts of a reply in parts, and apart from them what it thought; None without any.

    A part is text, or an object with a type and a text, which may be a list of parts itself.
    """
    if isinstance(content, str):
        return content, None
    said: list[str] = []
    thought: list[str] = []
    for part in content if isinstance(content, list) else []:
        if isinstance(part, str):
            said.append(part)
            continue
        entry = _object(part)
        kind = entry.get("type", "text")
        if kind in ("thinking", "reasoning"):
            inner = entry.get("thinking", entry.get("reasoning", entry.get("text")))
            thought.append(text_and_thinking(inner)[0] or "")
        elif kind in ("text", "output_text"):
            said.append(text_and_thinking(entry.get("text"))[0] or "")
    return "".join(said) if said else None, "".join(thought) or None


def _responses(body: Mapping[str, Any]) -> Iterable[tuple[str | None, str | None]]:
    """Yield text and finish reason of a response of the responses interface."""
    items = body.get("output")
    if not isinstance(items, list):
        return
    parts = [
        _object(part)
        for item in map(_object, items)
        if item.get("type") == "message" and isinstance(item.get("content"), list)
        for part in item["content"]
    ]
    said = "".join(str(part.get("text", "")) for part in parts if part.get("type") == "output_text")
    refused = [part["refusal"] for part in parts if isinstance(part.get("refusal"), str)]
    reason = _object(body.get("incomplete_details")).get("reason")
    if refused:
        yield refused[0], _WITHHELD
    elif reason is not None:
        yield said or None, "length" if reason == "max_output_tokens" else str(reason)
    else:
        yield said or None, None


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _notes(records: Sequence[Mapping[str, object]]) -> Iterable[str]:
    failures = errors_of(records)
    if failures:
        yield (
            f"requests that ended in an error: {failures.total()}; "
            f"they count as unparsed. {most_frequent(failures)}"
        )


def _is_batch(path: Path, text: TextForm = AS_IT_SAYS) -> bool:
    first = next((line for _, line in read_objects(path, text=text, max_bytes=MAX_BYTES)), {})
    return "custom_id" in first and bool({"response", "body"} & set(first))


FORMAT = LogFormat(
    LINES, recognises=_is_batch, read=read_batch, takes_text=True, join=join_requests
)
