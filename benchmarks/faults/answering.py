"""A server that answers by prompt and seed, and notes what it received and what it sent whole.

    python benchmarks/faults/answering.py FOLDER

It prints its address; a line of ``received`` or ``sent`` is a prompt, a seed, whether the likely
tokens were wanted, and the answer.
"""

import hashlib
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FORMS = {
    "Can decide": ("Can decide: Yes\nDecision: No", "Can decide: Yes\nDecision: Yes"),
    "Yes: ": tuple(f"No: {1 - n / 10:.2f}\nYes: {n / 10:.2f}" for n in range(11)),
    "Flip 1": tuple(f"Flip 1: {a}\nFlip 2: {b}" for a in (0, 1) for b in (0, 1)),
    "digit 0": ("0", "1"),
    "": ("A", "B"),
}


class Handler(BaseHTTPRequestHandler):
    """Says what the digest of a request says, after up to 20 ms."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        chat, seed, lists = "messages" in asked, asked["seed"], bool(asked.get("logprobs"))
        prompt = asked["messages"][-1]["content"] if chat else asked["prompt"]
        number = hashlib.sha256(f"{seed} {prompt}".encode()).digest()[0]
        may = next(texts for words, texts in FORMS.items() if words in prompt)
        text = may[number % len(may)]
        line = json.dumps([prompt, seed, lists, text])
        note("received", line)
        time.sleep(number / 256 * 0.02)
        likely = [{"token": token, "logprob": -1.2} for token in ("A", "B", "Yes")]
        listed = (
            {"content": [{**likely[0], "top_logprobs": likely}]}
            if chat
            else {
                "tokens": ["A"],
                "token_logprobs": [-1.2],
                "top_logprobs": [{each["token"]: each["logprob"] for each in likely}],
            }
        )
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": text},
            "text": text,
            "finish_reason": "stop",
            **({"logprobs": listed} if lists else {}),
        }
        body = json.dumps({"model": "m", "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        note("sent", line)  # before its last byte, so that no answer is read before it is noted
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def note(name, line):
    # One write of a file opened to append: lines of two threads do not mix.
    with Path(sys.argv[1], name).open("a") as lines:
        lines.write(line + "\n")


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # clients are killed
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
