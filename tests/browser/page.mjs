// node page.mjs CHROMIUM PAGE.html RESULT.json [DETAIL.json]: opens a page in a headless browser, light and
// dark, wide and narrow, and holds every chart against the files it was made from. Prints what is
// wrong and exits 1; screenshots go to $SCREENSHOTS where that is set. Runs beside node_modules.
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { chromium } from 'playwright-core'

const [executablePath, pageFile, dataFile, mode = 'result'] = process.argv.slice(2)
const data = JSON.parse(readFileSync(dataFile, 'utf8'))
const faults = []
const check = (good, text) => { if (!good) faults.push(text) }
const close = (a, b, share = 1e-9) => Math.abs(a - b) <= share * Math.max(Math.abs(a), Math.abs(b), 1e-12)

const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync']

async function open (colorScheme, width, look) {
  const home = mkdtempSync(path.join(tmpdir(), 'railyard-browser-'))
  const context = await chromium.launchPersistentContext(home, {
    executablePath, headless: true, args: flags, colorScheme, viewport: { width, height: 900 }
  })
  try {
    const page = context.pages()[0] ?? await context.newPage()
    const name = `${colorScheme} ${width}`
    page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) faults.push(`${name}: console: ${message.text()}`) })
    page.on('pageerror', (error) => faults.push(`${name}: ${error.message}`))
    const url = pathToFileURL(pageFile).href
    page.on('request', (request) => {
      if (request.url() !== url && !/^(data|blob):/.test(request.url())) faults.push(`${name}: asks for ${request.url()}`)
    })
    await page.goto(url, { waitUntil: 'load' })
    await page.waitForSelector('main section')
    await look(page, name)
    if (process.env.SCREENSHOTS) {
      await page.screenshot({ path: path.join(process.env.SCREENSHOTS, `${path.basename(pageFile, '.html')}-${colorScheme}-${width}.png`), fullPage: true })
    }
  } finally {
    await context.close()
    rmSync(home, { recursive: true, force: true })
  }
}

/** Every chart has drawn something, and nothing is wider than the window. */
async function drawn (page, name) {
  await page.evaluate(() => window.railyard.drawAll())
  const colours = await page.evaluate(() => [...window.railyard.charts].map(([id, { instance }]) => {
    const canvas = instance.getDom().querySelector('canvas')
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
    const seen = new Set()
    for (let at = 0; at < data.length; at += 4) seen.add(`${data[at]},${data[at + 1]},${data[at + 2]},${data[at + 3]}`)
    return [id, seen.size, document.getElementById(id).querySelector('.chart').getAttribute('aria-label')]
  }))
  check(colours.length > 0, `${name}: no charts`)
  for (const [id, count, label] of colours) {
    check(count > 8, `${name}: chart ${id} is blank (${count} colours)`)
    check(label.length > 20 && !/NaN|undefined/.test(label), `${name}: chart ${id} says "${label}"`)
  }
  const [inside, outside] = await page.evaluate(() => [document.documentElement.clientWidth, document.documentElement.scrollWidth])
  check(outside <= inside, `${name}: ${outside} pixels wide in a window of ${inside}`)
  const text = await page.evaluate(() => document.body.innerText)
  check(!/\bNaN\b|undefined|Infinity/.test(text), `${name}: the text holds NaN, undefined or Infinity`)
  return colours.map(([id]) => id)
}

const seriesOf = (page, id) => page.evaluate((id) => window.railyard.charts.get(id).drawn.option.series
  .map(({ id, name, data }) => ({ id, name, data: data.map((item) => item?.value ?? item) })), id)
const choose = (page, id, label, value) => page.locator(`#${id} label`, { hasText: label }).locator('select').selectOption(value)

async function comparisonIsTheResult (page) {
  const cells = await page.evaluate(() => [...document.querySelectorAll('#comparison td')].map((cell) => [cell.dataset.policy, cell.dataset.metric, cell.dataset.value]))
  const wanted = Object.values(data.policies).flatMap(({ metrics }) => Object.entries(metrics).filter(([key, value]) => !key.startsWith('attribution') && value !== null)).length
  check(cells.filter(([, , value]) => value !== '').length === wanted, `comparison: ${cells.length} cells for ${wanted} values`)
  for (const [policy, key, value] of cells) {
    const own = data.policies[policy].metrics[key]
    check(value === (own === null ? '' : String(own)), `comparison: ${policy} ${key} is ${value}, not ${own}`)
  }
}

async function whyIsTheAttribution (page) {
  const policies = Object.values(data.policies).filter(({ metrics }) => metrics.attribution)
  const unit = await page.evaluate(() => window.railyard.charts.get('why').drawn.option.xAxis.name)
  const size = { d: 86400, h: 3600, min: 60, s: 1, ms: 1e-3, 'µs': 1e-6 }[unit]
  for (const { id, data: bars } of await seriesOf(page, 'why')) {
    bars.forEach((bar, at) => check(close(bar * size, policies[at].metrics.attribution[id]), `why: ${id} of policy ${at} is ${bar} ${unit}`))
  }
}

/** The p50 and p99 of the metrics are read off the curve: nearest rank, as the curve's steps. */
async function curvesGiveThePercentiles (page) {
  await choose(page, 'completion', 'Time axis', 'value')
  const unit = await page.evaluate(() => window.railyard.charts.get('completion').drawn.option.xAxis.name.split(', ')[1])
  const size = { d: 86400, h: 3600, min: 60, s: 1, ms: 1e-3, 'µs': 1e-6 }[unit]
  for (const { name, data: steps } of await seriesOf(page, 'completion')) {
    for (const [key, share] of [['jct_s_p50', 0.5], ['jct_s_p99', 0.99]]) {
      const step = steps.find(([, done]) => done >= share - 1e-12)
      const thinned = steps.length >= 3000
      check(close(step[0] * size, data.policies[name].metrics[key], thinned ? 0.05 : 1e-9), `completion: ${key} of ${name} is ${step[0] * size}, not ${data.policies[name].metrics[key]}`)
    }
  }
}

/** The area under "GPUs held", with what others hold all the time, is the utilisation. */
async function areaIsTheUtilisation (page) {
  const others = await page.evaluate(() => {
    const { minipods, occupied_gpus: occupied } = window.railyard.data.detail.fabric
    return occupied / minipods.gpus.reduce((sum, gpus) => sum + gpus, 0)
  })
  for (const { id, name, data: steps } of await seriesOf(page, 'time')) {
    if (!id.startsWith('allocated_share/')) continue
    let area = 0
    for (let at = 0; at + 1 < steps.length; ++at) area += steps[at][1] * (steps[at + 1][0] - steps[at][0])
    const mean = area / steps.at(-1)[0] + others
    check(close(mean, data.policies[name].metrics.gpu_utilization, 1e-6), `time: ${name} holds ${mean} of the GPUs, not ${data.policies[name].metrics.gpu_utilization}`)
  }
}

/** Every job that ran has its bars: GPUs that it asked for, in as many minipods as the result says. */
async function barsAreTheJobs (page) {
  for (const [policy, { jobs }] of Object.entries(data.policies)) {
    await choose(page, 'gantt', 'Policy set', policy)
    const bars = (await seriesOf(page, 'gantt'))[0].data
    const gpus = new Map()
    const minipods = new Map()
    const { holdings } = await page.evaluate((policy) => window.railyard.data.detail.policies[policy], policy)
    for (const [, , low, high, at] of bars) {
      const job = holdings.job[at]
      gpus.set(job, (gpus.get(job) ?? 0) + high - low)
      minipods.set(job, (minipods.get(job) ?? new Set()).add(holdings.minipod[at]))
    }
    const restarted = data.policies[policy].metrics.restarts
    jobs.forEach((job, at) => {
      if (job.start_s === null || job.finish_s === job.start_s || restarted) return
      check(gpus.get(at) >= job.gpus && minipods.get(at)?.size === job.minipods, `gantt: ${policy} ${job.name} has ${gpus.get(at)} GPUs in ${minipods.get(at)?.size} minipods`)
    })
  }
}

/** The worst row and column of the matrix are the spreads of the result. */
async function groupsHaveTheSpread (page) {
  const policies = await page.evaluate(() => Object.keys(window.railyard.data.detail.policies))
  for (const policy of policies) {
    await choose(page, 'groups', 'Policy set', policy)
    const cells = (await seriesOf(page, 'groups'))[0].data
    const spread = (axis) => {
      const lines = new Map()
      for (const cell of cells) lines.set(cell[axis], (lines.get(cell[axis]) ?? new Set()).add(cell[2]))
      return Math.max(...[...lines.values()].map((line) => line.size))
    }
    const job = await page.evaluate((policy) => window.railyard.data.detail.policies[policy].groups.job, policy)
    const own = data.policies[policy].jobs.find(({ name }) => name === job)
    check(spread(0) === own.spread_pp_max, `groups: ${policy} has ${spread(0)} minipods in a column, not ${own.spread_pp_max}`)
    check(spread(1) === own.spread_dp_max, `groups: ${policy} has ${spread(1)} minipods in a row, not ${own.spread_dp_max}`)
  }
}

/** The hottest links of result.json have the same load in the picture. */
async function heatIsTheLoad (page) {
  for (const [policy, { links }] of Object.entries(data.policies)) {
    const switches = links.filter(({ tier }) => tier !== 'leaf')
    if (!switches.length) continue
    await choose(page, 'topology', 'Policy set', policy)
    const shown = await page.evaluate(([policy, wanted]) => {
      const { fabric, policies } = window.railyard.data.detail
      const drawn = window.railyard.charts.get('topology').drawn.option.series.find(({ name }) => name === 'links').data
      return drawn.map(({ at, value }) => [fabric.links.name[policies[policy].links.link[at]], value]).filter(([name]) => wanted.includes(name))
    }, [policy, links.map(({ name }) => name)])
    check(shown.length === switches.length, `topology: ${shown.length} of ${switches.length} hot links of ${policy}`)
    for (const [name, value] of shown) {
      check(close(value, links.find((link) => link.name === name).utilization), `topology: ${policy} ${name} is used ${value}`)
    }
  }
}

async function sweepHasTheMeans (page) {
  const policy = await page.locator('#heat label', { hasText: 'Policy set' }).locator('select').inputValue()
  const key = await page.locator('#heat label', { hasText: 'Metric' }).locator('select').inputValue()
  const values = data.points.map(({ policies }) => policies[policy][key])
  const cells = (await seriesOf(page, 'heat'))[0].data
  const mean = cells.reduce((sum, [, , value]) => sum + value, 0) / cells.length
  check(close(mean, values.reduce((sum, value) => sum + value, 0) / values.length), `heat: the mean of ${key} is ${mean}`)
  // The front by its definition: no point is at least as good in both and better in one.
  const better = Object.fromEntries((await page.evaluate(() => window.railyard.data.catalog.metrics)).map(({ key, better }) => [key, better === 'higher' ? 1 : -1]))
  const axes = await Promise.all(['Across', 'Up'].map((label) => page.locator('#pareto label', { hasText: label }).locator('select').inputValue()))
  const all = data.settings.flatMap(({ policies }) => Object.values(policies)).filter((one) => axes.every((axis) => one[axis])).map((one) => axes.map((axis) => better[axis] * one[axis].mean))
  const front = all.filter((a) => !all.some((b) => b[0] >= a[0] && b[1] >= a[1] && (b[0] > a[0] || b[1] > a[1])))
  const line = (await seriesOf(page, 'pareto')).find(({ name }) => name === 'front').data
  check(line.length === front.length, `pareto: ${line.length} points on the front, not ${front.length}`)
}

/** Every simulated row is a point at its two numbers. */
async function scatterHasTheRows (page) {
  const rows = await page.evaluate(() => window.railyard.data.validation.rows.filter(({ simulated }) => simulated > 0).map(({ published, simulated }) => [published, simulated]))
  const points = (await seriesOf(page, 'validation')).filter(({ name }) => name !== 'line').flatMap(({ data }) => data)
  const text = (list) => JSON.stringify(list.map(String).sort())
  check(rows.length > 5 && text(points) === text(rows), `validation: ${points.length} points for ${rows.length} rows`)
}

const checks = {
  comparison: comparisonIsTheResult, why: whyIsTheAttribution, completion: curvesGiveThePercentiles, time: areaIsTheUtilisation,
  gantt: barsAreTheJobs, groups: groupsHaveTheSpread, topology: heatIsTheLoad, heat: sweepHasTheMeans, validation: scatterHasTheRows
}

/** The theme turns by keyboard alone, and the chart with it. */
async function keyboardWorks (page, name) {
  await page.locator('#theme').focus()
  const before = await page.evaluate(() => document.documentElement.dataset.theme)
  await page.keyboard.press('Enter')
  await page.keyboard.press('Enter')
  const after = await page.evaluate(() => document.documentElement.dataset.theme)
  check(before === 'light' && after === 'dark', `${name}: the theme went from ${before} to ${after}`)
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  const focused = await page.evaluate(() => document.activeElement.tagName)
  check(focused === 'A', `${name}: after the theme the focus is on ${focused}`)
}

const expected = mode.split(',')
if (expected[0] === 'quick') {
  await open('light', 1280, async (page, name) => {
    const timing = await page.evaluate(() => performance.getEntriesByType('navigation')[0].duration)
    const shown = await page.evaluate(() => performance.now())
    console.log(`${statSync(pageFile).size} bytes, loaded after ${Math.round(timing)} ms, looked at after ${Math.round(shown)} ms`)
    check(timing < 3000, `${name}: loaded after ${timing} ms`)
    const before = Date.now()
    await drawn(page, name)
    console.log(`all charts drawn in ${Date.now() - before} ms`)
    for (const id of ['comparison', 'completion', 'time', 'gantt']) await checks[id](page)
  })
} else {
  for (const [scheme, width] of [['light', 1280], ['dark', 1280], ['light', 390], ['dark', 390]]) {
    await open(scheme, width, async (page, name) => {
      const ids = await drawn(page, name)
      for (const id of expected) check(ids.includes(id) || id === 'comparison', `${name}: no chart ${id}`)
      check(ids.every((id) => expected.includes(id)), `${name}: charts ${ids}, expected ${expected}`)
      if (width === 1280 && scheme === 'light') {
        for (const id of expected) await checks[id]?.(page)
        await keyboardWorks(page, name)
        await page.reload()
        await page.evaluate(() => window.railyard.drawAll())
      }
    })
  }
}
for (const fault of faults) console.error(fault)
console.log(faults.length ? `${faults.length} faults` : 'all charts hold')
process.exit(faults.length ? 1 : 0)
