package tenon

import (
	"context"
	"iter"
)

// Engine serves many sessions of a model: a queue, a scheduler, a KV cache with a budget. Any
// goroutine.
//
// It computes in waiting goroutines: one of them computes for all, the others wait without a
// thread. A goroutine of the engine's own computes requests of a Server that it was added to.
type Engine struct {
	object
	model  *Model
	leader leader
}

// leader is held by the goroutine that computes.
type leader chan struct{}

// NewEngine makes an engine for a model.
func NewEngine(model *Model, options *EngineOptions) (*Engine, error) {
	handle, err := withOptions(options, func(options *handle) (*handle, error) {
		return engineCreate(model.handle, options)
	})
	if err != nil {
		return nil, err
	}
	handle.keep = model.kept
	return net(&Engine{object: object{handle}, model: model, leader: make(leader, 1)}, handle), nil
}

// NewSession opens a session with an empty text in this engine.
func (e *Engine) NewSession(options *SessionOptions) (*Session, error) {
	handle, err := withOptions(options, func(options *handle) (*handle, error) {
		return engineOpenSession(e.handle, options)
	})
	if err != nil {
		return nil, err
	}
	return newSession(handle, e), nil
}

// Stream continues a text in a session of its own: range over it. It begins with the loop.
func (e *Engine) Stream(ctx context.Context, prompt string, options *GenerateOptions) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		session, err := e.NewSession(nil)
		if err != nil {
			yield(Piece{}, err)
			return
		}
		defer session.Close()
		session.Generate(ctx, prompt, options)(yield)
	}
}

// computeUnasked starts a goroutine that computes work for which no other waits.
func (e *Engine) computeUnasked() error {
	c := begin(fnEngineSetExecutor)
	defer c.end()
	engine := c.use(e.handle, kindEngine, 0)
	if c.err != nil {
		return c.err
	}
	return c.done(callEngineSetExecutor(engine, addressPost, 0))
}

// Stats returns counters and current values.
func (e *Engine) Stats() (EngineStats, error) { return engineGetStats(e.handle) }

// StatsText returns the statistics as Prometheus text.
func (e *Engine) StatsText() (string, error) { return engineStatsText(e.handle) }

// Step computes one step if work is waiting, and reports whether it did: for programs that drive
// the engine themselves.
func (e *Engine) Step() (bool, error) {
	worked, err := engineStep(e.handle)
	return worked != 0, err
}
