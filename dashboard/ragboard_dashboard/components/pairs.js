// Questions of two runs, by how one metric changed. Each links to both answers.

function score(title, side) {
  const node = cell(title)
  node.append(element("div", "", side.shown), element("div", "claims", side.note))
  return node
}

function line(row, titles) {
  const node = element("tr")
  const question = headerCell("row")
  question.append(link("", row.question, row.href), element("div", "note", row.where))
  const change = cell(titles.change)
  change.append(element("span", `change ${row.look}`, row.change))
  node.append(change, question, score(titles.a, row.a), score(titles.b, row.b))
  return node
}

export default function (component) {
  const { data, parentElement } = component
  const titles = [data.titles.change, "Question", data.titles.a, data.titles.b]
  const rows = data.rows.map((row) => line(row, data.titles))
  parentElement.querySelector("#compare").replaceChildren(table(data.caption, titles, rows))
}
