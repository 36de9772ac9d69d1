"""The ``coherence`` command: runs a command's module, turns known errors into one line and exit 2.

Only the module of the command that was called is imported, so that ``coherence --help`` stays fast.
"""

import argparse
import importlib
import re
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

from coherence.cli.terminal import discard_output, open_streams
from coherence.errors import CoherenceError, closest
from coherence.printable import clean, table_entries

_TABLE = """
[a table of answers]
analyze coherence.cli.analyze  test a runs table: could the stated beliefs be the beliefs acted on?
compare coherence.cli.compare  several models on the same cases: verdict and effects of each, and
    which of them differ
power coherence.cli.power  how many cases and repetitions does a study need to find an effect?
simulate coherence.cli.simulate  draw a runs table from an agent whose coherence is known
import coherence.cli.import_logs  turn logs of Inspect or lm-eval into a runs table
schema coherence.cli.schema  print the JSON Schema of the results that 'analyze' writes
[asking models]
elicit elicitation.commands.elicit  ask a model, local or on a server, for beliefs and, separately,
    for actions
study elicitation.commands.study  ask several models about several tasks from one file, analyse and
    compare them
models elicitation.commands.models  list public models, or fetch one as a folder to ask
networks bayesnets.commands.networks  list, show, draw or convert Bayesian networks: those of the
    catalogue, or a file of your own
organisms elicitation.commands.organisms  train small models whose belief and policy are known,
    coherent and incoherent ones
[batteries of questions]
mix elicitation.commands.mix  can a model draw at the rates it is asked for? Ask the failure-to-mix
    battery, or score answers to it
bets elicitation.commands.bets  does a model think in bets? Ask it or score its answers, train it on
    bets, test what carries over
reveal elicitation.commands.reveal  beliefs revealed by unfinished texts about dice and coins,
    beside stated answers and bets
"""
"""Command, the module that holds it, and what it does, in groups. Named as text: a command lives in
the highest package that it needs."""
_MINUS = re.compile(r"-[0-9.]")  # begins a value, as of ``--scale -1..1``, and no option
_ENTRIES = table_entries(_TABLE)
_NAMED = [entry for entry in _ENTRIES if not entry.startswith("[")]
COMMANDS = {entry.split(" ")[0]: entry.partition("  ")[2] for entry in _NAMED}
MODULES = {entry.split(" ")[0]: entry.split(" ")[1] for entry in _NAMED}


def _listed() -> str:
    """Return the commands in groups, as argparse does not list them."""
    hanging: Any = {
        "initial_indent": "  ",
        "subsequent_indent": " " * 13,
        "break_on_hyphens": False,
    }
    lines: list[str] = []
    for entry in _ENTRIES:
        if entry.startswith("["):
            lines += ["", f"{entry[1:-1]}:"] if lines else [f"{entry[1:-1]}:"]
        else:
            name = entry.split(" ")[0]
            lines.append(textwrap.fill(f"{name:<10} {COMMANDS[name]}", width=80, **hanging))
    return "\n".join(lines)


def build_parser(command: str | None) -> argparse.ArgumentParser:
    """Build the parser, with the options of `command` only."""
    parser = argparse.ArgumentParser(
        prog="coherence",
        usage="coherence [-h] [--version] COMMAND ...",
        description="Could the probability that a model states be the belief it acts on?",
        epilog=f"{_listed()}\n\n'coherence COMMAND --help' lists the options of a command.",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", help=argparse.SUPPRESS, prog="coherence"
    )
    for name, summary in COMMANDS.items():
        # An abbreviated option that works today would change its meaning when a longer one is
        # added.
        sub = commands.add_parser(
            name, description=summary[0].upper() + summary[1:], allow_abbrev=False
        )
        if name == command:
            module = importlib.import_module(MODULES[name])
            module.add_arguments(sub)
            sub._negative_number_matcher = _MINUS
            sub.set_defaults(run=module.run)
    return parser


def _print_version() -> None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        print(f"coherence {version('belief-coherence')}")
    except PackageNotFoundError:
        # Metadata exists only where the package was installed.
        print("coherence, run from its source folder")


def _unread(words: list[str], parser: argparse.ArgumentParser, command: str | None) -> int:
    """Say which words no option takes, and what may have been meant."""
    name = f"coherence {command}" if command else "coherence"
    options = [word.partition("=")[0] for word in words if word.startswith("-")]
    if options:
        # Every command inside the command, such as that of 'networks draw', has options of its own.
        hint = closest(options[0], _options(parser), near="Did you mean {near}? ", far="")
        said = f"there is no option {options[0]}. {hint}"
    else:
        said = f"{words[0]!r} is one argument too many. "
    _complain(name, f"{said}'{name} --help' lists what there is.")
    return 2


def _options(parser: argparse.ArgumentParser) -> list[str]:
    """Return the long options of a command and those within it."""
    names = []
    for action in parser._actions:
        names += [name for name in action.option_strings if name.startswith("--")]
        if isinstance(action, argparse._SubParsersAction):
            for inner in dict.fromkeys(action.choices.values()):
                names += _options(inner)
    return list(dict.fromkeys(names))


def _dispatch(arguments: list[str], command: str | None) -> int:
    """Parse and run; argparse ends by SystemExit after printing help or a usage error."""
    if command is not None and command not in COMMANDS:
        far = "The commands are {known}."
        hint = closest(command, COMMANDS, near="Did you mean {near!r}?", far=far)
        print(f"coherence: there is no command {command!r}. {hint}", file=sys.stderr)
        return 2
    parser = build_parser(command)
    try:
        options, unread = parser.parse_known_args(arguments)
    # argparse has printed its message already; callers of `main` get a status and no exit.
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else 2
    if unread:
        return _unread(unread, parser, command)
    if options.version:
        _print_version()
        return 0
    if options.command is None:
        parser.print_help()
        return 0
    return int(options.run(options) or 0)


def _complain(prefix: str, *lines: str) -> None:
    # Messages quote values of the user's files, which may hold line breaks and terminal commands.
    opening, *further = map(clean, lines)
    print("\n  ".join([f"{prefix}: {opening}", *further]), file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    # Found before argparse runs, since its parser is built with the options of one command.
    command = next((word for word in arguments if not word.startswith("-")), None)
    prefix = f"coherence {command}" if command in COMMANDS else "coherence"
    open_streams()
    try:
        status = _dispatch(arguments, command)
        if sys.stdout is not None:
            sys.stdout.flush()  # a closed pipe or a full disk shows here and not before
        return status
    except CoherenceError as error:
        _complain(prefix, *error.lines())
        return 2
    except KeyboardInterrupt as interrupt:
        print(f"\n{prefix}: {str(interrupt) or 'interrupted'}", file=sys.stderr)
        return 130
    # The reader left, as `head` does; that is no failure of this program.
    except BrokenPipeError:
        discard_output()
        return 0
    except OSError as error:
        # Raised by Python code and not by the system: a bug, which must keep its traceback.
        if error.strerror is None:
            raise
        discard_output()
        _complain(
            prefix, f"{error.strerror}: {error.filename}" if error.filename else error.strerror
        )
        return 2
