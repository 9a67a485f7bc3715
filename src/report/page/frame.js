// Cards: a heading, a sentence, the controls, a chart that is drawn when it comes into sight, and
// the same numbers as a table.
import * as echarts from 'echarts/core'
import { base } from './look.js'

export const charts = new Map() // id → { instance, draw, table }

export function element (name, attributes = {}, ...children) {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (key === 'html') made.innerHTML = value
    else if (key.startsWith('on')) made.addEventListener(key.slice(2), value)
    else if (value !== undefined && value !== false) made.setAttribute(key, value)
  }
  made.append(...children)
  return made
}

/** A choice of one of [value, text] as a labelled select. */
export function choice (label, values, changed) {
  const select = element('select', { onchange: () => changed() },
    ...values.map(([value, text]) => element('option', { value }, text)))
  return { node: element('label', {}, label, select), get value () { return select.value }, select }
}

export function table (heads, rows, most = 2000) {
  const body = element('tbody', {}, ...rows.slice(0, most).map((row) => element('tr', {},
    ...row.map((cell, at) => element(at ? 'td' : 'th', at ? {} : { scope: 'row' }, String(cell))))))
  const made = element('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'table' },
    element('table', {}, element('thead', {}, element('tr', {},
      ...heads.map((head) => element('th', { scope: 'col' }, head)))), body))
  if (rows.length <= most) return made
  return element('div', {}, made, element('p', {}, `The first ${most} of ${rows.length} rows.`))
}

/** Zoom and pan by keys, where the chart has an inside dataZoom. */
function keyboard (event, instance) {
  const zoom = instance.getOption()?.dataZoom?.[0]
  const moves = { '+': [0.25, -0.25], '-': [-0.5, 0.5], ArrowLeft: [-0.2, -0.2], ArrowRight: [0.2, 0.2] }
  const move = moves[event.key === '=' ? '+' : event.key]
  if (!zoom || !move) return
  event.preventDefault()
  const span = zoom.end - zoom.start
  let [start, end] = [zoom.start + move[0] * span, zoom.end + move[1] * span]
  if (move[0] === move[1]) {
    const back = Math.max(0, -start) - Math.max(0, end - 100)
    start += back
    end += back
  }
  instance.dispatchAction({ type: 'dataZoom', start: Math.max(0, start), end: Math.min(100, end) })
}

/**
 * parts: id, title, about, wide, tools (nodes), height(): pixels, draw(): { option, label, keys },
 * rows(): { heads, rows }, extra: a node below.
 */
export function card (parts) {
  const holder = element('div', { class: 'chart', tabindex: 0, role: 'img', 'aria-label': parts.title })
  const keys = element('ul', { class: 'keys' })
  const tableHolder = element('div')
  const save = element('button', { type: 'button' }, 'Save PNG')
  const tools = element('div', { class: 'tools' }, ...(parts.tools ?? []), save)
  const numbers = element('details', {}, element('summary', {}, 'The numbers as a table'), tableHolder)
  const section = element('section', { id: parts.id, class: parts.wide ? 'wide' : '' },
    element('h2', {}, parts.title), element('p', {}, parts.about), tools, keys, holder, numbers)
  if (parts.extra) section.append(parts.extra)
  const chart = { instance: null, drawn: null }
  const fill = () => {
    if (!numbers.open) return
    const { heads, rows } = parts.rows()
    tableHolder.replaceChildren(table(heads, rows))
  }
  chart.draw = () => {
    if (parts.height) holder.style.height = `${parts.height()}px`
    const look = base()
    if (!chart.instance) {
      chart.instance = echarts.init(holder, null, { renderer: 'canvas' })
      new ResizeObserver(() => chart.instance.resize()).observe(holder)
      holder.addEventListener('keydown', (event) => keyboard(event, chart.instance))
    } else {
      chart.instance.resize()
    }
    const drawn = parts.draw(look)
    chart.drawn = drawn
    chart.instance.setOption({ ...look.option, ...drawn.option }, { notMerge: true })
    holder.setAttribute('aria-label', `${parts.title}. ${drawn.label}`)
    keys.replaceChildren(...(drawn.keys ?? []).map(([colour, text]) =>
      element('li', {}, element('i', { style: `background:${colour}` }), text)))
    fill()
  }
  chart.rows = parts.rows
  numbers.addEventListener('toggle', fill)
  save.addEventListener('click', () => {
    if (!chart.instance) chart.draw()
    const link = element('a', {
      download: `${parts.id}.png`,
      href: chart.instance.getDataURL({ pixelRatio: 2, backgroundColor: base().card })
    })
    link.click()
  })
  charts.set(parts.id, chart)
  return section
}

/** Draws what is in sight, now and as the reader scrolls. */
export function watch () {
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const chart = entry.isIntersecting && charts.get(entry.target.id)
      if (!chart) continue
      seen.unobserve(entry.target)
      if (!chart.instance) chart.draw()
    }
  }, { rootMargin: '300px' })
  for (const id of charts.keys()) seen.observe(document.getElementById(id))
}

export function redraw () {
  for (const chart of charts.values()) if (chart.instance) chart.draw()
}

export function drawAll () {
  for (const chart of charts.values()) chart.draw()
}

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

/** The keys of a chart, in lines below it: their SVG and how high it is. */
function keysBelow (keys, width, top, look) {
  const measure = document.createElement('canvas').getContext('2d')
  const font = look.option.textStyle.fontFamily
  measure.font = `12px ${font}`
  let [left, line] = [8, 0]
  const parts = keys.map(([colour, text]) => {
    const wide = 18 + measure.measureText(text).width
    if (left > 8 && left + wide > width) [left, line] = [8, line + 1]
    const y = top + 4 + 20 * line
    const part = `<rect x="${left}" y="${y}" width="12" height="12" fill="${escaped(colour)}"/><text x="${left + 17}" y="${y + 10.5}" font-size="12" font-family="${escaped(font)}" fill="${look.ink}">${escaped(text)}</text>`
    left += wide + 16
    return part
  })
  return { text: parts.join(''), height: keys.length ? 24 + 20 * line : 0 }
}

/** Without what only a reader's hand can use: sliders, and a legend that is turned like pages. */
function unattended (option) {
  const zooms = [option.dataZoom ?? []].flat().map((zoom) => ({ ...zoom, show: false }))
  const legend = option.legend && { ...option.legend, type: 'plain' }
  return { ...option, ...(zooms.length ? { dataZoom: zooms } : {}), ...(legend ? { legend } : {}) }
}

/** Every chart as SVG text and as a PNG of twice its size, with its keys. */
export async function exported () {
  const out = []
  for (const id of charts.keys()) document.getElementById(id).classList.add('wide')
  for (const [id, chart] of charts) {
    chart.draw()
    const look = base()
    const [width, height] = [chart.instance.getWidth(), chart.instance.getHeight()]
    const still = echarts.init(null, null, { renderer: 'svg', ssr: true, width, height })
    still.setOption({ ...look.option, ...unattended(chart.drawn.option) })
    const inner = still.renderToSVGString()
    still.dispose()
    const keys = keysBelow(chart.drawn.keys ?? [], width, height, look)
    const whole = height + keys.height
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="${width}" height="${whole}" viewBox="0 0 ${width} ${whole}"><rect width="${width}" height="${whole}" fill="${look.card}"/>${inner}${keys.text}</svg>`
    out.push({ id, svg, png: await pngOf(svg, width, whole) })
  }
  return out
}

async function pngOf (svg, width, height) {
  const image = new Image()
  image.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(svg)
  await image.decode()
  const canvas = element('canvas', { width: 2 * width, height: 2 * height })
  canvas.getContext('2d').drawImage(image, 0, 0, 2 * width, 2 * height)
  return canvas.toDataURL('image/png').split(',')[1]
}
