// The chart of a metric over time. Shapes stretch with the page, labels do not.

function drawn({ tag, title, ...attributes }) {
  const node = shape(tag, attributes)
  if (title) node.append(shape("title", {}, title))
  return node
}

function label({ text, title, class: className, ...place }) {
  const node = element("span", className, text)
  if (title) node.title = title
  Object.assign(node.style, place)
  return node
}

export default function (component) {
  const { data, parentElement } = component
  const root = parentElement.querySelector("#trend")
  root.setAttribute("role", "img")
  root.setAttribute("aria-label", data.name)
  const picture = shape("svg", { viewBox: `0 0 ${data.width} ${data.height}`, preserveAspectRatio: "none", "aria-hidden": "true" })
  picture.append(...data.shapes.map(drawn))
  const plot = element("div", "plot")
  plot.append(picture, ...data.labels.map(label))
  const dates = element("div", "dates")
  dates.append(...data.dates.map(label))
  root.replaceChildren(plot, dates)
}
