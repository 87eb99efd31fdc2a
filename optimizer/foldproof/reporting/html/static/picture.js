"use strict";
/* A picture of a part of a graph: laid out from top to bottom by dagre, drawn as SVG, moved by pointer and keys.

   Nodes are told apart by the line around them and by a sign, not by colour alone:
   removed (dashed, -), added (thick, +), changed (dotted, ~), kept (thin). */

const NODE_FONT = 12;
const LEGIBLE = 0.5;
const SIGNS = { removed: "−", added: "+", changed: "~" };
const WORDS = { removed: "taken away", added: "put in", changed: "reads other values now", constant: "constant", input: "input", output: "output", hidden: "not shown" };

const measure = (() => {
  const context = document.createElement("canvas").getContext("2d");
  return (text, weight = 400) => {
    context.font = `${weight} ${NODE_FONT}px ui-sans-serif, system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif`;
    return context.measureText(text).width;
  };
})();

function shortened(text, length = 30) {
  return text.length <= length ? text : `${text.slice(0, Math.ceil(length / 2) - 1)}…${text.slice(-Math.floor(length / 2))}`;
}

/* nodes: Map of key -> {title, lines: [text], kind, isCore, full (a sentence), expand()?}
   edges: [{from, to, label, full, captured}] */
function layOut(nodes, edges) {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: "TB", nodesep: 22, ranksep: 34, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const [key, node] of nodes) {
    const width = Math.max(measure(node.title, 600) + (SIGNS[node.kind] ? 18 : 0), ...node.lines.map((line) => measure(line)));
    graph.setNode(key, { width: Math.max(56, Math.ceil(width) + 22), height: 25 + 15 * node.lines.length });
  }
  edges.forEach((edge, k) => {
    const width = edge.label ? measure(edge.label) * 0.85 + 8 : 0;
    graph.setEdge(edge.from, edge.to, { width, height: edge.label ? 12 : 0, labelpos: "c" }, String(k));
  });
  dagre.layout(graph);
  return graph;
}

function pathThrough(points) {
  if (points.length < 3) return `M${points.map((p) => `${p.x},${p.y}`).join("L")}`;
  let path = `M${points[0].x},${points[0].y}`;
  for (let k = 1; k < points.length - 1; k++) {
    const [a, b] = [points[k], points[k + 1]];
    const end = k === points.length - 2 ? b : { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
    path += `Q${a.x},${a.y} ${end.x},${end.y}`;
  }
  return path;
}

class Picture {
  constructor(root, name) {
    this.name = name;
    this.title = el("h4", {}, name);
    this.note = el("span", { class: "note" });
    this.svg = svg("svg", { class: "graph", tabindex: "0", role: "group" });
    this.empty = el("p", { class: "empty" });
    const button = (label, text, action) => el("button", { type: "button", "aria-label": `${label}: ${name}`, title: label, onclick: action }, text);
    root.append(
      el("div", { class: "picture-head" }, this.title, this.note,
        el("span", { class: "zoom" },
          button("Zoom in", "+", () => this.zoom(1.25)), button("Zoom out", "−", () => this.zoom(0.8)), button("Fit", "⤢", () => this.fit()))),
      this.svg, this.empty,
    );
    this.view = { x: 0, y: 0, scale: 1 };
    this.listen();
  }

  draw(nodes, edges, { label, note = "", nothing = "" }) {
    this.svg.replaceChildren();
    this.note.textContent = note;
    this.svg.setAttribute("aria-label", label);
    this.svg.toggleAttribute("hidden", nodes.size === 0);
    this.empty.hidden = nodes.size > 0;
    this.empty.textContent = nothing;
    if (nodes.size === 0) return;
    const id = this.name.toLowerCase().replace(/\W+/g, "-");
    const graph = layOut(nodes, edges);
    this.size = graph.graph();
    this.svg.append(svg("defs", {},
      svg("marker", { id: `arrow-${id}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0,0.5L8,4L0,7.5z", class: "arrow" })),
      svg("pattern", { id: `gone-${id}`, width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, svg("rect", { width: 7, height: 7, class: "gone-ground" }), svg("rect", { width: 2, height: 7, class: "gone-line" }))));
    this.stage = svg("g");
    this.svg.append(this.stage);
    for (const each of graph.edges()) this.stage.append(this.edge(edges[Number(each.name)], graph.edge(each), id));
    for (const key of graph.nodes()) this.stage.append(this.node(nodes.get(key), graph.node(key), id));
    this.fit();
  }

  edge(edge, at, id) {
    const group = svg("g", { class: `edge${edge.captured ? " captured" : ""}` }, svg("title", {}, edge.full),
      svg("path", { d: pathThrough(at.points), "marker-end": `url(#arrow-${id})` }));
    if (edge.label) group.append(svg("text", { x: at.x, y: at.y + 4, "text-anchor": "middle", class: "edge-label" }, edge.label));
    return group;
  }

  node(node, at, id) {
    const [left, top] = [at.x - at.width / 2, at.y - at.height / 2];
    const round = { constant: 3, input: 13, output: 13, hidden: 13 }[node.kind] ?? 5;
    const group = svg("g", { class: `node ${node.kind}${node.isCore ? " core" : ""}`, transform: `translate(${left},${top})` },
      svg("title", {}, node.full),
      svg("rect", { width: at.width, height: at.height, rx: round, class: "box", fill: node.kind === "removed" ? `url(#gone-${id})` : null }),
      svg("text", { x: at.width / 2, y: 17, "text-anchor": "middle", class: "title" }, SIGNS[node.kind] ? svg("tspan", { class: "sign" }, `${SIGNS[node.kind]} `) : null, node.title),
      ...node.lines.map((line, k) => svg("text", { x: at.width / 2, y: 33 + 15 * k, "text-anchor": "middle", class: "line" }, line)));
    if (node.isCore) group.prepend(svg("rect", { x: -4, y: -4, width: at.width + 8, height: at.height + 8, rx: round + 3, class: "halo" }));
    if (node.expand) {
      group.classList.add("button");
      group.setAttribute("tabindex", "0");
      group.setAttribute("role", "button");
      group.setAttribute("aria-label", `Show more around ${node.full}`);
      const act = (event) => { event.preventDefault(); node.expand(); };
      group.addEventListener("click", (event) => { if (!this.moved) act(event); });
      group.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") act(event); });
    }
    return group;
  }

  fit() {
    if (!this.size) return;
    this.isMoved = false;
    const { width, height } = this.box();
    const scale = Math.min(width / this.size.width, height / this.size.height, 1.15);
    // What would become too small to read is shown in part, with what was chosen in the middle.
    const legible = Math.max(scale, LEGIBLE);
    const [x, y] = this.centre();
    const along = (room, size, at) => (size * legible <= room ? (room - size * legible) / 2 : Math.min(0, Math.max(room - size * legible, room / 2 - at * legible)));
    this.view = { scale: legible, x: along(width, this.size.width, x), y: along(height, this.size.height, y) };
    this.place();
  }

  centre() {
    const core = this.stage.querySelector("g.core");
    if (!core) return [this.size.width / 2, 0];
    const [x, y] = core.getAttribute("transform").match(/-?[\d.]+/g).map(Number);
    return [x + 40, y + 20];
  }

  box() {
    const rectangle = this.svg.getBoundingClientRect();
    return { width: rectangle.width || 400, height: rectangle.height || 300 };
  }

  place() {
    this.stage.setAttribute("transform", `translate(${this.view.x},${this.view.y}) scale(${this.view.scale})`);
  }

  zoom(factor, at = null) {
    this.isMoved = true;
    const { width, height } = this.box();
    const [x, y] = at ?? [width / 2, height / 2];
    const scale = Math.min(4, Math.max(0.05, this.view.scale * factor));
    const real = scale / this.view.scale;
    this.view = { scale, x: x - (x - this.view.x) * real, y: y - (y - this.view.y) * real };
    this.place();
  }

  pan(x, y) {
    this.isMoved = true;
    this.view.x += x;
    this.view.y += y;
    this.place();
  }

  listen() {
    new ResizeObserver(() => { if (!this.isMoved) this.fit(); }).observe(this.svg);
    let from = null;
    this.svg.addEventListener("pointerdown", (event) => { from = [event.clientX, event.clientY]; this.moved = false; });
    this.svg.addEventListener("pointermove", (event) => {
      if (!from || !event.buttons) return;
      const [x, y] = [event.clientX - from[0], event.clientY - from[1]];
      if (!this.moved && Math.hypot(x, y) < 4) return;
      if (!this.moved) this.svg.setPointerCapture(event.pointerId);
      this.moved = true;
      from = [event.clientX, event.clientY];
      this.pan(x, y);
    });
    this.svg.addEventListener("pointerup", () => { from = null; });
    this.svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const rectangle = this.svg.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY / 300), [event.clientX - rectangle.left, event.clientY - rectangle.top]);
    }, { passive: false });
    this.svg.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] };
      if (event.target === this.svg && moves[event.key]) this.pan(...moves[event.key]);
      else if (event.key === "+" || event.key === "=") this.zoom(1.25);
      else if (event.key === "-") this.zoom(0.8);
      else if (event.key === "0") this.fit();
      else return;
      event.preventDefault();
    });
  }
}
