"""Makes handout, slides, and copies without solutions of the notebooks; a hook of `mkdocs.yml`.

Headings, questions, pictures and exercises are those of the notebooks. Nothing is shown of code and
of what it printed, which may be text of a model. The handout is one page of A4; slides are
turned by the arrow keys, and printed one to a page. Both load nothing but pictures of the site.
"""

import json
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import markdown
import site_notebooks as notebooks

LECTURE = {"01": 0, "02": 0, "03": 0, "08": 1}
"""Number of a notebook that is shown, see teaching.md, and which of its pictures the handout has.
The others are homework."""
LIMITS = "What the test does not say"  # the part of a notebook that the handout has too
MOST = 620  # characters of a slide
FOLDER = "teaching"
TITLE = "Could the number that a model states be the belief it acts on?"
_LINKS = (
    f'Print the <a href="{FOLDER}/handout.html">one-page handout</a>, and show the '
    f'<a href="{FOLDER}/slides.html">slides</a> (arrow keys): both are made of the notebooks.'
)
_WITHOUT = "The site has each without its solution."  # of the page on teaching
_STYLE = """
* { box-sizing: border-box }
body { font-family: system-ui, sans-serif; color: #111; background: #fff; margin: 0 }
h1, h2, h3, p, ul, ol { margin: 0 0 .4em }
img { max-width: 100%; object-fit: contain }
code { font-family: ui-monospace, monospace; font-size: .92em }
"""
_SLIDES = """
section { height: 100vh; padding: 4vh 5vw; display: none; flex-direction: column; gap: 1vh }
section.shown { display: flex }
section > img { flex: 1; min-height: 0; align-self: center }
section.title { justify-content: center }
h1 { font-size: 6vh } h2 { font-size: 4.6vh } p, li { font-size: 3.9vh; line-height: 1.35 }
section:not(:has(img)) :is(p, li) { font-size: 4.6vh }
img ~ p { font-size: 2.7vh }
footer { margin-top: auto; font-size: 1.8vh; color: #555 }
@page { size: 297mm 167mm; margin: 0 }
@media print { section { display: flex; break-after: page } }
"""
_KEYS = """
const slides = [...document.querySelectorAll("section")];
let at = Math.min(Math.max(parseInt(location.hash.slice(1)) || 1, 1), slides.length) - 1;
function show(to) {
  at = Math.min(Math.max(to, 0), slides.length - 1);
  slides.forEach((slide, n) => slide.classList.toggle("shown", n === at));
  history.replaceState(null, "", "#" + (at + 1));
}
addEventListener("keydown", (event) => {
  const steps = {ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1,
                 PageUp: -1, Home: -slides.length, End: slides.length};
  if (event.key in steps) { event.preventDefault(); show(at + steps[event.key]); }
});
addEventListener("click", () => show(at + 1));
show(at);
"""
_HANDOUT = """
body { width: 194mm; margin: 0 auto; padding: 2mm 0; font-size: 8.3pt; line-height: 1.28 }
h1 { font-size: 14pt } h2 { font-size: 10pt; margin-bottom: .2em } p { margin-bottom: .3em }
main { display: grid; grid-template-columns: 1fr 1fr; gap: 3mm 6mm }
article { break-inside: avoid } article img { display: block; max-height: 45mm; margin: 1mm auto }
aside { border-top: .4pt solid #888; margin-top: 2mm; padding-top: 2mm }
aside.homework { columns: 2; column-gap: 6mm } aside.homework div { break-inside: avoid }
ul { padding-left: 1.2em }
@page { size: A4; margin: 7mm }
"""


def _html(text: str) -> str:
    """Turn text of a notebook into HTML without links."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", notebooks._FORMULA.sub(_formula, text))
    return markdown.markdown(plain)


def _formula(match: re.Match[str]) -> str:
    return notebooks._formula(match)


Block = tuple[str, bool]
"""A paragraph, or the name of a picture; and whether it is a picture."""


def _sections(path: Path) -> Iterator[tuple[str, list[Block]]]:
    """Yield heading and blocks of each part of a notebook but the solution."""
    heading, blocks = notebooks.title_of(path), []
    named = dict.fromkeys(name for name, _ in notebooks.pictures_of(path))
    for number, cell in enumerate(notebooks.cells_of(path)):
        if cell["cell_type"] == "code":
            stem = f"{path.stem}-{number}-"
            blocks += [(name, True) for name in named if name.startswith(stem)]
            continue
        for text in re.split(r"\n\s*\n", notebooks._text(cell["source"]).strip()):
            if text.startswith("## "):
                yield heading, blocks
                heading, blocks = text.splitlines()[0][3:], []
                if heading == "Solution":
                    return
            elif not text.startswith(("# ", "```")):
                blocks.append((text, False))


def question_of(path: Path) -> str:
    """Return the question that a notebook opens with, as HTML."""
    _, blocks = next(_sections(path))
    return _html(blocks[0][0].removeprefix("**The question.** "))


def _figures(blocks: list[Block]) -> Iterator[tuple[list[str], str, str]]:
    """Yield paragraphs, the picture behind them, and the paragraph behind that; "" for none."""
    before: list[str] = []
    at = 0
    while at < len(blocks):
        content, is_picture = blocks[at]
        at += 1
        if not is_picture:
            before.append(content)
            continue
        caption = ""
        if at < len(blocks) and not blocks[at][1]:
            caption, at = blocks[at][0], at + 1
        yield before, content, caption
        before = []
    if before:
        yield before, "", ""


def _image(name: str, heading: str) -> str:
    alt = escape(f"Figure of the notebook on: {heading}", quote=True)
    return f'<img src="../{notebooks.PAGES}/{name}" alt="{alt}">'


def _slides_of(path: Path) -> Iterator[str]:
    """Yield the slides of a notebook: question, parts, exercise."""
    title = escape(notebooks.title_of(path))
    footer = f"<footer>{title}</footer>"
    yield f'<section class="title"><h1>{title}</h1>{question_of(path)}</section>'
    for number, (heading, blocks) in enumerate(_sections(path)):
        head = f"<h2>{escape(heading)}</h2>"
        for before, picture, caption in _figures(blocks):
            if number > 0 and before:
                # As much as an audience reads: a notebook has more.
                shown = before[:2] if sum(map(len, before[:2])) < MOST else before[:1]
                yield f"<section>{head}{''.join(map(_html, shown))}{footer}</section>"
            if picture:
                image = f"{_image(picture, heading)}{_html(caption)}"
                yield f"<section>{head}{image}{footer}</section>"


def slides() -> str:
    """Return the slides as one page.

    Returns
    -------
    str
        HTML.
    """
    paths = {path.name[:2]: path for path in notebooks.notebooks()}
    parts = [f'<section class="title"><h1>{TITLE}</h1></section>']
    for number in LECTURE:
        parts += _slides_of(paths[number])
    for number in sorted(paths.keys() - LECTURE.keys()):
        path = paths[number]
        head = f"<h2>{escape(notebooks.title_of(path))}</h2>{question_of(path)}"
        parts.append(f"<section>{head}<footer>Homework</footer></section>")
    return _page(TITLE, _STYLE + _SLIDES, f"{''.join(parts)}<script>{_KEYS}</script>")


def handout() -> str:
    """Return the handout, which is printed on one page.

    Returns
    -------
    str
        HTML.
    """
    lecture, homework, limits = [], [], ""
    for path in notebooks.notebooks():
        head = f"<h2>{escape(notebooks.title_of(path))}</h2>{question_of(path)}"
        if (number := path.name[:2]) not in LECTURE:
            homework.append(f"<div>{head}</div>")
            continue
        figures = []
        for heading, blocks in _sections(path):
            figures += [
                f"{_image(picture, heading)}{_html(caption)}"
                for _, picture, caption in _figures(blocks)
                if picture
            ]
            if heading == LIMITS:
                limits = f"<h2>{heading}</h2>" + "".join(_html(text) for text, _ in blocks)
        lecture.append(f"<article>{head}{figures[LECTURE[number]]}</article>")
    body = (
        f"<h1>{TITLE}</h1><main>{''.join(lecture)}</main><aside>{limits}</aside>"
        f'<aside class="homework">{"".join(homework)}</aside>'
    )
    return _page(TITLE, _STYLE + _HANDOUT, body)


def without_solution(path: Path) -> tuple[str, str]:
    """Return the name of a notebook, and its text up to the solution, which ends it."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    texts = [notebooks._text(cell["source"]) for cell in notebook["cells"]]
    end = next(at for at, text in enumerate(texts) if text.startswith("## Solution\n"))
    return path.name, json.dumps(notebook | {"cells": notebook["cells"][:end]}, indent=1) + "\n"


def _page(title: str, style: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{style}</style></head><body>{body}</body></html>\n"
    )


def on_files(files: Any, config: Any) -> Any:
    """Add both pages, which stand outside the theme, and the copies of the notebooks."""
    from mkdocs.structure.files import File

    pages = {"slides.html": slides(), "handout.html": handout()}
    for name, content in (pages | dict(map(without_solution, notebooks.notebooks()))).items():
        files.append(File.generated(config, f"{FOLDER}/{name}", content=content))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Lead to all from the page on teaching: in the repository they are not there."""
    if page.file.src_uri != "teaching.md":
        return markdown
    names = [path.name for path in notebooks.notebooks()]
    copies = [f'<a href="{FOLDER}/{name}" download>{int(name[:2])}</a>' for name in names]
    markdown = markdown.replace(_WITHOUT, f"Without solutions: {', '.join(copies)}.", 1)
    return markdown.replace("\n## The lecture\n", f"\n## The lecture\n\n{_LINKS}\n", 1)
