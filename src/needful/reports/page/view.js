// The runs in a folder, updated while they are made.

const POLL_MILLISECONDS = 2000;
const MAX_REPORTED = page.maxReported;
const DELETED = "This run was deleted.";
const main = document.getElementById("main"), status = document.getElementById("status");
const rows = new Map(), chosen = new Set();
let known = [], selected = null, version = null, shownDetails = "";

const list = make("tbody", {});
const detail = make("section", {id: "run", "aria-live": "polite", hidden: true});
const filter = make("input", {type: "search", id: "filter", placeholder: "name, domain or learner", size: 24, oninput: () => arrange()});
const compare = make("button", {type: "button", class: "picker", onclick: () => openReport([...chosen])}, "Open a page about the chosen runs");

function openReport(names) {
  location.href = `report?${names.map(name => `run=${encodeURIComponent(name)}`).join("&")}`;
}

function meterOf(run) {
  const total = run.total || run.done || 1;
  return draw("svg", {viewBox: "0 0 100 6", preserveAspectRatio: "none", class: "meter", "aria-hidden": "true"},
    draw("rect", {width: 100, height: 6, class: "track"}),
    draw("rect", {width: 100 * run.done / total, height: 6, class: "failed"}),
    draw("rect", {width: 100 * run.solved / total, height: 6, class: "fill-run2"}));
}

function stateText(run) {
  return run.state === "running" && run.stage ? run.stage : run.state;
}

function solvedText(run) {
  if (run.total === null || run.total === run.done) return `${run.solved}/${run.done}`;
  return run.done ? `${run.solved}/${run.done}, of ${run.total}` : `0 of ${run.total}`;
}

function fillRow(row, run) {
  const finished = run.state === "finished";
  const box = make("input", {type: "checkbox", "aria-label": `Choose ${run.name}`, disabled: !finished, onchange: event => {
    if (event.target.checked) chosen.add(run.name); else chosen.delete(run.name);
    countChosen();
  }});
  box.checked = chosen.has(run.name);
  row.replaceChildren(...[box,
    make("button", {type: "button", class: "link", onclick: () => select(run.name)}, run.name),
    run.domain, run.learner, run.seed === null ? "–" : String(run.seed), stateText(run),
    make("div", {class: "solved"}, solvedText(run), meterOf(run)),
    run.started.replace("T", " ").replace("Z", ""),
  ].map(cell => make("td", {}, cell)));
}

function countChosen() {
  compare.disabled = !chosen.size || chosen.size > MAX_REPORTED;
  compare.textContent = chosen.size > MAX_REPORTED ? `Choose at most ${MAX_REPORTED} runs`
    : chosen.size ? `Open a page about ${count(chosen.size, "chosen run")}` : "Choose finished runs to compare";
}

function arrange() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const run of known) {
    const text = `${run.name} ${run.domain} ${run.learner} ${run.state}`.toLowerCase();
    rows.get(run.name).hidden = !words.every(word => text.includes(word));
  }
}

// Change only the rows of runs that changed, so that focus and scrolling stay.
function showRuns(runs) {
  const names = new Set(runs.map(run => run.name));
  for (const [name, row] of rows) if (!names.has(name)) { row.remove(); rows.delete(name); chosen.delete(name); }
  const before = new Map(known.map(run => [run.name, JSON.stringify(run)]));
  runs.forEach((run, index) => {
    if (!rows.has(run.name)) rows.set(run.name, make("tr", {}));
    const row = rows.get(run.name);
    if (before.get(run.name) !== JSON.stringify(run) || !row.childElementCount) fillRow(row, run);
    if (list.children[index] !== row) list.insertBefore(row, list.children[index] || null);
  });
  known = runs;
  const running = runs.filter(run => run.state === "running").length;
  status.textContent = `${count(runs.length, "run")}, ${running} running.`;
  countChosen();
  arrange();
}

function select(name) {
  selected = name;
  shownDetails = "";
  detail.hidden = false;
  refreshDetails();
}

async function refreshDetails() {
  const wanted = selected;
  if (wanted === null) return;
  // Do not ask for a run that is not listed: the browser logs each answer 404 as an error.
  const answer = rows.has(wanted) ? await fetch(`run.json?run=${encodeURIComponent(wanted)}`) : null;
  if (wanted !== selected) return;
  const text = answer && answer.ok ? await answer.text() : DELETED;
  if (text === shownDetails) return;
  shownDetails = text;
  if (text === DELETED) {
    detail.replaceChildren(make("h2", {}, wanted), make("p", {class: "notice"}, DELETED));
    return;
  }
  const run = JSON.parse(text);
  const tasks = run.taskList, climb = run.climb;
  const drawable = climb && Array.isArray(climb.steps) && climb.steps.length > 0 && climb.steps.every(step => Number.isFinite(step.uncovered));
  detail.replaceChildren(...[
    make("h2", {id: "run-title"}, run.name),
    make("p", {class: "lead"}, `${heading(stateText(run))}. ${count(tasks.length, "task")} done, ${run.solved} solved.`),
    run.error ? make("p", {class: "notice"}, prose(run.error)) : null,
    run.made.command ? make("p", {}, code(run.made.command, {class: "command"})) : null,
    run.state === "finished" ? make("p", {}, make("button", {type: "button", class: "picker", onclick: () => openReport([run.name])}, "Open the page about this run")) : null,
    drawable ? make("div", {class: "charts"}, climbChart(climb, () => {})) : null,
    tasks.length ? make("div", {class: "charts"}, solvedCurves([{label: run.name, number: 0, tasks}]), timeDots(tasks, () => {})) : null,
    tasks.length ? make("div", {class: "grid-of-chips", role: "group", "aria-label": "Tasks"}, tasks.map(task => {
      const label = `Task ${task.task}, ${words(task.outcome)}, ${seconds(task.seconds.total)}${task.failure ? `: ${task.failure}` : ""}`;
      return make("span", {class: isSolved(task) ? "chip good" : "chip bad", title: label, role: "img", "aria-label": label}, String(task.task));
    })) : null,
  ].filter(Boolean));
}

async function refresh() {
  if (!document.hidden) {
    try {
      const answer = await fetch("runs.json", {headers: version ? {"If-None-Match": version} : {}});
      if (answer.status === 200) {
        version = answer.headers.get("ETag");
        showRuns((await answer.json()).runs);
      }
      await refreshDetails();
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;  // fetch raises TypeError if the server does not answer
      status.replaceChildren(...prose("The server does not answer. Start `needful view` again."));
      version = null;
    }
  }
}

async function poll() {
  try {
    await refresh();
  } finally {
    setTimeout(poll, POLL_MILLISECONDS);
  }
}

main.append(
  section("list", "Runs",
    make("p", {class: "view-tools"}, make("label", {for: "filter"}, "Show "), filter, " ", compare),
    make("div", {class: "wide", tabindex: 0, role: "region", "aria-label": "List of runs"}, make("table", {},
      make("thead", {}, make("tr", {}, ["", "run", "domain", "learner", "seed", "state", "solved", "started (UTC)"].map(head =>
        make(head ? "th" : "td", head ? {scope: "col"} : {}, head)))), list))),
  detail);
showRuns(page.runs);
setTimeout(poll, POLL_MILLISECONDS);
