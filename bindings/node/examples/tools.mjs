// Lets a model call a function, and answer with what that says: tools.mjs MODEL
import { Chat, Model, Sampler } from 'tenon-llm'

const weather = ({ city }) => `12 degrees and rain in ${city}`
const tools = [{ type: 'function', function: {
  name: 'get_weather', description: 'Weather of a city',
  parameters: { type: 'object', properties: { city: { type: 'string', maxLength: 12 } }, required: ['city'],
    additionalProperties: false },
} }]

const model = await Model.open(process.argv[2])
const chat = await Chat.create(model)
const messages = [{ role: 'user', content: 'What is the weather in Oslo?' }]

async function answer(choice) {
  const conversation = { messages, tools, tool_choice: choice }
  const sampler = await Sampler.create({ temperature: 0 })
  await chat.constrain(conversation, sampler)
  const reply = await chat.reply(conversation)
  for await (const { token } of model.stream(await chat.encode(conversation), { sampler, maxTokens: 100 })) {
    if (token !== null) reply.push(token)
  }
  reply.finish()
  messages.push(reply.message())
  return messages.at(-1)
}

for (const call of (await answer('required')).tool_calls) {
  const said = weather(JSON.parse(call.function.arguments))
  console.log(`${call.function.name}: ${said}`)
  messages.push({ role: 'tool', tool_call_id: call.id, content: said })
}
console.log((await answer('none')).content)
