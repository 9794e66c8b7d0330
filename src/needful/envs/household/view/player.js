// Play the plan, and show beside it the atoms that hold.

const FRAMES_PER_SECOND = 20;

const stage = JSON.parse(document.getElementById("data").textContent);
const poses = unpackPoses(stage.moves);
const truths = unpackTruths(stage.flips, stage.atoms.length);
const lastFrame = stage.moves.length - 1;
const lastStep = stage.stepOf[lastFrame];
const $ = (name) => document.getElementById(name);
const player = { time: 0, playing: false, before: 0, shown: -1, waiting: false };
const colours = { sky: [1, 1, 1], mark: [1, 1, 0] };
const viewer = makeViewer();

// Each frame lists only the bodies that moved since the previous frame.
function unpackPoses(moves) {
  let poses = new Float32Array(moves[0].length * 7);
  return moves.map((moved) => {
    if (moved.length) poses = poses.slice();
    for (const [body, ...pose] of moved) poses.set(pose, body * 7);
    return poses;
  });
}

// Each frame lists only the atoms that changed since the previous frame.
function unpackTruths(flips, count) {
  let truth = new Uint8Array(count);
  return flips.map((flipped) => {
    if (flipped.length) truth = truth.slice();
    for (const atom of flipped) truth[atom] = 1 - truth[atom];
    return truth;
  });
}

function makeViewer() {
  try {
    return new Viewer($("view"), stage);
  } catch (reason) {
    $("unseen").hidden = false;
    return null;
  }
}

function posesAt(time) {
  const one = poses[Math.floor(time)], other = poses[Math.min(Math.floor(time) + 1, lastFrame)];
  const fraction = time - Math.floor(time);
  if (fraction === 0 || one === other) return one;
  const between = one.map((value, i) => value + (other[i] - value) * fraction);
  for (let q = 3; q < one.length; q += 7) turnBetween(between, one, other, q, fraction);
  return between;
}

function turnBetween(between, one, other, q, fraction) {
  let dot = 0, square = 0;
  for (let i = q; i < q + 4; i++) dot += one[i] * other[i];
  // A quaternion and its negative are the same rotation: interpolate along the shorter arc.
  const sign = dot < 0 ? -1 : 1;
  for (let i = q; i < q + 4; i++) {
    between[i] = one[i] + (sign * other[i] - one[i]) * fraction;
    square += between[i] ** 2;
  }
  for (let i = q; i < q + 4; i++) between[i] /= Math.sqrt(square);
}

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function listAtoms(list, atoms) {
  for (const atom of atoms) {
    const item = element("li", "", stage.atoms[atom]);
    item.dataset.atom = atom;
    list.append(item);
  }
}

function listSteps() {
  stage.steps.forEach((step, number) => {
    const item = element("li"), button = element("button"), atoms = element("ul", "atoms");
    button.type = "button";
    button.disabled = number > lastStep;
    button.append(element("span", "number", number || ""), element("span", "", step.name));
    button.addEventListener("click", () => goTo(lastFrameOf(number)));
    // Show only atoms that the step before did not need; the others are folded.
    const before = new Set(number ? stage.steps[number - 1].subgoal : []);
    const unchanged = step.subgoal.filter((atom) => before.has(atom));
    listAtoms(atoms, step.subgoal.filter((atom) => !before.has(atom)));
    item.append(button, atoms);
    if (unchanged.length) item.append(foldedAtoms(unchanged));
    $("steps").append(item);
  });
}

function foldedAtoms(atoms) {
  const folded = element("details", "atoms unchanged"), list = element("ul", "atoms");
  listAtoms(list, atoms);
  folded.append(element("summary", "", `${atoms.length} unchanged`), list);
  return folded;
}

// As in the report page, a step is shown where it has ended.
function lastFrameOf(step) {
  return stage.stepOf.lastIndexOf(step);
}

function currentStep() {
  return stage.stepOf[Math.floor(player.time)];
}

// The number of steps that have ended.
function endedSteps() {
  return player.time >= lastFrameOf(currentStep()) ? currentStep() : currentStep() - 1;
}

function previousStep() {
  const ended = endedSteps();
  goTo(lastFrameOf(Math.max(0, player.time > lastFrameOf(ended) ? ended : ended - 1)));
}

function nextStep() {
  goTo(lastFrameOf(Math.min(lastStep, endedSteps() + 1)));
}

function goTo(time) {
  player.time = clamp(time, 0, lastFrame);
  $("time").value = player.time;
  showPlan();
  redraw();
}

function showPlan() {
  const frame = Math.floor(player.time);
  if (frame === player.shown) return;
  const stepBefore = player.shown < 0 ? -1 : stage.stepOf[player.shown];
  player.shown = frame;
  for (const item of document.querySelectorAll("[data-atom]")) {
    item.classList.toggle("true", truths[frame][item.dataset.atom] === 1);
  }
  const reached = stage.goal.filter((atom) => truths[frame][atom]).length;
  $("reached").textContent = `${reached} of ${stage.goal.length}`;
  if (currentStep() !== stepBefore) showStep(currentStep());
}

function showStep(step) {
  const name = step ? `Step ${step} of ${stage.steps.length - 1}` : "Start";
  $("now").textContent = name;
  $("time").setAttribute("aria-valuetext", `${name}: ${stage.steps[step].name}`);
  [...$("steps").children].forEach((item, number) => {
    item.classList.toggle("past", number > 0 && number < step);
    if (number === step) item.setAttribute("aria-current", "step");
    else item.removeAttribute("aria-current");
  });
  // On wide screens the list scrolls; on narrow screens the whole panel scrolls.
  const list = $("steps"), scrolled = list.scrollHeight > list.clientHeight ? list : list.parentElement;
  const top = list.children[step].offsetTop - (scrolled === list ? list.offsetTop : 0);
  scrolled.scrollTop = step ? top - scrolled.clientHeight / 4 : 0;
}

function setPlaying(playing) {
  if (playing && player.time >= lastFrame) goTo(0);
  player.playing = playing;
  player.before = performance.now();
  $("play").classList.toggle("playing", playing);
  $("play").setAttribute("aria-label", playing ? "Pause" : "Play");
  redraw();
}

function redraw() {
  if (player.waiting) return;
  player.waiting = true;
  requestAnimationFrame((now) => {
    player.waiting = false;
    if (player.playing) advance(now);
    const step = stage.steps[currentStep()];
    if (viewer) viewer.draw(posesAt(player.time), new Set(step.bodies), colours.sky, colours.mark);
  });
}

function advance(now) {
  const seconds = Math.max(0, now - player.before) / 1000;
  player.before = now;
  goTo(player.time + Math.min(seconds, 0.25) * FRAMES_PER_SECOND * Number($("speed").value));
  if (player.time >= lastFrame) setPlaying(false);
}

function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of Object.keys(colours)) {
    const hex = style.getPropertyValue(`--${name}`).trim();
    colours[name] = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255);
  }
  redraw();
}

function listenToControls() {
  $("time").max = lastFrame;
  $("play").addEventListener("click", () => setPlaying(!player.playing));
  $("back").addEventListener("click", previousStep);
  $("next").addEventListener("click", nextStep);
  $("time").addEventListener("input", () => goTo(Number($("time").value)));
  document.addEventListener("keydown", (event) => {
    const keys = { ArrowLeft: previousStep, ArrowRight: nextStep, Home: () => goTo(0), End: () => goTo(lastFrame) };
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || event.target.closest("select")) return;
    if (event.key === " " && !event.target.closest("button, summary")) keys[" "] = () => setPlaying(!player.playing);
    if (!(event.key in keys)) return;
    event.preventDefault();
    if (event.key !== " ") setPlaying(false);
    keys[event.key]();
  });
  window.addEventListener("resize", redraw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", readColours);
}

function showHouse(whole) {
  $("house").checked = whole;
  viewer.showHouse(whole);
  redraw();
}

function listenToKeys(canvas) {
  const actions = {
    ArrowLeft: () => viewer.turn(-0.1, 0), ArrowRight: () => viewer.turn(0.1, 0),
    ArrowUp: () => viewer.turn(0, 0.08), ArrowDown: () => viewer.turn(0, -0.08),
    "+": () => viewer.magnify(1.15), "=": () => viewer.magnify(1.15), "-": () => viewer.magnify(1 / 1.15),
    0: () => viewer.goHome(), 1: () => showHouse(!$("house").checked),
  };
  canvas.addEventListener("keydown", (event) => {
    if (!(event.key in actions) || event.ctrlKey || event.metaKey || event.altKey) return;
    // Without Shift, the arrow keys go to another step, as everywhere on the page.
    if (event.key.startsWith("Arrow") && !event.shiftKey) return;
    event.preventDefault();
    actions[event.key]();
    redraw();
  });
}

// Show the name of the thing under the pointer.
function listenToHover(canvas) {
  const label = $("thing");
  canvas.addEventListener("pointerleave", () => { label.hidden = true; });
  canvas.addEventListener("pointermove", (event) => {
    const body = event.buttons ? null : viewer.bodyAt(event.offsetX, event.offsetY, posesAt(player.time));
    const name = body === null ? undefined : stage.names[body];
    label.hidden = !name;
    if (!name) return;
    label.textContent = name;
    label.style.left = `${Math.min(event.offsetX + 14, canvas.clientWidth - label.offsetWidth - 4)}px`;
    label.style.top = `${Math.max(4, event.offsetY - 26)}px`;
  });
}

function listenToPointers(canvas) {
  const fingers = new Map();
  const spread = () => {
    const [a, b] = [...fingers.values()];
    return Math.hypot(a.x - b.x, a.y - b.y);
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  });
  for (const name of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(name, (event) => fingers.delete(event.pointerId));
  }
  canvas.addEventListener("pointermove", (event) => {
    const finger = fingers.get(event.pointerId);
    if (!finger) return;
    const before = fingers.size > 1 ? spread() : 0;
    const [dx, dy] = [event.clientX - finger.x, event.clientY - finger.y];
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (fingers.size > 1) {
      viewer.magnify(spread() / Math.max(1, before));
      viewer.slide(dx / 2, dy / 2);
    } else if (event.shiftKey || event.buttons & 2) viewer.slide(dx, dy);
    else viewer.turn(dx * 0.006, dy * 0.006);
    redraw();
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    viewer.magnify(Math.exp(-event.deltaY * 0.0012));
    redraw();
  }, { passive: false });
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
}

listAtoms($("goal"), stage.goal);
listSteps();
listenToControls();
if (viewer) {
  listenToKeys($("view"));
  listenToPointers($("view"));
  listenToHover($("view"));
  $("house").addEventListener("change", () => showHouse($("house").checked));
}
readColours();
goTo(0);
