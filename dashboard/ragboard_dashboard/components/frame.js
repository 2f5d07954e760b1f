// Corrections of Streamlit's frame: a choice closes the drawer menu, a new item is scrolled to its top, and the message
// that the server does not answer says what to do. Links with the class `in-session` open in this session, by a
// click or with their key.

const STOPPED =
  "The dashboard's server does not answer. If it was stopped, start it again with “ragboard serve”; this page then continues."

const FIELDS = "input, textarea, select, [contenteditable]"

function attributes(selector, given) {
  for (const node of document.querySelectorAll(selector)) {
    for (const [name, value] of Object.entries(given)) {
      if (node.getAttribute(name) !== value) node.setAttribute(name, value)
    }
  }
}

function correct() {
  attributes("[data-testid=stLogoLink]", { "aria-label": "ragboard, all runs" })
  attributes("[data-testid=stExpandSidebarButton]", { "aria-label": "Menu" })
  attributes("[data-testid=stSidebarCollapseButton] button", { "aria-label": "Close the menu" })
  // The role `list` does not allow the headings between the items of this list.
  attributes("[data-testid=stSidebarNavItems], [data-testid=stSidebarNavItems] li", { role: "none" })
  for (const title of document.querySelectorAll("[role=dialog] [slot=title]")) {
    const message = title.nextElementSibling
    if (title.textContent === "Connection error" && message.textContent !== STOPPED) message.textContent = STOPPED
  }
}

let shown = null

// Streamlit shows the page of the URL after a step in the history, as for the browser's buttons. Its own function for
// other pages, `st.switch_page`, would first run the script of this page.
function go(href) {
  history.pushState(null, "", href)
  window.dispatchEvent(new PopStateEvent("popstate"))
}

export default function ({ data }) {
  // Streamlit keeps the scroll position when an item replaces the list that it was opened from.
  if (shown !== null && shown !== data.shown) document.querySelector("[data-testid=stMain]")?.scrollTo({ top: 0 })
  shown = data.shown
  const close = (event) => {
    if (!event.target.closest("[data-testid=stSidebarNavLink]")) return
    setTimeout(() => document.querySelector("[data-testid=stSidebarCollapseButton] button")?.click())
  }
  const open = (event) => {
    const link = event.composedPath().find((node) => node.matches?.("a.in-session"))
    if (!link || isForBrowser(event)) return
    event.preventDefault()
    go(link.href)
  }
  const press = (event) => {
    if (event.metaKey || event.ctrlKey || event.altKey || event.composedPath()[0].matches?.(FIELDS)) return
    document.querySelector(`a.in-session[aria-keyshortcuts="${CSS.escape(event.key)}"]`)?.click()
  }
  document.addEventListener("click", close)
  document.addEventListener("click", open)
  document.addEventListener("keydown", press)
  const watch = new MutationObserver(correct)
  watch.observe(document.body, { childList: true, subtree: true })
  correct()
  return () => {
    document.removeEventListener("click", close)
    document.removeEventListener("click", open)
    document.removeEventListener("keydown", press)
    watch.disconnect()
  }
}
