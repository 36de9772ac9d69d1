"""Makes copies without solutions of the notebooks; a hook of `mkdocs.yml`."""

import json
from pathlib import Path
from typing import Any

import site_notebooks as notebooks

FOLDER = "teaching"
_WITHOUT = "which also has files without solutions"  # of the page on teaching


def without_solution(path: Path) -> tuple[str, str]:
    """Return the name of a notebook, and its text up to the solution, which ends it."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    texts = [notebooks._text(cell["source"]) for cell in notebook["cells"]]
    end = next(at for at, text in enumerate(texts) if text.startswith("## Solution\n"))
    return path.name, json.dumps(notebook | {"cells": notebook["cells"][:end]}, indent=1) + "\n"


def on_files(files: Any, config: Any) -> Any:
    """Add the copies."""
    from mkdocs.structure.files import File

    for name, content in map(without_solution, notebooks.notebooks()):
        files.append(File.generated(config, f"{FOLDER}/{name}", content=content))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Lead to them from the page on teaching: in the repository they are not there."""
    if page.file.src_uri != "teaching.md":
        return markdown
    names = [path.name for path in notebooks.notebooks()]
    copies = [f'<a href="{FOLDER}/{name}" download>{int(name[:2])}</a>' for name in names]
    return markdown.replace(_WITHOUT, f"{_WITHOUT}: {', '.join(copies)}", 1)
