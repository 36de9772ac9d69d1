"""What ``--model`` and an address say about a hosted model, before anything is called.

Models have the names that Inspect gives them: the provider, a slash, and the provider's own name.
"""

from pathlib import Path
from urllib.parse import urlsplit

from coherence.errors import InputError

PROVIDERS = (
    *("openai", "openai-api", "openai-api-completions", "anthropic", "google", "mistral", "grok"),
    *("groq", "together", "fireworks", "moonshot", "meta", "deepseek", "sambanova", "openrouter"),
    *("perplexity", "cloudflare", "azureai", "bedrock", "sagemaker", "hf-inference-providers"),
    *("litellm-proxy", "vllm", "vllm-completions", "sglang", "ollama", "llama-cpp-python"),
    "mockllm",
)
"""Of Inspect, those that ask over a network; those that load weights here are left out."""
_COMPLETIONS = {"openai-api": "openai-api-completions", "vllm": "vllm-completions"}


def provider_of(model: str) -> str | None:
    """Return the provider that a name begins with; None where it is no hosted model's.

    A folder of this name goes first. A model of the hub whose owner is also a provider, such as
    openai/gpt-oss-20b, is named hf/openai/gpt-oss-20b, as in Inspect.
    """
    provider, slash, rest = model.partition("/")
    if not slash or not rest or provider not in PROVIDERS or Path(model).exists():
        return None
    return provider


def is_completing(model: str) -> bool:
    """Return whether a name stands for a model that continues texts, without a chat template."""
    return provider_of(model) in _COMPLETIONS.values()


def completing(model: str) -> str:
    """Return the name under which the same model continues texts instead of answering in chats."""
    provider = str(provider_of(model))
    if provider in _COMPLETIONS.values():
        return model
    if provider not in _COMPLETIONS:
        raise InputError(
            f"{provider} answers in chats alone; texts are continued by "
            f"{', '.join(f'{name}/...' for name in _COMPLETIONS.values())} and by --server. "
            "Leave --no-chat (chat=False) out."
        )
    return model.replace(provider, _COMPLETIONS[provider], 1)


def address_of(text: str) -> str:
    """Return an address spelt out, with ``/v1`` where it has no path."""
    try:
        parts = urlsplit(text)
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    except (ValueError, LookupError):
        parts, port = urlsplit(""), 0
    # Addresses are shown in messages and kept in stores, where a secret must not come; and what a
    # parser would quietly drop or repair may be an address of somebody else.
    plain = text.isascii() and text.isprintable() and not set(text) & set(" \\,@?#")
    if not parts.hostname or not plain:
        raise InputError(
            "an address must look like http://localhost:8000 or https://host/v1, without name, "
            "password or query; what was given does not, and is not shown, since it may hold a "
            "key. Put a key into an environment variable and name that variable (--api-key-env)."
        )
    # Colons of IPv6 would run into that of the port.
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{port}{parts.path.rstrip('/') or '/v1'}"
