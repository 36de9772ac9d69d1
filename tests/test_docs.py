"""The pages of docs/: all in the nav, links that lead somewhere, a page for every check.

None of this needs the site to be built; `.ci/run` does that, with warnings as errors.
"""

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from coherence import analyze, read_runs
from coherence.checks.catalogue import declarations

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
READ_IN_THE_REPOSITORY = [
    ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md")
]
FENCE = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
MOST_WORDS = 1_100  # about five minutes
MOST_BYTES = 1_500_000


def load(path):
    """Import a script that is part of no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


HOOKS = load(DOCS / "site_hooks.py")
CHECK_SITE = load(DOCS / "check_site.py")


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


def nav_pages():
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    return re.findall(r"([\w/-]+\.md)$", nav, re.MULTILINE)


def test_every_page_is_in_the_nav_once():
    generated = set(HOOKS.PAGES_FROM_ELSEWHERE.values())
    nav = Counter(nav_pages())
    assert max(nav.values()) == 1
    written = {page.relative_to(DOCS).as_posix() for page in PAGES}
    assert written - set(nav) == set()
    assert set(nav) - written - generated <= HOOKS.PAGES_TO_COME
    assert generated <= set(nav)


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
def test_a_page_takes_five_minutes_and_loads_nothing(page):
    text = prose(page)
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("|")]
    words = " ".join(lines).split()
    assert len(words) <= MOST_WORDS, f"{len(words)} words: make two pages of {name_of(page)}"
    assert text.startswith("# ")
    assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1
    assert not re.search(r"<script|<iframe|!\[[^\]]*\]\(https?:", text)


def test_pictures_have_a_text_and_the_folder_stays_small():
    size = sum(file.stat().st_size for file in DOCS.rglob("*") if file.is_file())
    assert size < MOST_BYTES
    shown = set()
    for page in PAGES:
        for text, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", prose(page)):
            assert len(text) > 20, f"{name_of(page)}: {target} needs a text for who does not see it"
            shown.add((page.parent / target).resolve())
    pictures = {file for file in DOCS.rglob("*") if file.suffix in {".svg", ".png"}}
    assert shown == pictures


CHECKS = {check.name for check in declarations()}


@pytest.mark.parametrize("check", sorted(CHECKS))
def test_every_check_has_its_page(check):
    page = DOCS / "checks" / f"{check.partition(':')[0]}.md"
    text = page.read_text(encoding="utf-8")
    assert re.search(rf"coherence\.{check}(_test|_estimates)?\(|`{check}[:`]", text)
    for part in ("\n## How it fails\n", "\n## Settings worth knowing\n", "\n**Reference.** "):
        assert part in text, f"{name_of(page)} lacks {part.strip()}"
    assert "\n**Null.** " in text or "\n**Estimate" in text
    assert "\n**Assumptions.** " in text
    assert "\n```python\n" in text
    assert f"(../pictures/checks/{page.stem}.svg)" in text
    overview = (DOCS / "checks.md").read_text(encoding="utf-8")
    assert f"(checks/{page.name})" in overview
    assert f"\n| `{check}` |" in overview


def test_no_page_is_about_a_check_that_is_not_there():
    pages = {page.stem for page in (DOCS / "checks").glob("*.md")}
    assert pages == {check.partition(":")[0] for check in CHECKS}


@pytest.mark.lengthy
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
    assert HOOKS.linked_within("[a](checks.md) ![b](pictures/x.png)", "index.md") == (
        "[a](checks.md) ![b](pictures/x.png)"
    )


def test_pages_to_come_enter_the_nav_when_they_are_written(tmp_path, monkeypatch):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "scale.md").write_text("# Scale\n", encoding="utf-8")
    monkeypatch.setattr(HOOKS, "ROOT", tmp_path)
    nav = [{"Studies": [{"Scale": "scale.md"}, {"Teaching": "teaching.md"}, "planning.md"]}]
    assert HOOKS.on_config({"nav": nav}) == {
        "nav": [{"Studies": [{"Scale": "scale.md"}, "planning.md"]}]
    }


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
    results = analyze(runs, positive="ja", checks=["residual_covariance", "cmi"], rng=1).results
    assert (results["pvalue_holm"] < 0.05).all()
