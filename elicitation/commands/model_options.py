"""The model that options name, loaded or connected to, and the store of its answers.

Nothing is imported before it is asked for, so that ``--help`` stays fast.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coherence.printable import clean, counted
from elicitation.options import ModelOptions

if TYPE_CHECKING:
    from elicitation.asking.store import AnswerStore
    from elicitation.models.hosted.model import HostedModel
    from elicitation.models.local.causal import CausalModel
    from elicitation.models.local.multiple_choice import MultipleChoiceModel


def load_causal(
    options: ModelOptions, model: str | os.PathLike[str], *, continuing: bool = False
) -> "CausalModel":
    """Load a causal model; `continuing` lets it go on from texts, without a template."""
    from elicitation.models.local.causal import load_causal_model

    _say_loading(model)
    in_chat = {"chat": options.chat, "system": options.system, "prefill": options.prefill}
    return load_causal_model(
        model, **({"chat": False} if continuing else in_chat), **_local_settings(options)
    )


def load_local(
    options: ModelOptions, model: str | os.PathLike[str]
) -> "CausalModel | MultipleChoiceModel":
    """Load a model as what its configuration says it is; else as `load_causal`."""
    from coherence.errors import InputError
    from elicitation.models.local.sources import is_multiple_choice

    # Such a model has no chat template: --chat and --system are for the others.
    if not is_multiple_choice(model, revision=options.revision):
        return load_causal(options, model)
    if options.prefill:
        raise InputError(
            f"--set prefill needs a model that writes its answers; {model} chooses among options. "
            "Leave it out."
        )
    from elicitation.models.local.multiple_choice import load_multiple_choice_model

    settings = _local_settings(options)
    if settings["batch_size"] is None:
        del settings["batch_size"]  # memory sets no limit here; the loader has one of its own
    _say_loading(model)
    return load_multiple_choice_model(model, **settings)


def _say_loading(model: str | os.PathLike[str]) -> None:
    """Say on a terminal what the first seconds or minutes go by with."""
    if sys.stderr.isatty():
        print(f"loading {clean(Path(model).name, limit=60)}", file=sys.stderr)


def _local_settings(options: ModelOptions) -> dict[str, Any]:
    names = ("batch_size", "dtype", "device")
    chosen = {
        "device_map": device_map_of(options.device_map),
        "quantization": options.quantization,
        "revision": options.revision,
    }
    return {
        **{name: getattr(options, name) for name in names},
        **{name: value for name, value in chosen.items() if value is not None},
    }


def device_map_of(text: str | None) -> str | dict[str, Any] | None:
    """Return a map from part to device, or the name of a way to make one."""
    from coherence.errors import InputError

    if text is None or not text.lstrip().startswith("{"):
        return text
    try:
        parts: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise InputError(
            "--set device_map must be a word or a JSON object from part to device; "
            f"{text!r} is none ({error}). Put it into single quotes."
        ) from error
    return parts


def is_hosted(options: ModelOptions) -> bool:
    """Tell whether the models of a command are hosted; refuse some that are beside some not."""
    from coherence.errors import InputError
    from elicitation.models.hosted.names import provider_of

    if options.server is not None:
        return True
    hosted = [model for model in options.named if provider_of(model)]
    if hosted and len(hosted) < len(options.named):
        raise InputError(
            f"--model names hosted models ({', '.join(hosted)}) beside others. "
            "Ask them in two commands."
        )
    return bool(hosted)


def connect_to(options: ModelOptions, model: str, *, continuing: bool = False) -> "HostedModel":
    """Connect to a hosted model; `continuing` asks it to go on from texts, without a template."""
    from elicitation.models.hosted.connecting import connect

    # Texts that are continued have no system message before them, and no template around them.
    return connect(
        model,
        server=options.server,
        chat=False if continuing else options.chat,
        system=None if continuing else options.system,
        identity=options.server_name,
        concurrency=options.max_connections,
        timeout=options.timeout,
        key_variable=options.api_key_env,
        reasoning_effort=None if continuing else options.reasoning_effort,
        chat_template_kwargs=None if continuing else options.chat_template_kwargs,
        extra_body=options.extra_body,
    )


def name_in_store(options: ModelOptions, model: str, *, continuing: bool = False) -> str:
    """Return the name that a model would have in the store, without loading or calling it."""
    if not is_hosted(options):
        from elicitation.models.local.sources import name_of

        return name_of(model)
    from elicitation.models.hosted.names import completing

    in_chat = not continuing and options.chat is not False
    return model if in_chat or options.server is not None else completing(model)


def warn_of_versions(served_by: Mapping[str, int]) -> None:
    """Say where a server named several versions of the model that answered."""
    if len(served_by) > 1:
        names = ", ".join(f"{clean(name)} ({n})" for name, n in served_by.items())
        print(f"warning: answers came from several versions of the model: {names}", file=sys.stderr)


@contextmanager
def answer_store(path: Path) -> "Iterator[AnswerStore]":
    """Open the store of a command, and say after Ctrl-C what is kept.

    A new one without an answer goes again where a model could not be loaded, say.
    """
    is_new = not path.exists()
    try:
        with _opened(path) as store:
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


@contextmanager
def _opened(path: Path) -> "Iterator[AnswerStore]":
    from elicitation.asking.store import AnswerStore

    with AnswerStore(path) as store:
        try:
            yield store
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"interrupted; {counted(len(store), 'answer is', 'answers are')} kept in "
                f"{store.path}. The same command resumes."
            ) from None
