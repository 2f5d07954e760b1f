// Where the menu is a drawer, a page that is chosen in it closes it; and where Streamlit says that its server is gone,
// the page says what to do.

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
  attributes("[data-testid=stExpandSidebarButton]", { "aria-label": "Menu" })
  attributes("[data-testid=stSidebarCollapseButton] button", { "aria-label": "Close the menu" })
  // Headings stand between the items of this list, which a list must not have.
  attributes("[data-testid=stSidebarNavItems], [data-testid=stSidebarNavItems] li", { role: "none" })
  for (const dialog of document.querySelectorAll("[role=dialog]")) {
    const said = dialog.querySelector("[data-testid=stMarkdownContainer]")
    if (!said || !/Streamlit/.test(said.textContent) || !/Connection error/.test(dialog.textContent)) continue
    said.textContent = STOPPED
    dialog.querySelector("[data-testid=stCode]")?.remove()
  }
}

export default function () {
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
