"""Hold that a built site loads nothing from outside: python docs/check_site.py FOLDER.

Links may lead anywhere; what a browser fetches by itself (scripts, style sheets, pictures, fonts,
frames) must lie in the folder.
"""

import re
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path

# Elements whose addresses are fetched without a click, and relations of <link> that are not.
ELEMENT = re.compile(
    r"<(?:audio|embed|iframe|image|img|input|link|object|script|source|track|use|video)\b[^>]*>",
    re.IGNORECASE,
)
ADDRESS = re.compile(r"\s(?:src|srcset|href|xlink:href|data|poster)\s*=\s*[\"']?([^\"'\s>]+)")
NOT_FETCHED = re.compile(
    r"\brel=[\"']?(?:alternate|author|canonical|edit|license|next|prev|search)"
)
STYLE = re.compile(r"<style\b.*?</style>|\sstyle=\"[^\"]*\"", re.DOTALL | re.IGNORECASE)
IN_STYLE = re.compile(r"url\(\s*[\"']?([^\"')]+)|@import\s+[\"']([^\"']+)")
OUTSIDE = re.compile(r"^\s*(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)


def addresses(path: Path) -> Iterator[str]:
    """Yield what one file of the site makes a browser fetch."""
    text = path.read_text(encoding="utf-8")
    styles = [text] if path.suffix == ".css" else STYLE.findall(text)
    yield from (a or b for style in styles for a, b in IN_STYLE.findall(style))
    for element in ELEMENT.findall(text) if path.suffix != ".css" else ():
        if not (element.startswith("<link") and NOT_FETCHED.search(element)):
            yield from map(unescape, ADDRESS.findall(element))


def faults(site: Path) -> Iterator[str]:
    """Yield a line for every address that lies outside, or nowhere."""
    for path in sorted([*site.rglob("*.html"), *site.rglob("*.css"), *site.rglob("*.svg")]):
        for address in addresses(path):
            name = f"{path.relative_to(site)}: {address}"
            if OUTSIDE.match(address):
                yield f"{name} is fetched from outside"
            elif not address.startswith(("data:", "#")):
                # 404.html is shown at any depth, so that its addresses begin at the root.
                folder = site if address.startswith("/") else path.parent
                if not (folder / address.lstrip("/").split("#")[0].split("?")[0]).exists():
                    yield f"{name} is not there"


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    wrong = [*faults(folder)] if any(folder.rglob("*.html")) else [f"{folder} holds no page"]
    print("\n".join(wrong), file=sys.stderr)
    sys.exit(bool(wrong))
