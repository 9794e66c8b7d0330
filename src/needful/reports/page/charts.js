// Charts as SVG. Each is a figure with a caption, and a sentence for those who do not see it.

const CHART = {height: 240, left: 50, right: 14, top: 14, bottom: 34};

// On a phone a chart is as wide as the screen, so that its letters stay as large as others.
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

function text(x, y, anchor, words) {
  return draw("text", {x, y, "text-anchor": anchor}, words);
}

// A scale of powers of ten around the values; seconds below a tenth of a millisecond look alike.
function logScale(values, from, to) {
  const logs = values.map(value => Math.log10(Math.max(value, 1e-4)));
  const low = Math.floor(Math.min(...logs)), high = Math.max(Math.ceil(Math.max(...logs)), low + 1);
  const place = value => from + (to - from) * (Math.log10(Math.max(value, 1e-4)) - low) / (high - low);
  const ticks = Array.from({length: high - low + 1}, (_, step) => 10 ** (low + step));
  return {place, ticks};
}

function shareAxis(box) {
  return [0, 0.25, 0.5, 0.75, 1].flatMap(share => {
    const y = box.y0 + share * (box.y1 - box.y0);
    return [draw("path", {d: `M${box.x0} ${y}H${box.x1}`, class: "grid"}),
      text(box.x0 - 6, y + 4, "end", `${100 * share} %`)];
  });
}

// How many of the tasks were solved within so many seconds, for one run or several.
function solvedCurves(runs) {
  const box = inner();
  const all = runs.flatMap(run => run.tasks.map(task => task.seconds.total));
  const {place, ticks} = logScale(all.length ? all : [0.1, 1], box.x0, box.x1);
  const high = share => box.y0 + share * (box.y1 - box.y0);
  const curves = runs.map(run => {
    const solved = run.tasks.filter(isSolved).map(task => task.seconds.total).sort((a, b) => a - b);
    const steps = solved.map((time, index) =>
      `H${place(time).toFixed(1)}V${high((index + 1) / run.tasks.length).toFixed(1)}`);
    return draw("path", {d: `M${box.x0} ${box.y0}${steps.join("")}H${box.x1}`,
      class: `curve run${run.number % 8}`});
  });
  const labels = ticks.map(tick => [
    draw("path", {d: `M${place(tick)} ${box.y0}v5`, class: "tick"}),
    text(place(tick), box.y0 + 20, "middle", seconds(tick))]);
  const sentence = runs.map(run => {
    const times = run.tasks.filter(isSolved).map(task => task.seconds.total);
    return `${run.label}: ${times.length} of ${run.tasks.length} solved` +
      (times.length ? `, half of them within ${seconds(quantile(times, 0.5))}.` : ".");
  }).join(" ");
  return figure("Tasks solved within so much planning time", sentence,
    {nodes: [shareAxis(box), labels, curves].flat(2)},
    runs.length > 1 ? legend(runs.map(run => [`run${run.number % 8}`, run.label])) : null);
}

// The planning time of each task, in the order of the tasks.
function timeDots(tasks) {
  const box = inner();
  const {place, ticks} = logScale(tasks.map(task => task.seconds.total), box.y0, box.y1);
  const across = index => box.x0 + (index + 0.5) / tasks.length * (box.x1 - box.x0);
  const size = Math.max(1.2, Math.min(4, 200 / tasks.length));
  const dots = tasks.map((task, index) => {
    const x = across(index).toFixed(1), y = place(task.seconds.total).toFixed(1);
    return isSolved(task) ? draw("circle", {cx: x, cy: y, r: size, class: "dot"})
      : draw("path", {d: `M${x} ${y}m${-size} ${-size}l${2 * size} ${2 * size}m${-2 * size} 0l${2 * size} ${-2 * size}`,
        class: "cross"});
  });
  const rows = ticks.map(tick => [
    draw("path", {d: `M${box.x0} ${place(tick)}H${box.x1}`, class: "grid"}),
    text(box.x0 - 6, place(tick) + 4, "end", seconds(tick))]);
  const ends = [text(across(0), box.y0 + 20, "start", `task ${tasks[0].task}`),
    tasks.length > 1 && text(across(tasks.length - 1), box.y0 + 20, "end", `task ${tasks.at(-1).task}`)];
  const times = tasks.map(task => task.seconds.total);
  const failed = tasks.some(task => !isSolved(task));
  return figure("Planning time of each task",
    `From ${seconds(Math.min(...times))} to ${seconds(Math.max(...times))}, ${seconds(mean(times))} on average.`,
    {nodes: [rows, ends.filter(Boolean), dots].flat(2)},
    failed ? legend([["dot", "solved"], ["cross-swatch", "not solved"]]) : null);
}

// One bar whose parts are shares of a whole: [class, label, value, value in words].
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
      "aria-label": shown.map(([, label, , said]) => `${label}: ${said}`).join(", ")}, rects),
    legend(shown.map(([kind, label, , said]) => [kind, `${label} · ${said}`])));
}

// Coverage above, the number of operators below, by steps of hill climbing.
function climbChart(climb) {
  const height = 300, box = {...inner(), y0: 150}, low = {y0: height - CHART.bottom, y1: 182};
  const steps = climb.steps, most = Math.max(1, ...steps.map(step => step.operators));
  const across = index => box.x0 + (box.x1 - box.x0) * (index + 1) / (steps.length + 0.5);
  const covered = step => climb.transitions ? 1 - step.uncovered / climb.transitions : 1;
  const up = share => box.y0 + share * (box.y1 - box.y0);
  const points = steps.map((step, index) => `L${across(index).toFixed(1)} ${up(covered(step)).toFixed(1)}`);
  const width = Math.min(26, 0.7 * (box.x1 - box.x0) / (steps.length + 0.5));
  const bars = steps.map((step, index) => {
    const top = low.y0 + (low.y1 - low.y0) * step.operators / most;
    return draw("rect", {x: (across(index) - width / 2).toFixed(1), y: top.toFixed(1), width: width.toFixed(1),
      height: (low.y0 - top).toFixed(1), rx: 2, class: step.move === "delete" ? "removal" : "bar"});
  });
  const every = Math.ceil(steps.length * 28 / (box.x1 - box.x0));
  const numbers = steps.map((_, index) => index % every ? null
    : text(across(index), low.y0 + 18, "middle", String(index + 1)));
  const dots = steps.map((step, index) =>
    draw("circle", {cx: across(index), cy: up(covered(step)), r: 3.2, class: "dot"}));
  const last = steps.at(-1);
  return figure("Coverage of the demonstrations (line) and number of operators (bars), step by step",
    `${count(steps.length, "step")}, up to a coverage of ${percent(covered(last))} with ${count(last.operators, "operator")}.`,
    {height, nodes: [
      shareAxis(box),
      draw("path", {d: `M${box.x0} ${box.y0}${points.join("")}`, class: "curve run0"}), dots,
      draw("path", {d: `M${box.x0} ${low.y0}H${box.x1}`, class: "grid"}),
      text(box.x0 - 6, low.y0 + 4, "end", "0"), text(box.x0 - 6, low.y1 + 4, "end", String(most)),
      bars, numbers.filter(Boolean)].flat()},
    steps.some(step => step.move === "delete") ? legend([["bar", "improves coverage"], ["removal", "reduces complexity"]]) : null);
}
