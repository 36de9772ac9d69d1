"""Keys: breaks if one reaches a message, a stored answer or a log, whoever repeats it."""

import pytest

from elicitation.models.base import provider_of

KEY = "sk-Quite/secret+0123456789"
LOCAL = "http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("typed", "remedy"),
    [
        (f"--server {LOCAL} --api-key-env '{KEY}'", "the name of an environment variable"),
        (f"--server {LOCAL} --api-key-env hunter2/secret", "the name of an environment variable"),
        (f"--server {LOCAL} --api-key-env gsk_secret01234567890ABCDEFabcdef", "environment varia"),
        *((f"--server '{address}'", "an address must look like") for address in (
            f"https://host/v1?key={KEY}", f"https://me:{KEY}@host/v1", f"https://host/v1#{KEY}", KEY
        )),
    ],
)  # fmt: skip
def test_a_key_in_place_of_its_variable_or_in_an_address_is_not_repeated(
    typed, remedy, run, tmp_path
):
    words = f"elicit --task asia --model m --contexts 2 --out {tmp_path}/runs.csv"
    said = run(f"{words} {typed}", status=2)
    assert remedy in said.err
    assert "secret" not in said.out + said.err


# Names: breaks if a folder or a model of the hub is taken for a hosted one.


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
