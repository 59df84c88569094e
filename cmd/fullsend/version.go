package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/fullsend-ai/discovery/query"
)

func newVersionCmd(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of the program and of the protocols that it speaks",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(e.out, "fullsend %s (%s, %s/%s)\nquery language v1, semantics %d\nentity-source/v1, authorization/v2, dispatch/v1\n",
				version, runtime.Version(), runtime.GOOS, runtime.GOARCH, query.SemanticsVersion)
			return err
		},
	}
}
