"""Options of hosted models, for all commands that can ask one."""

import argparse
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elicitation.models.hosted.model import HostedModel


def add_hosted_options(
    parser: argparse.ArgumentParser, rare: argparse.ArgumentParser | None = None
) -> None:
    """Declare where a model is served, and how it is asked; `rare` takes what few users need."""
    group = parser.add_argument_group("hosted models, see docs/servers.md")
    seldom: argparse._ActionsContainer = group if rare is None else rare
    group.add_argument(
        "--server",
        metavar="URL",
        help="OpenAI-compatible server of the model, whose name there --model is",
    )
    seldom.add_argument(
        "--base-url",
        metavar="URL",
        help="address of a provider such as vllm/... or ollama/... where it is not the usual one",
    )
    seldom.add_argument(
        "--server-name",
        metavar="NAME",
        help="keeps answers under this name instead of the address",
    )
    group.add_argument(
        "--api-key-env",
        metavar="VARIABLE",
        help="environment variable that holds the API key (default: the provider's usual one; with "
        "--server no key)",
    )
    seldom.add_argument(
        "--max-connections",
        type=int,
        default=8,
        metavar="N",
        help="questions under way (default: 8)",
    )
    seldom.add_argument(
        "--max-retries",
        type=int,
        metavar="N",
        help="how often a failed call is tried again (default: until --timeout)",
    )
    seldom.add_argument(
        "--timeout",
        type=int,
        default=600,
        metavar="SECONDS",
        help="longest time for a question, with all waits and tries (default: 600)",
    )
    group.add_argument(
        "--reasoning-effort",
        metavar="WORD",
        help="how much the model thinks: none, low, medium, high, ... (default: its own)",
    )
    seldom.add_argument(
        "--chat-template-kwargs",
        metavar="JSON",
        help="arguments of the chat template, such as '{\"enable_thinking\": false}'",
    )
    seldom.add_argument(
        "--extra-body",
        metavar="JSON",
        help="further fields of every request, such as '{\"top_k\": 20}'",
    )


def is_hosted(args: argparse.Namespace) -> bool:
    """Tell whether the models of a command are hosted; refuse some that are beside some not."""
    from coherence.errors import InputError
    from elicitation.models.hosted.names import provider_of

    if args.server is not None:
        return True
    given = getattr(args, "models", None) or getattr(args, "model", None)
    models = given if isinstance(given, list) else [given] if given is not None else []
    hosted = [model for model in models if provider_of(str(model))]
    if hosted and len(hosted) < len(models):
        raise InputError(
            f"--model names hosted models ({', '.join(hosted)}) beside others. "
            "Ask them in two commands."
        )
    if args.base_url is not None and not hosted:
        raise InputError(
            "--base-url is the address of a provider of --model, such as vllm/NAME; for any "
            "OpenAI-compatible server give --server."
        )
    return bool(hosted)


def connect_to(args: argparse.Namespace, model: str, *, continuing: bool = False) -> "HostedModel":
    """Connect to a hosted model; `continuing` asks it to go on from texts, without a template."""
    from elicitation.models.hosted.connecting import connect

    # A command without these options asks in chats where there is one. Texts that are continued
    # have no system message before them, and no template around them.
    chat, system = getattr(args, "chat", None), getattr(args, "system", None)
    return connect(
        model,
        server=args.server,
        base_url=args.base_url,
        chat=False if continuing else chat,
        system=None if continuing else system,
        identity=args.server_name,
        concurrency=args.max_connections,
        max_retries=args.max_retries,
        timeout=args.timeout,
        key_variable=args.api_key_env,
        reasoning_effort=None if continuing else args.reasoning_effort,
        chat_template_kwargs=None
        if continuing
        else _json_object(args.chat_template_kwargs, "--chat-template-kwargs"),
        extra_body=_json_object(args.extra_body, "--extra-body"),
    )


def _json_object(text: str | None, option: str) -> dict[str, Any] | None:
    from coherence.errors import InputError

    if text is None:
        return None
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        # The text is not shown: what belongs into a header may stand in it.
        raise InputError(f"{option} must be a JSON object; it is no JSON: {error}.") from error
    if not isinstance(fields, dict):
        raise InputError(f"{option} must be a JSON object, such as '{{\"top_k\": 20}}'.")
    return fields
