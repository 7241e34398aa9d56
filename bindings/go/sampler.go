package tenon

// Sampler draws tokens from logits. One goroutine at a time; a generation copies it when it begins.
type Sampler struct {
	object
}

// NewSampler makes a sampler; nil for the defaults.
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

// SetInt changes an integer parameter.
func (s *Sampler) SetInt(name string, value int) error {
	return samplerSetInt(s.handle, name, int64(value))
}

// SetFloat changes any other parameter.
func (s *Sampler) SetFloat(name string, value float64) error {
	return samplerSetFloat(s.handle, name, value)
}

// SetBias adds to a token's logit; math.Inf(-1) forbids the token.
func (s *Sampler) SetBias(token Token, bias float64) error {
	return samplerSetBias(s.handle, token, bias)
}

// AddStopToken ends generation at this token.
func (s *Sampler) AddStopToken(token Token) error { return samplerAddStopToken(s.handle, token) }

// AddDryBreaker makes repetitions counted by the parameters dry_* end at tokens that hold this
// text.
func (s *Sampler) AddDryBreaker(tokenizer *Tokenizer, text string) error {
	return samplerAddDryBreaker(s.handle, tokenizer.handle, text)
}

// SetGrammar allows only texts of the grammar from now on; nil: any text.
func (s *Sampler) SetGrammar(grammar *Grammar, tokenizer *Tokenizer) error {
	if grammar == nil {
		return samplerSetGrammar(s.handle, nil, nil)
	}
	return samplerSetGrammar(s.handle, grammar.handle, tokenizer.handle)
}

// SetTokenLimit sets how many tokens may still be drawn.
func (s *Sampler) SetTokenLimit(tokens uint64) error {
	return samplerSetTokenLimit(s.handle, tokens)
}

// Seed is the seed of the draws: the option, or for -1 the seed of the latest answer.
func (s *Sampler) Seed() (int64, error) { return samplerSeed(s.handle) }

// Reset restores the sampler to its creation.
func (s *Sampler) Reset() error { return samplerReset(s.handle) }

// RollBack takes back the last draws.
func (s *Sampler) RollBack(draws int) error { return samplerRollBack(s.handle, draws) }

// Sample draws from logits [vocabulary]. history: the text so far, for the penalties; position: key
// of the random number.
func (s *Sampler) Sample(logits []float32, history []Token, position uint64) (Token, error) {
	return samplerSample(s.handle, logits, history, position)
}
