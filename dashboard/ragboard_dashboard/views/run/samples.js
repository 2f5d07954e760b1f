// A page of a run's samples, each a way to read it. All text enters as text nodes.

function element(tag, className, text) {
  const node = document.createElement(tag)
  if (className) node.className = className
  if (text !== undefined) node.textContent = text
  return node
}

function cell(title, className, text) {
  const node = element("td", className, text)
  node.dataset.title = title
  return node
}

function verdicts(row) {
  const node = cell("Statements", "verdicts")
  for (const one of row.labels) {
    const mark = element("span", one.name, `${one.icon} ${one.count}`)
    mark.title = one.name
    node.append(mark)
  }
  return node
}

function line(row, data, open) {
  const node = element("tr")
  const question = element("th")
  question.scope = "row"
  const link = element("a", "", row.question)
  link.href = row.href
  link.addEventListener("click", (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return
    event.preventDefault()
    open(row.key)
  })
  question.append(link)
  node.append(question, verdicts(row))
  row.scores.forEach((score, place) => {
    const shown = cell(data.titles[place], "number", score.shown)
    if (score.why) shown.title = score.why
    node.append(shown)
  })
  node.append(cell("Note", "note", row.note), cell("Id", "note", row.id))
  return node
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const table = element("table")
  const head = element("tr")
  const titles = [["Question", ""], ["Statements", ""], ...data.titles.map((title) => [title, "number"]), ["Note", ""], ["Id", ""]]
  for (const [title, className] of titles) {
    const node = element("th", className, title)
    node.scope = "col"
    head.append(node)
  }
  const top = element("thead")
  top.append(head)
  const body = element("tbody")
  for (const row of data.rows) body.append(line(row, data, (key) => setTriggerValue("open", key)))
  table.append(element("caption", "", data.caption), top, body)
  parentElement.querySelector("#samples").replaceChildren(table)
}
