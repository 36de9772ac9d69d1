"""``coherence networks``: list the catalogue, show a network, draw its graph, convert files.

Heavy imports stand in the functions that need them, so that `--help` stays fast.
"""

import argparse
import re
import sys
import warnings
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.errors import InputError
from coherence.printable import clean, counted

if TYPE_CHECKING:
    from bayesnets.network import Network

_NONE = "–"


_FORMATS = ".bif, .xml, .xmlbif, .bifxml or .json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    def add(name: str, verb: str, summary: str, out: str = "") -> argparse.ArgumentParser:
        action = actions.add_parser(
            name, help=summary, description=f"{verb} {summary}.", allow_abbrev=False
        )
        if name != "list":
            which = f"name in the catalogue, or a {_FORMATS} file, also as .gz"
            action.add_argument("network", metavar="NAME_OR_FILE", help=which)
        if out:
            action.add_argument("--out", required=True, metavar="FILE", help=out)
        return action

    add("list", "List", "the networks of the catalogue")
    show = add("show", "Print", "facts, variables and prior probabilities of a network")
    one = "print the conditional table of this variable instead"
    show.add_argument("--variable", metavar="NAME", help=one)
    kinds = "picture to write: .png, .svg or .pdf"
    draw = add("draw", "Write a", "picture of the graph", kinds)
    which = "variable to set off; may be given several times (default: the target of the catalogue)"
    draw.add_argument("--highlight", action="append", metavar="NAME", help=which)
    kinds = f"file to write: {_FORMATS}, also as .gz"
    add("convert", "Write", "the same network in another format", kinds)
    summary = "the beginning of a phrase file: words for every state, to be made better"
    phrases = add("phrases", "Write", summary, "file to make: .toml")
    which = "variable that is asked about (default: the last one)"
    phrases.add_argument("--target", metavar="NAME", help=which)


def run(args: argparse.Namespace) -> int:
    """List, show, draw, convert or begin words."""
    if args.action == "list":
        _print_catalogue()
        return 0
    network, target = _load(args.network)
    if args.action == "show":
        if args.variable is None:
            _print_network(network, target)
        else:
            _print_table_of(network, args.variable)
        return 0
    words = ""
    if args.action == "convert":
        from bayesnets.files import write_network

        write_network(network, args.out, replace=False)
    elif args.action == "draw":
        from bayesnets.pictures.drawing import draw

        draw(network, args.out, highlight=args.highlight or target)
    else:
        _begin_phrases(network, args.out, args.target or target or network.names[-1])
        words = "words for "
    print(f"wrote {args.out}: {words}{_size(network)}", file=sys.stderr)
    return 0


def _load(name_or_path: str) -> "tuple[Network, str | None]":
    """Return the network, and its usual target if it comes from the catalogue."""
    from bayesnets.catalog import describe, load_network
    from bayesnets.files import SUFFIXES, read_network

    if not name_or_path.lower().endswith(SUFFIXES):
        return load_network(name_or_path), describe(name_or_path).default_target
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        network = read_network(name_or_path)
    for warning in caught:
        print(f"coherence networks: {clean(warning.message)}", file=sys.stderr)
    return network, None


def _begin_phrases(network: "Network", out: str, target: str) -> None:
    from bayesnets.files import replace_file
    from bayesnets.phrases import format_phrases, plain_phrases, positive_state
    from coherence.runs.files import require_new

    if Path(out).suffix.lower() != ".toml":
        raise InputError(f"--out must end in .toml; received {out}.")
    # Words are written by hand, and a second call must not cost them.
    require_new(Path(out))
    states = network.states(target)
    words = plain_phrases(network, target, positive_state(states) or states[0])
    replace_file(Path(out), format_phrases(words, network=network.name).encode("utf-8"))


def _print_catalogue() -> None:
    from bayesnets.catalog import describe, network_names

    catalogue = [describe(name) for name in network_names()]
    rows = [
        (
            *(each.name, str(each.n_nodes), str(each.n_edges), each.tables, each.default_target),
            re.split(r"(?<=[.?!]) ", each.description)[0],
        )
        for each in catalogue
    ]
    more = "'coherence networks show NAME' says more, and where the tables come from."
    _print([more, ""], ("name", "nodes", "edges", "tables", "target", "what it is"), rows)


def _print_network(network: "Network", target: str | None) -> None:
    from bayesnets.catalog import n_parameters

    tables = network.tables or ("illustrative" if network.illustrative else "origin not stated")
    title = network.description or network.title
    lines = [
        f"{network.name}: {title}" if title != network.name else network.name,
        f"source: {network.source or 'not stated'}",
        f"tables: {tables}"
        + ("; made up for teaching, no population behind them" if network.illustrative else ""),
        f"{_size(network)}, {counted(n_parameters(network), 'free parameter')}"
        + (f"; default target: {target}" if target else ""),
    ]
    priors = _priors(network)
    rows = []
    for node in network.nodes:
        stated = _pairs(node.states, priors[node.name]) if priors else ", ".join(node.states)
        rows.append((node.name, ", ".join(node.parents) or _NONE, stated))
    states = "states, with their prior probabilities" if priors else "states"
    _print([*lines, ""], ("variable", "parents", states), rows)


def _priors(network: "Network", variables: Sequence[str] | None = None) -> dict[str, list[float]]:
    """Return the marginal distributions; none, and a line on stderr, where they cost too much."""
    import pandas as pd
    from tqdm import tqdm

    from bayesnets.elimination import posterior

    nothing = pd.DataFrame(index=[0])
    names = network.names if variables is None else variables
    try:
        return {
            name: posterior(network, nothing, name).iloc[0].tolist()
            for name in tqdm(names, unit="variable", file=sys.stderr, disable=None, leave=False)
        }
    except InputError as error:
        print(f"coherence networks: no prior probabilities: {clean(error)}", file=sys.stderr)
        return {}


def _print_table_of(network: "Network", variable: str) -> None:
    import numpy as np

    node = network.node(variable)
    children = [child.name for child in network.nodes if variable in child.parents]
    prior = _priors(network, [variable])
    lines = [
        f"{variable} in {network.name}",
        f"parents: {', '.join(node.parents) or 'none'}",
        f"children: {', '.join(children) or 'none'}",
    ]
    lines += [f"prior: {_pairs(node.states, prior[variable])}"] if prior else []
    columns = np.moveaxis(node.table, 0, -1).reshape(-1, len(node.states)).tolist()
    conditions = list(zip(product(*map(network.states, node.parents)), columns, strict=True))
    header = [*node.parents, *(f"{variable}={state}" for state in node.states)]
    rows = [[*labels, *map(_number, column)] for labels, column in conditions]
    _print([*lines, ""], header, rows)


def _print(lines: Sequence[str], header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print lines above a table as wide as the terminal."""
    from coherence.cli.terminal import shows_ascii_only
    from coherence.report.document import table_of_texts
    from coherence.report.screen import render_parts

    table = table_of_texts(header, rows, n_labels=len(header))
    print(render_parts([*lines, table], ascii_only=shows_ascii_only(sys.stdout)))


def _size(network: "Network") -> str:
    n_arrows = sum(len(node.parents) for node in network.nodes)
    return f"{counted(len(network.nodes), 'variable')}, {counted(n_arrows, 'arrow')}"


def _number(probability: float) -> str:
    return f"{probability:.4g}"


def _pairs(states: Sequence[str], probabilities: Sequence[float]) -> str:
    pairs = zip(states, map(_number, probabilities), strict=True)
    return ", ".join(f"{state} {number}" for state, number in pairs)
