// Runs of one domain side by side.

function comparisonRow(run) {
  const times = run.tasks.map(task => task.seconds.total), solved = run.tasks.filter(isSolved).length;
  const learning = learningSeconds(run).reduce((sum, [, value]) => sum + value, 0);
  const meter = draw("svg", {viewBox: "0 0 100 6", preserveAspectRatio: "none", class: "meter", "aria-hidden": "true"},
    draw("rect", {width: 100, height: 6, class: "track"}),
    draw("rect", {width: run.tasks.length ? 100 * solved / run.tasks.length : 0, height: 6, class: `fill-run${run.number % 8}`}));
  const dash = "–";
  return [
    run.label,
    make("div", {class: "solved"}, run.tasks.length ? `${solved}/${run.tasks.length}` : dash, meter),
    run.model ? String(run.model.operators.length) : dash,
    run.model && run.facts.coverage !== undefined ? percent(run.facts.coverage) : dash,
    learning ? seconds(learning) : dash,
    times.length && run.learned ? seconds(mean(times)) : dash,
    times.length && run.learned ? seconds(quantile(times, 0.9)) : dash,
    run.tasks.some(task => task.nodes) ? Math.round(mean(run.tasks.map(task => task.nodes))).toLocaleString("en") : dash,
  ];
}

const COMPARED = ["run", "solved", "operators", "coverage", "learning", "planning, mean", "planning, p90", "nodes created, mean"];

function operatorColumns(runs) {
  return make("div", {class: "columns"}, runs.map(run => make("div", {},
    make("h4", {}, run.label),
    run.model ? make("ul", {class: "plain"}, run.model.operators.map(card => make("li", {},
      make("details", {}, make("summary", {}, make("code", {}, call(card.name, card.parameters.map(([, type]) => type)))), pddl(card.pddl)))))
      : make("p", {class: "quiet"}, run.learned ? "no operators" : "learning ran out of time"))));
}

function taskMatrix(runs, open) {
  return make("div", {class: "matrix"}, runs.filter(run => run.tasks.length).map(run => make("div", {},
    make("h4", {}, run.label),
    make("div", {class: "grid-of-chips", role: "group", "aria-label": `Tasks of ${run.label}`},
      run.tasks.map(task => chip(run, task, () => open(run, task)))))));
}

function differences(runs) {
  const outcomes = runs.filter(run => run.tasks.length).map(run => new Map(run.tasks.map(task => [task.task, isSolved(task)])));
  if (outcomes.length < 2) return null;
  const shared = [...outcomes[0].keys()].filter(number => outcomes.every(solved => solved.has(number))).sort((a, b) => a - b);
  const split = shared.filter(number => new Set(outcomes.map(solved => solved.get(number))).size > 1);
  const which = `${count(shared.length, "task")} that every run tried`;
  return make("p", {class: "quiet"}, split.length
    ? `The runs differ on ${split.length} of ${which}: ${split.slice(0, 30).join(", ")}${split.length > 30 ? ", …" : ""}.`
    : `The runs do not differ on the ${which}.`);
}

function comparisonSection(runs, domains, open) {
  const groups = domains.map(domain => runs.filter(run => run.domain === domain)).filter(group => group.length > 1);
  if (!groups.length) return null;
  return section("comparison", "Comparison", groups.map(group => make("div", {class: "group"},
    domains.length > 1 ? make("h3", {}, heading(group[0].domain)) : null,
    dataTable("Runs side by side", COMPARED, group.map(comparisonRow)),
    group.some(run => run.tasks.length) ? solvedCurves(group) : null,
    make("h3", {}, "Operators side by side"), operatorColumns(group),
    make("h3", {}, "Task by task"), differences(group), taskMatrix(group, open))));
}
