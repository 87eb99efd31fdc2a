"use strict";
/* A table that can be searched and filtered. It shows as many rows as a page holds, and more on demand.

   root      the element that it fills; its attribute data-caption names the table
   columns   [{title, text(row), node(row)?, numeric?, mono?}]; text is what is searched and shown unless node makes more
   rows      any objects
   filters   [{title, of(row)}]; a menu of the values that occur
   select    called with the row that a person chose; then the first column holds a button */
const FEW = 8;

class DataTable {
  constructor(root, { columns, rows, noun, filters = [], select = null, pageSize = 100 }) {
    Object.assign(this, { root, columns, rows, noun, filters, select, pageSize });
    this.texts = new Map();
    this.limit = pageSize;
    this.chosen = null;
    this.search = el("input", {
      type: "search", placeholder: "Search", "aria-label": `Search the ${noun}s`, autocomplete: "off", spellcheck: "false",
      oninput: () => this.refresh(),
    });
    const telling = filters.filter((filter) => new Set(rows.map(filter.of)).size > 1);
    this.menus = telling.map((filter) => this.menu(filter));
    this.count = el("output", { class: "count", "aria-live": "polite" });
    this.body = el("tbody");
    this.more = el("button", { type: "button", class: "more", onclick: () => this.grow() });
    const head = el("tr", {}, ...columns.map((c) => el("th", { scope: "col", class: c.numeric ? "number" : null }, c.title)));
    this.table = el("table", {}, el("caption", { class: "visually-hidden" }, root.dataset.caption), el("thead", {}, head), this.body);
    // A few rows are read faster than searched.
    const tools = rows.length > FEW ? [this.search, ...this.menus.map((m) => m.element)] : [];
    root.append(
      el("div", { class: "tools", role: "search", "aria-label": root.dataset.caption }, ...tools, this.count),
      el("div", { class: "scroll" }, this.table),
      this.more,
    );
    if (select) this.body.addEventListener("keydown", (event) => this.move(event));
    window.addEventListener("beforeprint", () => { this.limit = 2000; this.refresh(true); });
    this.refresh();
  }

  menu(filter) {
    const counts = new Map();
    for (const row of this.rows) {
      const value = filter.of(row);
      counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    const values = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
    const control = el("select", { onchange: () => this.refresh() }, el("option", { value: "" }, "all"));
    values.forEach(([value, number], k) => control.append(el("option", { value: k + 1 }, `${value} (${number})`)));
    const element = el("label", {}, el("span", {}, filter.title), control);
    return { element, admits: (row) => control.value === "" || values[control.value - 1][0] === filter.of(row) };
  }

  text(row) {
    let text = this.texts.get(row);
    if (text === undefined) {
      text = this.columns.map((column) => column.text(row)).join("\n").toLowerCase();
      this.texts.set(row, text);
    }
    return text;
  }

  refresh(keepLimit = false) {
    if (!keepLimit) this.limit = this.pageSize;
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    this.found = this.rows.filter(
      (row) => this.menus.every((menu) => menu.admits(row)) && words.every((word) => this.text(row).includes(word)),
    );
    const all = counted(this.rows.length, this.noun);
    this.count.textContent = this.found.length === this.rows.length ? all : `${this.found.length.toLocaleString("en")} of ${all}`;
    this.body.replaceChildren();
    this.grow(0);
  }

  grow(by = this.pageSize) {
    this.limit += by;
    const start = this.body.childElementCount;
    this.body.append(...this.found.slice(start, this.limit).map((row) => this.rowElement(row)));
    const left = this.found.length - this.body.childElementCount;
    this.more.hidden = left <= 0;
    this.more.textContent = `Show ${Math.min(left, this.pageSize)} more of ${left.toLocaleString("en")}`;
    if (this.found.length === 0) this.body.append(el("tr", { class: "none" }, el("td", { colspan: this.columns.length }, `No ${this.noun} is like that.`)));
    if (by && start < this.body.childElementCount) this.body.children[start].querySelector("button")?.focus();
  }

  rowElement(row) {
    const cells = this.columns.map((column, k) => {
      const content = column.node ? column.node(row) : column.text(row);
      const inner = k === 0 && this.select ? el("button", { type: "button", class: "row" }, content) : content;
      const kind = [column.numeric ? "number" : "", column.mono ? "mono" : ""].join(" ").trim();
      return el(k === 0 ? "th" : "td", { class: kind || null, scope: k === 0 ? "row" : null, "data-title": column.title }, inner);
    });
    const element = el("tr", {}, ...cells);
    if (this.select) {
      element.classList.add("choosable");
      element.addEventListener("click", () => this.choose(row, element));
      if (row === this.chosen) this.mark(element);
    }
    return element;
  }

  mark(element) {
    this.body.querySelector("tr.chosen")?.classList.remove("chosen");
    this.body.querySelector("[aria-current]")?.removeAttribute("aria-current");
    element?.classList.add("chosen");
    element?.querySelector("button.row").setAttribute("aria-current", "true");
  }

  choose(row, element = null) {
    this.chosen = row;
    const at = this.found.indexOf(row);
    if (!element && at >= 0) {
      if (at >= this.body.childElementCount) { this.limit = at + 1; this.grow(0); }
      element = this.body.children[at];
      element.scrollIntoView({ block: "nearest" });
    }
    this.mark(element);
    this.select(row);
  }

  move(event) {
    const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
    const row = event.target.closest("tr");
    if (!step || !row || !row[step]) return;
    event.preventDefault();
    row[step].querySelector("button")?.focus();
  }
}
