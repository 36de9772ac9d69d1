"""Options and connection of models behind servers, shared by the commands that ask models."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elicitation.models.servers.server import ServerModel


def add_server_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of a model behind servers; its name there is ``--model`` of the command.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Parser of the command.
    """
    parser.add_argument(
        "--server",
        metavar="URL[,URL]",
        help="OpenAI-compatible servers of the model, instead of a folder; see docs/servers.md",
    )
    parser.add_argument(
        "--server-name",
        metavar="NAME",
        help="keeps answers under this name instead of the first address",
    )
    parser.add_argument(
        "--api-key-env",
        metavar="VARIABLE",
        help="environment variable that holds the servers' API key (default: no key)",
    )
    parser.add_argument(
        "--concurrency",
        type=int,
        default=8,
        metavar="N",
        help="questions under way at each server (default: 8)",
    )


def connect(args: argparse.Namespace, model: str, *, system: str | None = None) -> "ServerModel":
    """Connect to the servers of a model and find out what they can do.

    Parameters
    ----------
    args : argparse.Namespace
        Options of `add_server_options`, and `chat` (None, True or False).
    model : str
        Its name at the servers.
    system : str or None
        System message of every chat.

    Returns
    -------
    ServerModel
        Ready to answer.

    Raises
    ------
    CoherenceError
        As of ``elicitation.models.servers.server.connect_servers``.
    """
    from elicitation.models.servers.server import connect_servers

    return connect_servers(
        [address.strip() for address in args.server.split(",") if address.strip()],
        model,
        api="completions" if args.chat is False else "chat",
        identity=args.server_name,
        system=system,
        concurrency=args.concurrency,
        key_variable=args.api_key_env,
    )
