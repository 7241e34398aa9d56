package tenon

import (
	"context"
	"io"
	"iter"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"
)

// Finish is why a piece is the last, FinishEnd to FinishBanned; FinishNone: it is not.
type Finish int32

func (f Finish) String() string {
	names := [...]string{"none", "end", "max_tokens", "stop", "banned"}
	if f < 0 || int(f) >= len(names) {
		return "unknown"
	}
	return names[f]
}

// Piece is a generated token and its text.
type Piece struct {
	Text   string // whole characters: empty while one is incomplete
	Token  Token  // NoToken if there is none
	Finish Finish
	// With GenerateOptions.Logprobs: log-probabilities of the token and of the likeliest ones.
	Logprob float32
	Top     []TokenLogprob
}

// TokenLogprob is a token with the natural logarithm of its probability.
type TokenLogprob struct {
	Token   Token
	Logprob float32
}

func (c *cPiece) value() Piece {
	return Piece{Text: textAt(c.text, c.length), Token: c.token, Finish: Finish(c.finish)}
}

// GenerateOptions are options of a generation besides its text.
type GenerateOptions struct {
	MaxTokens    int             // most tokens; 0: as many as the context holds
	Sampling     *SamplerOptions // sampler options
	Sampler      *Sampler        // instead of Sampling; it is copied
	Grammar      *Grammar        // allows only texts of this grammar
	Tokens       []Token         // appended after the prompt
	AddSpecial   Opt[bool]       // begin token before the prompt; not set: if the session is empty
	ParseSpecial bool            // find control tokens in the text: not for user input
	IgnoreEnd    bool            // an end token does not end generation
	Logprobs     Opt[int]        // adds a Logprob to pieces, and those of that many likeliest tokens
	Timeout      time.Duration   // to the end, then ErrDeadline; a context's deadline counts, too
	Priority     Opt[int]        // higher runs first; not set: the session's
	Client       string          // key of a fair share; "": the session's
	Weight       float64         // of the client's share; 0: the session's
	// Chats only: drops the oldest turns if the conversation leaves no room for the answer.
	DropOldest bool
}

// sampler is the sampler of the options, and whether the caller closes it.
func (o *GenerateOptions) sampler(model *Model) (*Sampler, bool, error) {
	if o.Sampler != nil && (o.Grammar != nil || o.Sampling != nil) {
		return nil, false, failed(ErrArgument, "a Sampler comes in place of Sampling, and has its grammar itself")
	}
	if o.Sampler != nil || o.Grammar == nil && o.Sampling == nil {
		return o.Sampler, false, nil
	}
	sampler, err := NewSampler(o.Sampling)
	if err != nil {
		return nil, false, err
	}
	if o.Grammar == nil {
		return sampler, true, nil
	}
	tokenizer, err := model.Tokenizer()
	if err == nil {
		err = sampler.SetGrammar(o.Grammar, tokenizer)
	}
	if err != nil {
		sampler.Close()
		return nil, false, err
	}
	return sampler, true, nil
}

func (o *GenerateOptions) flags() uint32 {
	flags := uint32(0)
	if o.ParseSpecial {
		flags |= ParseSpecial
	}
	if o.IgnoreEnd {
		flags |= IgnoreEnd
	}
	if o.Logprobs.isSet {
		flags |= Logprobs
	}
	return flags
}

// timeoutSeconds is the nearer of the option and the context's deadline; 0: none.
func (o *GenerateOptions) timeoutSeconds(ctx context.Context) (float64, error) {
	if ctx.Err() != nil {
		return 0, ended(ctx)
	}
	timeout := o.Timeout
	if deadline, has := ctx.Deadline(); has {
		left := max(time.Until(deadline), time.Nanosecond)
		if timeout <= 0 || left < timeout {
			timeout = left
		}
	}
	return timeout.Seconds(), nil
}

// Generation is a running continuation. One goroutine at a time, except Cancel and Close, from any.
type Generation struct {
	handle   *handle
	session  *Session
	told     notice
	ctx      context.Context
	logprobs Opt[int]
	seed     int64
	isOver   atomic.Bool
	isClosed atomic.Bool
}

// Submit appends a prompt and begins to continue it. Until the generation has ended or is closed,
// the session refuses other calls except Cancel and Close. The end of ctx ends the generation.
func (s *Session) Submit(ctx context.Context, prompt string, options *GenerateOptions) (*Generation, error) {
	if options == nil {
		options = &GenerateOptions{}
	}
	if options.MaxTokens < 0 {
		return nil, failed(ErrArgument, "MaxTokens: %d is no number of tokens", options.MaxTokens)
	}
	timeout, err := options.timeoutSeconds(ctx)
	if err != nil {
		return nil, err
	}
	sampler, isOurs, err := options.sampler(s.engine.model)
	if err != nil {
		return nil, err
	}
	if isOurs {
		defer sampler.Close()
	}
	flags := options.flags()
	if prompt != "" {
		special, err := s.special(options.AddSpecial)
		if err != nil {
			return nil, err
		}
		flags |= special
	}
	pinner := new(runtime.Pinner)
	defer pinner.Unpin()
	submission := &cSubmission{structSize: uint32(unsafe.Sizeof(cSubmission{})), flags: flags,
		text: textPointer(prompt), textLength: uint64(len(prompt)),
		numTokens: uint64(len(options.Tokens)), maxTokens: uint64(options.MaxTokens),
		timeoutSeconds: timeout, priority: int32(options.Priority.value),
		client: textPointer(options.Client), clientLength: uint64(len(options.Client)), weight: options.Weight,
		numTop: uint32(max(options.Logprobs.value, 0))}
	for _, text := range []string{prompt, options.Client} {
		if text != "" {
			pinner.Pin(unsafe.StringData(text))
		}
	}
	if len(options.Tokens) > 0 {
		pinner.Pin(&options.Tokens[0])
		submission.tokens = slicePointer(options.Tokens)
	}
	if options.Priority.isSet {
		submission.hasPriority = 1
	}
	told := make(notice, 1)
	request, err := s.submit(submission, sampler, told)
	if err != nil {
		return nil, ofContext(ctx, err)
	}
	request.whenDestroyed(context.AfterFunc(ctx, func() { _ = requestCancel(request) }))
	g := &Generation{handle: request, session: s, told: told, ctx: ctx, logprobs: options.Logprobs}
	if g.seed, err = requestSeed(request); err != nil {
		request.destroy()
		return nil, err
	}
	return net(g, request), nil
}

// submit calls tenon_session_submit. The key of the notice in C goes with the handle.
func (s *Session) submit(submission *cSubmission, sampler *Sampler, told notice) (*handle, error) {
	c := begin(fnSessionSubmit)
	defer c.end()
	session := c.use(s.handle, kindSession, 0)
	if sampler != nil {
		submission.sampler = c.use(sampler.handle, kindSampler, 0)
	}
	if c.err != nil {
		return nil, c.err
	}
	key := remember(told)
	submission.notify, submission.user = addressNotify, key
	var pointer uintptr
	if err := c.done(callSessionSubmit(session, unsafe.Pointer(submission), unsafe.Pointer(&pointer))); err != nil {
		forget(key)
		return nil, err
	}
	request := newHandle(kindRequest, pointer, nil)
	request.key = key
	return request, nil
}

// Generate appends a prompt and continues it: range over the pieces. It begins and ends with the
// loop; the session can then continue from where it was. An error is the last pair.
func (s *Session) Generate(ctx context.Context, prompt string, options *GenerateOptions) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		generation, err := s.Submit(ctx, prompt, options)
		if err != nil {
			yield(Piece{}, err)
			return
		}
		defer generation.Close()
		generation.All()(yield)
	}
}

// Next waits for the next piece; io.EOF after the last. After an error the generation is closed.
func (g *Generation) Next() (Piece, error) {
	defer runtime.KeepAlive(g)
	if g.isOver.Load() {
		return Piece{}, io.EOF
	}
	piece, err := g.wait()
	if err == nil && g.logprobs.isSet && piece.Token != NoToken {
		err = g.look(&piece)
	}
	if err != nil {
		if g.isClosed.Load() {
			err = failed(ErrCancelled, "the generation has been closed")
		}
		err = ofContext(g.ctx, err)
	}
	if err != nil || piece.Finish != FinishNone {
		g.Close()
	}
	return piece, err
}

// wait computes in this goroutine if no other one does; otherwise it waits for the notice.
func (g *Generation) wait() (Piece, error) {
	lead := g.session.engine.leader
	for {
		select {
		case lead <- struct{}{}:
			return g.lead(lead)
		default:
		}
		piece, err := requestWait(g.handle, 0)
		if err != nil || piece.Token != NoToken || piece.Finish != FinishNone {
			return piece, err
		}
		select {
		case <-g.told:
		case lead <- struct{}{}:
			return g.lead(lead)
		}
	}
}

func (g *Generation) lead(held leader) (Piece, error) {
	defer func() { <-held }()
	return requestWait(g.handle, -1)
}

func (g *Generation) look(piece *Piece) error {
	logprob, tokens, values, err := requestLogprobs(g.handle, g.logprobs.value)
	piece.Logprob = logprob
	for i, token := range tokens {
		piece.Top = append(piece.Top, TokenLogprob{token, values[i]})
	}
	return err
}

// All ranges over the remaining pieces. Leaving the loop does not end the generation.
func (g *Generation) All() iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		for {
			piece, err := g.Next()
			if err == io.EOF || !yield(piece, err) || err != nil {
				return
			}
		}
	}
}

// Text is the rest of the text, joined.
func (g *Generation) Text() (string, error) { return Collect(g.All()) }

// Collect joins the texts of pieces, up to an error.
func Collect(pieces iter.Seq2[Piece, error]) (string, error) {
	var text strings.Builder
	for piece, err := range pieces {
		if err != nil {
			return text.String(), err
		}
		text.WriteString(piece.Text)
	}
	return text.String(), nil
}

// Stats returns how much of the prompt was reused. Call it before the generation has ended.
func (g *Generation) Stats() (RequestStats, error) { return requestGetStats(g.handle) }

// Seed is the answer's seed: as SamplerOptions.Seed it gives the same answer again.
func (g *Generation) Seed() int64 { return g.seed }

// Cancel ends the generation: Next returns ErrCancelled after the pieces that are ready.
func (g *Generation) Cancel() error {
	if !g.handle.isLive() {
		return nil
	}
	return requestCancel(g.handle)
}

// Close ends the generation and releases the session.
func (g *Generation) Close() error {
	if !g.isOver.Swap(true) {
		g.isClosed.Store(true)
	}
	if g.handle.isLive() {
		_ = requestCancel(g.handle)
	}
	g.handle.destroy()
	g.told.tell()
	return nil
}
