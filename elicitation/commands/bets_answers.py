"""Answers for ``coherence bets``: read from a file, or asked of models and kept as they come."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.cli.folders import prepare_folder
from coherence.cli.progress import answer_progress
from elicitation.commands.hosted_options import connect_to, is_hosted
from elicitation.commands.model_options import ask_and_keep, load_local

if TYPE_CHECKING:
    import pandas as pd

    from elicitation.asking.store import AnswerStore


def folder_of(path: str) -> Path:
    """Return the folder for results; raise for a file of that name."""
    from coherence.errors import InputError

    out = Path(path)
    if out.exists() and not out.is_dir():
        raise InputError(f"--out must be a folder; {out} is a file. Choose another name.")
    return out


def read_answer_table(path: str) -> "pd.DataFrame":
    """Read questions or answers from a file."""
    import pandas as pd

    from coherence.errors import InputError
    from coherence.table.exact_csv import read_exact_csv

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
            else read_exact_csv(source, keep_default_na=False, na_values=[""])
        )
    except (OSError, ValueError, pd.errors.ParserError) as error:
        raise InputError(
            f"{source}: the file cannot be read ({str(error).splitlines()[0]}). "
            "Check that it is complete."
        ) from error


def check_known(questions: "pd.DataFrame", answers: "pd.DataFrame") -> None:
    """Raise for answers to questions from other things or terms, and say which options lack."""
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
        f"{len(unknown)} of {len(answers)} answers are to questions that are not asked here, "
        f"the first to {unknown.iloc[0]!r}. Say {missing} as for the questions that were answered, "
        "no more and no less, or name their file with --questions."
    )


def ask_models(args: argparse.Namespace, questions: "pd.DataFrame") -> "pd.DataFrame | None":
    """Ask one model after the other, with one in memory at a time; return None after Ctrl-C."""
    from coherence.errors import InputError
    from elicitation.models.local.sources import find_source

    if is_hosted(args):
        return _ask_hosted(args, questions)

    models: dict[str, str] = {}
    for model in args.models:
        # Now, and not after the models before it have been asked for an hour.
        name = find_source(model, revision=args.revision).name
        if name in models:
            raise InputError(
                "--model models must have different names, by which tables tell them apart; "
                f"{name!r} occurs twice. Rename one folder."
            )
        models[name] = model

    def asking(store: "AnswerStore") -> "pd.DataFrame":
        import gc

        import pandas as pd

        tables = []
        for model in models.values():
            tables.append(_ask_model(args, model, questions, store))
            # What refers to itself would keep the weights in memory until some later collection.
            gc.collect()
        return pd.concat(tables, ignore_index=True)

    return ask_and_keep(args, prepare_folder(args.out) / "answers.sqlite", asking)


def _ask_hosted(args: argparse.Namespace, questions: "pd.DataFrame") -> "pd.DataFrame | None":
    """Ask hosted models, in words."""
    import pandas as pd

    from coherence.errors import InputError
    from elicitation.batteries.bets.words import ROOM, choose_in_words

    if len(set(args.models)) < len(args.models):
        raise InputError(f"--model must name different models; received {', '.join(args.models)}.")
    # What is wrong with any of them shows before the first is asked.
    models = [connect_to(args, name) for name in args.models]

    def asking(store: "AnswerStore") -> "pd.DataFrame":
        tables = []
        for model in models:
            with answer_progress(model.name) as progress:
                tables.append(
                    choose_in_words(
                        model,
                        questions,
                        store,
                        temperature=0.0 if args.temperature is None else args.temperature,
                        seed=args.seed,
                        max_new_tokens=ROOM if args.max_new_tokens is None else args.max_new_tokens,
                        keep_going=args.keep_going,
                        progress=progress,
                    )
                )
        return pd.concat(tables, ignore_index=True)

    return ask_and_keep(args, prepare_folder(args.out) / "answers.sqlite", asking)


def _ask_model(
    args: argparse.Namespace, name: str, questions: "pd.DataFrame", store: "AnswerStore"
) -> "pd.DataFrame":
    from elicitation.batteries.bets.models import score_choices

    model = load_local(args, name)
    with answer_progress(model.name) as progress:
        return score_choices(
            model, questions, likelihood=args.likelihood, store=store, progress=progress
        )
