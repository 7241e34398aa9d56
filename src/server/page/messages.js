// Elements of messages: the user's, and answers with thoughts, calls and statistics.
import { showMarkdown } from './markdown.js';

const element = (name, className, ...children) => {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
};

const button = (label, onClick) => {
  const made = element('button', 'quiet', label);
  made.type = 'button';
  made.onclick = onClick;
  return made;
};

const copyButton = (text) => button('Copy', () => navigator.clipboard?.writeText(text()));

export function showUser(message, onEdit) {
  return element('article', 'user', element('div', 'text', message.content),
    element('div', 'actions', copyButton(() => message.content), button('Edit', onEdit)));
}

const seconds = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

/** "38 tokens · 24.1 tokens/s · ..." */
function factsOf({ usage, times, finish }) {
  const facts = [];
  if (usage) {
    const { prompt_tokens: prompt, completion_tokens: tokens } = usage;
    const cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
    const took = (times?.end ?? 0) - (times?.first ?? 0);
    facts.push(`${tokens} tokens`);
    const speed = (tokens - 1) / took * 1000;
    if (tokens > 1 && took > 0) facts.push(`${speed.toFixed(speed < 100 ? 1 : 0)} tokens/s`);
    if (times) facts.push(`first after ${seconds(times.first)}`);
    // Whole blocks are reused, so a short prompt has none: no fault to show.
    const share = Math.round(cached / Math.max(prompt, 1) * 100);
    facts.push(cached > 0 ? `prompt ${prompt}, ${cached} reused (${share} %)` : `prompt ${prompt}`);
  }
  if (finish === 'length') facts.push('cut at the most tokens');
  if (finish === 'stopped') facts.push('stopped');
  return facts.join(' · ');
}

/** One answer, drawn anew at most once a frame while it grows. */
export class AnswerView {
  /** message: of the conversation, as it grows. actions: {retry(), answerCalls(results)} */
  constructor(message, actions) {
    this.message = message;
    this.actions = actions;
    this.text = element('div', 'text');
    this.thoughts = element('details', 'thoughts', element('summary', '', 'Thinking'), element('div'));
    this.calls = element('div');
    this.facts = element('span', 'facts');
    this.bar = element('div', 'actions');
    this.root = element('article', 'answer pending', this.thoughts, this.text, this.calls, this.bar);
    this.thoughts.hidden = true;
  }

  grow() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  draw() {
    const { content, reasoning_content: thoughts, tool_calls: calls = [], thought_ms: thoughtMs } = this.message;
    showMarkdown(this.text, content ?? '');
    this.thoughts.hidden = !thoughts;
    if (thoughts) {
      const [summary, body] = this.thoughts.children;
      summary.textContent = thoughtMs === undefined ? 'Thinking…' : `Thought for ${seconds(thoughtMs)}`;
      body.textContent = thoughts;
    }
    if (this.calls.children.length !== calls.length) {
      this.calls.replaceChildren(...calls.map(() => element('details', 'call', element('summary'), element('pre'))));
      for (const call of this.calls.children) call.open = true;
    }
    calls.forEach((call, i) => {
      const [summary, body] = this.calls.children[i].children;
      summary.replaceChildren('Call of ', element('b', '', call.function.name));
      body.textContent = pretty(call.function.arguments);
    });
  }

  /** The answer is complete: facts and actions. isLast: nothing follows it. */
  end(isLast) {
    if (this.frame) cancelAnimationFrame(this.frame);
    this.frame = null;
    this.draw();
    this.root.classList.remove('pending');
    this.facts.textContent = factsOf(this.message);
    this.bar.replaceChildren(copyButton(() => this.message.content ?? ''));
    if (isLast) this.bar.append(button('Again', this.actions.retry));
    this.bar.append(this.facts);
    if (isLast && this.message.tool_calls?.length) this.askForResults();
  }

  askForResults() {
    const fields = [...this.calls.children].map((call, i) => {
      const field = element('textarea');
      field.rows = 2;
      field.placeholder = 'What the function gives back';
      field.setAttribute('aria-label', `Result of ${this.message.tool_calls[i].function.name}`);
      call.append(field);
      return field;
    });
    this.calls.lastChild.append(button(fields.length > 1 ? 'Give the results' : 'Give the result', () =>
      this.actions.answerCalls(fields.map((field) => field.value))));
  }
}

/** The result of a call, given before. */
export function showResult(message) {
  return element('details', 'call', element('summary', '', 'Result'), element('pre', '', message.content));
}

export function showError(text) {
  const made = element('div', 'error', text);
  made.setAttribute('role', 'alert');
  return made;
}

function pretty(json) {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;  // not complete yet
  }
}
