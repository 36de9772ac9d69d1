"""A real server process, `transformers serve` on loopback.

Breaks if what we send is refused, or if its answers differ from the local model's.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import replace

import pytest

from elicitation import AnswerStore, Design, connect, elicit, load_causal_model, plan_task

pytestmark = pytest.mark.lengthy


@contextlib.contextmanager
def serving(folder, workplace):
    """Start the server that transformers brings.

    Its packages come with the extra `test`, so a missing one is a failure and no reason to skip.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log, address = workplace / f"{port}.log", f"http://127.0.0.1:{port}"
    offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(workplace / "hub"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "transformers.cli.transformers", "serve", str(folder)]
    command += ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=workplace, stdout=out, stderr=out, env=os.environ | offline
        )
    try:
        deadline = time.monotonic() + 120
        while True:
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(f"{address}/health", timeout=5),
            ):
                break
            last = log.read_text()[-2000:]
            assert process.poll() is None, f"{last}\npip install 'transformers[serving]'"
            assert time.monotonic() < deadline, last
            time.sleep(0.2)
        yield address, process
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def folder(model_folder, tmp_path_factory):
    copy = shutil.copytree(model_folder, tmp_path_factory.mktemp("served") / "tiny")
    # The text as it is, so that a chat can be set beside the local model.
    template = "{% for m in messages %}{{ m.content }}{% endfor %}"
    (copy / "chat_template.jinja").write_text(template)
    return copy


@pytest.fixture(scope="module")
def address(folder, tmp_path_factory):
    with serving(folder, tmp_path_factory.mktemp("server")) as (started, _):
        yield started


@pytest.mark.parametrize("chat", [True, False])
def test_answers_equal_those_of_the_local_model(address, folder, asia, cases, chat):
    plan = plan_task(asia, cases, Design(reps=1)).questions
    questions = [replace(each.request, seed=0, temperature=0.0) for each in plan[:24]]
    model = connect(str(folder), server=address, chat=chat, max_connections=4)
    local = load_causal_model(folder, device="cpu", dtype="float32", chat=chat)
    served = model.generate(questions)
    assert [answer.text for answer in served] == [each.text for each in local.generate(questions)]
    assert len({answer.text for answer in served}) > 2
    assert all(answer.n_tokens > 0 for answer in served)
    frames, design = [], Design(reps=1, temperature=0.0)
    for answering in (model, local):
        with AnswerStore(":memory:") as store:
            runs, tally = elicit(answering, asia, cases.head(3), store, design=design)
            assert tally.asked > 0
            frames.append(runs)
    assert frames[0]["raw_belief"].tolist() == frames[1]["raw_belief"].tolist()
    assert set(frames[0]["model"]) == {str(folder)}
