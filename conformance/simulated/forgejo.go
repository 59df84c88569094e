package simulated

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/fullsend-ai/discovery/adapters/forgejo"
	"github.com/fullsend-ai/discovery/conformance"
	"github.com/fullsend-ai/discovery/internal/forgesim"
	api "github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
)

// Forgejo is the forgejo adapter over a simulated Gitea or Forgejo.
func Forgejo(flavour api.Flavour) Face {
	return Face{
		Adapter: forgejo.Adapter{},
		Profile: flavour.Profile(),
		Handler: func(w *forgesim.World, hints map[string]string) (http.Handler, error) {
			o := api.Options{Flavour: flavour}
			for k, v := range hints {
				if k != "page-cap" {
					return nil, fmt.Errorf("%w: hint %s", conformance.ErrUnable, k)
				}
				n, err := strconv.Atoi(v)
				if err != nil {
					return nil, err
				}
				o.MaxItems = n
			}
			return api.New(w, o), nil
		},
	}
}
