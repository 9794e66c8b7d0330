// The way that hill climbing took: what each step brought, and which operators came and went.

// Operators of the same controller over objects of the same types are versions of each other.
function versionKey(text) {
  const head = text.split("\n", 1)[0];
  return head.replace(/\(.*/s, "") + [...head.matchAll(/:([^,)]+)/g)].map(match => match[1]).sort().join();
}

function pairVersions(step) {
  const removed = [...step.removed], pairs = [];
  for (const after of step.added) {
    const place = removed.findIndex(before => versionKey(before) === versionKey(after));
    pairs.push([place < 0 ? null : removed.splice(place, 1)[0], after]);
  }
  return [...pairs, ...removed.map(before => [before, null])];
}

function versionDiff([before, after]) {
  const kind = before && after ? "changed" : after ? "new" : "gone";
  const old = before ? before.split("\n") : [], now = after ? after.split("\n") : [];
  const lines = [];
  for (let place = 0; place < Math.max(old.length, now.length); place += 1) {
    if (old[place] === now[place]) lines.push(make("span", {class: "line"}, now[place], "\n"));
    else {
      if (old[place] !== undefined) lines.push(make("del", {class: "line"}, `− ${old[place]}`, "\n"));
      if (now[place] !== undefined) lines.push(make("ins", {class: "line"}, `+ ${now[place]}`, "\n"));
    }
  }
  return make("div", {class: "version"}, make("p", {class: "tag"}, kind), make("pre", {class: "diff"}, make("code", {}, lines)));
}

function climbStep(climb, step, place) {
  const pairs = pairVersions(step);
  const number = kind => pairs.filter(([before, after]) => kind === (before && after ? "~" : after ? "+" : "−")).length;
  const brief = ["+", "−", "~"].filter(kind => number(kind)).map(kind => `${kind}${number(kind)}`).join(" ");
  const body = make("div", {class: "versions"});
  return make("li", {}, make("details", {ontoggle: event => {
    if (event.target.open && !body.childElementCount) body.append(...pairs.map(versionDiff));
  }}, make("summary", {},
    make("span", {class: "number"}, String(place + 1)),
    make("span", {class: step.move === "delete" ? "move removal-move" : "move"}, step.move === "delete" ? "reduce complexity" : "improve coverage"),
    make("span", {}, `covers ${percent(climb.transitions ? 1 - step.uncovered / climb.transitions : 1)}`),
    make("span", {}, count(step.operators, "operator")),
    make("span", {class: "brief"}, brief)), body));
}

function climbSection(run) {
  const climb = run.model && run.model.climb;
  if (!climb || !climb.steps.length) return null;
  return section("climb", "Hill climb",
    make("p", {class: "lead"}, "How the operators came to be: each step either covers more of the demonstrations or does with fewer operators. Open a step to see which operators came (+), went (−) and changed (~)."),
    climbChart(climb),
    make("ol", {class: "climb"}, climb.steps.map((step, place) => climbStep(climb, step, place))));
}
