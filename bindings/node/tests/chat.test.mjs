// Turns of conversations, seeds, and errors of files.
import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import * as tenon from 'tenon'

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
    assert.equal(error.code, 'IO')
    assert.equal(error.errno, -2)
    assert.equal(error.cause.code, 'ENOENT')
    return true
  })
  await assert.rejects(model.session({ nCtx: 5 }), /here it is called "context"/)
})
