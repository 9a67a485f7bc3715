// Published measurements beside the simulator, row by row.
import { card } from './frame.js'
import { colour } from './look.js'
import * as format from './format.js'

export function validation (data) {
  const rows = data.validation?.rows.filter((row) => row.simulated > 0 && row.published > 0) ?? []
  if (!rows.length) return null
  const tables = [...new Set(rows.map((row) => row.table))]
  return card({
    id: 'validation', wide: true, title: 'Published and simulated',
    about: 'A point is a published row; on the line the simulator says the same, between the dashed lines within 10 %.',
    height: () => 460,
    draw: (look) => {
      const values = rows.flatMap((row) => [row.published, row.simulated])
      const [least, most] = [Math.min(...values) / 1.3, Math.max(...values) * 1.3]
      const line = (factor, type) => ({ name: 'line', type: 'line', symbol: 'none', silent: true, color: look.soft, lineStyle: { width: 1, type }, data: [[least, least * factor], [most, most * factor]] })
      return {
        label: data.validation.summary.map((one) => `${one.table}: ${one.rows} rows, mean error ${format.digits(one.mape_percent)} %`).join('; '),
        option: {
          legend: { ...look.legend, data: tables },
          grid: { left: 8, right: 24, top: 40, bottom: 36, containLabel: true },
          xAxis: { type: 'log', min: least, max: most, name: 'published', nameLocation: 'middle', nameGap: 26, ...look.axis, axisLabel: { ...look.axis.axisLabel, formatter: format.digits } },
          yAxis: { type: 'log', min: least, max: most, name: 'simulated', ...look.axis, axisLabel: { ...look.axis.axisLabel, formatter: format.digits } },
          tooltip: { ...look.option.tooltip, trigger: 'item', formatter: ({ data: item }) => `<b>${format.text(item.row.id)}</b><br>${format.text(item.row.table)}, ${format.text(item.row.metric)}<br>published ${format.digits(item.value[0])}<br>simulated ${format.digits(item.value[1])} (${format.digits(item.row.error_percent)} %)` },
          series: [...tables.map((name, at) => ({
            name, type: 'scatter', symbol: ['circle', 'rect', 'triangle', 'diamond'][at % 4], symbolSize: 7, color: colour(at), itemStyle: { opacity: 0.75 },
            data: rows.filter((row) => row.table === name).map((row) => ({ row, value: [row.published, row.simulated] }))
          })), line(1, 'solid'), line(1.1, 'dashed'), line(1 / 1.1, 'dashed')]
        }
      }
    },
    rows: () => ({
      heads: ['row', 'table', 'metric', 'published', 'simulated', 'error, %'],
      rows: rows.map((row) => [row.id, row.table, row.metric, format.digits(row.published), format.digits(row.simulated), format.digits(row.error_percent)])
    })
  })
}
