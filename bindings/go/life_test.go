package tenon

import (
	"context"
	"errors"
	"fmt"
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

// Goroutines, contexts and the ends of things.

var long = strings.Repeat("word ", 450)

func TestEverythingMayBeClosedInAnyOrder(t *testing.T) {
	for order := range 24 {
		model := must(OpenModel(demo, &ModelOptions{Threads: Set(1)}))
		engine := must(NewEngine(model, nil))
		session := must(engine.NewSession(nil))
		generation := must(session.Submit(context.Background(), once, &GenerateOptions{MaxTokens: 4}))
		must(generation.Next())
		things := []io.Closer{model, engine, session, generation}
		for range 4 {
			index := order % len(things)
			order /= len(things)
			things[index].Close()
			things = append(things[:index:index], things[index+1:]...)
		}
		_, err := model.Info()
		wantCode(t, err, ErrState)
		_, err = engine.NewSession(nil)
		wantCode(t, err, ErrState)
		_, err = session.Position()
		wantCode(t, err, ErrState)
		if _, err = generation.Next(); err != io.EOF {
			t.Errorf("after the end came %v", err)
		}
	}
}

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
	switch action := dice.Intn(14); {
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

func TestTheContextEndsAGeneration(t *testing.T) {
	session := openSession(t)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err := Collect(session.Generate(ctx, long, &GenerateOptions{IgnoreEnd: true}))
	wantCode(t, err, ErrCancelled)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v is not context.Canceled", err)
	}
	// The session goes on.
	if err := session.Rewind(1); err != nil {
		t.Fatal(err)
	}
	text, err := Collect(session.Generate(context.Background(), "", &GenerateOptions{MaxTokens: 2}))
	if err != nil || text == "" {
		t.Fatalf("%q, %v", text, err)
	}
	if _, err := session.Submit(ctx, once, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended gave %v", err)
	}
}

func TestTheDeadlineOfTheContextIsTheLibrarys(t *testing.T) {
	session := openSession(t)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	_, err := Collect(session.Generate(ctx, long, &GenerateOptions{IgnoreEnd: true}))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%v is not context.DeadlineExceeded", err)
	}
	var known *Error
	if !errors.As(err, &known) || known.Code != ErrDeadline || !strings.Contains(err.Error(), "deadline") {
		t.Fatalf("%v", err)
	}
}

func TestTheCauseOfTheContextIsKept(t *testing.T) {
	why := errors.New("the client left")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	model := openDemo(t, nil)
	if _, err := LoadModel(ctx, []Source{FromPath(demo)}, nil, nil); !errors.Is(err, why) {
		t.Errorf("loading: %v", err)
	}
	// As in package context, the cause does not stand in the way of what ended it.
	if _, err := Collect(must(NewSession(model, nil)).Generate(ctx, once, nil)); !errors.Is(err, why) ||
		!errors.Is(err, context.Canceled) || !errors.Is(err, ErrCancelled) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("generating: %v", err)
	}
	late, release := context.WithDeadlineCause(context.Background(), time.Now().Add(-time.Second), why)
	defer release()
	if _, err := Collect(must(NewSession(model, nil)).Generate(late, once, nil)); !errors.Is(err, why) ||
		!errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrDeadline) {
		t.Errorf("generating too late: %v", err)
	}
	if err := must(NewSession(model, nil)).Prefill(ctx, nil); err != nil {
		t.Errorf("there is nothing to compute: %v", err)
	}
}

func TestClosingAGenerationEndsWhoWaitsForIt(t *testing.T) {
	session := openSession(t)
	generation := must(session.Submit(context.Background(), long, &GenerateOptions{IgnoreEnd: true}))
	time.AfterFunc(10*time.Millisecond, func() { generation.Close() })
	began := time.Now()
	_, err := generation.Text()
	if err != nil {
		wantCode(t, err, ErrCancelled)
	}
	if took := time.Since(began); took > 500*time.Millisecond {
		t.Errorf("it took %v", took)
	}
}

func TestLeavingTheLoopLetsTheSessionGo(t *testing.T) {
	session := openSession(t)
	for _, err := range session.Generate(context.Background(), once, &GenerateOptions{MaxTokens: 50}) {
		if err != nil {
			t.Fatal(err)
		}
		wantCode(t, session.Append("more"), ErrState)
		break
	}
	if err := session.Append("more"); err != nil {
		t.Fatal(err)
	}
}

func TestASessionInUseRefusesASecondCall(t *testing.T) {
	session := openSession(t)
	if err := session.Append(long); err != nil {
		t.Fatal(err)
	}
	tried := false
	err := session.Prefill(context.Background(), func(float64) error {
		if !tried {
			err := session.Append("more")
			wantCode(t, err, ErrState)
			if !strings.Contains(err.Error(), "only cancelling and closing may interrupt") {
				t.Errorf("the binding did not notice: %v", err)
			}
		}
		tried = true
		return nil
	})
	if err != nil || !tried {
		t.Fatalf("%v, tried %v", err, tried)
	}
}

func TestClosingDuringACallEndsIt(t *testing.T) {
	session := openSession(t)
	if err := session.Append(long); err != nil {
		t.Fatal(err)
	}
	err := session.Prefill(context.Background(), func(float64) error { return session.Close() })
	wantCode(t, err, ErrCancelled)
	wantCode(t, session.Prefill(context.Background(), nil), ErrState)
}

func TestWhatACallbackPanicsWithGoesOn(t *testing.T) {
	session := openSession(t)
	if err := session.Append(long); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if came := recover(); came != "at home" {
				t.Errorf("came %v", came)
			}
		}()
		_ = session.Prefill(context.Background(), func(float64) error { panic("at home") })
	}()
	func() {
		defer func() { _ = recover() }()
		_ = session.WithLogits(context.Background(), func([]float32) error { panic("at home") })
	}()
	// The session can be used all the same.
	if err := session.Prefill(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	for _, stage := range []string{"progress", "model"} {
		func() {
			defer func() {
				if came := recover(); came != stage {
					t.Errorf("%s: came %v", stage, came)
				}
			}()
			_, _ = LoadModel(context.Background(), []Source{FromPath(demo)}, nil,
				&LoadCallbacks{Progress: func(float64) error { panic(stage) }})
		}()
	}
}

func TestManyGenerationsNeedFewThreads(t *testing.T) {
	engine := must(NewEngine(openDemo(t, &ModelOptions{Threads: Set(1)}), nil))
	threads := func() int { return len(must(os.ReadDir("/proc/self/task"))) }
	before, most := threads(), 0
	var group sync.WaitGroup
	for index := range 200 {
		group.Go(func() {
			text, err := Collect(engine.Stream(context.Background(), once,
				&GenerateOptions{MaxTokens: 24, Sampling: &SamplerOptions{Seed: Set(index)}}))
			if err != nil || text == "" {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	for waiting := true; waiting; {
		select {
		case <-done:
			waiting = false
		case <-time.After(time.Millisecond):
			most = max(most, threads())
		}
	}
	// Calls that only take a lock of the library for a moment have threads, too.
	if most > before+64 {
		t.Errorf("200 generations had %d threads at once, where %d were before", most, before)
	}
}

func TestWhatIsNotClosedIsFreedByTheNet(t *testing.T) {
	runtime.GC()
	var handles []*handle
	func() {
		model := must(OpenModel(demo, nil))
		session := must(NewSession(model, nil))
		generation := must(session.Submit(context.Background(), once, nil))
		must(generation.Next())
		handles = append(handles, model.handle, session.handle, session.engine.handle, generation.handle,
			must(NewSampler(nil)).handle)
	}()
	for _, handle := range handles {
		deadline := time.Now().Add(5 * time.Second)
		for handle.isLive() {
			if time.Now().After(deadline) {
				t.Fatalf("a %s is still there", kinds[handle.kind].name)
			}
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	model := openDemo(t, nil)
	descriptors := func() int { return len(must(os.ReadDir("/proc/self/fd"))) }
	use := func() {
		session := must(NewSession(model, nil))
		must(Collect(session.Generate(context.Background(), once, &GenerateOptions{MaxTokens: 1})))
		session.Close()
	}
	use()
	registry.mutex.Lock()
	before, entries := descriptors(), len(registry.entries)
	registry.mutex.Unlock()
	for range 100 {
		use()
	}
	registry.mutex.Lock()
	defer registry.mutex.Unlock()
	if after := descriptors(); after > before || len(registry.entries) > entries {
		t.Errorf("%d descriptors became %d, %d entries %d", before, after, entries, len(registry.entries))
	}
}

func TestOneCancelledEmbeddingLeavesOthers(t *testing.T) {
	embedder := must(NewEmbedder(openDemo(t, &ModelOptions{Embeddings: Set("on")}), nil))
	texts := make([]string, 200)
	for i := range texts {
		texts[i] = fmt.Sprintf("text %d %s", i, once)
	}
	alone := must(embedder.Embed(context.Background(), texts, TextPlain))
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Millisecond)
			defer cancel()
			if _, err := embedder.Embed(ctx, texts, TextPlain); err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the one with a deadline: %v", err)
			}
		})
		group.Go(func() {
			rows, err := embedder.Embed(context.Background(), texts, TextPlain)
			if err != nil {
				t.Errorf("the one without: %v", err)
			} else if bitsOf(rows.Values...) != bitsOf(alone.Values...) {
				t.Error("other bits than alone")
			}
		})
	}
	group.Wait()
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(time.Millisecond, cancel)
	if _, err := embedder.Embed(ctx, texts, TextPlain); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled one: %v", err)
	}
	time.AfterFunc(time.Millisecond, func() { _ = embedder.Cancel() })
	if _, err := embedder.Embed(context.Background(), texts, TextPlain); err != nil {
		wantCode(t, err, ErrCancelled)
	}
}
