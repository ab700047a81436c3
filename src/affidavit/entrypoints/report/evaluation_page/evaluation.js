"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const nodes = data.now.nodes, before = data.before && data.before.nodes, past = data.past || [];
const SHARES = ["finding_precision", "finding_recall", "f1", "severity_accuracy", "citation_accuracy", "coverage_completeness"];
const TRENDS = ["nodes.finding_precision", "nodes.finding_recall", "nodes.severity_accuracy", "nodes.citation_accuracy", "nodes.latency_p50_ms", "nodes.latency_p95_ms", "nodes.problems", "nodes.changed_answers", "incidents.exact_set_accuracy", "incidents.verified_evidence_rate", "incidents.tokens_p50", "incidents.seconds_p50", "adversarial.fabricated_claimed", "adversarial.fabricated_stored", "adversarial.false_causes"];

function el(name, text, attributes = {}) {
  const made = document.createElement(name);
  if (text !== undefined && text !== null) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}
function shape(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}
const byId = (id) => document.getElementById(id);
const isNumber = (value) => value !== null && value !== undefined;
const rounded = (value, digits) => String(Math.round(value * 10 ** digits) / 10 ** digits);
const number = (value) => (isNumber(value) ? rounded(value, Math.abs(value) >= 100 ? 1 : 4) : "–");
const words = (name) => name.replaceAll("_", " ");
const milliseconds = (value) => (value >= 1000 ? `${Math.round(value / 100) / 10} s` : `${Math.round(value * 10) / 10} ms`);
function row(table, cells, kind = "td") {
  const made = el("tr");
  for (const cell of cells) made.append(cell instanceof Node ? cell : el(kind, cell));
  table.append(made);
  return made;
}
const right = (value, kind = "td") => el(kind, kind === "td" && !(typeof value === "string") ? number(value) : value, { class: "number" });
const rights = (names) => names.map((name) => right(words(name), "th"));
function share(value) {
  const cell = el("td", number(value), { class: "share" });
  if (isNumber(value)) cell.style.background = value >= 1 ? "rgb(var(--good-cell) / .2)" : `rgb(var(--bad-cell) / ${0.2 + 0.7 * (1 - value)})`;
  return cell;
}
function picture(id, width, height, label) {
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  (typeof id === "string" ? byId(id) : id).append(svg);
  return svg;
}
function head() {
  const failed = data.now.gates.filter((gate) => !gate.holds).length;
  byId("verdict").textContent = data.passes ? "Every gate holds." : failed > 1 ? `${failed} gates failed.` : "A gate failed.";
  byId("verdict").className = data.passes ? "good" : "bad";
  byId("when").textContent = `${data.now.evaluated_at} · knowledge ${data.now.knowledge_version} · ${data.now.seconds} s`;
}
function gates() {
  row(byId("gates"), ["gate", "bound", right("value", "th"), ""], "th");
  const ordered = [...data.now.gates].sort((one, other) => Number(one.holds) - Number(other.holds));
  for (const gate of ordered) {
    const value = right(gate.value === null ? "not measured" : gate.value);
    row(byId("gates"), [gate.name, gate.bound.replaceAll(">=", "≥").replaceAll("<=", "≤"), value, el("td", gate.holds ? "holds" : "failed", { class: gate.holds ? "good" : "bad" })]);
  }
}
function numbers() {
  const metrics = Object.keys(nodes.metrics.analyze);
  row(byId("numbers"), ["tool", ...rights(metrics)], "th");
  for (const [tool, found] of Object.entries(nodes.metrics)) row(byId("numbers"), [tool, ...metrics.map((metric) => right(found[metric]))]);
}
function heat() {
  row(byId("heat"), ["scenario", "family", "layout", right("problems", "th"), right("findings", "th"), ...SHARES.map((name) => el("th", words(name), { class: "share" }))], "th");
  for (const scenario of nodes.scenarios) {
    const shares = scenario.metrics.analyze || {};
    row(byId("heat"), [el("td", scenario.id, { title: scenario.tells }), scenario.family, scenario.layout, right(scenario.problems), right(scenario.findings), ...SHARES.map((name) => share(shares[name]))]);
  }
}
function plane() {
  const svg = picture("plane", 560, 300, "Precision over recall: a dot for each pair of values, as large as it has scenarios");
  const x = (recall) => 44 + 490 * recall, y = (precision) => 262 - 230 * precision;
  for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
    svg.append(shape("path", { d: `M${x(0)} ${y(tick)}H${x(1)}M${x(tick)} ${y(0)}V${y(1)}`, class: "grid" }));
    svg.append(shape("text", { x: x(tick), y: 278, "text-anchor": "middle" }, String(tick)), shape("text", { x: 38, y: y(tick) + 4, "text-anchor": "end" }, String(tick)));
  }
  svg.append(shape("text", { x: x(0.5), y: 296, "text-anchor": "middle" }, "recall"), shape("text", { x: 4, y: 14 }, "precision"));
  const groups = new Map();
  for (const scenario of nodes.scenarios.filter((one) => one.metrics.analyze)) {
    const { finding_recall: recall, finding_precision: precision } = scenario.metrics.analyze, key = `${recall} ${precision}`;
    if (!groups.has(key)) groups.set(key, { recall, precision, names: [] });
    groups.get(key).names.push(scenario.id);
  }
  for (const group of groups.values()) {
    const dot = shape("circle", { cx: x(group.recall), cy: y(group.precision), r: 4 + 1.2 * Math.sqrt(group.names.length), class: "dot", "data-count": group.names.length });
    dot.append(shape("title", {}, group.names.join(", ")));
    const label = group.names.length > 3 ? `${group.names.length} scenarios` : group.names.join(", ");
    const anchor = group.recall > 0.85 ? "end" : group.recall < 0.15 ? "start" : "middle";
    svg.append(dot, shape("text", { x: x(group.recall), y: y(group.precision) + 26, "text-anchor": anchor, class: "strong" }, label));
  }
}
function latency() {
  const values = [...nodes.latencies_ms].sort((one, other) => one - other);
  if (!values.length) return byId("latency").append(el("p", "Nothing was measured."));
  const svg = picture("latency", 560, 240, "How long an analysis took, as a histogram");
  const most = values[values.length - 1], bins = new Array(20).fill(0);
  for (const value of values) bins[Math.min(19, Math.floor((20 * value) / most))] += 1;
  const tallest = Math.max(...bins), x = (value) => 30 + (510 * value) / most;
  bins.forEach((count, index) => {
    const height = (150 * count) / tallest;
    const bar = shape("rect", { x: 30 + index * 25.5, y: 205 - height, width: 23.5, height, class: "bar" });
    bar.append(shape("title", {}, `${count} scenarios`));
    svg.append(bar);
  });
  svg.append(shape("path", { d: "M30 205H540", class: "axis" }), shape("text", { x: 24, y: 59, "text-anchor": "end" }, String(tallest)), shape("text", { x: 24, y: 208, "text-anchor": "end" }, "0"));
  for (const part of [0, 0.25, 0.5, 0.75, 1]) svg.append(shape("text", { x: x(most * part), y: 222, "text-anchor": part ? (part === 1 ? "end" : "middle") : "start" }, milliseconds(most * part)));
  for (const [place, name] of [[14, "p50"], [30, "p95"]]) {
    const value = nodes.metrics.analyze[`latency_${name}_ms`];
    svg.append(shape("path", { d: `M${x(value)} ${place + 4}V205`, class: "mark" }), shape("text", { x: x(value), y: place, "text-anchor": value > most / 2 ? "end" : "start", class: "strong" }, `${name} ${milliseconds(value)}`));
  }
}
function tools() {
  const rows = Object.entries(nodes.metrics).filter(([, found]) => isNumber(found.latency_p50_ms));
  const floor = 0.1, most = Math.max(1, ...rows.map(([, found]) => found.latency_p95_ms));
  const decades = Math.ceil(Math.log10(most / floor)), x = (value) => 150 + (380 * Math.log10(Math.max(value, floor) / floor)) / decades;
  const height = 26 + 20 * rows.length, svg = picture("tools", 560, height, "How long answers took, tool by tool, on a logarithmic scale");
  for (let decade = 0; decade <= decades; decade += 1) {
    const at = floor * 10 ** decade;
    svg.append(shape("path", { d: `M${x(at)} 4V${height - 20}`, class: "grid" }), shape("text", { x: x(at), y: height - 4, "text-anchor": "middle" }, milliseconds(at)));
  }
  rows.forEach(([tool, found], index) => {
    const y = 14 + 20 * index, low = found.latency_p50_ms, high = found.latency_p95_ms;
    const dot = shape("circle", { cx: x(low), cy: y, r: 4, class: "dot" });
    dot.append(shape("title", {}, `${tool}: p50 ${milliseconds(low)}, p95 ${milliseconds(high)}`));
    svg.append(shape("text", { x: 142, y: y + 4, "text-anchor": "end", class: "strong" }, tool), shape("path", { d: `M${x(low)} ${y}H${x(high)}`, class: "range" }), dot);
  });
}
function baseline() {
  if (!before) return byId("trend").append(el("p", "No baseline was given (--baseline FILE)."));
  const table = el("table");
  row(table, ["metric", right("baseline", "th"), right("now", "th"), ""], "th");
  for (const name of Object.keys(nodes.metrics.analyze)) {
    const old = before.metrics.analyze[name], now = nodes.metrics.analyze[name];
    const step = isNumber(old) && isNumber(now) ? now - old : null;
    row(table, [words(name), right(old), right(now), step === null ? "" : step === 0 ? "=" : step > 0 ? `▲ ${number(step)}` : `▼ ${number(-step)}`]);
  }
  byId("trend").append(table);
}
function trends() {
  if (past.length < 2) return void (byId("trend-how").textContent = "One run is no trend: give --history FILE, and every run adds its line.");
  byId("trend-how").textContent = `${past.length} runs, from ${past[0].evaluated_at} to ${past[past.length - 1].evaluated_at}. A red dot is a run in which a gate failed.`;
  for (const name of TRENDS) {
    const points = past.map((run, index) => ({ run, index, value: run.numbers[name] })).filter((point) => isNumber(point.value));
    if (points.length > 1) trend(name, points);
  }
}
function trend(name, points) {
  const box = el("div", null, { class: "trend" }), last = points[points.length - 1].value;
  box.append(el("span", number(last), { class: "value" }), el("span", words(name), { class: "name" }));
  const svg = picture(box, 240, 52, `${name} over ${points.length} runs`), values = points.map((point) => point.value);
  const low = Math.min(...values), high = Math.max(...values), span = high - low || 1;
  const x = (index) => 8 + (224 * index) / (past.length - 1), y = (value) => (high === low ? 26 : 44 - (36 * (value - low)) / span);
  svg.append(shape("polyline", { points: points.map((point) => `${x(point.index)},${y(point.value)}`).join(" "), class: "line" }));
  for (const { run, index, value } of points) {
    const dot = shape("circle", { cx: x(index), cy: y(value), r: points.length > 40 ? 1.5 : 2.5, class: run.passes ? "dot" : "failed" });
    dot.append(shape("title", {}, `${run.evaluated_at}: ${number(value)}${run.passes ? "" : ", a gate failed"}`));
    svg.append(dot);
  }
  box.append(el("span", low === high ? "always the same" : `${number(low)} to ${number(high)}`, { class: "soft" }));
  byId("trends").append(box);
}
function list(id, texts, none) {
  for (const text of texts) byId(id).append(text instanceof Node ? text : el("li", text));
  if (!texts.length) byId(id).append(el("li", none));
}
function lists() {
  list("troubles", nodes.scenarios.flatMap((scenario) => scenario.troubles.map((trouble) => `${scenario.id}: ${trouble}`)), "None.");
  list("changes", nodes.changes.map((change) => {
    if (!change.diff.length) return `${change.scenario}: ${change.what}`;
    const item = el("li"), folded = el("details");
    folded.append(el("summary", `${change.scenario}: ${change.what}`), el("pre", change.diff.join("\n")));
    item.append(folded);
    return item;
  }), "None.");
  if (nodes.mutations === null) return void (byId("mutations").textContent = "Not asked for (--mutations).");
  const missed = nodes.mutations.filter((mutation) => mutation.caught_by === null);
  byId("mutations").textContent = `${nodes.mutations.length} rules, checks and suppressions were taken away one by one; ${missed.length} were not missed by any scenario.`;
  for (const mutation of missed) byId("uncovered").append(el("li", `${mutation.kind} ${mutation.id}`));
}
function incidents(found, earlier) {
  byId("incident-how").textContent = `Chat model: ${found.provider}. Each scenario was run ${found.k} times.`;
  row(byId("incident-numbers"), ["metric", right("now", "th"), ...(earlier ? [right("baseline", "th")] : [])], "th");
  for (const [name, value] of Object.entries(found.metrics)) row(byId("incident-numbers"), [words(name), right(value), ...(earlier ? [right(earlier.metrics[name])] : [])]);
  row(byId("incidents"), ["scenario", "expected", "answers", el("th", "right", { class: "share" }), ...rights(["evidence", "verified", "tool_calls", "tokens", "seconds"])], "th");
  for (const one of found.scenarios) {
    const cell = share(one.answers.length ? one.right / one.answers.length : 0);
    cell.textContent = `${one.right} of ${one.answers.length}`;
    const answers = el("td", [...new Set(one.answers)].join(" | "), { class: "text" });
    row(byId("incidents"), [el("td", one.id, { title: one.title }), el("td", one.expected.join(", ") || "healthy", { class: "text" }), answers, cell, ...[one.claims, one.verified_claims, one.tool_calls, one.tokens, one.seconds].map((value) => right(value))]);
  }
  list("incident-troubles", found.scenarios.flatMap((one) => one.troubles.map((trouble) => `${one.id}: ${trouble}`)), "No trouble.");
}
function attacks(found) {
  byId("attack-how").textContent = `${found.attacks.length} ways to lie, ${found.seeds} seeds each. Fabricated evidence: ${number(found.metrics.fabricated_claimed)} handed in, ${number(found.metrics.fabricated_stored)} stored.`;
  const columns = ["runs", "chat_calls", "claimed", "fabricated_claimed", "fabricated_stored", "orders_followed", "diagnosed", "false_causes", "unmarked_false_causes", "by_rules", "seconds"];
  const wrapped = columns.map((name) => el("th", words(name), { class: "share" }));
  row(byId("attacks"), ["attack", ...wrapped], "th");
  for (const attack of found.attacks) row(byId("attacks"), [attack.attack, ...columns.map((name) => el("td", number(attack[name]), { class: "share" }))]);
  list("attack-troubles", found.attacks.flatMap((one) => one.troubles.map((trouble) => `${one.attack}: ${trouble}`)), "No trouble.");
}
head(); gates(); trends();
for (const section of document.querySelectorAll("[data-part]")) section.hidden = !data.now[section.dataset.part];
if (nodes) { numbers(); heat(); plane(); latency(); tools(); baseline(); lists(); }
if (data.now.incidents) incidents(data.now.incidents, data.before && data.before.incidents);
if (data.now.adversarial) attacks(data.now.adversarial);
