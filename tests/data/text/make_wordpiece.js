// Writes wordpiece.txt: a small WordPiece vocabulary over words of TEXT and the ids that the package
// `tokenizers` (the published implementation) gives to texts: node make_wordpiece.js TEXT.
// Lines as in make_unigram.py; `o lowercase 0|1` begins a group of texts.
const fs = require('fs');
const {Tokenizer} = require('tokenizers');

let seed = 1;
const random = n => (seed = (seed * 48271) % 2147483647) % n;
const pick = list => list[random(list.length)];

const words = fs.readFileSync(process.argv[2], 'utf8').slice(0, 200000).toLowerCase().split(/[^a-z]+/);
const counts = new Map();
for (const word of words) {
  for (let n = 1; n <= Math.min(word.length, 6); ++n) {
    const head = word.slice(0, n), tail = '##' + word.slice(-n);
    counts.set(head, (counts.get(head) || 0) + n);
    if (n < word.length) counts.set(tail, (counts.get(tail) || 0) + n);
  }
}
const pieces = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 400).map(entry => entry[0]);
const vocabulary = ['[PAD]', '[UNK]', '[CLS]', '[SEP]'];
const extra = ['!', ',', '.', "'", '-', '\u4e2d', '\u6587', 'e', '##e', '\u00e9', '##\u00e9', '##0', '1', '##1',
               '\u0301', '##\u0301', '\u1112', 'i', '##i', 'H', 'Hello', '##\u0307', '\u03c3', '##\u03c3', '$', '\u00a3'];
for (const piece of [...extra, ...pieces]) if (!vocabulary.includes(piece)) vocabulary.push(piece);

const texts = ['', ' ', 'hello world', 'Hello, World!', 'H\u00e9llo', 'e\u0301E\u0301', '\u4e2d\u6587a\u4e2d',
               '\u0130i', '\u03a3\u03a3', 'a\u00adb', 'a\u200bb', 'a\ufffdb', 'a\u0000b', 'x'.repeat(101), 'e'.repeat(100),
               '$1\u00a31', '\ud558', 'a\u3000b\u00a0c\u2028d\u0085e', "don't", '...', '\ue000a'];
const letters = [...'aeinorst  ,.!\'-01EHI', '\u00e9', '\u0301', '\u4e2d', '\u6587', '\u0130', '\u2028', '\t', '\u{1f680}'];
for (let i = 0; i < 60; ++i) {
  texts.push(i % 2 ? Array.from({length: 1 + random(6)}, () => pick(words)).join(' ')
                   : Array.from({length: 1 + random(20)}, () => pick(letters)).join(''));
}
const hex = text => Buffer.from(text, 'utf8').toString('hex') || '-';
const out = [];
vocabulary.forEach((piece, i) => {
  // As in GGUF files: pieces that begin a word have the mark, the others are bare.
  const spelling = i < 4 ? piece : piece.startsWith('##') ? piece.slice(2) : '\u2581' + piece;
  out.push(`t ${i === 1 ? 2 : i < 4 ? 3 : 1} 0 ${hex(spelling)}`);
});
(async () => {
  for (const lowercase of [true, false]) {
    const tokenizer = Tokenizer.fromString(JSON.stringify({
      version: '1.0', truncation: null, padding: null, added_tokens: [],
      normalizer: {type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true,
                   strip_accents: null, lowercase},
      pre_tokenizer: {type: 'BertPreTokenizer'}, post_processor: null, decoder: null,
      model: {type: 'WordPiece', unk_token: '[UNK]', continuing_subword_prefix: '##',
              max_input_chars_per_word: 100,
              vocab: Object.fromEntries(vocabulary.map((piece, i) => [piece, i]))}}));
    out.push(`o lowercase ${Number(lowercase)}`);
    for (const text of texts) {
      const ids = (await tokenizer.encode(text, null, {addSpecialTokens: false})).getIds();
      out.push(`x ${hex(text)} ${ids.join(' ')}`.trim());
    }
  }
  fs.writeFileSync('wordpiece.txt', out.join('\n') + '\n');
})();
