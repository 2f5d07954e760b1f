// A table with scorers as rows and dimensions or measures as columns. Each figure has its interval.

const WIDTH = 150
const PAD = 5

function picture(found, column) {
  const node = shape("svg", { viewBox: `0 0 ${WIDTH} 16`, preserveAspectRatio: "xMinYMid", "aria-hidden": "true" })
  const at = (value) => {
    const share = (value - column.low) / (column.high - column.low)
    return PAD + Math.min(1, Math.max(0, share)) * (WIDTH - 2 * PAD)
  }
  const upright = (value, kind) => shape("line", { x1: at(value), x2: at(value), y1: 0, y2: 16, class: kind })
  node.append(shape("line", { x1: PAD, x2: WIDTH - PAD, y1: 8, y2: 8, class: "axis" }))
  node.append(upright(column.chance, "chance"))
  if (column.people !== null) node.append(upright(column.people, "ceiling"))
  if (found.low !== null) node.append(shape("line", { x1: at(found.low), x2: at(found.high), y1: 8, y2: 8, class: "whisker" }))
  node.append(shape("circle", { cx: at(found.value), cy: 8, r: 3.8, class: "dot" }))
  return node
}

function figure(found, column) {
  const node = cell(column.title)
  if (!found) {
    node.append(element("span", "note", "–"))
    return node
  }
  const value = element("div", "value")
  value.append(element("strong", "", found.shown), element("span", "note", found.interval))
  node.append(value)
  if (found.value !== null) node.append(picture(found, column))
  for (const note of found.notes) node.append(element("div", "note", note))
  return node
}

function line(row, columns) {
  const node = element("tr", row.kind)
  const name = headerCell("row", "", row.name)
  if (row.note) name.append(element("div", "note", row.note))
  node.append(name, ...row.cells.map((found, place) => figure(found, columns[place])))
  return node
}

export default function (component) {
  const { data, parentElement } = component
  const titles = ["Scorer", ...data.columns.map((column) => column.title)]
  const grid = table(data.caption, titles, data.rows.map((row) => line(row, data.columns)))
  grid.className = "grid"
  parentElement.querySelector("#agreement").replaceChildren(grid)
}
