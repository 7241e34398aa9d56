// Streams continuations over HTTP, many at a time: server.mjs MODEL [PORT]
//     curl -N localhost:8080 -d 'Once upon a time'
import http from 'node:http'
import { BusyError, Engine, Model } from 'tenon-llm'

const model = await Model.open(process.argv[2])
const engine = await Engine.create(model, { running: 64 })
const server = http.createServer(async (request, response) => {
  // A client that goes away frees its place at once.
  const controller = new AbortController()
  response.on('close', () => controller.abort())
  try {
    let prompt = ''
    for await (const part of request.setEncoding('utf8')) prompt += part
    for await (const piece of engine.stream(prompt, { maxTokens: 64, signal: controller.signal })) {
      if (!response.write(piece.text)) await new Promise((resolve) => response.once('drain', resolve).once('close', resolve))
    }
    response.end()
  } catch (error) {
    if (controller.signal.aborted) return
    if (!response.headersSent) response.statusCode = error instanceof BusyError ? 503 : 400
    response.end(`${error.message}\n`)
  }
})
server.listen(Number(process.argv[3] ?? 8080), '127.0.0.1', () => console.log(`listening on ${server.address().port}`))
