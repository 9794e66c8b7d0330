// Create elements and text. Text is always set as text, so a name can never become markup.

const SVG = "http://www.w3.org/2000/svg";
const page = JSON.parse(document.getElementById("data").textContent);

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter(child => child !== null && child !== undefined && child !== false));
  return node;
}

function make(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function draw(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

// A sentence as nodes: the code between backticks becomes `code` elements.
function prose(sentence) {
  return sentence.split(/`([^`\n]{1,500})`/).map((part, index) => index % 2 ? code(part) : part);
}

// Code in a sentence. A line does not end inside a word such as --demos, unless the word is longer than the line.
function code(words, attributes = {}) {
  return make("code", attributes, words.split(/( +)/).map((word, index) => index % 2 ? word : make("span", {class: "word"}, word)));
}

// Texts and numbers.

const REASONS = {
  solved: "The plan was executed and reached the goal.",
  no_abstract_plan: "No sequence of operators reaches the goal.",
  sampler_exhausted: "No sampled parameters reached a subgoal.",
  not_initiable: "A controller could not start.",
  subgoal_missed: "A controller ran, but its subgoal did not hold afterwards.",
  controller_failed: "A controller failed.",
  environment_failure: "The simulator rejected an action and named the objects that caused the failure.",
  horizon_exceeded: "The plan takes too many low-level actions.",
  timeout: "Time ran out.",
  out_of_nodes: "The number of ground operators or search nodes reached its limit.",
  goal_missed: "The plan was executed but missed the goal.",
  not_learned: "Learning ran out of time, so no task was tried.",
};

function words(name) {
  return name.replaceAll("_", " ");
}

function heading(name) {
  const text = name.replaceAll(/[-_]/g, " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function count(number, one, several = one + "s") {
  return `${number.toLocaleString("en")} ${number === 1 ? one : several}`;
}

function seconds(value) {
  if (value >= 100) return `${Math.round(value)} s`;
  if (value >= 1) return `${value.toFixed(value >= 10 ? 1 : 2)} s`;
  if (value >= 0.0095) return `${Math.round(1000 * value)} ms`;
  return value > 0 ? `${(1000 * value).toFixed(1)} ms` : "0 ms";
}

function percent(share) {
  const text = (100 * share).toFixed(1);
  return `${text.endsWith(".0") ? text.slice(0, -2) : text} %`;
}

function mean(numbers) {
  return numbers.length ? numbers.reduce((sum, one) => sum + one, 0) / numbers.length : 0;
}

function quantile(numbers, share) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const position = share * (sorted.length - 1), low = Math.floor(position);
  if (!sorted.length) return 0;
  return sorted[low] + (position - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
}

function isSolved(task) {
  return task.outcome === "solved";
}

function call(name, objects) {
  return `${name}(${objects.join(", ")})`;
}

// Show a text beside the pointer while it is over a node; with `act`, a click on the node calls it.
function withTip(node, words, act = null) {
  node.addEventListener("pointerenter", event => showTip(words, event));
  node.addEventListener("pointerleave", () => showTip(null));
  if (act) {
    node.classList.add("clickable");
    node.addEventListener("click", () => { showTip(null); act(); });
  }
  return node;
}

function showTip(words, event = null) {
  const tip = document.querySelector(".tip") || document.body.appendChild(make("div", {class: "tip", "aria-hidden": "true"}));
  tip.hidden = words === null;
  if (words === null) return;
  tip.textContent = words.length > 300 ? `${words.slice(0, 300)}…` : words;
  const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, room))}px`;
  tip.style.top = `${Math.max(4, event.clientY - tip.offsetHeight - 10)}px`;
}

// Building blocks of the page.

function section(id, title, ...children) {
  return make("section", {id, "aria-labelledby": `${id}-title`},
    make("h2", {id: `${id}-title`}, title), ...children);
}

// The heading of a part of a task; a page with one plan has no headings between its title and the parts.
function partHeading(...children) {
  return make(document.body.classList.contains("inline") ? "h2" : "h4", {class: "part"}, children);
}

// `sign` returns the state of an atom: "true" (holds), "false" (does not hold), "open" (does not hold yet) or "".
function atomList(atoms, sign = () => "", label = null) {
  return make("ul", {class: "atoms", "aria-label": label}, atoms.map((atom, index) => {
    const state = sign(atom, index);
    const prefix = {true: "holds: ", false: "does not hold: ", open: "does not hold yet: "}[state];
    return make("li", {class: state ? `is-${state}` : null},
      prefix && make("span", {class: "unseen"}, prefix), atom);
  }));
}

function dataTable(label, heads, rows) {
  const table = make("table", {},
    make("thead", {}, make("tr", {}, heads.map(head => make("th", {scope: "col"}, head)))),
    make("tbody", {}, rows.map(row => make("tr", {},
      row.map((cell, index) => make(index ? "td" : "th", index ? {} : {scope: "row"}, cell))))));
  return make("div", {class: "wide", tabindex: 0, role: "region", "aria-label": label}, table);
}
