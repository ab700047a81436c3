"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const nodes = data.now.nodes, before = data.before && data.before.nodes;
const SHARES = ["finding_precision", "finding_recall", "f1", "severity_accuracy", "citation_accuracy", "coverage_completeness"];

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
const number = (value) => (value === null || value === undefined ? "–" : String(Math.round(value * 10000) / 10000));
function row(table, cells, kind = "td") {
  const made = el("tr");
  for (const cell of cells) made.append(cell instanceof Node ? cell : el(kind, cell));
  table.append(made);
  return made;
}
function picture(id, width, height, label) {
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label });
  byId(id).append(svg);
  return svg;
}
function head() {
  byId("verdict").textContent = data.passes ? "Every gate holds." : "A gate failed.";
  byId("verdict").className = data.passes ? "good" : "bad";
  byId("when").textContent = `${data.now.evaluated_at} · knowledge ${data.now.knowledge_version} · ${data.now.seconds} s`;
}
function gates() {
  row(byId("gates"), ["gate", "bound", "value", ""], "th");
  for (const gate of data.now.gates) {
    const value = gate.value === null ? "not measured" : number(gate.value);
    row(byId("gates"), [gate.name, gate.bound, value, el("td", gate.holds ? "holds" : "failed", { class: gate.holds ? "good" : "bad" })]);
  }
}
function numbers() {
  const tools = Object.keys(nodes.metrics);
  row(byId("numbers"), ["metric", ...tools, ...(before ? ["baseline"] : [])], "th");
  for (const metric of Object.keys(nodes.metrics.analyze)) {
    row(byId("numbers"), [metric, ...tools.map((tool) => number(nodes.metrics[tool][metric])), ...(before ? [number(before.metrics.analyze[metric])] : [])]);
  }
}
function heat() {
  row(byId("heat"), ["scenario", "family", "layout", "problems", ...SHARES.map((name) => name.replace("_", " "))], "th");
  for (const scenario of nodes.scenarios) {
    const shares = scenario.metrics.analyze || {};
    const cells = SHARES.map((name) => {
      const value = shares[name];
      const cell = el("td", number(value), { class: "number" });
      if (value !== null && value !== undefined) cell.style.background = value >= 1 ? "#2a7d4633" : `rgb(179 38 30 / ${0.25 + 0.75 * (1 - value)})`;
      return cell;
    });
    row(byId("heat"), [el("td", scenario.id, { title: scenario.tells }), scenario.family, scenario.layout, String(scenario.problems), ...cells]);
  }
}
function plane() {
  const svg = picture("plane", 420, 300, "Precision over recall, one dot a scenario");
  const x = (recall) => 40 + 360 * recall, y = (precision) => 260 - 240 * precision;
  svg.append(shape("path", { d: `M40 20V260H400`, class: "axis", fill: "none" }));
  svg.append(shape("text", { x: 200, y: 292 }, "recall"), shape("text", { x: 4, y: 14 }, "precision"));
  for (const tick of [0, 0.5, 1]) {
    svg.append(shape("text", { x: x(tick) - 6, y: 275 }, String(tick)), shape("text", { x: 14, y: y(tick) + 4 }, String(tick)));
  }
  for (const scenario of nodes.scenarios) {
    const shares = scenario.metrics.analyze;
    if (!shares) continue;
    const dot = shape("circle", { cx: x(shares.finding_recall), cy: y(shares.finding_precision), r: 6, class: "dot" });
    dot.append(shape("title", {}, scenario.id));
    svg.append(dot);
  }
}
function latency() {
  const values = [...nodes.latencies_ms].sort((left, right) => left - right);
  if (!values.length) return byId("latency").append(el("p", "Nothing was measured."));
  const svg = picture("latency", 640, 220, "How long an analysis took, as a histogram");
  const most = values[values.length - 1], bins = new Array(20).fill(0);
  for (const value of values) bins[Math.min(19, Math.floor((20 * value) / most))] += 1;
  const tallest = Math.max(...bins);
  bins.forEach((count, index) => {
    const height = (170 * count) / tallest;
    const bar = shape("rect", { x: 30 + index * 30, y: 190 - height, width: 27, height, class: "bar" });
    bar.append(shape("title", {}, `${count} scenarios`));
    svg.append(bar);
  });
  svg.append(shape("path", { d: "M30 190H630", class: "axis" }), shape("text", { x: 30, y: 208 }, "0 ms"), shape("text", { x: 560, y: 208 }, `${Math.round(most)} ms`));
}
function trend() {
  if (!before) return byId("trend").append(el("p", "No baseline was given (--baseline FILE)."));
  const table = el("table");
  row(table, ["metric", "baseline", "now", ""], "th");
  for (const name of Object.keys(nodes.metrics.analyze)) {
    const old = before.metrics.analyze[name], now = nodes.metrics.analyze[name];
    const step = old === null || now === null || old === undefined ? 0 : now - old;
    row(table, [name, number(old), number(now), step === 0 ? "=" : step > 0 ? `▲ ${number(step)}` : `▼ ${number(-step)}`]);
  }
  byId("trend").append(table);
}
function lists() {
  for (const scenario of nodes.scenarios) for (const trouble of scenario.troubles) byId("troubles").append(el("li", `${scenario.id}: ${trouble}`));
  if (!byId("troubles").children.length) byId("troubles").append(el("li", "None."));
  for (const change of nodes.changes) {
    const item = el("li", `${change.scenario}: ${change.what}`);
    if (change.diff.length) item.append(el("pre", change.diff.join("\n")));
    byId("changes").append(item);
  }
  if (!nodes.changes.length) byId("changes").append(el("li", "None."));
  if (nodes.mutations === null) return void (byId("mutations").textContent = "Not asked for (--mutations).");
  const missed = nodes.mutations.filter((mutation) => mutation.caught_by === null);
  byId("mutations").textContent = `${nodes.mutations.length} rules, checks and suppressions were taken away one by one; ${missed.length} were not missed by any scenario.`;
  for (const mutation of missed) byId("uncovered").append(el("li", `${mutation.kind} ${mutation.id}`));
}
function share(cell, value) {
  cell.style.background = value >= 1 ? "#2a7d4633" : `rgb(179 38 30 / ${0.25 + 0.75 * (1 - value)})`;
  return cell;
}
function troubles(id, rows, name) {
  for (const entry of rows) for (const trouble of entry.troubles) byId(id).append(el("li", `${entry[name]}: ${trouble}`));
  if (!byId(id).children.length) byId(id).append(el("li", "No trouble."));
}
function incidents(found, earlier) {
  byId("incident-how").textContent = `Chat model: ${found.provider}. Each scenario was run ${found.k} times.`;
  row(byId("incident-numbers"), ["metric", "now", ...(earlier ? ["baseline"] : [])], "th");
  for (const [name, value] of Object.entries(found.metrics)) row(byId("incident-numbers"), [name, number(value), ...(earlier ? [number(earlier.metrics[name])] : [])]);
  row(byId("incidents"), ["scenario", "expected", "answers", "right", "evidence", "verified", "tool calls", "tokens", "seconds"], "th");
  for (const one of found.scenarios) {
    const right = share(el("td", `${one.right} of ${one.answers.length}`), one.answers.length ? one.right / one.answers.length : 0);
    const answers = [...new Set(one.answers)].join(" | ");
    row(byId("incidents"), [el("td", one.id, { title: one.title }), one.expected.join(", ") || "healthy", answers, right, ...[one.claims, one.verified_claims, one.tool_calls, one.tokens, one.seconds].map(number)]);
  }
  troubles("incident-troubles", found.scenarios, "id");
}
function attacks(found) {
  byId("attack-how").textContent = `${found.attacks.length} ways to lie, ${found.seeds} seeds each. Fabricated evidence: ${number(found.metrics.fabricated_claimed)} handed in, ${number(found.metrics.fabricated_stored)} stored.`;
  const columns = ["runs", "chat_calls", "claimed", "fabricated_claimed", "fabricated_stored", "orders_followed", "diagnosed", "false_causes", "unmarked_false_causes", "by_rules", "seconds"];
  row(byId("attacks"), ["attack", ...columns.map((name) => name.replace("_", " "))], "th");
  for (const attack of found.attacks) row(byId("attacks"), [attack.attack, ...columns.map((name) => number(attack[name]))]);
  troubles("attack-troubles", found.attacks, "attack");
}
head(); gates();
for (const section of document.querySelectorAll("[data-part]")) section.hidden = !data.now[section.dataset.part];
if (nodes) { numbers(); heat(); plane(); latency(); trend(); lists(); }
if (data.now.incidents) incidents(data.now.incidents, data.before && data.before.incidents);
if (data.now.adversarial) attacks(data.now.adversarial);
