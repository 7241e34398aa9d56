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

// LoadCallbacks are callbacks of a load.
type LoadCallbacks struct {
	// Progress gets 0 to 1. An error of it cancels the load and is returned by LoadModel.
	Progress func(fraction float64) error
	// Log gets lines of LogError to LogDebug up to LogLevel, on any thread, while the model exists.
	Log      func(level int, line string)
	LogLevel int
}

// OpenModel opens a model file; for a split model name the first part.
func OpenModel(path string, options *ModelOptions) (*Model, error) {
	return LoadModel(context.Background(), []Source{FromPath(path)}, options, nil)
}

// LoadModel opens a model from one source, or from all parts of a split model. ctx cancels it.
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

// Info returns name, architecture and sizes.
func (m *Model) Info() (ModelInfo, error) { return modelGetInfo(m.handle) }

// Tokenizer is the model's tokenizer. It ends with the model.
func (m *Model) Tokenizer() (*Tokenizer, error) {
	handle, err := modelTokenizer(m.handle)
	if err != nil {
		return nil, err
	}
	handle.keep = m // not freed by the net before it
	return &Tokenizer{object{handle}}, nil
}

// Memory is the memory of the model with one session; context 0: the default context.
func (m *Model) Memory(context uint64) (Memory, error) { return modelMemory(m.handle, context) }

// Execution returns how the model runs on this machine.
func (m *Model) Execution() (Execution, error) { return modelExecution(m.handle) }

// Tensors are the tensors of the file, in file order.
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

// MeasureHardware returns this machine's figures for planning; speed: runs some layers, for
// seconds.
func (m *Model) MeasureHardware(speed bool) (Hardware, error) {
	flags := uint32(0)
	if speed {
		flags = MeasureSpeed
	}
	return measureHardware(m.handle, flags)
}

// Plan predicts memory and speed for that many sessions; 0 for the default context and one session.
func (m *Model) Plan(context, sessions uint64, hardware Hardware) (Plan, error) {
	return modelPlan(m.handle, context, sessions, &hardware)
}

// Engine is the engine of sessions that name no other; made at first use.
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

// Close frees the model after its sessions have ended.
func (m *Model) Close() error {
	m.mutex.Lock()
	engine := m.engine
	m.mutex.Unlock()
	if engine != nil {
		engine.Close()
	}
	return m.object.Close()
}
