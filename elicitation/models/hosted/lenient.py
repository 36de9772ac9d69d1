"""Replies of OpenAI-compatible servers that say less, or say it otherwise, than the protocol.

Inspect fails on them: on a content in parts (text, thinking), on a missing name of the model, and
on a count of tokens that lacks one of its numbers. They are completed before it reads them.
"""

from typing import TYPE_CHECKING, Any

from coherence.importing.openai_batch import text_and_thinking

if TYPE_CHECKING:
    from inspect_ai.model import Model

_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


def with_lenient_replies(model: "Model") -> "Model":
    """Let a model of an OpenAI-compatible server complete what its replies lack."""
    from inspect_ai.model._providers.openai_compatible import OpenAICompatibleAPI

    api = model.api
    if isinstance(api, OpenAICompatibleAPI):
        create = api._generate_completion

        async def completed(request: dict[str, Any], config: Any) -> Any:
            return complete(await create(request, config), api.service_model_name())

        api._generate_completion = completed  # type: ignore[method-assign]
    return model


def complete(reply: Any, name: str) -> Any:
    """Complete a reply in place; one that is none is left to Inspect, which says so."""
    for choice in getattr(reply, "choices", None) or []:
        message = choice.message
        if message is not None and isinstance(message.content, list):
            message.content, thinking = text_and_thinking(message.content)
            if thinking:
                message.reasoning_content = thinking
    if getattr(reply, "choices", None):
        reply.model = reply.model or name
        usage = getattr(reply, "usage", None)
        if usage is not None and any(getattr(usage, count, None) is None for count in _COUNTS):
            reply.usage = None
    return reply
