// The distribution of a column as histogram, violin or ECDF, with the mean and its interval. Dragging over the chart
// chooses a range.

const HEIGHT = 266
const EDGE = { left: 46, right: 10, top: 38, bottom: 40 } // above the chart: the title of the y axis and, below it, the mean
const FLOOR = HEIGHT - EDGE.bottom
const MIN_DRAG = 4 // pixels; a shorter drag does not choose a range

function ticks(low, high, count, whole = false) {
  const rough = Math.max((high - low) / count, whole ? 1 : 0)
  const unit = 10 ** Math.floor(Math.log10(rough))
  const step = (whole ? [1, 2, 5, 10] : [1, 2, 2.5, 5, 10]).map((times) => times * unit).find((one) => one >= rough)
  const found = []
  for (let place = Math.ceil(low / step - 1e-9); place * step <= high + step * 1e-9; place++) found.push(place * step)
  return found
}

function number(value) {
  return (value + 0).toLocaleString("en", { maximumSignificantDigits: 6 })
}

function axes(svg, data, x, y, width) {
  for (const at of ticks(data.low, data.high, Math.max(3, Math.min(8, width / 90)))) {
    svg.append(shape("line", { x1: x(at), x2: x(at), y1: EDGE.top, y2: FLOOR, class: "grid" }))
    svg.append(shape("text", { x: x(at), y: FLOOR + 16, "text-anchor": "middle" }, number(at)))
  }
  svg.append(shape("text", { x: (x(data.low) + x(data.high)) / 2, y: HEIGHT - 5, class: "title", "text-anchor": "middle" }, data.x))
  if (data.top === null) return
  for (const at of ticks(0, data.top, 4, data.whole)) {
    svg.append(shape("line", { x1: EDGE.left, x2: width - EDGE.right, y1: y(at), y2: y(at), class: "grid" }))
    svg.append(shape("text", { x: EDGE.left - 6, y: y(at) + 4, "text-anchor": "end" }, data.percent ? `${Math.round(at * 100)}%` : number(at)))
  }
  svg.append(shape("text", { x: EDGE.left, y: 12 }, data.y))
}

function histogram(svg, data, x, y) {
  for (const bin of data.bins) {
    const left = x(bin.low) + 1
    svg.append(shape("rect", { x: left, y: y(bin.count), width: Math.max(1, x(bin.high) - 1 - left), height: FLOOR - y(bin.count), class: "bar" }))
  }
}

function ecdf(svg, data, x, y) {
  const last = data.quantiles.length - 1
  const path = data.quantiles.map((value, place) => `${place ? `H${x(value)}V` : `M${x(value)},`}${y(place / last)}`).join("")
  svg.append(shape("path", { d: path, class: "curve" }))
}

function violin(svg, data, x) {
  const middle = (EDGE.top + FLOOR) / 2
  const half = (FLOOR - EDGE.top) / 2.2
  const rim = (side) => data.density.map(([value, share]) => `${x(value)},${middle + side * half * share}`)
  svg.append(shape("polygon", { points: [...rim(-1), ...rim(1).reverse()].join(" "), class: "body" }))
  const [low, median, high] = data.quartiles
  svg.append(shape("rect", { x: x(low), y: middle - 12, width: Math.max(1, x(high) - x(low)), height: 24, class: "box" }))
  svg.append(shape("line", { x1: x(median), x2: x(median), y1: middle - 12, y2: middle + 12, class: "curve" }))
}

const SHAPES = { Histogram: histogram, Violin: violin, ECDF: ecdf }

function mean(svg, data, x, width) {
  if (data.mean === null) return
  if (data.interval) {
    const [low, high] = data.interval
    svg.append(shape("rect", { x: x(low), y: EDGE.top, width: x(high) - x(low), height: FLOOR - EDGE.top, class: "band" }))
  }
  svg.append(shape("line", { x1: x(data.mean), x2: x(data.mean), y1: EDGE.top, y2: FLOOR, class: "mean" }))
  const at = Math.min(Math.max(x(data.mean), EDGE.left + 40), width - EDGE.right - 40)
  svg.append(shape("text", { x: at, y: 30, class: "title", "text-anchor": "middle" }, data.text))
}

function threshold(svg, data, x, width) {
  if (!data.threshold) return
  const at = x(data.threshold.at)
  const left = at > width / 2
  svg.append(shape("line", { x1: at, x2: at, y1: EDGE.top, y2: FLOOR, class: "limit" }))
  svg.append(shape("text", { x: at + (left ? -5 : 5), y: EDGE.top + 12, class: "title", "text-anchor": left ? "end" : "start" }, data.threshold.text))
}

function veil(svg, data, x) {
  if (!data.chosen) return
  for (const [low, high] of [[data.low, data.chosen[0]], [data.chosen[1], data.high]]) {
    if (high > low) svg.append(shape("rect", { x: x(low), y: EDGE.top, width: x(high) - x(low), height: FLOOR - EDGE.top, class: "outside" }))
  }
}

function addBrush(svg, data, x, choose) {
  const layer = shape("g", { class: "hold" })
  for (const bin of data.bins) {
    const node = shape("rect", { x: x(bin.low), y: EDGE.top, width: x(bin.high) - x(bin.low), height: FLOOR - EDGE.top })
    node.append(shape("title", {}, bin.text))
    layer.append(node)
  }
  svg.append(layer)
  const brush = shape("rect", { y: EDGE.top, height: FLOOR - EDGE.top, class: "brush", visibility: "hidden" })
  svg.append(brush)
  const within = (event) => Math.min(x(data.high), Math.max(x(data.low), event.clientX - svg.getBoundingClientRect().left))
  let from = null
  layer.addEventListener("pointerdown", (event) => {
    from = within(event)
    layer.setPointerCapture(event.pointerId)
  })
  layer.addEventListener("pointermove", (event) => {
    if (from === null) return
    const to = within(event)
    brush.setAttribute("x", Math.min(from, to))
    brush.setAttribute("width", Math.abs(to - from))
    brush.setAttribute("visibility", "visible")
  })
  layer.addEventListener("pointerup", (event) => {
    const ends = [from, within(event)].sort((a, b) => a - b)
    from = null
    brush.setAttribute("visibility", "hidden")
    if (ends[1] - ends[0] >= MIN_DRAG) choose(ends.map((at) => data.low + ((at - x(data.low)) / (x(data.high) - x(data.low))) * (data.high - data.low)))
  })
  layer.addEventListener("pointercancel", () => {
    from = null
    brush.setAttribute("visibility", "hidden")
  })
}

function draw(box, data, choose) {
  const width = Math.max(200, box.clientWidth)
  const svg = shape("svg", { width, height: HEIGHT, role: "img", "aria-label": data.name })
  const x = (value) => EDGE.left + ((value - data.low) / (data.high - data.low)) * (width - EDGE.left - EDGE.right)
  const y = (value) => FLOOR - (value / data.top) * (FLOOR - EDGE.top)
  axes(svg, data, x, y, width)
  SHAPES[data.shape](svg, data, x, y)
  mean(svg, data, x, width)
  threshold(svg, data, x, width)
  veil(svg, data, x)
  addBrush(svg, data, x, choose)
  box.replaceChildren(svg)
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const box = parentElement.querySelector("#shapes")
  box.className = "spread"
  const redraw = () => draw(box, data, (range) => setTriggerValue("brush", range))
  redraw()
  let width = box.clientWidth
  const observer = new ResizeObserver(() => {
    if (box.clientWidth === width) return
    width = box.clientWidth
    redraw()
  })
  observer.observe(box)
  return () => observer.disconnect()
}
