"""A server in a thread of the test that behaves as it is told, or misbehaves."""

import hashlib
import json
import re
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

from elicitation import Request, connect
from elicitation.batteries.mixing import mixing_questions

MIXING = {question.text: question.answers for question in mixing_questions()}


class Fake:
    """A server whose every reply a function decides; it keeps a record of what it was asked."""

    def __init__(self, reply=None, models=("m",)):
        self.reply, self.models = reply or (lambda body, n: answer("fine")), models
        self.asked, self.headers, self.times = [], [], []
        self.under_way = self.most_under_way = 0
        self.lock = threading.Lock()


def answer(text, **choice):
    message = {"role": "assistant", "content": text}
    return {
        "model": "m",
        "choices": [
            {"index": 0, "message": message, "text": text, "finish_reason": "stop", **choice}
        ],
        "usage": {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8},
    }


def in_form(text, seed):
    """An answer in the form asked for and why it ended, the same for equal questions.

    A few cannot be read, and a few are cut.
    """
    drawn = int(hashlib.sha256(f"{text}{seed}".encode()).hexdigest(), 16)
    if drawn % 11 == 0:
        return "I cannot say.", "stop"
    word = ("Yes", "No")[drawn % 2]
    labels = re.search(r"in this order: \[(.*), (.*)\]", text)
    if text in MIXING:
        return MIXING[text][drawn % len(MIXING[text])], "stop"
    if "Decision: " in text:
        return f"Can decide: {('Yes', 'No')[drawn % 3 == 0]}\nDecision: {word}", "stop"
    if labels or ("No: " in text and "Yes: " in text):
        first, second = labels.groups() if labels else ("No", "Yes")
        share = drawn % 101 / 100
        return f"{first}: {1 - share:.2f}\n{second}: {share:.2f}", "stop"
    if "A number from 0 to 1" in text:
        return str(drawn % 101 / 100), "stop"
    if "stay" in text:
        return ("stay", "go")[drawn % 2], "stop"
    if "Yes or No" not in text:
        word = ("A", "B")[drawn % 2]
    return word, "length" if drawn % 13 == 0 else "stop"


def reply_in_form(body, _):
    """Reply so, keep to a schema, or list likely tokens."""
    text = body["messages"][-1]["content"] if "messages" in body else body["prompt"]
    said, reason = in_form(text, body.get("seed", 0))
    if body.get("logprobs"):
        share = int(hashlib.sha256(text.encode()).hexdigest(), 16) % 90 / 100
        return listing({"Yes": share + 0.01, "No": 0.95 - share, "The": 0.04})
    if "response_format" in body:
        fields = body["response_format"]["json_schema"]["schema"]["properties"]
        drawn = {name: may["enum"][len(said) % len(may["enum"])] for name, may in fields.items()}
        said, reason = json.dumps(drawn), "stop"
    return answer(said, finish_reason=reason)


def raw(status, body=b"", headers=None, cut=None):
    return {"raw": (status, body.encode() if isinstance(body, str) else body, headers or {}, cut)}


@contextmanager
def serving(fake):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self):
            self.send(
                {"object": "list", "data": [{"id": name} for name in fake.models]}
                if fake.models is not None
                else raw(500, b"Oops")
            )

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with fake.lock:
                fake.asked.append((self.path, body))
                fake.headers.append(dict(self.headers))
                fake.times.append(time.monotonic())
                number = len(fake.asked) - 1
                fake.under_way += 1
                fake.most_under_way = max(fake.most_under_way, fake.under_way)
            try:
                reply = fake.reply(body, number)
            finally:
                with fake.lock:
                    fake.under_way -= 1
            self.send(reply)

        def send(self, reply):
            if callable(reply):
                return reply(self)
            status, body, headers, cut = (
                reply["raw"] if "raw" in reply else (200, json.dumps(reply).encode(), {}, None)
            )
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body[:cut])
            if cut is not None:
                self.close_connection = True

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # clients that leave early are what is tested
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def connected(fake, **options):
    """A model behind the fake, whose failures are not waited for."""
    with serving(fake) as address:
        yield connect("m", server=address, **{"max_retries": 0, **options})


def requests(n, **options):
    return [Request(f"Question {i}?", 2**62 + i, 7, **options) for i in range(n)]


def keep(stream, kept):
    for i, reply in stream:
        kept[i] = reply.text


def probing(body):
    return body.get("prompt", body.get("messages", [{}])[-1].get("content")) == "Say one word."


def after_opening(reply):
    """Reply well while the server is found out about, then by a function; it counts from there."""
    count = iter(range(10**6))
    return lambda body, _: answer("fine") if probing(body) else reply(body, next(count))


def listing(values, *, drawn=None):
    """A chat response with these likely tokens."""
    entries = [
        {"token": token, "logprob": float(np.log(p)), "bytes": None} for token, p in values.items()
    ]
    first = {
        **(
            entries[0] if drawn is None else {"token": drawn[0], "logprob": float(np.log(drawn[1]))}
        ),
        "top_logprobs": entries,
    }
    return answer("Yes", logprobs={"content": [first]})
