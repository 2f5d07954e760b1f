// One question in two runs: both answers with the changed words marked, their statements, and their passages.

function answer(side, letter) {
  const node = element("section")
  const text = element("div", "answer")
  text.tabIndex = 0
  text.setAttribute("role", "region")
  text.setAttribute("aria-label", `Answer of ${letter}`)
  for (const part of side.words) {
    if (part.kind === "same") text.append(part.text)
    else text.append(element("mark", "", part.text))
  }
  node.append(element("h2", "", side.title), text)
  if (side.note) node.append(element("p", "note", side.note))
  return node
}

function statementOfSide(side, letter) {
  const node = element("div", side ? "" : "note")
  if (!side) {
    node.textContent = `not in ${letter}`
    return node
  }
  node.append(element("span", `verdict ${side.look}`, `${letter} ${side.icon} ${side.word} `))
  node.append(element("span", "note", `statement ${side.number}`), element("div", "said", side.text))
  if (side.reason) node.append(element("div", "note", side.reason))
  return node
}

function statement(row) {
  const node = element("div", "statement")
  node.setAttribute("role", "listitem")
  const kind = element("div", `kind ${row.look}`, `${row.icon} ${row.kind}`)
  if (row.how) kind.append(element("div", "note", row.how))
  node.append(kind, statementOfSide(row.a, "A"), statementOfSide(row.b, "B"))
  return node
}

function passages(group) {
  const node = element("section")
  node.append(element("h2", "", group.title))
  for (const one of group.passages) {
    const box = element("div", "passage")
    box.append(element("div", "note", one.where), element("div", "text", one.text))
    node.append(box)
  }
  return node
}

export default function (component) {
  const { data, parentElement } = component
  const root = parentElement.querySelector("#compare")
  // A pair is opened from a list at the bottom of the page, but drawn at its top.
  if (data.opened && !root.childElementCount) document.querySelector("[data-testid=stMain]")?.scrollTo({ top: 0 })
  const answers = element("div", "sides")
  answers.append(answer(data.a, "A"), answer(data.b, "B"))
  const list = element("section", "list")
  if (data.heading) list.append(element("h2", "", data.heading))
  const rows = element("div")
  rows.setAttribute("role", "list")
  rows.setAttribute("aria-label", "Statements of both answers")
  for (const row of data.statements) rows.append(statement(row))
  list.append(rows)
  const moved = element("div", "sides")
  moved.style.marginTop = "1.4rem"
  for (const group of data.groups) moved.append(passages(group))
  root.replaceChildren(answers, list, moved)
}
