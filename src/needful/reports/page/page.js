// Assemble the page for the selected run.

const runs = page.runs.map((run, number) => ({...run, number}));
const domains = [...new Set(runs.map(run => run.domain))];
const main = document.getElementById("main");
const picker = document.getElementById("runs");
// More runs than this are selected in a list instead of by buttons.
const MAX_BUTTONS = 8;
let selector = null;

function subtitle(run) {
  const demos = run.facts.demos;
  const from = demos === undefined ? "" : ` from ${count(demos, "demonstration")}`;
  return [make("strong", {}, run.learner), `${from}, seed ${run.seed}`];
}

let selected = null, openSelected = () => {};

function show(run, task = null) {
  let open = () => {};
  const choose = (other, wanted) => (other === run ? open(wanted) : show(other, wanted));
  const [tasks, openTask] = tasksSection(run);
  open = openTask;
  [selected, openSelected] = [run, open];
  const sections = [comparisonSection(choose), summarySection(run, open), tasks, operatorsSection(run),
    inventedSection(run), doubtsSection(run), timesSection(run, open), climbSection(run), madeSection(run)];
  main.replaceChildren(...sections.filter(Boolean));
  document.getElementById("sections").replaceChildren(...[...main.querySelectorAll(":scope > section")].map(one =>
    make("a", {href: `#${one.id}`}, one.querySelector("h2").textContent)));
  document.getElementById("title").textContent = domains.length > 1 ? `${domains.length} domains` : heading(run.domain);
  document.getElementById("subtitle").replaceChildren(...subtitle(run));
  document.getElementById("versions").textContent =
    Object.entries(run.versions).map(([name, version]) => `${name} ${version}`).join(" · ");
  if (selector) selector.value = run.number;
  for (const button of picker.querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(Number(button.value) === run.number));
  }
  if (task) open(task);
}

const name = run => (domains.length > 1 ? `${heading(run.domain)}: ${run.label}` : run.label);
if (runs.length > MAX_BUTTONS) {
  selector = make("select", {onchange: event => show(runs[Number(event.target.value)])},
    runs.map(run => make("option", {value: run.number}, name(run))));
  fill(picker, {}, [make("label", {class: "selector"}, "Selected run ", selector)]);
} else if (runs.length > 1) {
  fill(picker, {role: "group", "aria-label": "Selected run"}, runs.map(run =>
    make("button", {type: "button", value: run.number, class: `picker run${run.number % 8}`, onclick: () => show(run)}, name(run))));
}

const theme = document.getElementById("theme");
function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  theme.textContent = dark ? "Light" : "Dark";
  theme.setAttribute("aria-label", dark ? "Use light colours" : "Use dark colours");
}
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
setTheme((rememberedTheme() ?? (prefersDark.matches ? "dark" : "light")) === "dark");
prefersDark.addEventListener("change", () => rememberedTheme() === null && setTheme(prefersDark.matches));
theme.addEventListener("click", () => {
  setTheme(document.documentElement.dataset.theme !== "dark");
  rememberTheme(document.documentElement.dataset.theme);
});

// The browser may forbid storage, for example in a sandbox; then the theme is not remembered.
function rememberedTheme() {
  try {
    const found = localStorage.getItem("needful-theme");
    return found === "dark" || found === "light" ? found : null;
  } catch {
    return null;
  }
}

function rememberTheme(name) {
  try {
    localStorage.setItem("needful-theme", name);
  } catch {
    // See above.
  }
}

// Go to the run, task, step or operator that the address names.
function follow() {
  const wanted = readFragment(), run = runs[wanted.run ?? selected.number];
  if (!run) return;
  if (run !== selected) show(run);
  const task = run.tasks.find(one => one.task === wanted.task);
  if (task) openSelected(task, true, Number.isFinite(wanted.step) ? wanted.step : null);
  if (wanted.operator !== undefined) openOperator(wanted.operator);
}

show(runs[0]);
settled = true;
follow();
addEventListener("hashchange", follow);
if (/^#\w+$/.test(location.hash)) document.getElementById(location.hash.slice(1))?.scrollIntoView();
