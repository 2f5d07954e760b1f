// Questions of two runs by how one metric changed, each a way into both answers. All text enters as text nodes.

function element(tag, className, text) {
  const node = document.createElement(tag)
  if (className) node.className = className
  if (text !== undefined) node.textContent = text
  return node
}

function score(title, side) {
  const node = element("td")
  node.dataset.title = title
  node.append(element("div", "", side.shown), element("div", "claims", side.note))
  return node
}

function line(row, titles, open) {
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
  question.append(link, element("div", "note", row.where))
  const change = element("td")
  change.dataset.title = titles.change
  change.append(element("span", `change ${row.look}`, row.change))
  node.append(change, question, score(titles.a, row.a), score(titles.b, row.b))
  return node
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const table = element("table")
  const head = element("tr")
  for (const title of [data.titles.change, "Question", data.titles.a, data.titles.b]) {
    const node = element("th", "", title)
    node.scope = "col"
    head.append(node)
  }
  const top = element("thead")
  top.append(head)
  const body = element("tbody")
  for (const row of data.rows) body.append(line(row, data.titles, (key) => setTriggerValue("open", key)))
  table.append(element("caption", "", data.caption), top, body)
  parentElement.querySelector("#compare").replaceChildren(table)
}
