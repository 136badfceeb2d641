// Search as you type, keys, live changes, and the part of a page that takes longer. Every page works without this.
"use strict";

let newest = 0;
let pending, typed;

const one = (selector, inside = document) => inside.querySelector(selector);

async function load(address) {
  const answer = await fetch(address, { headers: { Accept: "text/html" } });
  return answer.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
}

async function complete() {
  const part = one("[data-later]");
  const page = part?.dataset.later && (await load(part.dataset.later));
  if (page) part.replaceChildren(...one("[data-later]", page).childNodes);
}

// Replace the live part of this page by that of an address, which is shown then.
async function show(address) {
  const turn = ++newest;
  const page = await load(address);
  const now = one("[data-live]");
  const next = page && one("[data-live]", page);
  if (turn !== newest || !now || !next) return;
  const focused = document.activeElement?.getAttribute("href");
  one("[data-later]", next)?.replaceChildren(...(one("[data-later]", now)?.childNodes ?? []));
  now.replaceWith(next);
  if (focused) one(`[data-live] a[href="${CSS.escape(focused)}"]`)?.focus();
  document.title = page.title;
  history.replaceState(null, "", address);
  complete();
}

document.addEventListener("input", (event) => {
  typed ||= event.target.matches("[data-keep]"); // not lost by a slip
  if (!event.target.matches("[data-search]") || location.pathname !== "/ui/notes") return;
  clearTimeout(pending);
  pending = setTimeout(() => show(`/ui/notes?${new URLSearchParams(new FormData(event.target.form))}`), 120);
});
addEventListener("submit", () => (typed = false));
addEventListener("beforeunload", (event) => typed && event.preventDefault());

// What somebody is in the middle of: a new page would take it away.
const busy = "[data-live] details[open], input[type=checkbox]:checked, :is(input, textarea, select):focus";
const seen = one("[data-live]")?.dataset.live;
if (seen) new EventSource(`/ui/live?seen=${seen}`).addEventListener("notes", () => one(busy) || show(location.href));
complete();

const row = () => document.activeElement.closest("[data-row]") ?? one("article[data-row]");

function step(by) {
  const titles = [...document.querySelectorAll("[data-row] a.title")];
  titles[Math.min(titles.length - 1, Math.max(0, titles.indexOf(document.activeElement) + by))]?.focus();
}

const keys = {
  "/": () => one("[data-search]").focus(),
  j: () => step(1),
  k: () => step(-1),
  e: () => row()?.dataset.row && location.assign(`${row().dataset.row}/edit`),
  x: () => row() && one("input[type=checkbox]", row())?.click(),
};

document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("input:not([type=checkbox]), textarea, select");
  if (event.key === "Escape" && typing) event.target.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
  event.preventDefault();
  keys[event.key]();
});
