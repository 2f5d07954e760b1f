// An answer and its passages. An annotator labels the statements by keyboard. Labels are shown immediately, and all
// labels of the answer are sent to the server. Labels from the server replace them if no message is on its way. A message
// that the server does not confirm is sent again.
// Offsets are UTF-16 units.

const annotators = new WeakMap()
const RESEND_MS = 3000
const TYPING = "input, textarea, select, [contenteditable]"

class Annotator {
  constructor(root, data, tell) {
    this.root = root
    this.data = data
    this.tell = tell
    this.labels = [...data.labels]
    this.at = this.firstUnlabelled(0)
    this.marks = data.statements.map(() => [])
    this.options = data.statements.map((text, place) => this.option(text, place))
    const columns = element("div", "columns")
    columns.append(this.left(), this.right())
    root.replaceChildren(columns)
    this.listen = (event) => this.key(event)
    root.ownerDocument.addEventListener("keydown", this.listen)
    this.draw()
  }

  stop() {
    clearTimeout(this.resending)
    this.root.ownerDocument.removeEventListener("keydown", this.listen)
  }

  // Returns the first statement from `place` on without a label, else the first one without; null if all have labels.
  firstUnlabelled(place) {
    const after = this.labels.findIndex((label, n) => n >= place && !label)
    const found = after >= 0 ? after : this.labels.findIndex((label) => !label)
    return found >= 0 ? found : null
  }

  left() {
    const column = element("section", "left")
    const head = element("div", "head")
    head.append(element("h2", "", "Answer"), element("p", "hint", "Do the passages support each statement?"))
    this.answer = element("div", "answer prose")
    let at = 0
    for (const piece of this.data.pieces) {
      this.answer.append(this.data.answer.slice(at, piece.start), this.mark(piece))
      at = piece.end
    }
    this.answer.append(this.data.answer.slice(at))
    column.append(head, this.answer, this.says(), this.list())
    return column
  }

  mark(piece) {
    const mark = element("mark", "", this.data.answer.slice(piece.start, piece.end))
    for (const place of piece.of) this.marks[place].push(mark)
    mark.of = piece.of
    mark.onclick = () => this.move(piece.of[0])
    return mark
  }

  says() {
    const group = element("div", "says-row")
    group.setAttribute("role", "group")
    group.setAttribute("aria-label", "Your label for the marked statement")
    this.buttons = Object.entries(this.data.verdicts).map(([label, { icon, word, key }]) => {
      const button = element("button", `say ${label}`)
      button.type = "button"
      button.append(element("kbd", "", key), ` ${icon} ${word}`)
      button.onclick = () => this.say(label)
      return button
    })
    group.append(...this.buttons, element("p", "hint", "j k move · n note · u undo · s skip"))
    return group
  }

  list() {
    const list = element("div", "list")
    list.setAttribute("role", "listbox")
    list.setAttribute("aria-label", "Statements")
    list.tabIndex = 0
    list.append(...this.options)
    this.listbox = list
    return list
  }

  option(text, place) {
    const node = element("div", "option")
    node.id = `statement-${place}`
    node.setAttribute("role", "option")
    const said = element("div", "said")
    said.append(element("div", "text", text))
    node.append(element("div", "verdict"), said)
    node.onclick = () => this.move(place)
    return node
  }

  right() {
    const column = element("section", "right")
    const head = element("div", "head")
    const count = this.data.passages.length
    head.append(element("h2", "", "Passages"), element("p", "hint", count ? `${count} retrieved` : "none retrieved"))
    const passages = element("div", "passages")
    passages.tabIndex = 0
    passages.setAttribute("role", "region")
    passages.setAttribute("aria-label", "Passages")
    for (const { rank, text } of this.data.passages) {
      const node = element("article", "passage")
      const body = element("div", "body")
      body.append(element("div", "text", text))
      node.append(element("span", "rank", rank), body)
      passages.append(node)
    }
    column.append(head, passages)
    return column
  }

  draw() {
    this.options.forEach((node, place) => {
      const look = this.data.verdicts[this.labels[place]]
      const verdict = node.firstChild
      verdict.className = `verdict ${this.labels[place] ?? "unjudged"}`
      verdict.replaceChildren(element("span", "icon", look?.icon ?? "–"), element("span", "", look?.word ?? "no label"))
      node.setAttribute("aria-selected", String(place === this.at))
    })
    for (const mark of new Set(this.marks.flat())) {
      const place = mark.of.includes(this.at) ? this.at : mark.of[0]
      mark.className = `${this.labels[place] ?? "unjudged"}${place === this.at ? " chosen" : ""}`
    }
    for (const button of this.buttons) button.disabled = this.at === null
    if (this.at === null) this.listbox.removeAttribute("aria-activedescendant")
    else this.listbox.setAttribute("aria-activedescendant", `statement-${this.at}`)
  }

  // Scrolls to the current statement. This is not called when the page opens, so that the page starts at its top.
  follow() {
    this.draw()
    this.options[this.at]?.scrollIntoView({ block: "nearest" })
  }

  key(event) {
    if (!this.root.isConnected) return this.stop()
    if (event.metaKey || event.ctrlKey || event.altKey || event.composedPath()[0].closest?.(TYPING)) return
    const last = this.labels.length - 1
    const label = Object.keys(this.data.verdicts).find((name) => this.data.verdicts[name].key === event.key)
    if (label) this.say(label)
    else if (event.key === "j" || event.key === "ArrowDown") this.move(this.at === null ? 0 : Math.min(this.at + 1, last))
    else if (event.key === "k" || event.key === "ArrowUp") this.move(this.at === null ? last : Math.max(this.at - 1, 0))
    else if (event.key === "n") this.note()
    else return
    event.preventDefault()
  }

  // Focuses the field for a note, which is outside this component. Enter or Escape leaves it.
  note() {
    const field = this.root.ownerDocument.querySelector('input[aria-label="Note"]')
    if (!field) return
    field.focus()
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === "Escape") setTimeout(() => field.blur(), 50)
    })
  }

  say(label) {
    if (this.at === null) return
    this.labels[this.at] = label
    this.at = this.firstUnlabelled(this.at + 1)
    this.follow()
    this.unconfirmed = JSON.stringify(this.labels)
    this.report()
    clearTimeout(this.resending)
    this.resending = setTimeout(() => this.resend(), RESEND_MS)
  }

  // A message may arrive twice, because the server saves only what differs from the store.
  resend() {
    if (this.unconfirmed !== undefined && this.root.isConnected) this.report()
  }

  move(place) {
    this.at = place
    this.follow()
    this.report()
  }

  // The time distinguishes this message from an equal one, if a label is given again after it was removed.
  report() {
    this.tell({ sample: this.data.sample, labels: [...this.labels], at: this.at, when: Date.now() })
  }

  // Adopts the labels in the store. If a label was removed there, its statement becomes the current one.
  adopt(labels) {
    if (this.unconfirmed !== undefined && this.unconfirmed !== JSON.stringify(labels)) return
    this.unconfirmed = undefined
    if (JSON.stringify(labels) === JSON.stringify(this.labels)) return
    const gone = labels.findIndex((label, place) => !label && this.labels[place])
    this.labels = [...labels]
    this.at = gone >= 0 ? gone : this.firstUnlabelled(0)
    this.draw()
  }
}

export default function (component) {
  const { data, parentElement, setStateValue } = component
  const { labels, ...content } = data
  const fingerprint = JSON.stringify(content)
  let annotator = annotators.get(parentElement)
  if (annotator?.fingerprint === fingerprint) annotator.adopt(labels)
  else {
    annotator?.stop()
    annotator = new Annotator(parentElement.querySelector("#reader"), data, (now) => setStateValue("now", now))
    annotator.fingerprint = fingerprint
    annotators.set(parentElement, annotator)
  }
  annotator.tell = (now) => setStateValue("now", now)
}
