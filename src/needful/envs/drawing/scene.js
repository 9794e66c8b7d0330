// A stage of `Player` that shows a plan in 3D: shapes on bodies that move.
//
// `film.moves` lists, for each keyframe, the bodies that moved; `film.ends` has the keyframe in which each state is
// reached, and `film.milliseconds` the duration of each step.

const MARK = [0.96, 0.7, 0];  // the colour of the objects of the current step
const MIN_STEP_MILLISECONDS = 500;
const VIEW_HELP = "Shift and arrow keys rotate the view, plus and minus zoom, 0 resets it, 1 shows everything.";

// Browsers limit the number of 3D views, so the previous one is released.
let currentScene = null;

class Scene {
  constructor(film, plan) {
    this.film = film;
    this.tries = film.tries;
    this.eases = false;
    this.aspect = 4 / 3;
    this.poses = unpackPoses(film.moves);
    this.bodies = plan.steps.map(([, objects]) => new Set(objects.flatMap(name => film.bodies[name] || [])));
    this.names = new Map(Object.entries(film.bodies).flatMap(([name, bodies]) => bodies.map(body => [body, name])));
    this.time = 0;
    this.highlighted = null;
    this.waiting = false;
    this.picture = make("canvas", {tabindex: 0, role: "img", "aria-label": "The start"});
    this.whole = make("input", {type: "checkbox", onchange: () => this.showWhole(this.whole.checked)});
    this.tones = this.tries.map(([group]) => make("i", {class: `tone${group % 6}`}));
    if (currentScene) currentScene.release();
    currentScene = this;
    this.observers = [];
    this.viewer = this.makeViewer();
    this.element = make("div", {class: "scene"}, this.picture, this.tones,
      this.viewer ? make("div", {class: "scene-tools"}, make("label", {}, this.whole, " show everything"),
        make("span", {class: "quiet"}, "Drag to rotate, shift-drag to pan; click and use the wheel to zoom."))
        : make("p", {class: "quiet"}, "This browser does not support WebGL 2, so the plan is shown without pictures."));
    if (this.viewer) this.listen();
  }

  makeViewer() {
    try {
      return new Viewer(this.picture, this.film);
    } catch {
      this.picture.hidden = true;
      return null;
    }
  }

  release() {
    this.observers.forEach(one => one.disconnect());
    if (this.viewer) this.viewer.release();
  }

  describe(text) {
    this.picture.setAttribute("aria-label", `3D view. ${text}. ${VIEW_HELP}`);
  }

  milliseconds(step) {
    return Math.max(MIN_STEP_MILLISECONDS, this.film.milliseconds[step - 1]);
  }

  // Show the moment at a time in steps; `tries`: whether to show where all tries ended.
  show(time, tries) {
    [this.time, this.shownTries] = [time, tries];
    this.redraw();
  }

  highlight(number) {
    this.highlighted = number;
    this.redraw();
  }

  showWhole(whole) {
    this.whole.checked = whole;
    this.viewer.showHouse(whole);
    this.redraw();
  }

  redraw() {
    if (this.waiting || !this.viewer) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      if (currentScene === this && this.picture.clientWidth) this.draw();
    });
  }

  draw() {
    const index = Math.floor(this.time), colour = node => getComputedStyle(node);
    const running = this.bodies[Math.ceil(this.time) - 1] || new Set();
    const ghosts = this.shownTries ? this.tries.map(([, , number], position) => ({
      colour: rgb(colour(this.tones[position]).color), faded: this.highlighted !== null && this.highlighted !== number})) : null;
    this.viewer.draw(this.posesAt(index, this.time - index), {marked: running, mark: MARK, ghosts,
      sky: rgb(colour(this.picture).backgroundColor)});
  }

  // The poses at a share of the step after state `index`.
  posesAt(index, share) {
    const {ends} = this.film, from = ends[index], to = ends[Math.min(index + 1, ends.length - 1)];
    const frame = from + (to - from) * share, low = Math.floor(frame);
    const one = this.poses[low], other = this.poses[Math.min(low + 1, this.poses.length - 1)];
    return frame === low || one === other ? one : posesBetween(one, other, frame - low);
  }

  listen() {
    const canvas = this.picture;
    this.observers = [new ResizeObserver(() => this.redraw()), new MutationObserver(() => this.redraw())];
    this.observers[0].observe(canvas);
    this.observers[1].observe(document.documentElement, {attributes: true});  // the theme changes
    canvas.addEventListener("keydown", event => this.key(event));
    listenToPointers(canvas, this.viewer, () => this.redraw());
    canvas.addEventListener("pointerleave", () => showTip(null));
    canvas.addEventListener("pointermove", event => {
      const index = Math.floor(this.time);
      const body = event.buttons ? null : this.viewer.bodyAt(event.offsetX, event.offsetY, this.posesAt(index, this.time - index));
      showTip(this.names.get(body) ?? null, event);
    });
  }

  // Without Shift, the arrow keys go to another step, as everywhere in the player.
  key(event) {
    const view = this.viewer, turns = {ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.08], ArrowDown: [0, -0.08]};
    const zooms = {"+": 1.15, "=": 1.15, "-": 1 / 1.15};
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.shiftKey && event.key in turns) view.turn(...turns[event.key]);
    else if (event.key in zooms) view.magnify(zooms[event.key]);
    else if (event.key === "0") view.goHome();
    else if (event.key === "1") this.showWhole(!this.whole.checked);
    else return;
    event.preventDefault();
    this.redraw();
  }
}

function rgb(text) {
  return text.match(/[\d.]+/g).slice(0, 3).map(value => Number(value) / 255);
}

// Each keyframe lists only the bodies that moved since the previous one.
function unpackPoses(moves) {
  let poses = new Float32Array(moves[0].length * 7);
  return moves.map(moved => {
    if (moved.length) poses = poses.slice();
    for (const [body, ...pose] of moved) poses.set(pose, body * 7);
    return poses;
  });
}

function posesBetween(one, other, share) {
  const mixed = one.map((value, i) => value + (other[i] - value) * share);
  for (let q = 3; q < one.length; q += 7) {
    // A quaternion and its negative are the same rotation: interpolate along the shorter arc.
    const dot = [0, 1, 2, 3].reduce((sum, i) => sum + one[q + i] * other[q + i], 0), sign = dot < 0 ? -1 : 1;
    for (let i = q; i < q + 4; i += 1) mixed[i] = one[i] + (sign * other[i] - one[i]) * share;
    const length = Math.hypot(...mixed.subarray(q, q + 4));
    for (let i = q; i < q + 4; i += 1) mixed[i] /= length;
  }
  return mixed;
}

function listenToPointers(canvas, viewer, redraw) {
  const fingers = new Map();
  const spread = () => {
    const [a, b] = [...fingers.values()];
    return Math.hypot(a.x - b.x, a.y - b.y);
  };
  canvas.addEventListener("pointerdown", event => {
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, {x: event.clientX, y: event.clientY});
  });
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, event => fingers.delete(event.pointerId));
  canvas.addEventListener("pointermove", event => {
    const finger = fingers.get(event.pointerId);
    if (!finger) return;
    const before = fingers.size > 1 ? spread() : 0;
    const [dx, dy] = [event.clientX - finger.x, event.clientY - finger.y];
    fingers.set(event.pointerId, {x: event.clientX, y: event.clientY});
    if (fingers.size > 1) {
      viewer.magnify(spread() / Math.max(1, before));
      viewer.slide(dx / 2, dy / 2);
    } else if (event.shiftKey || event.buttons & 2) viewer.slide(dx, dy);
    else viewer.turn(dx * 0.006, dy * 0.006);
    redraw();
  });
  // The wheel scrolls the page until the view was clicked.
  canvas.addEventListener("wheel", event => {
    if (document.activeElement !== canvas) return;
    event.preventDefault();
    viewer.magnify(Math.exp(-event.deltaY * 0.0012));
    redraw();
  }, {passive: false});
  canvas.addEventListener("contextmenu", event => event.preventDefault());
}
