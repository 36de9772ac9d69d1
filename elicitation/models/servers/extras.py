"""Further fields of a request: effort, arguments of the chat template, anything else.

What changes an answer is part of a model's fingerprint; without any of these the fingerprint is
what it was before there were such fields.
"""

import json
from collections.abc import Mapping
from typing import Any

from coherence.errors import InputError
from elicitation.models.servers.completions import Api

# Set for every request by itself: one value for all would contradict what is recorded.
_TAKEN = {
    "model": "--model",
    "messages": "--system or --prompts",
    "prompt": "--prompts",
    "max_tokens": "--max-new-tokens",
    "max_completion_tokens": "--max-new-tokens",
    "temperature": "--temperature",
    "seed": "--seed",
    "n": "--reps",
    "best_of": "--reps",
    "logprobs": "--belief token",
    "top_logprobs": "--belief token",
    "echo": "--no-chat",
    "reasoning_effort": "--reasoning-effort",
    "chat_template_kwargs": "--chat-template-kwargs",
}


def extra_fields(
    api: Api,
    *,
    reasoning_effort: str | None = None,
    chat_template_kwargs: Mapping[str, Any] | None = None,
    extra_body: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Gather further fields of every request."""
    fields = dict(extra_body or {})
    for name in fields:
        if name in _TAKEN:
            raise InputError(
                f"extra_body must hold fields that have no option of their own; {name!r} has one. "
                f"Use {_TAKEN[name]}."
            )
    if reasoning_effort is not None:
        fields["reasoning_effort"] = reasoning_effort
    if chat_template_kwargs is not None:
        fields["chat_template_kwargs"] = dict(chat_template_kwargs)
    if api != "chat" and (reasoning_effort, chat_template_kwargs) != (None, None):
        raise InputError(
            "reasoning_effort and chat_template_kwargs need the chat API; completions have no "
            "template. Leave them out, or ask in chats."
        )
    try:
        json.dumps(fields, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"extra_body must be JSON: {error}.") from error
    return fields
