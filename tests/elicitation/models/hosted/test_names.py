"""Names: breaks if a folder or a model of the hub is taken for a hosted one."""

import pytest

from elicitation.models.hosted.protocol import PROVIDERS, provider_of


def test_the_providers_are_those_of_inspect_that_ask_over_a_network():
    from inspect_ai._util.registry import registry_find
    from inspect_ai.model import get_model

    get_model("none/none", memoize=False)  # so that all are registered
    infos = (entry.__registry_info__ for entry in registry_find(lambda i: i.type == "modelapi"))
    names = [info.name for info in infos if info.name.startswith("inspect_ai/")]
    known = {name.removeprefix("inspect_ai/") for name in names}
    loading_here = {"hf", "transformer_lens", "nnterp", "none", "hf-inference-providers"}
    assert known - loading_here - {"goodfire"} == set(PROVIDERS) - loading_here


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("openai/gpt-4o", "openai"),
        ("openai-api/lab/Qwen/Qwen3-8B", "openai-api"),
        ("openai/mine", None),  # a folder goes first
        ("Qwen/Qwen3-8B", None),
        ("hf/openai/gpt-oss-20b", None),
        ("ollama", None),
        ("vllm/", None),
    ],
)
def test_a_hosted_model_begins_with_its_provider(name, provider, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "openai" / "mine").mkdir(parents=True)
    assert provider_of(name) == provider
