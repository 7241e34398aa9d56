package tenon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
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
