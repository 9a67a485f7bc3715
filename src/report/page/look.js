// Colours and the theme. Policies, causes and minipods keep theirs in every chart.
import { digits } from './format.js'

// Okabe and Ito's palette, told apart by people who see colours differently; its yellow is darker
// here, to be seen on white. A line's dashes say the same as its colour.
const light = ['#0072b2', '#d55e00', '#009e73', '#b4508c', '#3a9fd6', '#c98500', '#55606e', '#7d7a00']
const dark = ['#56b4e9', '#ff8a4c', '#2fc79a', '#e08fc0', '#8fd0f5', '#f0b03c', '#aab6c4', '#d6d04a']
const dashes = ['solid', 'solid', 'solid', 'solid', 'dashed', 'dashed', 'dashed', 'dashed', 'dotted']

export const isDark = () => document.documentElement.dataset.theme === 'dark'

export function colour (index) {
  const palette = isDark() ? dark : light
  return palette[index % palette.length]
}
export const dash = (index) => dashes[index % dashes.length]

/** More than eight minipods: further turns of the palette, paler; cells carry the number too. */
export function minipodColour (index) {
  const turn = Math.floor(index / 8)
  const base = colour(index)
  if (turn === 0) return base
  const to = isDark() ? 20 : 255
  const part = Math.min(0.7, 0.28 * turn)
  const mixed = [1, 3, 5].map((at) => Math.round(
    parseInt(base.slice(at, at + 2), 16) * (1 - part) + to * part))
  return `rgb(${mixed.join(',')})`
}

/** Black or white, whichever is read more easily on a colour. */
export function inkOn (background) {
  const parts = background.startsWith('#')
    ? [1, 3, 5].map((at) => parseInt(background.slice(at, at + 2), 16))
    : background.match(/\d+/g).map(Number)
  return 0.299 * parts[0] + 0.587 * parts[1] + 0.114 * parts[2] > 140 ? '#10151c' : '#ffffff'
}

const causes = {
  compute: ['#5b7ea6', '#6f9bd1'], bubble: ['#c3cad3', '#4a5563'],
  exposed_tp: ['#009e73', '#2fc79a'], tensor: ['#009e73', '#2fc79a'],
  exposed_pp: ['#d9a000', '#f0b03c'], pipeline: ['#d9a000', '#f0b03c'],
  exposed_dp: ['#b4508c', '#e08fc0'], data: ['#b4508c', '#e08fc0'],
  exposed_ep: ['#3a9fd6', '#8fd0f5'], expert: ['#3a9fd6', '#8fd0f5'],
  exposed_cp: ['#7d7a00', '#d6d04a'], context: ['#7d7a00', '#d6d04a'],
  latency: ['#3f4854', '#c3cdd8'], contention: ['#d55e00', '#ff8a4c']
}
export const causeColour = (name) => (causes[name] ?? ['#888888', '#999999'])[isDark() ? 1 : 0]

/** From cold to hot, rising in lightness contrast for everyone (after cividis and inferno). */
export const heat = () => isDark()
  ? ['#33414f', '#3e6a9a', '#8a7fb0', '#e08a5a', '#ffd27a']
  : ['#d5dce4', '#8fb4d8', '#8277b5', '#d0603a', '#7a1022']

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

/** What every chart shares. */
export function base () {
  const ink = style('--ink')
  const soft = style('--soft')
  const line = style('--line')
  const axis = {
    axisLine: { lineStyle: { color: line } }, axisTick: { lineStyle: { color: line } },
    axisLabel: { color: soft, hideOverlap: true, formatter: (value) => typeof value === 'number' ? digits(value) : value },
    splitLine: { lineStyle: { color: line, opacity: 0.6 } },
    nameTextStyle: { color: soft }
  }
  return {
    ink, soft, line, axis, card: style('--card'),
    option: {
      animation: false, backgroundColor: 'transparent',
      textStyle: { color: ink, fontFamily: "system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif" },
      tooltip: {
        confine: true, backgroundColor: style('--card'), borderColor: line,
        textStyle: { color: ink, fontSize: 12.5 }, extraCssText: 'max-width:340px;white-space:normal'
      }
    },
    legend: {
      type: 'scroll', top: 0, left: 0, right: 0, itemWidth: 22, itemHeight: 10,
      textStyle: { color: ink }, pageTextStyle: { color: soft },
      pageIconColor: ink, pageIconInactiveColor: line, inactiveColor: soft
    }
  }
}

export const narrow = () => window.innerWidth < 620
