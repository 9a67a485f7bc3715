// The comparison: metrics down, policies across, the best value of each marked.
import { element } from './frame.js'
import * as format from './format.js'

const groups = [
  ['Training', /^(throughput|iteration|mfu|communication|gpu_busy)/],
  ['Jobs', /^(jct|queue|slowdown|makespan|jobs|fairness)/],
  ['Cluster', /^(gpu_utilization|fragmentation|reserved|preemptions|restarts|lost|goodput|predictor|decision)/],
  ['Placement', /^(spread|diffusion)/],
  ['Network', /^(traffic|link)/]
]

function cell (data, metric, name, best) {
  const value = data.result.policies[name].metrics[metric.key]
  const against = data.result.policies[data.result.baseline].metrics[metric.key]
  const made = element('td', {
    class: best.has(name) ? 'best' : undefined, 'data-metric': metric.key, 'data-policy': name,
    'data-value': value ?? ''
  }, format.metric(metric.key, value))
  if (best.has(name)) made.append(element('span', { 'aria-label': 'best' }, ' ★'))
  if (name === data.result.baseline) made.append(element('small', {}, 'baseline'))
  else if (value !== null && against) {
    const ratio = value / against
    const gain = metric.better === 'neither' || Math.abs(ratio - 1) < 5e-4
      ? '' : (metric.better === 'higher') === (ratio > 1) ? 'up' : 'down'
    made.append(element('small', { class: gain }, `${ratio.toFixed(3)}×`))
  }
  return made
}

/** Policies with the best value, where not all are the same. */
function bestOf (data, metric) {
  const names = Object.keys(data.result.policies)
  const values = names.map((name) => data.result.policies[name].metrics[metric.key])
  const known = values.filter((value) => value !== null)
  if (metric.better === 'neither' || known.length < 2) return new Set()
  const best = metric.better === 'higher' ? Math.max(...known) : Math.min(...known)
  if (known.every((value) => value === best)) return new Set()
  return new Set(names.filter((_, at) => values[at] === best))
}

export function comparison (data) {
  const names = Object.keys(data.result.policies)
  const shown = data.catalog.metrics.filter((metric) =>
    names.some((name) => data.result.policies[name].metrics[metric.key] !== null))
  const body = element('tbody')
  for (const [title, pattern] of groups) {
    const members = shown.filter((metric) => pattern.test(metric.key))
    if (!members.length) continue
    body.append(element('tr', { class: 'part' },
      element('th', { scope: 'rowgroup', colspan: names.length + 1 }, title)))
    for (const metric of members) {
      const best = bestOf(data, metric)
      body.append(element('tr', {},
        element('th', { scope: 'row', title: metric.summary }, metric.title),
        ...names.map((name) => cell(data, metric, name, best))))
    }
  }
  return element('section', { id: 'comparison', class: 'wide comparison' },
    element('h2', {}, 'Comparison'),
    element('p', {}, `Every metric that has a meaning here, with its ratio to the baseline, ${data.result.baseline}. ` +
      '★ marks the best value. Point at a metric for its definition.'),
    element('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'comparison' },
      element('table', {}, element('thead', {}, element('tr', {}, element('th', { scope: 'col' }, 'metric'),
        ...names.map((name) => element('th', { scope: 'col' }, name)))), body)))
}
