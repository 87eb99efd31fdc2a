"use strict";
/* Elements are made by these two, which never read text as markup. */

function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  return filled(element, attributes, children);
}

function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  return filled(element, attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/* Says something to those who listen to the page. */
function announce(text) {
  document.getElementById("live").textContent = text;
}

function counted(number, noun) {
  return `${number.toLocaleString("en")} ${number === 1 ? noun : noun.endsWith("s") ? noun : `${noun}s`}`;
}
