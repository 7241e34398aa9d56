// Takes a name and an age out of a sentence: json.mjs MODEL SENTENCE
import { Chat, Grammar, Model } from 'tenon-llm'

const [path, sentence] = process.argv.slice(2)
const model = await Model.open(path)
const chat = await Chat.create(model)
const grammar = await Grammar.jsonSchema({
  type: 'object',
  properties: { name: { type: 'string', maxLength: 16 }, age: { type: 'integer', minimum: 0, maximum: 150 } },
  required: ['name', 'age'],
  additionalProperties: false,
})
const conversation = { messages: [{ role: 'user', content: `Extract name and age as JSON: ${sentence}` }] }
const options = { grammar, sampling: { temperature: 0 } }
const { name, age } = JSON.parse(await model.stream(await chat.encode(conversation), options).text())
console.log(`${name} is ${age}`)
