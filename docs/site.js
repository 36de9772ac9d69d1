// What the theme's own script adds to a page: bars of buttons get a name, so that no two landmarks
// are alike, and what is wider than the page can be scrolled by keys.
let blocks = 0;

function mend() {
  for (const bar of document.querySelectorAll(".md-code__nav:not([aria-label])")) {
    bar.setAttribute("aria-label", `Block of code ${++blocks}`);
  }
  for (const wide of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) {
    wide.tabIndex = 0;
  }
}

new MutationObserver(mend).observe(document.documentElement, { childList: true, subtree: true });
