// One row for each metric: the result, the difference with its interval as text and as a plot, and both means.

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
  } else if (row.difference !== null) {
    node.append(shape("line", { x1: at(row.difference), x2: at(row.difference), y1: 2, y2: 16, class: "dot" }))
  }
  return node
}

function line(row, data) {
  const node = element("tr")
  const name = headerCell("row", "", `${row.label} ${row.arrow}`)
  name.title = row.metric
  const change = cell(data.titles.change, "one-line")
  change.append(element("span", `change ${row.look}`, row.change), " ", element("span", "note", row.p))
  const difference = cell(data.titles.difference)
  difference.append(element("div", "", row.interval))
  if (row.caution) {
    const caution = element("div", "note")
    caution.append(link("", row.caution, row.href))
    difference.append(caution)
  }
  for (const note of row.notes) difference.append(element("div", "note", note))
  node.append(name, change, difference)
  if (data.reach !== null) {
    const drawn = element("td", "wide")
    drawn.append(picture(row, data.reach))
    node.append(drawn)
  }
  node.append(cell(data.titles.a, "third", row.a, ""), cell(data.titles.b, "third", row.b, ""))
  node.append(cell(data.titles.pairs, "third", row.pairs, ""))
  return node
}

export default function (component) {
  const { data, parentElement } = component
  const { metric, change, difference, a, b, pairs } = data.titles
  const titles = [metric, change, difference, ...(data.reach === null ? [] : [""]), a, b, pairs]
  const rows = data.rows.map((row) => line(row, data))
  parentElement.querySelector("#compare").replaceChildren(table(data.caption, titles, rows))
}
