"use strict";
/* The page of the differences of two models: its tables, and the picture of the difference that a person chose. */

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const story = data.story ? new Story(data.story) : null;
  const code = (text) => (text ? el("code", {}, text) : el("span", { class: "quiet" }, "nothing"));
  const whole = (number) => number.toLocaleString("en");
  const change = ([, a, b]) => (a === b ? "" : `${b > a ? "+" : "−"}${whole(Math.abs(b - a))}`);

  Object.assign(WORDS, { removed: "only in the first", added: "only in the second", changed: "has other inputs or attributes" });

  function told(row) {
    const part = (title, ...content) => [el("dt", {}, title), el("dd", {}, ...content)];
    return [
      el("h3", { id: "chosen-title" }, row.kind),
      el("div", { class: "told", tabindex: "0", role: "group", "aria-label": "What differs" },
        el("dl", {}, ...part("What", el("code", {}, row.what), el("span", { class: "quiet" }, ` in ${row.graph}`)),
          ...part("First", code(row.before)), ...part("Second", code(row.after)))),
    ];
  }

  /* What it is; both sides in few words too, for where there is no room for their columns. */
  function whatCell(row) {
    const brief = (text) => (text ? shortened(text, 44) : "nothing");
    return el("div", {}, el("code", { title: row.what }, shortened(row.what, 60)), el("div", { class: "equation" }, `${brief(row.before)} → ${brief(row.after)}`));
  }

  function differences(root) {
    const panel = story ? new Panel(story, {
      told,
      stepOf: (row) => story.stepOf.get(row.step),
      label: (row) => `${row.kind}: ${row.what}`,
      sides: { before: "First", after: "Second" },
      nothing: "This difference is of no node.",
    }) : null;
    const table = new DataTable(root, {
      noun: "difference", rows: data.differences,
      filters: [{ title: "kind", of: (row) => row.kind }, { title: "graph", of: (row) => row.graph }],
      select: panel ? (row) => panel.show(row) : null,
      columns: [
        { title: "Kind", text: (row) => row.kind },
        { title: "What", text: (row) => row.what, node: whatCell },
        { title: "First", text: (row) => row.before, node: (row) => code(row.before) },
        { title: "Second", text: (row) => row.after, node: (row) => code(row.after) },
      ],
    });
    if (!panel) return;
    panel.table = table;
    const first = data.differences.find((row) => story.stepOf.has(row.step));
    if (first) table.choose(first, table.body.children[data.differences.indexOf(first)]);
  }

  const tables = {
    differences,
    operators: (root) => new DataTable(root, {
      noun: "operator", rows: data.operators, pageSize: 20,
      columns: [
        { title: "Operator", text: (row) => row[0], mono: true },
        { title: "First", text: (row) => whole(row[1]), numeric: true },
        { title: "Second", text: (row) => whole(row[2]), numeric: true },
        { title: "Change", text: change, numeric: true },
      ],
    }),
    names: (root) => new DataTable(root, {
      noun: "name", rows: data.names,
      filters: [{ title: "of", of: (row) => row[0] }],
      columns: [
        { title: "Of a", text: (row) => row[0] },
        { title: "First", text: (row) => row[1], node: (row) => code(row[1]) },
        { title: "Second", text: (row) => row[2], node: (row) => code(row[2]) },
      ],
    }),
  };
  for (const root of document.querySelectorAll("[data-table]")) tables[root.dataset.table](root);
  document.documentElement.dataset.ready = "yes";
})();
