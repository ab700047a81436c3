// Comfort on top of pages that work without script: local times, keys, copied links, live progress, dropped files.
const $ = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

function localTimes(root) {
  for (const time of all("time[datetime]", root)) {
    const moment = new Date(time.dateTime);
    if (!Number.isNaN(moment.valueOf())) time.title = `${moment.toLocaleString()} here`;
  }
}

// ---- keys

const help = $("#keys-help");
const listed = () => all("[data-item]");
const current = () => $("[data-item].current");

function move(by) {
  const items = listed();
  if (!items.length) return;
  const at = items.indexOf(current());
  const next = items[Math.min(items.length - 1, Math.max(0, at < 0 ? (by > 0 ? 0 : items.length - 1) : at + by))];
  current()?.classList.remove("current");
  next.classList.add("current");
  next.scrollIntoView({ block: "nearest" });
  $("a", next)?.focus({ preventScroll: true });
}

function follow(selector) {
  const link = $(selector);
  if (link) link.click();
}

// In a log the findings of the window come first; behind its last, and everywhere else, a link leads on.
function finding(by) {
  const here = Number(/^#L(\d+)/.exec(location.hash)?.[1] ?? 0);
  const lines = all("li[data-finding]").map((line) => Number(line.id.slice(1)));
  const next = by > 0 ? lines.find((line) => line > here) : lines.findLast((line) => line < here);
  if (next) location.hash = `#L${next}`;
  else follow(by > 0 ? "[data-next-finding]" : "[data-previous-finding]");
}

async function copyLink() {
  const item = current();
  const address = item ? $("a", item).href : location.href;
  try {
    await navigator.clipboard.writeText(address);
    say("Link copied");
  } catch {
    say(`Copy this: ${address}`);
  }
}

function say(text) {
  const place = $("#said");
  if (place) place.textContent = text;
}

const KEYS = {
  "/": () => $("[data-search]")?.focus(),
  j: () => move(1),
  k: () => move(-1),
  e: () => finding(1),
  E: () => finding(-1),
  v: () => $("[data-verify]")?.click(),
  y: copyLink,
  "?": () => help?.showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help?.open) return;
  if (event.target.closest("input, select, textarea")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const run = KEYS[event.key];
  if (!run) return;
  event.preventDefault();
  run();
});
$("#keys-open")?.addEventListener("click", () => help.showModal());

// ---- a form is sent once

document.addEventListener("submit", (event) => {
  const button = $("button[type=submit], button:not([type])", event.target);
  if (button && event.target.method === "post") setTimeout(() => { button.disabled = true; });
});

// ---- filters apply themselves

for (const choice of all("form.filters select")) choice.addEventListener("change", () => choice.form.requestSubmit());

// ---- live progress: the server's events say when there is something to fetch; polling goes on without them

function stream(live) {
  const advance = () => {
    const now = document.getElementById(live.id);
    if (now) window.htmx.trigger(now, "advance");
  };
  const events = new EventSource(live.dataset.events);
  events.addEventListener("progress", (event) => {
    advance();
    if (JSON.parse(event.data).is_over) events.close();
  });
  // A proxy that lets no stream through: the browser does not try again, so the page asks by itself.
  events.addEventListener("error", () => { if (events.readyState === EventSource.CLOSED) setInterval(advance, 2000); });
}

// ---- lines of a log by the part of the address behind #: #L10 or #L10-L20

function wantedLines() {
  const found = /^#L(\d+)(?:-L?(\d+))?$/.exec(location.hash);
  const lines = $("[data-lines]");
  if (!found || !lines) return;
  const [first, last] = [Number(found[1]), Number(found[2] || found[1])];
  const [from, to] = lines.dataset.lines.split("-").map(Number);
  if (first < from || first > to) {
    const address = new URL(location.href);
    address.searchParams.set("from", Math.max(1, first - 20));
    location.replace(address);
    return;
  }
  for (const line of all("li[id^=L]", lines)) {
    const number = Number(line.id.slice(1));
    line.classList.toggle("wanted", number >= first && number <= last);
  }
  $(`#L${first}`)?.scrollIntoView({ block: "center" });
}
window.addEventListener("hashchange", wantedLines);
for (const link of all("[data-lines] .n")) {
  link.addEventListener("click", (event) => {
    const start = /^#L(\d+)/.exec(location.hash);
    if (!event.shiftKey || !start) return;
    event.preventDefault();
    const ends = [Number(start[1]), Number(link.parentElement.id.slice(1))].sort((a, b) => a - b);
    location.hash = `#L${ends[0]}-L${ends[1]}`;
  });
}

// ---- files may be dropped

for (const area of all(".drop")) {
  const input = $("input[type=file]", area);
  area.addEventListener("dragover", (event) => { event.preventDefault(); area.classList.add("over"); });
  area.addEventListener("dragleave", () => area.classList.remove("over"));
  area.addEventListener("drop", (event) => {
    event.preventDefault();
    area.classList.remove("over");
    if (!event.dataTransfer.files.length) return;
    input.files = event.dataTransfer.files;
    area.closest("form").requestSubmit();
  });
}

localTimes(document);
document.addEventListener("htmx:load", (event) => localTimes(event.detail.elt));
wantedLines();
for (const live of all("[data-events]")) stream(live);
