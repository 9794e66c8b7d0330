// Why a task failed: the cause in words, the missing atoms, and the parameters that were tried.

// `record` has the outcome, the recorded failure text and the missing atoms of the task; `plan` may be null.
function failureBox(plan, atoms, record) {
  const end = plan && plan.end, worked = plan ? plan.actions.length : 0;
  const missing = end && end.missing.length ? end.missing.map(number => atoms[number]) : record.missing;
  const [cause, advice] = plan && plan.cause ? plan.cause : [REASONS[record.outcome] || "", ""];
  const searching = record.outcome === "timeout" && record.nodes && !record.abstractPlans;
  const detail = record.failure && record.failure !== words(record.outcome) && !cause.includes(record.failure) ? record.failure : null;
  const shown = end && end.landed ? " The last picture shows the best try of the failed step." : "";
  const replay = end && worked ? `The attempt with the most progress is shown below: ${count(worked, "step")} succeeded.${shown}` : shown;
  return make("div", {class: "failure"},
    make("p", {}, make("strong", {}, `Not solved: ${words(record.outcome)}. `),
      searching ? "Time ran out before the first abstract plan was found." : prose(cause)),
    advice ? make("p", {}, make("strong", {}, "What to do: "), prose(advice)) : null,
    missing.length ? make("div", {}, partHeading("Expected and missing"), atomList(missing, () => "false", "Missing atoms")) : null,
    detail ? make("p", {class: "quiet"}, prose(detail)) : null,
    replay ? make("p", {class: "quiet"}, replay.trim()) : null);
}

const ROW = {height: 40, left: 14, right: 14, width: 560};

// One line per parameter; a dot is a value that was drawn for the failed step, and its colour is the reason why it failed.
function drawsFigure(end, stage) {
  const draws = end && end.draws;
  if (!draws || !draws.rows.length) return null;
  if (!draws.low.length) return make("p", {class: "quiet"}, unmarkedDraws(draws, stage));
  const dimensions = draws.low.length, height = dimensions * ROW.height + 4;
  const x = (value, axis) => {
    const [low, high] = [draws.low[axis], draws.high[axis]];
    return ROW.left + (high > low ? (value - low) / (high - low) : 0.5) * (ROW.width - ROW.left - ROW.right);
  };
  const short = value => Number(value.toPrecision(3));
  const axes = draws.low.map((low, axis) => {
    const y = (axis + 0.5) * ROW.height;
    return [draw("path", {d: `M${ROW.left} ${y}H${ROW.width - ROW.right}`, class: "grid"}),
      text(ROW.left, y + 17, "start", String(short(low))),
      text(ROW.width / 2, y + 17, "middle", `parameter ${axis + 1}`),
      text(ROW.width - ROW.right, y + 17, "end", String(short(draws.high[axis])))];
  });
  const dots = draws.rows.map(([group, ...values], number) => values.map((value, axis) => withTip(
    draw("circle", {cx: x(value, axis).toFixed(1), cy: ((axis + 0.5) * ROW.height - 5 + 10 * ((number * 0.618) % 1)).toFixed(1), r: 4,
      class: `try tone${group % 6}`,
      onpointerenter: () => stage && stage.highlight && stage.highlight(number),
      onpointerleave: () => stage && stage.highlight && stage.highlight(null)}),
    `draw ${number + 1}: (${values.map(short).join(", ")}), ${draws.groups[group]}`)));
  const counts = draws.groups.map((_, group) => draws.rows.filter(row => row[0] === group).length);
  return make("figure", {class: "chart draws"},
    make("figcaption", {}, `Parameters that were tried for step ${end.step + 1}`),
    make("p", {class: "quiet"}, `${shownDraws(draws)} ${unmarkedDraws(draws, stage)}`),
    drawsLegend(draws.groups, counts),
    draw("svg", {viewBox: `0 0 ${ROW.width} ${height}`, role: "img",
      "aria-label": draws.groups.map((group, number) => `${counts[number]} draws: ${group}.`).join(" ")}, [axes, dots].flat(2)));
}

// How many of the draws are dots of the chart; only the first of those with which the controller could not start are.
function shownDraws({rows, total}) {
  return rows.length < total ? `${rows.length.toLocaleString("en")} of ${count(total, "draw")} shown.` : `${count(total, "draw")} shown.`;
}

// How many draws the picture of the state does not mark, and why. Parameters have no place in it: only what moved has one.
function unmarkedDraws({total, ran}, stage) {
  if (!stage) return "";
  const moved = stage.tries.filter(([, marks]) => marks.length).length;
  const reasons = [
    [total - ran, "the controller did not run"], [stage.tries.length - moved, "nothing moved"],
    [ran - stage.tries.length, `at most ${stage.tries.length} are marked`]].filter(([number]) => number > 0);
  if (!reasons.length) return "";
  const parts = reasons.length === 1 ? reasons[0][1]
    : reasons.map(([number, reason]) => `${reason} (${number.toLocaleString("en")})`).join(", ");
  return `${count(total - moved, "draw has", "draws have")} no mark in the picture, because ${parts}.`;
}

function drawsLegend(groups, counts) {
  return make("ul", {class: "legend"}, groups.map((group, number) => make("li", {},
    draw("svg", {viewBox: "0 0 10 10", class: "swatch", "aria-hidden": "true"}, draw("circle", {cx: 5, cy: 5, r: 4, class: `try tone${number % 6}`})),
    `${group} · ${counts[number]}`)));
}

function text(x, y, anchor, words) {
  return draw("text", {x, y, "text-anchor": anchor}, words);
}
