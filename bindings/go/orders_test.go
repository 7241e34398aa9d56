package tenon

import (
	"context"
	"errors"
	"io"
	"math/rand"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Random orders of create, use and destroy, partly from several goroutines. TENON_ORDERS says how many.
func TestRandomOrders(t *testing.T) {
	orders := 1000
	if wanted := os.Getenv("TENON_ORDERS"); wanted != "" {
		orders = must(strconv.Atoi(wanted))
	}
	models := []*Model{openDemo(t, &ModelOptions{Threads: Set(1)}),
		openDemo(t, &ModelOptions{Threads: Set(1), Embeddings: Set("on")})}
	worked := 0
	var resident []int // after each quarter
	for seed := range orders {
		if seed > 0 && seed%((orders+3)/4) == 0 {
			resident = append(resident, residentMiB())
		}
		dice := rand.New(rand.NewSource(int64(seed)))
		w := &world{models: models, ownsModel: dice.Intn(10) == 0}
		if w.ownsModel {
			w.models = []*Model{must(OpenModel(demo, &ModelOptions{Threads: Set(1)})), models[1]}
		}
		var group sync.WaitGroup
		for range 1 + dice.Intn(2) {
			seed := dice.Int63()
			group.Go(func() { w.live(rand.New(rand.NewSource(seed))) })
		}
		group.Wait()
		for _, thing := range w.things {
			if server, isServer := thing.(*Server); isServer { // which is kept as long as it runs
				server.Close()
			}
		}
		if w.ownsModel && dice.Intn(2) == 0 { // else the net has it
			w.models[0].Close()
		}
		worked += w.worked
		for _, err := range w.wrong {
			t.Errorf("order %d: %v", seed, err)
		}
	}
	// What is left behind grows with each quarter, fragments do so once in a while. With an arena for each thread glibc's
	// would hide it: test.sh has one.
	resident = append(resident, residentMiB())
	if last := len(resident) - 1; last >= 2 && os.Getenv("MALLOC_ARENA_MAX") == "1" {
		before, after := resident[last-1]-resident[last-2], resident[last]-resident[last-1]
		if min(before, after) > 8 {
			t.Errorf("the last quarters of the orders left %d and %d MiB behind", before, after)
		}
	}
	if worked < orders {
		t.Errorf("%d calls of %d orders brought something: they prove little", worked, orders)
	}
}

// residentMiB is the memory of the process when what nothing refers to has been freed.
func residentMiB() int {
	for range 5 {
		runtime.GC()
		time.Sleep(20 * time.Millisecond) // cleanups have a goroutine of their own
	}
	fields := strings.Fields(string(must(os.ReadFile("/proc/self/statm"))))
	return must(strconv.Atoi(fields[1])) * os.Getpagesize() >> 20
}

// world is objects that several goroutines make, use and destroy.
type world struct {
	mutex  sync.Mutex
	models []*Model
	things []io.Closer
	wrong  []error
	worked int // generations and embeddings that brought something
	// The first model is this world's alone, so it may be closed.
	ownsModel bool
}

func (w *world) put(thing io.Closer, err error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if err == nil {
		w.things = append(w.things, thing)
	} else if !allowed(err) {
		w.wrong = append(w.wrong, err)
	}
}

func (w *world) count(err error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if err == nil {
		w.worked++
	}
}

// allowed are the errors that a wrong order may bring.
func allowed(err error) bool {
	return err == nil || err == io.EOF || errors.Is(err, ErrState) || errors.Is(err, ErrCancelled) ||
		errors.Is(err, ErrDeadline) || errors.Is(err, ErrLimit)
}

func pick[T io.Closer](w *world, dice *rand.Rand) (chosen T, isThere bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for range w.things {
		if chosen, isThere = w.things[dice.Intn(len(w.things))].(T); isThere {
			return chosen, true
		}
	}
	return chosen, false
}

func (w *world) live(dice *rand.Rand) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for range 8 + dice.Intn(32) {
		if err := w.act(ctx, cancel, dice); !allowed(err) {
			w.put(nil, err)
		}
	}
}

func (w *world) act(ctx context.Context, cancel func(), dice *rand.Rand) error {
	options := &GenerateOptions{MaxTokens: 1 + dice.Intn(4), Sampling: &SamplerOptions{Seed: Set(dice.Intn(9))}}
	session, hasSession := pick[*Session](w, dice)
	generation, hasGeneration := pick[*Generation](w, dice)
	switch action := dice.Intn(15); {
	case action < 2 || !hasSession:
		if engine, has := pick[*Engine](w, dice); has {
			w.put(engine.NewSession(nil))
		} else {
			w.put(NewSession(w.models[0], nil))
		}
	case action == 2:
		w.put(NewEngine(w.models[0], nil))
	case action == 3:
		w.put(session.Fork())
	case action == 4:
		w.put(NewSampler(options.Sampling))
	case action == 5:
		w.put(NewEmbedder(w.models[1], nil))
	case action < 8:
		w.put(session.Submit(ctx, once, options))
	case action < 10 && hasGeneration:
		_, err := generation.Next()
		w.count(err)
		return err
	case action == 10:
		if embedder, has := pick[*Embedder](w, dice); has {
			_, err := embedder.Embed(ctx, []string{"a fox"}, TextPlain)
			w.count(err)
			return err
		}
		return session.Cancel()
	case action == 14:
		return w.serve(ctx, dice)
	case action == 11 && dice.Intn(4) == 0:
		cancel()
	case action == 11:
		return session.Rewind(0)
	case w.ownsModel && dice.Intn(3) == 0:
		return w.models[0].Close()
	default:
		thing, _ := pick[io.Closer](w, dice)
		return thing.Close()
	}
	return nil
}

// serve makes a server, asks one, or reads an answer. TENON_LIBRARY may have no server beside it.
func (w *world) serve(ctx context.Context, dice *rand.Rand) error {
	server, hasServer := pick[*Server](w, dice)
	answer, hasAnswer := pick[*ServerAnswer](w, dice)
	switch {
	case hasAnswer && dice.Intn(2) == 0:
		_, err := answer.Read(make([]byte, 512))
		w.count(err)
		return err
	case hasServer && dice.Intn(4) > 0:
		w.put(server.Request(ctx, ServerRequest{Method: "POST", Target: chatPath,
			Body: capital(`, "stream": true, "max_tokens": 4`)}))
		return nil
	}
	server, err := NewServer(nil)
	w.put(server, err)
	if engine, has := pick[*Engine](w, dice); has && err == nil && dice.Intn(2) == 0 {
		err = server.AddEngine("demo", engine, 0)
	} else if err == nil {
		err = server.Add("demo", w.models[0], nil, 0)
	}
	if err == nil && dice.Intn(4) > 0 {
		err = server.Start(0)
	}
	return err
}
