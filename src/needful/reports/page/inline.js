// The player of one plan, on its own page or in the output of a notebook cell.

const stage = makeStage(page.film, page.scene, page.plan);
const player = new Player(page.plan, page.atoms, stage);
const dark = matchMedia("(prefers-color-scheme: dark)");
const setTheme = () => { document.documentElement.dataset.theme = dark.matches ? "dark" : "light"; };
setTheme();
dark.addEventListener("change", setTheme);
fill(document.getElementById("main"), {}, [
  page.record.outcome === "solved" ? null : failureBox(page.plan, page.atoms, page.record),
  player.element, drawsFigure(page.plan.end, stage)]);
