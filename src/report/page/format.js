// Numbers as people read them. Values are SI, as in result.json.

const time = [[86400 * 2, 86400, 'd'], [3600 * 2, 3600, 'h'], [120, 60, 'min'], [1, 1, 's'],
  [1e-3, 1e-3, 'ms'], [0, 1e-6, 'µs']]

/** Four significant digits without an exponent for what people meet. */
export function digits (value) {
  if (value === 0) return '0'
  const size = Math.abs(value)
  if (size >= 1e6 || size < 1e-4) return value.toExponential(3)
  if (size >= 1000) return Math.round(value).toLocaleString('en')
  return String(Number(value.toPrecision(4)))
}

/** The unit in which the largest of a chart's times reads well: [seconds, name]. */
export function timeUnit (largest) {
  const found = time.find(([from]) => Math.abs(largest) >= from)
  return largest === 0 ? [1, 's'] : [found[1], found[2]]
}

export function seconds (value) {
  if (value === null || value === undefined) return '–'
  const [size, name] = timeUnit(value)
  return `${digits(value / size)} ${name}`
}

export function percent (value) {
  return value === null || value === undefined ? '–' : `${digits(value * 100)} %`
}

export function scaled (value, unit) {
  for (const [size, prefix] of [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']]) {
    if (Math.abs(value) >= size) return `${digits(value / size)} ${prefix}${unit}`
  }
  return `${digits(value)} ${unit}`.trim()
}

const shares = /(_share|_share_\w+|utilization|utilization_\w+|mfu|fragmentation|_mape|share_exposed)$/

/** A metric of the contract by its key: the unit is in the name. */
export function metric (key, value) {
  if (value === null || value === undefined) return '–'
  if (/tokens_per_s$/.test(key)) return scaled(value, ' tokens/s')
  if (/gpu_s$/.test(key)) return `${digits(value / 3600)} GPU h`
  if (/_s(_mean|_p\d+|_max)?$/.test(key)) return seconds(value)
  if (shares.test(key) || /^traffic_share/.test(key)) return percent(value)
  return digits(value)
}

export function text (value) {
  return String(value).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
