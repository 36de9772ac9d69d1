"""``coherence elicit --dry-run``: what a session would ask and cost, and how long it may take."""

import argparse
from typing import TYPE_CHECKING

from coherence.cli.progress import duration

if TYPE_CHECKING:
    from elicitation.asking.overview import Preview
    from elicitation.questions.plan import Plan


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
    from elicitation.asking.overview import preview

    outlook = preview(plan, model_name=model, store=store)
    print(f"questions  {outlook.n_questions}, of which {outlook.n_distinct} differ")
    print(f"in store   {outlook.n_stored}")
    print(f"to ask     {outlook.n_left}")
    print(
        f"tokens     about {outlook.n_text_tokens:,.0f} in texts (by their characters), "
        f"{_answer_tokens(outlook)}"
    )
    if args.price_in is not None or args.price_out is not None:
        print(f"price      {_price(args, outlook)}")
    print(f"time       {_time(outlook)}")


def print_prompts(plan: "Plan", n: int) -> None:
    """Print the first questions whose texts differ."""
    from coherence.report.wording import clean

    first = {question.text: question for question in reversed(plan.questions)}
    asked = sorted(first.values(), key=plan.questions.index)[:n]
    for number, question in enumerate(asked, start=1):
        topic = question.topic
        what = f"{topic.role} ({topic.key})" if topic.key else topic.role
        print(f"--- {number}: {clean(what)}, context {question.case + 1}")
        print("\n".join(clean(line) for line in question.text.splitlines()))


def _time(outlook: "Preview") -> str:
    if outlook.seconds is None:
        return "not known before the store has answers of this model"
    return f"about {duration(outlook.seconds)}, at the speed of the answers in the store"


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
