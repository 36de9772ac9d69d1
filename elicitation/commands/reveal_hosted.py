"""``coherence reveal`` of a hosted model: the battery put to it in words."""

import argparse
import sys
from typing import TYPE_CHECKING

from coherence.cli.progress import answer_progress
from elicitation.commands.hosted_options import connect_to, is_hosted

if TYPE_CHECKING:
    from elicitation.asking.store import AnswerStore
    from elicitation.batteries.revealed.scenarios.setting import Setting
    from elicitation.commands.reveal_results import Battery
    from elicitation.models.hosted.model import HostedModel


def check_hosted(args: argparse.Namespace) -> None:
    """Raise for options that do not go with hosted models, or not without them."""
    from coherence.errors import InputError

    if not is_hosted(args):
        if args.max_new_tokens is not None:
            raise InputError(
                "--max-new-tokens belongs to hosted models; of a folder probabilities are read, "
                "and nothing is drawn. Leave it out."
            )
        return
    if args.model is None:
        raise InputError("--server needs --model, the model's name there.")
    if len(set(args.model)) < len(args.model):
        raise InputError(f"--model must name different models; received {', '.join(args.model)}.")
    if args.max_new_tokens is not None and args.max_new_tokens < 1:
        raise InputError(f"--max-new-tokens must be at least 1; received {args.max_new_tokens}.")


def ask_hosted(
    args: argparse.Namespace,
    name: str,
    settings: "list[Setting]",
    store: "AnswerStore",
    battery: "Battery",
) -> None:
    """Put to a hosted model what it can answer, and say before what it cannot."""
    from elicitation.batteries.revealed.bets import tabulate_bets, wagered
    from elicitation.batteries.revealed.served import (
        ROOM,
        bet_in_words,
        reveal_by_tokens,
        state_in_words,
    )

    # First what may end in an error: nothing is asked before all is known.
    revealing = _continuing(args, name, settings)
    answering = None if args.only_revealed else connect_to(args, name)
    if revealing is not None:
        with answer_progress(f"{name}, beliefs") as progress:
            battery.beliefs.append(
                reveal_by_tokens(revealing, settings, store, source=name, progress=progress)
            )
    if answering is None:
        return
    drawing = {
        "reps": args.reps,
        "seed": args.seed,
        "max_new_tokens": ROOM if args.max_new_tokens is None else args.max_new_tokens,
        "keep_going": args.keep_going,
    }
    with answer_progress(f"{name}, stated answers") as progress:
        battery.stated.append(
            state_in_words(answering, settings, store, source=name, **drawing, progress=progress)
        )
    if wagered(settings):
        with answer_progress(f"{name}, bets") as progress:
            bets = bet_in_words(answering, settings, store, **drawing, progress=progress)
        battery.bets.append(tabulate_bets(settings, bets, source=name))


def _continuing(
    args: argparse.Namespace, name: str, settings: "list[Setting]"
) -> "HostedModel | None":
    """Return the model as it continues texts, or None where that tells nothing; say why not."""
    from coherence.errors import InputError
    from elicitation.batteries.revealed.served import worded

    n_worded = len(worded(settings))
    missing = [
        "Beliefs about numbers need the model's files: the first tokens that a server lists do not "
        "tell 1 from 10 or 1.5, and without these beliefs bets have no runs table."
    ]
    model = None
    if n_worded:
        try:
            model = connect_to(args, name, continuing=True)
        except InputError as error:
            missing.append(f"Beliefs about words need completions, and {error}")
    if model is not None and not model.n_likely_tokens:
        missing.append(
            "Beliefs about words need log-probabilities, which the server does not give."
        )
        model = None
    said = missing[1:] if n_worded == len(settings) else missing
    if args.only_revealed and model is None:
        raise InputError(" ".join(["--only-revealed leaves nothing to ask.", *missing]))
    for line in said:
        print(f"coherence reveal: {line}", file=sys.stderr)
    return model
