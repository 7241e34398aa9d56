package tenon

// Sampler turns logits into tokens. One goroutine at a time; a generation copies what it needs when it begins.
type Sampler struct {
	object
}

// NewSampler makes one; nil for the defaults.
func NewSampler(options *SamplerOptions) (*Sampler, error) {
	handle, err := withOptions(options, samplerCreate)
	if err != nil {
		return nil, err
	}
	return net(&Sampler{object{handle}}, handle), nil
}

func (s *Sampler) orNil() *handle {
	if s == nil {
		return nil
	}
	return s.handle
}

// SetInt changes a parameter that is a whole number.
func (s *Sampler) SetInt(name string, value int) error {
	return samplerSetInt(s.handle, name, int64(value))
}

// SetFloat changes any other parameter.
func (s *Sampler) SetFloat(name string, value float64) error {
	return samplerSetFloat(s.handle, name, value)
}

// SetBias adds to the logit of a token; math.Inf(-1) forbids it.
func (s *Sampler) SetBias(token Token, bias float64) error {
	return samplerSetBias(s.handle, token, bias)
}

// AddStopToken ends generation with this token.
func (s *Sampler) AddStopToken(token Token) error { return samplerAddStopToken(s.handle, token) }

// AddDryBreaker ends what the parameters dry_* look for at tokens that hold this text.
func (s *Sampler) AddDryBreaker(tokenizer *Tokenizer, text string) error {
	return samplerAddDryBreaker(s.handle, tokenizer.handle, text)
}

// SetGrammar lets only texts of the grammar through from now on; nil: any.
func (s *Sampler) SetGrammar(grammar *Grammar, tokenizer *Tokenizer) error {
	if grammar == nil {
		return samplerSetGrammar(s.handle, nil, nil)
	}
	return samplerSetGrammar(s.handle, grammar.handle, tokenizer.handle)
}

// SetTokenLimit says how many tokens may still be drawn.
func (s *Sampler) SetTokenLimit(tokens uint64) error {
	return samplerSetTokenLimit(s.handle, tokens)
}

// Seed is what it draws with: its option, or of -1 that of the latest answer it drew.
func (s *Sampler) Seed() (int64, error) { return samplerSeed(s.handle) }

// Reset makes it as it was made.
func (s *Sampler) Reset() error { return samplerReset(s.handle) }

// RollBack takes the last draws back.
func (s *Sampler) RollBack(draws int) error { return samplerRollBack(s.handle, draws) }

// Sample draws from logits [vocabulary]. history: the text so far, for the penalties; position: key of the random
// number.
func (s *Sampler) Sample(logits []float32, history []Token, position uint64) (Token, error) {
	return samplerSample(s.handle, logits, history, position)
}
