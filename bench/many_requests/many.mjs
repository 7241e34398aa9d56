// The same from Node: node many.mjs MODEL COUNT TOKENS
import { Engine, Model, useLibrary } from 'tenon-llm'

if (process.env.MANY_LIBRARY) useLibrary(process.env.MANY_LIBRARY)
const [path, count, maxTokens] = [process.argv[2], ...process.argv.slice(3).map(Number)]
const model = await Model.open(path)
const engine = await Engine.create(model, { running: count })

async function generate(maxTokens) {
  const numbers = await Promise.all(Array.from({ length: count }, async (_, seed) => {
    let number = 0
    const options = { maxTokens, ignoreEnd: true, sampling: { seed }, session: { context: 256 } }
    for await (const piece of engine.stream('Once upon a time', options)) if (piece.token !== null) ++number
    return number
  }))
  return numbers.reduce((one, other) => one + other)
}

await generate(2)
const begin = performance.now()
const tokens = await generate(maxTokens)
console.log(tokens / (performance.now() - begin) * 1000)
process.exit()
