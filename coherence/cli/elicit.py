"""``coherence elicit``: ask a local model, keep every answer, write the runs table."""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elicitation.session import Progress

PROMPTS = ("standard", "mse", "absolute", "bayes")
_SECONDS_BETWEEN_LINES = 15.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Parser of this command.
    """
    parser.add_argument("--model", required=True, metavar="DIR", help="folder of a causal language model, as written by save_pretrained")
    parser.add_argument("--task", required=True, metavar="NAME", help="network that supplies the cases, such as asia")
    parser.add_argument("--target", metavar="VARIABLE", help="variable asked about (default: the usual one of the task)")
    parser.add_argument("--contexts", type=int, default=200, metavar="N", help="number of contexts (default: 200)")
    parser.add_argument("--reps", type=int, default=5, metavar="N", help="draws per question (default: 5)")
    parser.add_argument("--out", required=True, metavar="FILE", help="runs table to write: .parquet, .csv or .jsonl")
    parser.add_argument(
        "--prompts", default=",".join(PROMPTS), metavar="LIST", help=f"framings of the belief question (default: {','.join(PROMPTS)})"
    )
    parser.add_argument("--no-lie", action="store_true", help="leave out the questions of the law of iterated expectation")
    parser.add_argument("--temperature", type=float, default=1.0, metavar="T", help="0 takes the most probable answer (default: 1)")
    parser.add_argument("--max-new-tokens", type=int, metavar="N", help="cut of every answer (default: what a readable answer needs at most)")
    parser.add_argument("--chat", action=argparse.BooleanOptionalAction, default=None, help="use the chat template (default: if there is one)")
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16", "float16"), help="precision (default: float32)")
    parser.add_argument("--device", default="cpu", metavar="NAME", help="torch device (default: cpu)")
    parser.add_argument("--batch-size", type=int, default=64, metavar="N", help="questions at a time (default: 64)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the cases and of the draws (default: 0)")
    parser.add_argument("--store", metavar="FILE", help="where answers are kept (default: OUT.answers.sqlite)")
    parser.add_argument("--threads", type=int, metavar="N", help="threads of the model (default: torch's own choice)")


def run(args: argparse.Namespace) -> int:
    """Ask, write, sum up.

    Parameters
    ----------
    args : argparse.Namespace
        Options as declared by `add_arguments`.

    Returns
    -------
    int
        0, or 130 after Ctrl-C.
    """
    from coherence.errors import InputError
    from coherence.storage import write_runs
    from elicitation.session import Task, elicit
    from elicitation.store import AnswerStore

    out = Path(args.out)
    # Known before hours of asking, and not at their end.
    if out.suffix.lower() not in (".parquet", ".csv", ".jsonl"):
        raise InputError(f"--out must end in .parquet, .csv or .jsonl; received {args.out}.")
    if not out.absolute().parent.is_dir() or not os.access(out.absolute().parent, os.W_OK):
        raise InputError(f"--out must lie in a folder that can be written to; {out.absolute().parent} cannot. Create it, or choose another.")
    task = Task.load(args.task, target=args.target)
    cases = task.cases(args.contexts, seed=args.seed)

    from elicitation.models.causal import load_causal_model

    model = load_causal_model(args.model, batch_size=args.batch_size, chat=args.chat, dtype=args.dtype, device=args.device, threads=args.threads)
    with AnswerStore(args.store or f"{args.out}.answers.sqlite") as store:
        try:
            with _progress() as progress:
                runs, tally = elicit(
                    model,
                    task,
                    cases,
                    store,
                    reps=args.reps,
                    prompts=tuple(name.strip() for name in args.prompts.split(",") if name.strip()),
                    iterated=not args.no_lie,
                    temperature=args.temperature,
                    max_new_tokens=args.max_new_tokens,
                    batch_size=args.batch_size,
                    seed=args.seed,
                    progress=progress,
                )
        except KeyboardInterrupt:
            print(f"\ncoherence elicit: interrupted; {len(store)} answers are kept in {store.path}. The same command resumes.", file=sys.stderr)
            return 130
    write_runs(runs, out)
    share = tally.readable / tally.total
    print(f"{out}: {len(runs)} rows, {tally.asked} answers asked, {tally.reused} reused, {share:.1%} readable", file=sys.stderr)
    return 0


@contextmanager
def _progress() -> "Iterator[Progress]":
    """Show a bar on a terminal, and a line every quarter of a minute elsewhere."""
    from tqdm import tqdm

    with tqdm(unit="answer", file=sys.stderr, disable=None) as bar:
        last = time.monotonic()

        def show(done: int, total: int) -> None:
            nonlocal last
            if not bar.disable:
                bar.total = total
                # Answers that were found count as done, not as speed.
                bar.initial = done if bar.n == 0 and not bar.initial else bar.initial
                bar.n = done
                bar.refresh()
            elif time.monotonic() - last >= _SECONDS_BETWEEN_LINES or done == total:
                last = time.monotonic()
                print(f"{done} of {total} answers", file=sys.stderr)

        yield show
