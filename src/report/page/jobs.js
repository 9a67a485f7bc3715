// Many jobs: completion times, the cluster over time, who held which GPUs when.
import { card, charts, choice } from './frame.js'
import { colour, dash, narrow } from './look.js'
import * as format from './format.js'

const redraw = (id) => charts.get(id).draw()
const chosenJobs = (data, policy) => data.result.policies[policy].jobs

const classes = [[1, 1], [2, 8], [9, 64], [65, 512], [513, 4096], [4097, Infinity]]
const className = ([from, to]) => to === Infinity ? `more than ${from - 1} GPUs`
  : from === to ? '1 GPU' : `${from}–${to} GPUs`
export const classOf = (gpus) => classes.findIndex(([from, to]) => gpus >= from && gpus <= to)

/** Jobs that finished under every policy set: the population of the metrics. */
function common (data) {
  const all = Object.values(data.result.policies)
  return data.jobs.gpus.map((_, job) => job)
    .filter((job) => all.every((policy) => policy.jobs.finish_s[job] !== null))
}

/** [completion time, share of jobs that took no longer] of every policy, ascending. */
export function completion (data, wanted) {
  const members = common(data).filter((job) => wanted === 'all' || classOf(data.jobs.gpus[job]) === Number(wanted))
  return Object.entries(data.result.policies).map(([name, policy]) => {
    const times = members.map((job) => policy.jobs.finish_s[job] - data.jobs.submit_s[job]).sort((a, b) => a - b)
    return { name, points: times.map((time, at) => [time, (at + 1) / times.length]) }
  })
}

/** Steps are drawn at most so often: what more would add is narrower than a pixel. */
function thinned (points, most = 3000) {
  if (points.length <= most) return points
  const step = (points.length - 1) / (most - 1)
  return Array.from({ length: most }, (_, at) => points[Math.round(at * step)])
}

export function completionTimes (data) {
  if (!data.jobs || common(data).length < 2) return null
  const present = [...new Set(common(data).map((job) => classOf(data.jobs.gpus[job])))].sort((a, b) => a - b)
  const wanted = choice('Size of job', [['all', 'all sizes'],
    ...present.map((at) => [at, className(classes[at])])], () => redraw('completion'))
  const scale = choice('Time axis', [['log', 'logarithmic'], ['value', 'linear']], () => redraw('completion'))
  return card({
    id: 'completion', title: 'Job completion time',
    about: 'Share of the jobs that were done within a time of their submission, over the jobs that finished under every policy set.',
    tools: [wanted.node, scale.node],
    draw: (look) => {
      const curves = completion(data, wanted.value)
      const largest = Math.max(...curves.map(({ points }) => points.at(-1)?.[0] ?? 0))
      const [size, unit] = format.timeUnit(largest / 10)
      const floor = largest / size / 1e6
      return {
        label: curves.map(({ name, points }) => `${name}: half within ${format.seconds(points[Math.ceil(points.length / 2) - 1]?.[0])}`).join('; '),
        option: {
          legend: { ...look.legend },
          grid: { left: 52, right: 16, top: 36, bottom: 44 },
          xAxis: { type: scale.value, name: `completion time, ${unit}`, nameLocation: 'middle', nameGap: 26, ...look.axis },
          yAxis: { type: 'value', min: 0, max: 1, axisPointer: { show: false }, ...look.axis, axisLabel: { ...look.axis.axisLabel, formatter: (value) => `${Math.round(value * 100)} %` } },
          tooltip: {
            ...look.option.tooltip, trigger: 'item',
            formatter: ({ seriesName, value }) => `${format.text(seriesName)}<br>${format.percent(value[1])} within ${format.seconds(value[0] * size)}`
          },
          series: curves.map(({ name, points }, at) => ({
            name, type: 'line', step: 'end', showSymbol: false, triggerLineEvent: true,
            color: colour(at), lineStyle: { width: 2, type: dash(at) },
            data: thinned(points).map(([time, share]) => [scale.value === 'log' ? Math.max(floor, time / size) : time / size, share])
          }))
        }
      }
    },
    rows: () => ({
      heads: ['policy', 'jobs', '10 %', '50 %', '90 %', '95 %', '99 %', 'longest'],
      rows: completion(data, wanted.value).map(({ name, points }) => [name, points.length,
        ...[0.1, 0.5, 0.9, 0.95, 0.99, 1].map((share) => format.seconds(points[Math.ceil(points.length * share * (1 - 1e-12)) - 1]?.[0]))])
    })
  })
}

const curvesOverTime = [
  ['allocated_share', 'GPUs held by jobs', true], ['queued_jobs', 'jobs that wait', false],
  ['fragmentation', 'fragmentation', true]]

export function overTime (data) {
  const policies = Object.entries(data.detail?.policies ?? {}).filter(([, policy]) => policy.samples.t_s.length > 1)
  if (!policies.length) return null
  const names = Object.keys(data.result.policies)
  const end = Math.max(...policies.map(([, policy]) => policy.end_s))
  const [size, unit] = format.timeUnit(end / 4)
  const points = (policy, key) => {
    const { t_s: times } = policy.samples
    const values = policy.samples[key].map((value, at) => [times[at] / size, value])
    return [...values, [policy.end_s / size, values.at(-1)[1]]]
  }
  return card({
    id: 'time', wide: true, title: 'Utilisation, queue and fragmentation over time',
    about: 'Fragmentation is the share of free GPUs outside the largest gang of whole hosts of one minipod. Drag or use the wheel to zoom; + − and the arrows do on the keyboard.',
    height: () => 560,
    draw: (look) => ({
      label: policies.map(([name]) => `${name}: ${format.percent(data.result.policies[name].metrics.gpu_utilization)} of the GPUs held on average`).join('; '),
      option: {
        legend: { ...look.legend },
        axisPointer: { link: [{ xAxisIndex: 'all' }] },
        grid: curvesOverTime.map((_, at) => ({ left: 60, right: 18, top: 48 + at * 158, height: 122 })),
        xAxis: curvesOverTime.map((_, at) => ({ gridIndex: at, type: 'value', min: 0, max: end / size, ...look.axis, axisLabel: { ...look.axis.axisLabel, show: at === 2 }, name: at === 2 ? `time, ${unit}` : '', nameLocation: 'middle', nameGap: 24 })),
        yAxis: curvesOverTime.map(([, title, share], at) => ({
          gridIndex: at, type: 'value', min: 0, max: share ? 1 : undefined, name: title, nameLocation: 'end', nameGap: 8, ...look.axis,
          nameTextStyle: { ...look.axis.nameTextStyle, align: 'left', padding: [0, 0, 0, -48] }, splitNumber: 4,
          axisLabel: { ...look.axis.axisLabel, formatter: (value) => share ? `${Math.round(value * 100)} %` : format.digits(value) }
        })),
        dataZoom: [{ type: 'inside', xAxisIndex: [0, 1, 2], filterMode: 'none' }, { type: 'slider', xAxisIndex: [0, 1, 2], bottom: 4, height: 16, filterMode: 'none', borderColor: look.line, textStyle: { color: look.soft }, showDetail: false }],
        tooltip: {
          ...look.option.tooltip, trigger: 'axis',
          formatter: (items) => `${format.seconds(items[0].axisValue * size)}<br>` + curvesOverTime.map(([key, title, share]) => {
            const own = items.filter((item) => item.seriesId.startsWith(`${key}/`) && item.value[1] !== null)
            return own.length ? `<b>${title}</b><br>` + own.map((item) => `${item.marker} ${format.text(item.seriesName)} ${share ? format.percent(item.value[1]) : format.digits(item.value[1])}`).join('<br>') : ''
          }).filter(Boolean).join('<br>')
        },
        series: curvesOverTime.flatMap(([key], row) => policies.map(([name, policy]) => {
          const at = names.indexOf(name)
          return { id: `${key}/${name}`, name, type: 'line', step: 'end', showSymbol: false, xAxisIndex: row, yAxisIndex: row, color: colour(at), lineStyle: { width: 1.6, type: dash(at) }, data: points(policy, key) }
        }))
      }
    }),
    rows: () => ({
      heads: ['from', ...policies.flatMap(([name]) => curvesOverTime.map(([, title]) => `${name}: ${title}`))],
      rows: policies[0][1].samples.t_s.map((time, at) => [format.seconds(time), ...policies.flatMap(([, policy]) =>
        curvesOverTime.map(([key, , share]) => share ? format.percent(policy.samples[key][at]) : format.digits(policy.samples[key][at] ?? 0)))])
    })
  })
}

/** Room for every holding in its minipod: the lowest gaps, in more than one piece if need be. */
export function lanes (holdings, minipods) {
  const pieces = []
  const active = minipods.gpus.map(() => [])
  const order = holdings.job.map((_, at) => at).sort((a, b) => holdings.from_s[a] - holdings.from_s[b] || a - b)
  for (const at of order) {
    const minipod = holdings.minipod[at]
    const there = active[minipod] = active[minipod].filter((piece) => piece.to > holdings.from_s[at])
    let left = holdings.gpus[at]
    let free = 0
    const own = []
    for (const piece of [...there, { low: minipods.gpus[minipod], high: Infinity }]) {
      const room = Math.min(left, piece.low - free)
      if (room > 0) {
        own.push({ low: free, high: free + room, to: holdings.to_s[at], at })
        left -= room
      }
      free = Math.max(free, piece.high)
      if (left <= 0) break
    }
    for (const piece of own) pieces.push({ ...piece, minipod, from: holdings.from_s[at] })
    there.push(...own)
    there.sort((a, b) => a.low - b.low)
  }
  return pieces
}

export function gantt (data) {
  const policies = Object.entries(data.detail?.policies ?? {}).filter(([, policy]) => policy.holdings.job.length)
  if (!policies.length) return null
  const { minipods } = data.detail.fabric
  const first = []
  minipods.gpus.reduce((sum, gpus, at) => { first[at] = sum; return sum + gpus }, 0)
  const total = minipods.gpus.reduce((sum, gpus) => sum + gpus, 0)
  const policy = choice('Policy set', policies.map(([name]) => [name, name]), () => redraw('gantt'))
  const chosen = () => data.detail.policies[policy.value]
  return card({
    id: 'gantt', wide: true, title: 'Who held which GPUs when',
    about: 'A bar is a job in a minipod, as high as the GPUs it holds there, coloured by the size of the job. Which GPUs within the minipod is not shown: bars take the lowest free room.',
    tools: [policy.node],
    height: () => Math.max(320, Math.min(760, 90 + 46 * minipods.gpus.length)),
    draw: (look) => {
      const { holdings, end_s: end } = chosen()
      const [size, unit] = format.timeUnit(end / 4)
      const pieces = lanes(holdings, minipods)
      const used = [...new Set(data.jobs.gpus.map(classOf))].sort((a, b) => a - b)
      return {
        label: `${policy.value}: ${holdings.job.length} bars of ${new Set(holdings.job).size} jobs in ${minipods.name.length} minipods`,
        keys: used.map((at) => [colour(at), className(classes[at])]),
        option: {
          grid: { left: 92, right: 16, top: 12, bottom: 62 },
          xAxis: { type: 'value', min: 0, max: end / size, name: `time, ${unit}`, nameLocation: 'middle', nameGap: 24, ...look.axis },
          yAxis: {
            type: 'value', min: 0, max: total, inverse: true, ...look.axis, splitLine: { show: false }, axisLabel: { show: false }, axisTick: { show: false }
          },
          dataZoom: [{ type: 'inside', xAxisIndex: 0, filterMode: 'weakFilter' }, { type: 'slider', xAxisIndex: 0, bottom: 4, height: 16, filterMode: 'weakFilter', borderColor: look.line, showDetail: false }],
          tooltip: {
            ...look.option.tooltip, trigger: 'item',
            formatter: ({ value }) => {
              const at = value[4]
              const job = holdings.job[at]
              return `<b>${format.text(data.jobs.name[job])}</b>, ${data.jobs.gpus[job]} GPUs<br>${holdings.gpus[at]} of them in ${format.text(minipods.name[holdings.minipod[at]])}<br>` +
                `held from ${format.seconds(holdings.from_s[at])} to ${format.seconds(holdings.to_s[at])}<br>waited ${format.seconds(Math.max(0, (chosenJobs(data, policy.value).start_s[job] ?? 0) - data.jobs.submit_s[job]))}`
            }
          },
          series: [{
            type: 'custom', name: 'jobs', progressive: 4000, clip: true,
            encode: { x: [0, 1], y: [2, 3] },
            data: pieces.map((piece) => [piece.from / size, piece.to / size, first[piece.minipod] + piece.low, first[piece.minipod] + piece.high, piece.at]),
            renderItem: (_, api) => {
              const low = api.coord([api.value(0), api.value(2)])
              const high = api.coord([api.value(1), api.value(3)])
              const job = holdings.job[api.value(4)]
              return {
                type: 'rect',
                shape: { x: low[0], y: low[1], width: Math.max(0.6, high[0] - low[0]), height: Math.max(0.6, high[1] - low[1]) },
                style: { fill: colour(classOf(data.jobs.gpus[job])), opacity: 0.85, stroke: look.card, lineWidth: high[0] - low[0] > 6 && high[1] - low[1] > 4 ? 1 : 0 }
              }
            }
          }, {
            type: 'custom', name: 'minipods', silent: true, tooltip: { show: false }, z: 3,
            encode: { x: 0, y: 1 },
            data: minipods.name.map((_, at) => [0, first[at], minipods.gpus[at], at]),
            renderItem: ({ coordSys }, api) => {
              const y = api.coord([0, api.value(1)])[1]
              const below = api.coord([0, api.value(1) + api.value(2)])[1]
              const children = [{ type: 'line', shape: { x1: coordSys.x - 84, x2: coordSys.x + coordSys.width, y1: y, y2: y }, style: { stroke: look.line, lineWidth: 1 } }]
              if (below - y > 11) children.push({ type: 'text', style: { text: minipods.name[api.value(3)], x: coordSys.x - 8, y: (y + below) / 2, align: 'right', verticalAlign: 'middle', fill: look.soft, fontSize: narrow() ? 10 : 11.5, width: 82, overflow: 'truncate' } })
              return { type: 'group', children }
            }
          }]
        }
      }
    },
    rows: () => ({
      heads: ['job', 'its GPUs', 'minipod', 'GPUs there', 'from', 'to'],
      rows: chosen().holdings.job.map((job, at) => [data.jobs.name[job], data.jobs.gpus[job], minipods.name[chosen().holdings.minipod[at]], chosen().holdings.gpus[at], format.seconds(chosen().holdings.from_s[at]), format.seconds(chosen().holdings.to_s[at])])
    })
  })
}
