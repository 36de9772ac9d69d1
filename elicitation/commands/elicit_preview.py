"""``coherence elicit --dry-run``: what a session would ask, how long it may take, what it costs."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.cli.progress import duration
from elicitation.commands.server_options import server_addresses

if TYPE_CHECKING:
    from elicitation.session.overview import Pacing, Preview
    from elicitation.session.plan import Plan


def add_preview_options(parser: argparse.ArgumentParser) -> None:
    """Declare the option of a look ahead, and the prices for it."""
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="say how much would be asked, how long it may take and with prices what it costs, "
        "and ask nothing",
    )
    parser.add_argument(
        "--show-prompts",
        type=int,
        metavar="N",
        help="print the first N different questions as they would be asked, and ask nothing",
    )
    for name, what in (("in", "questions"), ("out", "answers, thinking included")):
        parser.add_argument(
            f"--price-{name}",
            type=float,
            metavar="X",
            help=f"price of a million tokens of {what}, for --dry-run",
        )


def check_preview_options(args: argparse.Namespace) -> None:
    """Raise for prices that are none, or that nothing is made of."""
    from coherence.errors import InputError

    if args.show_prompts is not None and args.show_prompts < 1:
        raise InputError(f"--show-prompts must be at least 1; received {args.show_prompts}.")
    for name in ("price_in", "price_out"):
        price = getattr(args, name)
        option = f"--{name.replace('_', '-')}"
        if price is not None and not 0 <= price < float("inf"):
            raise InputError(f"{option} must be at least 0 and finite; received {price}.")
        if price is not None and not args.dry_run:
            raise InputError(f"{option} belongs to --dry-run. Add that, or leave the price out.")


def print_preview(args: argparse.Namespace, plan: "Plan", model: str, store: str) -> None:
    """Say what would be asked."""
    from elicitation.session.overview import preview

    outlook = preview(plan, model_name=model, store=store, pacing=pacing_of(args))
    print(f"questions  {outlook.n_questions}, of which {outlook.n_distinct} differ")
    print(f"in store   {outlook.n_stored}")
    print(f"to ask     {outlook.n_left}")
    print(
        f"tokens     about {outlook.n_text_tokens:,.0f} in texts (by their characters), "
        f"{_answer_tokens(outlook)}"
    )
    if args.price_in is not None or args.price_out is not None:
        print(f"price      {_price(args, outlook)}")
    print(f"time       about {duration(outlook.seconds)}, {outlook.basis}")


def print_prompts(plan: "Plan", n: int) -> None:
    """Print the first questions whose texts differ."""
    from coherence.report.wording import clean

    first = {question.text: question for question in reversed(plan.questions)}
    asked = sorted(first.values(), key=plan.questions.index)[:n]
    for number, question in enumerate(asked, start=1):
        what = f"{question.role} ({question.key})" if question.key else question.role
        print(f"--- {number}: {clean(what)}, context {question.case + 1}")
        print("\n".join(clean(line) for line in question.text.splitlines()))


def pacing_of(args: argparse.Namespace) -> "Pacing":
    """Return the limits of the servers of these options, or the size of the model in a folder."""
    from elicitation.models.fetch import describe_folder
    from elicitation.session.overview import Pacing

    if args.server is None and args.agent is None and (Path(args.model) / "config.json").is_file():
        return Pacing(n_parameters=describe_folder(Path(args.model)).n_parameters)
    addresses = server_addresses(args)
    return Pacing(
        n_at_once=args.concurrency * len(addresses) if addresses else None,
        requests_per_minute=_of_all(args.requests_per_minute, len(addresses)),
        tokens_per_minute=_of_all(args.tokens_per_minute, len(addresses)),
    )


def _of_all(limit: float | None, n_servers: int) -> float | None:
    return limit * n_servers if limit is not None and n_servers else None


def _answer_tokens(outlook: "Preview") -> str:
    most = f"at most {outlook.n_answer_tokens:,} in answers"
    if outlook.n_expected_tokens is None:
        return most
    return f"{most}, {outlook.n_expected_tokens:,.0f} if they are as long as those in the store"


def _price(args: argparse.Namespace, outlook: "Preview") -> str:
    per_text, per_answer = (args.price_in or 0.0) / 1e6, (args.price_out or 0.0) / 1e6
    texts, most = outlook.n_text_tokens * per_text, outlook.n_answer_tokens * per_answer
    said = f"at most {texts + most:,.2f} ({texts:,.2f} for texts, {most:,.2f} for answers)"
    if outlook.n_expected_tokens is not None:
        usual = texts + outlook.n_expected_tokens * per_answer
        said += f", {usual:,.2f} if answers are as long as those in the store"
    return said
