// Requests of the page to the server, in OpenAI's form. Addresses are relative: the page may lie
// below a path of a proxy.

/** A refusal or a failure; `field` is the request's field that is wrong, or null. */
export class ApiError extends Error {
  constructor(message, status = 0, field = null) {
    super(message);
    this.status = status;
    this.field = field;
  }
}

const headers = (key) => (key ? { Authorization: `Bearer ${key}` } : {});

async function refusal(answer) {
  const body = await answer.json().catch(() => ({}));
  const error = body.error ?? {};
  return new ApiError(error.message ?? `The server answered ${answer.status}.`, answer.status, error.param ?? null);
}

/** [{id, max_model_len}, ...] */
export async function listModels(key) {
  const answer = await fetch('v1/models', { headers: headers(key) });
  if (!answer.ok) throw await refusal(answer);
  return (await answer.json()).data;
}

/** The data of server-sent events, each as text. */
async function* eventsOf(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let inbox = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    inbox += value;
    const events = inbox.split('\n\n');
    inbox = events.pop();
    for (const event of events) {
      for (const line of event.split('\n')) {
        if (line.startsWith('data: ')) yield line.slice(6);
      }
    }
  }
}

/** The chunks of a streamed chat completion. */
export async function* chat(body, key, signal) {
  const answer = await fetch('v1/chat/completions', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers(key) },
    body: JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } }),
    signal,
  });
  if (!answer.ok) throw await refusal(answer);
  for await (const data of eventsOf(answer.body)) {
    if (data === '[DONE]') return;
    const chunk = JSON.parse(data);
    if (chunk.error) throw new ApiError(chunk.error.message);
    yield chunk;
  }
}
