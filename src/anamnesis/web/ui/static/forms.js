// Sends forms, and keeps what is typed in this browser until it is saved. Forms work without this script, but keep nothing.
"use strict";
let isUnkept = false;
const DRAFT = "anamnesis draft ";
const offline = "There was no answer, so this is probably not saved. It is still here: send it again when the server runs.";
const loggedOut = "Your login has ended, so nothing was saved. It is still here: log in in another tab, and send it again.";

const made = (name, properties, ...parts) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...parts);
  return element;
};
const button = (text, onclick) => made("button", { type: "button", textContent: text, onclick });
const target = (form) => form.getAttribute("action");
const keeps = (form) => form && one("[data-keep]", form);
// A browser may deny its storage.
const store = (work) => { try { return work(); } catch { return null; } };
const forget = (key) => store(() => localStorage.removeItem(key));
const kept = () => store(() => Object.keys(localStorage).filter((key) => key.startsWith(DRAFT)).sort()) ?? [];

// Replace the message at a form. What was typed stays in the form.
function tell(form, text, link) {
  all(".told").forEach((each) => each.remove());
  const parts = link ? [" ", made("a", { href: link, target: "_blank", textContent: "Log in" })] : [];
  const told = made("section", { className: "attention told", role: "alert" }, made("p", {}, text, ...parts));
  form.before(told);
  told.scrollIntoView({ block: "nearest" });
}

async function send(form, pressed) {
  const body = new URLSearchParams(new FormData(form, pressed));
  const headers = { Accept: "application/json" };
  const answer = await fetch(target(form), { method: "POST", body, headers }).catch(() => null);
  report(answer);
  if (!answer) return tell(form, offline);
  if (answer.status === 401) return tell(form, loggedOut, "/ui/login");
  if (!answer.headers.get("content-type")?.startsWith("application/json")) return showAgain(form, await answer.text());
  const { page, error, hint } = await answer.json();
  if (!page) return tell(form, [error, hint].filter(Boolean).join(" "));
  forget(form.dataset.draft);
  isUnkept = false;
  location.assign(page);
  return true;
}

// The form again, with the reason why it could not be saved, or a preview.
function showAgain(form, text) {
  const { draft } = form.dataset;
  one("main").replaceChildren(...one("main", new DOMParser().parseFromString(text, "text/html")).childNodes);
  const again = all("main form").find((each) => target(each) === target(form));
  if (draft) again.dataset.draft = draft;
  if (draft) keep(again);
  offer();
  one("main").focus();
  scrollTo(0, 0);
  one(".preview")?.scrollIntoView({ block: "nearest" });
}

// What a person types, and the text that the form was opened with.
const inputsOf = (form) => [...form.elements].filter(({ name, type }) => name === "base" || (name && !/hidden|submit/.test(type)));
const differs = (form, fields, property) => inputsOf(form).some((each) => each.name !== "base"
  && each.name in fields && fields[each.name] !== (property === "defaultValue" && each.matches("select")
    ? [...each.options].find((option) => option.defaultSelected)?.value ?? each.value : each[property]));

function keep(form) {
  form.dataset.draft ||= `${DRAFT}${Date.now()} ${Math.random()}`;
  const fields = Object.fromEntries(inputsOf(form).map(({ name, value }) => [name, value]));
  const draft = { action: target(form), page: location.pathname, title: document.title, at: Date.now(), fields };
  // Without room for it, warn before it is lost.
  isUnkept = !store(() => (localStorage.setItem(form.dataset.draft, JSON.stringify(draft)), true));
}
function fill(form, key, fields) {
  for (const each of inputsOf(form)) if (each.name in fields) each.value = fields[each.name];
  form.dataset.draft = key;
}

// Offer the drafts of this page, and on the home page those of all pages.
function offer() {
  all(".draft").forEach((each) => each.remove());
  for (const key of kept()) {
    const { action, page, title, at, fields } = JSON.parse(localStorage.getItem(key));
    const form = all("main form").find((each) => target(each) === action && keeps(each));
    if (form?.dataset.draft === key || (!form && page !== location.pathname && location.pathname !== "/ui/")) continue;
    if (form && !differs(form, fields, "defaultValue")) forget(key);
    else if (form && !differs(form, fields, "value")) fill(form, key, fields); // the browser has restored it
    else notice(key, form, page, `Not saved: ${title}, ${new Date(at).toLocaleString()}.`, fields);
  }
}
function notice(key, form, page, said, fields) {
  const texts = Object.entries(fields).filter(([name, value]) => name !== "base" && value).map(([, value]) => value);
  const shown = made("section", { className: "attention draft" }, made("p", {}, said),
    made("details", {}, made("summary", {}, "The text"), made("pre", { tabIndex: 0 }, texts.join("\n"))));
  const put = () => (fill(form, key, fields), one("details", form)?.setAttribute("open", ""), shown.remove());
  const drop = () => (forget(key), shown.remove());
  const open = page === location.pathname ? [] : [made("a", { href: page, textContent: "Open its page" })];
  const acts = [...(form ? [button("Put it into the form", put)] : open), button("Discard it", drop)];
  shown.append(made("p", { className: "inline" }, ...acts));
  if (form) form.before(shown);
  else one("main").prepend(shown);
}

document.addEventListener("input", ({ target: { form } }) => keeps(form) && keep(form));
addEventListener("beforeunload", (event) => isUnkept && event.preventDefault());
document.addEventListener("submit", async (event) => {
  if (event.target.method !== "post" || !event.target.closest("main")) return;
  event.preventDefault();
  const { classList } = document.body;
  if (classList.contains("sending")) return; // a second click
  classList.add("sending");
  const isDone = await send(event.target, event.submitter).catch(() => false);
  if (!isDone) classList.remove("sending"); // else when the next page is here
});
addEventListener("pageshow", () => document.body.classList.remove("sending"));
offer();
