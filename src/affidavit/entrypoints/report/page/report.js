"use strict";
// Everything from the data reaches the page as text nodes and attributes set here; nothing is ever parsed as markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const levels = data.severities;
  const CHUNK = 150;
  const CHAINS = 8;
  // More than this on paper helps nobody: a longer list is printed in short.
  const PRINTED_OPEN = 60;
  const $ = (id) => document.getElementById(id);

  function el(tag, properties, ...children) {
    const node = document.createElement(tag);
    fill(node, properties);
    node.append(...children.filter((child) => typeof child === "string" ? child !== "" : child instanceof Node));
    return node;
  }

  function svg(tag, properties, ...children) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    fill(node, properties);
    node.append(...children);
    return node;
  }

  function fill(node, properties) {
    for (const [name, value] of Object.entries(properties || {})) {
      if (name === "on") for (const [event, run] of Object.entries(value)) node.addEventListener(event, run);
      else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
    }
  }

  // ---- words

  const iso = (ms) => new Date(ms).toISOString();
  const moment = (ms) => (ms === null ? "time unknown" : iso(ms).slice(0, 19).replace("T", " "));
  const number = (value) => value.toLocaleString("en-US");
  const counted = (value, one, many) => `${number(value)} ${value === 1 ? one : many || one + "s"}`;

  function span(first, last) {
    if (first === null || last === null) return "time unknown";
    const [from, to] = [moment(first), moment(last)];
    if (from === to) return from;
    return `${from} → ${from.slice(0, 10) === to.slice(0, 10) ? to.slice(11) : to}`;
  }

  function size(bytes) {
    if (bytes < 1000) return `${bytes} B`;
    return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
  }

  const level = (rank) => el("span", { class: `level s${rank}` }, levels[rank]);

  // ---- the findings as objects

  const { rules, components, files, notes } = data.tables;
  const findings = data.findings.map((row, at) => {
    const entry = { at };
    data.columns.forEach((column, place) => { entry[column] = row[place]; });
    entry.rule = rules[entry.rule];
    entry.component = components[entry.component];
    entry.file = files[entry.file];
    entry.note = notes[entry.note];
    const [excerpt, isCut] = data.excerpts[at] || [null, 0];
    entry.excerpt = excerpt;
    entry.isCut = isCut === 1;
    entry.detail = data.details[at] || null;
    entry.place = `${entry.file}:${entry.line === null ? "?" : entry.line}`;
    entry.hay = [entry.id, entry.rule.name, entry.rule.id, entry.component, entry.place, excerpt || ""].join("\n").toLowerCase();
    return entry;
  });
  const byId = new Map(findings.map((finding) => [finding.id, finding]));
  const timed = findings.filter((finding) => finding.first !== null && finding.last !== null);
  const times = timed.length ? [
    timed.reduce((least, finding) => Math.min(least, finding.first), Infinity),
    timed.reduce((most, finding) => Math.max(most, finding.last), -Infinity),
  ] : null;

  // Trouble begins with the first finding of medium or above: a note of the last boot is no beginning.
  const serious = timed.filter((finding) => finding.severity <= 2);
  const began = serious.length ? serious.reduce((least, finding) => Math.min(least, finding.first), Infinity) : times && times[0];

  function citation(finding) {
    const bytes = finding.start === null ? "" : ` bytes ${finding.start}-${finding.end}`;
    const digest = finding.sha256 === null ? "" : ` sha256 ${finding.sha256}`;
    return `${finding.id} ${finding.rule.name} — ${finding.place}${bytes}${digest} (index ${data.head.indexId})`;
  }

  // ---- head, verdicts, chains

  function drawHead() {
    const head = data.head;
    const fact = (name, value) => value && el("div", null, el("dt", null, name), el("dd", { class: "isolated" }, value));
    const counts = head.counts.map((count, rank) => el("li", { class: `level ${count ? `s${rank}` : "none"}` }, `${number(count)} ${levels[rank]}`));
    $("head").append(
      el("h1", null, `Node ${head.instance}`),
      el("dl", { class: "facts" },
        fact("Bundle", head.bundle),
        fact("Collected", head.collected === null ? `unknown (${head.collectedFrom})` : `${moment(head.collected)} UTC (${head.collectedFrom})`),
        fact("Booted", head.booted === null ? "" : `${moment(head.booted)} UTC`),
        fact("Index", head.indexId),
        fact("Rules", head.rules),
        fact("Findings began", times && `${moment(began)} UTC`),
        fact("last seen", times && `${moment(times[1])} UTC`),
        fact("Archive sha256", head.sha256)),
      el("ul", { class: "counts", "aria-label": "Findings by severity" }, ...counts),
      ...(head.incomplete ? [el("p", { class: "notice" }, head.incomplete)] : []),
      ...(head.headline ? [el("p", { class: "notice" }, `${head.headline[0].toUpperCase()}${head.headline.slice(1)}.`)] : []),
      ...(head.nothing ? [el("p", { class: "notice" }, head.nothing)] : []),
      ...head.notShown.map((line) => el("p", { class: "notice" }, `Not in this report: ${line}.`)));
  }

  // ---- the verdict: causes with their effects folded beneath

  function idLink(id) {
    return byId.has(id) ? el("a", { href: `#${id}`, title: byId.get(id).rule.name }, id) : el("span", { class: "aside" }, id);
  }

  function idList(ids) {
    return ids.flatMap((id, at) => at ? [", ", idLink(id)] : [idLink(id)]);
  }

  function drawVerdict() {
    const verdict = data.verdict, box = $("verdict");
    if (!verdict) {
      $("verdict-section").hidden = true;
      return;
    }
    if (!verdict.causes.length) box.append(el("p", { class: "cause-name" }, verdict.summary));
    verdict.causes.forEach((cause) => box.append(drawCause(cause)));
    verdict.unexplained.forEach((entry) => box.append(drawUnexplained(entry)));
    verdict.alternatives.forEach((other) => box.append(el("p", { class: "aside" }, `Less likely: ${other.cause} (`, ...idList(other.ids), `): ${other.why}.`)));
    box.append(el("p", { class: "aside" }, `${counted(verdict.faults, "distinct fault")} of medium or above, confidence ${verdict.confidence}.`));
  }

  function drawCause(cause) {
    const since = cause.since === null ? "true at the collection, start unknown" : `since ${moment(cause.since)} UTC${cause.isOpen ? "" : `, over since ${moment(cause.until)} UTC`}`;
    const parts = [
      el("p", { class: "cause-name" }, cause.cause, ...(cause.on ? [" ", el("span", { class: "isolated on" }, cause.on)] : [])),
      el("p", null, `${since}. Shown by `, ...idList(cause.ids), ` (${cause.confidence} confidence).`)];
    if (cause.step) parts.push(el("p", null, el("b", null, "First: "), cause.step));
    if (cause.explained) {
      const rows = cause.explains.map((id) => el("li", null, idLink(id), byId.has(id) ? ` ${byId.get(id).rule.name}` : ""));
      parts.push(el("details", null, el("summary", null, `Explains ${counted(cause.explained, "other finding")}`), el("ul", null, ...rows)));
    }
    return el("div", { class: "cause" }, ...parts);
  }

  function drawUnexplained(entry) {
    const parts = [el("p", null, el("b", null, "Unexplained: "), `${entry.what} (`, ...idList(entry.ids), `)${entry.isUnknown ? ", cause unknown" : ", stands alone"}.`)];
    if (entry.couldBe.length) parts.push(el("p", { class: "aside" }, `Could be: ${entry.couldBe.join("; ")}.`));
    if (entry.absent.length) parts.push(el("p", { class: "aside" }, `Not in this bundle and worth a look: ${entry.absent.join(", ")}.`));
    return el("div", { class: "cause" }, ...parts);
  }

  function drawVerdicts() {
    const found = data.verdicts.filter((verdict) => verdict.state === "found");
    const quiet = data.verdicts.filter((verdict) => verdict.state === "quiet" || verdict.state === "not_read");
    const absent = data.verdicts.filter((verdict) => verdict.state === "absent");
    const box = $("verdicts");
    if (found.length) {
      const rows = found.map((verdict) => el("tr", null,
        el("th", { scope: "row" }, el("button", { type: "button", class: "link", title: "Show only this component", on: { click: () => showComponent(verdict.component) } }, verdict.component)),
        el("td", null, level(verdict.worst)),
        el("td", { class: "number" }, counted(verdict.findings, "finding")),
        el("td", { class: "when" }, verdict.span ? span(...verdict.span) : "time unknown"),
        el("td", null, verdict.text)));
      box.append(el("table", { class: "verdicts" },
        el("thead", null, el("tr", null,
          ...["Component", "Worst", "Findings", "Worst seen (UTC)", "What"].map((name, at) => el("th", { scope: "col", class: at === 2 && "number" }, name)))),
        el("tbody", null, ...rows)));
    }
    if (quiet.length) box.append(el("ul", { class: "quiet" }, ...quiet.map((verdict) => el("li", null, el("b", null, verdict.component), `: ${verdict.text}`))));
    if (absent.length) box.append(el("p", { class: "aside absent" }, `Not in this bundle: ${absent.map((verdict) => verdict.component).join(", ")}.`));
  }

  function drawChains() {
    const box = $("chains");
    if (!data.chains.length) {
      box.append(el("p", { class: "aside" }, "No known sequence of troubles stands together in time. That excludes no cause."));
      return;
    }
    const rest = data.chains.slice(CHAINS);
    data.chains.slice(0, CHAINS).forEach((chain) => box.append(drawChain(chain)));
    if (rest.length) {
      const more = el("button", { type: "button", id: "more-chains" }, `Show ${counted(rest.length, "more potential chain")}`);
      more.addEventListener("click", () => more.replaceWith(...rest.map(drawChain)));
      box.append(more);
    }
    leftOut(box, data.leftOut.chains, "potential chain");
    box.append(el("p", { class: "aside" }, `${data.correlation.caveat} Confidence of the whole: ${data.correlation.level} (${data.correlation.basis}).`));
  }

  function drawChain(chain) {
    const steps = chain.steps.map(([name, id]) => el("li", null, name, " ",
      byId.has(id) ? el("a", { href: `#${id}`, title: byId.get(id).rule.name }, id) : el("span", { class: "aside" }, `${id} (not in this report)`)));
    const where = el("p", { class: "aside" }, `Potential, ${chain.confidence} confidence, cluster ${chain.cluster}`);
    if (chain.span) {
      where.append(`, ${span(...chain.span)} `,
        el("button", { type: "button", class: "link", on: { click: () => showTime(chain.span[0] - 60000, chain.span[1] + 60000) } }, "show this time"));
    }
    return el("div", { class: "chain" }, el("ol", null, ...steps), where);
  }

  function leftOut(box, count, what) {
    if (count) box.append(el("p", { class: "notice" }, `${counted(count, `more ${what}`)} left out to keep this page small; the findings index has everything.`));
  }

  // ---- filters

  const state = { severities: new Set(levels.keys()), component: "", words: [], from: null, to: null };
  // Of `shown`, the rows from `first` up to `end` are drawn: a page of ten thousand rows would be slow to lay out.
  const list = { shown: findings, first: 0, end: 0, current: -1, open: new Set(), printing: false };

  function matches(finding) {
    if (!state.severities.has(finding.severity)) return false;
    if (state.component && finding.component !== state.component) return false;
    // Without a time a finding cannot be ruled out.
    if (finding.first !== null && finding.last !== null) {
      if (state.from !== null && finding.last < state.from) return false;
      if (state.to !== null && finding.first > state.to) return false;
    }
    return state.words.every((word) => finding.hay.includes(word));
  }

  function apply() {
    const current = list.shown[list.current];
    list.shown = findings.filter(matches);
    list.current = current ? list.shown.indexOf(current) : -1;
    drawList(0);
    drawStatus();
    dimBars();
  }

  function drawStatus() {
    const hidden = findings.length - list.shown.length;
    const isTimed = state.from !== null || state.to !== null;
    const untimed = isTimed ? list.shown.filter((finding) => finding.first === null).length : 0;
    $("status").textContent = `${number(list.shown.length)} shown, ${number(hidden)} hidden` +
      (untimed ? ` (${number(untimed)} shown without a time)` : "");
  }

  function parseTime(text, isEnd) {
    const parts = /^(\d{4}-\d\d-\d\d)(?:[ T]+(\d\d:\d\d)(:\d\d)?(?:\.\d+)?)?Z?$/.exec(text.trim());
    if (!parts) return NaN;
    const clock = parts[2] ? parts[2] + (parts[3] || (isEnd ? ":59" : ":00")) : isEnd ? "23:59:59" : "00:00:00";
    // Findings know milliseconds, the field whole seconds: the end means the whole second.
    return Date.parse(`${parts[1]}T${clock}.${isEnd ? "999" : "000"}Z`);
  }

  function readTimes() {
    const problems = [];
    for (const [name, isEnd] of [["from", false], ["to", true]]) {
      const field = $(`filter-${name}`);
      const value = field.value.trim() === "" ? null : parseTime(field.value, isEnd);
      const isBad = value !== null && Number.isNaN(value);
      if (isBad) problems.push(`"${field.value}" is not a time: write 2026-01-15 10:30 (UTC).`);
      field.setAttribute("aria-invalid", String(isBad));
      state[name] = isBad ? null : value;
    }
    if (state.from !== null && state.to !== null && state.from > state.to) problems.push("From is after To.");
    $("time-problem").textContent = problems.join(" ");
  }

  function showTime(from, to) {
    $("filter-from").value = moment(Math.floor(from / 1000) * 1000);
    $("filter-to").value = moment(Math.ceil(to / 1000) * 1000);
    timesChanged();
  }

  function timesChanged() {
    readTimes();
    drawChart();
    apply();
  }

  function showComponent(name) {
    $("filter-component").value = name;
    state.component = name;
    apply();
    $("findings").scrollIntoView();
    $("findings").focus({ preventScroll: true });
  }

  function clearFilters() {
    $("filter-text").value = $("filter-component").value = $("filter-from").value = $("filter-to").value = "";
    Object.assign(state, { severities: new Set(levels.keys()), component: "", words: [] });
    for (const chip of $("severity-chips").children) chip.setAttribute("aria-pressed", "true");
    timesChanged();
  }

  function drawFilters() {
    levels.forEach((name, rank) => {
      const count = findings.reduce((sum, finding) => sum + (finding.severity === rank), 0);
      const chip = el("button", { type: "button", class: `chip s${rank}`, "aria-pressed": "true", "data-severity": name }, `${name} ${number(count)}`);
      chip.addEventListener("click", () => {
        const isOn = !state.severities.has(rank);
        if (isOn) state.severities.add(rank); else state.severities.delete(rank);
        chip.setAttribute("aria-pressed", String(isOn));
        apply();
      });
      $("severity-chips").append(chip);
    });
    const counts = new Map();
    for (const finding of findings) counts.set(finding.component, (counts.get(finding.component) || 0) + 1);
    $("filter-component").append(el("option", { value: "" }, "all"),
      ...[...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, count]) => el("option", { value: name }, `${name} (${number(count)})`)));
    $("filter-component").addEventListener("change", (event) => { state.component = event.target.value; apply(); });
    $("filter-text").addEventListener("input", (event) => {
      state.words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
      apply();
    });
    if (times) {
      $("filter-from").placeholder = moment(times[0]);
      $("filter-to").placeholder = moment(times[1]);
    }
    for (const name of ["from", "to"]) $(`filter-${name}`).addEventListener("change", timesChanged);
    $("filters").addEventListener("submit", (event) => { event.preventDefault(); timesChanged(); });
    $("filters").addEventListener("reset", (event) => { event.preventDefault(); clearFilters(); });
  }

  // ---- the list

  function drawList(from) {
    $("list").replaceChildren();
    list.first = list.end = from;
    drawMore(CHUNK);
  }

  function drawMore(count) {
    const next = list.shown.slice(list.end, list.end + count);
    $("list").append(...next.map(drawRow));
    list.end += next.length;
    drawRest();
  }

  function drawEarlier(count) {
    const start = Math.max(0, list.first - count);
    $("list").prepend(...list.shown.slice(start, list.first).map(drawRow));
    list.first = start;
    drawRest();
  }

  function drawRest() {
    const rest = list.shown.length - list.end;
    $("more").hidden = rest === 0;
    $("more").textContent = `Show more (${number(rest)} below)`;
    $("earlier").hidden = list.first === 0;
    $("earlier").textContent = `Show earlier (${number(list.first)} above)`;
  }

  const rowAt = (at) => $("list").children[at - list.first];

  function drawRow(finding) {
    const isCurrent = list.shown[list.current] === finding;
    const summary = el("button", { type: "button", class: "summary", "aria-expanded": "false" },
      level(finding.severity),
      el("span", { class: "id" }, finding.id),
      el("span", { class: "name isolated" }, finding.rule.name),
      el("span", { class: "component" }, finding.component),
      el("span", { class: "count" }, `${number(finding.count)}×`),
      el("span", { class: "when" }, span(finding.first, finding.last)),
      el("span", { class: "place isolated" }, finding.place));
    summary.addEventListener("click", () => {
      makeCurrent(list.shown.indexOf(finding));
      setOpen(finding, row, !list.open.has(finding.id));
    });
    const row = el("li", { class: isCurrent ? "finding current" : "finding", id: finding.id }, el("h3", null, summary));
    if (list.open.has(finding.id)) setOpen(finding, row, true);
    return row;
  }

  function setOpen(finding, row, isOpen) {
    if (isOpen) list.open.add(finding.id); else list.open.delete(finding.id);
    showBody(finding, row, isOpen);
  }

  function showBody(finding, row, isOpen) {
    const summary = row.querySelector(".summary");
    const there = row.querySelector(".body");
    row.classList.toggle("open", isOpen);
    summary.setAttribute("aria-expanded", String(isOpen));
    if (!isOpen) {
      if (there) there.remove();
      summary.removeAttribute("aria-controls");
    } else if (!there) {
      row.append(drawBody(finding));
      summary.setAttribute("aria-controls", `body-${finding.id}`);
    }
  }

  function drawBody(finding) {
    const body = el("div", { class: "body", id: `body-${finding.id}`, role: "region", "aria-label": `${finding.id} in detail` });
    body.append(el("p", { class: "means" }, finding.rule.means));
    if (finding.note) body.append(el("p", { class: "notice note" }, finding.note));
    body.append(el("p", { class: "aside" }, `${counted(finding.count, "occurrence")}, ${span(finding.first, finding.last)}${finding.first === null ? "" : " UTC"}, rule ${finding.rule.id}`));
    if (finding.rule.steps.length) body.append(el("h4", null, "First steps"), el("ol", { class: "steps" }, ...finding.rule.steps.map((step) => el("li", null, step))));
    body.append(el("h4", null, "Evidence ", el("code", null, finding.place)), drawLines(finding));
    if (!finding.detail && finding.start !== null) {
      body.append(el("p", { class: "aside" }, "The lines around it were left out to keep this page small."));
    }
    if (finding.detail && finding.detail.unread) body.append(el("p", { class: "notice" }, `The lines around it could not be read: ${finding.detail.unread}.`));
    if (finding.count > 1) body.append(...drawOccurrences(finding));
    body.append(el("h4", null, "Citation"), drawCitation(finding));
    return body;
  }

  function drawLines(finding) {
    const { before = [], after = [] } = finding.detail || {};
    const first = finding.line === null ? null : finding.line - before.length;
    const box = el("div", { class: "log", role: "group", "aria-label": `Lines of ${finding.file}` });
    const add = (text, isCut, offset, isEvidence) => box.append(el("div", { class: isEvidence && "evidence" },
      el("span", { class: "number" }, isEvidence ? el("span", { class: "unseen" }, "evidence, line ") : null, first === null ? "?" : String(first + offset)),
      el("span", { class: "text" }, text, isCut ? el("span", { class: "cut" }, " [cut: the line goes on]") : null)));
    before.forEach(([text, isCut], at) => add(text, isCut, at, false));
    if (finding.excerpt === null) add("[the excerpt was left out to keep this page small; the citation tells where it is]", false, before.length, true);
    else add(finding.excerpt, finding.isCut, before.length, true);
    after.forEach(([text, isCut], at) => add(text, isCut, before.length + 1 + at, false));
    return box;
  }

  function drawOccurrences(finding) {
    const also = (finding.detail && finding.detail.also) || [];
    const rest = finding.count - 1 - also.length;
    const title = el("h4", null, `${counted(finding.count - 1, "more occurrence")}${rest > 0 ? `, ${number(also.length)} listed here` : ""}`);
    return also.length ? [title, el("ul", { class: "also" }, ...also.map(([line, at]) => el("li", null, `line ${line}`, el("span", { class: "aside" }, `  ${moment(at)}`))))] : [title];
  }

  function drawCitation(finding) {
    const text = citation(finding);
    const done = el("span", { role: "status", class: "aside copied" });
    const button = (label, content) => el("button", { type: "button", class: "copy", on: { click: () => copy(content, done) } }, label);
    return el("div", { class: "citation" }, el("code", null, text),
      button("Copy citation", text),
      finding.excerpt === null ? null : button("Copy with quote", `${text}\n> ${finding.excerpt}`), done);
  }

  async function copy(text, done) {
    try {
      await navigator.clipboard.writeText(text);
      done.textContent = "copied";
    } catch {
      done.textContent = copyBySelection(text) ? "copied" : "copying is not allowed here: select the text";
    }
  }

  // Pages opened from disk have no clipboard of the new kind in some browsers.
  function copyBySelection(text) {
    const field = el("textarea", { class: "unseen", "aria-hidden": "true" });
    field.value = text;
    document.body.append(field);
    field.select();
    const isDone = document.execCommand("copy");
    field.remove();
    return isDone;
  }

  function makeCurrent(at) {
    const old = rowAt(list.current);
    if (old) old.classList.remove("current");
    list.current = at;
    const row = rowAt(at);
    if (row) row.classList.add("current");
    selectBar(list.shown[at]);
    return row;
  }

  function move(step) {
    const at = Math.max(0, Math.min(list.shown.length - 1, list.current + step));
    if (at < list.first) drawEarlier(CHUNK);
    if (at >= list.end) drawMore(CHUNK);
    const row = makeCurrent(at);
    if (row) row.querySelector(".summary").focus();
  }

  function reveal(id) {
    const finding = byId.get(id);
    if (!finding) return;
    if (!matches(finding)) {
      clearFilters();
      $("status").textContent += `; filters were cleared to show ${id}`;
    }
    const at = list.shown.indexOf(finding);
    if (at < list.first || at >= list.end) drawList(Math.max(0, at - 20));
    const row = makeCurrent(at);
    setOpen(finding, row, true);
    row.scrollIntoView({ block: "start" });
    row.querySelector(".summary").focus({ preventScroll: true });
  }

  function drawPageNotes() {
    const box = $("page-notes");
    const { findings: lost, excerpts, contexts } = data.leftOut;
    leftOut(box, lost, "finding");
    if (contexts || excerpts) {
      const lines = contexts ? `lines around the evidence are here for the first ${number(findings.length - contexts)} of ${number(findings.length)} findings` : "";
      const quotes = excerpts ? `the quoted line itself for the first ${number(findings.length - excerpts)}` : "";
      box.append(el("p", { class: "notice", id: "context-note" }, `To keep this page small, ${[lines, quotes].filter(Boolean).join(", ")}. Every finding has its citation.`));
    }
  }

  // ---- the timeline

  const LABELS = 112;
  const PAPER = 700;
  const LANES = 6;
  const LANE = 9;
  const TOP = 30;
  const STEPS = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10800, 21600, 43200, 86400, 172800, 604800, 2592000, 7776000, 31536000];
  const chart = { bars: [], from: 0, to: 1, width: 0 };

  function domain() {
    let from = state.from === null ? times[0] : state.from;
    let to = state.to === null ? times[1] : state.to;
    if (from > to) [from, to] = times;
    const margin = Math.max((to - from) * 0.015, to - from < 60000 ? (60000 - (to - from)) / 2 : 0);
    return state.from !== null && state.to !== null && to - from >= 1000 ? [from, to] : [from - margin, to + margin];
  }

  function drawChart() {
    const box = $("timeline");
    box.replaceChildren();
    chart.bars = [];
    const untimed = findings.length - timed.length;
    const said = [];
    if (untimed) said.push(`${counted(untimed, "finding")} without a time ${untimed === 1 ? "is" : "are"} not on the chart.`);
    if (!times) {
      $("timeline-note").textContent = findings.length ? said.join(" ") : "There is nothing to draw.";
      return;
    }
    [chart.from, chart.to] = domain();
    chart.width = list.printing ? PAPER : Math.max(320, box.clientWidth);
    const inside = timed.filter((finding) => finding.last >= chart.from && finding.first <= chart.to);
    if (inside.length < timed.length) said.push(`${counted(timed.length - inside.length, "finding")} outside the chosen time ${timed.length - inside.length === 1 ? "is" : "are"} not on the chart.`);
    const rows = laneRows(inside);
    const height = TOP + rows.reduce((sum, row) => sum + row.lanes * LANE + 8, 0) + 4;
    const picture = svg("svg", { viewBox: `0 0 ${chart.width} ${height}`, height, role: "img",
      "aria-label": `${counted(inside.length, "finding")} over time, one row per component. The list of findings says the same in words.` });
    drawClusters(picture, height);
    drawTicks(picture, height);
    drawBars(picture, rows);
    const tip = el("div", { class: "tip", role: "tooltip", hidden: true });
    box.append(picture, tip);
    listen(picture, tip);
    said.push("Shaded: what happened close together. Drag to choose a time, click a bar to see its finding.");
    if (data.leftOut.clusters) said.push(`${counted(data.leftOut.clusters, "cluster")} not shaded.`);
    $("timeline-note").textContent = said.join(" ");
    dimBars();
  }

  const x = (ms) => LABELS + ((Math.max(chart.from, Math.min(chart.to, ms)) - chart.from) / (chart.to - chart.from)) * (chart.width - LABELS - 8);
  const timeAt = (place) => chart.from + ((Math.max(LABELS, Math.min(chart.width - 8, place)) - LABELS) / (chart.width - LABELS - 8)) * (chart.to - chart.from);

  // Bars that would cover each other to the pixel are one bar that stands for all of them.
  function laneRows(inside) {
    const grain = inside.length > 2000 ? 4 : 1;
    const round = (value) => Math.round(value / grain) * grain;
    const byComponent = new Map();
    for (const finding of inside) {
      const left = round(x(finding.first));
      const right = Math.max(round(x(finding.last)), left + Math.max(4, grain));
      if (!byComponent.has(finding.component)) byComponent.set(finding.component, new Map());
      const bars = byComponent.get(finding.component);
      const key = `${finding.severity} ${left} ${right}`;
      if (!bars.has(key)) bars.set(key, { left, right, severity: finding.severity, members: [] });
      bars.get(key).members.push(finding);
    }
    const order = data.verdicts.map((verdict) => verdict.component);
    const rows = [...byComponent].sort(([a], [b]) => order.indexOf(a) - order.indexOf(b));
    return rows.map(([component, bars]) => inLanes(component, [...bars.values()]));
  }

  function inLanes(component, bars) {
    bars.sort((a, b) => a.left - b.left || a.severity - b.severity);
    const ends = [];
    for (const bar of bars) {
      let lane = ends.findIndex((end) => end <= bar.left);
      if (lane < 0) lane = ends.length < LANES ? ends.length : LANES - 1;
      ends[lane] = Math.max(ends[lane] || 0, bar.right + 1);
      bar.lane = lane;
    }
    // The worst are drawn last, so that nothing covers them.
    bars.sort((a, b) => b.severity - a.severity);
    return { component, bars, lanes: ends.length };
  }

  function drawBars(picture, rows) {
    let top = TOP;
    for (const row of rows) {
      const height = row.lanes * LANE + 4;
      picture.append(svg("text", { x: LABELS - 8, y: top + height / 2 + 4, "text-anchor": "end" }, row.component));
      picture.append(svg("line", { class: "grid", x1: LABELS, x2: chart.width - 8, y1: top + height + 2, y2: top + height + 2 }));
      for (const bar of row.bars) {
        bar.node = svg("rect", { class: `finding-bar s${bar.severity}`, x: bar.left, y: top + 2 + bar.lane * LANE, width: bar.right - bar.left, height: LANE - 1, "data-bar": chart.bars.length });
        chart.bars.push(bar);
        picture.append(bar.node);
      }
      top += height + 4;
    }
  }

  function drawClusters(picture, height) {
    const drawn = [];
    for (const [id, from, to, count] of data.clusters) {
      if (to < chart.from || from > chart.to) continue;
      const [left, right] = [x(from) - 2, x(to) + 6];
      if (drawn.length && right <= drawn[drawn.length - 1].right + 2) continue;
      drawn.push({ id, left, right });
      picture.append(svg("rect", { class: "cluster", x: left, y: 14, width: right - left, height: height - 14 },
        svg("title", null, `${id}: ${counted(count, "finding")} began ${span(from, to)}`)));
    }
    drawn.forEach(({ id, left }, at) => {
      const end = at + 1 < drawn.length ? drawn[at + 1].left : chart.width;
      if (end - left > 36) picture.append(svg("text", { class: "cluster-name", x: left + 2, y: 24 }, id));
    });
  }

  function drawTicks(picture, height) {
    const wanted = Math.max(2, Math.floor((chart.width - LABELS) / 120));
    const step = (STEPS.find((seconds) => (chart.to - chart.from) / 1000 / seconds <= wanted) || STEPS[STEPS.length - 1]) * 1000;
    let day = "";
    for (let at = Math.ceil(chart.from / step) * step; at <= chart.to; at += step) {
      const text = moment(at);
      const clock = step >= 86400000 ? "" : text.slice(11, step < 60000 ? 19 : 16);
      const label = text.slice(0, 10) === day ? clock : `${text.slice(0, 10)} ${clock}`.trim();
      day = text.slice(0, 10);
      picture.append(svg("line", { class: "grid", x1: x(at), x2: x(at), y1: 14, y2: height }));
      const isLast = x(at) > chart.width - 60;
      picture.append(svg("text", { class: "tick", x: isLast ? chart.width - 8 : x(at), y: 10, "text-anchor": isLast ? "end" : "middle" }, label));
    }
  }

  function dimBars() {
    const visible = new Set(list.shown);
    for (const bar of chart.bars) bar.node.classList.toggle("dim", !bar.members.some((finding) => visible.has(finding)));
  }

  function selectBar(finding) {
    for (const bar of chart.bars) bar.node.classList.toggle("selected", finding !== undefined && bar.members.includes(finding));
  }

  function listen(picture, tip) {
    const place = (event) => ((event.clientX - picture.getBoundingClientRect().left) * chart.width) / picture.getBoundingClientRect().width;
    const barOf = (target) => (target.dataset && target.dataset.bar !== undefined ? chart.bars[Number(target.dataset.bar)] : null);
    picture.addEventListener("pointermove", (event) => {
      const bar = barOf(event.target);
      tip.hidden = !bar;
      if (bar) showTip(tip, bar, event, picture);
    });
    picture.addEventListener("pointerleave", () => { tip.hidden = true; });
    picture.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      const start = place(event);
      const bar = barOf(event.target);
      const brush = svg("rect", { class: "brush", y: 14, height: picture.viewBox.baseVal.height - 14, x: start, width: 0 });
      picture.append(brush);
      const drag = (moved) => {
        const [left, right] = [Math.max(LABELS, Math.min(start, place(moved))), Math.min(chart.width - 8, Math.max(start, place(moved)))];
        brush.setAttribute("x", left);
        brush.setAttribute("width", Math.max(0, right - left));
      };
      const drop = (ended) => {
        window.removeEventListener("pointermove", drag);
        window.removeEventListener("pointerup", drop);
        window.removeEventListener("pointercancel", drop);
        brush.remove();
        const end = place(ended);
        if (ended.type === "pointerup" && Math.abs(end - start) > 5) showTime(timeAt(Math.min(start, end)), timeAt(Math.max(start, end)));
        else if (ended.type === "pointerup" && bar) reveal((bar.members.find(matches) || bar.members[0]).id);
      };
      window.addEventListener("pointermove", drag);
      window.addEventListener("pointerup", drop);
      window.addEventListener("pointercancel", drop);
    });
  }

  function showTip(tip, bar, event, picture) {
    const [first, ...others] = bar.members;
    tip.replaceChildren(
      el("div", null, level(bar.severity), ` ${first.id} ${first.rule.name}`),
      el("div", { class: "aside" }, `${first.component}, ${number(first.count)}×, ${span(first.first, first.last)}`),
      el("div", { class: "aside mono" }, first.place),
      ...(others.length ? [el("div", { class: "aside" }, `and ${number(others.length)} more here: ${others.slice(0, 3).map((other) => other.id).join(", ")}${others.length > 3 ? ", …" : ""}`)] : []));
    const area = picture.getBoundingClientRect();
    const [left, top] = [event.clientX - area.left, event.clientY - area.top];
    tip.style.left = `${Math.max(0, Math.min(left + 12, area.width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${top + 16}px`;
  }

  // ---- what was and was not looked at

  function table(heads, rows) {
    return el("table", { class: "stacked" },
      el("thead", null, el("tr", null, ...heads.map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", null, ...rows.map((cells) => el("tr", null, ...cells.map((cell, at) => el("td", { "data-label": heads[at] }, cell))))));
  }

  function drawUnseen() {
    const seen = data.coverage;
    $("coverage").append(el("p", null, seen.isCutOff
      ? `${number(seen.scanned)} files scanned, ${size(seen.bytes)}; how much more there was cannot be told.`
      : `${number(seen.scanned)} of ${number(seen.total)} files scanned (${seen.pct} %), ${size(seen.bytes)} of ${size(seen.totalBytes)}.`));
    if (seen.skippedTotal) {
      const listed = seen.skipped.length < seen.skippedTotal ? `, ${seen.skipped.length} listed, the worst first` : "";
      $("coverage").append(el("p", null, `${counted(seen.skippedTotal, "file")} not scanned${listed}:`),
        table(["File", "Reason", "Size"], seen.skipped.map(([file, reason, bytes]) => [el("code", null, file), reason, size(bytes)])));
    }
    if (data.gaps.length) $("gaps").append(el("ul", null, ...data.gaps.map((gap) => el("li", { class: "isolated" }, gap))));
    else $("gaps").append(el("p", { class: "aside" }, "None known."));
    leftOut($("gaps"), data.leftOut.gaps, "gap");
    if (data.suppressed.length) {
      $("suppressed").append(el("p", { class: "aside" }, "Lines that match a rule and are explained by something harmless. They are no findings."),
        table(["Pattern", "Hits", "Explained by", "When (UTC)", "First line"], data.suppressed.map((entry) => [
          entry.name, number(entry.count), el("span", null, el("code", null, entry.by), `: ${entry.reason}`), span(...entry.span),
          el("span", null, el("code", null, `${entry.file}:${entry.line === null ? "?" : entry.line}`), el("br"), el("code", { class: "aside" }, entry.excerpt))])));
    } else $("suppressed").append(el("p", { class: "aside" }, "None."));
    leftOut($("suppressed"), data.leftOut.suppressed, "suppressed entry");
  }

  // ---- keyboard, links, paper

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isTyping = event.target.closest && event.target.closest("input, select, textarea");
    if (isTyping) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (event.key === "/") { event.preventDefault(); $("filter-text").focus(); }
    else if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (event.key === "Enter" && event.target === document.body && list.current >= 0) {
      if (rowAt(list.current)) rowAt(list.current).querySelector(".summary").click();
    }
  });

  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest('a[href^="#"]');
    if (!link || !byId.has(link.hash.slice(1))) return;
    event.preventDefault();
    history.replaceState(null, "", link.hash);
    reveal(link.hash.slice(1));
  });
  window.addEventListener("hashchange", () => reveal(location.hash.slice(1)));

  $("more").addEventListener("click", () => drawMore(CHUNK));
  $("earlier").addEventListener("click", () => drawEarlier(CHUNK));
  new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting) && list.end < list.shown.length) drawMore(CHUNK);
  }, { rootMargin: "600px" }).observe($("more"));

  let width = 0;
  new ResizeObserver(() => {
    if ($("timeline").clientWidth === width) return;
    width = $("timeline").clientWidth;
    if (!list.printing) requestAnimationFrame(drawChart);
  }).observe($("timeline"));

  window.addEventListener("beforeprint", () => {
    list.printing = true;
    drawChart();
    drawEarlier(list.shown.length);
    drawMore(list.shown.length);
    if (list.shown.length <= PRINTED_OPEN) list.shown.forEach((finding, at) => showBody(finding, rowAt(at), true));
  });
  window.addEventListener("afterprint", () => {
    list.printing = false;
    drawChart();
    if (list.shown.length <= PRINTED_OPEN) list.shown.forEach((finding, at) => showBody(finding, rowAt(at), list.open.has(finding.id)));
    else drawList(0);
  });

  document.querySelector("main").hidden = false;
  drawHead();
  drawVerdict();
  drawVerdicts();
  drawChains();
  drawFilters();
  drawPageNotes();
  drawUnseen();
  drawChart();
  apply();
  if (location.hash) reveal(location.hash.slice(1));
})();
