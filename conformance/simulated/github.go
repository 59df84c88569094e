package simulated

import (
	"fmt"
	"net/http"

	"github.com/fullsend-ai/discovery/adapters/github"
	"github.com/fullsend-ai/discovery/conformance"
	"github.com/fullsend-ai/discovery/internal/forgesim"
	api "github.com/fullsend-ai/discovery/internal/forgesim/github"
)

// GitHub is the github adapter over a simulated GitHub.
func GitHub() Face {
	return Face{
		Adapter: github.Adapter{},
		Profile: forgesim.GitHub(),
		Handler: func(w *forgesim.World, hints map[string]string) (http.Handler, error) {
			for k := range hints {
				return nil, fmt.Errorf("%w: hint %s", conformance.ErrUnable, k)
			}
			return api.New(w, api.Options{}), nil
		},
		Faults: []string{"status", "html", "empty", "null-body", "invalid-json", "stall", "reset", "cut", "slow", "anonymous", "index-lag", "replica-lag", "clock-skew", "no-date"},
	}
}
