package tenon

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// bindings/scenarios.json: the behaviour that all bindings have in common. python/tests/run_scenarios.py is the
// reference for what each operation is.

// errThrown is what a callback ends a call with.
var errThrown = errors.New("the callback")

type step struct {
	Op, As, Into, Fails, Says                      string
	Session, Model, Engine, Object, Chat, Embedder string
	Request, From, Kind, Path                      string
	Text                                           string
	Bytes                                          *string
	Options                                        map[string]any
	Sampling                                       map[string]any
	Grammar, Sampler, Saved, Key, Client           string
	Template                                       *string
	Value, Conversation                            json.RawMessage
	Texts                                          []string
	Tokens                                         json.RawMessage // of one text, or of several
	Token, Top                                     int
	Bias, Weight                                   float64
	Priority                                       *int
	Logits                                         []float32
	Parts                                          []string
	Throws, Special                                bool
	MaxTokens                                      int      `json:"max_tokens"`
	ParseSpecial                                   bool     `json:"parse_special"`
	IgnoreEnd                                      bool     `json:"ignore_end"`
	Logprobs                                       *int     `json:"logprobs"`
	Timeout                                        float64  `json:"timeout"`
	ThrowsAt                                       *int     `json:"throws_at"`
	StopAt                                         *float64 `json:"stop_at"`
	WithinSeconds                                  float64  `json:"within_seconds"`
	Pieces, Times, Count, Requests                 int
	Position                                       uint64
}

// bitsOf says what numbers are, bit by bit.
func bitsOf(values ...float32) string {
	var memory bytes.Buffer
	_ = binary.Write(&memory, binary.LittleEndian, values)
	return fmt.Sprintf("%x", sha256.Sum256(memory.Bytes()))[:16]
}

// scenarioRunner holds the objects of one scenario by their names, and what its steps brought.
type scenarioRunner struct {
	t       *testing.T
	path    string
	options map[string]any
	objects map[string]any
	results map[string]any
}

// plainOptions turns the numbers of JSON into what options are: whole ones are integers.
func plainOptions(given ...map[string]any) map[string]any {
	all := map[string]any{}
	for _, options := range given {
		for key, value := range options {
			switch value := value.(type) {
			case json.Number:
				if whole, err := value.Int64(); err == nil {
					all[key] = whole
				} else {
					all[key] = must(value.Float64())
				}
			case []any:
				texts := []string{}
				for _, text := range value {
					texts = append(texts, text.(string))
				}
				all[key] = texts
			default:
				all[key] = value
			}
		}
	}
	return all
}

func (r *scenarioRunner) session(name string) *Session { return r.objects[name].(*Session) }

func (r *scenarioRunner) generateOptions(s *step) *GenerateOptions {
	options := &GenerateOptions{MaxTokens: s.MaxTokens, ParseSpecial: s.ParseSpecial, IgnoreEnd: s.IgnoreEnd,
		Timeout: time.Duration(s.Timeout * float64(time.Second)), Client: s.Client, Weight: s.Weight}
	if s.Priority != nil {
		options.Priority = Set(*s.Priority)
	}
	if s.Sampler != "" {
		options.Sampler = r.sampler(s)
	}
	if s.Sampling != nil {
		options.Sampling = &SamplerOptions{Extra: plainOptions(s.Sampling)}
	}
	if s.Grammar != "" {
		options.Grammar = r.objects[s.Grammar].(*Grammar)
	}
	if s.Logprobs != nil {
		options.Logprobs = Set(*s.Logprobs)
	}
	return options
}

func (r *scenarioRunner) generate(s *step) (any, error) {
	pieces, tokens, tops := []string{}, []Token{}, [][]Token{}
	finish, values := any(nil), []float32{}
	for piece, err := range r.session(s.Session).Generate(context.Background(), s.Text, r.generateOptions(s)) {
		if err != nil {
			return nil, err
		}
		pieces, tokens = append(pieces, piece.Text), append(tokens, piece.Token)
		values = append(values, piece.Logprob)
		top := []Token{}
		for _, one := range piece.Top {
			top, values = append(top, one.Token), append(values, one.Logprob)
		}
		tops = append(tops, top)
		if piece.Finish != FinishNone {
			finish = piece.Finish.String()
		}
	}
	result := map[string]any{"pieces": pieces, "tokens": tokens, "finish": finish}
	if s.Logprobs != nil {
		result["top"], result["bits"] = tops, bitsOf(values...)
	}
	return result, nil
}

func (r *scenarioRunner) make(s *step) (any, error) {
	model, _ := r.objects["model"].(*Model)
	if s.Model != "" {
		model = r.objects[s.Model].(*Model)
	}
	switch s.Op {
	case "model":
		options := &ModelOptions{Extra: plainOptions(r.options, s.Options)}
		switch {
		case s.Throws || s.StopAt != nil:
			return LoadModel(context.Background(), []Source{FromPath(r.path)}, options, &LoadCallbacks{
				Progress: func(fraction float64) error {
					if s.Throws {
						return errThrown
					}
					return s.progress(fraction)
				}})
		case s.Bytes != nil:
			return LoadModel(context.Background(), []Source{FromBytes([]byte(*s.Bytes))}, options, nil)
		case s.From == "bytes":
			data := must(os.ReadFile(r.path))
			return LoadModel(context.Background(), []Source{FromBytes(data)}, options, nil)
		case s.Path != "":
			return OpenModel(s.Path, options)
		}
		return OpenModel(r.path, options)
	case "session":
		options := &SessionOptions{Extra: plainOptions(s.Options)}
		if s.Engine != "" {
			return r.objects[s.Engine].(*Engine).NewSession(options)
		}
		return NewSession(model, options)
	case "engine":
		return NewEngine(model, &EngineOptions{Extra: plainOptions(s.Options)})
	case "grammar":
		var text string
		_ = json.Unmarshal(s.Value, &text)
		switch s.Kind {
		case "json_schema":
			return JSONSchema(s.Value)
		case "regex":
			return Regex(text)
		case "gbnf":
			return GBNF(text)
		case "lark":
			return Lark(text)
		}
		var texts []string
		_ = json.Unmarshal(s.Value, &texts)
		return Choices(texts...)
	case "chat":
		if s.Template != nil {
			return NewChat(nil, &ChatOptions{Template: Set(*s.Template)})
		}
		return NewChat(model, nil)
	case "sampler":
		return NewSampler(&SamplerOptions{Extra: plainOptions(s.Options)})
	}
	return NewEmbedder(model, &EmbedderOptions{Extra: plainOptions(s.Options)})
}

func (r *scenarioRunner) answer(s *step) (any, error) {
	chat, sampler := r.objects[s.Chat].(*Chat), must(NewSampler(greedy))
	if _, err := chat.Constrain(s.Conversation, sampler); err != nil {
		return nil, err
	}
	reply := must(chat.Reply(s.Conversation))
	options := &GenerateOptions{Tokens: must(chat.Encode(s.Conversation)), Sampler: sampler, MaxTokens: s.MaxTokens}
	for piece, err := range r.session(s.Session).Generate(context.Background(), "", options) {
		if err != nil {
			return nil, err
		}
		if piece.Token != NoToken {
			must(reply.Push(piece.Token))
		}
	}
	must(reply.Finish())
	var message map[string]any
	if err := json.Unmarshal(must(reply.MessageJSON()), &message); err != nil {
		return nil, err
	}
	calls, _ := message["tool_calls"].([]any)
	for _, call := range calls {
		delete(call.(map[string]any), "id") // made up anew each time
	}
	return message, nil
}

// together runs generations side by side, each in a session of its own.
func (r *scenarioRunner) together(s *step, options func(index int) *GenerateOptions) (any, error) {
	engine := must(NewEngine(r.objects["model"].(*Model), nil))
	defer engine.Close()
	texts, errs := make([]string, s.Count), make([]error, s.Count)
	var group sync.WaitGroup
	for index := range texts {
		group.Go(func() {
			texts[index], errs[index] = Collect(engine.Stream(context.Background(), s.Text, options(index)))
		})
	}
	group.Wait()
	return texts, errors.Join(errs...)
}

func (r *scenarioRunner) exit(s *step) error { return exitOf("requests", s.WithinSeconds) }

// exitOf says whether a process ends so soon with that under way (main_test.go).
func exitOf(underWay string, withinSeconds float64) error {
	took := []float64{}
	for range 3 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "TENON_TEST_EXIT="+underWay)
		told, err := child.Output()
		ended := time.Now().UnixNano()
		var status *exec.ExitError
		if !errors.As(err, &status) || status.ExitCode() != 3 {
			return fmt.Errorf("the process ended with %v", err)
		}
		began := must(strconv.ParseInt(strings.TrimSpace(string(told)), 10, 64))
		took = append(took, float64(ended-began)/1e9)
	}
	// The least: the machine may have had something else to do.
	if least := min(took[0], took[1], took[2]); least > withinSeconds {
		return fmt.Errorf("the process ended %.3f s after it exited", least)
	}
	return nil
}

func (r *scenarioRunner) do(s *step) (any, error) {
	background := context.Background()
	switch s.Op {
	case "model", "session", "engine", "grammar", "chat", "embedder", "sampler":
		return r.make(s)
	case "close":
		return nil, r.objects[s.Object].(io.Closer).Close()
	case "submit":
		return r.session(s.Session).Submit(background, s.Text, r.generateOptions(s))
	case "generate":
		return r.generate(s)
	case "take":
		texts := []string{}
		for range s.Pieces {
			piece, err := r.objects[s.Request].(*Generation).Next()
			if err != nil {
				return nil, err
			}
			texts = append(texts, piece.Text)
		}
		return texts, nil
	case "drain":
		return r.objects[s.Request].(*Generation).Text()
	case "cancel":
		return nil, r.objects[s.Request].(*Generation).Cancel()
	case "append":
		return nil, r.session(s.Session).Append(strings.Repeat(s.Text, max(s.Times, 1)))
	case "prefill":
		return nil, r.session(s.Session).Prefill(background, s.progress)
	case "logits":
		result := ""
		err := r.session(s.Session).WithLogits(background, func(logits []float32) error {
			result = bitsOf(logits...)
			return nil
		})
		return result, err
	case "evaluate":
		rows := []string{}
		err := r.session(s.Session).Evaluate(background, s.tokens(), func(row int, logits []float32) error {
			if s.ThrowsAt != nil && row == *s.ThrowsAt {
				return errThrown
			}
			rows = append(rows, bitsOf(logits...))
			return nil
		})
		return rows, err
	case "fork":
		return r.session(s.Session).Fork()
	case "rewind":
		return nil, r.session(s.Session).Rewind(s.Position)
	case "save":
		return r.session(s.Session).SaveBytes()
	case "restore":
		return nil, r.session(s.Session).RestoreBytes(r.objects[s.From].([]byte), 0)
	case "position":
		return r.session(s.Session).Position()
	case "tokens":
		return r.session(s.Session).Tokens()
	case "encode":
		flags := uint32(0)
		if s.ParseSpecial {
			flags = ParseSpecial
		}
		return must(r.objects["model"].(*Model).Tokenizer()).Encode(s.Text, flags)
	case "render":
		return r.objects[s.Chat].(*Chat).Render(s.Conversation)
	case "encode_chat":
		return r.objects[s.Chat].(*Chat).Encode(s.Conversation)
	case "chat_answer":
		return r.answer(s)
	case "embed":
		rows, err := r.objects[s.Embedder].(*Embedder).Embed(background, s.Texts, TextPlain)
		if err != nil {
			return nil, err
		}
		bits := []string{}
		for index := range rows.Len() {
			bits = append(bits, bitsOf(rows.Row(index)...))
		}
		return map[string]any{"counts": rows.Counts, "bits": bits}, nil
	case "threads":
		return r.together(s, func(int) *GenerateOptions { return r.generateOptions(s) })
	case "stream_many":
		return r.together(s, func(index int) *GenerateOptions {
			return &GenerateOptions{MaxTokens: s.MaxTokens,
				Sampling: &SamplerOptions{Temperature: Set(1.0), Seed: Set(index)}}
		})
	case "exit_under_way":
		return nil, r.exit(s)
	}
	return r.look(s)
}

func (r *scenarioRunner) run(s *step) {
	result, err := r.do(s)
	code := ""
	var known *Error
	switch {
	case errors.As(err, &known):
		code = known.Code.Error()
	case errors.Is(err, ErrCancelled):
		code = ErrCancelled.Error()
	case errors.Is(err, errThrown):
		code = "THROWN"
	case err != nil:
		r.t.Fatalf("%s: %v", s.Op, err)
	}
	if code != s.Fails || err != nil && !strings.Contains(err.Error(), s.Says) {
		r.t.Fatalf("%s: %v, where %q was expected", s.Op, err, s.Fails)
	}
	if err != nil {
		return
	}
	if s.As != "" {
		r.objects[s.As] = result
	}
	if s.Into != "" {
		r.results[s.Into] = result
	}
}

func TestScenarios(t *testing.T) {
	var list struct {
		Model struct {
			File    string
			Options map[string]any
		}
		Scenarios []struct {
			Name   string
			Steps  []json.RawMessage
			Expect map[string]any
		}
	}
	decode := func(text []byte, into any) {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		if err := decoder.Decode(into); err != nil {
			t.Fatal(err)
		}
	}
	decode(must(os.ReadFile(filepath.Join(root, "bindings/scenarios.json"))), &list)
	for _, scenario := range list.Scenarios {
		t.Run(scenario.Name, func(t *testing.T) {
			r := &scenarioRunner{t: t, path: filepath.Join(root, list.Model.File), options: list.Model.Options,
				objects: map[string]any{}, results: map[string]any{}}
			r.run(&step{Op: "model", As: "model"})
			defer func() {
				for _, thing := range r.objects {
					if closer, closes := thing.(io.Closer); closes {
						closer.Close()
					}
				}
			}()
			for _, text := range scenario.Steps {
				var s step
				decode(text, &s)
				r.run(&s)
			}
			var came map[string]any
			decode(must(json.Marshal(r.results)), &came)
			if !reflect.DeepEqual(came, scenario.Expect) {
				t.Errorf("came     %v\nexpected %v", came, scenario.Expect)
			}
		})
	}
}
