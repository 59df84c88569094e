package gitea

import (
	"bytes"
	_ "embed"
	"os/user"
	"text/template"
)

//go:embed app.ini.tmpl
var iniText string

var iniTemplate = template.Must(template.New("app.ini").Parse(iniText))

// ini renders the server's configuration: everything off that the tests do not use.
func (s *Server) ini(port int, root string) string {
	name := "git"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	var b bytes.Buffer
	err := iniTemplate.Execute(&b, map[string]any{
		"User": name, "Dir": s.dir, "Static": s.bin.Static, "Port": port, "Root": root,
	})
	if err != nil {
		panic(err) // the template is ours and writes to memory
	}
	return b.String()
}
