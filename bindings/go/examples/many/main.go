// Continues many prompts side by side in one engine: many MODEL PROMPT...
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"sync"

	"owner.invalid/tenon"
)

func main() {
	model, err := tenon.OpenModel(os.Args[1], nil)
	check(err)
	engine, err := tenon.NewEngine(model, &tenon.EngineOptions{CacheBytes: tenon.Set(64 << 20)})
	check(err)
	prompts := os.Args[2:]
	texts := make([]string, len(prompts))
	var group sync.WaitGroup
	for i, prompt := range prompts {
		group.Go(func() {
			var err error
			texts[i], err = tenon.Collect(engine.Stream(context.Background(), prompt,
				&tenon.GenerateOptions{MaxTokens: 16}))
			check(err)
		})
	}
	group.Wait()
	for i, prompt := range prompts {
		fmt.Println(prompt + texts[i])
	}
	stats, err := engine.Stats()
	check(err)
	fmt.Printf("%d requests in %d steps\n", stats.Finished, stats.Steps)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
