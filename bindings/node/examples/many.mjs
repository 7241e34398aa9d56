// Continues many texts at once, in one budget of memory: many.mjs MODEL [COUNT]
import { Engine, Model } from 'tenon-llm'

const [path, count = '64'] = process.argv.slice(2)
const model = await Model.open(path)
const engine = await Engine.create(model, { cacheBytes: 2 ** 28 })
const begin = performance.now()
const tokens = await Promise.all(Array.from({ length: Number(count) }, async (_, seed) => {
  let number = 0
  for await (const piece of engine.stream('Once upon a time', { maxTokens: 24, ignoreEnd: true, sampling: { seed } })) {
    if (piece.token !== null) ++number
  }
  return number
}))
const seconds = (performance.now() - begin) / 1000
const sum = tokens.reduce((one, other) => one + other)
console.log(`${sum} tokens in ${seconds.toFixed(2)} s: ${(sum / seconds).toFixed(0)} a second`)
await engine.close()
