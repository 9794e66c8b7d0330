// Runs of one domain side by side: groups of runs that differ only in their seeds, and pairs of groups.

const DASH = "–";

// A mean with its 95 % interval over seeds; `shown` formats a number.
function overSeeds(found, shown) {
  if (!found) return DASH;
  if (found.low === null) return shown(found.mean);
  return make("span", {}, shown(found.mean), " ",
    make("span", {class: "interval"}, `[${shown(found.low)}, ${shown(found.high)}]`));
}

function rounded(value) {
  return value >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toFixed(1)));
}

function points(share) {
  const value = Number((100 * share).toFixed(1));
  return `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.abs(value)}`;
}

function groupRow(group, number) {
  const meter = draw("svg", {viewBox: "0 0 100 6", preserveAspectRatio: "none", class: "meter", "aria-hidden": "true"},
    draw("rect", {width: 100, height: 6, class: "track"}),
    draw("rect", {width: group.tasks ? 100 * group.solved / group.tasks : 0, height: 6, class: `fill-run${number % 8}`}));
  return [
    group.label,
    make("div", {class: "solved"}, group.tasks ? `${group.solved}/${group.tasks}` : DASH, meter),
    overSeeds(group.success, percent),
    String(group.seeds.length),
    overSeeds(group.operators, rounded),
    overSeeds(group.coverage, percent),
    overSeeds(group.learning, seconds),
    overSeeds(group.planning, seconds),
    overSeeds(group.nodes, rounded),
  ];
}

const COMPARED = ["runs", "solved", "success", "seeds", "operators", "coverage", "learning", "planning per task", "nodes created"];

function settingsTable(comparison) {
  const settings = Object.entries(comparison.settings);
  if (!settings.length) return null;
  return [
    make("p", {class: "notice"}, `These runs have different settings: ${settings.map(([name]) => name).join(", ")}. ` +
      "Runs are grouped by learner and settings."),
    dataTable("Settings that differ", ["setting", ...comparison.groups.map(group => group.label)],
      settings.map(([name, values]) => [name, ...values])),
  ];
}

// What a pair of groups shows, in one sentence. Without an interval that excludes 0, no group is called better.
function pairSentence(comparison, pair) {
  const reversed = pair.difference.high !== null && pair.difference.high < 0;
  const sign = reversed ? -1 : 1, found = pair.difference;
  const bounds = (reversed ? [found.high, found.low] : [found.low, found.high]).map(bound => points(sign * bound));
  const [first, second] = (reversed ? [pair.second, pair.first] : [pair.first, pair.second])
    .map(number => make("strong", {}, comparison.groups[number].label));
  const tasks = `on the ${count(pair.shared, "task")} that both tried: `;
  const difference = `difference ${points(sign * found.mean)} percentage points`;
  if (found.low === null) {
    return [first, ` solved ${pair.both + pair.onlyFirst} and `, second,
      ` solved ${pair.both + pair.onlySecond} of ${count(pair.shared, "task")} that both tried. One seed shows no difference in general.`];
  }
  const interval = `${difference}, 95 % interval [${bounds.join(", ")}] over ${count(found.seeds, "seed")}.`;
  return reversed || found.low > 0 ? [first, " solved more than ", second, ` ${tasks}${interval}`]
    : ["No clear difference between ", first, " and ", second, ` ${tasks}${interval}`];
}

function taskLinks(comparison, tasks, total, open) {
  if (!total) return String(total);
  const links = tasks.map(({run, task}) => {
    const found = runs[run].tasks.find(one => one.task === task);
    return make("button", {type: "button", class: "link", onclick: () => open(runs[run], found)},
      `${task}${comparison.groups.some(group => group.seeds.length > 1) ? ` (seed ${runs[run].seed})` : ""}`);
  });
  return make("details", {}, make("summary", {}, String(total)),
    make("span", {class: "links"}, links.flatMap(link => [link, " "]), total > tasks.length ? "…" : null));
}

function pairsTable(comparison, open) {
  if (!comparison.pairs.length) {
    return comparison.groups.length > 1
      ? make("p", {class: "quiet"}, "No task was tried by two groups, so tasks are not compared one by one.") : null;
  }
  const name = number => comparison.groups[number].label;
  return [
    make("h3", {}, "On the same tasks"),
    comparison.pairs.length > 1 ? make("p", {class: "quiet"}, "The intervals are not corrected for the number of pairs.") : null,
    make("ul", {class: "claims"}, comparison.pairs.map(pair => make("li", {}, pairSentence(comparison, pair)))),
    dataTable("Pairs of groups on the same tasks", ["first", "second", "same tasks", "both solved", "only first", "only second", "neither"],
      comparison.pairs.map(pair => [name(pair.first), name(pair.second), String(pair.shared), String(pair.both),
        taskLinks(comparison, pair.tasksOnlyFirst, pair.onlyFirst, open),
        taskLinks(comparison, pair.tasksOnlySecond, pair.onlySecond, open), String(pair.neither)])),
  ];
}

// Each different set of operators of a group, with the seeds that learned it.
function operatorSets(group) {
  const sets = new Map();
  for (const run of group.runs.map(number => runs[number])) {
    const key = run.model ? run.model.operators.map(card => card.pddl).join("\n") : run.learned ? "none" : "unlearned";
    if (!sets.has(key)) sets.set(key, []);
    sets.get(key).push(run);
  }
  return [...sets.values()];
}

function operatorColumns(groups) {
  if (!groups.some(group => group.runs.some(number => runs[number].model))) return null;
  return [make("h3", {}, "Operators side by side"), make("div", {class: "columns"}, groups.flatMap(group =>
    operatorSets(group).map(members => make("div", {},
      make("h4", {}, group.runs.length > 1 ? `${group.label}, seed ${members.map(run => run.seed).join(", ")}` : group.label),
      members[0].model ? make("ul", {class: "plain"}, members[0].model.operators.map(card => make("li", {},
        make("details", {}, make("summary", {}, make("code", {}, call(card.name, card.parameters.map(([, type]) => type)))), pddl(card.pddl)))))
        : make("p", {class: "quiet"}, members[0].learned ? "no operators" : "learning ran out of time")))))];
}

function taskMatrix(groups, open) {
  const shown = groups.flatMap(group => group.runs.map(number => runs[number])).filter(run => run.tasks.length);
  return make("details", {open: shown.length <= 6}, make("summary", {}, "Tasks of each run"),
    make("div", {class: "matrix"}, shown.map(run => make("div", {},
      make("h4", {}, run.label),
      make("div", {class: "grid-of-chips", role: "group", "aria-label": `Tasks of ${run.label}`},
        run.tasks.map(task => chip(run, task, () => open(run, task))))))));
}

function comparisonSection(open) {
  if (!page.comparisons.length) return null;
  return section("comparison", "Comparison", page.comparisons.map(comparison => {
    const groups = comparison.groups;
    const pooled = groups.map((group, number) => ({label: group.label, number, tasks: group.runs.flatMap(run => runs[run].tasks)}));
    const several = groups.some(group => group.seeds.length > 1);
    return make("div", {class: "group"},
      domains.length > 1 ? make("h3", {}, heading(comparison.domain)) : null,
      comparison.notes.map(note => make("p", {class: "notice"}, note)),
      settingsTable(comparison),
      several ? make("p", {class: "lead"}, "Means over seeds, with 95 % intervals in brackets (Student's t). A number without brackets comes from one seed. If all seeds have the same number, the interval has no width.") : null,
      dataTable("Groups of runs side by side", COMPARED, groups.map(groupRow)),
      pooled.some(group => group.tasks.length) ? solvedCurves(pooled.filter(group => group.tasks.length)) : null,
      pairsTable(comparison, open), operatorColumns(groups), taskMatrix(groups, open));
  }));
}
