package tenon

import (
	"context"
	"sync"
)

// Model is a model. Any goroutine, any number of sessions; Close may come before they end.
type Model struct {
	object
	kept   *lasting
	mutex  sync.Mutex
	engine *Engine
}

// LoadCallbacks are functions that loading calls.
type LoadCallbacks struct {
	// Progress gets 0 to 1. What it returns as an error ends loading and comes out of LoadModel.
	Progress func(fraction float64) error
	// Log gets lines of LogError to LogDebug up to LogLevel, on any thread, as long as the model is there.
	Log      func(level int, line string)
	LogLevel int
}

// OpenModel opens a model file; of a split model the first part.
func OpenModel(path string, options *ModelOptions) (*Model, error) {
	return LoadModel(context.Background(), []Source{FromPath(path)}, options, nil)
}

// LoadModel opens a model from one source, or from all parts of a split one. ctx ends it.
func LoadModel(ctx context.Context, sources []Source, options *ModelOptions, callbacks *LoadCallbacks) (*Model,
	error) {
	if callbacks == nil {
		callbacks = &LoadCallbacks{}
	}
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	if err := load(); err != nil {
		return nil, err
	}
	var kept *lasting
	handle, err := withOptions(options, func(options *handle) (*handle, error) {
		var model *handle
		var err error
		kept, model, err = modelLoad(ctx, sources, options, callbacks)
		return model, err
	})
	if err != nil {
		return nil, err
	}
	handle.keep = kept
	return net(&Model{object: object{handle}, kept: kept}, handle), nil
}

// Info tells name, architecture and sizes.
func (m *Model) Info() (ModelInfo, error) { return modelGetInfo(m.handle) }

// Tokenizer is the model's own. It ends with the model.
func (m *Model) Tokenizer() (*Tokenizer, error) {
	handle, err := modelTokenizer(m.handle)
	if err != nil {
		return nil, err
	}
	handle.keep = m // not to be freed by the net before
	return &Tokenizer{object{handle}}, nil
}

// Memory is what the model with one session takes; context 0: of the default context.
func (m *Model) Memory(context uint64) (Memory, error) { return modelMemory(m.handle, context) }

// Execution tells how the model runs here.
func (m *Model) Execution() (Execution, error) { return modelExecution(m.handle) }

// Tensors are those of the file, in its order.
func (m *Model) Tensors() ([]Tensor, error) {
	tensors := make([]Tensor, modelTensorCount(m.handle))
	for i := range tensors {
		var err error
		if tensors[i], err = modelTensor(m.handle, i); err != nil {
			return nil, err
		}
	}
	return tensors, nil
}

// MeasureHardware tells of this machine as planning sees it; speed: runs some layers, for seconds.
func (m *Model) MeasureHardware(speed bool) (Hardware, error) {
	flags := uint32(0)
	if speed {
		flags = MeasureSpeed
	}
	return measureHardware(m.handle, flags)
}

// Plan is what so many sessions will take and how fast they will be; 0 for the default context and one session.
func (m *Model) Plan(context, sessions uint64, hardware Hardware) (Plan, error) {
	return modelPlan(m.handle, context, sessions, &hardware)
}

// Engine is the one that sessions of the model are in unless they name another; made at first use.
func (m *Model) Engine() (*Engine, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.engine == nil {
		engine, err := NewEngine(m, nil)
		if err != nil {
			return nil, err
		}
		m.engine = engine
	}
	return m.engine, nil
}

// Close frees the model when its sessions have ended, too.
func (m *Model) Close() error {
	m.mutex.Lock()
	engine := m.engine
	m.mutex.Unlock()
	if engine != nil {
		engine.Close()
	}
	return m.object.Close()
}
