// The same from Go: many MODEL COUNT TOKENS
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"owner.invalid/tenon"
)

func generate(engine *tenon.Engine, count, maxTokens int) int64 {
	var tokens atomic.Int64
	var group sync.WaitGroup
	for seed := range count {
		group.Go(func() {
			session, err := engine.NewSession(&tenon.SessionOptions{Context: tenon.Set(256)})
			check(err)
			defer session.Close()
			for piece, err := range session.Generate(context.Background(), "Once upon a time", &tenon.GenerateOptions{
				MaxTokens: maxTokens, IgnoreEnd: true, Sampling: &tenon.SamplerOptions{Seed: tenon.Set(seed)}}) {
				check(err)
				if piece.Token != tenon.NoToken {
					tokens.Add(1)
				}
			}
		})
	}
	group.Wait()
	return tokens.Load()
}

func main() {
	if library := os.Getenv("MANY_LIBRARY"); library != "" {
		check(tenon.UseLibrary(library))
	}
	count, err := strconv.Atoi(os.Args[2])
	check(err)
	maxTokens, err := strconv.Atoi(os.Args[3])
	check(err)
	model, err := tenon.OpenModel(os.Args[1], nil)
	check(err)
	engine, err := tenon.NewEngine(model, &tenon.EngineOptions{Running: tenon.Set(count)})
	check(err)
	generate(engine, count, 2)
	begin := time.Now()
	tokens := generate(engine, count, maxTokens)
	fmt.Println(float64(tokens) / time.Since(begin).Seconds())
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
