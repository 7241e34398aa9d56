// The event loop: streams, signals, callbacks, and that nothing keeps it busy.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { after, before, test } from 'node:test'
import * as tenon from 'tenon-llm'
import { DEMO, GREEDY, LONG, ONCE, sleep } from './demo.mjs'

let model
before(async () => { model = await tenon.Model.open(DEMO, { threads: 1 }) })
after(() => model.close())

const threads = () => fs.readdirSync('/proc/self/task').length
/** Until the session takes calls again: an engine lets go of a cancelled request within milliseconds. */
async function usable(session) {
  for (let i = 0; i < 200; ++i) {
    try {
      return await session.rewind(1)
    } catch (error) {
      if (error.code !== 'STATE') throw error
      await sleep(5)
    }
  }
  throw new Error('the session is still in use')
}

test('for await iterates over pieces', async () => {
  const pieces = []
  for await (const piece of model.stream(ONCE, { maxTokens: 12, sampling: GREEDY })) pieces.push(piece)
  assert.equal(pieces.length, 12)
  assert.equal(pieces.map(String).join(''), ' there was a lonely owl named Omar. One day Omar went')
  assert.equal(pieces.at(-1).finish, 'max_tokens')
})

test('several calls of next are answered in order', async () => {
  const generation = model.stream(ONCE, { maxTokens: 3, sampling: GREEDY })
  const results = await Promise.all(Array.from({ length: 5 }, () => generation.next()))
  assert.deepEqual(results.map(({ done, value }) => done || value.text), [' there', ' was', ' a', true, true])
})

test('two hundred requests share one thread', async () => {
  const engine = await tenon.Engine.create(model, { running: 200 })
  const first = await engine.stream(ONCE, { maxTokens: 2, sampling: GREEDY }).text()
  const sessions = await Promise.all(Array.from({ length: 200 }, () => engine.session()))
  const generations = sessions.map((session) => session.generate(ONCE, { maxTokens: 8, sampling: GREEDY }))
  await Promise.all(generations.map((generation) => generation.stats())) // they are submitted
  const before = threads()
  let most = before
  const watch = setInterval(() => { most = Math.max(most, threads()) }, 2)
  const texts = await Promise.all(generations.map((generation) => generation.text()))
  clearInterval(watch)
  assert.deepEqual([...new Set(texts)].length, 1)
  assert.ok(texts[0].startsWith(first))
  // A few more while many wait at a time for the end of a step; none for a request.
  assert.ok(most - before < 10, `${most - before} threads more`)
  await engine.close()
})

test('a signal ends a stream with its reason', async () => {
  const session = await model.session({ context: 16384 })
  const controller = new AbortController()
  const generation = session.generate(LONG, { ignoreEnd: true, signal: controller.signal })
  const reason = new Error('no more')
  let count = 0
  await assert.rejects(async () => {
    for await (const piece of generation) if (++count === 3) controller.abort(reason)
  }, (error) => error === reason)
  assert.equal((await generation.next()).done, true)
  await usable(session)
  assert.ok(await session.generate(null, { maxTokens: 2 }).text())
  await assert.rejects(session.generate(null, { signal: AbortSignal.abort() }).text(), { name: 'AbortError' })
  await assert.rejects(session.generate(LONG, { ignoreEnd: true, signal: AbortSignal.timeout(10) }).text(),
    { name: 'TimeoutError' })
  await usable(session)
  await session.append(LONG)
  await assert.rejects(session.prefill({ signal: AbortSignal.timeout(2) }), { name: 'TimeoutError' })
  await session.close()
})

test('leaving the loop ends the request and lets the session go', async () => {
  const session = await model.session({ context: 16384 })
  for await (const piece of session.generate(ONCE)) if (piece) break
  await session.append('more')
  const generation = session.generate(LONG, { ignoreEnd: true })
  await assert.rejects(session.append('more'), tenon.StateError)
  await generation.next()
  await assert.rejects(session.append('more'), tenon.StateError)
  await generation[Symbol.asyncDispose]()
  await session.append('more')
  await session.close()
})

test('cancel and close end who waits', async () => {
  for (const end of ['cancel', 'close']) {
    const session = await model.session({ context: 16384 })
    const generation = session.generate(LONG, { ignoreEnd: true })
    const text = generation.text()
    setTimeout(() => generation[end](), 10)
    await assert.rejects(text, tenon.CancelledError)
    await session.close()
  }
  const generation = model.stream(LONG)
  generation.cancel()
  await assert.rejects(generation.text(), tenon.CancelledError)
  const unread = model.stream(LONG)
  await unread.close()
  assert.equal((await unread.next()).done, true)
})

test('a deadline comes out of the loop', async () => {
  await assert.rejects(model.stream(LONG, { timeout: 1e-6 }).text(), tenon.DeadlineError)
})

test('closing an engine ends what waits for it', async () => {
  const engine = await tenon.Engine.create(model)
  const generations = [1, 2, 3].map(() => engine.stream(LONG, { ignoreEnd: true, session: { context: 16384 } }))
  await Promise.all(generations.map((generation) => generation.stats())) // they are submitted
  const ends = Promise.allSettled(generations.map((generation) => generation.text()))
  await engine.close()
  assert.deepEqual((await ends).map(({ reason }) => reason?.code), Array(3).fill('CANCELLED'))
})

test('sessions of a closed engine compute, but stream no more', async () => {
  const engine = await tenon.Engine.create(model)
  const session = await engine.session()
  await engine.close()
  await session.append(ONCE)
  assert.equal((await session.logits()).length, 1024)
  await assert.rejects(session.generate(null, { maxTokens: 2 }).text(), /the engine has been closed/)
})

test('what a callback throws comes out of the call', async () => {
  const session = await model.session()
  await session.append(LONG)
  const mine = { not: 'even an Error' }
  await assert.rejects(session.prefill({ progress: () => { throw mine } }), (error) => error === mine)
  await assert.rejects(session.prefill({ progress: () => true }), tenon.CancelledError)
  await session.prefill({ progress: async () => true }) // a promise is not true
  await session.close()
})

test('a session in use refuses a second call; cancel and close come through', async () => {
  const session = await model.session()
  await session.append(LONG)
  const refused = []
  const first = session.prefill({ progress: () => {
    if (!refused.length) refused.push(session.append('more').then(() => 'taken', (error) => error))
  } })
  assert.throws(() => session.position, tenon.StateError)
  await first
  assert.match((await refused[0]).message, /in use by another call/)
  await session.rewind(0)
  await session.append(LONG)
  const second = session.prefill({ progress: () => session.cancel() })
  await assert.rejects(second, tenon.CancelledError)
  const third = session.prefill({ progress: () => void session.close() })
  await assert.rejects(third, tenon.CancelledError)
  await assert.rejects(session.prefill(), /has been closed/)
})

/** Milliseconds but for those in which the processor was given to others, as far as the system tells. */
const clock = (() => {
  const file = `/proc/self/task/${process.pid}/schedstat`
  if (!fs.existsSync(file)) return () => performance.now()
  const fd = fs.openSync(file)
  const buffer = Buffer.alloc(100)
  return () => {
    const size = fs.readSync(fd, buffer, 0, buffer.length, 0)
    return performance.now() - Number(buffer.latin1Slice(0, size).split(' ')[1]) / 1e6
  }
})()

/** The longest turn of the loop while `work` is under way, in ms: the least of some tries, since threads that it
 * shares a lock with may have had to wait for a processor. */
async function longestTurn(work, tries = 20, enough = 5) {
  let least = Infinity
  for (let i = 0; i < tries && least >= enough; ++i) {
    let longest = 0
    let isDone = false
    let last = clock()
    const turn = () => {
      const now = clock()
      longest = Math.max(longest, now - last)
      last = now
      if (!isDone) setImmediate(turn)
    }
    setImmediate(turn)
    await work()
    await new Promise(setImmediate)
    await new Promise(setImmediate)
    isDone = true
    least = Math.min(least, longest)
  }
  return least
}

test('no turn of the loop takes 5 ms', async () => {
  const session = await model.session({ context: 16384 })
  const cases = {
    prefill: async () => { await session.rewind(0); await session.append(LONG); await session.prefill() },
    streams: () => Promise.all(Array.from({ length: 32 }, () =>
      model.stream(LONG.slice(0, 500), { maxTokens: 30, ignoreEnd: true }).text())),
    open: async () => (await tenon.Model.open(DEMO)).close(),
    tokenizer: async () => {
      const tokens = await model.tokenizer.encode('word '.repeat(20000))
      await model.tokenizer.decode(tokens)
    },
    save: async () => { await session.restore(await session.save()) },
    grammar: () => tenon.Grammar.jsonSchema({ type: 'array', items: { type: 'string', maxLength: 2000 }, maxItems: 40 }),
    metadata: () => model.metadata('tokenizer.ggml.tokens'),
    score: async () => {
      await session.rewind(100)
      await session.score(Array.from({ length: 64 }, (_, index) => `word ${index}`))
    },
  }
  for (const [name, work] of Object.entries(cases)) {
    const turn = await longestTurn(work)
    assert.ok(turn < 5, `${name}: ${turn.toFixed(1)} ms`)
  }
  // The measurement sees a loop that is kept busy.
  assert.ok(await longestTurn(async () => { model.tokenizer.encodeSync('word '.repeat(200000)) }) > 5)
  await session.close()
})

test('the loop ends by itself while nothing is awaited', async () => {
  const { runProgram } = await import('./run_scenarios.mjs')
  const { code, output, errors } = await runProgram(`
    import { DEMO } from './demo.mjs'
    import { Model } from 'tenon-llm'
    const model = await Model.open(DEMO)
    const engine = await model.engine()
    for await (const piece of engine.stream('Once', { maxTokens: 3 })) process.stdout.write(piece.text ? '.' : '')
    const kept = [model, engine, await model.session()]
  `)
  assert.deepEqual([code, output, errors], [0, '...', ''])
})
