// Finds the lines of a text that are most like a question: search.mjs MODEL FILE QUESTION
import fs from 'node:fs'
import { Embedder, Model } from 'tenon-llm'

const [path, file, question] = process.argv.slice(2)
const model = await Model.open(path, { embeddings: 'on' })
const embedder = await Embedder.create(model)
const lines = fs.readFileSync(file, 'utf8').split('\n').filter((line) => line.trim())
const scores = await embedder.rank(question, lines)
const order = Array.from(scores.keys()).sort((one, other) => scores[other] - scores[one])
for (const index of order.slice(0, 3)) console.log(scores[index].toFixed(3), lines[index])
