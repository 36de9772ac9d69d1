"""Names and addresses: breaks if a folder or a model of the hub is taken for a hosted one."""

import pytest

from coherence import InputError
from elicitation.models.hosted.names import PROVIDERS, address_of, completing, provider_of


def test_the_providers_are_those_of_inspect_that_ask_over_a_network():
    from inspect_ai._util.registry import registry_find
    from inspect_ai.model import get_model

    get_model("none/none", memoize=False)  # so that all are registered
    known = {
        info.name.removeprefix("inspect_ai/")
        for info in (
            entry.__registry_info__ for entry in registry_find(lambda i: i.type == "modelapi")
        )
        if info.name.startswith("inspect_ai/")
    }
    loading_here = {"hf", "transformer_lens", "nnterp", "none", "hf-inference-providers"}
    assert known - loading_here - {"goodfire"} == set(PROVIDERS) - loading_here


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("openai/gpt-4o", "openai"),
        ("openai-api/lab/Qwen/Qwen3-8B", "openai-api"),
        ("Qwen/Qwen3-8B", None),
        ("hf/openai/gpt-oss-20b", None),
        ("hf/Qwen/Qwen3-8B", None),
        ("ollama", None),
        ("vllm/", None),
        ("reader", None),
    ],
)
def test_a_hosted_model_begins_with_its_provider(name, provider):
    assert provider_of(name) == provider


def test_a_folder_goes_before_a_provider(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "openai" / "mine").mkdir(parents=True)
    assert provider_of("openai/mine") is None
    assert provider_of("openai/other") == "openai"


def test_a_model_that_continues_texts_has_another_provider():
    assert completing("openai-api/lab/m") == "openai-api-completions/lab/m"
    assert completing("vllm/m") == completing("vllm-completions/m") == "vllm-completions/m"
    with pytest.raises(InputError, match="anthropic answers in chats alone"):
        completing("anthropic/m")


@pytest.mark.parametrize(
    ("typed", "address"),
    [
        ("http://localhost:8000", "http://localhost:8000/v1"),
        ("HTTP://LocalHost:8000/v1/", "http://localhost:8000/v1"),
        ("https://host/api", "https://host:443/api"),
        ("http://[::1]:8000", "http://[::1]:8000/v1"),
    ],
)
def test_equal_addresses_are_spelt_alike(typed, address):
    assert address_of(typed) == address


@pytest.mark.parametrize(
    "typed",
    ["localhost:8000", "http://", "http://h:99999", "http://a b", "http://h/\nx", "ftp://h"],
)
def test_what_is_no_address_is_refused(typed):
    with pytest.raises(InputError, match="an address must look like"):
        address_of(typed)
