"""Connecting to OpenAI-compatible servers: one or several addresses that serve the same model."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from coherence.errors import InputError
from elicitation.models.servers.address import Address, Limits
from elicitation.models.servers.completions import PATHS, Api
from elicitation.models.servers.dispatch import ServersError
from elicitation.models.servers.extras import extra_fields
from elicitation.models.servers.keys import read_key
from elicitation.models.servers.pace import Pace
from elicitation.models.servers.probing import Abilities, probe
from elicitation.models.servers.server_model import ServerModel
from elicitation.models.servers.site import Site

logger = logging.getLogger(__name__)

# A thread for each: more of them gain nothing, and servers queue what they cannot batch.
MAX_CONCURRENCY = 256


def connect_servers(
    addresses: str | Sequence[str],
    model: str,
    *,
    api: Api = "chat",
    system: str | None = None,
    identity: str | None = None,
    concurrency: int = 8,
    key_variable: str | None = None,
    reasoning_effort: str | None = None,
    chat_template_kwargs: Mapping[str, Any] | None = None,
    extra_body: Mapping[str, Any] | None = None,
    requests_per_minute: float | None = None,
    tokens_per_minute: float | None = None,
    limits: Limits | None = None,
) -> ServerModel:
    """Connect to servers of one model and find out what they can do.

    Parameters
    ----------
    addresses : str or sequence of str
        Such as ``http://localhost:8000``; ``/v1`` is added where there is no path. The first one
        names the model in the keys of stored answers, the others are taken to serve the same
        weights.
    model : str
        Its name at the servers.
    api : {"chat", "completions"}
        Chats go through the model's chat template; completions go on from the text as it is, for
        models that have no template.
    system : str or None
        System message of every chat.
    identity : str or None
        Stands for the first address in the keys of stored answers, for servers whose address
        changes from day to day.
    concurrency : int
        Requests under way at each address, 1 to 256.
    key_variable : str or None
        Environment variable that holds the API key; it is sent to all addresses. None sends none.
    reasoning_effort, chat_template_kwargs, extra_body
        Further fields of every request, see `extra_fields`; part of the keys of stored answers.
    requests_per_minute, tokens_per_minute : float or None
        What each address is asked at most, positive; None knows no limit.
    limits : Limits or None
        Timeouts and attempts; None takes the usual ones.

    Returns
    -------
    ServerModel
        Ready to answer. Addresses that do not respond are set aside with a warning.

    Raises
    ------
    InputError
        An option is outside its range, or a server that responds does not serve the model.
    CoherenceError
        No server responds.

    Examples
    --------
    A server of its own, which does no more than complete texts:

    >>> import json
    >>> import threading
    >>> from http.server import BaseHTTPRequestHandler, HTTPServer
    >>> class Handler(BaseHTTPRequestHandler):
    ...     def do_POST(self):
    ...         self.rfile.read(int(self.headers["Content-Length"]))
    ...         answer = {"choices": [{"text": " yes", "finish_reason": "stop"}], "usage": {}}
    ...         body = json.dumps(answer).encode()
    ...         self.send_response(200)
    ...         self.send_header("Content-Length", str(len(body)))
    ...         self.end_headers()
    ...         self.wfile.write(body)
    ...
    ...     def log_message(self, *_):
    ...         pass
    >>> server = HTTPServer(("127.0.0.1", 0), Handler)
    >>> threading.Thread(target=server.serve_forever, daemon=True).start()
    >>> address = f"http://127.0.0.1:{server.server_port}"
    >>> model = connect_servers(address, "mine", api="completions")
    >>> model.name
    'mine'
    >>> server.shutdown()
    >>> server.server_close()
    """
    listed = [addresses] if isinstance(addresses, str) else list(addresses)
    parsed = [Address.parse(text) for text in listed]
    # The same server twice would get twice the concurrency that was asked for.
    if not parsed or len(set(parsed)) < len(parsed):
        raise InputError(
            "addresses must be one or more different servers; "
            f"received {', '.join(map(str, parsed)) or 'none'}."
        )
    if not model:
        raise InputError("model must be the name of a model at the servers; received an empty one.")
    if api not in PATHS:
        raise InputError(f"api must be one of {', '.join(PATHS)}; received {api!r}.")
    # Left out in silence, its answers would be taken for those of the model with the message.
    if system is not None and api != "chat":
        raise InputError(
            "system needs the chat API; completions have no system message. "
            "Leave system out, or put it into the templates."
        )
    if not 1 <= concurrency <= MAX_CONCURRENCY:
        raise InputError(
            f"concurrency must be from 1 to {MAX_CONCURRENCY}; received {concurrency}."
        )
    extra = extra_fields(
        api,
        reasoning_effort=reasoning_effort,
        chat_template_kwargs=chat_template_kwargs,
        extra_body=extra_body,
    )
    limits, key = limits or Limits(), read_key(key_variable)
    # One address that is down must not keep the others from working.
    sites, abilities = [], []
    for address in parsed:
        pace = Pace(requests_per_minute, tokens_per_minute)
        site = Site(address, limits=limits, key=key, pace=pace)
        try:
            abilities.append(probe(site, model, api, extra=extra))
        except ServersError as error:
            (site.aside,) = error.faults.values()
            logger.warning("server %s is set aside: %s", address, site.aside)
        sites.append(site)
    # With one that responds the work can begin; the others stay aside.
    if not abilities:
        raise ServersError({str(site.address): site.aside for site in sites if site.aside})
    return ServerModel(
        sites,
        model,
        api=api,
        system=system,
        identity=identity or str(parsed[0]),
        concurrency=concurrency,
        # Any of them may get any request: the weakest sets what can be asked.
        abilities=Abilities(min(seen.n_likely_tokens for seen in abilities)),
        extra=extra,
    )
