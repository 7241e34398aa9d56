// The ends of things: worker threads, processes, collected objects.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import * as tenon from 'tenon-llm'
import { DEMO, GREEDY, LONG, ONCE, sleep } from './demo.mjs'
import { runProgram } from './run_scenarios.mjs'

const WORKER = `
  const { parentPort, workerData } = require('node:worker_threads')
  const tenon = require('tenon-llm')
  const work = async ({ demo, text, count }) => {
    const model = await tenon.Model.open(demo, { threads: 1 })
    const session = await model.session({ context: 16384 })
    await session.append(text)
    const prefill = session.fork().then((fork) => fork.prefill({ progress: () => {} })).catch(() => {})
    const texts = Array.from({ length: count }, () => model.stream(text, { ignoreEnd: true, maxTokens: 3 }).text())
    parentPort.postMessage('under way')
    await prefill
    parentPort.postMessage(await Promise.all(texts))
  }
  work(workerData)
`
const startWorker = (workerData) => new Worker(WORKER, { eval: true, workerData })
const message = (worker) => new Promise((resolve, reject) => {
  worker.once('message', resolve)
  worker.once('error', reject)
})

test('worker threads each have their own', async () => {
  const texts = await Promise.all([1, 2, 3].map(async () => {
    const worker = startWorker({ demo: DEMO, text: ONCE, count: 2 })
    assert.equal(await message(worker), 'under way')
    return message(worker)
  }))
  assert.deepEqual([...new Set(texts.flat())], [' there was a'])
})

test('a worker can be terminated while it computes', async () => {
  for (let i = 0; i < 12; ++i) {
    const worker = startWorker({ demo: DEMO, text: LONG, count: 4 })
    if (i % 3 === 0) await sleep(i * 5)
    else await message(worker)
    const start = performance.now()
    await worker.terminate()
    assert.ok(performance.now() - start < 1000)
  }
  // Nothing of them is in the way of others.
  const model = await tenon.Model.open(DEMO)
  assert.equal(await model.stream(ONCE, { maxTokens: 3, sampling: GREEDY }).text(), ' there was a')
  await model.close()
})

test('everything may be closed in any order', async () => {
  for (let order = 0; order < 24; ++order) {
    const model = await tenon.Model.open(DEMO, { threads: 1 })
    const engine = await tenon.Engine.create(model)
    const session = await engine.session()
    const generation = session.generate(ONCE, { maxTokens: 4 })
    await generation.next()
    const things = [model, engine, session, generation]
    for (let rest = order; things.length;) {
      const [thing] = things.splice(rest % things.length, 1)
      rest = Math.floor(rest / (things.length + 1))
      if (order % 2) await thing.close()
      else void thing.close()
    }
    for (const late of [() => model.info, () => session.position, () => engine.stats()]) {
      assert.throws(late, { code: 'STATE', message: /closed/ })
    }
    await assert.rejects(engine.session(), tenon.StateError)
    assert.ok(model.closed && engine.closed && session.closed)
    assert.equal((await generation.next()).done, true)
  }
})

test('closing twice, and closing what is in use', async () => {
  const model = await tenon.Model.open(DEMO, { threads: 1 })
  const session = await model.session()
  const { tokenizer } = model
  await session.append(LONG)
  const prefill = session.prefill()
  const closing = session.close()
  assert.equal(session.close(), closing)
  await assert.rejects(prefill, tenon.CancelledError)
  await closing
  await model.close()
  await model.close()
  assert.throws(() => tokenizer.encodeSync('x'), tenon.StateError)
})

test('a model may be closed before what uses it', async () => {
  const bytes = new Uint8Array(fs.readFileSync(DEMO))
  const model = await tenon.Model.fromBytes(bytes, { threads: 1 })
  const session = await model.session()
  const engine = await tenon.Engine.create(model)
  await model.close()
  bytes.fill(0)
  await session.append(ONCE)
  assert.equal((await session.logits()).length, 1024)
  assert.equal(await engine.stream(ONCE, { maxTokens: 3, sampling: GREEDY }).text(), ' there was a')
  await engine.close()
  await session.close()
})

test('exit with requests under way is quick', async () => {
  const took = { false: [], true: [] }
  for (let i = 0; i < 3; ++i) {
    for (const work of [false, true]) {
      const { code, output, errors, end } = await runProgram(`
        import * as tenon from 'tenon-llm'
        import { DEMO, LONG, sleep } from './demo.mjs'
        const model = await tenon.Model.open(DEMO)
        const session = await model.session()
        await session.append(LONG)
        if (${work}) {
          for (let i = 0; i < 6; ++i) model.stream(LONG, { maxTokens: 0, ignoreEnd: true }).next()
          await sleep(20)
          session.prefill()
        }
        process.stdout.write(String(Date.now()), () => process.exit(5))
      `)
      assert.deepEqual([code, errors], [5, ''])
      took[work].push(end - Number(output))
    }
  }
  // What Node itself takes to end is in both; the machine may have had something else to do.
  assert.ok(Math.min(...took.true) - Math.min(...took.false) < 100, JSON.stringify(took))
})

test('collected objects end what they compute, closed ones free their memory', async () => {
  const { code, output, errors } = await runProgram(`
    import fs from 'node:fs'
    import { setTimeout as sleep } from 'node:timers/promises'
    import * as tenon from 'tenon-llm'
    import { DEMO, LONG } from './demo.mjs'
    const memory = () => Number(/VmRSS:\\s+(\\d+)/.exec(fs.readFileSync('/proc/self/status', 'utf8'))[1])
    const nameOf = (id) => {
      try {
        return fs.readFileSync('/proc/self/task/' + id + '/comm', 'utf8')
      } catch {
        return '' // the thread has ended since
      }
    }
    const engines = () => fs.readdirSync('/proc/self/task').filter((id) => nameOf(id) === 'tenon-engine\\n').length
    async function use(closes) {
      const model = await tenon.Model.open(DEMO, { threads: 1 })
      const engine = await tenon.Engine.create(model)
      const generation = engine.stream(LONG, { ignoreEnd: true })
      generation.next().catch(() => {})
      const session = await model.session()
      await session.append('Once')
      await model.tokenizer.encode('x')
      for (const thing of closes ? [generation, session, engine, model] : []) await thing.close()
    }
    for (let i = 0; i < 10; ++i) await use(true)
    const before = memory()
    for (let i = 0; i < 40; ++i) await use(true)
    const more = memory() - before
    // Other threads end what was collected, when they come to it.
    async function leave(times) {
      for (let i = 0; i < times; ++i) await use(false)
      for (let i = 0; i < 200 && engines() > 0; ++i) { gc(); await sleep(10) }
    }
    await leave(10)
    const collected = memory()
    await leave(20)
    console.log(JSON.stringify([more, memory() - collected, engines()]))
    process.exit()
  `, ['--expose-gc'],
  // So that freed memory goes back to the system at once, not when a heap has no holes.
  { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_TRIM_THRESHOLD_: '65536' })
  assert.deepEqual([code, errors], [0, ''])
  const [kilobytes, collected, engines] = JSON.parse(output)
  assert.ok(kilobytes < 20000, `${kilobytes} kB more`) // a model takes 2 MB
  assert.ok(collected < 20000, `${collected} kB more when engines are collected before their requests end`)
  assert.equal(engines, 0)
})

test('an uncaught error of a log function is the process\'s', async () => {
  const { code, errors } = await runProgram(`
    import * as tenon from 'tenon-llm'
    import { DEMO } from './demo.mjs'
    process.on('uncaughtException', (error) => { console.error('caught', error.message); process.exit(7) })
    await tenon.Model.open(DEMO, { log: () => { throw new Error('of the log') }, logLevel: 3 })
    await new Promise((resolve) => setTimeout(resolve, 100))
    process.exit(7)
  `)
  assert.equal(code, 7)
  if (errors) assert.match(errors, /caught of the log/)
})

test('another library cannot be named any more', () => {
  assert.ok(fs.existsSync(tenon.libraryPath()))
  assert.throws(() => tenon.useLibrary('/elsewhere/libtenon.so'), tenon.StateError)
  tenon.useLibrary(tenon.libraryPath())
})
