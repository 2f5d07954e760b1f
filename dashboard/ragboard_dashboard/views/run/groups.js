// Means of groups with their intervals on one scale.

const WIDTH = 200
const PAD = 6

function picture(row, data) {
  const svg = shape("svg", { viewBox: `0 0 ${WIDTH} 16`, "aria-hidden": "true" })
  const at = (value) => PAD + ((value - data.low) / (data.high - data.low)) * (WIDTH - 2 * PAD)
  svg.append(shape("line", { x1: PAD, x2: WIDTH - PAD, y1: 8, y2: 8, class: "grid" }))
  if (row.low !== null) svg.append(shape("line", { x1: at(row.low), x2: at(row.high), y1: 8, y2: 8, class: "whisker" }))
  svg.append(shape("circle", { cx: at(row.mean), cy: 8, r: 4, class: "dot" }))
  return svg
}

export default function (component) {
  const { data, parentElement } = component
  const list = element("ul", "groups")
  list.setAttribute("aria-label", data.name)
  for (const row of data.rows) {
    const node = element("li")
    node.title = row.help
    const value = element("span", "said", row.shown)
    value.append(element("span", "note", ` ${row.count}`))
    node.append(element("span", "name", row.name), picture(row, data), value)
    list.append(node)
  }
  parentElement.querySelector("#shapes").replaceChildren(list, element("div", "ends", data.ends))
}
