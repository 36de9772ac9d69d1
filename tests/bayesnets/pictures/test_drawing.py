import re
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from bayesnets import Network, Node, draw, load_network, to_pgmpy
from coherence import InputError

SVG = "{http://www.w3.org/2000/svg}"


def words(path):
    return ["".join(element.itertext()) for element in ElementTree.parse(path).iter(f"{SVG}text")]


def test_every_variable_and_state_is_in_the_picture(tmp_path):
    path = tmp_path / "alarm.svg"
    network = load_network("asia")
    draw(network, path, highlight="lung")
    shown = words(path)
    assert set(network.names) <= set(shown)
    assert shown.count("yes · no") == 8
    assert network.title in shown


def test_illustrative_tables_are_called_so(tmp_path):
    nodes = (Node("a", ("x", "y"), (), np.array([0.5, 0.5])),)
    for illustrative in (True, False):
        path = tmp_path / f"{illustrative}.svg"
        draw(Network("n", "title", "source", illustrative, nodes), path)
        assert any("illustrative" in text for text in words(path)) == illustrative


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
@pytest.mark.lengthy
def test_equal_networks_give_equal_bytes_in_other_processes(tmp_path, suffix):
    for number in ("1", "2"):
        path = str(tmp_path / f"{number}.{suffix}")
        code = f"import bayesnets; bayesnets.draw(bayesnets.load_network('asia'), {path!r})"
        subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            env={"PYTHONHASHSEED": number, "PYTHONPATH": ":".join(sys.path)},
        )
    first, second = ((tmp_path / f"{number}.{suffix}").read_bytes() for number in "12")
    assert first == second
    assert {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}[suffix] == first[
        : {"svg": 5}.get(suffix, 4)
    ]


def test_names_are_neither_mathematics_nor_markup(tmp_path):
    odd = Node("$\\frac{1}$ <script>", ("a\x07b", "&amp;", "漢字"), (), np.full(3, 1 / 3))
    path = tmp_path / "odd.svg"
    draw(Network("n", "5 % of $x", "", False, (odd,)), path)
    assert {"$\\frac{1}$", "<script>", "ab · &amp; · 漢字", "5 % of $x"} <= set(words(path))
    draw(Network("n", "t", "", False, (odd,)), tmp_path / "odd.png")


def test_what_cannot_be_drawn(tmp_path):
    network = load_network("asia")
    with pytest.raises(
        InputError,
        match="highlight must be variables of network 'asia'; 'lang' is not. Did you mean 'lung'",
    ):
        draw(network, highlight="lang")
    with pytest.raises(InputError, match=re.escape("path must end in .png, .svg, .pdf")):
        draw(network, tmp_path / "asia.jpg")
    with pytest.raises(InputError, match="must lie in a folder"):
        draw(network, tmp_path / "nowhere" / "asia.png")
    assert list(tmp_path.iterdir()) == []


def test_drawing_leaves_nothing_behind():
    import matplotlib

    before = dict(matplotlib.rcParams)
    draw(to_pgmpy(load_network("asia")))
    assert dict(matplotlib.rcParams) == before
    assert (
        "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()
    )


def test_the_module_does_not_import_matplotlib_until_it_draws():
    code = "import sys, bayesnets.pictures.drawing; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
