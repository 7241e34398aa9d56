// The first things a program does, in any runtime: Node, Bun, Deno.
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { CancelledError, Engine, Grammar, Model, Server, Session, StateError } from 'tenon-llm'

const root = process.env.TENON_ROOT ?? path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..')
const demo = path.join(root, 'examples/models/demo-q8_0.gguf')
const greedy = { sampling: { temperature: 0 } }
const expect = (condition, what) => {
  if (!condition) throw new Error(what)
}

if (createRequire(import.meta.url)('tenon-llm').Model !== Model) throw new Error('require gives other classes')
const model = await Model.open(demo, { threads: 2, progress: () => {} })
let text = ''
for await (const piece of model.stream('Once upon a time', { maxTokens: 5, ...greedy })) text += piece.text
expect(text === ' there was a lonely owl', text)

const engine = await Engine.create(model)
const texts = await Promise.all(Array.from({ length: 20 }, () =>
  engine.stream('Once upon a time', { maxTokens: 5, ...greedy }).text()))
expect(new Set(texts).size === 1 && texts[0] === text, 'many at once')

const session = await Session.create(model)
await session.append('Once upon a time')
const logits = await session.logits()
expect(logits instanceof Float32Array && logits.length === 1024, 'logits')
const thrown = new Error('mine')
const caught = await session.evaluate([1, 2, 3], () => { throw thrown }).catch((error) => error)
expect(caught === thrown, 'what a callback throws')
const saved = await session.save()
await session.restore(saved)
const generation = session.generate('word '.repeat(400), { signal: AbortSignal.timeout(5) })
const ended = await generation.text().catch((error) => error.name)
expect(ended === 'TimeoutError' || typeof ended === 'string', 'a signal')
const cancelled = model.stream('Once upon a time')
cancelled.cancel()
expect(await cancelled.text().catch((error) => error instanceof CancelledError) === true, 'cancel')
const grammar = await Grammar.choices(['yes', 'no'])
expect(/^(yes|no)$/.test(await model.stream('Once', { grammar, maxTokens: 8 }).text()), 'a grammar')
const copied = await Model.fromBytes(new Uint8Array(fs.readFileSync(demo)), { threads: 1 })
const server = await Server.create()
await server.add('demo', engine)
const port = await server.listen()
await server.start()
const question = { messages: [{ role: 'user', content: 'What is the capital of Norway?' }], temperature: 0 }
const init = { method: 'POST', body: JSON.stringify(question) }
for (const response of [await server.fetch('/v1/chat/completions', init),
  await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, init)]) {
  const { choices } = await response.json()
  expect(choices[0].message.content === 'The capital of Norway is Oslo.', JSON.stringify(choices))
}
let events = ''
const stream = await server.request('POST', '/v1/chat/completions', { ...question, stream: true })
for await (const part of stream) events += new TextDecoder().decode(part)
expect(stream.status === 200 && /data: \[DONE\]\s*$/.test(events), events)
await server.stop(5)
for (const thing of [copied, session, engine, model, server]) await thing.close()
try {
  session.position
  expect(false, 'a closed session')
} catch (error) {
  expect(error instanceof StateError && error.code === 'STATE', String(error))
}
const runtime = globalThis.Bun ? `Bun ${Bun.version}` : globalThis.Deno ? `Deno ${Deno.version.deno}` : `Node ${process.version}`
console.log(`${runtime}: Once upon a time${text}`)
