// node build.mjs OUT.cpp: bundles the page and writes it as C++ source, text in pieces that every
// compiler takes. Runs in a folder that holds this file and node_modules.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import path from 'node:path'
import * as esbuild from 'esbuild'

const here = path.dirname(fileURLToPath(import.meta.url))
const read = (...names) => readFileSync(path.join(here, ...names), 'utf8')

const bundled = await esbuild.build({
  entryPoints: [path.join(here, 'main.js')],
  bundle: true, minify: true, write: false, format: 'iife', target: 'es2020',
  charset: 'utf8', legalComments: 'none', logLevel: 'error'
})
const style = await esbuild.transform(read('style.css'), { loader: 'css', minify: true })

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
const licences = [
  ['Apache ECharts', 'echarts/LICENSE', 'echarts/NOTICE'],
  ['ZRender', 'zrender/LICENSE'],
  ['tslib', 'tslib/LICENSE.txt']
].map(([title, ...files]) => `<h3>${title}</h3>` +
  files.map((file) => `<pre>${escaped(read('node_modules', file))}</pre>`).join('')).join('\n')

// Replacements as functions: "$&" in the bundle means nothing.
const page = read('page.html')
  .replace('@@STYLE@@', () => style.code)
  .replace('@@SCRIPT@@', () => bundled.outputFiles[0].text)
  .replace('@@LICENCES@@', () => licences)

/** Raw string literals of at most 8,000 characters: C++ promises no more than 65,536. */
function literals (text) {
  const pieces = []
  const letters = Array.from(text)
  for (let at = 0; at < letters.length; at += 8000) {
    pieces.push(`R"~page~(${letters.slice(at, at + 8000).join('')})~page~"`)
  }
  return pieces.join(',\n    ')
}

// Pointers, not string views: clang gives up counting the letters of so many while it compiles.
writeFileSync(process.argv[2], `// Written by src/report/page/build.mjs.
#include "page_bundle.hpp"

namespace railyard::report {

namespace {
const char* const kPage[] = {
    ${literals(page)}};
}  // namespace

Bundle page_bundle() {
  return {kPage, {}};
}

}  // namespace railyard::report
`)
