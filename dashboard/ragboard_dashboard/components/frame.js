// Where the menu is a drawer, a page that is chosen in it closes it; what is opened is shown from its top; and where
// Streamlit says that its server is gone, the page says what to do.

const STOPPED =
  "The dashboard's server does not answer. If it was stopped, start it again with “ragboard serve”; this page then continues."

function attributes(selector, given) {
  for (const node of document.querySelectorAll(selector)) {
    for (const [name, value] of Object.entries(given)) {
      if (node.getAttribute(name) !== value) node.setAttribute(name, value)
    }
  }
}

function mend() {
  attributes("[data-testid=stLogoLink]", { "aria-label": "ragboard, all runs" })
  attributes("[data-testid=stExpandSidebarButton]", { "aria-label": "Menu" })
  attributes("[data-testid=stSidebarCollapseButton] button", { "aria-label": "Close the menu" })
  // Headings stand between the items of this list, which a list must not have.
  attributes("[data-testid=stSidebarNavItems], [data-testid=stSidebarNavItems] li", { role: "none" })
  for (const title of document.querySelectorAll("[role=dialog] [slot=title]")) {
    const said = title.nextElementSibling
    if (title.textContent === "Connection error" && said.textContent !== STOPPED) said.textContent = STOPPED
  }
}

let shown = null

export default function ({ data }) {
  // Streamlit keeps the place in a list when what was opened from it is drawn instead.
  if (shown !== null && shown !== data.shown) document.querySelector("[data-testid=stMain]")?.scrollTo({ top: 0 })
  shown = data.shown
  const close = (event) => {
    if (!event.target.closest("[data-testid=stSidebarNavLink]")) return
    setTimeout(() => document.querySelector("[data-testid=stSidebarCollapseButton] button")?.click())
  }
  document.addEventListener("click", close)
  const watch = new MutationObserver(mend)
  watch.observe(document.body, { childList: true, subtree: true })
  mend()
  return () => {
    document.removeEventListener("click", close)
    watch.disconnect()
  }
}
