package coverage_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/coverage"
)

// go test ./coverage -run '^$' -bench . -benchmem
//
// A page is 100 entities of which one in ten is a member; the file is synced at every commit, as in use.
func BenchmarkCommitPage(b *testing.B) {
	for _, store := range []string{"memory", "file", "file-nosync"} {
		for _, what := range []string{"new", "judged", "same"} {
			b.Run(store+"/"+what, func(b *testing.B) {
				bed := newBed(b, benchStore(b, store), src)
				turn := bed.task(coverage.Turn, coverage.Policy{})
				first := bed.pageOf(0)
				bed.page(turn, coverage.Progress{Next: []byte("c")}, first...)
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					rs := first
					bed.tick(time.Second)
					switch what {
					case "new":
						rs = bed.pageOf(100 * (i + 1))
					case "same":
						rs = make([]coverage.Record, len(first))
						for j := range rs {
							rs[j] = coverage.Record{Ref: first[j].Ref, Token: first[j].Token, ReadAt: bed.now, Same: true}
						}
					}
					for j := range rs {
						rs[j].ReadAt = bed.now
					}
					_, err := bed.CommitPage(context.Background(), turn, coverage.Progress{Next: []byte("c"), Rows: 100}, rs)
					require.NoError(b, err)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/entity")
			})
		}
	}
}

func benchStore(b *testing.B, name string) coverage.Store {
	if name == "memory" {
		return coverage.NewMemory()
	}
	s, err := coverage.OpenFile(context.Background(), filepath.Join(b.TempDir(), "ledger.db"),
		coverage.FileOptions{NoSync: name == "file-nosync"})
	require.NoError(b, err)
	b.Cleanup(func() { s.Close() })
	return s
}

func (b *bed) pageOf(from int) []coverage.Record {
	var rs []coverage.Record
	for i := range 100 {
		n := from + i + 1
		r := b.rec(n, 1)
		if n%10 == 0 {
			r = b.rec(n, 1, src)
		}
		r.RestsOn = []coverage.Actor{{ID: fmt.Sprint("actor", n%50), Role: "write", At: t0}}
		rs = append(rs, r)
	}
	return rs
}

// BenchmarkSweep is a whole turn of 100,000 entities that are known, on a file, with the search for unmet members and
// numbers at its end. heap-MB is what is live at its highest, beside the mapped file.
func BenchmarkSweep(b *testing.B) {
	const entities = 100_000
	bed := newBed(b, benchStore(b, "file-nosync"), src)
	peak := uint64(0)
	turn := func() {
		bed.tick(time.Hour)
		t := bed.task(coverage.Turn, coverage.Policy{Full: true})
		for n := 0; n < entities; n += 100 {
			p := coverage.Progress{Rows: 100}
			if n+100 < entities {
				p.Next = []byte(fmt.Sprint(n))
			}
			for i := range 100 {
				p.Met = append(p.Met, int64(n+i+1))
			}
			bed.page(t, p, bed.pageOf(n)...)
			if n%10_000 == 0 {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapInuse)
			}
		}
		bed.closeTask(t)
	}
	turn()
	for b.Loop() {
		turn()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/entities, "ns/entity")
	b.ReportMetric(float64(peak)/(1<<20), "heap-MB")
}
