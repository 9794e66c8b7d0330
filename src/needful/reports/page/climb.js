// The steps of hill climbing: coverage, and the operators that each step added, removed and changed.

// Operators with the same controller and parameter types are versions of each other.
function versionKey(text) {
  const head = text.split("\n", 1)[0];
  return head.replace(/\(.*/s, "") + [...head.matchAll(/:([^,)]+)/g)].map(match => match[1]).sort().join();
}

function pairVersions(step) {
  const removed = [...step.removed], pairs = [];
  for (const after of step.added) {
    const index = removed.findIndex(before => versionKey(before) === versionKey(after));
    pairs.push([index < 0 ? null : removed.splice(index, 1)[0], after]);
  }
  return [...pairs, ...removed.map(before => [before, null])];
}

function versionDiff([before, after]) {
  const kind = before && after ? "changed" : after ? "new" : "removed";
  const old = before ? before.split("\n") : [], now = after ? after.split("\n") : [];
  const lines = [];
  for (let index = 0; index < Math.max(old.length, now.length); index += 1) {
    if (old[index] === now[index]) lines.push(make("span", {class: "line"}, now[index], "\n"));
    else {
      if (old[index] !== undefined) lines.push(make("del", {class: "line"}, `− ${old[index]}`, "\n"));
      if (now[index] !== undefined) lines.push(make("ins", {class: "line"}, `+ ${now[index]}`, "\n"));
    }
  }
  return make("div", {class: "version"}, make("p", {class: "tag"}, kind), make("pre", {class: "diff"}, make("code", {}, lines)));
}

function climbStep(climb, step, index) {
  const pairs = pairVersions(step);
  const number = kind => pairs.filter(([before, after]) => kind === (before && after ? "~" : after ? "+" : "−")).length;
  const brief = ["+", "−", "~"].filter(kind => number(kind)).map(kind => `${kind}${number(kind)}`).join(" ");
  const body = make("div", {class: "versions"});
  return make("li", {}, make("details", {ontoggle: event => {
    if (event.target.open && !body.childElementCount) body.append(...pairs.map(versionDiff));
  }}, make("summary", {},
    make("span", {class: "number"}, String(index + 1)),
    make("span", {class: step.move === "delete" ? "move removal-move" : "move"}, step.move === "delete" ? "reduce complexity" : "improve coverage"),
    make("span", {}, `covers ${percent(climb.transitions ? 1 - step.uncovered / climb.transitions : 1)}`),
    make("span", {}, count(step.operators, "operator")),
    make("span", {class: "brief"}, brief)), body));
}

function climbSection(run) {
  const climb = run.model && run.model.climb;
  if (!climb || !climb.steps.length) return null;
  const list = make("ol", {class: "climb"}, climb.steps.map((step, index) => climbStep(climb, step, index)));
  const open = index => {
    const step = list.children[index].querySelector("details");
    step.open = true;
    step.scrollIntoView({block: "nearest"});
  };
  return section("climb", "Hill climb",
    make("p", {class: "lead"}, "Hill climbing learned the operators. Each step either covers more of the demonstrations or reduces the number of operators. Open a step to see the operators that were added (+), removed (−) and changed (~)."),
    climbChart(climb, open), list);
}
