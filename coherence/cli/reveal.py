"""``coherence reveal``: beliefs revealed by unfinished texts, beside stated answers and bets, on dice, coins, choices and preferences."""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from elicitation.scenarios.reading import Progress
    from elicitation.scenarios.setting import Setting
    from elicitation.store import AnswerStore

_SECONDS_BETWEEN_LINES = 15.0
_METRICS = {"chebyshev": "Chebyshev", "l1": "L1", "symmetric_kl": "symmetric KL"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Parser of this command.
    """
    who = parser.add_argument_group("whose beliefs")
    who.add_argument("--model", metavar="DIR", help="folder of a causal language model, as written by save_pretrained")
    who.add_argument("--base", metavar="DIR", help="folder of a base model, to stand beside --instruct")
    who.add_argument("--instruct", metavar="DIR", help="folder of the instruction-tuned model; stated answers are its own")
    who.add_argument("--answers", metavar="FILE", help="probabilities elicited elsewhere, as CSV; needs no model")
    parser.add_argument("--out", metavar="DIR", help="folder for tables, figures, runs table and report; made if it does not exist")
    parser.add_argument("--questions", metavar="FILE", help="write the unfinished texts and their outcomes as CSV, to be asked elsewhere, and stop")
    grid = parser.add_argument_group("grid", "852 settings without any of these")
    grid.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="NAME=A,B",
        help="keep settings whose scenario, variant, n, faces, bias, observation, ... is one of these; may be given several times",
    )
    grid.add_argument("--faces", metavar="LIST", help="faces of the dice, from 2 (default: 4,6,8,10,12)")
    grid.add_argument(
        "--labels", action="append", metavar="A/B", help="two labels to choose between, instead of Heads/Tails and Left/Right; repeatable"
    )
    grid.add_argument("--extra", action="store_true", help="add settings with several earlier results, and Poisson counts")
    parser.add_argument("--only-revealed", action="store_true", help="ask neither for stated answers nor for bets, and run no checks")
    parser.add_argument("--reps", type=int, default=5, metavar="N", help="actions drawn per bet (default: 5)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the simulated outcomes, the actions and the checks (default: 0)")
    parser.add_argument("--dtype", default="float32", choices=("auto", "float32", "bfloat16", "float16"), help="precision (default: float32)")
    parser.add_argument("--device", default="cpu", metavar="NAME", help="torch device, or auto (default: cpu)")
    parser.add_argument("--batch-size", type=int, metavar="N", help="most texts per forward pass (default: what memory allows)")
    parser.add_argument("--threads", type=int, metavar="N", help="threads of the model (default: torch's own choice)")


def run(args: argparse.Namespace) -> int:
    """Read, measure, draw, check, write.

    Parameters
    ----------
    args : argparse.Namespace
        Options as declared by `add_arguments`.

    Returns
    -------
    int
        0, or 130 after Ctrl-C.
    """
    _check(args)
    settings = _settings(args)
    if args.questions is not None:
        from elicitation.scenarios.tables import questions_table

        table = questions_table(settings)
        table.to_csv(args.questions, index=False)
        print(f"{args.questions}: {len(settings)} settings, {table['text'].nunique()} texts; fill in 'probability'", file=sys.stderr)
        return 0
    folder = _prepare_folder(args.out)
    if args.answers is not None:
        from elicitation.scenarios.tables import read_beliefs

        _write(folder, read_beliefs(args.answers, settings), None, None, args)
        return 0
    from elicitation.store import AnswerStore

    with AnswerStore(folder / "answers.sqlite") as store:
        try:
            beliefs, stated, runs = _ask(args, settings, store)
        except KeyboardInterrupt:
            print(f"\ncoherence reveal: interrupted; {len(store)} answers are kept in {store.path}. The same command resumes.", file=sys.stderr)
            return 130
    _write(folder, beliefs, stated, runs, args)
    return 0


def _check(args: argparse.Namespace) -> None:
    """Raise for what can be known before anything is loaded."""
    from coherence.errors import InputError

    if args.questions is not None:
        return
    ways = [args.model is not None, args.base is not None and args.instruct is not None, args.answers is not None]
    given = [args.model is not None, args.base is not None or args.instruct is not None, args.answers is not None]
    if sum(ways) != 1 or sum(given) != 1:
        raise InputError("needed: --model DIR, or both --base DIR and --instruct DIR, or --answers FILE, and only one of these.")
    if args.out is None:
        raise InputError("--out DIR is missing. Name a folder.")
    if args.reps < 1 or args.seed < 0:
        raise InputError(f"--reps must be at least 1 and --seed at least 0; received {args.reps} and {args.seed}.")


def _settings(args: argparse.Namespace) -> "list[Setting]":
    from coherence.errors import InputError
    from elicitation.scenarios.grid import extra_settings, select, standard_grid

    options: dict[str, object] = {}
    if args.faces is not None:
        words = [word.strip() for word in args.faces.split(",")]
        if not all(word.isdigit() for word in words):
            raise InputError(f"--faces must be whole numbers with commas between them; received {args.faces!r}.")
        options["faces"] = [int(word) for word in words]
    if args.labels is not None:
        pairs = [tuple(label.strip() for label in word.split("/")) for word in args.labels]
        if any(len(pair) != 2 for pair in pairs):
            raise InputError(f"--labels must be two labels with a slash between them; received {', '.join(args.labels)}.")
        options["labels"] = pairs
    settings = standard_grid(**options)  # type: ignore[arg-type]
    if args.extra:
        settings += extra_settings()
    where: dict[str, list[str]] = {}
    for condition in args.where:
        name, equals, values = condition.partition("=")
        if not equals:
            raise InputError(f"--where needs NAME=VALUE; received {condition!r}.")
        where.setdefault(name.strip(), []).extend(value.strip() for value in values.split(","))
    return select(settings, where)


def _prepare_folder(name: str) -> Path:
    from coherence.errors import InputError

    folder = Path(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out must be a folder that can be made; {name} cannot ({error.strerror}). Choose another.") from error
    if not os.access(folder, os.W_OK):
        raise InputError(f"--out must be a folder that can be written to; {name} cannot. Choose another.")
    return folder


def _ask(
    args: argparse.Namespace, settings: "list[Setting]", store: "AnswerStore"
) -> "tuple[pd.DataFrame, pd.DataFrame | None, pd.DataFrame | None]":
    """Ask every model in turn; one is in memory at a time."""
    import pandas as pd

    from elicitation.models.causal import load_causal_model
    from elicitation.scenarios.reading import in_chat
    from elicitation.scenarios.tables import reveal, state
    from elicitation.scenarios.wager import SCENARIOS, ask_wagers

    folders = {"base": args.base, "instruct": args.instruct} if args.model is None else {Path(args.model).resolve().name: args.model}
    beliefs, stated, runs = [], [], []
    for number, (source, model_folder) in enumerate(folders.items(), start=1):
        model = load_causal_model(model_folder, batch_size=args.batch_size, chat=False, dtype=args.dtype, device=args.device, threads=args.threads)
        with _progress(f"{source}: beliefs") as progress:
            beliefs.append(reveal(model, settings, store, source=source, progress=progress))
        if args.only_revealed:
            continue
        asked = in_chat(model)
        # The stated answers of a base model to questions with options are no use to compare with; bets are its actions all the same.
        if number == len(folders):
            with _progress(f"{source}: stated answers") as progress:
                stated.append(state(asked, settings, store, source=source, progress=progress))
        if not any(setting.scenario in SCENARIOS for setting in settings):
            continue
        with _progress(f"{source}: bets") as progress:
            runs.append(ask_wagers(model, asked, settings, store, model=source, reps=args.reps, seed=args.seed, progress=progress))
    together = pd.concat(runs, ignore_index=True) if runs else pd.DataFrame()
    return pd.concat(beliefs, ignore_index=True), pd.concat(stated, ignore_index=True) if stated else None, together if len(together) else None


def _write(folder: Path, beliefs: "pd.DataFrame", stated: "pd.DataFrame | None", runs: "pd.DataFrame | None", args: argparse.Namespace) -> None:
    """Write tables and figures, print the summary, and with a runs table the verdict."""
    from coherence.report.revealed_plots import write_figures
    from coherence.revealed_tables import comparison_table, order_preferences, previous_influences, score_beliefs, score_stated, summarise_scores

    scores = score_beliefs(beliefs)
    summary = summarise_scores(scores)
    errors = None if stated is None else score_stated(stated)
    table = comparison_table(summary, errors)
    influences, orders = previous_influences(beliefs), order_preferences(beliefs)
    tables = {
        "beliefs": beliefs, "scores": scores, "summary": summary, "table": table, "influence": influences, "orders": orders,
        "stated": stated, "stated_errors": errors,
    }  # fmt: skip
    written = []
    for name, one in tables.items():
        if one is not None and len(one):
            one.to_csv(folder / f"{name}.csv", index=False)
            written.append(f"{name}.csv")
    written += [path.name for path in write_figures(beliefs, folder)]
    report = None
    if runs is not None:
        from coherence.analysis import analyze
        from coherence.storage import write_runs

        write_runs(runs, folder / "runs.parquet")
        print("checking the coherence of beliefs and bets", file=sys.stderr)
        report = analyze(runs, rng=args.seed)
        (folder / "results.json").write_text(report.to_json(), encoding="utf-8")
        (folder / "report.html").write_text(report.to_html(), encoding="utf-8")
        written += ["runs.parquet", "results.json", "report.html"]
    _print_table(table)
    _print_notes(scores, summary, influences, orders)
    if report is not None:
        from coherence.report.terminal import render_terminal

        print()
        print(render_terminal(report, color=False))
    print(f"wrote {', '.join(written)} to {folder}", file=sys.stderr)


def _print_table(table: "pd.DataFrame") -> None:
    from coherence.report.columns import aligned
    from coherence.report.terminal import clean

    sources = [name.removesuffix(" sd") for name in table.columns if name.endswith(" sd")]
    stated = [name for name in table.columns if name.endswith(" stated")]
    for metric, title in _METRICS.items():
        rows = [["", "settings", *(clean(name, limit=24) for source in sources for name in (source, "sd")), *(["stated"] * len(stated))]]
        for _, row in table[table["metric"] == metric].iterrows():
            cells = [_number(row[name]) for source in sources for name in (source, f"{source} sd")]
            rows.append(
                [clean(f"{row['scenario']}: {row['group']}", limit=56), str(row["n_settings"]), *cells, *(_number(row[name]) for name in stated)]
            )
        print(f"{title} distance from the truth" if metric != "symmetric_kl" else f"{title} divergence from the truth, nats")
        print("\n".join(aligned(rows, right=range(1, len(rows[0])))))
        print()
    print("Means over settings; sd: standard deviation over wordings" + ("; stated: probability of a wrong answer." if stated else "."))


def _number(value: float) -> str:
    import math

    return "-" if math.isnan(value) else "inf" if math.isinf(value) else f"{value:.2f}"


def _print_notes(scores: "pd.DataFrame", summary: "pd.DataFrame", influences: "pd.DataFrame", orders: "pd.DataFrame") -> None:
    """Say in a sentence each what is in the other tables, for every source."""
    from coherence.report.terminal import clean

    for source in dict.fromkeys(scores["source"]):
        own = scores[scores["source"] == source]
        parts = [
            f"probability on the outcomes {own['answer_mass'].median():.2g} (median)",
            f"leaked to impossible ones {own['leaked_mass'].mean():.2g}",
        ]
        die = own[own["group"] == "1 die, single"]
        if len(die) and die["first_excess_beginning"].notna().any():
            exact, beginning = die["first_excess"].mean(), die["first_excess_beginning"].mean()
            parts.append(f"face 1 of a die {exact:+.2f} from the truth ({beginning:+.2f} if 10 to 12 counted as 1)")
        for label, table, columns in (
            ("an earlier result", influences, ("distance", "pull")),
            ("the order of options", orders, ("position", "label")),
        ):
            mine = table[table["source"] == source]
            if len(mine):
                parts.append(f"{label}: " + ", ".join(f"{column} {mine[column].mean():+.2f}" for column in columns))
        print(f"{clean(source, limit=40)}: {'; '.join(parts)}")
        if (own["answer_mass"] < 0.5).mean() > 0.5:
            print("    Most texts would rather go on in another way: what is shown are shares of the little that falls on the outcomes.")


@contextmanager
def _progress(label: str) -> "Iterator[Progress]":
    """Show a bar on a terminal, and a line every quarter of a minute elsewhere."""
    from tqdm import tqdm

    from coherence.report.terminal import clean

    with tqdm(unit="text", file=sys.stderr, disable=None, desc=clean(label, limit=50)) as bar:
        last = time.monotonic()

        def show(done: int, total: int) -> None:
            nonlocal last
            if not bar.disable:
                bar.total = total
                bar.initial = done if bar.n == 0 and not bar.initial else bar.initial
                bar.n = done
                bar.refresh()
            elif time.monotonic() - last >= _SECONDS_BETWEEN_LINES or done == total:
                last = time.monotonic()
                print(f"{clean(label, limit=50)}: {done} of {total} texts", file=sys.stderr)

        yield show
