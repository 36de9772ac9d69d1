"""Time scoring continuations and drawing answers against their peers; print a Markdown table.

    python benchmarks/asking.py --out benchmarks/asking.md

All lines of a table take turns in one process, on the same network and the same requests, and the
median of their times is printed. Processor time counts all threads and not the neighbours on a
shared machine. The network that scores has 42 million random parameters; the one that answers is
trained here for a quarter of a minute, or is the folder given with ``--reader``. The rival,
lm-evaluation-harness, is optional (``pip install "belief-coherence[bench]"``) and runs at the batch
size that suits it best. ``--long`` repeats our scoring at ten times the size.
"""

import argparse
import os
import platform
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault(
    "OMP_WAIT_POLICY", "PASSIVE"
)  # threads that spin slow a shared machine down many times over
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
from asking_peers import (
    answered_by_harness,
    answered_one_by_one,
    harness,
    scored_by_harness,
    scored_one_by_one,
    scored_with_repeated_cache,
)
from transformers import GPT2Config, GPT2LMHeadModel

from elicitation.models.base import Request
from elicitation.models.local.causal import CausalModel, load_causal_model
from elicitation.questions.plan import Design, plan_task
from elicitation.questions.tasks import Task

TEXT_TOKENS, N_CONTINUATIONS, N_ANSWERS, NEW_TOKENS = 400, 100, 1000, 40
BATCH_SIZES = (1, 8, 32, 128)  # tried for the harness, on a quarter of the work
LONG = 10.0  # seconds, above which a line takes one turn only
Line = tuple[str, Callable[[], Any]]
Timed = dict[str, tuple[float, float]]


def timed(lines: Sequence[Line], repetitions: int) -> tuple[Timed, dict[str, Any]]:
    """Return the median seconds and processor seconds of every line, and its result.

    Lines take turns, so that a busy moment meets them all.
    """
    results: dict[str, Any] = {}
    seconds: dict[str, list[tuple[float, float]]] = {label: [] for label, _ in lines}
    for _ in range(repetitions):
        for label, call in lines:
            if any(wall > LONG for wall, _ in seconds[label]):
                continue
            wall, cpu = time.perf_counter(), time.process_time()
            results[label] = call()
            seconds[label].append((time.perf_counter() - wall, time.process_time() - cpu))
    return {
        label: (median(wall for wall, _ in runs), median(cpu for _, cpu in runs))
        for label, runs in seconds.items()
    }, results


def table(title: str, times: Timed, notes: Sequence[str] = ()) -> list[str]:
    """Return a table with every line relative to the first, which is ours."""
    first, _ = next(iter(times.values()))
    lines = [
        f"## {title}",
        "",
        "| | seconds | processor seconds | times ours |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {label} | {wall:.3g} | {cpu:.3g} | {wall / first:.3g} |"
        for label, (wall, cpu) in times.items()
    ]
    return [*lines, "", *[f"- {note}" for note in notes], *([""] if notes else [])]


def random_network() -> Any:
    """Return a GPT-2 of 42 million random parameters."""
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=32_768,
        n_embd=512,
        n_layer=8,
        n_head=8,
        n_positions=1024,
        bos_token_id=1,
        eos_token_id=1,
    )
    return GPT2LMHeadModel(config).eval()


def best_batch(call: Callable[[int], Any]) -> int:
    """Return the batch size at which a call is fastest, tried once each."""
    return min(BATCH_SIZES, key=lambda size: timed([("", lambda: call(size))], 1)[0][""][0])


def scoring(
    network: Any,
    tokenizer: Any,
    title: str,
    continuations: list[list[int]],
    text: list[int],
    repetitions: int,
) -> list[str]:
    """Measure the scoring of continuations after one text; all must give the same numbers."""
    model = CausalModel(network, tokenizer, name="random", fingerprint="random")
    model.log_probabilities([text], [[[1, 2]]])  # finds out what kind of tree the network takes
    lines: list[Line] = [
        ("log_probabilities", lambda: model.log_probabilities([text], [continuations])[0]),
        (
            "transformers, cache repeated",
            lambda: scored_with_repeated_cache(network, text, continuations),
        ),
        ("transformers, one by one", lambda: scored_one_by_one(network, text, continuations)),
    ]
    if harness(network, tokenizer, 1) is not None:
        size = best_batch(
            lambda n: scored_by_harness(network, tokenizer, text, continuations[::4], n)
        )
        lines.append(
            (
                f"lm-evaluation-harness, batch {size}",
                lambda: scored_by_harness(network, tokenizer, text, continuations, size),
            )
        )
    times, scores = timed(lines, repetitions)
    ours = scores[lines[0][0]]
    gap = max(float(np.abs(ours - np.array(other)).max()) for other in scores.values())
    if gap > 1e-4:
        raise SystemExit(f"log-probabilities differ by {gap:g}: the times mean nothing")
    return table(
        title,
        times,
        [f"Largest difference of a log-probability between any of these and ours: {gap:.1g}."],
    )


def drawing(folder: str, repetitions: int) -> list[str]:
    """Measure the drawing of answers in two lines."""
    model = load_causal_model(folder, dtype="float32", device="cpu")
    texts = questions(N_ANSWERS)
    requests = [Request(text, 0, NEW_TOKENS, 0.0) for text in texts]
    network, tokenizer = model.network, model.tokenizer
    sampled = [Request(texts[k % (N_ANSWERS // 5)], k, NEW_TOKENS, 1.0) for k in range(N_ANSWERS)]
    lines: list[Line] = [
        ("CausalModel.generate", lambda: [answer.text for answer in model.generate(requests)]),
        ("the same, sampled, five answers to each text", lambda: model.generate(sampled)),
        (
            "transformers generate, one by one",
            lambda: answered_one_by_one(network, tokenizer, texts, NEW_TOKENS),
        ),
    ]
    if harness(network, tokenizer, 1) is not None:

        def by_harness(size: int, step: int = 1) -> list[str]:
            return answered_by_harness(network, tokenizer, texts[::step], NEW_TOKENS, size)

        size = best_batch(lambda n: by_harness(n, 4))
        lines.append((f"lm-evaluation-harness, batch {size}", lambda: by_harness(size)))
    times, answers = timed(lines, repetitions)
    ours = answers[lines[0][0]]
    notes = []
    for label, _ in lines[2:]:
        same = np.mean([mine == other for mine, other in zip(ours, answers[label], strict=True)])
        notes.append(f"{same:.1%} of our answers are those of {label}.")
    lengths = [len(tokens) for tokens in model.encode(texts)]
    notes.append(
        f"Texts have {min(lengths)} to {max(lengths)} tokens, "
        f"answers {np.mean([len(answer) for answer in ours]):.0f} characters on average."
    )
    return table(f"{len(texts):,} answers of two lines", times, notes)


def questions(n: int) -> list[str]:
    """Return distinct questions about a belief."""
    task = Task.load("asia")
    plan = plan_task(task, task.cases(n // 4, seed=0), Design(reps=1)).questions
    return list(
        dict.fromkeys(
            question.text for question in plan if question.spec.role in ("belief", "conditional")
        )
    )[:n]


def train_tiny_causal(folder: str) -> None:
    """Train a small model that answers in two lines."""
    from elicitation.training.organisms.tiny_causal import Recipe
    from elicitation.training.organisms.tiny_causal import train_tiny_causal as train

    batch = (("belief", 8), ("conditional", 4), ("decision", 4), ("auxiliary", 4))
    train(
        folder,
        Task.load("asia"),
        recipe=Recipe(
            steps=300,
            hidden=128,
            inner=352,
            layers=4,
            heads=4,
            learning_rate=3e-3,
            batch=batch,
            threads=1,
        ),
    )


def installed(package: str) -> str:
    """Return a package with its version, or say that it is missing."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"{package} not installed"


def ten_times(network: Any, tokenizer: Any, rng: np.random.Generator) -> list[str]:
    """Measure our scoring at ten times the continuations and at ten times the texts."""
    model = CausalModel(network, tokenizer, name="random", fingerprint="random")

    def call(n_texts: int, n_continuations: int) -> Callable[[], Any]:
        texts = rng.integers(10, 32_000, (n_texts, TEXT_TOKENS)).tolist()
        continuations = [
            rng.integers(10, 32_000, rng.integers(2, 6)).tolist() for _ in range(n_continuations)
        ]
        return lambda: model.log_probabilities(texts, [continuations] * n_texts)

    lines = [
        (f"{texts}, {n:,} continuations each", call(n_texts, n))
        for texts, n_texts, n in (("1 text", 1, 100), ("10 texts", 10, 100), ("1 text", 1, 1000))
    ]
    return table("Ten times the size, log_probabilities alone", timed(lines, 3)[0])


def parse_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="write the tables into this Markdown file as well")
    parser.add_argument(
        "--reader", metavar="DIR", help="folder of the model that answers (default: trained here)"
    )
    parser.add_argument(
        "--threads", type=int, default=2, metavar="N", help="threads of torch (default: 2)"
    )
    parser.add_argument(
        "--repetitions", type=int, default=3, metavar="N", help="turns of every line (default: 3)"
    )
    parser.add_argument("--long", action="store_true", help="add ten times the size")
    return parser.parse_args()


def scorings(
    network: Any, tokenizer: Any, rng: np.random.Generator, repetitions: int
) -> list[Callable[[], list[str]]]:
    """Prepare the three tables of scored continuations: unlike, with common stems, and short."""
    text = rng.integers(10, 32_000, TEXT_TOKENS).tolist()
    unlike = [rng.integers(10, 32_000, rng.integers(2, 6)).tolist() for _ in range(N_CONTINUATIONS)]
    stems = rng.integers(10, 32_000, (10, 3)).tolist()
    alike = [
        [*stems[k // 10], *rng.integers(10, 32_000, 1).tolist()] for k in range(N_CONTINUATIONS)
    ]
    single = [
        [token]
        for token in rng.choice(np.arange(10, 32_000), N_CONTINUATIONS, replace=False).tolist()
    ]
    after = f"after a text of {TEXT_TOKENS} tokens"
    titles = {
        f"{N_CONTINUATIONS} continuations of 2 to 5 tokens {after}, nothing in common": unlike,
        f"{N_CONTINUATIONS} continuations of 4 tokens {after}, ten stems of 3 tokens": alike,
        f"{N_CONTINUATIONS} single tokens {after}": single,
    }
    return [
        partial(scoring, network, tokenizer, title, continuations, text, repetitions)
        for title, continuations in titles.items()
    ]


def main() -> None:
    """Run all tables."""
    options = parse_options()
    torch.set_num_threads(options.threads)
    rng = np.random.default_rng(0)
    packages = ", ".join(installed(name) for name in ("torch", "transformers", "lm_eval"))
    flags = (
        f" --threads {options.threads}"
        + (" --reader DIR" if options.reader else "")
        + (" --long" if options.long else "")
    )
    command = (
        "python benchmarks/asking.py" + flags + (f" --out {options.out}" if options.out else "")
    )
    pages = [
        "# Speed of asking",
        "",
        f"Made by `{command}` on Python {platform.python_version()}, {platform.machine()}; "
        f"{packages}.",
        f"Medians of {options.repetitions} turns; a line above {LONG:.0f} seconds takes one.",
        "",
    ]
    print("\n".join(pages), flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.reader or scratch
        if not options.reader:
            train_tiny_causal(folder)
            torch.set_num_threads(options.threads)
        tokenizer, network = (
            load_causal_model(folder, dtype="float32", device="cpu").tokenizer,
            random_network(),
        )
        sections: list[Callable[[], list[str]]] = [
            *scorings(network, tokenizer, rng, options.repetitions),
            partial(drawing, folder, options.repetitions),
        ]
        if options.long:
            sections.append(partial(ten_times, network, tokenizer, rng))
        for section in sections:
            lines = section()
            print("\n".join(lines), flush=True)
            pages += lines
    if options.out:
        options.out.write_text("\n".join(pages).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
