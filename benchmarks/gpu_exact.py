"""Time exact answers on an accelerator against transformers' own batch and the arithmetic.

    python benchmarks/gpu_exact.py --model models/smollm2 --out gpu_exact.csv

Half of the questions ask for two lines and half for one number, about cases of `asia`, as
``elicit --answers exact`` asks them. The rival scores 101 strings behind each question, in one
tokenization each: it reads the question once, repeats the cache and pads the strings on the right.
Our `log_probabilities` scores the same strings and must give the same numbers in single precision.
The limit is 2 x parameters x tokens / speed of a large matrix product on the device; its tokens are
those that the exact answers were read from, padding included. A machine without pgmpy takes the
questions from a file that ``--questions`` wrote on another.
"""

import argparse
import csv
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
from transformers import DynamicCache

from elicitation.models.local.causal import CausalModel, load_causal_model
from elicitation.models.local.forward import remembering
from elicitation.spelling.forms import AnswerForm, Distribution

FORMS = {"lines": AnswerForm("lines", ("No", "Yes")), "number": AnswerForm("number")}
Question = tuple[str, AnswerForm]
Tokens = Sequence[int]


def read_questions(path: Path | None, n: int) -> list[Question]:
    """Return questions, from a file or planned and written there."""
    if path is not None and path.exists():
        asked = json.loads(path.read_text("utf-8"))
    else:
        asked = planned_questions(n)
        if path is not None:
            path.write_text(json.dumps(asked), encoding="utf-8")
    return [(text, FORMS[form]) for text, form in asked[:n]]


def planned_questions(n: int) -> list[tuple[str, str]]:
    """Return distinct questions about cases of `asia` with the kinds of their forms."""
    from elicitation.questions.plan import Design, plan_task
    from elicitation.questions.prompts import BELIEF, NETWORK_PROMPTS, Template
    from elicitation.questions.tasks import Task

    lines = BELIEF["standard"]
    case = lines.text.partition(" Give one")[0]
    ending = " Write one number from 0 to 1 and nothing else.\n\nYour answer:"
    belief = {"standard": lines, "number": Template("number", case + ending, "number")}
    task = Task.load("asia")
    design = Design(
        answers="exact",
        prompts=tuple(belief),
        iterated=False,
        templates=replace(NETWORK_PROMPTS, belief=belief),
    )
    questions = plan_task(task, task.cases(n, seed=0), design).questions
    asked = {each.text: each.spec.form for each in questions if each.spec.role == "belief"}
    return list(asked.items())[:n]


def belief(distribution: Distribution) -> float:
    """Return the mean of the numbers on the first line, given that it holds one."""
    return math.fsum(float(name) * share for name, share in distribution.shares().items())


def beliefs_on_processor(path: str, questions: Sequence[Question]) -> tuple[list[float], float]:
    """Return beliefs in single precision, and the seconds of a question."""
    model = load_causal_model(path, device="cpu", dtype="float32")
    seconds, read = timed("cpu", lambda: list(model.distributions(questions)))
    return [belief(distribution) for _, distribution in read], seconds / len(questions)


def strings(model: CausalModel, question: Question) -> tuple[list[int], list[list[int]]]:
    """Return the tokens of a question and of the strings that may follow it."""
    text, form = question
    (part,) = form.parts
    blank = ": " if part.prefill else " "
    numbers = [f"{blank}{hundredth / 100:.2f}" for hundredth in range(101)]
    (ids,) = model.encode([text], answer=part.prefill)
    return ids, model.tokenizer(numbers, add_special_tokens=False)["input_ids"]


def repeated_cache(
    network: Any, texts: Sequence[Tokens], endings: Sequence[Sequence[Tokens]]
) -> torch.Tensor:
    """Return log-probabilities of strings as transformers' caches offer it, texts x strings."""
    n_strings, width = len(endings[0]), max(len(each) for of_text in endings for each in of_text)
    longest, device = max(map(len, texts)), network.device
    ids = torch.tensor([[0] * (longest - len(text)) + list(text) for text in texts], device=device)
    lengths = torch.tensor([len(text) for text in texts], device=device)
    mask = (torch.arange(longest, device=device) >= (longest - lengths)[:, None]).long()
    flat = [each for of_text in endings for each in of_text]
    padded = torch.tensor([[*each, *[0] * (width - len(each))] for each in flat], device=device)
    ends = torch.tensor([len(each) for each in flat], device=device)[:, None]
    within = torch.arange(width, device=device) < ends
    cache = DynamicCache(config=network.config)
    with torch.inference_mode():
        first = network(
            ids,
            attention_mask=mask,
            position_ids=(mask.cumsum(-1) - 1).clamp(min=0),
            logits_to_keep=1,
            **remembering(network, cache),
        ).logits[:, -1]
        cache.batch_repeat_interleave(n_strings)
        repeated = mask.repeat_interleave(n_strings, 0)
        starts = lengths.repeat_interleave(n_strings)[:, None]
        later = network(
            padded[:, :-1],
            attention_mask=torch.cat([repeated, torch.ones_like(padded[:, :-1])], 1),
            position_ids=starts + torch.arange(width - 1, device=device),
            **remembering(network, cache),
        ).logits
        after = torch.cat([first.repeat_interleave(n_strings, 0)[:, None], later], 1).float()
        steps = after.gather(-1, padded[..., None])[..., 0] - after.logsumexp(-1)
        return (steps * within).sum(-1).view(len(texts), n_strings)


def peak_speed(device: str, dtype: torch.dtype) -> float:
    """Return the operations a second of a large matrix product on random data, the best of five."""
    size = 8192 if device != "cpu" else 2048
    left, right = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    seconds = [timed(device, lambda: left @ right)[0] for _ in range(6)][1:]
    return 2 * size**3 / min(seconds)


def timed(device: str, call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of a call and its result, once the device has come to rest."""
    rest = torch.cuda.synchronize if device.startswith("cuda") else lambda: None
    rest()
    start = time.perf_counter()
    result = call()
    rest()
    return time.perf_counter() - start, result


@contextmanager
def counted(network: Any) -> Iterator[dict[str, int]]:
    """Count the tokens that a network is fed, and its passes."""
    counts = {"tokens": 0, "passes": 0}

    def count(_: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        counts["tokens"] += (arguments[0] if arguments else options["input_ids"]).numel()
        counts["passes"] += 1

    handle = network.register_forward_pre_hook(count, with_kwargs=True)
    try:
        yield counts
    finally:
        handle.remove()


def rows(
    path: str,
    device: str,
    dtype: str,
    questions: Sequence[Question],
    batches: Sequence[int],
    reference: Sequence[float],
) -> Iterator[dict[str, Any]]:
    """Yield what each size of a batch takes; `reference` are the beliefs of the first questions."""
    model = load_causal_model(path, device=device, dtype=dtype)
    network, n = model.network, len(questions)
    print(f"{dtype} on {device}: {model.reading}", flush=True)
    parameters = sum(each.numel() for each in network.parameters())
    speed = peak_speed(device, network.dtype)
    texts, endings = zip(*(strings(model, each) for each in questions), strict=True)

    def exact(part: slice) -> list[float]:
        return [belief(found) for _, found in model.distributions(questions[part])]

    def scored(part: slice) -> list[Any]:
        return model.log_probabilities(texts[part], endings[part])

    def rival(part: slice) -> list[Any]:
        return list(repeated_cache(network, texts[part], endings[part]).cpu().numpy())

    for batch in batches:
        parts = [slice(start, start + batch) for start in range(0, n, batch)]
        results: dict[str, list[Any]] = {}
        costs: dict[str, float] = {}
        for call in (exact, scored, rival):
            cost, results[call.__name__] = measured(call, parts, network)
            costs |= {f"{call.__name__}_{what}": value for what, value in cost.items()}
        moved = [abs(a - b) for a, b in zip(results["exact"], reference, strict=False)]
        gaps = [
            np.abs(a - b).max() for a, b in zip(results["scored"], results["rival"], strict=False)
        ]
        yield {
            "device": "cpu" if device == "cpu" else torch.cuda.get_device_name(),
            **{"dtype": dtype, "batch": batch, "questions": n},
            **costs,
            "limit_seconds": 2 * parameters * costs["exact_tokens"] / speed,
            "matrix_teraflops": speed / 1e12,
            "belief_moved_most": max(moved),
            "belief_moved_mean": sum(moved) / len(moved),
            "strings_differ": float(max(gaps, default=math.nan)),
        }


def measured(
    call: Callable[[slice], list[Any]], parts: Sequence[slice], network: Any
) -> tuple[dict[str, float], list[Any]]:
    """Return what a question costs after a warm-up, and all results; none if memory ran out."""
    on_processor = network.device.type == "cpu"
    try:
        call(parts[0])
        if not on_processor:
            torch.cuda.reset_peak_memory_stats()
        with counted(network) as counts:
            seconds, results = timed(
                network.device.type, lambda: [result for part in parts for result in call(part)]
            )
    except torch.OutOfMemoryError:
        return {"seconds": math.nan, "tokens": math.nan, "passes": math.nan, "gib": math.nan}, []
    peak = math.nan if on_processor else torch.cuda.max_memory_allocated() / 2**30
    n = len(results)
    return {
        "seconds": seconds / n,
        **{what: count / n for what, count in counts.items()},
        "gib": peak,
    }, results


def parse_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True, help="a folder or a .gguf file")
    parser.add_argument("--questions", type=Path, metavar="FILE", help="JSON, written if missing")
    parser.add_argument("--number", type=int, default=100, help="questions (default: 100)")
    parser.add_argument("--reference", type=int, default=10, help="of them on the processor too")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8, 32], help="at a time")
    parser.add_argument("--dtypes", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path, required=True, help="CSV to write")
    return parser.parse_args()


def main() -> None:
    """Run all sizes of batches in all precisions."""
    options = parse_options()
    questions = read_questions(options.questions, options.number)
    reference, seconds = beliefs_on_processor(options.model, questions[: options.reference])
    print(f"reference on the processor: {seconds:.3g} s a question", flush=True)
    written: list[dict[str, Any]] = []
    for dtype in options.dtypes:
        for row in rows(
            options.model, options.device, dtype, questions, options.batches, reference
        ):
            print(json.dumps(row), flush=True)
            written.append(row)
            with options.out.open("w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, list(row))
                writer.writeheader()
                writer.writerows(written)


if __name__ == "__main__":
    main()
