// Where the largest job lies, and what that does to the links.
import { card, charts, choice, element, table } from './frame.js'
import { heat, inkOn, minipodColour, narrow } from './look.js'
import * as format from './format.js'

const redraw = (id) => charts.get(id).draw()

export function groups (data) {
  const policies = Object.entries(data.detail?.policies ?? {}).filter(([, policy]) => policy.groups)
  if (!policies.length) return null
  const { minipods } = data.detail.fabric
  const policy = choice('Policy set', policies.map(([name]) => [name, name]), () => redraw('groups'))
  const chosen = () => data.detail.policies[policy.value].groups
  return card({
    id: 'groups', title: 'Where the groups lie',
    about: 'The largest job as a matrix: a row is a stage of the pipeline, a column a data rank, the number and colour its minipod. A column of one colour keeps its pipeline in one minipod, a row of one colour its gradients.',
    tools: [policy.node],
    height: () => Math.min(640, 70 + Math.max(6, chosen().pipeline) * 30),
    draw: (look) => {
      const { pipeline, data: replicas, minipod, job } = chosen()
      const used = [...new Set(minipod)].sort((a, b) => a - b)
      const wide = document.getElementById('groups').clientWidth / replicas
      return {
        label: `${policy.value}: ${job}, ${pipeline} stages of ${replicas} data ranks in ${used.length} minipods`,
        keys: used.map((at) => [minipodColour(at), `${at}: ${minipods.name[at]}`]),
        option: {
          grid: { left: 44, right: 10, top: 8, bottom: 42 },
          xAxis: { type: 'category', data: Array.from({ length: replicas }, (_, at) => at), name: 'data rank', nameLocation: 'middle', nameGap: 24, ...look.axis },
          yAxis: { type: 'category', inverse: true, data: Array.from({ length: pipeline }, (_, at) => at), name: 'stage', nameLocation: 'middle', nameGap: 28, ...look.axis },
          tooltip: { ...look.option.tooltip, formatter: ({ value }) => `stage ${value[1]}, data rank ${value[0]}<br><b>${format.text(minipods.name[value[2]])}</b>` },
          series: [{
            type: 'heatmap', name: 'minipod',
            label: { show: wide > 22, formatter: ({ value }) => value[2] },
            itemStyle: { borderColor: look.card, borderWidth: wide > 8 ? 1 : 0 },
            data: minipod.map((at, cell) => ({
              value: [cell % replicas, Math.floor(cell / replicas), at],
              itemStyle: { color: minipodColour(at) }, label: { color: inkOn(minipodColour(at)) }
            }))
          }]
        }
      }
    },
    rows: () => {
      const { pipeline, data: replicas, minipod } = chosen()
      return {
        heads: ['stage', ...Array.from({ length: replicas }, (_, at) => at)],
        rows: Array.from({ length: pipeline }, (_, stage) => [stage, ...minipod.slice(stage * replicas, (stage + 1) * replicas).map((at) => minipods.name[at])])
      }
    }
  })
}

const levels = ['leaf', 'spine', 'core']

/** Switches by tier, those of a minipod together; a fabric of one kind on a circle. */
export function places (fabric) {
  const { switches } = fabric
  const kinds = levels.filter((kind) => switches.kind.includes(kind))
  const order = switches.name.map((_, at) => at)
    .sort((a, b) => (switches.minipod[a] ?? Infinity) - (switches.minipod[b] ?? Infinity) || a - b)
  const at = []
  if (kinds.length === 1) {
    order.forEach((number, turn) => {
      const angle = 2 * Math.PI * turn / order.length
      at[number] = [50 + 48 * Math.cos(angle), 50 + 48 * Math.sin(angle)]
    })
    return { at, circle: true }
  }
  const pods = [...new Set(switches.minipod.filter((minipod) => minipod !== null))].sort((a, b) => a - b)
  kinds.forEach((kind, row) => {
    const members = order.filter((number) => switches.kind[number] === kind)
    const y = 100 * row / (kinds.length - 1)
    const spread = (list, from, to) => list.forEach((number, turn) => {
      at[number] = [from + (to - from) * (turn + 0.5) / list.length, y]
    })
    spread(members.filter((number) => switches.minipod[number] === null), 0, 100)
    pods.forEach((pod, turn) => {
      const width = 100 / pods.length
      spread(members.filter((number) => switches.minipod[number] === pod),
        turn * width + 0.08 * width, (turn + 1) * width - 0.08 * width)
    })
  })
  return { at, circle: false }
}

function hottest (data, policy) {
  const { links } = data.result.policies[policy]
  return table(['link', 'tier', 'used', 'busy', 'binds'], links.map((link) => [link.name, link.tier,
    format.percent(link.utilization), format.percent(link.busy_share), format.percent(link.binding_share)]))
}

export function topology (data) {
  const policies = Object.entries(data.detail?.policies ?? {}).filter(([, policy]) => policy.links.link.length)
  if (!policies.length || !data.detail.fabric.links.from.length) return null
  const { fabric } = data.detail
  const policy = choice('Policy set', policies.map(([name]) => [name, name]), () => redraw('topology'))
  const measures = [['utilization', 'used share of the capacity'], ['busy_share', 'share of the time in use'], ['binding_share', 'share of the time it slows a flow']]
  const measure = choice('Heat', measures, () => redraw('topology'))
  const layout = places(fabric)
  const hot = element('div')
  const extra = element('details', {}, element('summary', {}, 'The hottest links, as in result.json'), hot)
  const left = fabric.links_left_out ? ` ${fabric.links_left_out} links, the least used, are left out.` : ''
  const largest = Object.values(data.detail.policies).find(({ groups }) => groups)?.groups.job
  return card({
    id: 'topology', wide: true, title: 'Links between switches',
    about: `Load in the steady state of ${largest ?? 'the largest job'} alone; a cable is two directed links, drawn side by side.${left} Point at a link for its connections, job and utilisation.`,
    tools: [policy.node, measure.node], extra,
    height: () => layout.circle ? 560 : narrow() ? 380 : 460,
    draw: (look) => {
      const { links } = data.detail.policies[policy.value]
      const values = links[measure.value]
      const most = values.reduce((sum, value) => Math.max(sum, value), 0) || 1
      const palette = heat()
      const shade = (value) => palette[Math.min(palette.length - 1, Math.floor(value / most * palette.length))]
      const bend = (link) => fabric.links.from[link] < fabric.links.to[link] ? 0.02 : -0.02
      const order = values.map((_, at) => at).sort((a, b) => values[a] - values[b])
      const used = new Set(links.link)
      hot.replaceChildren(hottest(data, policy.value))
      const top = order.at(-1)
      return {
        label: `${policy.value}: ${links.link.length} of ${fabric.links.from.length} links are used; the hottest, ${fabric.links.name[links.link[top]]}, by ${format.percent(values[top])}`,
        keys: [...palette.map((colour, at) => [colour, `${at ? 'from ' : 'under '}${format.percent(most * (at || 1) / palette.length)}`])],
        option: {
          grid: { left: layout.circle ? 20 : 54, right: 14, top: 18, bottom: 26 },
          xAxis: { type: 'value', min: -1, max: 101, show: false },
          yAxis: { type: 'value', min: -6, max: 106, show: false },
          dataZoom: [{ type: 'inside', xAxisIndex: 0, filterMode: 'none' }],
          tooltip: {
            ...look.option.tooltip, trigger: 'item',
            formatter: ({ seriesName, data: item }) => {
              if (seriesName === 'switches') return `<b>${format.text(fabric.switches.name[item.at])}</b> (${fabric.switches.kind[item.at]})`
              const link = links.link[item.at]
              return `<b>${format.text(fabric.links.name[link])}</b> (${fabric.links.tier[link]})<br>${links.connections[item.at]} connections of ${format.text(largest ?? 'the job')}<br>` +
                `used ${format.percent(links.utilization[item.at])} of ${format.scaled(fabric.links.capacity_bytes_per_s[link] * 8, 'bit/s')}<br>` +
                `busy ${format.percent(links.busy_share[item.at])}, binds ${format.percent(links.binding_share[item.at])} of the time<br>${format.scaled(links.bytes[item.at], 'B')} in the measured window`
            }
          },
          series: [{
            type: 'lines', name: 'unused', coordinateSystem: 'cartesian2d', silent: true, z: 1, progressive: 0,
            lineStyle: { color: look.line, width: 0.6, opacity: 0.7 },
            data: fabric.links.from.map((from, at) => ({ coords: [layout.at[from], layout.at[fabric.links.to[at]]], at })).filter(({ at }) => !used.has(at))
          }, {
            type: 'lines', name: 'links', coordinateSystem: 'cartesian2d', z: 2, progressive: 0,
            data: order.map((at) => ({
              at, value: values[at], coords: [layout.at[fabric.links.from[links.link[at]]], layout.at[fabric.links.to[links.link[at]]]],
              lineStyle: { color: shade(values[at]), width: 0.8 + 3.2 * values[at] / most, curveness: bend(links.link[at]), opacity: 0.55 + 0.45 * values[at] / most }
            })),
            emphasis: { lineStyle: { width: 5, opacity: 1 } }
          }, {
            type: 'scatter', name: 'switches', z: 3, symbol: 'roundRect', symbolSize: fabric.switches.name.length > 300 ? 4 : 8,
            data: fabric.switches.name.map((_, at) => ({
              at, value: layout.at[at],
              itemStyle: { color: fabric.switches.minipod[at] === null ? look.soft : minipodColour(fabric.switches.minipod[at]) }
            }))
          }, {
            type: 'custom', name: 'tiers', silent: true, data: layout.circle ? [] : levels.filter((kind) => fabric.switches.kind.includes(kind)).map((_, at, all) => [0, 100 * at / (all.length - 1), at]),
            renderItem: ({ coordSys }, api) => ({
              type: 'text', style: { text: levels.filter((kind) => fabric.switches.kind.includes(kind))[api.value(2)], x: coordSys.x - 46, y: api.coord([0, api.value(1)])[1], fill: look.soft, fontSize: 12, verticalAlign: 'middle' }
            })
          }]
        }
      }
    },
    rows: () => {
      const { links } = data.detail.policies[policy.value]
      const order = links.link.map((_, at) => at).sort((a, b) => links.utilization[b] - links.utilization[a])
      return {
        heads: ['link', 'tier', 'connections', 'used', 'busy', 'binds'],
        rows: order.map((at) => [fabric.links.name[links.link[at]], fabric.links.tier[links.link[at]], links.connections[at], format.percent(links.utilization[at]), format.percent(links.busy_share[at]), format.percent(links.binding_share[at])])
      }
    }
  })
}
