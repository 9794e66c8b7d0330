// Cards of invented predicates: sentence, values of each comparison at examples, and where it is used.

const STRIP = {width: 440, height: 92, left: 64, right: 14, true: 22, false: 48, axis: 66};

// One row of dots for the uses that worked, and one for those that failed; the comparison holds in the shaded part.
function strip(part) {
  const values = [...part.true, ...part.false, part.bound];
  const low = Math.min(...values), high = Math.max(...values), pad = 0.06 * (high - low || 1);
  const from = STRIP.left, to = STRIP.width - STRIP.right;
  const across = value => from + (to - from) * (value - low + pad) / (high - low + 2 * pad);
  const bound = across(part.bound), [start, end] = part.holdsBelow ? [from, bound] : [bound, to];
  const dots = (kind, y) => part[kind].map(value =>
    draw("circle", {cx: across(value).toFixed(1), cy: y, r: 3.4, class: kind === "true" ? "worked" : "failed"}));
  const near = across(high) - bound < 60 ? [] : [high];
  if (bound - across(low) >= 60) near.push(low);
  const short = value => String(Number(value.toPrecision(3)));
  return draw("svg", {viewBox: `0 0 ${STRIP.width} ${STRIP.height}`, role: "img", "aria-label":
    `${part.sentence}. ${count(part.true.length, "value")} of uses that worked, ${part.false.length} of uses that failed.`},
    draw("rect", {x: start.toFixed(1), y: 8, width: (end - start).toFixed(1), height: STRIP.axis - 8, class: "holds"}),
    text(from - 8, STRIP.true + 4, "end", "worked"), text(from - 8, STRIP.false + 4, "end", "failed"),
    draw("path", {d: `M${from} ${STRIP.axis}H${to}`, class: "grid"}),
    draw("path", {d: `M${bound.toFixed(1)} 4V${STRIP.axis + 5}`, class: "bound"}),
    text(bound, STRIP.axis + 20, "middle", short(part.bound)),
    near.map(value => text(across(value), STRIP.axis + 20, "middle", short(value))),
    dots("true", STRIP.true), dots("false", STRIP.false));
}

function inventedCard(run, card, index) {
  const uses = card.uses.map(use => make("li", {},
    use.how.flatMap(verb => [make("span", {class: `verb ${verb}`}, verb), " "]), "in ",
    make("button", {type: "button", class: "link", onclick: () => openOperator(use.operator)}, use.operator)));
  return make("article", {class: "card", "aria-labelledby": `invented-${index}`},
    make("h3", {id: `invented-${index}`}, call(card.name, card.types)),
    make("p", {class: "sentence"}, `Holds if ${card.sentence}.`),
    card.reason ? make("p", {class: "quiet"}, `Invented because ${card.reason}.`) : null,
    card.examples.map(part => make("figure", {class: "chart strip"},
      card.examples.length > 1 ? make("figcaption", {class: "quiet"}, part.sentence) : null, strip(part))),
    uses.length ? make("ul", {class: "doubts"}, uses) : make("p", {class: "quiet"}, "No operator uses it."),
    card.alternatives.length ? make("details", {}, make("summary", {}, "Other definitions that hold in the same demonstrated states"),
      make("ul", {}, card.alternatives.map(sentence => make("li", {}, sentence)))) : null);
}

function inventedSection(run) {
  const cards = run.model && run.model.invented;
  if (!cards || !cards.length) return null;
  return section("invented", "Invented predicates",
    make("p", {class: "lead"}, "Predicates that were not written by hand. Each one compares numbers with bounds. A dot is a use of an operator ",
      "in a demonstration, a plan or the simulator: it worked or failed. The predicate holds in the shaded part."),
    make("div", {class: "cards"}, cards.map((card, index) => inventedCard(run, card, index))));
}
