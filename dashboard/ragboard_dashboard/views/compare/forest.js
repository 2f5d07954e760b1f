// Differences of metrics with their intervals on one scale, and beside each what it was counted from.

const WIDTH = 280
const PAD = 6

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

function line(row, data) {
  const node = element("tr")
  const name = headerCell("row", "", `${row.label} ${row.arrow}`)
  name.title = row.metric
  const drawn = element("td", "wide")
  drawn.append(picture(row, data.reach), element("div", "note", row.interval))
  for (const band of row.noise) drawn.append(element("div", "note", band.words))
  if (row.warning) drawn.append(element("div", "note", row.warning))
  const change = cell(data.titles.change)
  change.append(element("div", `change ${row.look}`, row.change), element("div", "note", row.p))
  node.append(name, drawn, change, cell(data.titles.a, "", row.a, ""), cell(data.titles.b, "", row.b, ""))
  node.append(cell(data.titles.pairs, "", row.pairs, row.unscored), cell(data.titles.won, "", row.won, ""))
  node.append(cell(data.titles.detectable, "", row.detectable, ""))
  return node
}

export default function (component) {
  const { data, parentElement } = component
  const keys = ["difference", "change", "a", "b", "pairs", "won", "detectable"]
  const titles = ["Metric", ...keys.map((key) => data.titles[key])]
  const rows = data.rows.map((row) => line(row, data))
  parentElement.querySelector("#compare").replaceChildren(table(data.caption, titles, rows))
}
