// Search as you type, keys, live changes, and the slow part of a page. Every page works without this script.
"use strict";
let newest = 0, pending, source, stale;
const one = (selector, inside = document) => inside.querySelector(selector);
const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
// The message of a form is about what was done just now: Back and a reload do not show it again.
const address = new URL(location);
for (const name of ["done", "undo", "sign"]) address.searchParams.delete(name);
if (one(".done")) history.replaceState(history.state, "", address);
let shown = location.href;
const report = (isAnswering) => document.body.classList.toggle("offline", !isAnswering);
async function load(address) {
  const answer = await fetch(address, { headers: { Accept: "text/html" } }).catch(() => null);
  report(answer);
  return answer?.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
}
async function complete() {
  const part = one("[data-later]");
  const page = part?.dataset.later && (await load(part.dataset.later));
  if (page) part.replaceChildren(...one("[data-later]", page).childNodes);
}

// Replace the live part of this page by that of an address, and show the address.
async function show(address, state = history.state) {
  const turn = ++newest;
  const page = await load(address);
  const now = one("[data-live]");
  const next = page && one("[data-live]", page);
  if (turn !== newest || !now || !next) return;
  const focused = now.contains(document.activeElement) && document.activeElement.getAttribute("href");
  one("[data-later]", next)?.replaceChildren(...(one("[data-later]", now)?.childNodes ?? []));
  now.replaceWith(next);
  if (focused) one(`[data-live] a[href="${CSS.escape(focused)}"]`)?.focus();
  document.title = page.title;
  // Back leaves a search as a whole, to the list before it.
  history[state?.isSearch && !history.state?.isSearch ? "pushState" : "replaceState"](state, "", address);
  shown = location.href;
  count();
  offer();
  complete();
}

document.addEventListener("input", ({ target }) => {
  if (target.matches("[data-all]")) for (const box of all("[name=id]")) box.checked = target.checked;
  if (target.matches("[type=checkbox]")) count();
  if (!target.matches("[data-search]") || location.pathname !== "/ui/notes") return;
  clearTimeout(pending);
  pending = setTimeout(() => show(`/ui/notes?${new URLSearchParams(new FormData(target.form))}`, { isSearch: true }), 120);
});
addEventListener("popstate", () => {
  clearTimeout(pending);
  if (location.href === shown || location.pathname !== "/ui/notes") return; // a link within the page
  one("[data-search]").value = new URLSearchParams(location.search).get("q") ?? "";
  show(location.href);
});

// Name the chosen notes in the bar that changes them.
function count() {
  const bar = one("#many output");
  if (!bar) return;
  const titles = all("[name=id]:checked").map((box) => one(".title", box.parentElement).textContent);
  const more = titles.length > 3 ? ` and ${titles.length - 3} more` : "";
  bar.textContent = `${titles.length} chosen: ${titles.slice(0, 3).join(", ")}${more}`;
  one("#many button").textContent = `Apply to ${titles.length} note${titles.length === 1 ? "" : "s"}`;
}

// What the user is doing. A refresh would discard it, so it waits.
const doing = "details[open]:not([data-first]), .told, .draft, input:checked, :is(input:not([type=checkbox]), textarea, select):focus";
function refresh() {
  if (!stale || one(`[data-live] :is(${doing})`) || !getSelection().isCollapsed) return;
  stale = false;
  show(location.href);
}
// A browser has six connections to a host for all of its tabs, so only visible tabs keep one.
function listen() {
  source?.close();
  const live = one("[data-live]");
  if (!live || document.hidden) return;
  source = new EventSource(`/ui/live?seen=${live.dataset.live}`);
  source.addEventListener("notes", () => (stale = true));
  source.onopen = source.onerror = () => report(source.readyState === EventSource.OPEN);
}
const row = () => document.activeElement.closest("[data-row]") ?? one("article[data-row]");
function step(by) {
  const titles = all("[data-row] a.title");
  titles[Math.min(titles.length - 1, Math.max(0, titles.indexOf(document.activeElement) + by))]?.focus();
}
const keys = {
  "/": () => one("[data-search]").focus(),
  j: () => step(1),
  k: () => step(-1),
  e: () => row()?.dataset.row && location.assign(`${row().dataset.row}/edit`),
  x: () => row() && one("input[type=checkbox]", row())?.click(),
  a: () => one("#many select")?.focus(),
};
document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("input:not([type=checkbox]), textarea, select");
  if (event.key === "Escape" && typing) event.target.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
  event.preventDefault();
  keys[event.key]();
});
const here = one("nav [aria-current]"); // on a phone it may be outside the screen
if (here) here.parentElement.scrollLeft = here.offsetLeft - 100;
document.addEventListener("visibilitychange", listen);
setInterval(refresh, 200);
listen();
complete();
