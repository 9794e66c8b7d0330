// Draw boxes, cylinders and balls with one light and shadows.

const INSTANCE_FLOATS = 16; // three rotated and scaled axes, the position, and the colour
const SHADOW_SIZE = 2048;
const FIELD_OF_VIEW = (40 * Math.PI) / 180;
const LIGHT = normalized([-0.35, -0.5, 1]);
const HIGHEST_ELEVATION = 1.55;
const FURNITURE_TOP = 1.8; // metres

const VERTEX = `#version 300 es
layout(location = 0) in vec3 corner;
layout(location = 1) in vec3 outward;
layout(location = 2) in vec3 axisX;
layout(location = 3) in vec3 axisY;
layout(location = 4) in vec3 axisZ;
layout(location = 5) in vec3 place;
layout(location = 6) in vec4 colour;
uniform mat4 camera;
uniform mat4 lamp;
out vec3 normal;
out vec4 paint;
out vec4 inShadow;
void main() {
  vec3 point = axisX * corner.x + axisY * corner.y + axisZ * corner.z + place;
  normal = axisX * outward.x / dot(axisX, axisX) + axisY * outward.y / dot(axisY, axisY)
    + axisZ * outward.z / dot(axisZ, axisZ);
  paint = colour;
  inShadow = lamp * vec4(point + normalize(normal) * 0.01, 1.0);
  gl_Position = camera * vec4(point, 1.0);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
precision highp sampler2DShadow;
in vec3 normal;
in vec4 paint;
in vec4 inShadow;
uniform vec3 light;
uniform sampler2DShadow shadows;
out vec4 pixel;
void main() {
  vec3 up = normalize(normal);
  vec3 at = inShadow.xyz * 0.5 + 0.5;
  float lit = 0.0;
  for (int i = -1; i <= 1; i++)
    for (int j = -1; j <= 1; j++)
      lit += texture(shadows, vec3(at.xy + vec2(i, j) / ${SHADOW_SIZE}.0, at.z - 0.0008));
  float sun = max(dot(up, light), 0.0) * lit / 9.0;
  float sky = 0.52 + 0.13 * up.z + 0.04 * up.x;
  pixel = vec4(paint.rgb * (sky + 0.42 * sun) * paint.a, paint.a);
}`;

const SHADOW_FRAGMENT = `#version 300 es
precision highp float;
void main() {}`;

class Viewer {
  // `film` has the shapes, the robot's arm (or null), the area to show first, and the tries of a failed step.
  constructor(canvas, film) {
    this.canvas = canvas;
    this.gl = canvas.getContext("webgl2", { antialias: true, premultipliedAlpha: true });
    if (!this.gl) throw new Error("no WebGL 2");
    this.arm = film.arm;
    // Transparent shapes are drawn last, over everything else.
    const seen = [...film.shapes].sort((a, b) => b.colour[3] - a.colour[3]);
    this.solid = this.batches(seen.filter((shape) => shape.colour[3] === 1), true);
    this.clear = this.batches(seen.filter((shape) => shape.colour[3] < 1), false);
    [this.ghosts, this.ghostPoses] = this.makeGhosts(film);
    this.program = this.link(VERTEX, FRAGMENT);
    this.shadowProgram = this.link(VERTEX, SHADOW_FRAGMENT);
    this.shadow = this.shadowTarget();
    this.house = houseBounds(film.shapes);
    this.rooms = film.focus;
    this.focus = this.rooms;
    this.lamp = lampMatrix(this.house);
    this.goHome();
  }

  goHome() {
    const [low, high] = this.focus;
    this.azimuth = -Math.PI / 2;
    this.elevation = 0.95;
    this.zoom = 1;
    // If the canvas is wider than the focused rooms, show neighbouring rooms and not the outside.
    const [west, east] = this.house.map((corner) => corner[0]);
    const half = Math.min((this.span() * this.aspect()) / 2, (east - west) / 2);
    this.centre = [clamp((low[0] + high[0]) / 2, west + half, east - half), (low[1] + high[1]) / 2, 0.2];
    this.fit();
  }

  // Show the whole house, or the rooms of the plan.
  showHouse(whole) {
    this.focus = whole ? this.house : this.rooms;
    this.goHome();
  }

  // Move back until all corners of the focused rooms are visible.
  fit() {
    const [low, high] = this.focus, zoom = this.zoom;
    this.zoom = 1;
    const visible = () => {
      const camera = this.cameraMatrix();
      return [low[0], high[0]].every((x) => [low[1], high[1]].every((y) => [0, FURNITURE_TOP].every((z) => {
        const [px, py, , pw] = transformed(camera, [x, y, z]);
        return pw > 0 && Math.abs(px) <= 0.95 * pw && Math.abs(py) <= 0.95 * pw;
      })));
    };
    this.back = 0;
    while (!visible() && this.back < 100) this.back += 0.1;
    this.zoom = zoom;
  }

  turn(right, up) {
    this.azimuth -= right;
    this.elevation = clamp(this.elevation + up, 0.08, HIGHEST_ELEVATION);
  }

  slide(right, up) {
    const metres = (2 * Math.tan(FIELD_OF_VIEW / 2) * this.distance()) / this.canvas.clientHeight;
    const [sin, cos] = [Math.sin(this.azimuth), Math.cos(this.azimuth)];
    this.centre[0] += (sin * right - cos * up) * metres;
    this.centre[1] += (-cos * right - sin * up) * metres;
  }

  magnify(factor) {
    this.zoom = clamp(this.zoom * factor, 0.3, 12);
  }

  aspect() {
    return Math.max(1, this.canvas.clientWidth) / Math.max(1, this.canvas.clientHeight);
  }

  // Return the visible height in metres, at the near end of the focused rooms.
  span() {
    const [low, high] = this.focus;
    return Math.max((high[0] - low[0] + 0.4) / this.aspect(), 0.85 * (high[1] - low[1]) + 0.8);
  }

  distance() {
    const [low, high] = this.focus;
    return (this.span() / 2 / Math.tan(FIELD_OF_VIEW / 2) + 0.3 * (high[1] - low[1]) + this.back) / this.zoom;
  }

  // Copies of the shapes that each try moved, in the poses where it ended; they are drawn transparently.
  makeGhosts(film) {
    const shapes = [], poses = [];
    film.tries.forEach(([, moved], position) => {
      for (const [body, ...pose] of moved) {
        const copies = film.shapes.filter((shape) => shape.body === body);
        shapes.push(...copies.map((shape) => ({ ...shape, body: poses.length / 7, ghost: position })));
        poses.push(...pose);
      }
    });
    return [this.batches(shapes, false), new Float32Array(poses)];
  }

  release() {
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }

  // `ghosts` has the colour of each try and whether it is faded; null hides all tries.
  draw(poses, { marked, mark, ghosts, sky }) {
    const gl = this.gl;
    const scale = Math.min(window.devicePixelRatio || 1, 2);
    const [width, height] = [this.canvas.clientWidth * scale, this.canvas.clientHeight * scale].map(Math.round);
    if (this.canvas.width !== width || this.canvas.height !== height) {
      [this.canvas.width, this.canvas.height] = [width, height];
      if (this.sized) this.fit();
      else this.goHome();
      this.sized = true;
    }
    const painted = (shape) => (marked.has(shape.body) ? mixed(shape.colour, mark, 0.75) : shape.colour);
    for (const batch of [...this.solid, ...this.clear]) this.fill(batch, poses, painted);
    const tinted = (shape) => [...ghosts[shape.ghost].colour, ghosts[shape.ghost].faded ? 0.08 : 0.45];
    const tries = ghosts ? this.ghosts : [];
    for (const batch of tries) this.fill(batch, this.ghostPoses, tinted);

    gl.enable(gl.DEPTH_TEST);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.shadow.frame);
    gl.viewport(0, 0, SHADOW_SIZE, SHADOW_SIZE);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    this.use(this.shadowProgram, this.lamp);
    this.solid.forEach((batch) => this.show(batch));

    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, width, height);
    gl.clearColor(...sky, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    this.use(this.program, this.cameraMatrix());
    this.solid.forEach((batch) => this.show(batch));
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthMask(false);
    [...this.clear, ...tries].forEach((batch) => this.show(batch));
    gl.depthMask(true);
    gl.disable(gl.BLEND);
  }

  use(program, camera) {
    const gl = this.gl;
    gl.useProgram(program);
    gl.uniformMatrix4fv(gl.getUniformLocation(program, "camera"), false, camera);
    gl.uniformMatrix4fv(gl.getUniformLocation(program, "lamp"), false, this.lamp);
    gl.uniform3fv(gl.getUniformLocation(program, "light"), LIGHT);
  }

  cameraMatrix() {
    const distance = this.distance();
    const [flat, high] = [Math.cos(this.elevation), Math.sin(this.elevation)];
    const away = [flat * Math.cos(this.azimuth), flat * Math.sin(this.azimuth), high];
    const eye = this.centre.map((value, i) => value + away[i] * distance);
    return product(perspective(FIELD_OF_VIEW, this.aspect(), 0.2, distance + 40), lookAt(eye, this.centre));
  }

  // Return the body under a point of the canvas, or null; transparent shapes (walls) and floors do not count.
  bodyAt(x, y, poses) {
    const camera = this.cameraMatrix(), best = { size: Infinity, body: null };
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    const point = [(2 * x) / width - 1, 1 - (2 * y) / height];
    for (const shape of this.solid.flatMap((batch) => batch.shapes)) {
      if (shape.body === 0) continue;
      const axes = turned(poses, shape.body * 7 + 3);
      const corners = [];
      for (const signs of [[-1, -1, -1], [-1, -1, 1], [-1, 1, -1], [-1, 1, 1], [1, -1, -1], [1, -1, 1], [1, 1, -1], [1, 1, 1]]) {
        const place = [0, 1, 2].map((i) => poses[shape.body * 7 + i] + axes.reduce(
          (sum, axis, k) => sum + axis[i] * (shape.centre[k] + signs[k] * shape.half[k]), 0));
        const [px, py, , pw] = transformed(camera, place);
        corners.push([px / pw, py / pw, pw]);
      }
      // The bounds of the projected corners are a good approximation for small things.
      const inside = [0, 1].every((i) => Math.min(...corners.map((c) => c[i])) <= point[i]
        && point[i] <= Math.max(...corners.map((c) => c[i])));
      // Of overlapping things, name the smaller one, which would otherwise be hard to point at.
      const size = shape.half[0] * shape.half[1] * shape.half[2];
      if (inside && size < best.size) [best.size, best.body] = [size, shape.body];
    }
    return best.body;
  }

  // Make one batch per kind of shape; each batch is drawn by one call.
  batches(shapes, withArm) {
    return Object.entries(MESHES).map(([kind, mesh]) => {
      const chosen = shapes.filter((shape) => shape.kind === kind);
      const arms = withArm && this.arm && kind === "cylinder" ? 1 : 0;
      return this.batch(mesh(), chosen, arms);
    }).filter((batch) => batch.count > 0);
  }

  batch(mesh, shapes, arms) {
    const gl = this.gl;
    const count = shapes.length + arms;
    const batch = { shapes, arms, count, corners: mesh.length / 6, array: gl.createVertexArray(),
      floats: new Float32Array(count * INSTANCE_FLOATS), buffer: gl.createBuffer() };
    gl.bindVertexArray(batch.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(mesh), gl.STATIC_DRAW);
    for (let i = 0; i < 2; i++) {
      gl.enableVertexAttribArray(i);
      gl.vertexAttribPointer(i, 3, gl.FLOAT, false, 24, i * 12);
    }
    gl.bindBuffer(gl.ARRAY_BUFFER, batch.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, batch.floats.byteLength, gl.DYNAMIC_DRAW);
    for (let i = 0; i < 5; i++) {
      gl.enableVertexAttribArray(2 + i);
      gl.vertexAttribPointer(2 + i, i < 4 ? 3 : 4, gl.FLOAT, false, INSTANCE_FLOATS * 4, i * 12);
      gl.vertexAttribDivisor(2 + i, 1);
    }
    return batch;
  }

  fill(batch, poses, colourOf) {
    batch.shapes.forEach((shape, number) => {
      const axes = turned(poses, shape.body * 7 + 3);
      const place = [0, 1, 2].map((i) => poses[shape.body * 7 + i]
        + axes[0][i] * shape.centre[0] + axes[1][i] * shape.centre[1] + axes[2][i] * shape.centre[2]);
      put(batch.floats, number, axes.map((axis, i) => axis.map((value) => value * shape.half[i])), place, colourOf(shape));
    });
    if (batch.arms) this.putArm(batch, poses);
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, batch.buffer);
    this.gl.bufferSubData(this.gl.ARRAY_BUFFER, 0, batch.floats);
  }

  putArm(batch, poses) {
    const { from, to, shoulder, radius, colour } = this.arm;
    const start = [poses[from * 7], poses[from * 7 + 1], shoulder];
    const end = [0, 1, 2].map((i) => poses[to * 7 + i]);
    const along = end.map((value, i) => (value - start[i]) / 2);
    const side = normalized(cross(along, Math.abs(along[2]) > Math.abs(along[0]) ? [1, 0, 0] : [0, 0, 1]));
    const other = normalized(cross(along, side));
    const axes = [side.map((value) => value * radius), other.map((value) => value * radius), along];
    put(batch.floats, batch.shapes.length, axes, start.map((value, i) => value + along[i]), colour);
  }

  show(batch) {
    this.gl.bindVertexArray(batch.array);
    this.gl.drawArraysInstanced(this.gl.TRIANGLES, 0, batch.corners, batch.count);
  }

  link(vertex, fragment) {
    const gl = this.gl;
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    return program;
  }

  shadowTarget() {
    const gl = this.gl;
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.DEPTH_COMPONENT24, SHADOW_SIZE, SHADOW_SIZE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.LINEAR);
    const frame = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, texture, 0);
    gl.drawBuffers([gl.NONE]);
    return { texture, frame };
  }
}

// Each vertex is followed by the normal of its face.
const MESHES = { box: boxMesh, cylinder: () => roundMesh(false), ball: () => roundMesh(true) };

function boxMesh() {
  const mesh = [];
  for (let axis = 0; axis < 3; axis++) {
    for (const side of [-1, 1]) {
      for (const [u, v] of [[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1]]) {
        const corner = [0, 0, 0], outward = [0, 0, 0];
        corner[axis] = outward[axis] = side;
        corner[(axis + 1) % 3] = u;
        corner[(axis + 2) % 3] = v;
        mesh.push(...corner, ...outward);
      }
    }
  }
  return mesh;
}

function roundMesh(ball) {
  const mesh = [], sides = 28, rings = ball ? 14 : 1;
  const at = (i, j) => {
    const angle = (2 * Math.PI * i) / sides;
    const height = ball ? -Math.cos((Math.PI * j) / rings) : 2 * j - 1;
    const wide = ball ? Math.sin((Math.PI * j) / rings) : 1;
    const rim = [Math.cos(angle) * wide, Math.sin(angle) * wide];
    return [...rim, height, ...rim, ball ? height : 0];
  };
  const cap = (i, z) => [Math.cos((2 * Math.PI * i) / sides), Math.sin((2 * Math.PI * i) / sides), z, 0, 0, z];
  for (let i = 0; i < sides; i++) {
    for (let j = 0; j < rings; j++) {
      const [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
      mesh.push(...a, ...b, ...c, ...a, ...c, ...d);
    }
    if (!ball) {
      for (const z of [-1, 1]) mesh.push(0, 0, z, 0, 0, z, ...cap(i, z), ...cap(i + 1, z));
    }
  }
  return mesh;
}

function put(floats, number, axes, place, colour) {
  const start = number * INSTANCE_FLOATS;
  axes.forEach((axis, i) => floats.set(axis, start + 3 * i));
  floats.set(place, start + 9);
  floats.set(colour, start + 12);
}

// Return the axes of a body from the quaternion (w first) at an index of an array.
function turned(poses, start) {
  const [w, x, y, z] = [poses[start], poses[start + 1], poses[start + 2], poses[start + 3]];
  return [
    [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)],
    [2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)],
    [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)],
  ];
}

// Return the low and the high corner of all fixed shapes, in the ground plane.
function houseBounds(shapes) {
  const still = shapes.filter((shape) => shape.body === 0);
  const corner = (sign, choose) => [0, 1].map(
    (i) => choose(...still.map((shape) => shape.centre[i] + sign * shape.half[i])));
  return [corner(-1, Math.min), corner(1, Math.max)];
}

// Return an orthographic projection along the light that covers the whole house.
function lampMatrix([low, high]) {
  const middle = [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2, 0];
  const radius = Math.hypot(high[0] - low[0], high[1] - low[1]) / 2 + 1;
  const view = lookAt(middle.map((value, i) => value + LIGHT[i] * 2 * radius), middle);
  const depth = 1 / (2 * radius);
  return product([1 / radius, 0, 0, 0, 0, 1 / radius, 0, 0, 0, 0, -depth, 0, 0, 0, -1, 1], view);
}

function perspective(angle, aspect, near, far) {
  const f = 1 / Math.tan(angle / 2);
  const depth = 1 / (near - far);
  return [f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) * depth, -1, 0, 0, 2 * far * near * depth, 0];
}

function lookAt(eye, centre) {
  const back = normalized(eye.map((value, i) => value - centre[i]));
  const right = normalized(cross([0, 0, 1], back));
  const up = cross(back, right);
  const moved = [right, up, back].map((axis) => -axis.reduce((sum, value, i) => sum + value * eye[i], 0));
  return [0, 1, 2].flatMap((i) => [right[i], up[i], back[i], 0]).concat(moved, 1);
}

// Matrices are arrays of sixteen numbers in column-major order.
function product(a, b) {
  const result = new Float32Array(16);
  for (let column = 0; column < 4; column++) {
    for (let row = 0; row < 4; row++) {
      for (let k = 0; k < 4; k++) result[column * 4 + row] += a[k * 4 + row] * b[column * 4 + k];
    }
  }
  return result;
}

function transformed(matrix, [x, y, z]) {
  return [0, 1, 2, 3].map((row) => matrix[row] * x + matrix[4 + row] * y + matrix[8 + row] * z + matrix[12 + row]);
}

function cross(a, b) {
  return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
}

function normalized(vector) {
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}

function mixed(one, other, fraction) {
  return one.map((value, i) => (i < 3 ? value + (other[i] - value) * fraction : value));
}

function clamp(value, low, high) {
  return Math.min(high, Math.max(low, value));
}
