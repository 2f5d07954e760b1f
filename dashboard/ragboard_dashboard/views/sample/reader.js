// One answer, statement by statement, beside its passages.
// Offsets are UTF-16 units.

const CLIP = 1200 // a longer passage is shown in part
const AROUND = 280 // what is shown on either side of evidence beyond the clip
const GLIMPSE = 90 // the same, in the excerpt under a statement
const readers = new WeakMap()

// A position near `at` that does not split a word or a character.
function cut(text, at) {
  if (at <= 0) return 0
  if (at >= text.length) return text.length
  const gap = text.slice(at, at + 40).search(/\s/)
  if (gap >= 0) return at + gap
  return /[\udc00-\udfff]/.test(text[at]) ? at + 1 : at
}

// Text with single spaces between words.
const isProse = (text) => !/\t| {2}|^ /m.test(text)

// Text with at most one blank line in a row and none at the beginning: passages from web pages have many blank lines.
const squeezed = (text, first) => {
  const lean = text.replace(/\n[^\S\n]*(?:\n[^\S\n]*){2,}/g, "\n\n")
  return first ? lean.replace(/^(?:[^\S\n]*\n)+/, "") : lean
}

// Appends text[from, to) to `node`; `make` turns marked parts into elements.
function fill(node, text, stretches, make, from = 0, to = text.length) {
  let at = from
  const rest = (end) => end > at && node.append(squeezed(text.slice(at, end), at === 0))
  for (const stretch of stretches) {
    const [start, end] = [Math.max(stretch.start, from), Math.min(stretch.end, to)]
    if (start >= end) continue
    rest(start)
    const made = make(stretch)
    made.textContent = squeezed(text.slice(start, end), false)
    node.append(made)
    at = end
  }
  rest(to)
  if (isProse(text)) node.classList.add("prose")
  return node
}

const selectedMark = () => element("mark", "selected")

const evidenceMark = (mark) => element("mark", `evidence ${mark.look}`)

// Scrolls the box, but nothing around it, until the node is visible. It is measured with the next frame, because
// measuring now would make the browser lay out the page twice.
function reveal(box, node) {
  if (node) requestAnimationFrame(() => scrollTo(box, node))
}

function scrollTo(box, node) {
  if (box.scrollHeight <= box.clientHeight) return
  const [outer, inner] = [box.getBoundingClientRect(), node.getBoundingClientRect()]
  if (inner.top >= outer.top && inner.bottom <= outer.bottom) return
  box.scrollTop += inner.top - outer.top - Math.max(12, (outer.height - inner.height) / 3)
}

// Keeps a sticky panel inside the window while the page is scrolled.
class PanelFit {
  constructor(panel) {
    const fit = () => {
      if (this.seen && !panel.isConnected) return stop.abort()
      this.seen ||= panel.isConnected
      const sticky = getComputedStyle(panel).position === "sticky"
      const room = window.innerHeight - Math.max(panel.getBoundingClientRect().top, 0) - 16
      panel.style.maxHeight = sticky ? `${Math.max(room, 320)}px` : ""
    }
    const stop = new AbortController()
    const options = { capture: true, passive: true, signal: stop.signal }
    for (const happening of ["scroll", "resize"]) window.addEventListener(happening, fit, options)
    requestAnimationFrame(fit)
  }
}

class Reader {
  constructor(root, data) {
    this.data = data
    this.chosen = null
    this.cited = null
    this.cites = []
    this.unfolded = new Set()
    this.marks = data.statements.map(() => [])
    this.options = data.statements.map((statement, place) => this.option(statement, place))
    this.answer = this.drawAnswer()
    this.list = this.drawList()
    this.banner = element("p", "banner")
    this.banner.setAttribute("role", "status")
    this.passages = element("div", "passages")
    this.passages.tabIndex = 0
    this.passages.setAttribute("role", "region")
    this.passages.setAttribute("aria-label", "Passages")
    const columns = element("div", "columns")
    columns.append(this.left(), this.right())
    root.replaceChildren(columns)
    root.onkeydown = (event) => this.key(event)
    this.draw()
  }

  verdict(place) {
    return this.data.verdicts[this.data.statements[place].verdict]
  }

  left() {
    const column = element("section", "left")
    const head = element("div", "head")
    const counts = element("p", "counts")
    for (const [look, verdict] of Object.entries(this.data.verdicts)) {
      if (verdict.count) counts.append(element("span", look, `${verdict.icon} ${verdict.count} ${verdict.word}`))
    }
    head.append(element("h2", "", "Answer"), counts)
    column.append(head)
    if (this.data.note) column.append(element("p", "note", this.data.note))
    if (this.data.answer.trim()) column.append(this.answer)
    if (!this.options.length) return column
    const under = element("div", "head")
    under.append(element("h2", "", "Statements"), element("p", "hint", "↑ ↓ move · Esc clears"))
    column.append(under, this.list)
    return column
  }

  right() {
    const column = element("section", "right")
    const head = element("div", "head")
    const count = this.data.passages.length
    new PanelFit(column)
    head.append(element("h2", "", "Passages"), element("p", "hint", count ? `${count} retrieved` : "none retrieved"))
    column.append(head, this.banner, this.passages)
    return column
  }

  drawAnswer() {
    const box = element("div", "answer")
    fill(box, this.data.answer, this.data.pieces, (piece) =>
      piece.cites === undefined ? this.answerMark(piece) : this.cite(piece.cites),
    )
    if (this.data.answer.length > 2000) {
      box.tabIndex = 0
      box.setAttribute("role", "region")
      box.setAttribute("aria-label", "Answer")
    }
    return box
  }

  answerMark(piece) {
    const mark = element("mark")
    for (const place of piece.of) this.marks[place].push(mark)
    mark.worst = piece.of[0]
    this.dress(mark, mark.worst)
    mark.onclick = () => {
      const next = piece.of[(piece.of.indexOf(this.chosen) + 1) % piece.of.length]
      this.pick(next)
      this.list.focus({ preventScroll: true })
    }
    return mark
  }

  // The mark of a citation: a button that shows the passages it cites.
  cite(place) {
    const { verdict, icon, says } = this.data.citations[place]
    const button = element("button", `cite ${verdict}`)
    button.type = "button"
    button.dataset.icon = icon === "✓" ? "" : icon
    button.title = says
    button.setAttribute("aria-pressed", "false")
    button.onclick = () => this.showCitation(this.cited === place ? null : place)
    this.cites[place] = button
    return button
  }

  showCitation(place) {
    this.pick(null)
    this.pressCitation(place)
    this.draw()
    if (place !== null) this.revealEvidence()
  }

  pressCitation(place) {
    this.cites[this.cited]?.setAttribute("aria-pressed", "false")
    this.cites[place]?.setAttribute("aria-pressed", "true")
    this.cited = place
  }

  dress(mark, place, chosen = false) {
    mark.className = `${this.data.statements[place].verdict}${chosen ? " chosen" : ""}`
    mark.title = `${this.data.statements[place].words}: ${this.data.statements[place].text}`
  }

  drawList() {
    const list = element("div", "list")
    list.tabIndex = 0
    list.setAttribute("role", "listbox")
    list.setAttribute("aria-label", "Statements")
    list.append(...this.options)
    return list
  }

  option(statement, place) {
    const node = element("div", "option")
    node.id = `statement-${place}`
    node.setAttribute("role", "option")
    node.setAttribute("aria-selected", "false")
    const { icon } = this.verdict(place)
    const said = element("div", "said")
    said.append(element("div", "text", statement.text))
    if (statement.reason) said.append(element("div", "reason", statement.reason))
    if (statement.origin) said.append(element("div", "origin", statement.origin))
    for (const { look, text } of statement.people) said.append(element("div", `people ${look}`, text))
    const verdict = element("div", `verdict ${statement.verdict}`)
    verdict.append(element("span", "icon", icon), element("span", "", statement.words))
    node.append(verdict, said)
    node.onclick = () => this.pick(place)
    return node
  }

  key(event) {
    if (event.metaKey || event.ctrlKey || event.altKey) return
    if (event.key === "Escape" && this.cited !== null) this.showCitation(null)
    else if (event.key === "Escape" && this.chosen !== null) this.pick(null)
    else if (event.composedPath()[0] === this.list && this.options.length) this.move(event)
  }

  move(event) {
    const last = this.options.length - 1
    const now = this.chosen
    const places = {
      ArrowDown: now === null ? 0 : Math.min(now + 1, last),
      ArrowUp: now === null ? last : Math.max(now - 1, 0),
      Home: 0,
      End: last,
    }
    if (!(event.key in places)) return
    event.preventDefault()
    this.pick(places[event.key])
    this.options[this.chosen].scrollIntoView({ block: "nearest" })
  }

  // The user chooses a statement: it is shown immediately, then sent to the server.
  pick(place) {
    if (place === this.chosen) return
    this.show(place)
    this.unconfirmed = place
    this.tell(place)
  }

  // The server sends a choice. A newer choice by the user stays until the server confirms it.
  follow(place) {
    if (this.unconfirmed !== undefined && this.unconfirmed !== place) return
    this.unconfirmed = undefined
    if (place !== this.chosen) this.show(place)
  }

  show(place) {
    if (this.chosen !== null) this.deselect(this.chosen)
    this.pressCitation(null)
    this.chosen = place
    if (place !== null) this.select(place)
    this.draw()
    this.bringIntoView()
    if (document.fonts.status === "loading") document.fonts.ready.then(() => this.bringIntoView())
  }

  // A statement in the URL: on a narrow screen, the page scrolls down to it.
  arrive() {
    const node = this.marks[this.chosen]?.[0] ?? this.options[this.chosen]
    const { top, bottom } = node.getBoundingClientRect()
    if (top < 0 || bottom > window.innerHeight) node.scrollIntoView({ block: "center" })
  }

  bringIntoView() {
    if (this.chosen === null) return
    reveal(this.answer, this.marks[this.chosen][0])
    reveal(this.list, this.options[this.chosen])
    this.revealEvidence()
  }

  revealEvidence() {
    const passage = this.namedInReason()
    reveal(
      this.passages,
      passage?.querySelector("mark") ?? passage ?? this.passages.querySelector("mark") ?? this.passages.querySelector(".named"),
    )
  }

  // The first passage that the reason of the chosen statement mentions; undefined if it mentions none.
  namedInReason() {
    const rank = /\bpassage (\d+)/i.exec(this.shown()?.reason ?? "")?.[1]
    const place = this.data.passages.findIndex((passage) => String(passage.rank) === rank)
    return place < 0 ? undefined : this.passages.children[place]
  }

  // The chosen citation or statement, or nothing.
  shown() {
    if (this.cited !== null) return this.data.citations[this.cited]
    return this.chosen === null ? null : this.data.statements[this.chosen]
  }

  deselect(place) {
    this.options[place].setAttribute("aria-selected", "false")
    this.options[place].querySelector(".excerpt").remove()
    this.list.removeAttribute("aria-activedescendant")
    for (const mark of this.marks[place]) this.dress(mark, mark.worst)
  }

  select(place) {
    const option = this.options[place]
    option.setAttribute("aria-selected", "true")
    option.querySelector(".said").append(this.excerpt(this.data.statements[place]))
    this.list.setAttribute("aria-activedescendant", option.id)
    for (const mark of this.marks[place]) this.dress(mark, place, true)
  }

  // For narrow screens: short evidence below the statement.
  excerpt(statement) {
    const box = element("div", `excerpt ${statement.verdict}`)
    box.append(element("div", "says", statement.says))
    const found = statement.evidence.find((evidence) => evidence.marks.length)
    if (!found) return box
    const { text } = this.data.passages.find((passage) => passage.rank === found.rank)
    const [mark] = found.marks
    const from = cut(text, mark.start - GLIMPSE)
    const to = cut(text, Math.min(mark.end, mark.start + 3 * GLIMPSE) + GLIMPSE)
    const quote = element("div", "quote", from > 0 ? "… " : "")
    fill(quote, text, [mark], evidenceMark, Math.min(from, mark.start), to)
    if (to < text.length) quote.append(" …")
    box.append(quote)
    return box
  }

  draw() {
    const shown = this.shown()
    this.drawBanner(shown)
    const evidence = new Map(shown?.evidence.map((found) => [found.rank, found]))
    this.passages.classList.toggle("pointed", evidence.size > 0)
    const drawn = this.data.passages.map((passage) => this.passage(passage, evidence.get(passage.rank)))
    this.passages.replaceChildren(...drawn)
  }

  drawBanner(shown) {
    this.banner.className = `banner ${shown?.verdict ?? "none"}`
    if (!shown) {
      const hint = this.options.length ? "Click a statement to see its evidence" : "No statements to show"
      const selected = this.data.passages.reduce((sum, passage) => sum + passage.selected.length, 0)
      const helping = selected === 1 ? "the sentence that helps" : `${selected} sentences that help`
      return this.banner.replaceChildren(selected ? `${hint}. Underlined: ${helping} answer the question` : hint)
    }
    const icon = shown.icon ?? this.data.verdicts[shown.verdict].icon
    const says = element("span", "says", shown.says)
    this.banner.replaceChildren(element("span", "icon", icon), says)
    if (shown.support) this.banner.append(element("span", "support", shown.support))
  }

  passage(passage, evidence) {
    const node = element("article", evidence ? `passage named ${evidence.look}` : "passage")
    const head = element("div", "source")
    if (passage.title) {
      head.append(element("h3", "", passage.title))
      head.firstChild.title = passage.title
    }
    if (passage.score) head.append(element("span", "score", passage.score))
    if (evidence) {
      const { icon } = this.data.verdicts[evidence.look]
      head.append(element("span", "how", `${icon} ${evidence.how}`.trim()))
    }
    const body = element("div", "body")
    body.append(head, ...this.passageText(passage, evidence?.marks ?? []))
    node.append(element("span", "rank", passage.rank), body)
    return node
  }

  passageText(passage, marks) {
    const { text, rank, selected } = passage
    const [from, to] = this.unfolded.has(rank) ? [0, text.length] : this.window(text, marks)
    const node = element("div", "text", from > 0 ? "… " : "")
    if (this.shown() === null) fill(node, text, selected, selectedMark, from, to)
    else fill(node, text, marks, evidenceMark, from, to)
    if (to < text.length) node.append(" …")
    return text.length > CLIP ? [node, this.unfold(passage)] : [node]
  }

  // The part of a text that is shown: its beginning or, if the evidence is further down, the text around it.
  window(text, marks) {
    if (text.length <= CLIP) return [0, text.length]
    const last = marks.at(-1)
    if (!last || last.end <= CLIP) return [0, cut(text, CLIP)]
    const from = Math.min(cut(text, marks[0].start - AROUND), marks[0].start)
    return [from, cut(text, last.end + AROUND)]
  }

  unfold({ rank, text }) {
    const open = this.unfolded.has(rank)
    const button = element("button", "", open ? "Show less" : `Show all ${text.length.toLocaleString("en")} characters`)
    button.type = "button"
    button.setAttribute("aria-expanded", String(open))
    button.setAttribute("aria-label", `${button.textContent} of passage ${rank}`)
    button.onclick = () => {
      if (!this.unfolded.delete(rank)) this.unfolded.add(rank)
      const place = this.data.passages.findIndex((passage) => passage.rank === rank)
      this.draw()
      this.passages.children[place].querySelector("button").focus({ preventScroll: true })
    }
    return button
  }
}

export default function (component) {
  const { data, parentElement, setStateValue } = component
  const { chosen, ...content } = data
  const fingerprint = JSON.stringify(content)
  let reader = readers.get(parentElement)
  if (reader?.fingerprint !== fingerprint) {
    reader = new Reader(parentElement.querySelector("#reader"), content)
    reader.fingerprint = fingerprint
    readers.set(parentElement, reader)
  }
  reader.tell = (place) => setStateValue("chosen", place)
  const arrives = reader.chosen === null && chosen !== null && reader.unconfirmed === undefined
  reader.follow(chosen)
  if (arrives) reader.arrive()
}
