// The summary of a run: success, times and failures.

function tile(value, label, note = null) {
  return make("li", {class: "tile"}, make("strong", {}, value), make("span", {}, label),
    note && make("span", {class: "note"}, note));
}

function learningSeconds(run) {
  return Object.entries(run.seconds).filter(([stage, value]) => !/^(collect|validation|planning_)/.test(stage) && value > 0);
}

function summaryTiles(run) {
  const facts = run.facts, tiles = [];
  const times = run.tasks.map(task => task.seconds.total);
  const solved = run.tasks.filter(isSolved).length;
  if (run.tasks.length) {
    tiles.push(tile(percent(solved / run.tasks.length), "solved", `${solved} of ${count(run.tasks.length, "unseen task")}`));
  }
  if (run.model) {
    const [noun, verb] = run.model.operators.length === 1 ? ["operator", "covers"] : ["operators", "cover"];
    tiles.push(tile(String(run.model.operators.length), noun,
      facts.coverage === undefined || facts.transitions === undefined ? null : `${verb} ${percent(facts.coverage)} of ${count(facts.transitions, "transition")}`));
  }
  const learning = learningSeconds(run);
  if (learning.length) {
    const total = learning.reduce((sum, [, value]) => sum + value, 0);
    tiles.push(tile(seconds(total), "learning",
      learning.length > 1 ? learning.map(([stage, value]) => `${words(stage)} ${seconds(value)}`).join(", ") : null));
  }
  if (times.length && run.learned) {
    tiles.push(tile(seconds(mean(times)), "planning per task", `90 % within ${seconds(quantile(times, 0.9))}`));
  }
  return make("ul", {class: "tiles"}, tiles);
}

function stageBar(run) {
  const sums = {grounding: 0, search: 0, refinement: 0};
  let total = 0;
  for (const task of run.tasks) {
    total += task.seconds.total;
    for (const stage of Object.keys(sums)) sums[stage] += task.seconds[stage] || 0;
  }
  const known = sums.grounding + sums.search + sums.refinement;
  if (!known || !total) return null;
  const parts = Object.entries(sums).map(([stage, value], index) => [`stage${index}`, stage, value, percent(value / total)]);
  const rest = Math.max(0, total - known);
  if (rest / total > 0.005) parts.push(["stage3", "other", rest, percent(rest / total)]);
  return shareBar("Planning time by stage", parts);
}

const MAX_LISTED_FAILURES = 12;

function failures(run, open) {
  const failed = run.tasks.filter(task => !isSolved(task));
  if (!run.tasks.length) return make("p", {class: "quiet"}, "No tasks were tried.");
  if (!failed.length) return make("p", {class: "quiet"}, "No task failed.");
  const outcomes = [...new Set(failed.map(task => task.outcome))];
  const counts = outcomes.map(outcome => [outcome, failed.filter(task => task.outcome === outcome).length])
    .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  const bars = make("ul", {class: "reasons"}, counts.map(([outcome, number]) => {
    const bar = draw("svg", {viewBox: "0 0 100 6", preserveAspectRatio: "none", class: "meter", "aria-hidden": "true"},
      draw("rect", {width: 100, height: 6, class: "track"}),
      draw("rect", {width: 100 * number / run.tasks.length, height: 6, class: "failed"}));
    return make("li", {}, make("span", {class: "reason"}, make("strong", {}, String(number)), ` ${words(outcome)}`), bar,
      make("span", {class: "quiet"}, REASONS[outcome] || ""));
  }));
  const first = run.learned ? failed.slice(0, MAX_LISTED_FAILURES) : [];
  const list = make("ul", {class: "failures"}, first.map(task => make("li", {},
    make("button", {type: "button", class: "link", onclick: () => open(task)}, `Task ${task.task}`),
    " ", prose(task.failure || words(task.outcome)))));
  const more = failed.length - first.length;
  return make("div", {}, bars, first.length ? list : null,
    first.length && more > 0 ? make("p", {class: "quiet"}, `and ${more} more in the list of tasks below.`) : null);
}

function summarySection(run, open) {
  const notes = run.notes.map(note => make("p", {class: "notice"}, prose(note)));
  if (!run.learned) {
    notes.unshift(make("p", {class: "notice"},
      "Learning ran out of time, so there is no model, and no task was tried."));
  }
  return section("summary", "Summary", summaryTiles(run), ...notes, make("h3", {}, "Failures"), failures(run, open));
}

function timesSection(run, open) {
  if (!run.tasks.length || !run.learned) return null;
  return section("times", "Times",
    make("div", {class: "charts"}, solvedCurves([run]), timeDots(run.tasks, open)), stageBar(run));
}
