// The test tasks, and a player for their plans.

const STEP_MILLISECONDS = 1100;
const MOVING_SHARE = 0.65;  // of a step; the picture stands still for the rest

function eased(share) {
  const part = Math.min(1, share / MOVING_SHARE);
  return part < 0.5 ? 2 * part * part : 1 - 2 * (1 - part) * (1 - part);
}

function planSteps(plan) {
  const named = plan.steps.length ? plan.steps.map(([name, objects]) => call(name, objects)) : plan.actions;
  return named.map((name, index) => ({name, action: plan.steps.length ? plan.actions[index] : null}));
}

class Player {
  constructor(run, task) {
    this.run = run;
    this.plan = task.plan;
    this.task = task;
    this.steps = planSteps(task.plan);
    this.last = task.plan.holding.length - 1;
    this.time = 0;
    this.shown = -1;
    this.timer = null;
    const scene = page.scenes[run.domain];
    this.picture = task.film && scene ? new Picture(scene, task.film) : null;
    this.element = this.build();
    this.go(0);
  }

  build() {
    const button = (label, sign, act) => make("button", {type: "button", "aria-label": label, title: label, onclick: act},
      make("span", {"aria-hidden": "true"}, sign));
    this.play = make("button", {type: "button", class: "primary", "aria-label": "Play", title: "Play or pause (space)",
      onclick: () => this.toggle()}, make("span", {"aria-hidden": "true"}));
    this.slider = make("input", {type: "range", min: 0, max: this.last, step: "any", value: 0, "aria-label": "Step of the plan",
      oninput: () => { this.stop(); this.go(Number(this.slider.value)); }});
    this.status = make("p", {class: "status", role: "status"});
    this.list = make("ol", {class: "steps", "aria-label": "Plan"}, this.stepItem("Start", null, 0),
      this.steps.map((step, index) => this.stepItem(step.name, step.action, index + 1)));
    this.judged = make("div", {class: "judged"});
    const controls = this.last > 0 ? make("div", {class: "controls"}, this.play,
      button("Previous step", "‹", () => this.glide(Math.ceil(this.time) - 1)), this.slider,
      button("Next step", "›", () => this.glide(Math.floor(this.time) + 1))) : null;
    const broad = this.picture && this.picture.aspect > 2;
    return make("div", {class: broad ? "player broad" : "player", onkeydown: event => this.key(event)},
      make("div", {class: "stage"}, this.picture ? make("div", {class: "paper"}, this.picture.element) : null,
        controls, this.status),
      this.judged,
      make("div", {class: "plan"}, make("h4", {}, "Plan"), this.list));
  }

  stepItem(name, action, index) {
    const reached = index <= this.last, failed = this.plan.end && this.plan.end.step + 1 === index;
    const item = make("li", {class: failed ? "failed" : reached ? null : "unreached"},
      make("button", {type: "button", disabled: !reached, onclick: () => this.glide(index)},
        make("span", {class: "number"}, index ? String(index) : "·"),
        make("span", {class: "step-name"}, name,
          failed ? make("span", {class: "verdict"}, "ended here") : null,
          action && action !== name ? make("span", {class: "action"}, action) : null)));
    return item;
  }

  key(event) {
    const moves = {ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1};
    if (event.key in moves && !(event.target instanceof HTMLSelectElement)) {
      const sideways = event.key === "ArrowLeft" || event.key === "ArrowRight";
      if (!sideways && event.target !== this.slider) return;
      event.preventDefault();
      this.glide(moves[event.key] < 0 ? Math.ceil(this.time - 1e-6) - 1 : Math.floor(this.time + 1e-6) + 1);
    } else if (event.key === " " && event.target === this.slider) {
      event.preventDefault();
      this.toggle();
    } else if ((event.key === "Home" || event.key === "End") && event.target === this.slider) {
      event.preventDefault();
      this.glide(event.key === "Home" ? 0 : this.last);
    }
  }

  toggle() {
    if (this.timer !== null) { this.stop(); return; }
    const start = this.time >= this.last ? 0 : Math.floor(this.time);
    this.playOn(this.last, start);
    this.play.classList.add("playing");
    this.play.setAttribute("aria-label", "Pause");
  }

  // Play from one step to another.
  playOn(goal, start) {
    const began = performance.now();
    const tick = now => {
      const passed = start + (now - began) / STEP_MILLISECONDS;
      if (passed >= goal) { this.stop(); this.go(goal); return; }
      const index = Math.floor(Math.max(passed, start));
      this.go(index + eased(passed - index));
      this.timer = requestAnimationFrame(tick);
    };
    this.timer = requestAnimationFrame(tick);
  }

  stop() {
    if (this.timer !== null) cancelAnimationFrame(this.timer);
    this.timer = null;
    this.play.classList.remove("playing");
    this.play.setAttribute("aria-label", "Play");
  }

  // Go to a step; animate if it is a neighbour and the user does not prefer reduced motion.
  glide(index) {
    this.stop();
    const goal = Math.max(0, Math.min(this.last, index)), from = this.time;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches || !this.picture || Math.abs(goal - from) > 1;
    this.announce(goal);
    if (still) { this.go(goal); return; }
    const began = performance.now(), length = 0.5 * STEP_MILLISECONDS;
    const tick = now => {
      const share = Math.min(1, Math.max(0, (now - began) / length));
      this.go(share === 1 ? goal : from + (goal - from) * eased(share * MOVING_SHARE));
      this.timer = share < 1 ? requestAnimationFrame(tick) : null;
    };
    this.timer = requestAnimationFrame(tick);
  }

  go(time) {
    this.time = Math.max(0, Math.min(this.last, time));
    this.slider.value = String(this.time);
    if (this.picture) this.picture.show(this.time);
    const index = Math.floor(this.time + 1e-6);
    if (index !== this.shown) {
      this.shown = index;
      this.announce(index);
      this.showAtoms(index);
    }
  }

  announce(index) {
    const name = index ? this.steps[index - 1].name : "start";
    const text = index ? `After step ${index} of ${this.steps.length}: ${name}` : "The start";
    this.status.textContent = text;
    this.slider.setAttribute("aria-valuetext", text);
    if (this.picture) this.picture.element.setAttribute("aria-label", `Picture of the state. ${text}`);
    [...this.list.children].forEach((item, position) => {
      item.classList.toggle("past", position < index);
      if (position === index) item.setAttribute("aria-current", "step");
      else item.removeAttribute("aria-current");
    });
    const current = this.list.children[index];
    this.list.scrollTop = current.offsetTop - this.list.offsetTop - this.list.clientHeight / 3;
  }

  // Show which atoms of the goal and of the subgoal hold.
  showAtoms(index) {
    const plan = this.plan, holding = new Set(plan.holding[index]);
    const group = (title, numbers, otherwise) => {
      const names = numbers.map(number => this.run.atoms[number]);
      const held = new Set(numbers.filter(number => holding.has(number)).map(number => this.run.atoms[number]));
      return make("div", {}, make("h4", {}, title, make("span", {class: "count"}, ` ${held.size} of ${names.length}`)),
        atomList(names, atom => held.has(atom) ? "true" : otherwise, title));
    };
    const subgoal = plan.subgoals[index];
    this.judged.replaceChildren(...[
      group("Goal", plan.goal, "open"),
      subgoal && subgoal.length ? group(index ? "Subgoal after this step" : "Needed at the start", subgoal, "false") : null,
    ].filter(Boolean));
  }
}

function taskFacts(task) {
  const facts = [
    ["planning", seconds(task.seconds.total)], ["steps", task.length || null], ["objects", task.objects || null],
    ["abstract plans", task.abstractPlans || null], ["nodes created", task.nodes || null], ["samples", task.samples || null]];
  return make("dl", {class: "facts"}, facts.filter(([, value]) => value !== null).map(([name, value]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, typeof value === "number" ? value.toLocaleString("en") : value))));
}

function failureBox(run, task) {
  if (isSolved(task)) return null;
  const end = task.plan && task.plan.end;
  const worked = task.plan ? task.plan.actions.length : 0;
  const missing = end && end.missing.length ? end.missing.map(number => run.atoms[number]) : task.missing;
  const replay = end && worked ? `The attempt with the most progress is shown below: ${count(worked, "step")} succeeded.` : null;
  const searching = task.outcome === "timeout" && task.nodes && !task.abstractPlans;
  const reason = searching ? "Time ran out before the first abstract plan was found." : REASONS[task.outcome] || "";
  return make("div", {class: "failure"},
    make("p", {}, make("strong", {}, `Not solved: ${words(task.outcome)}. `), reason),
    task.failure && task.failure !== words(task.outcome) ? make("p", {}, task.failure) : null,
    missing.length ? make("div", {}, make("h4", {}, "Missing"), atomList(missing, () => "false", "Missing atoms")) : null,
    replay ? make("p", {class: "quiet"}, replay) : null);
}

function taskView(run, task) {
  const view = make("div", {class: "task", role: "region", "aria-label": `Task ${task.task}`});
  const player = task.plan ? new Player(run, task) : null;
  return fill(view, {}, [
    make("h3", {}, `Task ${task.task} `, make("span", {class: isSolved(task) ? "badge good" : "badge bad"}, words(task.outcome))),
    taskFacts(task), failureBox(run, task),
    player ? player.element : make("p", {class: "quiet"}, "There is nothing to replay."),
    player && !task.film ? make("p", {class: "quiet"}, "This task has no pictures.") : null]);
}

function chip(run, task, act) {
  const label = `${run ? `${run.label}, task` : "Task"} ${task.task}, ${words(task.outcome)}, ${seconds(task.seconds.total)}`;
  return make("button", {type: "button", class: isSolved(task) ? "chip good" : "chip bad", title: label, "aria-label": label,
    onclick: act}, String(task.task));
}

// Return the section, and a function that opens a task in it.
function tasksSection(run) {
  if (!run.tasks.length || !run.learned) return [null, () => {}];
  const view = make("div", {});
  const failed = run.tasks.filter(task => !isSolved(task)).length;
  const chips = run.tasks.map(task => chip(null, task, () => open(task, false)));
  const open = (task, move = true) => {
    chips.forEach((one, index) => {
      if (run.tasks[index] === task) one.setAttribute("aria-current", "true");
      else one.removeAttribute("aria-current");
    });
    view.replaceChildren(taskView(run, task));
    if (move) {
      made.scrollIntoView({block: "start"});
      chips[run.tasks.indexOf(task)].focus({preventScroll: true});
    }
  };
  const grid = make("div", {class: "grid-of-chips", role: "group", "aria-label": "Tasks"}, chips);
  const filter = failed && failed < run.tasks.length ? make("label", {class: "filter"},
    make("input", {type: "checkbox", onchange: event => chips.forEach((one, index) => {
      one.hidden = event.target.checked && isSolved(run.tasks[index]);
    })}), " only tasks that failed") : null;
  const made = section("tasks", "Tasks",
    make("p", {class: "lead"}, "Choose a task to see its plan. Drag the slider, or use the arrow keys."), filter, grid, view);
  open(run.tasks.find(task => !isSolved(task)) || run.tasks[0], false);
  return [made, open];
}
