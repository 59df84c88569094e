package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/fullsend-ai/discovery/internal/forgesim"
	"github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
)

// The world of one large scope: every fifth entity is in one of the milestones and assigned to one of the people.
const (
	repo       = "acme/widgets"
	milestones = 10_000
	people     = 100
)

func world(repos int) (*forgesim.World, error) {
	w := forgesim.New(forgesim.Options{Profile: forgejo.Gitea124.Profile()})
	for _, u := range []forgesim.User{{Login: "acme", Org: true}, {Login: "agent", Bot: true}, {Login: "olga"}} {
		if _, err := w.AddUser(u); err != nil {
			return nil, err
		}
	}
	if err := w.AddToken(forgesim.AdminToken, "agent"); err != nil {
		return nil, err
	}
	for i := range repos {
		name := repoName(i)
		if _, err := w.AddRepo(name, false); err != nil {
			return nil, err
		}
		for _, login := range []string{"agent", "olga"} {
			if err := w.SetRole(name, login, forgesim.Admin); err != nil {
				return nil, err
			}
		}
	}
	return w, nil
}

func repoName(i int) string {
	if i == 0 {
		return repo
	}
	return fmt.Sprintf("acme/idle-%d", i)
}

// large is one scope with n entities, of which matches are in a milestone.
func large(n, matches int) (*forgesim.World, error) {
	w, err := world(1)
	if err != nil {
		return nil, err
	}
	for i := range milestones {
		if _, err := w.AddMilestone(repo, milestone(i), time.Time{}); err != nil {
			return nil, err
		}
	}
	for i := range people {
		if _, err := w.AddUser(forgesim.User{Login: person(i)}); err != nil {
			return nil, err
		}
		if err := w.SetRole(repo, person(i), forgesim.Write); err != nil {
			return nil, err
		}
	}
	for i := range n {
		w.Advance(7 * time.Second)
		e := forgesim.NewEntity{Repo: repo, Title: fmt.Sprintf("entity %d", i), Body: "Seen with the last version, twice."}
		if every := n / matches; i%every == 0 {
			e.Milestone = milestone(i / every % milestones)
			e.Assignees = []string{person(i / every % people)}
		}
		if _, err := w.Create("olga", e); err != nil {
			return nil, err
		}
	}
	w.Advance(time.Minute)
	return w, nil
}

func milestone(i int) string { return fmt.Sprintf("m-%d", i) }

func person(i int) string { return fmt.Sprintf("person-%d", i) }

// serve answers on a free port of this machine and says where.
func serve(w *forgesim.World) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", l.Addr())
	srv := &http.Server{Handler: forgejo.New(w, forgejo.Options{}), ReadHeaderTimeout: time.Minute}
	return srv.Serve(l)
}

// folder writes a .fullsend folder. query gives the query of a harness.
func folder(dir, url string, repos, harnesses int, query func(int) string) error {
	config := fmt.Sprintf(`version: "1"
poll:
  input_drivers:
    - type: entity-source
      name: code
      provider: forgejo
      connection: {base_url: %q, token_env: TOKEN}
      scopes:
`, url)
	for i := range repos {
		config += fmt.Sprintf("        - {repo: %s, kinds: [work_item]}\n", repoName(i))
	}
	if err := os.MkdirAll(filepath.Join(dir, "harness"), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(config), 0o600); err != nil {
		return err
	}
	for i := range harnesses {
		text := fmt.Sprintf("role: coder\nentity_sources: [{version: 1, from: code, kind: work_item, query: %q}]\ntrigger: \"true\"\n", query(i))
		if err := os.WriteFile(filepath.Join(dir, "harness", fmt.Sprintf("h%d.yaml", i)), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// share is the query of one of n harnesses that divide the matching entities among themselves: all of them, those of a
// person, those of a milestone.
func share(n int) func(int) string {
	return func(i int) string {
		switch n {
		case 1:
			return `v1: state = open and milestone is not empty`
		case people:
			return fmt.Sprintf("v1: state = open and assignee = %q", person(i))
		}
		return fmt.Sprintf("v1: state = open and milestone = %q", milestone(i))
	}
}
