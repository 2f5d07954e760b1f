// Statements that the passages do not support, or groups of them, each a way to more. All text enters as text nodes.

function element(tag, className, text) {
  const node = document.createElement(tag)
  if (className) node.className = className
  if (text !== undefined) node.textContent = text
  return node
}

function finding(item, open) {
  const node = element("li")
  const link = element("a")
  link.href = item.href
  link.addEventListener("click", (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return
    event.preventDefault()
    open(item.key)
  })
  link.append(element("span", `verdict ${item.label}`, item.verdict), element("span", "said", item.text))
  node.append(link)
  if (item.aside) {
    const aside = element("div", "aside")
    aside.append(element("div", "run", item.aside))
    if (item.note) aside.append(element("div", "where", item.note))
    node.append(aside)
  }
  if (item.reason) node.append(element("div", "reason", item.reason))
  for (const said of item.people ?? []) node.append(element("div", "people", said))
  if (item.where) node.append(element("div", "where", item.where))
  return node
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const list = element("ul", data.layout)
  list.setAttribute("aria-label", data.name)
  for (const item of data.items) list.append(finding(item, (key) => setTriggerValue("open", key)))
  parentElement.querySelector("#findings").replaceChildren(list)
}
