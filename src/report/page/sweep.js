// A sweep: a metric over two of its axes, and what one metric costs in another.
import { card, charts, choice, element, table } from './frame.js'
import { colour, heat, inkOn, narrow } from './look.js'
import * as format from './format.js'

const redraw = (id) => () => charts.get(id).draw()
const shown = (value) => value === null ? 'as is' : typeof value === 'string' ? value : JSON.stringify(value)
const short = (axis) => axis.split(' ')[0].split('/').slice(-2).join('/')

function metricsOf (data) {
  const some = data.sweep.settings.flatMap(({ policies }) => Object.values(policies))
  return data.catalog.metrics.filter(({ key }) => some.some((values) => values[key]))
}
const policiesOf = (data) => [...new Set(data.sweep.settings.flatMap(({ policies }) => Object.keys(policies)))]

/** Values of an axis: numbers ascending, others as they came. */
function valuesOf (settings, axis) {
  const seen = new Map(settings.map(({ values }) => [shown(values[axis]), values[axis]]))
  const list = [...seen.entries()]
  if (list.every(([, value]) => typeof value === 'number')) list.sort((a, b) => a[1] - b[1])
  return list.map(([text]) => text)
}

function mix (palette, share) {
  const at = Math.min(palette.length - 1.001, Math.max(0, share * (palette.length - 1)))
  const [low, high] = [palette[Math.floor(at)], palette[Math.floor(at) + 1]]
  const part = at - Math.floor(at)
  return '#' + [1, 3, 5].map((from) => Math.round(parseInt(low.slice(from, from + 2), 16) * (1 - part) +
    parseInt(high.slice(from, from + 2), 16) * part).toString(16).padStart(2, '0')).join('')
}

/** Means over the settings that agree in two axes. */
export function cells (data, { x, y, policy, metric, ratio }) {
  const { settings, baseline } = data.sweep
  const found = new Map()
  for (const setting of settings) {
    const own = setting.policies[policy]?.[metric]?.mean
    const against = setting.policies[baseline]?.[metric]?.mean
    const value = ratio ? (against ? own / against : null) : own
    if (value === null || value === undefined) continue
    const key = JSON.stringify([shown(setting.values[x]), y === x ? '' : shown(setting.values[y])])
    const cell = found.get(key) ?? { sum: 0, settings: [], runs: 0 }
    cell.sum += value
    cell.runs += setting.points.length
    cell.settings.push(setting)
    found.set(key, cell)
  }
  return [...found].map(([key, cell]) => ({ at: JSON.parse(key), mean: cell.sum / cell.settings.length, ...cell }))
}

/** The first metric that varies under some policy set, and the set under which it varies most. */
function liveliest (data, policies, keys) {
  for (const key of keys) {
    const spreads = policies.map((policy) => {
      const means = data.sweep.settings.map((setting) => setting.policies[policy]?.[key]?.mean).filter((mean) => mean !== undefined)
      return { policy, key, spread: Math.max(...means) - Math.min(...means) }
    }).filter(({ spread }) => spread > 0)
    if (spreads.length) return spreads.reduce((most, one) => one.spread > most.spread ? one : most)
  }
  return { policy: policies[0], key: keys[0] }
}

export function heatMap (data) {
  if (!data.sweep?.axes.length) return null
  const { axes, settings, baseline } = data.sweep
  const wide = axes.map((_, at) => [at, valuesOf(settings, at).length]).filter(([, count]) => count > 1).map(([at]) => at)
  if (!wide.length) return null
  const policies = policiesOf(data)
  const metrics = metricsOf(data)
  const names = axes.map((axis, at) => [at, short(axis)])
  const x = choice('Across', names, redraw('heat'))
  const y = choice('Down', names, redraw('heat'))
  const policy = choice('Policy set', policies.map((name) => [name, name]), redraw('heat'))
  const metric = choice('Metric', metrics.map(({ key, title }) => [key, title]), redraw('heat'))
  const form = choice('As', [['value', 'value'], ['ratio', `ratio to ${baseline}`]], redraw('heat'))
  x.select.value = wide[0]
  y.select.value = wide[1] ?? wide[0]
  const first = liveliest(data, policies, [data.sweep.judged_by, ...metrics.map(({ key }) => key)].filter(Boolean))
  policy.select.value = first.policy
  metric.select.value = first.key
  const chosen = () => cells(data, { x: Number(x.value), y: Number(y.value), policy: policy.value, metric: metric.value, ratio: form.value === 'ratio' })
  const print = (value) => form.value === 'ratio' ? `${value.toFixed(3)}×` : format.metric(metric.value, value)
  return card({
    id: 'heat', wide: true, title: 'The sweep as a map',
    about: 'The mean of a metric over seeds and over the axes that are not shown.',
    tools: [x.node, y.node, policy.node, metric.node, form.node],
    height: () => Math.min(700, 110 + 40 * Math.max(3, valuesOf(settings, Number(y.value)).length)),
    draw: (look) => {
      const across = valuesOf(settings, Number(x.value))
      const down = x.value === y.value ? [''] : valuesOf(settings, Number(y.value))
      const found = chosen()
      const means = found.map(({ mean }) => mean)
      const [least, most] = [Math.min(...means), Math.max(...means)]
      const palette = heat()
      const shade = (value) => mix(palette, most > least ? (value - least) / (most - least) : 0.5)
      const width = document.getElementById('heat').clientWidth / across.length
      return {
        label: `${metric.value} of ${policy.value}, from ${print(least)} to ${print(most)}`,
        keys: [0, 0.5, 1].map((share) => [shade(least + share * (most - least)), print(least + share * (most - least))]),
        option: {
          grid: { left: 8, right: 12, top: 8, bottom: 34, containLabel: true },
          xAxis: { type: 'category', data: across, name: short(axes[x.value]), nameLocation: 'middle', nameGap: 26, ...look.axis },
          yAxis: { type: 'category', inverse: true, data: down, name: x.value === y.value ? '' : short(axes[y.value]), ...look.axis, nameTextStyle: { color: look.soft, align: 'left' }, nameLocation: 'start', axisLabel: { ...look.axis.axisLabel, width: narrow() ? 70 : 180, overflow: 'truncate' } },
          tooltip: {
            ...look.option.tooltip, formatter: ({ data: item }) => {
              const cell = item.cell
              const one = cell.settings.length === 1 ? cell.settings[0].policies[policy.value][metric.value] : null
              return `${short(axes[x.value])} ${format.text(cell.at[0])}${x.value === y.value ? '' : `<br>${short(axes[y.value])} ${format.text(cell.at[1])}`}<br><b>${print(cell.mean)}</b>, mean of ${cell.runs} runs` +
                (one?.half_width && form.value === 'value' ? `<br>95 % of means within ± ${format.metric(metric.value, one.half_width)}` : '')
            }
          },
          series: [{
            type: 'heatmap', name: metric.value, label: { show: width > 62, fontSize: 11.5, formatter: ({ value }) => print(value[2]) },
            itemStyle: { borderColor: look.card, borderWidth: 2, borderRadius: 3 },
            data: found.map((cell) => ({ cell, value: [across.indexOf(cell.at[0]), down.indexOf(cell.at[1]), cell.mean], itemStyle: { color: shade(cell.mean) }, label: { color: inkOn(shade(cell.mean)) } }))
          }]
        }
      }
    },
    rows: () => ({
      heads: [short(axes[x.value]), short(axes[y.value]), 'mean', 'runs'],
      rows: chosen().map((cell) => [...(x.value === y.value ? [cell.at[0], '–'] : cell.at), print(cell.mean), cell.runs])
    })
  })
}

/** Points that no other beats in one metric without losing in the other. `signs`: 1 where more is better. */
export function front (points, signs) {
  const order = points.map((point, at) => ({ point, at, x: signs[0] * point[0], y: signs[1] * point[1] }))
    .sort((a, b) => b.x - a.x || b.y - a.y)
  const out = []
  let best = -Infinity
  let before = null
  for (const one of order) {
    const same = before && before.x === one.x && before.y === one.y
    if (one.y > best || (same && out.at(-1) === before.at)) {
      out.push(one.at)
      best = Math.max(best, one.y)
      before = one
    }
  }
  return out
}

export function pareto (data) {
  if (!data.sweep || data.sweep.settings.length < 2) return null
  const metrics = metricsOf(data).filter(({ better }) => better !== 'neither')
  if (metrics.length < 2) return null
  const names = metrics.map(({ key, title }) => [key, title])
  const x = choice('Across', names, redraw('pareto'))
  const y = choice('Up', names, redraw('pareto'))
  const wanted = (key) => metrics.some((metric) => metric.key === key)
  x.select.value = wanted(data.sweep.judged_by) ? data.sweep.judged_by : metrics[0].key
  y.select.value = ['gpu_utilization', 'queue_s_mean', 'communication_share_exposed', 'jct_s_p99', 'diffusion_weighted', metrics[1].key].find((key) => wanted(key) && key !== x.select.value)
  const policies = policiesOf(data)
  const points = () => data.sweep.settings.flatMap((setting, at) => policies
    .filter((name) => setting.policies[name]?.[x.value] && setting.policies[name]?.[y.value])
    .map((name) => ({ name, at, value: [setting.policies[name][x.value].mean, setting.policies[name][y.value].mean] })))
  const sign = (key) => metrics.find((metric) => metric.key === key).better === 'higher' ? 1 : -1
  const best = (all) => front(all.map(({ value }) => value), [sign(x.value), sign(y.value)])
  const setting = (at) => data.sweep.axes.map((axis, k) => `${short(axis)} ${shown(data.sweep.settings[at].values[k])}`).join(', ')
  return card({
    id: 'pareto', wide: true, title: 'What one metric costs in another',
    about: 'A point is a policy set under a setting, its mean over seeds. The line joins those that nothing beats in both metrics.',
    tools: [x.node, y.node], height: () => 420,
    draw: (look) => {
      const all = points()
      const members = best(all)
      const [titleX, titleY] = [x, y].map(({ value }) => metrics.find((metric) => metric.key === value).title)
      return {
        label: `${members.length} of ${all.length} points are on the front`,
        option: {
          legend: { ...look.legend, data: policies },
          grid: { left: 8, right: 24, top: 40, bottom: 36, containLabel: true },
          xAxis: { type: 'value', scale: true, name: titleX, nameLocation: 'middle', nameGap: 26, ...look.axis, axisLabel: { ...look.axis.axisLabel, formatter: (value) => format.metric(x.value, value) } },
          yAxis: { type: 'value', scale: true, name: titleY, ...look.axis, nameTextStyle: { color: look.soft, align: 'left' }, axisLabel: { ...look.axis.axisLabel, formatter: (value) => format.metric(y.value, value) } },
          tooltip: { ...look.option.tooltip, trigger: 'item', formatter: ({ data: item }) => item.name ? `<b>${format.text(item.name)}</b><br>${format.text(setting(item.at))}<br>${titleX}: ${format.metric(x.value, item.value[0])}<br>${titleY}: ${format.metric(y.value, item.value[1])}` : '' },
          series: [...policies.map((name, at) => ({
            name, type: 'scatter', symbol: ['circle', 'rect', 'triangle', 'diamond'][at % 4], symbolSize: all.length > 500 ? 6 : 9, color: colour(at),
            itemStyle: { opacity: 0.8 }, data: all.filter((point) => point.name === name)
          })), {
            name: 'front', type: 'line', symbol: 'none', silent: true, color: look.ink, lineStyle: { width: 1.4, type: 'dashed' },
            data: members.map((at) => all[at].value)
          }]
        }
      }
    },
    rows: () => {
      const all = points()
      return {
        heads: ['policy', 'setting', x.value, y.value],
        rows: best(all).map((at) => [all[at].name, setting(all[at].at), format.metric(x.value, all[at].value[0]), format.metric(y.value, all[at].value[1])])
      }
    }
  })
}

export function settings (data) {
  const { axes, settings: all, judged_by: key } = data.sweep
  const policies = policiesOf(data)
  const print = (entry) => !entry ? '–' : format.metric(key, entry.mean) + (entry.half_width ? ` ± ${format.metric(key, entry.half_width)}` : '')
  const title = data.catalog.metrics.find((metric) => metric.key === key)?.title ?? key
  return element('section', { id: 'settings', class: 'wide' },
    element('h2', {}, 'Settings'),
    element('p', {}, `${title} of every policy set: the mean over seeds, and where there are several the half width of its 95 % confidence interval.`),
    table(['setting', ...axes.map(short), 'runs', ...policies], all.map((setting, at) => [at, ...setting.values.map(shown), setting.points.length, ...policies.map((name) => print(setting.policies[name]?.[key]))])))
}
