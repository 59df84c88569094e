package github

import (
	"fmt"
	"os"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	_ "github.com/vektah/gqlparser/v2/validator/rules" // registers the rules of the specification
)

// Newer are types that GitHub has and the published schema of the pinned version has not, with their source:
// docs.github.com/graphql/reference/objects#issuetype, read in githubv4 v0.0.0-20260209031235 (input.go, IssueFilters.type).
const Newer = `
extend type Issue {
  "The issue type associated with the issue."
  issueType: IssueType
}

"Represents the type of Issue."
type IssueType implements Node {
  id: ID!
  name: String!
  isEnabled: Boolean!
}
`

// Schema reads the published schema file. Two fields of EnterpriseOwnerInfo are in it twice, so that no library loads it
// as it is; the second of each is dropped.
func Schema(file string) (*ast.Schema, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	doc, err := parser.ParseSchemas(validator.Prelude, &ast.Source{Name: "schema.graphql", Input: string(text)}, &ast.Source{Name: "newer.graphql", Input: Newer})
	if err != nil {
		return nil, fmt.Errorf("parse the schema: %w", err)
	}
	for _, d := range doc.Definitions {
		seen := map[string]bool{}
		d.Fields = slices.DeleteFunc(d.Fields, func(f *ast.FieldDefinition) bool {
			again := seen[f.Name]
			seen[f.Name] = true
			return again
		})
	}
	s, err := validator.ValidateSchemaDocument(doc)
	if err != nil {
		return nil, fmt.Errorf("load the schema: %w", err)
	}
	return s, nil
}
