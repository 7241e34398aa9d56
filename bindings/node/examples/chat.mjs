// A conversation in the terminal: chat.mjs MODEL
import readline from 'node:readline/promises'
import { Chat, Model } from 'tenon-llm'

const model = await Model.open(process.argv[2])
const chat = await Chat.create(model)
const session = await model.session()
const terminal = readline.createInterface({ input: process.stdin, output: process.stdout })
const messages = []
terminal.setPrompt('> ')
terminal.prompt()
for await (const line of terminal) {
  messages.push({ role: 'user', content: line })
  const reply = await chat.reply({ messages })
  const tokens = await chat.encode({ messages })
  // Tokens that the session has read are not computed again.
  const read = session.tokens
  let same = 0
  while (same < read.length && same < tokens.length && read[same] === tokens[same]) ++same
  same = Math.min(same, tokens.length - 1)
  await session.rewind(same)
  for await (const piece of session.generate(tokens.subarray(same), { maxTokens: 200 })) {
    if (piece.token === null) continue
    for (const delta of reply.push(piece.token)) if (delta.kind === 'content') process.stdout.write(delta.text)
  }
  for (const delta of reply.finish()) if (delta.kind === 'content') process.stdout.write(delta.text)
  messages.push(reply.message())
  process.stdout.write('\n')
  terminal.prompt()
}
