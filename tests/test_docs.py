"""The pages of docs/: all in the nav, links that lead somewhere, a page for every check.

None of this needs the site to be built; `.ci/run` does that, with warnings as errors.
"""

import importlib.util
import json
import os
import re
import runpy
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from coherence import analyze, read_runs
from coherence.checks.catalogue import declarations
from coherence.report.verdicts import Verdict

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
READ_IN_THE_REPOSITORY = [
    ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md")
]
FENCE = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
MOST_WORDS = 750  # three minutes, without tables and code
MOST_BYTES = 1_500_000


def load(path):
    """Import a script that is part of no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


HOOKS = load(DOCS / "site_hooks.py")
CHECK_SITE = load(DOCS / "check_site.py")
SITE_NOTEBOOKS = load(DOCS / "site_notebooks.py")


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def prose(page):
    """Return a page without its blocks of code."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page):
    """Return the anchors that a repository's pages and the site give to headings."""
    seen = Counter()
    for heading in re.findall(r"^#+ +(.*)$", prose(page), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
        yield f"{slug}-{seen[slug]}" if seen[slug] else slug
        seen[slug] += 1
    yield from re.findall(r'<a id="([^"]+)">', prose(page))


def pages_of(part):
    """Return the pages that a part of mkdocs.yml names."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition(f"\n{part}:")[2]
    return re.findall(r"([\w/-]+\.md)$", re.split(r"\n(?=[a-z#])", text)[0], re.MULTILINE)


def test_every_page_is_in_the_nav_once_or_led_to_by_another():
    nav, behind = Counter(pages_of("nav")), {page.strip("/") for page in pages_of("not_in_nav")}
    assert max(nav.values()) == 1
    written = {page.relative_to(DOCS).as_posix() for page in PAGES}
    assert set(nav) | behind == written | set(HOOKS.PAGES_FROM_ELSEWHERE.values())
    assert not set(nav) & behind
    everything = "".join(prose(page) for page in PAGES if page.name not in behind)
    for page in behind:
        assert f"({page}" in everything, f"no page of the nav leads to {page}"


@pytest.mark.parametrize("page", [*PAGES, *READ_IN_THE_REPOSITORY], ids=name_of)
def test_links_lead_somewhere(page):
    for target in LINK.findall(prose(page)):
        if re.match(r"https?://|mailto:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.is_file(), f"{name_of(page)}: {target} is not there"
        assert file.is_relative_to(ROOT)
        if anchor:
            assert anchor in set(anchors(file)), f"{name_of(page)}: {target} has no such heading"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_takes_three_minutes_and_loads_nothing(page):
    text = prose(page)
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("|")]
    words = " ".join(lines).split()
    assert len(words) <= MOST_WORDS, f"{len(words)} words: make two pages of {name_of(page)}"
    assert text.startswith("# ")
    assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1
    assert not re.search(r"<script|<iframe|!\[[^\]]*\]\(https?:", text)


def test_the_page_of_error_rates_is_what_its_program_makes():
    made = load(ROOT / "benchmarks" / "validity" / "page.py").page()
    written = (DOCS / "validity.md").read_text(encoding="utf-8")
    assert made == written, "run: python benchmarks/validity/page.py"


def test_pictures_have_a_text_and_the_folder_stays_small():
    files = [file for file in DOCS.rglob("*") if file.is_file() and file.suffix != ".pyc"]
    size = sum(file.stat().st_size for file in files)
    assert size < MOST_BYTES
    shown = set()
    for page in [*PAGES, *READ_IN_THE_REPOSITORY]:
        for text, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", prose(page)):
            assert len(text) > 20, f"{name_of(page)}: {target} needs a text for who does not see it"
            picture = (page.parent / target).resolve()
            shown.add(picture)
            if picture.suffix == ".svg":  # matplotlib writes every text as a comment
                drawn = " ".join(re.findall("<!-- (.*) -->", picture.read_text(encoding="utf-8")))
                assert set(re.findall(r"\.\d+", text)) <= set(re.findall(r"\.\d+", drawn)), target
    pictures = {file for file in DOCS.rglob("*") if file.suffix in {".svg", ".png"}}
    assert shown == pictures


def test_the_readme_has_a_line_for_every_verdict():
    rows = re.findall(r"^\|[^|\n]*\|([^|\n]+)\|", prose(ROOT / "README.md"), re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", "".join(rows))) == sorted(Verdict)


def test_ci_installs_what_the_pages_say_and_nothing_else():
    """What the site's extra brings beside that of the tests is mkdocs: neither hides a lack."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    pages = "".join((ROOT / page).read_text("utf-8") for page in ("README.md", "CONTRIBUTING.md"))
    assert "pip install" not in script
    for end in re.findall(r"^as_written ['\"](.+)['\"]$", script, re.MULTILINE):
        assert len(re.findall(rf"^(?:pip|ruff) .*{end}$", pages, re.MULTILINE)) == 1
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    own, *rest = project["optional-dependencies"]["docs"]
    tests = project["optional-dependencies"]["test"][0]
    assert set(re.findall(r"\w+", own)) <= set(re.findall(r"\w+", tests))
    assert all(each.startswith("mkdocs") for each in rest)


CHECKS = {check.name: check for check in declarations()}
# Whose function or page has another name; a part of a check that is for comparison has neither.
FUNCTIONS = {"scores": "calibration_test", "calibration": "calibration_estimates"}
ON_THE_PAGE_OF = {
    "scores": "calibration",
}
NAMED_PARTS = ("Formula", "Estimand", "Null", "Known as", "Assumptions", "References")
BY_NAME = NAMED_PARTS[:-1]  # where a page has two checks, each part names the second


def page_of_check(check):
    name = check.partition(":")[0]
    return DOCS / "checks" / f"{ON_THE_PAGE_OF.get(name, name)}.md"


@pytest.mark.parametrize("check", sorted(CHECKS))
def test_every_check_has_its_page(check):
    page = page_of_check(check)
    text = page.read_text(encoding="utf-8")
    assert f"`{check}" in text or f"coherence.{check}" in text or check == page.stem
    for part in (*(f"\n**{name}.** " for name in NAMED_PARTS), "\n## What misleads it\n"):
        assert part in text, f"{name_of(page)} lacks {part.strip()}"
    if check in ON_THE_PAGE_OF:
        for name in BY_NAME:
            part = re.split(r"\n\n(?=\*\*|#)", text.partition(f"\n**{name}.** ")[2])[0]
            assert f"`{check}`" in part, f"{name_of(page)}: {name} does not say that of {check}"
    assert f"(../pictures/checks/{page.stem}.svg)" in text
    tests = any(sentences.rejected for sentences in CHECKS[check].sentences.values())
    assert ("\n**Null.** None " in text) is not tests or check != page.stem
    overview = (DOCS / "checks.md").read_text(encoding="utf-8")
    assert f"(checks/{page.name})" in overview
    assert f"`{check}`" in overview


@pytest.mark.parametrize("check", sorted(check for check in CHECKS if ":" not in check))
def test_page_and_reference_say_null_and_estimand_alike(check):
    import coherence

    names = (FUNCTIONS.get(check, check), f"{check}_test", f"{check}_estimates")
    function = next(getattr(coherence, name) for name in names if hasattr(coherence, name))
    page = " ".join(page_of_check(check).read_text(encoding="utf-8").split()).lower()
    for part in ("Null", "Estimand"):
        (sentence,) = re.findall(rf"^ *{part}: (.+?)\n\n", function.__doc__, re.M | re.S)
        assert " ".join(sentence.split()).lower() in page, f"{check}: {part}"


@pytest.mark.lengthy
@pytest.mark.parametrize("page", sorted((DOCS / "checks").glob("*.md")), ids=name_of)
def test_the_page_of_a_check_shows_what_its_example_prints(page, tmp_path, monkeypatch, capsys):
    text = page.read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.S)
    assert examples
    monkeypatch.chdir(tmp_path)
    for example, shown in examples:
        Path("example.py").write_text(example, encoding="utf-8")
        runpy.run_path("example.py")
        assert capsys.readouterr().out.rstrip() == shown.rstrip()


def test_no_page_is_about_a_check_that_is_not_there():
    assert set((DOCS / "checks").glob("*.md")) == set(map(page_of_check, CHECKS))


@pytest.mark.slow
def test_the_script_draws_every_picture_of_a_check(tmp_path):
    """Breaks if the figures of the package moved, or a title no longer tells what it told."""
    subprocess.run(
        [sys.executable, str(DOCS / "pictures" / "checks.py"), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
        timeout=300,
    )
    committed = {file.name: file.stat().st_size for file in (DOCS / "pictures/checks").iterdir()}
    drawn = {file.name: file.stat().st_size for file in tmp_path.iterdir()}
    assert drawn.keys() == committed.keys()
    for name, size in drawn.items():
        # Another version of matplotlib writes other bytes, but as many paths.
        assert size == pytest.approx(committed[name], rel=0.2), f"{name}: draw it anew, look at it"


def test_the_reference_has_every_public_name_once():
    blocks = Counter(
        name
        for _, text in HOOKS.reference_pages().values()
        for name in re.findall(r"^::: (.+)$", text, re.MULTILINE)
    )
    assert set(blocks.values()) == {1}
    import bayesnets
    import coherence
    import elicitation

    for package in (coherence, bayesnets, elicitation):
        for name in package.__all__:
            assert f"{package.__name__}.{name}" in blocks


def test_links_of_other_files_lead_to_pages_of_the_site():
    text = "[a](docs/checks.md#what-each-check-says) [b](CONTRIBUTING.md) [c](https://example.org/x.md)"
    link = HOOKS._LINK.sub(lambda found: HOOKS._from_elsewhere(found, Path()), text)
    assert link == (
        "[a](checks.md#what-each-check-says) [b](contributing.md) [c](https://example.org/x.md)"
    )
    inside = "[a](../../CONTRIBUTING.md#a-check) [b](../policies.md) [c](../../examples/study.toml)"
    assert HOOKS.linked_within(inside, "checks/cmi.md") == (
        "[a](../contributing.md#a-check) [b](../policies.md) c (`examples/study.toml`)"
    )
    notebook = "[d](../../examples/notebooks/06_bets.ipynb)"
    assert HOOKS.linked_within(notebook, "checks/cmi.md") == "[d](../notebooks/06_bets.md)"
    assert SITE_NOTEBOOKS.FOLDER.joinpath("06_bets.ipynb").is_file()
    assert HOOKS.linked_within("[a](checks.md) ![b](pictures/x.png)", "index.md") == (
        "[a](checks.md) ![b](pictures/x.png)"
    )


def test_what_a_site_loads_from_outside_is_found(tmp_path):
    (tmp_path / "here.css").write_text("a { background: url(https://cdn.example/a.png) }")
    (tmp_path / "page.html").write_text(
        '<a href="https://example.org/">link</a><link rel="canonical" href="https://example.org">'
        '<link rel="stylesheet" href="here.css"><script src="//cdn.example/x.js"></script>'
        '<img src="gone.png"><img src="data:,"><style>@import "http://cdn.example/b.css";</style>'
    )
    assert list(CHECK_SITE.faults(tmp_path)) == [
        "here.css: https://cdn.example/a.png is fetched from outside",
        "page.html: //cdn.example/x.js is fetched from outside",
        "page.html: gone.png is not there",
        "page.html: http://cdn.example/b.css is fetched from outside",
    ]


def test_version_and_licence_are_said_alike_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {project['version']}\n" in citation
    assert f"\ntitle: {project['name']}\n" in citation
    assert f"\nlicense: {project['license']}\n" in citation
    for keyword in project["keywords"]:
        assert f"  - {keyword}\n" in citation
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert newest[1] == project["version"]


@pytest.mark.lengthy
def test_the_second_file_of_ones_own_reads_as_its_page_says():
    names = {
        "p": "wahrscheinlichkeit",
        "action": "entscheidung",
        "theta": "eingetreten",
        "context": "fall",
        "rep": "wiederholung",
    }
    path = ROOT / "examples" / "mine_decimal_commas.csv"
    runs = read_runs(path, columns=names, decimal=",", percent=True, encoding="cp1252")
    assert len(runs) == 240
    assert runs["context"].nunique() == 80
    assert runs["p"].iloc[0] == 0.6
    # Empty cells stay empty; nothing else is lost.
    raw = path.read_text(encoding="cp1252").splitlines()[1:]
    cells = [line.split(";") for line in raw]
    assert runs["p"].isna().tolist() == [cell[2] == "" for cell in cells]
    assert runs["action"].isna().tolist() == [cell[3] == "" for cell in cells]
    assert 0 < runs["p"].isna().sum() < 20
    # Rounded to a tenth of a percent in the file.
    assert (runs["p"].dropna() * 1000).round(6).mod(1).eq(0).all()
    assert set(runs["action"].dropna()) == {"abwarten", "behandeln", "überweisen"}
    results = analyze(runs, positive="ja", checks=["sufficiency", "cmi"], rng=1).results
    assert (results["pvalue_holm"] < 0.05).all()


@pytest.mark.parametrize("path", SITE_NOTEBOOKS.notebooks(), ids=lambda path: path.stem)
def test_the_page_of_a_notebook_has_all_that_the_notebook_has(path):
    cells = SITE_NOTEBOOKS.cells_of(path)
    text, shown = SITE_NOTEBOOKS.page_text(path), SITE_NOTEBOOKS.outputs_of(path)
    pictures = dict(SITE_NOTEBOOKS.pictures_of(path))
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert code
    assert all(f"```python\n{source}\n```" in text for source in code)
    assert len(shown) == len(code)
    _, _, solution = text.partition("## Solution")
    assert solution.count("```python\n") == len(
        re.findall(r"<summary>Code[^<]*</summary>\n\n```p", text)
    )
    assert all(text.count(place) == 1 for place in shown)
    outputs = [out for cell in cells for out in cell.get("outputs", [])]
    html = "".join(shown.values())
    assert html.count("<img ") == len(pictures) > 0
    assert sum(map(html.count, ("<img ", "<pre ", "<table>"))) == len(outputs)
    assert all(f'src="{name}"' in html for name in pictures)
    assert all(content.startswith(b"\x89PNG") for content in pictures.values())
    # Neither formulas nor links are left as only a notebook shows them.
    assert not re.search(r"\$[^$\n`]+\$", FENCE.sub("", text))
    linked = re.findall(r"[(\"](\d\d_\w+)\.(md|html)", text)
    assert {name for name, _ in linked} <= {other.stem for other in SITE_NOTEBOOKS.notebooks()}


def test_handout_and_slides_are_made_of_the_notebooks_without_their_solutions(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    teaching = load(DOCS / "site_teaching.py")
    paths = {path.name[:2]: path for path in SITE_NOTEBOOKS.notebooks()}
    handout, slides = teaching.handout(), teaching.slides()
    for number, path in paths.items():
        assert SITE_NOTEBOOKS.title_of(path) in handout
        assert SITE_NOTEBOOKS.title_of(path) in slides
        drawn = re.findall(rf"{path.stem}-(\d+)-\d+\.png", slides)
        cells = SITE_NOTEBOOKS.cells_of(path)
        solution = [n for n, cell in enumerate(cells) if SITE_NOTEBOOKS.is_solution(cell)]
        assert solution
        assert bool(drawn) == (number in teaching.LECTURE)
        assert not set(map(int, drawn)) & set(solution)
    assert handout.count("<img ") == len(teaching.LECTURE)
    assert slides.count("<h2>Exercise</h2>") == len(teaching.LECTURE)
    assert "Think first" not in handout + slides
    page = (DOCS / "teaching.md").read_text(encoding="utf-8")
    file = SimpleNamespace(file=SimpleNamespace(src_uri="teaching.md"))
    linked = teaching.on_page_markdown(page, file, None, None)
    assert linked.count("teaching/slides.html") == linked.count("teaching/handout.html") == 1


def test_what_a_cell_gave_is_never_markup(tmp_path):
    told = "<script>alert(1)</script>\n```\n[a](../x.md) \x1b[31mred\x1b[0m"
    table = (
        "<style>td{}</style><p onclick=x>no</p><table onload=x><tr><th rowspan=2 colspan='x'>"
        "<b>&lt;i&gt;</b></th><td><script>alert(2)</script>1</td></tr><tr><td>open"
    )
    picture = {"image/svg+xml": ["<svg xmlns='http://www.w3.org/2000/svg'>", "</svg>"]}
    outputs = [
        {"output_type": "stream", "text": told.splitlines(keepends=True)},
        {"output_type": "execute_result", "data": {"text/html": table, "text/plain": "no"}},
        {"output_type": "execute_result", "data": {"text/html": "<img src=x>", "text/plain": "<3"}},
        {"output_type": "display_data", "data": picture | {"text/plain": "no"}},
    ]
    path = tmp_path / "01_x.ipynb"
    cells = [
        {"cell_type": "markdown", "source": "# T\n\n$p^2 / \\sqrt{n}$ [b](02_y.ipynb)"},
        {"cell_type": "code", "source": "'```'", "outputs": outputs},
    ]
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    assert SITE_NOTEBOOKS.title_of(path) == "1 T"
    text = SITE_NOTEBOOKS.page_text(path)
    assert "````python\n'```'\n````" in text
    assert "<i>p<sup>2</sup> / √n</i> [b](02_y.md)" in text
    assert "alert" not in text
    (shown,) = SITE_NOTEBOOKS.outputs_of(path).values()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\n```\n[a](../x.md) red</samp>" in shown
    assert (
        '<table><tr><th rowspan="2">&lt;i&gt;</th><td>1</td></tr><tr><td>open</td></tr></table>'
        in (shown)
    )
    assert "<samp>&lt;3</samp>" in shown
    assert 'src="01_x-1-3.svg"' in shown
    assert set(re.findall(r"<(\w+)", shown)) == {
        *("div", "pre", "samp", "table", "tr", "th", "td", "p", "img")
    }
    assert dict(SITE_NOTEBOOKS.pictures_of(path)).keys() == {"01_x-1-3.svg"}


def test_a_formula_that_the_site_cannot_set_is_refused(tmp_path):
    path = tmp_path / "01_x.ipynb"
    cells = [{"cell_type": "markdown", "source": "# T\n\n$\\frac{a}{b}$"}]
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    with pytest.raises(ValueError, match="cannot set the formula"):
        SITE_NOTEBOOKS.page_text(path)


def test_what_may_be_wider_than_a_page_is_reached_by_keys():
    html = (
        "<pre><span></span><code>a\nb</code></pre><code>c</code>"
        "<pre><span></span><code></code></pre><p><img alt=x></p>"
    )
    assert HOOKS.on_page_content(html, None, None, None) == (
        '<pre><span></span><code><span tabindex="0">a\nb</span></code></pre><code>c</code>'
        '<pre><span></span><code><span tabindex="0"></span></code></pre>'
        '<p tabindex="0"><img alt=x></p>'
    )
