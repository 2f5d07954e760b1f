// Plots of one scorer: curves and points in the unit square, and a table of four counts.

const SIZE = 200
const LEFT = 30
const BELOW = 26

const across = (x) => LEFT + x * SIZE
const down = (y) => 6 + (1 - y) * SIZE

function axes(plot) {
  const parts = [shape("rect", { x: LEFT, y: 6, width: SIZE, height: SIZE, class: "frame" })]
  for (const tick of [0, 0.5, 1]) {
    parts.push(shape("text", { x: across(tick), y: down(0) + 11, "text-anchor": "middle" }, String(tick)))
    parts.push(shape("text", { x: LEFT - 4, y: down(tick) + 3, "text-anchor": "end" }, String(tick)))
  }
  parts.push(shape("text", { x: across(0.5), y: down(0) + 23, "text-anchor": "middle" }, plot.x))
  parts.push(shape("text", { x: 8, y: down(0.5), "text-anchor": "middle", transform: `rotate(-90 8 ${down(0.5)})` }, plot.y))
  parts.push(shape("line", { x1: across(0), y1: down(0), x2: across(1), y2: down(1), class: "chance" }))
  return parts
}

function point(mark) {
  const parts = []
  if (mark.low !== null) {
    parts.push(shape("line", { x1: across(mark.x), x2: across(mark.x), y1: down(mark.low), y2: down(mark.high), class: "whisker" }))
  }
  const of = mark.kind === "person" ? "person" : "dot"
  parts.push(shape("circle", { cx: across(mark.x), cy: down(mark.y), r: 4.5, class: of }))
  return parts
}

function picture(plot) {
  const node = element("figure")
  const drawn = shape("svg", { viewBox: `0 0 ${LEFT + SIZE + 8} ${SIZE + BELOW + 6}`, role: "img", "aria-label": plot.text })
  drawn.append(...axes(plot))
  const path = plot.line.map(([x, y]) => `${across(x)},${down(y)}`).join(" ")
  drawn.append(shape("polyline", { points: path, class: "line" }))
  for (const mark of plot.marks) drawn.append(...point(mark))
  node.append(element("figcaption", "", plot.title), drawn, element("div", "note", plot.text))
  return node
}

function counts(data) {
  const node = element("figure")
  const rows = data.rows.map(([title, ...numbers]) => {
    const row = element("tr")
    row.append(headerCell("row", "", title), ...numbers.map((number) => element("td", "", number)))
    return row
  })
  node.append(element("figcaption", "", data.title), table(undefined, data.head, rows), element("div", "note", data.text))
  return node
}

export default function (component) {
  const { data, parentElement } = component
  const root = element("div", "plots")
  root.append(...data.plots.map(picture))
  if (data.counts) root.append(counts(data.counts))
  parentElement.querySelector("#agreement").replaceChildren(root)
}
