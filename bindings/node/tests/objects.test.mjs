// What each object does.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import * as tenon from 'tenon-llm'
import { DEMO, GREEDY, ONCE } from './demo.mjs'

let model
before(async () => { model = await tenon.Model.open(DEMO, { threads: 2 }) })
after(() => model.close())

test('require and import give the same classes', () => {
  const required = createRequire(import.meta.url)('tenon-llm')
  assert.equal(required.Model, tenon.Model)
  assert.deepEqual(Object.keys(required).sort(), Object.keys(tenon).filter((key) =>
    key !== 'default' && key !== 'module.exports').sort())
  assert.match(tenon.version(), /^\d+\.\d+\.\d+$/)
})

test('a model tells what is in it', async () => {
  assert.equal(model.info.architecture, 'llama')
  assert.equal(model.info.vocabulary, 1024)
  const keys = model.metadataKeys
  assert.ok(keys.includes('general.architecture'))
  assert.equal(await model.metadata('general.architecture'), 'llama')
  assert.equal(await model.metadata('no.such.key'), undefined)
  const tokens = await model.metadata('tokenizer.ggml.tokens')
  assert.equal(tokens.length, 1024)
  const tensors = await model.tensors()
  assert.ok(tensors.every(({ name, sizeBytes }) => name && sizeBytes > 0))
  assert.ok((await model.memory()).weightsBytes > 0)
  assert.equal((await model.execution()).threads, 2)
  const plan = await model.plan(await model.measure(), { context: 256, sessions: 2 })
  assert.equal(plan.sessions, 2)
  assert.ok(plan.totalBytes > plan.weightsBytes)
})

test('a model comes from bytes and from a descriptor', async () => {
  const fd = fs.openSync(DEMO, 'r')
  const opened = await tenon.Model.fromDescriptor(fd, { threads: 1 })
  fs.closeSync(fd)
  const { buffer, byteOffset, byteLength } = fs.readFileSync(DEMO)
  const copied = await tenon.Model.fromBytes(new Uint8Array(buffer, byteOffset, byteLength), { threads: 1 })
  for (const one of [opened, copied]) {
    assert.equal(await one.stream(ONCE, { maxTokens: 3, sampling: GREEDY }).text(), ' there was a')
    await one.close()
  }
})

test('loading tells its progress, is ended by it, and logs', async () => {
  const seen = []
  const lines = []
  const logging = await tenon.Model.open(DEMO, { progress: (fraction) => void seen.push(fraction),
    log: (level, line) => void lines.push([level, line]), logLevel: tenon.constants.LOG_DEBUG })
  assert.ok(seen.length && seen.at(-1) === 1 && seen.every((value, index) => !index || value >= seen[index - 1]))
  assert.ok(lines.every(([, line]) => !line.includes('\n')))
  await logging.close()
  await assert.rejects(tenon.Model.open(DEMO, { progress: () => true }), tenon.CancelledError)
  await assert.rejects(tenon.Model.open(DEMO, { progress: () => { throw new RangeError('mine') } }), RangeError)
  const signal = AbortSignal.abort(new Error('before'))
  await assert.rejects(tenon.Model.open(DEMO, { signal }), /before/)
})

test('errors have a class for each code', async () => {
  await assert.rejects(tenon.Model.open('/no/such/file'), (error) =>
    error instanceof tenon.InputOutputError && error instanceof tenon.TenonError && error.code === 'ENOENT' &&
    error.name === 'InputOutputError' && error.message.includes('/no/such/file'))
  await assert.rejects(tenon.Model.open(DEMO, { thraeds: 1 }), { name: 'ArgumentError', message: /threads/ })
  await assert.rejects(tenon.Grammar.regex('a('), tenon.GrammarError)
  await assert.rejects(tenon.Chat.create(null, { template: '{% if %}' }), tenon.TemplateError)
})

test('a path is a text or a file: URL', async () => {
  const tokenizer = await tenon.Tokenizer.open(pathToFileURL(DEMO))
  assert.deepEqual(Array.from(await tokenizer.encode(ONCE)), [593, 591, 256, 426])
  await tokenizer.close()
  const session = await model.session()
  await session.append(ONCE)
  const saved = path.join(os.tmpdir(), `tenon saved ${process.pid}`)
  await session.save(pathToFileURL(saved))
  await session.restore(saved)
  fs.unlinkSync(saved)
  await (await tenon.Model.open(pathToFileURL(DEMO), { threads: 1 })).close()
  await session.close()
})

test('wrong arguments are TypeErrors and harm nothing', async () => {
  await assert.rejects(tenon.Engine.create({}), TypeError)
  await assert.rejects(tenon.Engine.create({ _handle: {} }), /a handle of a model is needed/)
  await assert.rejects(tenon.Engine.create({ _handle: (await model.session())._handle }), /a handle of a model/)
  const session = await model.session()
  await assert.rejects(session.append([1.5]), /whole number/)
  await assert.rejects(session.append([2 ** 40]), /whole number/)
  await assert.rejects(session.append({}), /array of numbers/)
  await assert.rejects(session.evaluate([1], 'no function'), /a function is needed/)
  await assert.rejects(session.rewind(-1), /whole number/)
  await assert.rejects(session.generate(ONCE, { maxToken: 3 }).text(), /no option maxToken; there are: maxTokens, /)
  await assert.rejects(session.generate(ONCE, { maxTokens: -1 }).text(), /maxTokens/)
  await assert.rejects(tenon.Model.open(5), { name: 'TypeError', message: /string or a file: URL, not 5/ })
  await assert.rejects(tenon.Model.open(new URL('http://example.org/model.gguf')), TypeError)
  assert.throws(() => new tenon.Session(), /await Session\.create/)
  assert.equal(session.position, 0)
  await session.close()
})

test('a session reads, goes on, forks, rewinds, saves and restores', async () => {
  const session = await tenon.Session.create(model, { context: 256 })
  assert.equal(session.context, 256)
  await session.append(ONCE)
  assert.equal(session.position, 4)
  assert.deepEqual(Array.from(session.tokens), [593, 591, 256, 426])
  await session.prefill()
  const sampler = await tenon.Sampler.create(GREEDY)
  const piece = await session.next(sampler)
  assert.deepEqual([piece.text, piece.token, piece.finish, `${piece}`], [' there', 507, null, ' there'])
  const logits = await session.drawnLogits()
  assert.ok(logits instanceof Float32Array && logits.length === 1024)
  assert.equal(logits.indexOf(Math.max(...logits)), 507)
  const { logprobs, top } = await tenon.logprobs(logits, { tokens: [507], top: 2 })
  assert.equal(top[0].token, 507)
  assert.equal(top[0].logprob, logprobs[0])
  const fork = await session.fork()
  assert.deepEqual(fork.tokens, session.tokens)
  const saved = await session.save()
  assert.ok(saved instanceof Uint8Array)
  await session.rewind(2)
  assert.equal(session.position, 2)
  await session.restore(saved)
  assert.deepEqual(session.tokens, fork.tokens)
  const file = path.join(os.tmpdir(), `tenon-node-${process.pid}`)
  await session.save(file)
  await fork.rewind(0)
  await fork.restore(file)
  fs.rmSync(file)
  assert.deepEqual(fork.tokens, session.tokens)
  const { candidates, best } = await session.bestOf(3, { maxTokens: 4 })
  assert.equal(candidates.length, 3)
  assert.ok(best >= 0 && best < 3)
  assert.equal(candidates[best].tokens.length, 4)
  assert.equal(session.position, 9)
  const rows = []
  await fork.evaluate([1, 2, 3], (row, values) => void rows.push([row, values.length]))
  assert.deepEqual(rows, [[0, 1024], [1, 1024], [2, 1024]])
  await assert.rejects(fork.evaluate([1, 2, 3], () => true), tenon.CancelledError)
  assert.ok(session.stats().decodeTokens > 0)
  assert.equal(session.takeHeld(), '')
  for (const thing of [session, fork, sampler]) await thing.close()
})

test('a sampler draws, and takes draws back', async () => {
  const sampler = await tenon.Sampler.create({ temperature: 1, seed: 3, topK: 5 })
  const logits = new Float32Array(1024).fill(-10)
  logits[7] = 10
  assert.equal(await sampler.sample(logits), 7)
  sampler.setBias(7, -Infinity)
  logits[8] = 5
  assert.equal(await sampler.sample(logits), 8)
  await sampler.rollBack(1)
  await sampler.reset()
  assert.equal(await sampler.sample(logits, { history: [1, 2] }), 7)
  sampler.set('topK', 3)
  sampler.set('temperature', 0.5)
  assert.throws(() => sampler.set('topK', 'many'), TypeError)
  sampler.addStopToken(507)
  const generation = model.stream(ONCE, { sampler, maxTokens: 5 })
  const pieces = []
  for await (const piece of generation) pieces.push(piece)
  assert.equal(pieces[0].finish, 'stop')
  await sampler.close()
})

test('grammars and matchers', async () => {
  const grammar = await tenon.Grammar.choices(['yes', 'no'])
  assert.deepEqual([await grammar.accepts('yes'), await grammar.accepts('maybe')], [true, false])
  const matcher = await grammar.matcher(model.tokenizer)
  assert.deepEqual(await matcher.state(), { complete: false, ended: false })
  const mask = await matcher.mask()
  assert.ok(mask instanceof BigUint64Array && mask.length === 16)
  assert.equal(await matcher.acceptText('y'), true)
  assert.equal(await matcher.acceptText('n'), false)
  assert.equal(await matcher.forcedText(), 'es')
  const fork = await matcher.fork()
  await matcher.rollBack(1)
  assert.equal(await matcher.allows(model.tokenizer.find('n')), true)
  assert.equal(await fork.allows(model.tokenizer.find('n')), false)
  await assert.rejects(fork.accept(model.tokenizer.find('n')), tenon.StateError)
  assert.match(await model.stream(ONCE, { grammar, maxTokens: 8 }).text(), /^(yes|no)$/)
  assert.equal(await (await tenon.Grammar.regex(/[0-9]{2}/)).accepts('41'), true)
  assert.equal(await (await tenon.Grammar.gbnf('root ::= "a" | "b"')).accepts('b'), true)
})

test('a tokenizer alone, and that of a model', async () => {
  const alone = await tenon.Tokenizer.open(DEMO)
  const same = await tenon.Tokenizer.fromBytes(fs.readFileSync(DEMO))
  const { tokenizer } = model
  assert.equal(tokenizer, model.tokenizer)
  const text = 'Grüße, 世界 🦊'
  for (const one of [alone, same, tokenizer]) {
    const tokens = await one.encode(text)
    assert.ok(tokens instanceof Int32Array)
    assert.deepEqual(one.encodeSync(text), tokens)
    assert.equal(await one.decode(tokens), text)
    assert.equal(one.decodeSync(Array.from(tokens)), text)
    assert.deepEqual(Buffer.from(await one.decodeBytes(tokens)), Buffer.from(text))
    assert.equal(one.size, 1024)
  }
  assert.equal(tokenizer.info(tokenizer.endToken).attributes & tenon.constants.TOKEN_END, tenon.constants.TOKEN_END)
  assert.equal(tokenizer.find('no such token'), null)
  assert.equal(await tokenizer.decode([195]), '\uFFFD'.repeat(1))
})

test('a chat makes prompts and reads answers', async () => {
  const chat = await tenon.Chat.create(model)
  const conversation = { messages: [{ role: 'user', content: 'What is the capital of Norway?' }] }
  assert.match(await chat.render(conversation), /^<\|im_start\|>user\nWhat/)
  assert.equal(typeof chat.format, 'string')
  assert.equal(await chat.grammar(conversation), null)
  const reply = await chat.reply(conversation)
  const deltas = []
  for await (const piece of model.stream(await chat.encode(conversation), { sampling: GREEDY, maxTokens: 40 })) {
    if (piece.token !== null) deltas.push(...reply.push(piece.token))
  }
  deltas.push(...reply.finish())
  assert.ok(deltas.every(({ kind }) => kind === 'content'))
  assert.deepEqual(reply.message(), { role: 'assistant', content: 'The capital of Norway is Oslo.' })
  assert.deepEqual(reply.message().content, deltas.map(({ text }) => text).join(''))
  await assert.rejects(chat.render('no JSON'), tenon.TenonError)
})

test('an embedder embeds and ranks', async () => {
  const encoder = await tenon.Model.open(DEMO, { embeddings: 'on', threads: 1 })
  const embedder = await tenon.Embedder.create(encoder)
  assert.equal(embedder.info.dimensions, embedder.dimensions)
  const rows = await embedder.embed(['a fox', 'the sea', 'a fox'])
  assert.deepEqual([rows.length, rows.counts, rows.data.length], [3, [1, 1, 1], 3 * rows.dimensions])
  assert.deepEqual(rows.at(0), rows.at(-1))
  assert.equal(rows.at(3), undefined)
  // An array like any other, over one block.
  assert.ok(rows[1].buffer === rows.data.buffer && Object.keys(rows).join() === '0,1,2')
  const sums = rows.map((row) => row.reduce((sum, value) => sum + value, 0))
  assert.ok(sums.constructor === Array && sums.length === 3 && sums[0] === sums[2])
  const length = Math.hypot(...rows.at(1))
  assert.ok(Math.abs(length - 1) < 1e-5)
  const tokens = await embedder.embed([[1, 2, 3], new Int32Array([4])])
  assert.equal(tokens.length, 2)
  assert.equal((await embedder.embed([])).length, 0)
  await assert.rejects(embedder.embed(['a', [1]]), /all are strings/)
  await assert.rejects(embedder.embed(['a'], { role: 'poem' }), /a role is one of/)
  const scores = await embedder.rank('a fox', ['a fox', 'the sea'])
  assert.ok(scores[0] > scores[1])
  await assert.rejects(embedder.embed(['word '.repeat(200)], { timeout: 1e-9 }), tenon.DeadlineError)
  await embedder.close()
  await encoder.close()
})

test('an engine tells what it does', async () => {
  const engine = await tenon.Engine.create(model, { cacheBytes: 1 << 24 })
  const generation = engine.stream(ONCE, { maxTokens: 3, logprobs: 2, sampling: GREEDY, session: { priority: 3 } })
  const pieces = []
  for await (const piece of generation) pieces.push(piece)
  assert.equal(pieces.length, 3)
  assert.ok(pieces.every(({ logprob, top, token }) => logprob <= 0 && top.length === 2 && top[0].token === token))
  assert.equal((await generation.stats()).promptTokens, 4)
  const stats = engine.stats()
  assert.deepEqual([stats.submitted, stats.finished, stats.kvLimitBytes], [1, 1, 1 << 24])
  assert.match(await engine.statsText(), /tenon_/)
  await engine.close()
  await assert.rejects(engine.session(), tenon.StateError)
})

test('objects show themselves and are not cloned', async () => {
  const session = await model.session()
  assert.equal((await import('node:util')).inspect(session), 'Session { open }')
  assert.throws(() => structuredClone(session), /an object of tenon belongs to the thread that made it/)
  await session.close()
  assert.equal((await import('node:util')).inspect(session), 'Session { closed }')
})
