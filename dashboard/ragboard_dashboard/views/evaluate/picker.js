// Metrics to choose, grouped by the question they answer. A metric that cannot be scored cannot be chosen and says why.

const pickers = new WeakMap()

class Picker {
  constructor(root, groups) {
    this.rows = new Map()
    this.pending = null
    this.search = element("input", "search")
    this.search.type = "search"
    this.search.placeholder = "Find a metric"
    this.search.setAttribute("aria-label", "Find a metric")
    this.search.addEventListener("input", () => this.find())
    const list = element("div", "groups")
    this.groups = groups.map((group) => this.group(group))
    list.append(...this.groups.map((group) => group.node))
    root.replaceChildren(this.search, list)
  }

  group({ title, items }) {
    const node = element("details")
    const summary = element("summary")
    const count = element("span", "count")
    summary.append(element("span", "title", title), count)
    const list = element("ul")
    list.setAttribute("aria-label", title)
    const rows = items.map((item) => this.row(item))
    list.append(...rows.map((row) => row.node))
    node.append(summary, list)
    return { node, count, rows }
  }

  row(item) {
    const node = element("li")
    const label = element("label")
    const box = element("input")
    box.type = "checkbox"
    box.setAttribute("aria-label", item.label)
    const words = element("span", "words")
    const why = element("span", "why")
    const head = element("span", "head")
    head.append(element("span", "name", item.label), element("span", "origin", item.origin))
    words.append(head, element("span", "said", item.text), element("span", "needs", `Needs ${item.needs}`), why)
    label.append(box, words)
    node.append(label)
    const row = { node, box, why, spec: item.spec, text: `${item.spec} ${item.label} ${item.origin} ${item.text}`.toLowerCase() }
    box.addEventListener("change", () => this.choose())
    this.rows.set(item.spec, row)
    return row
  }

  chosen() {
    return [...this.rows.values()].filter((row) => row.box.checked).map((row) => row.spec)
  }

  choose() {
    const chosen = this.chosen()
    this.pending = [...chosen].sort().join("\n")
    this.mark()
    this.tell(chosen)
  }

  // If the user chose again while the server was still answering, the newer choice stays.
  adopt(chosen, refused) {
    const now = [...chosen].sort().join("\n")
    if (this.pending === null || this.pending === now) {
      this.pending = null
      for (const row of this.rows.values()) row.box.checked = chosen.includes(row.spec)
    }
    for (const row of this.rows.values()) row.why.textContent = refused[row.spec] ?? ""
    this.mark()
  }

  mark() {
    for (const { count, rows } of this.groups) {
      const chosen = rows.filter((row) => row.box.checked).length
      count.textContent = chosen ? `${chosen} of ${rows.length}` : `${rows.length}`
      count.classList.toggle("some", chosen > 0)
      for (const row of rows) {
        row.box.disabled = Boolean(row.why.textContent) && !row.box.checked
        row.node.classList.toggle("off", Boolean(row.why.textContent))
      }
    }
  }

  unfold() {
    const wide = this.search.parentElement.getBoundingClientRect().width > 700
    const shows = (row) => row.box.checked && (wide || row.why.textContent)
    for (const { node, rows } of this.groups) node.open = rows.some(shows)
  }

  find() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean)
    for (const { node, rows } of this.groups) {
      for (const row of rows) row.node.hidden = !words.every((word) => row.text.includes(word))
      const found = rows.some((row) => !row.node.hidden)
      node.hidden = !found
      node.open = found
    }
    if (!words.length) this.unfold()
  }
}

export default function (component) {
  const { data, parentElement, setStateValue } = component
  const fingerprint = JSON.stringify(data.groups)
  let picker = pickers.get(parentElement)
  if (picker?.fingerprint !== fingerprint) {
    const root = parentElement.querySelector("#picker")
    const open = picker?.groups.map(({ node }) => node.open)
    picker = new Picker(root, data.groups)
    picker.fingerprint = fingerprint
    pickers.set(parentElement, picker)
    picker.adopt(data.chosen, data.refused)
    if (open?.length === picker.groups.length) picker.groups.forEach(({ node }, place) => (node.open = open[place]))
    else picker.unfold()
  } else picker.adopt(data.chosen, data.refused)
  picker.tell = (chosen) => setStateValue("chosen", { run: data.run, metrics: chosen })
}
