package tenon

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// The operations of scenarios about one object: scores, samplers, grammars, answers, what is in a model. Those that make
// objects and generate are in scenarios_test.go.

func (s *step) tokens() []Token {
	var tokens []Token
	if err := json.Unmarshal(s.Tokens, &tokens); err != nil {
		panic(err)
	}
	return tokens
}

func (s *step) progress(fraction float64) error {
	if s.StopAt != nil && fraction >= *s.StopAt {
		return ErrCancelled
	}
	return nil
}

func (r *scenarioRunner) sampler(s *step) *Sampler { return r.objects[s.Sampler].(*Sampler) }

func (r *scenarioRunner) score(s *step) (any, error) {
	var rows [][]float32
	var err error
	if s.Tokens != nil {
		var tokens [][]Token
		if err := json.Unmarshal(s.Tokens, &tokens); err != nil {
			return nil, err
		}
		rows, err = r.session(s.Session).ScoreTokens(context.Background(), tokens)
	} else {
		rows, err = r.session(s.Session).Score(context.Background(), s.Texts, 0)
	}
	counts, bits := []int{}, []string{}
	for _, row := range rows {
		counts, bits = append(counts, len(row)), append(bits, bitsOf(row...))
	}
	return map[string]any{"counts": counts, "bits": bits}, err
}

// readAnswer tells what an answer that comes in parts amounts to: kinds and texts, and its message.
func (r *scenarioRunner) readAnswer(s *step) (any, error) {
	kinds := map[int32]string{ChatContent: "content", ChatReasoning: "reasoning", ChatCallBegin: "call_begin",
		ChatArguments: "arguments", ChatCallEnd: "call_end", ChatCallRetract: "call_retract"}
	reply := must(r.objects[s.Chat].(*Chat).Reply(s.Conversation))
	deltas := []ChatDelta{}
	for _, part := range s.Parts {
		deltas = append(deltas, must(reply.PushText(part))...)
	}
	deltas = append(deltas, must(reply.Finish())...)
	var message map[string]any
	if err := json.Unmarshal(must(reply.MessageJSON()), &message); err != nil {
		return nil, err
	}
	calls, _ := message["tool_calls"].([]any)
	for _, call := range calls {
		delete(call.(map[string]any), "id")
	}
	told := [][2]string{}
	for _, delta := range deltas {
		told = append(told, [2]string{kinds[delta.Kind], delta.Text})
	}
	return map[string]any{"deltas": told, "message": message}, nil
}

func (r *scenarioRunner) look(s *step) (any, error) {
	background := context.Background()
	model := r.objects["model"].(*Model)
	switch s.Op {
	case "score":
		return r.score(s)
	case "next":
		texts := []string{}
		for range s.Count {
			piece, err := r.session(s.Session).NextPiece(r.sampler(s))
			if err != nil {
				return nil, err
			}
			texts = append(texts, piece.Text)
		}
		return texts, nil
	case "take_held":
		return r.session(s.Session).TakeHeld()
	case "best_of":
		candidates, best, err := r.session(s.Session).BestOf(background, s.Count, r.sampler(s), s.MaxTokens)
		texts := []string{}
		for _, candidate := range candidates {
			texts = append(texts, candidate.Text)
		}
		return map[string]any{"texts": texts, "best": best}, err
	case "set_source":
		return nil, r.session(s.Session).SetSource(s.Text)
	case "cancel_session":
		return nil, r.session(s.Session).Cancel()
	case "damage":
		damaged := append([]byte{}, r.objects[s.Saved].([]byte)...)
		damaged[len(damaged)/2] ^= 1
		return damaged, nil
	case "decode":
		flags := uint32(0)
		if s.Special {
			flags = RenderSpecial
		}
		text, err := must(model.Tokenizer()).Decode(s.tokens(), flags)
		return strings.ToValidUTF8(text, "\ufffd"), err
	case "decode_bytes":
		text, err := must(model.Tokenizer()).Decode(s.tokens(), 0)
		return hex.EncodeToString([]byte(text)), err
	case "find":
		token, err := must(model.Tokenizer()).Find(s.Text)
		if token == NoToken {
			return nil, err
		}
		return token, err
	case "metadata":
		value, err := model.MetadataValue(s.Key)
		if errors.Is(err, ErrArgument) {
			return nil, nil // where other languages have nothing
		}
		return value, err
	case "info":
		if s.Model != "" {
			model = r.objects[s.Model].(*Model)
		}
		info, err := model.Info()
		return []any{info.Architecture, info.Vocabulary, info.Layers, info.Width, info.Heads, info.TrainedContext,
			info.HasWeights}, err
	case "version":
		return Version()
	case "bias":
		return nil, r.sampler(s).SetBias(Token(s.Token), s.Bias)
	case "stop_token":
		return nil, r.sampler(s).AddStopToken(Token(s.Token))
	case "sample":
		drawn := []Token{}
		for length := range s.Count {
			token, err := r.sampler(s).Sample(s.Logits, make([]Token, length), uint64(length))
			if err != nil {
				return nil, err
			}
			drawn = append(drawn, token)
		}
		return drawn, nil
	case "logprobs_of":
		values, likeliest, err := LogprobsOf(s.Logits, s.tokens(), s.Top)
		top := []Token{}
		for _, one := range likeliest {
			top, values = append(top, one.Token), append(values, one.Logprob)
		}
		return map[string]any{"top": top, "bits": bitsOf(values...)}, err
	case "accepts":
		return r.objects[s.Grammar].(*Grammar).Accepts(s.Text)
	case "match":
		matcher := must(r.objects[s.Grammar].(*Grammar).NewMatcher(must(model.Tokenizer())))
		isTaken := must(matcher.AcceptText(s.Text))
		forced := must(matcher.ForcedText())
		isComplete, _, err := matcher.State()
		return []any{isTaken, forced, isComplete}, err
	case "read_answer":
		return r.readAnswer(s)
	}
	return nil, fmt.Errorf("the scenarios have an operation that is not known here: %s", s.Op)
}
