// One iteration of the largest job: what its time is made of, and one pipeline of it task by task.
import { card, charts, choice } from './frame.js'
import { causeColour, inkOn, narrow } from './look.js'
import * as format from './format.js'

const redraw = (id) => charts.get(id).draw()

export function whySlow (data) {
  const policies = Object.entries(data.result.policies).filter(([, policy]) => policy.metrics.attribution)
  if (!policies.length) return null
  const parts = data.catalog.parts.filter(({ key }) => policies.some(([, policy]) => policy.metrics.attribution[key] > 0))
  const total = (policy) => data.catalog.parts.reduce((sum, { key }) => sum + policy.metrics.attribution[key], 0)
  const [size, unit] = format.timeUnit(Math.max(...policies.map(([, policy]) => total(policy))))
  return card({
    id: 'why', title: 'Why an iteration takes that long',
    about: 'The critical path of one iteration of the largest job, cut into what it was spent on. Contention is what communication took beyond its time alone on the network.',
    height: () => 90 + Math.max(5, policies.length) * 34 + (narrow() ? 40 : 0),
    draw: (look) => ({
      label: policies.map(([name, policy]) => `${name}: ${format.seconds(total(policy))}`).join('; '),
      option: {
        legend: { ...look.legend },
        grid: { left: 8, right: 24, top: 36, bottom: 40, containLabel: true },
        xAxis: { type: 'value', name: unit, nameLocation: 'middle', nameGap: 24, ...look.axis },
        yAxis: { type: 'category', inverse: true, data: policies.map(([name]) => name), ...look.axis, axisLabel: { ...look.axis.axisLabel, color: look.ink, width: narrow() ? 80 : 160, overflow: 'truncate' } },
        tooltip: {
          ...look.option.tooltip, trigger: 'axis', axisPointer: { type: 'shadow' },
          formatter: (items) => {
            const policy = data.result.policies[items[0].name]
            const all = total(policy)
            return `<b>${format.text(items[0].name)}</b> ${format.seconds(all)}<br>` + items.filter(({ value }) => value > 0)
              .map(({ marker, seriesName, value }) => `${marker} ${seriesName} ${format.seconds(value * size)}, ${format.percent(value * size / all)}`).join('<br>')
          }
        },
        series: parts.map(({ key, title }) => ({
          id: key, name: title, type: 'bar', stack: 'time', color: causeColour(key), barMaxWidth: 26,
          data: policies.map(([, policy]) => policy.metrics.attribution[key] / size)
        }))
      }
    }),
    rows: () => ({
      heads: ['policy', 'iteration', ...parts.map(({ title }) => title)],
      rows: policies.map(([name, policy]) => [name, format.seconds(total(policy)), ...parts.map(({ key }) => format.seconds(policy.metrics.attribution[key]))])
    })
  })
}

const kindOf = (stream) => stream.replace(/ \(stream \d+\)/, '')
const order = ['compute', 'tensor', 'context', 'expert', 'pipeline', 'data']

/** A row a stage and kind of work, whatever the number of streams: [rows, row of every given row]. */
function sortedRows (timeline) {
  const keys = timeline.group.map((group, at) => JSON.stringify([group, kindOf(timeline.stream[at])]))
  const rows = [...new Set(keys)].map((key) => JSON.parse(key))
    .sort(([a, kind], [b, other]) => Number(a.match(/\d+/)) - Number(b.match(/\d+/)) ||
      order.indexOf(kind) - order.indexOf(other) || kind.localeCompare(other))
  const place = new Map(rows.map((row, at) => [JSON.stringify(row), at]))
  return [rows, keys.map((key) => place.get(key))]
}

export function iteration (data) {
  const timelines = Object.entries(data.detail?.timelines ?? {}).filter(([, timeline]) => timeline.bars.row.length)
  if (!timelines.length) return null
  const policy = choice('Policy set', timelines.map(([name]) => [name, name]), () => redraw('iteration'))
  const chosen = () => data.detail.timelines[policy.value]
  return card({
    id: 'iteration', wide: true, title: 'One iteration of one pipeline',
    about: 'Every task of tensor rank 0 and data rank 0 of each stage, from an idle network: computation, and below it communication. Zoom in to see single micro-batches.',
    tools: [policy.node],
    height: () => Math.min(900, 100 + sortedRows(chosen())[0].length * 19),
    draw: (look) => {
      const timeline = chosen()
      const [rows, place] = sortedRows(timeline)
      const end = timeline.bars.to_s.reduce((most, time) => Math.max(most, time), 0)
      const [size, unit] = format.timeUnit(end)
      const kinds = [...new Set(timeline.bars.category)].map((at) => timeline.texts[at])
      return {
        label: `${policy.value}: ${timeline.bars.row.length} tasks in ${format.seconds(end)}`,
        keys: kinds.map((kind) => [causeColour(kind), kind]),
        option: {
          grid: { left: 8, right: 16, top: 8, bottom: 58, containLabel: true },
          xAxis: { type: 'value', min: 0, max: end / size, name: unit, nameLocation: 'middle', nameGap: 24, ...look.axis },
          yAxis: { type: 'category', inverse: true, data: rows.map(([group, kind], at) => rows[at - 1]?.[0] === group ? kind : `${narrow() ? group.replace('ranks ', '') : group} · ${kind}`), ...look.axis, axisLabel: { ...look.axis.axisLabel, interval: 0, fontSize: 11 }, splitLine: { show: false } },
          dataZoom: [{ type: 'inside', xAxisIndex: 0, filterMode: 'weakFilter' }, { type: 'slider', xAxisIndex: 0, bottom: 4, height: 16, filterMode: 'weakFilter', borderColor: look.line, showDetail: false }],
          tooltip: {
            ...look.option.tooltip, trigger: 'item',
            formatter: ({ value }) => {
              const at = value[3]
              return `<b>${format.text(timeline.texts[timeline.bars.name[at]])}</b> (${timeline.texts[timeline.bars.category[at]]})<br>${format.text(timeline.group[timeline.bars.row[at]])}<br>` +
                `${format.seconds(timeline.bars.from_s[at])} to ${format.seconds(timeline.bars.to_s[at])}: ${format.seconds(timeline.bars.to_s[at] - timeline.bars.from_s[at])}`
            }
          },
          series: [{
            type: 'custom', name: 'tasks', clip: true, progressive: 4000, encode: { x: [0, 1], y: 2 },
            data: timeline.bars.row.map((row, at) => [timeline.bars.from_s[at] / size, timeline.bars.to_s[at] / size, place[row], at]),
            renderItem: (_, api) => {
              const from = api.coord([api.value(0), api.value(2)])
              const to = api.coord([api.value(1), api.value(2)])
              const height = Math.max(3, api.size([0, 1])[1] * 0.78)
              const fill = causeColour(timeline.texts[timeline.bars.category[api.value(3)]])
              return {
                type: 'rect',
                shape: { x: from[0], y: from[1] - height / 2, width: Math.max(0.5, to[0] - from[0]), height },
                style: { fill, stroke: inkOn(fill), lineWidth: to[0] - from[0] > 5 ? 0.4 : 0 }
              }
            }
          }]
        }
      }
    },
    rows: () => {
      const timeline = chosen()
      return {
        heads: ['ranks', 'task', 'cause', 'from', 'to'],
        rows: timeline.bars.row.map((row, at) => [timeline.group[row], timeline.texts[timeline.bars.name[at]], timeline.texts[timeline.bars.category[at]], format.seconds(timeline.bars.from_s[at]), format.seconds(timeline.bars.to_s[at])])
      }
    }
  })
}
