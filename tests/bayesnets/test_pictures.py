"""Pictures: breaks if something is not shown, overlaps, or cannot be read on white."""

import re
import shlex
from itertools import pairwise, permutations
from xml.etree import ElementTree

import numpy as np
import pytest

from bayesnets import Network, Node, draw, load_network, load_phrases, network_names, read_network
from bayesnets.pictures.layout import layered

SVG = "{http://www.w3.org/2000/svg}"


def words(path):
    return ["".join(element.itertext()) for element in ElementTree.parse(path).iter(f"{SVG}text")]


def test_names_are_neither_mathematics_nor_markup(tmp_path):
    odd = Node("$\\frac{1}$ <script>", ("a\x07b", "&amp;", "漢字"), (), np.full(3, 1 / 3))
    path = tmp_path / "odd.svg"
    draw(Network("n", "5 % of $x", "", False, (odd,)), path)
    assert {"$\\frac{1}$", "<script>", "ab · &amp; · 漢字", "5 % of $x"} <= set(words(path))
    draw(Network("n", "t", "", False, (odd,)), tmp_path / "odd.png")


def test_many_states_and_long_names_stay_in_their_boxes():
    states = tuple(f"state number {number}" for number in range(30))
    long = Node("an_extraordinarily_long_name_of_a_variable" * 2, states, (), np.full(30, 1 / 30))
    figure = draw(Network("n", "t", "", False, (long, Node("b", ("x",), (), np.array([1.0])))))
    figure.canvas.draw()
    boxes = [patch.get_window_extent() for patch in figure.axes[0].patches]
    texts = figure.axes[0].texts
    assert any("and 25 more" in text.get_text() for text in texts)
    for text in texts:
        x0, y0, x1, y1 = text.get_window_extent().extents
        within = [b.x0 <= x0 and x1 <= b.x1 and b.y0 <= y0 and y1 <= b.y1 for b in boxes]
        assert any(within), text.get_text()


def test_a_graph_that_needs_no_crossing_has_none():
    """Counted by definition: pieces between the same layers whose ends are ordered differently."""
    # Declared in an order that crosses: 1 -> b, 2 -> a, and so on.
    of = "1: 2: 3: c:1 b:2 a:3 x:a y:c z:b1"
    parents = {name: list(above) for name, above in (one.split(":") for one in of.split())}
    layout = layered(parents, dict.fromkeys(parents, 50.0), gap=10.0, waypoint=10.0)
    routes = (layout.route(parent, child) for child in parents for parent in parents[child])
    pieces = {pair for route in routes for pair in pairwise(route)}
    passed = {point for pair in pieces for point in pair} - set(layout.home.values())
    assert {point for row in layout.layers for point in row if layout.is_lane(point)} == passed
    place = {point: position for row in layout.layers for position, point in enumerate(row)}
    for (a, b), (c, d) in permutations(pieces, 2):
        assert a.layer != c.layer or place[a] >= place[c] or place[b] <= place[d]


# ``coherence networks``: breaks if a number is shown wrongly, a name acts, or a file is lost.


@pytest.fixture
def networks(run):
    """Run an action, check its exit status, and return what it printed and what it said besides."""

    def action(line, status=0):
        ended, out, err = run("networks", *shlex.split(line))
        assert ended == status, err
        return out, err

    return action


def cells(line):
    return re.split(r"\s{2,}", line.strip())


def test_list_has_a_line_for_every_network(networks):
    out, err = networks("list")
    assert err == ""
    found = [cells(line)[:5] for line in out.splitlines()[4:] if not line.startswith(" ")]
    assert [row[0] for row in found] == list(network_names())
    assert ["asia", "8", "8", "published", "lung"] in found


def test_show_prints_parents_and_prior_probabilities(networks):
    out, _ = networks("show asia")
    assert "8 variables, 8 arrows, 18 free parameters; default target: lung" in out
    # P(lung) = .5 x .1 + .5 x .01; P(either) from P(tub) = .0104.
    assert ["lung", "smoke", "yes 0.055, no 0.945"] in map(cells, out.splitlines())
    assert ["either", "tub, lung", "yes 0.06483, no 0.9352"] in map(cells, out.splitlines())
    assert "Lauritzen and Spiegelhalter (1988)" in out
    out, _ = networks("show asia --variable dysp")
    assert "prior: yes 0.436, no 0.564" in out
    rows = ("yes yes 0.9 0.1", "yes no 0.8 0.2", "no yes 0.7 0.3", "no no 0.1 0.9")
    assert [cells(line) for line in out.splitlines()[-4:]] == [row.split() for row in rows]


def test_draw_writes_the_picture_with_the_target_set_off(tmp_path, networks):
    path = tmp_path / "asia.svg"
    pictures = []
    for more in ("", "--highlight lung", "--highlight tub --highlight xray"):
        out, err = networks(f"draw asia --out {path} {more}")
        assert (out, err) == ("", f"wrote {path}: 8 variables, 8 arrows\n")
        pictures.append(path.read_bytes())
    assert pictures[0] == pictures[1] != pictures[2]


def test_convert_says_which_columns_rounding_moved(tmp_path, networks):
    bif, rounded, out = tmp_path / "asia.bif", tmp_path / "rounded.bif", tmp_path / "asia.xml"
    networks(f"convert asia --out {bif}")
    assert read_network(bif) == load_network("asia")
    rounded.write_text(bif.read_text().replace("table 0.01, 0.99", "table 0.01, 0.989"))
    _, err = networks(f"convert {rounded} --out {out}")
    assert "1 column was divided by the sum, which was up to 0.001 away from 1" in err
    assert read_network(out).node("asia").table.sum() == pytest.approx(1, abs=1e-15)
    rounded.write_text(bif.read_text().replace("table 0.01, 0.99", "table 0.01, 0.97"))
    out.unlink()
    assert "'asia'" in networks(f"convert {rounded} --out {out}", status=2)[1]
    assert not out.exists()


LINES = {
    "": "ACTION",
    "show asai": "Did you mean 'asia'?",
    "show asia --variable lang": "Did you mean 'lung'?",
    "show asia --var lung": "there is no option --var. Did you mean --",
    "draw asia": "--out",
    "convert asia --out nowhere/asia.bif": "must lie in a folder that can be written to",
    "phrases asia --out a.txt": "--out must end in .toml",
}


@pytest.mark.parametrize("line", LINES)
def test_what_is_wrong_is_named_and_no_file_is_left(line, networks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out, err = networks(line, status=2)
    assert LINES[line] in err
    assert out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_converted_network_replaces_no_other_file(tmp_path, networks):
    path = tmp_path / "mine.bif"
    networks(f"convert asia --out {path}")
    networks(f"convert asia --out {path}")
    before = path.read_bytes()
    assert "must be a new file" in networks(f"convert cancer --out {path}", status=2)[1]
    assert path.read_bytes() == before


@pytest.mark.parametrize(("more", "target"), [("", "lung"), ("--target smoke", "smoke")])
def test_words_begin_as_a_phrase_file_for_the_target(more, target, tmp_path, networks):
    networks(f"phrases asia --out {tmp_path}/words.toml {more}")
    words = load_phrases(tmp_path / "words.toml", load_network("asia"))
    assert (words.default_target, words.positive(target)) == (target, "yes")
