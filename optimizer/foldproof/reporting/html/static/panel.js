"use strict";
/* The pictures of the row that a person chose in a table: of both sides, in the mode that is checked.

   told     of a row, the elements that say what it is; one of them has the id chosen-title
   stepOf   of a row, its step of the story, undefined where no node changes
   label    of a row, what it is in a few words
   sides    what the two pictures are called
   nothing  what is said of a row without a step */

class Panel {
  constructor(story, { told, stepOf, label, sides, nothing }) {
    Object.assign(this, { story, told, stepOf, label, sides, nothing });
    this.pictures = {};
    for (const name of ["before", "after"]) this.pictures[name] = new Picture(document.getElementById(`picture-${name}`), sides[name]);
    const inputs = [...document.querySelectorAll("input[name=mode]")];
    this.mode = inputs[0].value;
    this.forget();
    for (const input of inputs) {
      input.checked = input.value === this.mode;
      input.addEventListener("change", () => { this.mode = input.value; this.forget(); this.draw(); });
    }
    document.getElementById("previous").addEventListener("click", () => this.go(-1));
    document.getElementById("next").addEventListener("click", () => this.go(1));
  }

  go(by) {
    const at = this.table.found.indexOf(this.row) + by;
    if (at >= 0 && at < this.table.found.length) this.table.choose(this.table.found[at]);
  }

  forget() {
    this.extra = { before: new Set(), after: new Set() };
  }

  show(row) {
    const isFirst = !this.row;
    this.row = row;
    this.forget();
    document.getElementById("chosen").replaceChildren(...this.told(row));
    this.draw();
    if (isFirst) return;
    announce(`Picture of ${this.label(row)}`);
    const panel = document.getElementById("panel");
    if (panel.getBoundingClientRect().top > window.innerHeight - 120 || getComputedStyle(panel).position !== "sticky") panel.scrollIntoView({ block: "start" });
  }

  draw() {
    const step = this.stepOf(this.row);
    for (const name of ["before", "after"]) {
      const label = `${this.sides[name]}, ${this.label(this.row)}`;
      const isDrawn = step || this.mode === "whole";
      const scene = isDrawn ? this.scene(step, name) : null;
      this.pictures[name].draw(scene?.nodes ?? new Map(), scene?.edges ?? [], {
        label: scene ? `${label}: ${[...scene.nodes.values()].map((node) => node.title).slice(0, 12).join(", ")}` : label,
        note: scene?.note ?? "",
        nothing: !isDrawn ? this.nothing : scene ? "Nothing is left here." : "Too much of this graph changed to draw it as a whole.",
      });
    }
  }

  scene(step, name) {
    const isAfter = name === "after";
    const expand = (nodes) => {
      for (const node of nodes) this.extra[name].add(node);
      this.draw();
    };
    if (this.mode === "step") return this.story.stepScene(step, isAfter);
    return this.mode === "place" ? this.story.regionScene(step, isAfter, this.extra[name], expand) : this.story.wholeScene(step, isAfter, this.extra[name], expand);
  }
}
