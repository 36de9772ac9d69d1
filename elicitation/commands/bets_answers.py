"""Answers for ``coherence bets``: read from a file, or asked of models and kept as they come."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.cli.folders import prepare_folder

if TYPE_CHECKING:
    import pandas as pd

    from elicitation.store import AnswerStore
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from elicitation.batteries.bets.items import Items


def read_table(path: str) -> "pd.DataFrame":
    """Read questions or answers from a file."""
    import pandas as pd

    from coherence.errors import InputError

    source = Path(path)
    if source.suffix.lower() not in (".csv", ".parquet"):
        raise InputError(f"{source}: the file's ending must be .csv or .parquet.")
    if not source.is_file():
        raise InputError(f"{source}: no such file.")
    try:
        # Only an empty cell is missing: a thing may well be called "NA", and "none" is a role.
        return (
            pd.read_parquet(source)
            if source.suffix.lower() == ".parquet"
            else pd.read_csv(source, keep_default_na=False, na_values=[""])
        )
    except (OSError, ValueError, pd.errors.ParserError) as error:
        raise InputError(
            f"{source}: the file cannot be read ({str(error).splitlines()[0]}). Check that it is complete."
        ) from error


def check_known(questions: "pd.DataFrame", answers: "pd.DataFrame") -> None:
    """Raise for answers to questions that were made from other things or in other terms, and say which options may be missing."""
    from coherence.errors import InputError

    if "question" not in answers.columns:
        return  # said where answers are joined to questions
    unknown = answers["question"].astype(str)[~answers["question"].isin(questions["question"])]
    if not len(unknown):
        return
    # Questions on values depend on things alone.
    values = questions[questions["kind"] == "value"]
    if unknown.str.startswith(tuple(f"{name}-" for name in values["template"].unique())).any():
        missing = "--items"
    elif answers["question"].isin(values["question"]).any():
        missing = "--chance, --stake and --payout"
    else:
        missing = "--items, --chance, --stake and --payout"
    raise InputError(
        f"{len(unknown)} of {len(answers)} answers are to questions that are not asked here, the first to {unknown.iloc[0]!r}. Say {missing} as "
        "for the questions that were answered, no more and no less, or name their file with --questions."
    )


def ask_models(args: argparse.Namespace, questions: "pd.DataFrame") -> "pd.DataFrame | None":
    """Ask one model after the other, with one in memory at a time; return None after Ctrl-C."""
    import gc

    import pandas as pd

    from coherence.errors import InputError
    from elicitation.store import AnswerStore

    names = [Path(folder).resolve().name for folder in args.models]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise InputError(
                f"--model folders must have different names, by which tables tell them apart; {name!r} occurs twice. Rename one folder."
            )
        if not (Path(args.models[place]) / "config.json").is_file():
            raise InputError(
                f"model must be a folder with config.json and safetensors weights; {args.models[place]} is none."
            )
    found = []
    with AnswerStore(prepare_folder(args.out) / "answers.sqlite") as store:
        try:
            for folder in args.models:
                found.append(_ask_one(args, folder, questions, store))
                gc.collect()
        except KeyboardInterrupt:
            print(
                f"\ncoherence bets: interrupted; {len(store)} answers are kept in {store.path}. The same command resumes.",
                file=sys.stderr,
            )
            return None
    return pd.concat(found, ignore_index=True)


def _ask_one(
    args: argparse.Namespace, folder: str, questions: "pd.DataFrame", store: "AnswerStore"
) -> "pd.DataFrame":
    from tqdm import tqdm

    from elicitation.batteries.bets.models import load_chooser, score_choices

    model = load_chooser(folder, device=args.device, dtype=args.dtype, threads=args.threads)
    with tqdm(
        total=len(questions), desc=model.name, unit="question", file=sys.stderr, disable=None
    ) as bar:

        def show(done: int, total: int) -> None:
            bar.update(done - bar.n)
            if bar.disable:
                print(f"{model.name}: {done} of {total} questions", file=sys.stderr)

        return score_choices(
            model, questions, likelihood=args.likelihood, store=store, progress=show
        )


MODALITIES = ("coin", "dice", "card")
VALUES = ("boolean-expensive", "boolean-valuable", "choice-expensive", "choice-valuable")
NONE = "–"


def things_of(args: argparse.Namespace) -> "Items":
    """Return the user's list of things, or that of the package."""
    from elicitation.batteries.bets.items import default_items, read_items

    return default_items() if args.items is None else read_items(args.items)


def folder_of(path: str) -> Path:
    """Return the folder for results; raise for a file of that name."""
    from coherence.errors import InputError

    out = Path(path)
    if out.exists() and not out.is_dir():
        raise InputError(f"--out must be a folder; {out} is a file. Choose another name.")
    return out


def percent(share: float) -> str:
    """Return a share as a cell."""
    return NONE if math.isnan(share) else f"{share:.1%}"


def between(row: "Mapping[Any, Any] | pd.Series[Any]", form: str) -> str:
    """Return an interval as a cell."""
    return NONE if math.isnan(row["low"]) else f"{row['low']:{form}} to {row['high']:{form}}"
