// Converts a model's Markdown to elements. Text never becomes markup: all of it passes through
// textContent, and links lead only to http, https and mailto.

const element = (name, ...children) => {
  const made = document.createElement(name);
  made.append(...children);
  return made;
};

const inlineMark = /`([^`\n]+)`|\*\*([^\n]+?)\*\*|(?<![\w*])\*([^*\s][^*\n]*?)\*(?![\w*])|\[([^\]\n]+)\]\(([^)\s]+)\)/;

function inline(text) {
  const parts = [];
  for (let found; (found = inlineMark.exec(text)); text = text.slice(found.index + found[0].length)) {
    const [whole, code, strong, emphasis, label, target] = found;
    parts.push(text.slice(0, found.index));
    if (code !== undefined) parts.push(element('code', code));
    else if (strong !== undefined) parts.push(element('strong', ...inline(strong)));
    else if (emphasis !== undefined) parts.push(element('em', ...inline(emphasis)));
    else if (/^(https?:|mailto:)/.test(target)) {
      const link = element('a', ...inline(label));
      Object.assign(link, { href: target, target: '_blank', rel: 'noopener noreferrer' });
      parts.push(link);
    } else parts.push(whole);
  }
  return [...parts, text];
}

function codeBlock(text) {
  const block = element('div', element('pre', element('code', text)));
  block.className = 'code-block';
  const copy = element('button', 'Copy');
  copy.type = 'button';
  copy.className = 'quiet';
  copy.onclick = () => navigator.clipboard?.writeText(text);
  block.append(copy);
  return block;
}

const cells = (line) => line.trim().replace(/^\||\|$/g, '').split('|').map((cell) => cell.trim());

function table(lines) {
  const row = (line, kind) => element('tr', ...cells(line).map((cell) => element(kind, ...inline(cell))));
  const body = lines.slice(2).map((line) => row(line, 'td'));
  const made = element('div', element('table', element('thead', row(lines[0], 'th')), element('tbody', ...body)));
  made.className = 'table';
  return made;
}

const listItem = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;

/** Items with their deeper lines, which are lists again. */
function list(lines) {
  const [, indent, mark] = listItem.exec(lines[0]);
  const ordered = /\d/.test(mark);
  const made = element(ordered ? 'ol' : 'ul');
  if (ordered) made.start = parseInt(mark, 10);
  let deeper = [];
  const end = () => {
    if (deeper.length) made.lastChild.append(...blocks(deeper));
    deeper = [];
  };
  for (const line of lines) {
    const item = listItem.exec(line);
    if (item && item[1].length <= indent.length) {
      end();
      made.append(element('li', ...inline(item[3])));
    } else {
      deeper.push(line.slice(Math.min(indent.length + 2, line.search(/\S|$/))));
    }
  }
  end();
  return made;
}

/** How many lines from `at` on fulfil `test`. */
const run = (lines, at, test) => {
  let end = at;
  while (end < lines.length && test(lines[end])) ++end;
  return end;
};

function blocks(lines) {
  const made = [];
  const starts = (line) => /^\s*$|^#{1,6}\s|^\s*(```|~~~)|^>|^\s*([-*_]\s*){3,}$/.test(line) || listItem.test(line);
  for (let at = 0; at < lines.length; ) {
    const line = lines[at];
    const fence = /^\s*(```+|~~~+)/.exec(line);
    let end = at + 1;
    if (fence) {
      end = run(lines, at + 1, (next) => !next.trim().startsWith(fence[1]));
      made.push(codeBlock(lines.slice(at + 1, end).join('\n')));
      ++end;
    } else if (/^#{1,6}\s/.test(line)) {
      const level = Math.min(4, line.indexOf(' '));
      made.push(element(`h${level}`, ...inline(line.slice(line.indexOf(' ') + 1))));
    } else if (/^\s*([-*_]\s*){3,}$/.test(line)) {
      made.push(element('hr'));
    } else if (line.startsWith('>')) {
      end = run(lines, at, (next) => next.startsWith('>'));
      made.push(element('blockquote', ...blocks(lines.slice(at, end).map((quoted) => quoted.replace(/^> ?/, '')))));
    } else if (listItem.test(line)) {
      end = run(lines, at, (next) => listItem.test(next) || /^\s+\S/.test(next));
      made.push(list(lines.slice(at, end)));
    } else if (line.includes('|') && /^[\s|:-]*-[\s|:-]*$/.test(lines[at + 1] ?? '')) {
      end = run(lines, at, (next) => next.includes('|'));
      made.push(table(lines.slice(at, end)));
    } else if (line.trim() !== '') {
      end = run(lines, at + 1, (next) => !starts(next));
      made.push(element('p', ...inline(lines.slice(at, end).join('\n'))));
    }
    at = end;
  }
  return made;
}

/** Fills `target` with what `text` means. */
export function showMarkdown(target, text) {
  target.replaceChildren(...blocks(text.split('\n')));
}
