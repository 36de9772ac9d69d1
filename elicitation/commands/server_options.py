"""Options of servers, for all commands that can ask a model behind one."""

import argparse
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elicitation.models.servers.completions import Api
    from elicitation.models.servers.server_model import ServerModel

SERVER_DEFAULTS: dict[str, Any] = {
    "server": None,
    "server_name": None,
    "api_key_env": None,
    "concurrency": 8,
    "requests_per_minute": None,
    "tokens_per_minute": None,
    "max_wait": 600.0,
    "reasoning_effort": None,
    "chat_template_kwargs": None,
    "extra_body": None,
}
"""What options of servers are where nothing is said."""


def add_server_options(parser: argparse.ArgumentParser) -> None:
    """Declare where servers listen, and how they are to be asked."""
    group = parser.add_argument_group("servers, see docs/servers.md")
    group.add_argument(
        "--server",
        metavar="URL[,URL]",
        help="OpenAI-compatible servers of the model, instead of a folder",
    )
    group.add_argument(
        "--server-name",
        metavar="NAME",
        help="keeps answers under this name instead of the first address",
    )
    group.add_argument(
        "--api-key-env",
        metavar="VARIABLE",
        help="environment variable that holds the servers' API key (default: no key)",
    )
    group.add_argument(
        "--concurrency",
        type=int,
        default=SERVER_DEFAULTS["concurrency"],
        metavar="N",
        help="questions under way at each server (default: 8)",
    )
    for name, what in (("requests", "questions"), ("tokens", "tokens of questions and answers")):
        group.add_argument(
            f"--{name}-per-minute",
            type=float,
            metavar="N",
            help=f"most {what} a minute at each server (default: no limit)",
        )
    group.add_argument(
        "--max-wait",
        type=float,
        default=SERVER_DEFAULTS["max_wait"],
        metavar="SECONDS",
        help="longest wait for a server that says 'too many requests' (default: 600)",
    )
    group.add_argument(
        "--reasoning-effort",
        metavar="WORD",
        help="how much the model thinks, in the server's words, such as low (default: its own)",
    )
    group.add_argument(
        "--chat-template-kwargs",
        metavar="JSON",
        help="arguments of the chat template, such as '{\"enable_thinking\": false}'",
    )
    group.add_argument(
        "--extra-body",
        metavar="JSON",
        help="further fields of every request, such as '{\"top_k\": 20}'",
    )


def connect(args: argparse.Namespace, model: str, *, api: "Api | None" = None) -> "ServerModel":
    """Connect to the servers of a model and find out what they can do."""
    from elicitation.models.servers.address import Limits
    from elicitation.models.servers.server import connect_servers

    # A command without these options asks in chats where there is one.
    chat, system = getattr(args, "chat", None), getattr(args, "system", None)
    # Texts that are continued have no system message before them, and no template around them.
    bare = api == "completions"
    if api is None:
        # A server wraps questions in its template, unless it is told to continue plain text.
        api = "completions" if chat is False else "chat"
    return connect_servers(
        server_addresses(args),
        model,
        api=api,
        identity=args.server_name,
        system=None if bare else system,
        concurrency=args.concurrency,
        key_variable=args.api_key_env,
        reasoning_effort=None if bare else args.reasoning_effort,
        chat_template_kwargs=None if bare else _json_object(args, "chat_template_kwargs"),
        extra_body=_json_object(args, "extra_body"),
        requests_per_minute=args.requests_per_minute,
        tokens_per_minute=args.tokens_per_minute,
        limits=Limits(max_wait=args.max_wait),
    )


def server_addresses(args: argparse.Namespace) -> list[str]:
    """Return the addresses that ``--server`` names."""
    return [address.strip() for address in (args.server or "").split(",") if address.strip()]


def _json_object(args: argparse.Namespace, name: str) -> dict[str, Any] | None:
    from coherence.errors import InputError

    text = getattr(args, name)
    if text is None:
        return None
    option = f"--{name.replace('_', '-')}"
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        # The text is not shown: what belongs into a header may stand in it.
        raise InputError(f"{option} must be a JSON object; it is no JSON: {error}.") from error
    if not isinstance(fields, dict):
        raise InputError(f"{option} must be a JSON object, such as '{{\"top_k\": 20}}'.")
    return fields
