package simulated

import (
	"fmt"
	"net/http"
	"path"
	"strconv"

	"github.com/fullsend-ai/discovery/adapters/jira"
	"github.com/fullsend-ai/discovery/conformance"
	"github.com/fullsend-ai/discovery/internal/forgesim"
	api "github.com/fullsend-ai/discovery/internal/forgesim/jira"
)

// Jira is the jira adapter over a simulated Jira.
func Jira(o api.Options) Face {
	f := Face{
		Adapter:   jira.Adapter{},
		Profile:   forgesim.Jira(),
		BaseURL:   "https://forge.example",
		Key:       api.Key,
		Container: func(full string) string { return api.ProjectKey(path.Base(full)) },
		ID:        func(u forgesim.User) string { return api.AccountID(u.ID) },
		Names:     map[string]string{},
		Settings:  map[string]string{},
		Handler: func(w *forgesim.World, hints map[string]string) (http.Handler, error) {
			o := o
			for k, v := range hints {
				if k != "page-cap" {
					return nil, fmt.Errorf("%w: hint %s", conformance.ErrUnable, k)
				}
				n, err := strconv.Atoi(v)
				if err != nil {
					return nil, err
				}
				o.PageCap = n
			}
			return api.New(w, o), nil
		},
		Without: map[string]string{
			"rename-label": "labels are words on an issue, which nobody can rename",
			"delete-label": "labels are words on an issue, which exist as long as an issue has them",
		},
	}
	if !o.DataCenter {
		f.Settings["email"] = "agent@example.com"
	}
	for i, login := range []string{"acme", "olga", "wes", "wanda", "lena", "rea", "stella", "sam", "robo"} { // the order of the place's script
		f.Names[login] = api.AccountID(int64(i + 1))
	}
	delete(f.Names, "acme")
	return f
}
