"""A server that answers by prompt and seed, and notes what it received and what it sent whole.

    python tests/faults/answering.py FOLDER

It prints its address; a line of ``received`` or ``sent`` is a prompt, a seed and the answer.
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
    "": ("A", "B"),  # of the call that asks whether anybody is there
}


class Handler(BaseHTTPRequestHandler):
    """Says what the digest of a request says, after up to 20 ms."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt, seed = asked["messages"][-1]["content"], asked["seed"]
        number = hashlib.sha256(f"{seed} {prompt}".encode()).digest()[0]
        may = next(texts for words, texts in FORMS.items() if words in prompt)
        text = may[number % len(may)]
        line = json.dumps([prompt, seed, text])
        note("received", line)
        time.sleep(number / 256 * 0.02)
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
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
