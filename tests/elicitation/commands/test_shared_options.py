"""Options that elicit, reveal, bets and mix share: breaks if one of them drops or misreads one."""

import json
import shutil

import pytest

from ..models.hosted.fake_server import Fake, after_opening, answer, probing, raw, serving

SESSIONS = {
    "elicit": "--task asia --contexts 2 --reps 1 --no-iterated --prompts mse --out {out}/r.csv",
    "reveal": "--where scenario=choice --where variant=single --where n=2 --out {out}",
    "bets": "--items {things} --out {out}",
    "mix": "--draws 1 --out {out}",
}


@pytest.fixture
def session(tmp_path, list_of_things):
    """Return the words of a small session of a command."""
    things = tmp_path / "things.csv"
    things.write_text(list_of_things, encoding="utf-8")
    out = tmp_path / "out"
    out.mkdir()
    return lambda command: f"{command} {SESSIONS[command].format(out=out, things=things)}"


@pytest.mark.parametrize(
    "command", ["elicit", *(pytest.param(c, marks=pytest.mark.lengthy) for c in ("mix", "bets"))]
)
def test_hosted_models_get_all_options(command, session, run, monkeypatch):
    monkeypatch.setenv("KEY", "sk-very-secret")
    fields = {"extra_body": {"top_k": 5}, "chat_template_kwargs": {"enable_thinking": False}}
    words = " ".join(f"--set '{key}={json.dumps(value)}'" for key, value in fields.items())
    words += " --set max_connections=1 --api-key-env KEY --reasoning-effort low --keep-going"
    words += " --set 'system=Be brief.'"
    with serving(fake := Fake(lambda body, n: answer("(a)"))) as address:
        said = run(f"{session(command)} --model m --server {address} {words}")
    asked = [body for _, body in fake.asked if not probing(body)]
    assert len(asked) > 3
    assert {(body["top_k"], body["reasoning_effort"]) for body in asked} == {(5, "low")}
    assert all(body["chat_template_kwargs"] == {"enable_thinking": False} for body in asked)
    brief = {"role": "system", "content": "Be brief."}
    assert all(body["messages"][0] == brief for body in asked)
    assert {headers["authorization"] for headers in fake.headers} == {"Bearer sk-very-secret"}
    assert fake.most_under_way == 1
    assert "very-secret" not in said.out + said.err


@pytest.mark.parametrize(
    "command", ["reveal", *(pytest.param(c, marks=pytest.mark.lengthy) for c in ("bets", "mix"))]
)
def test_a_model_that_cannot_be_loaded_leaves_nothing_behind(
    command, blank_models, session, tmp_path, run
):
    broken = shutil.copytree(blank_models[0], tmp_path / "broken")
    (broken / "model.safetensors").write_bytes(b"no weights")
    words = session(command).replace(f"{tmp_path}/out", f"{tmp_path}/new/out")
    words += f" --paper {tmp_path}/paper --model"
    before = sorted(tmp_path.rglob("*"))
    assert "could not be loaded" in run(f"{words} {broken}", status=2).err
    assert sorted(tmp_path.rglob("*")) == before
    # What another model has answered stays.
    run(f"{words} {blank_models[0]}{' --keep-going' * (command != 'reveal')}")
    there = sorted(tmp_path.rglob("*"))
    assert "could not be loaded" in run(f"{words} {broken}", status=2).err
    assert sorted(tmp_path.rglob("*")) == there


def test_a_server_that_fails_at_once_leaves_no_store(session, tmp_path, run):
    reply = after_opening(lambda body, n: raw(400, b"{}"))
    with serving(Fake(reply)) as address:
        run(f"{session('elicit')} --model m --server {address}", status=2)
    assert list((tmp_path / "out").iterdir()) == []
