// The page: reads its data, puts the cards in order, keeps the theme.
import * as echarts from 'echarts/core'
import { BarChart, CustomChart, HeatmapChart, LineChart, LinesChart, ScatterChart } from 'echarts/charts'
import { AxisPointerComponent, DataZoomComponent, GridComponent, LegendComponent, TooltipComponent, VisualMapComponent } from 'echarts/components'
import { CanvasRenderer, SVGRenderer } from 'echarts/renderers'
import { comparison } from './comparison.js'
import { charts, drawAll, element, exported, redraw, watch } from './frame.js'
import * as format from './format.js'
import { iteration, whySlow } from './iteration.js'
import { completionTimes, gantt, overTime } from './jobs.js'
import { groups, topology } from './placement.js'
import { heatMap, pareto, settings } from './sweep.js'
import { validation } from './validation.js'

echarts.use([BarChart, CustomChart, HeatmapChart, LineChart, LinesChart, ScatterChart, AxisPointerComponent,
  DataZoomComponent, GridComponent, LegendComponent, TooltipComponent, VisualMapComponent, CanvasRenderer, SVGRenderer])

const data = JSON.parse(document.getElementById('data').textContent)

function theme (wanted) {
  const dark = wanted === 'dark' || (wanted === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches)
  document.documentElement.dataset.theme = dark ? 'dark' : 'light'
}

function themeButton () {
  let wanted = 'auto'
  const button = element('button', { type: 'button', id: 'theme' })
  const show = () => { button.textContent = `Theme: ${wanted}` }
  const apply = () => { theme(wanted); show(); redraw() }
  button.addEventListener('click', () => {
    wanted = { auto: 'light', light: 'dark', dark: 'auto' }[wanted]
    apply()
  })
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', apply)
  theme(wanted)
  show()
  return button
}

const tile = (title, value, note) => element('div', { class: 'tile' }, element('span', {}, title),
  element('strong', {}, value), element('small', {}, note ?? ''))

function tiles () {
  if (data.sweep) {
    return [tile('Points', String(data.sweep.points), `${data.sweep.settings.length} settings × seeds`),
      tile('Axes', String(data.sweep.axes.length)), tile('Judged by', data.catalog.metrics.find(({ key }) => key === data.sweep.judged_by)?.title ?? '–'),
      tile('Baseline', data.sweep.baseline)]
  }
  const { result, verdict } = data
  const names = Object.keys(result.policies)
  const out = []
  if (verdict) {
    const best = result.policies[verdict.winner].metrics[verdict.metric]
    const base = result.policies[verdict.against].metrics[verdict.metric]
    const title = data.catalog.metrics.find(({ key }) => key === verdict.metric).title
    out.push(tile('Winner', verdict.winner, verdict.ties.length ? `tied with ${verdict.ties.join(', ')}` : `of ${names.length} policy sets`))
    out.push(tile(title, format.metric(verdict.metric, best), base ? `${(best / base).toFixed(3)}× of ${verdict.against}` : ''))
  }
  if (data.jobs) out.push(tile('Jobs', data.jobs.gpus.length.toLocaleString('en'), `${Math.max(...data.jobs.gpus).toLocaleString('en')} GPUs the largest`))
  const fabric = data.detail?.fabric
  if (fabric) out.push(tile('Cluster', `${fabric.minipods.gpus.reduce((sum, gpus) => sum + gpus, 0).toLocaleString('en')} GPUs`, `${fabric.minipods.name.length} minipods, ${fabric.switches.name.length} switches${fabric.occupied_gpus ? `, ${fabric.occupied_gpus} GPUs held by others` : ''}`))
  return out
}

function head () {
  const about = data.sweep ?? data.result
  document.getElementById('head').append(
    element('div', { class: 'brand' }, element('span', { html: `<b>Railyard</b> ${format.text(about.railyard)}` }), themeButton()),
    element('h1', {}, data.sweep ? data.sweep.name : data.result.scenario),
    element('p', { class: 'lead' }, about.description),
    element('div', { class: 'tiles' }, ...tiles()))
  const sentences = (list, kind) => list.length && document.getElementById('head').append(
    element('div', { class: `verdict ${kind}` }, ...list.map((line) => element('p', {}, line))))
  sentences(data.why ?? [], '')
  sentences(data.warnings ?? [], 'warnings')
  sentences(data.result?.notes ?? [], '')
  document.getElementById('made').textContent = data.sweep
    ? `Sweep ${data.sweep.name}, ${data.sweep.points} points.`
    : `Scenario ${data.result.scenario}, seed ${data.result.seed}, digest ${data.result.digest}. Every number is simulated.`
}

function body () {
  const wanted = data.sweep
    ? [heatMap, pareto, settings]
    : [comparison, whySlow, groups, iteration, topology, overTime, completionTimes, gantt]
  const page = document.getElementById('page')
  const list = element('ul')
  for (const make of [...wanted, validation]) {
    const section = make(data)
    if (!section) continue
    page.append(section)
    list.append(element('li', {}, element('a', { href: `#${section.id}` }, section.querySelector('h2').textContent)))
  }
  document.getElementById('contents').append(list)
  const lone = page.querySelectorAll('section:not(.wide)')
  if (lone.length % 2) lone[lone.length - 1].classList.add('wide')
  if (!data.detail && data.result) {
    page.append(element('section', { class: 'wide' }, element('p', {},
      'Charts of placements, links and time need detail.json beside result.json: railyard run … --out DIR writes both.')))
  }
}

head()
body()
watch()
// For those who want the numbers behind a chart.
window.railyard = { data, charts, drawAll }
// `railyard report --export` opens the page so, and takes what is left in it.
if (location.hash === '#export') {
  exported().then((list) => {
    document.body.replaceChildren(element('pre', { id: 'exported' }, btoa(unescape(encodeURIComponent(JSON.stringify(list))))))
  })
}
