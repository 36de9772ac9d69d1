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

from coherence import CoherenceError
from elicitation import AnswerStore, Design, Request, connect, elicit, load_causal_model, plan_task

TEMPLATE = "{% for m in messages %}{{ m.content }}{% endfor %}"


@contextlib.contextmanager
def serving(folder, workplace):
    """Start the server that transformers brings.

    Its packages come with the extra `test`, so a missing one is a failure and no reason to skip.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = workplace / f"{port}.log"
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(workplace / "hub"),
        "OMP_NUM_THREADS": "1",
    }
    command = [
        sys.executable,
        "-m",
        "transformers.cli.transformers",
        "serve",
        str(folder),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*command, "--device", "cpu"], cwd=workplace, stdout=out, stderr=out, env=environment
        )
    try:
        deadline = time.monotonic() + 120
        while True:
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5),
            ):
                break
            assert process.poll() is None, (
                f"transformers serve ended: {log.read_text()[-2000:]}\n"
                "pip install 'transformers[serving]'"
            )
            assert time.monotonic() < deadline, log.read_text()[-2000:]
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}", process
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def folder(model_folder, tmp_path_factory):
    copy = tmp_path_factory.mktemp("served") / "tiny"
    shutil.copytree(model_folder, copy)
    (copy / "chat_template.jinja").write_text(
        TEMPLATE
    )  # the text as it is, so that a chat can be set beside the local model
    return copy


@pytest.fixture(scope="module")
def address(folder, tmp_path_factory):
    with serving(folder, tmp_path_factory.mktemp("server")) as (started, _):
        yield started


@pytest.fixture(scope="module")
def questions(asia, cases):
    plan = plan_task(asia, cases, Design(reps=1)).questions
    return [replace(question.request, seed=0, temperature=0.0) for question in plan[:24]]


@pytest.mark.parametrize("chat", [True, False])
@pytest.mark.lengthy
def test_answers_equal_those_of_the_local_model(address, folder, questions, chat):
    model = connect(str(folder), server=address, chat=chat, concurrency=4)
    local = load_causal_model(folder, device="cpu", dtype="float32", chat=chat)
    served, local_answers = model.generate(questions), local.generate(questions)
    assert [answer.text for answer in served] == [answer.text for answer in local_answers]
    assert len({answer.text for answer in served}) > 2
    assert all(answer.n_tokens > 0 for answer in served)


@pytest.mark.lengthy
def test_a_model_without_chat_template_is_told_apart(address, folder, model_folder, tmp_path):
    with serving(model_folder, tmp_path) as (bare, process):
        with pytest.raises(CoherenceError, match="HTTP 500.*server's own log"):
            connect(str(model_folder), server=bare)
        # The two serve the same weights; one of them dies in the middle of the work.
        copy = connect(str(model_folder), server=bare, chat=False, concurrency=2, max_retries=0)
        stream = copy.stream_answers([Request(f"Number {i}", i, 20) for i in range(60)])
        kept = dict(next(stream) for _ in range(5))
        process.kill()
        with pytest.raises(CoherenceError, match="does not answer any more: Connection error"):
            kept.update(stream)
        assert 5 <= len(kept) < 60


@pytest.mark.lengthy
def test_a_session_through_a_server_is_that_of_the_local_model(address, folder, asia, cases):
    model, local = (
        connect(str(folder), server=address, concurrency=4),
        load_causal_model(folder, device="cpu", dtype="float32"),
    )
    frames, design = [], Design(reps=1, temperature=0.0)
    for answering in (model, local):
        with AnswerStore(":memory:") as store:
            runs, tally = elicit(answering, asia, cases.head(3), store, design=design)
            assert tally.asked > 0
            frames.append(runs)
            assert elicit(answering, asia, cases.head(3), store, design=design)[1].asked == 0
    assert frames[0]["raw_belief"].tolist() == frames[1]["raw_belief"].tolist()
    assert set(frames[0]["model"]) == {str(folder)}
