// Drawing functions for all widgets. This file is prepended to each widget's code.
// All text is inserted as text nodes, never as markup.

const SVG = "http://www.w3.org/2000/svg"

function element(tag, className, text) {
  const node = document.createElement(tag)
  if (className) node.className = className
  if (text !== undefined && text !== null) node.textContent = text
  return node
}

function shape(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag)
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value)
  if (text !== undefined) node.textContent = text
  return node
}

// Whether the browser follows a link itself, for example into a new tab, because of a modifier key.
function isForBrowser(event) {
  return event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0
}

// A link to another page, or to other parameters of this one, which `frame.js` opens in this session.
function link(className, text, href) {
  const node = element("a", className, text)
  node.href = href
  node.classList.add("in-session")
  return node
}

function headerCell(scope, className, text) {
  const node = element("th", className, text)
  node.scope = scope
  return node
}

// A cell with the name of its column, which narrow pages show because they draw each row as a block.
function cell(title, className, text, note) {
  const node = element("td", className)
  node.dataset.title = title
  if (note === undefined) node.textContent = text ?? ""
  else node.append(element("div", "", text), ...(note ? [element("div", "note", note)] : []))
  return node
}

// `titles` are texts or header cells.
function table(caption, titles, rows) {
  const node = element("table")
  const [top, head, body] = ["thead", "tr", "tbody"].map((tag) => element(tag))
  head.append(...titles.map((title) => (typeof title === "string" ? headerCell("col", "", title) : title)))
  top.append(head)
  body.append(...rows)
  if (caption !== undefined) node.append(element("caption", "", caption))
  node.append(top, body)
  return node
}
