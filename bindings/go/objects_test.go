package tenon

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// What each object does beside what the scenarios show.

func TestModelsTellOfThemselves(t *testing.T) {
	lines := 0
	progress := []float64{}
	model, err := LoadModel(context.Background(), []Source{FromPath(demo)}, &ModelOptions{Threads: Set(1)},
		&LoadCallbacks{Progress: func(fraction float64) error { progress = append(progress, fraction); return nil },
			Log: func(int, string) { lines++ }, LogLevel: LogDebug})
	if err != nil {
		t.Fatal(err)
	}
	if len(progress) == 0 || !slices.IsSorted(progress) || progress[len(progress)-1] > 1 {
		t.Errorf("progress was %v", progress)
	}
	info := must(model.Info())
	if info.Architecture != "llama" || !info.HasWeights || info.Vocabulary == 0 || info.Backend != "cpu" {
		t.Errorf("%+v", info)
	}
	metadata := must(model.Metadata())
	if metadata["general.architecture"] != "llama" || len(metadata["tokenizer.ggml.tokens"].([]any)) != int(info.Vocabulary) {
		t.Errorf("%d values", len(metadata))
	}
	if value, err := model.MetadataValue("general.architecture"); err != nil || value != "llama" {
		t.Errorf("%v, %v", value, err)
	}
	_, err = model.MetadataValue("nothing.of.that.name")
	wantCode(t, err, ErrArgument)
	if tensors := must(model.Tensors()); len(tensors) == 0 || tensors[0].Name == "" || tensors[0].Shape[0] == 0 {
		t.Errorf("%d tensors", len(tensors))
	}
	if memory := must(model.Memory(64)); memory.Context != 64 || memory.WeightsBytes == 0 {
		t.Errorf("%+v", memory)
	}
	if execution := must(model.Execution()); execution.Threads != 1 || execution.Device == "" {
		t.Errorf("%+v", execution)
	}
	hardware := must(model.MeasureHardware(false))
	for i := range hardware.DecodeBytesPerSecond {
		hardware.DecodeBytesPerSecond[i] = 1e9
	}
	hardware.PrefillMultiplicationsPerSecond, hardware.AttentionMultiplicationsPerSecond = 1e9, 1e9
	hardware.CacheBytesPerSecond = 1e9
	plan := must(model.Plan(128, 2, hardware))
	if plan.Context != 128 || plan.Sessions != 2 || plan.TotalBytes == 0 || plan.DecodeTokensPerSecond == 0 {
		t.Errorf("%+v", plan)
	}
}

type noisyReader struct {
	io.ReaderAt
	fails error
}

func (r noisyReader) ReadAt(into []byte, offset int64) (int, error) {
	if r.fails != nil && offset > 0 {
		return 0, r.fails
	}
	return r.ReaderAt.ReadAt(into, offset)
}

func TestModelsComeFromAnySource(t *testing.T) {
	file := must(os.Open(demo))
	defer file.Close()
	size := uint64(must(file.Stat()).Size())
	for name, source := range map[string]Source{"file": FromFile(file, 0, 0), "reader": FromReader(file, size),
		"bytes": FromBytes(must(os.ReadFile(demo)))} {
		model, err := LoadModel(context.Background(), []Source{source}, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		session := must(NewSession(model, nil))
		model.Close()
		text, err := Collect(session.Generate(context.Background(), once, &GenerateOptions{MaxTokens: 2, Sampling: greedy}))
		if text != " there was" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		session.Close()
	}
	broken := errors.New("the disk is gone")
	_, err := LoadModel(context.Background(), []Source{FromReader(noisyReader{file, broken}, size)}, nil, nil)
	if !errors.Is(err, broken) || !errors.Is(err, ErrIO) {
		t.Errorf("a reader that fails: %v", err)
	}
	for code, source := range map[Code]Source{ErrArgument: {}, ErrFormat: FromBytes(nil)} {
		_, err := LoadModel(context.Background(), []Source{source}, nil, nil)
		wantCode(t, err, code)
	}
	stopped := errors.New("enough")
	_, err = LoadModel(context.Background(), []Source{FromPath(demo)}, nil,
		&LoadCallbacks{Progress: func(float64) error { return stopped }})
	if err != stopped {
		t.Errorf("what progress returns: %v", err)
	}
}

func TestOptionsAreWhatTheyAreCalled(t *testing.T) {
	_, err := OpenModel(demo, &ModelOptions{Extra: map[string]any{"thraeds": 2}})
	wantCode(t, err, ErrArgument)
	if !strings.Contains(err.Error(), "threads") {
		t.Errorf("%v does not name the nearest", err)
	}
	_, err = OpenModel(demo, &ModelOptions{Extra: map[string]any{"threads": struct{}{}}})
	wantCode(t, err, ErrArgument)
	// Every option of every kind reaches the library, under its name and with its type.
	for _, kind := range []optionSet{&ModelOptions{}, &SessionOptions{}, &SamplerOptions{}, &EngineOptions{},
		&ChatOptions{}, &EmbedderOptions{}} {
		value := reflect.ValueOf(kind).Elem()
		set := 0
		for i := range value.NumField() - 1 { // without Extra
			switch field := value.Field(i).Addr().Interface().(type) {
			case *Opt[int]:
				*field = Set(1)
			case *Opt[float64]:
				*field = Set(1.0)
			case *Opt[bool]:
				*field = Set(true)
			case *Opt[string]:
				*field = Set("?")
			case *[]string:
				*field = []string{"?"}
			}
			set++
		}
		options := must(optionsCreate())
		kind.apply(func(key string, value any) {
			set--
			err := setOption(options, key, value)
			if err != nil && (!errors.Is(err, ErrArgument) || strings.Contains(err.Error(), "unknown") ||
				strings.Contains(err.Error(), "did you mean")) {
				t.Errorf("%T.%s: %v", kind, key, err)
			}
		})
		if set != 0 {
			t.Errorf("%T: %d options were not handed over", kind, set)
		}
		options.destroy()
	}
}

func TestTokenizers(t *testing.T) {
	tokenizer := must(OpenTokenizer(demo))
	defer tokenizer.Close()
	if again := must(LoadTokenizer(FromBytes(must(os.ReadFile(demo))))); again.Count() != tokenizer.Count() {
		t.Error("another number of tokens")
	}
	tokens := must(tokenizer.Encode(long, 0))
	if text := must(tokenizer.Decode(tokens, 0)); text != long {
		t.Errorf("%q", text)
	}
	if tokens, err := tokenizer.Encode("", 0); err != nil || len(tokens) != 0 {
		t.Errorf("%v, %v", tokens, err)
	}
	end := must(tokenizer.Special(SpecialEnd))
	info := must(tokenizer.Info(end))
	if info.Attributes&TokenEnd == 0 || must(tokenizer.Find(info.Spelling)) != end || len(info.Text) != 0 {
		t.Errorf("%+v", info)
	}
	if must(tokenizer.Find("no such token")) != NoToken {
		t.Error("found what is not there")
	}
	model := openDemo(t, nil)
	own := must(model.Tokenizer())
	if own.Count() != tokenizer.Count() {
		t.Error("the model's own differs")
	}
	model.Close()
	_, err := own.Encode("x", 0)
	wantCode(t, err, ErrState)
}

func TestSessionsStepByStep(t *testing.T) {
	session := openSession(t)
	sampler := must(NewSampler(greedy))
	background := context.Background()
	if err := session.Append(once); err != nil {
		t.Fatal(err)
	}
	piece := must(session.NextPiece(sampler))
	if piece.Text != " there" || piece.Finish != FinishNone {
		t.Errorf("%+v", piece)
	}
	err := session.WithDrawnLogits(func(logits []float32) error {
		ofTokens, top, err := LogprobsOf(logits, []Token{piece.Token}, 2)
		if err != nil || len(top) != 2 || top[0].Token != piece.Token || top[0].Logprob != ofTokens[0] {
			t.Errorf("%v, %v, %v", ofTokens, top, err)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	logits := must(session.Logits(background))
	drawn := must(sampler.Sample(logits, must(session.Tokens()), must(session.Position())))
	if text := must(must(session.Model().Tokenizer()).Decode([]Token{drawn}, 0)); text != " was" {
		t.Errorf("drew %q", text)
	}
	err = session.WithLogits(background, func(lent []float32) error {
		if bitsOf(lent...) != bitsOf(logits...) {
			t.Error("other bits than copied")
		}
		_, err := session.Position()
		wantCode(t, err, ErrState)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	candidates, best, err := session.BestOf(background, 3, must(NewSampler(&SamplerOptions{Seed: Set(1)})), 4)
	if err != nil || len(candidates) != 3 || best > 2 || len(candidates[best].Tokens) == 0 {
		t.Errorf("%v, %d, %v", candidates, best, err)
	}
	path := filepath.Join(t.TempDir(), "saved")
	if err := session.Save(path); err != nil {
		t.Fatal(err)
	}
	other := must(NewSession(session.Model(), nil))
	if err := other.Restore(path, 0); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(must(other.Tokens()), must(session.Tokens())) || must(other.Context()) == 0 {
		t.Error("another text than was saved")
	}
	wantCode(t, session.Save("a\x00b"), ErrArgument)
	if err := session.AppendTokens([]Token{drawn}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, session.AppendTokens([]Token{1 << 30}), ErrArgument)
	wantCode(t, session.SetSource("x"), ErrState)
	wantCode(t, session.SetSourceTokens([]Token{1}), ErrState)
	if stats := must(session.Stats()); stats.DecodeTokens == 0 {
		t.Errorf("%+v", stats)
	}
	if _, err := session.TakeHeld(); err != nil {
		t.Error(err)
	}
}

func TestGenerationsTellWhatWasReused(t *testing.T) {
	session := openSession(t)
	_, err := session.Submit(context.Background(), once, &GenerateOptions{MaxTokens: -1})
	wantCode(t, err, ErrArgument)
	generation := must(session.Submit(context.Background(), once, &GenerateOptions{MaxTokens: 3, Priority: Set(2),
		Client: "somebody", Weight: 2, Tokens: []Token{256}}))
	must(generation.Next())
	if stats := must(generation.Stats()); stats.PromptTokens != 5 {
		t.Errorf("%+v", stats)
	}
	must(generation.Text())
	if _, err := generation.Next(); err != io.EOF {
		t.Errorf("after the end came %v", err)
	}
	if err := generation.Cancel(); err != nil {
		t.Error(err)
	}
	_, err = session.Submit(context.Background(), "", &GenerateOptions{Sampler: must(NewSampler(nil)), Sampling: greedy})
	wantCode(t, err, ErrArgument)
	_, err = session.Submit(context.Background(), "", &GenerateOptions{Client: "somebody", Weight: 1e9})
	wantCode(t, err, ErrArgument)
}

func TestSamplers(t *testing.T) {
	model := openDemo(t, nil)
	tokenizer := must(model.Tokenizer())
	sampler := must(NewSampler(nil))
	there := must(tokenizer.Encode(" there", 0))[0]
	for _, err := range []error{sampler.SetFloat("temperature", 0), sampler.SetInt("seed", 3),
		sampler.SetBias(there, math.Inf(-1)), sampler.AddStopToken(5), sampler.AddDryBreaker(tokenizer, "\n"),
		sampler.SetTokenLimit(8)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	wantCode(t, sampler.SetInt("sede", 3), ErrArgument)
	session := must(NewSession(model, nil))
	text := must(Collect(session.Generate(context.Background(), once, &GenerateOptions{MaxTokens: 1, Sampler: sampler})))
	if text == " there" {
		t.Error("a forbidden token came")
	}
	logits := make([]float32, tokenizer.Count())
	logits[7] = 1
	if drawn := must(sampler.Sample(logits, nil, 0)); drawn != 7 {
		t.Errorf("drew %d", drawn)
	}
	if err := sampler.RollBack(1); err != nil {
		t.Error(err)
	}
	wantCode(t, sampler.RollBack(9), ErrArgument)
	if err := sampler.Reset(); err != nil {
		t.Error(err)
	}
}

func TestGrammarsAndMatchers(t *testing.T) {
	model := openDemo(t, nil)
	tokenizer := must(model.Tokenizer())
	grammar := must(Regex("ab+c"))
	if !must(grammar.Accepts("abbc")) || must(grammar.Accepts("ac")) {
		t.Error("the expression is read otherwise")
	}
	if !must(must(GBNF("root ::= \"x\"")).Accepts("x")) || !must(must(JSONSchema(map[string]any{"type": "integer"})).Accepts("12")) {
		t.Error("the other notations")
	}
	matcher := must(grammar.NewMatcher(tokenizer))
	a := must(tokenizer.Encode("a", 0))[0]
	if !must(matcher.Allows(a)) || must(matcher.ForcedText()) != "ab" {
		t.Error("what may come first")
	}
	if err := matcher.Accept(a); err != nil {
		t.Fatal(err)
	}
	wantCode(t, matcher.Accept(a), ErrState)
	fork := must(matcher.Fork())
	if !must(fork.AcceptText("bc")) || must(matcher.AcceptText("x")) {
		t.Error("what may follow")
	}
	if complete, ended, err := fork.State(); !complete || !ended || err != nil {
		t.Errorf("%v %v %v", complete, ended, err)
	}
	mask := must(matcher.Mask())
	if len(mask) != (tokenizer.Count()+63)/64 || mask[a/64]>>(a%64)&1 != 0 {
		t.Errorf("a mask of %d words", len(mask))
	}
	for _, err := range []error{matcher.RollBack(1), matcher.SetTokenLimit(9), matcher.Reset()} {
		if err != nil {
			t.Error(err)
		}
	}
	_, err := Regex("(")
	wantCode(t, err, ErrGrammar)
	_, err = JSONSchema(make(chan int))
	wantCode(t, err, ErrArgument)
}

func TestChatsTakeAnswersApart(t *testing.T) {
	chat := must(NewChat(openDemo(t, nil), nil))
	conversation := Conversation{Messages: []Message{{Role: "user", Content: "Hi"}},
		Tools: []Tool{{"function", ToolFunction{Name: "f", Parameters: map[string]any{"type": "object"}}}}}
	if prompt := must(chat.Render(conversation)); !strings.Contains(prompt, "Hi") {
		t.Errorf("%q", prompt)
	}
	if format := must(chat.Format()); format == "" {
		t.Error("no format")
	}
	if grammar := must(chat.Grammar(conversation)); grammar == nil {
		t.Error("calls of tools have a grammar")
	}
	reply := must(chat.Reply(conversation))
	came := must(reply.PushText("<tool_call>{\"name\": \"f\", \"arguments\": {\"x\": 1}}</tool_call>"))
	came = append(came, must(reply.Finish())...)
	if len(came) < 3 || came[0].Kind != ChatCallBegin || came[0].Text != "f" {
		t.Errorf("%+v", came)
	}
	message := must(reply.Message())
	if len(message.ToolCalls) != 1 || message.ToolCalls[0].Function.Arguments != "{\"x\": 1}" {
		t.Errorf("%+v", message)
	}
	own := must(NewChat(nil, &ChatOptions{Template: Set("{{ messages[0].content }}!")}))
	if text := must(own.Render(conversation)); text != "Hi!" {
		t.Errorf("%q", text)
	}
	_, err := NewChat(nil, &ChatOptions{Template: Set("{% if %}")})
	wantCode(t, err, ErrTemplate)
}

func TestEmbedders(t *testing.T) {
	embedder := must(NewEmbedder(openDemo(t, &ModelOptions{Embeddings: Set("on")}), nil))
	tokenizer := must(OpenTokenizer(demo))
	background := context.Background()
	rows := must(embedder.Embed(background, []string{"a fox", ""}[:1], TextPlain))
	same := must(embedder.EmbedTokens(background, [][]Token{must(tokenizer.Encode("a fox", 0))}))
	if bitsOf(rows.Row(0)...) != bitsOf(same.Row(0)...) || len(rows.Row(0)) != embedder.Dimensions() {
		t.Error("texts and their tokens differ")
	}
	if info := must(embedder.Info()); int(info.Dimensions) != rows.Dimensions || !info.Normalizes {
		t.Errorf("%+v", info)
	}
	scores := must(embedder.Rank(background, "a fox", []string{"the sea", "a fox"}))
	if len(scores) != 2 || scores[1] <= scores[0] {
		t.Errorf("%v", scores)
	}
	if none := must(embedder.Embed(background, nil, TextPlain)); none.Len() != 0 {
		t.Errorf("%+v", none)
	}
	_, err := embedder.Label(0)
	wantCode(t, err, ErrArgument)
	_, err = NewEmbedder(openDemo(t, nil), nil)
	wantCode(t, err, ErrState)
}

func TestEnginesTellOfThemselves(t *testing.T) {
	engine := must(NewEngine(openDemo(t, nil), &EngineOptions{Running: Set(4)}))
	must(Collect(engine.Stream(context.Background(), once, &GenerateOptions{MaxTokens: 3})))
	if stats := must(engine.Stats()); stats.Finished != 1 || stats.GeneratedTokens != 3 {
		t.Errorf("%+v", stats)
	}
	if !strings.Contains(must(engine.StatsText()), "tenon_") {
		t.Error("nothing for Prometheus")
	}
	if must(engine.Step()) {
		t.Error("there was no work")
	}
}

func TestErrorsAreOfTheirKind(t *testing.T) {
	_, err := OpenModel("/nonexistent/model.gguf", nil)
	var known *Error
	if !errors.As(err, &known) || known.Code != ErrIO || !errors.Is(err, ErrIO) || errors.Is(err, ErrBusy) {
		t.Fatalf("%v", err)
	}
	if !strings.HasPrefix(err.Error(), "tenon: ") || ErrNoMemory.Error() != "NO_MEMORY" || Code(99).Error() != "UNKNOWN" {
		t.Errorf("%v", err)
	}
	for code, name := range codeNames {
		if told := nameAt(callStatusName(int32(code))); told != name {
			t.Errorf("%d is %s for the library, not %s", code, told, name)
		}
	}
	var none Session
	wantCode(t, none.Append("x"), ErrArgument)
	if err := none.Close(); err != nil || !none.Closed() {
		t.Errorf("closing what is nothing: %v", err)
	}
}

func TestTheMachineIsKnown(t *testing.T) {
	backends := must(Backends(&ModelOptions{Plugin: []string{"/nonexistent.so"}}))
	refused := slices.IndexFunc(backends, func(b BackendInfo) bool { return b.Origin == "/nonexistent.so" })
	if backends[0].Name != "cpu" || backends[0].Status != OK || refused < 0 || backends[refused].Reason != RefusedNotFound {
		t.Errorf("%+v", backends)
	}
	options := must(KnownOptions())
	if !slices.ContainsFunc(options, func(o OptionInfo) bool {
		return o.Name == "temperature" && o.Scope == ScopeSampler && o.FloatMaximum > 1
	}) {
		t.Errorf("%d options", len(options))
	}
	shapes, formats := RandomModels()
	if !slices.Contains(shapes, "llama-1b") || !slices.Contains(formats, "q4_0") {
		t.Errorf("%v, %v", shapes, formats)
	}
	path := filepath.Join(t.TempDir(), "random.gguf")
	enough := errors.New("enough")
	err := WriteRandomModel(context.Background(), path, shapes[0], "q4_0", 1, func(float64) error { return enough })
	if _, there := os.Stat(path); err != enough || there == nil {
		t.Errorf("%v, %v", err, there)
	}
}
