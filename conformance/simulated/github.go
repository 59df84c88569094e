package simulated

import (
	"fmt"
	"net/http"
	"strconv"

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
			o := api.Options{}
			for k, v := range hints {
				if k != "page-cap" {
					return nil, fmt.Errorf("%w: hint %s", conformance.ErrUnable, k)
				}
				n, err := strconv.Atoi(v)
				if err != nil {
					return nil, err
				}
				o.Quirks.BadGateway = n + 1 // a page that is too large is not cut here, it fails
			}
			return api.New(w, o), nil
		},
		Names: map[string]string{"robo": "robo[bot]"},
	}
}
