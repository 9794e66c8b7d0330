// A player for plans: a picture of the state, the steps of the plan, and the atoms that hold.
//
// Time is counted in steps, in 2D and in 3D: at time 2, the second step has ended; 1.5 is in the middle of the second
// step. A stage has an `element`, an `aspect`, `show(time, tries)`, `describe(text)`, and `milliseconds(step)`.

const MAX_GLIDE_MILLISECONDS = 1200;
const MOVING_SHARE = 0.65;  // of a step; the picture stands still for the rest

function eased(share) {
  const part = Math.min(1, share / MOVING_SHARE);
  return part < 0.5 ? 2 * part * part : 1 - 2 * (1 - part) * (1 - part);
}

function planSteps(plan) {
  const named = plan.steps.length ? plan.steps.map(([name, objects]) => call(name, objects)) : plan.actions;
  return named.map((name, index) => ({name, operator: plan.steps.length ? plan.steps[index][0] : null,
    action: plan.steps.length ? plan.actions[index] : null}));
}

class Player {
  // `linkTo(operator)` returns a link to the card of an operator, or null; `stepped(index)` is called after a step.
  constructor(plan, atoms, stage, linkTo = () => null, stepped = () => {}) {
    this.plan = plan;
    this.atoms = atoms;
    this.stage = stage;
    this.linkTo = linkTo;
    this.stepped = stepped;
    this.steps = planSteps(plan);
    this.last = plan.holding.length - 1;
    this.time = 0;
    this.shown = -1;
    this.timer = null;
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
    this.speed = make("select", {"aria-label": "Speed"}, ["0.5", "1", "2", "4"].map(speed =>
      make("option", {value: speed, selected: speed === "1"}, `${speed === "0.5" ? "½" : speed}×`)));
    this.status = make("p", {class: "status", role: "status"});
    this.list = make("ol", {class: "steps", "aria-label": "Plan"}, this.stepItem({name: "Start"}, 0),
      this.steps.map((step, index) => this.stepItem(step, index + 1)));
    this.judged = make("div", {class: "judged"});
    const controls = this.last > 0 ? make("div", {class: "controls"}, this.play,
      button("Previous step", "‹", () => this.glide(this.previous)), this.slider,
      button("Next step", "›", () => this.glide(this.next)), this.speed) : null;
    const broad = this.stage && this.stage.aspect > 2;
    return make("div", {class: broad ? "player broad" : "player", onkeydown: event => this.key(event)},
      make("div", {class: "stage"}, this.stage ? make("div", {class: "paper"}, this.stage.element) : null,
        controls, this.triesBox(), this.status),
      this.judged,
      make("div", {class: "plan"}, partHeading("Plan"), this.list));
  }

  // A check box that shows where all tries of the failed step ended.
  triesBox() {
    const tries = this.stage && this.stage.tries ? this.stage.tries.length : 0;
    if (!tries) return null;
    this.triesShown = make("input", {type: "checkbox", checked: true, onchange: () => this.go(this.time)});
    return make("label", {class: "filter"}, this.triesShown, ` show where ${count(tries, "try", "tries")} of the failed step ended`);
  }

  get previous() {
    return Math.ceil(this.time - 1e-6) - 1;
  }

  get next() {
    return Math.floor(this.time + 1e-6) + 1;
  }

  stepItem(step, index) {
    const reached = index <= this.last, failed = this.plan.end && this.plan.end.step + 1 === index;
    return make("li", {class: failed ? "failed" : reached ? null : "unreached"},
      make("button", {type: "button", disabled: !reached, onclick: () => this.glide(index)},
        make("span", {class: "number"}, index ? String(index) : "·"),
        make("span", {class: "step-name"}, step.name,
          failed ? make("span", {class: "verdict"}, "failed") : reached ? null : make("span", {class: "verdict"}, "not reached"),
          step.action && step.action !== step.name ? make("span", {class: "action"}, step.action) : null)),
      step.operator ? this.linkTo(step.operator) : null);
  }

  key(event) {
    const target = event.target, keys = {ArrowLeft: this.previous, ArrowRight: this.next, Home: 0, End: this.last};
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || target instanceof HTMLSelectElement) return;
    const steps = {ArrowUp: this.next, ArrowDown: this.previous};
    if (event.key in keys || (target === this.slider && event.key in steps)) {
      event.preventDefault();
      this.glide({...keys, ...steps}[event.key]);
    } else if (event.key === " " && !target.closest("button, label, a, summary")) {
      event.preventDefault();
      this.toggle();
    }
  }

  toggle() {
    if (this.timer !== null) { this.stop(); return; }
    if (this.time >= this.last) this.go(0);
    this.play.classList.add("playing");
    this.play.setAttribute("aria-label", "Pause");
    let before = performance.now(), time = this.time;
    const tick = now => {
      const length = this.stage ? this.stage.milliseconds(Math.floor(time) + 1) : 1000;
      time += Math.max(0, now - before) * Number(this.speed.value) / length;
      before = now;
      if (time >= this.last) { this.stop(); this.go(this.last); return; }
      const step = Math.floor(time);
      this.go(this.stage && this.stage.eases ? step + eased(time - step) : time);
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
    const distance = Math.abs(goal - from), near = distance > 0 && distance <= 1;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches || !this.stage || !near;
    this.announce(goal);
    if (still) { this.go(goal); return; }
    const began = performance.now(), length = Math.min(MAX_GLIDE_MILLISECONDS, 0.5 * this.stage.milliseconds(Math.ceil(Math.max(goal, from))));
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
    const index = Math.floor(this.time + 1e-6);
    if (this.stage) {
      const failing = this.plan.end && this.time >= this.plan.end.step;
      this.stage.show(this.time, Boolean(failing && this.triesShown && this.triesShown.checked));
    }
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
    if (this.stage) this.stage.describe(text);
    [...this.list.children].forEach((item, position) => {
      item.classList.toggle("past", position < index);
      if (position === index) item.setAttribute("aria-current", "step");
      else item.removeAttribute("aria-current");
    });
    const current = this.list.children[index];
    this.list.scrollTop = current.offsetTop - this.list.offsetTop - this.list.clientHeight / 3;
    this.stepped(index);
  }

  // Show which atoms of the goal and of the subgoal hold. Of the subgoal, only the changes are visible at first.
  showAtoms(index) {
    const plan = this.plan, holding = new Set(plan.holding[index]), before = new Set(plan.holding[index - 1] || []);
    const list = (title, numbers, otherwise) =>
      atomList(numbers.map(number => this.atoms[number]), (_, position) => holding.has(numbers[position]) ? "true" : otherwise, title);
    const head = (title, numbers) => partHeading(title,
      make("span", {class: "count"}, ` ${numbers.filter(number => holding.has(number)).length} of ${numbers.length}`));
    const groups = [make("div", {}, head("Goal", plan.goal), list("Goal", plan.goal, "open"))];
    const subgoal = plan.subgoals[index] || [];
    if (subgoal.length) {
      const needed = new Set(plan.subgoals[index - 1] || []);
      const isNew = number => !needed.has(number) || !holding.has(number) || !before.has(number);
      const title = index ? "Needed after this step" : "Needed at the start";
      const changed = subgoal.filter(isNew), unchanged = subgoal.filter(number => !isNew(number));
      groups.push(make("div", {}, head(title, subgoal), list(title, changed, "false"),
        unchanged.length ? make("details", {class: "unchanged"}, make("summary", {}, `${unchanged.length} unchanged`),
          list("Unchanged", unchanged, "false")) : null));
    }
    this.judged.replaceChildren(...groups);
  }
}
