// Every option comes to the library as it was given, whatever is made with it: name, kind and value.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { DEMO, ROOT } from './demo.mjs'

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tenon-options-'))
after(() => fs.rmSync(folder, { recursive: true }))
const recording = path.join(ROOT, 'bindings/recording.py')
const hasPython = spawnSync('python3', ['--version']).status === 0
const inner = createRequire(createRequire(import.meta.url).resolve('tenon-llm'))

test('every option comes to the library as it was given', { skip: !hasPython && 'no python3' }, () => {
  execFileSync('python3', ['-B', recording, fs.realpathSync(inner('./lib/library.js').library()), folder])
  // Numbers beyond those that JavaScript has are given as bigints.
  const samples = JSON.parse(execFileSync('python3', ['-B', recording, '--samples'], { encoding: 'utf8' })
    .replaceAll(/"value": (\d{16,})/g, '"value": {"bigint": "$1"}'))
  const file = path.join(path.dirname(fileURLToPath(import.meta.url)), 'options_program.mjs')
  fs.writeFileSync(file, `
    import fs from 'node:fs'
    import { Chat, Embedder, Engine, Model, Sampler, useLibrary } from 'tenon-llm'
    useLibrary(${JSON.stringify(path.join(folder, 'libtenon.so'))})
    const record = process.env.TENON_RECORD
    const model = await Model.open(${JSON.stringify(DEMO)}, { threads: 1 })
    const engine = await Engine.create(model)
    const ways = {
      model: { Model: (options) => Model.open('/nowhere/none.gguf', options) },
      session: { 'model.session': (options) => model.session(options), 'engine.session': (options) => engine.session(options) },
      engine: { Engine: (options) => Engine.create(model, options) },
      chat: { Chat: (options) => Chat.create(model, options) },
      embedder: { Embedder: (options) => Embedder.create(model, options) },
      sampler: { Sampler: (options) => Sampler.create(options),
        'model.stream': (sampling) => model.stream('x', { maxTokens: 1, sampling }).text(),
        'engine.stream': (sampling) => engine.stream('x', { maxTokens: 1, sampling }).text() },
    }
    const found = []
    for (const { scope, name, value } of JSON.parse(fs.readFileSync(0, 'utf8'))) {
      const key = name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase())
      for (const [way, make] of Object.entries(ways[scope])) {
        fs.writeFileSync(record, '')
        // Values that nothing can be done with are refused after they were handed over.
        await Promise.resolve(make({ [key]: value?.bigint ? BigInt(value.bigint) : value })).catch(() => {})
        found.push([way, name, fs.readFileSync(record, 'utf8').split('\\n').filter(Boolean)])
      }
    }
    console.log(JSON.stringify(found))
  `)
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], { encoding: 'utf8', input: JSON.stringify(samples),
    env: { ...process.env, TENON_RECORD: path.join(folder, 'record') }, maxBuffer: 1 << 26 })
  fs.rmSync(file)
  assert.equal(status, 0, stderr)
  const wanted = new Map(samples.map(({ name, lines }) => [name, lines]))
  const found = JSON.parse(stdout)
  assert.ok(wanted.size >= 79)
  assert.deepEqual(new Set(found.map(([, name]) => name)), new Set(wanted.keys()))
  for (const [way, name, lines] of found) assert.deepEqual(lines, wanted.get(name), way)
})
