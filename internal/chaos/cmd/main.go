// Command cmd plays chaos stories: many seeds, or one of them aloud.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/fullsend-ai/discovery/internal/chaos"
)

func main() {
	seeds := flag.Uint64("seeds", 200, "how many seeds to play")
	from := flag.Uint64("from", 1, "the first seed")
	seed := flag.Uint64("seed", 0, "play this seed alone, and say what happens")
	workers := flag.Int("workers", runtime.GOMAXPROCS(0), "stories at once")
	most := flag.Int("most", 3, "stop after so many violations")
	full := flag.Bool("full", false, "do not shorten the story")
	flag.Parse()
	b, err := chaos.NewBench()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if *seed != 0 {
		os.Exit(aloud(b, *seed, *full))
	}
	debug.SetGCPercent(400) // short lives, much garbage
	start := time.Now()
	played, bad := play(b, *from, *seeds, *workers, *most)
	fmt.Printf("%.0f seeds a second\n", float64(played)/time.Since(start).Seconds())
	fmt.Printf("chaos: %d seeds, %d violations\n", played, bad)
	if bad > 0 {
		os.Exit(1)
	}
}

// aloud plays one seed and shows the story, shortened where it fails, and how it went.
func aloud(b *chaos.Bench, seed uint64, full bool) int {
	st := chaos.New(seed)
	err := chaos.Play(b, st, chaos.Rules{}, nil)
	if err != nil && !full {
		st = chaos.Shrink(b, st, chaos.Rules{}, err)
	}
	fmt.Print(st)
	fmt.Println("---")
	err = chaos.Play(b, st, chaos.Rules{}, os.Stdout)
	if err != nil {
		fmt.Printf("chaos: 1 seeds, 1 violations: %v\n", err)
		return 1
	}
	fmt.Println("chaos: 1 seeds, 0 violations")
	return 0
}

// play plays seeds on some workers and stops early after too many violations.
func play(b *chaos.Bench, from, n uint64, workers, most int) (played uint64, bad int) {
	next, end := from, from+n
	var mu sync.Mutex
	take := func() (uint64, bool) {
		mu.Lock()
		defer mu.Unlock()
		if next == end || bad >= most {
			return 0, false
		}
		next++
		return next - 1, true
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for seed, ok := take(); ok; seed, ok = take() {
				st := chaos.New(seed)
				err := chaos.Play(b, st, chaos.Rules{}, nil)
				mu.Lock()
				played++
				if err != nil {
					bad++
				}
				mu.Unlock()
				if err != nil {
					report(b, st, err)
				}
			}
		})
	}
	wg.Wait()
	return played, bad
}

func report(b *chaos.Bench, st *chaos.Story, err error) {
	short := chaos.Shrink(b, st, chaos.Rules{}, err)
	fmt.Printf("seed %d: %v\nreplay: go run ./internal/chaos/cmd -seed %d\nshortened to %d of %d steps:\n%s\n",
		st.Seed, err, st.Seed, len(short.Lines), len(st.Lines), short)
}
