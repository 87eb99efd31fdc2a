"use strict";
/* Which nodes of a story stand in a picture, and what is written on them.

   story: {nodes: [[operator, name, graph, inputs, outputs, attributes]], values: [[name, kind, type, constant, isNew,
   isOutput, since, later, isLaterOutput]], before: [node], after: [node], steps: [{n, removed, added, constants, aroundBefore, aroundAfter}],
   regions: [[place in steps]]}; nodes and values are given by their number. */

const MOST_NODES = 70;
const FEW_NODES = 14;
const MOST_READERS = 12;
const LARGEST_WHOLE = 110;

function shapeOf(type) {
  const shape = type.slice(type.indexOf("["));
  return shape === "[]" ? "scalar" : type.includes("[") ? shortened(shape, 22) : "";
}

class Side {
  constructor(story, name) {
    this.story = story;
    this.list = story[name];
    this.makers = new Map();
    this.readers = new Map();
    for (const node of this.list) {
      for (const value of story.nodes[node][4]) this.makers.set(value, node);
      for (const value of story.nodes[node][3]) {
        if (!this.readers.has(value)) this.readers.set(value, []);
        this.readers.get(value).push(node);
      }
    }
  }

  neighbours(node) {
    const [, , , inputs, outputs] = this.story.nodes[node];
    const found = inputs.map((value) => this.makers.get(value)).filter((maker) => maker !== undefined);
    for (const value of outputs) found.push(...(this.readers.get(value) ?? []).slice(0, MOST_READERS));
    return new Set(found.filter((each) => each !== node));
  }

  /* The core with one hop around it, and a few more of the nodes that change next to it. Of a core that is too large,
     what is nearest to the anchors. */
  around(core, anchors, isChanged) {
    const wanted = [...core].filter((node) => anchors.has(node));
    const shown = new Set(wanted.length ? wanted : [...core].slice(0, 1));
    for (const node of shown) { // it grows meanwhile
      if (shown.size >= MOST_NODES) break;
      for (const each of this.neighbours(node)) if (core.has(each)) shown.add(each);
    }
    for (const node of core) if (shown.size < MOST_NODES) shown.add(node);
    for (const node of shown) {
      if (shown.size >= FEW_NODES) break;
      for (const each of this.neighbours(node)) if (isChanged(each) && shown.size < FEW_NODES) shown.add(each);
    }
    const inner = [...shown];
    for (const node of inner) for (const each of this.neighbours(node)) shown.add(each);
    return shown;
  }
}

class Story {
  constructor(story) {
    this.story = story;
    this.before = new Side(story, "before");
    this.after = new Side(story, "after");
    const [before, after] = [new Set(story.before), new Set(story.after)];
    const key = (node) => `${story.nodes[node][0]}\n${story.nodes[node][4][0]}`;
    this.successor = (node) => (this.afterByKey ??= new Map(story.after.map((each) => [key(each), each]))).get(key(node));
    const [keysBefore, keysAfter] = [new Set(story.before.map(key)), new Set(story.after.map(key))];
    this.kinds = {
      before: (node) => (after.has(node) ? "kept" : keysAfter.has(key(node)) ? "changed" : "removed"),
      after: (node) => (before.has(node) ? "kept" : keysBefore.has(key(node)) ? "changed" : "added"),
    };
    this.stepOf = new Map(story.steps.map((step) => [step.n, step]));
    this.regionOf = new Map();
    for (const region of story.regions) {
      const steps = region.map((k) => story.steps[k]);
      for (const step of steps) this.regionOf.set(step.n, steps);
    }
  }

  /* The name of a value after so many steps. */
  valueName(value, at) {
    const [name, , , , , , since, later] = this.story.values[value];
    return since && since <= at ? later : name;
  }

  isOutput(value, at) {
    const [, , , , , isOutput, since, , isLaterOutput] = this.story.values[value];
    return since && since <= at ? isLaterOutput : isOutput;
  }

  text(node, at) {
    const [operator, , , inputs, outputs, attributes] = this.story.nodes[node];
    const names = (values) => values.map((value) => this.valueName(value, at)).join(", ");
    return `${operator}(${names(inputs)}) → ${names(outputs)}${attributes ? `; ${attributes}` : ""}`;
  }

  /* Nodes and edges as a Picture draws them, after so many steps. */
  scene(shown, { at, kindOf, isCore, newConstants, side = null, expand = null, hiddenOf = null }) {
    const [nodes, edges] = [new Map(), []];
    const makers = new Map();
    for (const node of shown) for (const value of this.story.nodes[node][4]) makers.set(value, `n${node}`);
    const describe = (value) => {
      const [, , type, constant] = this.story.values[value];
      const name = this.valueName(value, at);
      return constant ? `${name} = ${constant}` : `${name} ${type}`.trim();
    };
    const used = new Set();
    for (const node of shown) {
      const [operator, name, , inputs, outputs, attributes] = this.story.nodes[node];
      const isConstant = operator === "Constant";
      const lines = outputs.length && !isConstant ? [shortened(this.valueName(outputs[0], at))] : [];
      const weights = [];
      let hidden = 0;
      for (const value of new Set(inputs)) {
        const [, kind, type] = this.story.values[value];
        let from = makers.get(value);
        if (from === undefined && newConstants.has(value)) {
          from = `v${value}`;
          used.add(value);
        } else if (from === undefined && kind === "input") {
          from = `i${value}`;
          nodes.set(from, { title: shortened(this.valueName(value, at)), lines: type ? [shortened(type)] : [], kind: "input", isCore: false, full: `input ${describe(value)}` });
        } else if (from === undefined && kind === "constant") weights.push(shortened(describe(value), 34));
        else if (from === undefined) hidden += 1;
        if (from !== undefined) edges.push({ from, to: `n${node}`, label: from[0] === "n" ? shapeOf(type) : "", full: describe(value) });
      }
      if (side) hidden = [...side.neighbours(node)].filter((each) => !shown.has(each)).length;
      lines.push(...weights.slice(0, 2), ...(weights.length > 2 ? [`and ${weights.length - 2} more constants`] : []));
      if (attributes && isCore(node) && !isConstant) lines.push(shortened(attributes, 34));
      if (hidden && expand) lines.push(`⋯ ${hidden} more`);
      const kind = kindOf(node);
      nodes.set(`n${node}`, {
        title: isConstant && outputs.length ? shortened(describe(outputs[0]), 28) : shortened(operator), lines, kind, isCore: isCore(node),
        full: `${this.text(node, at)}${name ? ` (${name})` : ""}${WORDS[kind] ? `: ${WORDS[kind]}` : ""}`,
        expand: hidden && expand ? () => expand(node) : null,
      });
      for (const value of outputs) {
        if (!this.isOutput(value, at)) continue;
        const type = this.story.values[value][2];
        nodes.set(`o${value}`, { title: shortened(this.valueName(value, at)), lines: type ? [shortened(type)] : [], kind: "output", isCore: false, full: `output ${describe(value)}` });
        edges.push({ from: `n${node}`, to: `o${value}`, label: "", full: describe(value) });
      }
    }
    for (const value of newConstants) {
      const [, , type, constant] = this.story.values[value];
      if (!used.has(value) && !this.isOutput(value, at)) continue;
      nodes.set(`v${value}`, { title: shortened(constant || type || "constant", 26), lines: [shortened(this.valueName(value, at))], kind: "constant", isCore: true, full: `constant ${describe(value)}` });
    }
    for (const [hidden, run] of hiddenOf ?? []) this.collapse(nodes, edges, hidden, run, makers, side, expand);
    return [nodes, edges];
  }

  /* A run of nodes where nothing changed, drawn as one. */
  collapse(nodes, edges, key, run, makers, side, expand) {
    const count = counted(run.size, "node");
    nodes.set(key, { title: `⋯ ${count}`, lines: [], kind: "hidden", isCore: false, full: `${count} where nothing changed`, expand: () => expand(run) });
    const [sources, targets] = [new Set(), new Set()];
    for (const node of run) {
      for (const value of this.story.nodes[node][3]) if (makers.has(value)) sources.add(makers.get(value));
      for (const value of this.story.nodes[node][4]) for (const reader of side.readers.get(value) ?? []) if (!run.has(reader)) targets.add(`n${reader}`);
    }
    for (const from of sources) edges.push({ from, to: key, label: "", full: "" });
    for (const to of targets) if (nodes.has(to)) edges.push({ from: key, to, label: "", full: "" });
  }

  /* What one rewrite did, as it was then. */
  stepScene(step, isAfter) {
    const [mine, around] = isAfter ? [step.added, step.aroundAfter] : [step.removed, step.aroundBefore];
    const other = new Set(isAfter ? step.aroundBefore : step.aroundAfter);
    const core = new Set(mine.slice(0, MOST_NODES));
    const constants = new Set(isAfter ? step.constants : []);
    const [nodes, edges] = this.scene(new Set([...core, ...around]), {
      at: isAfter ? step.n : step.n - 1, isCore: (node) => core.has(node), newConstants: constants,
      kindOf: (node) => (core.has(node) ? (isAfter ? "added" : "removed") : other.has(node) ? "kept" : "changed"),
    });
    return { nodes, edges, note: mine.length > core.size ? `${core.size} of ${mine.length} nodes` : "" };
  }

  /* The place in the model, from the original to the result. Extra nodes are those that a person asked for. */
  regionScene(step, isAfter, extra, expand) {
    const name = isAfter ? "after" : "before";
    const side = this[name];
    const present = new Set(side.list);
    const steps = this.regionOf.get(step.n);
    const core = new Set(steps.flatMap((each) => (isAfter ? each.added : each.removed)).filter((node) => present.has(node)));
    const anchors = new Set([...step.removed, ...step.added]);
    for (const each of steps.flatMap((s) => (isAfter ? s.aroundAfter : s.aroundBefore))) if (core.size === 0 && present.has(each)) anchors.add(each);
    if (core.size === 0) {
      for (const node of present) if (this.touches(node, steps)) core.add(node);
    }
    if (core.size === 0 && isAfter) for (const node of this.survivors(steps)) core.add(node);
    const shown = core.size ? side.around(core, anchors, (node) => this.kinds[name](node) !== "kept") : new Set();
    for (const node of extra) if (present.has(node)) shown.add(node);
    const [nodes, edges] = this.scene(shown, {
      at: isAfter ? Infinity : 0, kindOf: this.kinds[name], isCore: (node) => anchors.has(node), side, newConstants: this.constants(shown, isAfter),
      expand: (node) => expand(new Set([...side.neighbours(node)])),
    });
    return { nodes, edges, note: `${shown.size.toLocaleString("en")} of ${counted(side.list.length, "node")}` };
  }

  /* Where nothing of a neighbourhood is left on one side: the nodes that read what it made, or made what it read. */
  touches(node, steps) {
    this.edgesOf ??= new Map();
    if (!this.edgesOf.has(steps)) {
      const values = new Set(steps.flatMap((s) => [...s.removed, ...s.added]).flatMap((each) => [...this.story.nodes[each][3], ...this.story.nodes[each][4]]));
      for (const step of steps) for (const value of step.constants) values.add(value);
      for (const value of [...values]) if (this.story.values[value][1] === "constant" && !this.story.values[value][4]) values.delete(value);
      this.edgesOf.set(steps, values);
    }
    const values = this.edgesOf.get(steps);
    return [...this.story.nodes[node][3], ...this.story.nodes[node][4]].some((value) => values.has(value));
  }

  /* The nearest nodes down the original graph that are still there. */
  survivors(steps) {
    const seen = new Set(steps.flatMap((step) => step.removed));
    const found = new Set();
    for (const node of seen) { // it grows meanwhile
      for (const value of this.story.nodes[node][4]) {
        for (const reader of this.before.readers.get(value) ?? []) {
          const successor = this.successor(reader);
          if (successor !== undefined) found.add(successor);
          else seen.add(reader);
        }
      }
      if (found.size >= 3 || seen.size > 2000) break;
    }
    return found;
  }

  constants(shown, isAfter) {
    const values = isAfter ? [...shown].flatMap((node) => this.story.nodes[node][3]) : [];
    return new Set(values.filter((value) => this.story.values[value][1] === "constant" && this.story.values[value][4]));
  }

  /* The whole graph, with each run of nodes where nothing changed drawn as one. Null where that is too much. */
  wholeScene(step, isAfter, extra, expand) {
    const name = isAfter ? "after" : "before";
    const side = this[name];
    const shown = new Set(side.list.filter((node) => this.kinds[name](node) !== "kept"));
    if (shown.size > LARGEST_WHOLE) return null;
    for (const node of [...shown]) for (const each of side.neighbours(node)) shown.add(each);
    for (const node of extra) if (side.list.includes(node)) shown.add(node);
    const runs = new Map();
    const seen = new Set(shown);
    for (const start of side.list) {
      if (seen.has(start)) continue;
      const run = new Set([start]);
      seen.add(start);
      for (const node of run) for (const each of side.neighbours(node)) if (!seen.has(each)) { seen.add(each); run.add(each); }
      if (run.size === 1 || (runs.size === 0 && side.list.length <= 40)) for (const node of run) shown.add(node);
      else runs.set(`h${start}`, run);
    }
    if (shown.size + runs.size > LARGEST_WHOLE) return null;
    const anchors = new Set(step ? [...step.removed, ...step.added] : []);
    const [nodes, edges] = this.scene(shown, {
      at: isAfter ? Infinity : 0, kindOf: this.kinds[name], isCore: (node) => anchors.has(node), side: null, newConstants: this.constants(shown, isAfter),
    });
    for (const [key, run] of runs) {
      const makers = new Map();
      for (const node of shown) for (const value of this.story.nodes[node][4]) makers.set(value, `n${node}`);
      this.collapse(nodes, edges, key, run, makers, side, (all) => expand(new Set([...all].slice(0, 60))));
    }
    return { nodes, edges, note: counted(side.list.length, "node") };
  }
}
