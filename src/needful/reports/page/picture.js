// Pictures of states: a frame is a list of marks; marks that move between frames are interpolated.

const IS_PATH = form => typeof form === "string";

function unpack(ranges) {
  const marks = [];
  for (let index = 0; index < ranges.length; index += 2) {
    for (let step = 0; step < ranges[index + 1]; step += 1) marks.push(ranges[index] + step);
  }
  return marks;
}

// Marks with the same structure in two frames can be one mark that moved.
function structure(scene, mark) {
  const form = scene.forms[scene.marks[mark][0]];
  return IS_PATH(form) ? form.replaceAll(/[-.\d ]+/g, ".") : `text ${form.join(" ")}`;
}

function between(one, other, share) {
  return one + (other - one) * share;
}

function mixedPath(one, other, share) {
  if (one === other) return one;
  const goals = other.match(/-?[\d.]+/g);
  let index = 0;
  return one.replaceAll(/-?[\d.]+/g, number => {
    index += 1;
    return ` ${between(Number(number), Number(goals[index - 1]), share).toFixed(2)}`;
  });
}

const STEP_MILLISECONDS = 1100;

// A stage of `Player` that shows pictures. `tries` has the marks that each try of the failed step moved.
class Picture {
  constructor(scene, film) {
    this.scene = scene;
    this.eases = true;
    this.tries = film.tries;
    this.states = film.places;  // the index of the state of each frame
    this.frames = film.frames.map(unpack);
    this.nodes = new Map();
    this.steps = new Map();
    const [width, height] = scene.size;
    this.aspect = width / height;
    this.canvas = draw("g", {});
    this.element = draw("svg", {viewBox: `0 0 ${width} ${height}`, class: "picture", tabindex: 0, role: "img", "aria-label": "The start"},
      draw("defs", {}, scene.clips.map((outline, index) =>
        draw("clipPath", {id: `clip${index}`}, draw("path", {d: outline})))),
      this.canvas, this.ghosts = this.drawTries());
  }

  describe(text) {
    this.element.setAttribute("aria-label", `Picture of the state. ${text}`);
  }

  milliseconds() {
    return STEP_MILLISECONDS;
  }

  // Outlines of what each try of the failed step moved; texts are left out.
  drawTries() {
    return draw("g", {"aria-hidden": "true"}, this.tries.map(([group, ranges, number]) =>
      draw("g", {class: `ghost tone${group % 6}`, "data-try": number}, unpack(ranges)
        .filter(mark => IS_PATH(this.scene.forms[this.scene.marks[mark][0]])).map(mark => this.node(mark, mark, 0)))));
  }

  // Emphasise one try, or none.
  highlight(number) {
    for (const ghost of this.ghosts.children) {
      ghost.classList.toggle("faded", number !== null && ghost.dataset.try !== String(number));
    }
  }

  get last() {
    return this.frames.length - 1;
  }

  // Show the picture at a time; 1.5 is halfway from state 1 to state 2. `tries`: whether to show all tries.
  show(time, tries) {
    this.ghosts.toggleAttribute("hidden", !tries);
    const after = this.states.findIndex(state => state > time);
    const index = after < 0 ? this.last : after - 1;
    const share = after < 0 ? 0 : (time - this.states[index]) / (this.states[after] - this.states[index]);
    if (share < 1e-3) {
      this.canvas.replaceChildren(...this.frames[index].map(mark => this.still(mark)));
      return;
    }
    const {moving, backwards} = this.step(index);
    const marks = share < 0.5 ? this.frames[index] : this.frames[index + 1];
    this.canvas.replaceChildren(...marks.map(mark => {
      const from = share < 0.5 ? mark : backwards.get(mark);
      return moving.has(from) ? this.node(from, moving.get(from), share) : this.still(mark);
    }));
  }

  // Pair the marks that are in only one of two neighbouring frames, preferably with the same style.
  step(index) {
    if (this.steps.has(index)) return this.steps.get(index);
    const [now, next] = [this.frames[index], this.frames[index + 1]];
    const nowMarks = new Set(now), nextMarks = new Set(next);
    let left = now.filter(mark => !nextMarks.has(mark)), right = next.filter(mark => !nowMarks.has(mark));
    const moving = new Map(), backwards = new Map();
    for (const styled of [true, false]) {
      const key = mark => structure(this.scene, mark) + (styled ? ` ${this.scene.marks[mark][3]}` : "");
      const waiting = groupBy(right, key);
      for (const mark of left) {
        const partner = waiting.get(key(mark))?.shift();
        if (partner !== undefined) {
          moving.set(mark, partner);
          backwards.set(partner, mark);
        }
      }
      left = left.filter(mark => !moving.has(mark));
      right = right.filter(mark => !backwards.has(mark));
    }
    const found = {moving, backwards};
    this.steps.set(index, found);
    return found;
  }

  still(mark) {
    if (!this.nodes.has(mark)) this.nodes.set(mark, this.node(mark, mark, 0));
    return this.nodes.get(mark);
  }

  // The element of a mark that moves to another mark with the same structure; `share` is its progress, from 0 to 1.
  node(mark, target, share) {
    const [form, x, y] = this.scene.marks[mark], [goal, goalX, goalY] = this.scene.marks[target];
    const {clip, rotate, ...style} = this.scene.styles[this.scene.marks[share < 0.5 ? mark : target][3]];
    const [here, there] = [this.scene.forms[form], this.scene.forms[goal]];
    const turn = rotate ? ` rotate(${rotate})` : "";
    const transform = `translate(${between(x, goalX, share).toFixed(2)} ${between(y, goalY, share).toFixed(2)})${turn}`;
    let node;
    if (IS_PATH(here)) node = draw("path", {...style, transform, d: mixedPath(here, there, share)});
    else if (here.length === 1) node = draw("text", {...style, transform}, here[0]);
    else node = draw("image", {...style, transform, href: `data:image/png;base64,${here[1]}`});
    return clip === undefined ? node : draw("g", {"clip-path": `url(#clip${clip})`}, node);
  }
}

function groupBy(items, key) {
  const groups = new Map();
  for (const item of items) {
    if (!groups.has(key(item))) groups.set(key(item), []);
    groups.get(key(item)).push(item);
  }
  return groups;
}

// The stage of a film in 2D or 3D; null if there is no film.
function makeStage(film, scene, plan) {
  if (!film) return null;
  return film.moves ? new Scene(film, plan) : new Picture(scene, film);
}
