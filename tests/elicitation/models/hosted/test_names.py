"""Names: breaks if a folder or a model of the hub is taken for a hosted one."""

import pytest

from elicitation.models.base import provider_of


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
