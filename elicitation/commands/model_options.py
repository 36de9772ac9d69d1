"""Options of the model that is asked and of the store of its answers, for all commands that ask.

What a command needs of them it declares here, and the model is loaded or connected to here; nothing
is imported before it is asked for, so that ``--help`` stays fast.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coherence.table.printable import clean, counted, numbered

if TYPE_CHECKING:
    from elicitation.asking.store import AnswerStore
    from elicitation.models.hosted.model import HostedModel
    from elicitation.models.local.causal import CausalModel
    from elicitation.models.local.multiple_choice import MultipleChoiceModel


def add_model_options(
    parser: argparse.ArgumentParser,
    *,
    kind: str = "causal language model",
    dest: str = "model",
    several: bool = False,
    server: bool = False,
    chat: bool = False,
    rare: argparse.ArgumentParser | None = None,
) -> None:
    """Declare who is asked, where it runs and how; `rare` takes what few users need."""
    group = parser.add_argument_group("the model that is asked")
    group.add_argument(
        "--model",
        dest=dest,
        metavar="MODEL",
        action="append" if several else "store",
        help=f"{kind}: a folder as written by save_pretrained, a .gguf file, or OWNER/NAME of "
        "the hub; see docs/models.md"
        + ("; or PROVIDER/NAME of a hosted model; with --server its name there" if server else "")
        + ("; repeat it to ask several, one after the other" if several else ""),
    )
    seldom: argparse._ActionsContainer = group if rare is None else rare
    if server:
        _add_hosted_options(parser, rare)
    if chat:
        group.add_argument(
            "--chat",
            action=argparse.BooleanOptionalAction,
            default=None,
            help="use the chat template (default: if there is one)",
        )
        seldom.add_argument(
            "--system",
            metavar="TEXT",
            help="system message before every question of a chat model (default: none)",
        )
        seldom.add_argument(
            "--prefill",
            metavar="TEXT",
            default="",
            help="what every answer of a local model begins with (default: nothing)",
        )
    seldom.add_argument(
        "--dtype",
        default="auto",
        choices=("auto", "float32", "bfloat16", "float16"),
        help="precision (default: auto, float32 on a processor)",
    )
    add_device_options(group)
    _add_loading_options(seldom)
    group.add_argument(
        "--batch-size",
        type=int,
        metavar="N",
        help="most texts at a time (default: what memory allows, and 64 drawn answers)",
    )


def _add_hosted_options(
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


def add_device_options(parser: "argparse._ActionsContainer", **default: Any) -> None:
    """Declare where a model runs; an action of a command may pass another `default`."""
    parser.add_argument(
        "--device",
        metavar="NAME",
        help="torch device (default: a GPU if there is one)",
        **({"default": "auto"} | default),
    )
    parser.add_argument(
        "--threads",
        type=int,
        metavar="N",
        help="threads of the model (default: torch's own choice)",
        **default,
    )


def _add_loading_options(parser: "argparse._ActionsContainer") -> None:
    parser.add_argument(
        "--revision",
        metavar="NAME",
        help="branch, tag or commit of a model on the hub (default: its main branch)",
    )
    parser.add_argument(
        "--device-map",
        metavar="MAP",
        help="spreads a model over devices: auto, balanced, ... or a JSON object, as transformers "
        "takes it; instead of --device",
    )
    parser.add_argument(
        "--quantization",
        choices=("8bit", "4bit"),
        help="quantises the weights by bitsandbytes while they are loaded (default: not at all)",
    )


def add_store_options(
    parser: argparse.ArgumentParser, *, usual: str, rare: argparse.ArgumentParser | None = None
) -> None:
    """Declare where answers are kept; `usual` names the place without ``--store``."""
    group = parser.add_argument_group("the store of answers")
    group.add_argument(
        "--store",
        metavar="FILE",
        help=f"where the model's answers are kept, for resuming (default: {usual})",
    )
    (rare or group).add_argument(
        "--resume",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="use the answers that the store has (default); --no-resume refuses a store that has "
        "any",
    )
    group.add_argument(
        "--keep-going",
        action="store_true",
        help="ask on where none of the first 50 answers can be read",
    )


def drawn_at_a_time(args: argparse.Namespace) -> int:
    """Return how many drawn answers make a call of the model and a write to the store."""
    # A kill loses the batch under way: enough texts to keep a model busy, and no more.
    return 64 if args.batch_size is None else int(args.batch_size)


def load_causal(
    args: argparse.Namespace,
    model: str | os.PathLike[str],
    *,
    chat: bool | None = None,
    system: str | None = None,
    prefill: str = "",
) -> "CausalModel":
    """Load a causal model."""
    from elicitation.models.local.causal import load_causal_model

    _say_loading(model)
    return load_causal_model(
        model, chat=chat, system=system, prefill=prefill, **_local_options(args)
    )


def load_local(
    args: argparse.Namespace, model: str | os.PathLike[str]
) -> "CausalModel | MultipleChoiceModel":
    """Load a model as what its configuration says it is; else as `load_causal`."""
    from coherence.errors import InputError
    from elicitation.models.local.multiple_choice import (
        is_multiple_choice,
        load_multiple_choice_model,
    )

    # Such a model has no chat template: --chat and --system are for the others.
    if not is_multiple_choice(model, revision=args.revision):
        return load_causal(args, model, chat=args.chat, system=args.system, prefill=args.prefill)
    if args.prefill:
        raise InputError(
            f"--prefill needs a model that writes its answers; {model} chooses among options. "
            "Leave it out."
        )
    options = _local_options(args)
    if options["batch_size"] is None:
        del options["batch_size"]  # memory sets no limit here; the loader has one of its own
    _say_loading(model)
    return load_multiple_choice_model(model, **options)


def _say_loading(model: str | os.PathLike[str]) -> None:
    """Say on a terminal what the first seconds or minutes go by with."""
    if sys.stderr.isatty():
        print(f"loading {clean(Path(model).name, limit=60)}", file=sys.stderr)


def _local_options(args: argparse.Namespace) -> dict[str, Any]:
    options = {name: getattr(args, name) for name in ("batch_size", "dtype", "device", "threads")}
    chosen = {"device_map": device_map_of(args.device_map), "quantization": args.quantization}
    chosen["revision"] = args.revision
    return options | {name: value for name, value in chosen.items() if value is not None}


def device_map_of(text: str | None) -> str | dict[str, Any] | None:
    """Return a map from part to device, or the name of a way to make one."""
    from coherence.errors import InputError

    if text is None or not text.lstrip().startswith("{"):
        return text
    try:
        parts: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise InputError(
            f"--device-map must be a word or a JSON object from part to device; {text!r} is none "
            f"({error}). Put it into single quotes."
        ) from error
    return parts


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


def connect_to(
    args: argparse.Namespace, model: str, *, continuing: bool = False, opening: bool = True
) -> "HostedModel":
    """Connect to a hosted model; `continuing` asks it to go on from texts, without a template.

    Without `opening` it is not called, and known as the answers of it in a store are.
    """
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
        opening=opening,
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


def name_in_store(args: argparse.Namespace, model: str, *, continuing: bool = False) -> str:
    """Return the name that a model would have in the store, without loading or calling it."""
    if not is_hosted(args):
        from elicitation.models.local.sources import name_of

        return name_of(model)
    from elicitation.models.hosted.names import completing

    in_chat = not continuing and getattr(args, "chat", None) is not False
    return model if in_chat or args.server is not None else completing(model)


def warn_of_versions(served_by: Mapping[str, int]) -> None:
    """Say where a server named several versions of the model that answered."""
    if len(served_by) > 1:
        names = ", ".join(f"{clean(name)} ({n})" for name, n in served_by.items())
        print(f"warning: answers came from several versions of the model: {names}", file=sys.stderr)


@contextmanager
def answer_store(
    args: argparse.Namespace, usual: str | os.PathLike[str]
) -> "Iterator[AnswerStore]":
    """Open the store of a command, and say after Ctrl-C what is kept.

    A new one without an answer goes again where a model could not be loaded, say.
    """
    path = Path(args.store or usual)
    is_new = not path.exists()
    try:
        with _opened(args, path) as store:
            yield store
    except BaseException:
        if is_new and path.exists() and _is_empty(path):
            path.unlink()
        raise


def _is_empty(path: Path) -> bool:
    """Tell whether a store has no answer, and no other process will put one into it."""
    from coherence.errors import CoherenceError
    from elicitation.asking.store import read_store

    # What SQLite keeps beside a store goes with its last user.
    if any(Path(f"{path}-{end}").exists() for end in ("wal", "shm")):
        return False
    try:
        return not any(True for _ in read_store(path))
    except CoherenceError:  # whatever it is, it is none of this call's empty stores
        return False


def require_empty(path: str, n_answers: int) -> None:
    """Raise for a store with answers, under ``--no-resume``."""
    from coherence.errors import InputError

    if n_answers:
        raise InputError(
            f"--no-resume needs a new store; {path} has {counted(n_answers, 'answer')}. "
            "Name another --store, or leave --no-resume out."
        )


@contextmanager
def _opened(args: argparse.Namespace, path: Path) -> "Iterator[AnswerStore]":
    from elicitation.asking.store import AnswerStore

    with AnswerStore(path) as store:
        # An empty store was made by the line above, or by a call that asked nothing.
        if not args.resume:
            require_empty(store.path, len(store))
        try:
            yield store
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"interrupted; {counted(len(store), 'answer is', 'answers are')} kept in "
                f"{store.path}. The same command resumes."
            ) from None
        if store.damaged:
            print(
                f"{counted(len(store.damaged), 'damaged answer')} in {store.path} "
                f"{numbered(len(store.damaged), 'was', 'were')} asked again",
                file=sys.stderr,
            )
