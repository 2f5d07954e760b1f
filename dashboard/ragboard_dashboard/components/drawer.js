// Where the menu is a drawer, a page that is chosen in it closes it.

export default function () {
  const close = (event) => {
    if (!event.target.closest("[data-testid=stSidebarNavLink]")) return
    setTimeout(() => document.querySelector("[data-testid=stSidebarCollapseButton] button")?.click())
  }
  document.addEventListener("click", close)
  return () => document.removeEventListener("click", close)
}
