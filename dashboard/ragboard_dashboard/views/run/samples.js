// One page of the samples of a run. Each question is a link to its sample.

function verdicts(row) {
  const node = cell("Statements", "verdicts")
  for (const one of row.labels) {
    const mark = element("span", one.name, `${one.icon} ${one.count}`)
    mark.title = one.name
    node.append(mark)
  }
  return node
}

function line(row, data) {
  const node = element("tr")
  const question = headerCell("row")
  question.append(link("", row.question, row.href))
  if (row.note) question.append(element("div", "why", row.note))
  node.append(question, verdicts(row))
  row.scores.forEach((score, place) => {
    const shown = cell(data.titles[place], data.first[place] ? "number" : "number more", score.shown)
    if (score.why) shown.title = score.why
    node.append(shown)
  })
  const id = cell("Id", "note", row.id)
  id.title = row.id
  node.append(id)
  return node
}

export default function (component) {
  const { data, parentElement } = component
  const numbers = data.titles.map((title) => headerCell("col", "number", title))
  const rows = data.rows.map((row) => line(row, data))
  const list = table(data.caption, ["Question", "Statements", ...numbers, "Id"], rows)
  parentElement.querySelector("#samples").replaceChildren(list)
}
