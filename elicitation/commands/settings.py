"""``--set KEY=VALUE``: what few users need of a command that asks, kept out of its help."""

import argparse
from collections.abc import Callable
from typing import NoReturn

Declare = Callable[[argparse.ArgumentParser, argparse.ArgumentParser], None]
"""Declares the options of a command on one parser, and what few need on another."""


class QuietParser(argparse.ArgumentParser):
    """A parser that raises where the command line would print its usage and exit."""

    def error(self, message: str) -> NoReturn:
        """Raise."""
        from coherence.errors import InputError

        raise InputError(message)


def add_with_settings(parser: argparse.ArgumentParser, declare: Declare, page: str) -> None:
    """Declare the options of a command, with ``--set`` for what few need; `page` lists it."""
    declare(parser, argparse.ArgumentParser())
    parser.add_argument(
        "--set",
        dest="settings",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a setting that few need, such as timeout=30; repeat it for several; "
        f"{page} lists them",
    )


def take_settings(args: argparse.Namespace, declare: Declare) -> None:
    """Read what ``--set`` says into the options; a study file has said all of them already."""
    from coherence.errors import InputError, closest

    if "settings" not in vars(args):
        return
    rare = QuietParser(prog="--set", add_help=False, allow_abbrev=False, exit_on_error=False)
    declare(argparse.ArgumentParser(), rare)
    options = {
        action.option_strings[0].removeprefix("--").replace("-", "_"): action
        for action in rare._actions
    }
    said = []
    for word in args.settings:
        key, _, value = word.partition("=")
        if not value:
            raise InputError(f"--set must be KEY=VALUE; received {word!r}. {closest(key, options)}")
        if key not in options:
            raise InputError(
                f"--set has no key {key!r}; received {word!r}. {closest(key, options)}"
            )
        option = options[key].option_strings[0]
        if isinstance(options[key], argparse.BooleanOptionalAction):
            if value not in ("true", "false"):
                raise InputError(f"--set {key} must be true or false; received {value!r}.")
            said.append(option if value == "true" else f"--no-{key}")
        else:
            said.append(f"{option}={value}")
    try:
        vars(args).update(vars(rare.parse_args(said)))
    except argparse.ArgumentError as error:  # named as the user names it
        keys = {action.option_strings[0]: key for key, action in options.items()}
        raise InputError(f"--set {keys[str(error.argument_name)]}: {error.message}") from None
