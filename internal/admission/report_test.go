package admission_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/internal/admission"
	"github.com/fullsend-ai/discovery/query"
)

// Field reports B156 to B166: whose word counts, by the answer of the role endpoint alone.
func TestFieldReports(t *testing.T) {
	person := query.User{ID: "7", Login: "pat"}
	app := query.User{ID: "8", Login: "plain-name", Bot: true}
	for _, r := range []struct {
		name    string
		listed  map[string]adapters.Role
		finding adapters.Finding
		writer  query.User
		want    query.Standing
	}{
		{"B156 an outsider's comment on a trusted issue", nil, adapters.Finding{Actor: person, Role: adapters.External, Verified: true}, person, out},
		{"B157 read permission", nil, adapters.Finding{Actor: person, Role: adapters.ReadRole, Verified: true}, person, out},
		{"B157 write permission", nil, adapters.Finding{Actor: person, Role: adapters.Write, Verified: true}, person, in},
		{"B159 evidence is missing", nil, adapters.Finding{}, person, may},
		{"B160 an app that is not listed", nil, adapters.Finding{}, app, out},
		{"B160 a listed app", map[string]adapters.Role{"8": adapters.Write}, adapters.Finding{}, app, in},
		{"B161 the role endpoint does not know the user", nil, adapters.Finding{Actor: person, Role: adapters.Write, Why: "status 404"}, person, may},
		{"B161 a confirmed non-member", nil, adapters.Finding{Actor: person, Role: adapters.None, Verified: true}, person, out},
		{"B163 the token may not read roles", nil, adapters.Finding{Actor: person, Why: "status 403"}, person, may},
		{"B164 a deleted account", nil, adapters.Finding{}, query.User{}, out},
		{"B165 a label by another harness's agent", map[string]adapters.Role{"8": adapters.Write}, adapters.Finding{}, app, in},
		{"B165 an agent that is listed without a role", map[string]adapters.Role{"8": adapters.NoRole}, adapters.Finding{}, app, out},
		{"B166 an entry that is no stable id", map[string]adapters.Role{"pat": adapters.Write, "pat@example.org": adapters.Write}, adapters.Finding{}, person, may},
	} {
		t.Run(r.name, func(t *testing.T) {
			b := admission.New(admission.Config{Accounts: r.listed})
			b.Learn([]adapters.Finding{r.finding})
			e := &query.Element{Key: "1", Actor: r.writer, Editors: query.EditorsNamed}
			assert.Equal(t, r.want, b.View(adapters.Write)(query.FComment, e), b.Why(query.FComment, e, adapters.Write))
		})
	}
}
