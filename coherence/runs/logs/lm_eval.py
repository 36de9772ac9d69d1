"""``samples_*.jsonl`` of the Language Model Evaluation Harness: texts, or log-likelihoods.

Texts come from tasks of the output type generate_until, log-likelihoods from multiple_choice; one
continuation alone (loglikelihood) is refused, for its probability depends on how long it is.
Fields: ``doc_id``, ``rep``, ``target``, ``doc.<name>``, the metrics by their names, or
``<metric>.<filter>`` where there are several filters; for texts ``resps`` and
``filtered.<filter>``; for log-likelihoods ``choice`` (the most probable one), ``answer_mass`` (the
probability of all choices together) and ``probability.<choice>``, the share of a choice in that
mass.
Written against the files of lm_eval 0.4.13, which holds numbers as text.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from coherence.errors import InputError, listing
from coherence.runs.formats import LINES, bare_name, read_objects
from coherence.runs.logs.answers import (
    SHARE,
    AnswerLog,
    LogFormat,
    flatten,
    names_of,
    sample_columns,
)

NEEDED = ("doc_id", "doc", "target", "resps")
_ROUNDING = 1e-3  # half precision may put a certain continuation a little above 0
_FILE_NAME = re.compile(r"samples_(?P<task>.+?)_\d{4}-\d\d-\d\dT[\d.:-]+")
_SKIPPED = {
    *NEEDED,
    *("arguments", "filtered_resps", "filter", "metrics", "prompt_hash", "target_hash"),
}
_Lines = Mapping[str, Mapping[str, Any]]  # a document as each filter logged it


def read_lm_eval_samples(path: Path) -> AnswerLog:
    """Read one task's samples."""
    documents = _documents(path)
    options = [_options(next(iter(lines.values()))) for _, lines in documents]
    kinds = {choices is None for choices in options}
    # The two need different columns, and one file of one task never holds both.
    if len(kinds) > 1:
        raise InputError(
            f"{path}: some lines hold texts and others log-likelihoods. "
            "One file must come from one task."
        )
    records = tuple(
        {**_shared(lines), **answer}
        for (number, lines), choices in zip(documents, options, strict=True)
        for answer in _answers(lines, choices, f"{path}: line {number}")
    )
    notes, answer = [], {"answer": "choice", "answer_mass": "answer_mass"}
    if kinds == {True}:
        answer = {"answer": "resps"}
    filters = dict.fromkeys(name for _, lines in documents for name in lines)
    if len(filters) > 1:
        notes.append(
            f"filters: {', '.join(filters)}; the fields filtered.<name> hold what they left"
        )
    # States are columns, so every document must have the same ones.
    same = len({*options}) == 1
    if not same:
        notes.append(
            "the choices differ between documents: "
            "they can be actions, and no belief over fixed states"
        )
    fields = {"context": "doc_id", "rep": "rep", "theta": "target"}
    fields |= sample_columns(names_of(records), "doc.") | answer
    states = options[0] or () if same else ()
    file_name = _FILE_NAME.fullmatch(bare_name(path))
    task = file_name["task"] if file_name else None
    scored = {name for _, lines in documents for of in lines.values() for name in of["metrics"]}
    grades = [name for name in names_of(records) if name.partition(".")[0] in scored]
    about: dict[str, Any] = {"labels": ("choice",), "notes": (*notes,), "grades": (*grades,)}
    return AnswerLog(path.name, task, None, records, fields, states, **about)


def _documents(path: Path) -> list[tuple[int, _Lines]]:
    """Return the documents, each with its first line's number and its line of every filter."""
    documents: dict[str, tuple[int, dict[str, Mapping[str, Any]]]] = {}
    for number, sample in read_objects(path):
        if missing := [name for name in NEEDED if name not in sample]:
            raise InputError(
                f"{path}: line {number} lacks {', '.join(map(repr, missing))}; "
                "a line that --log_samples writes has them."
            )
        key = sample["doc_id"]
        # A task with several filters is logged once per filter, with the same responses.
        _, lines = documents.setdefault(str(key), (number, {}))
        if any(line["resps"] != sample["resps"] for line in lines.values()):
            raise InputError(
                f"{path}: line {number} answers document {key!r} again and differently. "
                "Import one run at a time."
            )
        lines[str(sample.get("filter", "none"))] = sample
    if not documents:
        raise InputError(f"{path}: the file has no samples. Check the run that wrote it.")
    return [*documents.values()]


def _shared(lines: _Lines) -> dict[str, object]:
    """Return the fields of a document; what each filter was scored has its name behind it."""
    first = next(iter(lines.values()))
    record: dict[str, object] = {"doc_id": first["doc_id"], **flatten(first["doc"], "doc")}
    for filter_, line in lines.items():
        scored = line.get("metrics", ()) if len(lines) > 1 else ()
        for name, value in line.items():
            if name not in _SKIPPED:
                record |= flatten(value, f"{name}.{filter_}" if name in scored else name)
    return record


def _options(sample: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the continuations that were scored; None where a text was asked for."""
    responses, requests = sample["resps"], sample.get("arguments")
    if not (
        isinstance(responses, list)
        and responses
        and all(isinstance(repeats, list) and repeats for repeats in responses)
        # A log-likelihood is logged with whether it is that of the greedy continuation.
        and all(isinstance(pair, list) and len(pair) == 2 for each in responses for pair in each)
    ):
        return None
    if isinstance(requests, dict):
        requests = [list(each.values()) for each in requests.values() if isinstance(each, dict)]
    # Earlier versions list the arguments without their names.
    pairs = [each for each in requests or () if isinstance(each, list) and len(each) > 1]
    return tuple(str(continuation).strip() for _, continuation, *_ in pairs)


def _answers(
    lines: _Lines, choices: tuple[str, ...] | None, where: str
) -> Iterator[dict[str, object]]:
    """Yield the answers to a document, one for each repetition."""
    sample = next(iter(lines.values()))
    responses = sample["resps"]
    if choices is not None:
        known = {"target": _choice_of(sample["target"], choices), "choices": choices}
        # A repetition counts where every choice was scored in it.
        for rep, pairs in enumerate(zip(*responses, strict=False)):
            yield {**known, "rep": rep, **_scores(pairs, choices, where)}
        return
    if not (isinstance(responses, list) and len(responses) == 1 and isinstance(responses[0], list)):
        raise InputError(
            f"{where}: resps must hold the repeats of one request, or log-likelihoods of several "
            "choices. Check the task's output type."
        )
    for rep, text in enumerate(responses[0]):
        answer = {**flatten(sample["target"], "target"), "rep": rep, **flatten(text, "resps")}
        for name, line in lines.items():
            left = line.get("filtered_resps")
            # The usual filter keeps the first repeat only.
            if isinstance(left, list) and len(left) == 1 and isinstance(left[0], list):
                left = left[0]
            if isinstance(left, list) and rep < len(left):
                answer |= flatten(left[rep], f"filtered.{name}")
        yield answer


def _choice_of(target: object, choices: Sequence[str]) -> object:
    # The harness itself takes digits for the number of a choice, also where the choices are
    # numbers.
    text = str(target).strip()
    is_number = text.isascii() and text.isdigit() and len(text) < 5 and int(text) < len(choices)
    return choices[int(text)] if is_number else text


def _scores(pairs: Sequence[list[Any]], choices: Sequence[str], where: str) -> dict[str, object]:
    """Return shares of the choices in their joint probability; none where one is not finite."""
    if len(choices) == 1:
        raise InputError(
            f"{where}: one continuation was scored, {choices[0]!r}, and how probable the others "
            "are is not known. Score them all: output_type: multiple_choice."
        )
    if len(pairs) != len(choices) or len({*choices}) < len(choices):
        raise InputError(
            f"{where}: {len(pairs)} log-likelihoods for the choices {listing(choices, 6)}. "
            "Every choice must be named once."
        )
    try:
        logs = [float(pair[0]) for pair in pairs]
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"{where}: a log-likelihood is no number; received {[pair[0] for pair in pairs]!r}. "
            "Check the run that wrote it."
        ) from None
    highest = max(logs)
    # The logarithm of a probability; a positive one is a loss with its sign turned, or a score.
    if highest > _ROUNDING:
        raise InputError(
            f"{where}: log-likelihoods must not be positive; received {highest:g}. "
            "Check the run that wrote it."
        )
    if not all(map(math.isfinite, logs)):
        return {"choice": None}
    # Relative to the highest: the probabilities of long choices themselves may all underflow to 0.
    weights = [math.exp(log - highest) for log in logs]
    total = math.fsum(weights)
    scores: dict[str, object] = {
        f"{SHARE}{choice}": weight / total for choice, weight in zip(choices, weights, strict=True)
    }
    # Two equally probable choices are no choice; choices that begin alike can have a joint mass
    # beyond 1, which is then no probability.
    scores["choice"] = choices[logs.index(highest)] if logs.count(highest) == 1 else None
    mass = math.fsum(map(math.exp, logs))
    return {**scores, "answer_mass": mass} if mass <= 1 else scores


def _is_log(path: Path) -> bool:
    # One line is enough: every line of a harness log has these two fields.
    first = next((record for _, record in read_objects(path)), {})
    return {"doc_id", "resps"} <= {*first}


FORMAT = LogFormat("lm-eval", LINES, _is_log, read_lm_eval_samples)
