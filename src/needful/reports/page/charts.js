// Charts as SVG: each is a figure with a caption and a text alternative.

const CHART = {height: 240, left: 50, right: 14, top: 14, bottom: 34};

// On a phone, a chart has the width of the screen, so that its text keeps its size.
function chartWidth() {
  return matchMedia("(max-width: 46rem)").matches ? 320 : 560;
}

function figure(caption, sentence, drawing, legend = null) {
  return make("figure", {class: "chart"},
    make("figcaption", {}, caption), legend,
    draw("svg", {viewBox: `0 0 ${chartWidth()} ${drawing.height ?? CHART.height}`, role: "img",
      "aria-label": sentence}, drawing.nodes));
}

function legend(entries) {
  return make("ul", {class: "legend"}, entries.map(([kind, text]) => make("li", {},
    draw("svg", {viewBox: "0 0 22 10", class: "swatch", "aria-hidden": "true"},
      kind.startsWith("run") ? draw("path", {d: "M0 5H22", class: `curve ${kind}`})
        : draw("rect", {width: 22, height: 10, rx: 2, class: kind})),
    text)));
}

function inner(height = CHART.height) {
  return {x0: CHART.left, x1: chartWidth() - CHART.right, y0: height - CHART.bottom, y1: CHART.top};
}

// A logarithmic scale around the values; times below 0.1 ms are drawn at 0.1 ms.
function logScale(values, from, to) {
  const logs = values.map(value => Math.log10(Math.max(value, 1e-4)));
  const low = Math.floor(Math.min(...logs)), high = Math.max(Math.ceil(Math.max(...logs)), low + 1);
  const position = value => from + (to - from) * (Math.log10(Math.max(value, 1e-4)) - low) / (high - low);
  const ticks = Array.from({length: high - low + 1}, (_, step) => 10 ** (low + step));
  return {position, ticks};
}

function shareAxis(bounds) {
  return [0, 0.25, 0.5, 0.75, 1].flatMap(share => {
    const y = bounds.y0 + share * (bounds.y1 - bounds.y0);
    return [draw("path", {d: `M${bounds.x0} ${y}H${bounds.x1}`, class: "grid"}),
      text(bounds.x0 - 6, y + 4, "end", `${100 * share} %`)];
  });
}

// The share of solved tasks against planning time, for one or more runs.
function solvedCurves(runs) {
  const bounds = inner();
  const all = runs.flatMap(run => run.tasks.map(task => task.seconds.total));
  const {position, ticks} = logScale(all.length ? all : [0.1, 1], bounds.x0, bounds.x1);
  const high = share => bounds.y0 + share * (bounds.y1 - bounds.y0);
  const curves = runs.map(run => {
    const solved = run.tasks.filter(isSolved).map(task => task.seconds.total).sort((a, b) => a - b);
    const steps = solved.map((time, index) =>
      `H${position(time).toFixed(1)}V${high((index + 1) / run.tasks.length).toFixed(1)}`);
    return draw("path", {d: `M${bounds.x0} ${bounds.y0}${steps.join("")}H${bounds.x1}`,
      class: `curve run${run.number % 8}`});
  });
  const labels = ticks.map(tick => [
    draw("path", {d: `M${position(tick)} ${bounds.y0}v5`, class: "tick"}),
    text(position(tick), bounds.y0 + 20, "middle", seconds(tick))]);
  const sentence = runs.map(run => {
    const times = run.tasks.filter(isSolved).map(task => task.seconds.total);
    return `${run.label}: ${times.length} of ${run.tasks.length} solved` +
      (times.length ? `, half of them within ${seconds(quantile(times, 0.5))}.` : ".");
  }).join(" ");
  return figure("Tasks solved against planning time", sentence,
    {nodes: [shareAxis(bounds), labels, curves].flat(2)},
    runs.length > 1 ? legend(runs.map(run => [`run${run.number % 8}`, run.label])) : null);
}

// The planning time of each task, in the order of the tasks; a click opens the task.
function timeDots(tasks, open) {
  const bounds = inner();
  const {position, ticks} = logScale(tasks.map(task => task.seconds.total), bounds.y0, bounds.y1);
  const across = index => bounds.x0 + (index + 0.5) / tasks.length * (bounds.x1 - bounds.x0);
  const size = Math.max(1.2, Math.min(4, 200 / tasks.length));
  const dots = tasks.map((task, index) => {
    const x = across(index).toFixed(1), y = position(task.seconds.total).toFixed(1);
    const mark = isSolved(task) ? draw("circle", {cx: x, cy: y, r: size, class: "dot"})
      : draw("path", {d: `M${x} ${y}m${-size} ${-size}l${2 * size} ${2 * size}m${-2 * size} 0l${2 * size} ${-2 * size}`,
        class: "cross"});
    return withTip(mark, taskTip(task), () => open(task));
  });
  const rows = ticks.map(tick => [
    draw("path", {d: `M${bounds.x0} ${position(tick)}H${bounds.x1}`, class: "grid"}),
    text(bounds.x0 - 6, position(tick) + 4, "end", seconds(tick))]);
  const ends = [text(across(0), bounds.y0 + 20, "start", `task ${tasks[0].task}`),
    tasks.length > 1 && text(across(tasks.length - 1), bounds.y0 + 20, "end", `task ${tasks.at(-1).task}`)];
  const times = tasks.map(task => task.seconds.total);
  const failed = tasks.some(task => !isSolved(task));
  return figure("Planning time of each task",
    `From ${seconds(Math.min(...times))} to ${seconds(Math.max(...times))}, ${seconds(mean(times))} on average.`,
    {nodes: [rows, ends.filter(Boolean), dots].flat(2)},
    failed ? legend([["dot", "solved"], ["cross-swatch", "not solved"]]) : null);
}

function taskTip(task) {
  return `Task ${task.task}: ${words(task.outcome)}, ${seconds(task.seconds.total)}`;
}

// One bar whose parts are shares of a whole: [class, label, value, value as text].
function shareBar(caption, parts) {
  const whole = parts.reduce((sum, part) => sum + part[2], 0);
  const shown = parts.filter(part => part[2] > 0);
  let x = 0;
  const rects = shown.map(([kind, , value]) => {
    const width = 1000 * value / whole;
    const rect = draw("rect", {x: x.toFixed(1), width: Math.max(width - 2, 1).toFixed(1), height: 22, class: kind});
    x += width;
    return rect;
  });
  return make("figure", {class: "chart share"},
    make("figcaption", {}, caption),
    draw("svg", {viewBox: "0 0 1000 22", preserveAspectRatio: "none", role: "img",
      "aria-label": shown.map(([, label, , shownValue]) => `${label}: ${shownValue}`).join(", ")}, rects),
    legend(shown.map(([kind, label, , shownValue]) => [kind, `${label} · ${shownValue}`])));
}

// Coverage (above) and number of operators (below) for each step of hill climbing; a click opens the step.
function climbChart(climb, open) {
  const height = 300, bounds = {...inner(), y0: 150}, lower = {y0: height - CHART.bottom, y1: 182};
  const steps = climb.steps, most = Math.max(1, ...steps.map(step => step.operators));
  const across = index => bounds.x0 + (bounds.x1 - bounds.x0) * (index + 1) / (steps.length + 0.5);
  const covered = step => climb.transitions ? 1 - step.uncovered / climb.transitions : 1;
  const up = share => bounds.y0 + share * (bounds.y1 - bounds.y0);
  const points = steps.map((step, index) => `L${across(index).toFixed(1)} ${up(covered(step)).toFixed(1)}`);
  const width = Math.min(26, 0.7 * (bounds.x1 - bounds.x0) / (steps.length + 0.5));
  const bars = steps.map((step, index) => {
    const top = lower.y0 + (lower.y1 - lower.y0) * step.operators / most;
    return draw("rect", {x: (across(index) - width / 2).toFixed(1), y: top.toFixed(1), width: width.toFixed(1),
      height: (lower.y0 - top).toFixed(1), rx: 2, class: step.move === "delete" ? "removal" : "bar"});
  });
  const stride = Math.ceil(steps.length * 28 / (bounds.x1 - bounds.x0));
  const numbers = steps.map((_, index) => index % stride ? null
    : text(across(index), lower.y0 + 18, "middle", String(index + 1)));
  const dots = steps.map((step, index) => withTip(
    draw("circle", {cx: across(index), cy: up(covered(step)), r: 3.2, class: "dot"}),
    `Step ${index + 1}: covers ${percent(covered(step))} with ${count(step.operators, "operator")}`, () => open(index)));
  const last = steps.at(-1);
  return figure("Coverage of the demonstrations (line) and number of operators (bars), step by step",
    `${count(steps.length, "step")}, up to a coverage of ${percent(covered(last))} with ${count(last.operators, "operator")}.`,
    {height, nodes: [
      shareAxis(bounds),
      draw("path", {d: `M${bounds.x0} ${bounds.y0}${points.join("")}`, class: "curve run0"}), dots,
      draw("path", {d: `M${bounds.x0} ${lower.y0}H${bounds.x1}`, class: "grid"}),
      text(bounds.x0 - 6, lower.y0 + 4, "end", "0"), text(bounds.x0 - 6, lower.y1 + 4, "end", String(most)),
      bars, numbers.filter(Boolean)].flat()},
    steps.some(step => step.move === "delete") ? legend([["bar", "improves coverage"], ["removal", "reduces complexity"]]) : null);
}
