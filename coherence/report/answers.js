"use strict";
// Filters rows by numbers of labels and by text, and sorts tables by a column. What a page holds is
// untrusted: it is compared as text, and never becomes markup.
(() => {
  const bar = document.querySelector(".filters");
  const lower = (element) => element.textContent.toLowerCase();
  const all = (what, within = document) => Array.from(within.querySelectorAll(what));
  const cases = new Map(
    all("section.case").map((section) => [section, all(".about", section).map(lower).join("\n")])
  );
  const rows = all(".cases tbody tr, .case tbody tr").map((row) => ({
    row,
    section: row.closest("section.case"),
    text: lower(row),
  }));

  function hasLabel({ row, section }, { name, value }) {
    const numbers = row.dataset[name] ?? section?.dataset[name] ?? "";
    return numbers.split(" ").includes(value);
  }

  function filter() {
    const wanted = all("select", bar).filter((select) => select.value);
    const text = bar.querySelector("input").value.trim().toLowerCase();
    const shown = rows.filter((item) => {
      const said = item.text.includes(text) || cases.get(item.section)?.includes(text);
      item.row.hidden = !(said && wanted.every((select) => hasLabel(item, select)));
      return !item.row.hidden;
    });
    const left = new Set(shown.map((item) => item.section));
    for (const section of cases.keys()) section.hidden = !left.has(section);
    const of = cases.size ? `${left.size} of ${cases.size} cases on this page, ` : "";
    bar.querySelector("output").textContent = `${of}${shown.length} of ${rows.length} rows`;
  }

  function compare(a, b) {
    const [x, y] = [a, b].map((text) => Number(text.replace(/^[×+]\s*/, "")));
    return Number.isNaN(x - y) ? a.localeCompare(b, undefined, { numeric: true }) : x - y;
  }

  function sort(heading) {
    const direction = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const other of heading.parentNode.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
    const body = heading.closest("table").tBodies[0];
    const cell = (row) => row.cells[heading.cellIndex];
    const text = (row) => cell(row).dataset.sort ?? cell(row).firstChild.textContent.trim();
    const unknown = (row) => text(row) === "–"; // last in both directions
    const order = (a, b) => unknown(a) - unknown(b) || direction * compare(text(a), text(b));
    body.append(...Array.from(body.rows).sort(order));
  }

  for (const heading of all(".cases thead th, .case thead th")) {
    const button = document.createElement("button");
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sort(heading));
    heading.append(button);
  }
  bar.addEventListener("input", filter);
  bar.hidden = false;
  filter();
})();
