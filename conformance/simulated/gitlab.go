package simulated

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/fullsend-ai/discovery/adapters/gitlab"
	"github.com/fullsend-ai/discovery/conformance"
	"github.com/fullsend-ai/discovery/internal/forgesim"
	api "github.com/fullsend-ai/discovery/internal/forgesim/gitlab"
)

// GitLab is the gitlab adapter over a simulated GitLab with these habits.
func GitLab(quirks api.Quirks) Face {
	return Face{
		Adapter: gitlab.Adapter{},
		Profile: forgesim.GitLab(),
		Handler: func(w *forgesim.World, hints map[string]string) (http.Handler, error) {
			o := api.Options{Quirks: quirks}
			for k, v := range hints {
				if k != "page-cap" {
					return nil, fmt.Errorf("%w: hint %s", conformance.ErrUnable, k)
				}
				n, err := strconv.Atoi(v)
				if err != nil {
					return nil, err
				}
				o.Quirks.MostPerPage = n
			}
			return api.New(w, o), nil
		},
		Key: func(e *forgesim.Entity) string {
			mark := "#"
			if e.Kind == forgesim.ChangeProposal {
				mark = "!"
			}
			return fmt.Sprintf("%s%s%d", e.Repo.FullName(), mark, e.Number)
		},
	}
}
