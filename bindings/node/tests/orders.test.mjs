// Random orders of create, use and destroy: each call succeeds or is refused with a word, and nothing hangs.
// TENON_ORDERS says how many, TENON_SEED where they begin.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { test } from 'node:test'
import * as tenon from 'tenon-llm'
import { DEMO, ONCE } from './demo.mjs'

const ORDERS = Number(process.env.TENON_ORDERS ?? 1000)
const FIRST = Number(process.env.TENON_SEED ?? 0)
// What calls in a wrong order may say.
const FINE = ['STATE', 'CANCELLED', 'BUSY', 'DEADLINE', 'LIMIT']

function dice(seed) {
  return (limit) => {
    seed = (seed + 0x6D2B79F5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) % limit
  }
}

/** Runs one order over a few objects; `shared` is a model that stays. */
async function order(seed, shared, bytes) {
  const roll = dice(seed)
  const things = { model: [shared], engine: [], session: [], generation: [], sampler: [], grammar: [], chat: [], reply: [],
    server: [], answer: [] }
  const waiting = []
  const some = (kind) => things[kind][roll(things[kind].length)]
  const soon = () => roll(2) ? { signal: AbortSignal.timeout(1 + roll(200)) } : {}
  const make = {
    model: () => roll(8) ? tenon.Model.fromBytes(bytes, { threads: 1 }) : tenon.Model.open(DEMO, { threads: 1 }),
    engine: () => tenon.Engine.create(some('model'), { cacheBytes: 1 << 22 }),
    session: () => tenon.Session.create(some('model'), { engine: roll(2) ? some('engine') : undefined, context: 128 }),
    generation: () => roll(2) || !some('session')
      ? (some('engine') ?? some('model')).stream(ONCE, { maxTokens: 1 + roll(4), sampler: roll(2) ? some('sampler') : null })
      : some('session').generate(roll(2) ? ONCE : null, { maxTokens: 1 + roll(4), grammar: roll(4) ? null : some('grammar'),
        timeout: roll(8) ? 0 : 1e-4 }),
    sampler: () => tenon.Sampler.create({ seed }),
    grammar: () => tenon.Grammar.choices(['yes', 'no']),
    chat: () => tenon.Chat.create(some('model')),
    reply: () => some('chat')?.reply({ messages: [{ role: 'user', content: 'Hi' }] }),
    // Those that were added may be closed before they are asked for.
    server: async () => {
      const server = await tenon.Server.create()
      things.server.push(server)
      await server.add('demo', (roll(2) ? some('engine') : null) ?? some('model'), { context: 64 })
      if (roll(3) === 0) await server.listen()
      if (roll(8)) await server.start({ threads: roll(2) * 3 })
    },
    answer: () => some('server')?.request('POST', '/v1/completions', { prompt: ONCE, max_tokens: 4, stream: roll(2) === 0 },
      soon()),
  }
  const use = {
    model: (one) => roll(2) ? one.info : one.tokenizer.encode(ONCE),
    engine: (one) => one.stats(),
    session: (one) => [() => one.append(ONCE), () => one.logits(), () => one.rewind(0), () => one.fork().then((fork) => {
      things.session.push(fork)
    }), () => one.cancel(), () => one.position, () => one.save(), () => one.next(some('sampler')),
    () => one.prefill({ progress: () => { if (!roll(3)) void one.close() } })][roll(9)](),
    generation: (one) => [() => one.next(), () => one.text(), () => one.cancel(), () => one.stats()][roll(4)](),
    sampler: (one) => roll(2) ? one.reset() : one.setGrammar(some('grammar') ?? null, some('model').tokenizer),
    grammar: (one) => one.accepts('yes'),
    chat: (one) => one.encode({ messages: [{ role: 'user', content: 'Hi' }] }),
    reply: (one) => roll(2) ? one.push('text') : one.message(),
    server: (one) => [() => one.stop(roll(2) / 100), () => one.start(), () => one.add(`next ${roll(2 ** 30)}`, some('model')),
      () => one.fetch('/v1/models', soon()).then((response) => response.text())][roll(4)](),
    answer: (one) => roll(2) ? one.next() : one.text(),
  }
  const kinds = Object.keys(make)
  const step = async () => {
    const kind = kinds[roll(kinds.length)]
    const one = some(kind)
    if (!one || roll(4) === 0) {
      if (kind === 'model' && roll(4)) return
      const made = await make[kind]()
      if (made) things[kind].push(made)
    } else if (roll(3) === 0 && one !== shared) {
      if (roll(2)) things[kind].splice(things[kind].indexOf(one), 1)
      await one.close()
    } else {
      await use[kind](one)
    }
  }
  for (let i = 0; i < 14; ++i) {
    // Some are awaited, others overlap with what follows.
    const done = step().catch((error) => {
      if (!FINE.includes(error.code) && error.name !== 'TimeoutError') throw new Error(`order ${seed}: ${error.stack}`, { cause: error })
    })
    if (roll(3)) await done
    else waiting.push(done)
  }
  if (roll(4)) await Promise.all(waiting)
  const left = Object.values(things).flat().filter((thing) => thing !== shared)
  if (roll(3)) await Promise.all(left.map((thing) => thing.close()))
  await Promise.all(waiting)
  // One that listens is not collected.
  await Promise.all(things.server.map((server) => server.close()))
}

test(`${ORDERS} random orders`, async () => {
  const shared = await tenon.Model.open(DEMO, { threads: 1 })
  const bytes = new Uint8Array(fs.readFileSync(DEMO))
  for (let seed = FIRST; seed < FIRST + ORDERS; seed += 2) {
    await Promise.all([order(seed, shared, bytes), order(seed + 1, shared, bytes)])
  }
  // All of it still works.
  assert.equal(await shared.stream(ONCE, { maxTokens: 3, sampling: { temperature: 0 } }).text(), ' there was a')
  await shared.close()
})
