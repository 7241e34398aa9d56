package tenon

import (
	"context"
	"iter"
)

// Engine serves many sessions of a model: a queue, a scheduler, a KV cache with a budget. Any goroutine.
//
// It computes in the goroutines that wait: one of them for all at a time. The others wait without a thread. What a Server
// that it was added to asks of it is computed in a goroutine of its own.
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

// NewSession starts an empty text in this engine.
func (e *Engine) NewSession(options *SessionOptions) (*Session, error) {
	handle, err := withOptions(options, func(options *handle) (*handle, error) {
		return engineOpenSession(e.handle, options)
	})
	if err != nil {
		return nil, err
	}
	return newSession(handle, e), nil
}

// Stream continues a text in a session of its own: range over it. It begins when it is ranged over.
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

// computeUnasked has what no goroutine waits for computed by one of its own.
func (e *Engine) computeUnasked() error {
	c := begin(fnEngineSetExecutor)
	defer c.end()
	engine := c.use(e.handle, kindEngine, 0)
	if c.err != nil {
		return c.err
	}
	return c.done(callEngineSetExecutor(engine, addressPost, 0))
}

// Stats tells what it has done, and does now.
func (e *Engine) Stats() (EngineStats, error) { return engineGetStats(e.handle) }

// StatsText is the same for Prometheus.
func (e *Engine) StatsText() (string, error) { return engineStatsText(e.handle) }

// Step computes one step, if there is work, and says whether there was: for programs that drive it themselves.
func (e *Engine) Step() (bool, error) {
	worked, err := engineStep(e.handle)
	return worked != 0, err
}
