// The test tasks: choose one to see its plan and, if it failed, why.

function taskFacts(task) {
  const facts = [
    ["planning", seconds(task.seconds.total)], ["steps", task.length || null], ["objects", task.objects || null],
    ["abstract plans", task.abstractPlans || null], ["nodes created", task.nodes || null], ["samples", task.samples || null]];
  return make("dl", {class: "facts"}, facts.filter(([, value]) => value !== null).map(([name, value]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, typeof value === "number" ? value.toLocaleString("en") : value))));
}

function operatorLink(run, name) {
  if (!run.model || !run.model.operators.some(card => card.name === name)) return null;
  return make("a", {class: "to-operator", href: `#${fragment(run, operatorPart(name))}`, title: `Operator ${name}`,
    "aria-label": `Operator ${name}`}, "→");
}

// The view of a task, and its player (null if there is no plan).
function taskView(run, task) {
  const view = make("div", {class: "task", role: "region", "aria-label": `Task ${task.task}`});
  const stage = task.plan ? makeStage(task.film, page.scenes[run.domain], task.plan) : null;
  const player = task.plan ? new Player(task.plan, run.atoms, stage, name => operatorLink(run, name),
    step => view.isConnected && setFragment(run, `task-${task.task}`, `step-${step}`)) : null;
  fill(view, {}, [
    make("h3", {}, `Task ${task.task} `, make("span", {class: isSolved(task) ? "badge good" : "badge bad"}, words(task.outcome))),
    taskFacts(task), isSolved(task) ? null : failureBox(task.plan, run.atoms, task),
    player ? player.element : make("p", {class: "quiet"}, "There is nothing to replay."),
    player ? drawsFigure(task.plan.end, stage) : null,
    player && !stage ? make("p", {class: "quiet"}, prose("This task has no film. `needful report RUN` draws more films.")) : null]);
  return [view, player];
}

function chip(run, task, act) {
  const label = `${run ? `${run.label}, task` : "Task"} ${task.task}, ${words(task.outcome)}, ${seconds(task.seconds.total)}`;
  return withTip(make("button", {type: "button", class: `${isSolved(task) ? "chip good" : "chip bad"}${task.film ? "" : " unfilmed"}`,
    "aria-label": label, onclick: act}, String(task.task)), label + (task.film || !task.plan ? "" : ", no film"));
}

const ORDERS = {
  number: task => task.task,
  "planning time": task => -task.seconds.total,
  "nodes created": task => -task.nodes,
  "length of the plan": task => -(task.length || (task.plan ? task.plan.steps.length : 0)),
  objects: task => -task.objects,
  outcome: task => (isSolved(task) ? 1 : 0),
};

// A search matches the number, the outcome, the goal and the operators of a task.
function matches(run, task, search) {
  const plan = task.plan, parts = [`task ${task.task}`, words(task.outcome), task.failure || ""];
  if (plan) parts.push(...plan.goal.map(number => run.atoms[number]), ...plan.steps.map(([name, objects]) => call(name, objects)));
  return parts.some(part => part.toLowerCase().includes(search));
}

// Return the section, and a function that opens a task in it.
function tasksSection(run) {
  if (!run.tasks.length || !run.learned) return [null, () => {}];
  const view = make("div", {}), chips = new Map();
  const grid = make("div", {class: "grid-of-chips", role: "group", "aria-label": "Tasks"});
  const open = (task, move = true, step = null) => {
    for (const [one, button] of chips) {
      if (one === task) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
    const [made, player] = taskView(run, task);
    view.replaceChildren(made);
    if (player && step !== null) player.go(step);
    if (move) {
      made.scrollIntoView({block: "start"});
      chips.get(task).focus({preventScroll: true});
      setFragment(run, `task-${task.task}`, step === null ? null : `step-${step}`);
    }
  };
  run.tasks.forEach(task => chips.set(task, chip(null, task, () => {
    open(task, false);
    setFragment(run, `task-${task.task}`);
  })));
  const [filter, shownCount] = taskFilter(run, chips, grid);
  const shown = section("tasks", "Tasks",
    make("p", {class: "lead"}, "Choose a task to see its plan. In the player, the arrow keys go to the next and the previous step, and space plays."),
    filter, grid, shownCount, view);
  open(run.tasks.find(task => !isSolved(task)) || run.tasks[0], false);
  return [shown, open];
}

// Controls that choose and sort the tasks in the grid, and the number of tasks that are shown.
function taskFilter(run, chips, grid) {
  const status = make("p", {class: "quiet", role: "status"});
  const search = make("input", {type: "search", placeholder: "goal, operator, outcome", oninput: () => update()});
  const order = make("select", {onchange: () => update()}, Object.keys(ORDERS).map(name => make("option", {value: name}, name)));
  const failed = run.tasks.filter(task => !isSolved(task)).length;
  const only = make("input", {type: "checkbox", onchange: () => update()});
  const update = () => {
    const wanted = search.value.trim().toLowerCase(), rank = ORDERS[order.value];
    const sorted = [...run.tasks].sort((a, b) => rank(a) - rank(b) || a.task - b.task);
    let shown = 0;
    for (const task of sorted) {
      const button = chips.get(task);
      button.hidden = (only.checked && isSolved(task)) || !matches(run, task, wanted);
      shown += button.hidden ? 0 : 1;
      grid.append(button);
    }
    status.textContent = shown === run.tasks.length ? "" : `${shown} of ${count(run.tasks.length, "task")}`;
  };
  update();
  if (run.tasks.length < 2) return [null, status];
  return [make("div", {class: "filters"}, make("label", {}, "Search ", search), make("label", {}, "Sort by ", order),
    failed && failed < run.tasks.length ? make("label", {class: "filter"}, only, " only tasks that failed") : null), status];
}
