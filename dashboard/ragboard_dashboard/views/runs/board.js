// The leaderboard: one row for each run, with intervals on one scale for each metric.

const WIDTH = 112
const PAD = 5

function place(value, low, high) {
  const share = (value - low) / (high - low)
  return PAD + Math.min(1, Math.max(0, share)) * (WIDTH - 2 * PAD)
}

function drawInterval(found, column) {
  const picture = shape("svg", { viewBox: `0 0 ${WIDTH} 14`, class: "interval", "aria-hidden": "true" })
  const at = (value) => place(value, column.low, column.high)
  picture.append(shape("line", { x1: PAD, x2: WIDTH - PAD, y1: 7, y2: 7, class: "axis" }))
  for (const end of [column.low, column.high]) {
    picture.append(shape("line", { x1: at(end), x2: at(end), y1: 4, y2: 10, class: "axis" }))
  }
  if (found.low !== null) {
    picture.append(shape("line", { x1: at(found.low), x2: at(found.high), y1: 7, y2: 7, class: "whisker" }))
  }
  if (found.least !== null) {
    picture.append(shape("line", { x1: at(found.least), x2: at(found.most), y1: 7, y2: 7, class: "possible" }))
  } else {
    picture.append(shape("line", { x1: at(found.mean), x2: at(found.mean), y1: 1, y2: 13, class: "mean" }))
  }
  if (found.threshold !== null) {
    const limit = at(found.threshold)
    picture.append(shape("line", { x1: limit, x2: limit, y1: 0, y2: 14, class: "threshold" }))
  }
  return picture
}

function metricCell(found, column) {
  const node = cell([column.source, column.title].filter(Boolean).join(": "), "metric")
  if (!found) {
    node.append(element("span", "none", "–"))
    return node
  }
  const line = element("div", "value")
  line.append(element("strong", "", found.shown))
  if (found.interval) line.append(element("span", "interval-text", found.interval))
  node.append(line)
  if (found.mean !== null || found.least !== null) node.append(drawInterval(found, column))
  const count = element("div", "count", found.count)
  count.title = found.why
  node.append(count)
  if (found.note) node.append(element("div", "count", found.note))
  if (found.standing) node.append(element("div", `standing ${found.look}`, found.standing))
  node.title = found.why
  return node
}

function statementBar(row) {
  const node = cell("Statements", "statements")
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

function runCell(row, edit) {
  const node = headerCell("row", "run")
  node.append(link("name", row.name, row.href))
  if (edit) node.append(editButton(row, edit))
  for (const tag of row.tags) node.append(element("span", "tag", tag))
  node.append(element("div", "config", row.config))
  return node
}

function metricTitle(column) {
  const node = headerCell("col", "metric", column.title)
  if (column.arrow) node.append("\u00a0", column.arrow)
  node.title = column.help
  if (column.source) node.append(element("div", "count", column.source))
  return node
}

function statementsTitle() {
  const node = headerCell("col", "statements", "Statements")
  node.title = "Counted over all answers together. Faithfulness is a mean over answers, so a run with higher faithfulness can still have more unsupported statements."
  return node
}

// If the table is wider than its container, it can take the focus, so that the arrow keys scroll it. The first column
// stays in view.
function updateScrolling(wide, board) {
  const scrolls = wide.scrollWidth > wide.clientWidth
  board.classList.toggle("many", scrolls)
  const named = { tabindex: "0", role: "region", "aria-label": "Runs, scrolls sideways" }
  for (const [name, value] of Object.entries(named)) {
    if (scrolls) wide.setAttribute(name, value)
    else wide.removeAttribute(name)
  }
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const edit = data.editable ? (key) => setTriggerValue("edit", key) : null
  const rows = data.rows.map((row) => {
    const line = element("tr")
    line.append(runCell(row, edit), ...data.columns.map((column, place) => metricCell(row.metrics[place], column)))
    line.append(statementBar(row), cell("Refusals", "text", row.refusals, row.refused))
    line.append(cell("Dataset", "text", row.dataset, row.samples), cell("Judge", "text", row.judge, row.when))
    return line
  })
  const titles = ["Run", ...data.columns.map(metricTitle), statementsTitle(), "Refusals", "Dataset", "Judge"]
  const board = table(data.caption, titles, rows)
  const wide = element("div", "wide")
  wide.append(board)
  parentElement.querySelector("#board").replaceChildren(wide)
  const observer = new ResizeObserver(() => updateScrolling(wide, board))
  observer.observe(wide)
  return () => observer.disconnect()
}
