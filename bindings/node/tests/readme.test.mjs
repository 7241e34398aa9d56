// What the README and the examples show runs, beside the demo model.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { test } from 'node:test'
import { DEMO, ROOT } from './demo.mjs'

const env = { ...process.env }
const MODELS = path.dirname(DEMO)
const EXAMPLES = path.join(path.dirname(createRequire(import.meta.url).resolve('tenon-llm')), 'examples')

/** Runs a program until it ends, or what it printed is enough. */
function runFile(args, { cwd, input, until } = {}) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd, env })
    let output = ''
    let errors = ''
    child.stderr.on('data', (data) => { errors += data })
    child.stdout.on('data', async (data) => {
      output += data
      if (until?.test(output)) {
        const answer = until
        until = undefined
        await input?.(answer.exec(output))
        child.kill()
      }
    })
    if (typeof input === 'string') child.stdin.end(input)
    child.on('close', (code) => resolve({ code, output, errors }))
  })
}

test('the README runs from top to bottom', async () => {
  const text = fs.readFileSync(path.join(ROOT, 'bindings/node/README.md'), 'utf8')
  const blocks = Array.from(text.matchAll(/```js\n(.*?)```/gs), ([, block]) => block)
  assert.ok(blocks.length >= 7 && blocks[0].trim().split('\n').length <= 5)
  const file = path.join(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), 'readme_program.mjs')
  fs.writeFileSync(file, blocks.join('\n'))
  const { code, output, errors } = await runFile([file], { cwd: MODELS })
  fs.rmSync(file)
  assert.deepEqual([code, errors], [0, ''])
  assert.match(output, /^The capital of Norway is/)
  assert.match(output, / there was a/)
  assert.match(output, /^The capital of Norway is Oslo\.\ndata: \{.*data: \[DONE\]\n\n$/ms)
  for (const shown of ['The capital of Norway is Oslo.', "{ name: 'Mia', age: 41 }",
    'name: \'get_weather\', arguments: \'{"city": "Oslo"}\'', 'AbortError']) assert.ok(output.includes(shown), `${shown}\n${output}`)
})

test('the examples run', async () => {
  const chat = await runFile([path.join(EXAMPLES, 'chat.mjs'), DEMO], { input: 'What is the capital of Norway?\nHi\n' })
  assert.deepEqual([chat.code, chat.errors], [0, ''])
  assert.ok(chat.output.length > 20)
  const search = await runFile([path.join(EXAMPLES, 'search.mjs'), DEMO, path.join(EXAMPLES, 'search.mjs'), 'lines'])
  assert.deepEqual([search.code, search.errors], [0, ''])
  assert.equal(search.output.trim().split('\n').length, 3)
  const json = await runFile([path.join(EXAMPLES, 'json.mjs'), DEMO, 'Mia is 41 years old.'])
  assert.deepEqual(json, { code: 0, output: 'Mia is 41\n', errors: '' })
  const tools = await runFile([path.join(EXAMPLES, 'tools.mjs'), DEMO])
  assert.deepEqual([tools.code, tools.errors], [0, ''])
  assert.match(tools.output, /^get_weather: 12 degrees and rain in Oslo\n.+/)
  const many = await runFile([path.join(EXAMPLES, 'many.mjs'), DEMO, '8'])
  assert.deepEqual([many.code, many.errors], [0, ''])
  assert.match(many.output, /^192 tokens in /)
  let answer = ''
  await runFile([path.join(EXAMPLES, 'server.mjs'), DEMO, '0'], { until: /listening on (\d+)/, input: async ([, port]) => {
    answer = await (await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: 'Once upon a time' })).text()
  } })
  assert.match(answer, /^ there was/)
})
