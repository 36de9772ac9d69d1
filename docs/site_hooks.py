"""What the documentation site has beyond the pages of this folder; `mkdocs.yml` names it as a hook.

CONTRIBUTING.md, CHANGELOG.md and examples/README.md become pages, so that a link to them works in
the repository and on the site. The reference is one page for each part of the public names, which
are read off `__all__`.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

# File of the repository -> its page on the site.
PAGES_FROM_ELSEWHERE = {
    "CONTRIBUTING.md": "contributing.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "CHANGELOG.md": "changelog.md",
    "examples/README.md": "examples.md",
}
REFERENCE = (
    "Commands, columns, Python names"  # the entry of the nav that the generated pages follow
)

# Module that defines a name -> page; the longest fit counts.
PARTS = {
    "coherence.checks": "Checks",
    "coherence.statistics": "Checks",
    "coherence.batteries": "Batteries: scores",
    "coherence": "Runs tables and agents",  # AGENTS
    "coherence.analysis": "Analysis and report",
    "coherence.report": "Analysis and report",
    "coherence.result": "Analysis and report",
    "coherence.errors": "Analysis and report",
    "coherence.analysis.power": "Planning",
    "coherence.plots": "Plots",
    "bayesnets": "Networks and cases",
    "elicitation.batteries": "Batteries: questions",
    "elicitation.training": "Training",
    "elicitation.models": "Models",
    "elicitation.answers": "Models",
    "elicitation.simulated_model": "Models",
    "elicitation": "Asking",
}
PACKAGES = ("coherence", "coherence.batteries", "coherence.plots", "bayesnets", "elicitation")
_CODE = re.compile(r"(<pre><span></span><code>)(.*?)(</code></pre>)", re.DOTALL)
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")


def public_names() -> Iterator[tuple[str, str]]:
    """Yield each public name and the module that defines it.

    Yields
    ------
    tuple of str
        Such as ("coherence.cmi_test", "coherence.checks.cmi").
    """
    for package in PACKAGES:
        if find_spec(package) is None:
            continue
        module = import_module(package)
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            # A constant bears no module of its own: it belongs to the package.
            yield f"{package}.{name}", getattr(thing, "__module__", package)


def reference_pages() -> dict[str, tuple[str, str]]:
    """Return the generated pages of the reference.

    Returns
    -------
    dict
        Path of a page -> its title and its text.
    """
    parts: dict[str, list[str]] = defaultdict(list)
    for name, module in public_names():
        fits = [part for part in PARTS if f"{module}.".startswith(f"{part}.")]
        parts[PARTS[max(fits, key=len)]].append(name)
    pages = {}
    for title in dict.fromkeys(PARTS.values()):
        if names := parts.get(title):
            blocks = "".join(f"\n::: {name}\n" for name in sorted(names, key=str.casefold))
            slug = re.sub(r"\W+", "-", title.lower())
            pages[f"api/{slug}.md"] = (title, f"# {title}\n{blocks}")
    return pages


def on_config(config: Any) -> Any:
    """Add the generated pages of the reference to the nav."""
    for section in config["nav"]:
        for entries in section.values():
            if any(REFERENCE in entry for entry in entries):
                entries += [{title: page} for page, (title, _) in reference_pages().items()]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are not files of this folder."""
    from mkdocs.structure.files import File

    texts = {page: text for page, (_, text) in reference_pages().items()}
    for name, page in PAGES_FROM_ELSEWHERE.items():
        folder = Path(name).parent
        texts[page] = _LINK.sub(
            lambda link, folder=folder: _from_elsewhere(link, folder),
            (ROOT / name).read_text("utf-8"),
        )
    for page, text in texts.items():
        files.append(File.generated(config, page, content=text))
    return files


def page_from_elsewhere(path: str) -> str:
    """Return the page that is made of a file outside docs/.

    Parameters
    ----------
    path : str
        From the root of the repository.

    Returns
    -------
    str
        Path of the page; empty where there is none.
    """
    # Those of notebooks are made by site_notebooks.py.
    notebook = re.fullmatch(r"examples/(notebooks/\w+)\.ipynb", path)
    return f"{notebook[1]}.md" if notebook else PAGES_FROM_ELSEWHERE.get(path, "")


def _from_elsewhere(link: re.Match[str], folder: Path) -> str:
    """Rewrite a link of a file outside docs/ to one between pages."""
    _, text, target, anchor = link.groups()
    file = (ROOT / folder / target).resolve()
    # Code may look like a link, and leads to no file.
    if "//" in target or not file.is_file():
        return link[0]
    path = file.relative_to(ROOT).as_posix()
    page = path.removeprefix("docs/") if path.startswith("docs/") else page_from_elsewhere(path)
    if page:
        return f"[{text}]({page}{anchor or ''})"
    return f"{text} (`{path}`)"


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Lead links out of docs/ to the pages that stand for these files, or name the file."""
    if page.file.src_uri in PAGES_FROM_ELSEWHERE.values():
        return markdown
    return linked_within(markdown, page.file.src_uri)


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Let code and pictures that are wider than the page be scrolled by keys."""
    # The theme takes a tabindex of the block itself away.
    reachable = _CODE.sub(r'\1<span tabindex="0">\2</span>\3', html)
    return reachable.replace("<p><img ", '<p tabindex="0"><img ')


def linked_within(markdown: str, page: str) -> str:
    """Rewrite the links of a page that lead out of docs/.

    Parameters
    ----------
    markdown : str
        The page as it is read in the repository.
    page : str
        Its path in docs/.

    Returns
    -------
    str
        The page as the site needs it. A file that is no page of the site is named: the site has no
        address of the repository.
    """
    folder = ROOT / "docs" / Path(page).parent

    def within(link: re.Match[str]) -> str:
        image, text, target, anchor = link.groups()
        file = (folder / target).resolve()
        if image or "//" in target or not target.startswith("../") or not file.is_file():
            return link[0]
        if file.is_relative_to(ROOT / "docs"):
            return link[0]
        path = file.relative_to(ROOT).as_posix()
        made = page_from_elsewhere(path)
        if not made:
            return f"{text} (`{path}`)"
        up = "../" * (len(Path(page).parts) - 1)
        return f"[{text}]({up}{made}{anchor or ''})"

    return _LINK.sub(within, markdown)
