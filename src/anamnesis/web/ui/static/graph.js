// Draws the list of nodes as a graph. A click on a node, or on its name in the list, adds its neighbours.
// In each frame, random pairs of nodes repel each other, so that 2,000 nodes stay smooth.
"use strict";
const [canvas, list] = [one("canvas"), one("[data-nodes]")];
const [nodes, links] = [new Map(), new Map()];
const pen = canvas.getContext("2d");
const cold = 0.02;
const view = { x: 0, y: 0, scale: Math.min(1.5, canvas.clientWidth / 500) };
let [heat, lit] = [0, null];

function add(page, from) {
  const rows = all("[data-key]", page);
  for (const row of rows.filter((each) => !nodes.has(each.dataset.key))) {
    const [x, y] = [from.x + 100 * (Math.random() - 0.5), from.y + 100 * (Math.random() - 0.5)];
    nodes.set(row.dataset.key, { ...row.dataset, label: one("a", row).textContent, x, y });
    list.append(row);
  }
  for (const { key, to } of rows.map((row) => row.dataset)) {
    for (const other of JSON.parse(to)) links.set([key, other].sort().join(" "), [nodes.get(key), nodes.get(other)]);
  }
  for (const node of nodes.values()) node.links = 1;
  for (const node of [...links.values()].flat()) node.links++;
  stir(1);
}
async function grow(node) {
  const page = await load(`/ui/graph?around=${encodeURIComponent(node.key)}&page=${++node.page}`);
  if (page) add(page, node);
}

// Move two nodes apart by a force, or together by a negative one; a hub moves less.
function push(one, other, force) {
  const x = one.x - other.x || Math.random() - 0.5;
  const y = one.y - other.y || Math.random() - 0.5;
  const length = Math.hypot(x, y);
  const size = Math.max(-15, Math.min(15, force(length) * heat)) / length;
  one.x += (x * size) / one.links;
  one.y += (y * size) / one.links;
  other.x -= (x * size) / other.links;
  other.y -= (y * size) / other.links;
}

function move() {
  const every = [...nodes.values()];
  const repel = (length) => (20 * Math.sqrt(every.length)) / length;
  const any = () => every[Math.floor(Math.random() * every.length)];
  for (let pairs = 12 * every.length; pairs > 0; pairs--) push(any(), any(), repel);
  for (const [one, other] of links.values()) {
    const rest = 60 + 12 * Math.sqrt(Math.max(one.links, other.links));
    push(one, other, (length) => 0.3 * (rest - length));
  }
  heat *= 0.98;
}
function draw() {
  const style = getComputedStyle(canvas);
  const colours = { note: style.color, tag: style.caretColor, project: style.outlineColor };
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  Object.assign(canvas, { width: width * devicePixelRatio, height: height * devicePixelRatio });
  pen.scale(devicePixelRatio * view.scale, devicePixelRatio * view.scale);
  pen.translate((view.x + width / 2) / view.scale, (view.y + height / 2) / view.scale);
  pen.strokeStyle = style.textDecorationColor;
  pen.lineWidth = 1 / view.scale / devicePixelRatio; // wider ones take ten times as long without a graphics card
  for (const [one, other] of links.values()) {
    pen.moveTo(one.x, one.y);
    pen.lineTo(other.x, other.y);
  }
  pen.stroke();
  for (const [kind, colour] of Object.entries(colours)) {
    pen.fillStyle = colour;
    pen.beginPath();
    for (const { key, x, y } of [...nodes.values()].filter((node) => node.kind === kind)) {
      pen.moveTo(x, y);
      pen.arc(x, y, key === canvas.dataset.around ? 9 : kind === "note" ? 4 : 6, 0, 7);
    }
    pen.fill();
  }
  pen.fillStyle = style.columnRuleColor;
  pen.font = `${12 / view.scale}px ${style.fontFamily}`;
  const isNamed = (node) => nodes.size < 80 || node === lit;
  for (const { label, x, y } of [...nodes.values()].filter(isNamed)) pen.fillText(label, x + 11, y + 4 / view.scale);
}
function tick() {
  move();
  draw();
  if (heat > cold) requestAnimationFrame(tick);
}
function stir(most = cold * 1.01) {
  if (heat <= cold) requestAnimationFrame(tick);
  heat = Math.max(heat, most);
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) while (heat > cold) move();
}
function point({ buttons, type, offsetX, offsetY, movementX, movementY }) {
  if (buttons && type === "pointermove") {
    if (Math.hypot(movementX, movementY) > 2) lit = null;
    [view.x, view.y] = [view.x + movementX, view.y + movementY];
    return stir();
  }
  const x = (offsetX - canvas.clientWidth / 2 - view.x) / view.scale;
  const y = (offsetY - canvas.clientHeight / 2 - view.y) / view.scale;
  lit = [...nodes.values()].find((node) => Math.hypot(node.x - x, node.y - y) < 10 / view.scale);
  stir();
}
for (const type of ["pointerdown", "pointermove"]) canvas.addEventListener(type, point);
canvas.addEventListener("click", () => lit && grow(lit));
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  view.scale = Math.max(0.1, Math.min(4, view.scale * (event.deltaY < 0 ? 1.1 : 0.9)));
  stir();
});
list.addEventListener("click", (event) => {
  if (!(lit = nodes.get(event.target.dataset.grow))) return;
  event.preventDefault();
  grow(lit);
});
add(document, { x: 0, y: 0 });
