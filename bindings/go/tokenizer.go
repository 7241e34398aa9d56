package tenon

// Tokenizer turns text into tokens and back. Any goroutine.
type Tokenizer struct {
	object
}

// OpenTokenizer opens a tokenizer.json, or the vocabulary of a model file.
func OpenTokenizer(path string) (*Tokenizer, error) { return LoadTokenizer(FromPath(path)) }

// LoadTokenizer opens such a file from any source.
func LoadTokenizer(source Source) (*Tokenizer, error) {
	if err := load(); err != nil {
		return nil, err
	}
	handle, err := tokenizerLoad(source)
	if err != nil {
		return nil, err
	}
	return net(&Tokenizer{object{handle}}, handle), nil
}

// Encode returns the tokens of a text; flags: AddSpecial, ParseSpecial. Control tokens are found
// only with the latter.
func (t *Tokenizer) Encode(text string, flags uint32) ([]Token, error) {
	return tokenizerEncode(t.handle, text, flags)
}

// Decode returns the bytes of tokens, which may begin or end inside a character; flags:
// RenderSpecial.
func (t *Tokenizer) Decode(tokens []Token, flags uint32) (string, error) {
	text, err := tokenizerDecode(t.handle, tokens, flags)
	return string(text), err
}

// Count is the number of tokens.
func (t *Tokenizer) Count() int { return tokenizerCount(t.handle) }

// Info returns attributes, spelling and bytes of a token.
func (t *Tokenizer) Info(token Token) (TokenInfo, error) { return tokenizerTokenInfo(t.handle, token) }

// Find is the token with this spelling in the file, or NoToken.
func (t *Tokenizer) Find(spelling string) (Token, error) { return tokenizerFind(t.handle, spelling) }

// Special is the token in a role, SpecialBegin to SpecialPadding, or NoToken.
func (t *Tokenizer) Special(role int32) (Token, error) { return tokenizerSpecial(t.handle, role) }
