"use strict";
(() => {
const MOST = {jobs: 20, phases: 15, nodes: 40, lanes: 8, attempts: 20, failures: 10};
const EVERY = 1000, RETRY = 5000;
const STATES = {
  starting: ["Starting", ""], running: ["Running", ""], done: ["Done", "good"], failed: ["Failed", "bad"],
  abandoned: ["Abandoned", "bad"], interrupted: ["Interrupted", "bad"],
  gone: ["Stopped: the process of the run is gone", "bad"],
};
const RESUMED = ["interrupted", "gone"];
const KINDS = {original: "original", retry: "retry", clone: "clone", backup: "backup", replacement: "replacement"};
const at = id => document.getElementById(id);
// Texts from the run are untrusted, so they only ever become text nodes.
const make = (name, content, className) => {
  const element = document.createElement(name);
  if (className) element.className = className;
  for (const part of [content ?? []].flat()) element.append(part);
  return element;
};
const count = number => number.toLocaleString("en").replaceAll(",", "\u202f");
const span = seconds => {
  if (seconds == null || !isFinite(seconds)) return "–";
  if (seconds < 10) return seconds.toFixed(1) + " s";
  const whole = Math.round(seconds), two = number => String(number).padStart(2, "0");
  if (whole < 60) return whole + " s";
  if (whole < 3600) return Math.floor(whole / 60) + " min" + (whole % 60 ? " " + two(whole % 60) + " s" : "");
  return Math.floor(whole / 3600) + " h " + two(Math.floor(whole / 60) % 60) + " min";
};
const named = (snapshot, attempt) =>
  (snapshot.jobs.length > 1 ? (snapshot.jobs[attempt.job]?.name ?? "?") + " / " : "") + attempt.phase + "/" + attempt.task;
const more = (shown, all, what) => shown < all ? [make("p", "and " + count(all - shown) + " more " + what, "small soft")] : [];
const table = (columns, rows) => {
  const head = make("tr", columns.map(([name, isText]) => {
    const cell = make("th", name, isText ? "text" : "");
    cell.scope = "col";
    return cell;
  }));
  const body = rows.map(row => make("tr", row.map((content, index) => {
    const cell = make(index ? "td" : "th", content, columns[index][1] ? "text" : "");
    if (index) cell.dataset.label = columns[index][0]; else cell.scope = "row";
    return cell;
  })));
  return make("div", make("table", [make("thead", head), make("tbody", body)], "stack"), "scroll");
};
const bar = phase => {
  const element = make("progress");
  element.max = 1;
  element.value = phase.progress;
  element.setAttribute("aria-label", phase.name + ": " + Math.floor(phase.progress * 100) + "% done");
  return element;
};
const status = (phase, isOver) => {
  const missing = phase.finished + phase.failed_tasks < phase.tasks;
  if (missing && isOver) return "not finished";
  if (!missing) return phase.failed_tasks ? count(phase.failed_tasks) + " failed" : "done";
  if (phase.running) return count(phase.running) + " running";
  if (phase.starting) return count(phase.starting) + " starting";
  return phase.waiting ? "waiting" : "ready";
};
// Of many phases, those that run come first, and those that are done last.
const chosen = phases => {
  const rank = phase => (phase.running || phase.starting ? 0 : phase.finished + phase.failed_tasks >= phase.tasks ? 3 : phase.waiting ? 2 : 1);
  return phases.length > MOST.phases ? [...phases].sort((a, b) => rank(a) - rank(b)) : phases;
};
const JOBS = {waiting: 1, running: 0, done: 3, failed: 2, abandoned: 2, interrupted: 2};
const jobHeading = (snapshot, job) => {
  const isOver = job.end != null || over(snapshot), state = isOver && job.state === "running" ? "not finished" : job.state;
  const took = Math.max(0, (job.end ?? snapshot.now) - job.arrival);
  const about = make("span", count(job.finished) + " of " + count(job.tasks) + " tasks, " + span(took) +
    (job.report ? ", report " + job.report : ""), "small soft");
  return make("h3", [job.name + " ", make("span", state, "badge " + ({done: "good", failed: "bad", abandoned: "bad",
    interrupted: "bad"}[state] ?? "")), " ", about]);
};
const phases = snapshot => {
  const parts = [], jobs = [...snapshot.jobs];
  if (!jobs.length) return [make("p", "No job has arrived yet.")];
  // Of many jobs, those that run are of most interest. Sorting keeps the order of the others.
  if (jobs.length > 1) jobs.sort((a, b) => (JOBS[a.state] ?? 1) - (JOBS[b.state] ?? 1));
  for (const job of jobs.slice(0, MOST.jobs)) {
    const isOver = job.end != null || over(snapshot);
    if (jobs.length > 1) parts.push(jobHeading(snapshot, job));
    // A job that is done has nothing more to show than its heading, if there are others.
    if (jobs.length > 1 && job.state === "done") continue;
    const shown = chosen(job.phases).slice(0, MOST.phases);
    parts.push(table(
      [["Phase", true], ["Progress", true], ["Tasks"], ["State"], ["Copies"], ["Failed"], ["Median"], ["Left"]],
      shown.map(phase => [
        phase.name, bar(phase), count(phase.finished) + "/" + count(phase.tasks), status(phase, isOver),
        phase.copies.launched ? count(phase.copies.launched) + ", " + count(phase.copies.won) + " won" : "0",
        count(phase.failed), span(phase.median), span(phase.left),
      ])), ...more(shown.length, job.phases.length, "phases"));
  }
  return parts.concat(more(MOST.jobs, snapshot.jobs.length, "jobs"));
};
const amount = (name, value) => {
  if (!/memory|disk/.test(name)) return String(Math.round(value * 100) / 100);
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (value >= 1000 && unit < 4) { value /= 1000; unit += 1; }
  return Math.round(value * 10) / 10 + " " + units[unit];
};
// Of the other dimensions, only those in use are of interest.
const resources = node => Object.entries(node.capacity).filter(([name]) =>
  name === "cpus" || name === "slots" || node.used?.[name]).map(([name, all]) =>
  (node.used ? amount(name, node.used[name] ?? 0) + " of " : "") + amount(name, all) + " " + name).join(", ");
const nodes = (snapshot, most) => {
  if (!snapshot.nodes.length) return [make("p", "No node has joined yet.")];
  // A young run is not squeezed into a corner.
  const width = Math.min(most, Math.max(10, snapshot.now)), end = snapshot.now, begin = end - width, byNode = new Map();
  const put = (attempt, until, classes, what) => {
    if (until < begin) return;
    const bars = byNode.get(attempt.node) ?? [];
    byNode.set(attempt.node, bars);
    const copy = attempt.kind !== "original" && attempt.kind !== "retry";
    bars.push({start: attempt.start, end: until, classes: "bar " + classes + (copy ? " copy" : ""),
      title: named(snapshot, attempt) + ", attempt " + attempt.copy + " (" + (KINDS[attempt.kind] ?? "") + "), " + what});
  };
  for (const attempt of snapshot.ended) {
    const classes = {won: "won", lost: "lost", replaced: "lost"}[attempt.outcome] ?? "failed";
    put(attempt, attempt.end, classes, attempt.outcome.replace("_", " ") + " after " + span(attempt.end - attempt.start));
  }
  for (const attempt of snapshot.running) {
    const isStarting = attempt.state === "starting";
    put(attempt, end, isStarting ? "starting" : "running", (isStarting ? "starting for " : "running for ") + span(attempt.elapsed));
  }
  const order = snapshot.nodes.map((node, index) => [node, index]);
  const rank = node => (node.slow != null || node.lost ? 0 : byNode.has(node.name) ? 1 : 2);
  if (order.length > MOST.nodes) order.sort(([a, i], [b, j]) => rank(a) - rank(b) || i - j);
  const shown = order.slice(0, MOST.nodes).map(([node]) => {
    const about = make("div", [make("b", node.name), make("span", " " + resources(node))], "about");
    if (node.lost) about.append(make("span", " lost", "warn"));
    if (node.slow != null) about.append(make("span", " slow: " + Math.round(node.slow * 100) + "% of its speed", "warn"));
    const bars = (byNode.get(node.name) ?? []).sort((a, b) => a.start - b.start), lanes = [];
    let hidden = 0;
    const track = make("div", null, "track");
    for (const one of bars) {
      let lane = lanes.findIndex(free => free <= one.start);
      if (lane < 0) lane = lanes.length;
      if (lane >= MOST.lanes) { hidden += 1; continue; }
      lanes[lane] = one.end;
      const from = Math.max(one.start, begin), element = make("i", null, one.classes);
      element.style.left = (from - begin) / width * 100 + "%";
      element.style.width = Math.max(0, one.end - from) / width * 100 + "%";
      element.style.top = lane * .8 + .1 + "rem";
      element.title = one.title;
      track.append(element);
    }
    track.style.height = Math.max(1, lanes.length) * .8 + .1 + "rem";
    track.setAttribute("role", "img");
    track.setAttribute("aria-label", node.name + ": " + count(node.attempts) + " attempts");
    if (hidden) about.append(make("span", " " + count(hidden) + " attempts not shown"));
    return make("div", [about, track], "node");
  });
  const axis = make("div", [make("span", span(width) + " ago"), make("span", span(width / 2) + " ago"),
    make("span", over(snapshot) ? "end" : "now")], "axis");
  return [...shown, axis, ...more(shown.length, snapshot.nodes.length, "nodes")];
};
const attempts = snapshot => {
  if (!snapshot.running.length) return [make("p", "No attempt is running.")];
  const shown = snapshot.running.slice(0, MOST.attempts);
  return [table(
    [["Task", true], ["Node", true], ["Kind", true], ["Running for"], ["Times median"], ["Progress"], ["Running copies"]],
    shown.map(attempt => {
      const median = snapshot.jobs[attempt.job]?.phases.find(phase => phase.name === attempt.phase)?.median;
      const name = [named(snapshot, attempt)];
      if (attempt.because) name.push(make("span", attempt.because, "why"));
      return [name, attempt.node, (KINDS[attempt.kind] ?? "") + (attempt.state === "stopping" ? ", stopping" : ""),
        (attempt.state === "starting" ? "starting for " : "") + span(attempt.elapsed), median && attempt.state !== "starting" ? (attempt.elapsed / median).toFixed(1) + "×" : "–",
        attempt.progress == null ? "–" : Math.floor(attempt.progress * 100) + "%", count(attempt.copies)];
    })), ...more(shown.length, snapshot.running_attempts + snapshot.starting_attempts, "running attempts")];
};
const failures = snapshot => {
  if (!snapshot.failures.length) return [make("p", "No attempt has failed.")];
  const shown = snapshot.failures.slice(0, MOST.failures);
  return shown.map(failure => make("div", [
    make("b", named(snapshot, failure)),
    " attempt " + failure.copy + " on " + failure.node + ", " + span(Math.max(0, snapshot.now - failure.at)) +
      (over(snapshot) ? " before the end" : " ago"),
    make("pre", failure.message)], "failure")).concat(more(shown.length, snapshot.failed_attempts, "failures"));
};
const over = snapshot => snapshot.state !== "running" && snapshot.state !== "starting";
const facts = snapshot => [
  ["Time", span(snapshot.elapsed)],
  !over(snapshot) && ["Time left", span(snapshot.left), snapshot.more_phases ? "estimated, then other phases" : "estimated"],
  ["Tasks", count(snapshot.finished) + " of " + count(snapshot.tasks)],
  ["Running attempts", count(snapshot.running_attempts), [
    snapshot.starting_attempts ? count(snapshot.starting_attempts) + " starting" : "",
    snapshot.awaiting_tasks ? count(snapshot.awaiting_tasks) + (snapshot.awaiting_tasks === 1 ? " task waits" : " tasks wait") + " for lost nodes" : "",
  ].filter(Boolean).join(", ")],
  ["Copies", count(snapshot.copies.launched), count(snapshot.copies.won) + " won"],
  ["Failed attempts", count(snapshot.failed_attempts)],
].filter(Boolean).map(([name, value, detail]) => make("div", [make("dt", name), make("dd", detail && value !== "–" ? [value, make("span", detail)] : value)]));
const set = (element, text) => { if (element.textContent !== text) element.textContent = text; };
let last = null, said = null;
const say = (text, kind, rest) => {
  // A screen reader reads each change, so the text changes only with the state.
  if (said === text + rest) return;
  said = text + rest;
  at("state").replaceChildren(make("span", text, "badge " + kind), ...(rest ? [make("span", rest)] : []));
};
const show = () => {
  const snapshot = last;
  const name = snapshot.jobs.length === 1 ? snapshot.jobs[0].name : snapshot.jobs.length ? count(snapshot.jobs.length) + " jobs" : "Run";
  const [text, kind] = STATES[snapshot.state] ?? [snapshot.state, ""];
  set(at("title"), name);
  set(at("phases-title"), snapshot.jobs.length > 1 ? "Jobs" : "Phases");
  document.title = (snapshot.tasks ? Math.floor(snapshot.finished / snapshot.tasks * 100) + "% " : "") + name + " – " + text;
  const report = snapshot.report ? " The report is " + snapshot.report + "." : "";
  const end = RESUMED.includes(snapshot.state) ? "The option --resume continues the run." : "The run has ended.";
  say(text, kind, over(snapshot) ? end + report : "");
  set(at("note"), [snapshot.policy && "Policy " + snapshot.policy, snapshot.knowledge && "knowledge " + snapshot.knowledge,
    "folder " + snapshot.folder].filter(Boolean).join(", "));
  at("problem").hidden = !snapshot.problem;
  set(at("problem"), snapshot.problem ?? "");
  at("facts").replaceChildren(...facts(snapshot));
  at("phases").replaceChildren(...phases(snapshot));
  at("nodes").replaceChildren(...nodes(snapshot, Number(at("span").value)));
  at("attempts").replaceChildren(...attempts(snapshot));
  at("failures").replaceChildren(...failures(snapshot));
  at("content").hidden = false;
};
const look = async () => {
  let wait = EVERY;
  try {
    const answer = await fetch("/api/snapshot.json", {cache: "no-store"});
    if (!answer.ok) throw new Error("status " + answer.status);
    last = await answer.json();
    show();
  } catch (error) {
    wait = RETRY;
    if (!(last && over(last))) say("No connection", "bad", "The process that serves this page has ended, or can't be reached.");
  }
  setTimeout(look, wait);
};
at("span").addEventListener("change", () => { if (last) show(); });
look();
})();
