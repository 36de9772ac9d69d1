"""``samples_*.jsonl`` of the Language Model Evaluation Harness: texts, or log-likelihoods.

Texts come from the output type generate_until, log-likelihoods from multiple_choice. Fields:
``doc_id``, ``rep``, ``target``, ``doc.<name>``, the metrics (of the first filter); of texts
``resps``; of log-likelihoods ``choice`` (the most probable one), ``answer_mass`` (the probability
of all choices together) and ``probability.<choice>``, the share of a choice in that mass.
Written against the files of lm_eval 0.4.13, which holds numbers as text.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from coherence.errors import InputError, listing
from coherence.runs.formats import LINES, bare_name, read_objects
from coherence.runs.logs.answers import SHARE, AnswerLog, LogFormat, flatten, sample_columns

NEEDED = ("doc_id", "doc", "target", "resps")
_ROUNDING = 1e-3  # half precision may put a certain continuation a little above 0
_FILE_NAME = re.compile(r"samples_(?P<task>.+?)_\d{4}-\d\d-\d\dT[\d.:-]+")
_SKIPPED = {*NEEDED, "arguments", "filtered_resps", "filter", "metrics"}
_SKIPPED |= {"prompt_hash", "target_hash"}
_Sample = Mapping[str, Any]


def read_lm_eval_samples(path: Path) -> AnswerLog:
    """Read one task's samples."""
    records, options = list[Mapping[str, object]](), dict[tuple[str, ...] | None, None]()
    for number, sample in _documents(path):
        choices = _options(sample)
        options[choices] = None
        shared = {"doc_id": sample["doc_id"], **flatten(sample["doc"], "doc")}
        for name in (name for name in sample if name not in _SKIPPED):
            shared |= flatten(sample[name], name)
        answers = _answers(sample, choices, f"{path}: line {number}")
        records += [{**shared, **answer} for answer in answers]
    # The two need different columns, and one file of one task never holds both.
    if None in options and len(options) > 1:
        raise InputError(
            f"{path}: some lines hold texts and others log-likelihoods. "
            "One file must come from one task."
        )
    answer = {"answer": "choice", "answer_mass": "answer_mass"}
    fields = {"context": "doc_id", "rep": "rep", "theta": "target"}
    fields |= sample_columns(records, "doc.")
    fields |= {"answer": "resps"} if None in options else answer
    # States are columns, so every document must have the same ones.
    first, *others = options
    states = first or () if not others else ()
    named = _FILE_NAME.fullmatch(bare_name(path))
    task = named["task"] if named else None
    told: dict[str, Any] = {"labels": ("choice",)}
    told |= {"states": states, "probabilities": tuple(f"{SHARE}{state}" for state in states)}
    return AnswerLog(path.name, task, None, tuple(records), fields, **told)


def _documents(path: Path) -> list[tuple[int, _Sample]]:
    """Return the documents with the numbers of their lines."""
    documents: dict[str, tuple[int, _Sample]] = {}
    for number, sample in read_objects(path):
        if missing := [name for name in NEEDED if name not in sample]:
            raise InputError(
                f"{path}: line {number} lacks {', '.join(map(repr, missing))}; "
                "a line that --log_samples writes has them."
            )
        key = str(sample["doc_id"])
        # A task with several filters is logged once per filter, with the same responses.
        if documents.setdefault(key, (number, sample))[1]["resps"] != sample["resps"]:
            raise InputError(
                f"{path}: line {number} answers document {key} again and differently. "
                "Import one run at a time."
            )
    if not documents:
        raise InputError(f"{path}: the file has no samples. Check the run that wrote it.")
    return [*documents.values()]


def _options(sample: _Sample) -> tuple[str, ...] | None:
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
    named = requests.values() if isinstance(requests, dict) else ()
    pairs = [[*each.values()] for each in named if isinstance(each, dict) and len(each) > 1]
    return tuple(str(continuation).strip() for _, continuation, *_ in pairs)


def _answers(
    sample: _Sample, choices: tuple[str, ...] | None, where: str
) -> Iterator[dict[str, object]]:
    """Yield the answers to a document, one for each repetition."""
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
        yield {**flatten(sample["target"], "target"), "rep": rep, **flatten(text, "resps")}


def _choice_of(target: object, choices: Sequence[str]) -> object:
    # The harness itself takes digits for the number of a choice, also where the choices are
    # numbers.
    text = str(target).strip()
    is_number = text.isascii() and text.isdigit() and len(text) < 5 and int(text) < len(choices)
    return choices[int(text)] if is_number else text


def _scores(pairs: Sequence[list[Any]], choices: Sequence[str], where: str) -> dict[str, object]:
    """Return shares of the choices in their joint probability; none where one is not finite."""
    if len(choices) == 1 or len(pairs) != len(choices) or len({*choices}) < len(choices):
        raise InputError(
            f"{where}: {len(pairs)} log-likelihoods for {listing(choices, 6)}. Score every choice "
            "once, and two at least: output_type: multiple_choice."
        )
    try:
        logs = [float(pair[0]) for pair in pairs]
    except (TypeError, ValueError, OverflowError):
        logs = [math.inf]
    highest = max(logs)
    # The logarithm of a probability; a positive one is a loss with its sign turned, or a score.
    if highest > _ROUNDING:
        raise InputError(
            f"{where}: log-likelihoods must be numbers that are not positive; received "
            f"{[pair[0] for pair in pairs]!r}. Check the run that wrote it."
        )
    if not all(map(math.isfinite, logs)):
        return {"choice": None}
    # Relative to the highest: the probabilities of long choices themselves may all underflow to 0.
    weights = [math.exp(log - highest) for log in logs]
    total, mass = math.fsum(weights), math.fsum(map(math.exp, logs))
    shares: dict[str, object] = {
        f"{SHARE}{choice}": each / total for choice, each in zip(choices, weights, strict=True)
    }
    # Two equally probable choices are no choice; choices that begin alike can have a joint mass
    # beyond 1, which is then no probability.
    choice = choices[logs.index(highest)] if logs.count(highest) == 1 else None
    return {**shares, "choice": choice} | ({"answer_mass": mass} if mass <= 1 else {})


def _is_log(path: Path) -> bool:
    # One line is enough: every line of a harness log has these two fields.
    first = next((record for _, record in read_objects(path)), {})
    return {"doc_id", "resps"} <= {*first}


FORMAT = LogFormat("lm-eval", LINES, _is_log, read_lm_eval_samples)
