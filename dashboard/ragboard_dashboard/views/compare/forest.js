// Differences of metrics with their intervals on one scale, and beside each what it was counted from.
// All text enters as text nodes.

const SVG = "http://www.w3.org/2000/svg"
const WIDTH = 280
const PAD = 6

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

function picture(row, reach) {
  const node = shape("svg", { viewBox: `0 0 ${WIDTH} 18`, class: row.look, preserveAspectRatio: "xMinYMid", "aria-hidden": "true" })
  const at = (value) => WIDTH / 2 + (value / reach) * (WIDTH / 2 - PAD)
  for (const band of row.noise) {
    node.append(shape("rect", { x: at(band.low), width: Math.max(at(band.high) - at(band.low), 1), y: 0, height: 18, class: "noise" }))
  }
  node.append(shape("line", { x1: PAD, x2: WIDTH - PAD, y1: 9, y2: 9, class: "axis" }))
  node.append(shape("line", { x1: at(0), x2: at(0), y1: 0, y2: 18, class: "zero" }))
  if (row.low !== null) node.append(shape("line", { x1: at(row.low), x2: at(row.high), y1: 9, y2: 9, class: "whisker" }))
  if (row.least !== null) {
    node.append(shape("line", { x1: at(row.least), x2: at(row.most), y1: 9, y2: 9, class: "possible" }))
  } else if (row.difference !== null) node.append(shape("circle", { cx: at(row.difference), cy: 9, r: 4, class: "dot" }))
  return node
}

function cell(title, text, note, className) {
  const node = element("td", className)
  node.dataset.title = title
  node.append(element("div", "", text))
  if (note) node.append(element("div", "note", note))
  return node
}

function line(row, data) {
  const node = element("tr")
  const name = element("th", "", `${row.label} ${row.arrow}`)
  name.scope = "row"
  name.title = row.metric
  const drawn = element("td", "wide")
  drawn.append(picture(row, data.reach), element("div", "note", row.interval))
  for (const band of row.noise) drawn.append(element("div", "note", band.words))
  if (row.warning) drawn.append(element("div", "note", row.warning))
  const change = element("td", "")
  change.dataset.title = data.titles.change
  change.append(element("div", `change ${row.look}`, row.change), element("div", "note", row.p))
  node.append(name, drawn, change, cell(data.titles.a, row.a), cell(data.titles.b, row.b))
  node.append(cell(data.titles.pairs, row.pairs, row.unscored), cell(data.titles.won, row.won))
  node.append(cell(data.titles.detectable, row.detectable))
  return node
}

export default function (component) {
  const { data, parentElement } = component
  const table = element("table")
  const head = element("tr")
  for (const title of ["Metric", data.titles.difference, ...["change", "a", "b", "pairs", "won", "detectable"].map((key) => data.titles[key])]) {
    const node = element("th", "", title)
    node.scope = "col"
    head.append(node)
  }
  const top = element("thead")
  top.append(head)
  const body = element("tbody")
  for (const row of data.rows) body.append(line(row, data))
  table.append(element("caption", "", data.caption), top, body)
  parentElement.querySelector("#compare").replaceChildren(table)
}
