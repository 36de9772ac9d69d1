"""Networks as JSON with any damage in their structure, and as texts of BIF and XMLBIF."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from attempts import Attempt, WrongAnswerError
from drawn_columns import TEXTS
from hypothesis import strategies as st

import bayesnets as bn

NAMES = ("asia", "cancer", "survey")
SUFFIXES = (".json", ".bif", ".xml")
NUMBERS = (-0.1, 0, 0.5, 1, 1.1, 1e-320, 10**400, True, float("nan"), float("inf"), "0.5", "1")
VALUES = st.recursive(
    st.one_of(st.none(), st.sampled_from(NUMBERS), st.integers(-2, 3), st.floats(), TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
PIECES = (
    *('"', "{", "}", "[", "]", "(", ")", ",", ";", "|", "<", ">", "&", "\\", "//", "/*", "*/", "#"),
    *("probability", "variable", "table", "default", "network", "type", "discrete", "property"),
    *("<VARIABLE>", "</DEFINITION>", "<FOR>", "<!-- ", " -->", "<![CDATA[", "]]>", "&lt;", "&x;"),
    *('<!DOCTYPE a [<!ENTITY b "bb">]>', "nan", "inf", "-1", "1e999", "0x1", "1_0", "٠.٥", "½"),
    *("\0", "\ufeff", "\u2028", "\r", " ", "0" * 400, "(" * 3000, "<A>" * 3000, "[" * 100_000),
)
CHANGES = ("put", "put", "put", "drop", "twice", "swap", "name", "number", "nest")


@cache
def whole(name: str, suffix: str) -> str:
    path = Path(f"whole-{name}{suffix}")
    bn.write_network(bn.load_network(name), path)
    return path.read_text(encoding="utf-8")


def prepare() -> None:
    """Write what is to be damaged."""
    for name in NAMES:
        for suffix in SUFFIXES:
            whole(name, suffix)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value within a value."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    below = [place for key, one in inner for place in places(one, (*path, key))]
    return [*([path] if path else []), *below]


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


@st.composite
def trees(draw: st.DrawFn) -> str:
    """Draw the JSON of a network of which some values are changed."""
    tree = json.loads(whole(draw(st.sampled_from(NAMES)), ".json"))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(places(tree)))
        owner, key = at(tree, path[:-1]), path[-1]
        change = draw(st.sampled_from(CHANGES))
        if change == "put":
            owner[key] = draw(VALUES)
        elif change == "drop":
            del owner[key]
        elif change == "twice" and isinstance(owner, list):
            owner.insert(key, owner[key])
        elif change == "swap" and isinstance(owner, list):
            other = draw(st.integers(0, len(owner) - 1))
            owner[key], owner[other] = owner[other], owner[key]
        elif change == "name" and isinstance(owner, dict):
            owner[draw(TEXTS)] = owner.pop(key)
        elif change == "number" and isinstance(owner[key], float):
            owner[key] += draw(st.sampled_from([1e-12, 1e-7, 1e-3, -1, -owner[key]]))
        elif change == "nest":
            owner[key] = [owner[key]]
        if not places(tree):
            break
    return json.dumps(tree, ensure_ascii=draw(st.booleans()))


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Draw the text of a network with pieces put in, left out or moved."""
    text = whole(draw(st.sampled_from(NAMES)), draw(st.sampled_from(SUFFIXES)))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = start + draw(st.sampled_from([0, 0, 1, 5, 50, 10**9]))
        piece = draw(st.one_of(st.sampled_from(PIECES), st.text(max_size=6)))
        if draw(st.booleans()):
            words = text.split(" ")
            piece = words[draw(st.integers(0, len(words) - 1))]
        text = text[:start] + piece + text[end:]
    return text


@st.composite
def attempts(draw: st.DrawFn) -> Attempt:
    data = draw(
        st.one_of(
            trees().map(lambda text: text.encode("utf-8", errors="surrogatepass")),
            trees().map(lambda text: text.encode("utf-8", errors="surrogatepass")),
            texts().map(lambda text: text.encode("utf-8", errors="surrogatepass")),
            VALUES.map(lambda value: json.dumps(value).encode()),
            st.binary(max_size=50),
        )
    )
    # A text of one format may stand under the name of another.
    suffix = draw(st.sampled_from([kind_of(data)] * 8 + list(SUFFIXES)))
    path = Path(f"broken{suffix}")
    return Attempt(Reading(data, path), {path.name})


def kind_of(data: bytes) -> str:
    start = data.lstrip()[:1]
    return ".xml" if start == b"<" else ".bif" if start in b"nv/" and start else ".json"


class Reading:
    """Read a network; one that is read has distributions, and is written and read as it is."""

    def __init__(self, data: bytes, path: Path) -> None:
        self.data, self.path = data, path

    def __call__(self) -> None:
        self.path.write_bytes(self.data)
        network = bn.read_network(self.path)
        if not isinstance(network, bn.Network):
            raise WrongAnswerError(f"{type(network).__name__} in place of Network")
        for node in network.nodes:
            sums = np.asarray(node.table).sum(axis=0)
            if not np.allclose(sums, 1, atol=1e-6):
                raise WrongAnswerError(f"columns of {node.name!r} sum to {sums}")
        for suffix in SUFFIXES:
            self.again(network, Path(f"broken-again{suffix}"))

    def again(self, network: bn.Network, path: Path) -> None:
        path.unlink(missing_ok=True)
        bn.write_network(network, path)
        if bn.read_network(path).nodes != network.nodes:
            raise WrongAnswerError(f"{path.suffix} holds another network than was written")

    def __repr__(self) -> str:
        return f"read_network({self.path}) of {self.data!r}"
