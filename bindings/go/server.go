package tenon

import (
	"context"
	"math"
	"sync"
	"time"
)

// Server serves models over HTTP (the interfaces of OpenAI and Anthropic), and answers requests of
// the program itself without a socket (Request). Any goroutine.
//
// The order is: NewServer, models and engines (Add, AddEngine, AddFile), Listen unless all requests
// are the program's own, Start or Run, Stop, Close. Models and addresses added after the start are
// ErrState. Models and engines live as long as the server needs them, even if they are closed
// before it.
type Server struct {
	object
	mutex    sync.Mutex // serialises calls before it runs
	hasBegun bool
	hasEnded bool
	key      uintptr // keeps it alive while it runs, without references of the program
}

// NewServer makes a server; options may be nil. Its log must not call the server.
func NewServer(options *ServerOptions) (*Server, error) {
	handle, err := serverCreate(options)
	if err != nil {
		return nil, err
	}
	return net(&Server{object: object{handle}}, handle), nil
}

// Add serves a model under a name, the field "model" of requests, in an engine of the server's own.
// context is the most tokens of a request's prompt and answer; 0: a session's default. options may
// be nil.
func (s *Server) Add(name string, model *Model, options *EngineOptions, context uint64) error {
	return s.add([]*handle{model.handle}, func() error {
		_, err := withOptions(options, func(options *handle) (*handle, error) {
			return nil, serverAddModel(s.handle, name, model.handle, options, context)
		})
		return err
	})
}

// AddEngine serves the model of an engine in that engine, which the program may continue to use.
func (s *Server) AddEngine(name string, engine *Engine, context uint64) error {
	return s.add([]*handle{engine.model.handle, engine.handle}, func() error {
		if err := engine.computeUnasked(); err != nil {
			return err
		}
		return serverAddEngine(s.handle, name, engine.model.handle, engine.handle, context)
	})
}

// AddFile serves a model file that is loaded when a request asks for it, within
// ServerOptions.MemoryBytes.
func (s *Server) AddFile(name string, file ServerModelFile) error {
	return s.add(nil, func() error { return serverAddFile(s.handle, name, &file) })
}

// add makes served handles outlive the server.
func (s *Server) add(served []*handle, call func() error) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for held, one := range served {
		if err := s.handle.hold(one); err != nil {
			s.handle.letGo(held)
			return err
		}
	}
	err := call()
	if err != nil {
		s.handle.letGo(len(served))
	}
	return err
}

// Listen accepts connections at an address or name of this machine, and returns the port; port 0:
// any free one.
func (s *Server) Listen(host string, port int) (int, error) {
	if port < 0 || port > math.MaxUint16 {
		return 0, failed(ErrArgument, "%d is no port", port)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	bound, err := serverListenTcp(s.handle, host, uint16(port))
	return int(bound), err
}

// ListenUnix accepts connections at a Unix socket, a file that is removed at the end.
func (s *Server) ListenUnix(path string) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return serverListenUnix(s.handle, path)
}

// Start runs the server on threads of its own; 0: as many as are useful. It runs until Stop or
// Close.
func (s *Server) Start(threads int) error {
	if threads < 0 || threads > math.MaxUint16 {
		return failed(ErrArgument, "%d is no number of threads", threads)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if err := serverStart(s.handle, uint32(threads)); err != nil {
		return err
	}
	s.begin()
	return nil
}

// Run lends the calling goroutine's thread to the server until it is stopped: the first one serves
// the sockets, the next compute, one per model, the others prepare.
func (s *Server) Run() error {
	s.mutex.Lock()
	s.begin()
	s.mutex.Unlock()
	return serverRun(s.handle)
}

func (s *Server) begin() {
	s.hasBegun = true
	if s.key == 0 && !s.hasEnded {
		s.key = remember(s)
	}
}

// Stop takes no more requests, gives running answers that long, cancels the others, and returns
// when no thread is in the server. It cannot run again.
func (s *Server) Stop(wait time.Duration) error {
	s.mutex.Lock()
	if s.key != 0 {
		forget(s.key)
	}
	s.key, s.hasEnded = 0, true
	if s.hasBegun {
		s.mutex.Unlock()
	} else {
		defer s.mutex.Unlock()
	}
	return serverStop(s.handle, wait.Seconds())
}

// Close stops the server at once, and frees it when the last of its answers has been closed.
func (s *Server) Close() error {
	if s.handle.isLive() {
		_ = s.Stop(0)
	}
	return s.object.Close()
}

// Request sends a request like a client, without a socket: POST /v1/chat/completions and the other
// routes of docs/server.md. It returns when the answer has begun; errors of the request are in the
// answer. The end of ctx ends the request.
func (s *Server) Request(ctx context.Context, request ServerRequest) (*ServerAnswer, error) {
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	s.mutex.Lock()
	hasBegun := s.hasBegun
	s.mutex.Unlock()
	if !hasBegun && s.handle.isLive() { // it would wait for ever
		return nil, failed(ErrState, "the server does not run: Start comes before")
	}
	if _, err := s.handle.enter(false); err != nil {
		return nil, err
	}
	request.notify = make(notice, 1)
	call, err := serverSubmit(s.handle, &request)
	if err != nil {
		s.handle.leave(false)
		return nil, err
	}
	call.holds = []*handle{s.handle}
	return newServerAnswer(ctx, call, request.notify)
}
