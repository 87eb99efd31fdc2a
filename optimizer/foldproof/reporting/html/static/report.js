"use strict";
/* The page of a run: its tables, and the picture of the rewrite that a person chose. */

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const story = data.story?.steps.length ? new Story(data.story) : null;
  const code = (text) => el("code", {}, text);
  const list = (texts, most = 3) => {
    const lines = texts.slice(0, most).map((text) => el("div", {}, code(text)));
    return el("div", { class: "lines" }, ...lines, texts.length > most ? el("div", { class: "quiet" }, `and ${texts.length - most} more`) : null);
  };
  const byId = (id) => document.getElementById(id);

  /* The ledger and its pictures ---------------------------------------------------------------------------------- */

  function ledger(root) {
    const panel = story ? new Panel(story, {
      told,
      stepOf: (entry) => story.stepOf.get(entry.number),
      label: (entry) => `rewrite ${entry.number}, ${entry.rule} at ${entry.place}`,
      sides: { before: "Before", after: "After" },
      nothing: "This rewrite is about an initializer: no node changes.",
    }) : null;
    const table = new DataTable(root, {
      noun: "rewrite",
      rows: data.ledger,
      filters: [
        { title: "rule", of: (entry) => entry.rule },
        { title: "class", of: (entry) => (entry.exact ? "exact" : "tolerant") },
        { title: "graph", of: (entry) => entry.graph },
      ],
      select: (entry) => panel?.show(entry),
      columns: [
        { title: "No.", text: (entry) => String(entry.number), numeric: true },
        { title: "Rule", text: (entry) => `${entry.rule} ${data.rules[entry.rule] ?? ""}`, node: ruleCell },
        { title: "Place", text: (entry) => entry.place, node: (entry) => el("code", { title: entry.place }, shortened(entry.place, 32)) },
        { title: "Change", text: change },
        { title: "Taken away", text: (entry) => entry.removed.join("\n"), node: (entry) => list(entry.removed) },
        { title: "Put in", text: (entry) => entry.added.join("\n"), node: (entry) => (entry.added.length ? list(entry.added) : el("span", { class: "quiet" }, "nothing")) },
        { title: "Rests on", text: (entry) => entry.because.join("\n"), node: (entry) => list(entry.because, 2) },
      ],
    });
    if (panel && data.ledger.length) {
      panel.table = table;
      const first = data.ledger.find((entry) => story.stepOf.has(entry.number));
      if (first) table.choose(first, table.body.children[data.ledger.indexOf(first)]);
      spread(byId("spread"), table);
    }
  }

  /* A rewrite in few words: Cast → [96]. */
  function change(entry) {
    const brief = (text) => text.startsWith("initializer ") ? "initializer" : (text.match(/^([^\s(]+)\(/) ?? text.match(/ = (.*)$/))?.[1] ?? text;
    const side = (texts) => shortened([...new Set(texts.map(brief))].join(", "), 26);
    const isStored = story?.stepOf.get(entry.number)?.constants.length && !entry.added.some((text) => text.includes(" = "));
    return `${side(entry.removed)} → ${isStored ? "constant" : entry.added.length ? side(entry.added) : "nothing"}`;
  }

  function ruleCell(entry) {
    return el("div", {}, el("span", { class: "rule-name" }, entry.rule), entry.exact ? null : el("span", { class: "tag" }, "tolerant"),
      el("div", { class: "equation" }, data.rules[entry.rule] ?? ""));
  }

  /* What a rewrite did, and why, over its picture. */
  function told(entry) {
    const fact = (title, texts) => (texts.length ? [el("dt", {}, title), el("dd", {}, list(texts, 12))] : []);
    return [
      el("h3", { id: "chosen-title" }, el("span", { class: "quiet" }, `Rewrite ${entry.number} `), entry.rule, el("span", { class: "tag" }, entry.exact ? "exact" : "tolerant")),
      el("p", { class: "equation" }, data.rules[entry.rule] ?? ""),
      el("div", { class: "told", tabindex: "0", role: "group", "aria-label": "What it did, and why" },
        el("dl", {}, el("dt", {}, "Place"), el("dd", {}, code(entry.place), entry.graph ? el("span", { class: "quiet" }, ` in ${entry.graph}`) : null),
          ...fact("Taken away", entry.removed), ...fact("Put in", entry.added), ...fact("Rests on", entry.because))),
    ];
  }

  /* Where in the file something changed: a bar for each part of it, as high as much changed there. */
  function spread(root, table) {
    const before = data.story.before;
    const place = new Map(before.map((node, k) => [node, k]));
    const bins = Math.min(160, before.length);
    const found = Array.from({ length: bins }, () => []);
    const of = new Map(data.ledger.map((entry) => [entry.number, entry]));
    for (const step of data.story.steps) for (const node of step.removed) if (place.has(node)) found[Math.floor((place.get(node) * bins) / before.length)].push(of.get(step.n));
    const most = Math.max(1, ...found.map((each) => each.length));
    const picture = svg("svg", { viewBox: `0 0 ${bins * 6} 40`, preserveAspectRatio: "none", role: "img", "aria-label": `Where the model changed, from its first node to its last: ${found.filter((each) => each.length).length} of ${bins} parts` });
    found.forEach((entries, k) => {
      const height = entries.length ? 6 + (30 * entries.length) / most : 1.5;
      const bar = svg("g", { class: entries.length ? "bar button" : "bar none" }, svg("rect", { x: k * 6, y: 0, width: 6, height: 40, class: "ground" }), svg("rect", { x: k * 6 + 0.8, y: 38 - height, width: 4.4, height }));
      if (entries.length) {
        bar.append(svg("title", {}, `${counted(entries.length, "node")} taken away here, first by rewrite ${entries[0].number}, ${entries[0].rule}`));
        bar.addEventListener("click", () => table.choose(entries[0]));
      }
      picture.append(bar);
    });
    picture.style.maxWidth = `${bins * 22}px`;
    root.append(picture);
  }

  /* The other tables --------------------------------------------------------------------------------------------- */

  const tables = {
    ledger,
    operators: (root) => new DataTable(root, {
      noun: "operator", rows: data.operators, pageSize: 10,
      columns: [
        { title: "Operator", text: (row) => row[0], mono: true },
        { title: "Before", text: (row) => row[1].toLocaleString("en"), numeric: true },
        { title: "After", text: (row) => row[2].toLocaleString("en"), numeric: true },
        { title: "Change", text: (row) => (row[2] === row[1] ? "" : `${row[2] > row[1] ? "+" : "−"}${Math.abs(row[2] - row[1]).toLocaleString("en")}`), numeric: true },
      ],
    }),
    fates: (root) => new DataTable(root, {
      noun: "node", rows: data.fates, pageSize: 25,
      filters: [{ title: "operator", of: (fate) => fate.operator }, { title: "fate", of: (fate) => fate.outcome }],
      columns: [
        { title: "Node", text: (fate) => fate.node, node: (fate) => code(fate.node) },
        { title: "Operator", text: (fate) => fate.operator },
        { title: "Fate", text: (fate) => fate.outcome, node: (fate) => el("span", { class: `fate ${fate.outcome}` }, fate.outcome) },
        { title: "Value", text: (fate) => fate.shown, node: (fate) => el("code", {}, shortened(fate.shown, 90)) },
        { title: "Why", text: (fate) => fate.why },
      ],
    }),
    unfolded: (root) => new DataTable(root, {
      noun: "reason", rows: data.unfolded, pageSize: 25,
      filters: [{ title: "operator", of: (row) => row.operator }, { title: "rule", of: (row) => row.rule }],
      columns: [
        { title: "Operator", text: (row) => row.operator, mono: true },
        { title: "Nodes", text: (row) => String(row.count), numeric: true },
        { title: "Rule", text: (row) => row.rule },
        { title: "First reason", text: (row) => row.why },
        { title: "Where", text: (row) => row.nodes.join("\n"), node: (row) => list(row.nodes, 2) },
      ],
    }),
    contradictions: (root) => new DataTable(root, {
      noun: "declaration", rows: data.contradictions, pageSize: 25,
      columns: [
        { title: "Value", text: (row) => row.value, node: (row) => code(row.value) },
        { title: "The model says", text: (row) => row.claimed, mono: true },
        { title: "Inference proves", text: (row) => row.proven, mono: true },
      ],
    }),
    runs: (root) => new DataTable(root, {
      noun: "run", rows: data.runs, pageSize: 20,
      columns: [
        { title: "At", text: (run) => run.binding, mono: true },
        { title: "Inputs", text: (run) => run.feeds },
        { title: "Outputs compared", text: (run) => String(run.outputs), numeric: true },
        { title: "Largest difference", text: (run) => run.error, numeric: true },
        { title: "In units in the last place", text: (run) => run.ulps, numeric: true },
      ],
    }),
  };
  for (const root of document.querySelectorAll("[data-table]")) tables[root.dataset.table](root);
  document.documentElement.dataset.ready = "yes";
})();
