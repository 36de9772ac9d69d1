"""Makes a page of every notebook for the documentation site; `mkdocs.yml` names it as a hook.

Cells of text become Markdown, cells of code blocks of code. What a cell gave was written by a
program, some of it by a model: it never passes through Markdown, every text of it is escaped, of
tables nothing but rows and cells is kept, and pictures become files of their own.
"""

import base64
import json
import re
from collections.abc import Iterator
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "examples" / "notebooks"
PAGES = "notebooks"  # folder on the site
NAV = "Notebooks"

PICTURES = {"image/png": "png", "image/svg+xml": "svg"}
_KEPT = frozenset({"table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td"})
_SPANS = frozenset({"rowspan", "colspan"})
_HIDDEN = frozenset({"style", "script", "head", "title", "template"})
_CONTROL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
_FORMULA = re.compile(r"\$([^$\n]+)\$")


def notebooks() -> list[Path]:
    """Return the notebooks in the order of their numbers."""
    return sorted(FOLDER.glob("*.ipynb"))


def cells_of(path: Path) -> list[dict[str, Any]]:
    """Read the cells of a notebook."""
    cells: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return cells


def title_of(path: Path) -> str:
    """Return number and title of a notebook, such as "1 Is this agent rational?"."""
    heading = _text(cells_of(path)[0]["source"]).splitlines()[0]
    return f"{int(path.name[:2])} {heading.removeprefix('# ')}"


def page_text(path: Path) -> str:
    """Return a notebook as Markdown, with a place for what each cell of code gave.

    Parameters
    ----------
    path : Path
        The notebook.

    Returns
    -------
    str
        Text of a page.
    """
    parts = []
    for number, cell in enumerate(cells_of(path)):
        source = _text(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(_prose(source))
        elif cell["cell_type"] == "code":
            # As many marks as no line of the code begins with.
            fence = "`" * (2 + max([len(run) for run in re.findall(r"`+", source)], default=1))
            code = f"{fence}python\n{source}\n{fence}\n\n{_place(number)}"
            parts.append(_folded(code) if is_solution(cell) else code)
    download = f"[Download this notebook]({path.name}), with its outputs, to run or change it."
    heading, _, rest = parts[0].partition("\n")
    return "\n\n".join([heading, download, rest.strip(), *parts[1:]]) + "\n"


def is_solution(cell: dict[str, Any]) -> bool:
    """Tell whether a cell of code is part of the solution, and folded in Jupyter too."""
    return "solution" in cell.get("metadata", {}).get("tags", ())


def _folded(code: str) -> str:
    summary = "<summary>Code of the solution, and what it gives</summary>"
    return f'<details markdown="1">{summary}\n\n{code}\n\n</details>'


def _text(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)


def _place(number: int) -> str:
    return f'<div class="notebook-output" data-cell="{number}"></div>'


def _prose(source: str) -> str:
    """Turn a cell of text into what the site's Markdown knows."""
    text = re.sub(r"\]\((\w+)\.ipynb", r"](\1.md", source)
    text = re.sub(r'href="(\w+)\.ipynb', r'href="\1.html', text)
    text = text.replace("<details>", '<details markdown="1">')
    return _FORMULA.sub(_formula, text)


def _formula(match: re.Match[str]) -> str:
    """Write a formula of a line without the program that sets formulas."""
    text = re.sub(r"\\sqrt\{(\w+)\}", r"√\1", match[1])
    text = re.sub(r"\^(\w)", r"<sup>\1</sup>", text)
    if "\\" in text or "_" in text:
        raise ValueError(f"the site cannot set the formula {match[0]}; write it in words.")
    return f"<i>{text}</i>"


def pictures_of(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of every picture of a notebook.

    Parameters
    ----------
    path : Path
        The notebook.

    Yields
    ------
    tuple of str and bytes
        A name that is unique on the site.
    """
    for number, cell in enumerate(cells_of(path)):
        for position, output in enumerate(cell.get("outputs", [])):
            data = output.get("data", {})
            for kind, ending in PICTURES.items():
                if kind in data:
                    content = _text(data[kind])
                    name = f"{path.stem}-{number}-{position}.{ending}"
                    yield name, base64.b64decode(content) if ending == "png" else content.encode()
                    break


def outputs_of(path: Path) -> dict[str, str]:
    """Return what every cell of a notebook gave, as HTML.

    Parameters
    ----------
    path : Path
        The notebook.

    Returns
    -------
    dict
        Place in the page -> what stands there.
    """
    named = dict.fromkeys(name.rpartition(".")[0] for name, _ in pictures_of(path))
    figures = {stem: at for at, stem in enumerate(named, start=1)}
    shown = {}
    for number, cell in enumerate(cells_of(path)):
        if cell["cell_type"] == "code":
            parts = [
                _shown(output, f"{path.stem}-{number}-{position}", figures)
                for position, output in enumerate(cell["outputs"])
            ]
            inside = "".join(parts)
            shown[_place(number)] = f'<div class="notebook-output">{inside}</div>' if parts else ""
    return shown


def _shown(output: dict[str, Any], stem: str, figures: dict[str, int]) -> str:
    """Show one output: a picture, else a table, else its text."""
    data = output.get("data", {})
    for kind, ending in PICTURES.items():
        if kind in data:
            alt = f"Figure {figures[stem]} of this notebook, drawn by the code above"
            return f'<p tabindex="0"><img alt="{alt}" src="{stem}.{ending}"></p>'
    if "text/html" in data:
        table = Table(_text(data["text/html"])).markup
        if table:
            return table
    text = output.get("text", data.get("text/plain", output.get("traceback", "")))
    plain = escape(_CONTROL.sub("", _text(text)).rstrip("\n"))
    # What is wider than the page scrolls, by keys too.
    return f'<pre tabindex="0"><samp>{plain}</samp></pre>' if plain else ""


class Table(HTMLParser):
    """The tables of a text as markup that holds rows, cells and escaped text, and nothing else.

    Parameters
    ----------
    text : str
        HTML that is not trusted.
    """

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self._parts: list[str] = []
        self._open: list[str] = []
        self._hidden = 0
        self.feed(text)
        self.close()

    @property
    def markup(self) -> str:
        """All tables; empty where there is none."""
        return "".join([*self._parts, *(f"</{tag}>" for tag in reversed(self._open))])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the elements of a table, of their attributes spans alone."""
        self._hidden += tag in _HIDDEN
        if tag not in _KEPT or (tag != "table" and not self._open):
            return
        spans = [(name, value) for name, value in attrs if name in _SPANS]
        kept = "".join(f' {name}="{int(value)}"' for name, value in spans if str(value).isdigit())
        self._parts.append(f"<{tag}{kept}>")
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close what was opened."""
        self._hidden -= tag in _HIDDEN and self._hidden > 0
        if tag in self._open:
            closed = ""
            while closed != tag:
                closed = self._open.pop()
                self._close(closed)

    def _close(self, tag: str) -> None:
        # A corner of a table without a word heads nothing.
        if tag == "th" and self._parts[-1].startswith("<th"):
            self._parts[-1], tag = self._parts[-1].replace("<th", "<td"), "td"
        self._parts.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        """Keep the text of cells."""
        if self._open and not self._hidden:
            self._parts.append(escape(_CONTROL.sub("", data)))


def on_config(config: Any) -> Any:
    """Add the notebooks to the nav, behind its first part."""
    pages = [{title_of(path): f"{PAGES}/{path.stem}.md"} for path in notebooks()]
    config["nav"] = [*config["nav"][:1], {NAV: pages}, *config["nav"][1:]]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add a page, the pictures and the notebook itself."""
    from mkdocs.structure.files import File

    for path in notebooks():
        contents: dict[str, str | bytes] = {
            f"{path.stem}.md": page_text(path),
            path.name: path.read_bytes(),
            **dict(pictures_of(path)),
        }
        for name, content in contents.items():
            files.append(File.generated(config, f"{PAGES}/{name}", content=content))
    return files


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Put what cells gave into the places that were left for it."""
    folder, _, name = page.file.src_uri.rpartition("/")
    if folder != PAGES:
        return html
    for place, shown in outputs_of(FOLDER / f"{name.removesuffix('.md')}.ipynb").items():
        if html.count(place) != 1:
            raise ValueError(f"{page.file.src_uri} has no single place {place}.")
        html = html.replace(place, shown)
    return html
