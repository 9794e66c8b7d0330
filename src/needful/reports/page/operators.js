// Operator cards; an opened card explains each part of its operator.

const PDDL = /(;.*$)|(:[\w-]+)|(\?[^\s()]+)|\b(and|not|forall|when)\b(?=[\s(])/g;

function pddlLine(line) {
  const parts = [];
  let done = 0;
  for (const match of line.matchAll(PDDL)) {
    const kind = ["comment", "keyword", "variable", "logic"][match.slice(1).findIndex(group => group !== undefined)];
    parts.push(line.slice(done, match.index), make("span", {class: kind}, match[0]));
    done = match.index + match[0].length;
  }
  parts.push(line.slice(done));
  return parts.filter(part => part !== "");
}

// Lines with quantified deletes are highlighted.
function pddl(text) {
  return make("pre", {class: "pddl"}, make("code", {}, text.split("\n").map(line =>
    make("span", {class: line.trimStart().startsWith("(forall") ? "line quantified" : "line"}, pddlLine(line), "\n"))));
}

const REASON_TITLES = {
  needs: ["needs", "held before every transition"],
  forbids: ["forbids", "must not hold before the step"],
  adds: ["adds", "became true and was necessary"],
  keeps: ["keeps", "was necessary, and a quantified delete would remove it"],
  deletes: ["deletes", "became false"],
  forgets: ["forgets", "a matching atom became false"],
};

function reasonsTable(card, show) {
  const rows = card.reasons.map(reason => {
    const [verb, why] = REASON_TITLES[reason.kind];
    const first = reason.first && [
      make("button", {type: "button", class: "link", onclick: () => show(reason.first.demonstration, reason.first.step)},
        `demonstration ${reason.first.demonstration}, step ${reason.first.step + 1}`),
      `: ${reason.first.atom}`,
      reason.first.neededBy ? `, needed by ${reason.first.neededBy}` : ""];
    return make("tr", {},
      make("th", {scope: "row"}, make("span", {class: `verb ${reason.kind}`}, verb), " ", make("code", {}, reason.part)),
      make("td", {}, ["needs", "forbids"].includes(reason.kind) ? why : `${why} in ${reason.count} of ${card.transitions}`,
        first ? [make("br"), make("span", {class: "quiet"}, "first in ", first)] : null));
  });
  for (const [atom, experiments] of Object.entries(card.dropped)) {
    rows.push(make("tr", {}, make("th", {scope: "row"}, make("span", {class: "verb"}, "does not need"), " ", make("code", {}, atom)),
      make("td", {}, `it held before every transition, but ${count(experiments, "experiment")} succeeded without it`)));
  }
  return make("table", {class: "reasons-table"}, make("tbody", {}, rows));
}

function changes(title, kind, atoms) {
  return atoms.length ? make("div", {class: `changes ${kind}`}, make("h5", {}, title), atomList(atoms)) : null;
}

// The changes of one transition, predicted or not, and the steps that need them.
function transitionView(run, step) {
  const names = numbers => numbers.map(number => run.atoms[number]);
  const needed = new Map(step.needed);
  const added = step.added.map(atom => needed.has(atom)
    ? `${run.atoms[atom]}, needed by ${needed.get(atom) === "goal" ? "the goal" : needed.get(atom)}` : run.atoms[atom]);
  const unpredicted = step.addedUnpredicted.length + step.deletedUnpredicted.length;
  return make("div", {class: "transition"},
    changes("Became true, as predicted", "plus", added),
    changes("Became false, as predicted", "minus", names(step.deleted)),
    changes("Became false, forgotten by a quantified delete", "forgot", names(step.forgotten)),
    changes("Became true, deliberately not predicted", "ignored", names(step.addedUnpredicted)),
    changes("Became false, not predicted: no later step needs it", "ignored", names(step.deletedUnpredicted)),
    unpredicted ? null : make("p", {class: "quiet"}, "Every change of this transition is predicted."));
}

// The steps of a demonstration with the necessary atoms after each; the current step is open.
function chainView(run, demonstration, current, show) {
  const steps = run.model.demonstrations[demonstration] || [];
  const title = `Demonstration ${demonstration}, explained backwards from its goal`;
  return make("ol", {class: "chain", "aria-label": title}, steps.map(step => {
    const operator = run.model.operators[step.operator], here = step.step === current;
    const necessary = step.necessary === null
      ? make("p", {class: "quiet"}, "Backchaining from the goal did not reach this step.")
      : [make("h5", {}, "Necessary afterwards"), atomList(step.necessary.map(number => run.atoms[number]))];
    return make("li", {value: step.step + 1, "aria-current": here ? "step" : null},
      make("button", {type: "button", class: "link", "aria-expanded": String(here),
        onclick: () => show(demonstration, step.step)}, call(operator.name, step.objects)),
      here ? make("div", {class: "here"}, transitionView(run, step), make("div", {}, necessary)) : null);
  }));
}

function whyView(run, card) {
  const chosen = make("div", {class: "chosen"});
  const pick = make("select", {}, card.seen.map(([demonstration, step], index) =>
    make("option", {value: index}, `demonstration ${demonstration}, step ${step + 1}`)));
  const show = (demonstration, step, focus = true) => {
    const index = card.seen.findIndex(one => one[0] === demonstration && one[1] === step);
    if (index >= 0) pick.value = String(index);
    chosen.replaceChildren(chainView(run, demonstration, step, show));
    if (focus) chosen.querySelector("[aria-expanded=true]")?.focus();
  };
  pick.addEventListener("change", () => show(...card.seen[Number(pick.value)], false));
  const left = Object.entries(card.notPredicted);
  const parts = [
    make("h4", {}, "Why each part is there"), reasonsTable(card, show),
    make("h4", {}, "Deliberately not predicted"),
    left.length ? make("ul", {class: "chips"}, left.map(([name, number]) =>
      make("li", {}, make("code", {}, name), ` became true ${number === 1 ? "once" : `${number} times`}`)))
      : make("p", {class: "quiet"}, "Nothing else became true."),
  ];
  if (card.seen.length) {
    parts.push(make("h4", {}, "Transitions that it was learned from"),
      make("p", {class: "pick"}, make("label", {}, "Show ", pick)), chosen);
    show(...card.seen[0], false);
  }
  return parts;
}

// Why an operator without effects is in the model.
function noEffects(card) {
  return make("p", {class: "notice"}, `This operator changes no atom: no predicate describes what ${card.runs} does. `,
    "It is kept because demonstrations use it. If the simulator reports that one of its objects made a step fail, ",
    "the next plan runs this operator before that step.");
}

function operatorCard(run, card, index) {
  const why = make("div", {class: "why", id: `why-${index}`, hidden: true});
  const article = make("article", {class: "card", "aria-labelledby": `operator-${index}`, "data-operator": card.name});
  const toggle = make("button", {type: "button", class: "toggle", "aria-expanded": "false", "aria-controls": `why-${index}`,
    onclick: () => {
      const opening = why.hidden;
      if (opening && !why.childElementCount) why.append(...whyView(run, card));
      why.hidden = !opening;
      toggle.setAttribute("aria-expanded", String(opening));
      article.classList.toggle("open", opening);
      if (opening) setFragment(run, operatorPart(card.name));
    }}, "Explain", make("span", {class: "unseen"}, ` ${card.name}`));
  const source = `learned from ${count(card.transitions, "transition")} in ${count(card.demonstrations, "demonstration")}`;
  return fill(article, {}, [
    make("h3", {id: `operator-${index}`}, card.name),
    make("p", {class: "quiet"}, "runs ", code(card.runs), run.model.explained ? ` · ${source}` : ""),
    pddl(card.pddl), card.changes ? null : noEffects(card),
    run.model.explained ? toggle : null, why]);
}

// Open the card of an operator and move to it; return whether there is one.
function openOperator(name) {
  const card = [...document.querySelectorAll("#operators .card")].find(one => one.dataset.operator === name);
  if (!card) return false;
  const toggle = card.querySelector(".toggle");
  if (toggle && toggle.getAttribute("aria-expanded") === "false") toggle.click();
  card.scrollIntoView({block: "start"});
  (toggle || card.querySelector("h3")).focus({preventScroll: true});
  return true;
}

function operatorsSection(run) {
  if (!run.model) {
    const why = !run.learned ? "Learning ran out of time, so there are no operators."
      : run.facts.operators ? "This run evaluates a model from another folder."
        : "This learner trains a policy, which acts without operators.";
    return section("operators", "Operators", make("p", {class: "quiet"}, why));
  }
  return section("operators", "Operators",
    make("p", {class: "lead"}, "The learned preconditions and effects of the controllers. Lines that are ",
      make("mark", {}, "marked"), " are quantified deletes: after the action, the model assumes nothing about the atoms that match."),
    run.model.explained ? null : make("p", {class: "notice"}, "The evidence for these operators was not recorded."),
    run.model.operators.length ? null : make("p", {class: "quiet"}, "No operators were learned."),
    make("div", {class: "cards"}, run.model.operators.map((card, index) => operatorCard(run, card, index))));
}
