"use strict";
/* The page of the differences of two models: its tables. */

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const code = (text) => (text ? el("code", {}, text) : el("span", { class: "quiet" }, "nothing"));
  const whole = (number) => number.toLocaleString("en");
  const change = ([, a, b]) => (a === b ? "" : `${b > a ? "+" : "−"}${whole(Math.abs(b - a))}`);

  const tables = {
    differences: (root) => new DataTable(root, {
      noun: "difference", rows: data.differences,
      filters: [{ title: "kind", of: (row) => row.kind }, { title: "graph", of: (row) => row.graph }],
      columns: [
        { title: "Kind", text: (row) => row.kind },
        { title: "What", text: (row) => row.what, node: (row) => el("code", { title: row.what }, shortened(row.what, 60)) },
        { title: "First", text: (row) => row.before, node: (row) => code(row.before) },
        { title: "Second", text: (row) => row.after, node: (row) => code(row.after) },
      ],
    }),
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
