// Contenders in rows, what they are held against in columns, every figure with its interval.
// All text enters as text nodes.

const SVG = "http://www.w3.org/2000/svg"
const WIDTH = 150
const PAD = 5

function element(tag, className, text) {
  const node = document.createElement(tag)
  if (className) node.className = className
  if (text !== undefined) node.textContent = text
  return node
}

function shape(tag, attributes) {
  const node = document.createElementNS(SVG, tag)
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value)
  return node
}

function picture(cell, column) {
  const node = shape("svg", { viewBox: `0 0 ${WIDTH} 16`, preserveAspectRatio: "xMinYMid", "aria-hidden": "true" })
  const at = (value) => {
    const share = (value - column.low) / (column.high - column.low)
    return PAD + Math.min(1, Math.max(0, share)) * (WIDTH - 2 * PAD)
  }
  const upright = (value, kind) => shape("line", { x1: at(value), x2: at(value), y1: 0, y2: 16, class: kind })
  node.append(shape("line", { x1: PAD, x2: WIDTH - PAD, y1: 8, y2: 8, class: "axis" }))
  node.append(upright(column.chance, "chance"))
  if (column.people !== null) node.append(upright(column.people, "ceiling"))
  if (cell.low !== null) node.append(shape("line", { x1: at(cell.low), x2: at(cell.high), y1: 8, y2: 8, class: "whisker" }))
  node.append(shape("circle", { cx: at(cell.value), cy: 8, r: 3.8, class: "dot" }))
  return node
}

function figure(cell, column) {
  const node = element("td")
  node.dataset.title = column.title
  if (!cell) {
    node.append(element("span", "note", "–"))
    return node
  }
  const value = element("div", "value")
  value.append(element("strong", "", cell.shown), element("span", "note", cell.bounds))
  node.append(value)
  if (cell.value !== null) node.append(picture(cell, column))
  for (const note of cell.notes) node.append(element("div", "note", note))
  return node
}

function line(row, columns) {
  const node = element("tr", row.kind)
  const name = element("th", "", row.name)
  name.scope = "row"
  if (row.note) name.append(element("div", "note", row.note))
  node.append(name, ...row.cells.map((cell, place) => figure(cell, columns[place])))
  return node
}

export default function (component) {
  const { data, parentElement } = component
  const table = element("table", "grid")
  const head = element("tr")
  for (const title of ["Contender", ...data.columns.map((column) => column.title)]) {
    const node = element("th", "", title)
    node.scope = "col"
    head.append(node)
  }
  const top = element("thead")
  top.append(head)
  const body = element("tbody")
  for (const row of data.rows) body.append(line(row, data.columns))
  table.append(element("caption", "", data.caption), top, body)
  parentElement.querySelector("#agreement").replaceChildren(table)
}
