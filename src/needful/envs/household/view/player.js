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
    button.addEventListener("click", () => goTo(firstFrame(number)));
    listAtoms(atoms, step.subgoal);
    item.append(button, atoms);
    $("steps").append(item);
  });
}

function firstFrame(step) {
  return stage.stepOf.indexOf(step);
}

function currentStep() {
  return stage.stepOf[Math.floor(player.time)];
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
  $("back").addEventListener("click", () => {
    const start = firstFrame(currentStep());
    goTo(player.time > start ? start : firstFrame(Math.max(0, currentStep() - 1)));
  });
  $("next").addEventListener("click", () => {
    goTo(currentStep() < lastStep ? firstFrame(currentStep() + 1) : lastFrame);
  });
  $("time").addEventListener("input", () => goTo(Number($("time").value)));
  document.addEventListener("keydown", (event) => {
    if (event.key !== " " || event.target.closest("button, select")) return;
    event.preventDefault();
    setPlaying(!player.playing);
  });
  window.addEventListener("resize", redraw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", readColours);
}

function listenToKeys(canvas) {
  const actions = {
    ArrowLeft: () => viewer.turn(-0.1, 0), ArrowRight: () => viewer.turn(0.1, 0),
    ArrowUp: () => viewer.turn(0, 0.08), ArrowDown: () => viewer.turn(0, -0.08),
    "+": () => viewer.magnify(1.15), "=": () => viewer.magnify(1.15), "-": () => viewer.magnify(1 / 1.15),
    0: () => viewer.goHome(),
  };
  canvas.addEventListener("keydown", (event) => {
    if (!(event.key in actions) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    actions[event.key]();
    redraw();
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
}
readColours();
goTo(0);
