"""``samples_*.jsonl`` of the Language Model Evaluation Harness: texts, or log-likelihoods.

Texts come from tasks of the output type generate_until, log-likelihoods from multiple_choice and
loglikelihood.
Fields: ``doc_id``, ``rep``, ``target``, ``doc.<name>``, the metrics by their names; for texts
``resps`` and ``filtered.<filter>``; for log-likelihoods ``choice`` (the most probable one),
``answer_mass`` (the probability of all choices together) and ``probability.<choice>``, the share of
a choice in that mass; where a task of the type loglikelihood scored one continuation alone, its own
probability. Written against the files of lm_eval 0.4.13, which holds numbers as text.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coherence.errors import InputError
from coherence.importing.log_format import AnswerLog, LogFormat, flatten, sample_columns
from coherence.table.formats import LINES
from coherence.table.text_files import bare_name, read_objects

NEEDED = ("doc_id", "doc", "target", "resps")
_ROUNDING = 1e-3  # half precision may put a certain continuation a little above 0
_FILE_NAME = re.compile(r"samples_(?P<task>.+?)_\d{4}-\d\d-\d\dT[\d.:-]+")
_SKIPPED = (
    *NEEDED,
    "arguments",
    "filtered_resps",
    "filter",
    "metrics",
    "prompt_hash",
    "target_hash",
)
_FIELDS = {"context": "doc_id", "rep": "rep", "theta": "target"}


def read_lm_eval_samples(path: Path) -> AnswerLog:
    """Read one task's samples."""
    documents = _documents(path)
    options = [_options(document.sample) for document in documents]
    scored = [choices is not None for choices in options]
    # The two need different columns, and one file of one task never holds both.
    if any(scored) and not all(scored):
        raise InputError(
            f"{path}: some lines hold texts and others log-likelihoods. "
            "One file must come from one task."
        )
    records = [
        record
        for document, choices in zip(documents, options, strict=True)
        for record in _records(document, choices, f"{path}: line {document.line}")
    ]
    file_name = _FILE_NAME.fullmatch(bare_name(path))
    names = dict.fromkeys(field for record in records for field in record)
    # One continuation alone is no choice among several, and its share in itself no belief.
    single = scored[0] and all(choices is not None and len(choices) == 1 for choices in options)
    answer = {"answer": "choice", "answer_mass": "answer_mass"}
    if single or not scored[0]:
        answer = {} if single else {"answer": "resps"}
    notes = []
    if single:
        notes.append(
            "one continuation was scored per document: its probability is taken as it stands, "
            "not as a share among choices"
        )
    filters = dict.fromkeys(name for document in documents for name in document.filtered)
    if len(filters) > 1:
        notes.append(
            f"filters: {', '.join(filters)}; the fields filtered.<name> hold what they left"
        )
    # States are columns, so every document must have the same ones.
    same = len(set(options)) == 1
    if not same:
        notes.append(
            "the choices differ between documents: "
            "they can be actions, and no belief over fixed states"
        )
    return AnswerLog(
        file=path.name,
        task=file_name["task"] if file_name else None,
        model=None,
        records=tuple(records),
        fields=_FIELDS | sample_columns(names, "doc.") | answer,
        states=options[0] or () if same else (),
        notes=tuple(notes),
    )


@dataclass
class _Document:
    """One document: the first line that answers it, and what each filter left of the responses."""

    line: int
    sample: Mapping[str, Any]
    filtered: dict[str, Any] = field(default_factory=dict)


def _documents(path: Path) -> list[_Document]:
    documents: dict[str, _Document] = {}
    for number, sample in read_objects(path):
        missing = [name for name in NEEDED if name not in sample]
        if missing:
            raise InputError(
                f"{path}: line {number} lacks {', '.join(map(repr, missing))}; "
                "a line that --log_samples writes has them."
            )
        key = sample["doc_id"]
        if not isinstance(key, str | int):
            raise InputError(
                f"{path}: line {number} has a doc_id that is no text or number; received {key!r}. "
                "Check what wrote it."
            )
        # A task with several filters is logged once per filter, with the same responses.
        document = documents.setdefault(str(key), _Document(number, sample))
        if document.sample["resps"] != sample["resps"]:
            raise InputError(
                f"{path}: line {number} answers document {key!r} again and differently. "
                "Import one run at a time."
            )
        document.filtered[str(sample.get("filter", "none"))] = sample.get("filtered_resps")
    if not documents:
        raise InputError(f"{path}: the file has no samples. Check the run that wrote it.")
    return list(documents.values())


def _options(sample: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The continuations that were scored; None where a text was asked for."""
    responses = sample["resps"]
    if not (
        isinstance(responses, list)
        and responses
        and all(isinstance(repeats, list) and repeats for repeats in responses)
    ):
        return None
    # A log-likelihood is logged with whether it is that of the greedy continuation.
    if not all(
        isinstance(pair, list) and len(pair) == 2 for repeats in responses for pair in repeats
    ):
        return None
    arguments = sample.get("arguments")
    requests = arguments.values() if isinstance(arguments, dict) else ()
    return tuple(
        str(request.get("arg_1", "")).strip() for request in requests if isinstance(request, dict)
    )


def _records(
    document: _Document, choices: tuple[str, ...] | None, where: str
) -> Iterable[dict[str, object]]:
    sample = document.sample
    shared: dict[str, object] = {"doc_id": sample["doc_id"], **flatten(sample["doc"], "doc")}
    for name, value in sample.items():
        if name not in _SKIPPED:
            shared |= flatten(value, name)
    responses = sample["resps"]
    if choices is not None:
        target = _choice_of(sample["target"], choices)
        # A repetition counts where every choice was scored in it.
        for rep in range(min(len(repeats) for repeats in responses)):
            yield {
                **shared,
                "target": target,
                "rep": rep,
                "choices": choices,
                **_scores([repeats[rep] for repeats in responses], choices, where),
            }
        return
    if not (isinstance(responses, list) and len(responses) == 1 and isinstance(responses[0], list)):
        raise InputError(
            f"{where}: resps must hold the repeats of one request, or log-likelihoods of several "
            "choices. Check the task's output type."
        )
    for rep, text in enumerate(responses[0]):
        kept: dict[str, object] = {}
        for name, values in document.filtered.items():
            # The usual filter keeps the first repeat only.
            if isinstance(values, list) and len(values) == 1 and isinstance(values[0], list):
                values = values[0]
            if isinstance(values, list) and rep < len(values):
                kept |= flatten(values[rep], f"filtered.{name}")
        yield {
            **shared,
            **flatten(sample["target"], "target"),
            "rep": rep,
            **flatten(text, "resps"),
            **kept,
        }


def _choice_of(target: object, choices: tuple[str, ...]) -> object:
    # The harness itself takes digits for the number of a choice, also where the choices are
    # numbers.
    text = str(target).strip()
    return (
        choices[int(text)]
        if text.isascii() and text.isdigit() and len(text) < 5 and int(text) < len(choices)
        else text
    )


def _scores(pairs: list[list[Any]], choices: tuple[str, ...], where: str) -> dict[str, object]:
    """Shares of the choices in their joint probability; nothing where one is no finite number."""
    if len(pairs) != len(choices) or len(set(choices)) < len(choices):
        raise InputError(
            f"{where}: {len(pairs)} log-likelihoods for the choices {list(choices)!r}. "
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
    if not all(math.isfinite(log) for log in logs):
        return {}
    if len(choices) == 1:
        # What else might have been said was not scored: there is neither a share nor a choice.
        return {f"probability.{choices[0]}": min(math.exp(highest), 1.0)}
    # Relative to the highest: the probabilities of long choices themselves may all underflow to 0.
    weights = [math.exp(log - highest) for log in logs]
    shares = {
        f"probability.{choice}": weight / math.fsum(weights)
        for choice, weight in zip(choices, weights, strict=True)
    }
    mass = math.fsum(math.exp(log) for log in logs)
    best = [choice for choice, log in zip(choices, logs, strict=True) if log == highest]
    # Two equally probable choices are no choice; choices that begin alike can have a joint mass
    # beyond 1, which is then no probability.
    return {
        **shares,
        **({"choice": best[0]} if len(best) == 1 else {}),
        **({"answer_mass": mass} if mass <= 1 else {}),
    }


def _is_log(path: Path) -> bool:
    # One line is enough: every line of a harness log has these two fields.
    first = next((record for _, record in read_objects(path)), {})
    return {"doc_id", "resps"} <= set(first)


FORMAT = LogFormat(LINES, recognises=_is_log, read=read_lm_eval_samples)
