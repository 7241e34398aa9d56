// Turns of conversations, seeds, and errors of files.
import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import * as tenon from 'tenon-llm'

const DEMO = path.join(process.env.TENON_ROOT, 'examples/models/demo-q8_0.gguf')
const NORWAY = [{ role: 'user', content: 'What is the capital of Norway?' }]
const greedy = { maxTokens: 24, sampling: { temperature: 0 } }
const model = await tenon.Model.open(DEMO, { threads: 2 })
const chat = await tenon.Chat.create(model)

test('one call is a turn', async () => {
  const message = await chat.answer(NORWAY, greedy)
  assert.match(message.content, /Oslo/)
  assert.deepEqual(await chat.answer({ messages: NORWAY }, greedy), message)
  const answer = chat.stream(NORWAY, greedy)
  let text = ''
  for await (const delta of answer) if (delta.kind === 'content') text += delta.text
  assert.equal(text, message.content)
  assert.deepEqual(await answer.message(), message)
  assert.ok(await answer.seed() >= 0)
})

test('a session is kept in step', async () => {
  const session = await model.session()
  const messages = [...NORWAY, await chat.answer(NORWAY, { ...greedy, session }), { role: 'user', content: 'Tell me a story.' }]
  const short = { maxTokens: 8, sampling: { temperature: 0 } }
  assert.deepEqual(await chat.answer(messages, { ...short, session }), await chat.answer(messages, short))
  const narrow = await model.session({ context: 128 })
  const many = Array.from({ length: 120 }, (_, i) => ({ role: i % 2 ? 'assistant' : 'user', content: `Text ${i}.` }))
  many.push({ role: 'user', content: 'Hi' })
  await assert.rejects(chat.answer(many, { ...short, session: narrow }), { code: 'LIMIT' })
  assert.equal((await chat.answer(many, { ...short, session: narrow, dropOldest: true })).role, 'assistant')
})

test('schemas are obeyed, stops are no part of an answer', async () => {
  const { content } = await chat.answer(NORWAY, { schema: { enum: ['yes', 'no'] }, maxTokens: 8 })
  assert.ok(['"yes"', '"no"'].includes(content))
  const cut = await chat.answer(NORWAY, { maxTokens: 24, sampling: { temperature: 0, stop: ['slo'] } })
  assert.doesNotMatch(cut.content, /slo/)
  assert.throws(() => chat.stream(NORWAY, { grammar: null }), TypeError)
  const alone = await tenon.Chat.create(null, { template: '{{ messages }}' })
  await assert.rejects(alone.answer(NORWAY), { code: 'STATE' })
})

test('seeds are random and told', async () => {
  const hot = { temperature: 2, topK: 0, topP: 1, minP: 0 }
  const texts = new Set()
  for (let i = 0; i < 4; ++i) {
    const session = await model.session()
    const generation = session.generate('Once upon a time', { maxTokens: 24, ignoreEnd: true, sampling: hot })
    const text = await generation.text()
    const seed = await generation.seed()
    await generation.close()
    assert.equal(session.seed, seed)
    const again = (await model.session()).generate('Once upon a time', { maxTokens: 24, ignoreEnd: true, sampling: { ...hot, seed } })
    assert.equal(await again.text(), text)
    texts.add(text)
  }
  assert.equal(texts.size, 4)
})

test('missing files are known as such', async () => {
  await assert.rejects(tenon.Model.open('/nowhere/none.gguf'), (error) => {
    assert.ok(error instanceof tenon.InputOutputError)
    assert.deepEqual([error.code, error.errno, error.path], ['ENOENT', -2, '/nowhere/none.gguf'])
    return true
  })
  const missing = (path) => ({ name: 'InputOutputError', code: 'ENOENT', errno: -2, path })
  await assert.rejects(tenon.Model.open([DEMO, '/nowhere/second.gguf']), missing('/nowhere/second.gguf'))
  await assert.rejects(tenon.Tokenizer.open(new URL('file:///nowhere/a%20b.json')), missing('/nowhere/a b.json'))
  const session = await model.session()
  await assert.rejects(session.restore('/nowhere/saved'), missing('/nowhere/saved'))
  await session.append('Once')
  await assert.rejects(session.save('/nowhere/saved'), missing('/nowhere/saved'))
  await assert.rejects(tenon.Model.open(path.join(DEMO, 'below')), { code: 'ENOTDIR', errno: -20 })
  // The library's own code where the operating system did not fail.
  await assert.rejects(tenon.Model.fromBytes(new Uint8Array(8)), (error) => error.errno === undefined && !error.code.startsWith('E'))
  await assert.rejects(model.session({ nCtx: 5 }), /here it is called "context"/)
})
