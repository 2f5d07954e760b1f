// The leaderboard: one row a run, intervals drawn on one scale a metric. All text enters as text nodes.

const SVG = "http://www.w3.org/2000/svg"
const WIDTH = 112
const PAD = 5

function element(tag, className, text) {
  const node = document.createElement(tag)
  if (className) node.className = className
  if (text !== undefined && text !== null) node.textContent = text
  return node
}

function shape(tag, attributes) {
  const node = document.createElementNS(SVG, tag)
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value)
  return node
}

function place(value, low, high) {
  const share = (value - low) / (high - low)
  return PAD + Math.min(1, Math.max(0, share)) * (WIDTH - 2 * PAD)
}

function drawInterval(cell, column) {
  const picture = shape("svg", { viewBox: `0 0 ${WIDTH} 14`, class: "interval", "aria-hidden": "true" })
  const at = (value) => place(value, column.low, column.high)
  picture.append(shape("line", { x1: PAD, x2: WIDTH - PAD, y1: 7, y2: 7, class: "axis" }))
  for (const end of [column.low, column.high]) {
    picture.append(shape("line", { x1: at(end), x2: at(end), y1: 4, y2: 10, class: "axis" }))
  }
  if (cell.low !== null) {
    picture.append(shape("line", { x1: at(cell.low), x2: at(cell.high), y1: 7, y2: 7, class: "whisker" }))
  }
  if (cell.least !== null) {
    picture.append(shape("line", { x1: at(cell.least), x2: at(cell.most), y1: 7, y2: 7, class: "possible" }))
  } else {
    picture.append(shape("circle", { cx: at(cell.mean), cy: 7, r: 3.4, class: "mean" }))
  }
  if (cell.threshold !== null) {
    const limit = at(cell.threshold)
    picture.append(shape("line", { x1: limit, x2: limit, y1: 0, y2: 14, class: "threshold" }))
  }
  return picture
}

function metricCell(cell, column) {
  const node = element("td", "metric")
  node.dataset.title = [column.source, column.title].filter(Boolean).join(": ")
  if (!cell) {
    node.append(element("span", "none", "–"))
    return node
  }
  const line = element("div", "value")
  line.append(element("strong", "", cell.shown))
  if (cell.bounds) line.append(element("span", "bounds", cell.bounds))
  node.append(line)
  if (cell.mean !== null || cell.least !== null) node.append(drawInterval(cell, column))
  const count = element("div", cell.complete ? "count" : "count partial", cell.count)
  count.title = cell.why
  node.append(count)
  if (cell.note) node.append(element("div", "count", cell.note))
  if (cell.standing) node.append(element("div", `standing ${cell.look}`, cell.standing))
  node.title = cell.why
  return node
}

function statementBar(row) {
  const node = element("td", "statements")
  node.dataset.title = "Statements"
  const total = row.labels.reduce((sum, label) => sum + label.count, 0)
  if (!total) {
    node.append(element("span", "none", "–"))
    return node
  }
  const words = element("div", "words")
  const bar = element("div", "bar")
  bar.setAttribute("aria-hidden", "true")
  for (const label of row.labels) {
    if (!label.count) continue
    const word = element("span", label.name, `${label.icon} ${label.count.toLocaleString("en")}`)
    word.title = `${label.count} ${label.name}`
    word.setAttribute("aria-label", word.title)
    word.setAttribute("role", "img")
    words.append(word)
    const piece = element("i", label.name)
    piece.style.flexGrow = label.count
    bar.append(piece)
  }
  node.append(words, bar)
  return node
}

function editButton(row, edit) {
  const node = element("button", "edit", "✎")
  node.type = "button"
  node.title = "Rename, tag, annotate or delete"
  node.setAttribute("aria-label", `Edit ${row.name}`)
  node.addEventListener("click", () => edit(row.key))
  return node
}

function runCell(row, open, edit) {
  const node = element("th", "run")
  node.scope = "row"
  const link = element("a", "name", row.name)
  link.href = row.href
  link.addEventListener("click", (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return
    event.preventDefault()
    open(row.key)
  })
  node.append(link)
  if (edit) node.append(editButton(row, edit))
  for (const tag of row.tags) node.append(element("span", "tag", tag))
  node.append(element("div", "config", row.config))
  return node
}

function textCell(title, text, note) {
  const node = element("td", "text")
  node.dataset.title = title
  node.append(element("div", "", text))
  if (note) node.append(element("div", "note", note))
  return node
}

function head(columns) {
  const row = element("tr")
  const names = ["Run", ...columns.map((column) => column), "Statements", "Refusals", "Dataset", "Judge"]
  for (const name of names) {
    const cell = element("th", "")
    cell.scope = "col"
    if (typeof name === "string") cell.textContent = name
    else {
      cell.textContent = `${name.title} ${name.arrow}`
      cell.title = name.help
      cell.className = "metric"
      if (name.source) cell.append(element("div", "count", name.source))
    }
    row.append(cell)
  }
  const top = element("thead")
  top.append(row)
  return top
}

// What is wider than its room moves by the arrow keys, which takes focus and a name; the run stays in view.
function fit(wide, table) {
  const moves = wide.scrollWidth > wide.clientWidth
  table.classList.toggle("many", moves)
  const named = { tabindex: "0", role: "region", "aria-label": "Runs, scrolls sideways" }
  for (const [name, value] of Object.entries(named)) {
    if (moves) wide.setAttribute(name, value)
    else wide.removeAttribute(name)
  }
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector("#board")
  const table = element("table")
  table.append(element("caption", "", data.caption), head(data.columns))
  const body = element("tbody")
  for (const row of data.rows) {
    const line = element("tr")
    line.append(
      runCell(
        row,
        (key) => setTriggerValue("open", key),
        data.editable ? (key) => setTriggerValue("edit", key) : null,
      ),
    )
    data.columns.forEach((column, place) => line.append(metricCell(row.metrics[place], column)))
    line.append(statementBar(row), textCell("Refusals", row.refusals), textCell("Dataset", row.dataset, row.samples))
    line.append(textCell("Judge", row.judge, row.when))
    body.append(line)
  }
  table.append(body)
  const wide = element("div", "wide")
  wide.append(table)
  root.replaceChildren(wide)
  const watching = new ResizeObserver(() => fit(wide, table))
  watching.observe(wide)
  return () => watching.disconnect()
}
