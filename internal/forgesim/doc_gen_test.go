package forgesim_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/internal/forgesim"
)

var update = flag.Bool("update", false, "rewrite golden files and the verb table of doc.go")

// The table in the package comment is the documentation of the script language; it is written
// from the table that Do uses.
func TestDocListsEveryVerb(t *testing.T) {
	var table strings.Builder
	for _, v := range forgesim.Verbs() {
		fmt.Fprintf(&table, "//\t%s %s\n//\t    %s\n", v.Name, v.Keys, v.Does)
	}
	src, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	const from, to = "// # Verbs\n//\n", "//\n// # Faults\n"
	head, rest, ok := strings.Cut(string(src), from)
	require.True(t, ok)
	_, tail, ok := strings.Cut(rest, to)
	require.True(t, ok)
	want := head + from + table.String() + to + tail
	if *update {
		require.NoError(t, os.WriteFile("doc.go", []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(src), "run go test -run TestDocListsEveryVerb -update")
}
