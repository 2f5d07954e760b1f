// Links to unsupported statements, to groups of them, or to other pages.

function finding(item) {
  const node = element("li")
  const opener = link("", undefined, item.href)
  opener.append(element("span", `verdict ${item.css}`, item.heading), element("span", "said", item.text))
  node.append(opener)
  if (item.aside || item.note) {
    const aside = element("div", "aside")
    if (item.aside) aside.append(element("div", "run", item.aside))
    if (item.note) aside.append(element("div", "where", item.note))
    node.append(aside)
  }
  if (item.reason) node.append(element("div", "reason", item.reason))
  for (const said of item.people ?? []) node.append(element("div", "people", said))
  if (item.where) node.append(element("div", "where", item.where))
  return node
}

export default function (component) {
  const { data, parentElement } = component
  const list = element("ul", data.layout)
  list.setAttribute("aria-label", data.name)
  for (const item of data.items) list.append(finding(item))
  parentElement.querySelector("#findings").replaceChildren(list)
}
