"""``coherence networks``: list the catalogue, show a network, draw its graph, convert files.

Heavy imports stand in the functions that need them, so that `--help` stays fast.
"""

import argparse
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayesnets.network import Network

_MIN_WIDTH, _MAX_WIDTH, _GAP = 60, 100, 2
_NONE = "–"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    which = "name in the catalogue, or a .bif, .xml, .xmlbif, .bifxml or .json file, also as .gz"
    actions.add_parser(
        "list",
        help="the networks of the catalogue",
        description="List the networks of the catalogue.",
        allow_abbrev=False,
    )
    summary = "facts, variables and prior probabilities of a network"
    show = actions.add_parser(
        "show", help=summary, description=f"Print {summary}.", allow_abbrev=False
    )
    show.add_argument("network", metavar="NAME_OR_FILE", help=which)
    show.add_argument(
        "--variable", metavar="NAME", help="print the conditional table of this variable instead"
    )
    summary = "picture of the graph"
    draw = actions.add_parser(
        "draw", help=summary, description=f"Write a {summary}.", allow_abbrev=False
    )
    draw.add_argument("network", metavar="NAME_OR_FILE", help=which)
    draw.add_argument(
        "--out", required=True, metavar="FILE", help="picture to write: .png, .svg or .pdf"
    )
    draw.add_argument(
        "--highlight",
        action="append",
        metavar="NAME",
        help=(
            "variable to set off; may be given several times (default: the target of the catalogue)"
        ),
    )
    summary = "the same network in another format"
    convert = actions.add_parser(
        "convert", help=summary, description=f"Write {summary}.", allow_abbrev=False
    )
    convert.add_argument("network", metavar="NAME_OR_FILE", help=which)
    convert.add_argument(
        "--out",
        required=True,
        metavar="FILE",
        help="file to write: .bif, .xml, .xmlbif, .bifxml or .json, also as .gz",
    )
    summary = "the beginning of a phrase file: words for every state, to be made better"
    phrases = actions.add_parser(
        "phrases", help=summary, description=f"Write {summary}.", allow_abbrev=False
    )
    phrases.add_argument("network", metavar="NAME_OR_FILE", help=which)
    phrases.add_argument("--out", required=True, metavar="FILE", help="file to make: .toml")
    phrases.add_argument(
        "--target", metavar="NAME", help="variable that is asked about (default: the last one)"
    )


def run(args: argparse.Namespace) -> int:
    """List, show, draw, convert or begin words."""
    if args.action == "list":
        _print_catalogue()
        return 0
    network, target = _load(args.network)
    if args.action == "convert":
        _convert(network, args.out)
    elif args.action == "phrases":
        _begin_phrases(network, args.out, args.target or target)
    elif args.action == "draw":
        _draw(network, args.out, args.highlight or target)
    elif args.variable is not None:
        _print_table_of(network, args.variable)
    else:
        _print_network(network, target)
    return 0


def _load(name_or_path: str) -> "tuple[Network, str | None]":
    """Return the network, and its usual target if it comes from the catalogue."""
    import warnings

    from bayesnets.catalog import describe, load_network
    from bayesnets.files import SUFFIXES, read_network
    from coherence.report.wording import clean

    if not name_or_path.lower().endswith(SUFFIXES):
        return load_network(name_or_path), describe(name_or_path).default_target
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        network = read_network(name_or_path)
    for warning in caught:
        print(f"coherence networks: {clean(warning.message)}", file=sys.stderr)
    return network, None


def _convert(network: "Network", out: str) -> None:
    from bayesnets.files import write_network

    write_network(network, out, replace=False)
    print(f"wrote {out}: {_size(network)}", file=sys.stderr)


def _begin_phrases(network: "Network", out: str, target: str | None) -> None:
    from pathlib import Path

    from bayesnets.files import replace_file
    from bayesnets.phrase_files import format_phrases, plain_phrases
    from bayesnets.phrases import positive_state
    from coherence.errors import InputError
    from coherence.runs.files import require_new

    file = Path(out)
    if file.suffix.lower() != ".toml":
        raise InputError(f"--out must end in .toml; received {out}.")
    # Words are written by hand, and a second call must not cost them.
    require_new(file)
    chosen = network.names[-1] if target is None else target
    states = network.states(chosen)
    words = plain_phrases(network, chosen, positive_state(states) or states[0])
    replace_file(file, format_phrases(words, network=network.name).encode("utf-8"))
    print(f"wrote {out}: words for {_size(network)}", file=sys.stderr)


def _draw(network: "Network", out: str, highlight: str | Sequence[str] | None) -> None:
    from bayesnets.pictures.drawing import draw

    draw(network, out, highlight=highlight)
    print(f"wrote {out}: {_size(network)}", file=sys.stderr)


def _print_catalogue() -> None:
    from bayesnets.catalog import describe, network_names

    catalogue = [describe(name) for name in network_names()]
    rows = [
        (facts.name, str(facts.n_nodes), str(facts.n_edges), facts.tables, facts.default_target)
        for facts in catalogue
    ]
    header, rule, *lines = _table(
        ("name", "nodes", "edges", "tables", "default target"), rows
    ).splitlines()
    print(f"{header}\n{rule}")
    for line, facts in zip(lines, catalogue, strict=True):
        first_sentence = re.split(r"(?<=[.?!]) ", facts.description)[0]
        print("\n".join([line, *(f"  {part}" for part in _wrapped(first_sentence, _width() - 2))]))
    print("\n'coherence networks show NAME' says more, and where the tables come from.")


def _print_network(network: "Network", target: str | None) -> None:
    tables = network.tables or ("illustrative" if network.illustrative else "origin not stated")
    title = network.description or network.title
    # The last entry of every column follows from the others.
    n_parameters = sum(
        node.table.size - node.table.size // len(node.states) for node in network.nodes
    )
    lines = [
        f"{network.name}: {title}" if title != network.name else network.name,
        f"source: {network.source or 'not stated'}",
        f"tables: {tables}"
        + ("; made up for teaching, no population behind them" if network.illustrative else ""),
        f"{_size(network)}, {_count(n_parameters, 'free parameter')}"
        + (f"; default target: {target}" if target else ""),
    ]
    for line in lines:
        print("\n".join(_wrapped(line, _width())))
    priors = _priors(network)
    rows = [
        (
            node.name,
            ", ".join(node.parents) or _NONE,
            _pairs(node.states, priors[node.name])
            if node.name in priors
            else ", ".join(node.states),
        )
        for node in network.nodes
    ]
    print(
        "\n"
        + _table(
            (
                "variable",
                "parents",
                "states, with their prior probabilities" if priors else "states",
            ),
            rows,
        )
    )


def _priors(network: "Network", variables: Sequence[str] | None = None) -> dict[str, list[float]]:
    """Return the marginal distributions; none, and a line on stderr, where they cost too much."""
    import pandas as pd
    from tqdm import tqdm

    from bayesnets.posterior import posterior
    from coherence.errors import InputError
    from coherence.report.wording import clean

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

    from coherence.report.wording import clean

    node = network.node(variable)
    children = [child.name for child in network.nodes if variable in child.parents]
    prior = _priors(network, [variable])
    lines = [
        f"{variable} in {network.name}",
        f"parents: {', '.join(node.parents) or 'none'}",
        f"children: {', '.join(children) or 'none'}",
    ]
    lines += [f"prior: {_pairs(node.states, prior[variable])}"] if prior else []
    for line in lines:
        print("\n".join(_wrapped(line, _width())))
    columns = np.moveaxis(node.table, 0, -1)
    parent_states = [network.states(parent) for parent in node.parents]
    conditions = [
        (
            [states[code] for states, code in zip(parent_states, codes, strict=True)],
            columns[codes].tolist(),
        )
        for codes in product(*map(range, columns.shape[:-1]))
    ]
    header = [*node.parents, *(f"{variable}={state}" for state in node.states)]
    rows = [[*labels, *map(_number, column)] for labels, column in conditions]
    widths = [max(len(clean(cell)) for cell in cells) for cells in zip(header, *rows, strict=True)]
    # A table wider than the screen gets a line per condition instead of a column per state.
    if sum(widths) + _GAP * (len(widths) - 1) > _width():
        header = ["given", f"probabilities of {variable}"]
        rows = [
            [
                ", ".join(map("=".join, zip(node.parents, labels, strict=True))) or _NONE,
                _pairs(node.states, column),
            ]
            for labels, column in conditions
        ]
    print("\n" + _table(header, rows))


def _size(network: "Network") -> str:
    n_arrows = sum(len(node.parents) for node in network.nodes)
    return f"{_count(len(network.nodes), 'variable')}, {_count(n_arrows, 'arrow')}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _number(probability: float) -> str:
    return f"{probability:.4g}"


def _pairs(states: Sequence[str], probabilities: Sequence[float]) -> str:
    return ", ".join(
        f"{state} {_number(probability)}"
        for state, probability in zip(states, probabilities, strict=True)
    )


def _width() -> int:
    return min(max(shutil.get_terminal_size().columns, _MIN_WIDTH), _MAX_WIDTH)


def _wrapped(text: str, width: int) -> list[str]:
    from coherence.report.wording import clean

    # A number stays with the state that it belongs to.
    glued = re.sub(r" (?=[\d.e-]+(?:,|$))", "\xa0", clean(text))
    return [
        line.replace("\xa0", " ")
        for line in textwrap.wrap(glued, width, subsequent_indent="  ", break_on_hyphens=False)
    ] or [""]


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay out a table; the widest columns are wrapped until it fits, and nothing is cut."""
    from coherence.report.wording import clean

    cells = [[clean(cell) for cell in row] for row in [header, *rows]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    # Columns of a dozen letters still read; narrower ones would break every word.
    while sum(widths) + _GAP * (len(widths) - 1) > _width() and max(widths) > 12:
        widths[widths.index(max(widths))] -= 1
    lines = []
    for number, row in enumerate(cells):
        wrapped = [_wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
        for line in range(max(map(len, wrapped))):
            parts = [
                (cell[line] if line < len(cell) else "").ljust(width)
                for cell, width in zip(wrapped, widths, strict=True)
            ]
            lines.append((" " * _GAP).join(parts).rstrip())
        if number == 0:
            lines.append((" " * _GAP).join("-" * width for width in widths))
    return "\n".join(lines)
